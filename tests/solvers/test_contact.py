"""The frictional contact solver: the law itself, recomputed independently, closed forms, work, threads."""

from __future__ import annotations

import numpy as np
import pytest

from carom.solvers.contact import solve_contact

from .contact_problems import random_blocks, residual, velocity_after, work

KINDS = [(2, False), (2, True), (3, False), (3, True)]
ROUNDING = 1e-12  # of speeds and velocities of order one


def _solved(blocks, velocity, tolerance, chosen=None, start=None):
    m, _, r, _ = blocks.val.shape
    chosen = np.arange(m) if chosen is None else chosen
    z = np.zeros((m, r)) if start is None else start.copy()
    given = velocity.copy()
    answer = solve_contact(blocks, chosen, velocity, z, tolerance)
    assert np.array_equal(given, velocity)
    return answer, z, chosen


@pytest.mark.parametrize(("dimension", "rolling"), KINDS)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-5, 1e-10])
def test_the_residual_is_what_an_independent_computation_finds(dimension, rolling, tolerance):
    for seed in range(8):
        blocks, velocity = random_blocks(seed, dimension=dimension, rolling=rolling)
        answer, z, chosen = _solved(blocks, velocity, tolerance)
        assert answer.residual <= tolerance
        assert residual(blocks, chosen, velocity, z) == pytest.approx(answer.residual, abs=ROUNDING)
        assert np.allclose(answer.velocity, velocity_after(blocks, chosen, velocity, z), rtol=0, atol=ROUNDING)
        assert work(blocks, chosen, velocity, z) <= ROUNDING

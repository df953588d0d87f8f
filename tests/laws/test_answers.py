"""Known answers: closed forms to 1e-9, figures given to four or five decimals to their last digit."""

from __future__ import annotations

import math

import numpy as np
import pytest

import carom
from carom import catalogue, laws
from carom.catalogue.problems_1d import galperin


@pytest.mark.parametrize("entry", [e for e in catalogue.entries() if e.answers], ids=lambda e: e.name)
def test_known_answers(entry):
    for law, expected in entry.answers.items():
        if law not in laws.names():
            continue
        exact = "decimals" not in entry.source
        if law in ("lcp", "gauss_seidel") or entry.name.startswith("cradle"):
            exact = True  # the rounded figures are those of qce, of gr's two-sided chain and of the Hertz ODE
        velocity = carom.solve_impact(entry.problem, law).velocity
        speed = max(np.abs(expected).max(), np.abs(entry.problem.velocity).max())
        atol = 1e-9 * speed if exact else 6e-5
        np.testing.assert_allclose(velocity, expected, rtol=0, atol=atol, err_msg=law)


@pytest.mark.parametrize("digits", [1, 2, 3])
@pytest.mark.parametrize("law", ["gauss_seidel", "gr", "qce"])
def test_galperin_counts_the_digits_of_pi(law, digits):
    """A light ball between a wall and one 10^(2k) times heavier collides 31, 314, 3141 times."""
    entry = galperin(100.0**digits)
    solution = carom.solve_impact(entry.problem, laws.make(law, max_iterations=10_000))
    assert solution.iterations == math.floor(10**digits * math.pi)
    expected = entry.answers[law]
    # Each of N reflections rounds the energy by some 1e-16 of the heavy ball's, which is the mass ratio times what the
    # light one can hold: its velocity is uncertain by the root of that ratio times N times round-off.
    bound = 20 * np.finfo(float).eps * solution.iterations * 10**digits
    np.testing.assert_allclose(solution.velocity, expected, rtol=0, atol=bound)


@pytest.mark.parametrize("law", [n for n in laws.names() if n not in ("none", "lcp")])
def test_one_contact_has_one_answer(law):
    """Two balls: momentum, energy and one-sidedness leave nothing to choose."""
    v = carom.solve_impact(carom.ImpactProblem.chain([1.0, 3.0], [2.0, -1.0]), law).velocity
    np.testing.assert_allclose(v, [-2.5, 0.5], atol=1e-9)

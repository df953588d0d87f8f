"""`carom.autodiff.jax` against JAX's own gradient checker."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import ImpactProblem, ProblemError

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)


@pytest.fixture
def balls():
    return ImpactProblem.chain([1.0, 2.0, 1.0, 3.0], [1.0, 0.1, 0.2, -1.0], restitution=[0.8, 0.7, 0.9])


@pytest.mark.parametrize("law", ["gr", "lcp", "qce", "lzb"])
def test_gradients_pass_the_checker(balls, law):
    from jax.test_util import check_grads

    from carom.autodiff.jax import impact

    f = impact(balls, law, ["velocity", "restitution", "mass"])
    given = (balls.velocity, balls.restitution, balls.mass.values)
    assert np.allclose(f(*given), carom.solve_impact(balls, law).velocity, atol=1e-14)
    check_grads(f, given, order=1, modes=["rev"], eps=1e-6, rtol=1e-6)


def test_jit_vmap_and_batches_agree(balls):
    from carom.autodiff.jax import impact

    f = impact(balls, "gr")
    many = balls.velocity + 0.01 * np.random.default_rng(0).normal(size=(5, 4))
    one_by_one = np.stack([f(v) for v in many])
    assert np.allclose(jax.jit(f)(many), one_by_one)
    assert np.allclose(jax.vmap(f)(many), one_by_one)
    matrix = jax.jacrev(f)(balls.velocity)
    assert np.allclose(matrix, carom.solve_impact(balls, "gr").derivative()["velocity"], atol=1e-13)
    slopes = jax.grad(lambda v: (f(v) ** 2).sum())(many)
    assert np.allclose(slopes, np.stack([jax.grad(lambda v: (f(v) ** 2).sum())(v) for v in many]))


def test_bad_input_gets_one_line(balls):
    from carom.autodiff.jax import impact

    with pytest.raises(ProblemError, match="unknown parameter 'speed'"):
        impact(balls, "gr", "speed")
    with pytest.raises(ProblemError, match="one axis more for a batch"):
        impact(balls, "gr")(np.zeros(3))
    with pytest.raises(ProblemError, match="one each for velocity"):
        impact(balls, "gr")(np.zeros(4), np.zeros(4))

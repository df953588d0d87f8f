"""`carom.autodiff.torch` against PyTorch's own gradient checker."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import ImpactProblem, ProblemError

torch = pytest.importorskip("torch")


@pytest.fixture
def balls():
    return ImpactProblem.chain([1.0, 2.0, 1.0, 3.0], [1.0, 0.1, 0.2, -1.0], restitution=[0.8, 0.7, 0.9])


def tensors(*arrays):
    return tuple(torch.tensor(np.array(a), dtype=torch.float64, requires_grad=True) for a in arrays)


@pytest.mark.parametrize("law", ["gr", "lcp", "qce", "lzb"])
def test_gradients_pass_the_checker(balls, law):
    from carom.autodiff.torch import impact

    f = impact(balls, law, ["velocity", "restitution", "mass"])
    given = tensors(balls.velocity, balls.restitution, balls.mass.values)
    assert np.allclose(f(*given).detach(), carom.solve_impact(balls, law).velocity, atol=1e-14)
    assert torch.autograd.gradcheck(f, given, eps=1e-6, atol=1e-7, check_forward_ad=True)


def test_batches_are_solved_in_one_call(balls):
    from carom.autodiff.torch import impact

    f = impact(balls, "gr", ["velocity", "restitution"])
    many, e = tensors(balls.velocity + 0.01 * np.random.default_rng(0).normal(size=(5, 4)), balls.restitution)
    assert np.allclose(f(many, e).detach(), torch.stack([f(v, e) for v in many]).detach())
    assert torch.autograd.gradcheck(f, (many, e), eps=1e-6, atol=1e-7)


def test_bad_input_gets_one_line(balls):
    from carom.autodiff.torch import impact

    with pytest.raises(ProblemError, match="unknown parameter 'speed'"):
        impact(balls, "gr", "speed")
    with pytest.raises(ProblemError, match="some of velocity"):
        impact(balls, "gr", "masses")

"""Bad requests about friction: refused, with the field, the value and what would be right."""

from __future__ import annotations

import numpy as np
import pytest
from tests.friction import rough

from carom import ImpactProblem, ProblemError, friction, solve_impact
from carom.friction import Cone, FixedDirection, Pyramid


def test_friction_needs_tangents():
    with pytest.raises(ProblemError, match="tangent") as caught:
        ImpactProblem.from_matrices(np.ones(2), [[0.0, 1.0]], [1.0, -1.0], friction=0.3)
    assert caught.value.field == "friction"
    chain = ImpactProblem.chain([1, 1], [1, -1])
    with pytest.raises(ProblemError, match="tangent"):
        chain.with_(friction=0.3)


def test_unknown_model():
    problem = rough.sample("discs", 0)
    with pytest.raises(ProblemError, match=r"unknown friction model 'pyramide': did you mean 'pyramid'\?"):
        solve_impact(problem, friction_model="pyramide")
    with pytest.raises(ProblemError, match=r"did you mean 'cone'\?"):
        solve_impact(problem, friction_model="coen")
    with pytest.raises(ProblemError, match="unknown friction model 7"):
        solve_impact(problem, friction_model=7)


@pytest.mark.parametrize("law", ["gr", "qce", "lcp", "gauss_seidel", "jacobi", "lzb"])
def test_own_with_a_law_that_has_none(law):
    with pytest.raises(ProblemError, match=f"got own; expected .*with law '{law}'") as caught:
        solve_impact(rough.sample("discs", 0), law, friction_model="own")
    assert caught.value.field == "friction_model"
    for model in friction.MODELS:
        assert model in str(caught.value)


@pytest.mark.covering
@pytest.mark.parametrize("model", [FixedDirection, Pyramid, Cone])
@pytest.mark.parametrize("repeats", [-1, 2.5, "3", None])
def test_repeats(model, repeats):
    with pytest.raises(ProblemError, match="repeats"):
        model(repeats=repeats)


@pytest.mark.parametrize("options", [{"tolerance": -1.0}, {"tolerance": float("nan")}])
def test_options_of_the_cone(options):
    with pytest.raises(ProblemError, match=next(iter(options))):
        Cone(**options)


@pytest.mark.parametrize("mu", [-0.1, float("nan"), float("inf"), [0.1, 0.2, 0.3], "rough"])
def test_coefficients(mu):
    with pytest.raises(ProblemError, match="friction"):
        ImpactProblem.from_discs([[0, 0], [1, 0]], 0.5, 1.0, np.zeros((2, 3)), friction=mu)

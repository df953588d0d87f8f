"""The audit holds each friction model to its own bound."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import carom


def slider(mu):
    """A sphere that cannot turn lands while it slides along a diagonal of its tangents."""
    place, velocity = [[0.0, 0.0, 1.0]], [[1.0, 1.0, -1.0]]
    plane = ([0, 0, 0], [0, 0, 1])
    return carom.ImpactProblem.from_spheres(place, 1.0, 1.0, velocity, planes=[plane], friction=mu)


@pytest.mark.parametrize("model", ["coulomb_fixed_direction", "pyramid", "cone"])
def test_every_model_passes_its_own_bound(model):
    solution = carom.solve_impact(slider(0.1), friction_model=model)
    assert solution.friction_model == model
    line = next(m for m in solution.audit().measures if m.name.startswith("friction"))
    assert line.passed and abs(line.value) <= 1e-12  # the slide uses up all the friction there is


def test_the_corner_of_a_pyramid_is_beyond_the_disk():
    """Along the diagonal the pyramid gives sqrt(2) mu lam, lam = 2: more than the disk, within its own bound."""
    size = {
        model: np.linalg.norm(carom.solve_impact(slider(0.1), friction_model=model).friction_impulse)
        for model in ("pyramid", "cone")
    }
    assert size["cone"] == pytest.approx(0.2, abs=1e-10)
    assert size["pyramid"] == pytest.approx(0.2 * np.sqrt(2), abs=1e-10)


def test_without_friction_there_is_no_model():
    assert carom.solve_impact(slider(0.0)).friction_model is None
    assert carom.solve_impact(slider(0.1), "sqm").friction_model == "own"


@pytest.mark.parametrize("law", carom.laws.names())
def test_nothing_that_moves_gives_finite_measures(law):
    """Both scales of the work of friction are then the smallest number, and their product is 0."""
    for speed in (0.0, 1.0, 1e-300):
        problem = carom.ImpactProblem.from_discs([[0, 0], [1, 0]], 0.5, 1.0, [[0, 0, 0], [speed, 0, 0]], friction=0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            audit = carom.solve_impact(problem, law).audit()
        assert all(np.isfinite(m.value) for m in audit.measures), speed

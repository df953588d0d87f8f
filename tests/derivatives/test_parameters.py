"""Derivatives with respect to masses, inertias, points and normals; closed forms; bad input."""

from __future__ import annotations

import numpy as np
import pytest

from carom import ImpactProblem, ProblemError, solve_impact
from carom.derivatives import NAMES
from carom.laws import GR


def rigid(rng, dim: int) -> dict:
    """Four bodies in a ring, with contacts to the world on either side of the pair."""
    places, bodies = 1.5 * rng.normal(size=(4, dim)), np.array([[0, 1], [1, 2], [2, 3], [-1, 0], [1, -1], [0, 3]])
    root = rng.normal(size=(4, 3, 3))
    inertias = rng.uniform(0.2, 1.0, 4) if dim == 2 else 0.1 * root @ root.swapaxes(1, 2) + 0.3 * np.eye(3)
    points = np.array([places[b[b >= 0]].mean(axis=0) for b in bodies]) + 0.3 * rng.normal(size=(6, dim))
    ends = [[places[b] if b >= 0 else points[k] for b in pair] for k, pair in enumerate(bodies)]
    normals = np.array([two - one for one, two in ends])
    return {
        "positions": places,
        "masses": rng.uniform(0.5, 2.0, 4),
        "inertias": inertias,
        "velocities": rng.normal(size=(4, 3 if dim == 2 else 6)),
        "bodies": bodies,
        "points": points,
        "normals": normals / np.linalg.norm(normals, axis=1, keepdims=True),
    }


@pytest.mark.parametrize("name", ["points", "normals", "masses", "inertias"])
@pytest.mark.parametrize("dim", [2, 3])
def test_geometry_and_masses_of_rigid_bodies(name, dim):
    checked = 0
    for k in range(40):
        rng = np.random.default_rng([dim, k])
        given, rough = rigid(rng, dim), {"restitution": 0.5, "friction": 0.3 if k % 2 else 0.0}
        problem = ImpactProblem.from_contacts(**given, **rough)
        if not (problem.separation_speed() < -0.01).any():
            continue
        solution = solve_impact(problem, "gr")
        found = solution.derivative(name)
        if found.kink_distance < 1e-2:
            continue
        direction = rng.normal(size=given[name].shape)
        if direction.ndim == 3:
            direction = direction + direction.swapaxes(1, 2)
        assert found[name].shape == (*problem.velocity.shape, *given[name].shape)
        slope, errors = solution.jvp({name: direction}), []
        for h in (1e-3, 1e-4, 1e-5):
            ends = [
                solve_impact(
                    ImpactProblem.from_contacts(**{**given, name: given[name] + s * h * direction}, **rough), "gr"
                )
                for s in (1.0, -1.0, 0.5, -0.5)
            ]
            one, two = ((a.velocity - b.velocity) / (2 * h) for a, b in (ends[:2], ends[2:]))
            errors.append(np.abs((4 * 2 * two - one) / 3 - slope).max())
        # Fourth-order differences: 1e-12 of truncation, and of the solver's residual over the step 1e-7.
        assert min(errors) <= 1e-6 * max(1.0, np.abs(slope).max())
        weights = rng.normal(size=slope.shape)
        both = (solution.vjp(weights, name)[name] * direction).sum(), (weights * slope).sum()
        assert both[0] == pytest.approx(both[1], abs=1e-11)
        checked += 1
        if checked == 3:
            return
    raise AssertionError(f"only {checked} problems are far from kinks")


def test_two_balls_have_the_closed_form():
    """v+ = v - (1 + e) m2 / (m1 + m2) (v1 - v2) of the first ball, and its derivatives."""
    m1, m2, e, v1, v2 = 2.0, 3.0, 0.7, 1.0, -0.5
    solution = solve_impact(ImpactProblem.chain([m1, m2], [v1, v2], restitution=e), "gr")
    found = solution.derivative(["velocity", "restitution", "masses", "boundary_speed"])
    share, approach = m2 / (m1 + m2), v1 - v2
    assert np.allclose(found["velocity"][0], [1 - (1 + e) * share, (1 + e) * share], atol=1e-14)
    assert found["restitution"][0, 0] == pytest.approx(-share * approach, abs=1e-14)
    assert found["boundary_speed"][0, 0] == pytest.approx((1 + e) * share, abs=1e-14)
    slopes = np.array([m2, -m1]) / (m1 + m2) ** 2 * (1 + e) * approach
    assert np.allclose(found["masses"][0], slopes, atol=1e-14)


def test_an_elastic_derivative_keeps_energy_and_momentum():
    """The derivative of an elastic impact maps v to v+ itself, since answers scale with the velocity."""
    chain = ImpactProblem.chain([1.0, 2.0, 1.0, 3.0], [1.0, 0.1, 0.2, -1.0])
    for law in ("lcp", "gr", "qce", "lzb", "gauss_seidel", "smm"):
        solution = solve_impact(chain, law)
        matrix = solution.derivative()["velocity"]
        assert np.allclose(matrix @ chain.velocity, solution.velocity, atol=1e-10), law
        assert np.allclose(np.array([1, 2, 1, 3]) @ matrix, [1, 2, 1, 3], atol=1e-12), law


CHAIN = ImpactProblem.chain([1.0, 1.0, 1.0], [1.0, 0.2, 0.0])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: s.derivative("speed"), "unknown parameter 'speed'"),
        (lambda s: s.derivative([]), "wrt: got nothing"),
        (lambda s: s.derivative("points"), "rigid bodies"),
        (lambda s: s.derivative("tangents"), "tangent rows"),
        (lambda s: s.derivative("inertias"), "bodies that rotate"),
        (lambda s: s.jvp({"velocity": [1.0]}), "a change of shape"),
        (lambda s: s.jvp({"velocity": [np.nan, 0, 0]}), "velocity"),
        (lambda s: s.vjp([1.0, 2.0]), "one for each component"),
        (lambda s: s.derivative()["mass"], "unknown parameter 'mass'"),
    ],
)
def test_bad_input_gets_one_line(ask, message):
    with pytest.raises(ProblemError, match=message):
        ask(solve_impact(CHAIN, "gr"))


def test_laws_and_models_without_derivatives_say_so():
    class Own(GR):
        name = "own"

    with pytest.raises(ProblemError, match="law: got own; expected a law with derivatives: "):
        solve_impact(CHAIN, Own()).derivative()
    lossy = CHAIN.with_(restitution=0.5)
    with pytest.raises(ProblemError, match="energetic or qce_lcp for derivatives of qce"):
        solve_impact(lossy, "qce", restitution_model="stronge").derivative()
    clamped = ImpactProblem.from_matrices([1.0], [[1.0], [-1.0]], [1.0])
    with pytest.raises(ProblemError, match="resolved"):
        solve_impact(clamped, "gr").derivative()
    disc = ImpactProblem.from_discs(
        [[0.0, 1.0]], 1.0, 1.0, [[0.5, -1.0, 0.0]], planes=[([0.0, 0.0], [0.0, 1.0])], friction=0.3
    )
    with pytest.raises(ProblemError, match="a model with derivatives"):
        solve_impact(disc, "gr", friction_model="pyramid_staggered").derivative()


def test_every_name_is_documented():
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "derivatives.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in NAMES)


def test_a_solution_with_derivatives_can_still_be_sent_to_another_process():
    import pickle

    solution = solve_impact(CHAIN, "gr")
    before = solution.derivative()["velocity"]
    again = pickle.loads(pickle.dumps(solution))
    assert np.array_equal(again.derivative()["velocity"], before)


def test_replays_are_forgotten_with_their_solution():
    import gc
    import weakref

    solution = solve_impact(CHAIN, "gr")
    solution.derivative()
    gone = weakref.ref(solution)
    del solution
    gc.collect()
    assert gone() is None

"""Sequential impulses: Gauss-Seidel, worst first, with friction inside each reflection."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom import ImpactProblem, ProblemError, solve_impact
from carom.laws.gauss_seidel import GaussSeidel
from carom.laws.sqm import SQM

SEEDS = st.integers(0, 2**32 - 1)


def patch_of_discs(rng, *, spin=False, friction=None, restitution=1.0):
    cells = [(i + 0.5 * (j % 2), j * np.sqrt(0.75)) for j in range(3) for i in range(4)]
    velocity = rng.normal(size=(12, 3 if spin else 2))
    return ImpactProblem.from_discs(
        cells, 0.5, rng.uniform(0.3, 3.0, 12), velocity, friction=friction, restitution=restitution
    )


def reflected_by_hand(problem):
    """Appendix A with dense matrices: the worst contact, sticking if the cone allows it, sliding if not."""
    n, d = problem.block
    root = np.sqrt(problem.mass.values).ravel()

    def dense(rows):
        out = np.zeros((len(rows.ptr) - 1, n * d))
        for i in range(len(out)):
            for e in range(rows.ptr[i], rows.ptr[i + 1]):
                out[i, rows.body[e] * d : (rows.body[e] + 1) * d] += rows.val[e]
        return out / root

    g, x = dense(problem.rows), problem.block_velocity.ravel() * root
    m, t = len(g), problem.tangent_count
    basis = np.concatenate([g[:, None], dense(problem.tangents).reshape(m, t, -1)], axis=1)
    while (g @ x).min() < -1e-10:
        i = int(np.argmin(g @ x))
        local, relative, mu = basis[i] @ basis[i].T, basis[i] @ x, problem.friction[i]
        du = -(1.0 + problem.restitution[i]) * relative[0]
        p = np.linalg.solve(local, np.r_[du, -relative[1:]])
        if np.linalg.norm(p[1:]) > mu * p[0]:
            along = np.r_[1.0, -mu * relative[1:] / np.linalg.norm(relative[1:])]
            p = along * du / (local[0] @ along)
        x += p @ basis[i]
    return (x / root).reshape(n, d)


@given(SEEDS, st.sampled_from([1.0, 0.8]))
def test_without_friction_it_is_gauss_seidel_worst_first(seed, e):
    problem = patch_of_discs(np.random.default_rng(seed), restitution=e)
    mine = solve_impact(problem, "sqm")
    theirs = solve_impact(problem, GaussSeidel(order="worst"), restitution_model="newton")
    np.testing.assert_allclose(mine.impulse, theirs.impulse, atol=1e-9)
    assert mine.iterations == theirs.iterations


@given(SEEDS)
def test_elastic_patch_keeps_energy_and_momentum_and_never_pulls(seed):
    problem = patch_of_discs(np.random.default_rng(seed))
    solution = solve_impact(problem, "sqm")
    assert abs(solution.kinetic_energy / problem.kinetic_energy - 1.0) <= 1e-12
    assert solution.audit().passed


@pytest.mark.covering
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mu", [0.1, 0.6])
def test_agrees_with_the_appendix_done_by_hand(seed, mu):
    problem = patch_of_discs(np.random.default_rng(seed), spin=True, friction=mu, restitution=0.9)
    np.testing.assert_allclose(solve_impact(problem, "sqm").velocity, reflected_by_hand(problem), atol=1e-9)


@pytest.mark.parametrize(("mu", "sticks"), [(0.05, False), (0.9, True)])
def test_bouncing_disc_slides_or_rolls(mu, sticks):
    # Disc, inertia m r^2 / 2: the slip of 3 takes m / 3 times 3 to stop, friction offers mu m (1 + e) |u|.
    e, fall, slip = 0.7, 4.0, 3.0
    problem = ImpactProblem.from_discs(
        [[0.0, 0.5]],
        0.5,
        2.0,
        [[slip, -fall, 0.0]],
        planes=[((0.0, 0.0), (0.0, 1.0))],
        friction=mu,
        restitution=e,
    )
    loss = min(mu * (1 + e) * fall, slip / 3.0)
    assert sticks == (loss == slip / 3.0)
    after = solve_impact(problem, "sqm").velocity[0]
    np.testing.assert_allclose(after[:2], [slip - loss, e * fall], atol=1e-12)


@given(SEEDS, st.sampled_from([0.2, 1.0, 5.0]), st.sampled_from([1, 2]), st.sampled_from([0.0, 0.5, 1.0]))
def test_friction_never_raises_energy_and_stays_in_its_cone(seed, mu, t, e):
    # Newton's law with coupled friction raises energy unless it is stopped (Kane's pendulum).
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(7, 7))
    problem = ImpactProblem.from_matrices(
        root @ root.T + 0.3 * np.eye(7),
        rng.normal(size=(3, 7)),
        rng.normal(size=7),
        friction=mu,
        restitution=e,
        tangents=rng.normal(size=(3, t, 7)),
    )
    solution = solve_impact(problem, "sqm")
    assert solution.kinetic_energy <= problem.kinetic_energy * (1 + 1e-12)
    excess = np.linalg.norm(solution.friction_impulse, axis=1) - mu * solution.impulse
    assert excess.max() <= 1e-12 * max(solution.impulse.max(), 1.0)


def test_energy_guard_is_needed():
    # A rod at 45 degrees, slow slip: stopping it as eq. 72 asks would raise the kinetic energy.
    normal, tangent = np.array([0.0, 1.0, np.sqrt(0.5)]), np.array([1.0, 0.0, np.sqrt(0.5)])
    inverse = np.array([1.0, 1.0, 3.0])
    before = np.array([-0.2, -1.0, 0.0])
    local = np.array([[a @ (inverse * b) for b in (normal, tangent)] for a in (normal, tangent)])
    p = np.linalg.solve(local, [-2.0 * normal @ before, -tangent @ before])
    assert abs(p[1]) <= 2.0 * p[0]  # within the cone of mu = 2
    raised = before + inverse * (p[0] * normal + p[1] * tangent)
    energy = 0.5 * before @ (before / inverse)
    problem = ImpactProblem.from_blocks(
        [1.0 / inverse],
        [[-1, 0]],
        [[[0.0] * 3, normal]],
        [before],
        friction=2.0,
        tangents=[[[[0.0] * 3, tangent]]],
    )
    solution = solve_impact(problem, "sqm")
    assert 0.5 * raised @ (raised / inverse) > 1.01 * energy
    assert solution.kinetic_energy <= energy * (1 + 1e-12)
    assert solution.separation_speed[0] == pytest.approx(1.0, abs=1e-12)


def test_three_balls_exchange():
    # WAV: the worst contact first is the order in which a wave would run, so the exchange is exact.
    for va in (0.0, 1e-6, 0.3, 0.7, 1.0):
        after = solve_impact(ImpactProblem.chain([1.0] * 3, [va, 0.0, -1.0]), "sqm").velocity
        np.testing.assert_allclose(after, [-1.0, 0.0, va], atol=1e-12)


def test_symmetry_fails():
    # A heavy ball between two light ones that strike it alike: whoever is served first has the other answer.
    problem = ImpactProblem.chain([1.0, 3.0, 1.0], [1.0, 0.0, -1.0])
    after = solve_impact(problem, "sqm").velocity
    assert np.abs(after + after[::-1]).max() > 0.1
    swapped = solve_impact(problem.permuted([1, 0]), "sqm").velocity
    assert np.abs(after - swapped).max() > 0.1
    assert "SYM" not in SQM.claims


def test_inelastic_collapse_is_told():
    # A ball that strikes a row resting against a wall, e well below the collapse threshold of the row.
    n = 12
    bodies = [[-1, 0], *([i, i + 1] for i in range(n - 1))]
    problem = ImpactProblem.from_blocks(
        np.ones(n), bodies, np.tile([[[-1.0], [1.0]]], (n, 1, 1)), -np.ones((n, 1)), restitution=0.1
    )
    collapsed = solve_impact(problem, "sqm")
    assert any("inelastic collapse" in text for text in collapsed.messages)
    assert collapsed.separation_speed.min() > -1e-9
    elastic = solve_impact(problem.with_(restitution=1.0), "sqm")
    assert elastic.messages == ()


def test_clamped_ball_stops_at_the_bound():
    problem = ImpactProblem.from_blocks([1.0], [[-1, 0], [0, -1]], [[[0.0], [1.0]], [[-1.0], [0.0]]], [[-1.0]])
    result = SQM(max_iterations=50).impulses(problem.contacts)
    assert (result.status, result.iterations) == ("finished_inelastically", 50)
    assert "bound of 50" in result.messages[0]
    assert np.abs(problem.contacts.speeds(problem.contacts.after(result.normal))).max() < 1e-12


@pytest.mark.parametrize("option", [{"tolerance": 1.0}, {"max_iterations": -1}])
def test_refuses_bad_options(option):
    with pytest.raises(ProblemError, match=next(iter(option))):
        SQM(**option)

"""Simultaneous impulses: every approach reversed at once, by pulls where that is what it takes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom import ImpactProblem, ProblemError, Symmetry, solve_impact
from carom.laws import smm
from carom.laws.smm import SMM

SEEDS = st.integers(0, 2**32 - 1)


def patch_of_discs(rng, rows=3, columns=4, **options):
    cells = [(i + 0.5 * (j % 2), j * np.sqrt(0.75)) for j in range(rows) for i in range(columns)]
    n = len(cells)
    return ImpactProblem.from_discs(cells, 0.5, rng.uniform(0.3, 3.0, n), rng.normal(size=(n, 2)), **options)


def ball_in_corner(restitution=1.0):
    """A ball that runs into one wall and grazes a second one whose normal is 60 degrees away."""
    first, second = np.array([0.0, 1.0]), np.array([np.sqrt(0.75), 0.5])
    velocity = np.linalg.solve([first, second], [-1.0, -0.1])
    return ImpactProblem.from_matrices([1.0, 1.0], [first, second], velocity, restitution=restitution)


def reflected_by_hand(problem):
    """Pseudo-inverses of the dense Delassus matrix, in the user's own coordinates."""
    n = problem.velocity.size
    mass = problem.mass.values.ravel()
    d = problem.block[1]
    jacobian = np.zeros((problem.contact_count, n))
    for i in range(problem.contact_count):
        for e in range(problem.rows.ptr[i], problem.rows.ptr[i + 1]):
            jacobian[i, problem.rows.body[e] * d : (problem.rows.body[e] + 1) * d] += problem.rows.val[e]
    v, total = problem.velocity.ravel().copy(), np.zeros(problem.contact_count)
    while (jacobian @ v).min() < -1e-10:
        u = jacobian @ v
        approaching = u < -1e-10
        j = jacobian[approaching]
        a = j @ (j / mass).T
        lam = np.linalg.pinv(a, rcond=1e-12) @ (-(1.0 + problem.restitution[approaching]) * u[approaching])
        v += j.T @ lam / mass
        total[approaching] += lam
    return v, total


@pytest.mark.covering
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("e", [1.0, 0.7])
def test_agrees_with_pseudo_inverses(seed, e):
    problem = patch_of_discs(np.random.default_rng(seed), restitution=e)
    velocity, impulse = reflected_by_hand(problem)
    solution = solve_impact(problem, "smm")
    np.testing.assert_allclose(solution.velocity.ravel(), velocity, atol=1e-8)
    np.testing.assert_allclose(solution.impulse, impulse, atol=1e-7)


@given(SEEDS)
def test_elastic_patch_keeps_energy_and_momentum(seed):
    problem = patch_of_discs(np.random.default_rng(seed))
    solution = solve_impact(problem, "smm")
    assert solution.status == "resolved"
    assert abs(solution.kinetic_energy / problem.kinetic_energy - 1.0) <= 1e-10
    measures = solution.audit().to_dict()
    for name in ("energy change", "momentum error", "slowest separation", "residual"):
        assert measures[name]["passed"], name


@given(SEEDS, st.floats(0.0, 1.0))
def test_one_coefficient_never_raises_energy(seed, e):
    problem = patch_of_discs(np.random.default_rng(seed), restitution=e)
    assert solve_impact(problem, "smm").kinetic_energy <= problem.kinetic_energy * (1 + 1e-12)


def test_ball_in_corner_is_pulled():
    # A = [[1, 1/2], [1/2, 1]], u = (-1, -0.1): lam = -2 A^-1 u = (2.5333, -1.0667). Fails ONE.
    solution = solve_impact(ball_in_corner(), "smm")
    np.testing.assert_allclose(solution.impulse, [2.6 - 1.0 / 15.0, -1.0 - 1.0 / 15.0], atol=1e-12)
    np.testing.assert_allclose(solution.separation_speed, [1.0, 0.1], atol=1e-12)
    assert not solution.audit().to_dict()["smallest impulse"]["passed"]
    assert solve_impact(ball_in_corner(), "sqm").audit().passed
    assert "ONE" not in SMM.claims


def test_unequal_coefficients_can_raise_energy():
    # The pulling contact has e = 0: its work lam u / 2 is positive where that of a push would be negative.
    problem = ball_in_corner(restitution=[1.0, 0.0])
    assert solve_impact(problem, "smm").kinetic_energy > 1.01 * problem.kinetic_energy


def test_pulls_can_go_round_in_circles():
    # A disc against walls at 20, 35 and 140 degrees. The first two are reversed together by a push and a
    # pull, which sends the disc back into the third, and so on with period four: KIN fails at the bound.
    angle = np.radians([20.0, 35.0, 140.0])
    walls = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    problem = ImpactProblem.from_matrices([1.0, 1.0], walls, [1.0, -1.0])
    solution = solve_impact(problem, "smm")
    assert solution.status == "finished_inelastically"
    assert "bound" in solution.messages[0]
    assert solution.kinetic_energy < 0.5 * problem.kinetic_energy
    assert solution.separation_speed.min() > -1e-9
    assert solve_impact(problem, "sqm").status == "resolved"
    assert "KIN" not in SMM.claims


def test_landing_box_does_not_turn_and_corners_share():
    # Four corners, rank three: the least-norm impulses are equal. m (1 + e) |v| / 4 each.
    corner = np.array([[x, y, -0.5] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    up = np.array([0.0, 0.0, 1.0])
    rows = np.zeros((4, 2, 6))
    rows[:, 1] = np.concatenate([np.tile(up, (4, 1)), np.cross(corner, up)], axis=1)
    problem = ImpactProblem.from_blocks(
        [[4.0] * 3 + [5.0 / 3.0, 5.0 / 3.0, 8.0 / 3.0]], [[-1, 0]] * 4, rows, [[1.0, 1.0, -10.0, 0.0, 0.0, 0.0]]
    )
    solution = solve_impact(problem, "smm")
    np.testing.assert_allclose(solution.impulse, 20.0, atol=1e-12)
    np.testing.assert_allclose(solution.velocity, [[1.0, 1.0, 10.0, 0.0, 0.0, 0.0]], atol=1e-12)


def test_is_symmetric_where_the_sequential_law_is_not():
    mirror = Symmetry(np.array([2, 1, 0]), np.array([[-1.0]]))
    problem = ImpactProblem.chain([1.0, 3.0, 1.0], [1.0, 0.0, -1.0], symmetries=[mirror])
    for law, bound in (("smm", 1e-12), ("sqm", None)):
        after = solve_impact(problem, law).velocity.reshape(problem.block)
        error = np.abs(mirror.image(after) - after).max()
        assert error <= bound if bound else error > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_order_of_contacts_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    problem = patch_of_discs(rng)
    order = rng.permutation(problem.contact_count)
    shuffled = solve_impact(problem.permuted(order), "smm")
    # Rounding decides nothing here but the last digits: a patch of twelve amplifies them little.
    np.testing.assert_allclose(shuffled.velocity, solve_impact(problem, "smm").velocity, atol=1e-9)


def test_wave_effect_fails():
    # (0.5, 0, -1) reverses both approaches at once, as the Newton-law LCP does: (-5/6, -1/3, 2/3).
    after = solve_impact(ImpactProblem.chain([1.0] * 3, [0.5, 0.0, -1.0]), "smm").velocity
    np.testing.assert_allclose(after, [-5.0 / 6.0, -1.0 / 3.0, 2.0 / 3.0], atol=1e-12)
    assert "WAV" not in SMM.claims


def test_cradle_breaks_away():
    after = solve_impact(ImpactProblem.chain([1.0] * 5, [1.0, 0.0, 0.0, 0.0, 0.0]), "smm").velocity
    np.testing.assert_allclose(after, [0.0, 0.0, 0.0, 0.0, 1.0], atol=1e-12)


def test_sparse_and_dense_solves_agree(monkeypatch):
    # An inward flow jams the whole patch: one island of 100 redundant contacts, solved in both ways.
    cells = np.array([(i + 0.5 * (j % 2), j * np.sqrt(0.75)) for j in range(7) for i in range(7)])
    problem = ImpactProblem.from_discs(cells, 0.5, 1.0, cells.mean(axis=0) - cells)
    contacts = problem.contacts
    monkeypatch.setattr(smm, "DENSE_SMM_CONTACTS", 32)
    sparse = SMM().impulses(contacts)
    monkeypatch.setattr(smm, "DENSE_SMM_CONTACTS", 1000)
    dense = SMM().impulses(contacts)
    np.testing.assert_allclose(sparse.normal, dense.normal, atol=1e-9)
    assert max(sparse.residual, dense.residual) <= 1e-10


def test_least_squares_where_the_sparse_system_has_no_solution(monkeypatch):
    # A box between a floor and three pistons of unequal speed: four rows of rank two, u outside their range.
    monkeypatch.setattr(smm, "DENSE_SMM_CONTACTS", 1)
    rows = np.array([[1.0, -1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    speed = np.array([-1.0, -3.0, -2.0, -1.5])
    problem = ImpactProblem.from_matrices([1.0, 1.0], rows, [0.0, 0.0], boundary_speed=speed)
    first, _ = smm._reflect(problem.contacts.rows, np.arange(4), -2.0 * speed)
    np.testing.assert_allclose(first, np.linalg.pinv(rows @ rows.T, rcond=1e-10) @ (-2.0 * speed), atol=1e-9)


def test_closing_walls_end_and_are_told():
    # Boundaries that close in on a ball from both sides: no answer exists, and least squares has none to push for.
    problem = ImpactProblem.from_blocks(
        [1.0], [[-1, 0], [0, -1]], [[[0.0], [1.0]], [[-1.0], [0.0]]], [[0.0]], boundary_speed=[-1.0, -1.0]
    )
    result = SMM().impulses(problem.contacts)
    assert result.status != "resolved"
    assert result.iterations == 1


def test_clamped_ball_stops_at_the_bound():
    problem = ImpactProblem.from_blocks([1.0], [[-1, 0], [0, -1]], [[[0.0], [1.0]], [[-1.0], [0.0]]], [[-1.0]])
    result = SMM(max_reflections=50).impulses(problem.contacts)
    assert (result.status, result.iterations) == ("finished_inelastically", 50)
    assert "bound of 50" in result.messages[0]
    assert np.abs(problem.contacts.speeds(problem.contacts.after(result.normal))).max() < 1e-12


def test_long_chain_is_within_the_bound():
    after = solve_impact(ImpactProblem.chain(np.ones(400), np.eye(400)[0]), "smm")
    assert after.status == "resolved"
    assert after.velocity[-1] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("option", [{"tolerance": 1.0}, {"max_reflections": -1}])
def test_refuses_bad_options(option):
    with pytest.raises(ProblemError, match=next(iter(option))):
        SMM(**option)


def test_friction_stays_within_the_cone_where_later_systems_pull():
    """Pulls of later systems take impulse away, and friction with it; before, it exceeded mu lam. 1e-12 is rounding."""
    repeated = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        places = [(i + 0.5 * (j % 2), j * np.sqrt(0.75)) for j in range(3) for i in range(4)]
        mass, velocity = rng.uniform(0.3, 3.0, 12), rng.normal(size=(12, 3))
        problem = ImpactProblem.from_discs(places, 0.5, mass, velocity, friction=0.7)
        s = solve_impact(problem, "smm", friction_model="own")
        if s.status == "resolved":
            size = np.linalg.norm(s.friction_impulse, axis=1)
            assert (size <= 0.7 * np.maximum(s.impulse, 0.0) + 1e-12 * np.abs(s.impulse).max()).all()
            repeated += s.iterations > 1
    assert repeated > 5

"""Energy tracking: exact accounts, Coulomb friction inside the increments, and what the law does not do."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from tests.laws import darboux_keller

from carom import ImpactProblem, ProblemError, solve_impact
from carom.catalogue.problems_1d import galperin
from carom.laws.etm import ETM, most_impulses

SEEDS = st.integers(0, 2**32 - 1)
PAGE = Path(__file__).parents[2] / "docs" / "laws" / "etm.md"


def row_of_discs(rng, *, spin=False, friction=None, restitution=1.0, rows=3, columns=4):
    """A patch of a hexagonal packing with random masses and velocities: jammed, and redundant inside."""
    cells = [(i + 0.5 * (j % 2), j * np.sqrt(0.75)) for j in range(rows) for i in range(columns)]
    n = len(cells)
    velocity = rng.normal(size=(n, 3 if spin else 2))
    return ImpactProblem.from_discs(
        cells, 0.5, rng.uniform(0.3, 3.0, n), velocity, friction=friction, restitution=restitution
    )


def any_system(rng, m=5, size=7, t=2, friction=1.0, restitution=1.0):
    """Random rows and a full mass matrix: normal and tangential motion are coupled as strongly as can be."""
    root = rng.normal(size=(size, size))
    return ImpactProblem.from_matrices(
        root @ root.T + 0.3 * np.eye(size),
        rng.normal(size=(m, size)),
        rng.normal(size=size),
        restitution=restitution,
        friction=friction,
        tangents=rng.normal(size=(m, t, size)),
    )


def box_on_ground():
    """The 2 x 2 x 1 box of Tang 2014, section 7.3, with unit density, landing flat at (1, 1, -10)."""
    mass = 4.0
    inertia = mass / 12.0 * np.array([2**2 + 1, 2**2 + 1, 2**2 + 2**2])
    corner = np.array([[x, y, -0.5] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    up = np.array([0.0, 0.0, 1.0])
    rows = np.zeros((4, 2, 6))
    rows[:, 1] = np.concatenate([np.tile(up, (4, 1)), np.cross(corner, up)], axis=1)
    velocity = [[1.0, 1.0, -10.0, 0.0, 0.0, 0.0]]
    return ImpactProblem.from_blocks([[*[mass] * 3, *inertia]], [[-1, 0]] * 4, rows, velocity)


def tracked_by_hand(problem, steps, each=False):
    """Algorithm 2 with dense matrices and a root finder for every cap; no guards, no heap, no closed forms.

    With `each` the increment of a contact is its own approach when it is first served, as in eq. 62, over `steps`.
    """
    c = problem.contacts
    g, x = c.matrix().toarray(), c.velocity.ravel().copy()
    m, t = len(g), problem.tangent_count
    tangent = c.tangent_matrix().toarray().reshape(m, t, g.shape[1])
    basis = np.concatenate([g[:, None], tangent], axis=1)
    total, store = np.zeros((m, 1 + t)), np.zeros(m)

    def impulse(i, du):
        local, mu = basis[i] @ basis[i].T, c.friction[i]
        relative = basis[i] @ x
        sticking = np.linalg.solve(local, np.r_[du, -relative[1:]])
        if mu == 0.0:
            return np.r_[du / local[0, 0], np.zeros(t)]
        if np.linalg.norm(sticking[1:]) <= mu * sticking[0]:
            return sticking
        slip = relative[1:] if relative[1:].any() else -sticking[1:]  # from rest it slips against what would hold it
        along = np.r_[1.0, -mu * slip / np.linalg.norm(slip)]
        return along * du / (local[0] @ along)

    while (g @ x).min() < -1e-10 * -(c.speeds().min()):
        first = -(g @ x).min() / steps
        step = np.full(m, 0.0 if each else first)
        while (g @ x).min() < -1e-3 * first:
            i = int(np.argmin(g @ x))
            u = g[i] @ x
            step[i] = step[i] or -u / steps
            du = min(step[i], -u)
            p = impulse(i, du)
            store[i] -= p[0] * (u + du / 2)
            total[i] += p
            x += p @ basis[i]
        store *= c.restitution**2
        while store.max() > 0:
            for i in np.flatnonzero(store > 0):
                u, left = g[i] @ x, store[i]

                def unspent(du, i=i, u=u, left=left):
                    return left - impulse(i, du)[0] * (u + du / 2)

                du = step[i]
                if unspent(du) <= 0:
                    du, store[i] = brentq(unspent, 0.0, du, xtol=1e-16), 0.0
                else:
                    store[i] = unspent(du)
                p = impulse(i, du)
                total[i] += p
                x += p @ basis[i]
    return total


@pytest.mark.parametrize("steps", [1, 5, 10, 100, 200, 500])
def test_two_turning_bodies_keep_their_energy_to_rounding(steps):
    # Tang's eq. 69 reaches 1.5e-14 at 500 steps; compensated sums stay at a few units of rounding throughout.
    rng = np.random.default_rng(steps)
    for _ in range(10):
        normal = rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        arm = rng.normal(size=(2, 3))
        mass = np.zeros((2, 6, 6))
        for body in mass:
            root = rng.normal(size=(3, 3))
            body[:3, :3] = rng.uniform(0.3, 3.0) * np.eye(3)
            body[3:, 3:] = root @ root.T + 0.2 * np.eye(3)
        rows = np.concatenate([[-normal, normal], np.cross(arm, [-normal, normal])], axis=1)[None]
        velocity = rng.normal(size=(2, 6)) - 3.0 * rows[0] / np.abs(rows).max()
        problem = ImpactProblem.from_blocks(mass, [[0, 1]], rows, velocity)
        solution = solve_impact(problem, ETM(lam=steps))
        assert solution.iterations >= 2 * steps
        assert abs(solution.kinetic_energy / problem.kinetic_energy - 1.0) <= 2e-14
        assert solution.separation_speed[0] == pytest.approx(-problem.separation_speed()[0], rel=1e-12)


@given(SEEDS)
def test_elastic_patch_keeps_energy_and_momentum_and_never_pulls(seed):
    problem = row_of_discs(np.random.default_rng(seed))
    solution = solve_impact(problem, "etm")
    assert solution.status == "resolved"
    # Every increment moves energy between K and W exactly and W ends at zero: rounding is all that is left.
    assert abs(solution.kinetic_energy / problem.kinetic_energy - 1.0) <= 1e-12
    assert solution.audit().passed
    assert solution.impulse.min() >= 0.0


@pytest.mark.covering
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("restitution", [1.0, 0.6])
def test_agrees_with_the_algorithm_done_by_hand(seed, restitution):
    problem = row_of_discs(np.random.default_rng(seed), restitution=restitution, rows=2, columns=3)
    by_hand = tracked_by_hand(problem, 10)
    # Nearly equal approaches can be served in another order after rounding, so not to the last digit.
    np.testing.assert_allclose(solve_impact(problem, ETM(lam=10)).impulse, by_hand[:, 0], atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_algorithm_done_by_hand_with_friction(seed):
    rng = np.random.default_rng(seed)
    problem = row_of_discs(rng, spin=True, friction=0.3, restitution=0.8, rows=2, columns=3)
    by_hand = tracked_by_hand(problem, 10)
    solution = solve_impact(problem, ETM(lam=10))
    np.testing.assert_allclose(solution.impulse, by_hand[:, 0], atol=1e-9)
    np.testing.assert_allclose(solution.friction_impulse, by_hand[:, 1:], atol=1e-9)
    assert np.abs(by_hand[:, 1:]).max() > 0.1


@pytest.mark.parametrize("e", [0.0, 0.5, 0.9, 1.0])
def test_single_contact_obeys_stronge(e):
    problem = ImpactProblem.chain([1.0, 3.0], [2.0, -1.0], restitution=e)
    solution = solve_impact(problem, "etm")
    assert solution.separation_speed[0] == pytest.approx(3.0 * e, abs=1e-12)


@pytest.mark.parametrize(("mu", "sticks"), [(0.05, False), (0.9, True)])
def test_bouncing_sphere_slides_or_rolls(mu, sticks):
    # Sphere, m = 2, r = 0.5, on a floor: normal and slip do not couple, so the outcome is exact for any lam.
    # Slip speed 3 needs the impulse m (2/7) 3 to stop; friction offers mu m (1 + e) |u|.
    e, fall, slip = 0.7, 4.0, 3.0
    problem = ImpactProblem.from_spheres(
        [[0.0, 0.0, 0.5]],
        0.5,
        2.0,
        [[slip, 0.0, -fall, 0.0, 0.0, 0.0]],
        planes=[((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))],
        friction=mu,
        restitution=e,
    )
    for steps in (1, 30):
        after = solve_impact(problem, ETM(lam=steps)).velocity[0]
        loss = min(mu * (1 + e) * fall, 2.0 / 7.0 * slip)
        assert sticks == (loss == 2.0 / 7.0 * slip)
        np.testing.assert_allclose(after[:3], [slip - loss, 0.0, e * fall], atol=1e-12)
        np.testing.assert_allclose(after[4], loss / (0.4 * 0.5), atol=1e-11)


@given(SEEDS, st.sampled_from([0.2, 1.0, 5.0]), st.sampled_from([1, 2]), st.sampled_from([0.0, 0.5, 1.0]))
def test_friction_never_raises_energy_and_stays_in_its_cone(seed, mu, t, e):
    # Random dense coupling at mu up to 5 jams (Painleve) and reverses slip within increments all the time.
    problem = any_system(np.random.default_rng(seed), m=3, t=t, friction=mu, restitution=e)
    solution = solve_impact(problem, ETM(lam=10, max_increments=30_000))
    assert solution.kinetic_energy <= problem.kinetic_energy * (1 + 1e-12)
    excess = np.linalg.norm(solution.friction_impulse, axis=1) - mu * solution.impulse
    assert excess.max() <= 1e-12 * max(solution.impulse.max(), 1.0)
    # Friction acts during the impact: it need not be Coulomb's law for the slip after it.
    assert all(m.passed for m in solution.audit().measures if m.name != "Coulomb residual")


def test_jammed_rod_resolves():
    # A thin rod at 72 degrees that slides tip first: n^T K (n + mu q) < 0 at mu = 3, the case of Painleve.
    angle, mu = np.radians(72.0), 3.0
    x, y = np.cos(angle), -np.sin(angle)
    normal, tangent = [0.0, 1.0, x], [1.0, 0.0, -y]
    problem = ImpactProblem.from_blocks(
        [[1.0, 1.0, 1.0 / 3.0]],
        [[-1, 0]],
        [[[0.0] * 3, normal]],
        [[1.0, -1.0, 0.0]],
        friction=mu,
        tangents=[[[[0.0] * 3, tangent]]],
    )
    response = 1.0 + 3.0 * x * x + mu * -np.sign(1.0) * 3.0 * x * -y
    assert response < 0.0
    solution = solve_impact(problem, "etm")
    assert solution.status == "resolved"
    assert solution.separation_speed[0] > 0.0
    assert solution.kinetic_energy < problem.kinetic_energy
    slip = problem.tangents.times(solution.velocity)
    assert abs(slip[0]) < 1e-12  # jamming ends in sticking


def test_dependent_tangents_are_no_obstacle():
    # Both tangents are the same row: K is singular, and the slip still stops as with one of them.
    def ball(tangents):
        return ImpactProblem.from_matrices(
            [2.0, 2.0], [[0.0, 1.0]], [1.0, -3.0], friction=0.8, tangents=np.array([tangents])
        )

    one = solve_impact(ball([[1.0, 0.0]]), "etm")
    two = solve_impact(ball([[1.0, 0.0], [1.0, 0.0]]), "etm")
    np.testing.assert_allclose(two.velocity, one.velocity, atol=1e-12)
    np.testing.assert_allclose(one.velocity, [0.0, 3.0], atol=1e-12)


def test_more_steps_turn_the_landing_box_less():
    """Tang 2014, section 7.3, finds a linear velocity that does not depend on lambda and no gain above lambda = 50.

    Here the error of the linear velocity is of second order in 1 / lambda and the rotation of first order, without a
    floor: half the increment, a quarter and half of the error.
    """
    error, turn, fall = [], [], np.array([1.0, 1.0, 10.0])
    for steps in (20, 40, 80, 160, 320):
        solution = solve_impact(box_on_ground(), ETM(lam=steps))
        error.append(np.linalg.norm(solution.velocity[0, :3] - fall))
        turn.append(np.linalg.norm(solution.velocity[0, 3:]))
        assert abs(solution.kinetic_energy / box_on_ground().kinetic_energy - 1.0) <= 1e-12
    assert all(0.4 < fine / coarse < 0.6 for coarse, fine in pairwise(turn))
    assert all(0.2 < fine / coarse < 0.3 for coarse, fine in pairwise(error))
    sequential = np.linalg.norm(solve_impact(box_on_ground(), "sqm").velocity[0, 3:])
    assert turn[2] < 0.1 * sequential


def rough_box(seed):
    """A box of random size that lands flat on four corners with mu = e = 0.8."""
    rng = np.random.default_rng(seed)
    half = rng.uniform(0.25, 1.0, 3)
    inertia = (half**2).sum() / 3.0 - half**2 / 3.0
    corner = np.array([[x, y, -1.0] for x in (-1.0, 1.0) for y in (-1.0, 1.0)]) * half
    axes = np.eye(3)[[2, 0, 1]]
    rows = np.array([[np.concatenate([axis, np.cross(c, axis)]) for axis in axes] for c in corner])
    velocity = np.concatenate([rng.normal(size=2), [-rng.uniform(1, 3)], rng.normal(size=3)])
    mass = np.array([1.0, 1.0, 1.0, *inertia])
    options = {"restitution": 0.8, "friction": 0.8, "tangents": rows[:, 1:]}
    return ImpactProblem.from_matrices(mass, rows[:, 0], velocity, **options)


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_increments_that_friction_divides_are_completed(seed):
    """The increment of a contact whose slip stops goes on with the rest of it: as printed it is one whole.

    With lambda = 200 both are within 1 / lambda of their limit. Increments that end where slip stops make the contact
    release its energy more slowly than its neighbors, and the velocity differ by 1 to 2 % for every lambda.
    """
    problem = rough_box(seed)
    total = tracked_by_hand(problem, 200)
    by_hand = problem.velocity_after(total[:, 0].copy(), total[:, 1:].copy())
    apart = np.abs(solve_impact(problem, ETM(lam=200)).velocity - by_hand).max()
    assert apart <= 1e-3 * np.abs(problem.velocity).max()


def rough_box_differences(count: int) -> np.ndarray:
    """Differences (4, count) between answers, relative to the fastest component of the velocity: ours and the printed
    algorithm, both with increments of the island, both with those of each contact, and ours with the former against the
    printed one with the latter; last, the printed algorithm with one kind against the other."""
    out = np.zeros((4, count))
    for seed in range(count):
        problem = rough_box(seed)
        by_hand = []
        for each in (False, True):
            total = tracked_by_hand(problem, 30, each)
            by_hand.append(problem.velocity_after(total[:, 0].copy(), total[:, 1:].copy()))
        ours = [solve_impact(problem, ETM(increment=kind)).velocity for kind in ("island", "contact")]
        pairs = (ours[0], by_hand[0]), (ours[1], by_hand[1]), (ours[0], by_hand[1]), by_hand
        out[:, seed] = [np.abs(a - b).max() / np.abs(problem.velocity).max() for a, b in pairs]
    return out


def rough_box_table(differences: np.ndarray) -> str:
    """The table in docs/laws/etm.md: seed of the box, sizes, and the differences of the box."""
    lines = [
        "| seed | half sizes | same increments | of each contact | default against eq. 62 | printed: both kinds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for seed, row in enumerate(differences.T):
        half = np.random.default_rng(seed).uniform(0.25, 1.0, 3)
        lines.append(f"| {seed} | {' x '.join(f'{x:.2f}' for x in half)} | {' | '.join(f'{x:.2f}' for x in row)} |")
    return "\n".join(lines)


def boxes_of(table: str) -> list[list[str]]:
    """The cells of the rows of `rough_box_table`."""
    lines = [line for line in table.splitlines()[2:12] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_ten_rough_boxes_as_printed():
    """The largest differences from the printed algorithm, relative to the fastest component of the velocity.

    With the same increments they are those of friction within an increment: up to 0.07 for increments of the island
    (the default) and up to 0.05 for those of each contact (eq. 62). The two kinds of increments give answers that are
    0.25 apart in the printed algorithm itself, and the default is 0.28 from eq. 62 on the first box. The page has the
    differences of each box; `python -m tests.laws.test_etm` writes them.
    """
    differences = rough_box_differences(10)
    same, printed, mixed, _ = differences
    assert same.max() <= 0.075 and np.median(same) <= 0.03
    assert printed.max() <= 0.055 and np.median(printed) <= 0.02
    assert mixed[0] == mixed.max() and 0.25 <= mixed.max() <= 0.32
    page, here = (
        boxes_of(PAGE.read_text(encoding="utf-8").split("<!-- boxes -->\n")[1]),
        boxes_of(rough_box_table(differences)),
    )
    assert [row[:2] for row in page] == [row[:2] for row in here], "run python -m tests.laws.test_etm"
    # Half a unit of the last digit, and 0.01: rounding, which depends on the processor, decides which one of equal
    # contacts the printed algorithm serves first (0.008 on the last box).
    off = np.abs(np.array([row[2:] for row in page], np.float64) - differences.T).max()
    assert off <= 0.015, "run python -m tests.laws.test_etm"


@pytest.mark.long
def test_a_hundred_rough_boxes_as_printed():
    """Ten boxes are few: of a hundred, three in each kind are beyond 0.07, up to 0.16 and 0.08. The two kinds of
    increments part by as much in the printed algorithm (0.50) as ours and eq. 62 do (0.49)."""
    same, printed, mixed, kinds = rough_box_differences(100)
    assert np.median(same) <= 0.02 and (same > 0.07).mean() <= 0.05 and same.max() <= 0.17
    assert np.median(printed) <= 0.015 and (printed > 0.07).mean() <= 0.05 and printed.max() <= 0.09
    assert abs(mixed.max() - kinds.max()) <= 0.02 and mixed.max() > 0.4


def test_the_bound_of_long_chains_is_linear_in_the_contacts():
    """A cradle of n balls needs about n^2.5 impulses, because compression spreads momentum by diffusion: 244,000 for 50
    balls and 3.7 million for 200. The bound ends longer ones inelastically after four million, and is above the 2 lam
    impulses of a contact that is alone, however many of them there are."""
    for m in (10, 200, 1000, 100_000):
        assert most_impulses(m, 10**12) == max(4_000_000, 300 * m) and most_impulses(m, 1000) == 1000
    assert most_impulses(100_000, 10**12) > 2 * 30 * 100_000
    chain = ImpactProblem.chain([1.0] * 60, [1.0] + [0.0] * 59)
    cut, whole = solve_impact(chain, ETM(max_increments=100_000)), solve_impact(chain, "etm")
    assert (cut.status, whole.status) == ("finished_inelastically", "resolved")
    assert whole.iterations > 100_000 and "bound" in cut.messages[0]


def test_wave_effect_fails():
    # Three balls (va, 0, -1) should exchange. Compression spreads the momentum first, and nothing undoes it.
    worst = 0.0
    for va in np.linspace(0.0, 1.0, 21):
        after = solve_impact(ImpactProblem.chain([1.0] * 3, [va, 0.0, -1.0]), "etm").velocity
        worst = max(worst, np.abs(after - [-1.0, 0.0, va]).max())
    assert worst == pytest.approx(0.66, abs=0.02)
    assert "WAV" not in ETM.claims


def test_symmetry_fails_by_a_step():
    problem = ImpactProblem.chain([1.0] * 3, [1.0, 0.0, -1.0])

    def skew(steps):
        after = solve_impact(problem, ETM(lam=steps)).velocity
        return np.abs(after + after[::-1]).max()

    assert skew(30) > 1e-3
    assert skew(300) < 0.2 * skew(30)
    assert "SYM" not in ETM.claims


def test_cradle_breaks_away():
    after = solve_impact(ImpactProblem.chain([1.0] * 5, [1.0, 0.0, 0.0, 0.0, 0.0]), "etm")
    assert after.separation_speed[-1] > 0.01


def test_clamped_ball_ends_without_restitution():
    problem = ImpactProblem.from_blocks([1.0], [[-1, 0], [0, -1]], [[[0.0], [1.0]], [[-1.0], [0.0]]], [[-1.0]])
    result = ETM().impulses(problem.contacts)
    assert result.status == "finished_inelastically"
    assert "300 repeats" in result.messages[0]
    assert np.abs(problem.contacts.speeds(problem.contacts.after(result.normal))).max() < 1e-12


def test_bound_on_impulses_is_kept():
    problem = row_of_discs(np.random.default_rng(0))
    solution = solve_impact(problem, ETM(max_increments=100))
    assert solution.status == "finished_inelastically"
    assert solution.kinetic_energy < problem.kinetic_energy
    assert solution.separation_speed.min() > -1e-9


def test_islands_do_not_know_of_each_other():
    slow, fast = [0.3, 0.0, -0.1], [50.0, 0.0, 0.0]
    bodies = [[0, 1], [1, 2], [3, 4], [4, 5]]
    together = ImpactProblem.from_blocks(
        np.ones(6), bodies, np.tile([[[-1.0], [1.0]]], (4, 1, 1)), np.reshape(slow + fast, (6, 1))
    )
    alone = solve_impact(ImpactProblem.chain(np.ones(3), slow), "etm").velocity
    np.testing.assert_allclose(solve_impact(together, "etm").velocity[:3, 0], alone, atol=1e-6)


@pytest.mark.parametrize(
    "option", [{"lam": 0}, {"lam": 2.5}, {"tolerance": -1.0}, {"max_repeats": 0}, {"increment": "body"}]
)
def test_refuses_bad_options(option):
    with pytest.raises(ProblemError, match=next(iter(option))):
        ETM(**option)


def test_hundreds_of_collisions_keep_energy():
    # A wall, a light ball, and one 10,000 times heavier: a slow relaxation, not to be cut off.
    problem = ImpactProblem.from_blocks(
        [1.0, 1e4], [[-1, 0], [0, 1]], [[[0.0], [1.0]], [[-1.0], [1.0]]], [[0.0], [-1.0]]
    )
    solution = solve_impact(problem, "etm")
    assert solution.status == "resolved"
    assert abs(solution.kinetic_energy / problem.kinetic_energy - 1.0) <= 1e-10


def test_energy_tracking_gives_up_after_its_bound():
    """Beyond its bound of repeats restitution is 0, as its paper has it; the status tells."""
    entry = galperin(1e4)
    solution = solve_impact(entry.problem, ETM(max_repeats=3))
    assert solution.status == "finished_inelastically"
    assert solution.kinetic_energy < entry.problem.kinetic_energy


def rough_contact(rng, t, jammed):
    """Rows (1 + t, 3 t) of one contact with a unit mass matrix, mu, and a velocity; jammed if that is asked for."""
    while True:
        rows = rng.normal(size=(1 + t, 3 * t))
        rows[1:] += rng.uniform(0.0, 2.0) * rng.normal(size=(t, 1)) * rows[0]
        mu, velocity = rng.uniform(0.0, 2.0), rng.normal(size=3 * t)
        u = rows @ velocity
        u, velocity = (u, velocity) if u[0] < 0.0 else (-u, -velocity)
        response = rows[0] @ rows.T @ [1.0, *(-mu * u[1:] / np.linalg.norm(u[1:]))]
        if (response <= 0.0) == jammed:
            return rows, mu, velocity


def darboux_keller_errors(count, lams, steps, seed=0):
    """Largest errors of the velocity at the contact, relative to its largest speed before, for each lambda."""
    rng, errors = np.random.default_rng(seed), []
    for number in range(count):
        t, jammed = 1 + number % 2, (number // 2) % 2 == 0
        rows, mu, velocity = rough_contact(rng, t, jammed)
        e, u = rng.uniform(0.0, 1.0), rows @ velocity
        expected = darboux_keller.impact(rows @ rows.T, u, mu, e, steps)
        problem = ImpactProblem.from_matrices(
            np.ones(3 * t), rows[:1], velocity, friction=mu, tangents=rows[None, 1:], restitution=e
        )
        # A jam that is fast against the approach needs many increments: ten million for one contact of a thousand.
        got = [rows @ solve_impact(problem, ETM(lam=lam, max_increments=10**8)).velocity for lam in lams]
        errors.append([np.abs(g - expected).max() / np.abs(u).max() for g in got])
    return np.array(errors)


def test_one_contact_converges_to_darboux_and_keller():
    """Half of the contacts jam at the start. Errors are of first order in 1 / lambda; without the treatment of jams
    they stay at several percent."""
    few, many = darboux_keller_errors(32, (30, 300), 1000).T
    assert few.max() <= 0.1
    assert many.max() <= 0.01
    assert np.median(many) <= 0.2 * np.median(few) + 1e-6


@pytest.mark.long
def test_a_thousand_contacts_converge_to_darboux_and_keller():
    """Errors at lambda = 300 and 3,000: 1.5e-3 and 1.3e-3 at most, 8e-4 and 9e-5 for 99 % of contacts, 8e-7 and 2e-8
    in the median. The largest one at 3,000 is that of the reference, whose slip oscillates where K is anisotropic.
    """
    few, many = darboux_keller_errors(1000, (300, 3000), 2000).T
    assert max(few.max(), many.max()) <= 2e-3
    assert np.quantile(few, 0.99) <= 1.5e-3
    assert np.quantile(many, 0.99) <= 0.15 * np.quantile(few, 0.99)


def test_the_increment_of_each_contact_as_printed():
    """Eq. 62: for one contact the two increments are the same. On a chain the answers differ for every lambda."""
    one = ImpactProblem.chain([1.0, 2.0], [1.0, -1.0], restitution=0.5)
    np.testing.assert_allclose(
        solve_impact(one, ETM(increment="contact")).velocity, solve_impact(one, ETM()).velocity, atol=1e-12
    )
    apart = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        chain = ImpactProblem.chain(rng.uniform(0.5, 2.0, 6), rng.normal(size=6))
        if chain.separation_speed().min() >= 0.0:
            continue
        a, b = (solve_impact(chain, ETM(lam=100, increment=name)) for name in ("island", "contact"))
        for s in (a, b):
            assert s.kinetic_energy == pytest.approx(chain.kinetic_energy, rel=1e-10)
        apart.append(np.abs(a.velocity - b.velocity).max())
    assert 0.01 < np.median(apart) < 0.5


def test_history():
    """Tang's figs. 4 and 6b: normal speed rises in equal increments, stored energy rises to K and is released."""
    problem = ImpactProblem.chain([1.0, 1.0], [1.0, -1.0], restitution=0.5)
    s = solve_impact(problem, ETM(lam=20), history=True)
    h = s.history
    assert len(h) == s.iterations
    press, release = h[h["stage"] == 1], h[h["stage"] == 3]
    np.testing.assert_allclose(np.diff(press["after"]), 0.1, atol=1e-12)
    np.testing.assert_allclose(press["stored"], -np.cumsum(press["work"]), atol=1e-12)
    assert press["stored"][-1] == pytest.approx(1.0)
    assert release["work"].sum() == pytest.approx(0.25)
    assert h["stored"][-1] == 0.0
    assert solve_impact(problem, ETM(lam=20)).history is None


def test_the_history_of_a_long_chain_has_one_row_per_impulse():
    """69 contacts go through the heap, 41 are scanned; a row of the history takes 48 bytes, and no other row is kept.

    The room for the history once doubled whenever the heap was full: this chain ran out of memory.
    """
    for balls, lam in ((42, 3), (70, 30)):
        problem = ImpactProblem.chain(np.ones(balls), [1.0] + [0.0] * (balls - 1), restitution=0.7)
        s = solve_impact(problem, ETM(lam=lam), history=True)
        assert len(s.history) == s.iterations
        work = np.bincount(s.history["contact"], s.history["work"])  # of each contact: its impulse times its mean speed
        assert work.sum() == pytest.approx(s.kinetic_energy - problem.kinetic_energy, abs=1e-12)


@pytest.mark.parametrize("law", ["gr", "sqm"])
def test_laws_without_a_history_say_so(law):
    problem = ImpactProblem.chain([1.0, 1.0], [1.0, -1.0])
    with pytest.raises(
        ProblemError, match=f"history: got True; expected a law that has one, which '{law}' has not: etm"
    ):
        solve_impact(problem, law, history=True)


def write_table() -> None:
    """Writes the table of ten rough boxes into the page of the law."""
    text, table = PAGE.read_text(encoding="utf-8"), rough_box_table(rough_box_differences(10))
    section = f"<!-- boxes -->\n{table}\n<!-- /boxes -->"
    PAGE.write_text(re.sub(r"<!-- boxes -->.*?<!-- /boxes -->", section, text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    write_table()

"""Stability: verdicts with known answers, and both certificates checked by hand-made arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import nnls

from carom.towers import Brick, Tower
from carom.towers.contacts import contact_rows, masses, pin_rows, weights
from carom.towers.stability import BOUND, fastest_corner

ROOT = math.sqrt(2.0)


def table(edge=0, width=4, height=1) -> Brick:
    return Brick.rectangle(Fraction(edge) - Fraction(width, 2), Fraction(height, 2), width, height, fixed=True)


def three_bricks(right=Fraction(1, 2), all_by=0) -> Tower:
    """One brick at the edge of the table carries two: overhang 1, the most for three bricks (Paterson and Zwick)."""
    h = Fraction(1, 4)
    places = ((0, 1 + h / 2), (Fraction(-1, 2), 1 + 3 * h / 2), (right, 1 + 3 * h / 2))
    return Tower.from_bricks([table(), *((x + Fraction(all_by), y, 1, h) for x, y in places)])


def four_bricks(right=0.0, all_by=0.0) -> Tower:
    """The best four bricks. A carries B (right) and D (left), C lies on both.

    Let C press the left end of B with p. B turns about A's right end: b - a - 1/2 = p (a + 1 - b). D, with C's other
    1 - p on its right end, stands on A's left end. All four about the table's edge: 4 a = 1/2 - p. So the overhang is
    b + 1/2 = (1 - 2 p) / 8 + (1/2 + p) / (1 + p) + 1/2, largest at (1 + p)^2 = 2: (15 - 4 sqrt 2) / 8.
    """
    p = ROOT - 1.0
    a = (1.0 - 2.0 * p) / 8.0
    b = a + (0.5 + p) / (1.0 + p)
    d = a - 0.5 - (1.0 - p) / (2.0 * (2.0 - p))
    c = p * (b - 0.5) + (1.0 - p) * (d + 0.5)
    places = ((a, 1.125), (b + right, 1.375), (d, 1.375), (c, 1.625))
    return Tower.from_bricks([table(), *((x + all_by, y, 1, 0.25) for x, y in places)])


def check(tower: Tower) -> bool:
    """The verdict, after its certificate has been checked against the definition. Tolerances are those promised."""
    found = tower.stability()
    assert found.proven and found.certificate <= BOUND and bool(found) is found.stable
    j, p, w = contact_rows(tower), pin_rows(tower), weights(tower)
    if found.stable:
        assert found.motion is None and found.power == 0.0
        assert found.forces.min(initial=0.0) >= 0.0
        left = j.T @ found.forces + p.T @ found.pin_forces.ravel() + w
        assert np.abs(left).max() <= 1e-9 * np.abs(w).sum() * max(1.0, np.ptp(np.vstack(tower.corners)))
    else:
        assert found.forces is None
        d = found.motion.ravel()
        assert fastest_corner(tower, found.motion) == pytest.approx(1.0, rel=1e-12)
        assert (j @ d).min(initial=0.0) >= -1e-9 and np.abs(p @ d).max(initial=0.0) <= 1e-9
        assert found.power == pytest.approx(w @ d, rel=1e-12) and found.power > 0.0
        assert not found.motion[~tower.free].any()
    return found.stable


def gauss(tower: Tower) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations and forces of min 1/2 (a - g)^T M (a - g), J a >= 0, from its dual by SciPy's NNLS."""
    j, m, w = contact_rows(tower).toarray(), masses(tower), weights(tower)
    root = 1.0 / np.sqrt(m)
    forces, _ = nnls((j * root).T, -w * root, maxiter=50 * (j.shape[0] + 10))
    return ((w + j.T @ forces) / m).reshape(-1, 3), forces


@pytest.mark.parametrize("n", range(1, 13))
def test_harmonic_stack_stands_at_the_limit(n):
    stack = Tower.harmonic(n)
    assert check(stack)
    assert stack.overhang() == pytest.approx(sum(0.5 / k for k in range(1, n + 1)), rel=1e-12)
    assert not check(stack.moved(-1, "1/100"))
    assert check(stack.moved(-1, "-1/100")) is True


@pytest.mark.parametrize("n", [1, 5, 12])
def test_harmonic_stack_is_resolved_to_a_billionth(n):
    """The power of a shift s of the top is about s times its weight: 1e-9 is ten times what counts as none."""
    assert not check(Tower.harmonic(n).moved(-1, 1e-9))
    assert check(Tower.harmonic(n).moved(-1, 1e-12))


def test_best_three_bricks():
    assert three_bricks().overhang() == 1.0
    assert check(three_bricks())
    assert not check(three_bricks(right=Fraction(501, 1000)))
    assert not check(three_bricks(all_by=Fraction(1, 1000)))


def test_best_four_bricks():
    best = (15.0 - 4.0 * ROOT) / 8.0
    assert four_bricks().overhang() == pytest.approx(best, rel=1e-14)
    assert check(four_bricks())
    assert not check(four_bricks(right=1e-3 * best))
    assert not check(four_bricks(all_by=1e-3 * best))


@pytest.mark.parametrize("brick", [(3, 1), (1, "1/4"), (1, 2)])
def test_diamonds_stand_up_to_four(brick):
    """The verdict depends on widths alone: without friction and with faces along the axes heights do not enter."""
    assert [check(Tower.diamond(n, brick)) for n in range(1, 8)] == [True] * 4 + [False] * 3


def test_diamond_forces_of_two_are_known():
    """Brick on two on one: each middle brick, marginal alone, gets half a weight on its inner half."""
    tower = Tower.diamond(2, gravity=1.0)
    forces, found = tower.stability().forces, tower.contacts
    ground = forces[found.under == -1]
    assert ground == pytest.approx([6.0, 6.0], rel=1e-12)  # four bricks of area 3, on both ends alike
    top = forces[(found.on == 3) | (found.under == 3)]
    assert top.sum() == pytest.approx(3.0, rel=1e-12)


@pytest.mark.parametrize("tower", [Tower.diamond(3), Tower.diamond(4), Tower.wall(5, 5), Tower.wall(4, 4, gap="1/2")])
def test_forces_of_symmetric_towers_are_symmetric(tower):
    found, forces = tower.contacts, tower.stability().forces
    place = [tuple(np.round(c, 6) + 0.0) for c in tower.center] + [(0.0, -1.0)]
    table_of = {}
    for (x, y), i, j, f in zip(np.round(found.point, 6) + 0.0, found.on, found.under, forces):
        table_of[x, y, frozenset((place[i], place[j]))] = f
    assert len(table_of) == len(forces)
    for (x, y, pair), f in table_of.items():
        mirrored = table_of[-x + 0.0, y, frozenset((-u + 0.0, v) for u, v in pair)]
        assert mirrored == pytest.approx(f, abs=1e-12 * forces.max())


def test_forces_have_the_least_sum_of_squares():
    """A brick on three equal feet in a row is hyperstatic: springs share by distance, here a third each."""
    feet = [Brick.rectangle(x, "1/2", 1, 1, fixed=True) for x in (-2, 0, 2)]
    beam = Tower.from_bricks([*feet, (0, 1.5, 5, 1)], gravity=1.0)
    forces = beam.stability().forces
    assert len(forces) == 6 and forces == pytest.approx(np.full(6, 5.0 / 6.0), rel=1e-10)


def test_unstable_motion_is_the_direction_of_the_first_acceleration():
    tower = Tower.diamond(5)
    a, _ = gauss(tower)
    assert tower.stability().motion == pytest.approx(a / fastest_corner(tower, a), abs=1e-9)


@given(
    st.lists(st.integers(-40, 40), min_size=1, max_size=7),
    st.lists(st.integers(-3, 3), min_size=7, max_size=7),
    st.sampled_from(["uniform", "corners"]),
)
def test_stack_stands_iff_each_upper_part_has_its_center_over_its_support(steps, densities, mass_model):
    """For one brick on the other the rule is exact in fractions, marginal stacks included."""
    centers = [Fraction(0)]
    for step in steps:
        centers.append(centers[-1] + Fraction(step, 50))
    density = [Fraction(10) ** k for k in densities] + [Fraction(1)]
    bricks = [Brick.rectangle(x, Fraction(2 * i + 1, 8), 1, "1/4", density=density[i]) for i, x in enumerate(centers)]
    expected = True
    for i in range(len(bricks) - 1):
        above = list(zip(density, centers))[i + 1 : len(centers)]
        center = sum(m * x for m, x in above) / sum(m for m, _ in above)
        low, high = max(centers[i : i + 2]) - Fraction(1, 2), min(centers[i : i + 2]) + Fraction(1, 2)
        expected = expected and low <= center <= high
    assert check(Tower(tuple(bricks), mass_model=mass_model)) is expected


@st.composite
def rows_of_bricks(draw) -> Tower:
    """Rows of bricks of width 2 at random places in eighths, each above at least one of the row below."""
    bricks, below = [], None
    for level in range(draw(st.integers(1, 4))):
        x, row = draw(st.integers(-24, 0)), []
        for _ in range(draw(st.integers(1, 4))):
            row.append(x)
            x += 16 + draw(st.integers(0, 12))
        if below is not None:
            row = [u for u in row if any(abs(u - v) < 16 for v in below)]
        assume(row)
        bricks += [Brick.rectangle(Fraction(u, 8), Fraction(2 * level + 1, 2), 2, 1) for u in row]
        below = row
    return Tower(tuple(bricks))


@given(rows_of_bricks())
def test_verdict_is_that_of_gauss_principle(tower):
    """It stands iff nothing accelerates; NNLS and the LP share no code. Marginal ones are zero to rounding."""
    a, _ = gauss(tower)
    assert check(tower) is bool(np.abs(a).max() <= 1e-7 * tower.gravity)


@given(rows_of_bricks())
def test_mirror_image_gets_the_same_answer(tower):
    image = tower.with_(bricks=tuple(Brick.polygon([(-x, y) for x, y in b.exact]) for b in tower.bricks))
    ours, theirs = tower.stability(), image.stability()
    assert ours.stable is theirs.stable
    assert theirs.power == pytest.approx(ours.power, rel=1e-6)
    if ours.stable:
        assert np.sort(theirs.forces) == pytest.approx(np.sort(ours.forces), abs=1e-9 * ours.forces.max())


@pytest.mark.covering
@pytest.mark.parametrize("gravity", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_units_do_not_matter(gravity, size):
    def answer(tower):
        assert check(tower) is tower.stability().stable
        return tower.stability()

    base = Tower.harmonic(4, (1, 0.25), gravity=1.0)
    scaled = Tower.harmonic(4, (size, 0.25 * size), gravity=gravity)
    force = gravity * size**2
    assert answer(scaled).forces == pytest.approx(force * answer(base).forces, rel=1e-9, abs=1e-12 * force)
    ours, theirs = answer(scaled.moved(-1, 0.01 * size)), answer(base.moved(-1, 0.01))
    assert not ours and ours.power == pytest.approx(force * theirs.power, rel=1e-6)


def test_without_gravity_everything_stands_without_forces():
    found = Tower.harmonic(3, gravity=0.0).moved(-1, "1/10").stability()
    assert found and not found.forces.any() and found.certificate == 0.0


def test_a_light_brick_that_tips_is_seen_beside_a_heavy_one():
    heavy = Brick.rectangle(10, "1/2", 1, 1, density=10**8)
    tower = Tower.harmonic(2).moved(-1, "1/100")
    assert not check(tower.with_(bricks=(*tower.bricks, heavy)))
    assert check(Tower.harmonic(2).with_(bricks=(*Tower.harmonic(2).bricks, heavy)))


def test_free_brick_in_the_air_falls():
    found = Tower.from_bricks([(0, 5, 1, 1)], floating=True, gravity=2.0).stability()
    assert not found and found.power == pytest.approx(2.0)
    assert found.motion == pytest.approx(np.array([[0.0, -1.0, 0.0]]))


def test_fixed_bricks_alone_stand():
    found = Tower.from_bricks([{"x": 0, "y": 5, "width": 1, "height": 1, "fixed": True}]).stability()
    assert found and len(found.forces) == 0


def test_pins_hold_what_hangs_straight_below():
    hanging = Tower.from_bricks([(0, 5, 1, 3)], pins=[(0, -1, (0.0, 6.0))], gravity=1.0)
    assert check(hanging)
    assert hanging.stability().pin_forces == pytest.approx(np.array([[0.0, 3.0]]), abs=1e-12)
    assert not check(Tower.from_bricks([(0, 5, 1, 3)], pins=[(0, -1, (0.2, 6.0))]))


def test_wedge_forces_follow_from_the_slopes():
    """A square on edge in a right-angled groove: each side carries weight / sqrt 2."""
    left = Brick.polygon([(-3, 0), (0, 0), (0, 1), (-3, 4)], fixed=True)
    right = Brick.polygon([(0, 0), (3, 0), (3, 4), (0, 1)], fixed=True)
    square = Brick.polygon([(0, 1), (1, 2), (0, 3), (-1, 2)])
    tower = Tower((left, right, square), gravity=1.0)
    assert check(tower)
    forces, side = tower.stability().forces, tower.contacts.normal[:, 0]
    for sign in (1.0, -1.0):
        assert forces[side * sign > 0].sum() == pytest.approx(2.0 / ROOT, rel=1e-10)


def test_summary_tells_the_verdict():
    assert "stable" in Tower.wall(3, 3).stability().summary().splitlines()[0]
    fallen = Tower.diamond(5).stability().summary()
    assert fallen.startswith("unstable") and "24 bricks move" in fallen
    assert Tower.harmonic(2).stability(exact=True).summary().startswith("stable, verified in fractions")

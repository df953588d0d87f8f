"""Verification in fractions: marginal stacks, falls, first accelerations, and what cannot be verified."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from carom.towers import Brick, Tower
from carom.towers.contacts import contact_rows, masses, pin_rows, weights
from carom.towers.exact import (
    MOST_CONTACTS,
    ExactRows,
    NotVerified,
    exact_forces,
    exact_initial,
    exact_motion,
    short_fraction,
    solve_near,
)

third = Fraction(1, 3)


def gauss(tower: Tower) -> tuple[np.ndarray, np.ndarray]:
    """(accelerations, forces) by SciPy's NNLS on the dual."""
    j, m, w = contact_rows(tower).toarray(), masses(tower), weights(tower)
    root = 1.0 / np.sqrt(m)
    forces, _ = nnls((j * root).T, -w * root, maxiter=50 * (j.shape[0] + 10))
    return ((w + j.T @ forces) / m).reshape(-1, 3), forces


@pytest.mark.parametrize("n", range(1, 13))
def test_harmonic_stacks_are_verified_on_both_sides_of_the_limit(n):
    """The stack is marginal: exact arithmetic is the only way to say that it stands."""
    assert (found := Tower.harmonic(n).stability(exact=True)).exact and found.stable
    moved = Tower.harmonic(n).moved(-1, "1/100").stability(exact=True)
    assert moved.exact and not moved.stable and moved.power > 0.0


def test_a_shift_below_any_float_is_seen_by_fractions():
    """Moved by 1e-30 it is the same tower for floats, and stands; in fractions it does not."""
    found = Tower.harmonic(3).moved(-1, Fraction(1, 10**30)).stability(exact=True)
    assert found.stable and not found.exact
    assert "limiting equilibrium" in found.messages[0]
    back = Tower.harmonic(3).moved(-1, Fraction(-1, 10**30)).stability(exact=True)
    assert back.stable and not back.exact  # the force of 1e-30 that would hold it is not in the floating support


def test_the_same_tower_in_floats_is_marginal_only_to_rounding():
    """0.1 and 1/3 as floats are other numbers: the fractions tell that the verdict is one of rounding."""
    stack = Tower.stack([0, Fraction(1, 2), Fraction(1, 2)])
    assert stack.stability(exact=True).exact
    assert Tower.stack([0.0, 0.5, 0.5]).stability(exact=True).exact  # binary fractions are exact
    near = Tower.stack([0.0, math.nextafter(0.5, 1.0), 0.5]).stability(exact=True)
    assert near.stable and not near.exact


@pytest.mark.parametrize(
    ("tower", "stands"),
    [
        (Tower.diamond(3), True),
        (Tower.diamond(4), True),
        (Tower.diamond(5), False),
        (Tower.wall(4, 4), True),
        (Tower.wall(4, 4, gap="1/2"), True),
        (Tower.wall(5, 4, gap="1/10"), False),
        (Tower.wall(4, 4, mass_model="corners"), True),
        (Tower.stack([0, third, 2 * third, 1 - Fraction(1, 9)], mass_model="corners"), False),
    ],
    ids=lambda value: value.name if isinstance(value, Tower) else "",
)
def test_verdicts_are_verified(tower, stands):
    found = tower.stability(exact=True)
    assert found.exact and found.stable is stands and found.certificate <= 1e-12


def test_pins_are_verified():
    two = Tower.from_bricks([(0, 5, 1, 3)], pins=[(0, -1, (0.25, 6.0)), (0, -1, (-0.5, 4.0))])
    found = two.stability(exact=True)
    assert found.stable and found.exact
    assert not (fallen := Tower.from_bricks([(0, 5, 1, 3)], pins=[(0, -1, (0.25, 6.0))]).stability(exact=True)).stable
    assert fallen.exact


def test_a_wrong_claim_is_not_verified():
    """Forces for a tower that falls, and a motion for one that stands, must be refused."""
    falls, stands = Tower.diamond(5), Tower.diamond(3)
    _, forces = gauss(falls)
    with pytest.raises(NotVerified, match="exact"):
        exact_forces(falls, falls.contacts, forces, np.zeros((0, 2)))
    for motion in (np.zeros((9, 3)), -np.ones((9, 3)), np.random.default_rng(1).normal(size=(9, 3))):
        with pytest.raises(NotVerified):
            exact_motion(stands, stands.contacts, motion)


def test_rows_in_fractions_are_the_floating_rows():
    """Up to the length of the normal, which is not 1 for slanting edges."""
    angle = 0.3
    wedge = Brick.polygon([(-5, 0), (5, 0), (5, 10 * math.tan(angle))], fixed=True)
    x, y = 0.5 * math.cos(angle) - 0.5 * math.sin(angle), (5 + 0.5 * math.cos(angle)) * math.tan(angle)
    box = Brick.rectangle(x, y + 0.5 / math.cos(angle), 1, 1, angle)
    tower = Tower((wedge, box), pins=(), floating=True)
    rows = ExactRows(tower, tower.contacts)
    whole = np.zeros((len(rows.contacts), 6))
    for k, row in enumerate(rows.contacts):
        for c, value in row.items():
            whole[k, c] = float(value) / rows.lengths[k]
    assert whole == pytest.approx(contact_rows(tower).toarray(), abs=1e-14)
    assert pin_rows(tower).shape == (0, 6)


@pytest.mark.parametrize("mass_model", ["uniform", "corners"])
def test_tipping_brick_has_the_textbook_acceleration(mass_model):
    """A brick with its center s beyond the edge of a table, which carries it alone.

    Without friction only the vertical acceleration at the edge vanishes: the center goes straight down, by alpha s,
    and the force f has m (g + alpha s) = f and m k^2 alpha = -s f. So alpha = -g s / (k^2 + s^2).
    """
    s, g = Fraction(1, 10), Fraction("9.81")
    bricks = [Brick.rectangle(-2, "1/2", 4, 1, fixed=True), Brick.rectangle(s, 1 + Fraction(1, 8), 1, "1/4")]
    tower = Tower(tuple(bricks), mass_model=mass_model)
    a, forces = gauss(tower)
    found = exact_initial(tower, tower.contacts, forces, a)
    width, height = Fraction(1), Fraction(1, 4)
    square = (width**2 + height**2) / (12 if mass_model == "uniform" else 4)
    alpha = -g * s / (square + s**2)
    assert found.acceleration[1] == (0, alpha * s, alpha)
    assert found.forces.sum() == pytest.approx(float((g + alpha * s) / 4), rel=1e-14)


@pytest.mark.parametrize(
    "tower", [Tower.diamond(5), Tower.wall(5, 4, gap="1/10"), Tower.harmonic(6).moved(-1, "1/100")]
)
def test_initial_collapse_in_fractions_meets_the_floating_one(tower):
    a, forces = gauss(tower)
    found = exact_initial(tower, tower.contacts, forces, a)
    assert np.array(found.acceleration, dtype=float) == pytest.approx(a, abs=1e-10)
    balance = masses(tower) * np.array(found.acceleration, dtype=float).ravel()
    free = np.repeat(tower.free, 3)
    assert (contact_rows(tower).T @ found.forces + weights(tower))[free] == pytest.approx(balance[free], abs=1e-9)


def test_initial_collapse_repairs_a_wrong_set_of_contacts():
    """The floating solution may miss a contact: without any forces the tower falls through the ground at first."""
    tower = Tower.harmonic(3).moved(-1, "1/10")
    a, forces = gauss(tower)
    right = exact_initial(tower, tower.contacts, forces, a)
    repaired = exact_initial(tower, tower.contacts, np.zeros_like(forces), a)
    assert right.acceleration == repaired.acceleration


@given(st.lists(st.integers(-30, 30), min_size=1, max_size=6), st.sampled_from(["uniform", "corners"]))
def test_random_stacks_are_always_verified(steps, mass_model):
    places = [Fraction(0)]
    for step in steps:
        places.append(places[-1] + Fraction(step, 50))
    tower = Tower.stack(places, mass_model=mass_model)
    assert tower.stability(exact=True).exact
    a, forces = gauss(tower)
    found = exact_initial(tower, tower.contacts, forces, a)
    assert np.array(found.acceleration, dtype=float) == pytest.approx(a, abs=1e-9)


@pytest.mark.long
def test_a_thousand_contacts_are_verified_in_fractions():
    for tower, stable in ((Tower.wall(13, 14), True), (Tower.diamond(13), False)):
        assert 900 < len(tower.contacts.on) <= MOST_CONTACTS
        verdict = tower.stability(exact=True)
        assert verdict.exact and verdict.stable == stable
    assert tower.initial_collapse(exact=True).exact


def test_large_towers_are_left_to_floats():
    tower = Tower.wall(14, 15)
    assert len(tower.contacts.on) > MOST_CONTACTS
    found = tower.stability(exact=True)
    assert found.stable and not found.exact and "contacts" in found.messages[0]
    with pytest.raises(NotVerified, match=str(MOST_CONTACTS)):
        exact_initial(tower, tower.contacts, np.zeros(len(tower.contacts.on)), np.zeros((tower.count, 3)))


def test_solve_near_keeps_what_the_equations_leave_open():
    """x + y = 1 leaves one unknown open: it keeps its value, as a short fraction."""
    one = Fraction(1)
    found = solve_near([{0: one, 1: one}], [one], [1 / 3, 2 / 3])
    assert sorted(found) == [Fraction(1, 3), Fraction(2, 3)]
    assert solve_near([{0: one}, {0: 2 * one}], [one, one], [0.0]) is None


@given(st.integers(1, 6), st.integers(0, 10**6))
def test_solve_near_solves(n, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-3, 4, (n, n + 1))
    x = [Fraction(int(v), 7) for v in rng.integers(-9, 10, n + 1)]
    rows = [{c: Fraction(int(v)) for c, v in enumerate(row) if v} for row in matrix]
    right = [sum((v * x[c] for c, v in row.items()), Fraction(0)) for row in rows]
    found = solve_near(rows, right, [float(v) for v in x])
    assert found == x  # sevenths are short fractions, so the open unknowns are hit as well


def test_short_fraction():
    assert short_fraction(1 / 3) == Fraction(1, 3)
    assert float(short_fraction(math.pi)) == pytest.approx(math.pi, abs=1e-15)

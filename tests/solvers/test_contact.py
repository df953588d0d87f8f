"""The frictional contact solver: the law itself, recomputed independently, closed forms, work, threads."""

from __future__ import annotations

import numpy as np
import pytest

from carom.solvers.contact import solve_contact
from carom.solvers.rows import Rows
from carom.solvers.threads import limited, most_threads
from carom.solvers.thresholds import THREADED_SWEEPS_CONTACTS

from .contact_problems import box_pile, random_blocks, residual, velocity_after, work

# Rolling friction in the plane has kernels of its own; tests/scenes/test_scenes_rolling.py runs them uncompiled.
KINDS = [(2, False), pytest.param(2, True, marks=pytest.mark.long), (3, False), (3, True)]
ROUNDING = 1e-12  # of speeds and velocities of order one


def _solved(blocks, velocity, tolerance, chosen=None, start=None):
    m, _, r, _ = blocks.val.shape
    chosen = np.arange(m) if chosen is None else chosen
    z = np.zeros((m, r)) if start is None else start.copy()
    given = velocity.copy()
    answer = solve_contact(blocks, chosen, velocity, z, tolerance)
    assert np.array_equal(given, velocity)
    return answer, z, chosen


@pytest.mark.covering
@pytest.mark.parametrize(("dimension", "rolling"), KINDS)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-5, 1e-10])
def test_the_residual_is_what_an_independent_computation_finds(dimension, rolling, tolerance):
    compare_residuals(dimension, rolling, tolerance, range(8))


def compare_residuals(dimension, rolling, tolerance, seeds):
    for seed in seeds:
        blocks, velocity = random_blocks(seed, dimension=dimension, rolling=rolling)
        answer, z, chosen = _solved(blocks, velocity, tolerance)
        assert answer.residual <= tolerance
        assert residual(blocks, chosen, velocity, z) == pytest.approx(answer.residual, abs=ROUNDING)
        assert np.allclose(answer.velocity, velocity_after(blocks, chosen, velocity, z), rtol=0, atol=ROUNDING)
        assert work(blocks, chosen, velocity, z) <= ROUNDING


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_a_large_island_reaches_its_tolerance(tolerance):
    # 12 columns of 10 boxes: one island of 456 contacts, twice redundant, beyond the size of plain Newton steps.
    blocks, velocity = box_pile(12, 10)
    answer, z, chosen = _solved(blocks, velocity, tolerance)
    assert answer.residual <= tolerance
    assert residual(blocks, chosen, velocity, z) == pytest.approx(answer.residual, abs=ROUNDING)
    assert work(blocks, chosen, velocity, z) <= ROUNDING


def test_loose_and_exact_answers_differ_by_no_more_than_the_tolerance_allows():
    blocks, velocity = box_pile(4, 5)
    exact, _, _ = _solved(blocks, velocity, 1e-11)
    # A speed off by eps at each of c contacts is at most c eps over the height of a column that leans on it.
    for tolerance in (1e-3, 1e-5):
        loose, _, chosen = _solved(blocks, velocity, tolerance)
        assert np.abs(loose.velocity - exact.velocity).max() <= len(chosen) * tolerance


def test_contacts_that_are_not_chosen_have_no_effect():
    blocks, velocity = random_blocks(3)
    chosen = np.arange(0, 30, 2)
    start = np.random.default_rng(0).uniform(0.0, 1.0, (30, 3))
    answer, z, _ = _solved(blocks, velocity, 1e-9, chosen, start)
    assert np.array_equal(z[1::2], start[1::2])
    assert residual(blocks, chosen, velocity, z) <= 1e-9
    assert np.allclose(answer.velocity, velocity_after(blocks, chosen, velocity, z), rtol=0, atol=ROUNDING)


def test_a_good_warm_start_is_kept_as_it_is():
    blocks, velocity = box_pile(3, 3)
    _, z, chosen = _solved(blocks, velocity, 1e-9)
    answer, again, _ = _solved(blocks, velocity, 1e-6, chosen, z)
    assert answer.iterations == 0
    assert np.array_equal(again, z)


def _sphere(mu=0.5, rolling=0.0, torsion=0.0, dimension=3, radius=0.7):
    """A homogeneous sphere of mass 1 on the ground with rolling rows; in 2D a disc, which has one if it needs one.

    The rows of discs with rolling friction have kernels of their own, which take long to compile: long tests need them.
    """
    inertia = 0.4 * radius**2 if dimension == 3 else 0.5 * radius**2
    root = 1.0 / np.sqrt(inertia)
    if dimension == 2:
        val = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, radius * root], [0.0, 0.0, root]])[: 3 if rolling else 2]
    else:
        val = np.zeros((6, 6))
        val[0, 2] = val[1, 0] = val[2, 1] = 1.0
        val[1, 4], val[2, 3] = -radius * root, radius * root  # the point of contact lies at -radius z
        val[3, 3] = val[4, 4] = val[5, 5] = root
    val = np.stack([val, np.zeros_like(val)])[None]
    r = val.shape[2]
    bound = np.array([[mu, rolling, torsion]])
    return Rows(np.array([[0, -1]]), val, np.zeros((1, r)), bound, dimension - 1), 1.0 / root


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize(("mu", "sticks"), [(0.05, False), (0.9, True)])
def test_a_sphere_that_lands_slides_or_rolls(dimension, mu, sticks):
    # Closed form: friction mu m v_n slows the slip; the ball rolls after m s / (1 + m r^2 / I) if that is less.
    blocks, root = _sphere(mu=mu, dimension=dimension)
    down, along = 0.5, 1.0
    velocity = np.zeros((1, blocks.val.shape[3]))
    velocity[0, 0], velocity[0, dimension - 1] = along, -down
    answer, z, _ = _solved(blocks, velocity, 1e-12)
    effective = 1.0 / (1.0 + 0.7**2 / root**2)  # mass of the contact point along the ground
    push = min(mu * down, effective * along)
    assert (push == mu * down) is not sticks
    assert z[0, 0] == pytest.approx(down, abs=ROUNDING)
    assert z[0, 1] == pytest.approx(-push, abs=ROUNDING)
    assert answer.velocity[0, 0] == pytest.approx(along - push, abs=ROUNDING)


@pytest.mark.parametrize("dimension", [pytest.param(2, marks=pytest.mark.long), 3])
def test_rolling_friction_stops_a_sphere_that_rolls_slowly(dimension):
    # The couple is at most rho times the normal impulse: it takes I w + m v r to stop rolling about the contact point.
    radius, down = 0.7, 0.04
    blocks, root = _sphere(mu=1.0, rolling=0.1, dimension=dimension)
    for speed, stops in ((0.001, True), (1.0, False)):
        velocity = np.zeros((1, blocks.val.shape[3]))
        velocity[0, 0], velocity[0, dimension - 1] = speed, -down
        spin = 2 if dimension == 2 else 4
        velocity[0, spin] = (-1.0 if dimension == 2 else 1.0) * speed / radius * root
        answer, z, chosen = _solved(blocks, velocity, 1e-12)
        assert residual(blocks, chosen, velocity, z) <= 1e-12
        couple = root**2 * speed / radius + speed * radius
        if stops:
            assert np.abs(answer.velocity).max() <= 1e-11
        else:
            lost = 0.1 * down / couple
            assert answer.velocity[0, 0] == pytest.approx(speed * (1.0 - lost), abs=1e-11)


def test_torsional_friction_stops_a_spinning_sphere():
    blocks, root = _sphere(torsion=0.05)
    for spin, stops in ((0.1, True), (10.0, False)):
        velocity = np.zeros((1, 6))
        velocity[0, 2], velocity[0, 5] = -1.0, spin * root
        answer, _, _ = _solved(blocks, velocity, 1e-12)
        left = max(spin - 0.05 / root**2, 0.0)
        assert stops is bool(left == 0.0)
        assert answer.velocity[0, 5] == pytest.approx(left * root, abs=1e-11)


def test_a_box_on_four_corners_is_redundant_and_rests():
    # Rank 3 of 4 normals: impulses are not unique, the velocity is.
    val, at = np.zeros((4, 2, 3, 6)), np.array([[1, 1, -1], [1, -1, -1], [-1, 1, -1], [-1, -1, -1]]) * 0.5
    for i in range(4):
        for s, axis in enumerate(np.eye(3)[[2, 0, 1]]):
            val[i, 0, s] = np.concatenate([axis, np.cross(at[i], axis) * np.sqrt(6.0)])
    bound = np.zeros((4, 3))
    bound[:, 0] = 0.5
    blocks = Rows(np.array([[0, -1]] * 4), val, np.zeros((4, 3)), bound, 2)
    velocity = np.array([[0.01, 0.0, -0.1, 0.0, 0.0, 0.0]])
    answer, z, _ = _solved(blocks, velocity, 1e-12)
    assert z[:, 0].sum() == pytest.approx(0.1, abs=1e-11)
    assert np.abs(answer.velocity).max() <= 1e-11


def test_boundaries_that_close_in_leave_a_finite_answer_and_an_honest_residual():
    val = np.zeros((2, 2, 1, 2))
    val[0, 0, 0], val[1, 0, 0] = (1.0, 0.0), (-1.0, 0.0)
    blocks = Rows(np.array([[0, -1]] * 2), val, -np.ones((2, 1)), np.zeros((2, 3)), 1)
    velocity = np.zeros((1, 2))
    answer, z, chosen = _solved(blocks, velocity, 1e-6)
    assert np.isfinite(answer.velocity).all()
    assert answer.residual == pytest.approx(residual(blocks, chosen, velocity, z), abs=ROUNDING)
    assert answer.residual >= 0.9  # no velocity satisfies both by better than 1


def test_friction_within_given_normal_impulses():
    # A normal row of zero keeps its impulse: the friction that stops as much slip as the bound allows.
    blocks, velocity = random_blocks(5, contacts=1, bodies=2)
    blocks.val[:, :, 0], blocks.base[:, 0] = 0.0, 0.0
    start = np.zeros((1, 3))
    start[0, 0] = 0.3
    answer, z, _ = _solved(blocks, velocity, 1e-11, start=start)
    assert z[0, 0] == 0.3
    assert np.linalg.norm(z[0, 1:]) <= 0.15 * (1.0 + 1e-12)
    assert answer.residual <= 1e-11


def test_a_contact_of_many_bodies():
    # Two joint-space contacts over five coordinates, by the same code as contacts of two bodies.
    chance = np.random.default_rng(2)
    val = chance.normal(size=(2, 5, 3, 1))
    blocks = Rows(np.tile(np.arange(5), (2, 1)), val, np.zeros((2, 3)), np.full((2, 3), 0.4), 2)
    velocity = chance.normal(size=(5, 1))
    answer, z, chosen = _solved(blocks, velocity, 1e-11)
    assert residual(blocks, chosen, velocity, z) == pytest.approx(answer.residual, abs=ROUNDING)
    assert answer.residual <= 1e-11


def test_the_same_bits_on_one_and_two_threads():
    blocks, velocity = box_pile(105, 100)
    assert len(blocks.body) >= THREADED_SWEEPS_CONTACTS, "sweeps are not cut into slabs for threads"
    found = []
    for threads in (1, min(2, most_threads())):
        with limited(threads):
            answer, z, _ = _solved(blocks, velocity, 1e-2)
        found.append((answer.velocity, z))
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])


def test_islands_of_two_bodies_per_contact_do_not_know_of_wider_rows():
    """A contact of a mechanism beside them, with a row of three bodies, changes no bit of their answer.

    Its solver is for a few contacts: in a heap of 70, elsewhere in the world, it missed the tolerance.
    """
    blocks, velocity = random_blocks(3, dimension=2)
    m, n = blocks.body.shape[0], len(velocity)
    alone = np.zeros((m, 2))
    first = solve_contact(blocks, np.arange(m), velocity, alone, 1e-10)
    body, val = np.full((m + 1, 3), -1), np.zeros((m + 1, 3, *blocks.val.shape[2:]))
    body[:m, :2], val[:m, :2] = blocks.body, blocks.val
    body[m], val[m] = n + np.arange(3), np.random.default_rng(4).normal(size=val.shape[1:])
    wider = Rows(
        body, val, np.append(blocks.base, [[0.0, 0.0]], axis=0), np.append(blocks.bound, [[0.5, 0.0, 0.0]], axis=0), 1
    )
    moving = np.append(velocity, -val[m, :, 0], axis=0)  # it closes
    both = np.zeros((m + 1, 2))
    answer = solve_contact(wider, np.arange(m + 1), moving, both, 1e-10)
    assert (both[:m] == alone).all() and (answer.velocity[:n] == first.velocity).all()
    assert both[m, 0] > 0.0 and answer.residual <= 1e-10
    assert abs((val[m, :, 0] * answer.velocity[n:]).sum()) < 1e-10  # it does not close any more

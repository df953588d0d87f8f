"""Overlap is moved out by positions alone; whatever that lifts is paid for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stepping.runs import box, disc, engine_of, rough, states_of
from tests.stepping.test_stepping_conservation import momenta

from carom.build import build
from carom.contact.boundaries import boundaries_at
from carom.contact.detector import find_contacts
from carom.problem.assemble import assemble
from carom.scene import FIXED, Bodies, Disc, Plane, Rectangle, Scene
from carom.scene.shapes import Box
from carom.stepping import position_correction
from carom.stepping.position_correction import LOOSE_OVERLAP, OVERLAP_SLOP, REMOVAL_RATE, without_overlap
from carom.stepping.report import totals
from carom.world import State


def moved_out(scene, before=None):
    """World, the state before and after the push-out of all its contacts."""
    world, state = build(scene, check_overlap=False)
    found = find_contacts(world, state, state, 1e-2 * world.length_scale)
    impact = assemble(world, state, found, boundaries_at(world, 0.0, scene.step)[0])
    return world, state, without_overlap(state if before is None else before, state, found, impact)[0]


def energy(world, state):
    kinetic, potential, *_ = totals(world, state)
    return kinetic + potential


def test_part_of_the_overlap_goes_in_one_step():
    """Two equal discs without gravity: each moves half of REMOVAL_RATE times the overlap beyond the slop."""
    group = Bodies(Disc(1.0), np.array([[0.0, 0.0], [1.98, 0.0]]), velocity=np.array([[0.3, 0.1], [0.3, 0.1]]))
    _, state, out = moved_out(Scene("s", [group]))
    move = 0.5 * REMOVAL_RATE * (0.02 - OVERLAP_SLOP)
    np.testing.assert_allclose(out.position, [[-move, 0.0], [1.98 + move, 0.0]], atol=1e-15)
    np.testing.assert_array_equal(out.velocity, state.velocity)


def test_less_than_the_slop_is_left_alone():
    _, state, out = moved_out(Scene("s", [disc(0.0, 0.0), disc(2.0 - 0.9 * OVERLAP_SLOP, 0.0)]))
    assert out is state


@given(st.integers(0, 2**32 - 1))
def test_centers_of_mass_stay(seed):
    """Clusters that touch nothing fixed: moves are inverse to masses. A heavy disc hardly moves."""
    rng = np.random.default_rng(seed)
    n = 8
    places = np.cumsum(rng.uniform([1.1, -0.6], [2.3, 0.6], (n, 2)), axis=0)
    group = Bodies(Disc(1.0), places, mass=10.0 ** rng.uniform(-2, 2, n))
    world, state, out = moved_out(Scene("s", [group], materials=rough(0.3)))
    move = out.position - state.position
    if np.hypot(*np.diff(places, axis=0).T).min() < 1.999:
        assert np.abs(move).max() > 0.0
    scale = (world.mass * np.abs(move).max()).sum()
    np.testing.assert_allclose(world.mass @ move, 0.0, atol=1e-12 * scale)


def test_neighbors_do_not_get_pushed_into_overlap():
    """A disc between an overlap and a wall: the others' gaps are kept open as well."""
    world, _, out = moved_out(
        Scene("s", [disc(0.0, 0.0), disc(1.9, 0.0), disc(3.9, 0.0)], [Plane((4.9, 0.0), (-1.0, 0.0))])
    )
    after = find_contacts(world, out, out, 0.0)
    assert after.gap.min() > -0.1 * (1.0 - REMOVAL_RATE) - 2 * OVERLAP_SLOP
    assert out.position[2, 0] <= 3.9 + 1e-12


GRAVITY = (0.0, -10.0)


def test_lifting_from_rest_costs_what_is_not_there():
    """A disc at rest in a floor, nothing lost in the step: nothing can pay, so nothing may move."""
    world, state, out = moved_out(Scene("s", [disc(0.0, 0.95)], [Plane()], gravity=GRAVITY))
    assert energy(world, out) <= energy(world, state) + 1e-15
    np.testing.assert_array_equal(out.position, state.position)


def test_what_the_step_lost_pays_first():
    """The step lost more than the lift costs: it is lifted in full, and no velocity is taken."""
    scene = Scene("s", [disc(0.0, 0.95, 0.5, 0.0, mass=2.0)], [Plane()], gravity=GRAVITY)
    _, state = build(scene, check_overlap=False)
    faster = State(0.0, 0, state.position, state.orientation, state.velocity + np.array([0.0, -2.0]))
    _, state, out = moved_out(scene, faster)
    assert out.position[0, 1] - 0.95 == pytest.approx(REMOVAL_RATE * (0.05 - OVERLAP_SLOP), rel=1e-12)
    np.testing.assert_array_equal(out.velocity, state.velocity)


def test_then_kinetic_energy_pays_exactly():
    """Nothing lost, but it moves fast: lift m g dy is taken from m v^2 / 2, to rounding."""
    scene = Scene("s", [disc(0.0, 0.95, 5.0, 0.0, mass=2.0)], [Plane()], gravity=GRAVITY)
    world, state, out = moved_out(scene)
    assert out.position[0, 1] > 0.95 + 0.5 * REMOVAL_RATE * 0.05
    assert energy(world, out) == pytest.approx(energy(world, state), rel=1e-13)
    assert 0.0 < out.velocity[0, 0] < 5.0


@pytest.mark.parametrize("heavy", [1.0, 5.0, 100.0])
def test_one_goes_up_and_another_down_in_one_island(heavy):
    """A heavy disc in the floor is lifted, its light neighbor under a fixed one is lowered. At rest nobody pays:
    the energy must not rise, whatever the part of the move that is made."""
    bodies = [
        disc(0.0, 0.95, mass=heavy),
        disc(2.0, 0.95 + 1e-3, mass=1.0),
        disc(2.0, 2.90, motion=FIXED),
    ]
    world, state, out = moved_out(Scene("s", bodies, [Plane()], gravity=GRAVITY))
    assert energy(world, out) <= energy(world, state) + 1e-12


@given(st.integers(0, 2**32 - 1))
def test_energy_never_rises(seed):
    """Random heaps of overlapping discs in a floor, some moving: the push-out by itself never adds energy."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    places = np.column_stack([rng.uniform(-3.0, 3.0, n), rng.uniform(0.8, 3.0, n)])
    velocity = rng.normal(size=(n, 2)) * rng.choice([0.0, 0.1, 1.0])
    group = Bodies(Disc(1.0), places, velocity=velocity, mass=10.0 ** rng.uniform(-1, 1, n))
    world, state, out = moved_out(Scene("s", [group], [Plane()], gravity=GRAVITY))
    assert energy(world, out) <= energy(world, state) + 1e-11 * (world.mass.sum() * 10.0)


def test_a_box_stuck_in_the_floor_gets_out_while_it_slides():
    """Over some steps, with friction that warms the floor: the overlap at the start is worked off."""
    scene = Scene(
        "s",
        [box(0.0, 0.5 - 3e-5, velocity=(3.0, 0.0))],
        [Plane()],
        gravity=GRAVITY,
        materials=rough(0.3),
        step=5e-3,
    )
    states = states_of(scene, 60)
    assert states[-1].position[0, 1] == pytest.approx(0.5, abs=1.1e-5)
    speeds = [s.velocity[0, 0] for s in states]
    assert (np.diff(speeds) < 0.0).all()


# ---- islands in free flight


def flying(rng, dimension):
    """A few overlapping bodies in free fall, with random velocities and spins."""
    flat = dimension == 2
    n, shape = int(rng.integers(2, 6)), Rectangle(1.2, 0.8) if flat else Box((1.2, 1.0, 0.8))
    groups = []
    for k in range(n):
        place, velocity = np.zeros((1, dimension)), rng.normal(size=dimension)
        place[0, 0], place[0, 1] = 0.9 * k, rng.uniform(-0.2, 0.2)
        pose = {"angle": rng.uniform(0.0, 3.0)} if flat else {"orientation": unit(rng.normal(size=4))}
        spin = rng.normal() if flat else rng.normal(size=3)
        groups.append(Bodies(shape, place, velocity, spin=spin, mass=10.0 ** rng.uniform(-1, 1), **pose))
    return Scene("s", groups, gravity=(*(0.0,) * (dimension - 1), -10.0), materials=rough(0.3))


def unit(vector):
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("dimension", [2, 3])
def test_islands_in_free_flight_keep_both_momenta(dimension):
    """Bodies that pass each other are pushed apart: momentum and angular momentum stay, to rounding; no energy comes
    in. Positions alone would change the angular momentum."""
    largest = 0.0
    for seed in range(20):
        world, state, out = moved_out(flying(np.random.default_rng(seed), dimension))
        first, last = totals(world, state), totals(world, out)
        np.testing.assert_allclose(last[2:], first[2:], rtol=0.0, atol=1e-12 * np.abs(first[2:]).max())
        assert last[0] + last[1] <= first[0] + first[1] + 1e-12 * first[0]
        moved = totals(world, State(0.0, 0, out.position, out.orientation, state.velocity))
        largest = max(largest, float(np.abs(moved[2 + dimension :] - first[2 + dimension :]).max()))
    assert largest > 1e-3  # so much would positions alone change


PAIRS = {
    2: [
        box(0.0, 0.0, 0.1, 0.04, velocity=(0.7, -3.2), spin=-10.0, mass=2.0),
        box(0.0, 0.081, 0.16, 0.12, velocity=(0.0, -4.0), spin=-6.0, mass=3.5),
    ],
    3: [
        Bodies(Box((0.1, 0.08, 0.04)), [[0.0, 0.0, 0.0]], (0.3, 0.2, -3.2), spin=(0.0, -10.0, 1.0), mass=2.0),
        Bodies(Box((0.16, 0.1, 0.12)), [[0.0, 0.0, 0.081]], (0.3, 0.2, -4.0), spin=(0.0, -8.0, 0.0), mass=3.5),
    ],
}


@pytest.mark.parametrize("dimension", [2, 3])
def test_bodies_that_cling_to_each_other_in_flight_do_not_sink_in(dimension, monkeypatch):
    """Two boxes collide without restitution and rotate about each other. Each step holds them along the tangents of its
    start, so that they sink in, unless that is corrected; momenta stay, to rounding, and no step gains energy."""

    def deepest() -> float:
        gravity = (*(0.0,) * (dimension - 1), -9.81)
        engine, state = engine_of(Scene("s", PAIRS[dimension], gravity=gravity, materials=rough(0.0), step=0.006))
        (linear, angular), total, overlap = momenta(engine.world, state), energy(engine.world, state), 0.0
        for _ in range(60):
            state, _ = engine.step(state)
            last, total = total, energy(engine.world, state)
            assert total <= last + 1e-12 * abs(last)
            found = engine.containment.overlap(state, 0.0)
            overlap = max(overlap, 0.0 if found is None else found.share)
        now = momenta(engine.world, state)
        np.testing.assert_allclose(now[0], linear, rtol=0.0, atol=1e-12 * np.abs(linear).max())
        np.testing.assert_allclose(now[1], angular, rtol=0.0, atol=1e-12 * np.abs(angular).max())
        return overlap

    assert 0.0 < deepest() < 2.0 * LOOSE_OVERLAP
    monkeypatch.setattr(position_correction, "LOOSE_OVERLAP", np.inf)
    assert deepest() > 0.1

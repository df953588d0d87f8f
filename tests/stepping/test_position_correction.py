"""Overlap is moved out by positions alone; whatever that lifts is paid for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stepping.runs import box, disc, rough, states_of

from carom.build import build
from carom.contact.boundaries import boundaries_at
from carom.contact.detector import find_contacts
from carom.problem.assemble import assemble
from carom.scene import FIXED, Bodies, Disc, Plane, Scene
from carom.stepping.position_correction import RATE, SLOP, without_overlap
from carom.stepping.report import totals
from carom.world import State


def moved_out(scene, before=None):
    """World, the state before and after the push-out of all its contacts."""
    world, state = build(scene, check_overlap=False)
    found = find_contacts(world, state, state, 1e-2 * world.length_scale)
    impact = assemble(world, state, found, boundaries_at(world, 0.0, scene.step)[0])
    return world, state, without_overlap(state if before is None else before, state, found, impact)


def energy(world, state):
    kinetic, potential, *_ = totals(world, state)
    return kinetic + potential


def test_part_of_the_overlap_goes_in_one_step():
    """Two equal discs without gravity: each moves half of RATE times the overlap beyond the slop; velocities stay."""
    group = Bodies(Disc(1.0), np.array([[0.0, 0.0], [1.98, 0.0]]), velocity=np.array([[0.3, 0.1], [0.3, 0.1]]))
    _, state, out = moved_out(Scene("s", [group]))
    move = 0.5 * RATE * (0.02 - SLOP)
    np.testing.assert_allclose(out.position, [[-move, 0.0], [1.98 + move, 0.0]], atol=1e-15)
    np.testing.assert_array_equal(out.velocity, state.velocity)


def test_less_than_the_slop_is_left_alone():
    _, state, out = moved_out(Scene("s", [disc(0.0, 0.0), disc(2.0 - 0.9 * SLOP, 0.0)]))
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
    assert after.gap.min() > -0.1 * (1.0 - RATE) - 2 * SLOP
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
    assert out.position[0, 1] - 0.95 == pytest.approx(RATE * (0.05 - SLOP), rel=1e-12)
    np.testing.assert_array_equal(out.velocity, state.velocity)


def test_then_kinetic_energy_pays_exactly():
    """Nothing lost, but it moves fast: lift m g dy is taken from m v^2 / 2, to rounding."""
    scene = Scene("s", [disc(0.0, 0.95, 5.0, 0.0, mass=2.0)], [Plane()], gravity=GRAVITY)
    world, state, out = moved_out(scene)
    assert out.position[0, 1] > 0.95 + 0.5 * RATE * 0.05
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

"""Simulation step by step: the bits of a whole run, states changed between steps, interruptions, bad arguments."""

from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pytest
from tests.stepping.runs import disc, rough
from tests.test_simulation import bits, bouncing

from carom import scenes
from carom.errors import ProblemError
from carom.scene import Bodies, Box, Plane, Scene
from carom.simulation import simulate
from carom.stepwise import Simulation


def cube(**more) -> Scene:
    """A cube that falls on the ground in 3D, spinning, with friction and restitution."""
    body = Bodies(Box((0.2, 0.2, 0.2)), np.array([(0.0, 0.0, 0.3)]), velocity=(1.0, 0.0, 0.0), spin=(1.0, 2.0, 0.0))
    given = {"gravity": (0.0, 0.0, -9.81), "materials": rough(0.5, 0.3), "step": 0.01, "duration": 0.4}
    return Scene("cube", [body], [Plane()], **{**given, **more})


def frictionless() -> Scene:
    return scenes.pool_break(rows=4)


@pytest.mark.covering
@pytest.mark.parametrize("stepper", ["synchronous", "drift_safe", "time_of_impact"])
@pytest.mark.parametrize("scene", [bouncing, cube, frictionless])
def test_step_by_step_equals_a_whole_run(scene, stepper):
    """The same bits of states and reports; impulses to rounding, of which a run records the vectors."""
    whole = simulate(scene(), "gr", 40 * scene().step, stepper=stepper, frame_rate=1e6, impulses=True)
    sim = Simulation(scene(), "gr", stepper=stepper)
    for k in range(1, 41):
        state = sim.step()
        assert state is sim.state and (state.step, sim.time) == (k, whole.time[k])
        for name in ("position", "orientation", "velocity"):
            assert getattr(state, name).tobytes() == getattr(whole.frame(k), name).tobytes()
        assert all(sim.report[name] == whole.steps[name][k] for name in ("contacts", "resting", "kinetic", "overlap"))
        np.testing.assert_allclose(sim.impulses.normal_impulse, whole.impulses(k).normal_impulse, rtol=1e-14)
    assert sim.world.count == whole.world.count and sim.report["step"] == 40


def test_running_until_a_time():
    sim = Simulation(bouncing())
    assert sim.time == 0.0 and sim.contacts.count == 0 and len(sim.impulses.first) == 0
    assert sim.run(until=0.3).step == 30 and sim.time == pytest.approx(0.3)
    assert sim.run(until=0.305).step == 31  # whole steps
    assert sim.run(until=sim.time).step == 31
    assert bits_of(sim.run(until=1.0)) == bits(simulate(bouncing(), duration=1.0))


def bits_of(state) -> tuple[bytes, ...]:
    return tuple(getattr(state, name).tobytes() for name in ("position", "orientation", "velocity"))


def test_contacts_are_those_that_got_impulses():
    """Each contact occurs once, and every impulse belongs to one of them."""
    sim = Simulation(bouncing())
    seen = 0
    for _ in range(60):
        sim.step()
        found, given = sim.contacts, sim.impulses
        pairs = list(zip(found.first, found.second, found.feature_id))
        assert len(set(pairs)) == len(pairs) and pairs == sorted(pairs)
        assert set(zip(given.first, given.second)) <= {pair[:2] for pair in pairs}
        seen += found.count
    assert seen > 50


def test_a_loop_of_ones_own_changes_velocities():
    """A ball that is thrown up again in the middle of its fall follows the parabola from there."""
    sim = Simulation(Scene("ball", [disc(0.0, 0.0)], gravity=(0.0, -9.81), step=0.01))
    fallen = sim.run(until=0.5).position[0, 1]
    velocity = np.array([[1.0, 2.0, 0.0]])[:, : sim.world.block]
    sim.state = replace(sim.state, velocity=velocity)
    velocity[:] = np.nan  # the state has a copy
    x, y = sim.run(until=1.0).position[0]
    assert x == pytest.approx(0.5, rel=1e-12) and y == pytest.approx(fallen + 1.0 - 0.5 * 9.81 * 0.25, rel=1e-12)


def test_arrays_of_any_order_may_be_assigned():
    sim, other = Simulation(cube()), Simulation(cube())
    fields = {name: np.asfortranarray(getattr(sim.state, name)) for name in ("position", "orientation", "velocity")}
    sim.state = replace(sim.state, **fields)
    assert bits_of(sim.run(until=0.1)) == bits_of(other.run(until=0.1))


BAD_STATES = {
    "no state": (lambda s: (0.0, 1), ["state", "carom.world.State"]),
    "wrong shape": (lambda s: replace(s, velocity=s.velocity[:, :2]), ["state.velocity", "(1, 2)", "(1, 6)"]),
    "text": (lambda s: replace(s, position="here"), ["state.position", "here"]),
    "nan": (lambda s: replace(s, velocity=np.nan * s.velocity), ["state.velocity", "finite"]),
    "quaternion": (lambda s: replace(s, orientation=2.0 * s.orientation), ["state.orientation", "unit"]),
    "time": (lambda s: replace(s, time=0.5), ["state.time", "0.5"]),
    "step": (lambda s: replace(s, step=-1), ["state.step", "-1"]),
}


@pytest.mark.parametrize("bad", BAD_STATES)
def test_bad_states_are_refused(bad):
    make, words = BAD_STATES[bad]
    sim = Simulation(cube())
    before = sim.state
    with pytest.raises(ProblemError) as refused:
        sim.state = make(before)
    assert all(word in str(refused.value) for word in words) and sim.state is before


@pytest.mark.parametrize("until", [-1.0, np.nan, np.inf, "soon", None])
def test_times_that_cannot_be_reached(until):
    with pytest.raises(ProblemError, match="until"):
        Simulation(bouncing()).run(until=until)


def test_an_interrupted_simulation_can_be_continued():
    def force(time, position, velocity):
        if time > 0.095 and not pressed:
            pressed.append(time)
            signal.raise_signal(signal.SIGINT)
        return np.zeros_like(position)

    pressed: list[float] = []
    sim = Simulation(bouncing(force=force))
    with pytest.raises(KeyboardInterrupt):
        sim.run(until=0.5)
    assert sim.state.step == 10
    assert bits_of(sim.run(until=0.5)) == bits_of(Simulation(bouncing(force=force)).run(until=0.5))

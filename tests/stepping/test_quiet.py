"""Quiet steps, many in one kernel call: the same bits and reports as steps made one by one, and when they end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.stepping.runs import rough

import carom
from carom import scenes
from carom.scene import (
    FIXED,
    Bodies,
    Box,
    Container,
    Disc,
    Drum,
    Material,
    Moving,
    Periodic,
    Plane,
    Rectangle,
    Scene,
    Sphere,
    Vibrating,
)
from carom.simulation import simulate
from carom.stepping import DriftSafe
from carom.stepping.report import step_table
from carom.stepwise import Simulation

FALL = {2: (0.0, -9.81), 3: (0.0, 0.0, -9.81)}


def heap(shapes, dimension: int, boundaries, **more) -> Scene:
    """Bodies in a row, each a little above the last place of its fall; they come to rest within half a second."""
    across, up = np.eye(dimension)[0], np.eye(dimension)[-1]
    groups = [Bodies(shape, (1.3 * k * across + 0.55 * up)[None]) for k, shape in enumerate(shapes)]
    given = {"materials": rough(0.5, 0.2), "gravity": FALL[dimension], "step": 1e-2, "stepper": "drift_safe"}
    return Scene("heap", groups, boundaries, **{**given, **more})


def stacked(shape, count: int, dimension: int = 3) -> Scene:
    """Bodies on top of each other that touch, on a plane with friction."""
    place = np.zeros((count, dimension))
    place[:, -1] = 0.5 + np.arange(count)
    given = {"materials": rough(0.5, 0.0), "gravity": FALL[dimension], "step": 1e-2, "stepper": "drift_safe"}
    return Scene("stacked", [Bodies(shape, place)], [Plane()], **given)


def shower(shape, count: int) -> Scene:
    """Bodies that fall on each other in a container, so many that impacts are not solved to rounding."""
    chance, k = np.random.default_rng(3), np.arange(count)
    place = 1.5 * np.stack([k % 3, k // 3 % 3, k // 9], axis=1) + (-1.5, -1.5, 1.0)
    place += chance.uniform(-0.05, 0.05, place.shape)
    inside = Container((-2.5, -2.5, 0.0), (2.5, 2.5, 40.0))
    given = {"materials": rough(0.5, 0.3), "gravity": FALL[3], "step": 1.0 / 240.0, "stepper": "substepped"}
    return Scene("shower", [Bodies(shape, place, (0.0, 0.0, -3.0))], [inside], law="qce", **given)


def on_a_fixed_disc() -> Scene:
    """A disc that falls on a fixed one beside its top, and rolls off."""
    fixed = Bodies(Disc(0.5), np.array([(0.6, -0.4)]), motion=FIXED)
    return replace(scene := heap([Disc(0.5)], 2, [BOX]), bodies=[*scene.bodies, fixed], boundaries=[])


def in_flight(**more) -> Scene:
    """Two discs without gravity, three steps before they touch in the middle of their way."""
    place = np.array([(-0.86, 0.0), (0.86, 0.0)])
    velocity = np.array([(10.0, 0.0), (-10.0, 0.0)])
    return Scene("flight", [Bodies(Disc(0.5), place, velocity)], step=1e-2, stepper="synchronous", **more)


BOX, CUBE = Container((-2.0, 0.0), (6.0, 9.0)), Container((-2.0, -2.0, 0.0), (6.0, 2.0, 9.0))
ROLLS = {"default": Material(0.0, 0.5, rolling_friction=0.01)}
CASES = {
    "discs": (heap([Disc(0.5), Disc(0.4)], 2, [BOX]), True),
    "discs and polygons": (heap([Disc(0.5), Rectangle(0.8, 0.8)], 2, [BOX]), True),
    "a drum": (heap([Disc(0.5), Disc(0.5)], 2, [Drum(3.0, (1.0, 2.0))]), True),
    "a fixed body": (on_a_fixed_disc(), True),
    "spheres": (heap([Sphere(0.5), Sphere(0.3)], 3, [CUBE]), True),
    "spheres and boxes": (heap([Sphere(0.5), Box((0.8, 0.8, 0.8))], 3, [CUBE]), True),
    "a stack of boxes": (stacked(Box((1.0, 1.0, 1.0)), 4), True),
    "a stack of spheres": (stacked(Sphere(0.5), 3), True),
    "rolling friction": (heap([Sphere(0.5), Sphere(0.4)], 3, [CUBE], materials=ROLLS), True),
    "synchronous": (scenes.pool_break(rows=5), True),
    "synchronous in 3D": (scenes.cradle_3d(), True),
    "contacts without approach": (scenes.newtons_cradle(), True),
    "sub-stepped discs": (heap([Disc(0.5), Disc(0.4)], 2, [BOX], stepper="substepped"), True),
    "sub-stepped polygons": (heap([Disc(0.5), Rectangle(0.8, 0.8)], 2, [BOX], stepper="substepped"), True),
    "sub-stepped spheres": (shower(Sphere(0.5), 80), True),
    "sub-stepped solids": (shower(Box((0.8, 0.8, 0.8)), 70), True),
    "sub-stepped exact impacts": (heap([Sphere(0.5), Box((0.8, 0.8, 0.8))], 3, [CUBE], stepper="substepped"), True),
    "sub-stepped without friction": (replace(shower(Sphere(0.5), 70), materials=rough(0.0, 0.5), law="gr"), True),
    "a moving boundary": (heap([Disc(0.5)], 2, [Plane(motion=Vibrating(0.05, 2.0))]), False),
    "periodic sides": (heap([Disc(0.5)], 2, [Plane()], periodic=Periodic(x=(-3.0, 5.0))), False),
}


def both(scene: Scene, steps: int, **options):
    """The scene step by step, with quiet steps and without."""
    quiet, plain = Simulation(scene, **options), Simulation(scene, **options)
    plain.engine.quiet = None
    for _ in range(steps):
        quiet.step()
        plain.step()
        yield quiet, plain


def untimed(report: dict) -> dict:
    """The bits of what is counted and computed in a step, without its seconds; 0.0 is not -0.0."""
    return {name: np.float64(value).tobytes() for name, value in report.items() if not name.startswith("seconds_")}


@pytest.mark.covering
@pytest.mark.parametrize("case", CASES)
def test_the_same_bits_and_reports(case):
    """States, rows, contacts, impulses and the warm start are those of the stages called one by one."""
    scene, small = CASES[case]
    for quiet, plain in both(scene, 150):
        for name in ("position", "orientation", "velocity"):
            assert np.array_equal(getattr(quiet.state, name), getattr(plain.state, name))
        rows = [dict(sim.report) for sim in (quiet, plain)]
        if scene.stepper == "substepped":  # residuals are multiplied and divided by a speed in between
            assert np.isclose(*(row.pop("residual") for row in rows), rtol=1e-14, atol=0.0)
        assert untimed(rows[0]) == untimed(rows[1])
        assert np.array_equal(quiet.contacts.table, plain.contacts.table)
        for name in ("first", "second", "point", "normal", "normal_impulse", "tangent_impulse"):
            assert np.array_equal(getattr(quiet.impulses, name), getattr(plain.impulses, name))
        for name, array in plain.engine.memory().items():
            assert np.array_equal(quiet.engine.memory()[name], array)
    assert (quiet.engine.quiet is not None) == small
    if small:
        assert quiet.engine.quiet.count >= 50  # most of its 150 steps: bodies fall for 10 and bounce a few times


@pytest.mark.parametrize("impulses", [False, True])
def test_recorded_rows_and_frames_are_those_of_single_steps(impulses):
    """Stretches of 32 steps, which end at frames with impulses, write every row of the table of steps."""
    scene = stacked(Sphere(0.5), 2)
    run = simulate(scene, duration=1.0, frame_rate=14.0, impulses=impulses)
    sim = Simulation(scene)
    sim.engine.quiet = None
    names = [name for name in step_table(3).names if not name.startswith("seconds_")]
    frames = dict(zip(run.step.tolist(), range(len(run.step))))
    since = np.zeros(2)  # the frame before: impulses of both contacts
    for k in range(1, 101):
        state = sim.step()
        since += sim.impulses.normal_impulse
        row = run.steps[k]
        assert untimed({name: row[name] for name in names}) == untimed(sim.report)
        assert sum(row[f"seconds_{phase}"] for phase in ("detect", "assemble", "impact", "rest", "move")) > 0.0
        if k in frames:
            assert np.array_equal(run.positions[frames[k]], state.position)
            if impulses:
                assert np.allclose(run.impulses(frames[k]).normal_impulse, since, rtol=1e-13, atol=0.0)
            since[:] = 0.0
    assert len(run.steps) == 101


def test_left_when_a_body_comes_within_reach():
    """Discs approach at 0.2 per step from a gap of 0.72: the fourth step has the impact, and is not quiet."""
    sim = Simulation(in_flight())
    for step, impacts in enumerate((0, 0, 0, 1), 1):
        made = 0 if sim.engine.quiet is None else sim.engine.quiet.count
        sim.step()
        assert sim.report["rounds"] == impacts
        if impacts:
            assert sim.engine.quiet.count == made
        elif step > 2:  # the first step makes the list of pairs, and is tried before there is one
            assert sim.engine.quiet.count == made + 1
    assert sim.state.velocity[0, 0] == -10.0


def test_a_body_pushed_from_outside_is_noticed():
    """A state that is replaced between quiet steps is the start of the next one: the upper ball strikes the lower."""
    sim = Simulation(stacked(Sphere(0.5), 2))
    for _ in range(20):
        sim.step()
    quiet = sim.engine.quiet.count
    assert quiet > 10
    velocity = sim.state.velocity.copy()
    velocity[1, 2] = -3.0
    sim.state = replace(sim.state, velocity=velocity)
    sim.step()
    assert sim.report["rounds"] > 0 and sim.engine.quiet.count == quiet


class Counted(DriftSafe):
    """A stepper of its own that counts its steps."""

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.made = 0

    def advance(self, state, h, report):
        self.made += 1
        return super().advance(state, h, report)


def test_steppers_of_users_make_all_their_steps(monkeypatch):
    """A subclass may change any stage, so that none of its steps may be made elsewhere."""
    monkeypatch.setitem(carom.stepping.STEPPERS, "counted", Counted)
    sim = Simulation(stacked(Sphere(0.5), 2), stepper="counted")
    for _ in range(10):
        sim.step()
    assert sim.engine.quiet is None and sim.engine.made == 10


def test_large_worlds_and_worlds_with_scripted_bodies_have_none():
    many = scenes.gas(side=15)
    assert many.count > 200 and Simulation(many).engine.quiet is None
    scripted = Bodies(Disc(0.5), np.array([(0.0, 3.0)]), motion=Moving((1.0, 0.0)))
    moving = replace(in_flight(), bodies=[*in_flight().bodies, scripted])
    assert Simulation(moving).engine.quiet is None

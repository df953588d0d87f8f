"""Runs that cost nothing: straight flight of a few bodies, recorded as if a law had made it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.trajectory.small import NO_EVENTS

from carom.build import build
from carom.scene import Bodies, Box, Disc, Drum, Plane, Rectangle, Scene, Sphere, Vibrating
from carom.settings import Settings
from carom.stepping import events
from carom.stepping.report import step_table
from carom.trajectory import Recorder
from carom.world import State

FRAMES = 30
STEP = 0.1


def plane_scene(fastest: float = 1.0) -> Scene:
    """Three discs and two boxes that fly apart in a drum, above a floor that goes up and down."""
    velocity = [[-0.5, 0.0], [0.0, 0.0], [fastest, 0.0]]
    discs = Bodies(Disc(0.5), np.array([[-3.0, 0.0], [0.0, 0.0], [3.0, 0.0]]), velocity=velocity)
    boxes = Bodies(Rectangle(1.4, 0.7), np.array([[-1.0, 2.0], [1.0, 2.0]]), velocity=(0.0, 0.5), spin=0.5)
    floor = Plane((0.0, -2.0), motion=Vibrating(0.3, 0.25))
    return Scene("flying", [discs, boxes], [floor, Drum(7.0)])


def space_scene() -> Scene:
    """Two spheres and a box that fly apart above a floor."""
    balls = Bodies(Sphere(0.5), np.array([[-1.5, 0.0, 1.0], [1.5, 0.0, 1.0]]), velocity=[[-0.6, 0, 0], [0.6, 0, 0]])
    box = Bodies(Box((1.0, 0.6, 0.4)), np.array([[0.0, 0.0, 0.8]]), velocity=(0.0, 0.0, 0.5), spin=(0.0, 0.0, 1.0))
    return Scene("rising", [balls, box], [Plane()], gravity=(0.0, 0.0, -1.0))


def record(
    path: Path, scene: Scene, upto: int = FRAMES, law: str = "gr", finish: bool = True, impulses: bool = True
) -> None:
    """Frames 0 to `upto` of the FRAMES that the run was to have."""
    world, state = build(scene, check_overlap=False)
    settings = Settings(
        law, (), None, None, "synchronous", STEP, FRAMES, 1, impulses, events="all" if impulses else "none"
    )
    recorder = Recorder.create(path, scene, world, state, settings)
    for number in range(upto + 1):
        if number:
            state = _moved(state, world.dimension, number)
        recorder.step(_row(state, world.dimension))
        recorder.frame(state)
        if impulses:
            recorder.events(_event(state))
        memory = NO_EVENTS | {"events_count": np.array([number + 1, *[0] * 5])} if impulses else {}
        if number in (0, upto):
            recorder.checkpoint(state, memory)
    if finish:
        recorder.finish(state, memory).close()
    else:
        recorder.abort()


def _moved(state: State, dimension: int, number: int) -> State:
    turn = state.orientation
    if dimension == 2 and state.velocity.shape[1] == 3:
        turn = turn + STEP * state.velocity[:, 2]
    return State(STEP * number, number, state.position + STEP * state.velocity[:, :dimension], turn, state.velocity)


def _row(state: State, dimension: int) -> np.ndarray:
    row = np.zeros(1, step_table(dimension))
    row["step"], row["time"] = state.step, state.time
    row["kinetic"] = 0.5 * (state.velocity[:, :dimension] ** 2).sum()
    row["momentum_x"] = state.velocity[:, 0].sum()
    return row


def _event(state: State) -> np.ndarray:
    """One impact, between the first two bodies, that pushes along x."""
    row = np.zeros((1, events.COLUMNS))
    row[0, events.TIME], row[0, events.STEP], row[0, events.OTHER] = state.time, state.step, 1
    row[0, events.DIRECTION] = row[0, events.IMPULSE] = 1.0
    point = 0.5 * (state.position[0] + state.position[1])
    row[0, events.PLACE : events.PLACE + len(point)] = point
    return row

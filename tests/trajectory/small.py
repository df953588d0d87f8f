"""A run that costs nothing: made-up motion on a real scene, with a memory that the motion depends on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from carom.build import build
from carom.scene import Bodies, Disc, Drum, Plane, Rectangle, Scene, Vibrating
from carom.settings import Settings
from carom.stepping import events
from carom.stepping.report import STEP
from carom.trajectory import Recorder, Trajectory
from carom.world import State, World

STEPS = 40
TOLERANCE = 1e-3
NO_EVENTS = {
    "events_count": np.zeros(6, np.int64),
    "events_key": np.zeros(0, np.int64),
    "events_sums": np.zeros((0, events.REST_COLUMNS)),
}


def scene(moving: bool = True) -> Scene:
    """Discs and boxes in a drum above a floor that may vibrate."""
    discs = Bodies(Disc(0.5), np.array([[2.0 * i, 3.0] for i in range(-2, 3)]), velocity=(0.1, 0.2))
    boxes = Bodies(Rectangle(1.0, 0.5), np.array([[0.0, 6.0], [2.0, 6.0]]), spin=0.3)
    floor = Plane(motion=Vibrating(0.1, 2.0)) if moving else Plane()
    return Scene("small", [discs, boxes], [floor, Drum(20.0)], gravity=(0.0, -1.0))


def settings(steps: int = STEPS, frame_every: int = 2, impulses: bool = True) -> Settings:
    options = (("max_iterations", 0), ("tolerance", 1e-9))
    run = ("gr", options, None, None, "synchronous", 0.01, steps, frame_every, impulses, TOLERANCE)
    return Settings(*run, events="all" if impulses else "none")


class Fake:
    """Steps that depend on state and memory in every bit, so that a wrong resumption shows."""

    def __init__(self, state: State, memory: dict[str, np.ndarray] | None = None) -> None:
        self.state = state
        self.memory = memory if memory else {"drift": np.zeros(state.velocity.shape), "keys": np.arange(3), **NO_EVENTS}
        self.residual: dict[int, float] = {}  # by step; 0 in the others

    def step(self) -> None:
        s, number = self.state, self.state.step + 1
        drift = 0.9 * self.memory["drift"] + np.sin(s.velocity + number)
        # Grows and shrinks, as a list of contacts does.
        keys, events = np.arange(number * 7 % 50, dtype=np.int64), self.memory["events_count"] + [number % 4, *[0] * 5]
        self.memory |= {"drift": drift, "keys": keys, "events_count": events}
        velocity = s.velocity + 0.01 * drift
        self.state = State(0.01 * number, number, s.position + 0.01 * velocity[:, :2], s.orientation + 0.01, velocity)

    def row(self) -> np.ndarray:
        row = np.zeros(1, STEP)
        row["step"], row["time"] = self.state.step, self.state.time
        row["contacts"] = len(self.memory["keys"])
        row["kinetic"] = 0.5 * (self.state.velocity**2).sum()
        row["momentum_x"], row["momentum_y"] = self.state.velocity[:, :2].sum(axis=0)
        row["seconds_impact"] = 1e-3
        row["residual"] = self.residual.get(self.state.step, 0.0)
        return row

    def events(self) -> np.ndarray:
        """Impacts of the step, as rows of numbers."""
        rng, number = np.random.default_rng(self.state.step), self.state.step
        rows = np.zeros((number % 4, events.COLUMNS))
        rows[:, events.TIME], rows[:, events.STEP] = self.state.time - 0.01 * rng.random(), number
        rows[:, events.BODY], rows[:, events.OTHER] = rng.integers((0, -2), 7, (len(rows), 2)).T
        for column in (events.PLACE, events.DIRECTION, events.IMPULSE):
            rows[:, column : column + 2] = rng.random((len(rows), 2))
        rows[:, events.PLACE : events.PLACE + 2] = np.float32(rows[:, events.PLACE : events.PLACE + 2])
        return rows


def start(path: Path | None, overwrite: bool = False, **options) -> tuple[Recorder, Fake]:
    """A recorder with the row and frame of the start and a first checkpoint."""
    s = scene(options.pop("moving", True))
    world, state = build(s)
    asked = settings(**options)
    recorder, fake = Recorder.create(path, s, world, state, asked, overwrite=overwrite), Fake(state)
    recorder.step(fake.row())
    recorder.frame(state)
    recorder.checkpoint(state, fake.memory)
    return recorder, fake


def go(recorder: Recorder, fake: Fake, upto: int, frame_every: int = 2, checkpoint_every: int = 5) -> None:
    while fake.state.step < upto:
        fake.step()
        recorder.step(fake.row())
        recorder.events(fake.events())
        if fake.state.step % frame_every == 0:
            recorder.frame(fake.state)
        if fake.state.step % checkpoint_every == 0:
            recorder.checkpoint(fake.state, fake.memory)


def whole_run(path: Path | None, steps: int = STEPS, overwrite: bool = False, **options) -> Trajectory:
    recorder, fake = start(path, overwrite, steps=steps, **options)
    go(recorder, fake, steps, options.get("frame_every", 2))
    return recorder.finish(fake.state, fake.memory)


def resumed_run(path: Path, steps: int = STEPS) -> Trajectory:
    """Takes a stopped run to its end."""
    resumed = Recorder.resume(path)
    fake = Fake(resumed.state, resumed.memory)
    go(resumed.recorder, fake, steps)
    return resumed.recorder.finish(fake.state, fake.memory)


def content(run: Trajectory) -> dict[str, bytes]:
    """Every recorded bit that does not depend on the clock or on when checkpoints fell."""
    file, out = run._file, {}
    out["events"] = file["events"][()].tobytes()
    for group in ("frames", "world", "scene/arrays"):
        for name in file[group]:
            data = file[group][name]
            out[f"{group}/{name}"] = repr(data.shape).encode() + data[()].tobytes()
    steps = file["steps"][()]
    for name in steps.dtype.names:
        if not name.startswith("seconds_"):
            out[f"steps/{name}"] = steps[name].tobytes()
    out["settings"] = file["settings"][()]
    out["hash"] = run.state_hash.encode()
    return out


def world_of(s: Scene) -> tuple[World, State]:
    return build(s)

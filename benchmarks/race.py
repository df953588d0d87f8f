"""Carom and other engines on one scene, in turns: CPU time of each step, overlap on the way, speed at the end."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np

from carom import Simulation
from carom.kernels import compile_seconds
from carom.scene import Scene
from carom.scene.boundaries import Container, Plane
from carom.scene.shapes import Box, Disc, Sphere

from .engines.process import EngineProcess, missing
from .overlap import scene_overlap

TURN = 10  # steps that each engine makes in its turn; the overlap is measured at the end of each turn


class Runner(Protocol):
    """Carom, or another engine."""

    title: str

    def steps(self, count: int) -> list[float]: ...
    def pose(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
    def report(self) -> str: ...
    def close(self) -> None: ...


class Ours:
    """A scene in Carom. `tolerance` None means the default of a run."""

    def __init__(
        self, scene: Scene, title: str = "Carom", tolerance: float | str | None = None, **options: Any
    ) -> None:
        # Versions before the tolerance was a setting of a run do not accept the argument.
        if tolerance is not None and "tolerance" in inspect.signature(Simulation).parameters:
            options["tolerance"] = tolerance
        self.title, self.sim, self.rows = title, Simulation(scene, **options), []

    def step(self) -> float:
        """Makes one step; its CPU seconds, without those for compiling or loading kernels."""
        compiling, start, wall = compile_seconds(), process_time(), perf_counter()
        self.sim.step()
        lost = compile_seconds() - compiling
        seconds, wall = process_time() - start - lost, perf_counter() - wall - lost
        self.rows.append({**self.sim.report, "whole": wall})
        return seconds

    def steps(self, count: int) -> list[float]:
        return [self.step() for _ in range(count)]

    def pose(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        state = self.sim.state
        return state.position, state.orientation, state.velocity[:, : state.position.shape[1]]

    def report(self) -> str:
        """Where the time of whole steps went, and how far the solves got; what no phase counts is `outside`."""
        phases = [name for name in self.rows[0] if name.startswith("seconds_")]
        seconds = {name[8:]: sum(row[name] for row in self.rows) for name in phases}
        total = sum(row["whole"] for row in self.rows)
        seconds["outside"] = max(total - sum(seconds.values()), 0.0)
        share = ", ".join(f"{name} {part / total:.0%}" for name, part in seconds.items())
        return f"{self.accuracy()}; {share}"

    def accuracy(self) -> str:
        """Residuals reached, the tolerance, and the number of steps that missed it."""
        tolerance = float(self.sim.engine.response.tolerance)
        residual = np.array([row["residual"] for row in self.rows])
        missed = int((residual > tolerance).sum())
        return (
            f"residual median {np.median(residual):.0e}, worst {residual.max():.0e}; tolerance {tolerance:g}, "
            f"{missed} of {len(residual)} steps missed it"
        )

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Result:
    """The run of one engine."""

    title: str
    seconds: np.ndarray  # (steps - 1,) CPU
    overlap: np.ndarray  # (turns,) deepest overlap at the end of each turn, in diameters or edges
    speed: float  # mean linear speed of the bodies at the end
    note: str

    @property
    def milliseconds(self) -> float:
        return 1e3 * float(self.seconds.mean())

    @property
    def worst(self) -> float:
        return 1e3 * float(self.seconds.max())

    def line(self) -> str:
        return (
            f"  {self.title:<24} {self.milliseconds:8.2f} ms per step, worst {self.worst:7.1f}; overlap at most "
            f"{self.overlap.max():.2%}, at the end {self.overlap[-1]:.2%}; mean speed {self.speed:.1e}"
            + (f"\n{'':27}{self.note}" if self.note else "")
        )


def described(scene: Scene) -> dict[str, np.ndarray]:
    """What other engines need of a scene with one group of equal bodies inside planes, as plain arrays."""
    group, material = scene.bodies[0], scene.materials["default"]
    n, d = group.count, scene.dimension
    shape = group.shape
    size = np.atleast_1d(shape.size if isinstance(shape, Box) else shape.radius).astype(float)
    assert isinstance(shape, Box | Disc | Sphere)
    planes: list[Plane] = []
    for boundary in scene.boundaries:
        planes += boundary.sides(d) if isinstance(boundary, Container) else [boundary]
    up = np.eye(d)[-1]
    turn = group.orientation if d == 3 else group.angle
    return {
        "size": size,
        "position": np.asarray(group.position, float),
        "orientation": np.array(np.broadcast_to(turn, (n, 4) if d == 3 else (n,)), float),
        "velocity": np.array(np.broadcast_to(group.velocity, (n, d)), float),
        "mass": np.array(float(group.mass)),
        "plane_point": np.array([(0.0,) * d if p.point is None else p.point for p in planes], float),
        "plane_normal": np.array([up if p.normal is None else p.normal for p in planes], float),
        "gravity": np.array(scene.gravity),
        "step": np.array(scene.step),
        "friction": np.array(material.friction),
        "restitution": np.array(material.restitution),
    }


def race(
    scene: Scene, steps: int, engines: Sequence[str], skip: int = 0, turn: int = TURN, loose: float | None = None
) -> dict[str, Result | str]:
    """Runs of Carom ("carom") and of engines by name, or the reason why one is missing. Prints a line for each.

    The first `skip` steps are made but not counted. With `loose` there is a second run of Carom ("loose") with this
    tolerance. The run "substepped" is of Carom with the stepper of that name.
    """
    plain = described(scene)
    runners: dict[str, Runner] = {"carom": Ours(scene)}
    runners["substepped"] = Ours(scene, "Carom, substepped", stepper="substepped")
    if loose is not None:
        runners["loose"] = Ours(scene, f"Carom, tolerance {loose:g}", loose)
    absent = {name: reason for name in engines if (reason := missing(name)) is not None}
    runners |= {name: EngineProcess(name, plain) for name in engines if name not in absent}
    found = in_turns(plain, runners, steps, skip, turn)
    for reason in absent.values():
        print(f"  {reason}", flush=True)
    return {**found, **absent}


def in_turns(
    plain: dict[str, np.ndarray], runners: dict[str, Runner], steps: int, skip: int = 0, turn: int = TURN
) -> dict[str, Result]:
    """The runners make `turn` steps each in turn, so that a slow spell of the machine affects all.

    The first step, in which engines build their structures, is not counted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in runners}
    overlap: dict[str, list[float]] = {name: [] for name in runners}
    for done in range(0, skip + steps, turn):
        for name, runner in runners.items():
            spent = runner.steps(min(turn, skip + steps - done))
            if done >= skip:
                position, orientation, _ = runner.pose()
                seconds[name] += spent
                overlap[name].append(scene_overlap(plain, position, orientation))
    found = {}
    for name, runner in runners.items():
        speed = float(np.linalg.norm(runner.pose()[2], axis=1).mean())
        found[name] = Result(runner.title, np.array(seconds[name][1:]), np.array(overlap[name]), speed, runner.report())
        runner.close()
        print(found[name].line(), flush=True)
    return found

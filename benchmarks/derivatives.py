"""Derivatives: the vjp of an impact in units of its solution, and a run backwards in units of the run.

Processor time; solution and derivative take turns, so that a busy machine slows both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import carom
from carom.scene import boundaries, shapes
from carom.scene.model import Bodies, Material, Scene

from .report import Row

PATHS = ["bodies.0.position", "bodies.0.velocity"]
SIDE = 19  # discs of a triangular lattice along each side: 1,008 contacts
LATTICE = SIDE, np.sqrt(0.75)
IMPACTS: tuple[tuple[str, float, dict[str, str]], ...] = (
    ("lcp", 1.0, {}),
    ("gr", 1.0, {}),
    ("gr", 0.5, {}),
    ("gr", 0.5, {"restitution_model": "newton"}),
    ("qce", 1.0, {}),
    ("qce", 0.5, {}),
    ("smm", 1.0, {}),
    ("sqm", 1.0, {}),
    ("gauss_seidel", 1.0, {}),
    ("gr", 0.5, {"restitution_model": "qce_lcp"}),
    ("qce", 0.5, {"restitution_model": "qce_lcp"}),
    ("gauss_seidel", 0.5, {"restitution_model": "qce_lcp"}),
    ("jacobi", 0.5, {"restitution_model": "newton"}),
    ("etm", 1.0, {}),
    ("lzb", 1.0, {}),
    ("gr", 0.0, {}),
    ("gr", 0.5, {"friction_model": "cone"}),
    ("sqm", 0.7, {"friction_model": "own"}),
)
RUNS = ((3, 0.02, 2.0), (5, 0.02, 2.0), (10, 0.02, 2.0), (10, 0.1, 4.0), (20, 0.05, 1.0))  # side, step, duration
RESTS = (("disc", 1, 10.0), ("disc", 9, 2.0), ("disc", 100, 2.0), ("box", 1, 1.2), ("box", 9, 1.2))  # on the ground


def lattice() -> carom.ImpactProblem:
    """Touching discs of different masses with random velocities."""
    rng, (side, height) = np.random.default_rng(0), LATTICE
    places = [[i + 0.5 * (j % 2), j * height] for j in range(side) for i in range(side)]
    masses = 10.0 ** rng.uniform(-0.4, 0.4, len(places))
    return carom.ImpactProblem.from_discs(places, 0.5, masses, rng.normal(size=(len(places), 2)))


def gas(side: int, step: float, duration: float) -> Scene:
    """Discs in a box."""
    rng = np.random.default_rng(3)
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), -1).reshape(-1, 2) + 0.5
    discs = Bodies(shapes.Disc(0.3), grid + rng.uniform(-0.1, 0.1, grid.shape), velocity=rng.normal(size=grid.shape))
    walls = boundaries.Container([0.0, 0.0], [float(side), float(side)])
    materials = {"default": Material(0.95)}
    return Scene("gas", [discs], [walls], materials=materials, gravity=(0.0, 0.0), step=step, duration=duration)


def resting(kind: str, count: int, duration: float) -> Scene:
    """Discs that roll, or boxes that slide and stop, after they have bounced on the ground."""
    place = np.arange(count)
    if kind == "disc":
        shape, angle, places = shapes.Disc(0.1), 0.0, np.stack([0.3 * place, 0.25 + 0.05 * (place % 4)], axis=1)
        velocity = np.stack([0.05 * (-1.0) ** place, 0.0 * place], axis=1)
    else:
        shape, angle, places = (
            shapes.Rectangle(0.4, 0.2),
            0.1,
            np.stack([0.8 * place, 0.3 + 0.02 * (place % 3)], axis=1),
        )
        velocity = np.stack([0.5 + 0.0 * place, 0.0 * place], axis=1)
    bodies = Bodies(shape, places, velocity=velocity, angle=angle)
    ground = boundaries.Plane((0.0, 0.0), (0.0, 1.0))
    materials = {"default": Material(0.4 if kind == "disc" else 0.3, 0.3)}
    return Scene("rest", [bodies], [ground], materials=materials, gravity=(0.0, -9.81), duration=duration)


def ratio(one: Callable[[], Any], other: Callable[[Any], Any], repeats: int) -> tuple[float, float]:
    """Median times of `one`, and of `other` with its result, in turns after one of each."""
    times = np.zeros((repeats + 1, 2))
    for k in range(repeats + 1):
        start = time.process_time()
        made = one()
        middle = time.process_time()
        other(made)
        times[k] = middle - start, time.process_time() - middle
    first, second = np.median(times[1:], axis=0)
    return float(first), float(second)


def run(quick: bool = False) -> list[Row]:
    """Rows of the benchmark."""
    rows, problem, weights = [], lattice(), np.random.default_rng(1).normal(size=(SIDE * SIDE, 2))
    for law, e, options in IMPACTS[:5] if quick else IMPACTS:
        given = problem.with_(restitution=e, friction=0.3 if "friction_model" in options else 0.0)
        models = {name: model for name, model in options.items() if model != "own"}
        solve, vjp = ratio(
            lambda given=given, law=law, models=models: carom.solve_impact(given, law, **models),
            lambda solution: solution.vjp(weights),
            1 if law == "lzb" else 5,  # lzb takes seconds
        )
        name = " ".join([law, f"{e:g}", *options.values()])
        found = f"{vjp / solve:.2f} ({1e3 * solve:.1f} ms)"
        rows.append(Row(f"vjp, {problem.contact_count:,} contacts, {name}", "<= 3 solutions", found, vjp <= 3 * solve))
    scenes = [
        (f"{n * n} discs, step {h:g}", gas(n, h, t), "time_of_impact") for n, h, t in RUNS[: 2 if quick else None]
    ]
    for kind, count, duration in RESTS[: 2 if quick else None]:
        for stepper in ("time_of_impact", "drift_safe") if kind == "disc" else ("time_of_impact",):
            name = f"{count} at rest ({kind}), {duration:g} s, {stepper}"
            scenes.append((name, resting(kind, count, duration), stepper))
    for name, scene, stepper in scenes:

        def whole(scene: Scene = scene, stepper: str = stepper) -> None:
            carom.Simulation(scene, stepper=stepper, tolerance="exact").run(until=scene.duration)

        def backwards(_: None, scene: Scene = scene, stepper: str = stepper) -> None:
            carom.sensitivity(scene, stepper=stepper).vjp(PATHS, position=np.ones((scene.count, 2)))

        plain, both = ratio(whole, backwards, 3)
        found = f"{both / plain:.1f} ({1e3 * plain:.0f} ms)"
        rows.append(Row(f"run and its derivatives backwards, {name}", "<= 5 runs", found, both <= 5 * plain))
    return rows

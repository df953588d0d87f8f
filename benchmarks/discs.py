"""A block of discs with friction that collapses on the ground, beside pymunk."""

from __future__ import annotations

import numpy as np

from carom.scene import Bodies, Material, Scene
from carom.scene.boundaries import Plane
from carom.scene.shapes import Disc

from .engines.process import EngineProcess, missing
from .race import Ours, Result, Runner, described, in_turns
from .report import Row

STEP = 1.0 / 240.0
# (solver iterations, steps of pymunk per step of the scene); smaller steps lower the overlap at the least cost.
SETTINGS = ((10, 1), (50, 1), (10, 2), (10, 4), (10, 8), (20, 8))


def collapse(side: int) -> Scene:
    """side x side discs of diameter 1 on a loose lattice, each a little off its place; the block falls apart."""
    chance = np.random.default_rng(0)
    k = np.arange(side * side)
    place = 1.02 * np.stack([k % side - 0.5 * (side - 1), k // side + 0.55], axis=1)
    place += chance.uniform(-0.008, 0.008, place.shape)
    return Scene(
        name="collapse",
        bodies=[Bodies(Disc(0.5), place, mass=1.0)],
        boundaries=[Plane((0.0, 0.0), (0.0, 1.0))],
        materials={"default": Material(0.2, 0.5)},
        gravity=(0.0, -9.81),
        step=STEP,
        stepper="drift_safe",
        law="qce",
    )


def run(quick: bool = False) -> list[Row]:
    """2,500 discs collapse; pymunk at several numbers of iterations and of smaller steps."""
    side, steps = (12, 40) if quick else (50, 480)
    if not quick:
        for stepper in ("drift_safe", "substepped"):
            Ours(collapse(12), stepper=stepper).steps(200)
    scene = collapse(side)
    plain = described(scene)
    runners: dict[str, Runner] = {"carom": Ours(scene)}
    runners["substepped"] = Ours(scene, "Carom, substepped", stepper="substepped")
    reason = "a quick run" if quick else missing("chipmunk")
    for iterations, substeps in SETTINGS if reason is None else ():
        scene_of_it = {**plain, "iterations": np.array(iterations), "substeps": np.array(substeps)}
        title = f", {iterations} iterations x {substeps}"
        runners[title] = EngineProcess("chipmunk", scene_of_it, title)
    found = in_turns(plain, runners, steps)
    ours, fast = found.pop("carom"), found.pop("substepped")
    name = f"{side * side:,} discs collapse, {steps * STEP:g} s"
    return [
        Row(
            name,
            "<= 8 ms per step",
            f"{ours.milliseconds:.2f} ms, {ours.worst:.0f} ms at worst",
            ours.milliseconds <= 8.0,
        ),
        Row(f"{name}, overlap on the way", "<= 1%", f"{ours.overlap.max():.2%}", ours.overlap.max() <= 0.01),
        _equal_overlap(name, ours, list(found.values()), reason, 2.0),
        _equal_overlap(f"{name}, substepped", fast, list(found.values()), reason, 1.0),
    ]


def time_at(overlap: float, others: list[Result]) -> float:
    """Milliseconds of pymunk at a given overlap, interpolated between its settings (both as logarithms).

    Settings that are slower than another one with less overlap are left out. Beyond all settings, the nearest counts.
    """
    points = [(r.overlap.max(), r.milliseconds) for r in others]
    best = sorted(p for p in points if not any(q[0] <= p[0] and q[1] < p[1] for q in points))
    depth, time = np.log(np.array(best)).T
    return float(np.exp(np.interp(np.log(overlap), depth, time)))


def _equal_overlap(name: str, ours: Result, others: list[Result], reason: str | None, most: float) -> Row:
    name, asked = f"{name}, beside pymunk at equal overlap", f"<= {most:g} times the time"
    if not others:
        return Row(name, asked, reason or "", None)
    overlap = float(ours.overlap.max())
    other = time_at(overlap, others)
    ratio = ours.milliseconds / other
    measured = f"{ratio:.1f} times: {ours.milliseconds:.2f} against {other:.2f} ms at {overlap:.2%}"
    return Row(name, asked, measured, ratio <= most)

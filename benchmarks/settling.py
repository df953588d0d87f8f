"""Boxes and spheres that settle in a container, beside Rapier, MuJoCo and PyBullet."""

from __future__ import annotations

import numpy as np

from carom.scene import Bodies, Material, Scene
from carom.scene.boundaries import Container
from carom.scene.shapes import Box, Sphere

from .race import Ours, Result, race
from .report import Row

STEP = 1.0 / 240.0
FRICTION, RESTITUTION = 0.5, 0.3
GAP = 1.03  # distance of the places on which bodies start, in diameters of their bounding spheres
BOX = 0.8  # edge
ENGINES = ("rapier", "mujoco", "bullet")
OURS = ("carom", "loose", "substepped")  # runs of Carom: at the default tolerance, with LOOSE, and another stepper
LOOSE = 0.03  # of the second run of Carom: its overlap is still far below that of the engines beside it
WARM_STEPS = 240  # of a small copy of a scene, before the run that is timed


def settling(shape: Sphere | Box, count: int, seed: int = 0) -> Scene:
    """Bodies on a lattice, each a little off its place and boxes with random orientations, in an open container."""
    chance = np.random.default_rng(seed)
    across = int(np.ceil((count / 1.5) ** (1.0 / 3.0)))
    diameter = 2.0 * shape.radius if isinstance(shape, Sphere) else float(np.linalg.norm(shape.size))
    pitch, k = GAP * diameter, np.arange(count)
    place = pitch * np.stack([k % across, k // across % across, k // across**2], axis=1)
    place -= pitch * np.array([0.5 * (across - 1), 0.5 * (across - 1), -0.55])
    place[:, :2] += 0.01 * diameter * chance.uniform(-1.0, 1.0, (count, 2))
    turn = chance.normal(size=(count, 4)) if isinstance(shape, Box) else np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    turn /= np.linalg.norm(turn, axis=1)[:, None]
    half = 0.5 * pitch * across + 0.02 * diameter
    return Scene(
        name="settling",
        bodies=[Bodies(shape, place, mass=1.0, orientation=turn)],
        boundaries=[Container((-half, -half, 0.0), (half, half, 8.0 * half), open_top=True)],
        materials={"default": Material(RESTITUTION, FRICTION)},
        gravity=(0.0, 0.0, -9.81),
        step=STEP,
        stepper="drift_safe",
        law="qce",
    )


def warm_up(shape: Sphere | Box) -> None:
    """Loads the kernels, so that none is loaded in a run that is timed.

    The steps of small worlds are made by one kernel; what it leaves to the stepper is rare, and others take 0.1 s to
    load. So the second runs are made by the steppers alone.
    """
    for stepper in ("drift_safe", "substepped"):
        Ours(settling(shape, 200), stepper=stepper).steps(WARM_STEPS)
        plain = Ours(settling(shape, 200), stepper=stepper)
        vars(plain.sim.engine)["quiet"] = None
        plain.steps(WARM_STEPS)


def compared(name: str, found: dict[str, Result | str], limits: dict[str, float], mine: str = "carom") -> list[Row]:
    """One row per engine: its time over ours is at least a limit; 0 means that nothing is asked."""
    rows, ours = [], found[mine]
    assert isinstance(ours, Result)
    for engine, least in limits.items():
        other = found.get(engine, "not run")
        if least == 0.0:
            asked = "for the record"
        else:
            asked = f">= {least:g} times faster" if least >= 1.0 else f"<= {1.0 / least:g} times the time"
        if isinstance(other, str):
            rows.append(Row(f"{name}, beside {engine}", asked, other, None))
            continue
        ratio = other.seconds.sum() / ours.seconds.sum()
        measured = f"{ratio:.1f} times faster" if ratio >= 1.0 else f"{1.0 / ratio:.1f} times the time"
        measured += f": {ours.milliseconds:.2f} against {other.milliseconds:.2f} ms"
        rows.append(Row(f"{name}, beside {other.title}", asked, measured, ratio >= least))
    return rows


def run_boxes(quick: bool = False) -> list[Row]:
    """1,000 boxes fall 2 s into a heap; 50 boxes lie at rest."""
    shape = Box((BOX, BOX, BOX))
    if not quick:
        warm_up(shape)
    count, steps = (30, 60) if quick else (1000, 480)
    name = f"{count:,} boxes settle, {steps * STEP:g} s"
    found = race(settling(shape, count), steps, () if quick else ENGINES)
    ours = found["carom"]
    assert isinstance(ours, Result)
    rows = [
        Row(
            name,
            "<= 5 ms per step, <= 25 ms at worst",
            f"{ours.milliseconds:.2f} ms, {ours.worst:.0f} ms at worst",
            ours.milliseconds <= 5.0 and ours.worst <= 25.0,
        ),
        *compared(name, found, {"rapier": 0.25, "mujoco": 2.0, "bullet": 4.0}),
        overlap_row(name, found, 1.0),
        *substepped_rows(name, found, 1.0 / 1.3, 0.5),
    ]
    return rows + run_small(quick) + run_resting_boxes(quick)


def substepped_rows(name: str, found: dict[str, Result | str], least: float, share: float) -> list[Row]:
    """The stepper `substepped` beside Rapier: Rapier's time over its, and its share of Rapier's overlap."""
    title = f"{name}, substepped"
    rows = compared(title, found, {"rapier": least}, "substepped")
    return [*rows, overlap_row(title, found, share, "rapier", "substepped")]


def run_small(quick: bool = False) -> list[Row]:
    """100 boxes and 100 spheres settle."""
    rows = []
    for shape, what in ((Box((BOX, BOX, BOX)), "boxes"), (Sphere(0.5), "spheres")):
        count, steps = (20, 40) if quick else (100, 480)
        if not quick:
            warm_up(shape)
        # A turn of a few fast steps would mostly measure how the caches fill again.
        found = race(settling(shape, count), steps, () if quick else ENGINES[:1], turn=60)
        rows += compared(f"{count} {what} settle, substepped", found, {"rapier": 0.5}, "substepped")
    return rows


def overlap_row(
    name: str, found: dict[str, Result | str], share: float, only: str | None = None, mine: str = "carom"
) -> Row:
    """Our deepest overlap is at most a share of that of each other engine, or of one of them."""
    ours = found[mine]
    assert isinstance(ours, Result)
    others = [r for key, r in found.items() if isinstance(r, Result) and key not in OURS and only in (None, key)]
    asked = f"<= {share:g} times that of " + ("any other" if only is None else only)
    measured = ", ".join([f"{ours.overlap.max():.2%}", *(f"{r.title} {r.overlap.max():.2%}" for r in others)])
    least = min((r.overlap.max() for r in others), default=None)
    return Row(
        f"{name}, deepest overlap", asked, measured, None if least is None else ours.overlap.max() <= share * least
    )


def run_resting_boxes(quick: bool = False) -> list[Row]:
    """50 boxes that have come to rest: the next second."""
    skip, steps = (60, 60) if quick else (720, 240)
    # A turn of a few fast steps would mostly measure how the caches fill again.
    found = race(settling(Box((BOX, BOX, BOX)), 50), steps, () if quick else ENGINES, skip, turn=60)
    ours = found["carom"]
    assert isinstance(ours, Result)
    others = [r for key, r in found.items() if isinstance(r, Result) and key not in OURS]
    measured = ", ".join([f"{ours.milliseconds:.3f} ms", *(f"{r.title} {r.milliseconds:.3f}" for r in others)])
    overlap = f"{ours.overlap.max():.2%}"
    return [
        Row("50 boxes at rest", "<= 0.3 ms per step", measured, ours.milliseconds <= 0.3),
        Row("50 boxes at rest, deepest overlap", "<= 0.1%", overlap, ours.overlap.max() <= 1e-3),
    ]


def run_spheres(quick: bool = False) -> list[Row]:
    """10,000 spheres settle."""
    shape = Sphere(0.5)
    if not quick:
        warm_up(shape)
    count, steps = (300, 60) if quick else (10_000, 480)
    name = f"{count:,} spheres settle, {steps * STEP:g} s"
    found = race(settling(shape, count), steps, () if quick else ENGINES, loose=LOOSE)
    rows = []
    for mine, title in zip(OURS[:2], (name, f"{name}, tolerance {LOOSE:g}")):
        ours = found[mine]
        assert isinstance(ours, Result)
        per_second = f"{ours.milliseconds / (1e3 * STEP):.1f} CPU s per simulated s"
        rows.append(Row(title, "for the record", f"{per_second}, worst step {ours.worst:.0f} ms", True))
        rows += compared(title, found, {"rapier": 1.0, "mujoco": 0.0, "bullet": 5.0}, mine)
        rows.append(overlap_row(title, found, 0.2, "rapier", mine))
    return rows + substepped_rows(name, found, 3.0, 0.25)

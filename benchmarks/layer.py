"""The vibrated layer of spheres that forms hexagons (Smith 2012, fig. 1 and Table 3; Zhang 2015, Table 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numba
import numpy as np

from carom.scene import Bodies, Material, Scene
from carom.scene.boundaries import Periodic, Plane
from carom.scene.motion import Vibrating
from carom.scene.shapes import Sphere
from carom.world import State

from .race import Ours
from .report import Row

DIAMETER, GRAVITY, STEP = 1.65e-4, 9.81, 2e-4  # meters, meters per second squared, seconds
DEPTH = 5.42  # of the layer at rest, in diameters: the length in the dimensionless frequency
FREQUENCY, ACCELERATION = 0.38, 4.0  # f sqrt(H / g) and 4 pi^2 f^2 a / g: the point of the hexagons
CELLS = 40  # of the height map, along each side
OUT = Path("out")


def frequency() -> float:
    """Of the plate, in cycles per second."""
    return FREQUENCY * float(np.sqrt(GRAVITY / (DEPTH * DIAMETER)))


def steps_of(periods: float) -> int:
    """Whole steps in a number of plate periods."""
    return round(periods / (frequency() * STEP))


def layer(side: int = 50) -> Scene:
    """6 side^2 spheres above a plate of side x side diameters with periodic sides."""
    length, per_row = side * DIAMETER, int(side / 1.02)
    count = 6 * side * side
    k = np.arange(count)
    pitch = np.array([length / per_row, length / per_row, 1.02 * DIAMETER])
    place = np.stack([k % per_row + 0.5, k // per_row % per_row + 0.5, k // per_row**2], axis=1) * pitch
    place[:, 2] += 0.55 * DIAMETER
    chance = np.random.default_rng(1)
    place += 0.009 * DIAMETER * chance.uniform(-1.0, 1.0, place.shape)
    speed = 0.3 * np.sqrt(GRAVITY * DIAMETER) * chance.normal(size=place.shape)
    amplitude = ACCELERATION * GRAVITY / (2.0 * np.pi * frequency()) ** 2
    return Scene(
        name="layer",
        bodies=[Bodies(Sphere(0.5 * DIAMETER), place, speed, mass=1.0)],
        boundaries=[Plane(motion=Vibrating(amplitude, frequency()))],
        periodic=Periodic(x=(0.0, length), y=(0.0, length)),
        materials={"default": Material(0.7, 0.5)},
        gravity=(0.0, 0.0, -GRAVITY),
        step=STEP,
        stepper="synchronous",
        law="gr",
    )


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Limits the number of threads for a while."""
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def warm_up(law: str) -> None:
    """Loads the kernels with a layer large enough for the kernels of large islands."""
    Ours(layer(20), law=law).steps(steps_of(1.2))


def run(quick: bool = False) -> list[Row]:
    """15,000 spheres on one thread, plate periods 2 to 4, under gr and qce."""
    side, last = (6, 1.4) if quick else (50, 4.0)
    rows = []
    for law in ("gr", "qce"):
        if not quick:
            warm_up(law)
        ours = Ours(layer(side), law=law)
        ours.steps(steps_of(1.0))
        ours.rows.clear()
        seconds = np.array(ours.steps(steps_of(last) - steps_of(1.0)))
        contacts = np.mean([row["contacts"] for row in ours.rows])
        print(f"  {law}: {1e3 * seconds.mean():.1f} ms per step, {contacts:,.0f} contacts; {ours.report()}", flush=True)
        measured = f"{1e3 * seconds.mean():.1f} ms, {seconds.max():.2f} s at worst"
        name = f"layer of {6 * side * side:,} spheres, periods 2 to {last:g}, {law}"
        rows.append(Row(name, "<= 30 ms per step, <= 0.3 s", measured, seconds.mean() <= 0.03 and seconds.max() <= 0.3))
    return rows


def run_large() -> list[Row]:
    """60,000 spheres on two threads, wall time of plate period 2."""
    rows = []
    for law, limit, paper in (("qce", 0.1, 0.25), ("gr", 0.15, 6.1)):
        warm_up(law)
        with threads(min(2, numba.config.NUMBA_NUM_THREADS)):
            ours = Ours(layer(100), law=law)
            ours.steps(steps_of(1.0))
            ours.rows.clear()
            start = perf_counter()
            count = steps_of(2.0) - steps_of(1.0)
            ours.steps(count)
            each = (perf_counter() - start) / count
        print(f"  {law}: {each:.3f} s per step; {ours.report()}", flush=True)
        measured = f"{each:.3f} s (paper {paper:g} s)"
        rows.append(
            Row(
                f"layer of 60,000 spheres, 2 threads, period 2, {law}",
                f"<= {limit:g} s per step",
                measured,
                each <= limit,
            )
        )
    return rows


# ---- the height map


def height_map(state: State, length: float) -> np.ndarray:
    """Height of the highest sphere in each cell (CELLS, CELLS)."""
    cell = np.floor(state.position[:, :2] % length * (CELLS / length)).astype(int) % CELLS
    heights = np.full((CELLS, CELLS), state.position[:, 2].min())
    np.maximum.at(heights, (cell[:, 0], cell[:, 1]), state.position[:, 2])
    return heights


def started(scene: Scene, law: str, periods: float) -> State:
    """The state after some periods; saved after each period, so that an interrupted run continues there."""
    ours = Ours(scene, law=law)
    digest = hashlib.sha1(np.asarray(scene.bodies[0].position).tobytes()).hexdigest()[:8]
    path, goal = OUT / f"layer_{law}_{digest}_{periods:g}.npz", steps_of(periods)
    if path.exists():
        with np.load(path) as data:
            number = int(data["step"])
            ours.sim.state = replace(
                ours.sim.state,
                time=number * STEP,
                step=number,
                **{k: data[k] for k in ("position", "orientation", "velocity")},
            )
        print(f"  continues at step {number} of {goal}: {path}", flush=True)
    while (state := ours.sim.state).step < goal:
        ours.steps(min(steps_of(1.0), goal - state.step))
        state = ours.sim.state
        path.parent.mkdir(exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez(part, step=state.step, position=state.position, orientation=state.orientation, velocity=state.velocity)
        part.replace(path)
    return ours.sim.state


def run_map(quick: bool = False) -> list[Row]:
    """Height maps one period after a common start, with the default tolerance and with "exact".

    The start, a run of 12 periods, is saved in out/ and used again.
    """
    side, periods = (6, 0.3) if quick else (50, 12.0)
    scene, rows = layer(side), []
    start = started(scene, "gr", periods)
    for law in ("gr",) if quick else ("gr", "qce"):
        ends = [], []
        for maps, tolerance in zip(ends, (None, "exact")):
            ours = Ours(scene, law=law, tolerance=tolerance)
            ours.sim.state = start
            begun = perf_counter()
            for quarter in range(4):
                ours.steps(steps_of(periods + 0.25 * (quarter + 1)) - ours.sim.state.step)
                maps.append(height_map(ours.sim.state, side * DIAMETER).ravel())
            print(f"  {law}, {tolerance or 'default'}: {perf_counter() - begun:.0f} s; {ours.accuracy()}", flush=True)
        likeness = [float(np.corrcoef(a, b)[0, 1]) for a, b in zip(*ends)]
        print(f"  {law}: correlation after each quarter period {', '.join(f'{c:.4f}' for c in likeness)}", flush=True)
        name = f"layer of {6 * side * side:,} spheres, height map after {periods:g} + 1 periods, {law}"
        rows.append(Row(name, 'correlation with "exact" >= 0.95', f"{likeness[-1]:.4f}", likeness[-1] >= 0.95))
    return rows

"""What is spent around the work: solve_impact on three contacts, alone and in batches, and steps of worlds of a few
bodies beside engines. All times are CPU times.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

import carom
from carom import scenes
from carom.scene import Bodies, Material, Scene
from carom.scene.boundaries import Plane
from carom.scene.shapes import Disc, Sphere

from .engines.process import TITLES, EngineProcess, missing
from .race import described
from .report import Row

LAWS = ("gr", "qce", "lcp")  # with a limit of their own
PROBLEMS = 1000  # of a batch
STEPS, TURNS = 1000, 3  # steps of a small world per turn; turns of each engine, of which the fastest counts
SMALL_WORLDS = {"two at rest": 20.0, "cradle of 5": 20.0, "break of 56": 25.0}  # microseconds per step that are asked
ENGINES = {2: "chipmunk", 3: "rapier"}  # beside which worlds of discs and of spheres are run


def _each(work: Callable[[], object], count: int) -> float:
    """The least CPU time of five repeats, in microseconds per problem."""
    times = []
    for _ in range(6):  # the first one compiles
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times[1:]) / count * 1e6


def run() -> list[Row]:
    problem = carom.ImpactProblem.chain([1, 1, 1, 1], [1, 0, 0, -0.5])
    rng = np.random.default_rng(3)
    many = [carom.ImpactProblem.chain(rng.uniform(0.5, 2.0, 4), rng.normal(size=4)) for _ in range(PROBLEMS)]
    rows = []
    for law in carom.laws.names():
        count = 20 if law in ("lzb", "etm", "smm") else 500
        each = _each(lambda n=law, k=count: [carom.solve_impact(problem, n) for _ in range(k)], count)
        print(f"{law:<13} {each:8.1f} us")
        if law in (*LAWS, "gauss_seidel"):
            limit = 80.0 if law in LAWS else 200.0
            rows.append(Row(f"solve_impact, 3 contacts, {law}", f"< {limit:g} us warm", f"{each:.0f} us", each < limit))
        if law in LAWS:
            each = _each(lambda n=law: carom.solve_impacts(many, n), PROBLEMS)
            name = f"solve_impacts, {PROBLEMS:,} problems of 3 contacts, {law}"
            rows.append(Row(name, "< 20 us each", f"{each:.1f} us", each < 20.0))
    return rows


def small_world(name: str, dimension: int) -> Scene:
    """A world of a few discs or spheres: one on top of another at rest, a cradle, or a rack that is broken."""
    if name == "two at rest":
        up = np.eye(dimension)[-1]
        balls = Bodies(Disc(0.5) if dimension == 2 else Sphere(0.5), np.array([0.5 * up, 1.5 * up]), mass=1.0)
        materials = {"default": Material(0.3, 0.5)}
        given: dict[str, Any] = {"gravity": tuple(-9.81 * up), "step": 1.0 / 240.0, "stepper": "drift_safe"}
        return Scene(name, [balls], [Plane()], materials=materials, law="qce", **given)
    if name == "cradle of 5":
        return scenes.newtons_cradle() if dimension == 2 else scenes.cradle_3d()
    return scenes.pool_break() if dimension == 2 else scenes.pool_break_3d(rows=10)


class InProcess:
    """An engine that is installed beside Carom."""

    def __init__(self, name: str, plain: dict[str, np.ndarray]) -> None:
        self.engine = importlib.import_module(f"benchmarks.engines.{name}").World(plain)
        self.title = f"{TITLES[name]} {self.engine.version}"

    def steps(self, count: int) -> list[float]:
        start = process_time()
        for _ in range(count):
            self.engine.step()
        return [process_time() - start]

    def close(self) -> None:
        pass


def beside(name: str, scene: Scene) -> EngineProcess | InProcess | None:
    """The scene in another engine, in an environment of its own or in this one; None if it is in neither."""
    gravity = scene.gravity if any(scene.gravity) else (0.0,) * scene.dimension
    plain = {**described(scene), "gravity": np.array(gravity), "iterations": np.array(10), "substeps": np.array(1)}
    if name == "rapier":
        del plain["iterations"]  # its default
    if missing(name) is None:
        return EngineProcess(name, plain)
    return InProcess(name, plain) if name == "chipmunk" and importlib.util.find_spec("pymunk") else None


def simulated(scene: Scene, steps: int) -> float:
    """CPU seconds per step inside `simulate`: of a run of `steps` steps without those of a run of one."""
    seconds = []
    for count in (1, steps):
        start = process_time()
        carom.simulate(scene, duration=count * scene.step, threads=1)
        seconds.append(process_time() - start)
    return (seconds[1] - seconds[0]) / (steps - 1)


def stepped(scene: Scene, steps: int) -> float:
    """CPU seconds per step of `Simulation.step`."""
    sim = carom.Simulation(scene)
    start = process_time()
    for _ in range(steps):
        sim.step()
    return (process_time() - start) / steps


def run_small_worlds(quick: bool = False) -> list[Row]:
    """Steps of worlds of a few bodies, in microseconds: Carom inside `simulate` and step by step, and other engines."""
    rows, steps = [], 50 if quick else STEPS
    for name, most in SMALL_WORLDS.items():
        for dimension, engine in ENGINES.items():
            scene = small_world(name, dimension)
            stepped(scene, steps)  # loads the kernels
            other = None if quick else beside(engine, scene)
            turns = [
                (simulated(scene, steps), stepped(scene, steps), sum(other.steps(steps)) / steps if other else np.inf)
                for _ in range(1 if quick else TURNS)
            ]
            inside, alone, theirs = (1e6 * min(column) for column in zip(*turns))
            measured = f"{inside:.1f} us, step by step {alone:.1f}"
            if other is not None:
                measured += f"; {other.title} {theirs:.1f}"
                other.close()
            # A break of spheres takes place on a table, with 56 contacts at rest: nothing is asked of it.
            shape, free = "discs" if dimension == 2 else "spheres", (name, dimension) == ("break of 56", 3)
            asked = "for the record" if free else f"<= {most:g} us in simulate"
            rows.append(Row(f"{name}, {shape}, a step", asked, measured, None if free else inside <= most))
            print(f"  {rows[-1].name}: {measured}", flush=True)
    return rows

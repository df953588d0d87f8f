"""Spheres and boxes that settle in a box, beside PyBullet: the same start, the same step, in turns."""

from __future__ import annotations

import importlib.util
from time import perf_counter

import numpy as np

from carom.build import build
from carom.impact.response import Response
from carom.scene import Bodies, Material, Scene
from carom.scene.boundaries import Container
from carom.scene.shapes import Box, Sphere
from carom.stepping import make
from carom.stepping.report import PHASES, step_table

from .report import Row

STEP, TURN = 1.0 / 240.0, 10  # seconds of simulated time; steps that each engine makes in its turn
FRICTION, RESTITUTION = 0.5, 0.3
GAP = 1.03  # distance of the lattice on which they start, in diameters


def run_spheres() -> list[Row]:
    return _race("10,000 spheres that settle", Sphere(0.5), 10_000, 200, 5.0)


def run_boxes() -> list[Row]:
    return _race("1,000 boxes that settle", Box((0.8, 0.8, 0.8)), 1_000, 300, 2.0)


def settling(shape: Sphere | Box, count: int) -> Scene:
    """Bodies on a lattice, each a little off its place, in an open box about as high as wide."""
    across = int(np.ceil((count / 1.5) ** (1.0 / 3.0)))
    chance = np.random.default_rng(0)
    k = np.arange(count)
    place = GAP * np.stack([k % across, k // across % across, k // across**2], axis=1)
    place -= GAP * np.array([0.5 * (across - 1), 0.5 * (across - 1), -0.55])
    place[:, :2] += chance.uniform(-0.01, 0.01, (count, 2))
    half = 0.5 * GAP * across + 0.02
    return Scene(
        name="settling",
        bodies=[Bodies(shape, place, mass=1.0)],
        boundaries=[Container((-half, -half, 0.0), (half, half, 4.0 * half), open_top=True)],
        materials={"default": Material(RESTITUTION, FRICTION)},
        gravity=(0.0, 0.0, -9.81),
        step=STEP,
        law="qce",
    )


class Bullet:
    """The same scene in PyBullet, with its own defaults."""

    def __init__(self, scene: Scene) -> None:
        import pybullet

        self.engine = pybullet
        self.client = pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(*scene.gravity)
        pybullet.setTimeStep(scene.step)
        for wall in scene.boundaries[0].planes():
            shape = pybullet.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=wall.normal)
            self._add(0.0, shape, wall.point)
        group = scene.bodies[0]
        if isinstance(group.shape, Sphere):
            shape = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=group.shape.radius)
        else:
            shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.5 * s for s in group.shape.size])
        self.bodies = [self._add(1.0, shape, place) for place in group.position]

    def _add(self, mass: float, shape: int, place: object) -> int:
        body = self.engine.createMultiBody(mass, shape, basePosition=list(place))  # type: ignore[call-overload]
        self.engine.changeDynamics(
            body, -1, lateralFriction=np.sqrt(FRICTION), restitution=RESTITUTION, linearDamping=0, angularDamping=0
        )
        return int(body)

    def steps(self, count: int) -> float:
        start = perf_counter()
        for _ in range(count):
            self.engine.stepSimulation()
        return perf_counter() - start

    def report(self) -> str:
        contacts = self.engine.getContactPoints()
        depth = -min((c[8] for c in contacts), default=0.0)
        speed = np.array([self.engine.getBaseVelocity(b)[0] for b in self.bodies])
        return f"{len(contacts):,} contacts, overlap {depth:.1e}, mean speed {np.linalg.norm(speed, axis=1).mean():.1e}"


class Ours:
    """The scene under qce with friction."""

    def __init__(self, scene: Scene) -> None:
        self.world, self.state = build(scene)
        self.engine = make(scene.stepper, self.world, Response.for_run(scene.law), scene.step)
        self.rows: list[tuple] = []

    def steps(self, count: int) -> float:
        start = perf_counter()
        for _ in range(count):
            self.state = self.engine.step(self.state)
            self.rows.append(self.engine.row)
        return perf_counter() - start

    def report(self) -> str:
        rows = np.array(self.rows, step_table(3))
        seconds = {phase: rows[f"seconds_{phase}"].sum() for phase in PHASES}
        share = ", ".join(f"{phase} {s / sum(seconds.values()):.0%}" for phase, s in seconds.items())
        speed = np.linalg.norm(self.state.velocity[:, :3], axis=1).mean()
        last = rows[-1]
        return (
            f"{last['contacts'] + last['resting']:,} contacts, overlap {rows['overlap'].max():.1e}, mean speed "
            f"{speed:.1e}; {share}; residual {np.median(rows['residual'][-50:]):.0e}"
        )


def _race(name: str, shape: Sphere | Box, count: int, steps: int, times: float) -> list[Row]:
    asked = f">= {times:g} times faster a step than PyBullet"
    if importlib.util.find_spec("pybullet") is None:
        return [Row(name, asked, "PyBullet is not installed", None)]
    warm = Ours(settling(shape, 200))
    warm.steps(300)
    scene = settling(shape, count)
    ours, bullet = Ours(scene), Bullet(scene)
    mine, other = [], []
    for turn in range(steps // TURN):
        mine.append(ours.steps(TURN))
        other.append(bullet.steps(TURN))
        if (turn + 1) % 5 == 0:
            now = [1e3 * sum(t[-5:]) / (5 * TURN) for t in (mine, other)]
            print(f"  step {(turn + 1) * TURN}: {now[0]:.1f} ms a step, PyBullet {now[1]:.1f}", flush=True)
    print(f"  Carom:    {ours.report()}\n  PyBullet: {bullet.report()}", flush=True)
    bullet.engine.disconnect(bullet.client)
    ratio = sum(other) / sum(mine)
    measured = f"{ratio:.1f} times: {1e3 * sum(mine) / steps:.1f} against {1e3 * sum(other) / steps:.1f} ms"
    return [Row(name, asked, measured, ratio >= times)]

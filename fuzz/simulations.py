"""Random small simulations: nothing leaves its container, passes a plate, or overlaps; energy does not rise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np

from carom import Simulation, friction, laws
from carom.contact.containment import Containment
from carom.contact.detector import Detector, find_contacts
from carom.errors import ProblemError
from carom.problem.contacts import NOT_CONVERGED
from carom.scene import FIXED, Bodies, Container, Drum, Material, Rotating, Scene, Shell
from carom.scene.boundaries import Boundary
from carom.scene.file import save_scene
from carom.scene.shapes import (
    Box,
    Capsule,
    Compound,
    Cone,
    Cylinder,
    Disc,
    Hull,
    Mesh,
    Part,
    Polygon,
    Rectangle,
    Shape,
    Solid,
    Sphere,
)  # fmt: skip
from carom.stepping import names
from carom.stepping.report import STATUSES
from carom.stepping.stepper import DEEPEST_OVERLAP
from carom.stepping.substepped import LARGEST_GAIN, LARGEST_LIFT, Substepped
from carom.world import State, World

from .campaign import Campaign

SIDE = 8.0  # of the container
PLATE = 0.02  # thickness of the plate that divides it
SPEEDS = (5.0, 30.0, 300.0)
OVERLAP = 0.05  # largest overlap of a pair after a step that reports success, in half widths of the smaller body
ENERGY = 1e-9  # largest relative gain of energy under laws that claim to conserve it
STEP_SECONDS = 2.0  # CPU time that a step may take, with compiled kernels
GRAVITIES = (0.0, 9.81, 100.0)
MOST_BODIES, STEPS = 21, 40
WAY = 40.0  # that the fastest body may travel in a run: about five times the side of the container
ATTEMPTS = 200  # to place a body

Floats = np.ndarray


@dataclass(frozen=True)
class Run:
    """One simulation.

    `plate` is the axis that a fixed plate through the origin is normal to, or None. `radius` is that of a drum or a
    shell around the bodies; None: they are in a box. `turning` drums do work.
    """

    scene: Scene
    law: str
    models: tuple[str, str]  # of restitution and friction
    stepper: str
    step: float
    speed: float
    plate: int | None
    radius: float | None
    turning: bool

    def simulation(self) -> Simulation:
        models = {"restitution_model": self.models[0], "friction_model": self.models[1]}
        return Simulation(self.scene, self.law, stepper=self.stepper, step=self.step, **models)

    def outside(self, position: Floats) -> Floats:
        """Which of the places (n, dim) are not within the boundaries."""
        if self.radius is None:
            return np.abs(position).max(axis=1) > 0.5 * SIDE
        return np.linalg.norm(position, axis=1) > self.radius


def flat(rng: np.random.Generator, size: float) -> tuple[Shape, float]:
    """A 2D shape that fits into a circle of the radius that is returned."""
    kind = rng.integers(3)
    if kind == 0:
        return Disc(0.5 * size), 0.5 * size
    if kind == 1:
        height = size * rng.uniform(0.2, 1.0)
        return Rectangle(size, height), 0.5 * np.hypot(size, height)
    angles = np.arange(k := rng.integers(3, 8)) * 2.0 * np.pi / k + rng.uniform(0.0, np.pi / k, k)
    return Polygon([(0.5 * size * np.cos(a), 0.5 * size * np.sin(a)) for a in angles]), size


def convex(rng: np.random.Generator, size: float) -> tuple[Solid, float]:
    """A convex solid that fits into a sphere of the radius that is returned, about its center of mass."""
    kind, slim = rng.integers(6), size * rng.uniform(0.2, 1.0)
    if kind == 0:
        return Sphere(0.5 * size), 0.5 * size
    if kind == 1:
        edges = (size, slim, size * rng.uniform(0.2, 1.0))
        return Box(edges), 0.5 * float(np.linalg.norm(edges))
    if kind == 2:
        return Capsule(0.5 * slim, size), 0.5 * (size + slim)
    if kind == 3:
        return Cylinder(0.5 * slim, size), 0.5 * np.hypot(size, slim)
    if kind == 4:
        return Cone(0.5 * slim, size, 0.25 * slim * rng.integers(2)), size
    return Hull(0.5 * size * rng.uniform(-1.0, 1.0, (rng.integers(5, 12), 3))), 1.8 * size


def solid(rng: np.random.Generator, size: float) -> tuple[Solid, float]:
    """A 3D shape, as `convex`, or a compound or a mesh."""
    kind = rng.integers(10)
    if kind == 0:
        two = [convex(rng, 0.5 * size) for _ in range(2)]
        at = 0.4 * size
        parts = [Part(two[0][0], (-at, 0.0, 0.0)), Part(two[1][0], (at, 0.1 * size, 0.0), (0.9, 0.3, 0.1, 0.2))]
        return Compound(parts), 2.5 * at + two[0][1] + two[1][1]
    if kind == 1:
        corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.2, 0.2, 0.2]]) * size
        faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
        if rng.integers(2):  # a convex mesh is a hull for contacts; a dent in the last face makes it a mesh
            return Mesh(vertices=corner, faces=np.array([*faces[:3], [1, 2, 4], [2, 3, 4], [3, 1, 4]])), size
        return Mesh(vertices=corner[:4], faces=np.array(faces)), size
    return convex(rng, size)


def placed(rng: np.random.Generator, radii: list[float], dimension: int, plate: int | None) -> Floats | None:
    """Places for spheres of these radii that touch neither each other nor the container nor the plate."""
    places: list[Floats] = []
    for i, r in enumerate(radii):
        for _ in range(ATTEMPTS):
            x = rng.uniform(-0.5 * SIDE + 1.01 * r, 0.5 * SIDE - 1.01 * r, dimension)
            if plate is not None and abs(x[plate]) < PLATE + 1.01 * r:
                continue
            if all(np.linalg.norm(x - y) > 1.01 * (r + s) for y, s in zip(places, radii[:i])):
                places.append(x)
                break
        else:
            return None
    return np.array(places)


class Simulations(Campaign):
    """Bodies of all shapes in a box, half of the time divided by a thin plate, or in a drum or shell that may rotate,
    under all laws, models and steppers."""

    title = "2 to 21 bodies of all shapes in boxes, drums and shells, speeds up to 300, all laws, models and steppers"
    quick = 3

    def case(self, rng: np.random.Generator) -> Run:
        dimension, speed = int(rng.integers(2, 4)), float(rng.choice(SPEEDS))
        radius = 0.5 * SIDE * float(np.sqrt(dimension)) if rng.random() < 0.3 else None
        plate = int(rng.integers(dimension)) if radius is None and rng.random() < 0.5 else None
        law = str(rng.choice([name for name in laws.names() if name != "none"]))
        most = 6 if law == "lzb" else MOST_BODIES  # lzb integrates springs, which takes long for many contacts
        places = None
        while places is None:
            shapes, radii = zip(*[
                (flat if dimension == 2 else solid)(rng, float(np.exp(rng.uniform(np.log(0.1), 0.0))))
                for _ in range(rng.integers(2, most + 1))
            ])  # fmt: skip
            places = placed(rng, list(radii), dimension, plate)
        groups = [self.thrown(rng, shape, r, x, speed) for shape, r, x in zip(shapes, radii, places)]
        if plate is not None:
            edges = [PLATE if axis == plate else SIDE for axis in range(dimension)]
            shape = Rectangle(*edges) if dimension == 2 else Box(tuple(edges))
            groups.append(Bodies(shape, np.zeros((1, dimension)), motion=FIXED, name="plate"))
        wall, turning = self.wall(rng, dimension, radius)
        e = float(rng.choice([0.3 if law == "lzb" else 0.0, 0.3, 0.8, 1.0]))  # lzb needs restitution
        mu = 0.0 if rng.random() < 0.4 else float(rng.uniform(0.0, 1.0))
        materials = {"default": Material(restitution=e, friction=mu), "other": Material(restitution=1.0, friction=mu)}
        gravity = (*(0.0,) * (dimension - 1), -float(rng.choice(GRAVITIES)))
        scene = Scene("fuzz", groups, [wall], gravity=gravity, materials=materials)
        step = float(np.exp(rng.uniform(np.log(0.002), np.log(0.03))))
        made = laws.make(law)
        rough = [*friction.MODELS, *([friction.OWN] if made.own_friction else [])]
        models = str(rng.choice(made.restitution_models)), str(rng.choice(rough))
        return Run(scene, law, models, str(rng.choice(names())), step, speed, plate, radius, turning)

    @staticmethod
    def wall(rng: np.random.Generator, dimension: int, radius: float | None) -> tuple[Boundary, bool]:
        """What the bodies are in, and whether it rotates."""
        half = (0.5 * SIDE,) * dimension
        if radius is None:
            return Container(tuple(-x for x in half), half), False
        if dimension == 3:
            return Shell(radius), False
        turning = bool(rng.random() < 0.5)
        return Drum(radius, motion=Rotating(float(rng.uniform(-10.0, 10.0))) if turning else FIXED), turning

    @staticmethod
    def thrown(rng: np.random.Generator, shape: Shape, radius: float, place: Floats, speed: float) -> Bodies:
        """One body with a random orientation, velocity and spin."""
        dimension = len(place)
        v, rest = rng.normal(size=dimension), {}
        if rng.random() < 0.2:
            rest = {"mass": 10.0 ** rng.uniform(-1.0, 2.0), "material": "other"}
        velocity = speed * rng.uniform() * v / np.linalg.norm(v)
        if dimension == 2:
            spin = rng.uniform(-0.3, 0.3) * speed / radius
            return Bodies(shape, place[None], velocity, angle=rng.uniform(0.0, 6.0), spin=spin, **rest)
        turn, spin = rng.normal(size=4), rng.normal(size=3) * 0.2 * rng.uniform() * speed / radius
        return Bodies(shape, place[None], velocity, orientation=turn / np.linalg.norm(turn), spin=spin, **rest)

    def group(self, case: Run) -> str:
        kind = "" if "KIN" in laws.make(case.law).claims else ", jacobi and smm"
        return f"{case.stepper}, {len(case.scene.gravity)}D, speed up to {case.speed:g}{kind}"

    def save(self, case: Run, folder: Path) -> None:
        save_scene(case.scene, folder / "scene.toml", overwrite=True)
        (folder / "case.txt").write_text(f"{case!r}\n")

    def check(self, case: Run, folder: Path) -> str | None:
        wrong = self.watched(case)
        # The first time kernels may have been compiled.
        return self.watched(case) if wrong is not None and wrong.startswith("slow") else wrong

    def watched(self, case: Run) -> str | None:
        """What is wrong with a step of the run."""
        sim = case.simulation()
        before = sim.state
        least = last = sim.report["kinetic"] + sim.report["potential"]
        kinetic = sim.report["kinetic"]
        scale = sim.report["kinetic"] + SIDE * float(np.linalg.norm(case.scene.gravity)) * float(sim.world.mass.sum())
        for _ in range(min(STEPS, max(4, round(WAY / (case.speed * case.step))))):
            began = process_time()
            try:
                state = sim.step()
            except ProblemError as stopped:
                return wrong_message(str(stopped))
            if (seconds := process_time() - began) > STEP_SECONDS:
                return f"slow: {seconds:.1f} CPU s for the step to time {state.time:.4g}"
            if case.stepper != "synchronous":  # Smith's algorithm may overlap
                success = STATUSES[int(sim.report["status"])] != NOT_CONVERGED
                wrong = misplaced(sim.world, before, state, case, OVERLAP if success else DEEPEST_OVERLAP)
                if wrong is not None:
                    return f"{wrong}, time {state.time:.4g}"
            if not all(np.isfinite(x).all() for x in (state.position, state.orientation, state.velocity)):
                return f"NaN: at time {state.time:.4g}"
            total, allowed = sim.report["kinetic"] + sim.report["potential"], ENERGY * scale
            if isinstance(sim.engine, Substepped):  # its bound is one for each sub-step
                most, least = max(kinetic, sim.report["kinetic"]) + sim.engine.weight, last
                allowed += sim.report["substeps"] * (LARGEST_LIFT + LARGEST_GAIN) * most
            if "KIN" in laws.make(case.law).claims and not case.turning and total > least + allowed:
                return f"energy: gained {(total - least) / scale:.3g} at time {state.time:.4g}"
            least, last, kinetic = min(least, total), total, sim.report["kinetic"]
        return None


def wrong_message(text: str) -> str | None:
    """A run may end with one line that says what happened, and to which body."""
    good = len(text) < 500 and "\n" not in text and ("body" in text or "bodies" in text) and "time" in text
    return None if good else f"message: {text[:200]}"


def misplaced(world: World, before: State, state: State, case: Run, most: float) -> str | None:
    """Where a body is that it must not be, from positions alone; and the deepest overlap of a pair if above `most`."""
    free, plate = world.free, case.plate
    out = np.flatnonzero(free & case.outside(state.position))
    if len(out):
        return f"outside: body {out[0]} at {np.round(state.position[out[0]], 3)}"
    if plate is not None:
        crossed = np.flatnonzero(free & (before.position[:, plate] * state.position[:, plate] < 0.0))
        if len(crossed):
            return f"through the plate: body {crossed[0]}"
    found = find_contacts(world, state, state, 0.0)
    if found.count:
        inner = world.shapes.inner
        other = np.where(found.second >= 0, inner[np.maximum(found.second, 0)], np.inf)
        size = np.minimum(inner[found.first], other)
        deepest = int(np.argmin(found.gap / size))
        share = -float(found.gap[deepest] / size[deepest])
        # Points of a manifold may lie deeper behind its plane than the bodies are in each other.
        exact = Containment(world, Detector(world)).overlap(state, most) if share > most else None
        if exact is not None:
            return f"overlap: {exact.share:.3g} of a half width, bodies {exact.first} and {exact.second}"
    return None


CAMPAIGN = Simulations()

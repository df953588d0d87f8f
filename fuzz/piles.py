"""Random piles under the drift-safe step: no step gains energy, and none reports a residual above its tolerance."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import numpy as np

from carom import Simulation, laws
from carom.errors import ProblemError
from carom.problem.contacts import RESOLVED
from carom.scene import Bodies, Container, Material, Scene
from carom.scene.shapes import Box, Disc, Rectangle, Shape, Sphere
from carom.stepping.report import STATUSES

from .campaign import Campaign, Simulated

GAIN = 1e-12  # rise of the total energy in a step, relative to the largest kinetic energy of the run
ROUNDING = 8.0 * np.finfo(float).eps  # of the total energy, relative to the sum of the potential energies of the bodies
STEPS = 120
# Largest number of bodies: springs and small increments take long where many bodies touch.
MOST_BODIES, MOST_BODIES_OF = 200, {"lzb": 5, "etm": 12}
STEP_SECONDS, SMALL_PILE = 2.0, 50  # CPU time of a step, with compiled kernels, of fewer bodies than that
GRAVITY = 9.81


class Piles(Campaign):
    """Sizes up to 1 : 10, masses up to 1 : 10,000, in 2D and 3D, under the laws that claim KIN."""

    title = "2 to 200 bodies that pile up, size ratios to 10, mass ratios to 1e4, laws that claim KIN, drift_safe"
    quick = 10
    limit_seconds = 30.0

    def case(self, rng: np.random.Generator) -> Simulated:
        dimension = int(rng.integers(2, 4))
        law = str(rng.choice([name for name, made in laws.every() if "KIN" in made.claims and name != "none"]))
        most = MOST_BODIES_OF.get(law, MOST_BODIES)
        count = int(np.exp(rng.uniform(np.log(2.0), np.log(most + 1.0))))
        size = 0.5 * 10.0 ** -rng.uniform(0.0, rng.choice([0.02, 0.5, 1.0]), count)
        mass = 10.0 ** rng.uniform(0.0, rng.choice([0.0, 1.0, 4.0]), count)
        e = float(rng.choice([0.1 if law == "lzb" else 0.0, 0.3, 0.7, 1.0]))
        material = Material(restitution=e, friction=float(rng.choice([0.0, rng.uniform(0.0, 1.0)])))
        places, width = self.stacked(rng, size, dimension)
        flat, round_only = dimension == 2, rng.random() < 0.5
        groups = []
        for place, s, m in zip(places, size, mass):
            shape = self.shape(rng, float(s), flat, round_only)
            v = rng.normal(size=dimension) * rng.choice([0.0, 1.0])
            groups.append(Bodies(shape, place[None], v, mass=float(m)))
        lower, upper = (-width,) * (dimension - 1), (width,) * (dimension - 1)
        box = Container((*lower, 0.0), (*upper, 2.0 * float(places[:, -1].max()) + 10.0))
        gravity = (*(0.0,) * (dimension - 1), -GRAVITY)
        scene = Scene("pile", groups, [box], gravity=gravity, materials={"default": material})
        step = float(np.exp(rng.uniform(np.log(0.002), np.log(0.01))))
        return Simulated(scene, law, "drift_safe", step, count)

    @staticmethod
    def shape(rng: np.random.Generator, size: float, flat: bool, round_only: bool) -> Shape:
        """A shape within a circle or sphere of radius `size`."""
        if round_only or rng.random() < 0.3:
            return Disc(size) if flat else Sphere(size)
        edges = 2.0 * size / np.sqrt(2.0 if flat else 3.0) * rng.uniform(0.3, 1.0, 2 if flat else 3)
        return Rectangle(*map(float, edges)) if flat else Box(tuple(map(float, edges)))

    @staticmethod
    def stacked(rng: np.random.Generator, size: np.ndarray, dimension: int) -> tuple[np.ndarray, float]:
        """Places in layers that are as high as their largest body, and the half width of the box."""
        side = max(1, round(len(size) ** (1.0 / dimension) * rng.uniform(0.5, 1.5)))
        layer, cell = side ** (dimension - 1), 2.05 * float(size.max())
        places, height = np.zeros((len(size), dimension)), 0.0
        for first in range(0, len(size), layer):
            chosen = np.arange(first, min(first + layer, len(size)))
            half = float(size[chosen].max())
            grid = np.stack(np.unravel_index(chosen - first, (side,) * (dimension - 1)), axis=1)
            slack = 0.5 * cell - size[chosen][:, None]
            places[chosen, :-1] = (grid + 0.5) * cell - 0.5 * side * cell + slack * rng.uniform(-0.9, 0.9, grid.shape)
            places[chosen, -1] = height + 1.01 * half
            height += 2.02 * half
        return places, 0.5 * side * cell

    def group(self, case: Simulated) -> str:
        return f"{case.law}, {len(case.scene.gravity)}D"

    def save(self, case: Simulated, folder: Path) -> None:
        case.save(folder)

    def check(self, case: Simulated, folder: Path) -> str | None:
        wrong = self.watched(case)
        # The first time kernels may have been compiled.
        return self.watched(case) if wrong is not None and wrong.startswith("slow") else wrong

    def watched(self, case: Simulated) -> str | None:
        """What is wrong with the run."""
        sim = Simulation(case.scene, case.law, stepper=case.stepper, step=case.step)
        rows = [dict(sim.report)]
        for _ in range(STEPS):
            began = process_time()
            try:
                sim.step()
            except ProblemError as stopped:
                return f"stopped: {stopped}"
            row = dict(sim.report)
            if case.count < SMALL_PILE and process_time() - began > STEP_SECONDS:
                return f"slow: {process_time() - began:.1f} CPU s for the step to time {row['time']:.4g}"
            if STATUSES[int(row["status"])] == RESOLVED and row["residual"] > sim.tolerance:
                return f"residual: {row['residual']:.2e} reported as resolved at time {row['time']:.4g}"
            rows.append(row)
        return gained(rows, sim)


def gained(rows: list[dict[str, float]], sim: Simulation) -> str | None:
    """The largest rise of the total energy in a step, if it is more than rounding."""
    total = np.array([row["kinetic"] + row["potential"] for row in rows])
    kinetic = max(row["kinetic"] for row in rows)
    depth = float((sim.world.mass * GRAVITY * np.abs(sim.state.position[:, -1]))[sim.world.free].sum())
    rise = np.diff(total)
    worst = int(np.argmax(rise))
    if rise[worst] <= GAIN * kinetic + ROUNDING * depth:
        return None
    return f"energy: gained {rise[worst] / kinetic:.2e} of the largest kinetic energy in step {worst + 1}"


CAMPAIGN = Piles()

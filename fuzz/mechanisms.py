"""Random mechanisms in contact: joints hold, energy does not rise beyond the oscillation of its integrator."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from carom import Simulation, laws
from carom.analysis.checks import jointed_energy_bound
from carom.errors import ProblemError
from carom.scene import BallJoint, Bodies, Container, Hinge, Material, Pin, Rod, Rope, Scene, Slider, Spring, Weld
from carom.scene.joints import Joint
from carom.scene.shapes import Box, Capsule, Disc, Rectangle, Sphere
from carom.stepping.jointed import joint_error
from carom.world import State

from .campaign import Campaign, Simulated

STEPS = 200
GRAVITY, WIDTH = 9.81, 4.0
WALK_TRIES = 10_000  # of one place: a place that exists is found in a few hundred
JOINT_ERROR = 1e-9  # relative to the length scale, as in `carom check`
# Rise of the energy, relative to the energy itself, that is rounding: that of bodies welded to the world rose by 4e-16.
ENERGY_ROUNDING = 1e-13
ESCAPE = 1e-2  # distance of a center beyond a wall
SLOW_LAWS = ("lzb", "etm")  # springs and small increments take long where many contacts touch


class MechanismsCampaign(Campaign):
    """Chains, trees and closed loops of 2 to 12 bodies with all kinds of joints, which fall into a box."""

    title = "2 to 12 bodies with joints of all kinds in a box, 200 steps, laws that claim KIN, three steppers"
    quick = 4
    limit_seconds = 60.0

    def case(self, rng: np.random.Generator) -> Simulated:
        dim = int(rng.integers(2, 4))
        known = [name for name, made in laws.every() if "KIN" in made.claims and name not in ("none", *SLOW_LAWS)]
        count = int(rng.integers(2, 13))
        place = self._walk(rng, count, dim)
        bodies = [self._body(rng, place[k], dim, f"body {k}") for k in range(count)]
        joints = [self._joint(rng, k - 1, k, place, dim) for k in range(1, count) if rng.random() < 0.9]
        if rng.random() < 0.4 or not joints:
            joints.append(self._joint(rng, -1, 0, place, dim))
        if rng.random() < 0.3 and count > 3:  # a closed loop
            joints.append(Rod((0, count - 1), (tuple(place[0].tolist()), tuple(place[-1].tolist()))))
        lower, upper = (-WIDTH,) * (dim - 1), (WIDTH,) * (dim - 1)
        box = Container((*lower, 0.0), (*upper, 4.0 * WIDTH))
        material = Material(float(rng.choice([0.0, 0.5, 1.0])), float(rng.choice([0.0, rng.uniform(0.0, 1.0)])))
        scene = Scene(
            "mechanism", bodies, [box], joints=joints, gravity=(*(0.0,) * (dim - 1), -GRAVITY),
            materials={"default": material},
        )  # fmt: skip
        stepper = str(rng.choice(["drift_safe", "drift_safe", "synchronous", "time_of_impact"]))
        return Simulated(scene, str(rng.choice(known)), stepper, float(rng.choice([0.002, 0.004, 0.008])), count)

    @staticmethod
    def _walk(rng: np.random.Generator, count: int, dim: int) -> np.ndarray:
        """Centers, each half a unit from the one before and not near any other. A walk in the plane may enclose its own
        end: after WALK_TRIES without a place it begins again."""
        place, tries = [np.array([*(0.0,) * (dim - 1), 1.0 + rng.uniform(0.0, 2.0)])], 0
        while len(place) < count:
            tries += 1
            if tries > WALK_TRIES:
                place, tries = place[:1], 0
            away = rng.normal(size=dim)
            new = place[-1] + 0.5 * away / np.linalg.norm(away)
            near = min(np.linalg.norm(new - other) for other in place)
            if near > 0.45 and new[-1] > 0.5 and np.abs(new[:-1]).max() < WIDTH - 0.5:
                place.append(new)
                tries = 0
        return np.array(place)

    @staticmethod
    def _body(rng: np.random.Generator, place: np.ndarray, dim: int, name: str) -> Bodies:
        size, mass = rng.uniform(0.1, 0.2), float(10.0 ** rng.uniform(-1.0, 1.0))
        if dim == 2:
            shape = Disc(size) if rng.random() < 0.5 else Rectangle(1.3 * size, size)
            return Bodies(shape, place[None], mass=mass, name=name, angle=float(rng.uniform(0.0, 3.0)))
        solid = [Sphere(size), Box((size, 1.2 * size, 0.8 * size)), Capsule(0.4 * size, size)][int(rng.integers(3))]
        return Bodies(solid, place[None], mass=mass, name=name, orientation=tuple(rng.normal(size=4).tolist()))

    @staticmethod
    def _joint(rng: np.random.Generator, a: int, b: int, place: np.ndarray, dim: int) -> Joint:
        end = place[b]
        start = end + np.array([*(0.0,) * (dim - 1), 0.7]) if a < 0 else place[a]
        pair = ("world" if a < 0 else a, b)
        ends = (tuple(start.tolist()), tuple(end.tolist()))
        point, axis = tuple((0.5 * (start + end)).tolist()), tuple(rng.normal(size=dim).tolist())
        bounds = tuple(float(v) for v in (-rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0)))
        limits, e = bounds if rng.random() < 0.4 else None, float(rng.choice([0.0, 0.5, 1.0]))
        kind = str(rng.choice(["turn", "turn", "rod", "rope", "spring", "slider", "weld", "ball"]))
        if kind == "rod":
            return Rod(pair, ends)
        if kind == "rope":
            return Rope(pair, ends, restitution=e)
        if kind == "spring":
            return Spring(pair, ends, stiffness=float(rng.uniform(1.0, 100.0)), damping=float(rng.choice([0.0, 1.0])))
        if kind == "slider":
            return Slider(pair, point, axis, limits, e)
        if kind == "weld":
            return Weld(pair, point)
        if dim == 2:
            return Pin(pair, point, limits, e)
        return BallJoint(pair, point) if kind == "ball" else Hinge(pair, point, axis, limits, e)

    def group(self, case: Simulated) -> str:
        return f"{case.stepper}, {len(case.scene.gravity)}D"

    def save(self, case: Simulated, folder: Path) -> None:
        case.save(folder)

    def check(self, case: Simulated, folder: Path) -> str | None:
        sim = Simulation(case.scene, case.law, stepper=case.stepper, step=case.step)
        energies, fastest = [_energy(sim)], 0.0
        for _ in range(STEPS):
            try:
                sim.step()
            except ProblemError as stopped:
                return f"stopped: {stopped}"
            state = sim.state
            if not np.isfinite(state.velocity).all():
                return f"not finite: at time {state.time:.4g}"
            if joint_error(sim.world, state)[0] > JOINT_ERROR:
                return f"joints: off by {joint_error(sim.world, state)[0]:.2e} at time {state.time:.4g}"
            out = float(_beyond(case, state).max())
            if out > ESCAPE:
                return f"escape: {out:.2e} beyond a wall at time {state.time:.4g}"
            energies.append(_energy(sim))
            fastest = max(fastest, jointed_energy_bound(sim.world, state, case.step))
        total, kinetic = np.array(energies).T
        rise = float((total - np.minimum.accumulate(total)).max())
        bound = fastest * kinetic.max()
        if rise <= max(bound, ENERGY_ROUNDING * np.abs(total).max()):
            return None
        return f"energy: rose by {rise:.2e}, {rise / kinetic.max():.2e} of the largest kinetic energy"


def _beyond(case: Simulated, state: State) -> np.ndarray:
    """Distances (n,) of centers beyond a wall.

    `synchronous` resolves the contacts of the motion before the impact alone: a body that another contact of the same
    step strikes towards a wall may overlap it by the way of one step, and is sent back in the next one.
    """
    out = np.maximum(np.abs(state.position[:, :-1]).max(axis=1) - WIDTH, -state.position[:, -1])
    if case.stepper != "synchronous":
        return out
    dim = state.position.shape[1]
    return out - case.step * np.linalg.norm(state.velocity[:, :dim], axis=1)


def _energy(sim: Simulation) -> tuple[float, float]:
    row = sim.report
    return row["kinetic"] + row["potential"], row["kinetic"]


CAMPAIGN = MechanismsCampaign()

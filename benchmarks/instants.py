"""The first bounce of a dropped ball: how well a step finds the instant of the impact."""

from __future__ import annotations

import numpy as np

from carom.scene import Bodies, Material, Scene
from carom.scene.boundaries import Plane
from carom.scene.shapes import Disc, Sphere

from .race import Ours
from .report import Row

HEIGHT, GRAVITY = 2.0, 9.81
RESTITUTIONS = (0.3, 0.5, 0.8, 0.95)
ROUNDING = 1e-9  # of the drop height: an error below it has no order
OFFSETS = np.linspace(0.0, 1.0, 8, endpoint=False)  # of the drop height, in speeds of impact times step


def dropped(shape: Disc | Sphere, restitution: float, height: float, step: float) -> Scene:
    """A ball whose lowest point is `height` above the ground."""
    up = np.eye(3 if isinstance(shape, Sphere) else 2)[-1]
    return Scene(
        name="dropped_ball",
        bodies=[Bodies(shape, ((height + shape.radius) * up)[None], mass=1.0)],
        boundaries=[Plane()],
        materials={"default": Material(restitution)},
        gravity=tuple(-GRAVITY * up),
        step=step,
        stepper="drift_safe",
    )


def apex_error(shape: Disc | Sphere, restitution: float, height: float, step: float) -> float:
    """Error of the first apex after the bounce, relative to the drop height."""
    sim = Ours(dropped(shape, restitution, height, step)).sim
    fall, bounced, highest = np.sqrt(2.0 * height / GRAVITY), False, 0.0
    while sim.time < fall * (1.0 + restitution) + 5.0 * step:
        last, state = sim.state, sim.step()
        before, now = last.velocity[0, len(sim.world.gravity) - 1], state.velocity[0, len(sim.world.gravity) - 1]
        bounced = bounced or (before < 0.0 < now)
        if bounced:  # the top of the parabola through this state
            highest = max(highest, state.position[0, -1] - shape.radius + max(now, 0.0) ** 2 / (2.0 * GRAVITY))
            if now <= 0.0:
                break
    return abs(highest - restitution**2 * height) / height


def worst_error(shape: Disc | Sphere, restitution: float, step: float) -> float:
    """The largest error over drops that hit the ground at different instants within a step."""
    speed = np.sqrt(2.0 * GRAVITY * HEIGHT)
    return max(apex_error(shape, restitution, HEIGHT + offset * speed * step, step) for offset in OFFSETS)


def run(quick: bool = False) -> list[Row]:
    """A ball dropped from 2 m at h = 0.01, and the order of the error."""
    rows = []
    for shape in (Disc(0.1),) if quick else (Disc(0.1), Sphere(0.1)):
        kind = type(shape).__name__.lower()
        errors = [worst_error(shape, e, 0.01) for e in RESTITUTIONS]
        measured = ", ".join(f"{error:.2%}" for error in errors) + f" for e = {', '.join(map(str, RESTITUTIONS))}"
        rows.append(
            Row(f"first apex of a {kind}, h = 0.01", "error <= 0.5% of the drop", measured, max(errors) <= 0.005)
        )
        coarse, fine = worst_error(shape, 0.5, 0.01), worst_error(shape, 0.5, 0.0025)
        name, asked = f"order of that error in h, {kind}, e = 0.5", "second order: >= 1.8"
        if coarse <= ROUNDING:
            rows.append(Row(name, asked, f"none: the error is {coarse:.0e}", True))
        else:
            order = float(np.log(coarse / fine) / np.log(4.0))
            rows.append(Row(name, asked, f"{order:.2f}", order >= 1.8))
    return rows

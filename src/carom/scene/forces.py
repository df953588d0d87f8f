"""Forces on the bodies of a scene besides gravity: a function of the user, drag, and the cloth of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..solvers.rows import Floats

if TYPE_CHECKING:
    from .model import Force, Scene


@dataclass(frozen=True, eq=False)
class Forces:
    """`F = f(t, q, v) - linear v - quadratic |v| v - m cloth v / |v|` on each body, with f the function of the user.

    Drag and cloth act on the velocity of the center of mass. In a time step h the cloth removes `cloth h` of the speed;
    a speed below that is halved in every step, instead of changing its sign.
    """

    mass: Floats  # (n,)
    given: Force | None
    linear: float
    quadratic: float
    cloth: float
    step: float

    def __call__(self, time: float, position: Floats, velocity: Floats) -> Any:
        n, dim = position.shape
        given = np.zeros((n, dim)) if self.given is None else self.given(time, position, velocity)
        if np.shape(given) not in ((n, dim), velocity.shape):
            return given  # which the integrator refuses
        force, v = np.array(given, dtype=np.float64), velocity[:, :dim]
        speed = np.linalg.norm(v, axis=1)
        over = np.maximum(speed, self.cloth * self.step)
        slide = np.divide(self.cloth * self.mass, over, out=np.zeros(n), where=over > 0.0)
        force[:, :dim] -= (self.linear + self.quadratic * speed + slide)[:, None] * v
        return force


def forces_of(scene: Scene, mass: Floats, step: float) -> Force | None:
    """The forces of a scene, or None if gravity alone acts. `step` is the time step."""
    resistance = scene.linear_drag, scene.quadratic_drag, scene.sliding_deceleration
    return Forces(mass, scene.force, *resistance, step) if any(resistance) else scene.force

"""Friction with closed forms: a block that slides, a disc that slides until it rolls, both on a slope if you like."""

from __future__ import annotations

import numpy as np

from ..scene.boundaries import Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Disc, Rectangle
from . import checks

GRAVITY = 10.0


def sliding_block(*, mu: float = 0.1, angle: float = 0.0, speed: float = 1.5, step: float = 1e-3) -> Scene:
    """A block thrown along a plane that falls to the right by `angle` degrees.

    It gains `g (sin angle - mu cos angle)` a time unit while it slides, and stays where it stops if
    `tan angle <= mu`. Sixteen times as long as high, it does not tip below mu = 16.
    """
    slope, along, up = _plane(angle)
    mu, speed = checks.at_least("mu", mu, 0.0), checks.at_least("speed", speed, 0.0)
    block = Bodies(
        shape=Rectangle(1.6, 0.1),
        position=np.array([0.05 * up]),
        velocity=np.array([speed * along]),
        angle=-slope,
        name="block",
    )
    return _on_plane("sliding_block", block, mu, up, step).with_(
        description=f"A block slides on a plane of {angle:g} degrees with friction {mu:g}.",
        parameters={"mu": mu, "angle": angle, "speed": speed, "step": step},
    )


def rolling_disc(
    *, mu: float = 0.3, angle: float = 0.0, speed: float = 3.0, spin: float = 0.0, step: float = 1e-3
) -> Scene:
    """A disc of radius 1/2 on a plane that falls to the right by `angle` degrees, thrown at `speed` with `spin`.

    On the level, thrown without spin, it slides for `speed / (3 mu g)` and then rolls at 2/3 of its speed. On a slope
    it rolls from rest with `2/3 g sin angle` if `tan angle <= 3 mu`, and slides with `g (sin angle - mu cos angle)`
    otherwise. Rolling to the right has a negative spin.
    """
    _, along, up = _plane(angle)
    mu, speed, spin = checks.at_least("mu", mu, 0.0), checks.finite("speed", speed), checks.finite("spin", spin)
    disc = Bodies(
        shape=Disc(0.5), position=np.array([0.5 * up]), velocity=np.array([speed * along]), spin=spin, name="disc"
    )
    return _on_plane("rolling_disc", disc, mu, up, step).with_(
        description=f"A disc slides and rolls on a plane of {angle:g} degrees with friction {mu:g}.",
        parameters={"mu": mu, "angle": angle, "speed": speed, "spin": spin, "step": step},
    )


def _plane(angle: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The slope in radians, the direction down it, and its normal."""
    slope = float(np.radians(checks.between("angle", angle, 0.0, 80.0)))
    return slope, np.array([np.cos(slope), -np.sin(slope)]), np.array([np.sin(slope), np.cos(slope)])


def _on_plane(name: str, body: Bodies, mu: float, up: np.ndarray, step: float) -> Scene:
    return Scene(
        name=name,
        bodies=[body],
        boundaries=[Plane((0.0, 0.0), (float(up[0]), float(up[1])))],
        materials={"default": Material(restitution=0.0, friction=mu)},
        gravity=(0.0, -GRAVITY),
        step=checks.positive("step", step),
        duration=2.0,
        stepper="drift_safe",
    )

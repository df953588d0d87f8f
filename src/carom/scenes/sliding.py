"""Friction in space with closed forms, and free rotation."""

from __future__ import annotations

import numpy as np

from ..scene.boundaries import Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Box, Sphere
from . import checks

GRAVITY = 10.0


def rolling_sphere(
    *,
    mu: float = 0.3,
    angle: float = 0.0,
    speed: float = 3.0,
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0),
    step: float = 1e-3,
) -> Scene:
    """A sphere of radius 1/2 on a plane that falls along x by `angle` degrees, thrown at `speed` with `spin`.

    On the level, thrown without spin, it slides for `2 speed / (7 mu g)` and then rolls at 5/7 of its speed. On a
    slope it rolls from rest with `5/7 g sin angle` if `tan angle <= 7/2 mu`. Spin about the normal stays for ever:
    a point cannot brake it. Rolling along x has a positive spin about y.
    """
    along, up, _ = _plane(angle)
    mu, speed = checks.at_least("mu", mu, 0.0), checks.finite("speed", speed)
    turning = checks.three("spin", spin)
    ball = Bodies(Sphere(0.5), 0.5 * up[None], speed * along[None], spin=np.array([turning]), name="ball")
    return _on_plane("rolling_sphere", ball, mu, up, step).with_(
        description=f"A sphere slides and rolls on a plane of {angle:g} degrees with friction {mu:g}.",
        parameters={"mu": mu, "angle": angle, "speed": speed, "spin": turning, "step": step},
    )


def sliding_box(
    *, mu: float = 0.1, angle: float = 0.0, speed: float = 1.5, heading: float = 30.0, step: float = 1e-3
) -> Scene:
    """A flat box thrown along a plane that falls along x by `angle` degrees.

    heading: degrees from x, within the plane. On the level it slides straight for `speed^2 / (2 mu g)`; on a slope it
    gains `g sin angle` along x and loses `mu g cos angle` along its path.
    """
    along, up, turn = _plane(angle)
    mu, speed = checks.at_least("mu", mu, 0.0), checks.at_least("speed", speed, 0.0)
    course = np.radians(checks.finite("heading", heading))
    velocity = speed * (np.cos(course) * along + np.sin(course) * np.array([0.0, 1.0, 0.0]))
    box = Bodies(Box((1.6, 1.6, 0.1)), 0.05 * up[None], velocity[None], orientation=np.array([turn]), name="box")
    return _on_plane("sliding_box", box, mu, up, step).with_(
        description=f"A box slides on a plane of {angle:g} degrees with friction {mu:g}.",
        parameters={"mu": mu, "angle": angle, "speed": speed, "heading": heading, "step": step},
    )


def spinning_box(*, mu: float = 0.1, spin: float = 4.0, step: float = 1e-3) -> Scene:
    """A flat square box turns on a plane about its own axis until friction stops it.

    Its four corners, at the radius r, carry a quarter of the weight each and slide across their arms:
    the spin falls by `mu g r m / I` a time unit.
    """
    mu, spin = checks.at_least("mu", mu, 0.0), checks.finite("spin", spin)
    box = Bodies(Box((1.0, 1.0, 0.2)), np.array([[0.0, 0.0, 0.1]]), spin=(0.0, 0.0, spin), mass=1.0, name="box")
    return _on_plane("spinning_box", box, mu, np.array([0.0, 0.0, 1.0]), step).with_(
        description=f"A box turns on a plane with friction {mu:g} until it stops.",
        parameters={"mu": mu, "spin": spin, "step": step},
    )


def spinning_top_free(*, disturbance: float = 1e-3, spin: float = 5.0, duration: float = 100.0) -> Scene:
    """An asymmetric body tumbles without any force: about its middle axis it flips over, again and again.

    disturbance: spin about the two other axes, relative to `spin` (the Dzhanibekov effect).
    """
    disturbance, spin = checks.finite("disturbance", disturbance), checks.positive("spin", spin)
    start = spin * np.array([disturbance, 1.0, disturbance])
    body = Bodies(Box((2.0, 1.0, 0.3)), np.zeros((1, 3)), spin=start[None], mass=1.0, name="body")
    return Scene(
        name="spinning_top_free",
        bodies=[body],
        step=0.01,
        duration=checks.positive("duration", duration),
        stepper="synchronous",
        description="A flat box turns about its middle axis, and flips.",
        parameters={"disturbance": disturbance, "spin": spin, "duration": duration},
    )


def _plane(angle: float) -> tuple[np.ndarray, np.ndarray, tuple[float, float, float, float]]:
    """Direction down the slope, its normal, and the turn that lays a box on it."""
    slope = float(np.radians(checks.between("angle", angle, 0.0, 80.0)))
    along, up = np.array([np.cos(slope), 0.0, -np.sin(slope)]), np.array([np.sin(slope), 0.0, np.cos(slope)])
    return along, up, (float(np.cos(0.5 * slope)), 0.0, float(np.sin(0.5 * slope)), 0.0)


def _on_plane(name: str, body: Bodies, mu: float, up: np.ndarray, step: float) -> Scene:
    return Scene(
        name=name,
        bodies=[body],
        boundaries=[Plane((0.0, 0.0, 0.0), (float(up[0]), float(up[1]), float(up[2])))],
        materials={"default": Material(restitution=0.0, friction=mu)},
        gravity=(0.0, 0.0, -GRAVITY),
        step=checks.positive("step", step),
        duration=2.0,
        stepper="drift_safe",
    )

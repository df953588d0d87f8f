"""Sliding, rolling and spinning with closed-form solutions, in 2D and 3D, and free rotation."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..scene.boundaries import Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Box, Disc, Rectangle, Sphere
from .parameters import NotNegative, Number, Positive, Vector, between, declared

GRAVITY = 10.0
Slope = Annotated[float, between(0.0, 80.0)]  # degrees


@declared
def sliding_block(
    *, mu: NotNegative = 0.1, angle: Slope = 0.0, speed: NotNegative = 1.5, step: Positive = 1e-3
) -> Scene:
    """A block slides on a plane that descends to the right by `angle` degrees, at first at `speed`.

    While it slides its acceleration is `g (sin angle - mu cos angle)`; it stays where it stops if `tan angle <= mu`.
    It is sixteen times as long as high and does not tip below mu = 16.
    """
    slope, along, up = _slope(angle, 2)
    block = Bodies(
        shape=Rectangle(1.6, 0.1),
        position=np.array([0.05 * up]),
        velocity=np.array([speed * along]),
        angle=-slope,
        name="block",
    )
    return _on_plane("sliding_block", block, mu, up, step).with_(
        description=f"A block slides on a plane of {angle:g} degrees with friction {mu:g}.",
    )


@declared
def rolling_disc(
    *,
    mu: NotNegative = 0.3,
    angle: Slope = 0.0,
    speed: Number = 3.0,
    spin: Number = 0.0,
    rolling: NotNegative = 0.0,
    step: Positive = 1e-3,
) -> Scene:
    """A disc of radius 1/2 on a plane that descends to the right by `angle` degrees, at first at `speed` with `spin`.

    On a level plane, without initial spin, it slides for `speed / (3 mu g)` and then rolls at 2/3 of its speed.
    On a slope it rolls from rest with the acceleration `2/3 g sin angle` if `tan angle <= 3 mu`, and slides with
    `g (sin angle - mu cos angle)` otherwise. Rolling to the right has a negative spin.

    rolling: coefficient of rolling friction, a length. It lowers the acceleration of rolling by `4/3 rolling g cos
    angle`, and the disc stays where it stops if `tan angle <= 2 rolling`.
    """
    _, along, up = _slope(angle, 2)
    disc = Bodies(
        shape=Disc(0.5), position=np.array([0.5 * up]), velocity=np.array([speed * along]), spin=spin, name="disc"
    )
    return _on_plane("rolling_disc", disc, mu, up, step, rolling).with_(
        description=f"A disc slides and rolls on a plane of {angle:g} degrees with friction {mu:g}.",
    )


@declared
def rolling_sphere(
    *,
    mu: NotNegative = 0.3,
    angle: Slope = 0.0,
    speed: Number = 3.0,
    spin: Vector = (0.0, 0.0, 0.0),
    rolling: NotNegative = 0.0,
    torsional: NotNegative = 0.0,
    step: Positive = 1e-3,
) -> Scene:
    """A sphere of radius 1/2 on a plane that descends along x by `angle` degrees, at first at `speed` with `spin`.

    On a level plane, without initial spin, it slides for the time `2 speed / (7 mu g)` and then rolls at 5/7 of its
    speed. On a slope it rolls from rest with the acceleration `5/7 g sin angle` if `tan angle <= 7/2 mu`. Spin about
    the normal is conserved: a contact point exerts no torque about it. Rolling along x has a positive spin about y.

    rolling, torsional: coefficients of rolling and torsional friction, lengths. Rolling friction lowers the
    acceleration of rolling by `10/7 rolling g cos angle`, and the sphere stays where it stops if `tan angle <= 2
    rolling`. Torsional friction lowers the spin about the normal at the rate `10 torsional g cos angle`.
    """
    _, along, up = _slope(angle, 3)
    ball = Bodies(Sphere(0.5), 0.5 * up[None], speed * along[None], spin=np.array([spin]), name="ball")
    return _on_plane("rolling_sphere", ball, mu, up, step, rolling, torsional).with_(
        description=f"A sphere slides and rolls on a plane of {angle:g} degrees with friction {mu:g}.",
    )


@declared
def sliding_box(
    *,
    mu: NotNegative = 0.1,
    angle: Slope = 0.0,
    speed: NotNegative = 1.5,
    heading: Number = 30.0,
    step: Positive = 1e-3,
) -> Scene:
    """A flat box slides on a plane that descends along x by `angle` degrees, at first at `speed`.

    heading: degrees from x, in the plane. On a level plane it slides straight for `speed^2 / (2 mu g)`; on a slope it
    gains `g sin angle` along x and loses `mu g cos angle` along its path.
    """
    slope, along, up = _slope(angle, 3)
    course = np.radians(heading)
    velocity = speed * (np.cos(course) * along + np.sin(course) * np.array([0.0, 1.0, 0.0]))
    turn = (float(np.cos(0.5 * slope)), 0.0, float(np.sin(0.5 * slope)), 0.0)  # lays the box on the plane
    box = Bodies(Box((1.6, 1.6, 0.1)), 0.05 * up[None], velocity[None], orientation=np.array([turn]), name="box")
    return _on_plane("sliding_box", box, mu, up, step).with_(
        description=f"A box slides on a plane of {angle:g} degrees with friction {mu:g}.",
    )


@declared
def spinning_box(*, mu: NotNegative = 0.1, spin: Number = 4.0, step: Positive = 1e-3) -> Scene:
    """A flat square box rotates on a plane about its own axis until friction stops it.

    Its four corners, at the radius r, carry a quarter of the weight each and slide perpendicular to their lever arms:
    the spin decreases at the rate `mu g r m / I`.
    """
    box = Bodies(Box((1.0, 1.0, 0.2)), np.array([[0.0, 0.0, 0.1]]), spin=(0.0, 0.0, spin), mass=1.0, name="box")
    return _on_plane("spinning_box", box, mu, np.array([0.0, 0.0, 1.0]), step).with_(
        description=f"A box rotates on a plane with friction {mu:g} until it stops.",
    )


@declared
def spinning_top_free(*, disturbance: Number = 1e-3, spin: Positive = 5.0, duration: Positive = 100.0) -> Scene:
    """An asymmetric body rotates without forces: about its intermediate axis it flips over periodically.

    disturbance: spin about the two other axes, relative to `spin` (the Dzhanibekov effect).
    """
    start = spin * np.array([disturbance, 1.0, disturbance])
    body = Bodies(Box((2.0, 1.0, 0.3)), np.zeros((1, 3)), spin=start[None], mass=1.0, name="body")
    return Scene(
        name="spinning_top_free",
        bodies=[body],
        step=0.01,
        duration=duration,
        stepper="synchronous",
        description="A flat box rotates about its intermediate axis, and flips.",
    )


def _slope(angle: float, dimension: int) -> tuple[float, np.ndarray, np.ndarray]:
    """The slope in radians, the direction downhill, and the normal of a plane that descends along x."""
    slope = float(np.radians(angle))
    along, up = np.array([np.cos(slope), -np.sin(slope)]), np.array([np.sin(slope), np.cos(slope)])
    if dimension == 3:
        along, up = np.insert(along, 1, 0.0), np.insert(up, 1, 0.0)
    return slope, along, up


def _on_plane(
    name: str, body: Bodies, mu: float, up: np.ndarray, step: float, rolling: float = 0.0, torsional: float = 0.0
) -> Scene:
    """A body on a plane with the normal `up`, under gravity."""
    origin = (0.0,) * len(up)
    return Scene(
        name=name,
        bodies=[body],
        boundaries=[Plane(origin, tuple(float(v) for v in up))],
        materials={"default": Material(0.0, mu, rolling_friction=rolling, torsional_friction=torsional)},
        gravity=(*origin[1:], -GRAVITY),
        step=step,
        duration=2.0,
        stepper="drift_safe",
    )

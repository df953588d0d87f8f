"""Sphere, capsule and cylinder: volume and moments in closed form."""

from __future__ import annotations

import numpy as np

from ..world import CAPSULE, CYLINDER, SPHERE
from .form import Form


def sphere(radius: float) -> Form:
    return Form(
        kind=SPHERE,
        size=(radius, 0.0, 0.0),
        reach=radius,
        inner=radius,
        volume=4.0 / 3.0 * np.pi * radius**3,
        inertia=0.4 * radius**2 * np.eye(3),
    )


def cylinder(radius: float, length: float) -> Form:
    across = radius**2 / 4.0 + length**2 / 12.0
    return Form(
        kind=CYLINDER,
        size=(radius, 0.5 * length, 0.0),
        reach=float(np.hypot(radius, 0.5 * length)),
        inner=min(radius, 0.5 * length),
        volume=np.pi * radius**2 * length,
        inertia=np.diag([across, across, radius**2 / 2.0]),
    )


def capsule(radius: float, length: float) -> Form:
    """A cylinder with two half spheres, whose centers of mass lie 3/8 of the radius beyond its ends."""
    half = 0.5 * length
    tube, caps = np.pi * radius**2 * length, 4.0 / 3.0 * np.pi * radius**3
    volume = tube + caps
    along = tube * radius**2 / 2.0 + caps * 0.4 * radius**2
    # Two half spheres about their common plane have 2/5 r^2; shifted to the ends: + h^2 + 3/4 r h.
    across = tube * (radius**2 / 4.0 + length**2 / 12.0)
    across += caps * (0.4 * radius**2 + half**2 + 0.75 * radius * half)
    return Form(
        kind=CAPSULE,
        size=(radius, half, 0.0),
        reach=half + radius,
        inner=radius,
        volume=volume,
        inertia=np.diag([across, across, along]) / volume,
    )

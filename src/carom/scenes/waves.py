"""A granular wave in the plane: one shake of the container runs up through the grains (after Zhang 2015, fig. 8)."""

from __future__ import annotations

import numpy as np

from ..scene.boundaries import Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.motion import Table
from ..scene.shapes import Disc
from . import checks

SHAKE_POINTS = 33


def granular_wave_2d(
    *,
    columns: int = 60,
    rows: int = 20,
    loose: float = 0.1,
    lift: float = 2.0,
    seed: int = 0,
    restitution: float = 0.3,
    friction: float = 0.2,
) -> Scene:
    """Layers of grains of radius 1, `loose` apart, in a container that is thrown up once by `lift` radii.

    The lowest layer is hit first. Each layer moves when the one below reaches it, so a front runs up the pile, faster
    than the floor by about the factor (distance of layers) / (gap between them). Radii vary by 5 percent. The run ends
    while the grains fly: to see them settle, run it longer with the stepper drift_safe.
    """
    columns, rows = checks.whole("columns", columns, 2), checks.whole("rows", rows, 2)
    loose, lift = checks.at_least("loose", loose, 0.0), checks.positive("lift", lift)
    chance = np.random.default_rng(checks.whole("seed", seed, 0))
    radius = 1.0 - 0.05 * chance.random(columns * rows)
    apart = 2.0 * (1.0 + 0.5 * loose)
    x = apart * (np.arange(columns)[None, :] + 0.5 * (np.arange(rows)[:, None] % 2) + 0.5)
    y = np.broadcast_to(1.0 + apart * np.sqrt(0.75) * np.arange(rows)[:, None], x.shape)
    width = apart * (columns + 0.5)
    motion = shake(lift, 0.5)
    walls = [((0.0, 0.0), (0.0, 1.0)), ((0.0, 0.0), (1.0, 0.0)), ((width, 0.0), (-1.0, 0.0))]
    return Scene(
        name="granular_wave_2d",
        bodies=[Bodies(Disc(radius), np.column_stack([x.ravel(), y.ravel()]), name="grains")],
        boundaries=[Plane(point, normal, motion=motion) for point, normal in walls],
        materials={
            "default": Material(
                checks.between("restitution", restitution, 0.0, 1.0), checks.at_least("friction", friction, 0.0)
            )
        },
        gravity=(0.0, -10.0),
        step=0.002,
        duration=0.6,
        frame_rate=100.0,
        stepper="synchronous",
        description=f"{columns * rows} grains in a container that is thrown up once; a front runs up through them.",
        parameters={
            "columns": columns,
            "rows": rows,
            "loose": loose,
            "lift": lift,
            "seed": seed,
            "restitution": restitution,
            "friction": friction,
        },
    )


def shake(lift: float, duration: float) -> Table:
    """Up by `lift` and down again in `duration`: one period of (1 - cos) / 2, from time 0."""
    t = np.linspace(0.0, duration, SHAKE_POINTS)
    y = 0.5 * lift * (1.0 - np.cos(2.0 * np.pi * t / duration))
    return Table(t.tolist(), [0.0] * len(t), y.tolist())

"""How high open containers are."""

from __future__ import annotations

import numpy as np

from ..scene.boundaries import Container
from ..scene.model import Scene
from ..solvers.rows import Floats


def container_tops(scene: Scene, time: float) -> Floats:
    """Corners (k, 3) at the top of open containers: their walls are planes without end, and do not tell."""
    out = []
    for b in scene.boundaries:
        if isinstance(b, Container) and b.open_top:
            shift = np.array(b.motion.pose(time, 3)[:3])
            (x0, y0, _), (x1, y1, top) = b.lower, b.upper
            out += [np.array([x, y, top]) + shift for x in (x0, x1) for y in (y0, y1)]
    return np.array(out, dtype=np.float64).reshape(-1, 3)

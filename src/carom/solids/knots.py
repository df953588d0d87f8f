"""Knots as closed triangle meshes."""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints
from .surfaces import check_tube, swept


def trefoil(radius: float = 1.0, tube: float = 0.2, around: int = 16, along: int = 96) -> tuple[Floats, Ints]:
    """The trefoil knot `(2 + cos 3t) (cos 2t, sin 2t), sin 3t`, scaled to `radius`, swept by a circle of radius `tube`.

    `radius` is the largest distance of the center line from the z axis. A third of the knot is computed and turned by
    120 and 240 degrees, so that the mesh is three-fold symmetric up to the rounding of those two turns.
    """
    check_tube("trefoil", radius, tube, around, along)
    if along % 3:
        raise ProblemError("trefoil.along", along, "a multiple of 3")
    t = 2.0 * np.pi * np.arange(along // 3) / along
    scale = radius / 3.0
    wide = 2.0 + np.cos(3.0 * t)
    curve = scale * np.stack([wide * np.cos(2.0 * t), wide * np.sin(2.0 * t), np.sin(3.0 * t)], axis=1)
    # The curve winds round a torus, whose normal stays across it and closes after one round; Frenet's would do as well.
    normal = np.stack([np.cos(3 * t) * np.cos(2 * t), np.cos(3 * t) * np.sin(2 * t), np.sin(3 * t)], axis=1)
    tangent = np.stack(
        [
            -3.0 * np.sin(3.0 * t) * np.cos(2.0 * t) - 2.0 * wide * np.sin(2.0 * t),
            -3.0 * np.sin(3.0 * t) * np.sin(2.0 * t) + 2.0 * wide * np.cos(2.0 * t),
            3.0 * np.cos(3.0 * t),
        ],
        axis=1,
    )
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    thirds = [_turned(k, curve, normal, np.cross(normal, tangent)) for k in range(3)]
    curve, one, two = (np.concatenate(columns) for columns in zip(*thirds))
    gap = _clearance(curve)
    if 2.0 * tube >= gap:
        raise ProblemError("trefoil.tube", tube, f"less than {0.5 * gap:.4g}, where strands of the knot touch")
    return swept(curve, one, two, tube, around)


def _turned(thirds: int, *columns: Floats) -> tuple[Floats, ...]:
    """Vectors turned about z by as many thirds as the next piece of the curve: 240 degrees each."""
    cos, sin = ((1.0, 0.0), (-0.5, -0.5 * np.sqrt(3.0)), (-0.5, 0.5 * np.sqrt(3.0)))[thirds]
    turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    return tuple(column @ turn.T for column in columns)


def _clearance(curve: Floats) -> float:
    """Smallest distance of two strands: of points at least an eighth of the knot apart along it."""
    n = len(curve)
    apart = np.abs(np.arange(n)[:, None] - np.arange(n)[None])
    distance = np.linalg.norm(curve[:, None] - curve[None], axis=2)
    return float(distance[np.minimum(apart, n - apart) >= n / 8].min())

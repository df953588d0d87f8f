"""Closed triangle surfaces made by rule: a ball, a torus, and the sweep of a circle along any closed curve."""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..scene.numbers import scalar
from ..solvers.rows import Floats, Ints


def icosphere(radius: float, level: int = 3) -> tuple[Floats, Ints]:
    """A sphere of 20 * 4**level triangles with all corners on it: vertices (k, 3), faces (f, 3)."""
    scalar("icosphere.radius", radius, 0.0, above=True)
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    signs = [(s, t) for s in (-1.0, 1.0) for t in (-golden, golden)]
    vertices = np.array([p for s, t in signs for p in ((0.0, s, t), (s, t, 0.0), (t, 0.0, s))])
    # Its 20 faces are the triples of corners at edge length 2 of each other.
    near = np.abs(np.linalg.norm(vertices[:, None] - vertices[None], axis=2) - 2.0) < 0.1
    faces = np.array(
        [(i, j, k) for i in range(12) for j in range(i) for k in range(j) if near[i, j] and near[j, k] and near[i, k]]
    )
    inward = np.linalg.det(vertices[faces]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    for _ in range(level):
        vertices, faces = _quartered(vertices, faces)
    return radius * vertices / np.linalg.norm(vertices, axis=1, keepdims=True), faces.astype(np.int64)


def _quartered(vertices: Floats, faces: Ints) -> tuple[Floats, Ints]:
    """Each triangle cut into four at the middles of its edges."""
    pairs = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
    edges, which = np.unique(pairs, axis=0, return_inverse=True)
    middle = (len(vertices) + which.reshape(-1)).reshape(-1, 3)
    a, b, c = faces.T
    ab, bc, ca = middle.T
    cut = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)
    return np.concatenate([vertices, vertices[edges].mean(axis=1)]), cut


def torus(radius: float, tube: float, around: int = 24, along: int = 48) -> tuple[Floats, Ints]:
    """A torus about z: the circle of `radius` swept by a circle of radius `tube`."""
    check_tube("torus", radius, tube, around, along)
    angle = 2.0 * np.pi * np.arange(along) / along
    out = np.stack([np.cos(angle), np.sin(angle), np.zeros(along)], axis=1)
    return swept(radius * out, out, np.tile([0.0, 0.0, 1.0], (along, 1)), tube, around)


def check_tube(name: str, radius: float, tube: float, around: int, along: int) -> None:
    """Sizes of a closed tube, or a ProblemError."""
    scalar(f"{name}.radius", radius, 0.0, above=True)
    scalar(f"{name}.tube", tube, 0.0, above=True)
    if not tube < radius:
        raise ProblemError(f"{name}.tube", tube, f"less than the radius {radius:g}")
    for field, value in (("around", around), ("along", along)):
        if int(value) != value or value < 3:
            raise ProblemError(f"{name}.{field}", value, "a whole number from 3 up")


def swept(curve: Floats, one: Floats, two: Floats, tube: float, around: int) -> tuple[Floats, Ints]:
    """The tube round a closed curve (n, 3). The unit vectors one, two and the tangent are a left-handed frame.

    Left-handed: `one x two` points against the curve, as for a circle about z with one outward and two up.
    """
    angle = 2.0 * np.pi * np.arange(around) / around
    cos, sin = np.cos(angle)[None, :, None], np.sin(angle)[None, :, None]
    rings = curve[:, None] + tube * (cos * one[:, None] + sin * two[:, None])
    n = len(curve)
    i, j = np.meshgrid(np.arange(n), np.arange(around), indexing="ij")
    a, b = i * around + j, (i + 1) % n * around + j
    c, d = (i + 1) % n * around + (j + 1) % around, i * around + (j + 1) % around
    faces = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)
    return rings.reshape(-1, 3), faces.astype(np.int64)

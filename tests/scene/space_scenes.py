"""What several tests of scenes of space share."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

# Vertices and outward faces of the corner of a cube.
TETRAHEDRON = (
    np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
)
JUNK = [10**400, -0.0, math.nan, -math.inf, -1, 0, 2.5, True, "", "x", "\0", [], [1], [[1, 2], 3], {}, {"kind": "x"}]
JUNK += [datetime.date(2000, 1, 1), [1, 2, 3], [[0, 0, 0], [0, 0, 0]]]


def obj_file(path: Path, stretch: float = 1.0) -> None:
    """The tetrahedron as a file."""
    vertices, faces = TETRAHEDRON
    lines = [f"v {stretch * x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    path.write_text("\n".join([*lines, *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces.tolist()), ""]))


def leaves(node: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Every place of a document where another value could stand."""
    if path:
        yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from leaves(value, (*path, key))

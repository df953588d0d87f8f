"""Bricks as bar-and-joint frameworks: points with masses, and bars that keep their distances.

Three ways to brace a brick. "minimal": 2p - 3 bars for p points, none to spare. "braced": some bars redundant, as in
figure 10 of the paper (nine points, all squares of the grid with one diagonal: one bar too many; with masses in the
corners both diagonals). "overbraced": a bar between every two points. All are infinitesimally rigid, and a solver that
takes redundant equations gives them the same motion.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints
from .mass_models import point_masses

if TYPE_CHECKING:
    from .tower import Tower

BRACINGS = ("minimal", "braced", "overbraced")


class Framework(NamedTuple):
    """Points of all bricks, a brick's corners first, and bars between points of one brick."""

    point: Floats  # (p, 2)
    mass: Floats  # (p,)
    brick: Ints  # (p,) whose point it is
    first: Ints  # (n + 1,) first point of each brick
    bar: Ints  # (b, 2) points
    length: Floats  # (b,)


def framework(tower: Tower, bracing: str = "braced") -> Framework:
    """The tower's framework. Fixed bricks have points but no bars: nothing moves them."""
    if bracing not in BRACINGS:
        raise ProblemError.unknown("bracing", bracing, BRACINGS)
    points: list[tuple[float, float]] = []
    masses: list[float] = []
    bars: list[tuple[int, int]] = []
    first = [0]
    for brick in tower.bricks:
        carried = point_masses(brick.exact, brick.density, tower.mass_model)
        place = [(float(x), float(y)) for x, y in carried.points]
        if not brick.fixed:
            bars += [(first[-1] + i, first[-1] + j) for i, j in brace(np.array(place), len(brick.exact), bracing)]
        points += place
        masses += [float(m) for m in carried.masses]
        first.append(len(points))
    point, bar = np.array(points), np.array(bars, dtype=np.int64).reshape(-1, 2)
    owner = np.repeat(np.arange(tower.count), np.diff(first))
    length = np.hypot(*(point[bar[:, 0]] - point[bar[:, 1]]).T)
    return Framework(point, np.array(masses), owner, np.array(first, dtype=np.int64), bar, length)


def brace(points: Floats, corners: int, bracing: str) -> list[tuple[int, int]]:
    """Bars (pairs of point numbers) for one brick whose first `corners` points are its corners."""
    if bracing == "overbraced":
        return list(combinations(range(len(points)), 2))
    if len(points) == 9 and np.allclose(points[4], 0.5 * (points[0] + points[1])):
        return _grid_bars(bracing)
    return _fan_bars(points, corners, bracing)


def _grid_bars(bracing: str) -> list[tuple[int, int]]:
    """Nine points: corners 0-3, middles of sides 4-7, center 8. Each of the four squares with a diagonal."""
    rim = [(0, 4), (4, 1), (1, 5), (5, 2), (2, 6), (6, 3), (3, 7), (7, 0)]
    spokes = [(4, 8), (5, 8), (6, 8), (7, 8)]
    diagonals = [(0, 8), (1, 8), (2, 8), (3, 8)]
    bars = rim + spokes + diagonals
    return bars if bracing == "braced" else bars[:-1]


def _fan_bars(points: Floats, corners: int, bracing: str) -> list[tuple[int, int]]:
    """Corners with sides and diagonals from corner 0, further points by bars to two corners each."""
    bars = [(i, (i + 1) % corners) for i in range(corners)] + [(0, i) for i in range(2, corners - 1)]
    if bracing == "braced" and corners > 3:
        bars.append((1, corners - 1 if corners > 4 else 3))
    for k in range(corners, len(points)):
        bars += [(k, i) for i in _widest(points, k, corners)]
    if bracing == "braced" and corners == 3 and len(points) > 3:
        bars.append((corners, next(i for i in range(3) if (corners, i) not in bars)))
    return bars


def _widest(points: Floats, k: int, corners: int) -> tuple[int, int]:
    """The two corners that point k sees at the angle nearest to a right one: bars to them fix it best."""
    arm = points[:corners] - points[k]
    arm = arm / np.hypot(*arm.T)[:, None]
    sine = np.abs(arm[:, None, 0] * arm[None, :, 1] - arm[:, None, 1] * arm[None, :, 0])
    i, j = np.unravel_index(int(sine.argmax()), sine.shape)
    return int(min(i, j)), int(max(i, j))

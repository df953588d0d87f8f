"""Random arrangements of discs and spheres that touch exactly."""

from __future__ import annotations

import itertools

import numpy as np

from ..solvers.rows import Floats


def disc_cluster(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """`count` touching discs with radii from 0.35 to 0.65: positions (count, 2) and radii.

    Where one fits, a new disc touches two that touch each other: the cluster consists of triangles, so that all
    contacts are coupled.
    """
    radii = rng.uniform(0.35, 0.65, count)
    places = np.zeros((count, 2))
    if count > 1:
        places[1] = [radii[0] + radii[1], 0.0]
    pairs = [(0, 1)]
    for k in range(2, count):
        order = rng.permutation(len(pairs))
        spots = (spot for i in order for spot in _leaning(places, radii, pairs[i], radii[k]))
        places[k] = next(s for s in spots if _fits(s, places[:k], radii[:k], radii[k]))
        gap = np.linalg.norm(places[:k] - places[k], axis=1) - radii[:k] - radii[k]
        pairs += [(int(j), k) for j in np.flatnonzero(gap < 1e-9)]
    return places - places.mean(axis=0), radii


def _leaning(places: Floats, radii: Floats, pair: tuple[int, int], radius: float) -> list[Floats]:
    """The two centers of a disc that touches both discs of a pair."""
    a, b = pair
    offset = places[b] - places[a]
    base = float(np.linalg.norm(offset))
    ra, rb = radii[a] + radius, radii[b] + radius
    along = (ra * ra - rb * rb + base * base) / (2 * base)
    height2 = ra * ra - along * along
    if height2 <= 0:
        return []
    axis = offset / base
    up = np.array([-axis[1], axis[0]]) * np.sqrt(height2)
    return [places[a] + along * axis + up, places[a] + along * axis - up]


def _fits(spot: Floats, places: Floats, radii: Floats, radius: float) -> bool:
    return bool((np.linalg.norm(places - spot, axis=1) - radii - radius > -1e-12).all())


def sphere_cluster(rng: np.random.Generator, count: int) -> Floats:
    """Centers (count, 3) of `count` touching spheres of diameter 1, grown at random on the densest lattice."""
    steps = [
        np.array(step)
        for step in itertools.product((-1, 0, 1), repeat=3)
        if abs(step[0]) + abs(step[1]) + abs(step[2]) == 2
    ]
    taken: list[tuple[int, ...]] = [(0, 0, 0)]
    while len(taken) < count:
        base = np.array(taken[rng.integers(len(taken))])
        spot = tuple(int(c) for c in base + steps[rng.integers(len(steps))])
        if spot not in taken:
            taken.append(spot)
    return np.array(taken, dtype=float) / np.sqrt(2.0)

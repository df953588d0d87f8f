"""How far bodies that touched have come apart: one number for a splash."""

from __future__ import annotations

import numpy as np

from ..solvers.rows import Floats


def neighbors_kept(start: Floats, now: Floats, diameter: float, reach: float = 1.1) -> float:
    """Part of the pairs that touched at the start whose distance is still at most `reach` diameters.

    1 if all stayed together, near 0 if they scattered. Positions (n, 2) of equal discs, at two times.
    """
    from scipy.spatial import cKDTree

    pairs = cKDTree(start).query_pairs(diameter * (1.0 + 1e-6), output_type="ndarray")
    if not len(pairs):
        return 1.0
    apart = np.asarray(now)[pairs[:, 0]] - np.asarray(now)[pairs[:, 1]]
    return float((np.hypot(apart[:, 0], apart[:, 1]) <= reach * diameter).mean())

"""TEMPORARY adapter."""
from typing import NamedTuple

import numpy as np

from ..impact.assemble import rows_of
from .coulomb.active_set import coulomb_2d
from .coulomb.islands_3d import coulomb_3d
from .qp.box import solve_cone
from .rows import make_rows, pushed


class Answer(NamedTuple):
    velocity: np.ndarray
    residual: float
    iterations: int

def solve_contact(blocks, chosen, velocity, impulse, tolerance):
    r = blocks.base.shape[1]
    t = blocks.tangents
    ptr, body, val, tp, tb, tv = rows_of(blocks.body, blocks.val, chosen, t)
    n = len(velocity)
    rows = make_rows(ptr, body, val, n)
    normal = impulse[chosen, 0].copy()
    base = blocks.base[chosen, 0].copy()
    if t == 0:
        from .rows import speeds
        normal, res = solve_cone(rows, speeds(rows, velocity, base), normal)
        impulse[chosen, 0] = normal
        return Answer(pushed(rows, normal, velocity), 0.0, 1)
    tangents = make_rows(tp, tb, tv, n)
    slip = blocks.base[chosen, 1:1+t].ravel().copy()
    tangent = impulse[chosen, 1:1+t].copy()
    mu = blocks.bound[chosen, 0].copy()
    if t == 1:
        tangent = tangent[:, 0].copy()
        res, it = coulomb_2d(rows, tangents, velocity, base, slip, mu, normal, tangent, 1e-8, 200)
    else:
        res, it = coulomb_3d(rows, tangents, velocity, base, slip, mu, normal, tangent, 1e-8, 12)
    impulse[chosen, 0] = normal
    impulse[chosen, 1:1+t] = tangent.reshape(-1, t)
    x = pushed(rows, normal, velocity)
    x = pushed(tangents, tangent.ravel(), x)
    from .rows import speeds
    top = max(np.abs(speeds(rows, velocity, base)).max(), np.abs(speeds(tangents, velocity, slip)).max())
    return Answer(x, res * top, it)

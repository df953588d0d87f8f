"""One step of the Discrete Moser-Veselov integrator for one free body, in the frame of its principal axes.

Moser and Veselov, "Discrete versions of some classical integrable systems and factorization of matrix polynomials",
Comm. Math. Phys. 139 (1991); McLachlan and Zanna, "The discrete Moser-Veselov algorithm for the free rigid body,
revisited", Found. Comput. Math. 5 (2005).

With the body's momentum `P = I w` a step finds the turn F of `hat(h P) = F J - J F^T`, `J = tr(I)/2 - I`, and sets
`R+ = R F`, `P+ = F^T P`. In the unit quaternion (a, b) of F, and after division by 2 I, that is

    a b_1 + k_1 b_2 b_3 = h w_1 / 2,    k_1 = (I_3 - I_2) / I_1,    and cyclically,    a = sqrt(1 - |b|^2)
    w+_1 = w_1 - (4 / h) k_1 b_2 b_3

so w + w+ is parallel to b, and I (w+ - w) to b x I b: energy `w . I w / 2` and `|I w|` stay.

Axes are equals here: permuting them, or flipping their signs, permutes and flips the results bit for bit.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats
from .turning import nudged, quaternion_change, sum3

# Radians a sub-step. At this bound Newton's method takes at most four steps for all bodies (|k| <= 1); near 1 the
# equation has no solution for some.
LARGEST_TURN = 0.5
MOST_SUBSTEPS = 10_000  # 5,000 radians a step. Faster bodies turn by that much: their phase means nothing


@kernel
def turn_by_moser_veselov(q: Floats, w: Floats, inertia: Floats, h: float) -> None:
    """Orientation q (4,) and spin w (3,) of one body a time h later. Writes both."""
    ix, iy, iz = inertia[0], inertia[1], inertia[2]
    kx, ky, kz = (iz - iy) / ix, (ix - iz) / iy, (iy - ix) / iz
    count, h = timing(w, inertia, h)
    half, rate = 0.5 * h, -4.0 / h
    for _ in range(count):
        x, y, z = turn(half * w[0], half * w[1], half * w[2], kx, ky, kz)
        w[0] = nudged(w[0], rate * (kx * (y * z)))
        w[1] = nudged(w[1], rate * (ky * (z * x)))
        w[2] = nudged(w[2], rate * (kz * (x * y)))
        t = sum3(x * x, y * y, z * z)
        d0, d1, d2, d3 = quaternion_change(q, -t / (1.0 + np.sqrt(1.0 - t)), x, y, z)
        q[0], q[1], q[2], q[3] = nudged(q[0], d0), nudged(q[1], d1), nudged(q[2], d2), nudged(q[3], d3)


@kernel
def timing(w: Floats, inertia: Floats, h: float) -> tuple[int, float]:
    """How many equal sub-steps to take, and the step to give each: both depend on energy and momentum alone.

    The exact motion and the discrete one run through the same states at different rates (McLachlan and Zanna 2005). A
    steady spin w turns by asin(h w) under plain DMV. With `sin(x) / x h`, `x = h w . P / |P|`, in place of h it turns
    by h w: exact for spheres and about principal axes, and still DMV. Energy and |P| do not change, so neither does
    the step, and the map stays reversible. For the same reason the number of sub-steps is not taken from |w|, but
    from the largest |w| that a body with this energy and momentum can have, `w^2 = 2 E (u + v) - |P|^2 u v` with u, v
    the inverses of the smallest and the largest moment.
    """
    px, py, pz = inertia[0] * w[0], inertia[1] * w[1], inertia[2] * w[2]
    double_energy = sum3(px * w[0], py * w[1], pz * w[2])
    square = sum3(px * px, py * py, pz * pz)
    u, v = 1.0 / min(inertia[0], inertia[1], inertia[2]), 1.0 / max(inertia[0], inertia[1], inertia[2])
    fastest = np.sqrt(max(double_energy * (u + v) - square * u * v, 0.0))
    turns = abs(h) * fastest / LARGEST_TURN
    if not np.isfinite(turns):  # the energy overflows, or the spin is not a number: nothing to save
        return 1, h
    count = max(np.ceil(turns), 1.0)
    if count > MOST_SUBSTEPS:
        count, h = 1.0 * MOST_SUBSTEPS, h * (MOST_SUBSTEPS / turns)
    h /= count
    x = h * double_energy / np.sqrt(square) if square > 0.0 else 0.0
    return int(count), h * (np.sin(x) / x) if abs(x) > 1e-8 else h


@kernel
def turn(sx: float, sy: float, sz: float, kx: float, ky: float, kz: float) -> tuple[float, float, float]:
    """The vector part b of the turn's quaternion: `a b_1 + k_1 b_2 b_3 = s_1` and cyclically, by Newton's method."""
    x, y, z = sx - kx * (sy * sz), sy - ky * (sz * sx), sz - kz * (sx * sy)
    for _ in range(20):
        a = np.sqrt(max(1.0 - sum3(x * x, y * y, z * z), 0.25))
        fx, fy, fz = a * x + kx * (y * z) - sx, a * y + ky * (z * x) - sy, a * z + kz * (x * y) - sz
        dx, dy, dz = _newton_step(x, y, z, a, kx, ky, kz, fx, fy, fz)
        x, y, z = x - dx, y - dy, z - dz
        # Newton squares the error: after a step this small the next would be below rounding.
        if abs(dx) + abs(dy) + abs(dz) <= 1e-9 * max(abs(x), abs(y), abs(z)):
            break
    return x, y, z


@kernel
def _newton_step(
    x: float, y: float, z: float, a: float, kx: float, ky: float, kz: float, fx: float, fy: float, fz: float
) -> tuple[float, float, float]:
    """The solution d of `(a - b b^T / a + K) d = f` by cofactors, where row 1 of K is `k_1 (0, b_3, b_2)`."""
    pxy, pyz, pzx = x * y / a, y * z / a, z * x / a
    xx, yy, zz = a - x * x / a, a - y * y / a, a - z * z / a
    xy, yx = kx * z - pxy, ky * z - pxy
    yz, zy = ky * x - pyz, kz * x - pyz
    zx, xz = kz * y - pzx, kx * y - pzx
    cxx, cxy, cxz = yy * zz - yz * zy, yz * zx - yx * zz, yx * zy - yy * zx
    cyx, cyy, cyz = zy * xz - zz * xy, zz * xx - zx * xz, zx * xy - zy * xx
    czx, czy, czz = xy * yz - xz * yy, xz * yx - xx * yz, xx * yy - xy * yx
    # The determinant, expanded by each row: the mean of the three prefers no axis.
    three = sum3(
        sum3(xx * cxx, xy * cxy, xz * cxz), sum3(yx * cyx, yy * cyy, yz * cyz), sum3(zx * czx, zy * czy, zz * czz)
    )
    scale = 3.0 / three
    return (
        scale * sum3(cxx * fx, cyx * fy, czx * fz),
        scale * sum3(cxy * fx, cyy * fy, czy * fz),
        scale * sum3(cxz * fx, cyz * fy, czz * fz),
    )

"""Integrators of rigid-body rotation in 3D over one time step.

Orientations are unit quaternions (w, x, y, z) that map the body frame to the world frame. Spins are angular velocities
in the body frame, whose axes are the principal axes of inertia, in radians per unit of time. `docs/rotation.md` has the
equations, the guarantees and measurements.

Discrete Moser-Veselov (DMV): Moser and Veselov, "Discrete versions of some classical integrable systems and
factorization of matrix polynomials", Comm. Math. Phys. 139 (1991); McLachlan and Zanna, "The discrete Moser-Veselov
algorithm for the free rigid body, revisited", Found. Comput. Math. 5 (2005). With the body's angular momentum `P = I w`
a step finds the rotation F of `hat(h P) = F J - J F^T`, `J = tr(I)/2 - I`, and sets `R+ = R F`, `P+ = F^T P`. In the
unit quaternion (a, b) of F, and after division by 2 I, that is

    a b_1 + k_1 b_2 b_3 = h w_1 / 2,    k_1 = (I_3 - I_2) / I_1,    and cyclically,    a = sqrt(1 - |b|^2)
    w+_1 = w_1 - (4 / h) k_1 b_2 b_3

Hence w + w+ is parallel to b, and I (w+ - w) to b x I b: the energy `w . I w / 2` and `|I w|` are conserved. All axes
are treated alike: permuting them, or flipping their signs, permutes and flips the results bit for bit.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.typing import NDArray

from ..geometry.rotations import matrix_value
from ..geometry.vectors import Mat3, Vec3, cross, to_local, to_world
from ..kernels import kernel, lean
from ..solvers.rows import Floats

MOSER_VESELOV, SPLIT = 0, 1
# Radians per sub-step. Up to this bound Newton's method takes at most four iterations for all bodies (|k| <= 1); near 1
# the equation has no solution for some bodies.
LARGEST_ROTATION = 0.5
MOST_SUBSTEPS = 10_000  # 5,000 radians per step; faster bodies rotate by that much, because their phase is arbitrary
NEWTON_ITERATIONS = 20
NEWTON_TOLERANCE = 1e-9  # relative size of the last Newton step; the next one would be below rounding
SMALL_PHASE = 1e-8  # radians below which sin(x) / x is 1 in double precision
NEXT_NUMBER = 2.0**-53 * (1.0 + 2.0**-52)  # |x| (1 + NEXT_NUMBER) rounds to the next larger number
# Coefficients of the series of sin(x) / x and cos(x) - 1 in x^2.
S1, S2, S3, S4, S5 = (1.0 / factorial(n) for n in (3, 5, 7, 9, 11))
C2, C3, C4, C5, C6 = (1.0 / factorial(n) for n in (4, 6, 8, 10, 12))


@kernel
def rotate_free(
    orientation: Floats, spin: Floats, inertia: Floats, free: NDArray[np.bool_], step: float, scheme: int
) -> tuple[Floats, Floats]:
    """Orientations (n, 4) and spins (n, 3) after free rotation for a time: `I w' = I w x w`, `q' = q w / 2`.

    `inertia` (n, 3) holds the principal moments. Scheme MOSER_VESELOV conserves energy and angular momentum; scheme
    SPLIT splits the energy by axes, which conserves angular momentum, and the energy up to a bounded error of second
    order. Both are of second order and time-reversible. Bodies with three equal moments, and those that are not free,
    rotate at constant spin, which is exact for them and leaves the bits of the spin unchanged.
    """
    q, w = orientation.copy(), spin.copy()
    if step == 0.0:
        return q, w
    for i in range(len(q)):
        rotate_body(q[i], w[i], inertia[i], free[i], step, scheme)
    return q, w


@lean
def rotate_body(q: Floats, w: Floats, inertia: Floats, free: bool, step: float, scheme: int) -> None:
    """What `rotate_free` does to one body. Writes q and w."""
    if w[0] == 0.0 and w[1] == 0.0 and w[2] == 0.0:
        return
    if not free or (inertia[0] == inertia[1] and inertia[1] == inertia[2]):
        rotate_body_steadily(q, w, step)
    elif scheme == MOSER_VESELOV:
        _rotate_moser_veselov(q, w, inertia, step)
    else:
        _rotate_split(q, w, inertia, step)


@lean
def _rotate_split(q: Floats, w: Floats, inertia: Floats, h: float) -> None:
    """Strang splitting of `w . I w / 2` by axes: x for half a step, y for half, z for one, y, x. Writes q and w.

    The flow of one part, `I_1 w_1^2 / 2`, is a rotation about axis 1 by h w_1: the components (2, 3) of the angular
    momentum rotate back by it. McLachlan, "Explicit Lie-Poisson integration and the Euler equations", Phys. Rev. Lett.
    71 (1993).
    """
    for stage in range(5):
        i = min(stage, 4 - stage)
        j, k = (i + 1) % 3, (i + 2) % 3
        angle = w[i] * (h if stage == 2 else 0.5 * h)
        s, half = np.sin(angle), np.sin(0.5 * angle)
        c = -2.0 * half * half  # cos(angle) - 1, without cancellation
        pj, pk = inertia[j] * w[j], inertia[k] * w[k]
        w[j] += (c * pj + s * pk) / inertia[j]
        w[k] += (c * pk - s * pj) / inertia[k]
        axis = Vec3(half if i == 0 else 0.0, half if i == 1 else 0.0, half if i == 2 else 0.0)
        fourth = np.sin(0.25 * angle)
        da, d = quaternion_change(q, -2.0 * fourth * fourth, axis)
        q[0], q[1], q[2], q[3] = q[0] + da, q[1] + d.x, q[2] + d.y, q[3] + d.z


# ---- Discrete Moser-Veselov


@lean
def _rotate_moser_veselov(q: Floats, w: Floats, inertia: Floats, h: float) -> None:
    """Advances orientation q (4,) and spin w (3,) of one body by a time h. Writes both."""
    ix, iy, iz = inertia[0], inertia[1], inertia[2]
    k = Vec3((iz - iy) / ix, (ix - iz) / iy, (iy - ix) / iz)
    count, h = _substeps(w, inertia, h)
    half, rate = 0.5 * h, -4.0 / h
    for _ in range(count):
        b = _newton(half * Vec3(w[0], w[1], w[2]), k)
        change = rate * times(k, others(b))
        t = sum3(times(b, b))
        da, d = quaternion_change(q, -t / (1.0 + np.sqrt(1.0 - t)), b)
        q[0] = stochastic_sum(q[0], da)
        for c in range(3):
            w[c] = stochastic_sum(w[c], change[c])
            q[1 + c] = stochastic_sum(q[1 + c], d[c])


@lean
def _substeps(w: Floats, inertia: Floats, h: float) -> tuple[int, float]:
    """Number of equal sub-steps and the length to use for each; both depend on energy and angular momentum alone.

    The exact and the discrete motion pass through the same states at different rates (McLachlan and Zanna 2005). A
    steady spin w rotates by asin(h w) under plain DMV. With `sin(x) / x h`, `x = h w . P / |P|`, in place of h it
    rotates by h w, which is exact for spheres and about principal axes, and the scheme is still DMV. Energy and |P| do
    not change, so neither does the step, and the map stays reversible. For the same reason the number of sub-steps is
    computed not from |w| but from the largest |w| of a body with this energy and angular momentum,
    `w^2 = 2 E (u + v) - |P|^2 u v` with u, v the inverses of the smallest and the largest moment.
    """
    spin = Vec3(w[0], w[1], w[2])
    momentum = times(Vec3(inertia[0], inertia[1], inertia[2]), spin)
    double_energy, square = sum3(times(momentum, spin)), sum3(times(momentum, momentum))
    u, v = 1.0 / min(inertia[0], inertia[1], inertia[2]), 1.0 / max(inertia[0], inertia[1], inertia[2])
    fastest = np.sqrt(max(double_energy * (u + v) - square * u * v, 0.0))
    wanted = abs(h) * fastest / LARGEST_ROTATION
    if not np.isfinite(wanted):  # the energy overflows, or the spin is not a number
        return 1, h
    count = max(np.ceil(wanted), 1.0)
    if count > MOST_SUBSTEPS:
        count, h = 1.0 * MOST_SUBSTEPS, h * (MOST_SUBSTEPS / wanted)
    h /= count
    x = h * double_energy / np.sqrt(square) if square > 0.0 else 0.0
    return int(count), h * (np.sin(x) / x) if abs(x) > SMALL_PHASE else h


@kernel
def _newton(s, k):
    """The vector part b of the rotation's quaternion by Newton's method: `a b_1 + k_1 b_2 b_3 = s_1` and cyclically."""
    b = s - times(k, others(s))
    for _ in range(NEWTON_ITERATIONS):
        a = np.sqrt(max(1.0 - sum3(times(b, b)), 0.25))
        step = _newton_step(b, a, k, a * b + times(k, others(b)) - s)
        b = b - step
        if abs(step.x) + abs(step.y) + abs(step.z) <= NEWTON_TOLERANCE * max(abs(b.x), abs(b.y), abs(b.z)):
            break
    return b


@kernel
def _newton_step(b, a, k, f):
    """The solution d of `(a - b b^T / a + K) d = f` by cofactors, where row 1 of K is `k_1 (0, b_3, b_2)`."""
    pxy, pyz, pzx = b.x * b.y / a, b.y * b.z / a, b.z * b.x / a
    xx, yy, zz = a - b.x * b.x / a, a - b.y * b.y / a, a - b.z * b.z / a
    xy, yx = k.x * b.z - pxy, k.y * b.z - pxy
    yz, zy = k.y * b.x - pyz, k.z * b.x - pyz
    zx, xz = k.z * b.y - pzx, k.x * b.y - pzx
    rows = Mat3(Vec3(xx, xy, xz), Vec3(yx, yy, yz), Vec3(zx, zy, zz))
    x = Vec3(yy * zz - yz * zy, yz * zx - yx * zz, yx * zy - yy * zx)  # cofactors of the first row, and so on
    y = Vec3(zy * xz - zz * xy, zz * xx - zx * xz, zx * xy - zy * xx)
    z = Vec3(xy * yz - xz * yy, xz * yx - xx * yz, xx * yy - xy * yx)
    # The determinant, expanded by each row: the mean of the three treats all axes alike.
    three = sum3(Vec3(sum3(times(rows.x, x)), sum3(times(rows.y, y)), sum3(times(rows.z, z))))
    scale = 3.0 / three
    return Vec3(
        scale * sum3(Vec3(x.x * f.x, y.x * f.y, z.x * f.z)),
        scale * sum3(Vec3(x.y * f.x, y.y * f.y, z.y * f.z)),
        scale * sum3(Vec3(x.z * f.x, y.z * f.y, z.z * f.z)),
    )


# ---- rounding and small rotations


@kernel(inline="always")
def times(a, b):
    """The products of the components of two vectors."""
    return Vec3(a.x * b.x, a.y * b.y, a.z * b.z)


@kernel(inline="always")
def others(a):
    """For each axis the product of the other two components: (a_2 a_3, a_3 a_1, a_1 a_2)."""
    return Vec3(a.y * a.z, a.z * a.x, a.x * a.y)


@kernel
def sum3(a):
    """The sum of the components with a rounding that does not depend on their order, and is odd in them."""
    low, high = min(a.x, a.y), max(a.x, a.y)
    return (max(high, a.z) + min(low, a.z)) + max(low, min(high, a.z))


@kernel(inline="always")
def stochastic_sum(x: float, dx: float) -> float:
    """x + dx with stochastic rounding: up or down with the probabilities that make the mean exact.

    Rounding to nearest is biased where dx hardly changes from step to step: the same fraction of the last digit is lost
    a million times. Near an unstable axis the main spin loses less than half a digit per step, so it would not change
    while the tumbling grows, and the energy would drift by 1e-11. With stochastic rounding the losses form a random
    walk of about 1e-13. The pseudo-random number is a hash of the digits of |x| and |dx|, so equal bodies and mirror
    images still move identically.
    """
    s = x + dx
    if dx == 0.0:
        return s
    digit = (abs(s) + NEXT_NUMBER * abs(s)) - abs(s)
    a, b = np.float64(dx).view(np.uint64), np.float64(x).view(np.uint64)
    # Multiplicative hash: odd 64-bit multipliers spread the last bits over the first ones; sign bits are shifted out.
    mixed = (a << np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + (b << np.uint64(1)) * np.uint64(0xD1B54A32D192ED03)
    mixed ^= mixed >> np.uint64(32)
    chance = np.float64((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11)) * 2.0**-53 - 0.5
    return x + (dx + (chance * digit if dx > 0.0 else -chance * digit))


@lean
def quaternion_change(q, da, b):
    """The parts of `q (1 + da, b) - q`, including the correction that normalizes q.

    The change is small and is added with one rounding; multiplying and then dividing by the length would round twice.
    """
    w, v = q[0], Vec3(q[1], q[2], q[3])
    short = 0.5 * (1.0 - (w * w + sum3(times(v, v))))
    da, b = da + short * (1.0 + da), b + short * b
    return da * w - sum3(times(v, b)), (da * v + w * b) + cross(v, b)


@lean
def rotate_body_steadily(q: Floats, w: Floats, h: float) -> None:
    """Rotates q (4,) at the constant spin w (3,) for a time h: `q exp(h w / 2)`. Writes q."""
    half = 0.5 * h * Vec3(w[0], w[1], w[2])
    t = sum3(times(half, half))
    if t < 0.0625:  # half angle below 1/4: the series have an error below 1e-17
        s = 1.0 - t * (S1 - t * (S2 - t * (S3 - t * (S4 - t * S5))))
        da = -t * (0.5 - t * (C2 - t * (C3 - t * (C4 - t * (C5 - t * C6)))))
    else:
        angle = np.sqrt(t)
        s, da = np.sin(angle) / angle, np.cos(angle) - 1.0
    da, d = quaternion_change(q, da, s * half)
    q[0], q[1], q[2], q[3] = q[0] + da, q[1] + d.x, q[2] + d.y, q[3] + d.z


@lean
def rotate_by(q, spin, turn, even):
    """Rotates one body by `turn` (3,) in its frame, in place of q. Spins of bodies with equal moments keep their
    direction in the world."""
    if turn[0] == 0.0 and turn[1] == 0.0 and turn[2] == 0.0:
        return
    before = matrix_value(q)
    rotate_body_steadily(q, turn, 1.0)
    if even:
        same = to_local(matrix_value(q), to_world(before, Vec3(spin[0], spin[1], spin[2])))
        for c in range(3):
            spin[c] = same[c]

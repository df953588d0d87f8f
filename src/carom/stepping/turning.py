"""Parts that the rotation schemes share: sums without a preferred order or bias, turning a quaternion a little."""

from __future__ import annotations

from math import factorial

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats

NEXT = 2.0**-53 * (1.0 + 2.0**-52)  # |x| plus this part of it rounds to the next larger number
S1, S2, S3, S4, S5 = (1.0 / factorial(n) for n in (3, 5, 7, 9, 11))
C2, C3, C4, C5, C6 = (1.0 / factorial(n) for n in (4, 6, 8, 10, 12))


@kernel
def sum3(x: float, y: float, z: float) -> float:
    """x + y + z, with the same rounding in whichever order the terms are given, and the opposite for opposite terms."""
    low, high = min(x, y), max(x, y)
    return (max(high, z) + min(low, z)) + max(low, min(high, z))


@kernel
def nudged(x: float, dx: float) -> float:
    """x + dx, rounded up or down at random with the odds that make the mean right (the chance lies in the digits).

    Rounding to nearest is biased where dx hardly changes from step to step: the same part of a digit is lost a million
    times. Near an unstable axis the main spin loses less than half a digit a step, and would never feel the tumbling
    that grows at its cost; energy then drifts by 1e-11. With chance the losses form a random walk of about 1e-13.
    The digits of |x| and |dx| serve as chance, so equal bodies and mirror images still do exactly the same.
    """
    s = x + dx
    if dx == 0.0:
        return s
    digit = (abs(s) + NEXT * abs(s)) - abs(s)
    a, b = np.float64(dx).view(np.uint64), np.float64(x).view(np.uint64)
    # Odd multipliers of 64 bits (golden ratio and a companion) spread the last bits over the first; sign bits drop out.
    mixed = (a << np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + (b << np.uint64(1)) * np.uint64(0xD1B54A32D192ED03)
    mixed ^= mixed >> np.uint64(32)
    chance = np.float64((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11)) * 2.0**-53 - 0.5
    return x + (dx + (chance * digit if dx > 0.0 else -chance * digit))


@kernel
def quaternion_change(q: Floats, da: float, x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """`q (1 + da, x, y, z) - q`, and what brings the length of q back to 1.

    The change is small and added in one rounding. Multiplying out and then dividing by the length would round twice.
    """
    w, i, j, k = q[0], q[1], q[2], q[3]
    short = 0.5 * (1.0 - (w * w + sum3(i * i, j * j, k * k)))
    da, x, y, z = da + short * (1.0 + da), x + short * x, y + short * y, z + short * z
    return (
        da * w - sum3(i * x, j * y, k * z),
        (da * i + w * x) + (j * z - k * y),
        (da * j + w * y) + (k * x - i * z),
        (da * k + w * z) + (i * y - j * x),
    )


@kernel
def turn_steadily(q: Floats, w: Floats, h: float) -> None:
    """Turns q (4,) by the constant spin w (3,) of the body's frame for a time h: `q exp(h w / 2)`. Writes q."""
    x, y, z = 0.5 * h * w[0], 0.5 * h * w[1], 0.5 * h * w[2]
    t = sum3(x * x, y * y, z * z)
    if t < 0.0625:  # half angle below 1/4: series of sin(x)/x and cos(x) - 1 in x^2, error below 1e-17
        s = 1.0 - t * (S1 - t * (S2 - t * (S3 - t * (S4 - t * S5))))
        da = -t * (0.5 - t * (C2 - t * (C3 - t * (C4 - t * (C5 - t * C6)))))
    else:
        angle = np.sqrt(t)
        s, da = np.sin(angle) / angle, np.cos(angle) - 1.0
    d0, d1, d2, d3 = quaternion_change(q, da, s * x, s * y, s * z)
    q[0], q[1], q[2], q[3] = q[0] + d0, q[1] + d1, q[2] + d2, q[3] + d3

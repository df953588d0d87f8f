"""First roots of polynomials in time, of second and fourth degree: when the gap of a falling ball closes."""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import dot, norm
from ..kernels import kernel, lean

NEWTON_STEPS = 60  # bound on the steps of a bracketed Newton iteration
ROOT_ROUNDING = 1e-16  # change of a root, relative to its bracket, at which the iteration ends


@kernel(inline="always")
def first_root(c, b, k):
    """The first s >= 0 with `c + b s + k s^2 / 2 <= 0`, for c >= 0; infinite if there is none."""
    square = b * b - 2.0 * k * c
    if square < 0.0:
        return np.inf
    if b < 0.0:
        return 2.0 * c / (np.sqrt(square) - b)
    return (b + np.sqrt(square)) / -k if k < 0.0 else np.inf


@lean(inline="always")
def _value(c, order, s):
    """The derivative of some order of `c0 + c1 s + c2 s^2 + c3 s^3 + c4 s^4`."""
    if order == 0:
        return c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * c[4])))
    if order == 1:
        return c[1] + s * (2.0 * c[2] + s * (3.0 * c[3] + s * 4.0 * c[4]))
    if order == 2:
        return 2.0 * c[2] + s * (6.0 * c[3] + s * 12.0 * c[4])
    if order == 3:
        return 6.0 * c[3] + s * 24.0 * c[4]
    return 24.0 * c[4]


@lean
def _bracketed_root(c, order, low, high):
    """The root of a derivative between two times at which it has different signs: Newton's method or bisection."""
    rising, s = _value(c, order, high) > 0.0, 0.5 * (low + high)
    for _ in range(NEWTON_STEPS):
        f, slope = _value(c, order, s), _value(c, order + 1, s)
        if (f > 0.0) == rising:
            high = s
        else:
            low = s
        step = s - f / slope if slope != 0.0 else low
        before, s = s, step if low < step < high else 0.5 * (low + high)
        if abs(s - before) <= ROOT_ROUNDING * high:
            break
    return s


@lean
def first_root_of_quartic(c, end, knots):
    """The first s from 0 to `end` with `c0 + c1 s + ... + c4 s^4 <= 0`, for c0 >= 0; infinite if there is none.

    Between the roots of its derivative a polynomial is monotonic, so that each interval has one root or none. `knots`
    (2, 6) is scratch: the ends of such intervals, for a derivative and the next lower one.
    """
    knots[0, 0], knots[0, 1], intervals, old = 0.0, end, 1, 0
    for order in (3, 2, 1):
        new, found = 1 - old, 1
        knots[new, 0] = 0.0
        for k in range(intervals):
            low, high = knots[old, k], knots[old, k + 1]
            if (_value(c, order, low) > 0.0) != (_value(c, order, high) > 0.0):
                knots[new, found] = _bracketed_root(c, order, low, high)
                found += 1
        knots[new, found], intervals, old = end, found, new
    for k in range(intervals):
        low, high = knots[old, k], knots[old, k + 1]
        if _value(c, 0, high) <= 0.0:
            return low if _value(c, 0, low) <= 0.0 else _bracketed_root(c, 0, low, high)
    return np.inf


@lean
def time_to_distance(e, v, a, radius, sign, end, knots):
    """The first s with `sign (|e + s v + s^2 a / 2| - radius) <= 0`, sign 1 for the outside of a ball and -1 inside."""
    apart = norm(e)
    c = max(sign * (apart - radius) * (apart + radius), 0.0)
    b, k = sign * 2.0 * dot(e, v), sign * 2.0 * (dot(v, v) + dot(e, a))
    if a.x == 0.0 and a.y == 0.0 and a.z == 0.0:
        return first_root(c, b, k)
    return first_root_of_quartic((c, b, 0.5 * k, sign * dot(v, a), sign * 0.25 * dot(a, a)), end, knots)

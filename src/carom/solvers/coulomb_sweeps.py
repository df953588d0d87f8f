"""Coulomb's law in space for large islands: contact by contact, with all that a contact reads side by side in memory.

One visit gives a contact the normal impulse that stops its approach, then the friction impulse that stops its slip,
within the disk of radius mu times the normal one. Where normal and tangent motion do not couple (spheres), that is the
exact answer for one contact.

A contact has three rows of twelve numbers: bodies have six components here (shorter rows are filled up with zeros),
and the world is one more body whose rows are zero.
"""

from __future__ import annotations

import numpy as np
from numba import njit

WIDTH = 6  # components of a body
SPEED, NORMAL, TANGENT, MIXED, FRICTION, PACKED = 36, 39, 40, 41, 43, 44  # places in a contact's record
LOOSE = {"reassoc", "contract", "nsz"}  # sums in any order: three times faster, and the same in every run


def sweeps(rows, tangents, velocity, boundary, slip, friction, normal, tangent, mine, tolerance, max_sweeps):
    """At most `max_sweeps` sweeps over the contacts `mine`, in place of the impulses; returns (residual, sweeps)."""
    pair, record, z = _packed(rows, tangents, boundary, slip, friction, normal, tangent, mine, len(velocity))
    x = np.zeros((len(velocity) + 1, WIDTH))
    x[:-1, : velocity.shape[1]] = velocity
    top = _fastest(pair, record, x)
    if top == 0.0:
        normal[mine], tangent[mine] = 0.0, 0.0
        return 0.0, 0
    _push(pair, record, z, x)
    count = 0
    while count < max_sweeps:
        change = _sweep(pair, record, z, x, 0, len(z))
        count += 1
        if change <= tolerance * top:
            break
    normal[mine], tangent[mine] = z[:, 0], z[:, 1:]
    return _distance(pair, record, z, x) / top, count


@njit(cache=True, nogil=True)
def _packed(rows, tangents, boundary, slip, friction, normal, tangent, mine, world):
    """Bodies (k, 2), records (k, PACKED): rows of normal and tangents, speeds, inverse diagonals; impulses (k, 3)."""
    k, d = len(mine), rows.val.shape[1]
    pair, record, z = np.full((k, 2), world, np.int32), np.zeros((k, PACKED)), np.empty((k, 3))
    for p in range(k):
        i = mine[p]
        e, r = rows.ptr[i], record[p]
        for side in range(rows.ptr[i + 1] - e):
            pair[p, side] = rows.body[e + side]
            for c in range(d):
                r[WIDTH * side + c] = rows.val[e + side, c]
                r[12 + WIDTH * side + c] = tangents.val[tangents.ptr[2 * i] + side, c]
                r[24 + WIDTH * side + c] = tangents.val[tangents.ptr[2 * i + 1] + side, c]
        r[SPEED], r[SPEED + 1], r[SPEED + 2] = boundary[i], slip[2 * i], slip[2 * i + 1]
        for c in range(12):
            r[MIXED] += r[c] * r[12 + c]
            r[MIXED + 1] += r[c] * r[24 + c]
        r[NORMAL] = 1.0 / rows.diag[i]
        # The larger eigenvalue of the tangent block bounds the step; the sum of both never is too small.
        a, b, off = tangents.diag[2 * i], tangents.diag[2 * i + 1], 0.0
        for c in range(12):
            off += r[12 + c] * r[24 + c]
        stiff = 0.5 * (a + b) + np.sqrt(0.25 * (a - b) ** 2 + off * off)
        if stiff > 0.0:
            r[TANGENT], r[FRICTION] = 1.0 / stiff, friction[i]
        z[p, 0], z[p, 1], z[p, 2] = normal[i], tangent[i, 0], tangent[i, 1]
    return pair, record, z


@njit(cache=True, nogil=True, fastmath=LOOSE)
def _sweep(pair, record, z, x, first, last):
    """Contacts first..last-1 one after the other; returns the largest change of a speed."""
    worst = 0.0
    for p in range(first, last):
        a, b = pair[p, 0], pair[p, 1]
        u, s, t = record[p, 36], record[p, 37], record[p, 38]
        for c in range(6):
            u += record[p, c] * x[a, c] + record[p, 6 + c] * x[b, c]
            s += record[p, 12 + c] * x[a, c] + record[p, 18 + c] * x[b, c]
            t += record[p, 24 + c] * x[a, c] + record[p, 30 + c] * x[b, c]
        weight, weight_t = record[p, 39], record[p, 40]
        lam = max(z[p, 0] - u * weight, 0.0)
        push = lam - z[p, 0]
        one = z[p, 1] - (s + record[p, 41] * push) * weight_t
        two = z[p, 2] - (t + record[p, 42] * push) * weight_t
        bound, square = record[p, 43] * lam, one * one + two * two
        if square > bound * bound:
            share = bound / np.sqrt(square)
            one *= share
            two *= share
        push_s, push_t = one - z[p, 1], two - z[p, 2]
        worst = max(worst, abs(push) / weight)
        if weight_t > 0.0:
            worst = max(worst, max(abs(push_s), abs(push_t)) / weight_t)
        z[p, 0], z[p, 1], z[p, 2] = lam, one, two
        for c in range(6):
            x[a, c] += record[p, c] * push + record[p, 12 + c] * push_s + record[p, 24 + c] * push_t
            x[b, c] += record[p, 6 + c] * push + record[p, 18 + c] * push_s + record[p, 30 + c] * push_t
    return worst


@njit(cache=True, nogil=True)
def _push(pair, record, z, x):
    """`x += G^T z`."""
    for p in range(len(z)):
        for side in range(2):
            b = pair[p, side]
            for c in range(WIDTH):
                e = WIDTH * side + c
                x[b, c] += record[p, e] * z[p, 0] + record[p, 12 + e] * z[p, 1] + record[p, 24 + e] * z[p, 2]


@njit(cache=True, nogil=True)
def _row_speed(pair, record, x, p, row):
    total = record[p, SPEED + row]
    for side in range(2):
        for c in range(WIDTH):
            total += record[p, 12 * row + WIDTH * side + c] * x[pair[p, side], c]
    return total


@njit(cache=True, nogil=True)
def _fastest(pair, record, x):
    top = 0.0
    for p in range(len(pair)):
        for row in range(3):
            top = max(top, abs(_row_speed(pair, record, x, p, row)))
    return top


@njit(cache=True, nogil=True)
def _distance(pair, record, z, x):
    """Largest distance of z to its projected step, as a speed: what `contact_blocks.distance` measures."""
    worst = 0.0
    for p in range(len(pair)):
        u = _row_speed(pair, record, x, p, 0)
        worst = max(worst, abs(min(u, z[p, 0] / record[p, NORMAL])))
        weight, bound = record[p, TANGENT], record[p, FRICTION] * z[p, 0]
        if weight > 0.0:
            one = z[p, 1] - _row_speed(pair, record, x, p, 1) * weight
            two = z[p, 2] - _row_speed(pair, record, x, p, 2) * weight
            size = np.sqrt(one * one + two * two)
            share = bound / size if size > bound else 1.0
            worst = max(worst, np.sqrt((z[p, 1] - share * one) ** 2 + (z[p, 2] - share * two) ** 2) / weight)
    return worst

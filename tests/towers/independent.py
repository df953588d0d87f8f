"""Bricks by another way: contacts with fractions, masses by polygon formulas, Gauss' principle as least squares.

Nothing here uses the package. A body is a list of corners (x, y) as fractions, anticlockwise; rigid motions are
(dx, dy, turn) about the center of mass.
"""

from __future__ import annotations

import random
from fractions import Fraction as F
from functools import cache

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import nnls


def box(x, y, width, height, turn=(1, 0)):
    """A rectangle about (x, y), turned by the angle with these exact cosine and sine."""
    c, s = turn
    half = [(-F(width) / 2, -F(height) / 2), (F(width) / 2, -F(height) / 2)]
    half += [(-a, -b) for a, b in half]
    return [(x + c * a - s * b, y + s * a + c * b) for a, b in half]


def shifted(body, dx, dy):
    return [(x + dx, y + dy) for x, y in body]


def cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


def minus(a, b):
    return a[0] - b[0], a[1] - b[1]


def edges(body):
    return [(body[i], body[(i + 1) % len(body)]) for i in range(len(body))]


def overlap(first, second) -> bool:
    """Whether the insides of two convex bodies share a point: no edge of either separates them."""
    for one, other in ((first, second), (second, first)):
        for a, b in edges(one):
            if all(cross(minus(b, a), minus(p, a)) <= 0 for p in other):
                return False
    return True


def contacts(first, second):
    """Contacts of two bodies that do not overlap: [(point, normal from the second to the first)], exact points.

    A corner within an edge, or the ends of the part that two faces share. Corner on corner alone holds nothing.
    """
    found = []
    for one, other, sign in ((first, second, 1), (second, first, -1)):
        for a, b in edges(other):
            along = minus(b, a)
            square = along[0] ** 2 + along[1] ** 2
            length = float(square) ** 0.5
            normal = np.array([float(along[1]), -float(along[0])]) * sign / length
            if any(cross(along, minus(p, a)) > 0 for p in one):
                continue  # not a separating edge
            on_line = [p for p in one if cross(along, minus(p, a)) == 0]
            places = {p: F(minus(p, a)[0] * along[0] + minus(p, a)[1] * along[1]) / square for p in on_line}
            found += [(p, normal) for p, t in places.items() if 0 < t < 1]
            if len(on_line) == 2:  # a face on a face
                low, high = max(F(0), min(places.values())), min(F(1), max(places.values()))
                if high > low:
                    found += [((a[0] + t * along[0], a[1] + t * along[1]), normal) for t in (low, high)]
    return found


def all_contacts(bodies, apart=()):
    """[(i, j, point, normal)]: the force on i acts along the normal; j = -1 is the ground."""
    found = [(i, -1, p, np.array([0.0, 1.0])) for i, body in enumerate(bodies) for p in body if p[1] == 0]
    found = [c for c in found if (-1, c[0]) not in apart]
    for i in range(len(bodies)):
        for j in range(i + 1, len(bodies)):
            if (i, j) not in apart:
                found += [(i, j, p, n) for p, n in contacts(bodies[i], bodies[j])]
    return found


def mass_of(body, model, density=1):
    """Mass, center, moment of inertia: by Green's theorem, or all mass in equal parts in the corners."""
    p = np.array([(float(x), float(y)) for x, y in body])
    q = np.roll(p, -1, axis=0)
    part = p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]
    area = part.sum() / 2
    if model == "corners":
        center = p.mean(axis=0)
        return density * area, center, density * area * ((p - center) ** 2).sum(axis=1).mean()
    center = ((p + q) * part[:, None]).sum(axis=0) / (6 * area)
    r, s = p - center, q - center
    part = r[:, 0] * s[:, 1] - s[:, 0] * r[:, 1]
    polar = (part * (r * r + r * s + s * s).sum(axis=1)).sum() / 12
    return density * area, center, density * polar


def row(count, entries):
    """A row over all motions from (body, sign, normal, arm) of each side."""
    out = np.zeros((count, 3))
    for body, sign, normal, arm in entries:
        out[body] += sign * np.array([normal[0], normal[1], arm[0] * normal[1] - arm[1] * normal[0]])
    return out.ravel()


def rows_of(bodies, centers, free, found):
    """J: opening rates of contacts (i, j, point, normal)."""
    rows = []
    for i, j, point, normal in found:
        p = np.array([float(point[0]), float(point[1])])
        sides = [(b, s, normal, p - centers[b]) for b, s in ((i, 1.0), (j, -1.0)) if b >= 0 and free[b]]
        if sides:
            rows.append(row(len(bodies), sides))
    return np.array(rows).reshape(-1, 3 * len(bodies))


def pin_rows_of(bodies, centers, free, pins):
    rows = []
    for first, second, at in pins:
        for normal in ((1.0, 0.0), (0.0, 1.0)):
            sides = [(b, s, normal, np.array(at, dtype=float) - centers[b]) for b, s in ((first, 1.0), (second, -1.0))
                     if b >= 0 and free[b]]  # fmt: skip
            rows.append(row(len(bodies), sides))
    return np.array(rows).reshape(-1, 3 * len(bodies))


def nearest(weight, wish, ge, eq=None, bound=None):
    """min 1/2 (a - wish)^T diag(weight) (a - wish) with ge a >= bound, eq a = 0, by non-negative least squares.

    Equations go first: a = N z. For the rest, the classic least-distance problem: its dual has one unknown a row.
    Where weight is 0 nothing moves.
    """
    moves = weight > 0
    root = np.sqrt(weight[moves])
    basis = np.eye(moves.sum())
    if eq is not None and len(eq):
        basis = null_space(eq[:, moves] / root)
    out = np.zeros_like(wish)
    start = basis.T @ (wish[moves] * root)
    if len(ge):
        g = (ge[:, moves] / root) @ basis
        size = np.linalg.norm(g, axis=1)
        keep = size > 1e-13
        g = g[keep] / size[keep, None]
        b = np.zeros(len(g)) if bound is None else bound[keep] / size[keep]
        start = start + _least_distance(g, b - g @ start)
    out[moves] = (basis @ start) / root
    return out


def _least_distance(g, need):
    """min |x|^2 with g x >= need (Lawson and Hanson, chapter 23), then exactly on the rows found active."""
    if need.max(initial=0.0) <= 0.0:
        return np.zeros(g.shape[1])
    scale = np.abs(need).max()
    stacked = np.vstack([g.T, need[None, :] / scale])
    target = np.zeros(len(stacked))
    target[-1] = 1.0
    y, _ = nnls(stacked, target, maxiter=100 * len(need))
    active = y > 1e-12 * y.max()
    return np.linalg.lstsq(g[active], need[active], rcond=1e-11)[0]


# ---- random towers, all coordinates fractions

TURNS = [(F(3, 5), F(4, 5)), (F(4, 5), F(3, 5)), (F(12, 13), F(5, 13)), (F(5, 13), F(12, 13)), (F(24, 25), F(7, 25))]


@cache
def random_bodies(seed):
    """(bodies, fixed, pins): a pile grown from the ground, bodies laid, leant or hung on what is there."""
    rng = random.Random(seed)
    bodies, fixed, pins = [], [], []
    for _ in range(rng.randint(3, 14)):
        for _ in range(40):
            body = _candidate(rng, bodies)
            if min(y for _, y in body) >= 0 and not any(overlap(body, other) for other in bodies):
                bodies.append(body)
                fixed.append(rng.random() < 0.1)
                break
    if all(fixed):
        fixed[-1] = False
    if rng.random() < 0.4:
        pins = _random_pins(rng, bodies, fixed)
    return bodies, fixed, pins


def _candidate(rng, bodies):
    wide, high = F(rng.randint(4, 24), 8), F(rng.randint(3, 12), 8)
    kind = rng.choice(["flat", "flat", "flat", "polygon", "corner", "lean", "beside"])
    under = rng.choice(bodies) if bodies and rng.random() < 0.8 else None
    top = max(y for _, y in under) if under else F(0)
    x = F(rng.randint(-16, 16), 8) + (under[0][0] if under else 0)
    if kind == "polygon":
        body = _polygon(rng, wide, high)
    elif kind == "flat":
        body = box(F(0), F(0), wide, high)
    else:
        body = box(F(0), F(0), wide, high, rng.choice(TURNS))
    if kind == "lean" and under:  # its leftmost corner on the right side of another
        side, low = max(p[0] for p in under), min(p[1] for p in body)
        return shifted(body, side - min(p[0] for p in body), rng.choice([F(0), top]) - low)
    if kind == "beside" and under:  # face on face
        body = box(F(0), F(0), wide, high)
        return shifted(body, max(p[0] for p in under) + wide / 2, rng.choice([F(0), under[0][1]]) + high / 2)
    return shifted(body, x, top - min(p[1] for p in body))


def _polygon(rng, wide, high):
    """A triangle, trapezium or hexagon with a level base."""
    skew = F(rng.randint(-4, 4), 8)
    kind = rng.randint(0, 2)
    if kind == 0:
        return [(F(0), F(0)), (wide, F(0)), (wide / 2 + skew, high)]
    if kind == 1:
        return [(F(0), F(0)), (wide, F(0)), (3 * wide / 4 + skew / 2, high), (wide / 4 + skew / 2, high)]
    return [(F(0), F(0)), (wide, F(0)), (wide + high / 2, high), (wide, 2 * high), (F(0), 2 * high), (-high / 2, high)]


def _random_pins(rng, bodies, fixed):
    pins = []
    for _ in range(rng.randint(1, 3)):
        i = rng.choice([k for k, held in enumerate(fixed) if not held])
        j = rng.choice([-1, *(k for k in range(len(bodies)) if k != i)])
        at = rng.choice(bodies[i])
        pins.append((i, j, (float(at[0]) + rng.randint(-4, 4) / 8, float(at[1]) + rng.randint(0, 4) / 8)))
    return pins


def apart_of(pins):
    """Pairs that a pin takes out of the contacts, smaller number first."""
    return {(min(i, j), max(i, j)) for i, j, _ in pins}


def gauss_at_rest(bodies, fixed, pins, model, gravity):
    """(n, 3) accelerations of bodies at rest, and the opening acceleration of each contact."""
    parts = [mass_of(b, model) for b in bodies]
    centers = np.array([c for _, c, _ in parts])
    free = ~np.array(fixed)
    weight = (np.array([(m, m, i) for m, _, i in parts]) * free[:, None]).ravel()
    wish = np.tile([0.0, -gravity, 0.0], len(bodies)) * (weight > 0)
    ge = rows_of(bodies, centers, free, all_contacts(bodies, apart_of(pins)))
    eq = pin_rows_of(bodies, centers, free, pins)
    return nearest(weight, wish, ge, eq).reshape(-1, 3), ge, eq

"""Sub-steps of contact: a step is cut into short ones, each with two sweeps over the contacts instead of a solve.

Macklin, Storey, Lu, Terdiman, Chentanez, Jeschke, Mueller, "Small steps in physics simulation" (SCA 2019): for the same
work, many short steps with one sweep are more accurate than one step with many. One sub-step of length k is

    v <- v + k a + M^-1 J^T z         gravity, and the impulses z of the last sub-step (warm start)
    sweep                             u_n >= -gap / k, and overlap is pushed out
    q <- q + k v                      bodies that nothing pushes move at their mean velocity, which is exact
    sweep                             without pushing out, so that overlap does not become speed

A sweep visits the contacts once, in their order: `0 <= z_n perp u_n + bias >= 0`, and friction in a disk of radius
`mu z_n`. `bias` is `gap / k` of a gap that is open. Overlap is pushed out by a damped spring, as in the soft
constraints of Catto's "Solver2D" (2024) and Box2D 3. With its phase p per sub-step and its damping ratio d,

    bias = max(p / (2 d + p) gap / k, -push)
    z_n+ = max(s (z_n - (u_n + bias) / A_nn), 0),    s = p (2 d + p) / (1 + p (2 d + p))

Contacts and normals are those of the start of the step, gaps follow the displacements of the bodies. Since all of
`v_end - v_start` of a sub-step is due to gravity and z, the first line is `v <- 2 v_end - v_start` from the second
sub-step on: the warm start costs no sweep.

At rest a contact with the force F has the overlap `F A_nn k^2 / p^2`. 2D and 3D share the code: `axes` and `spins` are
tuples as long as linear and angular velocities, (0, 1) and (0,) or twice (0, 1, 2), whose lengths are known at compile
time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel, lean
from .rows import Floats, Ints

SPRING_PHASE = 2.0 * np.pi / 8.0  # of the spring that pushes overlap out, in radians per sub-step
DAMPING_RATIO = 10.0  # of that spring: overlap decays by 4 % per sub-step, and does not oscillate.
BIAS_SHARE = SPRING_PHASE / (2.0 * DAMPING_RATIO + SPRING_PHASE)  # of an overlap that a sub-step removes
SPRING_SOFTNESS = SPRING_PHASE * (2.0 * DAMPING_RATIO + SPRING_PHASE)
MASS_SHARE = SPRING_SOFTNESS / (1.0 + SPRING_SOFTNESS)  # s above

DEEP_OVERLAP = 0.025  # of the smallest half width: steps that begin deeper have twice as many sub-steps


class Records(NamedTuple):
    """m contacts of n bodies with D linear and A angular components of velocity; row n of bodies is the world.

    Directions are the normal and the tangents; impulses along them push the second body and, with opposite sign, the
    first. Angular velocities and arms are whitened (multiplied by the square root of the moments of inertia, or divided
    by it), linear ones are not.
    """

    body: Ints  # (m, 2)
    data: Floats  # (m, K): see `layout`
    impulse: Floats  # (m, D) of the present sub-step, along normal and tangents
    total: Floats  # (m, D) sum over the sub-steps


class Bodies(NamedTuple):
    """The n bodies, and the world."""

    # (n + 1, 2 (D + A) + 2): velocity, inverse mass, the last sub-step (from 1) in which a normal impulse acted,
    # displacement since the start
    motion: Floats
    before: Floats  # (n + 1, D + A) velocities at the start of a sub-step
    pull: Floats  # (n + 1, D + A) accelerations
    begin: Floats  # (n + 1,) times within the step before which contacts of a body do not act; empty if all are zero


class Substeps(NamedTuple):
    """How a step is cut."""

    number: int
    length: float  # time
    push: float  # largest speed at which overlap is pushed out
    soft: float  # overlap up to which the spring has its softness; at twice that s is 1


@kernel(inline="always")
def layout(axes, spins):
    """Columns of `Records.data`: arms, inverse diagonal of A, base speeds, gap, its bend, coefficient of friction.

    Directions come first, row by row. The arms of a direction are those of the first body (negative) and of the second.
    The bend is the part of the gap at the end of the step that is not proportional to displacements.
    """
    d, a = len(axes), len(spins)
    arms = d * d
    mass = arms + 2 * d * a
    base = mass + d
    return arms, mass, base, base + d, base + d + 1, base + d + 2


@kernel(inline="always")
def substep_number(usual, overlap, least):
    """The number of sub-steps of a step that begins with an overlap: deep piles carry their weight in shorter ones."""
    return 2 * usual if overlap > DEEP_OVERLAP * least else usual


@lean
def make_substeps(axes, spins, records, bodies, plan):
    """Makes the sub-steps of a step. Writes impulses and motions."""
    size = len(axes) + len(spins)
    motion, before, pull = bodies.motion, bodies.before, bodies.pull
    n, k = len(motion) - 1, plan.length
    for s in range(plan.number):
        for b in range(n):
            for c in range(size):
                v = motion[b, c]
                motion[b, c] = v + k * pull[b, c] if s == 0 else 2.0 * v - before[b, c]
                before[b, c] = v
        if s == 0:
            warm_start(axes, spins, records, bodies, plan.number)
        _sweep(axes, spins, records, bodies, plan, s, True)
        for b in range(n):
            half = 0.0 if motion[b, size + 1] == s + 1.0 else 0.5 * k
            for c in range(size):
                motion[b, size + 2 + c] += k * (motion[b, c] - half * pull[b, c])
        _sweep(axes, spins, records, bodies, plan, s, False)


@lean
def warm_start(axes, spins, records, bodies, count):
    """Applies the impulses with which the first of `count` sub-steps starts; those given are of a whole step."""
    d, a = len(axes), len(spins)
    body, data, impulse, motion, begin = records.body, records.data, records.impulse, bodies.motion, bodies.begin
    arms = layout(axes, spins)[0]
    for i in range(len(body)):
        first, second = body[i, 0], body[i, 1]
        acts = len(begin) == 0 or max(begin[first], begin[second]) == 0.0
        for row in range(d):
            z = impulse[i, row] / count if acts else 0.0
            impulse[i, row] = z
            records.total[i, row] = 0.0
            if impulse[i, 0] == 0.0:
                continue
            for c in range(d):
                motion[first, c] -= motion[first, d + a] * z * data[i, row * d + c]
                motion[second, c] += motion[second, d + a] * z * data[i, row * d + c]
            for c in range(a):
                motion[first, d + c] += z * data[i, arms + 2 * row * a + c]
                motion[second, d + c] += z * data[i, arms + (2 * row + 1) * a + c]


@lean
def _sweep(axes, spins, records, bodies, plan, s, pushes):
    """One sweep of sub-step s: the one that pushes overlap out, or the last one, whose impulses are added up."""
    d, a = len(axes), len(spins)
    body, data, impulse, motion, begin = records.body, records.data, records.impulse, bodies.motion, bodies.begin
    arms, mass, base, gap_at, bend, friction = layout(axes, spins)
    rate, now, moved = 1.0 / plan.length, (s + 0.5) * plan.length, d + a + 2
    part = (s if pushes else s + 1) / plan.number
    elapsed, square = part * plan.number * plan.length, part * part
    grown = (2.0 * s + 1.0) / (plan.number * plan.number)  # growth of the square in this sub-step
    for i in range(len(body)):
        first, second = body[i, 0], body[i, 1]
        if len(begin) > 0 and max(begin[first], begin[second]) > now:
            continue
        u, gap = data[i, base], data[i, gap_at] + elapsed * data[i, base] + square * data[i, bend]
        for c in range(d):
            e = data[i, c]
            u += e * (motion[second, c] - motion[first, c])
            gap += e * (motion[second, moved + c] - motion[first, moved + c])
        for c in range(a):
            e, f = data[i, arms + c], data[i, arms + a + c]
            u += e * motion[first, d + c] + f * motion[second, d + c]
            gap += e * motion[first, moved + d + c] + f * motion[second, moved + d + c]
        old = impulse[i, 0]
        if not pushes and gap > 0.0 and old == 0.0:  # left to the next sub-step, or to the law in the next step
            continue
        if gap >= 0.0 or not pushes or plan.push == 0.0:
            # Small bends are left out: bodies that others stop do not get as far, and would overlap.
            opens = data[i, bend] * grown if gap >= 0.0 and data[i, bend] > plan.soft else 0.0
            new = max(old - data[i, mass] * (u + (max(gap, 0.0) + opens) * rate), 0.0)
        else:
            bias = max(BIAS_SHARE * rate * gap, -plan.push)
            stiff = min(max(-gap / plan.soft - 1.0, 0.0), 1.0)
            new = max((MASS_SHARE + (1.0 - MASS_SHARE) * stiff) * (old - data[i, mass] * (u + bias)), 0.0)
        if new == 0.0 and old == 0.0:
            continue
        impulse[i, 0] = new
        if new > 0.0:
            motion[first, d + a + 1] = motion[second, d + a + 1] = s + 1.0
        # Friction: a step of each tangential impulse against its slip, then back into the disk.
        slip_s, slip_t = data[i, base + 1], 0.0
        for c in range(d):
            slip_s += data[i, d + c] * (motion[second, c] - motion[first, c])
        for c in range(a):
            slip_s += data[i, arms + 2 * a + c] * motion[first, d + c]
            slip_s += data[i, arms + 3 * a + c] * motion[second, d + c]
        along_s = impulse[i, 1] - data[i, mass + 1] * slip_s
        along_t, size = 0.0, along_s * along_s
        if d == 3:
            slip_t = data[i, base + 2]
            for c in range(d):
                slip_t += data[i, 2 * d + c] * (motion[second, c] - motion[first, c])
            for c in range(a):
                slip_t += data[i, arms + 4 * a + c] * motion[first, d + c]
                slip_t += data[i, arms + 5 * a + c] * motion[second, d + c]
            along_t = impulse[i, 2] - data[i, mass + 2] * slip_t
            size += along_t * along_t
        bound = data[i, friction] * new
        if size > bound * bound:  # contacts that stick do not wait for the root
            factor = bound / np.sqrt(size)
            along_s, along_t = factor * along_s, factor * along_t
        change, change_s, change_t = new - old, along_s - impulse[i, 1], 0.0
        impulse[i, 1] = along_s
        if d == 3:
            change_t = along_t - impulse[i, 2]
            impulse[i, 2] = along_t
        for c in range(d):
            e = change * data[i, c] + change_s * data[i, d + c]
            if d == 3:
                e += change_t * data[i, 2 * d + c]
            motion[first, c] -= motion[first, d + a] * e
            motion[second, c] += motion[second, d + a] * e
        for c in range(a):
            e = change * data[i, arms + c] + change_s * data[i, arms + 2 * a + c]
            f = change * data[i, arms + a + c] + change_s * data[i, arms + 3 * a + c]
            if d == 3:
                e += change_t * data[i, arms + 4 * a + c]
                f += change_t * data[i, arms + 5 * a + c]
            motion[first, d + c] += e
            motion[second, d + c] += f
        if not pushes:
            for row in range(d):
                records.total[i, row] += impulse[i, row]


@lean
def outcome(axes, spins, records, bodies, plan):
    """The deepest overlap at the end of the sub-steps, the residual, a speed, and the work of pushing overlap out.

    That work is the mean force of a contact times the overlap that it has lost. Makes impulses those of a whole step.
    That of a contact is `|min(A z, u + gap / k)|` along the normal, and the slip that friction within its bound would
    still change.
    """
    d, a, motion, body, data, z = len(axes), len(spins), bodies.motion, records.body, records.data, records.impulse
    arms, mass, base, gap_at, bend, friction = layout(axes, spins)
    moved, time = d + a + 2, plan.number * plan.length
    deepest, residual, lift = 0.0, 0.0, 0.0
    for i in range(len(body)):
        first, second = body[i, 0], body[i, 1]
        gap, left = data[i, gap_at] + time * data[i, base] + data[i, bend], 0.0
        for c in range(d):
            gap += data[i, c] * (motion[second, moved + c] - motion[first, moved + c])
        for c in range(a):
            gap += data[i, arms + c] * motion[first, moved + d + c]
            gap += data[i, arms + a + c] * motion[second, moved + d + c]
        deepest = min(deepest, gap)
        lift += records.total[i, 0] / time * max(min(gap, 0.0) - data[i, gap_at], 0.0)
        for row in range(d):
            u = data[i, base + row]
            for c in range(d):
                u += data[i, row * d + c] * (motion[second, c] - motion[first, c])
            for c in range(a):
                u += data[i, arms + 2 * row * a + c] * motion[first, d + c]
                u += data[i, arms + (2 * row + 1) * a + c] * motion[second, d + c]
            if row == 0:
                residual = max(residual, abs(min(z[i, 0] / data[i, mass], u + max(gap, 0.0) / plan.length)))
                if z[i, 0] == 0.0:
                    break
            else:
                bound = data[i, friction] * z[i, 0]
                new = min(max(z[i, row] - data[i, mass + row] * u, -bound), bound)
                left += ((z[i, row] - new) / data[i, mass + row]) ** 2
        residual = max(residual, np.sqrt(left))
        for row in range(d):
            z[i, row] *= plan.number
    return -deepest, residual, lift

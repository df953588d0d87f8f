"""Frictional contact: impulses of contacts under Coulomb's law, with rolling and torsional friction, in 2D and 3D.

    0 <= z_0 perp u_0 >= 0,   |z_g| <= b_g z_0,   z_g against u_g where |z_g| = b_g z_0

for each contact and each of its groups of friction rows (`rows.py`), with `u = G (v + G^T z) + base`; other bounds
than the disk are in `contact_island.py`. Islands are solved one by one. An island whose warm start is good enough costs
one residual. Small islands get a few plain sweeps, then Newton steps (`contact_newton.py`); large ones accelerated
sweeps (`contact_sweeps.py`, on threads `contact_slabs.py`), and Newton steps where the sweeps stall and a factorization
is affordable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .contact_front import sweep_front
from .contact_island import (
    BOUND,
    CONE,
    GIVEN,
    NORMAL,
    WEIGHT,
    ZERO_ROW,
    Island,
    Layout,
    Problem,
    common_size,
    distance,
    group_count,
    group_rows,
    layout,
    measure,
    part_of,
    projected,
    push,
    put_back,
    settled,
    speed_scale,
    speeds_of,
    weigh,
)
from .contact_newton import newton
from .contact_slabs import relax_large, strided
from .contact_sweeps import MOST_SWEEPS, SINGLE_TOLERANCE, relax
from .islands import all_islands
from .linalg.contact_lu import multiplications, pattern_of
from .rows import FRICTION, LOOSE_SUMS, Floats, Ints, Rows, row_push, tangent_squares
from .thresholds import (
    EASY_ISLAND_WORK,
    LARGE_ISLAND_WORK,
    LARGE_SYSTEM_WORK,
    NEWTON_ISLAND_WORK,
    NEWTON_SYSTEM_WORK,
    NEWTON_SYSTEMS,
    SMALL_ISLAND_CONTACTS,
    THREADED_SWEEPS_CONTACTS,
    TINY_ISLAND_CONTACTS,
)

PLAIN_SWEEPS = 10  # sweeps over a small island before Newton steps
# Small islands are solved to a share of the tolerance while it costs next to nothing: to FINE_SHARE where the warm
# start is worse than the tolerance, by sweeps to ROUGH_SHARE where it is better. Without these, what is left of forces
# would accelerate bodies from step to step.
FINE_SHARE, ROUGH_SHARE = 1e-2, 1e-1
FINE_WORK = 2e5  # multiplications on such islands in one call, after which the others get the tolerance asked for
WORK_ROUNDING = 1e-12  # work, relative to that of each normal impulse against its own effect, that is rounding
NEWTON_ATTEMPTS = 4  # Newton solves of an island, each ten times finer: removing their work may raise the residual


class Accuracy(NamedTuple):
    """What is asked of an answer. The residual reached may be larger than the tolerance."""

    tolerance: float  # the residual aimed for, a speed
    enough: float = 0.0  # a larger residual, with which an answer ends as soon as the rest would cost much
    fine_work: float = FINE_WORK  # multiplications to solve small islands better than asked for
    visits: int = 0  # visits of a contact on average in sweeps over moving bodies, before islands are solved
    newton_work: float = np.inf  # bound on the multiplications of Newton steps on one island, besides the usual ones


class Answer(NamedTuple):
    """Velocity after the impulses, and how good they are."""

    velocity: Floats  # (n, d) whitened
    residual: float  # largest distance of an impulse to its projected step, as a speed (m/s)
    iterations: int  # sweeps and linear systems over all islands
    work: float  # of the same, in multiplications


def solve_contact(
    blocks: Rows,
    chosen: Ints,
    velocity: Floats,
    impulse: Floats,
    accuracy: Accuracy | float,
    projection: int = CONE,
    given: Floats | None = None,
) -> Answer:
    """Impulses of the contacts `chosen` (k,), in place of `impulse` (m, r), which is also the warm start.

    `velocity` (n, d) is whitened and not modified. `accuracy` may be a tolerance alone. `projection` says where
    friction may lie (`contact_island.py`); `given` (m,) are normal impulses that act already, and add to the bounds of
    friction. Impulses do no work on any island, `sum z . u <= 0` up to rounding, whatever the tolerance.
    """
    shape = velocity.shape
    if blocks.body.shape[1] > 2 and shape[1] > 1:
        return _solve_mechanisms(blocks, chosen, velocity, impulse, accuracy, projection, given)
    blocks, velocity, z = common_size(blocks, velocity, impulse)
    lay = layout(*blocks.val.shape[1:], blocks.tangents)
    asked = accuracy if isinstance(accuracy, Accuracy) else Accuracy(accuracy)
    enough = max(asked.tolerance, asked.enough)
    visits = int(asked.visits) if blocks.body.shape[1] == 2 and len(chosen) == len(z) else 0
    asked = Accuracy(float(asked.tolerance), float(enough), float(asked.fine_work), visits, float(asked.newton_work))
    problem = Problem(blocks.body, blocks.val, blocks.base, blocks.bound, np.zeros(len(z)) if given is None else given)
    touching = (blocks.touch_ptr, blocks.touch)
    x, residual, (iterations, work), left, scales = solve_small_islands(
        lay, problem, touching, chosen, velocity, z, projection, asked
    )
    if len(left):
        whole = _whole(lay, problem, chosen, velocity, z, projection)
        _, order, ptr, _ = all_islands(whole.body, len(velocity))
        for s in left:
            effort = (LARGE_SYSTEM_WORK, min(LARGE_ISLAND_WORK, asked.newton_work))
            reached, count, more = _solve_large(lay, whole, order[ptr[s] : ptr[s + 1]], scales[s], enough, effort)
            residual, iterations, work = max(residual, reached), iterations + count, work + more
        x, z[chosen] = whole.x, whole.z
    if z is not impulse:
        impulse[chosen] = z[chosen, : impulse.shape[1]]
    if x.shape != shape:
        x = x.reshape(shape) if x.size == shape[0] * shape[1] else x[:, : shape[1]].copy()
    return Answer(x, float(residual), int(iterations), float(work))


def _solve_mechanisms(
    blocks: Rows,
    chosen: Ints,
    velocity: Floats,
    impulse: Floats,
    accuracy: Accuracy | float,
    projection: int,
    given: Floats | None,
) -> Answer:
    """What `solve_contact` does for rows of more than two bodies: islands without such a row are solved as elsewhere.

    Together, an island of 70 contacts without joints missed the tolerance beside a mechanism that it did not touch.
    """
    body = blocks.body[chosen]
    wide = (body[:, 2:] >= 0).any(axis=1)
    if wide.any() and not wide.all():
        _, _, ptr, number = all_islands(body, len(velocity))
        jointed = np.zeros(len(ptr) - 1, np.bool_)
        jointed[number[wide]] = True
        wide = jointed[number]
    if wide.all():
        return _solve_reduced(blocks, chosen, velocity, impulse, accuracy, projection, given)
    body, val = np.ascontiguousarray(blocks.body[:, :2]), np.ascontiguousarray(blocks.val[:, :2])
    narrow = blocks._replace(body=body, val=val)
    asked = accuracy._replace(visits=0) if isinstance(accuracy, Accuracy) else accuracy
    one = solve_contact(narrow, chosen[~wide], velocity, impulse, asked, projection, given)
    if not wide.any():
        return one
    two = _solve_reduced(blocks, chosen[wide], one.velocity, impulse, accuracy, projection, given)
    return Answer(two.velocity, max(one.residual, two.residual), one.iterations + two.iterations, one.work + two.work)


def _solve_reduced(
    blocks: Rows,
    chosen: Ints,
    velocity: Floats,
    impulse: Floats,
    accuracy: Accuracy | float,
    projection: int,
    given: Floats | None,
) -> Answer:
    """What `solve_contact` does for contacts of mechanisms: a warm start that is good enough stays; else the answer is
    found on the motions that the contacts can cause."""
    from .contact_reduced import expanded, reduced, row_places, single_components, with_places  # late: few worlds

    (place, count), (_, width, _, d) = row_places(blocks), blocks.val.shape
    asked = accuracy if isinstance(accuracy, Accuracy) else Accuracy(accuracy)
    asked = Accuracy(float(asked.tolerance), float(max(asked[:2])), float(asked.fine_work), 0, float(asked.newton_work))
    bound, own = blocks.bound[chosen], np.zeros(len(chosen)) if given is None else given[chosen]
    z, rows = with_places(impulse, chosen, place, count), (blocks.body, blocks.val, blocks.base)
    if z.any():
        single, lay = single_components(*rows, chosen, place, count), layout(width * d, count, 1, 2)
        problem, flat = Problem(single.body, single.val, single.base, bound, own), velocity.reshape(-1, 1)
        good, x, kept, residual = _warm(lay, problem, flat, z, projection, asked)
        if good:
            impulse[chosen] = kept[:, place]
            return Answer(x.reshape(velocity.shape), residual, 0, 2.0 * single.val.size)
    single, start, motions = reduced(*rows, chosen, place, count, velocity)
    answer = solve_contact(
        Rows(single.body, single.val, single.base, bound, 2), np.arange(len(chosen)), start, z, asked, projection, own
    )
    impulse[chosen] = z[:, place]
    return answer._replace(velocity=expanded(motions, start, answer.velocity, velocity))


@kernel
def _warm(lay, problem, velocity, impulse, projection, accuracy):
    """Whether all islands are solved at the warm start; velocities, impulses and the largest residual there."""
    whole = _whole(lay, problem, np.arange(len(impulse)), velocity, impulse, projection)
    _, _, ptr, number = all_islands(whole.body, len(velocity))
    residuals, _, todo = _first_residuals(lay, whole, number, ptr, accuracy)
    return len(todo) == 0, whole.x, whole.z, residuals.max()


@kernel
def are_solved(lay, problem, chosen, x, impulse, projection, accuracy):
    """Whether impulses after which velocities are x solve all islands; the impulses (k, r), and the largest residual.

    x need not be what the rows give: joints may have acted as well.
    """
    whole = _whole(lay, problem, chosen, x, impulse, projection)
    whole.x[:] = x
    _, _, ptr, number = all_islands(whole.body, len(x))
    residuals, _, todo = _first_residuals(lay, whole, number, ptr, accuracy)
    return len(todo) == 0, whole.z, residuals.max()


def friction_residual(blocks: Rows, velocity: Floats, impulse: Floats, projection: int) -> float:
    """The residual, a speed, of the friction among the impulses (m, r) of all contacts, whose normal impulses stay.

    There is no friction where no body can move along the tangents.
    """
    blocks, velocity, z = common_size(blocks, velocity, impulse)
    return float(_friction_residual(layout(*blocks.val.shape[1:], blocks.tangents), blocks, velocity, z, projection))


@kernel
def _friction_residual(lay, rows, velocity, impulse, projection):
    x, z, given, squares = velocity.copy(), impulse.copy(), np.empty(len(impulse)), tangent_squares(rows)
    val, base, bound = rows.val.copy(), rows.base.copy(), rows.bound.copy()
    for i in range(len(z)):
        if z[i, 0] != 0.0:
            row_push(rows, x, i, 0, z[i, 0])
        given[i], z[i, 0], base[i, 0] = max(z[i, 0], 0.0), 0.0, 0.0
        if squares[i].max() <= ZERO_ROW * rows.diag[i]:
            bound[i] = 0.0
        for side in range(val.shape[1]):
            for c in range(val.shape[3]):
                val[i, side, 0, c] = 0.0
    problem = Problem(rows.body, val, base, bound, given)
    whole = _whole(lay, problem, np.arange(len(z)), x, z, projection)
    return measure(lay, whole, whole.z, whole.x)[0]


def _solve_large(
    lay: Layout, whole: Island, mine: Ints, scale: float, tolerance: float, effort: tuple[float, float]
) -> tuple[float, int, float]:
    """Solves one large island by sweeps, then by Newton steps; returns its residual, the number and the work of both.

    `scale` is the order of magnitude of its speeds, `effort` that of the Newton steps.
    """
    residual, count, island, mine = relax_large(lay, whole, mine, scale, tolerance)
    work = count * _sweep_work(lay, len(mine))
    if residual > tolerance:
        residual, more, spent = _solve_small(lay, island, tolerance, 0, effort)
        count, work = count + more, work + spent
    put_back(island, mine, whole)
    return residual, count, work


@kernel(inline="always")
def _sweep_work(lay, contacts):
    """Multiplications of a sweep."""
    return 2.0 * contacts * len(lay.sides) * len(lay.rows) * len(lay.axes)


@kernel
def solve_small_islands(lay, problem, touching, chosen, velocity, impulse, projection, accuracy):
    """Solves all islands except large ones, in place of the impulses: velocity, residual, iterations and their work,
    islands left, and for each island the order of magnitude of its speeds."""
    whole = _whole(lay, problem, chosen, velocity, impulse, projection)
    sweeps = sweep_front(lay, whole, touching, accuracy.tolerance, accuracy.visits) if accuracy.visits else 0
    _, order, ptr, number = all_islands(whole.body, len(velocity))
    residuals, scales, todo = _first_residuals(lay, whole, number, ptr, accuracy)
    iterations, work, left, worst = sweeps, sweeps * _sweep_work(lay, len(chosen)), todo, 0.0
    if len(todo):
        more, spent, left = _solve_islands(lay, whole, (order, ptr), todo, residuals, scales, accuracy)
        iterations += more
        work += spent
    for p in range(len(chosen)):
        for s in range(len(lay.rows)):
            impulse[chosen[p], s] = whole.z[p, s]
    residuals[left] = 0.0
    for residual in residuals:
        worst = max(worst, residual)
    return whole.x, worst, (iterations, work), left, scales


@kernel(fastmath=LOOSE_SUMS, slp=True)
def _whole(lay, problem, chosen, velocity, impulse, projection):
    """All chosen contacts and all bodies. Friction impulses without a bound are zero."""
    k, n, r, w = len(chosen), len(velocity), len(lay.rows), len(lay.sides)
    contacts, body, z = np.empty(k, np.int64), np.empty((k, w), np.int64), np.empty((k, r))
    weight = np.empty((k, WEIGHT + 3 * group_count(lay)))
    for p in range(k):
        i = chosen[p]
        contacts[p], z[p, 0] = i, impulse[i, 0]
        for side in range(w):
            body[p, side] = problem.body[i, side]
        weigh(lay, problem, i, weight[p])
        for g in range(group_count(lay)):
            first, last = group_rows(lay, g)
            for s in range(first, last):
                z[p, s] = impulse[i, s] if weight[p, WEIGHT + 3 * g] > 0.0 else 0.0
    x = velocity.copy()
    whole = Island(projection, contacts, body, np.arange(n), problem.val, problem.base, weight, z, velocity, x)
    push(lay, whole, z, x)
    return whole


@kernel(fastmath=LOOSE_SUMS, slp=True)
def _first_residuals(lay, whole, number, ptr, accuracy):
    """For each island its residual at the warm start and the order of magnitude of the speeds that impulses cause or
    have to change; and the islands to solve."""
    count, z, weight = len(ptr) - 1, whole.z, whole.weight
    residuals, works, sizes, scales = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count)
    u = np.empty(len(lay.rows))
    for p in range(len(z)):
        s, acts = number[p], weight[p, GIVEN] != 0.0
        for row in range(len(lay.rows)):
            acts |= z[p, row] != 0.0
        if not acts:  # nothing bounds its friction: its other rows need not be read
            speed = _row_speed(lay, whole, p, 0)
            residuals[s] = max(residuals[s], -speed)
            if weight[p, NORMAL] > 0.0:
                scales[s] = max(scales[s], -speed)
            continue
        speeds_of(lay, whole, whole.x, p, u)
        for row in range(len(lay.rows)):
            works[s] += z[p, row] * u[row]
        if weight[p, NORMAL] > 0.0:
            sizes[s] += z[p, 0] ** 2 / weight[p, NORMAL]
            scales[s] = max(scales[s], abs(z[p, 0]) / weight[p, NORMAL], -u[0])
        residuals[s] = max(residuals[s], distance(lay, whole.projection, weight[p], z[p], u))
    if accuracy.visits:
        _halve_gain(lay, whole, number, works, sizes)
    rough = ROUGH_SHARE if accuracy.enough == accuracy.tolerance and accuracy.fine_work > 0.0 else 1.0
    todo, used = np.empty(count, np.int64), 0
    for s in range(count):
        share = rough if ptr[s + 1] - ptr[s] <= SMALL_ISLAND_CONTACTS else 1.0
        if residuals[s] > share * accuracy.tolerance or works[s] > WORK_ROUNDING * sizes[s]:
            todo[used] = s
            used += 1
    return residuals, scales, todo[:used]


@kernel(fastmath=LOOSE_SUMS)
def _halve_gain(lay, whole, number, works, sizes):
    """Replaces the work `z . u` on islands that gain by the gain of kinetic energy, `z . (u + u before) / 2`.

    At an impact it is enough that this is not positive; impulses that bodies at rest keep getting must do no work.
    """
    gaining, u = works > WORK_ROUNDING * sizes, np.empty(len(lay.rows))
    for s in range(len(works)):
        if gaining[s]:
            works[s] *= 0.5
    for p in range(len(whole.z)):
        if gaining[number[p]] and whole.z[p, 0] + whole.weight[p, GIVEN] > 0.0:
            speeds_of(lay, whole, whole.before, p, u)
            for row in range(len(lay.rows)):
                works[number[p]] += 0.5 * whole.z[p, row] * u[row]


@kernel
def _solve_islands(lay, whole, islands, todo, residuals, scales, accuracy):
    """Solves the islands `todo` except large ones; returns the iterations, their work, and the islands left."""
    tolerance, enough, fine_work, _, most_work = accuracy
    order, ptr = islands
    newton_work = min(NEWTON_ISLAND_WORK if enough == tolerance else EASY_ISLAND_WORK, most_work)
    label = np.full(len(whole.x), -1, np.int64)
    left, used, iterations, spent, work = np.empty(len(todo), np.int64), 0, 0, 0.0, 0.0
    for s in todo:
        mine = order[ptr[s] : ptr[s + 1]]
        k = len(mine)
        loose = tolerance > SINGLE_TOLERANCE * scales[s]
        fine = loose and spent < fine_work and k <= SMALL_ISLAND_CONTACTS
        by_newton = k <= TINY_ISLAND_CONTACTS or len(lay.sides) > 2 or (k <= SMALL_ISLAND_CONTACTS and not loose)
        by_sweeps = not by_newton and loose and k < THREADED_SWEEPS_CONTACTS
        if residuals[s] <= enough or by_newton or by_sweeps:
            mine = strided(mine, np.array([0, k])) if k > TINY_ISLAND_CONTACTS else mine
            island = part_of(lay, whole, mine, label)
            if residuals[s] <= tolerance * (ROUGH_SHARE if fine else 1.0) or not (by_newton or by_sweeps):
                residuals[s] = settled(lay, island)  # a warm start that is good enough must not do work either
            if fine and residuals[s] > tolerance * ROUGH_SHARE:
                # Sweeps in order would break the symmetry of redundant contacts; Newton steps keep it.
                aim, plain = (
                    (ROUGH_SHARE, PLAIN_SWEEPS)
                    if residuals[s] <= tolerance
                    else (FINE_SHARE, PLAIN_SWEEPS if k == 1 else 0)
                )
                effort = (fine_work, fine_work - spent)
                residuals[s], count, more = _solve_small(lay, island, aim * tolerance, plain, effort)
                iterations += count
                spent += more
            if residuals[s] > tolerance and by_newton:
                plain = PLAIN_SWEEPS if k == 1 or (loose and not fine) else 0
                effort = (NEWTON_SYSTEM_WORK, newton_work)
                residuals[s], count, more = _solve_small(lay, island, tolerance, plain, effort)
                iterations += count
                work += more
            elif residuals[s] > tolerance and by_sweeps:
                residuals[s], count = relax(lay, island, np.array([[0, k], [0, len(island.x)]]), tolerance, MOST_SWEEPS)
                iterations += count
                work += count * _sweep_work(lay, k)
            put_back(island, mine, whole)
        if residuals[s] > enough and len(lay.sides) == 2:
            left[used] = s
            used += 1
    return iterations, work + spent, left[:used]


@kernel
def _solve_small(lay, island, tolerance, plain, effort):
    """Solves one island by plain sweeps and Newton steps, in place of its impulses and velocities.

    At most `plain` sweeps come first. Newton steps are taken where a system costs at most `effort[0]` multiplications,
    about `effort[1]` together. Returns the residual, the number of sweeps and systems, and the work.
    """
    count, change, spent, size = 0, np.inf, 0.0, len(island.z) * len(lay.sides) * len(lay.rows) * len(lay.axes)
    # Sweeps depend on the order of the contacts. Where Coulomb's law allows several answers they break the symmetry of
    # the problem, so that exact answers of several contacts begin with Newton steps.
    if plain and (len(island.z) == 1 or tolerance > SINGLE_TOLERANCE * speed_scale(lay, island)):
        while count < plain and change > 0.3 * tolerance:
            change = _plain_sweep(lay, island)
            count += 1
            spent += 2.0 * size
    residual, target = settled(lay, island), tolerance
    if residual > tolerance and len(island.members):
        pattern = pattern_of(lay.axes, island.body, len(island.members))
        cost = multiplications(lay.axes, pattern) + 4.0 * size * len(lay.axes)
        for _ in range(NEWTON_ATTEMPTS if cost <= effort[0] else 0):
            systems = min(NEWTON_SYSTEMS, (effort[1] - spent) / cost)
            if systems < 1.0:
                break
            more = newton(lay, island, pattern, target, systems)
            count += more
            spent += more * cost
            residual = settled(lay, island)
            if residual <= tolerance:
                break
            target *= 0.1
    return residual, count, spent


@kernel
def _plain_sweep(lay, island):
    """One Gauss-Seidel sweep, for any number of bodies per contact; returns the largest change of a speed."""
    worst, z = 0.0, island.z
    for p in range(len(z)):
        weight = island.weight[p]
        w = weight[NORMAL]
        if w > 0.0:
            new = max(z[p, 0] - _row_speed(lay, island, p, 0) * w, 0.0)
            worst = max(worst, abs(new - z[p, 0]) / w)
            _push_row(lay, island, p, 0, new)
        for g in range(group_count(lay)):
            first, last = group_rows(lay, g)
            w, bound = weight[WEIGHT + 3 * g], weight[BOUND + 3 * g] * (max(z[p, 0], 0.0) + weight[GIVEN])
            if w == 0.0:
                continue
            one = z[p, first] - _row_speed(lay, island, p, first) * w
            two = z[p, last - 1] - _row_speed(lay, island, p, last - 1) * w if last - first == 2 else 0.0
            one, two = projected(island.projection if g == FRICTION else CONE, bound, one, two)
            worst = max(worst, abs(one - z[p, first]) / w)
            _push_row(lay, island, p, first, one)
            if last - first == 2:
                worst = max(worst, abs(two - z[p, last - 1]) / w)
                _push_row(lay, island, p, last - 1, two)
    return worst


@kernel(inline="always")
def _row_speed(lay, island, p, s):
    i = island.contacts[p]
    total = island.base[i, s]
    for side in range(len(lay.sides)):
        b = island.body[p, side]
        if b >= 0:
            for c in range(len(lay.axes)):
                total += island.val[i, side, s, c] * island.x[b, c]
    return total


@kernel(inline="always")
def _push_row(lay, island, p, s, impulse):
    """Sets the impulse of row s of contact p."""
    i, change = island.contacts[p], impulse - island.z[p, s]
    island.z[p, s] = impulse
    for side in range(len(lay.sides)):
        b = island.body[p, side]
        if b >= 0:
            for c in range(len(lay.axes)):
                island.x[b, c] += island.val[i, side, s, c] * change

"""Energy tracking: impulses in small increments, with the energy that each contact has stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel, lean
from ..problem.contacts import FINISHED_INELASTICALLY, HISTORY, Contacts, Impulses
from ..solvers.rows import Floats
from .contact_points import N1, N2, NN, SCHUR, T11, T12, T22, Sums, apply, no_impulses, normal_speed, points, slip
from .heap import heap_add
from .inelastic import finish_inelastically
from .law import TANG_2014, Law, affordable_impulses
from .stick_slip import SLIDING_FLOOR, slide, stick, sticking_offset, tangential_work
from .worst_first import most_entries, next_worst, requeue, with_room, worst_first

DONE, DAMPED, STUCK = 0, 1, 2
INCREMENTS = ("island", "contact")
# An increment of a sliding contact ends where its slip stops, unless that takes less than this share of its normal
# impulse: then the contact sticks, or friction is reduced such that the slip does not reverse.
SHORT_SLIDE = 0.05
INCREMENT_PARTS = 32  # of one increment
WHOLE_INCREMENT = 1e-9  # share of an increment that does not need another part
# Compression stops at this share of an increment, and the next repeat resolves the approach that is left. This saves
# only the long tail of a relaxation, which for a hundred balls against a wall is half of the work.
COMPRESSED_SHARE = 1e-3
SCANNED_CONTACTS = 64  # up to which the fastest approach is found by looking at all contacts, faster than by a heap
# Compression spreads momentum along a chain by diffusion: a cradle of n balls takes about n^2.5 impulses, 3.7 million
# for 200 balls. Longer chains are finished inelastically after about two seconds. A contact that is alone takes 2 lam.
MOST_IMPULSES, MOST_IMPULSES_PER_CONTACT = 4_000_000, 300


@dataclass(frozen=True)
class ETM(Law):
    """Three stages, repeated until nothing approaches (Tang 2014, algorithms 1 and 2).

    1. Compression: the contact with the fastest approach gets the impulse that raises u by its increment, and stores
       `W_i -= p_n (u + du/2)`, minus the work of the normal impulse.
    2. Loss: `W_i <- e_i^2 W_i` (Stronge).
    3. Release: sweeps over the contacts with W > 0, each raising its u by one increment, or by as much as W allows.

    The increment of an island is its fastest approach at the start of the repeat, divided by `lam`. (With increments
    from the approach of each contact, a contact that starts almost at rest and is struck later needs an unbounded
    number of them.) A sliding contact keeps its direction of slip within an increment, and an increment ends where the
    slip stops; then the contact sticks or slips the other way. Where sliding cannot raise u, `n^T K (n + mu q) <= 0`
    (jam), the increment lowers u until the slip has stopped. Positive work of a sticking tangential impulse is taken
    from W, so that K + sum W never rises. After `max_repeats` repeats e = 0.

    lam: increments in which an approach is stopped, Tang's lambda.
    increment: "island", or "contact" for the increment of eq. 62 as printed: the approach of each contact when it is
    first served in a repeat, divided by `lam`.
    history: whether the result holds the normal speed, the work and the stored energy of every impulse.
    tolerance: approach speed that counts as none, relative to the fastest approach.
    max_repeats: repeats of the three stages after which restitution is set to 0.
    max_increments: bound on the impulses. 0 means about a second of work for up to 30 contacts, a fifth of that in a
    run. It also means at most four million impulses, or 300 per contact if that is more.
    """

    name: ClassVar[str] = "etm"
    title: ClassVar[str] = "energy tracking method"
    paper: ClassVar = TANG_2014
    cost: ClassVar[str] = (
        "many small increments of one contact at a time, n^2.5 for a chain; at most 300 repeats, 4 million increments"
    )
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "KIN", "MOM", "ONE", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("stronge",)
    one_by_one: ClassVar[bool] = True
    own_friction: ClassVar[bool] = True
    has_history: ClassVar[bool] = True

    lam: int = 30
    increment: str = "island"
    history: bool = False
    tolerance: float = 1e-10
    max_repeats: int = 300
    max_increments: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.lam, bool) or not isinstance(self.lam, int | np.integer) or self.lam < 1:
            raise ProblemError("lam", self.lam, "a whole number of steps, 1 or more")
        if self.increment not in INCREMENTS:
            raise ProblemError.unknown("increment", self.increment, INCREMENTS)
        if self.max_repeats < 1:
            raise ProblemError("max_repeats", self.max_repeats, "1 or more")

    def impulses(self, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
        p = points(contacts)
        bound = self.max_increments or most_impulses(contacts.count, affordable_impulses(p.rows, p.t, tolerance))
        tol = self.approach_left(contacts, tolerance)
        options = (float(self.lam), tol, self.max_repeats, bound, self.increment == "contact", bool(self.history))
        given = (contacts.island_labels(), contacts.velocity, contacts.restitution)
        (x, _, total, _), count, repeats, state, record = _track(p, *given, options)
        normal, tangent = total[:, 0].copy(), total[:, 1 : 1 + p.t].copy() if p.t else None
        history = np.array([tuple(row) for row in record[:count]], HISTORY) if self.history else None
        if state == STUCK:
            reason = f"etm reached its bound after {count} impulses in {repeats} repeats"
            return replace(finish_inelastically(contacts, normal, x, count, reason), tangent=tangent, history=history)
        exact = float(np.finfo(float).eps)
        result = Impulses(normal=normal, tangent=tangent, iterations=count, residual=exact, history=history)
        if state == DAMPED:
            message = f"etm set restitution to 0 after {self.max_repeats} repeats of its three stages"
            return replace(result, status=FINISHED_INELASTICALLY, messages=(message,))
        return result


def most_impulses(contacts: int, affordable: int) -> int:
    """The bound on the impulses, given that on their work."""
    return min(affordable, max(MOST_IMPULSES, MOST_IMPULSES_PER_CONTACT * contacts))


class _Tracked(NamedTuple):
    """Where the law stands."""

    sums: Sums
    store: Floats  # (m,) energy stored by each contact
    step: Floats  # (m,) increments of the normal speed


@kernel
def _track(points, island, velocity, restitution, options):
    """The repeats. Returns velocity and impulses, number of impulses, repeats, how the iteration ended, history."""
    steps, tol, repeats, bound, single, keeps = options
    m = len(points.rows.body)
    at = _Tracked(no_impulses(velocity, m), np.zeros(m), np.zeros(m))
    fastest, record = np.zeros(island.max() + 1), np.empty((1024 if keeps else 0, 6))
    count, repeat = 0, 0
    while True:
        fastest[:] = 0.0
        for i in range(m):
            fastest[island[i]] = max(fastest[island[i]], -normal_speed(points, i, at.sums.x))
        top = fastest.max()
        if top <= tol:
            return at.sums, count, repeat, DONE if repeat <= repeats else DAMPED, record
        # The repeats without restitution are a relaxation: each reduces the approach a thousandfold, so ten are enough.
        if count >= bound or repeat >= repeats + 10:
            return at.sums, count, repeat, STUCK, record
        repeat += 1
        at.step[:] = fastest[island] / steps
        rest = np.maximum(tol, COMPRESSED_SHARE * at.step)
        if single:
            at.step[:] = 0.0
        count, record = _compress(points, at, rest, steps, bound, count, record)
        for i in range(m):
            at.store[i] *= restitution[i] * restitution[i] if repeat <= repeats else 0.0
        count, record = _release(points, at, bound, count, record)
        at.store[:] = 0.0


@kernel
def _compress(points, at, rest, steps, bound, count, record):
    """Stage 1: raises the fastest approach by increments until none is below -rest.

    Increments that are zero are set when their contact is first served. Returns the number of impulses and the history.
    """
    full = True
    if len(rest) <= SCANNED_CONTACTS:
        key = np.empty(len(rest))
        while full:
            count, full = _compress_few(points, at, rest, steps, bound, count, key, record)
            record = _longer(record, count) if full else record
        return count, record
    heap, size = worst_first(points, at.sums.x, rest)
    while full:
        count, size, full = _compress_in(points, at, steps, bound, count, heap, size, record)
        if full and 0 < len(record) < count + INCREMENT_PARTS:
            record = _longer(record, count)
        elif full:
            heap = with_room(heap, size)
    return count, record


@lean
def _compress_in(points, at, steps, bound, count, heap, size, record):
    """Stage 1 while heap and history have room: the number of impulses, the size of the heap, whether one is full."""
    x, step = at.sums.x, at.step
    while count < bound:
        i, u, size = next_worst(points, x, heap, size)
        if i < 0:
            break
        if size + most_entries(points, i) > len(heap.keys) or 0 < len(record) < count + INCREMENT_PARTS:
            heap.queued[i] = u
            return count, heap_add(heap.keys, heap.items, size, u, i), True
        if step[i] == 0.0:
            step[i] = -u / steps
        count = _serve(points, at, i, u, min(step[i], -u), False, count, record)
        size = requeue(points, i, x, heap, size)
    return count, size, False


@lean
def _compress_few(points, at, rest, steps, bound, count, key, record):
    """Stage 1 of few contacts while the history has room: the number of impulses, and whether it is full.

    `key` (m,) is the speed of each violator, infinite for others: the order of impulses is that of the heap.
    """
    rows, x, step = points.rows, at.sums.x, at.step
    for j in range(len(key)):
        u = normal_speed(points, j, x)
        key[j] = u if u < -rest[j] else np.inf
    while count < bound:
        i = 0
        for j in range(1, len(key)):
            i = j if key[j] < key[i] else i
        u = key[i]
        if u == np.inf or 0 < len(record) < count + INCREMENT_PARTS:
            return count, u < np.inf
        if step[i] == 0.0:
            step[i] = -u / steps
        count = _serve(points, at, i, u, min(step[i], -u), False, count, record)
        for side in range(rows.body.shape[1]):
            b = rows.body[i, side]
            if b >= 0:
                for k in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                    j = rows.touch[k]
                    u = normal_speed(points, j, x)
                    key[j] = u if u < -rest[j] else np.inf
    return count, False


@kernel
def _release(points, at, bound, count, record):
    """Stage 3: sweeps in the order of contacts until no energy is stored. Returns the number of impulses, history."""
    full = np.flatnonzero(at.store > 0.0)
    while len(full) > 0 and count < bound:
        while 0 < len(record) < count + INCREMENT_PARTS * len(full):
            record = _longer(record, count)
        count, left = _release_in(points, at, bound, count, full, record)
        full = full[:left]
    return count, record


@lean
def _release_in(points, at, bound, count, full, record):
    """Stage 3 on the contacts `full`, which is overwritten, while the history has room; contacts that are left."""
    left = len(full)
    while left > 0 and count < bound and not 0 < len(record) < count + INCREMENT_PARTS * left:
        kept = 0
        for k in range(left):
            i = full[k]
            u = normal_speed(points, i, at.sums.x)
            count = _serve(points, at, i, u, at.step[i], True, count, record)
            if at.store[i] > 0.0:
                full[kept] = i
                kept += 1
        left = kept
    return count, left


@lean
def _serve(points, at, i, u, du, release, count, record):
    """Raises the normal speed u of contact i by du, or by what its stored energy allows; the number of impulses.

    Friction divides an increment into parts: see `_steady`. Contacts share their energy in proportion to their
    increments, so an increment that ended with its first part would change the answer for every lambda. A jam lowers u
    and ends it.
    """
    left, x, store = du, at.sums.x, at.store
    smooth, p1, p2 = points.t == 0 or points.friction[i] == 0.0, 0.0, 0.0
    for _ in range(INCREMENT_PARTS):
        if smooth:
            pn, store[i] = _frictionless(points.table[i, NN], u, left, store[i], release)
        else:
            pn, p1, p2, store[i] = _increment(points, i, u, x, left, du, store[i], release)
        apply(points, i, pn, p1, p2, at.sums)
        after = normal_speed(points, i, x)
        if len(record) > 0:
            _note(record, count, i, 3.0 if release else 1.0, u, after, pn, store[i])
        count += 1
        left -= after - u
        if after <= u or left <= WHOLE_INCREMENT * du or (release and store[i] <= 0.0):
            break
        u = after
    return count


@lean(inline="always")
def _frictionless(nn, u, du, store, release):
    """The normal impulse of an increment and the stored energy after it (eqs. 54, 55, and the limit of eq. 49)."""
    pn = du / nn
    work = pn * (u + 0.5 * du)
    if not release or work < store:
        return pn, store - work
    return _using_up(u, nn, store), 0.0


@kernel(inline="always")
def _note(record, row, i, stage, u, after, impulse, store):
    """Writes a row of the history: contact, stage, normal speed before and after, normal work, stored energy."""
    record[row, 0], record[row, 1], record[row, 2], record[row, 3] = i, stage, u, after
    record[row, 4], record[row, 5] = 0.5 * impulse * (u + after), store


@kernel(inline="always")
def _longer(record, count):
    """The history, if there is one, with twice the room."""
    longer = np.empty((2 * len(record), 6))
    if len(record) > 0:
        longer[:count] = record[:count]
    return longer


@lean
def _increment(points, i, u, x, du, unit, store, release):
    """One impulse at contact i, (pn, p1, p2), that raises u by du or a part of it, and the stored energy afterwards.

    `unit` is the whole increment. On release the change is limited so that the stored energy ends at exactly zero (eq.
    49).
    """
    k = points.table[i]
    mu = points.friction[i]
    s1, s2 = slip(points, i, x)
    size = np.sqrt(s1 * s1 + s2 * s2)
    # A slip that is not about to stop could only be stopped by a normal impulse much larger than an increment. On its
    # way the contact would slide, and the normal work be another one.
    slow = abs(sticking_offset(k, s1, s2)) <= unit
    if slow:
        pn, p1, p2, after = _sticking(k, mu, u, s1, s2, du, store, release)
        if after >= 0.0:
            return pn, p1, p2, after
    if size > 1e-12 * du:
        pn, response = _steady(k, mu, s1 / size, s2 / size, size, du, unit)
        if pn > 0.0:
            work = pn * (u + 0.5 * response * pn)
            if not release or work < store:
                return pn, -mu * s1 / size * pn, -mu * s2 / size * pn, store - work
            pn = _using_up(u, response, store)
            return pn, -mu * s1 / size * pn, -mu * s2 / size * pn, 0.0
    if not slow:
        pn, p1, p2, after = _sticking(k, mu, u, s1, s2, du, store, release)
        if after >= 0.0:
            return pn, p1, p2, after
    return _sliding(k, mu, u, s1, s2, du, store, release)


@kernel(inline="always")
def _steady(k, mu, d1, d2, size, du, unit):
    """The normal impulse of an increment that slides along (d1, d2) from beginning to end, and `n^T K (n + mu q)`.

    It raises u by du, or ends where the slip of size `size` stops; in a jam it lowers u. It is 0 if the slip stops too
    soon for that. In a jam slip always falls: `(n + mu q)^T K (n + mu q) >= 0`.
    """
    cross = -(k[N1] * d1 + k[N2] * d2)
    along = k[T11] * d1 * d1 + 2.0 * k[T12] * d1 * d2 + k[T22] * d2 * d2
    response, rate = k[NN] + mu * cross, cross + mu * along
    whole = du / response if response > 0.0 else np.inf
    stop = size / rate if rate > 0.0 else np.inf
    usual = min(whole, unit / k[NN])
    if stop < SHORT_SLIDE * usual:
        return 0.0, response
    pn = min(whole, stop)
    # A long way to the end of the slip is divided, since in 3D its direction changes on the way.
    if response <= SLIDING_FLOOR * k[NN] or pn > usual:
        pn = min(pn, unit / k[NN])
    return (pn, response) if pn < np.inf else (0.0, response)


@lean
def _sliding(k, mu, u, s1, s2, du, store, release):
    """The sliding impulse of an increment and the stored energy after it (eqs. 54, 55, and the limit of eq. 49)."""
    while True:
        f1, f2 = slide(k, mu, s1, s2, du) if mu > 0.0 else (0.0, 0.0)
        response = k[NN] + k[N1] * f1 + k[N2] * f2  # n^T K (n + mu q)
        pn = du / response
        work = pn * (u + 0.5 * du)
        if not release or work < store:
            return pn, f1 * pn, f2 * pn, store - work
        pn = _using_up(u, response, store)
        # A smaller change may allow more friction than the whole increment: repeat with that change.
        reduced = f1 * f1 + f2 * f2 < (1.0 - 1e-12) * mu * mu
        if not reduced or response * pn > 0.999 * du:
            return pn, f1 * pn, f2 * pn, 0.0
        du = response * pn


@kernel(inline="always")
def _using_up(u, response, store):
    """The impulse p > 0 whose work `u p + response p^2 / 2` is the whole stored energy, without cancellation."""
    root = np.sqrt(u * u + 2.0 * response * store)
    return 2.0 * store / (u + root) if u > 0.0 else (root - u) / response


@lean
def _sticking(k, mu, u, s1, s2, du, store, release):
    """The sticking impulse of an increment and the stored energy after it, which is negative if it cannot stick.

    The normal work is taken from the stored energy, and so is tangential work where it is positive: that of a slip that
    reverses within the increment, although friction at each instant only dissipates.
    """
    emptied = False
    if release:
        # Work (du + b)(u + du/2) / schur equal to the stored energy, with b the sticking offset. The form without
        # cancellation is needed to release the last of it.
        b = sticking_offset(k, s1, s2)
        root, shift = np.sqrt((u - 0.5 * b) ** 2 + 2.0 * k[SCHUR] * store), u + 0.5 * b
        cap = root - shift if shift <= 0.0 else 2.0 * (k[SCHUR] * store - b * u) / (root + shift)
        if cap <= du:
            du, emptied = cap, True
    for _ in range(2):
        pn, p1, p2 = stick(k, s1, s2, du)
        if du < 0.0 or pn <= 0.0 or p1 * p1 + p2 * p2 > mu * mu * pn * pn:
            return 0.0, 0.0, 0.0, -1.0
        normal = pn * (u + 0.5 * du)
        extra = tangential_work(k, s1, s2, pn, p1, p2)
        if extra <= 0.0:
            return pn, p1, p2, 0.0 if emptied else store - normal
        total = normal + extra
        if not release or (total < store and not emptied):
            return pn, p1, p2, store - total
        # The kinetic energy of a sticking contact is (u + du)^2 / (2 schur) and a constant.
        square = (u + du) ** 2 + 2.0 * k[SCHUR] * (store - total)
        du, emptied = np.sqrt(max(square, 0.0)) - u, True
    return pn, p1, p2, 0.0

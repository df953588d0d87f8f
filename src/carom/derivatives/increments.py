"""The increments of etm, with friction of its own.

Each impulse is a function of the speeds of its contact, of its collision matrix `K = R R^T` and of a few numbers
(friction, restitution, increment, stored energy). The kernel of the law computes it on dual numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..laws import etm as etm_law
from ..laws import stick_slip
from ..problem.contacts import Contacts
from ..solvers.rows import Floats, Ints
from .dual import Dual, inputs, slope_of, uncompiled
from .kinks import GEOMETRY, MASSES
from .replay import Ends, Replay
from .tape import Cleared, Slopes, System
from .tracking import Tracked, tracked

UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # entries of K in the collision table
TIE = 1e-12  # margin of a comparison, relative to the fastest speed, below which both sides are the same number
MOST_IMPULSES = 200_000  # of one replay with friction
MOST_INCREMENTS = 5_000_000  # of one replay without friction, 240 MB


class Local:
    """One contact: its rows R over the components that they touch, as a small array."""

    def __init__(self, system: System, contact: int, tangents: int) -> None:
        self.system, self.contact = system, contact
        self.rows = np.concatenate([[contact], system.tangents_of(np.array([contact]))[0, :tangents]])
        part = system.part(self.rows)
        self.columns, place = np.unique(part.columns, return_inverse=True)
        self.entries, self._row, self._place = part.entries, part.row, place
        self.matrix = part.matrix[:, self.columns].toarray()
        self.base = part.base
        self.gram = self.matrix @ self.matrix.T

    def spread(self, entries: Floats) -> Floats:
        """Changes of the rows, (rows, components, directions), from those of all entries."""
        out = np.zeros((*self.matrix.shape, entries.shape[1]))
        out[self._row, self._place] = entries[self.entries]
        return out

    def add(self, entries: Floats, change: Floats) -> None:
        """The adjoint of `spread`."""
        entries[self.entries] += change[self._row, self._place]

    def speeds(self, x: Floats) -> Floats:
        """Normal speed and slip."""
        return self.matrix @ x[self.columns] + self.base

    def collision(self) -> list[float]:
        """The six entries of K; zero for tangents that there are not."""
        k = len(self.rows)
        return [float(self.gram[a, b]) if b < k else 0.0 for a, b in UPPER]


Place = tuple[str, int]  # a register, or "restitution" or "friction", and a place in it


@dataclass(frozen=True, eq=False)
class Impulse:
    """One impulse at a contact, `x' = x + R^T p`; p and some registers are functions of speeds, K and other numbers."""

    local: Local
    before: Floats  # (components,) of x
    p: Floats  # (rows,)
    slopes: Floats  # (rows + written, 3 + 6 + read): derivatives of p and of what is written
    read: tuple[Place, ...]
    written: tuple[Place, ...]
    sizes: dict[str, int]
    register: str
    impulses: str

    def jvp(self, d: Slopes) -> None:
        at, k = self.local, len(self.local.rows)
        x = d.registers[self.register]
        given = np.zeros((9 + len(self.read), x.shape[1]))
        given[:k] = at.matrix @ x[at.columns] + d.base[at.rows]
        turned = None
        if d.rows is not None:
            turned = at.spread(d.rows)
            given[:k] += np.einsum("rcb,c->rb", turned, self.before)
            cross = np.einsum("rcb,sc->rsb", turned, at.matrix)
            for place, (a, b) in enumerate(UPPER):
                if b < k:
                    given[3 + place] = cross[a, b] + cross[b, a]
        for place, name in enumerate(self.read):
            given[9 + place] = self._register(d, name[0])[name[1]]
        out = self.slopes @ given
        x[at.columns] += at.matrix.T @ out[:k]
        d.of(self.impulses, at.system.row_count)[at.rows] += out[:k]
        if turned is not None:
            x[at.columns] += np.einsum("rcb,r->cb", turned, self.p)
        for place, name in enumerate(self.written):
            self._register(d, name[0])[name[1]] = out[k + place]

    def vjp(self, bar: Slopes) -> None:
        at, k = self.local, len(self.local.rows)
        x = bar.of(self.register, at.system.rows.shape[1])
        ends = x[at.columns].copy()
        out = np.empty((k + len(self.written), x.shape[1]))
        out[:k] = at.matrix @ ends + bar.of(self.impulses, at.system.row_count)[at.rows]
        for place, name in enumerate(self.written):
            value = self._register(bar, name[0])
            out[k + place] = value[name[1]]
            value[name[1]] = 0.0
        given = self.slopes.T @ out
        x[at.columns] += at.matrix.T @ given[:k]
        bar.base[at.rows] += given[:k]
        for place, name in enumerate(self.read):
            self._register(bar, name[0])[name[1]] += given[9 + place]
        if bar.rows is not None:
            change = self.p[:, None, None] * ends + given[:k, None, :] * self.before[:, None]
            for place, (a, b) in enumerate(UPPER):
                if b < k:
                    change[a] += at.matrix[b][:, None] * given[3 + place]
                    change[b] += at.matrix[a][:, None] * given[3 + place]
            at.add(bar.rows, change)

    def _register(self, slopes: Slopes, name: str) -> Floats:
        if name == "restitution":
            return slopes.restitution
        return slopes.friction if name == "friction" else slopes.of(name, self.sizes[name])


@dataclass(frozen=True, eq=False)
class Lossy:
    """`W_i <- e_i^2 W_i`: the second stage of etm."""

    stored: Floats  # (m,) before
    restitution: Floats

    def jvp(self, d: Slopes) -> None:
        e, w = self.restitution[:, None], self.stored[:, None]
        d.registers["store"] = e * e * d.of("store", len(self.stored)) + 2.0 * e * w * d.restitution

    def vjp(self, bar: Slopes) -> None:
        e, w, out = self.restitution[:, None], self.stored[:, None], bar.of("store", len(self.stored))
        bar.restitution += 2.0 * e * w * out
        bar.registers["store"] = e * e * out


@dataclass(frozen=True, eq=False)
class Increments:
    """`step_i = -u_j / lam` of the contacts i of an island, with j its fastest approach."""

    local: Local
    before: Floats
    contacts: Ints
    count: int
    lam: float
    register: str

    def jvp(self, d: Slopes) -> None:
        at = self.local
        u = at.matrix[0] @ d.registers[self.register][at.columns] + d.base[at.contact]
        if d.rows is not None:
            u = u + self.before @ at.spread(d.rows)[0]
        d.of("step", self.count)[self.contacts] = -u / self.lam

    def vjp(self, bar: Slopes) -> None:
        at, step = self.local, bar.of("step", self.count)
        u = -step[self.contacts].sum(axis=0) / self.lam
        step[self.contacts] = 0.0
        bar.of(self.register, at.system.rows.shape[1])[at.columns] += at.matrix[0][:, None] * u
        bar.base[at.contact] += u
        if bar.rows is not None:
            change = np.zeros((*at.matrix.shape, len(u)))
            change[0] = self.before[:, None] * u
            at.add(bar.rows, change)


class _Points(NamedTuple):
    """What the kernels read of a contact."""

    t: int
    table: tuple[list[Any]]
    friction: tuple[Any]
    slip: tuple[Any, Any]


def _table(k: list[Any]) -> list[Any]:
    """The collision table of one contact from its K: `contact_points.collision_table`."""
    a, b, c = k[3], k[4], k[5]
    trace, det = a + c, a * c - b * b
    if not trace > 0.0:
        return [*k, 0.0, 0.0, 0.0, k[0]]
    square = trace * trace
    inverse = (c / det, -b / det, a / det) if det > 1e-12 * square else (a / square, b / square, c / square)
    coupled = inverse[0] * k[1] * k[1] + 2.0 * inverse[1] * k[1] * k[2] + inverse[2] * k[2] * k[2]
    return [*k, *inverse, k[0] - coupled]


@cache
def _served() -> Any:
    """The increment of etm as a Python function."""

    def slip(points: Any, i: int, x: Any) -> Any:
        return points.slip

    offset, work = uncompiled(stick_slip.sticking_offset), uncompiled(stick_slip.tangential_work)
    stick = uncompiled(stick_slip.stick, sticking_offset=offset)
    slide = uncompiled(stick_slip.slide, stick=stick)
    using_up, steady = uncompiled(etm_law._using_up), uncompiled(etm_law._steady)
    sliding = uncompiled(etm_law._sliding, slide=slide, _using_up=using_up)
    sticking = uncompiled(etm_law._sticking, stick=stick, sticking_offset=offset, tangential_work=work)
    common: dict[str, Any] = {"slip": slip, "stick": stick, "slide": slide, "tangential_work": work}
    inner = {"_sliding": sliding, "_sticking": sticking, "_steady": steady, "_using_up": using_up}
    increment = uncompiled(etm_law._increment, sticking_offset=offset, **common, **inner)
    frictionless = uncompiled(etm_law._frictionless, _using_up=using_up)

    def served(points: Any, i: int, u: Any, x: Any, du: Any, unit: Any, store: Any, release: bool) -> Any:
        if points.t == 0 or points.friction[i] == 0.0:
            pn, after = frictionless(points.table[i][0], u, du, store, release)
            return pn, 0.0, 0.0, after
        return increment(points, i, u, x, du, unit, store, release)

    return served


class Track:
    """A law that pushes one contact at a time, while it is replayed."""

    def __init__(self, run: Replay, contacts: Contacts, register: str) -> None:
        self.run, self.at = run, run.begin(register)
        rough = run.contacts.friction.any() and run.response.friction_model is None
        self.t = run.system.tangent_count if rough else 0
        self.friction = run.system.friction if rough else np.zeros(contacts.count)
        self.local = [Local(run.system, i, self.t) for i in range(contacts.count)]
        self.x, self.normal = self.at.velocity.copy(), np.zeros(contacts.count)
        pattern = abs(run.system.normal.matrix)
        coupled = (pattern @ pattern.T).tocsr()
        self.near = [coupled.indices[a:b] for a, b in zip(coupled.indptr[:-1], coupled.indptr[1:], strict=True)]
        self.u = run.speeds(self.x.copy()).copy()  # both are changed
        self.sizes = {"store": contacts.count, "step": contacts.count, "left": 1, "whole": 1}
        self.count = 0

    def given(self, i: int, more: list[float]) -> tuple[list[Dual], _Points]:
        """Dual inputs of contact i: speeds, K, friction and more numbers; and the contact as kernels see it."""
        speeds = np.zeros(3)
        speeds[: 1 + self.t] = self.local[i].speeds(self.x)
        Dual.margins, Dual.ties = [], 0
        numbers = inputs([*speeds, *self.local[i].collision(), float(self.friction[i]), *more])
        slip = (numbers[1], numbers[2]) if self.t else (0.0, 0.0)
        return numbers, _Points(self.t, (_table(numbers[3:9]),), (numbers[9],), slip)

    def push(self, i: int, p: list[Any], read: list[Place], written: dict[Place, Any]) -> None:
        """Applies an impulse, and writes its stage."""
        close, Dual.margins = Dual.margins or [], None
        if Dual.ties:  # as of increments of round bodies, which slip and normal impulse limit alike
            reason = "has an increment with two equal limits"
            self.run.margins.note(np.array([i]), np.zeros(1), reason, GEOMETRY | MASSES)
        # Increments are parts of an approach, so that speeds and increments are equal by construction, up to rounding.
        close = [margin for margin in close if margin > TIE * self.run.margins.scale]
        if close:
            self.run.margins.note(np.array([i]), np.array([min(close)]), "is about to stick or slide otherwise")
        self.count += 1
        if self.count > MOST_IMPULSES:
            reason = f"more than {MOST_IMPULSES} impulses"
            raise ProblemError("solution", reason, "an impact that the law resolves with fewer")
        width = 9 + 1 + len(read)
        results = [*p[: 1 + self.t], *written.values()]
        slopes = np.array([slope_of(result, width) for result in results])
        values = np.array([float(getattr(q, "value", q)) for q in p[: 1 + self.t]])
        places = (("friction", i), *read)
        self._apply(i, values, slopes, places, tuple(written))

    def _apply(self, i: int, p: Floats, slopes: Floats, read: tuple[Place, ...], written: tuple[Place, ...]) -> None:
        """Adds an impulse to the velocity and to the tape."""
        at, ends = self.local[i], self.at
        stage = Impulse(at, self.x[at.columns], p, slopes, read, written, self.sizes, ends.register, ends.impulses)
        self.run.stages.append(stage)
        self.x[at.columns] += at.matrix.T @ p
        self.normal[i] += p[0]
        for j in self.near[i]:
            other = self.local[j]
            self.u[j] = other.matrix[0] @ self.x[other.columns] + other.base[0]

    def worst(self, rest: Floats) -> int:
        """The contact that approaches fastest beyond `rest` (m,), and notes how close the choice was; -1 for none."""
        waiting = np.flatnonzero(self.u < -rest)
        if len(waiting) == 0:
            return -1
        order = waiting[np.argsort(self.u[waiting], kind="stable")[:2]]
        if len(order) > 1:
            gap = self.u[order[1:]] - self.u[order[:1]]
            self.run.margins.note(order[:1], gap, "is no longer the fastest approach")
        return int(order[0])

    def ends(self) -> Ends:
        return Ends(self.at.register, self.at.impulses, self.x, self.normal)


def etm(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """Compression, loss and release in increments: `carom.laws.etm._track`."""
    if law.increment != "island":
        raise ProblemError("increment", law.increment, "island, for derivatives of etm")
    tol, label, m = law.approach_left(contacts, 0.0), contacts.island_labels(), contacts.count
    if not (run.contacts.friction.any() and run.response.friction_model is None):
        return _smooth_etm(run, law, contacts, register, label)
    track = Track(run, contacts, register)
    store, step = np.zeros(m), np.zeros(m)
    for _ in range(law.max_repeats):
        if -track.u.min() <= tol:
            break
        for island in range(label.max() + 1):
            mine = np.flatnonzero(label == island)
            j = int(mine[np.argmin(track.u[mine])])
            step[mine] = max(-track.u[j], 0.0) / law.lam
            if track.u[j] < 0.0:
                at = track.local[j]
                run.stages.append(Increments(at, track.x[at.columns], mine, m, law.lam, track.at.register))
        rest = np.maximum(tol, etm_law.COMPRESSED_SHARE * step)
        while (i := track.worst(rest)) >= 0:
            _serve(track, i, store, step, False)
        run.stages.append(Lossy(store.copy(), contacts.restitution.copy()))
        store *= contacts.restitution**2
        full = np.flatnonzero(store > 0.0)
        while len(full):
            for contact in full:
                _serve(track, int(contact), store, step, True)
            full = full[store[full] > 0.0]
        store[:] = 0.0
        run.stages.append(Cleared("store"))
    run.margins.note(np.arange(m), track.u, "is about to approach")
    return track.ends()


def _smooth_etm(run: Replay, law: Any, contacts: Contacts, register: str, label: Ints) -> Ends:
    """etm without friction, found again by the kernel that notes its margins."""
    at, rows, e = run.begin(register), run.plain.rows, contacts.restitution
    start, lam = at.velocity.reshape(contacts.velocity.shape), float(law.lam)
    bounds = (law.approach_left(contacts, 0.0), law.max_repeats, MOST_INCREMENTS, TIE * run.margins.scale)
    what, numbers, x, u, normal, margins = tracked(rows, start, e, label, (lam, *bounds))
    if len(what) > MOST_INCREMENTS:
        reason = f"more than {MOST_INCREMENTS:,} increments"
        raise ProblemError("solution", reason, "an impact that the law resolves with fewer")
    for margin, reason in zip(margins, ("is no longer the fastest approach", "is about to have another increment")):
        noted = np.flatnonzero(np.isfinite(margin))
        run.margins.note(noted, margin[noted], reason)
    run.margins.note(np.arange(contacts.count), u, "is about to approach")
    apart = _at_right_angles(run.system, np.flatnonzero(normal > 0.0))
    # The last increment of the fastest approach is a whole one by construction, until another contact disturbs it.
    run.margins.note(apart, np.zeros(len(apart)), "is at right angles to another contact", GEOMETRY | MASSES)
    given = (what, numbers, at.velocity, x.ravel(), label, e, lam, at.register, at.impulses)
    run.stages.append(Tracked(run.system, *given))
    return Ends(at.register, at.impulses, x.ravel(), normal)


def _at_right_angles(system: System, pushing: Ints) -> Ints:
    """Which of some contacts do not move another of them, although both touch one body."""
    pairs = system.pairs
    first = np.repeat(np.arange(system.count), np.diff(pairs.ptr))
    own = np.isin(first, pushing) & np.isin(pairs.other, pushing) & (first != pairs.other)
    diagonal = np.zeros(system.count)
    diagonal[first[first == pairs.other]] = pairs.value[first == pairs.other]
    least = TIE * np.sqrt(diagonal[first] * diagonal[pairs.other])
    return np.unique(first[own & (np.abs(pairs.value) <= least)])


def _serve(track: Track, i: int, store: Floats, step: Floats, release: bool) -> None:
    """One increment of contact i in parts: `carom.laws.etm._serve`."""
    increment = _served()
    left = whole = 0.0
    for part in range(etm_law.INCREMENT_PARTS):
        first = part == 0
        more = [float(step[i]) if first else left, float(step[i]) if first else whole, float(store[i])]
        numbers, points = track.given(i, more)
        u, stored = numbers[0], numbers[12]
        if first:
            du = numbers[10] if release else min(numbers[10], -u)
            unit: Any = du
            read: list[Place] = [("step", i), ("step", i), ("store", i)]
        else:
            du, unit = numbers[10], numbers[11]
            read = [("left", 0), ("whole", 0), ("store", i)]
        pn, p1, p2, after = increment(points, 0, u, None, du, unit, stored, release)
        rise = numbers[3] * pn + numbers[4] * p1 + numbers[5] * p2
        rest = du - rise
        track.push(i, [pn, p1, p2], read, {("store", i): after, ("left", 0): rest, ("whole", 0): unit})
        store[i] = float(getattr(after, "value", after))
        left, whole = rest.value, unit.value
        if rise.value <= 0.0 or left <= etm_law.WHOLE_INCREMENT * whole or (release and store[i] <= 0.0):
            return

"""The replay of a whole answer: law, restitution model, friction model, as `carom.resolve` combines them."""

from __future__ import annotations

import numpy as np

from ..resolve.restitution import _gaining, _mixed
from ..solvers.rows import Floats, Ints
from .implicit import Gram, Picked, Solved
from .laws import inelastic, replayed
from .replay import Ends, Replay
from .tape import Copied
from .targets import Balanced, Mixed, Targets

RESTITUTION = frozenset({"restitution"})


def normal_answer(run: Replay, wants_restitution: bool) -> Ends:
    """The answer without friction, as `resolve.restitution.normal_impulses` finds it."""
    contacts, model = run.plain, run.response.restitution_model
    c = contacts.restitution
    if contacts.approach() <= 0.0:
        at = run.begin("x")
        run.margins.note(np.arange(contacts.count), run.speeds(at.velocity), "is about to approach")
        return at
    if model in ("newton", "stronge"):
        return replayed(run, contacts, "x", True)
    perfect = contacts.with_restitution(1.0)
    if model == "energetic":
        if (c == 1.0).all() and not wants_restitution:
            return replayed(run, perfect, "x", False)
        if (c == 0.0).all() and not wants_restitution:
            return inelastic(run, "x")
        return _energetic(run, wants_restitution)
    if (c == 0.0).all() and not wants_restitution:
        return inelastic(run, "x")
    return _complementary(run)


def _energetic(run: Replay, wants_restitution: bool) -> Ends:
    """Interpolation on islands with one coefficient, else the cone problem with the interpolated target speeds."""
    contacts, system = run.plain, run.system
    c, m = contacts.restitution, system.count
    low = inelastic(run, "low")
    high = replayed(run, contacts.with_restitution(1.0), "high", False)
    mixed = _mixed(contacts)
    solved = np.ones(m, bool) if wants_restitution else np.isin(np.arange(m), mixed)
    label = contacts.island_labels()
    place, body = island_of_components(run, label), np.zeros(system.rows.shape[1])
    body[place >= 0] = island_values(label, c)[place[place >= 0]]
    kept = (place < 0) | np.isin(place, label[solved])  # components whose velocity the cone problem decides
    whole: Floats = kept.astype(np.float64)
    shares = (("low", (1.0 - whole) * (1.0 - body)), ("high", (1.0 - whole) * body), (run.origin, whole))
    run.stages.append(Mixed(shares, "x"))
    rest = np.zeros(system.row_count)
    rest[:m] = ~solved
    rows_c = np.zeros(system.row_count)
    rows_c[:m] = c
    terms = ((low.impulses, rest * (1.0 - rows_c)), (high.impulses, rest * rows_c))
    run.stages.append(Mixed(terms, "impulses of x"))
    normal = (1.0 - c) * low.normal + c * high.normal
    start = np.where(kept, run.velocity, (1.0 - body) * low.velocity + body * high.velocity)
    at = Ends("x", "impulses of x", start, np.where(solved, 0.0, normal))
    if not solved.any():
        return at
    slow, fast = run.speeds(low.velocity), run.speeds(high.velocity)
    weights = (("low", low.velocity, 1.0 - c), ("high", high.velocity, c))
    run.stages.append(Targets(system, weights, fast - slow))
    target = (1.0 - c) * slow + c * fast
    one = np.flatnonzero(solved & ~np.isin(np.arange(m), mixed))
    pushing = one[(low.normal[one] > 0.0) | (high.normal[one] > 0.0)]
    at = _held(run, at, pushing, normal[pushing], target)
    idle = np.setdiff1d(one, pushing)
    run.margins.note(idle, np.zeros(len(idle)), "is about to push, where others change their restitution", RESTITUTION)
    # With one coefficient the energy of an island is not limited, with several it is (jacobi can raise it).
    gaining = one[_gaining(contacts, normal, label)[label[one]] > 0.0]
    run.margins.note(gaining, np.zeros(len(gaining)), "is limited where others change their restitution", RESTITUTION)
    if len(mixed) == 0:
        return at
    at, _, _ = run.cone(at, mixed, np.zeros(m), True, target)
    return _limited(run, low, at, label)


def _held(run: Replay, at: Ends, contacts: Ints, impulses: Floats, target: Floats) -> Ends:
    """The stage of contacts that are known to reach their target speeds with these impulses."""
    if len(contacts) == 0:
        return at
    part = run.system.part(contacts)
    gram = Gram(part)
    x = part.moved(at.velocity, impulses)
    sources = (("target", Picked(np.ones(len(contacts)), contacts, len(target))),)
    stage = Solved(part, impulses, at.velocity, x, gram, at.register, None, sources, None, at.impulses)
    run.stages.append(stage)
    tied = contacts[gram.redundant]
    run.margins.note(tied, np.zeros(len(tied)), "depends on other contacts", RESTITUTION)
    return run.pushed(at, x, contacts, impulses)


def _complementary(run: Replay) -> Ends:
    """`0 <= lam perp A lam + u - c u_elastic+ >= 0` (qce_lcp), limited so that the energy does not rise."""
    contacts, system = run.plain, run.system
    c = contacts.restitution
    high = replayed(run, contacts.with_restitution(1.0), "high", False)
    fast = run.speeds(high.velocity)
    open_ = fast > 0.0
    weights = np.where(open_, c, 0.0)
    run.stages.append(Targets(system, (("high", high.velocity, weights),), np.maximum(fast, 0.0)))
    run.target = c * np.maximum(fast, 0.0)
    run.margins.note(np.flatnonzero(c > 0.0), fast[c > 0.0], "is about to approach")
    if (c == 1.0).all():
        run.stages.append(Copied("high", "x"))
        run.stages.append(Copied(high.impulses, "impulses of x"))
        return Ends("x", "impulses of x", high.velocity, high.normal)
    at = run.begin("x")
    every = np.arange(system.count)
    at, _, _ = run.cone(at, every, np.zeros(len(every)), True, run.target)
    if not (_gaining(contacts, at.normal, contacts.island_labels()) > 0.0).any():
        return at
    return _limited(run, inelastic(run, "low"), at, contacts.island_labels())


def _limited(run: Replay, low: Ends, high: Ends, label: Ints) -> Ends:
    """The answer `high`, or on islands where it raises the energy the point between `low` and it that does not."""
    contacts, system = run.plain, run.system
    work = _gaining(contacts, high.normal, label)
    gaining = np.flatnonzero(work > 0.0)
    _note_gain(run, high, label)
    if len(gaining) == 0:
        return high
    place, step, push = island_of_components(run, label), high.velocity - low.velocity, high.normal - low.normal
    share = np.ones(label.max() + 1)
    u, slow, fast = run.speeds(run.velocity), run.speeds(low.velocity), run.speeds(high.velocity)
    w0 = np.minimum(np.bincount(label, 0.5 * low.normal * (u + slow)), 0.0)
    w1 = np.maximum(np.bincount(label, push * slow), 0.0)
    w2 = np.maximum(np.bincount(label, 0.5 * push * (fast - slow)), 0.0)
    for k in gaining:
        below = w1[k] + np.sqrt(w1[k] ** 2 - 4.0 * w2[k] * w0[k])
        share[k] = min(-2.0 * w0[k] / below, 1.0) if below > 0.0 else 0.0
    s = np.where(place >= 0, share[place], 1.0)
    run.stages.append(Mixed((("x", s), ("low", 1.0 - s)), "limited"))
    rows = np.ones(system.row_count)
    rows[: system.count] = share[label]
    run.stages.append(Mixed((("impulses of x", rows), (low.impulses, 1.0 - rows)), "impulses of limited"))
    x, lam = low.velocity + s * step, low.normal + share[label] * push
    islands = []
    for k in gaining:
        at, mine = np.flatnonzero(place == k), np.flatnonzero(label == k)
        islands.append((at, mine, step[at], push[mine]))
    impulse = np.append(lam, np.zeros(system.row_count - system.count))
    before = (run.origin, run.velocity)
    run.stages.append(Balanced(system, before, "limited", "impulses of limited", x, impulse, tuple(islands)))
    return Ends("limited", "impulses of limited", x, lam)


def _note_gain(run: Replay, high: Ends, label: Ints) -> None:
    """The margin of the decision whether an island gains energy: its work over the momentum of its impulses."""
    u, after = run.speeds(run.velocity), run.speeds(high.velocity)
    work = np.bincount(label, 0.5 * high.normal * (u + after))
    size = np.bincount(label, np.abs(high.normal))
    for k in np.flatnonzero(size > 0.0):
        first = np.flatnonzero(label == k)[:1]
        run.margins.note(first, np.array([work[k] / size[k]]), "and its island are about to reach the energy limit")


def island_of_components(run: Replay, label: Ints) -> Ints:
    """The island of each velocity component, -1 where no contact touches it."""
    place = np.full(run.system.rows.shape[1], -1)
    matrix = run.system.normal.matrix
    place[matrix.indices] = np.repeat(label, np.diff(matrix.indptr))
    return place


def island_values(label: Ints, values: Floats) -> Floats:
    """One of the values of each island."""
    out = np.zeros(label.max() + 1)
    out[label] = values
    return out

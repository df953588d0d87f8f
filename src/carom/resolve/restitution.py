"""Restitution models: how an elastic law becomes one that loses energy."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..laws.inelastic import FEASIBLE, inelastic
from ..problem.contacts import INFEASIBLE, RESOLVED, Contacts, Impulses, worse
from ..solvers.qp.box import cone, solve_box, solve_cone, work_of
from ..solvers.rows import Floats, Ints
from ..solvers.threads import beside
from .clamps import run_law

if TYPE_CHECKING:
    from .response import Response

MODELS = {
    "energetic": "lam = (1 - c) lam_inelastic + c lam_elastic (Smith 2012, section 5); with different c in one island "
    "0 <= lam perp A lam + u - (1 - c) u_inelastic+ - c u_elastic+ >= 0, limited so that the energy does not rise",
    "qce_lcp": "0 <= lam perp A lam + u - c u_elastic+ >= 0 (Zhang 2015, eq. 19), limited so that the energy does not "
    "rise",
    "newton": "u+ = -e u at each contact inside the iteration; can collapse inelastically",
    "stronge": "each contact gives back e^2 of the energy that it stored",
}
ROUNDING = 1e-12  # work of an island, relative to the largest work of its impulses, that is rounding error


def normal_impulses(contacts: Contacts, response: Response, tolerance: float = 0.0) -> Impulses:
    """Impulses of the law with the coefficients of restitution of `contacts`.

    `tolerance` is the speed of approach that may be left; 0 asks for an exact answer. The residual is relative to the
    fastest approach.
    """
    return _answer(contacts, response, tolerance)[0]


def targeted_impulses(contacts: Contacts, response: Response, tolerance: float = 0.0) -> tuple[Impulses, Floats]:
    """`normal_impulses`, and the separation speeds (m,) that restitution asks for, which are not negative.

    Where friction changes the normal impulses too, contacts still have to separate that fast. Under `qce_lcp` it is
    `c u_elastic+` (Zhang 2015, eq. 21), under the other models the speed after the impact without friction, where that
    has a normal impulse, and 0 elsewhere.
    """
    result, target = _answer(contacts, response, tolerance)
    if target is None:
        after = contacts.speeds(contacts.after(result.normal))
        target = np.where(result.normal > 0.0, np.maximum(after, 0.0), 0.0)
    return result, target


def _answer(contacts: Contacts, response: Response, tolerance: float) -> tuple[Impulses, Floats | None]:
    """`normal_impulses`, and the target speeds of `qce_lcp`."""
    model, c, relative = response.restitution_model, contacts.restitution, 0.0
    if response.friction_model is not None:
        contacts = contacts.without_friction()
    if tolerance > 0.0:
        approach = contacts.approach()
        if approach <= tolerance:
            return Impulses(np.zeros(contacts.count), residual=approach and 1.0), None
        relative = tolerance / approach
    if model in ("newton", "stronge"):
        return run_law(contacts, response, relative), None
    if (c == 0.0).all():
        return inelastic(contacts, tolerance), None
    if model == "energetic":
        return _energetic(contacts, response, tolerance, relative), None
    elastic = run_law(contacts.with_restitution(1.0), response, relative)
    target = c * np.maximum(contacts.speeds(contacts.after(elastic.normal)), 0.0)
    return (elastic if (c == 1.0).all() else _complementary(contacts, elastic, target, tolerance)), target


def _energetic(contacts: Contacts, response: Response, tolerance: float, relative: float) -> Impulses:
    """The interpolation between the inelastic and the elastic answer, also for coefficients that differ.

    `relative` is the tolerance over the fastest approach.
    """
    c, perfect = contacts.restitution, contacts.with_restitution(1.0)
    if (c == 1.0).all():
        return run_law(perfect, response, relative)
    elastic, loss = partial(run_law, perfect, response, relative), partial(inelastic, contacts, tolerance)
    high, low = beside(contacts.count, elastic, loss)
    result = replace(
        high,
        normal=(1.0 - c) * low.normal + c * high.normal,
        status=worse(low.status, high.status),
        residual=max(low.residual, high.residual),
        messages=(*low.messages, *high.messages),
    )
    mixed = np.zeros(0, np.int64) if (c == c[0]).all() else _mixed(contacts)
    return _per_contact(contacts, low, high, result, mixed, tolerance) if len(mixed) else result


def _mixed(contacts: Contacts) -> Ints:
    """The contacts of the islands in which coefficients of restitution differ."""
    c, label = contacts.restitution, contacts.island_labels()
    high, low = np.full(label.max() + 1, -1.0), np.full(label.max() + 1, 2.0)
    np.maximum.at(high, label, c)
    np.minimum.at(low, label, c)
    return np.flatnonzero((high > low)[label])


def _per_contact(
    contacts: Contacts, low: Impulses, high: Impulses, result: Impulses, mixed: Ints, tolerance: float
) -> Impulses:
    """`0 <= lam perp A lam + u - t >= 0`, `t = (1 - c) u_inelastic+ + c u_elastic+`, on the islands of `mixed`.

    With one coefficient the interpolation solves it, since its speeds are t. Boundaries that open on both sides of a
    body can make different targets contradict each other; such islands take the smallest of their coefficients.
    """
    c = contacts.restitution
    slow, fast = (contacts.speeds(contacts.after(end.normal)) for end in (low, high))
    wanted = (contacts.speeds() - (1.0 - c) * slow - c * fast)[mixed]
    box = cone(wanted)
    speed = solve_box(contacts.rows, mixed, box, work_of(contacts.rows), tolerance)
    normal = result.normal.copy()
    if speed > max(FEASIBLE * np.abs(wanted).max(), tolerance):
        least = c[mixed].min()
        normal[mixed] = ((1.0 - least) * low.normal + least * high.normal)[mixed]
        note = f"boundaries do not admit different restitutions at contacts {_some(mixed)}: {least:g} for all of them"
        return replace(result, normal=normal, messages=(*result.messages, note))
    normal[mixed] = box.y
    residual = max(result.residual, speed / contacts.approach())
    return _limited(contacts, low.normal, replace(result, normal=normal, residual=residual))


def _complementary(contacts: Contacts, elastic: Impulses, target: Floats, tolerance: float) -> Impulses:
    """`0 <= lam perp A lam + u - target >= 0`, with `target = c u_elastic+` (Zhang 2015, eq. 19)."""
    wanted = contacts.speeds() - target
    lam, speed = solve_cone(contacts.rows, wanted, tolerance=tolerance)
    solved = speed <= max(FEASIBLE * np.abs(wanted).max(), tolerance)
    approach = contacts.approach()
    result = replace(
        elastic,
        normal=lam,
        status=worse(elastic.status, RESOLVED if solved else INFEASIBLE),
        residual=max(speed / approach if approach > 0.0 else 0.0, elastic.residual),
    )
    if not _gaining(contacts, lam, contacts.island_labels()).any():
        return result
    return _limited(contacts, inelastic(contacts, tolerance).normal, result)


def _gaining(contacts: Contacts, lam: Floats, label: Ints) -> Floats:
    """The work `sum lam (u + u+) / 2` of the impulses on each island where it is positive, else 0."""
    u, after = contacts.speeds(), contacts.speeds(contacts.after(lam))
    work, size = (np.bincount(label, 0.5 * lam * part) for part in (u + after, np.abs(u) + np.abs(after)))
    return np.where(work > ROUNDING * size, work, 0.0)


def _limited(contacts: Contacts, low: Floats, result: Impulses) -> Impulses:
    """The result, or on islands where it raises the energy the largest step towards it from `low` that does not.

    `low` are the inelastic impulses. The work of `low + s (lam - low)` is `w0 + w1 s + w2 s^2` with w0 <= 0, because
    `low . u+ = 0` there, w1 = lam . u_low+ >= 0 and w2 >= 0: one root is positive. See docs/restitution.md.
    """
    label = contacts.island_labels()
    gaining = _gaining(contacts, result.normal, label) > 0.0
    if not gaining.any():
        return result
    step = result.normal - low
    u, slow, fast = contacts.speeds(), *(contacts.speeds(contacts.after(lam)) for lam in (low, result.normal))
    w0 = np.minimum(np.bincount(label, 0.5 * low * (u + slow)), 0.0)
    w1 = np.maximum(np.bincount(label, step * slow), 0.0)
    w2 = np.maximum(np.bincount(label, 0.5 * step * (fast - slow)), 0.0)
    below = w1 + np.sqrt(w1 * w1 - 4.0 * w2 * w0)
    share = np.divide(-2.0 * w0, below, out=np.zeros_like(below), where=below > 0.0)
    share = np.where(gaining, np.minimum(share, 1.0), 1.0)
    note = stepped_back(np.flatnonzero(gaining[label]), share[gaining].min())
    return replace(result, normal=low + share[label] * step, messages=(*result.messages, note))


def stepped_back(contacts: Ints, share: float) -> str:
    """The message about contacts whose restitution was reduced."""
    reduced = f"at least {share:.3g} of what their coefficients ask for"
    return f"restitution would raise the kinetic energy at contacts {_some(contacts)}; they got {reduced}"


def _some(contacts: Ints) -> str:
    return f"{contacts[:8].tolist()}" + (f" and {len(contacts) - 8} more" if len(contacts) > 8 else "")

"""Restitution models: how an elastic law becomes one that loses energy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ProblemError
from ..laws.inelastic import FEASIBLE, inelastic
from ..solvers.islands import island_labels
from ..solvers.qp.box import solve_cone
from ..solvers.rows import Floats
from ..solvers.threads import beside
from .clamps import run_law
from .contacts import INFEASIBLE, RESOLVED, Contacts, Impulses, worse

if TYPE_CHECKING:
    from .response import Response

MODELS = {
    "energetic": "lam = (1 - c) lam_inelastic + c lam_elastic, c uniform on each island (Smith 2012, section 5)",
    "qce_lcp": "0 <= lam perp A lam + u - c u_elastic >= 0, c uniform on each island (Zhang 2015, eq. 19)",
    "newton": "u+ = -e u at each contact inside the iteration; can collapse inelastically",
    "stronge": "each contact gives back e^2 of the energy that it stored",
}


def needs_uniform_restitution(model: str) -> bool:
    """Whether a restitution model needs a single coefficient on each island."""
    return model in ("energetic", "qce_lcp")


def normal_impulses(contacts: Contacts, response: Response, tolerance: float = 0.0) -> Impulses:
    """Impulses of the law with the coefficients of restitution of `contacts`.

    `tolerance` is the speed of approach that may be left; 0 asks for an exact answer. The residual is relative to the
    fastest approach.
    """
    model, c = response.restitution_model, contacts.restitution
    if tolerance > 0.0:
        approach = contacts.approach()
        if approach <= tolerance:
            return Impulses(np.zeros(contacts.count), residual=approach and 1.0)
        response = replace(response, law=response.law.leaving(tolerance / approach))
    if not needs_uniform_restitution(model):
        return run_law(contacts, response)
    check_islands(contacts, model)
    if (c == 0.0).all():
        return inelastic(contacts, tolerance)
    perfect = contacts.with_restitution(1.0)
    if model == "energetic" and not (c == 1.0).all():
        elastic, low = beside(
            contacts.count, lambda: run_law(perfect, response), lambda: inelastic(contacts, tolerance)
        )
        return interpolated(low, elastic, c)
    elastic = run_law(perfect, response)
    if (c == 1.0).all():
        return elastic
    return _complementary(contacts, elastic, c, tolerance)


def interpolated(low: Impulses, high: Impulses, c: Floats) -> Impulses:
    """`(1 - c) low + c high` between the inelastic and the elastic impulses, for each contact.

    Interpolation preserves what both ends satisfy: feasibility, one-sidedness, momentum, symmetry, bounded energy.
    """
    tangent = None
    if low.tangent is not None and high.tangent is not None:
        tangent = (1.0 - c)[:, None] * low.tangent + c[:, None] * high.tangent
    return Impulses(
        normal=(1.0 - c) * low.normal + c * high.normal,
        tangent=tangent,
        iterations=high.iterations,
        status=worse(low.status, high.status),
        residual=max(low.residual, high.residual),
        messages=(*low.messages, *high.messages),
    )


def _complementary(contacts: Contacts, elastic: Impulses, c: Floats, tolerance: float) -> Impulses:
    """`0 <= lam perp A lam + u - c u_elastic >= 0` (Zhang 2015, eq. 19)."""
    target = c * contacts.speeds(contacts.after(elastic.normal))
    wanted = contacts.speeds() - target
    lam, speed = solve_cone(contacts.rows, wanted, tolerance=tolerance)
    if tolerance > 0.0:
        lam *= _no_gain(contacts, lam)
    solved = speed <= max(FEASIBLE * np.abs(wanted).max(), tolerance)
    approach = contacts.approach()
    return Impulses(
        normal=lam,
        iterations=elastic.iterations,
        status=worse(elastic.status, RESOLVED if solved else INFEASIBLE),
        residual=max(speed / approach if approach > 0.0 else 0.0, elastic.residual),
        messages=elastic.messages,
    )


def _no_gain(contacts: Contacts, lam: Floats) -> float:
    """The largest factor up to 1 with which the impulses add no energy, `lam . (u + u+) <= 0`."""
    change = contacts.after(lam) - contacts.velocity
    square, work = float((change * change).sum()), float(lam @ contacts.speeds())
    return min(1.0, max(-2.0 * work / square, 0.0)) if square > 0.0 else 1.0


def check_islands(contacts: Contacts, model: str) -> None:
    """Raises ProblemError if coefficients of restitution differ within one island.

    Under the energetic and the qce_lcp model such an island has no exact meaning.
    """
    c = contacts.restitution
    if (c == c[0]).all():
        return
    label = island_labels(contacts.rows)
    high, low = np.full(label.max() + 1, -1.0), np.full(label.max() + 1, 2.0)
    np.maximum.at(high, label, c)
    np.minimum.at(low, label, c)
    mixed = np.flatnonzero(high > low)
    if len(mixed):
        who = np.flatnonzero(label == mixed[0])
        raise ProblemError(
            "restitution",
            f"values from {low[mixed[0]]:g} to {high[mixed[0]]:g} among the connected contacts {who[:8].tolist()}",
            f"one value on each island for model {model!r} "
            "(per-contact values: law etm or lzb with stronge, gauss_seidel, jacobi or sqm with newton)",
        )


def blended(contacts: Contacts) -> Contacts:
    """The contacts with one restitution per island: the mean, weighted by `u^2 / A_ii` of approaching contacts."""
    c = contacts.restitution
    if len(c) == 0 or (c == c[0]).all():
        return contacts
    label = island_labels(contacts.rows)
    u = np.minimum(contacts.speeds(), 0.0)
    weight = u * u / contacts.rows.diag
    total = np.bincount(label, weight)
    mean = np.bincount(label, weight * c)
    plain = np.bincount(label, c) / np.bincount(label)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(total > 0.0, mean / total, plain)
    return replace(contacts, restitution=np.clip(value, 0.0, 1.0)[label])

"""Restitution: how an elastic law becomes one that loses energy."""

from __future__ import annotations

import numpy as np

from .clamped import run_law
from .errors import ProblemError
from .impact.contacts import INFEASIBLE, RESOLVED, Contacts, Impulses, worse
from .laws import Law
from .laws.inelastic import FEASIBLE, inelastic
from .solvers.islands import island_labels
from .solvers.qp.box import solve_cone
from .solvers.rows import Floats

MODELS = {
    "energetic": "lam = (1 - c) lam_inelastic + c lam_elastic, c uniform on each island (Smith 2012, section 5)",
    "qce_lcp": "0 <= lam perp A lam + u - c u_elastic >= 0, c uniform on each island (Zhang 2015, eq. 19)",
    "newton": "u+ = -e u at each contact inside the iteration; can collapse inelastically",
    "stronge": "each contact gives back e^2 of the energy that it stored",
}


def model_of(law: Law, model: str | None) -> str:
    """The model asked for, if the law has it; the law's default if none was asked for."""
    if model is None:
        return law.restitution_models[0]
    if model not in MODELS:
        raise ProblemError.unknown("restitution model", model, MODELS)
    if model not in law.restitution_models:
        raise ProblemError("restitution_model", model, f"one of {law.restitution_models} with law {law.name!r}")
    return model


def normal_impulses(contacts: Contacts, law: Law, model: str) -> Impulses:
    """Impulses of the law with the problem's coefficients of restitution, under a model that it has."""
    if model in ("newton", "stronge"):
        return run_law(law, contacts)
    c = contacts.restitution
    check_islands(contacts, model)
    if (c == 1.0).all():
        return run_law(law, contacts)
    if (c == 0.0).all():
        return inelastic(contacts)
    elastic = run_law(law, contacts.with_restitution(1.0))
    if model == "energetic":
        return _between(inelastic(contacts), elastic, c)
    return _complementary(contacts, elastic, c)


def _between(low: Impulses, high: Impulses, c: Floats) -> Impulses:
    """Interpolation keeps what both ends keep: feasibility, one-sidedness, momentum, symmetry, bounded energy."""
    return Impulses(
        normal=(1.0 - c) * low.normal + c * high.normal,
        iterations=high.iterations,
        status=worse(low.status, high.status),
        certificate=max(low.certificate, high.certificate),
        messages=(*low.messages, *high.messages),
    )


def _complementary(contacts: Contacts, elastic: Impulses, c: Floats) -> Impulses:
    target = c * contacts.speeds(contacts.after(elastic.normal))
    lam, certificate = solve_cone(contacts.rows, contacts.speeds() - target)
    return Impulses(
        normal=lam,
        iterations=elastic.iterations,
        status=worse(elastic.status, RESOLVED if certificate <= FEASIBLE else INFEASIBLE),
        certificate=max(certificate, elastic.certificate),
        messages=elastic.messages,
    )


def check_islands(contacts: Contacts, model: str) -> None:
    """Mixing coefficients within an island has no exact meaning under these models: refuse, do not guess."""
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

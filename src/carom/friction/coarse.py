"""Large impacts where most contacts are all but at rest: speeds below a given one count as none.

An exact answer for tens of thousands of connected contacts costs a thousand times the answer for the few that matter.
A stepper that stops slow contact anyhow has no use for it. The law runs with a tolerance of its own; the inelastic
answer and friction are relaxed contact by contact (`solvers/relax.py`), which only ever lowers the energy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..clamped import run_law
from ..impact.contacts import RESOLVED, Contacts, Impulses, worse
from ..laws.law import Law
from ..laws.pairwise import threshold
from ..restitution import check_islands, normal_impulses
from ..solvers.qp.relax import relax
from ..solvers.rows import Floats, Rows
from .model import FrictionModel

MANY = 500  # contacts from which it pays; smaller problems are solved exactly
VISITS = 200  # of each contact, on average, at most


def slow_speed(contacts: Contacts, friction: FrictionModel) -> float:
    """The speed below which nothing matters; 0 if the problem is to be solved exactly."""
    return threshold(contacts, friction.coarse) if contacts.count >= MANY else 0.0


def relaxed(rows: Rows, speed: Floats, bound: Floats, start: Floats, slow: float) -> tuple[Floats, float]:
    """`argmin 1/2 y^T A y + speed^T y` over `0 <= y <= bound`, to speeds of `slow`; and its certificate."""
    y = np.array(start)
    size = float(np.abs(speed).max(initial=0.0))
    residual = relax(rows, speed, np.zeros(len(y)), bound, y, slow, VISITS)
    return y, float(residual) / size if size > 0.0 else 0.0


def stopped(contacts: Contacts, slow: float) -> Impulses:
    """The inelastic answer."""
    m = contacts.count
    normal, certificate = relaxed(contacts.rows, contacts.speeds(), np.full(m, np.inf), np.zeros(m), slow)
    return Impulses(normal, None, 1, RESOLVED, certificate)


def coarse_impulses(contacts: Contacts, law: Law, model: str, slow: float) -> Impulses:
    """`normal_impulses` for contacts that approach faster than `slow`."""
    c, approach = contacts.restitution, float(-contacts.speeds().min(initial=0.0))
    if approach <= slow:
        return Impulses(np.zeros(contacts.count))
    if model != "energetic":
        return normal_impulses(contacts, law, model)
    bold: Any = law
    if "tolerance" in law.options():  # a part of the fastest approach, in all laws with this model
        bold = replace(bold, tolerance=max(bold.tolerance, slow / approach))
    check_islands(contacts, model)
    if (c == 0.0).all():
        return stopped(contacts, slow)
    high = run_law(bold, contacts.with_restitution(1.0))
    if (c == 1.0).all():
        return high
    low = stopped(contacts, slow)
    return replace(
        high,
        normal=(1.0 - c) * low.normal + c * high.normal,
        status=worse(low.status, high.status),
        certificate=max(low.certificate, high.certificate),
    )

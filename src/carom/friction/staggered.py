"""Normal and friction impulses in turn, until nothing approaches."""

from __future__ import annotations

import numpy as np

from ..impact.contacts import Contacts, Impulses, worse
from ..laws.inelastic import inelastic
from ..laws.law import Law
from ..laws.pairwise import threshold
from ..restitution import normal_impulses
from .coarse import coarse_impulses, slow_speed, stopped
from .model import FrictionModel


def staggered(contacts: Contacts, law: Law, restitution_model: str, friction: FrictionModel) -> Impulses:
    """First the law, then friction for its normal impulses; again while friction drives contacts together.

    Normal impulses only ever grow, so friction impulses of one round are within the bounds of the next, and
    kinetic energy falls in every friction stage. After the last round whatever still approaches is stopped
    inelastically, which loses energy too. Speeds below 1e-10 of the fastest approach count as none, or more in
    large problems if the friction model is coarse.
    """
    slow = slow_speed(contacts, friction)
    tol = max(threshold(contacts, 1e-10), slow)
    stage = _normal(contacts, law, restitution_model, slow)
    normal, status, certificate = stage.normal.copy(), stage.status, stage.certificate
    iterations, messages = stage.iterations, stage.messages
    t = contacts.tangent_speeds().shape[1]
    tangent = np.zeros((contacts.count, t))
    if not normal.any():
        return stage  # nothing approaches, or the law is `none`: friction has nothing to hold on to
    for turn in range(friction.repeats + 1):
        tangent, residual = friction.impulses(contacts, normal, tangent)
        certificate = max(certificate, residual)
        x = contacts.after(normal, tangent)
        if contacts.speeds(x).min() >= -tol:
            break
        moving = contacts.moving(x)
        last = turn == friction.repeats
        if last:
            stage = stopped(moving, slow) if slow > 0.0 else inelastic(moving)
        else:
            stage = _normal(moving, law, restitution_model, slow)
        normal += stage.normal
        status, certificate = worse(status, stage.status), max(certificate, stage.certificate)
        iterations += stage.iterations
        messages = (*messages, *(m for m in stage.messages if m not in messages))
        if last:
            messages = (*messages, f"friction and impact still disagreed after {friction.repeats} repeats")
    return Impulses(normal, tangent, iterations, status, certificate, messages)


def _normal(contacts: Contacts, law: Law, restitution_model: str, slow: float) -> Impulses:
    if slow > 0.0:
        return coarse_impulses(contacts, law, restitution_model, slow)
    return normal_impulses(contacts, law, restitution_model)

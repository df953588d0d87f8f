"""The law that applies no impulse: the baseline that must fail the audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..problem.contacts import Contacts, Impulses
from .law import SMITH_2012, Law


@dataclass(frozen=True)
class NoImpulse(Law):
    """Applies no impulse, so bodies pass into one another."""

    name: ClassVar[str] = "none"
    title: ClassVar[str] = "no impulse"
    paper: ClassVar = SMITH_2012
    cost: ClassVar[str] = "nothing is computed"
    claims: ClassVar[frozenset[str]] = frozenset({"SYM", "KIN", "MOM", "ONE", "SMP"})
    restitution_models: ClassVar[tuple[str, ...]] = ("newton", "stronge")
    own_friction: ClassVar[bool] = True

    def impulses(self, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
        return Impulses(normal=np.zeros(contacts.count))

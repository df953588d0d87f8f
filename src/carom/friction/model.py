"""What a friction model is: the friction impulses that fit given normal ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ProblemError
from ..impact import checks
from ..impact.contacts import Contacts, Impulses
from ..laws.law import Law, Paper
from ..solvers.rows import Floats


@dataclass(frozen=True)
class FrictionModel:
    """Base of the friction models.

    repeats: how often normal and friction impulses alternate before what still approaches is stopped
    inelastically. coarse: with very many contacts, speeds below this part of the fastest approach count as none
    (`coarse.py`); 0 for exact answers.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]

    repeats: int = 20
    coarse: float = 0.0

    def __post_init__(self) -> None:
        checks.options(self)
        if isinstance(self.repeats, bool) or not isinstance(self.repeats, int | np.integer) or self.repeats < 1:
            raise ProblemError("repeats", self.repeats, "a whole number from 1 up")
        if isinstance(self.coarse, bool) or not isinstance(self.coarse, int | float) or not 0.0 <= self.coarse < 1.0:
            raise ProblemError("coarse", self.coarse, "a number from 0 to below 1")

    def impulses(self, contacts: Contacts, normal: Floats, start: Floats) -> tuple[Floats, float]:
        """Friction impulses (m, t) that minimize kinetic energy within the bounds of `normal`; certificate.

        `start` are impulses that are within the bounds already.
        """
        raise NotImplementedError(f"{type(self).__name__} must define impulses")

    def resolve(self, contacts: Contacts, law: Law, restitution_model: str) -> Impulses:
        """Normal and friction impulses together."""
        from .staggered import staggered

        return staggered(contacts, law, restitution_model, self)

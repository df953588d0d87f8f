"""What an impact law is: a name, a paper, claims that the audit tests, and one method."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ..impact import checks
from ..impact.contacts import Contacts, Impulses

DESIDERATA = {
    "BRK": "break-away: touching bodies may separate",
    "SYM": "symmetry: symmetric problems have symmetric answers, whatever the order of contacts",
    "KIN": "energy: kept for restitution 1, never raised below it",
    "MOM": "momentum: linear and angular, kept",
    "ONE": "one-sidedness: impulses never pull",
    "WAV": "wave effect: three balls exchange velocities, continuously",
    "FEA": "feasibility: nothing approaches after impact",
}


@dataclass(frozen=True)
class Paper:
    """Where a law comes from."""

    key: str  # short name, such as "Smith 2012"
    text: str  # full reference


class Law:
    """Base of all impact laws. A law is a frozen dataclass: its fields are its options.

    `impulses` gets the impact in whitened coordinates and returns normal impulses, and tangential ones if
    `own_friction` is set. It honors `contacts.restitution` when its restitution model is "newton" or
    "stronge"; under the other models it is always called with restitution 1.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]
    claims: ClassVar[frozenset[str]]
    restitution_models: ClassVar[tuple[str, ...]]  # the first is the default
    own_friction: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.options(self)

    def impulses(self, contacts: Contacts) -> Impulses:
        raise NotImplementedError(f"{type(self).__name__} must define impulses(contacts)")

    def options(self) -> dict[str, Any]:
        """The law's options and their values."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]


SMITH_2012 = Paper(
    "Smith 2012",
    "B. Smith, D. M. Kaufman, E. Vouga, R. Tamstorf, E. Grinspun. Reflections on Simultaneous Impact. "
    "ACM Trans. Graph. 31(4), 106, 2012.",
)
ZHANG_2015 = Paper(
    "Zhang 2015",
    "T. Zhang, S. Li, G. Wang, D. Manocha, H. Sun. Quadratic Contact Energy Model for Multi-impact "
    "Simulation. Computer Graphics Forum 34(7), 2015.",
)
TANG_2014 = Paper(
    "Tang 2014",
    "X. Tang, A. Paluszny, R. W. Zimmerman. An impulse-based energy tracking method for collision "
    "resolution. Comput. Methods Appl. Mech. Eng. 278, 160-185, 2014.",
)
LIU_2008 = Paper(
    "Liu 2008",
    "C. Liu, Z. Zhao, B. Brogliato. Frictionless multiple impacts in multibody systems. I. Theoretical "
    "framework. Proc. R. Soc. A 464, 3193-3211, 2008.",
)

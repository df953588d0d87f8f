"""Bodies that appear and vanish during a run: sources and sinks.

All bodies that may ever exist are declared. Those of a group with `present = false` are absent at the start: they have
a shape, a mass and a material, and take part in nothing. A source makes absent bodies of its group appear, a sink makes
bodies absent again, which a source may then use once more. Both act between two steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from ..errors import ProblemError
from .checks import FLAG, NOT_NEGATIVE, POINT, POSITIVE, TEXT, ListOf, Whole
from .fields import check_fields

# All that `carom.scene` passes on.
__all__ = ["Sink", "Source"]

Vector = tuple[float, ...]


def _check_box(owner: Any, name: str) -> None:
    """Refuses corners that do not belong to one box."""
    lower, upper = owner.lower, owner.upper
    if lower is None or upper is None:
        return
    if len(lower) != len(upper) or any(a > b for a, b in zip(lower, upper)):
        raise ProblemError(f"{name}.upper", upper, f"a corner that is nowhere below the lower one, {tuple(lower)}")


def _check_times(owner: Any, name: str) -> None:
    if owner.stop is not None and owner.stop <= owner.start:
        raise ProblemError(f"{name}.stop", owner.stop, f"a time after the start, {owner.start:g}")


@dataclass(frozen=True)
class Source:
    """Makes the absent bodies of a group appear, one after the other, at random places in a box.

    A body appears where it overlaps nothing; if there is no room it waits. With `rate` it owes a body at `start` and
    one more per 1 / rate; without, every absent body of the group as soon as there is room.
    """

    bodies: Annotated[str, TEXT, "the name of a group"]
    lower: Annotated[Vector, POINT, "corner of the box in which centers of mass are placed"]
    upper: Annotated[Vector, POINT, "opposite corner; equal to the lower one for a point"]
    rate: Annotated[float | None, POSITIVE, "bodies per unit of time; all that are absent by default"] = None
    start: Annotated[float, NOT_NEGATIVE, "the time at which it begins to act"] = 0.0
    stop: Annotated[float | None, POSITIVE, "the time at which it stops; by default it never does"] = None
    total: Annotated[int | None, Whole(1), "largest number of appearances; none by default"] = None
    velocity: Annotated[Vector | None, POINT, "of bodies that appear; that of the group by default"] = None
    turned: Annotated[bool, FLAG, "whether bodies appear with random orientations"] = False
    seed: Annotated[int, Whole(0), "of the random places"] = 0

    def __post_init__(self) -> None:
        check_fields(self, "source")
        _check_box(self, "source")
        _check_times(self, "source")

    def due(self, time: float) -> float:
        """The number of bodies that should have appeared by a time at which it acts."""
        made = float("inf") if self.rate is None else float(int(self.rate * (time - self.start) * (1 + 1e-12)) + 1)
        return made if self.total is None else min(made, self.total)

    def acts(self, time: float) -> bool:
        """Whether it acts at a time."""
        return time >= self.start and (self.stop is None or time < self.stop)


@dataclass(frozen=True)
class Sink:
    """Makes bodies absent whose centers of mass are in a box.

    A corner that is missing does not bound it. With `impulse` it removes only bodies that were struck in the last step,
    by an impact of at least that impulse.
    """

    lower: Annotated[Vector | None, POINT, "corner of the box; not bounded by default"] = None
    upper: Annotated[Vector | None, POINT, "opposite corner; not bounded by default"] = None
    bodies: Annotated[tuple[str, ...], ListOf(TEXT), "names of groups; all free bodies by default"] = ()
    outside: Annotated[bool, FLAG, "remove bodies outside of the box, not inside"] = False
    impulse: Annotated[float | None, NOT_NEGATIVE, "smallest impulse of an impact that removes"] = None
    start: Annotated[float, NOT_NEGATIVE, "the time at which it begins to act"] = 0.0
    stop: Annotated[float | None, POSITIVE, "the time at which it stops; by default it never does"] = None

    def __post_init__(self) -> None:
        check_fields(self, "sink")
        _check_box(self, "sink")
        _check_times(self, "sink")

    def acts(self, time: float) -> bool:
        """Whether it acts at a time."""
        return time >= self.start and (self.stop is None or time < self.stop)

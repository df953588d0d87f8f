"""The settings of a run: everything besides the scene that determines its outcome."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .errors import ProblemError

# Names of the steppers, for scene files and help texts, which must not import Numba. The classes, with title and
# guarantee, are in `carom.stepping`, whose `register` adds names.
STEPPERS = ["synchronous", "drift_safe", "time_of_impact"]

EXACT = "exact"  # the tolerance by name
EXACT_TOLERANCE = 1e-10  # what it means: far below any effect of physics, above the rounding errors of large islands
LARGEST_TOLERANCE = 0.1  # a tenth of the fastest speed: with more, contact would not stop what approaches
TOLERANCE_WORDS = f'a number above 0 up to {LARGEST_TOLERANCE:g}, or "{EXACT}"'


def tolerance_number(field: str, value: Any) -> float:
    """The tolerance of a run as a number; `field` names it in the ProblemError for a value that is none."""
    if isinstance(value, str):
        if value == EXACT:
            return EXACT_TOLERANCE
        raise ProblemError(field, repr(value), TOLERANCE_WORDS)
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise ProblemError(field, value, TOLERANCE_WORDS) from None
    if not 0.0 < number <= LARGEST_TOLERANCE:
        raise ProblemError(field, value, TOLERANCE_WORDS)
    return number


@dataclass(frozen=True)
class Settings:
    """Law, models, stepper, time step and tolerance. Two runs of one scene with equal settings have equal bits."""

    law: str
    law_options: tuple[tuple[str, Any], ...]  # sorted (name, value) pairs
    restitution_model: str | None  # None for the default of the law
    friction_model: str | None
    stepper: str
    step: float  # time step
    steps: int
    frame_every: int  # number of steps from one recorded frame to the next
    impulses: bool  # whether frames contain the impulses of their step
    # Speed that the impulses of a step may leave, relative to the fastest approach or slip before them; None for
    # engines with bounds of their own, such as towers.
    tolerance: float | None = None

    @property
    def duration(self) -> float:
        """Simulated time of the whole run."""
        return self.step * self.steps

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON values, for a file."""
        return {**asdict(self), "law_options": dict(self.law_options)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Settings:
        """The settings that `as_dict` wrote; unknown entries are ignored."""
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        return cls(**{**known, "law_options": tuple(sorted(data["law_options"].items()))})

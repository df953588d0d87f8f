"""The settings of a run: everything besides the scene that determines its outcome."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# Names of the steppers, for scene files and help texts, which must not import Numba. The classes, with title and
# guarantee, are in `carom.stepping`, whose `register` adds names.
STEPPERS = ["synchronous", "drift_safe", "time_of_impact"]


@dataclass(frozen=True)
class Settings:
    """Law, models, stepper and time step. Two runs of one scene with equal settings have equal bits."""

    law: str
    law_options: tuple[tuple[str, Any], ...]  # sorted (name, value) pairs
    restitution_model: str | None  # None for the default of the law
    friction_model: str | None
    stepper: str
    step: float  # time step
    steps: int
    frame_every: int  # number of steps from one recorded frame to the next
    impulses: bool  # whether frames contain the impulses of their step

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

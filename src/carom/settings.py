"""How a scene is run: everything that decides the outcome besides the scene itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Law, models, stepper and step. Two runs of one scene with equal settings have equal bits."""

    law: str
    law_options: tuple[tuple[str, Any], ...]  # sorted (name, value) pairs
    restitution_model: str | None
    friction_model: str | None
    stepper: str
    step: float
    steps: int
    frame_every: int  # steps from one recorded frame to the next
    impulses: bool  # whether frames carry the impulses of their step

    @property
    def duration(self) -> float:
        return self.step * self.steps

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "law_options": dict(self.law_options)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Settings:
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        return cls(**{**known, "law_options": tuple(sorted(data["law_options"].items()))})

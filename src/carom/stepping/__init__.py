"""Time stepping: how contacts, impacts and free flight follow each other."""

from __future__ import annotations

from ..errors import ProblemError
from ..impact.response import Response
from ..world import World
from .drift_safe import DriftSafe
from .stepper import Stepper
from .synchronous import Synchronous
from .time_of_impact import TimeOfImpact

STEPPERS: dict[str, type[Stepper]] = {s.name: s for s in (Synchronous, DriftSafe, TimeOfImpact)}


def make(name: str, world: World, response: Response, step: float) -> Stepper:
    """A stepper from its name."""
    if name not in STEPPERS:
        raise ProblemError.unknown("stepper", name, STEPPERS)
    if name == TimeOfImpact.name and world.dimension == 3:
        from .time_of_impact_space import TimeOfImpactSpace

        return TimeOfImpactSpace(world, response, step)
    return STEPPERS[name](world, response, step)

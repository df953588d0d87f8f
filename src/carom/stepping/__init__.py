"""The time steppers, by name. `register` adds one of your own."""

from __future__ import annotations

from ..errors import ProblemError
from ..resolve.response import Response
from ..settings import STEPPERS as NAMES
from ..world import World
from .drift_safe import DriftSafe
from .stepper import Stepper
from .substepped import Substepped
from .synchronous import Synchronous
from .time_of_impact import TimeOfImpact

# Every stepper has a name, a title and a guarantee. Scene files and help texts read the names from `carom.settings`.
STEPPERS: dict[str, type[Stepper]] = {s.name: s for s in (Synchronous, DriftSafe, TimeOfImpact, Substepped)}


def register(name: str, stepper: type[Stepper]) -> None:
    """Adds a stepper, so that `simulate`, scenes and the command line accept its name.

    The class takes (world, response, step) and defines `step(state)`, as `Stepper` describes.
    """
    if not (isinstance(stepper, type) and issubclass(stepper, Stepper)):
        raise ProblemError("stepper", stepper, "a subclass of carom.stepping.Stepper")
    if not (isinstance(name, str) and name.isidentifier()):
        raise ProblemError("stepper name", name, "letters, digits and underscores")
    STEPPERS[name] = stepper
    if name not in NAMES:
        NAMES.append(name)


def names() -> list[str]:
    """Registered steppers, in the order of the tables."""
    return list(STEPPERS)


def make(name: str, world: World, response: Response, step: float, active_set: str | None = None) -> Stepper:
    """The stepper with a name, for a world, the response of a run, and the time step.

    `active_set` is for steppers that have the choice; None takes their default.
    """
    if name not in STEPPERS:
        raise ProblemError.unknown("stepper", name, STEPPERS)
    stepper = STEPPERS[name](world, response, step)
    if active_set is not None:
        stepper.choose_active_set(active_set)
    return stepper


def has_active_set(name: str) -> bool:
    """Whether a stepper has the choice of the active set."""
    return name in STEPPERS and STEPPERS[name].has_active_set

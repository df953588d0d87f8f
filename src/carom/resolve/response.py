"""Response: what happens at an impact, chosen and validated once per run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from .. import friction as frictions
from ..errors import ProblemError
from ..friction import FrictionModel
from ..laws import Law, make
from ..settings import EXACT_TOLERANCE, tolerance_number
from .coupled import Asked, asked_of
from .restitution import MODELS

DEFAULT_FRICTION = "cone"

# Tolerances of a run, relative to the fastest speed of approach or slip at any contact of the step, or to the speed
# gained in two steps of free fall if that is larger.
DEFAULT_TOLERANCE = 1e-2
# Repeats of law and friction in an impact of few contacts in a run. They rarely need more than five to agree within the
# tolerance of the run; sweeps follow where they do not.
STEP_REPEATS = 10


@dataclass(frozen=True)
class Response:
    """The law of impact and the models around it.

    law: gives the normal impulses, and friction impulses if `friction_model` is None.
    restitution_model: what the coefficients of restitution mean, one of the law's `restitution_models`.
    friction_model: the model that adds friction to the law, or None for the friction that the law itself has.
    tolerance: the speed that every stage of a step may leave, relative to the fastest speed of approach or slip at any
    contact of the step before its impulses, or to the speed gained in two steps of free fall if that is larger.
    """

    law: Law
    restitution_model: str
    friction_model: FrictionModel | None
    tolerance: float = EXACT_TOLERANCE

    def __post_init__(self) -> None:
        models = self.law.restitution_models
        if self.restitution_model not in MODELS:
            raise ProblemError.unknown("restitution model", self.restitution_model, MODELS)
        if self.restitution_model not in models:
            allowed = f"one of {models} with law {self.law.name!r}"
            raise ProblemError("restitution_model", self.restitution_model, allowed)
        object.__setattr__(self, "tolerance", tolerance_number("tolerance", self.tolerance))

    @classmethod
    def of(
        cls,
        law: str | Law,
        restitution_model: str | None = None,
        friction_model: str | FrictionModel | None = None,
    ) -> Response:
        """A response from names; models that are None are the law's defaults."""
        chosen = make(law)
        model = chosen.restitution_models[0] if restitution_model is None else restitution_model
        return cls(chosen, model, _friction_of(chosen, friction_model))

    @classmethod
    def for_run(
        cls,
        law: str | Law,
        restitution_model: str | None = None,
        friction_model: str | FrictionModel | None = None,
        tolerance: float | str | None = None,
    ) -> Response:
        """The same for the impacts of a time step, with few repeats of the friction model.

        `tolerance` is a number, "exact", or None for DEFAULT_TOLERANCE.
        """
        response = cls.of(law, restitution_model, friction_model)
        number = DEFAULT_TOLERANCE if tolerance is None else tolerance_number("tolerance", tolerance)
        response = replace(response, tolerance=number)
        if response.friction_model is None or response.friction_model.repeats == 0:
            return response
        return replace(response, friction_model=replace(response.friction_model, repeats=STEP_REPEATS))

    @cached_property
    def asked(self) -> Asked | None:
        """What impacts ask of the kernel of `coupled.py`; None where it does not serve."""
        return asked_of(self)

    @property
    def friction_name(self) -> str:
        """Name of the friction model; "own" for the friction of the law itself."""
        return frictions.OWN if self.friction_model is None else self.friction_model.name


def _friction_of(law: Law, model: str | FrictionModel | None) -> FrictionModel | None:
    """The friction model to add, or None for the friction that the law itself has."""
    if model is None:
        return None if law.own_friction else frictions.make(DEFAULT_FRICTION)
    if model == frictions.OWN:
        if not law.own_friction:
            raise ProblemError("friction_model", model, f"one of {', '.join(frictions.MODELS)} with law {law.name!r}")
        return None
    return frictions.make(model)

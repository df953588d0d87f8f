"""Response: what happens at an impact, chosen and validated once per run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import friction as frictions
from ..errors import ProblemError
from ..friction import FrictionModel
from ..laws import Law, make
from ..solvers.rows import Floats
from ..solvers.thresholds import SINGLE_REPEAT_CONTACTS
from .restitution import MODELS, needs_uniform_restitution

DEFAULT_FRICTION = "coulomb_fixed_direction"
MIXED_RESTITUTION = ("refuse", "blend")
DEFAULT_TOLERANCE = 1e-3  # of a run, relative: a thousandth of the fastest approach or slip is not seen

# Repeats of normal and friction impulses within one step of a run. Few are enough: the approach that they leave is
# slow, and the next step resolves it.
STEP_REPEATS = 2
LARGE_STEP_REPEATS = 1


@dataclass(frozen=True)
class Response:
    """The law of impact and the models around it.

    law: gives the normal impulses, and friction impulses if `friction_model` is None.
    restitution_model: what the coefficients of restitution mean, one of the law's `restitution_models`.
    friction_model: the model that adds friction to the law, or None for the friction that the law itself has.
    mixed_restitution: what to do with different coefficients within one island where the restitution model needs a
    single one: "refuse" them, or "blend" them into their mean.
    tolerance: the approach speed that friction may leave, relative to the fastest approach before the impact.
    large_repeats: the repeats of the friction model in impacts with more than SINGLE_REPEAT_CONTACTS contacts; None
    for the number that the friction model itself has.
    """

    law: Law
    restitution_model: str
    friction_model: FrictionModel | None
    mixed_restitution: str = "refuse"
    tolerance: float = 1e-10
    large_repeats: int | None = None

    def __post_init__(self) -> None:
        models = self.law.restitution_models
        if self.restitution_model not in MODELS:
            raise ProblemError.unknown("restitution model", self.restitution_model, MODELS)
        if self.restitution_model not in models:
            allowed = f"one of {models} with law {self.law.name!r}"
            raise ProblemError("restitution_model", self.restitution_model, allowed)
        if self.mixed_restitution not in MIXED_RESTITUTION:
            raise ProblemError.unknown("mixed_restitution", self.mixed_restitution, MIXED_RESTITUTION)

    @classmethod
    def of(
        cls,
        law: str | Law,
        restitution_model: str | None = None,
        friction_model: str | FrictionModel | None = None,
        mixed_restitution: str = "refuse",
    ) -> Response:
        """A response from names; models that are None are the law's defaults."""
        chosen = make(law)
        model = chosen.restitution_models[0] if restitution_model is None else restitution_model
        return cls(chosen, model, _friction_of(chosen, friction_model), mixed_restitution)

    @classmethod
    def for_run(
        cls,
        law: str | Law,
        restitution_model: str | None = None,
        friction_model: str | FrictionModel | None = None,
        mixed_restitution: str = "refuse",
        tolerance: float = DEFAULT_TOLERANCE,
    ) -> Response:
        """The same for the impacts of a time step, with the tolerance of the run and few repeats of friction."""
        response = cls.of(law, restitution_model, friction_model, mixed_restitution)
        response = replace(response, tolerance=tolerance)
        if response.friction_model is None:
            return response
        few = replace(response.friction_model, repeats=STEP_REPEATS)
        return replace(response, friction_model=few, large_repeats=LARGE_STEP_REPEATS)

    @property
    def friction_name(self) -> str:
        """Name of the friction model; "own" for the friction of the law itself."""
        return frictions.OWN if self.friction_model is None else self.friction_model.name

    @property
    def replaces_friction(self) -> bool:
        """Whether a friction model takes the place of the friction that the law itself has."""
        return self.law.own_friction and self.friction_model is not None

    @property
    def blends(self) -> bool:
        """Whether different coefficients of restitution within one island are replaced by their mean."""
        return self.mixed_restitution == "blend" and needs_uniform_restitution(self.restitution_model)

    def repeats(self, count: int) -> int:
        """How often normal and friction impulses alternate in an impact with `count` contacts."""
        if self.friction_model is None:
            return 0
        if self.large_repeats is not None and count > SINGLE_REPEAT_CONTACTS:
            return self.large_repeats
        return self.friction_model.repeats

    def check_restitutions(self, used: Floats) -> None:
        """Raises ProblemError if the coefficients of restitution `used` in a run have no exact meaning together."""
        values = np.unique(used)
        uniform = needs_uniform_restitution(self.restitution_model)
        if len(values) > 1 and uniform and self.mixed_restitution == "refuse":
            raise ProblemError(
                "materials",
                f"restitutions {', '.join(f'{v:g}' for v in values)} that may meet in one island",
                f"one restitution for law {self.law.name!r} with model {self.restitution_model!r}; "
                'or mixed_restitution = "blend" (the mean on each island, weighted by energy of approach); '
                "or a law with a value for each contact (etm, lzb with stronge, gauss_seidel, sqm with newton)",
            )


def _friction_of(law: Law, model: str | FrictionModel | None) -> FrictionModel | None:
    """The friction model to add, or None for the friction that the law itself has."""
    if model is None:
        return None if law.own_friction else frictions.make(DEFAULT_FRICTION)
    if model == frictions.OWN:
        if not law.own_friction:
            raise ProblemError("friction_model", model, f"one of {', '.join(frictions.MODELS)} with law {law.name!r}")
        return None
    return frictions.make(model)

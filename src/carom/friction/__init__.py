"""Friction models: Coulomb friction at impact, for every law.

Coupled models find normal and friction impulses together, with the separation speeds that law and restitution model
ask for. In the others the normal impulses of the law come first, friction then takes away as much kinetic energy as its
bounds allow, and the two alternate while friction drives contacts together. See `resolve/impulses.py`.
"""

from __future__ import annotations

from ..errors import ProblemError
from .cone import Cone
from .fixed_direction import FixedDirection, SinglePass
from .model import CoupledModel, FrictionModel
from .pyramid import Pyramid, StaggeredPyramid

OWN = "own"  # name of the friction that a law itself has
MODELS: dict[str, FrictionModel] = {
    "coulomb_fixed_direction": FixedDirection(),
    "coulomb_single_pass": SinglePass(),
    "pyramid": Pyramid(),
    "pyramid_staggered": StaggeredPyramid(),
    "cone": Cone(),
}


def make(model: str | FrictionModel) -> FrictionModel:
    """A friction model from its name; a configured one passes through."""
    if isinstance(model, FrictionModel):
        return model
    if model not in MODELS:
        raise ProblemError.unknown("friction model", model, [*MODELS, OWN])
    return MODELS[model]


__all__ = [
    "MODELS",
    "OWN",
    "Cone",
    "CoupledModel",
    "FixedDirection",
    "FrictionModel",
    "Pyramid",
    "SinglePass",
    "StaggeredPyramid",
    "make",
]

"""Friction models: Coulomb friction at impact, for every law.

A model says where friction impulses may lie. It also says whether they are found together with the normal impulses, for
the separation speeds that law and restitution model ask for, or after those of the law. In the latter case law and
friction take turns while friction drives contacts together. All of them are calls of the frictional contact solver. See
`resolve/impulses.py`.
"""

from __future__ import annotations

from ..errors import ProblemError
from .cone import Cone
from .fixed_direction import FixedDirection, SinglePass
from .model import FrictionModel, Solved
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
    "FixedDirection",
    "FrictionModel",
    "Pyramid",
    "SinglePass",
    "Solved",
    "StaggeredPyramid",
    "make",
]

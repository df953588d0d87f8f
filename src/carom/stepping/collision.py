"""The law applied to the contacts of a step, with the run's models of restitution and friction."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import friction as frictions
from ..errors import ProblemError
from ..friction import FrictionModel
from ..impact.contacts import Contacts, Impulses
from ..laws import Law
from ..restitution import model_of
from ..solve import DEFAULT_FRICTION, resolve
from ..solvers.islands import island_labels
from ..solvers.rows import Floats
from ..world import World

REPEATS = 2  # of normal and friction impulses in turn, in one round of impacts
MANY = 2000  # contacts of an impact from which on one repeat is enough
NOISE = 1e-12  # approach below this part of the fastest body is rounding: touching bodies that move together


@dataclass(frozen=True)
class Collision:
    """Law and models of a run."""

    law: Law
    restitution_model: str | None = None
    friction_model: str | None = None
    blend: bool = False  # mean restitution on each island, where the materials differ

    @property
    def needs_one_value(self) -> bool:
        return model_of(self.law, self.restitution_model) in ("energetic", "qce_lcp")

    def check(self, world: World) -> None:
        """Refuses, before the run, materials that the law has no exact meaning for."""
        values = np.unique(used_restitutions(world))
        if len(values) > 1 and self.needs_one_value and not self.blend:
            raise ProblemError(
                "materials",
                f"restitutions {', '.join(f'{v:g}' for v in values)} that may meet in one island",
                f"one restitution for law {self.law.name!r} with model {model_of(self.law, self.restitution_model)!r}; "
                'or mixed_restitution = "blend" (the mean on each island, weighted by energy of approach); '
                "or a law with a value for each contact (etm, lzb with stronge, gauss_seidel, sqm with newton)",
            )

    def resolve(self, contacts: Contacts, slow: float = 0.0) -> Impulses:
        """The law's impulses. In large impacts speeds below `slow` may count as none: the stepper stops them."""
        if self.blend and self.needs_one_value and len(contacts.restitution):
            c = contacts.restitution
            if not (c == c[0]).all():
                contacts = replace(contacts, restitution=blended(contacts))
        return resolve(contacts, self.law, self.restitution_model, self._friction(contacts, slow))

    def _friction(self, contacts: Contacts, slow: float) -> str | FrictionModel | None:
        """The friction model with few repeats: what they leave is slow, and the next step sees it."""
        name = self.friction_model
        if name is None and not self.law.own_friction:
            name = DEFAULT_FRICTION
        if name is None or name == frictions.OWN:
            return name
        approach = -float(contacts.speeds().min(initial=0.0))
        coarse = min(slow / approach, 0.9) if approach > 0.0 else 0.0
        return replace(frictions.make(name), repeats=REPEATS if contacts.count <= MANY else 1, coarse=coarse)


def blended(contacts: Contacts) -> Floats:
    """One restitution for each island: the mean, weighted by `u^2 / A_ii` of the approaching contacts."""
    label = island_labels(contacts.rows)
    u = np.minimum(contacts.speeds(), 0.0)
    weight = u * u / contacts.rows.diag
    total = np.bincount(label, weight)
    mean = np.bincount(label, weight * contacts.restitution)
    plain = np.bincount(label, contacts.restitution) / np.bincount(label)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(total > 0.0, mean / total, plain)
    return np.clip(value, 0.0, 1.0)[label]


def used_restitutions(world: World) -> Floats:
    """Restitutions of all pairs of materials that can meet."""
    free = np.unique(world.material[world.free])
    bodies, count = np.unique(world.material, return_counts=True)
    pairs = [(a, b) for a in free for b, k in zip(bodies, count) if a != b or k > 1]
    pairs += [(a, b) for a in free for b in np.unique(world.boundary_material)]
    return np.array([world.restitution[a, b] for a, b in pairs])

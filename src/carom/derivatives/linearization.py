"""The derivative of the answer to an impact: matrix, products with it, and the kinks near it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import ProblemError
from ..friction import Cone, FixedDirection, Pyramid
from ..problem import checks
from ..problem.contacts import RESOLVED
from ..problem.solution import ImpactSolution
from ..resolve.response import Response
from ..solvers.rows import Floats
from .answers import normal_answer
from .coulomb import joint_answer
from .kinks import AT_KINK, Kink
from .parameters import NAMES, OF_ROWS, Parameters
from .replay import Replay
from .staggered import staggered_answer

COUPLED = ("cone", "pyramid", "coulomb_fixed_direction")  # friction models with derivatives
_REPLAYED: WeakKeyDictionary[ImpactSolution, dict[bool, Linearization]] = WeakKeyDictionary()
AGREES = 1e-10  # largest difference of the replay from the solution, relative to the fastest velocity; ...
AGREES_RESIDUALS = 100.0  # ... or this many residuals of the solution: laws relax cone problems, the replay does not


@dataclass(frozen=True, eq=False)
class Derivative:
    """Derivatives of the velocity after impact.

    `values[name]` has the shape of the velocity followed by that of the parameter. At a kink there is no derivative:
    `smooth` is false, and the values are those of the side on which the law has decided.
    """

    values: Mapping[str, Floats]
    kinks: tuple[Kink, ...]  # decisions of the law with the smallest margins, nearest first
    kink_distance: float  # smallest margin, a speed; infinity if the law made no decision
    smooth: bool  # whether the problem is farther from every kink than rounding error

    def __repr__(self) -> str:
        near = f"nearest kink at a speed of {self.kink_distance:.3g}" if self.smooth else "at a kink"
        return f"<Derivative with respect to {', '.join(self.values)}: {near}>"

    def __getitem__(self, name: str) -> Floats:
        if name not in self.values:
            raise ProblemError.unknown("parameter", name, self.values)
        return self.values[name]


class Linearization:
    """A replayed impact, from which derivatives are read: see `ImpactSolution.derivative`."""

    def __init__(self, solution: ImpactSolution, restitution: bool = True) -> None:
        problem, self.shape = solution.problem, solution.velocity.shape  # no reference to the solution: see linearize
        response = solution.response
        if not isinstance(response, Response):
            raise ProblemError("solution", "one without its law", "a solution of solve_impact")
        if solution.status != RESOLVED:
            raise ProblemError("solution", solution.status, "one that is resolved: others have no derivative")
        if problem.speed_exponent:
            raise ProblemError("velocity", "speeds beyond 2^100", "ordinary speeds for derivatives")
        self.parameters = Parameters(problem)
        self.run = Replay(self.parameters.system, problem.contacts, response)
        self.register, x = _answered(self.run, solution, restitution)
        self.after = np.asarray(solution.velocity, dtype=float).ravel()
        found = problem.velocity.ravel() + self.parameters.basis @ (x - self.parameters.system.velocity)
        error = float(np.abs(found - self.after).max())
        size = max(float(np.abs(self.after).max()), float(np.abs(problem.velocity).max()))
        if not error <= max(AGREES, AGREES_RESIDUALS * solution.residual) * size:
            raise ProblemError(
                "solution", f"a replay that differs by {error:.1e}", f"one that {solution.law} finds again"
            )

    def kinks(self, wrt: tuple[str, ...]) -> tuple[Kink, ...]:
        """The nearest kinks of the derivative with respect to some parameters, nearest first."""
        return self.run.margins.of(wrt)

    def distance(self, wrt: tuple[str, ...]) -> float:
        """Distance to the nearest of them."""
        found = self.kinks(wrt)
        return found[0].distance if found else np.inf

    def is_smooth(self, wrt: tuple[str, ...]) -> bool:
        """Whether there is a derivative."""
        return self.distance(wrt) > AT_KINK * self.run.margins.scale

    def jvp(self, changes: Mapping[str, Any]) -> Floats:
        """The change of the velocity after impact, in its shape, for changes of parameters."""
        given = {name: self._checked(name, value)[..., None] for name, value in changes.items()}
        return self._forward(given, 1).reshape(self.shape)

    def vjp(self, weights: Any, wrt: tuple[str, ...]) -> dict[str, Floats]:
        """The derivatives of `sum weights * velocity` after impact, by parameter and in the shape of each."""
        w = checks.finite("weights", weights)
        if w.size != self.after.size:
            raise ProblemError("weights", f"{w.size} numbers", f"{self.after.size}: one for each component")
        return {name: value[..., 0] for name, value in self._backward(w.reshape(-1, 1), wrt).items()}

    def derivative(self, wrt: tuple[str, ...]) -> Derivative:
        """All derivatives, by the mode that needs fewer directions."""
        shape, size, values = self.shape, self.after.size, {}
        for name in wrt:
            own = self.parameters.shape(name)
            count = int(np.prod(own))
            if count <= size:
                unit = np.eye(count).reshape((*own, count))
                values[name] = self._forward({name: unit}, count).reshape((*shape, *own))
            else:
                rows = self._backward(np.eye(size), (name,))[name]
                values[name] = np.moveaxis(rows, -1, 0).reshape((*shape, *own))
        return Derivative(values, self.kinks(wrt), self.distance(wrt), self.is_smooth(wrt))

    def _checked(self, name: str, value: Any) -> Floats:
        shape = self.parameters.shape(name)
        array = checks.finite(name, value)
        if array.size != int(np.prod(shape)):
            raise ProblemError(name, f"shape {array.shape}", f"a change of shape {shape}")
        return array.reshape(shape)

    def _forward(self, changes: dict[str, Floats], directions: int) -> Floats:
        d = self.parameters.tangents(changes, directions)
        for stage in self.run.stages:
            stage.jvp(d)
        return self.parameters.outcome(changes, d, d.registers[self.register], self.after)

    def _backward(self, weights: Floats, wrt: tuple[str, ...]) -> dict[str, Floats]:
        for name in wrt:
            self.parameters.shape(name)
        bar = self.parameters.system.zeros(weights.shape[1], bool(OF_ROWS & set(wrt)))
        bar.registers[self.register] = np.asarray(self.parameters.basis.T @ weights)
        for stage in reversed(self.run.stages):
            stage.vjp(bar)
        bar.of("before", len(self.parameters.system.velocity))
        return self.parameters.adjoints(wrt, bar, weights, self.after)


def _answered(run: Replay, solution: ImpactSolution, restitution: bool) -> tuple[str, Floats]:
    """Register and whitened velocity of the replayed answer."""
    if run.response.friction_model is None or not solution.problem.friction.any():
        at = normal_answer(run, restitution)
        return at.register, at.velocity
    model = run.response.friction_model
    if isinstance(model, FixedDirection):
        return staggered_answer(run, solution, restitution)
    if not isinstance(model, Cone | Pyramid) or not model.coupled:
        raise ProblemError("friction_model", solution.friction_model, f"a model with derivatives: {', '.join(COUPLED)}")
    at = normal_answer(run, restitution)
    if not at.normal.any():
        return at.register, at.velocity
    return joint_answer(run, solution, at, restitution)


def names_of(wrt: str | Iterable[str]) -> tuple[str, ...]:
    """The parameters of a derivative, checked."""
    names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    if not names:
        raise ProblemError("wrt", "nothing", f"some of {', '.join(NAMES)}")
    for name in names:
        if name not in NAMES:
            raise ProblemError.unknown("parameter", name, NAMES)
    return names


def linearize(solution: ImpactSolution, wrt: str | Iterable[str] = "velocity") -> Linearization:
    """The impact replayed for derivatives with respect to some parameters."""
    names = names_of(wrt)
    kept = _REPLAYED.setdefault(solution, {})
    key = "restitution" in names
    if key not in kept:
        kept[key] = Linearization(solution, key)
    return kept[key]

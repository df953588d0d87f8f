"""What the wrappers of both libraries share: impacts of one problem with other parameters, one by one or in batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..derivatives import linearize, names_of
from ..derivatives.parameters import Parameters
from ..errors import ProblemError
from ..friction import FrictionModel
from ..late import sparse as sp
from ..laws import Law
from ..problem.jointed_mass import JointedMass
from ..problem.mass import BlockMass, DiagonalMass, GeneralMass
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..resolve.impulses import solve_impacts
from ..solvers.rows import Floats

SETTABLE = ("velocity", "restitution", "friction", "boundary_speed", "mass", "rows", "tangents")


class Impacts:
    """The velocity after impact as a function of some parameters of a problem, with its derivatives.

    Parameters have the shapes of docs/derivatives.md, or one more axis in front: a batch. Solutions of the last call
    are kept, so that derivatives at the same parameters do not solve again.
    """

    def __init__(
        self,
        problem: ImpactProblem,
        law: str | Law,
        wrt: str | Iterable[str],
        restitution_model: str | None,
        friction_model: str | FrictionModel | None,
    ) -> None:
        self.problem, self.law, self.names = problem, law, names_of(wrt)
        for name in self.names:
            if name not in SETTABLE:
                raise ProblemError("wrt", name, f"some of {', '.join(SETTABLE)}")
        known = Parameters(problem)
        self.shapes = {name: tuple(int(k) for k in known.shape(name)) for name in self.names}
        self._models = {"restitution_model": restitution_model, "friction_model": friction_model}
        self._last: tuple[bytes, list[ImpactSolution]] = (b"", [])

    def batch(self, shapes: list[tuple[int, ...]]) -> int | None:
        """The length of the batch, or None for single parameters."""
        if len(shapes) != len(self.names):
            raise ProblemError("parameters", f"{len(shapes)} of them", f"one each for {', '.join(self.names)}")
        count = None
        for name, shape in zip(self.names, shapes, strict=True):
            own = self.shapes[name]
            if tuple(shape) == own:
                continue
            if len(shape) != len(own) + 1 or tuple(shape[1:]) != own or count not in (None, shape[0]):
                raise ProblemError(name, f"shape {tuple(shape)}", f"shape {own}, or one axis more for a batch")
            count = int(shape[0])
        return count

    def velocity(self, values: list[Any]) -> Floats:
        """The velocity after impact; of a batch with one axis more."""
        found = [solution.velocity for solution in self._solved(values)]
        return np.stack(found) if self.batch([np.shape(v) for v in values]) is not None else np.array(found[0])

    def adjoints(self, values: list[Any], weights: Any) -> list[Floats]:
        """The derivatives of `sum(weights * velocity)` with respect to each parameter, in its given shape."""
        shapes = [np.shape(v) for v in values]
        count = self.batch(shapes)
        rows = [np.asarray(weights, dtype=float)] if count is None else list(np.asarray(weights, dtype=float))
        out = [np.zeros(shape) for shape in shapes]
        for k, (solution, row) in enumerate(zip(self._solved(values), rows, strict=True)):
            slopes = linearize(solution, self.names).vjp(row, self.names)
            for place, name in enumerate(self.names):
                if count is not None and len(shapes[place]) > len(self.shapes[name]):
                    out[place][k] += slopes[name]
                else:
                    out[place] += slopes[name]
        return out

    def tangents(self, values: list[Any], changes: list[Any]) -> Floats:
        """The change of the velocity after impact for changes of the parameters, in their given shapes."""
        shapes = [np.shape(v) for v in values]
        count, found = self.batch(shapes), []
        for k, solution in enumerate(self._solved(values)):
            some = {n: self._one(n, np.asarray(c, dtype=float), k) for n, c in zip(self.names, changes, strict=True)}
            found.append(linearize(solution, self.names).jvp(some))
        return np.array(found[0]) if count is None else np.stack(found)

    def _solved(self, values: list[Any]) -> list[ImpactSolution]:
        arrays = [np.asarray(v, dtype=float) for v in values]
        key = b"|".join(np.ascontiguousarray(a).tobytes() for a in arrays)
        if key != self._last[0] or not self._last[1]:
            count = self.batch([a.shape for a in arrays])
            problems = [self._problem(arrays, k) for k in range(1 if count is None else count)]
            self._last = (key, solve_impacts(problems, self.law, **self._models))  # type: ignore[arg-type]
        return self._last[1]

    def _problem(self, arrays: list[Floats], k: int) -> ImpactProblem:
        """Problem k of a batch."""
        problem = self.problem
        for name, array in zip(self.names, arrays, strict=True):
            problem = _changed(problem, name, self._one(name, array, k))
        return problem

    def _one(self, name: str, array: Floats, k: int) -> Floats:
        return array[k] if array.ndim > len(self.shapes[name]) else array


def _changed(problem: ImpactProblem, name: str, value: Floats) -> ImpactProblem:
    """The problem with another value of one parameter."""
    if name == "rows":
        return replace(problem, rows=replace(problem.rows, val=_finite(name, value)))
    if name == "tangents":
        return replace(problem, tangents=replace(problem.tangents, val=_finite(name, value)))  # type: ignore[type-var]
    if name == "mass":
        return replace(problem, mass=_mass(problem, problem.mass, _finite(name, value)))
    return problem.with_(**{name: value})


def _mass(problem: ImpactProblem, mass: Any, value: Floats) -> Any:
    if isinstance(mass, JointedMass):
        return JointedMass(_mass(problem, mass.base, value), problem.joints, problem.block)  # type: ignore[arg-type]
    if isinstance(mass, DiagonalMass):
        if not (value > 0.0).all():
            raise ProblemError("mass", value, "positive numbers")
        return DiagonalMass(value)
    if isinstance(mass, BlockMass):
        return BlockMass(0.5 * (value + value.swapaxes(1, 2)))
    return GeneralMass(sp.csr_matrix(0.5 * (value + value.T)))


def _finite(name: str, value: Floats) -> Floats:
    if not np.isfinite(value).all():
        raise ProblemError(name, "numbers that are not finite", "finite numbers")
    return np.array(value)

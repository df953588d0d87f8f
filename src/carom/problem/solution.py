"""ImpactSolution: the velocities after impact, and the audit of the solution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..geometry.rotations import spin_components
from ..shown import Shown
from ..solvers.rows import Floats, Ints
from . import checks
from .jointed_mass import JointedMass
from .problem import ImpactProblem

# Bounds of the audit: energy, momentum and residual relative, speeds relative to the fastest at any contact.
ENERGY_BOUND = 1e-10
MOMENTUM_BOUND = 1e-12
SPEED_BOUND = 1e-9
RESIDUAL_BOUND = 1e-10


@dataclass(frozen=True, eq=False)
class ImpactSolution(Shown):
    """The solution of one problem under one law. Immutable."""

    problem: ImpactProblem
    law: str
    velocity: Floats  # after impact, in the shape of the velocity of the problem
    impulse: Floats  # (m,) normal, N s; >= 0 if the law is one-sided
    friction_impulse: Floats | None  # (m, t) along the tangent rows, N s
    iterations: int
    status: str  # resolved, finished_inelastically, not_converged or infeasible
    residual: float  # largest relative residual of the equations of the law
    messages: tuple[str, ...] = ()
    friction_model: str | None = None  # "own" for the friction of the law itself, None without friction
    history: NDArray[Any] | None = None  # every impulse of the law: contact, stage, before, after, work, stored
    response: Any = None  # carom.resolve.response.Response: law and models with their options

    def __repr__(self) -> str:
        energy = f"kinetic energy {self.problem.kinetic_energy:.6g} -> {self.kinetic_energy:.6g}"
        found = f"law {self.law}, {self.status}, residual {abs(self.residual):.1e}"
        return f"<ImpactSolution {self.problem.name}: {found}, {energy}>"

    @cached_property
    def separation_speed(self) -> Floats:
        """`J v+ + boundary_speed`, (m,): negative would mean that bodies still approach."""
        speed = self.problem.separation_speed(self.velocity)
        speed.setflags(write=False)
        return speed

    @property
    def effective_restitution(self) -> Floats:
        """`u+ / -u` of each contact, (m,): what its coefficient has come to. NaN where it did not approach."""
        before = self.problem.separation_speed()
        approaching = before < -SPEED_BOUND * np.abs(before).max(initial=0.0)
        return np.divide(self.separation_speed, -before, out=np.full(len(before), np.nan), where=approaching)

    @cached_property
    def slip_speed(self) -> Floats:
        """Slip after impact along the tangent rows, (m, t)."""
        p = self.problem
        slip = p.contacts.tangent_speeds(p.mass.whiten(self.velocity.reshape(p.block)))
        slip.setflags(write=False)
        return slip

    @cached_property
    def joint_impulse(self) -> Floats | None:
        """Impulse along each joint row, (r,), of least norm where joints are redundant; None without joints."""
        p = self.problem
        if not isinstance(p.mass, JointedMass):
            return None
        nu = p.mass.joint_impulses(_unexplained(p, self.velocity, self.impulse, self.friction_impulse)[0])
        nu.setflags(write=False)
        return nu

    @property
    def certified(self) -> bool:
        """Whether the residual is at most 1e-10: a certificate that the equations of the law were solved."""
        return self.residual <= RESIDUAL_BOUND

    @property
    def kinetic_energy(self) -> float:
        """`1/2 v^T M v` after impact."""
        return self.problem.energy_of(self.velocity)

    @cached_property
    def contact_work(self) -> float:
        """Work of all contact impulses, `sum lam (u- + u+) / 2`, in the frame of each contact.

        With boundaries at rest it is the change of kinetic energy. With moving boundaries it does not contain the work
        of the boundary.
        """
        before = self.problem.separation_speed()
        work = 0.5 * float(self.impulse @ (before + self.separation_speed))
        if self.friction_impulse is not None:
            mean = 0.5 * (self.velocity + self.problem.velocity)
            work += float((self.friction_impulse * self.problem.slip_speed(mean)).sum())
        return work

    def in_units(self, exponent: int, problem: ImpactProblem | None = None) -> ImpactSolution:
        """The same solution with 2^exponent as the unit of speed, of `problem`, which is in that unit.

        Raises ProblemError if a number is too large in that unit.
        """
        given = self.problem.in_units(exponent) if problem is None else problem
        friction = self.friction_impulse
        return replace(
            self,
            problem=given,
            velocity=_scaled(self.velocity, -exponent),
            impulse=_scaled(self.impulse, -exponent),
            friction_impulse=None if friction is None else _scaled(friction, -exponent),
            history=None if self.history is None else _scaled_history(self.history, -exponent),
        )

    def derivative(self, wrt: Any = "velocity") -> Any:
        """Derivatives of the velocity after impact with respect to parameters of the problem: see docs/derivatives.md.

        `wrt` is one or several of velocity, restitution, friction, boundary_speed, tangent_speed, mass, masses,
        inertias, rows, tangents, points, normals. The result has one array for each, and says how far the nearest kink
        is, where there is no derivative.
        """
        from ..derivatives import linearize, names_of

        return linearize(self, wrt).derivative(names_of(wrt))

    def jvp(self, changes: Any) -> Floats:
        """The change of the velocity after impact for changes of parameters, `{"velocity": dv, ...}`."""
        from ..derivatives import linearize

        return linearize(self, changes).jvp(changes)

    def vjp(self, weights: Any, wrt: Any = "velocity") -> dict[str, Floats]:
        """The derivatives of `sum(weights * velocity)` after impact, by parameter, without the matrix."""
        from ..derivatives import linearize, names_of

        return linearize(self, wrt).vjp(weights, names_of(wrt))

    def audit(self) -> SolutionAudit:
        """Measures energy, momentum, feasibility, one-sidedness and the residual."""
        return SolutionAudit.of(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON."""
        return {
            "law": self.law,
            "status": self.status,
            "iterations": self.iterations,
            "residual": self.residual,
            "velocity": self.velocity.tolist(),
            "impulse": self.impulse.tolist(),
            "friction_model": self.friction_model,
            "friction_impulse": None if self.friction_impulse is None else self.friction_impulse.tolist(),
            **({} if self.joint_impulse is None else {"joint_impulse": self.joint_impulse.tolist()}),
            "separation_speed": self.separation_speed.tolist(),
            "messages": list(self.messages),
            "audit": self.audit().to_dict(),
        }


def _scaled(array: Floats, exponent: int) -> Floats:
    """A read-only copy times 2^exponent."""
    with np.errstate(over="ignore"):
        scaled = np.ldexp(array, exponent)
    if not np.isfinite(scaled).all():
        raise ProblemError("velocity", "speeds whose impact exceeds the range of numbers", "smaller speeds")
    return checks.frozen(scaled)


@dataclass(frozen=True)
class Measure:
    """One line of an audit."""

    name: str
    value: float
    unit: str
    bound: str
    passed: bool


@dataclass(frozen=True)
class SolutionAudit:
    """The measures of one solution. Printing it gives a table."""

    law: str
    status: str
    measures: tuple[Measure, ...]

    @classmethod
    def of(cls, s: ImpactSolution) -> SolutionAudit:
        """The audit of a solution."""
        exponent = s.problem.speed_exponent
        if exponent:
            return cls.of(s.in_units(exponent))._in_units(-exponent)
        p = s.problem
        before = p.kinetic_energy
        # With boundaries that drive bodies at rest, the energy of the fastest approaching contact is the scale.
        approach = p.separation_speed() ** 2 / (2.0 * p.contacts.rows.diag)
        scale = max(before, float(approach.max()), np.finfo(float).tiny)
        change = s.contact_work / scale
        elastic = bool((p.restitution == 1.0).all() and not p.friction.any())
        kept = abs(change) <= ENERGY_BOUND if elastic else change <= ENERGY_BOUND
        momentum = momentum_violation(p, s.velocity, s.impulse, s.friction_impulse)
        slowest = float(s.separation_speed.min())
        speed = max(float(np.abs(p.separation_speed()).max()), np.finfo(float).tiny)
        smallest = float(s.impulse.min())
        push = max(float(np.abs(s.impulse).max()), np.finfo(float).tiny)
        measures = [
            Measure("kinetic energy before", before, "J", "", True),
            Measure("kinetic energy after", s.kinetic_energy, "J", "", True),
            Measure("energy change", change, "relative", "= 0 +- 1e-10" if elastic else "<= 1e-10", kept),
            Measure("momentum error", momentum, "relative", "<= 1e-12", momentum <= MOMENTUM_BOUND),
            Measure("slowest separation", slowest, "m/s", ">= -1e-9 of speed", slowest >= -SPEED_BOUND * speed),
            Measure("smallest impulse", smallest, "N s", ">= 0", smallest >= -1e-12 * push),
            Measure("residual", s.residual, "relative", "<= 1e-10", s.certified),
        ]
        effective = s.effective_restitution[np.isfinite(s.effective_restitution)]
        if len(effective):
            measures.append(Measure("least restitution", float(effective.min()), "u+ / -u", "", True))
            measures.append(Measure("largest restitution", float(effective.max()), "u+ / -u", "", True))
        if p.joints is not None:
            error = p.joints.error(s.velocity, p.velocity)
            measures.append(Measure("joint error", error, "relative", "<= 1e-9", error <= SPEED_BOUND))
        if s.friction_impulse is not None and p.friction.any():
            measures += _coulomb(s, push)
        finite = (replace(m, passed=m.passed and bool(np.isfinite(m.value))) for m in measures)
        return cls(s.law, s.status, tuple(finite))

    def _in_units(self, exponent: int) -> SolutionAudit:
        """The audit with 2^exponent as the unit of speed; energies may leave the range of numbers."""
        power = {"J": -2 * exponent, "m/s": -exponent, "N s": -exponent}
        with np.errstate(over="ignore"):
            scaled = (replace(m, value=float(np.ldexp(m.value, power.get(m.unit, 0)))) for m in self.measures)
            return replace(self, measures=tuple(scaled))

    @property
    def passed(self) -> bool:
        """Whether every measure is within its bound."""
        return all(m.passed for m in self.measures)

    def to_dict(self) -> dict[str, Any]:
        """The measures as plain numbers, for JSON."""
        rows = {m.name: {"value": m.value, "unit": m.unit, "passed": m.passed} for m in self.measures}
        return {"passed": self.passed, **rows}

    def __str__(self) -> str:
        lines = [f"law {self.law}, status {self.status} (units are SI if the problem's are)"]
        for m in self.measures:
            verdict = "" if not m.bound else ("pass" if m.passed else "FAIL")
            lines.append(f"  {m.name:<22} {m.value: .6e}  {m.unit:<9} {m.bound:<18} {verdict}".rstrip())
        return "\n".join(lines)


def _coulomb(s: ImpactSolution, push: float) -> list[Measure]:
    """Coulomb's law after impact: the bound of friction, its direction, and the residual of both.

    The pyramid bounds each tangent by itself, so its corners may reach sqrt(2) times the friction cone. Friction that
    a law has itself acts during the impact, so that its direction is given without a bound. The residual has one for
    every model: friction along a fixed direction, or that of a law, passes where it is Coulomb's law after the impact.
    """
    p, beta, slip = s.problem, s.friction_impulse, s.slip_speed
    if beta is None or not p.contacts.tangent_count:
        return []
    boxed, own = (s.friction_model or "").startswith("pyramid"), s.friction_model == "own"
    bound = (p.friction * np.maximum(s.impulse, 0.0))[:, None]
    size = np.linalg.norm(beta, ord=np.inf if boxed else 2, axis=1)
    excess = float((size - bound[:, 0]).max()) / push
    fastest = max(p.contacts.fastest(), np.finfo(float).tiny)
    along = float(((beta / push) * (slip / fastest)).sum(axis=1).max())  # the product of the scales may underflow
    stiff = p.contacts.tangent_diag
    stiff = stiff if boxed else stiff.sum(axis=1, keepdims=True)
    moved = beta - slip / np.where(stiff > 0.0, stiff, np.inf)
    length = np.abs(moved) if boxed else np.linalg.norm(moved, axis=1, keepdims=True)
    nearest = moved * np.minimum(1.0, bound / np.where(length > 0.0, length, np.inf).clip(np.finfo(float).tiny))
    residual = float((np.abs(nearest - beta) * stiff).max()) / fastest
    return [
        Measure("friction beyond mu lam", excess, "relative", "<= 0", excess <= 1e-10),
        Measure("friction along slip", along, "relative", "" if own else "<= 1e-9", own or along <= SPEED_BOUND),
        Measure("Coulomb residual", residual, "relative", "<= 1e-9", residual <= SPEED_BOUND),
    ]


def _scaled_history(history: NDArray[Any], exponent: int) -> NDArray[Any]:
    """The history with speeds times 2^exponent, and energies times the square of that."""
    out = history.copy()
    for name, power in (("before", 1), ("after", 1), ("work", 2), ("stored", 2)):
        out[name] = np.ldexp(out[name], power * exponent)
    return out


# ---- linear and angular momentum, and the error of their balance


def generators(problem: ImpactProblem) -> dict[str, Floats]:
    """Rigid motions (n, d) of all bodies by name; the momentum along a motion is `sum(motion * M v)`.

    The rotations need the positions of the bodies. A problem given as matrices has none, so the meaning of its
    components is unknown and the result is empty.
    """
    n, d = problem.block
    place = problem.positions
    if place is None:
        return {}
    dim = place.shape[1]
    motions: dict[str, Floats] = {}
    for k in range(min(dim, d)):
        motion = np.zeros((n, d))
        motion[:, k] = 1.0
        motions["linear " + "xyz"[k]] = motion
    if d < 2 or dim < 2:
        return motions
    first = 3 - spin_components(dim)  # in 2D bodies rotate about z alone
    for k in range(first, 3):
        axis = np.eye(3)[k]
        arm = np.zeros((n, 3))
        arm[:, :dim] = place
        motion = np.zeros((n, d))
        motion[:, :dim] = np.cross(axis, arm)[:, :dim]
        if d > dim:
            motion[:, dim:] = axis[first:]
        motions["angular " + "xyz"[k]] = motion
    return motions


def _unexplained(
    problem: ImpactProblem, velocity: Floats, normal: Floats, tangent: Floats | None
) -> tuple[Floats, Floats]:
    """`M (v+ - v)` without the impulses of the contacts, (n, d), and the whole of it."""
    n = problem.block[0]
    change = problem.mass.times(velocity.reshape(problem.block) - problem.block_velocity)
    pushed = problem.rows.transpose_times(normal, n)
    if tangent is not None and problem.tangents is not None:
        pushed += problem.tangents.transpose_times(np.ascontiguousarray(tangent).ravel(), n)
    return change - pushed, change


def momentum_violation(problem: ImpactProblem, velocity: Floats, normal: Floats, tangent: Floats | None) -> float:
    """Largest relative error of the momentum balance.

    Two errors are measured: that of `M (v+ - v) = J^T lam + B^T nu` in every component, and, along each rigid motion,
    that of the change of momentum against the impulses of contacts and joints with the world. Contacts and joints
    between bodies must add nothing.
    """
    n = problem.block[0]
    rest, change = _unexplained(problem, velocity, normal, tangent)
    pushed = change - rest
    world = problem.rows.transpose_times(np.where(_alone(problem.rows.ptr), normal, 0.0), n)
    if tangent is not None and problem.tangents is not None:
        flat = np.ascontiguousarray(tangent).ravel()
        world += problem.tangents.transpose_times(np.where(_alone(problem.tangents.ptr), flat, 0.0), n)
    if problem.joints is not None and isinstance(problem.mass, JointedMass):
        rows, nu = problem.joints.rows, problem.mass.joint_impulses(rest)
        rest = rest - rows.transpose_times(nu, n)
        world += rows.transpose_times(np.where(_alone(rows.ptr), nu, 0.0), n)
    before = problem.mass.times(problem.block_velocity)
    size = max(np.abs(before).max(), np.abs(pushed).max(), np.finfo(float).tiny)
    worst = np.abs(rest).max() / size
    motions = generators(problem)
    if tangent is not None and problem.positions is not None and problem.block[1] == problem.positions.shape[1]:
        # Bodies that cannot rotate take up no torque: with friction their angular momentum is not balanced.
        motions = {name: motion for name, motion in motions.items() if name.startswith("linear")}
    for motion in motions.values():
        largest = max(np.abs(motion).max(), np.finfo(float).tiny)
        total = np.abs(motion * change).sum() + np.abs(motion * before).sum()
        error = abs((motion * (change - world)).sum())
        worst = max(worst, error / max(total, size * largest))
    return float(worst)


def _alone(ptr: Ints) -> NDArray[np.bool_]:
    """Mask (m,) of the contacts with the world, which touch one body."""
    return np.diff(ptr) == 1

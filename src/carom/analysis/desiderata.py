"""The eight desiderata, each measured as a number on the solutions of one law.

A finding has the worst value over all problems, its bound, and where it occurred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..catalogue import Entry
from ..errors import ProblemError
from ..late import sparse as sp
from ..laws import Law
from ..problem.problem import ImpactProblem, Symmetry
from ..problem.solution import ENERGY_BOUND, MOMENTUM_BOUND, SPEED_BOUND, ImpactSolution, momentum_violation
from ..resolve.impulses import solve_impact
from ..resolve.verify import NOT_FINITE, RAISED
from ..solvers.rows import Floats

BREAK_AWAY_SPEED = 1e-6  # separation speed above which a contact has broken away
SYMMETRY_BOUND = 1e-9  # relative to the largest speed
SAMPLING_BOUND = 1e-9  # relative to the largest speed
IMPULSE_BOUND = 1e-12  # of pulling impulses, relative to the largest impulse
WAVE_DEVIATION = 0.25  # from the exchange of velocities, at speed 1: Hertz contact deviates by 0.21
WAVE_JUMP = 0.05  # of the solution between va = 0 and va = 1e-6, at speed 1
RESTITUTIONS = (0.0, 0.5, 0.8)  # coefficients that are examined besides those of the problem
SHUFFLES = 3  # random orders of the contacts
TINY = float(np.finfo(float).tiny)

ORDER = ("BRK", "SYM", "KIN", "MOM", "ONE", "WAV", "FEA", "SMP")


@dataclass(frozen=True)
class Finding:
    """One desideratum of one law: whether it passed, the worst measured value, its bound and where it occurred."""

    desideratum: str
    passed: bool
    worst: float
    bound: float
    where: str


class Worst:
    """The largest value so far, and where it occurred."""

    def __init__(self) -> None:
        self.value, self.where = 0.0, ""  # an empty place means no violation

    def see(self, value: float, where: str) -> None:
        value = float("inf") if np.isnan(value) else value
        if value > self.value:
            self.value, self.where = float(value), where

    def finding(self, desideratum: str, bound: float) -> Finding:
        return Finding(desideratum, self.value <= bound, self.value, bound, self.where)


# ---- single solutions


def energy_violation(solution: ImpactSolution, degenerate: bool = False) -> float:
    """KIN: relative energy error of one solution, from the work of the impulses `sum lam (u- + u+) / 2`.

    The work is measured in the frame of each contact, which excludes the energy that a moving boundary supplies.
    It must be zero for an elastic impact; with restitution below 1, with friction, or if the problem is
    degenerate, it may be negative.

    It is relative to the kinetic energy before the impact, or to the energy `u_i^2 / (2 A_ii)` of the fastest
    single contact where a moving boundary makes that larger. The impulses do not provide a scale: impulses that
    cancel can have any size.
    """
    p = solution.problem
    single = 0.5 * float((p.separation_speed() ** 2 / p.contacts.rows.diag).max())
    change = solution.contact_work / max(p.kinetic_energy, single, TINY)
    elastic = bool((p.restitution == 1.0).all()) and not p.friction.any() and not degenerate
    return abs(change) if elastic else _above_zero(change)


def momentum_error(solution: ImpactSolution) -> float:
    """MOM: relative error of the balance `M (v+ - v) = J^T lam`, and of the momentum of every rigid motion,
    with the impulses of boundaries included."""
    return momentum_violation(solution.problem, solution.velocity, solution.impulse, solution.friction_impulse)


def pull(solution: ImpactSolution) -> float:
    """ONE: the strongest pulling impulse relative to the largest impulse."""
    largest = float(np.abs(solution.impulse).max())
    return _above_zero(-float(solution.impulse.min())) / max(largest, TINY)


def approach_left(solution: ImpactSolution) -> float:
    """FEA: the fastest approach after impact relative to the largest separation speed before."""
    before = float(np.abs(solution.problem.separation_speed()).max())
    return _above_zero(-float(solution.separation_speed.min())) / max(before, TINY)


def replaced(solution: ImpactSolution, desideratum: str) -> bool:
    """Whether the answer of the law was not finite, or raised the energy for KIN: what replaced it is not the law's."""
    reasons = (NOT_FINITE, RAISED) if desideratum == "KIN" else (NOT_FINITE,)
    return any(reason in message for message in solution.messages for reason in reasons)


def _above_zero(value: float) -> float:
    """`max(value, 0)` that keeps NaN, which Python's own max may drop."""
    return float(np.maximum(value, 0.0))


def order_error(problem: ImpactProblem, law: Law, reference: ImpactSolution, shuffles: int = SHUFFLES) -> float:
    """SYM, second part: largest difference between solutions for permuted contacts, relative to the top speed."""
    m = problem.contact_count
    if m < 2:
        return 0.0
    rng = np.random.default_rng(m)
    orders = [np.arange(m)[::-1], *(rng.permutation(m) for _ in range(shuffles))]
    worst = 0.0
    for order in orders:
        other = solve_impact(problem.permuted(order), law)
        speed = top_speed(problem, reference.velocity)
        worst = float(np.maximum(worst, np.abs(other.velocity - reference.velocity).max() / speed))
    return worst


# ---- one law on many problems


@dataclass(frozen=True, eq=False)
class Examination:
    """One law on a set of problems. Each desideratum is a method that returns its finding."""

    law: Law
    entries: tuple[Entry, ...]
    restitutions: tuple[float, ...] = RESTITUTIONS

    @cached_property
    def solutions(self) -> tuple[ImpactSolution, ...]:
        """The solution of each problem."""
        return tuple(solve_impact(entry.problem, self.law) for entry in self.entries)

    @cached_property
    def softer(self) -> tuple[tuple[Entry, ImpactSolution], ...]:
        """Solutions with lower coefficients of restitution, under the default model of the law.

        A law may refuse a coefficient that it does not support; that is not a violation.
        """
        found = []
        for entry in self.entries:
            for c in self.restitutions:
                try:
                    solution = solve_impact(entry.problem.with_(restitution=c), self.law)
                except ProblemError as refusal:
                    if refusal.field != "restitution":
                        raise
                else:
                    found.append((entry, solution))
        return tuple(found)

    def everything(self) -> Iterator[tuple[Entry, ImpactSolution, str]]:
        """All solutions, with their catalogue entry and a label."""
        for entry, solution in zip(self.entries, self.solutions, strict=True):
            yield entry, solution, entry.name
        for entry, solution in self.softer:
            yield entry, solution, f"{entry.name}, c = {solution.problem.restitution[0]:g}"

    def finding(self, desideratum: str) -> Finding:
        """The finding of a desideratum by its name, such as "KIN"."""
        return getattr(self, desideratum.lower())()

    def brk(self) -> Finding:
        """The slowest separation of a contact that has to break away; it passes above BREAK_AWAY_SPEED."""
        slowest, where = float("inf"), "no breaking contacts listed"
        for entry, solution in zip(self.entries, self.solutions, strict=True):
            for contact in entry.breaking:
                u = float(solution.separation_speed[contact])
                if not u >= slowest:
                    slowest, where = u, f"{entry.name}, contact {contact}"
        return Finding("BRK", slowest > BREAK_AWAY_SPEED, slowest, BREAK_AWAY_SPEED, where)

    def sym(self) -> Finding:
        worst = Worst()
        for entry, solution in zip(self.entries, self.solutions, strict=True):
            error, name = image_error(entry.problem, solution.velocity)
            error = np.inf if replaced(solution, "SYM") else error
            worst.see(error, f"{entry.name}, {name}" if name else entry.name)
            shuffled = order_error(entry.problem, self.law, solution)
            worst.see(shuffled, f"{entry.name}, contacts shuffled")
        return worst.finding("SYM", SYMMETRY_BOUND)

    def kin(self) -> Finding:
        return self._largest("KIN", ENERGY_BOUND, energy_violation)

    def mom(self) -> Finding:
        return self._largest("MOM", MOMENTUM_BOUND, lambda s, _: momentum_error(s))

    def one(self) -> Finding:
        return self._largest("ONE", IMPULSE_BOUND, lambda s, _: pull(s))

    def fea(self) -> Finding:
        return self._largest("FEA", SPEED_BOUND, lambda s, _: approach_left(s))

    def wav(self) -> Finding:
        return wave(lambda problem: solve_impact(problem, self.law).velocity)

    def smp(self) -> Finding:
        """The largest difference that contact points make which add no constraint, relative to the top speed."""
        worst = Worst()
        for entry, solution in zip(self.entries, self.solutions, strict=True):
            for problem in entry.resampled:
                other = solve_impact(problem, self.law)
                own = not (replaced(solution, "SMP") or replaced(other, "SMP"))
                off = np.abs(other.velocity - solution.velocity).max() / top_speed(problem, solution.velocity)
                where = f"{entry.name}, {entry.problem.contact_count} and {problem.contact_count} points"
                worst.see(off if own else np.inf, where)
        return worst.finding("SMP", SAMPLING_BOUND)

    def _largest(self, name: str, bound: float, measure: Callable[[ImpactSolution, bool], float]) -> Finding:
        worst = Worst()
        for entry, solution, label in self.everything():
            worst.see(np.inf if replaced(solution, name) else measure(solution, entry.degenerate), label)
        return worst.finding(name, bound)


def wave(answer: Callable[[ImpactProblem], Floats], points: int = 41) -> Finding:
    """WAV: three equal balls with v = (va, 0, -1), va from 0 to 1, and the velocities (3,) that `answer` gives.

    The outer balls should exchange velocities: the deviation from (-1, 0, va) must be at most WAVE_DEVIATION, and
    the change of the solution between va = 0 and va = 1e-6 at most WAVE_JUMP. The reported value is the deviation,
    unless the jump exceeds its bound by a larger factor.
    """
    deviation, where = 0.0, 0.0
    answers = {}
    for va in (0.0, 1e-6, *np.linspace(0.0, 1.0, points)[1:]):
        answers[va] = answer(ImpactProblem.chain([1, 1, 1], [va, 0, -1]))
        off = float(np.abs(answers[va] - [-1.0, 0.0, va]).max())
        if not off <= deviation:
            deviation, where = off, va
    jump = float(np.abs(answers[1e-6] - answers[0.0]).max())
    passed = deviation <= WAVE_DEVIATION and jump <= WAVE_JUMP
    if jump / WAVE_JUMP > max(deviation / WAVE_DEVIATION, 1.0):
        return Finding("WAV", passed, jump, WAVE_JUMP, "jump between va = 0 and va = 1e-6")
    return Finding("WAV", passed, deviation, WAVE_DEVIATION, f"off the exchange at va = {where:.3g}")


# ---- symmetry


def as_matrix(problem: ImpactProblem, symmetry: Symmetry) -> sp.csr_matrix:
    """The map v -> T v on all n*d velocity components."""
    n, d = problem.block
    bodies = np.asarray(symmetry.bodies)
    if bodies.ndim != 1 or sorted(bodies.tolist()) != list(range(n)):
        raise ProblemError("symmetry", bodies, f"a permutation of the {n} bodies")
    matrix = np.asarray(symmetry.matrix, dtype=float)
    if matrix.shape not in ((d, d), (n, d, d)):
        raise ProblemError("symmetry", f"a matrix of shape {matrix.shape}", f"shape ({d}, {d}) or ({n}, {d}, {d})")
    blocks = np.broadcast_to(matrix, (n, d, d))
    inner = np.arange(d)
    row = np.broadcast_to((bodies[:, None] * d + inner)[:, :, None], (n, d, d))
    col = np.broadcast_to((np.arange(n)[:, None] * d + inner)[:, None, :], (n, d, d))
    return sp.csr_matrix((blocks.ravel(), (row.ravel(), col.ravel())), shape=(n * d, n * d))


def defect(problem: ImpactProblem, symmetry: Symmetry) -> float:
    """Relative deviation of the problem itself from the symmetry; 0 for an exact one.

    A symmetry T preserves the velocity (T v = v), the mass (T^T M T = M), and maps contacts onto contacts: for
    every row J_i there is a row J_j with J_j T = J_i and the same boundary speed, restitution, friction and weight.
    """
    t = as_matrix(problem, symmetry)
    n, d = problem.block
    v = problem.velocity.ravel()
    worst = float(np.abs(t @ v - v).max()) / max(float(np.abs(v).max()), np.finfo(float).tiny)
    # A few fixed vectors test T^T M T = M without forming the mass matrix.
    probe = np.random.default_rng(0).normal(size=(3, n * d))
    for x in probe:
        before = problem.mass.times(x.reshape(n, d)).ravel()
        mapped = t.T @ problem.mass.times((t @ x).reshape(n, d)).ravel()
        worst = max(worst, float(np.abs(mapped - before).max() / np.abs(before).max()))
    rows = _rows(problem)
    images = (rows @ t).toarray()
    coefficients = (problem.boundary_speed, problem.restitution, problem.friction, problem.contacts.shares)
    labels = np.stack(coefficients, axis=1)
    here = np.hstack([rows.toarray(), labels])
    there = np.hstack([images, labels])
    scale = np.abs(rows.data).max()
    for row in here:
        worst = max(worst, float(np.abs(there - row).max(axis=1).min()) / scale)
    return worst


def _rows(problem: ImpactProblem) -> sp.csr_matrix:
    n, d = problem.block
    rows = problem.rows
    columns = (rows.body[:, None] * d + np.arange(d)).ravel()
    return sp.csr_matrix((rows.val.ravel(), columns, rows.ptr * d), shape=(problem.contact_count, n * d))


def image_error(problem: ImpactProblem, velocity: Floats) -> tuple[float, str]:
    """Largest difference between velocities and their symmetric image, relative to the largest speed.

    Returns the error and the name of the symmetry with the largest error; (0, "") for a problem without symmetries.
    """
    v = velocity.reshape(problem.block)
    speed = top_speed(problem, velocity)
    worst, name = 0.0, ""
    for symmetry in problem.symmetries:
        error = float(np.abs(symmetry.image(v) - v).max()) / speed
        if not error < worst:  # NaN counts as worst
            worst, name = error, symmetry.name
    return worst, name


def top_speed(problem: ImpactProblem, velocity: Floats) -> float:
    """The largest velocity component before or after impact, boundaries included."""
    parts = (problem.velocity, velocity, problem.boundary_speed)
    return max(*(float(np.abs(part).max()) for part in parts), np.finfo(float).tiny)

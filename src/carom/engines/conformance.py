"""The eight desiderata, measured on what an engine makes of the catalogue's scenes.

An engine tells velocities only. Impulses are inferred from them: with whitened rows G and the whitened change dx of the
velocities, `min |G^T lam - dx|` over all lam gives what no impulse at the contacts explains (MOM), and over
`lam >= 0` what only a pull explains (ONE).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import nnls

from .. import catalogue
from ..analysis.desiderata import ORDER, RESTITUTIONS, SHUFFLES, TINY, Finding, image_error, top_speed, wave
from ..catalogue import Entry
from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats
from .placement import Placement, place, split
from .process import Runner

BOUND = 1e-3
"""Relative violation, or separation speed, that counts. The audit of laws asks for 1e-9 and better; engines make time
steps, many in single precision, and a violation of 0.1 % is not what anybody sees."""

SEQUENCES = ("galperin_billiard",)  # 314 collisions one after another without clearance: none are simultaneous in time
Progress = Callable[[str], None]  # called with the name of each desideratum before it is measured


@dataclass(frozen=True)
class Outcome:
    """One impact in the engine: the problem, velocities after it, and the impulses inferred from them."""

    problem: ImpactProblem
    velocity: Floats

    @cached_property
    def fit(self) -> tuple[Floats, float, float]:
        """Impulses (m,) that do not pull, and both residuals (any impulse, no pull), relative to the velocity."""
        rows = self.problem.contacts.matrix().toarray()
        before = self.problem.contacts.velocity.ravel()
        change = self.problem.with_(velocity=self.velocity).contacts.velocity.ravel() - before
        scale = max(float(np.linalg.norm(before)), float(np.linalg.norm(change)), TINY)
        free = np.linalg.lstsq(rows.T, change, rcond=None)[0]
        impulse, residual = nnls(rows.T, change)
        return impulse, float(np.linalg.norm(rows.T @ free - change)) / scale, float(residual) / scale

    def energy(self) -> float:
        """KIN: change of the kinetic energy without the work of moving planes, relative as in the audit of laws."""
        p = self.problem
        single = 0.5 * float((p.separation_speed() ** 2 / p.contacts.rows.diag).max())
        work = p.energy_of(self.velocity) - p.kinetic_energy + float(self.fit[0] @ p.boundary_speed)
        change = work / max(p.kinetic_energy, single, TINY)
        return abs(change) if (p.restitution == 1.0).all() else max(change, 0.0)

    def momentum(self) -> float:
        """MOM: share of the velocity that no impulses at the contacts explain."""
        return self.fit[1]

    def pull(self) -> float:
        """ONE: share of the velocity that only pulling impulses explain."""
        _, free, pushing = self.fit
        return float(np.sqrt(max(pushing**2 - free**2, 0.0)))

    def approach(self) -> float:
        """FEA: the fastest approach after the impact relative to the largest separation speed before."""
        before = float(np.abs(self.problem.separation_speed()).max())
        return max(-float(self.problem.separation_speed(self.velocity).min()), 0.0) / max(before, TINY)


@dataclass
class Tally:
    """The worst value of one desideratum, where it occurred, and which scenes exceed the bound."""

    bound: float
    worst: float = 0.0
    where: str = ""
    scenes: set[str] = field(default_factory=set)
    failing: set[str] = field(default_factory=set)

    def see(self, value: float, scene: str, label: str) -> None:
        value = float("inf") if np.isnan(value) else value
        self.scenes.add(scene)
        if value > self.bound:
            self.failing.add(scene)
        if value > self.worst:
            self.worst, self.where = value, label


@dataclass(frozen=True)
class EngineFinding(Finding):
    """A finding with the number of scenes that were measured and that fail."""

    scenes: int = 0
    failing: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.__dataclass_fields__}


@dataclass(frozen=True)
class EngineReport:
    """What one engine does: findings in the order of the desiderata, and the problems that were left out."""

    title: str
    settings: str
    findings: tuple[EngineFinding, ...]
    scenes: int
    left_out: dict[str, str]  # problem -> reason

    def finding(self, desideratum: str) -> EngineFinding:
        return next(found for found in self.findings if found.desideratum == desideratum)

    def to_dict(self) -> dict[str, Any]:
        found = [finding.to_dict() for finding in self.findings]
        return {
            "engine": self.title,
            "settings": self.settings,
            "scenes": self.scenes,
            "findings": found,
            "left_out": self.left_out,
        }


class Conformance:
    """One engine on the scenes of the catalogue."""

    def __init__(self, runner: Runner, bound: float = BOUND, entries: tuple[Entry, ...] | None = None) -> None:
        self.runner, self.bound = runner, bound
        self.entries: list[tuple[Entry, Placement]] = []
        self.left_out: dict[str, str] = {}
        for entry in catalogue.entries() if entries is None else entries:
            placed = place(entry, runner.dimension)
            reason = _reason(entry, placed, runner.dimension)
            if placed is None or reason:
                self.left_out[entry.name] = reason
                continue
            try:
                self._run(placed, 1.0)
            except NotImplementedError as refusal:
                self.left_out[entry.name] = str(refusal)
            else:
                self.entries.append((entry, placed))

    def _run(self, placed: Placement, restitution: float, order: Any = None) -> Floats:
        """Velocities after the impact; with `order`, the bodies are added in that order."""
        order = np.arange(len(placed.bodies)) if order is None else order
        found = np.empty((len(placed.bodies), 3 if self.runner.dimension == 2 else 6))
        found[order] = self.runner.run([placed.bodies[k] for k in order], placed.planes, restitution)
        return placed.velocity(found)

    @cached_property
    def elastic(self) -> list[tuple[Entry, Outcome]]:
        """Outcomes at restitution 1."""
        return [(entry, Outcome(entry.problem, self._run(placed, 1.0))) for entry, placed in self.entries]

    @cached_property
    def softer(self) -> list[tuple[Entry, Outcome]]:
        """Outcomes at lower coefficients of restitution; those that the engine refuses are left out."""
        found = []
        for entry, placed in self.entries:
            for c in RESTITUTIONS:
                try:
                    velocity = self._run(placed, c)
                except NotImplementedError as refusal:
                    self.left_out[f"c = {c:g}"] = str(refusal)
                else:
                    found.append((entry, Outcome(entry.problem.with_(restitution=c), velocity)))
        return found

    def report(self, progress: Progress | None = None) -> EngineReport:
        """Measures all desiderata."""
        findings = []
        for name in ORDER:
            if progress is not None:
                progress(name)
            findings.append(getattr(self, name.lower())())
        return EngineReport(
            self.runner.title, self.runner.settings, tuple(findings), len(self.entries), dict(self.left_out)
        )

    def brk(self) -> EngineFinding:
        """The slowest separation of a contact that has to break away."""
        tally = Tally(-self.bound, worst=-np.inf, where="no breaking contacts")
        for entry, outcome in self.elastic:
            speed = entry.problem.separation_speed(outcome.velocity)
            for contact in entry.breaking:
                tally.see(-float(speed[contact]), entry.name, f"{entry.name}, contact {contact}")
        found = EngineFinding("BRK", not tally.failing, -tally.worst, self.bound, tally.where)
        return _counted(found, tally)

    def sym(self) -> EngineFinding:
        """Symmetric image, and the answers for other orders in which the bodies are added."""
        tally = Tally(self.bound)
        for (entry, placed), (_, outcome) in zip(self.entries, self.elastic, strict=True):
            error, name = image_error(entry.problem, outcome.velocity)
            tally.see(error, entry.name, f"{entry.name}, {name}" if name else entry.name)
            speed = top_speed(entry.problem, outcome.velocity)
            for order in _orders(len(placed.bodies)):
                other = self._run(placed, 1.0, order)
                off = float(np.abs(other - outcome.velocity).max()) / speed
                tally.see(off, entry.name, f"{entry.name}, bodies in another order")
        return self._finding("SYM", tally)

    def kin(self) -> EngineFinding:
        return self._largest("KIN", Outcome.energy)

    def mom(self) -> EngineFinding:
        return self._largest("MOM", Outcome.momentum)

    def one(self) -> EngineFinding:
        return self._largest("ONE", Outcome.pull)

    def fea(self) -> EngineFinding:
        return self._largest("FEA", Outcome.approach)

    def wav(self) -> EngineFinding:
        def answer(problem: ImpactProblem) -> Floats:
            placed = place(Entry(problem, "three balls", sizes=0.5), self.runner.dimension)
            assert placed is not None
            return self._run(placed, 1.0)

        found = wave(answer)
        return EngineFinding("WAV", found.passed, found.worst, found.bound, found.where, 1, int(not found.passed))

    def smp(self) -> EngineFinding:
        """The impact of a box, and of the same box taken apart, on the problems that have other samplings of a face."""
        tally = Tally(self.bound)
        for (entry, placed), (_, outcome) in zip(self.entries, self.elastic, strict=True):
            if not entry.resampled:
                continue
            parts = replace(placed, bodies=[*placed.bodies[:-1], split(placed.bodies[-1])])
            try:
                other = self._run(parts, 1.0)
            except NotImplementedError as refusal:
                self.left_out["SMP"] = str(refusal)
                continue
            off = float(np.abs(other - outcome.velocity).max()) / top_speed(entry.problem, outcome.velocity)
            tally.see(off, entry.name, f"{entry.name}, one box and its parts")
        return self._finding("SMP", tally)

    def _largest(self, name: str, measure: Callable[[Outcome], float]) -> EngineFinding:
        tally = Tally(self.bound)
        for entry, outcome in (*self.elastic, *self.softer):
            c = outcome.problem.restitution[0]
            tally.see(measure(outcome), entry.name, entry.name if c == 1.0 else f"{entry.name}, c = {c:g}")
        return self._finding(name, tally)

    def _finding(self, name: str, tally: Tally) -> EngineFinding:
        found = EngineFinding(name, not tally.failing, tally.worst, self.bound, tally.where)
        return _counted(found, tally)


def _counted(found: EngineFinding, tally: Tally) -> EngineFinding:
    return replace(found, scenes=len(tally.scenes), failing=len(tally.failing))


def _orders(n: int) -> Iterator[Any]:
    """Other orders of n bodies: reversed, and shuffled."""
    if n > 1:
        rng = np.random.default_rng(n)
        yield np.arange(n)[::-1]
        for _ in range(SHUFFLES):
            yield rng.permutation(n)


def _reason(entry: Entry, placed: Placement | None, dimension: int) -> str:
    """Why a problem is no scene for an engine; empty if it is one."""
    if entry.degenerate:
        return "no velocity separates all contacts; in time the ball bounces for ever"
    if entry.name in SEQUENCES:
        return "a sequence of 314 collisions, not one impact"
    if entry.sizes is None:
        return "contact rows without bodies that touch"
    return "" if placed is not None else f"the engine has dimension {dimension}"

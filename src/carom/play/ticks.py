"""The desiderata as ticks: what this solution shows, and what its law guarantees for all problems."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from .. import laws
from ..analysis.desiderata import (
    BREAK_AWAY_SPEED,
    IMPULSE_BOUND,
    SYMMETRY_BOUND,
    WAVE_DEVIATION,
    Finding,
    approach_left,
    energy_violation,
    image_error,
    momentum_error,
    order_error,
    pull,
    top_speed,
    wave,
)
from ..laws import Law
from ..problem.solution import ENERGY_BOUND, MOMENTUM_BOUND, SPEED_BOUND, ImpactSolution
from ..resolve.impulses import solve_impact

# Title and short meaning of each desideratum.
MEANINGS = {
    "BRK": ("break-away", "touching bodies may part"),
    "SYM": ("symmetry", "symmetry is preserved"),
    "KIN": ("energy", "equal if elastic, never raised"),
    "MOM": ("momentum", "linear and angular"),
    "ONE": ("one-sidedness", "impulses never pull"),
    "WAV": ("wave", "equal balls pass a shock on"),
    "FEA": ("feasibility", "nothing still approaches"),
}


@dataclass(frozen=True)
class Tick:
    """One desideratum of one solution, and of its law. `passed` is None if it does not apply to this impact."""

    name: str
    passed: bool | None
    short: str  # a word or a number under the mark
    text: str  # the whole sentence
    always: bool | None = None  # whether the law guarantees it for all problems; None if that is not known
    law_text: str = ""  # the sentence about the law

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def ticks_of(solution: ImpactSolution, law: Law) -> list[Tick]:
    """The seven desiderata that one solution shows (SMP compares several), beside the claims of the law."""
    measured = (
        _break_away(solution),
        _symmetry(solution, law),
        _energy(solution),
        _momentum(solution),
        _one_sided(solution),
        _wave(solution),
        _feasible(solution),
    )
    return [of_law(tick, tick.name, law) for tick in measured]


def of_law(tick: Tick, desideratum: str, law: Law) -> Tick:
    """The tick with what the law claims about a desideratum; WAV has a measured value."""
    always = desideratum in law.claims
    text = "it holds for every impact under this law" if always else "there are impacts for which it fails"
    if desideratum == "WAV" and law.name in laws.names():
        text = _sweep_text(law.name)
    return replace(tick, always=always, law_text=text)


def percent(share: float) -> str:
    """`+33 %`; small changes are printed as a power of ten."""
    if share != 0.0 and abs(share) < 5e-4:
        return f"{share:+.0e}"
    return f"{100.0 * share:+.1f} %"


def _break_away(s: ImpactSolution) -> Tick:
    """Whether a contact opens that was at rest before, which is required of elastic impacts only."""
    before = s.problem.separation_speed()
    scale = top_speed(s.problem, s.velocity)
    resting = np.abs(before) <= 1e-12 * scale
    if not resting.any():
        return Tick("BRK", None, "n/a", "no contact was at rest before this impact")
    fastest = float(s.separation_speed[resting].max())
    if fastest > BREAK_AWAY_SPEED * scale:
        return Tick("BRK", True, "opens", f"a contact that was at rest opens with speed {fastest:.3g}")
    if (s.problem.restitution == 1.0).all():
        return Tick("BRK", False, "stuck", "all contacts that were at rest stay shut: what touched sticks together")
    return Tick("BRK", None, "stay shut", "all contacts stay shut, which an inelastic impact may do")


def _symmetry(s: ImpactSolution, law: Law) -> Tick:
    image, name = image_error(s.problem, s.velocity)
    order = order_error(s.problem, law, s)
    worst = max(image, order)
    if worst <= SYMMETRY_BOUND:
        what = "mirror images move alike, and " if s.problem.symmetries else ""
        return Tick("SYM", True, "holds", f"{what}the order of the contacts does not matter")
    why = f"off the mirror image ({name})" if image >= order else "another order of the contacts gives another answer"
    return Tick("SYM", False, f"off {100.0 * worst:.2g} %", f"{why}: by {100.0 * worst:.3g} % of the top speed")


def _energy(s: ImpactSolution) -> Tick:
    before = s.problem.kinetic_energy
    share = s.contact_work / before if before else 0.0
    passed = energy_violation(s) <= ENERGY_BOUND
    elastic = bool((s.problem.restitution == 1.0).all()) and not s.problem.friction.any()
    if passed and (elastic or abs(share) <= ENERGY_BOUND):
        return Tick("KIN", True, "constant", "the kinetic energy is the same as before")
    if passed:
        return Tick("KIN", True, percent(share), f"the kinetic energy changes by {percent(share)}: it does not rise")
    verb = "rises" if share > 0.0 else "falls, although the impact is elastic,"
    return Tick("KIN", False, percent(share), f"the kinetic energy {verb} by {percent(abs(share))[1:]}")


def _momentum(s: ImpactSolution) -> Tick:
    error = momentum_error(s)
    if error <= MOMENTUM_BOUND:
        return Tick("MOM", True, "constant", "linear and angular momentum are the same as before")
    return Tick("MOM", False, f"off {error:.0e}", f"momentum changes by {error:.2g}, relative")


def _one_sided(s: ImpactSolution) -> Tick:
    strongest = pull(s)
    if strongest <= IMPULSE_BOUND:
        return Tick("ONE", True, "all push", "no impulse pulls")
    text = f"a contact pulls with {100.0 * strongest:.2g} % of the largest impulse, as if there were glue"
    return Tick("ONE", False, "pulls", text)


def _feasible(s: ImpactSolution) -> Tick:
    left = approach_left(s)
    if left <= SPEED_BOUND:
        return Tick("FEA", True, "apart", "no two bodies still approach")
    text = f"bodies still approach with {100.0 * left:.3g} % of the speed before"
    return Tick("FEA", False, "approach", text)


def _wave(s: ImpactSolution) -> Tick:
    """Equal balls in a row that collide elastically in pairs exchange velocities, which end sorted along the row."""
    problem = s.problem
    if problem.block[1] > 1:
        return Tick("WAV", None, "n/a", "it is stated for balls in a row")
    if np.ptp(problem.mass.times(np.ones(problem.block))) > 0.0 or not (problem.restitution == 1.0).all():
        return Tick("WAV", None, "n/a", "it is stated for equal masses and elastic impacts")
    off = float(np.abs(s.velocity - np.sort(problem.velocity)).max()) / (np.abs(problem.velocity).max() or 1.0)
    if off <= WAVE_DEVIATION:
        how = "exactly" if off <= SPEED_BOUND else f"up to {100.0 * off:.0f} % of the top speed"
        return Tick("WAV", True, "passed on", f"the balls exchange their velocities {how}: the shock is passed on")
    text = f"the balls miss the exchange of velocities by {100.0 * off:.0f} % of the top speed"
    return Tick("WAV", False, f"off {100.0 * off:.0f} %", text)


@cache
def _sweep(law: str) -> Finding:
    made = laws.make(law)
    return wave(lambda problem: solve_impact(problem, made).velocity)


def _sweep_text(name: str) -> str:
    """The measured wave of a law: three equal balls, the outer two at speeds va and -1, va from 0 to 1."""
    found = _sweep(name)
    if found.passed:
        return f"three equal balls miss the exchange of velocities by at most {100.0 * found.worst:.0f} %"
    if found.where.startswith("jump"):
        return f"the answer jumps by {100.0 * found.worst:.0f} % between a first ball at rest and one at speed 1e-6"
    return f"three equal balls miss the exchange of velocities by up to {100.0 * found.worst:.0f} %"

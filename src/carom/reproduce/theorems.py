"""What the papers prove, as measured statements over many problems: the supplement of Smith 2012, the appendix of Zhang
2015, and the lemmas of Tang 2014.

A proof needs no measurement, but its assumptions do: that the law ends, that its answers are feasible, and that the
printed equations say what is used. Each statement is a number that would be large if it were false.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..analysis.desiderata import energy_violation, image_error, momentum_error
from ..catalogue import Entry, entries
from ..draw.style import BLACK, CYCLE, GRAY, law_style, styled, write
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats
from ..testing import random_entries
from .evidence import Case, Evidence, Row

COEFFICIENTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
ANSWER_ROUNDING = 1e-9  # relative to the speeds or energies before the impact: what counts as equal
BROKEN = 1e-6  # relative to the fastest approach: a larger residual of complementarity is no rounding
OPENS = 1e-6  # relative to the fastest approach: speed above which a contact opens, as in the audit


def _problems(count: int) -> list[Entry]:
    """The problems of the catalogue that are not degenerate and have fixed boundaries, and `count` random ones."""
    known = [entry for entry in entries() if not entry.degenerate]
    return [
        entry
        for entry in (*known, *random_entries(count, seed=12))
        if not entry.problem.friction.any() and not entry.problem.boundary_speed.any()
    ]


# ---- Smith 2012, supplement


def interpolation(case: Case, problems: int = 150) -> Evidence:
    """The six theorems on interpolated impacts under gr, and the lemma of section 4 of the paper on lcp; writes
    interpolation.png, .svg, .pdf and .csv."""
    worst = dict.fromkeys(_THEOREMS, 0.0)
    energies = []
    chosen = _problems(problems)
    for k, entry in enumerate(chosen):
        case.tell(k / len(chosen), entry.name)
        found = [solve_impact(entry.problem.with_(restitution=c), "gr") for c in COEFFICIENTS]
        for name, value in _violations(entry, found).items():
            worst[name] = max(worst[name], value)
        energies.append([s.kinetic_energy / max(found[-1].kinetic_energy, 1e-300) for s in found])
    beyond = max(_beyond(entry.problem) for entry in chosen)
    rows = tuple(
        Row(f"{name}: largest violation", 0.0, value, _THEOREMS[name], value <= ANSWER_ROUNDING,
            f"{len(chosen)} problems, {len(COEFFICIENTS)} coefficients")
        for name, value in worst.items()
    )  # fmt: skip
    beyond_row = Row("the same with c_r = 1.2: energy above that of the elastic response", None, beyond, "relative",
                     remark="outside of the interval the bound does not hold: the measure can fail")  # fmt: skip
    rows += _lemma_rows(chosen)
    files = _energy_figure(case.out, np.array(energies))
    findings = ("all six theorems hold to rounding on every problem",) if all(r.holds for r in rows) else ()
    return Evidence((*rows, beyond_row), files, findings, {"problems": len(chosen), "c_r": COEFFICIENTS})


_THEOREMS = {
    "1.1 feasibility: approach after the impact": "of the fastest before",
    "1.2 lemma: velocities and impulses are interpolated alike": "of the largest speed",
    "1.2 momentum": "relative",
    "1.3 one-sided impulses: pull": "of the largest impulse",
    "1.4 energy above that of the elastic response": "relative",
    "1.5 symmetry": "of the largest speed",
    "1.6 break-away: speed below c_r times the elastic one": "of the fastest before",
}


def _violations(entry: Entry, found: Sequence[ImpactSolution]) -> dict[str, float]:
    """Violation of each statement on one problem, largest over the coefficients."""
    problem, inelastic, elastic = entry.problem, found[0], found[-1]
    speed, approach = float(np.abs(problem.velocity).max()), float(np.abs(problem.separation_speed()).max())
    push = max(float(np.abs(elastic.impulse).max()), 1e-300)
    opens = elastic.separation_speed > OPENS * approach
    out = np.zeros((len(found), len(_THEOREMS)))
    for row, c, s in zip(out, COEFFICIENTS, found, strict=True):
        mixed = (1.0 - c) * inelastic.velocity + c * elastic.velocity
        least = c * elastic.separation_speed[opens]  # the inelastic speeds only add to it
        row[:] = (
            -s.separation_speed.min() / approach,
            np.abs(s.velocity - mixed).max() / speed,
            momentum_error(s),
            -s.impulse.min() / push,
            s.kinetic_energy / elastic.kinetic_energy - 1.0,
            image_error(problem, s.velocity)[0],
            (least - s.separation_speed[opens]).max(initial=0.0) / approach,
        )
    return dict(zip(_THEOREMS, np.maximum(out.max(axis=0), 0.0).tolist(), strict=True))


def _lemma_rows(chosen: Sequence[Entry]) -> tuple[Row, Row]:
    """Section 4: where all contacts approach, lcp reverses each of them at least by c_r, so that none sticks."""
    worst, struck, held, others = 0.0, 0, 0, 0
    for problem in (entry.problem for entry in chosen):
        u = problem.separation_speed()
        approach = float(np.abs(u).max())
        if (u < -BROKEN * approach).all():
            struck += 1
            for c in COEFFICIENTS:
                after = solve_impact(problem.with_(restitution=c), "lcp").separation_speed
                worst = max(worst, float((-c * u - after).max()) / approach)
        else:
            others += 1
            elastic = solve_impact(problem.with_(restitution=1.0), "lcp")
            held += bool(((elastic.impulse > 0.0) & (elastic.separation_speed < OPENS * approach)).any())
    return (
        Row("section 4, lemma: speed after below c_r times the approach, under lcp: largest violation", 0.0, worst,
            "of the fastest before", worst <= ANSWER_ROUNDING, f"the {struck} problems in which all contacts approach"),
        Row("problems with a contact that does not approach: share in which lcp lets one stick", None, held / others,
            remark=f"{others} problems, c_r = 1: without its assumption the lemma does not hold"),
    )  # fmt: skip


def _beyond(problem: ImpactProblem) -> float:
    """Energy of an extrapolated impact above that of the elastic one, relative to it."""
    inelastic, elastic = (solve_impact(problem.with_(restitution=c), "gr") for c in (0.0, 1.0))
    velocity = 1.2 * elastic.velocity - 0.2 * inelastic.velocity
    return problem.energy_of(velocity) / elastic.kinetic_energy - 1.0


def _energy_figure(out: Path, energies: Floats) -> tuple[Path, ...]:
    with styled(1, width=4.6, height=2.9) as (figure, (axes,)):
        for curve in energies[:120]:
            axes.plot(COEFFICIENTS, curve, color=GRAY, linewidth=0.4, alpha=0.5)
        axes.plot([], [], color=GRAY, linewidth=0.8, label="one problem")
        axes.plot(COEFFICIENTS, energies.mean(axis=0), **law_style("gr"), label="mean")
        axes.axhline(1.0, color=BLACK, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set(xlabel="coefficient of restitution", ylabel="kinetic energy / elastic", xlim=(0, 1), ylim=(0, 1.05))
        axes.set_title("Interpolated impacts under gr: energy")
        axes.legend(loc="lower right")
        columns = {"c_r": COEFFICIENTS, "mean": energies.mean(axis=0)}
        columns |= {"least": energies.min(axis=0), "largest": energies.max(axis=0)}
        return write(figure, out, "interpolation", columns)


# ---- Zhang 2015, appendix


def appendix(case: Case, problems: int = 150, coefficient: float = 0.5) -> Evidence:
    """Lemma and theorem of the appendix on qce; writes appendix.png, .svg, .pdf and .csv."""
    chosen = _problems(problems)
    lemma, energy, coupled, residuals = 0.0, 0.0, 0.0, []
    for k, entry in enumerate(chosen):
        case.tell(k / len(chosen), entry.name)
        problem = entry.problem.with_(restitution=coefficient)
        elastic = solve_impact(entry.problem.with_(restitution=1.0), "qce")
        inelastic = solve_impact(entry.problem.with_(restitution=0.0), "lcp")
        mixed = solve_impact(problem, "qce", restitution_model="energetic")
        exact = solve_impact(problem, "qce", restitution_model="qce_lcp")
        approach = float(np.abs(problem.separation_speed()).max())
        lemma = max(lemma, complementarity(elastic, elastic.separation_speed) / approach)
        chord = (1.0 - coefficient) * inelastic.kinetic_energy + coefficient * elastic.kinetic_energy
        energy = max(energy, mixed.kinetic_energy / max(chord, 1e-300) - 1.0)
        coupled = max(coupled, energy_violation(exact))
        residuals.append(complementarity(mixed, coefficient * elastic.separation_speed) / approach)
    broken = int((np.array(residuals) > BROKEN).sum())
    rows = (
        Row("lemma: the impulses of qce satisfy equation 19 for c_r = 1, largest residual", 0.0, lemma,
            "of the fastest approach", lemma <= ANSWER_ROUNDING),
        Row("equation 24: problems in which the interpolated impulses break complementarity", 0, broken,
            f"of {len(chosen)}", broken == 0,
            "the sum of two solutions does not solve the third: a contact may push in one and open in the other"),
        Row("equation 24: largest residual of the interpolated impulses", 0.0, max(residuals),
            "of the fastest approach"),
        Row("equation 28: energy of interpolated impulses above its bound", 0.0, max(energy, 0.0), "relative",
            energy <= ANSWER_ROUNDING, "the bound itself needs no complementarity and holds"),
        Row("energy that the exact solution of equation 19 gains", 0.0, coupled, "relative", coupled <= ANSWER_ROUNDING,
            "not proved by the appendix, since the interpolated impulses are another answer"),
    )  # fmt: skip
    files = _residual_figure(case.out, np.sort(residuals))
    findings = (
        f"the interpolated impulses are not the solution of the equations: they break complementarity in {broken} of "
        f"{len(chosen)} problems, by up to {max(residuals):.2f} of the fastest approach; their energy is bounded",
    )
    return Evidence(rows, files, findings, {"problems": len(chosen), "c_r": coefficient})


def complementarity(solution: ImpactSolution, least: Floats) -> float:
    """Residual of `0 <= lam perp A lam + u - least >= 0`: the largest `|min(A_ii lam_i, (A lam + u - least)_i)|`."""
    contacts = solution.problem.contacts
    g = contacts.matrix()
    after = g @ (g.T @ solution.impulse) + contacts.speeds()
    return float(np.abs(np.minimum(contacts.rows.diag * solution.impulse, after - least)).max())


def _residual_figure(out: Path, residuals: Floats) -> tuple[Path, ...]:
    share = np.arange(1, len(residuals) + 1) / len(residuals)
    with styled(1, width=4.6, height=2.7) as (figure, (axes,)):
        axes.plot(np.maximum(residuals, 1e-17), share, **{**law_style("qce"), "marker": ""})
        axes.axvline(BROKEN, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set(xscale="log", ylim=(0, 1.02), ylabel="share of the problems")
        axes.set_xlabel("residual of complementarity / fastest approach")
        axes.set_title("Interpolated impulses in their equations")
        return write(figure, out, "appendix", {"residual": residuals, "share": share})


# ---- Tang 2014, lemmas


def lemmas(case: Case, problems: int = 200) -> Evidence:
    """Lemmas 3.1 and 3.2 on single contacts of random bodies, with and without friction; writes a figure and a .csv."""
    work, gain = np.empty(problems), np.empty(problems)
    for k in range(problems):
        case.tell(k / problems, "random contacts")
        rough, smooth = (_one_contact(np.random.default_rng([7, k]), mu) for mu in (0.4, 0.0))
        work[k], gain[k] = _work_error(rough), _gain_error(smooth)
    rows = (
        Row("lemma 3.1: work of the impulse minus that of its normal and tangential parts", 0.0, float(work.max()),
            "of the kinetic energy", bool(work.max() <= 1e-13), "the change of kinetic energy, computed apart"),
        Row("lemma 3.2: change of normal speed minus impulse times n^T K n", 0.0, float(gain.max()), "relative",
            bool(gain.max() <= 1e-13), "the factor H21 A + H22 + H23 B of the paper is 1 / (n^T K n)"),
    )  # fmt: skip
    with styled(1, width=4.6, height=2.6) as (figure, (axes,)):
        for k, (name, values) in enumerate({"lemma 3.1": work, "lemma 3.2": gain}.items()):
            axes.plot(np.sort(np.maximum(values, 1e-19)), color=CYCLE[k], label=name)
        axes.set(yscale="log", xlabel="contact, sorted by error", ylabel="relative error", ylim=(1e-19, 1e-10))
        axes.set_title("Two lemmas on single contacts of random bodies")
        axes.legend(loc="upper left")
        files = write(figure, case.out, "lemmas", {"lemma_3_1": np.sort(work), "lemma_3_2": np.sort(gain)})
    return Evidence(rows, files, ("both lemmas hold to rounding",) if all(r.holds for r in rows) else (), {})


def _one_contact(rng: np.random.Generator, friction: float) -> ImpactSolution:
    """The impact under etm of two random rigid bodies that approach at one contact."""
    inertia = []
    for _ in range(2):
        root = rng.normal(size=(3, 3))
        block = np.zeros((6, 6))
        block[:3, :3], block[3:, 3:] = rng.uniform(0.5, 2.0) * np.eye(3), root @ root.T + 0.5 * np.eye(3)
        inertia.append(block)
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]  # normal and two tangents
    arms = rng.normal(size=(2, 3))
    rows = np.array(
        [[[*(sign * axis), *(sign * np.cross(arm, axis))] for sign, arm in zip((-1, 1), arms)] for axis in axes]
    )
    velocity = rng.normal(size=(2, 6))
    if np.einsum("bd,bd", rows[0], velocity) > 0.0:
        velocity = -velocity
    problem = ImpactProblem.from_blocks(
        mass=inertia, bodies=[[0, 1]], rows=rows[:1], tangents=rows[None, 1:], velocity=velocity,
        friction=friction, restitution=0.6,
    )  # fmt: skip
    return solve_impact(problem, "etm")


def _work_error(s: ImpactSolution) -> float:
    """Lemma 3.1: change of the kinetic energy minus `sum over components of p (u- + u+) / 2`, relative."""
    p = s.problem
    normal = float(s.impulse @ (p.separation_speed() + s.separation_speed)) / 2.0
    assert s.friction_impulse is not None
    tangential = float((s.friction_impulse * (p.slip_speed() + p.slip_speed(s.velocity))).sum()) / 2.0
    return abs(s.kinetic_energy - p.kinetic_energy - normal - tangential) / p.kinetic_energy


def _gain_error(s: ImpactSolution) -> float:
    """Lemma 3.2: the normal speed changes by the normal impulse times `n^T K n`; relative error."""
    change = s.separation_speed - s.problem.separation_speed()
    expected = s.problem.contacts.rows.diag * s.impulse
    return float(np.abs(change / expected - 1.0).max())

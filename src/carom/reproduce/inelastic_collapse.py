"""Inelastic collapse: sequences of pairwise reflections with restitution below 1 that do not terminate.

After Smith 2012, figure 4 a to c. In (a) and (b) three equal balls, one arriving, go through `solve_impact`
with `gauss_seidel` and the Newton model. In (c) the largest restitution that collapses is searched for N balls.

Bernu and Mazighi (1990) give tan^2((pi/4)(1 - 1/N)) for N beads in front of a wall. A free chain of 2N balls
is, by its mirror symmetry, such a column and its image, hence tan^2((pi/4)(1 - 2/N)) for N free balls: 0.0718
for three. Both hold if the contacts are resolved in order along the chain and all of them approach at the start. In
another order a chain may collapse above that value; started by a single ball, a long chain may separate below it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ..draw.style import BLUE, GRAY, GREEN, ORANGE, PURPLE, RED, styled, write, write_table
from ..kernels import kernel
from ..laws import make
from ..problem.problem import ImpactProblem
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats, Ints
from .evidence import Case, Evidence, Row, rows_of

PUBLISHED = 0.0717  # threshold of three balls
TOLERANCES = (1e-6, 1e-9, 1e-12)  # of the law: they end sequences that would be infinite
SWEEP, WORST = 0, 1  # orders of reflections
BOUND = 4000  # reflections per ball; near the threshold their number grows as 1 / sqrt(c - c*): error below 1e-5


def threshold(balls: float, wall: bool = False) -> float:
    """Restitution below which a chain of equal balls collapses, tan^2((pi/4)(1 - s/N)); s is 2, at a wall 1."""
    return float(np.tan(0.25 * np.pi * (1.0 - (1.0 if wall else 2.0) / balls)) ** 2)


def run(case: Case, points: int = 241, largest: int = 16) -> Evidence:
    """Writes inelastic_collapse.png, .svg and .pdf, and one .csv for each panel's numbers."""
    c = np.linspace(0.0, 0.24, points)
    velocity, counts = np.empty((points, 3)), {}
    for k, tolerance in enumerate(TOLERANCES):
        case.tell(0.1 * k, f"reflections to {tolerance:g}")
        counts[tolerance], velocity = cradle(c, tolerance)
    n = np.arange(2, largest + 1)
    found: dict[str, Floats] = {}
    numbers = {"threshold for 3 balls, measured": measured_threshold(3)}
    numbers["threshold for 3 balls, formula"] = threshold(3)
    for k, (label, order, wall, one) in enumerate(_CHAINS):
        case.tell(0.3 + 0.15 * k, f"threshold, {label}")
        found[label] = np.array([measured_threshold(int(balls), order, wall, one) for balls in n])
        off = found[label] - [threshold(int(b), wall) for b in n]
        numbers[f"off the formula, {label}"] = float(off[np.argmax(np.abs(off))])
    files = _draw(case.out, c, velocity, counts, n, found)
    low, high = counts[TOLERANCES[0]], counts[TOLERANCES[-1]]
    numbers["reflections at c = 0.05, tolerance 1e-6"] = float(np.interp(0.05, c, low))
    numbers["reflections at c = 0.05, tolerance 1e-12"] = float(np.interp(0.05, c, high))
    numbers["largest c whose count depends on the tolerance"] = float(c[low != high].max(initial=0.0))
    return Evidence(_rows(numbers), files, _findings(numbers))


def _rows(numbers: dict[str, float]) -> tuple[Row, ...]:
    measured = "threshold for 3 balls, measured"
    free, cradles = (f"off the formula, {_CHAINS[k][0]}" for k in (0, 2))
    said: dict[str, float | str] = {measured: PUBLISHED, free: "on the curve", cradles: "on the curve"}
    holds = {measured: abs(numbers[measured] - PUBLISHED) < 2e-4}  # the paper has four digits, cut off
    holds |= {name: abs(numbers[name]) < 1e-5 for name in (free, cradles)}
    rows = rows_of(numbers, said, holds=holds)
    apart = "with one ball arriving, chains of more than 12 balls separate before they collapse"
    return tuple(replace(row, remark=apart) if row.quantity == cradles and not row.holds else row for row in rows)


# label, order, against a wall, one ball arriving (else every contact approaches at the same speed)
_CHAINS = (
    ("all approach, in order", SWEEP, False, False),
    ("wall, all approach, in order", SWEEP, True, False),
    ("cradle, in order", SWEEP, False, True),
    ("cradle, fastest first", WORST, False, True),
)


def _findings(numbers: dict[str, float]) -> tuple[str, ...]:
    off = {label: numbers[f"off the formula, {label}"] for label, *_ in _CHAINS}
    holds = [label for label, value in off.items() if abs(value) < 1e-5]
    fails = [f"{label} ({value:+.4f})" for label, value in off.items() if abs(value) >= 1e-5]
    return (
        f"the formula holds to 1e-5 for: {'; '.join(holds)}",
        f"the measured threshold differs, at worst by the number given, for: {'; '.join(fails)}",
        "below the threshold the number of reflections is set by the tolerance alone, above it by the impact",
    )


def cradle(c: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """Reflections, and velocities after impact (len(c), 3), of three balls with one arriving at speed 1."""
    law = make("gauss_seidel", tolerance=tolerance, max_iterations=100_000)
    counts, velocity = np.empty(len(c)), np.empty((len(c), 3))
    for k, value in enumerate(c):
        problem = ImpactProblem.chain(np.ones(3), [1.0, 0.0, 0.0], restitution=float(value))
        solution = solve_impact(problem, law, restitution_model="newton")
        counts[k], velocity[k] = solution.iterations, solution.velocity
    return counts, velocity


def measured_threshold(balls: int, order: int = SWEEP, wall: bool = False, one: bool = True) -> float:
    """The restitution between collapse and termination, by bisection to 1e-6.

    At the start one ball arrives, or else all contacts approach at the same speed.
    """
    start = np.full(balls if wall else balls - 1, 0.0 if one else -1.0)
    start[0] = -1.0
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _ends(start, middle, order, wall, BOUND * balls) else (middle, high)
    return 0.5 * (low + high)


@kernel
def _ends(start: Floats, c: float, order: int, wall: bool, bound: int) -> bool:
    """Whether pairwise reflections end. Works on separation speeds alone and rescales them.

    Round-off is then relative to the speeds that are left, however small. In a law's own arithmetic it is
    relative to the velocities, and ends every collapse some 16 digits down.
    """
    m, u = len(start), start.copy()
    count, i = 0, -1
    while count < bound:
        worst = int(np.argmin(u))
        if u[worst] >= 0.0:
            return True
        i = worst if order == WORST else (i + 1) % m
        if u[i] >= 0.0:
            continue
        speed = u[i]
        u[i] = -c * speed
        # Between equal balls half of the change passes to each neighbor; off the wall all of it to the one.
        passed = (1.0 + c) * speed * (1.0 if wall and i == m - 1 else 0.5)
        if i > 0:
            u[i - 1] += passed
        if i < m - 1:
            u[i + 1] += passed
        count += 1
        if abs(speed) < 1e-100:
            u *= 1e100
    return False


def _draw(
    out: Path, c: Floats, velocity: Floats, counts: dict[float, Floats], n: Ints, found: dict[str, Floats]
) -> tuple[Path, ...]:
    with styled(2, rows=2, height=5.6) as (figure, (first, second, third, fourth)):
        _velocities(first, c, velocity)
        _counts(second, c, counts)
        for axes in (first, second):
            axes.axvspan(0.0, threshold(3), color=GRAY, alpha=0.15, linewidth=0)
            axes.set(xlabel="restitution $c_r$", xlim=(0, c[-1]))
        _thresholds(third, n, found)
        _deviations(fourth, n, found)
        table = {"c_r": c, "v_A": velocity[:, 0], "v_B": velocity[:, 1], "v_C": velocity[:, 2]}
        table |= {f"reflections_tolerance_{t:g}": count for t, count in counts.items()}
        files = write(figure, out, "inelastic_collapse", table)
    chains = {"balls": n, "formula_free": _formula(n, False), "formula_wall": _formula(n, True)}
    chains |= {label.replace(" ", "_").replace(",", ""): values for label, values in found.items()}
    return (*files, write_table(out / "inelastic_collapse_thresholds.csv", chains))


def _formula(n: Floats | Ints, wall: bool) -> Floats:
    return np.array([threshold(float(balls), wall) for balls in n])


def _velocities(axes: Axes, c: Floats, velocity: Floats) -> None:
    for ball, (name, color, dash) in enumerate((("A", BLUE, "-"), ("B", GREEN, "--"), ("C", RED, "-."))):
        axes.plot(c, velocity[:, ball], color=color, linestyle=dash)
        place = (c[-1], velocity[-1, ball])
        axes.annotate(name, place, (3, 0), textcoords="offset points", va="center", color=color, weight="bold")
    middle = (threshold(3) / 2, 0.97)
    axes.annotate("collapse", middle, xycoords=("data", "axes fraction"), ha="center", va="top", color=GRAY)
    axes.set(title="(a) three balls, one arriving at $v_0$", ylabel="velocity after / $v_0$")


def _counts(axes: Axes, c: Floats, counts: dict[float, Floats]) -> None:
    looks = ((BLUE, "-"), (ORANGE, "--"), (PURPLE, "-."))
    for (tolerance, count), (color, dash) in zip(counts.items(), looks, strict=True):
        exponent = round(float(np.log10(tolerance)))
        axes.plot(c, count, color=color, linestyle=dash, label=f"cut off at $10^{{{exponent}}}\\,v_0$")
    axes.set(title="(b) the same: reflections needed", ylabel="reflections", ylim=(0, None))
    axes.legend(loc="upper right", handlelength=2.6)


_LOOKS = ((BLUE, "o"), (GREEN, "s"), (PURPLE, "+"), (RED, "x"))


def _thresholds(axes: Axes, n: Ints, found: dict[str, Floats]) -> None:
    fine = np.linspace(n[0], n[-1], 200)
    for wall, dash, place in ((False, "-", (0.70, 0.44)), (True, "--", (0.30, 0.90))):
        axes.plot(fine, _formula(fine, wall), color=GRAY, linestyle=dash, linewidth=1.0)
        text = rf"$\tan^2\frac{{\pi}}{{4}}\left(1-\frac{{{1 if wall else 2}}}{{N}}\right)$"
        axes.annotate(text, place, xycoords="axes fraction", color=GRAY, fontsize=9)
    for (label, values), (color, mark) in zip(found.items(), _LOOKS, strict=True):
        axes.plot(n, values, linestyle="", marker=mark, color=color, label=label, markerfacecolor="none")
    axes.set(title="(c) chains of $N$ balls: where collapse begins", xlabel="balls $N$", ylim=(0, 1))
    axes.set(ylabel="restitution $c_r^*$", xticks=n[::2])
    axes.legend(loc="lower right", handlelength=1.2, fontsize=7.5)


def _deviations(axes: Axes, n: Ints, found: dict[str, Floats]) -> None:
    for (label, values), (color, mark), chain in zip(found.items(), _LOOKS, _CHAINS, strict=True):
        off = values - _formula(n, chain[2])
        axes.plot(n, off, marker=mark, color=color, label=label, markerfacecolor="none", linewidth=0.7)
    axes.set(title="the same: measured less formula", xlabel="balls $N$", ylabel="difference in $c_r^*$")
    axes.set_xticks(n[::2])

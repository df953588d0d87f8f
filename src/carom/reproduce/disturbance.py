"""Newton's cradle with tiny random disturbances of the contacts' relative speeds: the sensitivity of the laws.

After Zhang 2015, figure 12. Five balls in contact, the first arriving at v0. Contact i gets the extra
separation speed `size * v0 * r_i` with r_i uniform in (-1, 1). If the solution of a law depends continuously on the
velocities, its change is proportional to the size; otherwise the change does not vanish for small sizes.

Result: gr has a different solution for more than half of all disturbances, however small. qce is much less
sensitive, but not continuous: if two resting neighbors of the impact both approach, its impulses grow in the ratio
of these small speeds, so that the direction of the disturbance matters. This is rare, and the last ball still leaves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..draw.style import GRAY, law_style, styled, write, write_table
from ..laws import Law, every
from ..problem.problem import ImpactProblem
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats
from .evidence import Case, Evidence, rows_of

BALLS = 5
COMPARED = ("lcp", "gauss_seidel", "gr", "qce", "lzb")
JUMP = 0.01  # of v0: disturbances below 1e-3 change the solution of a continuous law by less
SHOWN = 1e-6  # size of the disturbances in panel (b)


def run(case: Case, seeds: int = 200, sizes: int = 15) -> Evidence:
    """`seeds` random disturbances at each of `sizes` sizes from 1e-8 to 1e-1; writes figures and two .csv."""
    size = np.logspace(-8, -1, sizes)
    laws = {name: law for name, law in every() if name in COMPARED}
    noise = np.random.default_rng(2015).uniform(-1.0, 1.0, (seeds, BALLS - 1))
    changes: dict[str, Floats] = {}
    shown: dict[str, Floats] = {}
    numbers: dict[str, float] = {}
    for k, (name, law) in enumerate(laws.items()):
        case.tell(k / len(laws), name)
        calm = after(law, np.zeros(BALLS - 1))
        changes[name] = np.array([[np.abs(after(law, s * r) - calm).max() for r in noise] for s in size])
        shown[name] = np.array([after(law, SHOWN * r) for r in noise])
        numbers[f"{name}: largest change at size {size[0]:.0e}"] = float(changes[name][0].max())
        numbers[f"{name}: median change at size {size[0]:.0e}"] = float(np.median(changes[name][0]))
        numbers[f"{name}: part of disturbances that jump"] = jumping(changes[name])
        numbers[f"{name}: last ball, slowest at size {SHOWN:.0e}"] = float(shown[name][:, -1].min())
    files = _draw(case.out, size, changes, shown)
    return Evidence(rows_of(numbers), files, _findings(size, changes, shown))


def jumping(changes: Floats) -> float:
    """Fraction of the smallest disturbances that change the solution by more than 0.01 v0."""
    return float((changes[0] > JUMP).mean())


def after(law: Law, disturbance: Floats) -> Floats:
    """Velocities after the impact when the separation speeds (-1, 0, ..., 0) are disturbed."""
    u = disturbance.copy()
    u[0] -= 1.0
    v = np.concatenate([[1.0], 1.0 + np.cumsum(u)])
    return solve_impact(ImpactProblem.chain(np.ones(BALLS), v), law).velocity


def _findings(size: Floats, changes: dict[str, Floats], shown: dict[str, Floats]) -> tuple[str, ...]:
    lines = []
    for name, change in changes.items():
        part = jumping(change)
        if part == 0.0:
            most = float((change.max(axis=1) / size).max())
            lines.append(f"{name}: continuous, changes by at most {most:.1f} times the disturbance")
        else:
            most, least = float(change[0].max()), float(shown[name][:, -1].min())
            lines.append(
                f"{name}: {part:.0%} of disturbances of {size[0]:.0e} change the answer, by up to {most:.2f} v0"
                f"; the last ball leaves with at least {least:.2f} v0"
            )
    return tuple(lines)


def _draw(out: Path, size: Floats, changes: dict[str, Floats], shown: dict[str, Floats]) -> tuple[Path, ...]:
    with styled(2, height=3.5) as (figure, (left, right)):
        _changes(left, size, changes)
        _answers(right, shown)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, handlelength=3.0)
        table = {"size": size}
        for name, change in changes.items():
            table |= {f"{name}_median": np.median(change, axis=1), f"{name}_largest": change.max(axis=1)}
            table |= {f"{name}_part_above_{JUMP:g}": (change > JUMP).mean(axis=1)}
        files = write(figure, out, "disturbance", table)
    rows = [(name, *row) for name, answers in shown.items() for row in answers]
    columns = ["law", *(f"v_{k + 1}" for k in range(BALLS))]
    return (*files, write_table(out / "disturbance_answers.csv", dict(zip(columns, zip(*rows)))))


def _changes(axes: Axes, size: Floats, changes: dict[str, Floats]) -> None:
    axes.plot(size, size, color=GRAY, linewidth=0.8)
    apart: dict[str, Any] = {"textcoords": "offset points", "va": "top", "color": GRAY}
    axes.annotate("change = disturbance", (2e-5, 2e-5), (6, -2), **apart)
    for k, (name, change) in enumerate(changes.items()):
        # Three of the curves coincide: their markers alternate, so that each is visible.
        style = {**law_style(name), "markevery": (k, len(changes))}
        part = jumping(change)
        verdict = f"{name}: {part:.0%} jump" if part else f"{name}: none jumps"
        axes.plot(size, change.max(axis=1), **style, label=verdict, markerfacecolor="white")
    axes.set(xscale="log", xlabel="size of the disturbance / $v_0$")
    axes.set(yscale="log", ylabel="change of the answer / $v_0$")
    axes.set_title(f"(a) largest change over {len(next(iter(changes.values()))[0])} disturbances")


def _answers(axes: Axes, shown: dict[str, Floats]) -> None:
    scatter = np.random.default_rng(0)
    for k, (name, answers) in enumerate(shown.items()):
        style = {**law_style(name), "linestyle": "", "markersize": 2.2, "alpha": 0.35}
        place = (k - 0.5 * (len(shown) - 1)) * 0.16
        for ball in range(BALLS):
            x = ball + 1 + place + scatter.uniform(-0.05, 0.05, len(answers))
            axes.plot(x, answers[:, ball], **style)
    axes.set(xlabel="ball", ylabel="velocity after / $v_0$", xticks=range(1, BALLS + 1))
    axes.set_title(f"(b) answers at size $10^{{{round(np.log10(SHOWN))}}}$")
    axes.grid(False, axis="x")

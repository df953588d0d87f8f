"""Large drops and gases of discs in a drum: constraints, iterations and seconds per step.

After Smith 2012, table 2 (Ipopt on one thread of a Core i7-975). The paper does not say how many steps its
averages are over. Constraints and iterations do not depend on the machine: seconds do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ..draw.style import BLUE, GRAY, RED, styled, write
from ..scene.model import Scene
from ..scenes import drop, gas
from ..solvers.rows import Floats
from .evidence import Case, Evidence, Row

SIZES = {101: "10K", 317: "100K", 1001: "1M"}
SCENES: dict[str, Callable[..., Scene]] = {"drop": drop, "gas": gas}
# Average, maximum and minimum of detection and impact (seconds per step), GR iterations and constraints.
COLUMNS = {
    "detection": "seconds_detect",
    "impact": "seconds_impact",
    "iterations": "iterations",
    "constraints": "contacts",
}
_PUBLISHED = {
    ("drop", 101): ((0.01, 0.03, 0.01), (0.01, 3.08, 0.0), (1, 291, 0), (6914, 20238, 0)),
    ("drop", 317): ((0.23, 0.33, 0.19), (1.30, 279.90, 0.0), (7, 1629, 0), (85381, 200346, 10253)),
    ("drop", 1001): ((3.08, 4.33, 2.56), (137.62, 7434.73, 0.04), (76, 11181, 0), (1242689, 2271061, 373610)),
    ("gas", 101): ((0.01, 0.07, 0.01), (0.0, 0.09, 0.0), (1, 5, 1), (147, 9720, 0)),
    ("gas", 317): ((0.20, 0.27, 0.15), (0.05, 2.04, 0.01), (1, 5, 1), (4452, 96694, 50)),
    ("gas", 1001): ((2.61, 3.19, 2.32), (1.67, 22.76, 0.10), (2, 6, 1), (135417, 968392, 6933)),
}
PUBLISHED = {run: dict(zip(COLUMNS, values)) for run, values in _PUBLISHED.items()}
# The first steps have the most constraints: those of the grid that touch and approach. They follow from the scene, up
# to the random velocities of the gas and the place of the drum, and show that it is the same scene.
FIRST_IMPACT, GEOMETRY = ("constraints", "maximum"), 0.05
Runs = tuple[tuple[str, int, int], ...]  # scene, side of its grid, steps


def run(case: Case, runs: Runs = (("drop", 101, 1500), ("gas", 101, 18000))) -> Evidence:
    """Runs drops and gases; writes scaling.png, .svg, .pdf and .csv."""
    tables: dict[tuple[str, int], Mapping[str, Floats]] = {}
    for part, (kind, side, steps) in case.each(runs, [side**2 * steps for _, side, steps in runs]):
        scene = SCENES[kind](side=side)
        name = f"{kind}_{SIZES.get(side, side)}"
        found = part.simulate(name, scene, "gr", steps * scene.step, frame_rate=0.1, tolerance="exact").steps
        tables[kind, side] = {what: np.asarray(found[column][1:], float) for what, column in COLUMNS.items()}
    rows = [row for key, table in tables.items() for row in _rows(*key, table)]
    files = _draw(case.out, tables)
    return Evidence(tuple(rows), files, _findings(tables), {"h": 0.01, "c_r": 1.0, "tolerance": "exact"})


def spread(values: Floats) -> tuple[float, float, float]:
    """Average, maximum and minimum."""
    return float(values.mean()), float(values.max()), float(values.min())


def last_crossing(values: Floats, level: float) -> int:
    """The last step at which the average of all steps so far passes a level; 0 if it never does."""
    above = np.cumsum(values) / np.arange(1, len(values) + 1) > level
    changes = np.flatnonzero(above[1:] != above[:-1])
    return int(changes[-1]) + 2 if len(changes) else 0


def _rows(kind: str, side: int, table: Mapping[str, Floats]) -> list[Row]:
    name, said = f"{kind} {SIZES.get(side, side**2)}", PUBLISHED.get((kind, side), {})
    rows = []
    for what in ("constraints", "iterations", "impact", "detection"):
        paper = said.get(what, (None, None, None))
        unit = "s per step" if what in ("impact", "detection") else "per step"
        for which, theirs, ours in zip(("average", "maximum", "minimum"), paper, spread(table[what])):
            holds = abs(ours / theirs - 1.0) < GEOMETRY if theirs and (what, which) == FIRST_IMPACT else None
            short = f"largest of {len(table[what]):,} steps; the paper does not state its number of steps"
            rows.append(Row(f"{name}: {what}, {which}", theirs, ours, unit, holds, short if holds is False else ""))
    return rows


def _findings(tables: Mapping[tuple[str, int], Mapping[str, Floats]]) -> tuple[str, ...]:
    lines = []
    for (kind, side), table in tables.items():
        mean, most, _ = spread(table["constraints"])
        steps = len(table["constraints"])
        text = f"{kind} {SIZES.get(side, side**2)}, {steps:,} steps: "
        text += f"{mean:,.0f} constraints on average, {most:,.0f} at most"
        if (kind, side) in PUBLISHED:
            theirs = PUBLISHED[kind, side]["constraints"]
            text += f" (paper {theirs[0]:,} and {theirs[1]:,})"
            if passed := last_crossing(table["constraints"], theirs[0]):
                text += f"; the average passes that of the paper at step {passed:,}"
            slow, fast = PUBLISHED[kind, side]["impact"][1], spread(table["impact"])[1]
            text += f"; the slowest impact takes {fast:.2g} s, in the paper {slow:.2g} s"
        lines.append(text)
    return (*lines, "the paper does not state its number of steps, on which the averages depend: see the figure")


def _draw(out: Path, tables: Mapping[tuple[str, int], Mapping[str, Floats]]) -> tuple[Path, ...]:
    with styled(2, rows=len(tables), height=0.5 + 1.9 * len(tables)) as (figure, axes):
        for k, ((kind, side), table) in enumerate(tables.items()):
            name = f"{kind} {SIZES.get(side, side**2)}"
            paper = PUBLISHED.get((kind, side), {})
            _running(axes[2 * k], name, "constraints", table["constraints"], paper)
            _running(axes[2 * k + 1], name, "GR iterations", table["iterations"], paper, "iterations")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        columns = {"run": [f"{kind} {side}" for kind, side in tables for _ in range(12)]}
        flat = [(what, which) for what in COLUMNS for which in ("average", "maximum", "minimum")]
        columns |= {"quantity": [" ".join(pair) for _ in tables for pair in flat]}
        values = [value for table in tables.values() for what in COLUMNS for value in spread(table[what])]
        return write(figure, out, "scaling", {**columns, "value": values})


def _running(
    axes: Axes, name: str, label: str, values: Floats, paper: Mapping[str, tuple[float, ...]], key: str = "constraints"
) -> None:
    """Each step, the average up to it, and the published average."""
    step = np.arange(1, len(values) + 1)
    axes.plot(step, values, color=GRAY, linewidth=0.4, alpha=0.6, label="each step")
    axes.plot(step, np.cumsum(values) / step, color=BLUE, label="average so far")
    if key in paper:
        axes.axhline(paper[key][0], color=RED, linewidth=1.0, linestyle=(0, (4, 3)), label="published average")
    axes.set(yscale="symlog", xscale="log", xlim=(1, len(values)), ylim=(0, None), xlabel="step")
    axes.set_title(f"{name}: {label} per step")

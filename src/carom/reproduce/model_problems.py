"""The smallest impacts: the two model problems of Smith 2012, figure 3, and two equal balls (collapse paper, figure 9).

In Newton's cradle the last ball must break away; under lcp contacts that do not approach stay closed. In Bernoulli's
problem one ball strikes two others at once; gauss_seidel serves one of them first, and the answer is not symmetric.
Two equal balls have closed forms: they share their momentum, or exchange it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from ..analysis.desiderata import image_error
from ..catalogue import entry
from ..draw.style import BLACK, GRAY, PALE, law_style, styled, write
from ..laws import every
from ..problem.problem import ImpactProblem
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats
from .evidence import Case, Evidence, Row

LAWS = ("gauss_seidel", "lcp", "gr")
BREAKS = {"gauss_seidel": True, "lcp": False, "gr": True}  # the cradle, by figure 3 and section 4
SYMMETRIC = {"gauss_seidel": False, "lcp": True, "gr": True}  # Bernoulli's problem
SYMMETRY_BOUND = 1e-9  # relative to the largest speed
BREAK_AWAY_SPEED = 1e-6  # at an impact of speed 1
CLOSED_FORM = 1e-12  # of speeds and momentum 1; etm ends its increments within 1e-14 of it
ARROW = 2.4  # length of the arrow of speed 1, in radii


def run(case: Case) -> Evidence:
    """Resolves both problems under three laws; writes model_problems.png, .svg, .pdf and .csv."""
    cradle, bernoulli = entry("cradle_3_1"), entry("bernoulli")
    rows, after = [], {}
    for law in LAWS:
        one, two = solve_impact(cradle.problem, law), solve_impact(bernoulli.problem, law)
        after[law] = (one.velocity, two.velocity)
        slowest = float(min(one.separation_speed[list(cradle.breaking)]))
        error = image_error(bernoulli.problem, two.velocity)[0]
        rows += [
            Row(f"{law}: Newton's cradle, speed at which the last ball leaves",
                _word(BREAKS[law], "breaks away", "sticks"), slowest, "of the striker",
                (slowest > BREAK_AWAY_SPEED) == BREAKS[law]),
            Row(f"{law}: Bernoulli's problem, mirror error", _word(SYMMETRIC[law], "symmetric", "leans"),
                error, "of the largest speed", (error <= SYMMETRY_BOUND) == SYMMETRIC[law]),
        ]  # fmt: skip
    files = _draw(case.out, cradle.problem, bernoulli.problem, after)
    findings = ("lcp sticks in the cradle, gauss_seidel leans in Bernoulli's problem; gr does neither",)
    return Evidence(tuple(rows), files, findings if all(row.holds for row in rows) else ())


def _word(value: bool, yes: str, no: str) -> str:
    return yes if value else no


def _draw(
    out: Path, cradle: ImpactProblem, bernoulli: ImpactProblem, after: dict[str, tuple[Floats, Floats]]
) -> tuple[Path, ...]:
    columns = {"before": (cradle.velocity, bernoulli.velocity), **after}
    with styled(len(columns), rows=2, height=2.7) as (figure, panels):
        for k, (name, both) in enumerate(columns.items()):
            color = GRAY if name == "before" else law_style(name)["color"]
            for row, (problem, velocity) in enumerate(zip((cradle, bernoulli), both, strict=True)):
                axes = panels[row * len(columns) + k]
                _balls(axes, problem, np.asarray(velocity), color)
                if row == 0:
                    axes.set_title(name if name == "before" else f"after, {name}", loc="center", color=color)
        labels = [
            (p, b) for p, problem in (("cradle", cradle), ("bernoulli", bernoulli)) for b in range(problem.block[0])
        ]
        table: dict[str, list[object]] = {"problem": [p for p, _ in labels], "ball": [b for _, b in labels]}
        for name, both in columns.items():
            vectors = np.concatenate([_plane(np.asarray(v)) for v in both])
            table |= {f"{name}_vx": list(vectors[:, 0]), f"{name}_vy": list(vectors[:, 1])}
        return write(figure, out, "model_problems", table)


def _plane(values: Floats) -> Floats:
    """Vectors of one or two components as (n, 2)."""
    flat = values.reshape(len(values), -1)
    return np.column_stack([flat[:, 0], flat[:, 1] if flat.shape[1] > 1 else np.zeros(len(flat))])


def _balls(axes: Axes, problem: ImpactProblem, velocity: Floats, color: str) -> None:
    """The balls at their places, each with an arrow along its velocity."""
    assert problem.positions is not None
    place, v = _plane(np.asarray(problem.positions)), _plane(velocity)
    gaps = [np.hypot(*(a - b)) for k, a in enumerate(place) for b in place[:k]]
    place = place * (2.0 / min(gaps))  # touching balls then have radius 1
    for center, speed in zip(place, v, strict=True):
        axes.add_patch(Circle(tuple(center), 1.0, facecolor=PALE, edgecolor=GRAY, linewidth=0.8))
        if np.hypot(*speed) > 1e-9:
            tip = center + ARROW * speed
            look = {
                "arrowstyle": "-|>",
                "color": color,
                "linewidth": 1.6,
                "shrinkA": 0,
                "shrinkB": 0,
                "mutation_scale": 9,
            }
            axes.annotate("", tip, center, arrowprops=look)
        else:
            axes.plot(*center, marker="o", markersize=2.5, color=BLACK)
    low, high = place.min(axis=0) - 1.3, place.max(axis=0) + np.array([2.6, 1.3])
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.set_axis_off()


# ---- two equal balls


def two_balls(case: Case) -> Evidence:
    """Figure 9 of the collapse paper: both extremes of restitution under every law; writes two_balls.png and .csv."""
    before = np.array([1.0, 0.0])
    expected = {0.0: np.array([0.5, 0.5]), 1.0: np.array([0.0, 1.0])}
    rows = []
    for restitution, exact in expected.items():
        left = {"none", "lzb"} if restitution == 0.0 else {"none"}  # springs of lzb have no inelastic limit
        problem = ImpactProblem.chain(np.ones(2), before, restitution=restitution)
        found = {name: np.asarray(solve_impact(problem, law).velocity) for name, law in every() if name not in left}
        off = max(float(np.abs(velocity - exact).max()) for velocity in found.values())
        momentum = max(abs(float(velocity.sum() - before.sum())) for velocity in found.values())
        word = "inelastic" if restitution == 0.0 else "elastic"
        rows += [
            Row(f"{word}: distance of the velocities from the closed form, all laws", 0.0, off, "of the speed",
                off <= CLOSED_FORM, f"{len(found)} laws, which agree at a single contact"),
            Row(f"{word}: change of the momentum, all laws", 0.0, momentum, "relative", momentum <= CLOSED_FORM),
        ]  # fmt: skip
    files = _lines(case.out, before, expected)
    return Evidence(tuple(rows), files, ("two balls share their momentum, or exchange it, under every law",))


def _lines(out: Path, before: Floats, after: dict[float, Floats]) -> tuple[Path, ...]:
    """Positions of the two balls against time; they touch at time 0."""
    time = np.array([-2.0, 0.0, 2.0])
    table: dict[str, list[float]] = {"time": time.tolist()}
    with styled(2, width=4.8, height=2.6) as (figure, panels):
        for axes, (restitution, velocity) in zip(panels, after.items(), strict=True):
            for ball, color in enumerate((law_style("gr")["color"], law_style("lcp")["color"])):
                start = float(2 * ball - 1)
                path = start + np.array([-2.0 * before[ball], 0.0, 2.0 * velocity[ball]])
                axes.plot(time, path, color=color, linewidth=2.0)
                table[f"ball {ball}, c = {restitution:g}"] = path.tolist()
                axes.plot(0.0, start, marker="o", color=color, markerfacecolor="white", markersize=9)
            axes.set(xlabel="time", title="inelastic, c = 0" if restitution == 0.0 else "elastic, c = 1")
        panels[0].set_ylabel("position (radii)")
        return write(figure, out, "two_balls", table)

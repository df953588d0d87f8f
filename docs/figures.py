"""The figures of the theory pages, from the algorithms that the pages print: `python docs/figures.py [NAME ...]`.

Three equal balls in a row have two contacts. Without the motion of their center of mass, velocities are points of a
plane. A law is a path in that plane, from the velocity before the impact into the wedge in which no contact approaches.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from carom import ImpactProblem, solve_impact
from carom.draw.style import BLACK, BLUE, CYCLE, DASHES, GRAY, GREEN, ORANGE, PALE, RED, save, styled

PAGES = Path(__file__).parent / "laws"
PICTURES = Path(__file__).parent / "images"
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
ROWS = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])  # of the contacts 1-2 and 2-3; masses 1
BEFORE = np.array([1.0, 0.0, -0.5])
# Axes of the plane: both contacts open alike; the middle ball moves against the outer ones.
PLANE = np.array([[-1.0, 0.0, 1.0], [-1.0, 2.0, -1.0]]) / np.sqrt([[2.0], [6.0]])
LAWS = ("lcp", "gauss_seidel", "jacobi", "gr", "qce", "lzb", "etm", "sqm", "smm")


def algorithm(law: str) -> Callable[..., Iterator[np.ndarray]]:
    """The generator `velocities` that the page of a law prints."""
    block = BLOCK.search((PAGES / f"{law}.md").read_text(encoding="utf-8"))
    assert block is not None, law
    space: dict[str, object] = {}
    exec(compile(block.group(1), f"{law}.md", "exec"), space)
    return space["velocities"]  # type: ignore[return-value]


def draw_plane(at, speed: float) -> None:
    """The wedge of feasible velocities, its two mirrors, and the circle of velocities with the same energy."""
    far = 2.1 * speed
    directions = [PLANE @ np.cross(ROWS[k], np.ones(3)) for k in (0, 1)]
    edges = [far * d / np.linalg.norm(d) * np.sign(d[0]) for d in directions]
    at.fill([0, edges[0][0], edges[1][0]], [0, edges[0][1], edges[1][1]], color=GREEN, alpha=0.13, lw=0)
    for k, edge in enumerate(edges):
        at.plot([-0.6 * edge[0], edge[0]], [-0.6 * edge[1], edge[1]], color=GRAY, lw=0.8)
        at.annotate(f"$u_{k + 1} = 0$", 0.9 * edge, ha="right", va="bottom" if edge[1] > 0 else "top", color=GRAY)
    angle = np.linspace(0, 2 * np.pi, 200)
    at.plot(speed * np.cos(angle), speed * np.sin(angle), color=PALE, lw=1.0, zorder=0)
    at.annotate("no contact\napproaches", (0.7 * far, 0), ha="center", va="center", color=GREEN, fontsize=7.5)
    at.annotate("same energy", (0, -1.04 * speed), ha="center", va="top", color=GRAY, fontsize=7.5)
    at.set(xlim=(-1.5 * speed, 0.9 * far), ylim=(-1.25 * speed, 1.25 * speed), aspect="equal", xticks=[], yticks=[])
    at.spines[:].set_visible(False)
    at.grid(False)


def draw_path(at, points: np.ndarray, color: str) -> None:
    """Dots where a law stops to look, an arrow along each straight part that can be seen."""
    few = len(points) < 12
    at.plot(*points.T, color=color, lw=1.6, marker="o" if few else "", ms=3.5)
    middle = len(points) // 2
    for a, b in pairwise(points if few else points[middle - 1 : middle + 1]):
        if np.linalg.norm(b - a) > 0.15 or not few:
            arrow = {"arrowstyle": "-|>", "color": color, "lw": 1.4}
            at.annotate("", 0.42 * a + 0.58 * b, 0.5 * (a + b), arrowprops=arrow)
    at.plot(*points[0], "o", color=BLACK, ms=5)
    at.annotate("before", points[0], (-4, 6), textcoords="offset points", ha="center")
    at.plot(*points[-1], "s", color=color, ms=6)
    at.annotate("after", points[-1], (6, 6 if points[-1][1] > 0 else -12), textcoords="offset points", color=color)


def draw_outcomes(at, law: str) -> None:
    """Velocities after the impact against that of the third ball before it."""
    third = np.concatenate([np.linspace(-1.0, -1e-6, 120), np.linspace(1e-6, 0.2, 30)])
    after = np.array([solve(law, (1.0, 0.0, v)) for v in third])
    after[np.searchsorted(third, 0.0)] = np.nan  # a jump is not joined
    for ball in range(3):
        at.plot(third, after[:, ball], color=CYCLE[ball], ls=DASHES[ball], label=f"$v_{ball + 1}^+$")
    at.set(xlabel="$v_3$ before the impact, with $v_1 = 1$, $v_2 = 0$", ylim=(-1.25, 1.35), xlim=(-1.0, 0.2))
    at.legend(loc="lower right", ncols=3)


def solve(law: str, velocity) -> np.ndarray:
    return solve_impact(ImpactProblem.chain(masses=[1, 1, 1], velocities=velocity), law).velocity


def figure_of_law(law: str) -> None:
    """The path of a law from `BEFORE`, and its answers beside it."""
    states = np.array([BEFORE, *algorithm(law)(ROWS, BEFORE)])
    error = np.abs(states[-1] - solve(law, BEFORE)).max()
    assert error < (1 / 30 if law == "etm" else 1e-5), f"{law}: the page's algorithm is off by {error}"
    with styled(2, width=7.2, height=2.7) as (figure, axes):
        draw_plane(axes[0], np.linalg.norm(PLANE @ BEFORE))
        draw_path(axes[0], states @ PLANE.T, BLUE)
        axes[0].set_title("Path of the velocity")
        draw_outcomes(axes[1], law)
        axes[1].set_title("Velocities after the impact")
        save(figure, PICTURES / f"law_{law}.svg", 100)


def figure_of_problem() -> None:
    """The plane itself, with the answers of all laws on it, and the family of answers that balances allow."""
    speed = float(np.linalg.norm(PLANE @ BEFORE))
    with styled(1, width=5.2, height=3.4) as (figure, axes):
        at = axes[0]
        draw_plane(at, speed)
        start = PLANE @ BEFORE
        arc = np.linspace(-np.pi / 6, np.pi / 6, 50)
        at.plot(speed * np.cos(arc), speed * np.sin(arc), color=ORANGE, lw=4, alpha=0.6)
        for k, (row, color) in enumerate(zip(ROWS, (BLUE, RED))):
            tip = start + 0.45 * speed * (PLANE @ row) / np.linalg.norm(row)
            at.annotate("", tip, start, arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.5})
            at.annotate(f"$\\lambda_{k + 1}$", tip, (4, 4 - 12 * k), textcoords="offset points", color=color)
        at.plot(*start, "o", color=BLACK, ms=5)
        at.annotate("before", start, (-4, 6), textcoords="offset points", ha="center")
        groups: dict[tuple[float, float], list[str]] = {}
        for law in LAWS:
            groups.setdefault(tuple((PLANE @ solve(law, BEFORE)).round(1)), []).append(law)
        for names in groups.values():
            place = PLANE @ solve(names[0], BEFORE)
            at.plot(*place, "s", color=BLACK, ms=4)
            at.annotate(", ".join(names), place, (7, -3), textcoords="offset points", fontsize=7.5)
        save(figure, PICTURES / "law_problem.svg", 100)


if __name__ == "__main__":
    for name in sys.argv[1:] or (*LAWS, "problem"):
        figure_of_problem() if name == "problem" else figure_of_law(name)
        print(PICTURES / f"law_{name}.svg")

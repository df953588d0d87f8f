"""Three equal balls A, B, C in contact with v = (va, 0, -1): every law against the exchange and the Hertz ODE.

After Zhang 2015, figure 4. The ideal outcome is the exchange: A leaves with C's speed, C with A's, B rests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..draw.style import BLACK, GRAY, PALE, law_style, styled, write
from ..laws import Law, every
from ..problem.problem import ImpactProblem
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats
from .evidence import Case, Evidence, rows_of
from .hertz import hertz_chain

NUDGE = 1e-6  # va just above 0, for the jump of laws that are not continuous
SAME_SPEED = 5e-3  # curves closer than this are drawn as one line with all names


def run(case: Case, points: int = 101) -> Evidence:
    """Sweeps va over `points` values from 0 to 1 and writes three_ball.png, .svg, .pdf and .csv."""
    va = np.concatenate([[0.0, NUDGE], np.linspace(0.0, 1.0, points)[1:]])
    laws = [(name, law) for name, law in every() if name != "none"]
    curves: dict[str, Floats] = {}
    for k, (name, law) in enumerate(laws):
        case.tell(k / (len(laws) + 1), name)
        curves[name] = np.array([after(law, v) for v in va])
    case.tell(len(laws) / (len(laws) + 1), "Hertz ODE")
    hertz = np.array([hertz_chain(np.ones(3), [v, 0.0, -1.0]) for v in va])
    ideal = np.stack([np.full_like(va, -1.0), np.zeros_like(va), va], axis=1)
    files = _draw(case.out, va, curves, ideal, hertz)
    numbers = {"hertz: off the exchange": float(np.abs(hertz - ideal).max())}
    for name, curve in curves.items():
        numbers[f"{name}: off the exchange"] = float(np.abs(curve - ideal).max())
        numbers[f"{name}: off the Hertz ODE"] = float(np.abs(curve - hertz).max())
        numbers[f"{name}: jump at va = 0"] = jump(curve)
    return Evidence(rows_of(numbers), files, _findings(curves, ideal, hertz))


def after(law: Law, va: float) -> Floats:
    """Velocities of the three balls after impact."""
    return solve_impact(ImpactProblem.chain(np.ones(3), [va, 0.0, -1.0]), law).velocity


def jump(curve: Floats) -> float:
    """Change of the solution between va = 0 and va = 1e-6."""
    return float(np.abs(curve[1] - curve[0]).max())


def _findings(curves: dict[str, Floats], ideal: Floats, hertz: Floats) -> tuple[str, ...]:
    jumping = [name for name, curve in curves.items() if jump(curve) > 0.05]
    nearest = min(curves, key=lambda name: float(np.abs(curves[name] - hertz).max()))
    exact = [name for name, curve in curves.items() if np.abs(curve[1:] - ideal[1:]).max() < 1e-6]
    return (
        f"the answer jumps at va = 0 under: {', '.join(jumping) or 'no law'}",
        f"exactly the exchange for va > 0 under: {', '.join(exact) or 'no law'}",
        f"closest to the Hertz ODE: {nearest}",
    )


def groups(curves: dict[str, Floats]) -> list[list[str]]:
    """Groups of laws whose solutions agree for all va > 0 and share a line."""
    found: list[list[str]] = []
    for name, curve in curves.items():
        for group in found:
            if np.abs(curve[1:] - curves[group[0]][1:]).max() < SAME_SPEED:
                group.append(name)
                break
        else:
            found.append([name])
    return found


def _draw(out: Path, va: Floats, curves: dict[str, Floats], ideal: Floats, hertz: Floats) -> tuple[Path, ...]:
    titles = ("A, arrives with $v_a$", "B, at rest", "C, arrives with $-1$")
    with styled(3, height=3.6) as (figure, panels):
        for ball, axes in enumerate(panels):
            wide: dict[str, Any] = {"color": PALE, "linewidth": 7, "solid_capstyle": "butt"}
            axes.plot(va, ideal[:, ball], **wide, label="exchange (ideal)")
            broad: dict[str, Any] = {"color": GRAY, "linewidth": 3.6, "alpha": 0.75}
            axes.plot(va, hertz[:, ball], **broad, label="Hertz ODE, exponent 3/2")
            for group in groups(curves):
                style = {**law_style(group[0]), "marker": ""}
                curve = curves[group[0]]
                axes.plot(va[1:], curve[1:, ball], **style, label=" = ".join(group))
            _dots(axes, curves, ball)
            axes.set(title=titles[ball], xlabel="speed of A before, $v_a$ / $v_0$", xlim=(0, 1))
        panels[0].set_ylabel("velocity after impact / $v_0$")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, handlelength=3.2)
        title = "Three equal balls in contact, $v$ = ($v_a$, 0, $-1$) $v_0$, restitution 1"
        figure.suptitle(title, fontsize=9.5, x=0.01, ha="left")
        columns = {"va": va}
        for name, curve in (("ideal", ideal), ("hertz_ode", hertz), *curves.items()):
            columns |= {f"{name}_{ball}": curve[:, k] for k, ball in enumerate("ABC")}
        return write(figure, out, "three_ball", columns)


def _dots(axes: Axes, curves: dict[str, Floats], ball: int) -> None:
    """Draws solutions at va = 0 that differ from those of small va, one dot for laws that agree there."""
    jumps = {name: curve for name, curve in curves.items() if jump(curve) > 0.05}
    while jumps:
        first = next(iter(jumps))
        same = [name for name, curve in jumps.items() if np.abs(curve[0] - jumps[first][0]).max() < SAME_SPEED]
        look = {**law_style(first), "linestyle": "", "markersize": 6, "markeredgecolor": BLACK, "clip_on": False}
        label = f"{', '.join(same)} at $v_a = 0$ only"
        axes.plot(0.0, jumps[first][0, ball], **look, markeredgewidth=0.6, zorder=5, label=label)
        jumps = {name: curve for name, curve in jumps.items() if name not in same}

"""Bricks as points and bars, or as three numbers each: sections 8.2 and 8.4 of the collapse paper, measured.

Section 8.2 leaves open which is faster: many sparse variables with equations, or few variables without them.
Section 8.4 says that redundant bars make the equations inconsistent, and offers fewer bars or a penalty instead.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import LogFormatter

from ..draw.style import CYCLE, GRAY, MARKERS, styled, write
from ..solvers.rows import Floats
from ..towers import Tower
from ..towers.framework import BRACINGS, FrameworkCoordinates
from ..towers.loop import Loop, LoopOptions
from .evidence import Case, Evidence, Row

STEP = 0.01
BRICK = 3.0  # width of a brick
SAME_MOTION = 1e-6  # brick widths: a fall amplifies the residuals of its programs; the bound of the symmetric fall, too


def variables(case: Case, sides: Sequence[int] = (3, 5, 7), steps: int = 60) -> Evidence:
    """Section 8.2: time per step of both kinds of coordinates on towers that fall; writes a figure and a .csv."""
    kinds = ("reduced", "framework")
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    sizes: dict[str, list[int]] = {kind: [] for kind in kinds}
    apart = 0.0
    for part, side in case.each(list(sides), [side**2 for side in sides]):
        tower = Tower.diamond(side)
        ends = []
        for kind in kinds:
            part.tell(0.0, f"{side} x {side} bricks, {kind}")
            corners, spent, count = _fall(tower, LoopOptions(STEP, coordinates=kind), steps)
            seconds[kind].append(spent / steps)
            sizes[kind].append(count)
            ends.append(corners)
        apart = max(apart, float(np.abs(ends[0] - ends[1]).max()) / BRICK)
    ratios = [b / a for a, b in zip(seconds["reduced"], seconds["framework"])]
    rows = [
        Row(f"{side} x {side} bricks, {kind}: CPU time per step", None, 1e3 * seconds[kind][k], "ms",
            remark=f"{sizes[kind][k]} variables")
        for k, side in enumerate(sides)
        for kind in kinds
    ]  # fmt: skip
    rows += [
        Row(f"{side} x {side} bricks: points and bars over three numbers per brick", "not a priori clear", ratio)
        for side, ratio in zip(sides, ratios)
    ]
    rows.append(
        Row("distance between the motions", 0.0, apart, "brick widths", apart <= SAME_MOTION, f"after {steps} steps")
    )
    with styled(1, width=4.6, height=2.8) as (figure, (axes,)):
        bricks = [side**2 for side in sides]
        for k, kind in enumerate(kinds):
            label = {"reduced": "three numbers per brick", "framework": "points and bars"}[kind]
            axes.plot(bricks, 1e3 * np.array(seconds[kind]), color=CYCLE[k], marker=MARKERS[k], label=label)
        axes.set(xscale="log", yscale="log", xlabel="bricks", ylabel="CPU time per step (ms)", xticks=bricks)
        axes.set_xticks(bricks, [str(n) for n in bricks])
        axes.xaxis.minorticks_off()
        axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2.0, 0.5)))
        axes.set_title("Few variables, or many with equations")
        axes.legend()
        table = {"bricks": bricks} | {f"{kind} (s per step)": values for kind, values in seconds.items()}
        files = write(figure, case.out, "variables", table)
    text = f"three numbers per brick are {min(ratios):.1f} to {max(ratios):.1f} times as fast; the motion is the same"
    return Evidence(tuple(rows), files, (text,), {"steps": steps, "step": STEP})


def redundant_bars(
    case: Case, side: int = 5, steps: int = 60, penalties: Sequence[float] = (1e2, 1e4, 1e6, 1e8)
) -> Evidence:
    """Section 8.4: minimal, braced and overbraced frameworks, and bars as a penalty; writes a figure and a .csv."""
    tower = Tower.diamond(side)
    work: list[tuple[str, LoopOptions]] = [
        (bracing, LoopOptions(STEP, coordinates="framework", bracing=bracing, passes=1)) for bracing in BRACINGS
    ]
    soft: dict[str, Any] = {"coordinates": "framework", "lengths": "penalty", "passes": 1}
    work += [(f"M = {m:g}", LoopOptions(STEP, **soft, penalty=m)) for m in penalties]
    ends, stretch = {}, {}
    for part, (name, options) in case.each(work):
        part.tell(0.0, name)
        ends[name], stretch[name] = _stretched(tower, options, steps)
    like = ends["minimal"]
    off = {name: float(np.abs(end - like).max()) / BRICK for name, end in ends.items()}
    rows = [
        Row(f"{name} bars: distance from the motion of the minimal framework", "inconsistent equations", off[name],
            "brick widths", off[name] > SAME_MOTION,
            "equations that are redundant up to rounding do not hurt the solver; the paper avoids them")
        for name in ("braced", "overbraced")
    ]  # fmt: skip
    rows += [
        Row(f"penalty {name}: largest change of the length of a bar", None, stretch[name], "relative",
            remark=f"motion off by {off[name]:.1e} brick widths")
        for name in ends if name.startswith("M")
    ]  # fmt: skip
    files = _penalty_figure(case.out, penalties, [stretch[f"M = {m:g}"] for m in penalties], stretch["minimal"])
    worst = max(off["braced"], off["overbraced"])
    findings = (
        f"redundant bars change the motion by {worst:.0e} brick widths, so no bar needs to be removed",
        f"with M = {penalties[0]:g} bars change by {stretch[f'M = {penalties[0]:g}']:.1e} of their length",
    )
    return Evidence(tuple(rows), files, findings, {"side": side, "steps": steps, "step": STEP})


def _fall(tower: Tower, options: LoopOptions, steps: int) -> tuple[Floats, float, int]:
    """Corners after some steps, CPU seconds of these, and the number of variables; the first step is not timed."""
    loop = Loop(tower, options)
    loop.advance()  # loads the kernels
    began = time.process_time()
    for _ in range(steps):
        loop.advance()
    spent = time.process_time() - began
    return loop.coordinates.corners(), spent, loop.coordinates.block * len(loop.coordinates.owner)


def _stretched(tower: Tower, options: LoopOptions, steps: int) -> tuple[Floats, float]:
    """Corners after some steps, and the largest relative change of the length of a bar."""
    loop = Loop(tower, options)
    for _ in range(steps):
        loop.advance()
    made = loop.coordinates
    assert isinstance(made, FrameworkCoordinates)
    i, j = made.bar.T
    now = np.hypot(*(made.point[i] - made.point[j]).T)
    return made.corners(), float(np.abs(now / made.length - 1.0).max())


def _penalty_figure(
    out: Path, penalties: Sequence[float], stretch: Sequence[float], equations: float
) -> tuple[Path, ...]:
    with styled(1, width=4.6, height=2.7) as (figure, (axes,)):
        axes.plot(penalties, stretch, color=CYCLE[0], marker=MARKERS[0], label="bars as a penalty")
        axes.axhline(equations, color=GRAY, linewidth=1.0, linestyle=(0, (4, 3)), label="bars as equations")
        axes.set(xscale="log", yscale="log", xlabel="penalty M", ylabel="change of length, relative")
        axes.set_title("How well a penalty keeps the bars")
        axes.legend(loc="upper right")
        return write(figure, out, "penalty", {"penalty": penalties, "stretch": stretch})

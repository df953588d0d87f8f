"""The granular Maxwell's demon: 288 shaken balls gather on one side of a wall, for ten seeds.

After Smith 2012, figure 11. Impacts with restitution 0.6 dissipate energy where the density is high, so that the balls
of the fuller half are slower and rarely cross the wall. With restitution 1 this must not happen. Two controls:

- the same shaking. The energy of the balls then grows without bound: they move many radii per step, and the wall has
  hardly any effect, so that the even distribution proves little.
- the ground at rest, and velocities scaled to the mean kinetic energy of the run that gathered. The balls then cross
  the wall about as often as in that run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import SubFigure

from ..analysis.runs import sides
from ..draw.figures import draw_balls
from ..draw.style import BLUE, GRAY, GREEN, PURPLE, RED, TIME, sheet, write
from ..scene.boundaries import Plane
from ..scene.model import Scene
from ..scene.motion import FIXED
from ..scenes import maxwells_demon
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .evidence import Case, Evidence, rows_of

GATHERED = 0.8  # fraction of all balls on the fuller side
FRAME_RATE = 5.0
MOMENTS = (0.0, 0.25, 1.0)  # of the pictures, as fractions of the duration
SHAKEN, STILL = "c_r = 1, shaken", "c_r = 1, floor at rest"


@dataclass(frozen=True, eq=False)
class Count:
    """The counts of one run per frame."""

    time: Floats
    right: Floats  # (k,) fraction of the balls right of the wall
    crossings: float  # changes of side between frames per ball; faster ones are not counted
    kinetic: float  # energy per ball, averaged over time

    @classmethod
    def of(cls, run: Trajectory) -> Count:
        halves = sides(run)
        right = run.positions[:, :, 0] >= halves.x
        crossings = float((right[1:] != right[:-1]).sum()) / run.count
        return cls(run.time, halves.right / run.count, crossings, float(run.kinetic.mean()) / run.count)

    @property
    def fuller(self) -> Floats:
        return np.maximum(self.right, 1.0 - self.right)


def run(case: Case, seeds: int = 10, controls: int = 3, duration: float | None = None, **box: Any) -> Evidence:
    """Runs `seeds` seeds, and both controls for the first `controls` of them; writes .png, .svg, .pdf and .csv.

    `box` are parameters of the scene; `duration` None means the scene's.
    """
    parts = case.each(range(seeds + 2 * controls))
    counts: dict[str, list[Count]] = {"gather": [], SHAKEN: [], STILL: []}
    shown: Trajectory | None = None

    def simulated(name: str, scene: Scene) -> Trajectory:
        part, _ = next(parts)
        return part.simulate(name, scene, None, duration, tolerance="exact", frame_rate=FRAME_RATE)

    for seed in range(seeds):
        done = simulated(f"seed_{seed}", maxwells_demon(seed=seed, **box))
        counts["gather"].append(Count.of(done))
        shown = shown or done
    for seed in range(controls):
        hot = maxwells_demon(seed=seed, **{**box, "restitution": 1.0})
        calm = at_rest(hot, counts["gather"][seed].kinetic)
        counts[SHAKEN].append(Count.of(simulated(f"shaken_{seed}", hot)))
        counts[STILL].append(Count.of(simulated(f"at_rest_{seed}", calm)))
    assert shown is not None
    numbers, name = _numbers(counts), f"seeds that end with {GATHERED:g} or more"
    rows = rows_of(numbers, {name: "all gather"}, holds={name: numbers[name] == seeds})
    return Evidence(rows, _draw(case.out, shown, counts), _findings(counts), {"balls": shown.count, "c_r": 0.6})


def at_rest(scene: Scene, kinetic: float) -> Scene:
    """The scene with its ground at rest, and velocities scaled to this mean kinetic energy per ball."""
    (balls,) = scene.bodies
    velocity = np.asarray(balls.velocity)
    mean = 0.5 * float((velocity**2).sum(axis=1).mean())  # the balls have unit mass
    still = [replace(b, motion=FIXED) if isinstance(b, Plane) else b for b in scene.boundaries]
    return scene.with_(bodies=[replace(balls, velocity=velocity * np.sqrt(kinetic / mean))], boundaries=still)


def _numbers(counts: dict[str, list[Count]]) -> dict[str, float]:
    last = final(counts["gather"])
    numbers = {
        f"seeds that end with {GATHERED:g} or more": float((last >= GATHERED).sum()),
        "smallest final part on the fuller side": float(last.min()),
        "largest final part on the fuller side": float(last.max()),
        "seeds that gather on the right": float(sum(count.right[-1] > 0.5 for count in counts["gather"])),
        "crossings of the wall for each ball": _mean(counts["gather"], "crossings"),
    }
    for kind in (SHAKEN, STILL):
        if counts[kind]:
            numbers[f"{kind}: largest final part"] = float(final(counts[kind]).max())
            numbers[f"{kind}: largest part at any time"] = max(float(count.fuller.max()) for count in counts[kind])
            numbers[f"{kind}: crossings for each ball"] = _mean(counts[kind], "crossings")
            same = counts["gather"][: len(counts[kind])]
            energy = _mean(counts[kind], "kinetic") / _mean(same, "kinetic")
            numbers[f"{kind}: kinetic energy over that with c_r = 0.6"] = energy
    return numbers


def final(counts: Sequence[Count]) -> Floats:
    """Fractions on the fuller side at the end."""
    return np.array([count.fuller[-1] for count in counts])


def _mean(counts: Sequence[Count], name: str) -> float:
    return float(np.mean([getattr(count, name) for count in counts]))


def _findings(counts: dict[str, list[Count]]) -> tuple[str, ...]:
    last = final(counts["gather"])
    lines = [f"{(last >= GATHERED).sum()} of {len(last)} seeds gather {GATHERED:g} or more of the balls on one side"]
    for kind in (SHAKEN, STILL):
        if counts[kind]:
            most = max(float(count.fuller.max()) for count in counts[kind])
            lines += [f"{kind}: never more than {most:.2f} on one side"]
    return tuple(lines)


def _draw(out: Path, shown: Trajectory, counts: dict[str, list[Count]]) -> tuple[Path, ...]:
    with sheet(height=4.4) as figure:
        grid = figure.add_gridspec(1, 2, width_ratios=(1.05, 1.0))
        _pictures(figure.add_subfigure(grid[0]), shown, counts["gather"][0])
        curves = figure.add_subfigure(grid[1])
        axes = curves.subplots()
        _curves(axes, counts)
        curves.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, handlelength=2.2)
        table = {TIME: shown.time}
        for kind, runs in counts.items():
            name = {"gather": "gather", SHAKEN: "elastic_shaken", STILL: "elastic_at_rest"}[kind]
            table |= {f"{name}_right_{seed}": count.right for seed, count in enumerate(runs)}
        return write(figure, out, "maxwells_demon", table)


def _pictures(figure: SubFigure, run: Trajectory, count: Count) -> None:
    """Draws the first seed at three times with balls colored by speed, which is lower on the fuller side."""
    figure.suptitle("seed 0; bright balls are fast", fontsize=8.5, color=GRAY)
    panels = figure.subplots(len(MOMENTS), 1)
    speed = np.hypot(run.velocities[:, :, 0], run.velocities[:, :, 1])
    scale = Normalize(0.0, float(np.quantile(speed, 0.95)), clip=True)
    shades = matplotlib.colormaps["viridis"]
    width, wall = (float(run.scene.parameters[name]) for name in ("width", "wall"))
    top = float(run.geometry["boundary_point"][1][1])
    for axes, moment in zip(panels, MOMENTS):
        frame = round(moment * (len(run) - 1))
        floor = float(run.boundary_poses[frame][0][1])
        box = [(-width, top), (-width, floor), (width, floor), (width, top), (-width, top)]
        lines = [box, [(0.0, floor), (0.0, wall)]]
        axes.add_collection(LineCollection(lines, colors=GRAY, linewidths=1.0))
        draw_balls(axes, run.positions[frame], 1.0, facecolors=shades(scale(speed[frame])), linewidths=0.0)
        axes.set(xlim=(-width - 1.5, width + 1.5), ylim=(-4.0, top + 1.5), aspect="equal")
        axes.set_axis_off()
        part = count.right[frame]
        axes.set_title(f"$t$ = {run.time[frame]:g}:  {100 * (1 - part):.0f} % | {100 * part:.0f} %", loc="center")


def _curves(axes: Axes, counts: dict[str, list[Count]]) -> None:
    left = [count for count in counts["gather"] if count.right[-1] < 0.5]
    right = [count for count in counts["gather"] if count.right[-1] >= 0.5]
    looks: list[tuple[str, list[Count], dict[str, Any]]] = [
        ("$c_r$ = 0.6, fills left", left, {"color": BLUE, "linewidth": 1.1}),
        ("$c_r$ = 0.6, fills right", right, {"color": RED, "linewidth": 1.1, "linestyle": (0, (5, 1.2))}),
        ("$c_r$ = 1, shaken", counts[SHAKEN], {"color": PURPLE, "linewidth": 0.5, "alpha": 0.7}),
        ("$c_r$ = 1, floor at rest", counts[STILL], {"color": GREEN, "linewidth": 0.7}),
    ]
    for label, runs, look in looks:
        for k, count in enumerate(runs):
            axes.plot(count.time, count.fuller, **look, label=f"{label} ({len(runs)})" if k == 0 else None)
    axes.axhline(GATHERED, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
    end = counts["gather"][0].time[-1]
    axes.set(xlabel=TIME, xlim=(0, end), ylim=(0.48, 1.0))
    axes.set(title="the fuller side", ylabel="part of all balls")

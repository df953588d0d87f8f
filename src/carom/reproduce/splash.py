"""A grid of touching balls falls into a drum: under gr it scatters, under lcp it stays together.

After Smith 2012, figure 6. The measure is the fraction of the pairs in contact at the start that are still within 1.1
diameters of each other. Under lcp every column of the grid bounces as one body, and the grid forms again; the other
laws propagate the impact from ball to ball. The curves extend beyond the second impact, which also breaks the grid of
lcp.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.patches import Circle

from ..analysis.runs import energy_drift, neighbors_kept
from ..draw.figures import draw_balls
from ..draw.style import GRAY, TIME, law_style, sheet, write
from ..scene.boundaries import Drum
from ..scene.model import Scene
from ..scenes import splash
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .evidence import Case, Evidence, rows_of

WHOLE = "bounces as a whole"
CLAIMS = {"gr": "splashes", "lcp": WHOLE}
SHOWN = ("gr", "lcp")  # rows of pictures
COMPARED = ("gr", "lcp", "qce", "gauss_seidel")  # curves
MOMENTS = (0.98, 1.1, 1.3, 2.0)  # of the pictures, in units of the time of the first fall
LONGER = 2  # duration of the curves in units of the duration of the scene


def run(case: Case, side: int = 15) -> Evidence:
    """Drops a grid of side x side balls under each law and writes splash.png, .svg, .pdf and .csv."""
    scene = splash(side=side)
    back = scene.duration  # time at which the grid would return to its start
    kept: dict[str, Floats] = {}
    runs: dict[str, Trajectory] = {}
    numbers: dict[str, float] = {}
    for part, law in case.each(COMPARED):
        runs[law] = part.simulate(law, scene, law, LONGER * back, tolerance="exact", frame_rate=50.0)
        kept[law] = kept_over_time(runs[law])
        numbers[f"{law}: neighbors kept at t = {back:g}"] = float(at(runs[law], kept[law], back))
        numbers[f"{law}: neighbors kept at t = {LONGER * back:g}"] = float(kept[law][-1])
        numbers[f"{law}: relative energy drift"] = float(np.abs(energy_drift(runs[law])).max())
    files = _draw(case.out, scene, runs, kept)
    said = {f"{law}: neighbors kept at t = {back:g}": text for law, text in CLAIMS.items()}
    holds = {name: (numbers[name] > 0.5) == (text == WHOLE) for name, text in said.items()}
    rows = rows_of(numbers, said, holds=holds)
    return Evidence(rows, files, _findings(scene, runs, kept), {"h": scene.step, "c_r": 1.0})


def kept_over_time(run: Trajectory) -> Floats:
    """Fraction of the touching neighbors that are still together, per frame."""
    start = run.positions[0]
    return np.array([neighbors_kept(start, place, 2.0) for place in run.positions[:]])


def at(run: Trajectory, values: Floats, time: float) -> Any:
    """The entry of `values` (one per frame) at the frame nearest to `time`."""
    return values[int(np.abs(run.time - time).argmin())]


def first_fall(scene: Scene) -> float:
    """Time at which the lower corners of the grid reach the drum in free fall."""
    place, radius = np.asarray(scene.bodies[0].position), drum_radius(scene)
    reach = np.sqrt((radius - 1.0) ** 2 - place[:, 0] ** 2) + place[:, 1]
    return float(np.sqrt(2.0 * reach.min() / abs(scene.gravity[1])))


def drum_radius(scene: Scene) -> float:
    (drum,) = (boundary for boundary in scene.boundaries if isinstance(boundary, Drum))
    return float(drum.radius)


def _findings(scene: Scene, runs: Mapping[str, Trajectory], kept: Mapping[str, Floats]) -> tuple[str, ...]:
    back, end = scene.duration, LONGER * scene.duration
    scattered = [law for law in kept if at(runs[law], kept[law], back) < 0.5]
    whole = [law for law in kept if law not in scattered]
    lines = [f"by t = {back:g} the grid has come apart under: {', '.join(scattered) or 'no law'}"]
    lines += [f"it is still together under: {', '.join(whole) or 'no law'}"]
    later = [law for law in whole if kept[law][-1] < 0.5]
    if later:
        lines += [f"by t = {end:g}, after the second impact, it has come apart under {', '.join(later)} as well"]
    return tuple(lines)


def _draw(out: Path, scene: Scene, runs: Mapping[str, Trajectory], kept: Mapping[str, Floats]) -> tuple[Path, ...]:
    with sheet(height=6.0) as figure:
        grid = figure.add_gridspec(2, 1, height_ratios=(2.0, 1.0))
        _pictures(figure.add_subfigure(grid[0]), scene, runs, kept)
        _curves(figure.add_subfigure(grid[1]).subplots(), scene, runs, kept)
        table = {TIME: runs[SHOWN[0]].time} | {f"{law}_kept": values for law, values in kept.items()}
        return write(figure, out, "splash", table)


def _pictures(figure: SubFigure, scene: Scene, runs: Mapping[str, Trajectory], kept: Mapping[str, Floats]) -> None:
    radius, fall = drum_radius(scene), first_fall(scene)
    height = np.asarray(scene.bodies[0].position)[:, 1]
    # Each ball has the color of its row in the grid, which makes mixing visible.
    colors = matplotlib.colormaps["viridis"](0.04 + 0.92 * (height - height.min()) / np.ptp(height))
    panels = figure.subplots(len(SHOWN), len(MOMENTS))
    for law, row in zip(SHOWN, panels):
        for axes, moment in zip(row, MOMENTS):
            run = runs[law]
            frame = int(np.abs(run.time - moment * fall).argmin())
            axes.add_patch(Circle((0.0, 0.0), radius, fill=False, edgecolor=GRAY, linewidth=1.0))
            draw_balls(axes, run.positions[frame], 1.0, facecolors=colors, linewidths=0.0)
            axes.set(xlim=(-1.03 * radius, 1.03 * radius), ylim=(-1.03 * radius, 1.03 * radius), aspect="equal")
            axes.set_axis_off()
            axes.text(1.0, 0.95, f"{100 * kept[law][frame]:.0f} %", transform=axes.transAxes, ha="right", color=GRAY)
            if law == SHOWN[0]:
                axes.set_title(f"$t$ = {run.time[frame]:.2f}", loc="center")
        look: dict[str, Any] = {"color": law_style(law)["color"], "weight": "bold", "fontsize": 10}
        row[0].text(-0.04, 0.95, law, transform=row[0].transAxes, **look)


def _curves(axes: Axes, scene: Scene, runs: Mapping[str, Trajectory], kept: Mapping[str, Floats]) -> None:
    for k, (law, values) in enumerate(kept.items()):
        time = runs[law].time
        style = {**law_style(law), "markevery": (12 * k, 12 * len(kept)), "markerfacecolor": "white"}
        axes.plot(time, values, **style, label=law)
    axes.axvline(scene.duration, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate(
        "a grid that bounces whole\nis back where it began",
        (scene.duration, 0.36),
        (5, 0),
        textcoords="offset points",
        color=GRAY,
        fontsize=7.5,
    )
    axes.set(xlabel=TIME, xlim=(0, LONGER * scene.duration), ylim=(0, 1.04))
    axes.set_ylabel("part of the pairs kept")
    axes.set(title="pairs that touched and are still within 1.1 diameters (above: in %)")
    axes.legend(loc="center left", handlelength=3.0)

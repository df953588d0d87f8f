"""The vibrated layer of spheres: its patterns at three published points, and their wavelength against the time step.

After Smith 2012, figure 12 and table 3, and Zhang 2015, figure 9 and table 2, which follow Bizon and others, Phys. Rev.
Lett. 80 (1998). A height map is taken from every frame of the last two plate periods, because the pattern alternates
with twice the period of the plate and is flat while the layer lies on the plate; the one with the largest contrast is
classified. Periodic sides admit wavelengths that divide the width: a container of two wavelengths shows whether there
is a pattern, but not which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..analysis.granular import FLAT, Pattern, clearest_map
from ..draw.run_figures import split
from ..draw.style import BLUE, GRAY, GREEN, RED, sheet, styled, write
from ..scenes import vibrated_layer
from ..scenes.granular import PATTERNS
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .evidence import SMITH_FRICTION, ZHANG_FRICTION, Case, Evidence, Row, claim

DIAMETER = 1.65e-4  # meters
FRAMES = 0.5  # of those of the scene: 8 per plate period are enough to find the layer in flight
WIDE_ENOUGH = 4.0  # wavelengths that a container must have: `granular.pattern` was tested with these
SPHERES = 60_000  # of both papers, in a container of 100 x 100 diameters
# Smith 2012, table 3, by time step: seconds per step of impact and friction; GR iterations, constraints on average.
TABLE_3 = {
    1e-3: (38.22, 11.33, 14, 89126),
    5e-4: (26.39, 12.63, 15, 61469),
    4.5e-4: (23.66, 11.80, 15, 57355),
    3.5e-4: (13.97, 7.63, 14, 44773),
    3e-4: (9.52, 5.31, 13, 38177),
    2e-4: (3.88, 2.22, 12, 27521),
    1e-4: (1.48, 0.81, 11, 18491),
}
# Zhang 2015, table 2: iterations (average, largest), seconds per step (average, largest).
TABLE_2 = {"squares": (13, 46, 0.28, 2.74), "stripes": (17, 44, 0.33, 4.39), "hexagons": (12, 33, 0.25, 2.87)}


@dataclass(frozen=True, eq=False)
class Layer:
    """A run of the layer: its clearest height map (in diameters), what it shows, and its table of steps."""

    heights: Floats
    seen: Pattern
    width: int  # diameters
    contrasts: Floats  # (frames, 2) of the last two periods: plate periods, contrast in diameters
    steps: Any
    spheres: int

    @property
    def wavelength(self) -> float:
        """In diameters."""
        return self.seen.wavelength / DIAMETER

    @property
    def wide(self) -> bool:
        """Whether the container has enough wavelengths to tell patterns apart."""
        return self.width / self.wavelength >= WIDE_ENOUGH

    def mean(self, column: str) -> float:
        """Average of a column of the table of steps."""
        return float(self.steps[column].mean())


def measured(run: Trajectory, width: int, periods: float) -> Layer:
    """Classifies the clearest height map of the last two plate periods."""
    side, period = width * DIAMETER, float(run.time[-1]) / periods
    heights, seen, contrasts = clearest_map(run, ((0.0, side), (0.0, side)), period)
    return Layer(heights / DIAMETER, seen, width, contrasts / (period, DIAMETER), run.steps[1:], run.count)


# ---- the three published points


def run_patterns(case: Case, width: int = 100, periods: float = 60.0, law: str = "gr") -> Evidence:
    """Smith 2012, figure 12; writes patterns.png, .svg, .pdf and .csv."""
    layers = _points(case, width, periods, law, SMITH_FRICTION)
    rows = [row for name, layer in layers.items() for row in _pattern_rows(name, layer)]
    parameters = {"c_r": 0.7, "friction": 0.5, "h": 2e-4}
    return Evidence(tuple(rows), _draw_maps(case.out, layers), _findings(layers), parameters)


def run_table_2(case: Case, width: int = 100, periods: float = 60.0, law: str = "qce") -> Evidence:
    """Zhang 2015, figure 9 and table 2: iterations and seconds per step; writes patterns.png, .svg, .pdf and .csv."""
    layers = _points(case, width, periods, law, ZHANG_FRICTION)
    rows = [row for name, layer in layers.items() for row in (*_work_rows(name, layer), *_pattern_rows(name, layer))]
    parameters = {"c_r": 0.7, "friction": 0.5, "h": 2e-4}
    return Evidence(tuple(rows), _draw_maps(case.out, layers), _findings(layers), parameters)


def _points(case: Case, width: int, periods: float, law: str, friction: str) -> dict[str, Layer]:
    layers = {}
    for part, name in case.each(list(PATTERNS)):
        scene = vibrated_layer(pattern=name, width=width, periods=periods)
        run = part.simulate(name, scene, law, frame_rate=FRAMES * scene.frame_rate, friction_model=friction)
        layers[name] = measured(run, width, periods)
    return layers


def _findings(layers: Mapping[str, Layer]) -> tuple[str, ...]:
    lines = [f"at the point of {name}: {_words(layer)}" for name, layer in layers.items()]
    layer = next(iter(layers.values()))
    if layer.spheres < 0.9 * SPHERES:
        lines.append(f"the papers have 100 x 100 diameters, this run {layer.width} x {layer.width}")
    return tuple(lines)


def _words(layer: Layer) -> str:
    kind = layer.seen.kind if layer.wide or layer.seen.kind == "flat" else "waves, too few to tell which,"
    return (
        f"{kind} with a wavelength of {layer.wavelength:.1f} diameters, {layer.width / layer.wavelength:.1f} of which "
        f"fit into the container; contrast {layer.seen.contrast / DIAMETER:.2f} diameters"
    )


def _pattern_rows(name: str, layer: Layer) -> list[Row]:
    f, gamma = PATTERNS[name]
    point, kind = f"f* = {f}, Gamma = {gamma}", layer.seen.kind
    remark = "" if layer.wide else "too few wavelengths to tell patterns apart: no verdict"
    if layer.wide and name != kind:
        remark = "the lattice has defects that move; a container that fits it is in carom-patterns"
    return [
        claim(f"{point}: a pattern forms", kind != "flat"),
        Row(f"{point}: pattern", name, kind, "", name == kind if layer.wide else None, remark),
        Row(f"{point}: wavelength", None, layer.wavelength, "diameters"),
    ]


def _work_rows(name: str, layer: Layer) -> list[Row]:
    average, most, mean_time, most_time = TABLE_2[name]
    iterations, seconds = layer.steps["iterations"], layer.steps["seconds_impact"]
    remark = f"{layer.spheres:,} spheres; the paper has {SPHERES:,} on one core of 2011"
    each = "wall time, which other programs on the machine lengthen"
    return [
        Row(f"{name}: iterations of the law, average", average, float(iterations.mean())),
        Row(f"{name}: iterations of the law, largest", most, int(iterations.max())),
        Row(f"{name}: iterations of the law, least", 1, int(iterations.min())),
        Row(f"{name}: seconds per step, average", mean_time, float(seconds.mean()), "s", remark=remark),
        Row(f"{name}: seconds per step, largest", most_time, float(seconds.max()), "s"),
        Row(f"{name}: seconds per step and sphere, average", mean_time / SPHERES, float(seconds.mean()) / layer.spheres,
            "s", remark=each),
    ]  # fmt: skip


def _draw_maps(out: Path, layers: Mapping[str, Layer]) -> tuple[Path, ...]:
    with sheet(height=4.4) as figure:
        above, below = split(figure, 2, 1, height_ratios=[2.6, 1.5])
        for axes, (name, layer) in zip(above.subplots(1, len(layers)), layers.items()):
            _map(axes, layer)
            f, gamma = PATTERNS[name]
            axes.set_title(f"$f^*$ = {f}, $\\Gamma$ = {gamma}: paper {name}", fontsize=8)
        axes = below.subplots()
        looks = ((BLUE, "-"), (RED, (0, (5, 1.5))), (GREEN, (0, (1.4, 1))))
        for (name, layer), (color, dash) in zip(layers.items(), looks):
            axes.plot(*layer.contrasts.T, color=color, linestyle=dash, label=name)
        axes.axhline(FLAT, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set(xlabel="plate periods", ylabel="contrast / diameter", ylim=(0, None))
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        cells = [(name, i, j, h) for name, layer in layers.items() for (i, j), h in np.ndenumerate(layer.heights)]
        table = dict(zip(("point", "cell_x", "cell_y", "height (diameters)"), zip(*cells)))
        return write(figure, out, "patterns", table)


def _map(axes: Axes, layer: Layer) -> None:
    extent = (0.0, float(layer.width), 0.0, float(layer.width))
    axes.imshow(layer.heights.T, origin="lower", extent=extent, cmap="gray", interpolation="nearest")
    axes.set_xlabel("diameters", fontsize=7.5)
    axes.tick_params(labelsize=7)
    axes.grid(False)


# ---- the time step


ACTIVE_SETS = ("end", "swept")  # contacts of the predicted state (algorithm 4), and those along the step (section 8.2)
Layers = Mapping[tuple[float, str], Layer]


def run_steps(
    case: Case,
    width: int = 100,
    periods: float = 30.0,
    steps: tuple[float, ...] = tuple(TABLE_3),
    law: str = "gr",
    active_sets: tuple[str, ...] = ACTIVE_SETS,
) -> Evidence:
    """Smith 2012, table 3: the point of hexagons with several time steps; writes steps.png, .svg, .pdf and .csv."""
    layers = {}
    cells = [(h, active) for h in steps for active in active_sets]
    for part, (h, active) in case.each(cells, [1.0 / h for h, _ in cells]):
        scene = vibrated_layer(pattern="hexagons", width=width, periods=periods)
        settings: dict[str, Any] = {
            "step": h,
            "frame_rate": FRAMES * scene.frame_rate,
            "friction_model": SMITH_FRICTION,
            "active_set": active,
        }
        run = part.simulate(f"step_{h:g}_{active}", scene, law, **settings)
        layers[h, active] = measured(run, width, periods)
    rows = [row for key, layer in layers.items() for row in _step_rows(*key, layer)]
    coarse, fine = max(steps), min(steps)
    for active in active_sets:
        first, last = layers[coarse, active].wavelength, layers[fine, active].wavelength
        remark = f"{first:.1f} diameters at h = {coarse:g}, {last:.1f} at h = {fine:g}"
        rows.append(claim(f"{active}: the wavelength grows when the step is refined", last > first, remark))
    spheres = layers[fine, active_sets[0]].spheres
    findings = (
        f"sides are periodic: only wavelengths that divide {width} diameters fit exactly",
        f"the paper has {SPHERES:,} spheres, this run {spheres:,}; constraints are compared per sphere",
        *(f"{active}: {_nearness(layers, active)}" for active in active_sets),
    )
    return Evidence(tuple(rows), _draw_steps(case.out, layers), findings, {"f*": 0.38, "Gamma": 4.0})


def _nearness(layers: Layers, active: str) -> str:
    """How far the constraints per sphere are from the published ones."""
    ratios = {
        h: layer.mean("contacts") / layer.spheres / (TABLE_3[h][3] / SPHERES)
        for (h, name), layer in layers.items()
        if name == active and h in TABLE_3
    }
    text = ", ".join(f"{ratio:.2f} (h = {h:g})" for h, ratio in ratios.items())
    return f"constraints per sphere over the published ones {text}"


def _step_rows(h: float, active: str, layer: Layer) -> list[Row]:
    paper = TABLE_3.get(h)
    impact, friction, iterations, contacts = paper if paper else (None, None, None, None)
    seconds = None if impact is None or friction is None else impact + friction
    share = None if contacts is None else contacts / SPHERES
    remark = "" if layer.spheres > 0.9 * SPHERES else f"ours with {layer.spheres:,} spheres"
    name, most = f"h = {h:g}, {active}", float(layer.steps["contacts"].max()) / layer.spheres
    return [
        Row(f"{name}: constraints per sphere, average", share, layer.mean("contacts") / layer.spheres,
            remark=f"at most {most:.2f}"),
        Row(f"{name}: GR iterations, average", iterations, layer.mean("iterations"),
            remark=f"at most {layer.steps['iterations'].max()}"),
        Row(f"{name}: wavelength", None, layer.wavelength, "diameters",
            remark=f"{layer.seen.kind}; published hexagons" if layer.wide else "too few wavelengths to tell patterns"),
        Row(f"{name}: impact and friction", seconds, layer.mean("seconds_impact"), "s per step", None, remark),
    ]  # fmt: skip


def _draw_steps(out: Path, layers: Layers) -> tuple[Path, ...]:
    sets = list(dict.fromkeys(active for _, active in layers))
    names = ("wavelength / diameter", "constraints per sphere", "GR iterations per step")
    rows = [(h, active, v.wavelength, v.mean("contacts") / v.spheres, v.mean("iterations"))
            for (h, active), v in layers.items()]  # fmt: skip
    with styled(3, height=2.5) as (figure, panels):
        for k, (axes, name, which) in enumerate(zip(panels, names, (None, 3, 2)), start=2):
            for active, color, mark in zip(sets, (BLUE, GREEN), ("o-", "^-.")):
                mine = [row for row in rows if row[1] == active]
                axes.plot(
                    [row[0] for row in mine], [row[k] for row in mine], mark, color=color, label=f"ours, {active}"
                )
            if which is not None:
                theirs = [v[which] / (SPHERES if which == 3 else 1.0) for v in TABLE_3.values()]
                axes.plot(list(TABLE_3), theirs, "s--", color=RED, label="published", markerfacecolor="white")
            axes.set(xscale="log", xlabel="time step $h$", title=name, xlim=(8e-5, 1.25e-3), ylim=(0, None))
            axes.set_xticks([1e-4, 2e-4, 5e-4, 1e-3], ["1e-4", "2e-4", "5e-4", "1e-3"])
            axes.minorticks_off()
        panels[1].legend(loc="upper left")
        return write(figure, out, "steps", dict(zip(("time step (s)", "active set", *names), zip(*rows))))

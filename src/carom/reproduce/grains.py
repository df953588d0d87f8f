"""Grains: a shock through a dense and a loose pile (Zhang 2015, figure 8).

Rigid grains that touch are one impact: in a dense pile the jerk reaches all layers in the same step, and only their
speeds differ. A front that takes time needs gaps. It is measured in a loose pile without gravity whose container starts
to rise at a constant speed V. Layers a distance d apart, with gaps g between them, are reached one after the other: if
layers stick together (c_r = 0) every gap closes at the speed V, which gives the front the speed V d / g; elastic layers
pass on 2 V, which doubles it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..analysis.granular import wave_front
from ..draw.style import CYCLE, GRAY, MARKERS, styled, write
from ..scene import Plane, Table
from ..scene.model import Scene
from ..scenes import granular_wave, granular_wave_2d
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .evidence import ZHANG_FRICTION, Case, Evidence, Row, claim
from .stills import Still, write_stills

LAYERS = 10  # into which a dense pile is divided by height
RISE = 10.0  # V, length units per time unit
RISE_TIME = 0.45  # time units: the slowest front crosses the pile within 0.4
REACHED = 0.5  # of V: mean upward speed of a layer that the front has reached
SETTLED_FRONT = 3  # the lowest layers, which the ground strikes before the front is steady, are left out of the fit
PUBLISHED = (0.3, 0.2)  # restitution and friction of the figure
RESTITUTIONS = (0.0, 0.3, 0.6, 0.9, 1.0)
FRICTIONS = (0.0, 0.2, 0.5)
AFTER = 1.5  # time units after the jerk until the grains of the dense pile lie again
WALL = 1.0  # diameters: centers that are closer to a side belong to the edge of a stripe
STRIPES = 4  # into which the dense pile is divided by height


@dataclass(frozen=True, eq=False)
class LooseFront:
    """The front through a loose pile: height and arrival of each layer (in order of height), and its speed over V."""

    height: Floats
    time: Floats
    speed: float

    @property
    def ordered(self) -> bool:
        """Whether it has reached every layer, and none before the layer below."""
        return bool(np.isfinite(self.time).all() and (np.diff(self.time) >= 0.0).all())


def shock(
    case: Case,
    count: int = 4000,
    side: float = 14.0,
    settle: float = 4.0,
    frame_rate: float = 500.0,
    columns: int = 60,
    seeds: int = 5,
) -> Evidence:
    """Figure 8: a pile that is jerked up once, dense in 3D and loose in 2D; writes figures and .csv."""
    scene = granular_wave(count=count, side=side, settle=settle)
    settings: dict[str, Any] = {
        "law": "qce",
        "duration": settle + 0.2,
        "frame_rate": frame_rate,
        "friction_model": ZHANG_FRICTION,
    }
    dense = case.part(0.0, 0.5).simulate("dense", scene, **settings)
    start = int(np.searchsorted(dense.time, settle))
    height, speed = layer_speeds(dense, start)
    bend = bends(case.part(0.5, 0.7).simulate("dense_again_at_rest", scene, "qce", settle + AFTER, frame_rate=50.0,
                                              friction_model=ZHANG_FRICTION), settle, side)  # fmt: skip
    fronts, loose = _fronts(case.part(0.7, 1.0), columns, seeds)
    files = _pictures(case.out, dense, loose, count, settle)
    files += _front_figure(case.out, dense.time[start : start + len(speed)] - settle, height, speed, fronts)
    rows = (Row("grains", 4000, count), *_dense_rows(speed, frame_rate, bend), *_loose_rows(fronts))
    parameters = {"count": count, "side": side, "settle": settle, "restitution": 0.3, "friction": 0.2, "seeds": seeds}
    findings = (
        "in the dense pile the jerk reaches all layers within a step, fastest at the bottom; a front that takes time "
        "runs up through a loose pile, where its speed is that of a plow if layers stick, and twice that if elastic",
    )
    return Evidence(rows, files, findings, parameters)


Fronts = dict[tuple[float, float], list[LooseFront]]  # by restitution and friction; one for each seed


def _fronts(case: Case, columns: int, seeds: int) -> tuple[Fronts, Trajectory]:
    """The fronts by restitution and by friction, and one run with the coefficients of the figure."""
    kinds = [(e, mu) for mu in FRICTIONS for e in RESTITUTIONS]
    found: Fronts = {}
    shown = None
    for part, (e, mu, seed) in case.each([(e, mu, seed) for e, mu in kinds for seed in range(seeds)]):
        run = part.simulate(f"loose_{e:g}_{mu:g}_{seed}", rising(e, mu, columns, seed), "qce",
                            friction_model=ZHANG_FRICTION)  # fmt: skip
        found.setdefault((e, mu), []).append(loose_front(run))
        shown = run if (e, mu) == PUBLISHED else shown
    if shown is None:
        raise RuntimeError("no run has the published coefficients")
    return found, shown


def rising(restitution: float, friction: float, columns: int, seed: int) -> Scene:
    """The loose pile, without gravity, in a container that rises at the constant speed V from the time 0 on."""
    scene = granular_wave_2d(columns=columns, restitution=restitution, friction=friction, seed=seed)
    motion = Table([0.0, 1.0], [0.0, 0.0], [0.0, RISE])
    walls = [replace(wall, motion=motion) for wall in scene.boundaries if isinstance(wall, Plane)]
    return replace(scene, boundaries=walls, gravity=(0.0, 0.0), duration=RISE_TIME, frame_rate=500.0)


def loose_front(run: Trajectory) -> LooseFront:
    """The arrival of the front in each row of the lattice, and its speed: the slope of a line over V."""
    free = run.geometry["free"]
    y = run.positions[0][free, 1]
    row = np.unique(np.round(y, 6), return_inverse=True)[1]
    number = np.bincount(row)
    up = np.array([np.bincount(row, v[free, 1]) for v in run.velocities[:]]) / number > REACHED * RISE
    time = np.where(up.any(axis=0), run.time[up.argmax(axis=0)], np.nan)
    height = np.bincount(row, y) / number
    steady = np.isfinite(time) & (np.arange(len(time)) >= SETTLED_FRONT)
    speed = float(np.polyfit(time[steady], height[steady], 1)[0]) / RISE if steady.sum() > 1 else np.nan
    return LooseFront(height, time, speed)


def plow(run_height: Floats, apart: float = 2.1, diameter: float = 1.95) -> float:
    """d / g of the lattice: distance of its rows over the rise after which a row touches the next one.

    apart: of neighbors in a row; diameter: of the grains on average, both in radii of the largest grain.
    """
    rows = float(np.diff(run_height).mean())
    return rows / (rows - float(np.sqrt(diameter**2 - 0.25 * apart**2)))


def bends(run: Trajectory, settle: float, side: float) -> Floats:
    """(stripes, 2) how much further the middle of each stripe rose than its edges, and its standard error; diameters.

    A stripe holds the grains of a range of heights before the jerk, as colored in the figure. Stripes without a middle
    or without edges are left out.
    """
    free = run.geometry["free"]
    before, after = run.positions[int(np.searchsorted(run.time, settle)) - 1][free], run.positions[-1][free]
    rise = after[:, 2] - before[:, 2]
    edge = 0.5 * side - np.abs(before[:, :2]).max(axis=1) < WALL
    limits = np.quantile(before[:, 2], np.linspace(0.0, 1.0, STRIPES + 1))
    stripe = np.clip(np.searchsorted(limits, before[:, 2], side="right") - 1, 0, STRIPES - 1)
    out = []
    for k in range(STRIPES):
        parts = [rise[(stripe == k) & where] for where in (~edge, edge)]
        if all(len(part) for part in parts):
            error = np.sqrt(sum(np.var(part) / len(part) for part in parts))
            out.append((parts[0].mean() - parts[1].mean(), error))
    return np.array(out).reshape(-1, 2)


def _dense_rows(speed: Floats, frame_rate: float, bend: Floats) -> tuple[Row, ...]:
    # The first frames after the jerk: the shock is a contrast of speeds between the layers.
    first = speed[1 : 1 + max(1, round(0.01 * frame_rate))]
    ratio = float(np.max(first[:, 0] / np.maximum(np.abs(first[:, -1]), 1e-12)))
    top = ", ".join(f"{value:.2f} ± {error:.2f}" for value, error in bend)
    return (
        Row("dense pile: fastest upward speed of the lowest tenth over that of the highest, within 0.01", None, ratio,
            holds=ratio > 1.2, remark="claim: a wave runs from bottom to top"),
        Row("dense pile: largest bend of a stripe, middle above edges", None, max([0.0, *bend[:, 0]]), "diameters",
            remark=f"stripes from the bottom up: {top}; grains have a diameter of 1"),
    )  # fmt: skip


def _loose_rows(fronts: Fronts) -> tuple[Row, ...]:
    ordered = all(front.ordered for front in fronts[PUBLISHED])
    first = fronts[PUBLISHED][0]
    rows = [
        claim("loose pile: layers reached one after the other from the bottom", ordered),
        Row("loose pile: layers reached", len(first.time), int(np.isfinite(first.time).sum())),
        Row("loose pile: time between lowest and highest layer", None, float(first.time[-1] - first.time[0])),
    ]
    factor = plow(first.height)
    for (e, mu), found in fronts.items():
        mean, error = _mean(found)
        text = f"± {error:.2f} over {len(found)} seeds"
        if mu == 0.0 and e in (0.0, 1.0):
            text += f"; {'d / g' if e == 0.0 else '2 d / g'} = {(1.0 + e) * factor:.2f}"
        rows.append(Row(f"loose pile: speed of the front over V, c_r = {e:g}, mu = {mu:g}", None, mean, remark=text))
    slow, fast = (_mean(fronts[e, 0.0])[0] for e in (0.0, 1.0))
    remark = f"{fast / slow:.2f} times; friction turns part of it into spin"
    doubles = abs(fast / slow - 2.0) < 0.3
    rows.append(claim("without friction elastic layers double the speed of the front (within 15 %)", doubles, remark))
    return tuple(rows)


def _mean(fronts: list[LooseFront]) -> tuple[float, float]:
    """Mean speed and its standard error over the seeds."""
    speed = np.array([front.speed for front in fronts])
    return float(speed.mean()), float(speed.std(ddof=1) / np.sqrt(len(speed))) if len(speed) > 1 else 0.0


def _pictures(out: Path, dense: Trajectory, loose: Trajectory, count: int, settle: float) -> tuple[Path, ...]:
    front = wave_front(loose, 0.0, REACHED * RISE, LAYERS)
    top = float(dense.positions[int(np.searchsorted(dense.time, settle))][:, 2].max())
    camera = f"elevation=10,target=0:0:{0.5 * top:.4g},distance={3.2 * top:.4g}"
    shown = settle + 0.004
    stills = [
        Still(dense, f"(a) {count} grains at rest, by depth", settle - 0.02, {"color": "depth", "camera": camera}),
        Still(dense, "(b) after the jerk, by speed", shown, {"color": "speed", "camera": camera}),
        Still(loose, "(c) loose discs, by speed", 0.5 * float(front.time[0] + front.time[-1]), {"color": "speed"}),
    ]
    table = {"height (radii)": front.height, "arrival (time units)": front.time}
    return write_stills(out, "granular_wave", stills, table)


def layer_speeds(run: Trajectory, start: int, frames: int = 40) -> tuple[Floats, Floats]:
    """Mean heights (LAYERS,) and mean upward speeds (frames, LAYERS) of the layers from a frame on."""
    free = run.geometry["free"]
    height = run.positions[start][free, 2]
    edges = np.quantile(height, np.linspace(0.0, 1.0, LAYERS + 1))
    layer = np.clip(np.searchsorted(edges, height, side="right") - 1, 0, LAYERS - 1)
    number = np.bincount(layer, minlength=LAYERS)
    velocity = run.velocities[start : start + frames][:, free, 2]
    speed = np.array([np.bincount(layer, v, LAYERS) for v in velocity]) / number
    return np.bincount(layer, height, LAYERS) / number, speed


def _front_figure(out: Path, time: Floats, height: Floats, speed: Floats, fronts: Fronts) -> tuple[Path, ...]:
    with styled(3, height=2.8) as (figure, (left, middle, right)):
        for k in range(0, LAYERS, 3):
            left.plot(time, speed[:, k], color=CYCLE[k % len(CYCLE)], label=f"z = {height[k]:.1f}")
        left.set(xlabel="time after the jerk", ylabel="mean upward speed", title="(a) dense pile, layers by height")
        left.legend()
        along = [(e, mu) for e, mu in fronts if mu == PUBLISHED[1]]
        for k, (e, mu) in enumerate(along):
            front = fronts[e, mu][0]
            look: dict[str, Any] = {"linestyle": "", "marker": MARKERS[k], "markersize": 3.0, "color": CYCLE[k]}
            middle.plot(front.time, front.height, **look, label=f"{e:g}")
            steady = slice(SETTLED_FRONT, None)
            late = front.time[steady][np.isfinite(front.time[steady])]
            base = np.nanmean(front.height[steady] - front.speed * RISE * front.time[steady])
            middle.plot(late, base + front.speed * RISE * late, color=CYCLE[k], linewidth=0.8)
        middle.set(xlabel="time", ylabel="height (radii)", title="(b) loose pile: arrival of the front", xlim=(0, None))
        middle.legend(title="$c_r$", fontsize=7)
        factor = plow(next(iter(fronts.values()))[0].height)
        for value, text in ((factor, "d / g"), (2.0 * factor, "2 d / g")):
            right.axhline(value, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
            right.text(0.02, value, text, fontsize=7, color=GRAY, va="bottom")
        for k, mu in enumerate(FRICTIONS):
            tried = [e for e, other in fronts if other == mu]
            values = np.array([_mean(fronts[e, mu]) for e in tried])
            look = {"color": CYCLE[k], "marker": MARKERS[k], "markerfacecolor": "white", "capsize": 2.0}
            right.errorbar(tried, *values.T, **look, label=f"mu = {mu:g}")
        right.set(xlabel="coefficient of restitution", ylabel="speed of the front / V", ylim=(0, 2.3 * factor))
        right.set_title("(c) speed of the front")
        right.legend(loc="lower right", fontsize=7)
        columns = {"time (time units)": time} | {f"layer_{k + 1}": speed[:, k] for k in range(LAYERS)}
        return write(figure, out, "granular_wave_layers", columns)

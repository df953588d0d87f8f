"""Grains: a shock through a dense and a loose pile (Zhang 2015, figure 8)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..analysis.granular import wave_front
from ..draw.style import CYCLE, MARKERS, styled, write
from ..scenes import granular_wave, granular_wave_2d
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .evidence import ZHANG_FRICTION, Case, Evidence, Row, claim
from .stills import Still, write_stills

LAYERS = 10  # into which a pile is divided by height
MOVING = 0.5  # length units per time unit: mean upward speed of a layer that the front has reached


def shock(
    case: Case, count: int = 4000, side: float = 14.0, settle: float = 4.0, frame_rate: float = 500.0, columns: int = 60
) -> Evidence:
    """Figure 8: a pile that is jerked up once, dense in 3D and loose in 2D; writes figures and .csv."""
    dense = case.part(0.0, 0.8).simulate(
        "dense",
        granular_wave(count=count, side=side, settle=settle),
        "qce",
        settle + 0.2,
        frame_rate=frame_rate,
        friction_model=ZHANG_FRICTION,
    )
    loose = case.part(0.8, 1.0).simulate(
        "loose", granular_wave_2d(columns=columns), "qce", friction_model=ZHANG_FRICTION
    )
    start = int(np.searchsorted(dense.time, settle))
    height, speed = layer_speeds(dense, start)
    front = wave_front(loose, 0.0, MOVING, LAYERS)
    rising = bool((np.diff(front.time) >= 0.0).all() and front.time[-1] > front.time[0])
    # The first frames after the jerk: the shock is a contrast of speeds between the layers.
    first = speed[1 : 1 + max(1, round(0.01 * frame_rate))]
    ratio = float(np.max(first[:, 0] / np.maximum(np.abs(first[:, -1]), 1e-12)))
    rows = (
        Row("grains", 4000, count),
        Row("dense pile: fastest upward speed of the lowest tenth over that of the highest, within 0.01", None, ratio,
            holds=ratio > 1.2, remark="claim: a wave runs from bottom to top"),
        claim("loose pile: layers reached one after the other from the bottom", rising),
        Row("loose pile: speed of the front", None, front.speed, "radii per time unit"),
        Row("loose pile: layers reached", LAYERS, len(front.time)),
    )  # fmt: skip
    top = float(dense.positions[start][:, 2].max())
    camera = f"elevation=10,target=0:0:{0.5 * top:.4g},distance={3.2 * top:.4g}"
    shown = settle + 2.0 / frame_rate
    stills = [
        Still(dense, f"(a) {count} grains at rest, by depth", settle - 0.02, {"color": "depth", "camera": camera}),
        Still(dense, "(b) after the jerk, by speed", shown, {"color": "speed", "camera": camera}),
        Still(loose, "(c) loose discs, by speed", 0.5 * float(front.time[0] + front.time[-1]), {"color": "speed"}),
    ]
    table = {"height (radii)": front.height, "arrival (time units)": front.time}
    files = write_stills(case.out, "granular_wave", stills, table)
    files += _front_figure(
        case.out, dense.time[start : start + len(speed)] - settle, height, speed, front.height, front.time
    )
    parameters = {"count": count, "side": side, "settle": settle, "restitution": 0.3, "friction": 0.2}
    return Evidence(
        rows, files, ("the shock of the jerk is strongest at the bottom and runs up through the layers",), parameters
    )


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


def _front_figure(out: Path, time: Floats, height: Floats, speed: Floats, up: Floats, when: Floats) -> tuple[Path, ...]:
    with styled(2, height=2.8) as (figure, (left, right)):
        for k in range(0, LAYERS, 3):
            left.plot(time, speed[:, k], color=CYCLE[k % len(CYCLE)], label=f"z = {height[k]:.1f}")
        left.set(
            xlabel="time after the jerk (time units)",
            ylabel="mean upward speed",
            title="(a) dense pile, layers by height",
        )
        left.legend()
        right.plot(when, up, color=CYCLE[0], marker=MARKERS[0], markerfacecolor="white", label="arrival")
        right.set(
            xlabel="time (time units)",
            ylabel="height of the layer (radii)",
            title="(b) loose pile: arrival of the front",
        )
        columns = {"time (time units)": time} | {f"layer_{k + 1}": speed[:, k] for k in range(LAYERS)}
        return write(figure, out, "granular_wave_layers", columns)

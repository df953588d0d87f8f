"""Grains: a shock through a pile, and the patterns of a vibrated layer (Zhang 2015, figures 8 and 9, table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..analysis.granular import Pattern, height_map, pattern, wave_front
from ..draw.style import CYCLE, GRAY, MARKERS, styled, write
from ..scenes import granular_wave, granular_wave_2d, vibrated_layer
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .evidence import Case, Evidence, Row
from .sheets import Still, write_stills

LAYERS = 10  # into which a pile is divided by height
MOVING = 0.5  # length units per time unit: mean upward speed of a layer that the front has reached


def shock(
    case: Case, count: int = 4000, side: float = 14.0, settle: float = 4.0, frame_rate: float = 500.0, columns: int = 60
) -> Evidence:
    """Figure 8: a pile that is jerked up once, dense in 3D and loose in 2D; writes figures and .csv."""
    dense = case.part(0.0, 0.8).simulate(
        "dense", granular_wave(count=count, side=side, settle=settle), "qce", settle + 0.2, frame_rate=frame_rate
    )
    loose = case.part(0.8, 1.0).simulate("loose", granular_wave_2d(columns=columns), "qce")
    start = int(np.searchsorted(dense.time, settle))
    height, speed = layer_speeds(dense, start)
    front = wave_front(loose, 0.0, MOVING, LAYERS)
    rising = bool((np.diff(front.time) >= 0.0).all() and front.time[-1] > front.time[0])
    # The first frames after the jerk: the shock is a contrast of speeds between the layers.
    first = speed[1 : 1 + max(1, round(0.01 * frame_rate))]
    ratio = float(np.max(first[:, 0] / np.maximum(np.abs(first[:, -1]), 1e-12)))
    rows = (
        Row("grains", 4000, count),
        Row(
            "dense pile: fastest upward speed of the lowest tenth over that of the highest, within 0.01",
            None,
            ratio,
            holds=ratio > 1.2,
            remark="claim: a wave runs from bottom to top",
        ),
        Row(
            "loose pile: layers reached one after the other from the bottom",
            "yes",
            "yes" if rising else "no",
            holds=rising,
        ),
        Row("loose pile: speed of the front", None, front.speed, "radii per time unit"),
        Row("loose pile: layers reached", LAYERS, len(front.time)),
    )
    top = float(dense.positions[start][:, 2].max())
    camera = f"elevation=10,target=0:0:{0.5 * top:.4g},distance={4.0 * top:.4g}"
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


# ---- vibrated layer

# Zhang 2015, table 2: iterations (average, largest), seconds per step (average, largest); 60,000 spheres.
TABLE_2 = {"squares": (13, 46, 0.28, 2.74), "stripes": (17, 44, 0.33, 4.39), "hexagons": (12, 33, 0.25, 2.87)}
SPHERES = 60_000
DIAMETER = 1.65e-4  # m, of the spheres of the scene
CELLS_PER_DIAMETER = 0.8  # of the height map
CLASSIFIED = 40  # diameters: narrower containers hold fewer than two wavelengths


def patterns(case: Case, width: int = 50, periods: float = 60.0, law: str = "qce") -> Evidence:
    """Figure 9 and table 2: the layer at the three published points; writes vibrated_layer.png, .svg, .pdf and .csv."""
    maps: dict[str, Floats] = {}
    kinds: dict[str, Pattern] = {}
    rows: list[Row] = []
    for k, name in enumerate(TABLE_2):
        scene = vibrated_layer(pattern=name, width=width, periods=periods)
        run = case.part(k / 3, (k + 1) / 3).simulate(name, scene, law, frame_rate=_every_period(scene.frame_rate))
        maps[name], kinds[name] = best_map(run, width)
        rows += table_rows(name, run, width, kinds[name])
    with styled(3, height=2.8) as (figure, panels):
        for axes, name in zip(panels, maps):
            axes.imshow(
                maps[name].T, origin="lower", extent=(0, width, 0, width), cmap="cividis", interpolation="nearest"
            )
            axes.set(title=f"{name}, periods = {periods:g}", xlabel="x (diameters)")
            axes.grid(False)
        panels[0].set_ylabel("y (diameters)")
        figure.suptitle("height of the highest sphere; bright is high", fontsize=8.5, color=GRAY)
        cells = len(next(iter(maps.values())))
        index = np.indices((cells, cells)).reshape(2, -1)
        table: Mapping[str, object] = {"column": index[0], "row": index[1]} | {
            f"{name}_height (m)": m.ravel() for name, m in maps.items()
        }
        files = write(figure, case.out, "vibrated_layer", table)
    found = ", ".join(
        f"{name}: {kind.kind}, wavelength {kind.wavelength / DIAMETER:.0f} diameters" for name, kind in kinds.items()
    )
    parameters = {"width": width, "periods": periods, "law": law, "step": 2e-4, "restitution": 0.7, "friction": 0.5}
    return Evidence(tuple(rows), files, (found,), parameters)


def _every_period(rate: float) -> float:
    """16 frames per period are those of the scene; 8 are enough to find the layer in flight."""
    return 0.5 * rate


def best_map(run: Trajectory, width: int) -> tuple[Floats, Pattern]:
    """The height map of largest contrast in the last two periods, and its pattern."""
    floor = ((0.0, width * DIAMETER), (0.0, width * DIAMETER))
    cells = max(8, round(CELLS_PER_DIAMETER * width))
    frames = range(max(0, len(run) - 16), len(run))
    found = [
        (m, pattern(m, floor, 0.25 * DIAMETER)) for m in (height_map(run.positions[k], floor, cells) for k in frames)
    ]
    return max(found, key=lambda pair: pair[1].contrast)


def table_rows(name: str, run: Trajectory, width: int, kind: Pattern) -> Sequence[Row]:
    """The rows of one pattern: iterations, seconds per step and the kind of the pattern."""
    steps = run.steps[1:]
    seconds = steps["seconds_impact"] + steps["seconds_rest"]
    average, most, mean_time, most_time = TABLE_2[name]
    remark = f"{run.count} spheres, two cores; the paper has {SPHERES}, one core of 2011"
    wide = width >= CLASSIFIED
    return (
        Row(f"{name}: iterations of the law, average", average, float(steps["iterations"].mean())),
        Row(f"{name}: iterations of the law, largest", most, int(steps["iterations"].max())),
        Row(f"{name}: iterations of the law, least", 1, int(steps["iterations"].min())),
        Row(f"{name}: seconds per step, average", mean_time, float(seconds.mean()), "s", remark=remark),
        Row(f"{name}: seconds per step, largest", most_time, float(seconds.max()), "s"),
        Row(
            f"{name}: seconds per step and sphere, average",
            mean_time / SPHERES,
            float(seconds.mean()) / run.count,
            "s",
            remark="wall time, which other programs on the machine lengthen",
        ),
        Row(
            f"{name}: pattern",
            name,
            kind.kind,
            holds=kind.kind == name if wide else None,
            remark="" if wide else f"a container of {width} diameters is too narrow for the pattern",
        ),
        Row(f"{name}: wavelength", None, kind.wavelength / DIAMETER, "diameters"),
    )

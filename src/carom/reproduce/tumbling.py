"""A freely tumbling T-handle: the flips of its middle axis, and the invariants of two integrators in a million steps.

Rotation about the middle principal axis is unstable: the handle flips repeatedly (the Dzhanibekov effect). The period
follows from Jacobi's elliptic functions in closed form. Discrete Moser-Veselov conserves energy and angular momentum to
rounding; the splitting by axes conserves angular momentum, and its energy oscillates.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import SubFigure
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk, ellipkinc

from ..draw.style import BLACK, BLUE, GRAY, ORANGE, PALE, RED, sheet, write, write_table
from ..geometry import rotations
from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..stepping.rotation import MOSER_VESELOV, SPLIT, rotate_free
from .evidence import Case, Evidence, rows_of

SPIN = 2 * np.pi  # one revolution per unit of time about the middle axis
NUDGE = 0.01  # fraction of SPIN about the other two axes
STEP = 1e-2  # of the flip and of the million steps
SCHEMES = {"Moser-Veselov": MOSER_VESELOV, "split": SPLIT}
COLORS = {"Moser-Veselov": BLUE, "split": RED}
PICTURES = 8

# The handle: two boxes of unit density. Body axes: 1 along the bar, 2 along the stem, 3 across.
HALF = np.array([[1.0, 0.16, 0.16], [0.16, 0.5, 0.16]])  # half edges of bar and stem, unit density
CENTER = np.array([[0.0, 0.0, 0.0], [0.0, -0.66, 0.0]])  # in a frame whose origin is the center of the bar
PIECES = 10  # strips of a face in each direction: small pieces can be sorted by depth


class Flip(NamedTuple):
    """Angular velocity `top sn(rate t + phase, m)` of a free body about its middle axis, and the time between flips."""

    top: float
    rate: float
    phase: float
    m: float
    half_period: float

    def middle(self, time: Floats) -> Floats:
        return np.asarray(self.top * ellipj(self.rate * time + self.phase, self.m)[0])


def flip_of(spin: Floats, inertia: Floats) -> Flip:
    """Closed form for moments in increasing order; energy and momentum decide which outer axis the motion circles."""
    i1, i2, i3 = inertia
    energy, square = float(inertia @ spin**2), float(((inertia * spin) ** 2).sum())  # 2 E, |P|^2
    if square < energy * i2:
        i1, i3 = i3, i1
    top = np.sqrt((energy * i3 - square) / (i2 * (i3 - i2)))
    rate = np.sqrt((i3 - i2) * (square - energy * i1) / (i1 * i2 * i3))
    m = (i2 - i1) * (energy * i3 - square) / ((i3 - i2) * (square - energy * i1))
    # The middle spin grows while (I_3 - I_1) w_1 w_3 > 0 in rising order; else the phase is on the falling branch.
    phase = float(ellipkinc(np.arcsin(np.clip(spin[1] / top, -1.0, 1.0)), m))
    if spin[0] * spin[2] < 0:
        phase = 2 * float(ellipk(m)) - phase
    return Flip(float(top), float(rate), phase, float(m), 2 * float(ellipk(m)) / float(rate))


@kernel
def _tumble(
    orientation: Floats, spin: Floats, inertia: Floats, step: float, chosen: Ints, scheme: int
) -> tuple[Floats, Floats]:
    """Orientation (k, 4) and angular velocity (k, 3) after the `chosen` numbers of steps, in increasing order."""
    q, w = np.empty((len(chosen), 4)), np.empty((len(chosen), 3))
    free, done = np.ones(1, np.bool_), 0
    for k in range(len(chosen)):
        for _ in range(chosen[k] - done):
            orientation, spin = rotate_free(orientation, spin, inertia, free, step, scheme)
        done = chosen[k]
        q[k], w[k] = orientation[0], spin[0]
    return q, w


def start() -> tuple[Floats, Floats, Floats]:
    """Orientation (1, 4) with vertical stem, angular velocity (1, 3) and moments (1, 3) of the handle."""
    upright = np.sqrt([[0.5, 0.5, 0.0, 0.0]])
    return upright, SPIN * np.array([[NUDGE, 1.0, NUDGE]]), moments()[None]


def run(case: Case, steps: int = 1_000_000) -> Evidence:
    """Runs the handle and writes tumbling.png, .svg, .pdf and .csv, tumbling_flip.csv and tumbling_orders.csv."""
    q, w, inertia = start()
    exact = flip_of(w[0], inertia[0])
    case.tell(0.0, "flip")
    count = int(4.2 * exact.half_period / STEP)
    path = _tumble(q, w, inertia, STEP, np.arange(count + 1), MOSER_VESELOV)
    time = np.linspace(0.0, STEP * count, count + 1)
    chosen = np.unique(np.geomspace(1, steps, 300).astype(np.int64))
    drifts = {}
    for k, (name, scheme) in enumerate(SCHEMES.items()):
        case.tell(0.2 + 0.4 * k, f"{steps:,} steps, {name}")
        turned, spins = _tumble(q, w, inertia, STEP, np.concatenate([[0], chosen]), scheme)
        drifts[name] = drift(turned, spins, inertia[0])
    case.tell(0.9, "convergence")
    sizes, errors = convergence(q, w, inertia)
    numbers = {"flip: closed form, seconds": exact.half_period, "flip: measured, seconds": between_flips(time, path[1])}
    for name, (energy, momentum) in drifts.items():
        numbers |= {f"{name}: energy drift": float(energy[-1]), f"{name}: momentum drift": float(momentum[-1])}
        numbers[f"{name}: order"] = float(np.polyfit(np.log(sizes), np.log(errors[name]), 1)[0])
    files = _draw(case.out, exact, time, path, chosen, drifts, sizes, errors)
    return Evidence(rows_of(numbers), files, _findings(numbers, steps))


def drift(q: Floats, w: Floats, inertia: Floats) -> tuple[Floats, Floats]:
    """Running maximum of the relative change of energy and of angular momentum in the world frame."""
    energy, momentum = (inertia * w**2).sum(axis=1), rotations.turned(q, inertia * w)
    off = np.linalg.norm(momentum - momentum[0], axis=1) / np.linalg.norm(momentum[0])
    return np.maximum.accumulate(np.abs(energy / energy[0] - 1.0))[1:], np.maximum.accumulate(off)[1:]


def between_flips(time: Floats, w: Floats) -> float:
    """Mean time between sign changes of the middle angular velocity."""
    middle = w[:, 1]
    k = np.flatnonzero(middle[:-1] * middle[1:] < 0)
    crossing = time[k] + (time[1] - time[0]) * middle[k] / (middle[k] - middle[k + 1])
    return float((crossing[-1] - crossing[0]) / (len(crossing) - 1))


def convergence(q: Floats, w: Floats, inertia: Floats, time: float = 4.0) -> tuple[Floats, dict[str, Floats]]:
    """Time steps, and for each scheme the error of the orientation after a flip, as an angle in radians."""

    def rate(_: float, state: Floats) -> Floats:
        turning = rotations.product(state[None, :4], np.concatenate([[0.0], state[4:]])[None])[0]
        return np.concatenate([0.5 * turning, np.cross(inertia[0] * state[4:], state[4:]) / inertia[0]])

    solved = solve_ivp(rate, (0, time), np.concatenate([q[0], w[0]]), method="DOP853", rtol=1e-12, atol=1e-13)
    counts = np.array([200, 400, 800, 1600, 3200, 6400])
    errors: dict[str, Floats] = {}
    for name, scheme in SCHEMES.items():
        ends = [_tumble(q, w, inertia, time / n, np.array([n]), scheme)[0][0] for n in counts]
        off = [min(np.linalg.norm(end - solved.y[:4, -1]), np.linalg.norm(end + solved.y[:4, -1])) for end in ends]
        errors[name] = 2.0 * np.array(off)
    return time / counts, errors


def _findings(numbers: dict[str, float], steps: int) -> tuple[str, ...]:
    lines = []
    for name in SCHEMES:
        energy, momentum = numbers[f"{name}: energy drift"], numbers[f"{name}: momentum drift"]
        lines += [f"{name}, {steps:,} steps: energy off by {energy:.1e}, angular momentum by {momentum:.1e}"]
    closed, measured = numbers["flip: closed form, seconds"], numbers["flip: measured, seconds"]
    return (*lines, f"a flip every {measured:.4f} s; elliptic functions give {closed:.4f} s")


def _draw(
    out: Path,
    exact: Flip,
    time: Floats,
    path: tuple[Floats, Floats],
    chosen: Ints,
    drifts: dict[str, tuple[Floats, Floats]],
    sizes: Floats,
    errors: dict[str, Floats],
) -> tuple[Path, ...]:
    with sheet(height=5.5) as figure:
        grid = figure.add_gridspec(3, 1, height_ratios=(0.7, 1.0, 1.45))
        shown = _pictures(figure.add_subfigure(grid[0]), exact, time, path[0])
        _middle(figure.add_subfigure(grid[1]).subplots(), exact, time, path[1], shown)
        left, right = figure.add_subfigure(grid[2]).subplots(1, 2)
        _drifts(left, chosen, drifts)
        _orders(right, sizes, errors)
        table: dict[str, NDArray[Any]] = {"steps": chosen}
        for name, (energy, momentum) in drifts.items():
            table |= {f"{name}_energy": energy, f"{name}_momentum": momentum}
        files = write(figure, out, "tumbling", table)
    columns = {"time (s)": time, "middle_spin (rad/s)": path[1][:, 1], "closed_form (rad/s)": exact.middle(time)}
    orders = {"step (s)": sizes} | {f"{name}_error (rad)": off for name, off in errors.items()}
    flip = write_table(out / "tumbling_flip.csv", columns)
    return (*files, flip, write_table(out / "tumbling_orders.csv", orders))


def _pictures(figure: SubFigure, exact: Flip, time: Floats, q: Floats) -> Floats:
    """Draws the handle at equal intervals around its first flip; returns the times."""
    middle = exact.half_period - exact.phase / exact.rate
    shown = np.linspace(middle - 0.8, middle + 0.8, PICTURES)
    nearest = np.round(shown / (time[1] - time[0])).astype(np.int64)
    for axes, k in zip(figure.subplots(1, PICTURES, gridspec_kw={"wspace": 0.0}), nearest):
        draw_handle(axes, q[k])
        axes.set_title(f"{time[k]:.2f} s", loc="center", fontsize=8, color=GRAY)
    return time[nearest]


def _middle(axes: Axes, exact: Flip, time: Floats, w: Floats, shown: Floats) -> None:
    axes.axvspan(shown[0], shown[-1], color="#F3F4F6", linewidth=0)
    axes.plot(time, exact.middle(time) / SPIN, color=BLACK, linewidth=1.0, label="elliptic functions")
    some = slice(None, None, 12)
    axes.plot(time[some], w[some, 1] / SPIN, "o", color=BLUE, markersize=2.6, label=f"Moser-Veselov, h = {STEP:g}")
    axes.set(xlabel="time (s)", xlim=(0, time[-1]), ylabel="spin (turns / s)", ylim=(-1.15, 1.15))
    axes.set_title("(a) spin about the stem (shaded: the pictures)")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.0)


def _drifts(axes: Axes, chosen: Ints, drifts: dict[str, tuple[Floats, Floats]]) -> None:
    for name, (energy, momentum) in drifts.items():
        axes.plot(chosen, np.maximum(energy, 1e-17), color=COLORS[name], label=f"{name}, energy")
        axes.plot(
            chosen, np.maximum(momentum, 1e-17), color=COLORS[name], linestyle=(0, (4, 2)), label=f"{name}, momentum"
        )
    axes.axhline(1e-12, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate("bound 1e-12", (1.2, 1e-12), (0, 3), textcoords="offset points", color=GRAY)
    axes.set(xscale="log", xlabel="steps", xlim=(1, chosen[-1]))
    axes.set(yscale="log", ylabel="largest relative drift so far", ylim=(1e-17, 1.0))
    axes.set_title("(b) energy and angular momentum")
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.47), handlelength=1.6)


def _orders(axes: Axes, sizes: Floats, errors: dict[str, Floats]) -> None:
    for name, marker in zip(errors, "os"):
        axes.plot(sizes, errors[name], color=COLORS[name], marker=marker, markerfacecolor="white", label=name)
    guide = 0.4 * errors["Moser-Veselov"][-1] * (sizes / sizes[-1]) ** 2
    axes.plot(sizes, guide, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)), label="second order")
    axes.set(xscale="log", xlabel="step (s)", yscale="log", ylabel="orientation off (rad)")
    axes.set_title("(c) error after 4 s")
    axes.legend(loc="upper left")


# ---- the handle


def moments() -> Floats:
    """(3,) principal moments about the center of mass in increasing order: bar, stem, across."""
    mass = 8.0 * HALF.prod(axis=1)
    squares = mass[:, None] * (HALF**2 / 3.0 + _centers() ** 2)
    return np.asarray((squares.sum(axis=1, keepdims=True) - squares).sum(axis=0))


def _centers() -> Floats:
    mass = HALF.prod(axis=1)
    return CENTER - (mass @ CENTER) / mass.sum()


def _pieces() -> tuple[Floats, Floats, list[str]]:
    """Corners (k, 4, 3), outward normals (k, 3) and colors of all pieces of the surface."""
    corners, normals, colors = [], [], []
    edges = np.linspace(-1.0, 1.0, PIECES + 1)
    for box, (center, half) in enumerate(zip(_centers(), HALF)):
        for axis, side in ((axis, side) for axis in range(3) for side in (-1.0, 1.0)):
            for u0, u1 in pairwise(edges):
                for v0, v1 in pairwise(edges):
                    square = np.array([[side, u0, v0], [side, u1, v0], [side, u1, v1], [side, u0, v1]])
                    corners.append(center + half * np.roll(square, axis, axis=1))
                    normals.append(side * np.eye(3)[axis])
                    colors.append(ORANGE if box else BLUE if corners[-1][:, 0].mean() < 0 else PALE)
    return np.array(corners), np.array(normals), colors


def draw_handle(axes: Axes, orientation: Floats, azimuth: float = -0.9, elevation: float = 0.3) -> None:
    """Draws the handle in parallel projection with the world axis z up; `azimuth` and `elevation` in radians."""
    corners, normals, colors = _pieces()
    out = np.empty((3, 3))
    rotations.matrix_of(orientation, out)
    toward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    screen = np.stack([right, np.cross(toward, right)], axis=1)
    world, facing = corners @ out.T, normals @ out.T
    seen = np.flatnonzero(facing @ toward > 0)
    order = seen[np.argsort(world[seen].mean(axis=1) @ toward, kind="stable")]
    light = toward + 0.9 * screen[:, 1] - 0.5 * right
    bright = 0.6 + 0.4 * np.clip(facing @ light / np.linalg.norm(light), 0.0, 1.0)
    paint = [tuple(bright[k] * np.array(to_rgb(colors[k]))) for k in order]
    axes.add_collection(PolyCollection(world[order] @ screen, facecolors=paint, edgecolors=paint, linewidths=0.3))
    axes.set(xlim=(-1.15, 1.15), ylim=(-1.08, 1.08), aspect="equal")
    axes.set_axis_off()

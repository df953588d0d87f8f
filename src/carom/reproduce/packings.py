"""Packings of many bodies: energy of elastic spheres and the angle of repose (Tang 2014, figures 9 and 11 to 15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..analysis.granular import Sides, Slope, angle_of_repose, contact_numbers
from ..draw.style import BLACK, CYCLE, GRAY, MARKERS, PALE, law_style, styled, write
from ..laws import make as make_law
from ..scene.boundaries import Container
from ..scenes import repose, sphere_packing
from ..scenes.packings import SIZES
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .evidence import SMITH_FRICTION, Case, Evidence, Row, claim
from .stills import Still, write_stills

BOUND = 8e-3  # Tang 2014, section 7.4: largest relative error of energy of a collision step
FLOOR = 1e-18  # where an error of exactly 0 is drawn


def energy(case: Case, counts: Sequence[int] = (540, 1080), side: float = 12.0, duration: float = 1.0) -> Evidence:
    """Figure 9: the error of energy of each step while elastic spheres fall into a box; writes a figure and a .csv."""
    laws = ("etm", "sqm", "qce")
    errors: dict[tuple[int, str], tuple[Floats, Floats]] = {}
    for part, (count, law) in case.each([(count, law) for count in counts for law in laws]):
        scene = sphere_packing(count=count, side=side, diameter=3.0, restitution=1.0, friction=0.0)
        run = part.simulate(f"{count}_{law}", scene, law, duration, stepper="synchronous", frame_rate=10.0)
        errors[count, law] = step_errors(run)
    rows = [
        Row(f"{count} spheres, {law}: largest relative error of energy of a step with impacts",
            BOUND if law != "qce" else None, float(error.max()),
            holds=bool(error.max() < BOUND) if law != "qce" else None,
            remark=f"{len(error)} steps with impacts; relative to the kinetic energy")
        for (count, law), (_, error) in errors.items()
    ]  # fmt: skip
    with styled(len(counts), height=2.9) as (figure, panels):
        for axes, count in zip(panels, counts):
            for law in laws:
                time, error = errors[count, law]
                style = law_style(law) | {"linestyle": "", "markersize": 2.5, "alpha": 0.6}
                axes.plot(time, np.maximum(error, FLOOR), **style, label=law)
            axes.axhline(BOUND, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
            axes.text(0.02, 1.5 * BOUND, "bound of Tang 2014", transform=axes.get_yaxis_transform(), color=GRAY)
            axes.set(yscale="log", ylim=(FLOOR, 1.0), xlabel="time (time units)", title=f"{count} elastic spheres")
        panels[0].set_ylabel("relative error of energy of a step")
        panels[0].legend(loc="center left", ncols=3, handletextpad=0.2)
        columns = zip(*((n, law, t, e) for (n, law), (time, error) in errors.items() for t, e in zip(time, error)))
        table = dict(zip(("spheres", "law", "time (time units)", "relative_error"), columns))
        files = write(figure, case.out, "packing_energy", table)
    worst = max(float(error.max()) for _, error in errors.values())
    return Evidence(
        tuple(rows),
        files,
        (f"the bound of the paper holds by a factor of {BOUND / worst:.1e}: all three laws keep energy",),
        {"counts": list(counts), "side": side, "duration": duration, "step": "1/600"},
    )


def step_errors(run: Trajectory) -> tuple[Floats, Floats]:
    """Times of the steps with contacts, and the change of total energy in each over the kinetic energy."""
    steps = run.steps
    total = steps["kinetic"] + steps["potential"]
    error = np.abs(np.diff(total)) / steps["kinetic"][1:]
    hit = steps["contacts"][1:] > 0
    return np.asarray(steps["time"][1:][hit]), np.asarray(error[hit])


# ---- settling

RESTING_SPEED = 0.02  # in units of sqrt(g size): slower piles count as settled


def settling(
    case: Case, counts: Mapping[str, int], law: str = "qce", coefficient: float = 0.64, duration: float = 12.0
) -> Evidence:
    """Figure 12: piles that settle with friction and restitution of 0.64; writes settling.png, .svg, .pdf and .csv."""
    friction = None if make_law(law).own_friction else SMITH_FRICTION
    rows, stills, table = [], [], []
    for part, (shape, count) in case.each(list(counts.items()), list(counts.values())):
        width = (ROOM[shape] * count) ** (1.0 / 3.0)
        sizes: dict[str, Any] = {"count": count, "width": width, "settle": duration + 1.0, "flow": 0.1}
        scene = repose(shape=shape, friction=coefficient, restitution=coefficient, **sizes)
        settings: dict[str, Any] = {"step": 1.0 / 300.0, "frame_rate": 5.0, "friction_model": friction}
        run = part.simulate(f"{shape}_settling", scene, law, duration, **settings)
        free = run.geometry["free"]
        speed = np.linalg.norm(run.velocities[:][:, free, :3], axis=2) / np.sqrt(9.81 * SIZES[shape])
        still = np.median(speed, axis=1)
        touching = contact_numbers(run.world, run.frame(len(run.time) - 1))[free].mean()
        table += [(shape, t, v) for t, v in zip(run.time, still)]
        rows += [
            Row(f"{count} {shape}: median speed at the end", "settled", float(still[-1]), "sqrt(g size)",
                bool(still[-1] < RESTING_SPEED), f"largest {speed[-1].max():.2g}"),
            Row(f"{count} {shape}: mean number of touching neighbors", None, float(touching)),
            Row(f"{count} {shape}: largest overlap", None, float(run.steps["overlap"].max()) / SIZES[shape], "sizes"),
        ]  # fmt: skip
        wide = width * SIZES[shape]
        view = {"camera": f"azimuth=-70,elevation=18,target=0:0:{0.5 * wide:.4g},distance={4.0 * wide:.4g}"}
        stills += [Still(run, f"{shape}, t = {t:g}", t, view) for t in (0.15 * duration, duration)]
    columns = dict(zip(("shape", "time (time units)", "median speed (sqrt(g size))"), zip(*table)))
    files = write_stills(case.out, "settling", stills, columns, columns=2)
    findings = (f"piles settle in {duration:g} time units although each impact keeps {coefficient:g} of the speed",)
    return Evidence(tuple(rows), files, findings if all(r.holds is not False for r in rows) else (), {"law": law})


# ---- angle of repose

# Room in a settled packing in units of size^3: width and height of the piles are about equal.
ROOM = {"spheres": 0.9, "cubes": 2.42, "crosses": 0.8}
SPREADS = {"spheres": "0.03 to 0.8", "cubes": "1.3 to 3.2", "crosses": "1.2 to 12.9"}  # published, degrees


def slopes(
    case: Case,
    counts: Mapping[str, int],
    frictions: Sequence[float] = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    law: str = "qce",
    settle: float = 6.0,
    flow: float = 12.0,
    slide: float = 18.0,
    step: float = 1.0 / 600.0,
) -> Evidence:
    """Figures 11 to 15: piles that flow out when a gate is lifted, by shape and friction; writes figures and .csv.

    The slope is measured `flow` time units after the gate is lifted, and after `slide` where there is no friction: only
    impacts slow bodies that slide, and cubes on the faces of others still move when piles with friction have long
    been at rest. Laws have their own friction, as in the paper, or that of the published runs under qce.
    """
    friction = None if make_law(law).own_friction else SMITH_FRICTION
    runs: dict[tuple[str, float], Trajectory] = {}
    for part, (shape, mu) in case.each([(shape, mu) for shape in counts for mu in frictions]):
        width = (ROOM[shape] * counts[shape]) ** (1.0 / 3.0)
        long = flow if mu else slide
        scene = repose(shape=shape, count=counts[shape], friction=mu, width=width, settle=settle, flow=long)
        settings: dict[str, Any] = {"step": step, "frame_rate": 10.0, "friction_model": friction}
        runs[shape, mu] = part.simulate(f"{shape}_{mu:g}", scene, law, **settings)
    found = {kind: slope(run) for kind, run in runs.items()}
    rows = _slope_rows(runs, found, counts, frictions, settle)
    files = (*_stills(case.out, runs, found, frictions, settle), *_curves(case.out, runs, found, counts, frictions))
    parameters = {"counts": dict(counts), "law": law, "step": step, "settle": settle, "restitution": 0.3}
    return Evidence(rows, files, _slope_findings(found, counts, frictions), parameters)


def floor_of(run: Trajectory) -> Sides:
    """The limits of the floor of the container in x and y."""
    (container,) = [b for b in run.scene.boundaries if isinstance(b, Container)]
    return (container.lower[0], container.upper[0]), (container.lower[1], container.upper[1])


def slope(run: Trajectory) -> Slope:
    """The angle of repose at the end of a run, over cells of about the size of a body (in the paper 8 x 16)."""
    strips = max(3, round(run.scene.parameters["width"]))
    place = run.positions[-1][run.geometry["free"]]
    return angle_of_repose(place, floor_of(run), strips, 2 * strips, whole_floor=True)


def _slope_rows(
    runs: Mapping[tuple[str, float], Trajectory],
    found: Mapping[tuple[str, float], Slope],
    counts: Mapping[str, int],
    frictions: Sequence[float],
    settle: float,
) -> tuple[Row, ...]:
    rows = []
    for shape in counts:
        run = runs[shape, frictions[-1]]
        packed = run.frame(int(np.searchsorted(run.time, settle)) - 1)
        touching = contact_numbers(run.world, packed)[run.geometry["free"]]
        rows.append(Row(f"{shape}: mean number of touching neighbors before the gate is lifted", None, touching.mean()))
    for (shape, mu), angle in found.items():
        text = f"spread {angle.spread:.1f}, published spread {SPREADS[shape]}"
        rows.append(Row(f"{shape}: angle of repose, mu = {mu:g}", None, angle.mean, "degrees", remark=text))
    rough = [mu for mu in frictions if mu >= 0.2]
    for shape in counts:
        angles = [found[shape, mu].mean for mu in frictions]
        grows = angles[-1] > angles[0] and all(
            b > a - found[shape, mu].spread for (a, b), mu in zip(pairwise(angles), frictions[1:])
        )
        rows.append(claim(f"{shape}: the angle grows with friction", grows))
        if 0.0 in frictions:
            rows.append(_flat_row(shape, runs[shape, 0.0], found[shape, 0.0]))
    if {"spheres", "crosses"} <= set(counts):
        above = all(found["crosses", mu].mean > found["spheres", mu].mean for mu in rough)
        rows.append(claim("crosses above spheres for mu >= 0.2", above))
    return tuple(rows)


def _flat_row(shape: str, run: Trajectory, angle: Slope) -> Row:
    """Without friction a pile is flat up to one layer: its slope is less than one body on the length of the floor."""
    layer = float(np.degrees(np.arctan(0.5 / run.scene.parameters["width"])))
    flat = abs(angle.mean) <= layer
    fastest = float(np.linalg.norm(run.velocities[-1], axis=1).max())
    remark = (
        f"{angle.mean:.1f} degrees; one layer on the length of the floor is {layer:.1f}. Without friction bodies go on "
        f"sliding (fastest {fastest:.1f} at the end), and cubes that lie face on face in a corner stay there"
    )
    return claim(f"{shape}: no slope without friction", flat, remark)


def _slope_findings(
    found: Mapping[tuple[str, float], Slope], counts: Mapping[str, int], frictions: Sequence[float]
) -> tuple[str, ...]:
    lines = []
    for shape in counts:
        text = ", ".join(f"{found[shape, mu].mean:.0f} (mu = {mu:g})" for mu in frictions)
        lines.append(f"{counts[shape]} {shape}: angle of repose in degrees {text}")
    return tuple(lines)


def _stills(
    out: Path,
    runs: Mapping[tuple[str, float], Trajectory],
    found: Mapping[tuple[str, float], Slope],
    frictions: Sequence[float],
    settle: float,
) -> tuple[Path, ...]:
    """Figure 11 in the first column, figures 12 and 13 in the others: at most three coefficients of friction."""
    shown = sorted({frictions[0], frictions[len(frictions) // 2], frictions[-1]})
    stills = []
    for shape in dict.fromkeys(shape for shape, _ in runs):
        (left, right), _ = floor_of(runs[shape, shown[-1]])
        middle, long = 0.5 * (left + right), right - left
        view = {"camera": f"azimuth=-70,elevation=18,target={middle:.4g}:0:{0.25 * long:.4g},distance={2.6 * long:.4g}"}
        stills.append(Still(runs[shape, shown[-1]], f"{shape}, packed, mu = {shown[-1]:g}", settle - 0.1, view))
        for mu in shown:
            stills.append(Still(runs[shape, mu], f"mu = {mu:g}: {found[shape, mu].mean:.0f} degrees", None, view))
    table = {"shape": [s for s, _ in found], "friction": [m for _, m in found]}
    table |= {
        "angle (degrees)": [s.mean for s in found.values()],
        "spread (degrees)": [s.spread for s in found.values()],
    }
    return write_stills(out, "repose_piles", stills, table, columns=1 + len(shown))


def _curves(
    out: Path,
    runs: Mapping[tuple[str, float], Trajectory],
    found: Mapping[tuple[str, float], Slope],
    counts: Mapping[str, int],
    frictions: Sequence[float],
) -> tuple[Path, ...]:
    """Figures 14 and 15: the fitted lines of one pile, and angles and spreads against friction."""
    with styled(2, height=3.0) as (figure, (left, right)):
        shape = next(iter(counts))
        _lines(left, runs[shape, frictions[-1]], f"(a) {shape}, mu = {frictions[-1]:g}, and lines")
        for k, shape in enumerate(counts):
            angles = [found[shape, mu].mean for mu in frictions]
            spreads = [found[shape, mu].spread for mu in frictions]
            look: dict[str, Any] = {"color": CYCLE[k], "marker": MARKERS[k], "markerfacecolor": "white", "capsize": 2.0}
            right.errorbar(frictions, angles, spreads, **look, label=f"{counts[shape]} {shape}")
        right.set(xlabel="coefficient of friction", ylabel="angle of repose (degrees)")
        right.set_title("(b) mean over strips; bars: half of the range")
        right.legend(loc="upper left")
        rows = [(s, mu, angle.mean, angle.spread) for (s, mu), angle in found.items()]
        names = ("shape", "friction", "angle (degrees)", "spread (degrees)")
        return write(figure, out, "repose_angles", dict(zip(names, zip(*rows))))


def _lines(axes: Axes, run: Trajectory, title: str) -> None:
    """The centers of all bodies from the side, and the mean line of the fitted slopes through the pile."""
    place = run.positions[-1][run.geometry["free"]]
    found, size = slope(run), SIZES[run.scene.parameters["shape"]]
    axes.scatter(place[:, 0], place[:, 2], s=6.0, color=PALE, edgecolors=GRAY, linewidths=0.3)
    (left, right), _ = floor_of(run)
    x = np.array([left, right])
    high = place[place[:, 2] > 1.5 * place[:, 2].min()]
    middle = high[:, [0, 2]].mean(axis=0) if len(high) else place[:, [0, 2]].mean(axis=0)
    for angle in found.strips:
        axes.plot(x, middle[1] - np.tan(np.radians(angle)) * (x - middle[0]), color=CYCLE[0], linewidth=0.6)
    axes.plot(x, middle[1] - np.tan(np.radians(found.mean)) * (x - middle[0]), color=BLACK, linewidth=1.4)
    axes.set(xlabel="x (length units)", ylabel="z (length units)", xlim=x, aspect="equal", title=title)
    axes.set_ylim(0.0, float(place[:, 2].max()) + size)

"""Packings of many bodies: energy of elastic spheres, and piles that settle (Tang 2014, figures 9 and 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..analysis.granular import contact_numbers
from ..draw.style import GRAY, law_style, styled, write
from ..laws import make as make_law
from ..scenes import repose, sphere_packing
from ..scenes.packings import SIZES
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .evidence import SMITH_FRICTION, Case, Evidence, Row
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

# Room in a settled packing in units of size^3: width and height of the piles are about equal.
ROOM = {"spheres": 0.9, "cubes": 2.42, "crosses": 0.8}
RESTING_SPEED = 0.02  # in units of sqrt(g size): slower piles count as settled


def settling(
    case: Case, counts: Mapping[str, int], law: str = "qce", coefficient: float = 0.64, duration: float = 12.0
) -> Evidence:
    """Figure 12: piles that settle with friction and restitution of 0.64; writes settling.png, .svg, .pdf and .csv."""
    friction = None if make_law(law).own_friction else SMITH_FRICTION
    rows, stills, table = [], [], []
    for part, (shape, count) in case.each(list(counts.items()), list(counts.values())):
        width = (ROOM[shape] * count) ** (1.0 / 3.0)
        sizes: dict[str, Any] = {"count": count, "width": width, "settle": duration + 1.0, "flow": 0.1, "rolling": 0.0}
        scene = repose(shape=shape, friction=coefficient, restitution=coefficient, **sizes)
        settings: dict[str, Any] = {
            "step": 1.0 / 300.0,
            "stepper": "substepped",
            "frame_rate": 5.0,
            "friction_model": friction,
        }
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
        view = {"camera": f"azimuth=-70,elevation=18,target=0:0:{0.7 * wide:.4g},distance={5.5 * wide:.4g}"}
        stills += [Still(run, f"{shape}, t = {t:g}", t, view) for t in (0.15 * duration, duration)]
    columns = dict(zip(("shape", "time (time units)", "median speed (sqrt(g size))"), zip(*table)))
    files = write_stills(case.out, "settling", stills, columns, columns=2)
    findings = (f"piles settle in {duration:g} time units although each impact keeps {coefficient:g} of the speed",)
    return Evidence(tuple(rows), files, findings if all(r.holds is not False for r in rows) else (), {"law": law})

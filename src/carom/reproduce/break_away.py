"""Two drops: a box on its face, which must rebound straight, and nested dolls, which must open.

After Smith 2012, figures 1 and 2. The four corners of the box hit the ground at once with equal speeds, so by symmetry
it must not rotate. The dolls stand in each other: their contacts carry no approach when the outer one hits the ground,
and lcp keeps contacts closed that do not approach.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..draw.run_figures import split
from ..draw.style import TIME, law_style, sheet, write
from ..scenes import dolls, flat_box
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .evidence import Case, Evidence, Row
from .stills import Still, draw_stills, write_stills

STRAIGHT = 1e-9  # radians per unit of time: spin of a box that rebounds straight
OBLIQUE = 1e-3  # relative to the drop height: sideways motion that one would call oblique
BOX_TIMES, DOLL_TIMES = (0.4, 0.5, 0.6, 0.75), (0.0, 0.45, 0.55, 0.7)  # of the stills
APART, TOGETHER = 0.2, 0.05  # relative to the height of the outer doll, by which parts have or have not separated


def run_box(case: Case, duration: float = 1.0) -> Evidence:
    """Drops a box on its face under gr, lcp and gauss_seidel; writes box.png, .svg, .pdf and .csv."""
    scene = flat_box()
    runs = {
        law: part.simulate(law, scene, law, duration, tolerance="exact", frame_rate=100.0)
        for part, law in case.each(("gr", "lcp", "gauss_seidel"))
    }
    spins = {law: np.linalg.norm(run.spins[:, 0], axis=1) for law, run in runs.items()}
    rows = [
        Row(f"{law}: spin after the first impact", 0.0, float(spin[-1]), "rad / time", bool(spin[-1] < STRAIGHT))
        for law, spin in spins.items()
        if law != "gauss_seidel"
    ]
    spin, aside = float(spins["gauss_seidel"][-1]), _aside(runs["gauss_seidel"])
    rows += [
        Row("gauss_seidel: spin after the first impact", "not 0", spin, "rad / time", spin > STRAIGHT),
        Row("gauss_seidel: sideways motion of the center", "oblique trajectory", aside, "drop heights", aside > OBLIQUE,
            "the normals are vertical: without friction the center stays on a vertical line, and only the box rotates"),
    ]  # fmt: skip
    look = {"color": "body", "camera": "azimuth=-60,elevation=12,target=0:0:0.9,distance=8.5"}
    stills = [Still(runs[law], f"{law}, t = {t:g}", t, look) for law in ("gr", "gauss_seidel") for t in BOX_TIMES]
    table = {TIME: runs["gr"].time} | {f"{law}_spin (radians / time)": values for law, values in spins.items()}
    files = write_stills(case.out, "box", stills, table, columns=len(BOX_TIMES))
    findings = (
        f"under gr and lcp the box rebounds without spin; under gauss_seidel it leaves with a spin of {spin:.2g}",
        "its center moves on a vertical line under every law, because no impulse has a horizontal component",
    )
    return Evidence(tuple(rows), files, findings, {"size": (2.0, 1.5, 1.0), "height": 1.0, "h": scene.step})


def _aside(run: Trajectory) -> float:
    """Largest horizontal distance of the center from its start, in drop heights (which are 1)."""
    moved = run.positions[:, 0, :2] - run.positions[0, 0, :2]
    return float(np.hypot(moved[:, 0], moved[:, 1]).max())


def run_dolls(case: Case, count: int = 3, duration: float = 0.9) -> Evidence:
    """Drops nested dolls under lcp and gr; writes dolls.png, .svg, .pdf and .csv."""
    scene = dolls(count=count)
    runs = {law: part.simulate(law, scene, law, duration, frame_rate=100.0) for part, law in case.each(("lcp", "gr"))}
    apart = {law: separation(run) for law, run in runs.items()}
    most = {law: float(values.max()) for law, values in apart.items()}
    rows = (
        Row("lcp: largest separation of the parts", "one solid object", most["lcp"], "heights", most["lcp"] < TOGETHER),
        Row("gr: largest separation of the parts", "they separate", most["gr"], "heights", most["gr"] > APART),
    )
    findings = (
        f"within t = {duration:g} the parts separate by {most['gr']:.2g} under gr, {most['lcp']:.2g} under lcp",
    )
    with sheet(height=5.6) as figure:
        above, below = split(figure, 2, 1, height_ratios=[3.6, 2.0])
        look = {"color": "group", "size": (640, 640), "camera": "azimuth=-60,elevation=12,target=0:0:2.3,distance=13"}
        stills = [Still(run, f"{law}, t = {t:g}", t, look) for law, run in runs.items() for t in DOLL_TIMES]
        draw_stills(above, stills, len(DOLL_TIMES))
        axes = below.subplots()
        for law, values in apart.items():
            axes.plot(runs[law].time, values, **{**law_style(law), "marker": ""}, label=law)
        axes.set(xlabel=TIME, ylabel="separation / height", xlim=(0, duration), ylim=(0, None))
        axes.legend(loc="upper left")
        files = write(figure, case.out, "dolls", {TIME: runs["gr"].time} | _named(apart))
    return Evidence(rows, files, findings, {"c_r": 0.8, "h": scene.step, "height": 1.0})


def separation(run: Trajectory) -> Floats:
    """How much the distances of the parts' centers from their centroid have grown, at most, per frame; in heights.

    The outer doll is 3.2 high.
    """
    place = run.positions[:]
    arms = np.linalg.norm(place - place.mean(axis=1, keepdims=True), axis=2)
    grown: Floats = np.abs(arms - arms[0]).max(axis=1) / 3.2
    return grown


def _named(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    return {f"{law}_separation (heights)": values for law, values in columns.items()}

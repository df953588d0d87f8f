"""81 balls with random velocities in a drum for 1,000 s: the drift of energy under each law.

After the plot in Smith 2012, section 9. Restitution is 1 and no force acts, so the kinetic energy must be conserved.
Laws that reflect the whole impact conserve it to rounding. jacobi resolves each contact as if it were the only one,
which is wrong as soon as a ball has two contacts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ..draw.style import GRAY, TIME, law_style, styled, write
from ..scenes import energy_drum
from ..solvers.rows import Floats, Ints
from ..trajectory import Trajectory
from .evidence import Case, Evidence, rows_of

COMPARED = ("gr", "qce", "gauss_seidel", "lcp", "jacobi")
EXACT = "exact"
CLAIMS = {"gr": EXACT, "lcp": EXACT, "gauss_seidel": EXACT, "jacobi": "poor"}
BOUND = 1e-9  # largest admissible relative drift
FLOOR = 1e-16  # where a drift of exactly 0 is drawn: less than one rounding of the energy
POINTS = 400  # per curve


def run(case: Case, duration: float = 1000.0, side: int = 9) -> Evidence:
    """Runs the gas of side x side balls under each law and writes energy_drum.png, .svg, .pdf and .csv."""
    scene = energy_drum(side=side)
    runs: dict[str, Trajectory] = {}
    numbers: dict[str, float] = {}
    for part, law in case.each(COMPARED):
        runs[law] = part.simulate(law, scene, law, duration, tolerance="exact", frame_rate=1.0)
        numbers[f"{law}: largest relative drift"] = float(np.abs(drift(runs[law])).max())
        numbers[f"{law}: contacts resolved"] = float(runs[law].steps["contacts"].sum())
    files = _draw(case.out, runs)
    said = {f"{law}: largest relative drift": text for law, text in CLAIMS.items()}
    holds = {name: (numbers[name] <= BOUND) == (text == EXACT) for name, text in said.items()}
    return Evidence(rows_of(numbers, said, holds=holds), files, _findings(runs), {"h": scene.step, "c_r": 1.0})


def drift(run: Trajectory) -> Floats:
    """E(t) / E(0) - 1 at the start and after every step."""
    energy = run.steps["kinetic"]
    return np.asarray(energy / energy[0] - 1.0)


def leaves(run: Trajectory) -> float:
    """Time at which the drift first exceeds the bound; infinity if it never does."""
    beyond = np.abs(drift(run)) > BOUND
    return float(run.steps["time"][int(beyond.argmax())]) if beyond.any() else float("inf")


def _findings(runs: Mapping[str, Trajectory]) -> tuple[str, ...]:
    kept = [f"{law} ({np.abs(drift(run)).max():.1e})" for law, run in runs.items() if leaves(run) == np.inf]
    lines = [f"largest relative drift at most {BOUND:g} under: {', '.join(kept) or 'no law'}"]
    for law, run in runs.items():
        if leaves(run) < np.inf:
            far = 100.0 * float(np.abs(drift(run)).max())
            lines += [f"{law} exceeds it at t = {leaves(run):.2f}, and is off by up to {far:.1f} %"]
    hashes = [run.state_hash for run in runs.values()]
    same = [law for law, own in zip(runs, hashes) if hashes.count(own) > 1]
    return (*lines, f"same bits at the end: {', '.join(same)}") if same else tuple(lines)


def _draw(out: Path, runs: Mapping[str, Trajectory]) -> tuple[Path, ...]:
    time = runs[COMPARED[0]].steps["time"]
    spread = np.unique(np.geomspace(1, len(time) - 1, POINTS).astype(np.int64))
    even = np.linspace(0, len(time) - 1, POINTS).astype(np.int64)
    with styled(2, height=3.3) as (figure, (left, right)):
        _largest(left, runs, time, spread)
        _energies(right, runs, time, even)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(runs), handlelength=3.0)
        both = np.union1d(spread, even)
        table = {TIME: time[both]}
        for law, run in runs.items():
            table |= {f"{law}_drift": drift(run)[both], f"{law}_largest_so_far": _so_far(run)[both]}
        return write(figure, out, "energy_drum", table)


def _so_far(run: Trajectory) -> Floats:
    return np.maximum.accumulate(np.abs(drift(run)))


def _largest(axes: Axes, runs: Mapping[str, Trajectory], time: Floats, chosen: Ints) -> None:
    for k, (law, run) in enumerate(runs.items()):
        # Two of the laws give the same bits: their markers alternate, so that each is visible.
        style = {**law_style(law), "markevery": (25 + 12 * k, 12 * len(runs)), "markerfacecolor": "white"}
        axes.plot(time[chosen], np.maximum(_so_far(run)[chosen], FLOOR), **style, label=law)
    axes.axhline(BOUND, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate(f"bound {BOUND:g}", (time[1], BOUND), (2, 3), textcoords="offset points", color=GRAY)
    axes.set(xscale="log", xlabel=TIME, xlim=(time[1], time[-1]))
    axes.set(yscale="log", ylabel="$|E - E_0|$ / $E_0$", ylim=(0.5 * FLOOR, 1.0))
    axes.set_title("(a) largest drift so far")


def _energies(axes: Axes, runs: Mapping[str, Trajectory], time: Floats, chosen: Ints) -> None:
    for k, (law, run) in enumerate(runs.items()):
        style = {**law_style(law), "markevery": (15 * k, 15 * len(runs)), "markerfacecolor": "white"}
        axes.plot(time[chosen], 1.0 + drift(run)[chosen], **style)
    axes.set(xlabel=TIME, xlim=(0, time[-1]), ylabel="$E$ / $E_0$")
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.99), max(high, 1.01))  # panel (a) shows rounding errors
    axes.set_title("(b) energy")

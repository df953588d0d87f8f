"""What the steps of a run say about themselves: contacts, iterations, residuals, outcomes, seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..stepping.report import PHASES, STATUSES
from ..trajectory import Trajectory
from .run_momentum import angular_momentum_drift, momentum_drift
from .runs import energy_drift

COUNTED = ("contacts", "resting", "iterations", "rounds", "residual", "overlap")


def contact_statistics(run: Trajectory, after: int = 0) -> dict[str, Any]:
    """Mean and largest value of what each step reports, over the steps after number `after`.

    `contacts` are those that the law saw, `resting` those of the resting solve, `overlap` is a length. `statuses`
    counts the steps by the worst outcome of their impacts, `seconds` adds up the time of each phase.
    """
    steps = run.steps[run.steps["step"] > after]
    out: dict[str, Any] = {"steps": len(steps)}
    for name in COUNTED:
        values = steps[name]
        out[name] = {"mean": float(values.mean()), "max": values.max().item()} if len(values) else None
    counts = np.bincount(steps["status"], minlength=len(STATUSES))
    out["statuses"] = {name: int(count) for name, count in zip(STATUSES, counts)}
    out["seconds"] = {phase: float(steps[f"seconds_{phase}"].sum()) for phase in PHASES}
    return out


def run_summary(run: Trajectory, wall: float | None = None, after: int = 0) -> dict[str, Any]:
    """What `carom run` prints at its end, as plain data. It reads no frame but the first and the last.

    wall: seconds that the run took, from step `after` on. Drifts are the largest of all steps.
    """
    world = run.world
    overlap = run.steps["overlap"].max(initial=0.0) / world.length_scale
    return {
        "scene": run.name,
        "law": run.law,
        "settings": run.settings.as_dict(),
        "integrator": run.scene.integrator if run.dimension == 3 else None,
        "bodies": run.count,
        "boundaries": len(world.boundaries.kind),
        "finished": run.finished,
        "time": run.last.time,
        "duration": run.settings.duration,
        "step": run.last.step,
        "frames": len(run),
        "wall_seconds": wall,
        "resumed_at": after or None,
        **contact_statistics(run, after),
        "energy_drift": float(np.abs(energy_drift(run)).max()),
        "energy_change": float(energy_drift(run)[-1]),
        **_momenta(run),
        "overlap_in_features": float(max(overlap, 0.0)),
        "file": None if run.path is None else str(run.path),
        "bytes": None if run.path is None else run.path.stat().st_size,
        "state_hash": run.state_hash,
    }


def _momenta(run: Trajectory) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, drift in (("momentum", momentum_drift(run)), ("angular_momentum", angular_momentum_drift(run))):
        out[f"{name}_drift"] = float(drift.value.max()) if drift.conserved else None
        out[f"{name}_why"] = drift.why
    return out

"""Statistics of a run as plain data: contacts, iterations, residuals, statuses, energies, seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..geometry.shapes import PLURALS
from ..stepping.events import KINDS
from ..stepping.report import ANGULAR_MOMENTUM, MOMENTUM, PHASES, STATUSES
from ..trajectory import Trajectory
from ..trajectory.events import Ledger
from ..world import DISC
from .checks import KEPT, NEVER_RISES, energy_rule
from .run_momentum import angular_momentum_drift, momentum_drift
from .runs import energy_drift, energy_rise, energy_scale, lengths

COUNTED = (
    "contacts",
    "resting",
    "iterations",
    "rounds",
    "residual",
    "overlap",
    "substeps",
)  # columns of the step table
SHAPES = ("discs", "polygons", *PLURALS.values(), "compounds")


def contact_statistics(run: Trajectory, after: int = 0) -> dict[str, Any]:
    """Mean and maximum of columns of the step table, over the steps after step `after`.

    `contacts` counts the contacts given to the law, `resting` those of the resting solve; `overlap` is a length.
    `residual` is relative to the same speed as the tolerance of the run, and `missed` counts the steps with more than
    that; `cut` counts those that were cut into sub-steps. `statuses` counts the steps by the worst status of their
    impacts, `seconds` is the total time of each phase.
    """
    steps = run.steps[1:][run.steps["step"][1:] > after]
    out: dict[str, Any] = {"steps": len(steps)}
    for name in COUNTED:
        values = steps[name]
        out[name] = {"mean": float(values.mean()), "max": values.max().item()} if len(values) else None
    out["missed"] = int((run.missed_steps > after).sum())
    out["cut"] = int((steps["substeps"] > 1).sum())
    counts = np.bincount(steps["status"], minlength=len(STATUSES))
    out["statuses"] = {name: int(count) for name, count in zip(STATUSES, counts)}
    out["seconds"] = {phase: float(steps[f"seconds_{phase}"].sum()) for phase in PHASES}
    return out


def run_summary(run: Trajectory, wall: float | None = None, after: int = 0) -> dict[str, Any]:
    """The data that `carom run` prints at its end. Only the first and the last frame are read.

    `wall` is the wall time in seconds of the steps after `after`. Drifts are the maximum over all steps.
    """
    world = run.world
    overlap = run.steps["overlap"].max(initial=0.0) / world.length_scale
    return {
        "scene": run.name,
        "law": run.law,
        "settings": run.settings.as_dict(),
        "recorded_impulses": run.settings.recorded_impulses or None,
        "events": event_counts(run),
        "integrator": run.scene.rotation_integrator,
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
        **_energies(run),
        **_momenta(run),
        "overlap_in_features": float(max(overlap, 0.0)),
        "file": None if run.path is None else str(run.path),
        "bytes": None if run.path is None else run.path.stat().st_size,
        "state_hash": run.state_hash,
    }


def _energies(run: Trajectory) -> dict[str, Any]:
    """The change of energy and its reason; the drift where energy must be kept, the rise where it must not rise."""
    rule, why = energy_rule(run)
    return {
        "energy_change": float(energy_drift(run)[-1]),
        "energy_drift": float(np.abs(energy_drift(run)).max()) if rule == KEPT else None,
        "energy_rise": float(energy_rise(run).max()) if rule == NEVER_RISES else None,
        "energy_why": why,
    }


def _momenta(run: Trajectory) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, drift in (("momentum", momentum_drift(run)), ("angular_momentum", angular_momentum_drift(run))):
        out[f"{name}_drift"] = float(drift.value.max()) if drift.conserved else None
        out[f"{name}_why"] = drift.why
    return out


def file_summary(run: Trajectory) -> dict[str, Any]:
    """The data that `carom info` prints."""
    statistics = contact_statistics(run)
    seconds = statistics.pop("seconds")
    del statistics["steps"]
    return {
        "file": str(run.path) if run.path is not None else None,
        "bytes": run.path.stat().st_size if run.path is not None else None,
        "carom_version": run.carom_version,
        "scene": {"name": run.name, **_bodies(run)},
        "settings": run.settings.as_dict(),
        "recorded_impulses": run.settings.recorded_impulses or None,
        "events": event_counts(run),
        "finished": run.finished,
        "running": run.running,
        "time": run.last.time,
        "duration": run.settings.duration,
        "step": run.last.step,
        "frames": len(run),
        "state_hash": run.state_hash,
        "statistics": statistics,
        "energy": _energy(run),
        "seconds": seconds,
        "seconds_per_step": phase_seconds(run),
    }


def event_counts(run: Trajectory) -> dict[str, Any] | None:
    """Numbers of the events of a run by kind, those that are not listed, and their bytes; None without events."""
    events, rest = run.events, run.unlisted_events
    if events is None or rest is None:
        return None
    kinds = np.bincount(events["kind"], minlength=len(KINDS))
    ledger = Ledger(run.world, run.frame(0), run.settings)
    return {
        **{name: int(count) for name, count in zip(KINDS, kinds)},
        "unlisted": rest.total,
        "bytes": len(events) * ledger.row_bytes,
        "budget": None if ledger.all else ledger.allowed(run.last.step) * ledger.row_bytes,
    }


def phase_seconds(run: Trajectory) -> dict[str, dict[str, float]]:
    """Mean, maximum and minimum of the seconds per step of each phase, and of the whole step (`total`).

    Empty before the first step. The first step that needs a kernel includes the time of loading or compiling it.
    """
    steps = run.steps[1:]
    if not len(steps):
        return {}
    phases = {phase: steps[f"seconds_{phase}"] for phase in PHASES}
    phases["total"] = sum(phases.values(), np.zeros(len(steps)))
    return {name: {"mean": float(v.mean()), "max": float(v.max()), "min": float(v.min())} for name, v in phases.items()}


def _bodies(run: Trajectory) -> dict[str, Any]:
    free = run.geometry["free"]
    return {
        "bodies": len(free),
        **_SHAPES[run.dimension](run),
        "held": int((~free).sum()),
        "boundaries": len(run.geometry["boundary_kind"]),
        **({} if run.dimension == 2 else {"integrator": run.scene.integrator}),
    }


def _shapes_2d(run: Trajectory) -> dict[str, int]:
    round_ = run.geometry["kind"] == DISC
    return {"discs": int(round_.sum()), "polygons": int((~round_).sum())}


def _shapes_3d(run: Trajectory) -> dict[str, int]:
    """Numbers of bodies by the kind of their single part, and of compounds."""
    geometry = run.geometry
    ptr = geometry["part_ptr"]
    single = np.diff(ptr) == 1
    kind = geometry["kind"][geometry["shape"][ptr[:-1][single]]]
    counts = {name: int((kind == code).sum()) for code, name in PLURALS.items()}
    return {**counts, "compounds": int((~single).sum())}


_SHAPES = {2: _shapes_2d, 3: _shapes_3d}


def _energy(run: Trajectory) -> dict[str, Any]:
    """Energies and momenta at both ends; changes relative to `energy_scale`, and to the momentum sqrt(2 m E) of it."""
    steps = run.steps
    total = steps["kinetic"] + steps["potential"]
    largest = energy_scale(run)
    mass = float(run.geometry["mass"][run.geometry["free"]].sum())
    momentum = np.stack([steps[name] for name in MOMENTUM[run.dimension]], axis=1)
    change = float(lengths(momentum[-1] - momentum[0]))
    scale = float(np.sqrt(2.0 * mass * largest))
    return {
        "first": float(total[0]),
        "last": float(total[-1]),
        "change": float(total[-1] - total[0]) / largest if largest else 0.0,
        "largest_change": float(np.abs(total - total[0]).max()) / largest if largest else 0.0,
        "momentum_first": momentum[0].tolist(),
        "momentum_last": momentum[-1].tolist(),
        "momentum_change": change / scale if scale else 0.0,
        "angular_momentum_first": _angular_momentum(run, 0),
        "angular_momentum_last": _angular_momentum(run, -1),
    }


def _angular_momentum(run: Trajectory, row: int) -> float | list[float]:
    """Angular momentum about the origin: a number in 2D, a vector in 3D."""
    found = [float(run.steps[name][row]) for name in ANGULAR_MOMENTUM[run.dimension]]
    return found[0] if len(found) == 1 else found

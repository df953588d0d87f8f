"""Checks of a run: energy, momentum, overlap, symmetry, statuses of impacts and residuals against bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import laws
from ..errors import ProblemError
from ..problem.assemble import used_restitutions
from ..problem.contacts import INFEASIBLE
from ..solvers.rows import Floats
from ..stepping.jointed import JOINT_PARTS, fastest_rate
from ..stepping.report import STATUSES
from ..stepping.stepper import LARGEST_OVERLAP
from ..trajectory import Trajectory
from ..trajectory.format import moving
from ..world import State, World
from .run_momentum import (
    Drift,
    angular_momentum_drift,
    has_changed,
    momentum_drift,
    python_force,
    unexplained_momentum,
    unexplained_reason,
)
from .runs import (
    energy_drift,
    energy_rise,
    energy_scale,
    fastest,
    joint_errors,
    overlap,
    overlap_shares,
    symmetry_error,
)

# Energy and momentum, relative: far above the rounding errors of a long run, far below physical effects. Overlap, in
# units of the length scale: that of bodies at rest. Symmetry, in the same units: up to the time at which chaotic motion
# has amplified rounding errors so far.
# Joints, in the same units: to rounding in every step.
BOUNDS: dict[str, float] = {"energy": 1e-9, "momentum": 1e-9, "overlap": 1e-3, "symmetry": 1e-6, "joints": 1e-9}

# Share of the bound of symmetry that rounding errors reach gradually, over many impacts, before they pass the bound. A
# law or solver that breaks the symmetry passes it within one frame: by 1e-6 to 0.4 at the first impact in the library.
GRADUAL = 1e-3
# Overlap in a drift-safe step, whose contacts are those of its start, in units of the length scale: what two bodies
# approach in a step at the fastest speed of the run, up to PILE, a percent of a diameter; MOVING_SHARE of it beyond, at
# most MOVING_OVERLAP.
PILE, MOVING_SHARE, MOVING_OVERLAP = 0.02, 0.1, 0.2
RESTING = ("drift_safe", "substepped")  # steppers that hold bodies in lasting contact inelastically
KEPT, NEVER_RISES, FREE = "kept", "never rises", "free"  # requirements on the energy of a run
EXPLAINED = 1e-9  # momentum that events do not explain, relative to the largest impulse: rounding of long sums
PUSHED_OUT = 1e-3  # energy, relative, that a substepped run may gain by pushing overlap out
RECORDED_ENERGY = 6e-8  # relative rounding of the energy of a body that appears or vanishes
# RATTLE with steps k keeps a modified energy H~ = H - k^2 (v^T M b / 12 + a^T M a / 24) + O(k^4), with v, a and b the
# velocity and its first two derivatives (Hairer, Lubich and Wanner, Geometric Numerical Integration, IX.8; forces of
# joints do no work). Bodies that turn at the rate W have |b| <= W^2 |v| and |a| <= W |v|: H changes by at most 5/12 of
# (W k)^2 times the kinetic energy (1/6 with either sign, and 1/12), by 1/4 in a harmonic oscillator. On sliders that
# turn at W, Coriolis forces double both bounds, |b| <= 2 W^2 |v| and |a| <= 2 W |v|: 1/3 with either sign, and 1/3.
# However fast mechanisms move, their energy may not rise by more than LARGEST_JOINTED_RISE.
OSCILLATION, LARGEST_JOINTED_RISE = 1.0, 1e-3
TOWER_ENERGY = 1e-3  # relative; the position-based steps of towers keep energy to the square of the time step


@dataclass(frozen=True)
class Check:
    """A condition `value <= bound`. `passed` is None if nothing is required, for the reason given in `note`."""

    name: str
    value: float | None
    bound: float | None
    passed: bool | None
    note: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def check_run(run: Trajectory, bounds: Mapping[str, float] | None = None) -> list[Check]:
    """All checks of a run. `bounds` replaces bounds of BOUNDS by name."""
    given = dict(bounds or {})
    whole = all_bounds(given)
    return [
        _energy(run, whole["energy"] if "energy" in given else _energy_bound(run)),
        _drift("momentum", momentum_drift(run), whole["momentum"]),
        _drift("angular momentum", angular_momentum_drift(run), whole["momentum"]),
        _overlap(run, whole["overlap"], "overlap" in given),
        _symmetry(run, whole["symmetry"], "symmetry" in given),
        _outcomes(run),
        _residual(run),
        _events(run),
        *([_joints(run, whole["joints"])] if run.world.joints is not None else []),
    ]


def all_bounds(given: Mapping[str, float]) -> dict[str, float]:
    """BOUNDS with some of them replaced."""
    for name, bound in given.items():
        if name not in BOUNDS:
            raise ProblemError.unknown("bound", name, BOUNDS)
        if not (np.isfinite(bound) and bound >= 0.0):
            raise ProblemError(f"bound of {name}", bound, "a finite number from 0 up")
    return {**BOUNDS, **given}


def _is_tower(run: Trajectory) -> bool:
    return run.settings.stepper.startswith("tower_")


def _energy_bound(run: Trajectory) -> float:
    if _is_tower(run):
        return TOWER_ENERGY
    rests = run.settings.stepper == "substepped" and bool(run.world.gravity.any())
    if run.world.joints is not None:
        step = run.settings.step
        return max(BOUNDS["energy"], *(jointed_energy_bound(run.world, state, step) for state in run.frames()))
    bound = PUSHED_OUT if rests else BOUNDS["energy"]
    if run.changes and run.events is not None:  # their energies are recorded in single precision
        bound += RECORDED_ENERGY * float(np.abs(run.events.changes["energy"]).sum()) / energy_scale(run)
    return bound


def jointed_energy_bound(world: World, state: State, step: float) -> float:
    """The share of its energy by which that of a jointed world may oscillate in steps of this length at a state."""
    angle = min(step / JOINT_PARTS * fastest_rate(world, state), 1.0)  # beyond 1 the largest rise holds anyway
    return min(OSCILLATION * angle**2, LARGEST_JOINTED_RISE)


def energy_rule(run: Trajectory) -> tuple[str, str]:
    """The requirement on the energy of a run (`kept`, `never rises` or `free`) and its reason."""
    world = run.world
    driven = _driven(run, world)
    if driven:
        return FREE, driven
    stopped = int((run.steps["status"] > 0).sum())
    why = (
        ("restitution below 1", bool((used_restitutions(world) < 1.0).any())),
        ("friction", not world.frictionless),
        ("drag", world.force is not None),
        ("dampers, ropes or limits", world.joints is not None and world.joints.dissipates),
        (
            "resting contact is inelastic",
            run.settings.stepper in ("drift_safe", "substepped") and bool(world.gravity.any()),
        ),
        (f"{stopped:,} steps finished inelastically", stopped > 0),
    )
    reasons = [text for text, holds in why if holds]
    return (NEVER_RISES, ", ".join(reasons)) if reasons else (KEPT, "everything is elastic")


def _driven(run: Trajectory, world: World) -> str:
    if run.changes and run.events is None:
        return "bodies appear and vanish, and the run did not record with which energy"
    if python_force(run):
        return "a force in Python may do work"
    if world.joints is not None and world.joints.adds_energy:
        return "motors do work"
    if moving(world) or world.motions:
        return "moving boundaries or bodies do work"
    if world.periodic is not None and world.periodic.shear_rate:
        return "sheared sides do work"
    return ""


def _energy(run: Trajectory, bound: float) -> Check:
    rule, why = energy_rule(run)
    if rule == FREE:
        return Check("energy", float(np.abs(energy_drift(run)).max()), None, None, why)
    if rule == KEPT:
        value = float(np.abs(energy_drift(run)).max())
        return Check("energy", value, bound, value <= bound, "must be kept: " + why + _unclaimed(run, "KIN"))
    value = float(energy_rise(run).max())
    return Check("energy", value, bound, value <= bound, "must not rise: " + why)


def _drift(name: str, drift: Drift, bound: float) -> Check:
    if not drift.conserved:
        return Check(name, None, None, None, f"not conserved here: {drift.why}")
    value = float(drift.value.max())
    return Check(name, value, bound, value <= bound, drift.why)


def _overlap(run: Trajectory, bound: float, asked: bool) -> Check:
    """Largest overlap in all frames, computed again, and in the step table; in units of the length scale."""
    scale, in_frames = run.world.length_scale, overlap(run)
    value = max(float(in_frames.max()), float(run.steps["overlap"].max(initial=0.0)) / scale)
    note = f"in units of {scale:g}, the smallest radius or half width"
    if value > bound and not asked:
        speed = fastest(run)
        if run.settings.stepper == "time_of_impact" and run.steps["resting"].any() and not _is_still(run, speed):
            return _overlap_of_pairs(run, "held bodies move straight where their contacts curve")
        if run.settings.stepper == "substepped":
            return _overlap_of_pairs(run, "sub-steps keep overlap below the bound of containment")
        more, why = _overlap_in_motion(run, scale, speed)
        if more > bound and _is_still(run, speed) and in_frames[-1] > bound:
            return Check("overlap", float(in_frames[-1]), bound, False, f"{note}, at rest at the end")
        if more > bound:
            bound, note = more, f"{note}; {why}"
    return Check("overlap", value, bound, value <= bound, note)


def _is_still(run: Trajectory, speed: Floats) -> bool:
    """Whether the run ends at rest: then nothing is faster than what falls for two steps."""
    return float(speed[-1]) <= 2.0 * run.settings.step * float(np.linalg.norm(run.world.gravity))


def _overlap_of_pairs(run: Trajectory, reason: str) -> Check:
    """The bound of steps that are divided until no pair overlaps by more than a share of its own half width.

    These are sub-stepped steps, whose contacts are soft, and those from impact to impact with bodies that are held in
    motion: they move straight where their contacts curve, or rotate along with a drum. Where the work of a step does
    not suffice, or shorter steps do not help, its status is `not_converged`. The table of steps has lengths alone,
    which are compared with the thickest free body.
    """
    thickest = float(run.world.shapes.inner[run.world.free].max(initial=0.0)) or run.world.length_scale
    value = max(float(overlap_shares(run).max()), float(run.steps["overlap"].max()) / thickest)
    why = f"of the half width of the thinner body of a pair; {reason}"
    return Check("overlap", value, LARGEST_OVERLAP, value <= LARGEST_OVERLAP, why)


def _overlap_in_motion(run: Trajectory, scale: float, speed: Floats) -> tuple[float, str]:
    """The bound of overlap for the speeds of the fastest bodies per frame, and its reason."""
    synchronous = run.settings.stepper == "synchronous"
    top = float((fastest(run, rotating=True) if synchronous else speed).max())
    way = 2.0 * run.settings.step * top / scale
    if synchronous:
        return way, "a synchronous step may overshoot by its own length, twice the fastest speed times the step"
    if run.settings.stepper == "drift_safe":
        why = "in motion a percent of the smallest thickness, or a tenth of the way of a step, at most a tenth of it"
        return max(min(way, PILE), min(MOVING_SHARE * way, MOVING_OVERLAP)), why
    return 0.0, ""


def _symmetry(run: Trajectory, bound: float, asked: bool) -> Check:
    if not run.scene.symmetries:
        return Check("symmetry", None, None, None, "the scene has no registered symmetry")
    if has_changed(run):
        return Check("symmetry", None, None, None, "bodies appear and vanish")
    error = symmetry_error(run)
    names = ", ".join(str(s.name) for s in run.scene.symmetries)
    note = f"{names}; in radii" + _unclaimed(run, "SYM")
    first = int(np.argmax(error > bound)) if (error > bound).any() else len(error)
    if not asked and 0 < first < len(error) and error[first - 1] >= GRADUAL * bound:
        note += f"; up to time {run.time[first - 1]:g}, when chaotic motion had amplified rounding errors"
        error = error[:first]
    value = float(error.max())
    return Check("symmetry", value, bound, value <= bound, note)


def _outcomes(run: Trajectory) -> Check:
    value = int((run.steps["status"] >= STATUSES.index(INFEASIBLE)).sum())
    return Check("impacts", float(value), 0.0, value == 0, "steps that left bodies approaching or overlapping")


def _residual(run: Trajectory) -> Check:
    """The largest residual of a step against the tolerance of the run."""
    value, bound, missed = float(run.steps["residual"].max(initial=0.0)), run.tolerance, run.missed_steps
    if bound is None:
        return Check("residual", value, None, None, "towers have bounds of their own")
    if run.settings.stepper == "substepped":
        return Check("residual", value, None, None, "sub-steps are not solved to a tolerance")
    if not len(missed):
        return Check("residual", value, bound, True, "no step missed the tolerance of the run")
    row = run.steps[run.steps["step"] == missed[0]][0]
    count = f"{len(missed):,} of {run.last.step:,} steps missed the tolerance of the run"
    first = f"the first is step {missed[0]:,} at time {row['time']:g} with residual {row['residual']:.1e}"
    return Check("residual", value, bound, False, f"{count}; {first}")


def _events(run: Trajectory) -> Check:
    """The momentum of every body that events and gravity do not explain, relative to the largest impulse."""
    why = unexplained_reason(run)
    if why:
        return Check("events", None, None, None, why)
    value, events, rest = unexplained_momentum(run), run.events, run.unlisted_events
    assert events is not None
    assert rest is not None
    note = f"momentum of every body against {len(events):,} events and gravity, of the largest impulse"
    if rest.total:
        note += f"; {rest.total:,} more events are not listed but summed"
    return Check("events", value, EXPLAINED, value <= EXPLAINED, note)


def _joints(run: Trajectory, bound: float) -> Check:
    """The largest error of a joint in all frames, in units of the length scale."""
    errors = joint_errors(run)
    value, label = float(errors.max()), f"in units of {run.world.length_scale:g}, the smallest radius or half width"
    return Check("joints", value, bound, value <= bound, label)


def _unclaimed(run: Trajectory, mark: str) -> str:
    """A note if the law does not claim the desideratum, which is required of the run nevertheless."""
    known = dict(laws.every()).get(run.law)
    return "" if known is None or mark in known.claims else f" (law {run.law} does not claim {mark})"

"""One step of a collapse: the position loop (Fig. 7 and section 7 of the paper) and the acceleration loop (Fig. 6).

Position loop: every point continues as in the last step, plus g step^2; of all positions that satisfy the constraints
the nearest one is taken. The constraints are linear, with the normals of the start of the step. The paper solves one
quadratic program per step; a brick that rotates by theta then grows by theta^2 / 2. Here the right-hand sides are
corrected and the program is solved again, until bars have their length and gaps are the true gaps at the end of the
step. Forces still act along the normals of the start, as in the SHAKE method, so that a brick in free flight rotates
uniformly. Then contacts are detected at the new positions. New ones are added to the program, and a step whose
corrections do not converge, as for a small brick that is thrown about, is divided into two halves.

Acceleration loop: accelerations follow from Gauss' principle, then v += a step and p += v step. As printed, it
constrains second derivatives of contacts that touch and do not separate, and errors accumulate: bricks sink into each
other and grow. `feedback` adds the errors of gap and speed, divided by step^2 and step. By theorem 5.1 this is the
position loop with (L') and (S').
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints
from .framework import FrameworkCoordinates
from .near_contacts import edge_geometry, fixed_gaps, near_contacts, turning

if TYPE_CHECKING:
    from .loop import Loop

# In shortest sides: error of lengths and gaps at the end of a step. 1e-9 saves 5 % of the time and leaves 1e-7.
CONVERGED = 1e-12
ROUNDINGS = 4.0  # errors up to this many times the accuracy of gaps are rounding errors
NEXT_PASS = 1e-2  # relative to the last correction: error of a program that a later pass corrects
FAILED = 1e-8  # in shortest sides: a larger error after the last pass divides the step
MISSED_OVERLAP = 1e-5  # in shortest sides: a deeper overlap at the end of a step is a contact that was missed
DETECTIONS, HALVINGS = 3, 6  # largest number of detections per step, and of successive divisions
TOUCHING = 1e-4  # in shortest sides: gaps that count as contact in the loop without feedback


class Attempt(NamedTuple):
    """A motion with its stretch, the multipliers, and the remaining error as a length."""

    motion: Floats
    stretch: Floats
    y: Floats
    error: float


# ---- position loop


def position_step(loop: Loop) -> None:
    """Takes one step of the position loop, divided if necessary."""
    _part(loop, loop.fall, 0)


def _part(loop: Loop, fall: Floats, depth: int) -> None:
    """A step, or a part of one; `fall` = g step^2 with the length of the part."""
    exact, coordinates = loop.options.passes > 1, loop.coordinates
    found = _attempt(loop, fall)
    if depth == HALVINGS and np.isinf(found.error):
        got = f"bricks that overlap although a step was divided {HALVINGS} times"
        raise ProblemError(
            loop.tower.name, got, "pins and contacts that do not contradict each other, or smaller steps"
        )
    if not exact or found.error <= FAILED * loop.tower.size or depth == HALVINGS:
        motion = loop.resting(found.motion) if exact else found.motion
        loop.record(motion, found.y)
        coordinates.advance(motion, found.stretch, exact)
        return
    coordinates.halve(fall)
    loop.rescale(0.5)
    _part(loop, fall / 4.0, depth + 1)
    _part(loop, fall / 4.0, depth + 1)
    coordinates.double(fall)
    loop.rescale(2.0)


def _attempt(loop: Loop, fall: Floats) -> Attempt:
    """Solves the step, and again with the contacts that the first detection missed."""
    o, coordinates = loop.options, loop.coordinates
    free = coordinates.free_motion(fall)
    loop.scale = float(np.abs(free).max(initial=0.0))
    exact = o.passes > 1
    stretch = coordinates.stretch("original" if o.lengths == "penalty" else o.lengths)
    if exact:
        stretch = coordinates.stretch("original", coordinates.turn_part(free if loop.motion is None else loop.motion))
    loop.detect(coordinates.moved(free, stretch))
    for number in range(1, DETECTIONS + 1):
        found = _passes(loop, free, stretch)
        if not exact:
            return found
        missed = _missed(loop, coordinates.moved(found.motion, found.stretch))
        if not len(missed):
            return found
        if number < DETECTIONS:  # else the contacts stay those of the multipliers that were found
            y = loop.y
            loop.set_contacts(np.concatenate([loop.near, missed]), coordinates.corners())
            loop.y = np.concatenate([y, np.zeros(len(missed))])
    return found._replace(error=np.inf)


def _passes(loop: Loop, free: Floats, stretch: Floats) -> Attempt:
    """Solves the program and corrects its right-hand sides until the constraints hold at the end of the step."""
    o, coordinates = loop.options, loop.coordinates
    exact = o.passes > 1
    program, scale = loop.program(), coordinates.inverse_sqrt_mass()
    x_free, wanted = whitened(free, scale), _first_sides(loop, exact, stretch)
    start, loose, error = loop.warm_start(), NEXT_PASS * loop.first_error, 0.0
    for number in range(1, o.passes + 1):
        base = fixed_gaps(loop.near, loop.normal, loop.along, coordinates.moved(np.zeros_like(free), stretch))
        bound = np.concatenate([wanted - base, coordinates.equation_bounds(stretch)])
        x, y = loop.solve(program, x_free, bound, start, loose)
        motion = loop.symmetric(x * scale)
        loop.report.passes = number
        if not exact:
            break
        stretch, wanted, error = _correct(loop, motion, stretch)
        start = y
        if number == 1:
            loop.first_error = error  # the estimate for the first pass of the next step; 0 at rest
        if error <= max(CONVERGED * loop.tower.size, ROUNDINGS * loop.rounding):
            break
        loose = NEXT_PASS * error
    return Attempt(motion, stretch, y, error)


def _first_sides(loop: Loop, exact: bool, stretch: Floats) -> Floats:
    """Right-hand sides of the first program: 0, the turning term of (S'), or an estimate from the last motion."""
    corners = loop.coordinates.corners()
    if loop.options.sides == "turning" and not exact:
        return np.asarray(turning(loop.near, corners, corners - loop.coordinates.last_corners()))
    if exact and loop.motion is not None:
        moved = loop.coordinates.moved(loop.motion, stretch)
        return np.asarray(fixed_gaps(loop.near, loop.normal, loop.along, moved) - edge_geometry(loop.near, moved)[2])
    return np.zeros(len(loop.near))


def _correct(loop: Loop, motion: Floats, stretch: Floats) -> tuple[Floats, Floats, float]:
    """Stretch and right-hand sides of the next pass, and the error of this one as a length."""
    coordinates = loop.coordinates
    better = coordinates.stretch("original", coordinates.turn_part(motion))
    off, moved = coordinates.moved(motion, stretch), coordinates.moved(motion, better)
    gaps = edge_geometry(loop.near, moved)[2]
    wanted = fixed_gaps(loop.near, loop.normal, loop.along, moved) - gaps
    # A contact is closed or has no force: the violation of this complementarity as a length.
    both = np.minimum(gaps, loop.y[: len(gaps)] * loop.diagonal[: len(gaps)])
    error = float(np.abs(both).max(initial=0.0))
    if isinstance(coordinates, FrameworkCoordinates):
        error = max(error, float(np.abs(better - stretch).max(initial=0.0)) / loop.tower.size)
    return better, wanted, max(error, float(np.abs(moved - off).max(initial=0.0)))


def _missed(loop: Loop, moved: Floats) -> Ints:
    """Contacts of bricks that overlap at the corners `moved` and that the program does not contain."""
    found = near_contacts(loop.layout, moved, moved, np.zeros(loop.tower.count), False)
    found = found[edge_geometry(found, moved)[2] < -MISSED_OVERLAP * loop.tower.size]
    known = set(zip(loop.near[:, 1].tolist(), loop.near[:, 3].tolist()))
    new = [(vertex, start) not in known for vertex, start in found[:, [1, 3]].tolist()]
    return found[np.array(new, dtype=bool)]


# ---- acceleration loop


def acceleration_step(loop: Loop) -> None:
    """Takes one step of the acceleration loop."""
    o, coordinates, step = loop.options, loop.coordinates, loop.options.step
    free = coordinates.free_motion(loop.fall)
    loop.scale = float(np.abs(free).max(initial=0.0))
    loop.detect(coordinates.moved(free, coordinates.stretch("previous")))
    corners, speed = coordinates.corners(), coordinates.corner_velocity(step)
    if not o.feedback:
        _select_touching(loop, corners, speed)
        speed = coordinates.corner_velocity(step)
    scale = coordinates.inverse_sqrt_mass()
    inward = coordinates.centripetal(step, o.feedback)
    rest = coordinates.acceleration_at_rest(inward)
    bound = turning(loop.near, corners, speed) - fixed_gaps(loop.near, loop.normal, loop.along, rest)
    if o.feedback:
        bound -= fixed_gaps(loop.near, loop.normal, loop.along, speed) / step
        bound -= fixed_gaps(loop.near, loop.normal, loop.along, corners) / step**2
    bound = np.concatenate([bound, coordinates.acceleration_equations(inward, step, o.feedback)])
    gravity = np.zeros_like(free)
    gravity[:, 1] = loop.fall[1] / step**2
    gravity *= (scale > 0.0) if coordinates.block == 2 else (scale[:, :1] > 0.0)
    x, y = loop.solve(loop.program(), whitened(gravity, scale), bound, loop.warm_start() / step**2)
    loop.report.passes = 1
    motion, stretch = coordinates.accelerated(loop.symmetric(x * scale), inward, step)
    loop.record(motion, y * step**2)
    coordinates.advance(motion, stretch, False)


def _select_touching(loop: Loop, corners: Floats, speed: Floats) -> None:
    """Selects the contacts that touch and do not separate; an inelastic impact stops the approaching ones first."""
    o, coordinates = loop.options, loop.coordinates
    gap = edge_geometry(loop.near, corners)[2]
    loop.select(gap <= TOUCHING * loop.tower.size)
    rate = fixed_gaps(loop.near, loop.normal, loop.along, speed)
    still = 1e-9 * (float(np.abs(speed).max(initial=0.0)) + loop.tower.gravity * o.step)
    if (rate < -still).any():
        _stop(loop)
        rate = fixed_gaps(loop.near, loop.normal, loop.along, coordinates.corner_velocity(o.step))
    loop.select(rate <= still + loop.tower.gravity * o.step * 1e-6)


def _stop(loop: Loop) -> None:
    """The inelastic impact (Q*): of the velocities that satisfy (L1) and (S1), those nearest to the present ones."""
    coordinates = loop.coordinates
    scale = coordinates.inverse_sqrt_mass()
    motion = coordinates.free_motion(np.zeros(2))
    bound = np.zeros(len(loop.near) + coordinates.equations)
    x, _ = loop.solve(loop.program(), whitened(motion, scale), bound, None)
    coordinates.come_from(loop.symmetric(x * scale))


def whitened(value: Floats, scale: Floats) -> Floats:
    """Value over the inverse square root of the mass; 0 for what is fixed."""
    return np.where(scale > 0.0, value / np.where(scale > 0.0, scale, 1.0), 0.0)

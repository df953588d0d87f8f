"""The position loop (Fig. 7 of the paper), made exact.

Every point goes on as in the last step, plus g step^2; of all positions that the constraints allow, the nearest one is
taken. The constraints are linear, with the normals of the start of the step. The paper solves one quadratic program a
step; a brick that turns by theta then grows by theta^2 / 2. Here the right-hand sides are corrected and the program
solved again, until bars have their length and gaps are true gaps at the end of the step. Forces still act along the
directions of the start, as in the SHAKE method, so a brick in free flight turns evenly.

Then bricks are looked at where they have come to. Contacts that the start did not show join in, and a step whose
corrections do not settle, because a small brick was thrown about, is taken in two halves.

The acceleration loop (Fig. 6 of the paper): accelerations by Gauss' principle, then v += a step and p += v step.

As printed, it enforces second derivatives on contacts that touch and do not separate, and errors pile up: bricks sink
into each other and grow. `feedback` adds what gap and speed have gone wrong by, over step^2 and step; it is then the
position loop with (L') and (S'), theorem 5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..solvers.rows import Floats, Ints
from .framework import Pointwise
from .near_contacts import fixed_gaps, near_contacts, true_gaps, turning

if TYPE_CHECKING:
    from .loop import Loop

CONVERGED = 1e-9  # of the smallest brick: lengths and gaps at the end of a step
NEXT_PASS = 1e-2  # of the last correction: what a pass may leave to the next
FAILED = 1e-5  # of the smallest brick: violations after the last pass that make the step be halved
LOOKS, HALVINGS = 3, 6


class Attempt(NamedTuple):
    """A motion, the stretch that goes with it, the forces, and what is still wrong."""

    motion: Floats
    stretch: Floats
    y: Floats
    error: float


def position_step(loop: Loop) -> None:
    """One step, in as many parts as it takes."""
    _part(loop, loop.fall, 0)


def _part(loop: Loop, fall: Floats, depth: int) -> None:
    exact, place = loop.options.passes > 1, loop.place
    found = _attempt(loop, fall)
    if not exact or found.error <= FAILED * loop.tower.size or depth == HALVINGS:
        motion = loop.resting(found.motion) if exact else found.motion
        loop.keep(motion, found.y)
        place.advance(motion, found.stretch, exact)
        return
    place.halve(fall)
    loop.rescale(0.5)
    _part(loop, fall / 4.0, depth + 1)
    _part(loop, fall / 4.0, depth + 1)
    place.double(fall)
    loop.rescale(2.0)


def _attempt(loop: Loop, fall: Floats) -> Attempt:
    o, place = loop.options, loop.place
    free = place.free_motion(fall)
    loop.scale = float(np.abs(free).max(initial=0.0))
    exact = o.passes > 1
    stretch = place.stretch("original" if o.lengths == "penalty" else o.lengths)
    if exact:
        stretch = place.stretch("original", place.turn_part(free if loop.motion is None else loop.motion))
    loop.look(place.moved(free, stretch))
    for _ in range(LOOKS):
        found = _passes(loop, free, stretch)
        if not exact:
            return found
        missed = _missed(loop, place.moved(found.motion, found.stretch))
        if not len(missed):
            return found
        old, y = loop.near, loop.y
        loop.take(np.concatenate([old, missed]), place.corners())
        loop.y = np.concatenate([y, np.zeros(len(missed))])
    return found._replace(error=np.inf)


def _passes(loop: Loop, free: Floats, stretch: Floats) -> Attempt:
    o, place = loop.options, loop.place
    exact = o.passes > 1
    program, root = loop.program(), place.root()
    x_free, wanted = loop.whitened(free, root), _first_sides(loop, exact, stretch)
    start, loose, error = loop.warm(place.equations), NEXT_PASS * loop.first_error, 0.0
    for number in range(1, o.passes + 1):
        base = fixed_gaps(loop.near, loop.normal, loop.along, place.moved(np.zeros_like(free), stretch))
        bound = np.concatenate([wanted - base, place.equation_bounds(stretch)])
        x, y = loop.solve(program, x_free, bound, start, loose)
        motion = loop.even(x * root)
        loop.report.passes = number
        if not exact:
            break
        stretch, wanted, error = _correct(loop, motion, stretch)
        start = y
        if number == 1:
            loop.first_error = error  # about what the first pass of the next step will leave, too; 0 at rest
        if error <= CONVERGED * loop.tower.size:
            break
        loose = NEXT_PASS * error  # what a later pass will move anyway need not be exact
    return Attempt(motion, stretch, y, error)


def _first_sides(loop: Loop, exact: bool, stretch: Floats) -> Floats:
    """Right-hand sides of the first program: 0, the turning term of (S'), or a guess from the last motion."""
    corners = loop.place.corners()
    if loop.options.sides == "turning" and not exact:
        return np.asarray(turning(loop.near, corners, corners - loop.place.last_corners()))
    if exact and loop.motion is not None:
        moved = loop.place.moved(loop.motion, stretch)
        return np.asarray(fixed_gaps(loop.near, loop.normal, loop.along, moved) - true_gaps(loop.near, moved))
    return np.zeros(len(loop.near))


def _correct(loop: Loop, motion: Floats, stretch: Floats) -> tuple[Floats, Floats, float]:
    """Stretch and right-hand sides for the next pass, and how far this one is off."""
    place = loop.place
    better = place.stretch("original", place.turn_part(motion))
    off, moved = place.moved(motion, stretch), place.moved(motion, better)
    gaps = true_gaps(loop.near, moved)
    wanted = fixed_gaps(loop.near, loop.normal, loop.along, moved) - gaps
    # A contact is either closed or does not push: what is left of both, as lengths.
    both = np.minimum(gaps, loop.y[: len(gaps)] * loop.diagonal[: len(gaps)])
    error = float(np.abs(both).max(initial=0.0))
    if isinstance(place, Pointwise):
        error = max(error, float(np.abs(better - stretch).max(initial=0.0)) / loop.tower.size)
    return better, wanted, max(error, float(np.abs(moved - off).max(initial=0.0)))


def _missed(loop: Loop, moved: Floats) -> Ints:
    """Contacts of bricks that overlap where they have come to, and that the program did not know of."""
    limit = FAILED * loop.tower.size
    none = np.zeros(loop.tower.count)
    there = near_contacts(moved, moved, loop.ptr, loop.tower.free, none, loop.apart, loop.held, loop.tower.size, False)
    there = there[true_gaps(there, moved) < -limit]
    if not len(there):
        return there
    known = set(zip(loop.near[:, 1].tolist(), loop.near[:, 3].tolist()))
    new = [(int(row[1]), int(row[3])) not in known for row in there]
    return np.ascontiguousarray(there[np.array(new, dtype=bool)])


TOUCHING = 1e-4  # of the smallest brick: gaps that the plain loop takes for contact


def acceleration_step(loop: Loop) -> None:
    """One step."""
    o, place, step = loop.options, loop.place, loop.options.step
    free = place.free_motion(loop.fall)
    loop.scale = float(np.abs(free).max(initial=0.0))
    loop.look(place.moved(free, place.stretch("previous")))
    corners, speed = place.corners(), place.corner_velocity(step)
    if not o.feedback:
        _touching(loop, corners, speed)
        speed = place.corner_velocity(step)
    root = place.root()
    inward = place.centripetal(step, o.feedback)
    rest = place.acceleration_at_rest(inward)
    bound = turning(loop.near, corners, speed) - fixed_gaps(loop.near, loop.normal, loop.along, rest)
    if o.feedback:
        bound -= fixed_gaps(loop.near, loop.normal, loop.along, speed) / step
        bound -= fixed_gaps(loop.near, loop.normal, loop.along, corners) / step**2
    bound = np.concatenate([bound, place.acceleration_equations(inward, step, o.feedback)])
    gravity = np.zeros_like(free)
    gravity[:, 1] = loop.fall[1] / step**2
    gravity *= (root > 0.0) if place.block == 2 else (root[:, :1] > 0.0)
    x, y = loop.solve(loop.program(), loop.whitened(gravity, root), bound, loop.warm(place.equations) / step**2)
    loop.report.passes = 1
    motion, stretch = place.accelerated(loop.even(x * root), inward, step)
    loop.keep(motion, y * step**2)
    place.advance(motion, stretch, False)


def _touching(loop: Loop, corners: Floats, speed: Floats) -> None:
    """Keeps contacts that touch and do not separate; those that approach are first stopped, inelastically."""
    o, place = loop.options, loop.place
    gap = true_gaps(loop.near, corners)
    loop.select(gap <= TOUCHING * loop.tower.size)
    rate = fixed_gaps(loop.near, loop.normal, loop.along, speed)
    still = 1e-9 * (float(np.abs(speed).max(initial=0.0)) + loop.tower.gravity * o.step)
    if (rate < -still).any():
        _stop(loop)
        rate = fixed_gaps(loop.near, loop.normal, loop.along, place.corner_velocity(o.step))
    loop.select(rate <= still + loop.tower.gravity * o.step * 1e-6)


def _stop(loop: Loop) -> None:
    """The inelastic impact (Q*): the velocities nearest to those before that (L1) and (S1) allow."""
    place = loop.place
    root = place.root()
    motion = place.free_motion(np.zeros(2))
    bound = np.zeros(len(loop.near) + place.equations)
    x, _ = loop.solve(loop.program(), loop.whitened(motion, root), bound, None)
    place.come_from(x * root)

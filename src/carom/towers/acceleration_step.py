"""The acceleration loop (Fig. 6 of the paper): accelerations by Gauss' principle, then v += a step and p += v step.

As printed, it enforces second derivatives on contacts that touch and do not separate, and errors pile up: bricks sink
into each other and grow. `feedback` adds what gap and speed have gone wrong by, over step^2 and step; it is then the
position loop with (L') and (S'), theorem 5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..solvers.rows import Floats
from .geometry import fixed_gaps, true_gaps, turning

if TYPE_CHECKING:
    from .loop import Loop

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

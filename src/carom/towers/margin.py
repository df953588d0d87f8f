"""How far from falling: the largest load, the farthest shift, and the weakest spot of a tower."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ..errors import ProblemError
from ..solvers.rows import Floats
from .balance import TIGHT, System, decide, most_work
from .checks import exact_number, shown
from .motion import weights
from .stability import fastest_corner, stability, tower_system

if TYPE_CHECKING:
    from .tower import Tower

NONE = 1e-9  # of the unit of load: factors below count as zero
SURE = 1e6  # factors above, in units of load, are tested for having no limit


@dataclass(frozen=True, eq=False)
class Margin:
    """How far something may go before the tower falls.

    `value` is a factor of the load (kind "load"), a distance (kind "shift"), or a multiple of the brick's own weight
    (kind "weakest"); infinite if there is no limit. `forces` (m,) and `pin_forces` (p, 2) hold the tower at the limit,
    `motion` (n, 3) is how it gives way there.
    """

    kind: str
    value: float
    limit: str  # "falls", "hits" or "none"
    bricks: tuple[int, ...]
    point: tuple[float, float] | None = None  # where the load acts
    direction: tuple[float, float] = (0.0, -1.0)
    forces: Floats | None = None
    pin_forces: Floats | None = None
    motion: Floats | None = None
    hit: tuple[int, int] | None = None  # the moved brick and what it meets (-1: the ground)
    messages: tuple[str, ...] = ()

    def summary(self) -> str:
        """A few lines for people."""
        which = ", ".join(map(str, self.bricks))
        bricks = f"brick {which}" if len(self.bricks) == 1 else f"bricks {which}"
        where = "" if self.point is None else f" at ({self.point[0]:.6g}, {self.point[1]:.6g})"
        if self.kind == "weakest" and not self.bricks:
            line = "no weight on a single brick makes it fall"
        elif self.kind == "shift":
            way = f"along {self.direction[0]:.4g}, {self.direction[1]:.4g}"
            end = "it falls" if self.limit == "falls" else f"it meets {_met(self.hit)}"
            line = f"{bricks} may move {self.value:.9g} {way}, then {end}"
            if self.limit == "none":
                line = f"{bricks} may move without end {way}"
        elif self.kind == "weakest":
            line = f"weakest spot: {bricks}{where} carries {self.value:.9g} times its own weight more"
        elif self.limit == "none":
            line = f"the load on {bricks}{where} may grow without end"
        else:
            line = f"the load on {bricks}{where} may grow to {self.value:.9g} times what is given"
        return "\n".join((line, *self.messages))


def margin(
    tower: Tower,
    *,
    load: Sequence[Any] | None = None,
    shift: Any = None,
    direction: Sequence[float] = (1.0, 0.0),
) -> Margin:
    """How far a load or a shift may go before the tower falls; without either, its weakest spot.

    `load` is (brick, (fx, fy)) or (brick, (fx, fy), (x, y)): the largest factor of that force, at the brick's center
    or at the point, that the tower holds. `shift` is a brick, or a list of bricks, that move together along
    `direction` until the tower falls or they meet another brick. The weakest spot is the end of a brick where the
    least extra weight, as a multiple of the brick's own, makes the tower fall.
    """
    if load is not None and shift is not None:
        raise ProblemError("margin", "load and shift", "one of them")
    if shift is not None:
        from .shift import shift_margin

        return shift_margin(tower, shift, direction)
    if load is not None:
        return _load_margin(tower, load)
    return _weakest(tower)


def _load_margin(tower: Tower, load: Sequence[Any]) -> Margin:
    brick, force, point = _read_load(tower, load)
    start = Margin("load", 0.0, "falls", (brick,), point, force)
    found = stability(tower)
    if not found:
        return replace(start, motion=found.motion, messages=("it falls already, without the load",))
    system = tower_system(tower)
    acting = _load_vector(tower, brick, force, point)
    return _with_limit(tower, system, acting, start, _largest_factor(system, weights(tower), acting))


def _weakest(tower: Tower) -> Margin:
    """For each brick the weight at its left and its right end. In between it holds at least as much.

    The loads (s, s x) that a tower holds form a convex set, so 1/s, the gauge of that set at (1, x), is convex in x
    and has its maximum at an end.
    """
    if tower.gravity == 0.0:
        raise ProblemError("gravity", tower.gravity, "a number above 0: the weakest spot is in multiples of a weight")
    nothing = Margin("weakest", math.inf, "none", ())
    found = stability(tower)
    if not found:
        still = Margin("weakest", 0.0, "falls", (_first_to_go(found.motion),), motion=found.motion)
        return replace(still, messages=("it falls already, without a load",))
    system, own = tower_system(tower), weights(tower)
    best, acting = nothing, np.zeros(system.size)
    for brick in np.flatnonzero(tower.free).tolist():
        force = (0.0, -tower.gravity * float(tower.mass[brick]))
        for point in _ends(tower.corners[brick]):
            load = _load_vector(tower, brick, force, point)
            factor = _largest_factor(system, own, load)
            if factor < best.value * (1.0 - 1e-9):
                best, acting = Margin("weakest", factor, "falls", (brick,), point), load
    return _with_limit(tower, system, acting, best, best.value) if best.bricks else nothing


def _largest_factor(system: System, own: Floats, acting: Floats) -> float:
    """max s with J^T f + P^T q + own + s acting = 0, f >= 0, for a tower that stands."""
    w, extra = system.reduced(own), system.reduced(acting)
    unit = float(np.abs(extra).max(initial=0.0))
    if unit == 0.0:
        return math.inf  # on a fixed brick
    base = float(np.abs(w).max(initial=0.0)) or unit
    m, p = system.contacts.shape[0], system.pins.shape[0]
    columns = [system.contacts.T, system.pins.T, sparse.csr_array((extra / unit)[:, None])]
    answer = linprog(
        np.append(np.zeros(m + p), -1.0),
        A_eq=sparse.hstack(columns, format="csr"),
        b_eq=-w / base,
        bounds=[(0.0, None)] * m + [(None, None)] * p + [(0.0, None)],
        method="highs",
        options=TIGHT,
    )
    if answer.status == 2:  # the tower stands at the very limit, and rounding tips the balance
        return 0.0
    factor = math.inf if answer.x is None else float(answer.x[-1])
    if factor > SURE and most_work(system, extra / unit)[0] <= NONE:
        return math.inf  # the contacts hold the load without any weights
    return 0.0 if factor <= NONE else factor * base / unit


def _with_limit(tower: Tower, system: System, acting: Floats, found: Margin, factor: float) -> Margin:
    """Adds the forces at the limit, and the motion by which it gives way beyond."""
    if math.isinf(factor):
        return replace(found, value=math.inf, limit="none")
    own = weights(tower)
    at_limit = decide(system, own + factor * acting)
    size = float(np.abs(own).max(initial=0.0)) / max(float(np.abs(acting).max()), 1e-300)
    beyond = decide(system, own + (factor * 1.001 + 1e-3 * size) * acting)
    motion = beyond.motion.reshape(-1, 3)
    fastest = fastest_corner(tower, motion)
    return replace(
        found,
        value=factor,
        limit="falls",
        forces=at_limit.forces,
        pin_forces=at_limit.pin_forces.reshape(-1, 2),
        motion=motion / fastest if fastest > 0.0 else None,
    )


def _read_load(tower: Tower, load: Sequence[Any]) -> tuple[int, tuple[float, float], tuple[float, float]]:
    try:
        brick, force, *rest = load
        given = len(rest)
    except (TypeError, ValueError):
        given = 2
    if given > 1:
        raise ProblemError("load", shown(load), "(brick, (fx, fy)) or (brick, (fx, fy), (x, y))")
    number = tower.brick_number(brick)
    pushed = vector("load force", force)
    if pushed == (0.0, 0.0):
        raise ProblemError("load force", force, "a force other than zero")
    x, y = tower.center[number].tolist()
    return number, pushed, vector("load point", rest[0]) if rest else (x, y)


def vector(field: str, value: Any) -> tuple[float, float]:
    """Two finite numbers."""
    try:
        x, y = (float(exact_number(field, part)) for part in value)
    except (TypeError, ValueError):
        raise ProblemError(field, shown(value), "two finite numbers (x, y), at most 1e50 in size") from None
    return x, y


def _load_vector(tower: Tower, brick: int, force: tuple[float, float], point: tuple[float, float]) -> Floats:
    """(3n,) the force and its torque about the brick's center."""
    arm = np.asarray(point) - tower.center[brick]
    out = np.zeros((tower.count, 3))
    out[brick] = force[0], force[1], arm[0] * force[1] - arm[1] * force[0]
    return out.ravel()


def _ends(corners: Floats) -> list[tuple[float, float]]:
    """The upper ones of the leftmost and of the rightmost corners."""
    close = 1e-9 * float(np.ptp(corners[:, 0]))
    out = []
    for end in (corners[:, 0].min(), corners[:, 0].max()):
        there = corners[np.abs(corners[:, 0] - end) <= close]
        x, y = there[np.argmax(there[:, 1])]
        out.append((float(x), float(y)))
    return out


def _first_to_go(motion: Floats | None) -> int:
    return 0 if motion is None else int(np.argmin(motion[:, 1]))


def _met(hit: tuple[int, int] | None) -> str:
    if hit is None:
        return "something"
    return "the ground" if hit[1] < 0 else f"brick {hit[1]}"

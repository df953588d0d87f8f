"""Stability margins: the largest load, the largest shift of bricks, and the weakest spot of a tower.

A shift is examined along its path, because contacts change on the way; it ends where the tower falls or where a shifted
brick meets another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ..checks import exact_number, shown
from ..errors import ProblemError
from ..solvers.rows import Floats
from .balance import TIGHT, System, decide, most_work
from .contacts import CONTACT_TOLERANCE, GROUND, weights
from .stability import Stability, fastest_corner, stability, tower_system

if TYPE_CHECKING:
    from .tower import Tower

NO_LOAD = 1e-9  # in units of load: smaller factors count as zero
LOOK = 0.125  # in shortest sides: steps in which the path of a shift is examined
FINE = 1e-10  # in shortest sides: accuracy of the distance at which the tower falls
NO_SHIFT = 1e-9  # in shortest sides: smaller distances count as zero
ALONG = 1e-12  # smaller rates of approach: the bricks slide along each other
SURE = 1e6  # in units of load: for larger factors it is tested whether there is a limit


@dataclass(frozen=True, eq=False)
class Margin:
    """How far a load or a shift can grow before the tower falls.

    `value` is a factor of the load (kind "load"), a distance (kind "shift"), or a multiple of the brick's own weight
    (kind "weakest"); it is infinite without a limit. `forces` (m,) and `pin_forces` (p, 2) support the tower at the
    limit, `motion` (n, 3) is the motion by which it falls beyond.
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
    hit: tuple[int, int] | None = None  # the shifted brick and the one that it meets (-1: the ground)
    messages: tuple[str, ...] = ()

    def summary(self) -> str:
        """A description of a few lines."""
        which = ", ".join(map(str, self.bricks))
        bricks = f"brick {which}" if len(self.bricks) == 1 else f"bricks {which}"
        where = "" if self.point is None else f" at ({self.point[0]:.6g}, {self.point[1]:.6g})"
        if self.kind == "weakest" and not self.bricks:
            line = "no additional weight on a single brick makes it fall"
        elif self.kind == "shift":
            way = f"along {self.direction[0]:.4g}, {self.direction[1]:.4g}"
            end = "it falls" if self.limit == "falls" else f"it meets {_met(self.hit)}"
            line = f"{bricks} can move {self.value:.9g} {way}, then {end}"
            if self.limit == "none":
                line = f"{bricks} can move without limit {way}"
        elif self.kind == "weakest":
            line = f"weakest spot: {bricks}{where} supports an additional {self.value:.9g} times its own weight"
        elif self.limit == "none":
            line = f"the load on {bricks}{where} can grow without limit"
        else:
            line = f"the load on {bricks}{where} can grow to {self.value:.9g} times the given one"
        return "\n".join((line, *self.messages))


def margin(
    tower: Tower,
    *,
    load: Sequence[Any] | None = None,
    shift: Any = None,
    direction: Sequence[float] = (1.0, 0.0),
) -> Margin:
    """How far a load or a shift can grow before the tower falls; without either, the weakest spot.

    `load` is (brick, (fx, fy)) or (brick, (fx, fy), (x, y)): the result is the largest factor of that force, applied at
    the brick's center of mass or at (x, y), that the tower supports. `shift` is a brick or a list of bricks that move
    together along `direction` until the tower falls or they meet another brick. The weakest spot is the end of a brick
    where the least additional weight, as a multiple of the brick's own, makes the tower fall.
    """
    if load is not None and shift is not None:
        raise ProblemError("margin", "load and shift", "one of the two")
    if shift is not None:
        return shift_margin(tower, shift, direction)
    if load is not None:
        return _load_margin(tower, load)
    return _weakest(tower)


def _load_margin(tower: Tower, load: Sequence[Any]) -> Margin:
    brick, force, point = _read_load(tower, load)
    start = Margin("load", 0.0, "falls", (brick,), point, force)
    found = stability(tower)
    if not found:
        return replace(start, motion=found.motion, messages=("the tower falls without the load",))
    system = tower_system(tower)
    acting = _load_vector(tower, brick, force, point)
    return _with_limit(tower, system, acting, start, _largest_factor(system, weights(tower), acting))


def _weakest(tower: Tower) -> Margin:
    """Examines a weight at the left and right end of each brick. In between, the brick supports at least as much.

    The supported loads (s, s x) form a convex set, so 1/s, the gauge of that set at (1, x), is convex in x and has its
    maximum at an end.
    """
    if tower.gravity == 0.0:
        raise ProblemError("gravity", tower.gravity, "a number above 0: the weakest spot is measured in weights")
    nothing = Margin("weakest", math.inf, "none", ())
    found = stability(tower)
    if not found:
        still = Margin("weakest", 0.0, "falls", (_first_to_go(found.motion),), motion=found.motion)
        return replace(still, messages=("the tower falls without a load",))
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
    """max s with J^T f + P^T q + own + s acting = 0, f >= 0, for a stable tower."""
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
    if answer.status == 2:  # limiting equilibrium, which rounding makes infeasible
        return 0.0
    factor = math.inf if answer.x is None else float(answer.x[-1])
    if factor > SURE and most_work(system, extra / unit)[0] <= NO_LOAD:
        return math.inf  # the contacts support the load without any weights
    return 0.0 if factor <= NO_LOAD else factor * base / unit


def _with_limit(tower: Tower, system: System, acting: Floats, found: Margin, factor: float) -> Margin:
    """Adds the forces at the limit, and the motion by which the tower falls beyond it."""
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
    """(3n,) the force and its torque about the brick's center of mass."""
    arm = np.asarray(point) - tower.center[brick]
    out = np.zeros((tower.count, 3))
    out[brick] = force[0], force[1], arm[0] * force[1] - arm[1] * force[0]
    return out.ravel()


def _ends(corners: Floats) -> list[tuple[float, float]]:
    """The upper one of the leftmost corners and of the rightmost corners."""
    close = 1e-9 * float(np.ptp(corners[:, 0]))
    out = []
    for end in (corners[:, 0].min(), corners[:, 0].max()):
        there = corners[np.abs(corners[:, 0] - end) <= close]
        x, y = there[np.argmax(there[:, 1])]
        out.append((float(x), float(y)))
    return out


def _first_to_go(motion: Floats | None) -> int:
    """The brick that moves down fastest."""
    return 0 if motion is None else int(np.argmin(motion[:, 1]))


def _met(hit: tuple[int, int] | None) -> str:
    if hit is None:
        return "something"
    return "the ground" if hit[1] < 0 else f"brick {hit[1]}"


@dataclass(frozen=True)
class _Meeting:
    distance: float
    bricks: tuple[int, int] | None


def shift_margin(tower: Tower, shift: Any, direction: Any) -> Margin:
    """Shifts the bricks along `direction` and examines stability along the path.

    The path is sampled in steps of an eighth of the shortest side, so that an instability within one step is missed.
    The first instability is located by bisection.
    """
    bricks = _moved_bricks(tower, shift)
    way = _unit(direction)
    start = Margin("shift", 0.0, "falls", bricks, None, way)
    standing = stability(tower)
    if not standing:
        return replace(start, motion=standing.motion, messages=("the tower falls before the shift",))
    meeting = _first_meeting(tower, bricks, way)
    clear = _clear_of_all(tower, bricks, way)
    good, bad, fall = _bracket(tower, bricks, way, min(meeting.distance, clear))
    if bad is None:
        return _met_or_free(tower, start, meeting)
    while bad - good > FINE * tower.size:
        middle = 0.5 * (good + bad)
        answer = _after(tower, bricks, way, middle)
        if answer:
            good = middle
        else:
            bad, fall = middle, answer
    if good <= NO_SHIFT * tower.size or (good <= 2.0 * CONTACT_TOLERANCE * tower.size and _lifts(tower, bricks, way)):
        good = 0.0
    at_limit = _after(tower, bricks, way, good)
    assert fall is not None
    return replace(start, value=good, forces=at_limit.forces, pin_forces=at_limit.pin_forces, motion=fall.motion)


def _lifts(tower: Tower, bricks: tuple[int, ...], way: tuple[float, float]) -> bool:
    """Whether a contact opens along the path: then the contact tolerance is no part of the margin."""
    found = tower.contacts
    sign = np.isin(found.on, bricks).astype(float) - np.isin(found.under, bricks)
    return bool(((found.normal @ np.array(way)) * sign > ALONG).any())


def _bracket(
    tower: Tower, bricks: tuple[int, ...], way: tuple[float, float], end: float
) -> tuple[float, float | None, Stability | None]:
    """A distance at which the tower is stable and the next one at which it is not; None if it is stable to the end."""
    count = max(1, math.ceil(end / (LOOK * tower.size)))
    good = 0.0
    for k in range(1, count + 1):
        place = end * k / count
        answer = _after(tower, bricks, way, place)
        if not answer:
            return good, place, answer
        good = place
    return good, None, None


def _met_or_free(tower: Tower, start: Margin, meeting: _Meeting) -> Margin:
    if math.isinf(meeting.distance):
        return replace(start, value=math.inf, limit="none")
    held = _after(tower, start.bricks, start.direction, meeting.distance)
    return replace(
        start,
        value=meeting.distance,
        limit="hits",
        hit=meeting.bricks,
        forces=held.forces,
        pin_forces=held.pin_forces,
    )


def _after(tower: Tower, bricks: tuple[int, ...], way: tuple[float, float], distance: float) -> Stability:
    """Stability after a shift."""
    moved = list(tower.bricks)
    for i in bricks:
        moved[i] = moved[i].moved(way[0] * distance, way[1] * distance)
    return stability(tower.with_(bricks=tuple(moved), floating=True))


def _first_meeting(tower: Tower, bricks: tuple[int, ...], way: tuple[float, float]) -> _Meeting:
    """The least distance after which a shifted brick would enter another brick or the ground."""
    direction = np.array(way)
    limit = CONTACT_TOLERANCE * tower.size
    pinned = {frozenset((pin.first, pin.second)) for pin in tower.pins}
    best = _Meeting(math.inf, None)
    for i in bricks:
        if way[1] < -ALONG and tower.free[i]:
            height = max(0.0, float(tower.corners[i][:, 1].min()))
            best = min(best, _Meeting(height / -way[1], (i, GROUND)), key=lambda m: m.distance)
        for j in range(tower.count):
            if j in bricks or frozenset((i, j)) in pinned or not (tower.free[i] or tower.free[j]):
                continue
            distance = meeting_distance(tower.corners[i], tower.corners[j], direction, limit)
            best = min(best, _Meeting(distance, (i, j)), key=lambda m: m.distance)
    return best


def meeting_distance(moving: Floats, still: Floats, direction: Floats, limit: float) -> float:
    """Distance that a convex polygon can move along the unit vector `direction` before it enters another, or infinity.

    On the normal of each edge of either, the gap between the projections of the two is linear in the distance t. They
    overlap while all gaps are negative. On normals across the direction, gaps down to -limit count as zero.
    """
    enter, leave = 0.0, math.inf
    for polygon, other, sign in ((still, moving, 1.0), (moving, still, -1.0)):
        along = np.roll(polygon, -1, axis=0) - polygon
        normals = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.hypot(*along.T)[:, None]
        for corner, normal in zip(polygon, normals):
            gap = float(((other - corner) @ normal).min())
            rate = sign * float(normal @ direction)
            if abs(rate) <= ALONG:
                if gap >= -limit:
                    return math.inf
            elif rate < 0.0:
                enter = max(enter, gap / -rate)
            else:
                leave = min(leave, -gap / rate)
    return enter if enter < leave - limit else math.inf


def _clear_of_all(tower: Tower, bricks: tuple[int, ...], way: tuple[float, float]) -> float:
    """A distance after which the shifted bricks are beyond all others."""
    rest = [c for i, c in enumerate(tower.corners) if i not in bricks]
    if not rest:
        return 0.0
    direction = np.array(way)
    far = max(float((c @ direction).max()) for c in rest)
    near = min(float((tower.corners[i] @ direction).min()) for i in bricks)
    return max(0.0, far - near) + tower.size


def _moved_bricks(tower: Tower, shift: Any) -> tuple[int, ...]:
    given = shift if isinstance(shift, list | tuple | set | range) else [shift]
    numbers = tuple(sorted({tower.brick_number(brick) for brick in given}))
    if not numbers:
        raise ProblemError("shift", shift, "a brick, or a list of bricks")
    return numbers


def _unit(direction: Any) -> tuple[float, float]:
    x, y = vector("direction", direction)
    length = math.hypot(x, y)
    if length == 0.0:
        raise ProblemError("direction", direction, "a vector other than zero")
    return x / length, y / length

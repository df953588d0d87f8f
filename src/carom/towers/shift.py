"""How far bricks may be moved before the tower falls, or before they meet another brick."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats
from .margin import Margin, vector
from .stability import Stability, stability
from .touching import GROUND, TOUCH

if TYPE_CHECKING:
    from .tower import Tower

LOOK = 0.125  # of the shortest side: steps in which the path is searched for the first place where it falls
FINE = 1e-10  # of the shortest side: how well that place is found
NONE = 1e-9  # of the shortest side: distances below count as none
ALONG = 1e-12  # rates of approach below: the bricks slide along each other


@dataclass(frozen=True)
class _Meeting:
    distance: float
    bricks: tuple[int, int] | None


def shift_margin(tower: Tower, shift: Any, direction: Any) -> Margin:
    """Moves the bricks together along `direction` and asks again for stability: contacts come and go on the way.

    The way is searched in steps of an eighth of the shortest side, so a fall that ends again within one step is
    overlooked; the first fall is then found by bisection.
    """
    bricks = _moved_bricks(tower, shift)
    way = _unit(direction)
    start = Margin("shift", 0.0, "falls", bricks, None, way)
    standing = stability(tower)
    if not standing:
        return replace(start, motion=standing.motion, messages=("it falls already, before the shift",))
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
    if good <= NONE * tower.size or (good <= 2.0 * TOUCH * tower.size and _lifts(tower, bricks, way)):
        good = 0.0
    at_limit = _after(tower, bricks, way, good)
    assert fall is not None
    return replace(start, value=good, forces=at_limit.forces, pin_forces=at_limit.pin_forces, motion=fall.motion)


def _lifts(tower: Tower, bricks: tuple[int, ...], way: tuple[float, float]) -> bool:
    """Whether a contact opens along the way: then the gap that counts as touching is no part of the margin."""
    found = tower.contacts
    sign = np.isin(found.on, bricks).astype(float) - np.isin(found.under, bricks)
    return bool(((found.normal @ np.array(way)) * sign > ALONG).any())


def _bracket(
    tower: Tower, bricks: tuple[int, ...], way: tuple[float, float], end: float
) -> tuple[float, float | None, Stability | None]:
    """A distance at which it stands and the next one at which it falls; None if it stands to the end."""
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
    moved = list(tower.bricks)
    for i in bricks:
        moved[i] = moved[i].moved(way[0] * distance, way[1] * distance)
    return stability(tower.with_(bricks=tuple(moved), floating=True))


def _first_meeting(tower: Tower, bricks: tuple[int, ...], way: tuple[float, float]) -> _Meeting:
    """The least distance after which a moved brick would enter another one, or the ground."""
    direction = np.array(way)
    limit = TOUCH * tower.size
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
    """How far a convex polygon moves along the unit vector `direction` before it enters another; infinite if never.

    On the normal of each edge of either, the gap between the shadows of the two is linear in the distance t. They
    overlap while all gaps are negative. Gaps down to -limit count as none on normals across the direction.
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
    """A distance after which the moved bricks are beyond all others."""
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

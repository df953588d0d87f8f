"""Boundaries of space as meshes. Boundaries show their inner side only, so that one looks into a room from outside."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from ...geometry.surfaces import icosphere
from ...solvers.rows import Floats
from ...world import INSIDE, PLANE, TUBE, Boundaries
from ..camera import level_axes
from ..raycast.room import edges
from .framing import Box
from .shape_meshes import Mesh, joined
from .wall import Wall

FLOOR, SIDE, EDGE = (234, 236, 240), (226, 229, 235), (120, 127, 138)
VEIL = 0.45  # opacity of walls
GROUND = 5.0  # how far a floor without walls goes, in the size of the picture
FADING = 1.5  # where it begins to fade
RINGS = 14
LINE = 0.0035  # thickness of an edge, in that size
STRIPS = 12  # lines along a tube that turns
ROUND = 96


def barriers_of(geometry: Mapping[str, Any]) -> Boundaries:
    """The boundaries of a run of space at time 0."""
    kind, point, axis, radius, center = (geometry[f"boundary_{name}"] for name in Boundaries._fields[:-1])
    return Boundaries(kind, point, axis, radius, center, np.zeros((len(kind), 6)))


def room_walls(barriers: Boundaries, box: Box, tops: Floats, moving: bool, ground: Floats | None = None) -> list[Wall]:
    """All boundaries of a run of space, in its own lengths, each about the point that it turns about.

    `ground` is the middle of a floor without walls, None for none: runs side by side share one.
    """
    size = 0.5 * float(np.linalg.norm(box.size))
    out: list[Wall] = []
    for k, kind in enumerate(barriers.kind):
        if kind == PLANE:
            out += _plane(k, barriers, box, size, tops, ground)
        elif kind == TUBE:
            out += _tube(k, barriers, box, size, moving)
        elif kind == INSIDE:
            vertices, faces = icosphere(float(barriers.radius[k]), 4)
            own = vertices + barriers.point[k] - barriers.center[k]
            out.append(_wall(k, joined([(own, faces[:, ::-1])]), SIDE, barriers))
    return out + _edges(barriers, box, size, tops)


def _wall(k: int, mesh: Mesh, color: tuple[int, int, int], barriers: Boundaries) -> Wall:
    see_through = None if color == FLOOR else VEIL
    return Wall(k, mesh, color, barriers.center[k], see_through, shaded=True)


def _plane(k: int, barriers: Boundaries, box: Box, size: float, tops: Floats, ground: Floats | None) -> list[Wall]:
    """The part of a plane that the other planes leave, within the picture; a floor goes on beyond it."""
    normal, point = barriers.axis[k], barriers.point[k]
    floor = bool(normal @ box.up > 0.5)
    middle = box.middle - float((box.middle - point) @ normal) * normal
    across, ahead, _ = level_axes(normal)
    if floor and (barriers.kind == PLANE).sum() == 1:
        if ground is None:
            return []
        foot = ground - float((ground - point) @ normal + 2e-4 * size) * normal
        return _ground(k, barriers, foot, across, ahead, size)
    reach = (GROUND if floor else 1.6) * size
    corners = np.array([middle + reach * (x * across + y * ahead) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
    cuts = [(barriers.axis[j], barriers.point[j]) for j in np.flatnonzero(barriers.kind == PLANE) if j != k]
    if not floor:
        cuts += _ends(box, tops, size)
    for inward, at in cuts:
        corners = _clipped(corners, inward, at)
        if len(corners) < 3:
            return []
    if float(np.cross(corners[1] - corners[0], corners[2] - corners[0]) @ normal) < 0.0:
        corners = corners[::-1]
    fan = np.arange(1, len(corners) - 1)
    faces = np.stack([np.zeros_like(fan), fan, fan + 1], axis=1)
    lowered = corners - barriers.center[k] - (2e-4 * size * normal)  # bodies that lie on it do not flicker
    return [_wall(k, joined([(lowered, faces)]), FLOOR if floor else SIDE, barriers)]


def _ground(k: int, barriers: Boundaries, middle: Floats, across: Floats, ahead: Floats, size: float) -> list[Wall]:
    """A floor without walls: a round one that fades away, so that it has no edge."""
    angle = 2.0 * np.pi * np.arange(ROUND) / ROUND
    ring = np.cos(angle)[:, None] * across + np.sin(angle)[:, None] * ahead
    start = middle - barriers.center[k]
    reach = size * np.concatenate([[0.0], np.linspace(FADING, GROUND, RINGS)])
    i, j = np.arange(ROUND), (np.arange(ROUND) + 1) % ROUND
    faces = np.concatenate([np.stack([i, i + ROUND, j + ROUND], 1), np.stack([i, j + ROUND, j], 1)])
    out = []
    for number, (inner, outer) in enumerate(pairwise(reach)):
        mesh = joined([(np.concatenate([start + inner * ring, start + outer * ring]), faces)])
        fade = 0.5 * (1.0 + np.cos(np.pi * number / (RINGS - 1)))
        out.append(Wall(k, mesh, FLOOR, barriers.center[k], None if number == 0 else float(fade), shaded=True))
    return out


def _ends(box: Box, tops: Floats, size: float) -> list[tuple[Floats, Floats]]:
    """Where walls that go on for ever end: at the rim of open containers, and where the picture does."""
    out = []
    for axis in range(3):
        unit = np.eye(3)[axis]
        out += [(unit, box.low - 0.05 * size), (-unit, box.high + 0.05 * size)]
    if len(tops):
        out.append((-box.up, tops[int(np.argmax(tops @ box.up))]))
    return out


def _clipped(corners: Floats, inward: Floats, point: Floats) -> Floats:
    """A convex polygon cut by a half-space (Sutherland and Hodgman)."""
    apart = (corners - point) @ inward
    out = []
    for i in range(len(corners)):
        j = (i + 1) % len(corners)
        if apart[i] >= -1e-9:
            out.append(corners[i])
        if (apart[i] >= -1e-9) != (apart[j] >= -1e-9):
            part = apart[i] / (apart[i] - apart[j])
            out.append(corners[i] + part * (corners[j] - corners[i]))
    return np.array(out).reshape(-1, 3)


def _tube(k: int, barriers: Boundaries, box: Box, size: float, moving: bool) -> list[Wall]:
    """The inside of a cylinder, as long as the picture or the planes across it let it."""
    axis, point, r = barriers.axis[k], barriers.point[k], float(barriers.radius[k])
    across, ahead, _ = level_axes(axis)
    low, high = _span(k, barriers, box, size)
    angle = 2.0 * np.pi * np.arange(ROUND) / ROUND
    ring = np.cos(angle)[:, None] * across + np.sin(angle)[:, None] * ahead
    start = point - barriers.center[k]
    points = np.concatenate([start + low * axis + r * ring, start + high * axis + r * ring])
    i, j = np.arange(ROUND), (np.arange(ROUND) + 1) % ROUND
    faces = np.concatenate([np.stack([i, j + ROUND, j], 1), np.stack([i, i + ROUND, j + ROUND], 1)])
    out = [_wall(k, joined([(points, faces)]), SIDE, barriers)]
    if moving:
        strips = []
        for turn in angle[:: ROUND // STRIPS]:
            away = np.cos(turn) * across + np.sin(turn) * ahead
            line = start + 0.998 * r * away + np.array([low, high])[:, None] * axis
            strips.append(_bar(line[0], line[1], LINE * size))
        out.append(Wall(k, joined(strips), EDGE, barriers.center[k]))
    return out


def _span(k: int, barriers: Boundaries, box: Box, size: float) -> tuple[float, float]:
    """From where to where along its axis a tube is drawn."""
    axis, point = barriers.axis[k], barriers.point[k]
    corners = np.array([[v[i] for i, v in enumerate(pick)] for pick in _picks(box.low, box.high)])
    along = (corners - point) @ axis
    low, high = float(along.min()) - 0.02 * size, float(along.max()) + 0.02 * size
    for j in np.flatnonzero(barriers.kind == PLANE):
        speed = float(barriers.axis[j] @ axis)
        if abs(speed) > 0.9:
            at = float((barriers.point[j] - point) @ barriers.axis[j]) / speed
            low, high = (max(low, at), high) if speed > 0.0 else (low, min(high, at))
    return low, high


def _picks(low: Floats, high: Floats) -> list[tuple[Floats, Floats, Floats]]:
    return [(x, y, z) for x in (low, high) for y in (low, high) for z in (low, high)]


def _edges(barriers: Boundaries, box: Box, size: float, tops: Floats) -> list[Wall]:
    """Thin bars where walls meet, and round the rim of an open box."""
    high = box.high + 0.05 * size
    if len(tops):
        rim = int(np.argmax(np.abs(box.up)))
        high[rim] = float(tops[:, rim].max())
    bars: dict[int, list[Any]] = {}
    owner = int(np.argmax(barriers.kind == PLANE)) if (barriers.kind == PLANE).any() else -1
    for line in edges(barriers, box.low - 0.05 * size, high, box.up):
        shift = barriers.center[owner] if owner >= 0 else np.zeros(3)
        bars.setdefault(owner, []).extend(_bar(one - shift, two - shift, LINE * size) for one, two in pairwise(line))
    return [
        Wall(number, joined(pieces), EDGE, barriers.center[number] if number >= 0 else np.zeros(3))
        for number, pieces in bars.items()
    ]


def _bar(one: Floats, two: Floats, thickness: float) -> tuple[Floats, Any]:
    """A bar with a square section from one point to another."""
    across, ahead, _ = level_axes(two - one)
    ring = 0.5 * thickness * np.array([across + ahead, ahead - across, -across - ahead, across - ahead])
    points = np.concatenate([one + ring, two + ring])
    i, j = np.arange(4), (np.arange(4) + 1) % 4
    return points, np.concatenate([np.stack([i, j, j + 4], 1), np.stack([i, j + 4, i + 4], 1)])

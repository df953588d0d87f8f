"""Boundaries on the page as meshes that stand still or follow the motion of their boundary.

2D: dark lines with a pale band behind them, dashed periodic sides; planes extend beyond the window. 3D: an open ground
reaches the horizon; other boundaries show their inner side only, so that one looks into a container from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...geometry import rotations
from ...geometry.surfaces import icosphere
from ...scene.boundaries import Periodic
from ...solvers.rows import Floats, Ints
from ...world import INSIDE, PLANE, TUBE
from ...world import Boundaries as BoundaryArrays
from ..camera import level_axes
from ..meshes import Mesh, Piece, joined, polygon
from ..primitives import clipped
from ..world2d import Outline, outlines
from ..world3d import edges
from . import tone
from .layout import SIZE, Box, Layout

Color = tuple[int, int, int]

# 2D; lengths are relative to the size of the picture
LINE, BAND = 0.006, 0.03  # thickness of a boundary and of the pale band behind it
BEYOND_2D = 5.0  # distance beyond the bodies at which planes end: windows may be wider than the picture
BEHIND = 0.002  # distance of the band behind the lines
DASH, GAP = 0.018, 0.012  # of periodic sides
DARK, PALE = (92, 99, 110), (226, 230, 236)
SEGMENTS = 160  # straight pieces of a circle
SPOKES = 8  # marks on a moving drum

# 3D; lengths are relative to half the diagonal of the picture
GROUND, SIDE, EDGE = (234, 236, 240), (226, 229, 235), (120, 127, 138)
OPACITY = 0.45  # of boundaries other than the ground
REACH, SIDE_REACH = 5.0, 1.6  # extent of the ground, and of other planes
HORIZON, HAZE = 120.0, 10.0  # radius of an open ground, and distance at which half of its color is lost
MERGING = 0.45  # share of REACH beyond which the ground in the lamp's light merges into that beyond
PIXELS = 1024  # of the image of an open ground
SKYLINE = (249, 250, 252)  # color of an open ground at the horizon; the sky is white
BAR = 0.0035  # thickness of an edge
SCALE_BAR = 0.012  # thickness of the scale bar, relative to SIZE
BELOW = 2e-4  # distance by which planes are lowered: bodies that lie on them do not flicker
BEYOND = 0.05  # distance beyond the picture at which unbounded planes end
STRIPS = 12  # lines along a moving tube
ROUND = 96  # straight pieces of a tube


@dataclass(frozen=True, eq=False)
class Horizon:
    """An open ground as an image without shading, which lamps do not reach: clear in the middle, pale far away."""

    radius: float  # in the run's lengths
    clear: float  # radius of the clear part
    offset: Floats  # (3,) its middle relative to the center about which the boundary turns
    turn: Floats  # (4,) quaternion that turns z to the normal of the ground

    @property
    def image(self) -> NDArray[np.uint8]:
        """(PIXELS, PIXELS, 4) RGBA bytes."""
        x = self.radius * ((np.arange(PIXELS) + 0.5) / (0.5 * PIXELS) - 1.0)
        r = np.hypot(x[:, None], x)
        far = r / (r + HAZE / HORIZON * self.radius)
        color = np.array(GROUND) + far[..., None] * (np.array(SKYLINE) - np.array(GROUND))
        share = ((r - MERGING * self.clear) / ((1.0 - MERGING) * self.clear)).clip(0.0, 1.0)
        alpha = 255.0 * share * share * (3.0 - 2.0 * share) * (r < self.radius)
        return np.concatenate([color, alpha[..., None]], axis=2).round().astype(np.uint8)


@dataclass(frozen=True, eq=False)
class BoundaryMesh:
    """A mesh in the run's lengths relative to `center`, about which boundary `number` turns; -1 for no boundary."""

    number: int
    mesh: Mesh
    color: Color
    center: Floats  # (3,)
    opacity: float | None = None
    shaded: bool = False  # receives shadows
    horizon: Horizon | None = None  # continues an open ground


class BoundaryNodes:
    """The scene nodes of the boundaries of one run."""

    def __init__(self, server: Any, name: str, meshes: Sequence[BoundaryMesh], layout: Layout, number: int) -> None:
        self._layout, self._number, self._meshes = layout, number, list(meshes)
        self._poses: Floats | float = 0.0
        self._handles = [self._added(server, f"{name}/boundary{k}", m) for k, m in enumerate(self._meshes)]
        self._far = [self._added_horizon(server, f"{name}/horizon{k}", m) for k, m in enumerate(self._meshes)]

    def _added_horizon(self, server: Any, name: str, m: BoundaryMesh) -> Any:
        if m.horizon is None:
            return None
        width = 2.0 * self._layout.scale * m.horizon.radius
        middle = self._layout.placed((m.center + m.horizon.offset)[None], self._number)[0]
        look = {"format": "png", "cast_shadow": False, "receive_shadow": False}
        return server.scene.add_image(name, m.horizon.image, width, width, wxyz=m.horizon.turn, position=middle, **look)

    def _added(self, server: Any, name: str, m: BoundaryMesh) -> Any:
        layout, mesh = self._layout, m.mesh
        place = layout.placed(m.center[None], self._number)
        # A batch of one instance, because only the colors of instances can be given exactly.
        return server.scene.add_batched_meshes_simple(
            name,
            (layout.scale * mesh.vertices).astype(np.float32),
            mesh.faces,
            np.array([[1.0, 0.0, 0.0, 0.0]]),
            place,
            batched_colors=tone.lit(np.array([m.color], np.uint8)),
            opacity=m.opacity,
            lod="off",
            cast_shadow=False,
            receive_shadow=m.shaded,
        )

    def show(self, poses: Floats) -> None:
        """Moves the boundaries to their poses (w, 3), in 3D (w, 6)."""
        if np.array_equal(poses, np.broadcast_to(self._poses, poses.shape)):
            return
        self._poses = poses
        shift, turn = displacements(poses)
        for m, handle, far in zip(self._meshes, self._handles, self._far):
            if m.number < 0:
                continue
            place = self._layout.placed((m.center + shift[m.number])[None], self._number)
            handle.batched_positions, handle.batched_wxyzs = place, turn[m.number][None]
            if m.horizon is not None:
                arm = rotations.turned(turn[m.number][None], m.horizon.offset[None])[0]
                far.position = place[0] + self._layout.scale * arm
                far.wxyz = rotations.product(turn[m.number][None], m.horizon.turn[None])[0]


def displacements(poses: Floats) -> tuple[Floats, Floats]:
    """Translations (w, 3) and quaternions (w, 4)."""
    if poses.shape[1] == 6:
        return poses[:, :3], rotations.of_vector(np.ascontiguousarray(poses[:, 3:]))
    zero = np.zeros(len(poses))
    half = 0.5 * poses[:, 2]
    return np.column_stack([poses[:, :2], zero]), np.stack([np.cos(half), zero, zero, np.sin(half)], axis=1)


# ---- 2D


def meshes_2d(found: BoundaryArrays, box: Box, moving: bool, periodic: Periodic | None) -> list[BoundaryMesh]:
    """All boundaries of a 2D run; `moving` says whether any of them moves."""
    size = float(box.size[:2].max())
    low, high = box.low[:2] - BEYOND_2D * size, box.high[:2] + BEYOND_2D * size
    narrow, wide = (outlines(found, low, high, width * size) for width in (LINE, BAND))  # they fill corners
    out: list[BoundaryMesh] = []
    for k, (line, band) in enumerate(zip(narrow, wide)):
        center = np.array([*found.center[k], 0.0])
        for pieces, color in _pieces_2d(line, band, size, moving) if line is not None else ():
            shifted = [(points - center, faces) for points, faces in pieces]
            out.append(BoundaryMesh(k, joined(shifted), color, center))
    return out + (_periodic_mesh(periodic, box, size) if periodic is not None else [])


def _pieces_2d(outline: Outline, wide: Outline | None, size: float, moving: bool) -> list[tuple[list[Piece], Color]]:
    """The surfaces of one boundary, each with its color; `wide` is the outline of the band behind it."""
    if outline.line is not None:
        one, two = outline.line
        side = np.array([one[1] - two[1], two[0] - one[0]]) / np.linalg.norm(two - one)  # the normal of a plane
        if outline.kind != PLANE or wide is None or wide.line is None:
            return [([_strip(one, two, 0.5 * LINE * size * side, -0.5 * LINE * size * side)], DARK)]
        zero = np.zeros(2)
        band = _strip(wide.line[0], wide.line[1], zero, -BAND * size * side, -BEHIND * size)
        return [([band], PALE), ([_strip(one, two, zero, -LINE * size * side)], DARK)]
    if outline.center is None:
        return []
    angle = 2.0 * np.pi * np.arange(SEGMENTS) / SEGMENTS
    ring, r = np.stack([np.cos(angle), np.sin(angle)], axis=1), outline.radius
    if outline.kind != INSIDE:
        return [([polygon(outline.center + r * ring, 0.0)], PALE)]
    line = _ring(outline.center, ring, r, r + LINE * size, 0.0)
    marks = []
    for away in ring[:: SEGMENTS // SPOKES] if moving else ():
        half = 0.5 * LINE * size * np.array([-away[1], away[0]])
        marks.append(_strip(outline.center + r * away, outline.center + (r + BAND * size) * away, half, -half))
    band = _ring(outline.center, ring, r, r + BAND * size, -BEHIND * size)
    return [([line], DARK), ([band], PALE), *([(marks, DARK)] if marks else [])]


def _periodic_mesh(periodic: Periodic, box: Box, size: float) -> list[BoundaryMesh]:
    """Dashed lines along the sides of a periodic cell."""
    dashes = []
    for axis, side in enumerate((periodic.x, periodic.y)):
        for place in side or ():
            other = 1 - axis
            low, high = float(box.low[other]), float(box.high[other])
            half = 0.25 * LINE * size * np.eye(2)[axis]
            for start in np.arange(low, high, (DASH + GAP) * size):
                ends = np.full((2, 2), float(place))
                ends[:, other] = start, min(start + DASH * size, high)
                dashes.append(_strip(ends[0], ends[1], half, -half))
    return [BoundaryMesh(-1, joined(dashes), DARK, np.zeros(3))] if dashes else []


def _strip(one: Floats, two: Floats, inner: Floats, outer: Floats, z: float = 0.0) -> Piece:
    """A quadrilateral along the line from `one` to `two`, from the offset `inner` to `outer`."""
    return polygon(np.array([one + outer, two + outer, two + inner, one + inner]), z)


def _ring(center: Floats, ring: Floats, inner: float, outer: float, z: float) -> Piece:
    points = np.concatenate([center + inner * ring, center + outer * ring])
    return np.pad(points, ((0, 0), (0, 1)), constant_values=z), _band_faces(len(ring))


def _band_faces(count: int) -> Ints:
    """The triangles between two closed lines of `count` points each, stored one after the other."""
    i, j = np.arange(count), (np.arange(count) + 1) % count
    return np.concatenate([np.stack([i, i + count, j + count], 1), np.stack([i, j + count, j], 1)])


# ---- 3D


def meshes_3d(
    found: BoundaryArrays, box: Box, tops: Floats, moving: bool, ground: Floats | None = None
) -> list[BoundaryMesh]:
    """All boundaries of a 3D run.

    `tops` (k, 3) are the corners at the top of open containers; `ground` is the middle of a ground without other
    planes, None for no ground: runs side by side share one.
    """
    size = 0.5 * float(np.linalg.norm(box.size))
    out: list[BoundaryMesh] = []
    for k, kind in enumerate(found.kind):
        if kind == PLANE:
            out += _plane(k, found, box, size, tops, ground)
        elif kind == TUBE:
            out += _tube(k, found, box, size, moving)
        elif kind == INSIDE:
            vertices, faces = icosphere(float(found.radius[k]), 4)
            own = vertices + found.point[k] - found.center[k]
            out.append(_surface(k, joined([(own, faces[:, ::-1])]), SIDE, found))
    return out + _edges(found, box, size, tops)


def _surface(k: int, mesh: Mesh, color: Color, found: BoundaryArrays) -> BoundaryMesh:
    return BoundaryMesh(k, mesh, color, found.center[k], None if color == GROUND else OPACITY, shaded=True)


def _plane(
    k: int, found: BoundaryArrays, box: Box, size: float, tops: Floats, ground: Floats | None
) -> list[BoundaryMesh]:
    """The part of a plane that the other planes leave, within the picture; the ground extends beyond it."""
    normal, point = found.axis[k], found.point[k]
    level = bool(normal @ box.up > 0.5)
    middle = box.middle - float((box.middle - point) @ normal) * normal
    across, ahead, _ = level_axes(normal)
    if level and (found.kind == PLANE).sum() == 1:
        if ground is None:
            return []
        foot = ground - float((ground - point) @ normal + BELOW * size) * normal
        return _open_ground(k, found, foot, across, ahead, size)
    reach = (REACH if level else SIDE_REACH) * size
    corners = np.array([middle + reach * (x * across + y * ahead) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
    cuts = [(found.axis[j], found.point[j]) for j in np.flatnonzero(found.kind == PLANE) if j != k]
    for inward, at in cuts if level else [*cuts, *_ends(box, tops, size)]:
        corners = clipped(corners, at - 1e-9 * inward, inward)
        if len(corners) < 3:
            return []
    if float(np.cross(corners[1] - corners[0], corners[2] - corners[0]) @ normal) < 0.0:
        corners = corners[::-1]
    fan = np.arange(1, len(corners) - 1)
    faces = np.stack([np.zeros_like(fan), fan, fan + 1], axis=1)
    lowered = corners - found.center[k] - (BELOW * size * normal)
    return [_surface(k, joined([(lowered, faces)]), GROUND if level else SIDE, found)]


def _open_ground(
    k: int, found: BoundaryArrays, middle: Floats, across: Floats, ahead: Floats, size: float
) -> list[BoundaryMesh]:
    """A ground without other planes: a disc with light and shadows, which merges into one up to the horizon."""
    ring, start = _circle(across, ahead), middle - found.center[k]
    disc = joined([(np.concatenate([np.tile(start, (ROUND, 1)), start + REACH * size * ring]), _band_faces(ROUND))])
    normal = np.cross(across, ahead)
    turn = np.asarray(rotations.quaternion_of(np.stack([across, ahead, normal], axis=1)))
    far = Horizon(HORIZON * size, REACH * size, start + 0.5 * BELOW * size * normal, turn)
    return [BoundaryMesh(k, disc, GROUND, found.center[k], shaded=True, horizon=far)]


def _circle(across: Floats, ahead: Floats) -> Floats:
    angle = 2.0 * np.pi * np.arange(ROUND) / ROUND
    return np.cos(angle)[:, None] * across + np.sin(angle)[:, None] * ahead


def _ends(box: Box, tops: Floats, size: float) -> list[tuple[Floats, Floats]]:
    """Half-spaces (inward normal, point) that bound unbounded planes: the picture, and the tops of containers."""
    out = []
    for axis in range(3):
        unit = np.eye(3)[axis]
        out += [(unit, box.low - BEYOND * size), (-unit, box.high + BEYOND * size)]
    if len(tops):
        out.append((-box.up, tops[int(np.argmax(tops @ box.up))]))
    return out


def _tube(k: int, found: BoundaryArrays, box: Box, size: float, moving: bool) -> list[BoundaryMesh]:
    """The inside of a tube, bounded by the picture and by the planes across it."""
    axis, point, r = found.axis[k], found.point[k], float(found.radius[k])
    across, ahead, _ = level_axes(axis)
    low, high = _tube_span(k, found, box, size)
    ring = _circle(across, ahead)
    start = point - found.center[k]
    points = np.concatenate([start + low * axis + r * ring, start + high * axis + r * ring])
    out = [_surface(k, joined([(points, _band_faces(ROUND))]), SIDE, found)]
    if moving:
        strips = []
        for away in ring[:: ROUND // STRIPS]:
            line = start + 0.998 * r * away + np.array([low, high])[:, None] * axis
            strips.append(_bar(line[0], line[1], BAR * size))
        out.append(BoundaryMesh(k, joined(strips), EDGE, found.center[k]))
    return out


def _tube_span(k: int, found: BoundaryArrays, box: Box, size: float) -> tuple[float, float]:
    """The interval along its axis in which a tube is drawn."""
    axis, point = found.axis[k], found.point[k]
    corners = np.array([[v[i] for i, v in enumerate(pick)] for pick in product((box.low, box.high), repeat=3)])
    along = (corners - point) @ axis
    low, high = float(along.min()) - 0.02 * size, float(along.max()) + 0.02 * size
    for j in np.flatnonzero(found.kind == PLANE):
        speed = float(found.axis[j] @ axis)
        if abs(speed) > 0.9:
            at = float((found.point[j] - point) @ found.axis[j]) / speed
            low, high = (max(low, at), high) if speed > 0.0 else (low, min(high, at))
    return low, high


def _edges(found: BoundaryArrays, box: Box, size: float, tops: Floats) -> list[BoundaryMesh]:
    """Thin bars along the edges of boundaries, and around the rim of an open container."""
    high = box.high + BEYOND * size
    if len(tops):
        rim = int(np.argmax(np.abs(box.up)))
        high[rim] = float(tops[:, rim].max())
    planes = np.flatnonzero(found.kind == PLANE)
    owner = int(planes[0]) if len(planes) else -1
    center = found.center[owner] if owner >= 0 else np.zeros(3)
    bars = [
        _bar(one - center, two - center, BAR * size)
        for line in edges(found, box.low - BEYOND * size, high, box.up)
        for one, two in pairwise(line)
    ]
    return [BoundaryMesh(owner, joined(bars), EDGE, center)] if bars else []


def add_scale_bar(server: Any, layout: Layout) -> None:
    """A bar of a round length with its label, below or in front of the first run."""
    bar = layout.scale_bar
    lift = SCALE_BAR * SIZE * layout.box.up  # above the ground
    mesh = joined([_bar(bar.start + lift, bar.end + lift, SCALE_BAR * SIZE)])
    server.scene.add_batched_meshes_simple(
        "/scale",
        mesh.vertices.astype(np.float32),
        mesh.faces,
        np.array([[1.0, 0.0, 0.0, 0.0]]),
        np.zeros((1, 3)),
        batched_colors=tone.lit(np.array([DARK], np.uint8)),
        lod="off",
        cast_shadow=False,
        receive_shadow=False,
    )
    place = 0.5 * (bar.start + bar.end)
    server.scene.add_label("/scale/length", f"length {bar.length:g}", position=place, anchor="top-center")


def _bar(one: Floats, two: Floats, thickness: float) -> Piece:
    """A bar of square cross section from one point to another."""
    across, ahead, _ = level_axes(two - one)
    ring = 0.5 * thickness * np.array([across + ahead, ahead - across, -across - ahead, across - ahead])
    points = np.concatenate([one + ring, two + ring])
    return points, _band_faces(4)[:, [0, 2, 1]]

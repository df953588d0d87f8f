"""What an export contains, in one form for all formats: meshes, the parts of bodies, poses of all frames, colors.

Coordinates are those of the run; 2D runs lie in the plane z = 0 and their shapes are thin prisms. Angles become
quaternions (w, x, y, z).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..draw import meshes
from ..draw.camera import upward
from ..draw.colors import QUANTITIES, Bytes, Coloring, usual_quantity
from ..draw.drawables import COLUMNS, UNTURNED, drawables_2d, drawables_3d
from ..draw.meshes import Mesh, Piece
from ..draw.viewer.bodies import MARKED
from ..draw.viewer.boundaries import OPACITY, BoundaryMesh, displacements
from ..draw.viewer.layout import Layout, box_of, in_3d
from ..draw.viewer.runs import Frames
from ..draw.viewer.stage import boundary_meshes
from ..errors import ProblemError
from ..solvers.rows import Floats, Ints
from ..stepping.report import ContactImpulses
from ..trajectory import Trajectory

THICKNESS = 0.25  # half the thickness of 2D shapes, in median radii
MARK_WIDTH, MARK_LIFT = 0.05, 1.01  # half the width of the radius on a disc, and its height over the faces, relative
MARK = (62, 68, 78)  # color of marks that show rotation


@dataclass(frozen=True, eq=False)
class Parts:
    """p parts of bodies: part i is mesh `mesh[i]`, scaled, rotated and displaced in the frame of body `body[i]`."""

    mesh: Ints  # (p,)
    body: Ints  # (p,) ascending
    scale: Floats  # (p, 3)
    turn: Floats  # (p, 4)
    place: Floats  # (p, 3)
    mark: np.ndarray  # (p,) bool: shows rotation and has the color MARK


@dataclass(frozen=True, eq=False)
class Content:
    """The chosen frames of a run."""

    run: Trajectory
    frames: Ints  # (k,) indices of the chosen frames, ascending
    coloring: Coloring

    @cached_property
    def time(self) -> Floats:
        """(k,) times of the frames."""
        return np.asarray(self.run.time[self.frames])

    @cached_property
    def position(self) -> Floats:
        """(k, n, 3) centers of mass."""
        return in_3d_stack(self._chosen(self.run.positions))

    @cached_property
    def turn(self) -> Floats:
        """(k, n, 4) quaternions, whose sign does not change from frame to frame."""
        return _continuous(quaternions(self._chosen(self.run.orientations)))

    def _chosen(self, array: object) -> Floats:
        return np.asarray(np.stack([np.asarray(array[int(i)]) for i in self.frames]))  # type: ignore[index]

    @cached_property
    def present(self) -> np.ndarray | None:
        """(k, n) which bodies are present; None where all are all the time."""
        return np.stack([self.run.lives[int(i)] > 0 for i in self.frames]) if self.run.changes else None

    def colors(self, index: int) -> Bytes:
        """(n, 3) sRGB bytes in the chosen frame `index`."""
        return self.coloring.rgb(int(self.frames[index]))

    @cached_property
    def up(self) -> Floats:
        """(3,) against gravity; y in 2D."""
        if self.run.dimension == 2:
            return np.array([0.0, 1.0, 0.0])
        return upward(self.run.world.gravity)

    @cached_property
    def periodic(self) -> bool:
        """Whether bodies jump from one side of a cell to the other."""
        try:
            return self.run.world.periodic is not None
        except ProblemError:  # the scene contains a Python function, which a file does not store
            return False

    # ---- bodies

    @cached_property
    def shapes(self) -> tuple[list[Mesh], Parts]:
        """The meshes, and the parts of all bodies."""
        found = list(_SHAPES[self.run.dimension](self.run))
        body = np.concatenate([f.body for f in found])
        order = np.argsort(body, kind="stable")
        size = [len(f.body) for f in found]
        scale, turn, place = (
            np.concatenate([getattr(f, name) for f in found])[order] for name in ("scale", "turn", "place")
        )
        mark = np.repeat([f.mark for f in found], size)[order]
        mesh = np.repeat(np.arange(len(found)), size)[order]
        return [f.mesh for f in found], Parts(mesh, body[order], scale, turn, place, mark)

    # ---- boundaries

    @cached_property
    def boundaries(self) -> list[BoundaryMesh]:
        """Surfaces of boundaries, without the fading rim of an open ground."""
        frames = Frames(self.run)
        layout = Layout.of(box_of(frames), 1)
        return [m for m in boundary_meshes(frames, layout, 0) if m.opacity in (None, OPACITY)]

    @cached_property
    def boundary_poses(self) -> tuple[Floats, Floats]:
        """Positions (k, b, 3) and quaternions (k, b, 4) of the surfaces in `boundaries`."""
        count = len(self.frames)
        place = np.tile(np.array([m.center for m in self.boundaries]).reshape(1, -1, 3), (count, 1, 1))
        turn = np.tile(UNTURNED, (count, len(self.boundaries), 1))
        numbers = np.array([m.number for m in self.boundaries], dtype=np.int64)
        own = np.flatnonzero(numbers >= 0)
        for k, frame in enumerate(self.frames.tolist()):
            shift, rotation = displacements(np.asarray(self.run.boundary_poses[frame]))
            place[k, own] += shift[numbers[own]]
            turn[k, own] = rotation[numbers[own]]
        return place, _continuous(turn)

    def impulses(self, index: int) -> ContactImpulses | None:
        """Contact impulses since the recorded frame before chosen frame `index`; None if the run has none of frames."""
        return self.run.impulses(int(self.frames[index])) if self.run.settings.impulses else None


def coloring_of(run: Trajectory, color: str | None, steady: bool) -> Coloring:
    """The coloring by the quantity `color`, or by that with which the viewer opens.

    `steady` requires colors that do not change with time: the default is then the body, and another one is refused.
    """
    if color is None:
        color = usual_quantity(run)
        if steady and not QUANTITIES[color].steady:
            color = "body"
    found = Coloring.of(run, color)
    if steady and not found.quantity.steady:
        names = ", ".join(name for name, quantity in QUANTITIES.items() if quantity.steady)
        raise ProblemError("color", color, f"one of {names}: colors of glTF files cannot change with time")
    return found


# ---- shapes


@dataclass(frozen=True, eq=False)
class _Instances:
    """One mesh and the bodies that have it."""

    mesh: Mesh
    body: Ints  # (k,)
    scale: Floats  # (k, 3)
    turn: Floats  # (k, 4)
    place: Floats  # (k, 3)
    mark: bool = False


def _instances(mesh: Mesh, body: Ints, scale: Floats | None = None, mark: bool = False) -> _Instances:
    k = len(body)
    size = np.ones((k, 3)) if scale is None else scale
    return _Instances(mesh, body, size, np.tile(UNTURNED, (k, 1)), np.zeros((k, 3)), mark)


def _shapes_2d(run: Trajectory) -> Iterator[_Instances]:
    half = THICKNESS * float(np.median(run.geometry["radius"]))
    for found in drawables_2d(*(run.geometry[name] for name in COLUMNS)):
        radius, count = found.radius, len(found.body)
        if radius is None:
            assert found.corners is not None
            yield _instances(prism(found.corners, half), found.body)
            continue
        segments = 64 if count <= 500 else 32 if count <= 5_000 else 16
        angle = 2.0 * np.pi * np.arange(segments) / segments
        ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        size = np.column_stack([radius, radius, np.full(count, half)])
        yield _instances(prism(ring, 1.0), found.body, size)
        if run.count <= MARKED and not isinstance(run.spins, np.ndarray):
            w = MARK_WIDTH
            strip = np.array([[0.0, -w], [0.9, -w], [0.9, w], [0.0, w]])
            yield _instances(prism(strip, MARK_LIFT), found.body, size, mark=True)


def prism(corners: Floats, half: float) -> Mesh:
    """A convex polygon (k, 2), counterclockwise, extended from z = -half to half; faces share no vertices."""
    k = len(corners)
    top, bottom = (np.pad(corners, ((0, 0), (0, 1)), constant_values=z) for z in (half, -half))
    i = np.arange(1, k - 1)
    fan = np.stack([np.zeros_like(i), i, i + 1], axis=1)
    a, b = np.arange(k), (np.arange(k) + 1) % k
    sides = np.stack([bottom[a], bottom[b], top[b], top[a]], axis=1).reshape(-1, 3)
    four = 4 * np.arange(k)[:, None]
    quads = np.concatenate([four + np.array([0, 1, 2]), four + np.array([0, 2, 3])])
    pieces: list[Piece] = [(top, fan), (bottom, fan[:, ::-1]), (sides, quads)]
    return meshes.joined(pieces)


def _shapes_3d(run: Trajectory) -> Iterator[_Instances]:
    for found in drawables_3d(run.world.shapes_3d):
        body, turn, place, count = found.body, found.turn, found.place, len(found.body)
        if found.radius is None:
            mesh = meshes.shape_mesh(run.world, run.scene, found.shape, chamfer=0.0)
            yield _Instances(mesh, body, np.ones((count, 3)), turn, place)
            continue
        level = 3 if count <= 800 else 2 if count <= 6_000 else 1
        scale = np.repeat(found.radius[:, None], 3, axis=1)
        yield _Instances(meshes.sphere(level), body, scale, turn, place)
        if count <= MARKED and run.world.turns:
            yield _Instances(meshes.belt(), body, scale, turn, place, mark=True)


_SHAPES = {2: _shapes_2d, 3: _shapes_3d}


# ---- rotations and colors


def quaternions(orientation: Floats) -> Floats:
    """Quaternions (..., 4) of a run: themselves in 3D, those of angles (...,) about z in 2D, by the last axis."""
    if orientation.ndim == 3:
        return orientation
    half, zero = 0.5 * orientation, np.zeros_like(orientation)
    return np.stack([np.cos(half), zero, zero, np.sin(half)], axis=-1)


def _continuous(turn: Floats) -> Floats:
    """Quaternions (k, n, 4), each with the sign that is nearer to the one before."""
    flips = np.where((turn[1:] * turn[:-1]).sum(axis=-1) < 0.0, -1.0, 1.0)
    signs = np.concatenate([np.ones((1, turn.shape[1])), np.cumprod(flips, axis=0)])
    return np.asarray(turn * signs[:, :, None])


def turned(q: Floats, points: Floats) -> Floats:
    """Points (..., 3) rotated by unit quaternions (..., 4)."""
    w, axis = q[..., :1], q[..., 1:]
    twice = 2.0 * np.cross(axis, points)
    return np.asarray(points + w * twice + np.cross(axis, twice))


def in_3d_stack(points: Floats) -> Floats:
    """Points (k, n, D) as (k, n, 3)."""
    k, n, d = points.shape
    return in_3d(points.reshape(-1, d)).reshape(k, n, 3)


def linear(colors: Bytes) -> Floats:
    """sRGB bytes as linear numbers from 0 to 1, which glTF and USD expect."""
    share = np.asarray(colors, dtype=np.float64) / 255.0
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contact_vectors(found: ContactImpulses) -> tuple[Floats, Floats]:
    """Points and impulses on the second body, both (m, 3)."""
    from ..draw.marks import impulse_vectors

    return in_3d(found.point), in_3d(impulse_vectors(found))

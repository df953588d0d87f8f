"""Single impacts of 3D boxes, tetrahedra and shells, and two scenes whose symmetry must be conserved."""

from __future__ import annotations

import itertools
from typing import Annotated

import numpy as np

from ..errors import ProblemError
from ..geometry.surfaces import trefoil
from ..scene.boundaries import Container, Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.motion import FIXED
from ..scene.shapes import Box, Compound, Hull, Mesh, Part
from ..scene.symmetry import Symmetry, mirror_plane
from ..solvers.rows import Floats
from .parameters import Count, Number, Positive, Restitution, Sizes, Vector, at_least, between, declared, whole

MIRROR_X, MIRROR_Y = mirror_plane((1.0, 0.0, 0.0)), mirror_plane((0.0, 1.0, 0.0))


@declared
def flat_box(*, size: Sizes = (2.0, 1.5, 1.0), height: Positive = 1.0, restitution: Restitution = 1.0) -> Scene:
    """A box falls flat on a plane, on four corners at once. By symmetry it must rebound vertically, without spin.

    This motion is not stable under every law. With each bounce a small spin grows 13-fold under qce and 3-fold under
    lzb, so that rounding errors become visible; gr reverses the spin and keeps its size.
    """
    box = Bodies(Box(size), np.array([[0.0, 0.0, 0.5 * size[2] + height]]), name="box")
    return _elastic(
        "flat_box",
        [box],
        restitution,
        boundaries=[Plane()],
        gravity=(0.0, 0.0, -10.0),
        duration=3.0,
        description="A box falls flat on a plane, on its four corners.",
        symmetries=[MIRROR_X, MIRROR_Y],
    )


@declared
def box_on_edge(*, speed: Positive = 10.0, cover: Annotated[float, between(0.05, 0.95)] = 0.5) -> Scene:
    """A unit cube lands flat on a fixed block that covers the part `cover` of its lower face (Tang 2014, s. 7.2).

    The block is on the side of low x. All contact points lie there, so the cube must rotate. With speed 10 and half of
    the face covered, under qce it leaves upwards at 50/7 with a spin of 120/7 about y.
    """
    cube = Bodies(Box((1.0, 1.0, 1.0)), np.array([[0.0, 0.0, 0.51]]), (0.0, 0.0, -speed), name="cube")
    block = Bodies(Box((1.0, 2.0, 0.5)), np.array([[cover - 1.0, 0.0, -0.25]]), motion=FIXED, name="block")
    return _elastic(
        "box_on_edge",
        [cube, block],
        1.0,
        step=0.002,
        duration=0.1,
        description=f"A unit cube lands with {cover:g} of its face on a fixed block.",
        symmetries=[MIRROR_Y],
    )


@declared
def box_2x2x1(*, restitution: Restitution = 1.0) -> Scene:
    """A 2 x 2 x 1 box with velocity (1, 1, -10) lands flat on the ground, without gravity (Tang 2014, s. 7.3).

    Without friction its vertical velocity must be reversed, and nothing else may change.
    """
    box = Bodies(Box((2.0, 2.0, 1.0)), np.array([[0.0, 0.0, 0.6]]), (1.0, 1.0, -10.0), name="box")
    return _elastic(
        "box_2x2x1",
        [box],
        restitution,
        boundaries=[Plane()],
        step=1.0 / 600.0,
        duration=0.1,
        description="A 2 x 2 x 1 box lands flat while it moves sideways.",
    )


@declared
def two_tetrahedra(*, speed: Positive = 100.0, size: Positive = 1.0) -> Scene:
    """A tetrahedron strikes the face of another one with a corner, with spin (5, 10, 3) (Tang 2014, s. 7.1).

    size: edge length of both. One contact, elastic and without friction: energy must be conserved up to rounding.
    """
    corners = size * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(8.0)
    # The face opposite to the last corner points up; the corner of the other tetrahedron points down, off its center.
    up = _turn_to(-corners[3], np.array([0.0, 0.0, 1.0]))
    depth = float(np.linalg.norm(corners[0]))
    a = Bodies(
        Hull(corners @ up),
        np.array([[0.1 * size, 0.07 * size, (depth / 3.0) + depth + 0.1 * size]]),
        (0.0, 0.0, -speed),
        spin=(5.0, 10.0, 3.0),
        name="a",
    )
    b = Bodies(Hull(corners @ up), np.zeros((1, 3)), name="b")
    return _elastic(
        "two_tetrahedra",
        [a, b],
        1.0,
        step=1e-4 * size / speed * 100.0,
        duration=0.01 * size / speed * 100.0,
        description="A spinning tetrahedron strikes the face of another one with a corner.",
    )


@declared
def matryoshka(*, shells: Count = 4, restitution: Restitution = 0.8, height: Positive = 1.0) -> Scene:
    """Nested shells, each standing on the bottom of the next larger one, fall on a plane (Smith 2012, fig. 2).

    Under lcp they bounce as one body. Under laws with break-away the inner shells separate from the outer ones.
    """
    thickness, bodies, bottom = 0.08, [], height
    for k in range(shells):
        side = 2.0 * 0.72**k
        bodies.append(
            Bodies(_hollow(side, thickness), np.array([[0.0, 0.0, bottom + 0.5 * side]]), mass=side**2, name=f"{k}")
        )
        bottom += thickness
    return _elastic(
        "matryoshka",
        bodies,
        restitution,
        boundaries=[Plane()],
        gravity=(0.0, 0.0, -10.0),
        step=0.005,
        duration=2.0,
        stepper="drift_safe",
        description=f"{shells} nested shells fall on a plane.",
        symmetries=[MIRROR_X, MIRROR_Y],
    )


@declared
def eight_cubes(
    *, room: Annotated[float, at_least(4.0)] = 10.0, speed: Positive = 1.0, spin: Vector = (0.0, 0.0, 0.5)
) -> Scene:
    """Eight unit cubes, touching, fly apart in a cubic room without gravity, each the mirror image of its neighbors.

    Their velocities are `speed (1, 0.8, 0.6)` and their spins `spin` in the first octant, mirrored in the others
    (Smith 2012, fig. 8). Cubes that rotate about z only hit the boundary and each other with edges and faces,
    several contacts at once: there the laws differ. With a spin such as (0.15, -0.35, 0.5) they hit with corners, one
    contact per pair, and all symmetric laws agree.
    """
    octants = np.array(list(itertools.product((1.0, -1.0), repeat=3)))
    axial = octants * octants.prod(axis=1)[:, None]  # spins are axial vectors: a mirror reverses them
    cubes = Bodies(
        Box((1.0, 1.0, 1.0)),
        0.5 * octants,
        speed * np.array([1.0, 0.8, 0.6]) * octants,
        spin=np.array(spin) * axial,
        mass=1.0,
        name="cubes",
    )
    half = 0.5 * room
    return _elastic(
        "eight_cubes",
        [cubes],
        1.0,
        boundaries=[Container((-half, -half, -half), (half, half, half))],
        duration=100.0,
        description="Eight cubes fly apart in a room, symmetric in all three directions.",
        symmetries=[MIRROR_X, MIRROR_Y, mirror_plane((0.0, 0.0, 1.0))],
    )


@declared
def trefoil_drop(
    *,
    height: Positive = 3.0,
    spin: Number = 1.0,
    tube: Annotated[float, between(0.05, 0.45)] = 0.4,
    detail: Annotated[int, whole(8)] = 48,
) -> Scene:
    """A trefoil knot falls flat on a plane, on its three lobes, with 3-fold symmetry (Smith 2012, fig. 8).

    spin: about z, which contact without friction cannot change. tube: radius of the rope; the knot is about 6 wide.
    detail: points along each third of the rope.
    """
    vertices, faces = trefoil(3.0, tube, 12, 3 * detail)
    low = float(vertices[:, 2].min())
    start = np.array([[0.0, 0.0, height - low]])
    knot = Bodies(Mesh(vertices=vertices, faces=faces), start, spin=(0.0, 0.0, spin), name="knot")
    cos, sin = -0.5, float(np.sqrt(0.75))
    turn = Symmetry(((cos, -sin, 0.0), (sin, cos, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, 0.0), "turn by 1/3")
    return _elastic(
        "trefoil_drop",
        [knot],
        1.0,
        boundaries=[Plane()],
        gravity=(0.0, 0.0, -10.0),
        duration=100.0,
        description="A trefoil knot falls flat on a plane.",
        symmetries=[turn],
    )


def _elastic(name: str, bodies: list[Bodies], restitution: float, **fields: object) -> Scene:
    material = Material(restitution)
    given = {"step": 0.01, "stepper": "synchronous", "materials": {"default": material}, **fields}
    return Scene(name=name, bodies=bodies, **given)  # type: ignore[arg-type]


def _hollow(side: float, wall: float) -> Compound:
    """A closed cubic box of six plates."""
    if not 2.5 * wall < side:
        raise ProblemError("shells", side, f"fewer: the innermost would be narrower than its walls ({wall:g})")
    inner, at = side - 2.0 * wall, 0.5 * (side - wall)
    parts = []
    for sign in (-1.0, 1.0):
        parts.append(Part(Box((side, side, wall)), (0.0, 0.0, sign * at)))
        parts.append(Part(Box((wall, side, inner)), (sign * at, 0.0, 0.0)))
        parts.append(Part(Box((inner, wall, inner)), (0.0, sign * at, 0.0)))
    return Compound(parts)


def _turn_to(start: Floats, end: Floats) -> Floats:
    """A rotation matrix Q with `start @ Q` along `end`."""
    a, b = start / np.linalg.norm(start), end / np.linalg.norm(end)
    v, c = np.cross(a, b), float(a @ b)
    cross = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return (np.eye(3) + cross + cross @ cross / (1.0 + c)).T

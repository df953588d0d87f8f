"""Bodies, boundaries and periodic sides of SCISim's scenes, in 2D and 3D."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..geometry.meshes import read_scisim_mesh
from ..geometry.rotations import of_vector, product, quaternion_of
from ..solvers.rows import Floats
from .boundaries import Boundary, Drum, Periodic, Plane, Tube, Vector
from .model import FREE, Bodies
from .motion import FIXED, Motion, Moving
from .scisim_xml import Node
from .shapes import UNTURNED, Box, Disc, Mesh, Rectangle, Shape, Sphere


class _Shapes(NamedTuple):
    """The shapes of SCISim's scenes in one dimension."""

    kinds: str  # names of all shapes
    ball: str  # name of a disc or sphere
    round: Callable[[float], Shape]  # from its radius
    round_size: Callable[[float], float]  # area or volume
    box: Callable[[tuple[float, ...]], Shape]  # rectangle or box from its widths
    half_widths: str
    axes: str


SHAPES = {
    2: _Shapes(
        kinds="circle or box",
        ball="circle",
        round=Disc,
        round_size=lambda r: np.pi * r * r,
        box=lambda widths: Rectangle(*widths),
        half_widths="two half-widths above 0",
        axes="x or along y",
    ),
    3: _Shapes(
        kinds="sphere, box or mesh",
        ball="sphere",
        round=Sphere,
        round_size=lambda r: 4.0 / 3.0 * np.pi * r * r * r,
        box=lambda widths: Box((widths[0], widths[1], widths[2])),
        half_widths="three half-widths above 0",
        axes="x, y or z",
    ),
}
CLOSE = 1e-9  # of the distance between planes: written in decimals, they need not agree to the last bit
PORTALS = ("planar_portal", "lees_edwards_portal")


@dataclass(frozen=True, eq=False)
class _Geometry:
    """A shape, its area or volume, and for meshes the frame that SCISim gives their vertices."""

    shape: Shape
    size: float
    origin: Floats  # (D,) added to the place of a body
    turn: Floats  # (1, 4) applied before the rotation of the body itself


@dataclass(frozen=True, eq=False)
class _Body:
    """One body of the file; consecutive bodies that agree in `key` form a group."""

    key: tuple[object, ...]  # shape (all discs or spheres count as one), motion
    shape: Shape
    motion: Motion | None
    values: dict[str, Any]  # of the other fields of `Bodies`


def read_bodies(root: Node, dimension: int, folder: Path) -> tuple[Bodies, ...]:
    """The bodies of a scene in groups, in the order of the file. Meshes are sought beside it."""
    shapes = [_geometry(node, dimension, folder) for node in root.all("geometry")]
    bodies = [read(node, shapes) for tag, read in BODIES[dimension].items() for node in root.all(tag)]
    groups = []
    for _, run in groupby(bodies, key=lambda body: body.key):
        some = list(run)
        shape = some[0].shape
        if isinstance(shape, (Disc, Sphere)):
            shape = type(shape)(np.array([body.shape.radius for body in some]))  # type: ignore[attr-defined]
        values: dict[str, Any] = {name: np.array([body.values[name] for body in some]) for name in some[0].values}
        groups.append(Bodies(shape, motion=some[0].motion, rotates=root.tag != "ball2d_scene", **values))
    return tuple(groups)


def _geometry(node: Node, dimension: int, folder: Path) -> _Geometry:
    kind, origin, unturned = node.text("type"), np.zeros(dimension), np.array([UNTURNED])
    shapes = SHAPES[dimension]
    if kind == shapes.ball:
        radius = node.positive("r")
        made = _Geometry(shapes.round(radius), shapes.round_size(radius), origin, unturned)
    elif kind == "box":
        half = node.vector("r", dimension)
        if not min(half) > 0.0:
            raise node.error("r", node.attributes["r"], shapes.half_widths)
        widths = tuple(2.0 * a for a in half)
        made = _Geometry(shapes.box(widths), prod(widths), origin, unturned)
    elif kind == "mesh" and kind in shapes.kinds:
        made = _Geometry(*mesh_of(node, folder))
    else:
        raise node.error("type", kind, shapes.kinds)
    node.no_rest()
    return made


def _ball(node: Node, shapes: Sequence[_Geometry]) -> _Body:
    velocity = node.number("vx"), node.number("vy")
    motion = _motion(node.flag("fixed"), velocity, 0.0)
    shape = Disc(node.positive("r"))
    place = node.number("x"), node.number("y")
    values = {"position": place, "velocity": velocity, "angle": 0.0, "spin": 0.0, "mass": node.positive("m")}
    node.no_rest()
    return _Body(("disc", motion), shape, motion, values)


def _body_2d(node: Node, shapes: Sequence[_Geometry]) -> _Body:
    geometry = shapes[node.whole("geo_idx", len(shapes))]
    shape, velocity, spin = geometry.shape, node.vector("v", 2), node.number("omega")
    motion = _motion(node.flag("fixed", "0"), velocity, spin)
    values = {
        "position": node.vector("x", 2),
        "velocity": velocity,
        "angle": node.number("theta"),
        "spin": spin,
        "mass": geometry.size * node.positive("rho"),
    }
    node.no_rest()
    return _Body(("disc" if isinstance(shape, Disc) else shape, motion), shape, motion, values)


def _motion(fixed: bool, velocity: Vector, spin: float) -> Motion | None:
    """A fixed body of a 2D scene moves at its velocity."""
    if not fixed:
        return FREE
    return Moving(velocity, spin) if any(velocity) or spin else FIXED


def _body_3d(node: Node, shapes: Sequence[_Geometry]) -> _Body:
    number = node.whole("geo_idx", len(shapes))
    geometry = shapes[number]
    velocity, spin = node.vector("v", 3), node.vector("omega", 3)
    fixed = node.flag("fixed")
    for name, value in (("v", velocity), ("omega", spin)):
        if fixed and any(value):
            raise node.error(name, node.attributes[name], "0 0 0: in 3D only a script moves fixed bodies")
    motion = FIXED if fixed else FREE
    turn = of_vector(np.array([node.vector("R", 3, "0 0 0")]))
    values = {
        "position": np.array(node.vector("x", 3)) + geometry.origin,
        "velocity": velocity,
        "orientation": product(turn, geometry.turn)[0],
        "spin": spin,
        "mass": geometry.size * node.positive("rho"),
    }
    node.no_rest()
    return _Body(("sphere" if isinstance(geometry.shape, Sphere) else number, motion), geometry.shape, motion, values)


BODIES = {2: {"ball": _ball, "rigid_body": _body_2d}, 3: {"rigid_body_with_density": _body_3d}}  # readers by element


# ---- boundaries and periodic sides


def read_boundaries(root: Node, dimension: int) -> tuple[tuple[Boundary, ...], Periodic | None]:
    """Planes, drums and cylinders with bodies inside, and periodic sides."""
    planes = list(root.all("static_plane"))
    for node in planes:
        node.direction("n", dimension)
        node.vector("x", dimension)
        node.no_rest()
    periodic, taken = _periodic(root, planes, dimension)
    out: list[Boundary] = [
        Plane(node.vector("x", dimension), node.vector("n", dimension))
        for i, node in enumerate(planes)
        if i not in taken
    ]
    for node in root.all("static_drum", "static_cylinder"):
        if node.tag == "static_drum":
            out.append(Drum(node.positive("r"), (node.number("x"), node.number("y"))))
        else:
            out.append(Tube(node.positive("R"), node.vector("x", 3), node.direction("axis", 3)))
        node.no_rest()
    return tuple(out), periodic


def _periodic(root: Node, planes: Sequence[Node], dimension: int) -> tuple[Periodic | None, set[int]]:
    """The periodic sides that the portals of a scene make, and which planes they use."""
    taken: set[int] = set()
    sides: dict[str, Vector] = {}
    moving: list[tuple[Node, int]] = []
    for node in root.all(*PORTALS):
        pair = [node.whole(name, len(planes)) for name in ("planeA", "planeB")]
        for name, index in zip(("planeA", "planeB"), pair):
            if index in taken:
                raise node.error(name, index, "a plane that no portal has yet")
            taken.add(index)
        axis, side = _side(node, planes[pair[0]], planes[pair[1]], dimension)
        if "xyz"[axis] in sides:
            raise node.error("", f"a second portal across {'xyz'[axis]}", "one for each direction")
        sides["xyz"[axis]] = side
        if dimension == 3:
            _check_signs(node, axis)
        if node.tag == "lees_edwards_portal":
            moving.append((node, axis))
    if len(moving) > 1:
        raise moving[1][0].error("", "a second Lees-Edwards portal", "one")
    shear = {"shear_rate": _shear_rate(*moving[0], sides), "sheared": "xy"[moving[0][1]]} if moving else {}
    for node in root.all(*PORTALS):
        node.no_rest()
    return (Periodic(**sides, **shear) if sides else None), taken  # type: ignore[arg-type]


def _side(node: Node, a: Node, b: Node, dimension: int) -> tuple[int, Vector]:
    """The axis and (low, high) of two planes that face each other, with points opposite each other."""
    normals = [np.array(plane.vector("n", dimension)) for plane in (a, b)]
    normals = [normal / np.linalg.norm(normal) for normal in normals]
    points = [np.array(plane.vector("x", dimension)) for plane in (a, b)]
    axis = int(np.argmax(np.abs(normals[0])))
    across = [k for k in range(dimension) if k != axis]
    if np.abs(normals[0] + normals[1]).max() > CLOSE or np.abs(normals[0][across]).max() > CLOSE:
        text = f"planes with normals {a.attributes['n']} and {b.attributes['n']}"
        raise node.error("", text, f"two planes that face each other along {SHAPES[dimension].axes}")
    low, high = (points[0], points[1]) if normals[0][axis] > 0.0 else (points[1], points[0])
    where = f"planes at {a.attributes['x']} and {b.attributes['x']}"
    if not low[axis] < high[axis]:
        raise node.error("", where, "planes with the scene between them")
    if np.abs(low - high)[across].max() > CLOSE * (high - low)[axis]:
        # SCISim keeps offsets along the planes: such a portal also shifts what passes through it.
        raise node.error("", where, "points opposite each other")
    return axis, (float(low[axis]), float(high[axis]))


def _check_signs(node: Node, axis: int) -> None:
    """Refuses portals that mirror.

    `multiplier` has the signs with which SCISim inserts what leaves, along the normal and the two axes of a plane.
    These axes are x and z, rotated as y is rotated to the normal: one of the two keeps its direction from plane to
    plane, the other does not.
    """
    straight = {0: ["1 1 -1"], 1: ["1 1 -1", "1 -1 1"], 2: ["1 -1 1"]}[axis]
    if " ".join(f"{sign:g}" for sign in node.vector("multiplier", 3)) not in straight:
        raise node.error("multiplier", node.attributes["multiplier"], f"{' or '.join(straight)}: nothing is mirrored")


def _shear_rate(node: Node, axis: int, sides: dict[str, Vector]) -> float:
    """Speed of the image on the high side over the distance of the sides.

    SCISim adds the velocity -v (n rotated by 90 degrees counterclockwise) to a body that leaves at a plane with normal
    n: the image above the high y side moves at +v along x, the image beyond the high x side at -v along y.
    """
    speed, bounds = node.number("v"), node.positive("bounds")
    across, side = "xy"[1 - axis], sides["xy"[axis]]
    if across not in sides or abs((sides[across][1] - sides[across][0]) - 2.0 * bounds) > CLOSE * bounds:
        raise node.error("bounds", node.attributes["bounds"], f"half the width of a planar_portal across {across}")
    return (speed if axis == 1 else -speed) / (side[1] - side[0])


def mesh_of(node: Node, folder: Path) -> tuple[Mesh, float, Floats, Floats]:
    """The mesh of a geometry, its volume, and the frame of its vertices: center (3,), quaternion (1, 4)."""
    try:
        vertices, faces, volume, center, matrix = read_scisim_mesh(_found(node, folder))
    except ValueError as reason:
        raise node.error("filename", node.attributes["filename"], str(reason)) from None
    return Mesh(vertices=vertices, faces=faces), volume, center, quaternion_of(matrix)[None]


def _found(node: Node, folder: Path) -> Path:
    """SCISim's scenes name meshes from where it was started: the scene's folder, or one above it."""
    name = Path(node.text("filename"))
    for start in (folder, *folder.absolute().parents):
        if (start / name).is_file():
            return start / name
    if (folder / name.name).is_file():
        return folder / name.name
    raise node.error("filename", str(name), "a file that exists, from the scene's folder or one above it")

"""What SCISim's rigidbody3d scenes have of their own: bodies, planes, cylinders, portals and integrators of space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from ..geometry.rotations import of_vector, product
from ..solvers.rows import Floats
from .barriers import Plane, Tube
from .boundaries import Boundary, Periodic, Vector
from .markup import Node
from .model import FREE, Bodies
from .motion import FIXED, Motion
from .scisim_contact import Notes
from .scisim_mesh import mesh_of
from .solids import Cuboid, Solid, Sphere, Vector3

INTEGRATORS = {"dmv": "dmv", "split_ham": "split"}
CLOSE = 1e-9  # of the distance between planes: written in decimals, they need not agree to the last bit


@dataclass(frozen=True, eq=False)
class _Geometry:
    """A shape, its volume, and for meshes the frame that SCISim gives their vertices."""

    shape: Solid
    volume: float
    origin: Floats  # (3,) added to the place of a body
    turn: Floats  # (1, 4) applied before the body's own turn


@dataclass(frozen=True, eq=False)
class _Body:
    """One body of the file; bodies in a row that agree in `key` form a group."""

    key: tuple[object, ...]  # number of the geometry (all spheres count as one), motion
    geometry: _Geometry
    place: Floats
    orientation: Floats
    velocity: Vector3
    spin: Vector3
    mass: float
    motion: Motion | None


def space_bodies(root: Node, folder: Path) -> tuple[Bodies, ...]:
    """The bodies of a scene in groups, in the order of the file. Meshes are looked for beside it."""
    shapes = [_geometry(node, folder) for node in root.all("geometry")]
    return _groups([_body(node, shapes) for node in root.all("rigid_body_with_density")])


def _geometry(node: Node, folder: Path) -> _Geometry:
    kind = node.text("type")
    unturned = np.array([[1.0, 0.0, 0.0, 0.0]])
    if kind == "sphere":
        r = node.number("r", "a number above 0", 0.0, above=True)
        made = _Geometry(Sphere(r), 4.0 / 3.0 * np.pi * r**3, np.zeros(3), unturned)
    elif kind == "box":
        a, b, c = node.vector3("r")
        if not min(a, b, c) > 0.0:
            raise node.error("r", node.attributes["r"], "three half-widths above 0")
        made = _Geometry(Cuboid((2.0 * a, 2.0 * b, 2.0 * c)), 8.0 * a * b * c, np.zeros(3), unturned)
    elif kind == "mesh":
        made = _Geometry(*mesh_of(node, folder))
    else:
        raise node.error("type", kind, "sphere, box or mesh")
    node.no_rest()
    return made


def _body(node: Node, shapes: Sequence[_Geometry]) -> _Body:
    number = node.whole("geo_idx", len(shapes))
    geometry = shapes[number]
    velocity, spin = node.vector3("v"), node.vector3("omega")
    fixed = node.flag("fixed")
    for name, value in (("v", velocity), ("omega", spin)):
        if fixed and any(value):
            raise node.error(name, node.attributes[name], "0 0 0: only a script moves fixed bodies of space")
    motion = FIXED if fixed else FREE
    turn = of_vector(np.array([node.vector3("R", "0 0 0")]))
    body = _Body(
        key=("sphere" if isinstance(geometry.shape, Sphere) else number, motion),
        geometry=geometry,
        place=np.array(node.vector3("x")) + geometry.origin,
        orientation=product(turn, geometry.turn)[0],
        velocity=velocity,
        spin=spin,
        mass=geometry.volume * node.number("rho", "a number above 0", 0.0, above=True),
        motion=motion,
    )
    node.no_rest()
    return body


def _groups(bodies: Sequence[_Body]) -> tuple[Bodies, ...]:
    """Bodies in a row that share shape and motion become one group."""
    out = []
    for _, run in groupby(bodies, key=lambda body: body.key):
        some = list(run)
        shape = some[0].geometry.shape
        if isinstance(shape, Sphere):
            shape = Sphere(np.array([body.geometry.shape.radius for body in some]))  # type: ignore[attr-defined]
        out.append(
            Bodies(
                shape=shape,
                position=np.array([body.place for body in some]),
                velocity=np.array([body.velocity for body in some]),
                orientation=np.array([body.orientation for body in some]),
                spin=np.array([body.spin for body in some]),
                mass=np.array([body.mass for body in some]),
                motion=some[0].motion,
            )
        )
    return tuple(out)


def space_gravity(root: Node) -> Vector3:
    """The sum of all gravities, as the forces add up there too."""
    total = np.zeros(3)
    for node in root.all("near_earth_gravity"):
        total += node.vector3("f")
        node.no_rest()
    return float(total[0]), float(total[1]), float(total[2])


def space_integrator(root: Node, notes: Notes) -> tuple[float, str]:
    """The time step, and the name of the integrator of rotations."""
    node = root.only("integrator")
    if node is None:
        raise root.error("", "no integrator", "an <integrator> with a time step dt")
    kind = node.text("type")
    if kind not in (*INTEGRATORS, "exponential_euler"):
        raise node.error("type", kind, f"{', '.join(INTEGRATORS)} or exponential_euler")
    if kind == "exponential_euler":
        notes.differs.append("integrator exponential_euler: Carom takes its split integrator, which is of second order")
    step = node.number("dt", "a number above 0", 0.0, above=True)
    node.no_rest()
    return step, INTEGRATORS.get(kind, "split")


def space_surroundings(root: Node) -> tuple[tuple[Boundary, ...], Periodic | None]:
    """Planes, cylinders (bodies are inside) and periodic sides."""
    planes = list(root.all("static_plane"))
    for node in planes:
        node.vector3("x")
        _direction(node, "n")
        node.no_rest()
    periodic, taken = _portals(root, planes)
    walls: list[Boundary] = [
        Plane(node.vector3("x"), node.vector3("n")) for i, node in enumerate(planes) if i not in taken
    ]
    for node in root.all("static_cylinder"):
        radius = node.number("R", "a number above 0", 0.0, above=True)
        walls.append(Tube(radius, node.vector3("x"), _direction(node, "axis")))
        node.no_rest()
    return tuple(walls), periodic


def _direction(node: Node, name: str) -> Vector3:
    vector = node.vector3(name)
    if not any(vector):
        raise node.error(name, node.attributes[name], "a direction that is not zero")
    return vector


def _portals(root: Node, planes: Sequence[Node]) -> tuple[Periodic | None, set[int]]:
    """The periodic sides that the portals make, and which planes they take for it."""
    taken: set[int] = set()
    sides: dict[str, Vector] = {}
    for node in root.all("planar_portal"):
        pair = [node.whole(name, len(planes)) for name in ("planeA", "planeB")]
        for name, index in zip(("planeA", "planeB"), pair):
            if index in taken:
                raise node.error(name, index, "a plane that no portal has yet")
            taken.add(index)
        axis, side = _side(node, planes[pair[0]], planes[pair[1]])
        if axis in sides:
            raise node.error("", f"a second portal across {axis}", "one for each direction")
        sides[axis] = side
        node.no_rest()
    return (Periodic(sides.get("x"), sides.get("y"), z=sides.get("z")) if sides else None), taken


def _side(node: Node, a: Node, b: Node) -> tuple[str, Vector]:
    """The axis and (low, high) of two planes that face each other, points opposite, without mirroring."""
    normals = [np.array(plane.vector3("n")) / np.linalg.norm(plane.vector3("n")) for plane in (a, b)]
    points = [np.array(plane.vector3("x")) for plane in (a, b)]
    axis = int(np.argmax(np.abs(normals[0])))
    across = [k for k in range(3) if k != axis]
    if np.abs(normals[0] + normals[1]).max() > CLOSE or np.abs(normals[0][across]).max() > CLOSE:
        text = f"planes with normals {a.attributes['n']} and {b.attributes['n']}"
        raise node.error("", text, "two planes that face each other along x, y or z")
    low, high = (points[0], points[1]) if normals[0][axis] > 0.0 else (points[1], points[0])
    where = f"planes at {a.attributes['x']} and {b.attributes['x']}"
    if not low[axis] < high[axis]:
        raise node.error("", where, "planes with the scene between them")
    if np.abs(low - high)[across].max() > CLOSE * (high - low)[axis]:
        raise node.error("", where, "points opposite each other")
    # Signs with which SCISim puts in what leaves, along the normal and the two axes of a plane. These axes are x and z
    # turned as y is turned to the normal: one of the two keeps its direction from plane to plane, the other does not.
    signs = node.vector3("multiplier")
    straight = {0: ["1 1 -1"], 1: ["1 1 -1", "1 -1 1"], 2: ["1 -1 1"]}[axis]
    if " ".join(f"{sign:g}" for sign in signs) not in straight:
        raise node.error("multiplier", node.attributes["multiplier"], f"{' or '.join(straight)}: nothing is mirrored")
    return "xyz"[axis], (float(low[axis]), float(high[axis]))

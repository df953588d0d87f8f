"""Reads the XML scenes of SCISim, the simulator of the authors of Smith 2012: ball2d, rigidbody2d and rigidbody3d.

What Carom does not use is named in a `SceneWarning`; what it cannot honor and would change the motion is a
ProblemError with the line. A body keeps its number: the order of the file is the order of the scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from ..errors import ProblemError
from .boundaries import Boundary, Drum, HalfPlane, Periodic, Vector
from .markup import Node, read_xml
from .model import FREE, Bodies, Disc, Material, Rectangle, Scene
from .motion import FIXED, Motion, Moving
from .scisim_contact import Notes, SceneWarning, read_contact
from .scisim_portals import periodic_sides
from .scisim_space import space_bodies, space_gravity, space_integrator, space_surroundings

__all__ = ["SceneWarning", "read_scisim"]

SPACE = "rigidbody3d_scene"
KINDS = ("ball2d_scene", "rigidbody2d_scene", SPACE)
DURATION = 10.0  # a scene without end_time runs until it is stopped; a run of Carom needs an end

# Elements that only tell how to draw.
DRAWING = (
    "global_render_settings",
    "static_plane_renderer",
    "static_drum_renderer",
    "static_cylinder_renderer",
    "portal_renderer",
)
SHARED = (
    *("integrator", "impact_operator", "sobogus_friction_solver", "staggered_projections_friction_solver"),
    *("static_plane", "planar_portal", "end_time"),
)
KNOWN = {
    "ball2d_scene": (*SHARED, "camera", "lees_edwards_portal", "gravity", "static_drum", "ball"),
    "rigidbody2d_scene": (*SHARED, "camera", "lees_edwards_portal", "near_earth_gravity", "geometry", "rigid_body"),
    SPACE: (
        *SHARED,
        *("camera_perspective", "camera_orthographic", "grr_friction_solver", "static_cylinder"),
        *("near_earth_gravity", "geometry", "rigid_body_with_density"),
    ),
}
REFUSED = {
    "scripting": "a scene without scripting callbacks (write the motion as a Python scene instead)",
    "penalty": "a scene without penalty forces: Carom resolves contacts by impulses",
    "hertzian_penalty": "a scene without penalty forces: Carom resolves contacts by impulses",
}


@dataclass(frozen=True)
class _Body:
    """One body of the file; bodies in a row that agree in `key` form a group."""

    key: tuple[object, ...]  # shape without the radius, motion
    shape: Disc | Rectangle
    place: Vector
    velocity: Vector
    mass: float
    motion: Motion | None
    angle: float = 0.0
    spin: float = 0.0


def read_scisim(path: str | Path) -> Scene:
    """The scene of a SCISim file of kind ball2d, rigidbody2d or rigidbody3d.

    Balls of ball2d do not turn. Rigid bodies have mass density times area or volume. A fixed body of the plane with a
    velocity moves at it. Axes stay as they are: most scenes of space have y upwards.
    """
    root, comment = read_xml(path)
    name = Path(path).name
    if root.tag not in KINDS:
        raise ProblemError(name, f"<{root.tag}>", "a SCISim scene: " + ", ".join(f"<{kind}>" for kind in KINDS))
    notes = Notes()
    _check_tags(root, notes)
    in_space = root.tag == SPACE
    groups = space_bodies(root, Path(path).parent) if in_space else _plane_bodies(root)
    if not groups:
        raise ProblemError(name, "no body", f"at least one {KNOWN[root.tag][-1]}")
    gravity = space_gravity(root) if in_space else _gravity(root)
    step, integrator = space_integrator(root, notes) if in_space else (_step(root, bool(np.any(gravity)), notes), "dmv")
    contact = read_contact(root, notes, in_space)
    boundaries, periodic = space_surroundings(root) if in_space else _surroundings(root)
    frame_rate, duration = _camera(root, notes), _end_time(root, notes)
    notes.say(name)
    return Scene(
        name=Path(path).stem,
        bodies=groups,
        boundaries=boundaries,
        periodic=periodic,
        materials={"default": Material(contact.restitution, contact.friction)},
        gravity=gravity,
        step=step,
        duration=duration,
        frame_rate=frame_rate,
        stepper=contact.stepper,
        integrator=integrator,
        law=contact.law,
        restitution_model=contact.restitution_model,
        friction_model=contact.friction_model,
        description=comment,
        parameters={"source": name, "format": root.tag},
    )


def _check_tags(root: Node, notes: Notes) -> None:
    for node in root.children:
        if node.tag in REFUSED:
            raise node.error("", f"<{node.tag}>", REFUSED[node.tag])
        if node.tag in DRAWING:
            notes.unused.append(node.tag)
        elif node.tag not in KNOWN[root.tag]:
            raise node.error("", f"<{node.tag}>", f"an element of a {root.tag} ({', '.join(KNOWN[root.tag])})")


def _plane_bodies(root: Node) -> tuple[Bodies, ...]:
    turns = root.tag == "rigidbody2d_scene"
    return _groups(_rigid_bodies(root) if turns else _balls(root), turns)


def _balls(root: Node) -> list[_Body]:
    out = []
    for node in root.all("ball"):
        velocity = node.number("vx"), node.number("vy")
        motion = _motion(node.flag("fixed"), velocity, 0.0)
        out.append(
            _Body(
                key=("disc", motion),
                shape=Disc(node.number("r", "a number above 0", 0.0, above=True)),
                place=(node.number("x"), node.number("y")),
                velocity=velocity,
                mass=node.number("m", "a number above 0", 0.0, above=True),
                motion=motion,
            )
        )
        node.no_rest()
    return out


def _rigid_bodies(root: Node) -> list[_Body]:
    shapes = [_geometry(node) for node in root.all("geometry")]
    out = []
    for node in root.all("rigid_body"):
        shape, area = shapes[node.whole("geo_idx", len(shapes))]
        velocity, spin = node.vector("v"), node.number("omega")
        motion = _motion(node.flag("fixed", "0"), velocity, spin)
        out.append(
            _Body(
                key=("disc" if isinstance(shape, Disc) else shape, motion),
                shape=shape,
                place=node.vector("x"),
                velocity=velocity,
                mass=area * node.number("rho", "a number above 0", 0.0, above=True),
                motion=motion,
                angle=node.number("theta"),
                spin=spin,
            )
        )
        node.no_rest()
    return out


def _geometry(node: Node) -> tuple[Disc | Rectangle, float]:
    """A shape and its area."""
    kind = node.text("type")
    if kind == "circle":
        r = node.number("r", "a number above 0", 0.0, above=True)
        node.no_rest()
        return Disc(r), np.pi * r * r
    if kind == "box":
        a, b = node.vector("r")
        if not (a > 0.0 and b > 0.0):
            raise node.error("r", node.attributes["r"], "two half-widths above 0")
        node.no_rest()
        return Rectangle(2.0 * a, 2.0 * b), 4.0 * a * b
    raise node.error("type", kind, "circle or box")


def _motion(fixed: bool, velocity: Vector, spin: float) -> Motion | None:
    if not fixed:
        return FREE
    return Moving(velocity, spin) if any(velocity) or spin else FIXED


def _groups(bodies: Sequence[_Body], turns: bool) -> tuple[Bodies, ...]:
    """Bodies in a row that share shape and motion become one group."""
    out = []
    for _, run in groupby(bodies, key=lambda body: body.key):
        some = list(run)
        first = some[0]
        radii = np.array([body.shape.radius for body in some if isinstance(body.shape, Disc)])
        out.append(
            Bodies(
                shape=Disc(radii) if len(radii) else first.shape,
                position=np.array([body.place for body in some]),
                velocity=np.array([body.velocity for body in some]),
                angle=np.array([body.angle for body in some]),
                spin=np.array([body.spin for body in some]),
                mass=np.array([body.mass for body in some]),
                motion=first.motion,
                rotates=turns,
            )
        )
    return tuple(out)


def _gravity(root: Node) -> Vector:
    """The sum of all gravities, as the forces add up there too."""
    total = np.zeros(2)
    for node in root.all("gravity"):
        total += node.number("fx"), node.number("fy")
        node.no_rest()
    for node in root.all("near_earth_gravity"):
        total += node.vector("f")
        node.no_rest()
    return float(total[0]), float(total[1])


def _step(root: Node, weighs: bool, notes: Notes) -> float:
    node = root.only("integrator")
    if node is None:
        raise root.error("", "no integrator", "an <integrator> with a time step dt")
    kind = node.text("type")
    if kind not in ("verlet", "symplectic_euler"):
        raise node.error(
            "type", kind, "verlet or symplectic_euler (others, such as hybrid ones, move bodies otherwise)"
        )
    if kind == "symplectic_euler" and weighs:
        notes.differs.append(
            "integrator symplectic_euler: Carom steps with Verlet, which is exact for uniform gravity; free fall from "
            "rest is behind SCISim's by half a step, g h t / 2"
        )
    step = node.number("dt", "a number above 0", 0.0, above=True)
    node.no_rest()
    return step


def _surroundings(root: Node) -> tuple[tuple[Boundary, ...], Periodic | None]:
    planes = list(root.all("static_plane"))
    for node in planes:
        if not np.hypot(*node.vector("n")) > 0.0:
            raise node.error("n", node.attributes["n"], "a direction that is not zero")
        node.vector("x")
        node.no_rest()
    periodic, taken = periodic_sides(root, planes)
    walls: list[Boundary] = [
        HalfPlane(node.vector("x"), node.vector("n")) for i, node in enumerate(planes) if i not in taken
    ]
    for node in root.all("static_drum"):
        walls.append(Drum(node.number("r", "a number above 0", 0.0, above=True), (node.number("x"), node.number("y"))))
        node.no_rest()
    return tuple(walls), periodic


def _camera(root: Node, notes: Notes) -> float:
    found = [node for tag in ("camera", "camera_perspective", "camera_orthographic") if (node := root.only(tag))]
    if not found:
        return 50.0
    node = found[0]
    rate = node.number("fps", "a number above 0", 0.0, above=True)
    notes.leave(node)
    return rate


def _end_time(root: Node, notes: Notes) -> float:
    node = root.only("end_time")
    if node is None:
        return DURATION
    end = node.number("t", "a number above 0", 0.0, above=True)
    notes.leave(node)
    return end

"""Reader of URDF files, the robot descriptions of ROS: links with inertias and collision shapes, joints with limits.

Links that fixed joints connect are one body: masses, centers and moments of inertia are added. A root link without mass
is fixed to the world; one with mass is free. The robot starts with all joints at zero, or at the nearest limit.

What a scene cannot express and what would change the motion raises ProblemError with the line; what has no meaning for
motion under impacts, and what is approximated, is named in one `SceneWarning`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, sin
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import ProblemError
from ..geometry.mass_properties import principal_axes
from ..geometry.rotations import quaternion_of
from ..solvers.rows import Floats
from .joints import WORLD, Hinge, Joint, Slider
from .model import Bodies, Scene
from .motion import FIXED
from .scisim import Notes
from .scisim_xml import Node, read_xml
from .shapes import Box, Capsule, Compound, Cylinder, Mesh, Part, Solid, Sphere

MOVING = ("revolute", "continuous", "prismatic")
REFUSED_JOINTS = {"planar": "a joint along one axis", "floating": "a robot with one free root link"}
UNUSED = ("visual", "material", "transmission", "gazebo", "sensor", "safety_controller", "calibration")
WIDEST_LIMIT = 3.1  # largest angle of a limit from the start, as for `Hinge`
GRAVITY, STEP, DURATION = (0.0, 0.0, -9.81), 0.002, 2.0
STAND_IN = 0.1  # radius of the sphere of a link without collision shapes, over its radius of gyration


class Frame(NamedTuple):
    """A pose: a point x is at `place + turn @ x`."""

    place: Floats  # (3,)
    turn: Floats  # (3, 3)

    def __matmul__(self, other: Frame) -> Frame:
        return Frame(self.place + self.turn @ other.place, self.turn @ other.turn)


HERE = Frame(np.zeros(3), np.eye(3))


@dataclass
class _Link:
    """A link, with all links that fixed joints attach to it, in its own frame."""

    node: Node
    name: str
    mass: float = 0.0
    moment: Floats = field(default_factory=lambda: np.zeros(3))  # mass times center
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))  # about the origin of the link
    parts: list[Part] = field(default_factory=list)


class _Joint(NamedTuple):
    node: Node
    name: str
    kind: str
    parent: str
    child: str
    frame: Frame  # of the child in that of the parent, at zero
    axis: Floats  # (3,) in the frame of the child


def read_urdf(path: str | Path) -> Scene:
    """The scene of a robot: one body per moving link, named like it, hinges and sliders, gravity along -z."""
    root, comment = read_xml(path)
    if root.tag != "robot":
        raise ProblemError(Path(path).name, f"<{root.tag}>", "a URDF file: <robot>")
    notes = Notes()
    notes.unused += [f"<{child.tag}>" for child in root.children if child.tag not in ("link", "joint")]
    links = {link.name: link for link in (_link(node, Path(path).parent, notes) for node in root.all("link"))}
    if len(links) < len(list(root.all("link"))):
        raise ProblemError(Path(path).name, "two links of one name", "links with different names")
    joints = [_joint(node, links, notes) for node in root.all("joint")]
    base = _root(Path(path).name, links, joints)
    scene = _Robot(links, joints, notes).scene(base, root.text("name", Path(path).stem), comment)
    notes.warn(Path(path).name)
    return scene


# ---- elements


def _frame(node: Node | None) -> Frame:
    """The pose of an <origin>: rotations about the fixed axes x, y and z, in this order."""
    if node is None:
        return HERE
    place, (roll, pitch, yaw) = np.array(node.vector("xyz", 3, "0 0 0")), node.vector("rpy", 3, "0 0 0")
    node.no_rest()
    x = np.array([[1, 0, 0], [0, cos(roll), -sin(roll)], [0, sin(roll), cos(roll)]])
    y = np.array([[cos(pitch), 0, sin(pitch)], [0, 1, 0], [-sin(pitch), 0, cos(pitch)]])
    z = np.array([[cos(yaw), -sin(yaw), 0], [sin(yaw), cos(yaw), 0], [0, 0, 1]])
    return Frame(place, z @ y @ x)


def _link(node: Node, folder: Path, notes: Notes) -> _Link:
    link = _Link(node, node.text("name"))
    _leave(node, ("inertial", "collision"), notes)
    inertial = node.only("inertial")
    if inertial is not None:
        _weigh(link, inertial)
    for given in node.all("collision"):
        geometry = given.only("geometry")
        if geometry is None or len(geometry.children) != 1:
            raise given.error("", "no geometry", "a <geometry> with one shape")
        shape, center = _shape(geometry.children[0], folder)
        at = _frame(given.only("origin")) @ Frame(center, np.eye(3))
        link.parts.append(_part(shape, at))
    return link


def _part(shape: Solid, at: Frame) -> Part:
    x, y, z = at.place.tolist()
    return Part(shape, (x, y, z), tuple(quaternion_of(at.turn).tolist()))


def _weigh(link: _Link, inertial: Node) -> None:
    """Adds mass, center and inertia of an <inertial>."""
    at, mass, given = _frame(inertial.only("origin")), inertial.only("mass"), inertial.only("inertia")
    if mass is None or given is None:
        raise inertial.error("", f"no <{'mass' if mass is None else 'inertia'}>", "<mass> and <inertia>")
    weight = mass.positive("value")
    xx, xy, xz, yy, yz, zz = (given.number(name) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    low, middle, high = np.linalg.eigvalsh(own)
    if not low > 0.0 or high > (low + middle) * (1.0 + 1e-6):
        wanted = "a positive definite matrix, no principal moment above the sum of the two others"
        raise given.error("", f"principal moments {low:g}, {middle:g}, {high:g}", wanted)
    _add(link, weight, at.place, at.turn @ own @ at.turn.T)


def _add(link: _Link, mass: float, center: Floats, inertia: Floats) -> None:
    """Adds a mass with its inertia about its own center."""
    link.mass += mass
    link.moment = link.moment + mass * center
    link.inertia = link.inertia + inertia + mass * ((center @ center) * np.eye(3) - np.outer(center, center))


def _shape(node: Node, folder: Path) -> tuple[Solid, Floats]:
    """A collision shape, and its center of mass in the frame of its geometry."""
    shape: Solid
    if node.tag == "box":
        x, y, z = node.vector("size", 3)
        if not min(x, y, z) > 0.0:
            raise node.error("size", node.attributes["size"], "three edge lengths above 0")
        shape = Box((x, y, z))
    elif node.tag == "sphere":
        shape = Sphere(node.positive("radius"))
    elif node.tag in ("cylinder", "capsule"):
        make = Cylinder if node.tag == "cylinder" else Capsule
        shape = make(node.positive("radius"), node.positive("length"))
    elif node.tag == "mesh":
        return _mesh(node, folder)
    else:
        raise node.error("", f"<{node.tag}>", "<box>, <sphere>, <cylinder>, <capsule> or <mesh>")
    node.no_rest()
    return shape, np.zeros(3)


def _mesh(node: Node, folder: Path) -> tuple[Solid, Floats]:
    from ..geometry.shapes import ShapeList
    from .parts import placed_shapes  # they load the geometry of meshes, which few robots need

    given, scale = node.text("filename"), node.vector("scale", 3, "1 1 1")
    if not scale[0] == scale[1] == scale[2] > 0.0:
        raise node.error("scale", node.attributes["scale"], "three equal numbers above 0")
    plain = given.removeprefix("file://")
    places = [folder / plain]
    if given.startswith("package://"):  # a package is a folder above the file, or one beside it
        package, _, inside = given.removeprefix("package://").partition("/")
        above = [folder, *folder.resolve().parents]
        places = [p / inside for p in above if p.name == package] + [p / package / inside for p in above]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise node.error("filename", given, "a file beside the URDF file, or in its package")
    shape = Mesh(str(found), scale=scale[0])
    return shape, placed_shapes(f"{node.file}, line {node.line}", shape, ShapeList(), for_contact=False)[1]


def _joint(node: Node, links: dict[str, _Link], notes: Notes) -> _Joint:
    name, kind = node.text("name"), node.text("type")
    if kind in REFUSED_JOINTS:
        raise node.error("type", kind, REFUSED_JOINTS[kind])
    if kind not in (*MOVING, "fixed"):
        raise node.error("type", kind, ", ".join((*MOVING, "fixed")))
    ends = []
    for tag in ("parent", "child"):
        end = node.only(tag)
        if end is None:
            raise node.error("", f"no <{tag}>", f"a <{tag}>")
        if end.text("link") not in links:
            raise ProblemError.unknown(f"{node.file}, line {end.line}, {tag}.link", end.text("link"), links)
        ends.append(end.text("link"))
    mimic = node.only("mimic")
    if mimic is not None:
        raise mimic.error("", f"<mimic> of joint {name}", "joints that move by themselves: scenes have no gears")
    _leave(node, ("origin", "parent", "child", "axis", "limit", "dynamics"), notes)
    axis = node.only("axis")
    along = np.array([1.0, 0.0, 0.0] if axis is None else axis.direction("xyz", 3))
    return _Joint(
        node, name, kind, ends[0], ends[1], _frame(node.only("origin")), along / np.linalg.norm(along)
    )  # fmt: skip


def _leave(node: Node, known: tuple[str, ...], notes: Notes) -> None:
    """Notes children that mean nothing here; unknown ones are an error."""
    for child in node.children:
        if child.tag in UNUSED:
            notes.unused.append(f"<{child.tag}>")
        elif child.tag not in known:
            raise child.error("", f"<{child.tag}>", "one of " + ", ".join(f"<{tag}>" for tag in (*known, *UNUSED)))


def _root(file: str, links: dict[str, _Link], joints: list[_Joint]) -> str:
    """The link that is no child; joints must form a tree below it."""
    if not links:
        raise ProblemError(file, "no <link>", "at least one link")
    parent: dict[str, str] = {}
    for joint in joints:
        if joint.child in parent:
            raise joint.node.error("", f"a second parent of link {joint.child}", "joints that form a tree")
        parent[joint.child] = joint.parent
    roots = [name for name in links if name not in parent]
    for name in links:
        seen = {name}
        while name in parent:
            name = parent[name]
            if name in seen:
                raise ProblemError(file, f"a loop of joints through link {name}", "joints that form a tree")
            seen.add(name)
    if len(roots) != 1:
        raise ProblemError(file, f"the links {', '.join(roots)} without a parent", "one root: joints that form a tree")
    return roots[0]


# ---- the scene


class _Robot:
    """Walks the tree of links from its root."""

    def __init__(self, links: dict[str, _Link], joints: list[_Joint], notes: Notes) -> None:
        self.links, self.notes = links, notes
        self.below: dict[str, list[_Joint]] = {}
        for joint in joints:
            self.below.setdefault(joint.parent, []).append(joint)
        self.bodies: list[Bodies] = []
        self.joints: list[Joint] = []

    def scene(self, base: str, name: str, comment: str) -> Scene:
        self._place(base, HERE, None)
        if not any(group.motion is None for group in self.bodies):
            raise self.links[base].node.error("", "nothing that moves", "a link with <inertial>")
        return Scene(
            name=name, bodies=self.bodies, joints=self.joints, gravity=GRAVITY, step=STEP, duration=DURATION,
            description=comment,
        )  # fmt: skip

    def _place(self, name: str, at: Frame, joint: _Joint | None) -> None:
        """Adds a link at a pose, what is fixed to it, and all links below it."""
        link, body = self.links[name], name
        moving = self._lump(link, name, HERE)
        if link.mass == 0.0 and joint is not None:
            raise link.node.error("", f"link {name} without mass behind the moving joint {joint.name}", "<inertial>")
        if link.mass == 0.0 and not link.parts:
            body = WORLD
        elif name == WORLD:
            raise link.node.error("name", name, "another name: a body cannot be called like the world")
        else:
            self.bodies.append(self._body(link, at))
        for joint_below, frame in moving:
            self._connect(body, joint_below, at @ frame)

    def _lump(self, onto: _Link, name: str, at: Frame) -> list[tuple[_Joint, Frame]]:
        """Adds all that is fixed to a link to it; returns the moving joints below, with the poses of their parents."""
        moving = []
        for joint in self.below.get(name, ()):
            if joint.kind != "fixed":
                moving.append((joint, at))
                continue
            frame, link = at @ joint.frame, self.links[joint.child]
            if link.mass > 0.0:
                center = link.moment / link.mass
                own = link.inertia - link.mass * ((center @ center) * np.eye(3) - np.outer(center, center))
                _add(onto, link.mass, frame.place + frame.turn @ center, frame.turn @ own @ frame.turn.T)
            for part in link.parts:
                turn = _matrix(part.orientation)
                onto.parts.append(_part(part.shape, frame @ Frame(np.array(part.position), turn)))
            moving += self._lump(onto, joint.child, frame)
        return moving

    def _body(self, link: _Link, at: Frame) -> Bodies:
        orientation = tuple(quaternion_of(at.turn).tolist())
        if link.mass == 0.0:
            x, y, z = np.mean([part.position for part in link.parts], axis=0).tolist()
            shape, place = Compound(link.parts, (x, y, z)), at.place + at.turn @ [x, y, z]
            return Bodies(shape, place[None], orientation=orientation, motion=FIXED, name=link.name)
        center = link.moment / link.mass
        inertia = link.inertia - link.mass * ((center @ center) * np.eye(3) - np.outer(center, center))
        moments, axes = principal_axes(inertia)
        parts = link.parts
        if not parts:
            radius = STAND_IN * float(np.sqrt(moments.max() / link.mass))
            parts = [_part(Sphere(radius), Frame(center, np.eye(3)))]
            text = f"link {link.name} has no collision shape: a sphere of radius {radius:.3g} is in its place"
            self.notes.differs.append(text)
        x, y, z = center.tolist()
        shape = Compound(parts, (x, y, z), tuple(quaternion_of(axes).tolist()))
        place = at.place + at.turn @ center
        return Bodies(
            shape, place[None], orientation=orientation, mass=link.mass, inertia=moments, name=link.name
        )  # fmt: skip

    def _connect(self, parent: str, joint: _Joint, at: Frame) -> None:
        """Adds a moving joint and the link below it, at its start; `at` is the pose of the parent."""
        zero, limit, brake = at @ joint.frame, joint.node.only("limit"), self._brake(joint)
        start, limits = 0.0, None
        if joint.kind != "continuous":
            if limit is None:
                raise joint.node.error("", f"no <limit> of the {joint.kind} joint {joint.name}", "a <limit>")
            start, limits = self._limits(joint, limit)
        x, y, z = joint.axis
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        turned = np.eye(3) + sin(start) * cross + (1.0 - cos(start)) * cross @ cross
        slides = joint.kind == "prismatic"
        here = zero @ (Frame(start * joint.axis, np.eye(3)) if slides else Frame(np.zeros(3), turned))
        pair, place, axis = (parent, joint.child), tuple(zero.place.tolist()), tuple((zero.turn @ joint.axis).tolist())
        speed = None if brake is None else 0.0
        if slides:
            self.joints.append(Slider(pair, place, axis, limits, speed=speed, force=brake, name=joint.name))
        else:
            self.joints.append(Hinge(pair, place, axis, limits, speed=speed, torque=brake, name=joint.name))
        self._place(joint.child, here, joint)

    def _limits(self, joint: _Joint, limit: Node) -> tuple[float, tuple[float, float] | None]:
        """The first position of a joint, and its limits relative to it."""
        lower, upper = (limit.number(name) if name in limit.attributes else 0.0 for name in ("lower", "upper"))
        if not lower < upper:
            wanted = f"a number above lower = {lower:g}; what does not move is a fixed joint"
            raise limit.error("upper", limit.attributes.get("upper", "0"), wanted)
        self.notes.unused += [f"limit {name}" for name in ("effort", "velocity") if name in limit.attributes]
        start = min(max(0.0, lower), upper)
        if start:
            self.notes.differs.append(f"joint {joint.name} starts at its limit {start:g}")
        if joint.kind == "revolute" and max(start - lower, upper - start) > WIDEST_LIMIT:
            text = f"joint {joint.name} has limits beyond {WIDEST_LIMIT} of its start, which are not held"
            self.notes.differs.append(text)
            return start, None
        return start, (lower - start, upper - start)

    def _brake(self, joint: _Joint) -> float | None:
        """The friction of a joint, as the largest torque or force of a motor with the speed 0."""
        dynamics = joint.node.only("dynamics")
        if dynamics is None:
            return None
        if "damping" in dynamics.attributes and dynamics.number("damping", 0.0) > 0.0:
            self.notes.differs.append(f"joint {joint.name} has damping, which hinges and sliders do not have")
        friction = dynamics.number("friction", 0.0) if "friction" in dynamics.attributes else 0.0
        return friction or None


def _matrix(quaternion: tuple[float, ...]) -> Floats:
    from .parts import rotation

    return rotation("orientation", quaternion)

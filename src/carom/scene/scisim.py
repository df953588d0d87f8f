"""Reader of the XML scenes of SCISim, the simulator of the authors of Smith 2012: ball2d, rigidbody2d, rigidbody3d.

Settings that Carom does not use are named in a `SceneWarning`; settings that it cannot honor and that would change the
motion raise ProblemError with the line. Bodies keep their numbers: the order of the file is the order of the scene.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..errors import ProblemError
from .boundaries import Vector
from .model import Material, Scene
from .scisim_bodies import read_bodies, read_boundaries
from .scisim_xml import Node, read_xml

DIMENSION = {"ball2d_scene": 2, "rigidbody2d_scene": 2, "rigidbody3d_scene": 3}
DURATION = 10.0  # a scene without end_time runs in SCISim until it is stopped; a run of Carom needs an end
INTEGRATORS: dict[int, tuple[dict[str, str], str]] = {  # by dimension: Carom's integrators of rotations, and the choice
    2: (
        {"verlet": "dmv", "symplectic_euler": "dmv"},
        "verlet or symplectic_euler (others, such as hybrid ones, move bodies otherwise)",
    ),
    3: (
        {"dmv": "dmv", "split_ham": "split", "exponential_euler": "split"},
        "dmv, split_ham or exponential_euler",
    ),
}
STABILIZED = ("stabilized", "symplectic_euler", "stewart_and_trinkle")  # these keep resting bodies apart
SOLVERS = ("sobogus_friction_solver", "staggered_projections_friction_solver", "grr_friction_solver")

# Elements that concern drawing only.
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
    "rigidbody3d_scene": (
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


class SceneWarning(UserWarning):
    """Something in a scene file that Carom reads differently or not at all."""


@dataclass
class Notes:
    """Remarks on a file: settings without use, and settings with another meaning."""

    unused: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)

    def leave(self, node: Node) -> None:
        """Notes the attributes that were not read."""
        if node.rest():
            self.unused.append(f"{node.tag} {', '.join(node.rest())}")

    def warn(self, name: str) -> None:
        """Issues the remarks as warnings."""
        if self.unused:
            unique = dict.fromkeys(self.unused)
            warnings.warn(f"{name}: not used by Carom: {'; '.join(unique)}", SceneWarning, stacklevel=3)
        for text in self.differs:
            warnings.warn(f"{name}: {text}", SceneWarning, stacklevel=3)


def read_scisim(path: str | Path) -> Scene:
    """The scene of a SCISim file of kind ball2d, rigidbody2d or rigidbody3d.

    Balls of ball2d do not rotate. Rigid bodies have mass density times area or volume. A fixed body of a 2D scene with
    a velocity moves at it. Axes stay as they are: in most 3D scenes y points upwards.
    """
    root, comment = read_xml(path)
    name = Path(path).name
    if root.tag not in DIMENSION:
        raise ProblemError(name, f"<{root.tag}>", "a SCISim scene: " + ", ".join(f"<{kind}>" for kind in DIMENSION))
    dimension, notes = DIMENSION[root.tag], Notes()
    _check_tags(root, notes)
    groups = read_bodies(root, dimension, Path(path).parent)
    if not groups:
        raise ProblemError(name, "no body", f"at least one {KNOWN[root.tag][-1]}")
    gravity = _gravity(root, dimension)
    step, integrator = _integrator(root, dimension, bool(np.any(gravity)), notes)
    contact = read_contact(root, notes, dimension)
    boundaries, periodic = read_boundaries(root, dimension)
    frame_rate, duration = _camera(root, notes), _end_time(root, notes)
    notes.warn(name)
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


def _gravity(root: Node, dimension: int) -> Vector:
    """The sum of all gravities, as in SCISim the forces add up."""
    total = np.zeros(dimension)
    for node in root.all("gravity", "near_earth_gravity"):
        total += (node.number("fx"), node.number("fy")) if node.tag == "gravity" else node.vector("f", dimension)
        node.no_rest()
    return tuple(float(g) for g in total)


def _integrator(root: Node, dimension: int, has_gravity: bool, notes: Notes) -> tuple[float, str]:
    """The time step, and the name of the integrator of rotations."""
    node = root.only("integrator")
    if node is None:
        raise root.error("", "no integrator", "an <integrator> with a time step dt")
    kind = node.text("type")
    known, words = INTEGRATORS[dimension]
    if kind not in known:
        raise node.error("type", kind, words)
    if kind == "symplectic_euler" and has_gravity:
        notes.differs.append(
            "integrator symplectic_euler: Carom steps with Verlet, which is exact for uniform gravity; free fall from "
            "rest is behind SCISim's by half a step, g h t / 2"
        )
    if kind == "exponential_euler":
        notes.differs.append("integrator exponential_euler: Carom takes its split integrator, which is of second order")
    step = node.positive("dt")
    node.no_rest()
    return step, known[kind]


def _camera(root: Node, notes: Notes) -> float:
    found = [node for tag in ("camera", "camera_perspective", "camera_orthographic") if (node := root.only(tag))]
    if not found:
        return 50.0
    node = found[0]
    rate = node.positive("fps")
    notes.leave(node)
    return rate


def _end_time(root: Node, notes: Notes) -> float:
    node = root.only("end_time")
    if node is None:
        return DURATION
    end = node.positive("t")
    notes.leave(node)
    return end


# ---- impact operators and friction solvers


@dataclass(frozen=True)
class Contact:
    """The response that an impact operator or a friction solver becomes."""

    law: str
    restitution: float = 1.0
    friction: float = 0.0
    restitution_model: str | None = None
    friction_model: str | None = None
    stepper: str = "synchronous"


def read_contact(root: Node, notes: Notes, dimension: int) -> Contact:
    """The law and its coefficients, from the impact operator or friction solver of the scene."""
    operators = [node for tag in ("impact_operator", *SOLVERS) if (node := root.only(tag)) is not None]
    if len(operators) > 1:
        raise operators[1].error("", f"<{operators[1].tag}>", f"nothing more: <{operators[0].tag}> is there already")
    if not operators:
        notes.differs.append("no impact operator: bodies pass through each other (law none)")
        return Contact("none")
    node = operators[0]
    restitution = node.number("CoR", 0.0, 1.0)
    if node.tag == "impact_operator":
        return _impact(node, restitution, notes)
    return _friction(node, restitution, notes, dimension)


def _impact(node: Node, restitution: float, notes: Notes) -> Contact:
    kind = node.text("type")
    if kind == "grr":
        kind, model = _elastic(node, notes), None
    else:
        # Coefficient 1 means the same under every model: without a model a run may take another law.
        model = "newton" if kind in ("gauss_seidel", "jacobi") and restitution < 1.0 else None
        if kind in ("gr", "lcp") and 0.0 < restitution < 1.0:
            notes.differs.append(
                f"impact_operator {kind} with CoR={restitution:g}: SCISim reflects with CoR inside the operator, Carom "
                "takes that much of the elastic answer and the rest of the inelastic one (energetic restitution)"
            )
    if kind not in ("gr", "lcp", "gauss_seidel", "jacobi"):
        raise node.error("type", kind, "gr, grr, lcp, gauss_seidel or jacobi")
    notes.leave(node)
    notes.unused.extend(f"{node.tag} {child.tag}" for child in node.children if child.tag == "solver")
    return Contact(kind, restitution, restitution_model=model)


def _elastic(node: Node, notes: Notes) -> str:
    """The type of the elastic half of a generalized restitution operator."""
    elastic, inelastic = node.only("elastic_operator"), node.only("inelastic_operator")
    if elastic is None or inelastic is None:
        raise node.error("", "grr", "an elastic_operator and an inelastic_operator inside")
    if inelastic.text("type") != "lcp":
        raise inelastic.error("type", inelastic.text("type"), "lcp")
    kind = elastic.text("type")
    notes.leave(elastic)
    notes.leave(inelastic)
    return kind


def _friction(node: Node, restitution: float, notes: Notes, dimension: int) -> Contact:
    mu = node.number("mu", 0.0)
    staggering = node.text("staggering")
    if staggering not in ("geometric", *STABILIZED):
        raise node.error("staggering", staggering, f"geometric, {', '.join(STABILIZED)}")
    law = _law_of(node, notes)
    notes.differs.append(
        f"{node.tag}: Carom takes law {law}{' and friction model cone' if mu else ''}; SCISim solves impact and "
        "friction as one problem"
    )
    # In 3D such scenes stack bodies, which would sink into each other without a bound on the gap.
    drift_safe = staggering in STABILIZED or dimension == 3
    if drift_safe:
        notes.differs.append(f"{node.tag} staggering={staggering}: Carom takes its drift-safe stepper")
    notes.leave(node)
    notes.unused.extend(f"{node.tag} {child.tag}" for child in node.children if child.tag != "impact_operator")
    stepper = "drift_safe" if drift_safe else "synchronous"
    return Contact(law, restitution, mu, None, "cone" if mu else None, stepper)


def _law_of(node: Node, notes: Notes) -> str:
    """The law of a friction solver: inelastic impact, except for generalized restitution."""
    if node.tag != "grr_friction_solver":
        return "lcp"
    operator = node.only("impact_operator")
    if operator is None or operator.text("type") != "grr":
        raise node.error("", node.tag, 'an <impact_operator type="grr"> inside')
    law = _elastic(operator, notes)
    if law not in ("gr", "gauss_seidel", "jacobi"):
        raise operator.error("elastic_operator.type", law, "gr, gauss_seidel or jacobi")
    return law

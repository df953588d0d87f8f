"""What SCISim's impact operators and friction solvers become: a law, coefficients, models, a stepper."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from .markup import Node

STABILIZED = ("stabilized", "symplectic_euler", "stewart_and_trinkle")  # these keep resting bodies apart
SOLVERS = ("sobogus_friction_solver", "staggered_projections_friction_solver", "grr_friction_solver")


class SceneWarning(UserWarning):
    """Something in a scene file that Carom reads differently or not at all."""


@dataclass
class Notes:
    """What there is to say about a file: settings without use, and settings with another meaning."""

    unused: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)

    def leave(self, node: Node) -> None:
        """Notes the attributes that nobody asked for."""
        if node.rest():
            self.unused.append(f"{node.tag} {', '.join(node.rest())}")

    def say(self, name: str) -> None:
        if self.unused:
            unique = dict.fromkeys(self.unused)
            warnings.warn(f"{name}: not used by Carom: {'; '.join(unique)}", SceneWarning, stacklevel=3)
        for text in self.differs:
            warnings.warn(f"{name}: {text}", SceneWarning, stacklevel=3)


@dataclass(frozen=True)
class Contact:
    """What an impact operator or a friction solver becomes."""

    law: str
    restitution: float = 1.0
    friction: float = 0.0
    restitution_model: str | None = None
    friction_model: str | None = None
    stepper: str = "synchronous"


def read_contact(root: Node, notes: Notes, in_space: bool = False) -> Contact:
    """The law and its coefficients, from whichever operator or solver the scene has."""
    operators = [node for tag in ("impact_operator", *SOLVERS) if (node := root.only(tag)) is not None]
    if len(operators) > 1:
        raise operators[1].error("", f"<{operators[1].tag}>", f"nothing more: <{operators[0].tag}> is there already")
    if not operators:
        notes.differs.append("no impact operator: bodies pass through each other (law none)")
        return Contact("none")
    node = operators[0]
    restitution = node.number("CoR", "a number from 0 to 1", 0.0)
    if restitution > 1.0:
        raise node.error("CoR", restitution, "a number from 0 to 1")
    if node.tag == "impact_operator":
        return _impact(node, restitution, notes)
    return _friction(node, restitution, notes, in_space)


def _impact(node: Node, restitution: float, notes: Notes) -> Contact:
    kind = node.text("type")
    if kind == "grr":
        kind, model = _elastic(node, notes), None
    else:
        # Coefficient 1 means the same under every model: leaving it open lets a run take another law.
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


def _friction(node: Node, restitution: float, notes: Notes, in_space: bool) -> Contact:
    mu = node.number("mu", "a number from 0 up", 0.0)
    staggering = node.text("staggering")
    if staggering not in ("geometric", *STABILIZED):
        raise node.error("staggering", staggering, f"geometric, {', '.join(STABILIZED)}")
    law = _law_of(node, notes)
    notes.differs.append(
        f"{node.tag}: Carom takes law {law}{' and friction model cone' if mu else ''}; SCISim solves impact and "
        "friction as one problem"
    )
    # In the plane the plain step suits what such scenes do; in space they stack bodies, which would sink into each
    # other without a bound on the gap.
    drift_safe = staggering in STABILIZED or in_space
    if drift_safe:
        notes.differs.append(f"{node.tag} staggering={staggering}: Carom takes its drift-safe stepper")
    notes.leave(node)
    notes.unused.extend(f"{node.tag} {child.tag}" for child in node.children if child.tag != "impact_operator")
    stepper = "drift_safe" if drift_safe else "synchronous"
    return Contact(law, restitution, mu, None, "cone" if mu else None, stepper)


def _law_of(node: Node, notes: Notes) -> str:
    """The law of a friction solver: inelastic impact, but for the one with generalized restitution."""
    if node.tag != "grr_friction_solver":
        return "lcp"
    operator = node.only("impact_operator")
    if operator is None or operator.text("type") != "grr":
        raise node.error("", node.tag, 'an <impact_operator type="grr"> inside')
    law = _elastic(operator, notes)
    if law not in ("gr", "gauss_seidel", "jacobi"):
        raise operator.error("elastic_operator.type", law, "gr, gauss_seidel or jacobi")
    return law

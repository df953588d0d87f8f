"""SCISim's portals: pairs of planes through which bodies leave on one side and come in on the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .boundaries import Periodic, Vector
from .markup import Node

CLOSE = 1e-9  # of the distance between the planes: written in decimals, they need not agree to the last bit


def periodic_sides(root: Node, planes: Sequence[Node]) -> tuple[Periodic | None, set[int]]:
    """The periodic sides that the portals of a scene make, and which planes they take for it."""
    taken: set[int] = set()
    sides: dict[int, Vector] = {}
    moving: list[tuple[Node, int]] = []
    for node in (*root.all("planar_portal"), *root.all("lees_edwards_portal")):
        pair = [node.whole(name, len(planes)) for name in ("planeA", "planeB")]
        for name, index in zip(("planeA", "planeB"), pair):
            if index in taken:
                raise node.error(name, index, "a plane that no portal has yet")
            taken.add(index)
        axis, side = _side(node, planes[pair[0]], planes[pair[1]])
        if axis in sides:
            raise node.error("", f"a second portal across {'xy'[axis]}", "one for each direction")
        sides[axis] = side
        if node.tag == "lees_edwards_portal":
            moving.append((node, axis))
    if len(moving) > 1:
        raise moving[1][0].error("", "a second Lees-Edwards portal", "one")
    rate = _shear_rate(*moving[0], sides) if moving else 0.0
    for node in (*root.all("planar_portal"), *root.all("lees_edwards_portal")):
        node.no_rest()
    if not sides:
        return None, taken
    return Periodic(sides.get(0), sides.get(1), rate, "xy"[moving[0][1]] if moving else "y"), taken


def _side(node: Node, a: Node, b: Node) -> tuple[int, Vector]:
    """The axis (0 for x, 1 for y) and (low, high) of two planes that face each other."""
    normals = [np.array(plane.vector("n")) / np.hypot(*plane.vector("n")) for plane in (a, b)]
    points = [np.array(plane.vector("x")) for plane in (a, b)]
    axis = int(np.argmax(np.abs(normals[0])))
    if np.abs(normals[0] + normals[1]).max() > CLOSE or abs(normals[0][1 - axis]) > CLOSE:
        text = f"planes with normals {a.attributes['n']} and {b.attributes['n']}"
        raise node.error("", text, "two planes that face each other along x or along y")
    low, high = (points[0], points[1]) if normals[0][axis] > 0.0 else (points[1], points[0])
    if not low[axis] < high[axis]:
        raise node.error(
            "", f"planes {a.attributes['x']} and {b.attributes['x']}", "planes with the scene between them"
        )
    if abs(low[1 - axis] - high[1 - axis]) > CLOSE * (high[axis] - low[axis]):
        # SCISim carries offsets along the planes over: such a portal also shifts what goes through it.
        raise node.error("", f"planes at {a.attributes['x']} and {b.attributes['x']}", "points opposite each other")
    return axis, (float(low[axis]), float(high[axis]))


def _shear_rate(node: Node, axis: int, sides: dict[int, Vector]) -> float:
    """Speed of the image on the high side over the distance of the sides.

    SCISim gives a body that leaves at a plane with normal n the velocity -v (n turned by 90 degrees anticlockwise) in
    addition: the image above the high y side moves at +v along x, that beyond the high x side at -v along y.
    """
    speed, bounds = node.number("v"), node.number("bounds", "a number above 0", 0.0, above=True)
    across = 1 - axis
    if across not in sides or abs((sides[across][1] - sides[across][0]) - 2.0 * bounds) > CLOSE * bounds:
        raise node.error(
            "bounds", node.attributes["bounds"], f"half the width of a planar_portal across {'xy'[across]}"
        )
    return (speed if axis == 1 else -speed) / (sides[axis][1] - sides[axis][0])

"""The bricks of a tower as a 2D scene with friction and restitution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import ProblemError
from ..scene.boundaries import Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.motion import FIXED
from ..scene.shapes import Polygon, Rectangle
from ..solvers.rows import Floats


class Bricks(Protocol):
    """The attributes of a `carom.towers.Tower` that a scene needs."""

    @property
    def bricks(self) -> Any: ...
    @property
    def pins(self) -> Any: ...
    @property
    def gravity(self) -> float: ...
    @property
    def name(self) -> str: ...
    @property
    def mass(self) -> Floats: ...
    @property
    def center(self) -> Floats: ...
    @property
    def inertia(self) -> Floats: ...


def from_tower(
    tower: Bricks,
    friction: float = 0.5,
    restitution: float = 0.0,
    *,
    step: float = 0.01,
    duration: float = 10.0,
    law: str = "gr",
) -> Scene:
    """The tower as a 2D scene: bricks in their order, ground y = 0, stepper `drift_safe`.

    The masses are those of the tower's mass model. Scenes have no joints. A brick that pins hold at two points, on the
    ground or on bricks that cannot move, is a fixed body; a tower with any other pin is refused.
    """
    held = _held(tower)
    scene = bricks_scene(tower, friction, restitution, held)
    for i, brick in enumerate(tower.bricks):
        if brick.rectangle_size is None and np.abs(_centroid(brick.corners) - tower.center[i]).max() > 1e-9:
            raise ProblemError(f"tower.bricks[{i}]", "mass_model 'corners'", "mass_model 'uniform' for such a polygon")
    return scene.with_(step=step, duration=duration, law=law)


def _held(tower: Bricks) -> frozenset[int]:
    """Numbers of the bricks that cannot move, if pins hold all others that have any; raises ProblemError if not."""
    held = {i for i, brick in enumerate(tower.bricks) if brick.fixed}
    before = -1
    while len(held) > before:
        before = len(held)
        points: dict[int, set[tuple[float, float]]] = {}
        for pin in tower.pins:
            for brick, other in ((pin.first, pin.second), (pin.second, pin.first)):
                if brick >= 0 and (other < 0 or other in held):
                    points.setdefault(brick, set()).add(pin.at)
        held |= {brick for brick, at in points.items() if len(at) > 1}
    for k, pin in enumerate(tower.pins):
        if not all(brick < 0 or brick in held for brick in (pin.first, pin.second)):
            wanted = "pins that hold a brick at two points: scenes have no joints, so that nothing can turn about a pin"
            raise ProblemError(f"tower.pins[{k}]", f"a hinge at ({pin.at[0]:g}, {pin.at[1]:g})", wanted)
    return frozenset(held)


def bricks_scene(
    tower: Bricks, friction: float = 0.0, restitution: float = 0.0, held: frozenset[int] = frozenset()
) -> Scene:
    """Bodies, ground and gravity of a tower; pins are left out, and bricks that are `held` are fixed."""
    groups, first = [], 0
    keys = [(*_key(brick), i in held) for i, brick in enumerate(tower.bricks)]
    for last in range(1, len(tower.bricks) + 1):
        if last == len(tower.bricks) or keys[last] != keys[first]:
            groups.append(_group(tower, first, last, first in held))
            first = last
    return Scene(
        name=tower.name,
        bodies=groups,
        boundaries=(Plane(),),
        materials={"default": Material(restitution=restitution, friction=friction)},
        gravity=(0.0, -tower.gravity),
        stepper="drift_safe",
        description=f"{len(tower.bricks)} bricks",
    )


def _key(brick: Any) -> tuple[Any, ...]:
    """Consecutive bricks with equal keys form a group."""
    if brick.rectangle_size is not None:
        return (*brick.rectangle_size[:2], brick.fixed)
    return (id(brick),)


def _group(tower: Bricks, first: int, last: int, held: bool) -> Bodies:
    brick, which = tower.bricks[first], slice(first, last)
    center = tower.center[which]
    angle = np.zeros(last - first)
    shape: Rectangle | Polygon
    if brick.rectangle_size is not None:
        shape = Rectangle(*brick.rectangle_size[:2])
        angle = np.array([b.rectangle_size[2] for b in tower.bricks[which]])
    else:
        shape = Polygon(_pairs(brick.corners))
        center = _centroid(brick.corners)[None, :]
    return Bodies(
        shape=shape,
        position=center,
        angle=angle,
        mass=tower.mass[which],
        inertia=tower.inertia[which],
        motion=FIXED if brick.fixed or held else None,
        name=brick.name,
    )


def _pairs(corners: Floats) -> Sequence[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in corners]


def _centroid(corners: Floats) -> Floats:
    from ..geometry.polygons import polygon_moments

    return polygon_moments(corners)[1]

"""Contact detection of convex solids: time for each family of shape pairs, beside another library in the same loop."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carom.contact.convex_bodies import convex_pairs
from carom.contact.parts import Poses
from carom.scene.parts import make_shapes
from carom.scene.shapes import Box, Capsule, Cylinder, Hull, Solid, Sphere
from carom.world import Shapes3D

from .report import Row, best_time

Floats = NDArray[np.float64]
PAIRS = 400
MARGIN = 0.01
_POINTS = np.random.default_rng(0).normal(size=(20, 3))
SHAPES: dict[str, Solid] = {
    "sphere": Sphere(0.5),
    "box": Box((1.0, 0.8, 0.9)),
    "capsule": Capsule(0.4, 0.6),
    "cylinder": Cylinder(0.5, 1.0),
    "hull": Hull(0.6 * _POINTS / np.linalg.norm(_POINTS, axis=1)[:, None]),
}


def _turns(rng: np.random.Generator, count: int) -> Floats:
    q = rng.normal(size=(count, 4))
    w, x, y, z = (q / np.linalg.norm(q, axis=1)[:, None]).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.ascontiguousarray(np.moveaxis(np.array(rows), 2, 0))


def close_pairs(one: str, two: str) -> tuple[Shapes3D, Poses]:
    """Pairs (k, PAIRS + k) that touch: gaps from -1e-3 to 5e-3, and a small motion."""
    rng = np.random.default_rng(1)
    solids, _ = make_shapes([(one, SHAPES[one], PAIRS), (two, SHAPES[two], PAIRS)])
    turn, at = _turns(rng, 2 * PAIRS), 10.0 * rng.normal(size=(2 * PAIRS, 3))
    for k in range(PAIRS):
        way, gap = rng.normal(size=3), rng.uniform(-1e-3, 5e-3)
        way /= np.linalg.norm(way)
        low, high = 0.0, 3.0
        for _ in range(25):
            middle = 0.5 * (low + high)
            far = not _within(solids, k, at[k], at[k] + middle * way, turn[[k, PAIRS + k]], gap)
            low, high = (low, middle) if far else (middle, high)
        at[PAIRS + k] = at[k] + high * way
    after = at.copy()
    after[PAIRS:] -= 1e-4
    return solids, Poses(np.arange(2 * PAIRS), at, turn, after, turn.copy())


def _within(solids: Shapes3D, k: int, first: Floats, second: Floats, turn: Floats, gap: float) -> bool:
    """Whether the gap of pair k is at most `gap`, at these places."""
    at = np.array([first, second])
    poses = Poses(np.array([k, PAIRS + k]), at, turn, at, turn)
    return bool(len(convex_pairs(np.array([0]), np.array([1]), solids, poses, gap)))


def stacked_boxes() -> tuple[Shapes3D, Poses]:
    """Cubes upon cubes, turned about the vertical: a manifold of up to eight corners each."""
    rng = np.random.default_rng(2)
    solids, _ = make_shapes([("cube", Box((1.0, 1.0, 1.0)), 2 * PAIRS)])
    turn, at = np.zeros((2 * PAIRS, 3, 3)), np.zeros((2 * PAIRS, 3))
    angle = rng.uniform(0.0, 6.0, 2 * PAIRS)
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle)
    turn[:, 1, 0] = np.sin(angle)
    turn[:, 0, 1] = -turn[:, 1, 0]
    turn[:, 2, 2] = 1.0
    at[PAIRS:, :2], at[PAIRS:, 2] = rng.uniform(-0.4, 0.4, (PAIRS, 2)), 1.001
    return solids, Poses(np.arange(2 * PAIRS), at, turn, at.copy(), turn.copy())


def _coal_time(one: str, two: str, poses: Poses, solids: Shapes3D) -> float | None:
    """Seconds a pair for the distance alone, without a patch of contacts; None without the library.

    The loop is Python's: an empty call of the library is measured too and taken off.
    """
    try:
        import coal
    except ImportError:
        return None
    shapes = [_coal_shape(coal, name, solids) for name in (one, two)]
    places = [coal.Transform3s(t, p) for p, t in zip(poses.position0, poses.turn0)]
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    far, ball = coal.Transform3s(np.eye(3), np.array([9.0, 0.0, 0.0])), coal.Sphere(0.5)
    origin = coal.Transform3s(np.eye(3), np.zeros(3))

    def loop() -> None:
        for k in range(PAIRS):
            result.clear()
            coal.distance(shapes[0], places[k], shapes[1], places[PAIRS + k], request, result)

    def empty() -> None:
        for _ in range(PAIRS):
            result.clear()
            coal.distance(ball, origin, ball, far, request, result)

    return max(best_time(loop, 5)[0] - best_time(empty, 5)[0], 0.0) / PAIRS


def _coal_shape(coal: Any, name: str, solids: Shapes3D) -> Any:
    shape = SHAPES[name]
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, Box):
        return coal.Box(*shape.size)
    if isinstance(shape, Capsule):
        return coal.Capsule(shape.radius, shape.length)
    if isinstance(shape, Cylinder):
        return coal.Cylinder(shape.radius, shape.length)
    hull = int(np.flatnonzero(np.diff(solids.vertex_ptr) == 20)[0])
    points = coal.StdVec_Vec3s()
    for corner in solids.vertex[solids.vertex_ptr[hull] : solids.vertex_ptr[hull + 1]]:
        points.append(corner)
    return coal.Convex.convexHull(points, False, "")


def _time(solids: Shapes3D, poses: Poses) -> tuple[float, float]:
    """Seconds and contacts a pair."""
    first = np.arange(PAIRS)
    seconds, found = best_time(lambda: convex_pairs(first, first + PAIRS, solids, poses, MARGIN), 20)
    return seconds / PAIRS, len(found) / PAIRS


def run() -> list[Row]:
    start = time.perf_counter()
    names = list(SHAPES)
    slowest = 0.0
    for i, one in enumerate(names):
        for two in names[i:]:
            solids, poses = close_pairs(one, two)
            seconds, contacts = _time(solids, poses)
            theirs = _coal_time(one, two, poses, solids)
            beside = "" if theirs is None else f", coal {theirs * 1e6:6.2f} us (distance alone)"
            print(f"  {one:8} {two:8} {seconds * 1e6:6.2f} us a pair, {contacts:.2f} contacts{beside}")
            slowest = max(slowest, seconds)
    boxes, contacts = _time(*stacked_boxes())
    print(f"  stacked cubes     {boxes * 1e6:6.2f} us a pair, {contacts:.2f} contacts")
    print(f"  {time.perf_counter() - start:.0f} s in all")
    return [
        Row("detection, stacked cubes", "time a pair", f"{boxes * 1e6:.2f} us", True),
        Row("detection, slowest family of solids", "<= 50 us a pair", f"{slowest * 1e6:.1f} us", slowest <= 5e-5),
    ]

"""Signed distances of convex solids: against an independent library, against minimization, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from carom.contact.boundaries import boundary_table
from carom.contact.parts import core_of
from carom.contact.point_distance import nearest
from carom.geometry.vectors import Vec3
from carom.scene.parts import make_shapes
from carom.scene.shapes import Ellipsoid
from carom.world import INSIDE, PLANE, TUBE, Boundaries

from .convex_cases import (
    KINDS,
    PAIRS,
    SHAPES,
    TABLES,
    cone_base,
    contacts_of,
    gap_of,
    is_curved,
    pair_at,
    random_turn,
    rotation,
    still,
)
from .gaps_3d import boundary_gap, solid_gap

SEEDS = st.integers(0, 2**32 - 1)


def corners_of(name):
    form = TABLES.shape[TABLES.part_ptr[KINDS.index(name)]]
    return TABLES.vertex[TABLES.vertex_ptr[form] : TABLES.vertex_ptr[form + 1]]


def reach(name, direction):
    """How far a solid reaches along a direction of its own frame: the definition, written anew."""
    shape, d = SHAPES[name], np.asarray(direction)
    if name == "sphere":
        return shape.radius * np.linalg.norm(d)
    if name == "capsule":
        return 0.5 * shape.length * abs(d[2]) + shape.radius * np.linalg.norm(d)
    if name == "cylinder":
        return 0.5 * shape.length * abs(d[2]) + shape.radius * np.hypot(d[0], d[1])
    if name in ("cone", "frustum"):
        low, across = cone_base(shape), np.hypot(d[0], d[1])
        return max(shape.radius * across + low * d[2], shape.top_radius * across + (low + shape.length) * d[2])
    if name == "box":
        return 0.5 * np.dot(shape.size, np.abs(d))
    if name == "ellipsoid":
        return np.linalg.norm(np.array(shape.half_axes) * d)
    return (corners_of(name) @ d).max()


def separation_along(a, b, direction):
    """Gap between the two planes across a direction that touch the bodies."""
    part_a, part_b = TABLES.part_ptr[a.number], TABLES.part_ptr[b.number]
    frame_a, frame_b = a.turn @ TABLES.turn[part_a], b.turn @ TABLES.turn[part_b]
    apart = b.position + b.turn @ TABLES.place[part_b] - a.position - a.turn @ TABLES.place[part_a]
    toward = reach(KINDS[a.number], frame_a.T @ direction) + reach(KINDS[b.number], -frame_b.T @ direction)
    return direction @ apart - toward


def best_direction(a, b, seed):
    def lost(d):
        return -separation_along(a, b, d / np.linalg.norm(d))

    start = min(np.random.default_rng(seed).normal(size=(2000, 3)), key=lost)
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    return minimize(lost, start, method="Nelder-Mead", options=options)


@pytest.mark.covering
@pytest.mark.parametrize("seeds", [(0,), pytest.param((1, 2, 3), marks=pytest.mark.long)], ids=["one", "three more"])
@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_distance_is_the_best_separation_over_all_directions(one, two, seeds):
    """The distance is the maximum of the separation over directions; a search over the sphere must not beat it."""
    for seed in seeds:
        a, b = pair_at(one, two, 0.05 * (seed + 1), seed)
        gap = gap_of(a, b)
        found = min((best_direction(a, b, s) for s in (seed, seed + 100)), key=lambda f: f.fun)
        assert -found.fun <= gap + (1e-10 if "cone" in (one, two) or "frustum" in (one, two) else 1e-12)
        # The search stops within about 1e-5 of the best direction, where the separation may have a kink.
        assert gap == pytest.approx(-found.fun, abs=2e-5)


@given(SEEDS, st.sampled_from(PAIRS), st.floats(0.001, 0.15))
def test_overlap_is_the_best_separation_nearby(seed, pair, depth):
    """No direction separates overlapping solids better than the depth; pushed out by it they touch."""
    a, b = pair_at(*pair, -depth, seed)
    gap = gap_of(a, b)
    assert gap == pytest.approx(-depth, abs=1e-6)
    rng = np.random.default_rng(seed)
    tries = rng.normal(size=(300, 3))
    tries /= np.linalg.norm(tries, axis=1)[:, None]
    # The depth of a pair with a cylinder or cone may be too large by 1e-5 of the sizes, which add up to about 1.4.
    assert max(separation_along(a, b, d) for d in tries) <= gap + 2e-5


@pytest.mark.long  # coal has 316 MB; the fast tests compare with all directions
@given(SEEDS, st.sampled_from([p for p in PAIRS if "frustum" not in p]), st.floats(-0.05, 0.5))
def test_distance_against_another_library(seed, pair, gap):
    coal = pytest.importorskip("coal")
    assume(not is_curved(pair) or gap > 0.0)  # its expanding polytope gives up on some curved shapes
    a, b = pair_at(*pair, gap, seed)
    placed = []
    for body in (a, b):
        part = TABLES.part_ptr[body.number]
        turn, place = body.turn @ TABLES.turn[part], body.position + body.turn @ TABLES.place[part]
        if KINDS[body.number] == "cone":  # the origin of theirs is half way up
            place = place + turn @ [0.0, 0.0, cone_base(SHAPES["cone"]) + 0.5 * SHAPES["cone"].length]
        placed += [_coal_shape(coal, KINDS[body.number]), coal.Transform3s(turn, place)]
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    theirs = coal.distance(*placed, request, result)
    assert gap_of(a, b) == pytest.approx(theirs, abs=2e-6)  # theirs is good to that near touch


def _coal_shape(coal, name):
    shape = SHAPES[name]
    if name == "sphere":
        return coal.Sphere(shape.radius)
    if name == "box":
        return coal.Box(*shape.size)
    if name == "ellipsoid":
        return coal.Ellipsoid(*shape.half_axes)
    if name in ("capsule", "cylinder", "cone"):
        return getattr(coal, name.title())(shape.radius, shape.length)
    points = coal.StdVec_Vec3s()
    for corner in corners_of(name):
        points.append(corner)
    return coal.Convex.convexHull(points, False, "")


@given(SEEDS, st.sampled_from(PAIRS), st.floats(-0.1, 0.3))
def test_distance_does_not_depend_on_order_or_frame(seed, pair, gap):
    a, b = pair_at(*pair, gap, seed)
    rng = np.random.default_rng(seed)
    turn, shift = random_turn(rng), rng.normal(size=3)
    c, d = (still(x.number, turn @ x.position + shift, turn @ x.turn) for x in (a, b))
    # Searches among curved surfaces end 1e-12 (relative) from the distance, those of overlap 1e-9 or so.
    tolerance = 1e-7 if gap < 0.0 and is_curved(pair) else 1e-9
    assert gap_of(b, a) == pytest.approx(gap_of(a, b), abs=tolerance)
    assert gap_of(c, d) == pytest.approx(gap_of(a, b), abs=tolerance)


def test_closed_forms():
    turn = rotation((0.3, -0.2, 0.5))
    sphere, cube = KINDS.index("sphere"), KINDS.index("box")
    gap = solid_gap(TABLES, sphere, np.zeros(3), turn, sphere, np.array([0.0, 3.0, 4.0]), np.eye(3))
    assert gap == pytest.approx(4.0, abs=1e-15)
    part = TABLES.turn[TABLES.part_ptr[cube]]
    corner = part @ np.array([0.5, 0.4, 0.25])
    gap = solid_gap(TABLES, cube, np.zeros(3), np.eye(3), sphere, corner + np.sign(corner), np.eye(3))
    assert gap == pytest.approx(np.sqrt(3.0) - 0.5, abs=1e-15)


def ellipsoids_at(gap, seed, half_axes):
    """Two ellipsoids whose nearest points lie on a line along which they were placed `gap` apart, and its direction.

    The foremost points along n and -n have these normals, so that the distance of convex bodies is that between them.
    """
    rng = np.random.default_rng(seed)
    turns, n = (random_turn(rng), random_turn(rng)), rng.normal(size=3)
    n /= np.linalg.norm(n)
    tables, _ = make_shapes([(str(k), Ellipsoid(tuple(axes)), 1) for k, axes in enumerate(half_axes)])
    ends = []
    for k, (turn, sign) in enumerate(zip(turns, (1.0, -1.0))):
        d, e = sign * (turn @ tables.turn[k]).T @ n, np.array(half_axes[k])
        ends.append(turn @ tables.turn[k] @ (e * e * d) / np.linalg.norm(e * d))
    bodies = still(0, np.zeros(3), turns[0]), still(1, ends[0] + gap * n - ends[1], turns[1])
    return tables, bodies, n


@given(SEEDS, st.floats(-0.02, 0.5), st.integers(0, 2))
def test_ellipsoids_are_as_far_apart_as_they_were_placed(seed, gap, which):
    """Gaps to 1e-9 of the size and directions to 1e-4, also of needles and plates; of overlap only where it is much
    less than the radii of curvature, since elsewhere another direction may be better."""
    half_axes = [[(0.6, 0.4, 0.25), (0.5, 0.3, 0.7)], [(1.0, 0.1, 0.1), (0.5, 0.3, 0.7)], [(1.0, 1.0, 0.1)] * 2][which]
    least = min(min(e) ** 2 / max(e) for e in half_axes)
    gap = max(gap, -0.05 * least)
    tables, (a, b), n = ellipsoids_at(gap, seed, half_axes)
    assert gap_of(a, b, tables) == pytest.approx(gap, abs=1e-9)
    found = contacts_of(a, b, 1.0, tables)
    assert found.gap == pytest.approx([gap], abs=1e-9)
    assert found.normal[0] @ n > 1.0 - 1e-8


@given(SEEDS, st.floats(0.01, 0.5))
def test_ellipsoids_against_a_minimization(seed, gap):
    """The least distance of two points, one of each surface, by a search over both that knows nothing of supports."""
    tables, (a, b), _ = ellipsoids_at(gap, seed, [(0.6, 0.4, 0.25), (0.5, 0.3, 0.7)])
    frames = [(x.turn @ tables.turn[k], x.position) for k, x in enumerate((a, b))]

    def points(u):
        sizes = [tables.size[tables.shape[k]] for k in range(2)]
        units = [u[3 * k : 3 * k + 3] / np.linalg.norm(u[3 * k : 3 * k + 3]) for k in range(2)]
        return [place + turn @ (size * unit) for (turn, place), size, unit in zip(frames, sizes, units)]

    def square(u):
        one, two = points(u)
        return (one - two) @ (one - two)

    rng = np.random.default_rng(seed)
    best = min((minimize(square, start, tol=1e-14) for start in rng.normal(size=(6, 6))), key=lambda f: f.fun)
    assert np.sqrt(best.fun) == pytest.approx(gap_of(a, b, tables), rel=1e-5)


@pytest.mark.parametrize(
    "half", [(0.6, 0.4, 0.25), (1.0, 0.02, 0.3), (0.5, 0.5, 0.2), (0.5, 0.5, 0.5), (1.0, 1e-4, 1e-4)]
)
def test_nearest_point_of_an_ellipsoid(half):
    """The point at the distance along the normal lies on the surface and has that normal; no other is nearer."""
    tables, _ = make_shapes([("a", Ellipsoid(half), 1)])
    core, rng, e = core_of(tables, 0), np.random.default_rng(1), np.array(half)
    surface = rng.normal(size=(20_000, 3))
    surface = e * surface / np.linalg.norm(surface, axis=1)[:, None]
    places = [scale * rng.normal(size=3) for scale in (1e-3, 0.1, 0.3, 1.0, 10.0) for _ in range(8)]
    places += [p * np.eye(3)[k] for k in range(3) for p in (0.0, 1e-12, 0.05, 0.9 * half[k], half[k], 2.0)]
    places += [p * (1.0 - np.eye(3)[k]) for k in range(3) for p in (1e-9, 0.01, 0.2, 1.0)]
    for p in places:
        near = nearest(core, Vec3(*(float(v) for v in p)))
        foot = p - near.distance * np.array(near.normal)
        # The foot is good to rounding of the largest length; the shortest axis magnifies that.
        rounding = 1e-12 * max(*e, *np.abs(p)) / min(e)
        assert ((foot / e) ** 2).sum() == pytest.approx(1.0, abs=rounding)
        assert (near.distance < 0.0) == (((p / e) ** 2).sum() < 1.0 - 1e-15) or abs(near.distance) < 1e-12
        assert abs(near.distance) <= np.linalg.norm(surface - p, axis=1).min() + 1e-12


def walls(kind, radius=2.0):
    return Boundaries(
        np.array([kind], np.int8), np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), np.array([radius]), np.zeros((1, 3)),
        np.zeros((1, 6)),
    )  # fmt: skip


@pytest.mark.covering
@pytest.mark.parametrize("kind", [PLANE, TUBE, INSIDE])
@pytest.mark.parametrize("name", KINDS)
def test_boundary_against_points_of_the_surface(kind, name):
    """The gap is that of the nearest of many points of the surface."""
    rng = np.random.default_rng(3)
    number, barriers = KINDS.index(name), walls(kind)
    for _ in range(5):
        turn, place = random_turn(rng), np.array([0.3, -0.5, 0.9]) * rng.random(3)
        points = place + _surface(name) @ (turn @ TABLES.turn[TABLES.part_ptr[number]]).T
        if kind == PLANE:
            least = points[:, 2].min()
        else:
            least = 2.0 - np.linalg.norm(points[:, : 2 if kind == TUBE else 3], axis=1).max()
        gap = boundary_gap(TABLES, number, place, turn, boundary_table(barriers), 0)
        assert gap <= least + 1e-12
        assert gap == pytest.approx(least, abs=2e-4)  # of a sphere sampled every 0.02 rad


def _surface(name):
    """Points of the surface, about 0.02 rad apart, among them all corners."""
    shape = SHAPES[name]
    if name in ("box", "hull"):
        return corners_of(name)
    t = np.linspace(0.0, 2.0 * np.pi, 400)
    if name in ("cone", "frustum"):
        ring, low = np.stack([np.cos(t), np.sin(t)], axis=1), cone_base(shape)
        ends = ((shape.radius, low), (shape.top_radius, low + shape.length))
        return np.concatenate([np.c_[r * ring, np.full(len(t), z)] for r, z in ends])
    if name == "cylinder":
        rim = shape.radius * np.stack([np.cos(t), np.sin(t)], axis=1)
        return np.concatenate([np.c_[rim, np.full(len(t), z)] for z in (-0.5 * shape.length, 0.5 * shape.length)])
    s = np.linspace(0.0, np.pi, 200)
    ball = np.stack([np.outer(np.sin(s), np.cos(t)), np.outer(np.sin(s), np.sin(t)), np.outer(np.cos(s), np.ones(400))])
    ball = ball.reshape(3, -1).T
    if name == "ellipsoid":
        return ball * shape.half_axes
    ball = shape.radius * ball
    half = 0.5 * shape.length if name == "capsule" else 0.0
    return np.concatenate([ball - np.array([0.0, 0.0, half]), ball + np.array([0.0, 0.0, half])])

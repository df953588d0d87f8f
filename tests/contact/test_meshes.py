"""Contacts of meshes with every other solid and with boundaries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from carom import Simulation, scenes
from carom.contact.advancement import gaps
from carom.contact.detector import find_contacts
from carom.contact.motion import Motions
from carom.contact.parts import Poses
from carom.contact.point_distance import distance, signed_distance, surface_of
from carom.geometry.hulls import box as make_box
from carom.geometry.rotations import matrices
from carom.geometry.surfaces import icosphere, torus, trefoil
from carom.geometry.vectors import Vec3
from carom.scene.parts import make_shapes
from carom.scene.shapes import Box, Capsule, Compound, Cone, Cylinder, Ellipsoid, Hull, Mesh, Part, Sphere
from carom.world import INSIDE, PLANE, TUBE, Boundaries

from .mesh_cases import boundary_contacts, pair_contacts

SPACING = 1.0 / 32.0
TETRAHEDRON = Hull([(0.5, 0.5, 0.5), (0.5, -0.5, -0.5), (-0.5, 0.5, -0.5), (-0.5, -0.5, 0.5)])


def mesh(surface, spacing=SPACING):
    return Mesh(vertices=surface[0], faces=surface[1], spacing=spacing)


def box_surface(*size):
    form = make_box(np.array(size))
    return form.vertices, np.array([(loop[0], loop[k], loop[k + 1]) for loop in form.loops for k in (1, 2)])


BOX = mesh(box_surface(1.0, 1.0, 1.0))
BALL = mesh(icosphere(0.5, 4))
SHAPES = {
    "sphere": Sphere(0.5),
    "box": Box((1.0, 1.0, 1.0)),
    "capsule": Capsule(0.3, 0.8),
    "cylinder": Cylinder(0.4, 1.0),
    "cone": Cone(0.5, 1.0),
    "frustum": Cone(0.3, 0.8, 0.5),
    "ellipsoid": Ellipsoid((0.6, 0.4, 0.3)),
    "hull": TETRAHEDRON,
    "mesh": mesh(torus(0.5, 0.2, 24, 48)),
    "compound": Compound([Part(BALL, (0.6, 0.0, 0.0)), Part(Box((0.4, 0.4, 0.4)), (-0.6, 0.0, 0.0))]),
}


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("grids")
        patch.setattr("carom.geometry.distance_grid.user_cache", lambda: folder)
        yield


def poses(position, turn=None, after=None, turn_after=None):
    position = np.array(position, dtype=np.float64)
    turn = np.tile(np.eye(3), (len(position), 1, 1)) if turn is None else np.array(turn)
    after = position.copy() if after is None else np.array(after, dtype=np.float64)
    return Poses(np.arange(len(position)), position, turn, after, turn.copy() if turn_after is None else turn_after)


def solids_of(*shapes):
    return make_shapes([(f"bodies[{k}]", shape, 1) for k, shape in enumerate(shapes)])[0]


def ordered(*columns):
    rows = np.concatenate([np.reshape(c, (len(c), -1)) for c in columns], axis=1)
    return rows[np.lexsort(rows.round(7).T)]


def test_two_balls_touch_as_spheres_do():
    """Corners lie on the sphere, sides up to the sagitta 2e-4 within it, and the grid is off by h^2 / 4 R = 5e-4."""
    solids = solids_of(BALL, BALL)
    for seed in range(5):
        turn = Rotation.random(2, random_state=seed).as_matrix()
        along = Rotation.random(random_state=seed).apply([0.0, 0.0, 1.0])
        for gap in (-0.01, 0.0, 0.004):
            where = poses([(0.0, 0.0, 0.0), (1.0 + gap) * along], turn)
            _, normal, point, found, _ = pair_contacts(solids, where, 0.01)
            deepest = np.argmin(found)
            assert gap - 1e-4 < found[deepest] < gap + 1.5e-3
            assert normal[deepest] @ along > np.cos(0.1)  # a sample point is at most 0.06 / 2 from the axis
            assert np.abs(point[deepest] - 0.5 * (1.0 + gap) * along).max() < 0.05
            assert (normal @ along > 0.95).all()


@pytest.mark.covering
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_every_pair_swapped_and_turned(name, seed):
    """Unit normals from first to second; swapped bodies have swapped contacts; the whole turned turns them."""
    solids = solids_of(BOX, SHAPES[name])
    random = np.random.default_rng(seed)
    turn = Rotation.random(2, random_state=seed).as_matrix()
    along = random.normal(size=3)
    along /= np.linalg.norm(along)
    # Brought together until they overlap a little.
    for far in np.arange(2.0, 0.0, -0.01):
        where = poses([(0.0, 0.0, 0.0), far * along], turn)
        one = pair_contacts(solids, where, 0.005)
        if len(one[0]) and one[3].min() < -0.005:
            break
    feature, normal, point, gap, predicted = one
    assert len(gap)
    assert len(np.unique(feature)) == len(feature)
    assert np.linalg.norm(normal, axis=1) == pytest.approx(np.ones(len(gap)), abs=1e-12)
    assert normal[np.argmin(gap)] @ along > 0.0
    assert predicted == pytest.approx(gap, abs=1e-12)
    assert gap.min() > -0.06
    two = pair_contacts(solids, where, 0.005, (1, 0))
    assert ordered(normal, point, gap) == pytest.approx(ordered(-two[1], two[2], two[3]), abs=1e-12)
    whole = Rotation.random(random_state=seed + 100).as_matrix()
    moved = poses(where.position0 @ whole.T + 3.0, whole @ turn)
    turned_feature, turned_normal, turned_point, turned_gap, _ = pair_contacts(solids, moved, 0.005)
    assert (turned_feature == feature).all()
    assert turned_normal == pytest.approx(normal @ whole.T, abs=1e-9)
    assert turned_point == pytest.approx(point @ whole.T + 3.0, abs=1e-9)
    assert turned_gap == pytest.approx(gap, abs=1e-9)


@pytest.mark.covering
@pytest.mark.parametrize("other", [Box((1.0, 1.0, 1.0)), BOX], ids=["box", "mesh"])
@pytest.mark.parametrize("gap", [-1e-3, 0.0, 1e-3])
def test_box_on_box_has_its_corners_and_upright_normals(other, gap):
    """Corner on corner, where every normal between three faces is as near: the one of the sides that met is right."""
    solids = solids_of(BOX, other)
    where = poses([(0.0, 0.0, 0.0), (0.0, 0.0, 1.0 + gap)])
    _, normal, point, found, _ = pair_contacts(solids, where, 2e-3)
    assert np.abs(normal - [0.0, 0.0, 1.0]).max() < 1e-12
    for corner in ((-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)):
        here = np.abs(point[:, :2] - corner).max(axis=1) < 1e-9
        assert found[here].min() == pytest.approx(gap, abs=1e-12)
    assert len(found) <= 12


def test_shifted_box_on_box_covers_the_common_square():
    solids = solids_of(BOX, Box((1.0, 1.0, 1.0)))
    where = poses([(0.0, 0.0, 0.0), (0.3, 0.2, 1.0)])
    _, normal, point, gap, _ = pair_contacts(solids, where, 1e-6)
    assert np.abs(normal - [0.0, 0.0, 1.0]).max() < 1e-12
    assert np.abs(gap).max() < 1e-12
    # From (-0.2, -0.3) to (0.5, 0.5), as far as points lie: two spacings apart.
    assert point[:, 0].min() == pytest.approx(-0.2, abs=0.01)
    assert point[:, 0].max() == pytest.approx(0.5)
    assert point[:, 1].min() == pytest.approx(-0.3, abs=0.01)
    assert point[:, 1].max() == pytest.approx(0.5)


def test_box_on_planes():
    solids = solids_of(BOX)
    for gap, normal in ((0.0, (0.0, 0.0, 1.0)), (-0.01, (0.0, 0.0, 1.0)), (0.005, (1.0, 0.0, 0.0))):
        planes = flat((-(0.5 + gap) * np.array(normal), normal))
        body, wall, _, found, point, gaps, predicted = boundary_contacts(
            solids, poses([(0.0, 0.0, 0.0)]), (planes, planes), 0.01
        )
        assert len(gaps) == 4
        assert body.tolist() == wall.tolist() == [0, 0, 0, 0]
        assert np.abs(found + normal).max() < 1e-12
        assert gaps == pytest.approx(np.full(4, gap), abs=1e-12)
        assert (predicted == gaps).all()
        across = point - np.outer(point @ normal, normal)
        assert np.linalg.norm(across, axis=1) == pytest.approx(np.full(4, np.sqrt(0.5)))
        assert point @ normal == pytest.approx(np.full(4, -(0.5 + gap / 2.0)))


def flat(*planes):
    point, normal = (np.array(c, dtype=np.float64) for c in zip(*planes))
    return barriers(PLANE, point, normal)


def barriers(kind, point, axis, radius=1.0):
    point, axis = np.atleast_2d(np.asarray(point, float)), np.atleast_2d(np.asarray(axis, float))
    n = len(point)
    return Boundaries(np.full(n, kind, np.int8), point, axis, np.full(n, radius), np.zeros((n, 3)), np.zeros((n, 6)))


@pytest.mark.parametrize("depth", [0.003, 0.03])
def test_a_knot_lies_on_three_equal_feet(depth):
    """The trefoil's three lowest strands get the same contacts, turned by 120 degrees."""
    solids = solids_of(mesh(trefoil(1.0, 0.2, 16, 96), 0.05))
    bottom = solids.vertex[:, 2].min()
    floor = flat(((0.0, 0.0, bottom + depth), (0.0, 0.0, 1.0)))
    spin = Rotation.from_euler("z", 0.37).as_matrix()[None]
    _, _, _, _, point, gap, _ = boundary_contacts(solids, poses([(0.0, 0.0, 0.0)], spin), (floor, floor), 0.0)
    assert len(gap) % 3 == 0
    assert gap.min() == pytest.approx(-depth, abs=1e-12)
    third = Rotation.from_euler("z", 2.0 * np.pi / 3.0).as_matrix()
    assert ordered(point @ third.T, gap) == pytest.approx(ordered(point, gap), abs=1e-12)
    assert np.abs(point[:, :2].mean(axis=0)).max() < 1e-12


def test_tube_and_shell():
    """A ball of corners on radius 0.5 in rooms of radius 0.6: it touches at 0.1 from the middle."""
    solids = solids_of(BALL)
    for kind, axis in ((TUBE, (0.0, 0.0, 1.0)), (INSIDE, (0.0, 0.0, 0.0))):
        room = barriers(kind, (0.0, 0.0, 0.0), axis, 0.6)
        where = poses([(0.11, 0.0, 0.0)])
        _, _, _, normal, point, gap, _ = boundary_contacts(solids, where, (room, room), 0.0)
        deepest = np.argmin(gap)
        assert gap[deepest] == pytest.approx(-0.01, abs=1e-3)
        assert normal[deepest] == pytest.approx([1.0, 0.0, 0.0], abs=0.1)
        assert point[deepest] == pytest.approx([0.605, 0.0, 0.0], abs=0.06)
        none = boundary_contacts(solids, poses([(0.05, 0.0, 0.0)]), (room, room), 0.0)
        assert not len(none[0])


def test_predicted_gap_is_that_after_the_step():
    """A ball falls on a box and on a plane: contact within the margin of the end, geometry of the start."""
    solids = solids_of(BOX, Sphere(0.25), BALL)
    start, end = (
        [(0.0, 0.0, 0.0), (0.1, 0.0, 0.85), (5.0, 0.0, 0.55)],
        [(0.0, 0.0, 0.0), (0.1, 0.0, 0.74), (5.0, 0.0, 0.49)],
    )
    where = poses(start, after=end)
    _, normal, point, gap, predicted = pair_contacts(solids, where, 0.0)
    assert len(gap) == 1
    assert gap[0] == pytest.approx(0.1, abs=1e-12)
    assert predicted[0] == pytest.approx(-0.01, abs=1e-12)
    assert normal[0] == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)
    assert point[0] == pytest.approx([0.1, 0.0, 0.55], abs=1e-12)
    assert not len(pair_contacts(solids, poses(start), 0.0)[0])
    floor = flat(((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    chosen = np.array([False, False, True])
    body, _, _, _, _, gap, predicted = boundary_contacts(solids, where, (floor, floor), 0.0, chosen)
    assert set(body.tolist()) == {2}
    assert gap.min() == pytest.approx(0.05, abs=1e-3)
    assert predicted.min() == pytest.approx(-0.01, abs=1e-3)


def test_a_moving_floor_counts_where_it_goes():
    solids = solids_of(BOX)
    floor, raised = (flat(((0.0, 0.0, z), (0.0, 0.0, 1.0))) for z in (-0.6, -0.45))
    _, _, _, _, _, gap, predicted = boundary_contacts(solids, poses([(0.0, 0.0, 0.0)]), (floor, raised), 0.0)
    assert gap == pytest.approx(np.full(4, 0.1))
    assert predicted == pytest.approx(np.full(4, -0.05))


def test_a_ball_in_a_groove_touches_both_sides():
    """Two turned boxes in one mesh make a groove of 90 degrees, where a ball's center lies r sqrt 2 above the edge."""
    vertices, faces = box_surface(2.0, 1.0, 1.0)
    turn = Rotation.from_euler("x", 45.0, degrees=True).as_matrix()
    apart = np.sqrt(0.5) + 1e-4
    both = np.concatenate([vertices @ turn.T + [0.0, y, 0.0] for y in (-apart, apart)])
    groove = Mesh(vertices=both, faces=np.concatenate([faces, faces + 8]), spacing=SPACING)
    solids = solids_of(groove, Sphere(0.3))
    where = poses([(0.0, 0.0, 0.0), (0.01, 0.0, 0.3 * np.sqrt(2.0) - 0.002)])
    _, normal, _, gap, _ = pair_contacts(solids, where, 0.005)
    assert (np.abs(gap + 0.002 / np.sqrt(2.0)) < 0.003).all()
    assert (normal[:, 2] > 0.6).all()
    for side in (-1.0, 1.0):
        assert (normal @ np.array([0.0, side, 1.0]) / np.sqrt(2.0)).max() > 0.99


@pytest.mark.parametrize("radius", [0.02, 0.1, 0.5, 2.0])
def test_spheres_of_all_sizes_are_as_far_as_they_are(radius):
    """Small ones have their center in the mesh's grid, large ones far outside. The mesh is 2e-3 off the torus."""
    solids = solids_of(mesh(torus(0.5, 0.2, 32, 64)), Sphere(radius))
    random = np.random.default_rng(4)
    seen = 0
    while seen < 30:
        center = random.uniform(-1.0, 1.0, 3) * (0.7 + radius)
        ring = np.hypot(center[0], center[1])
        exact = np.hypot(ring - 0.5, center[2]) - 0.2 - radius
        if not -0.5 * radius < exact < 0.05 or ring < 0.1:
            continue
        seen += 1
        _, normal, _, gap, _ = pair_contacts(solids, poses([(0.0, 0.0, 0.0), center]), 0.06)
        assert len(gap)
        assert gap.min() == pytest.approx(exact, abs=4e-3)
        out = np.array([center[0] / ring, center[1] / ring, 0.0])
        across = center - 0.5 * out
        assert normal[np.argmin(gap)] @ across / np.linalg.norm(across) > 0.98


def test_a_sphere_on_the_hole_of_a_torus_is_held_all_round():
    """Center on the axis: the whole inner circle is equally near. A push down must be met without a turn."""
    solids = solids_of(mesh(torus(0.5, 0.2, 32, 64)), Sphere(0.5))
    height = np.sqrt(0.7**2 - 0.5**2)
    _, normal, point, gap, _ = pair_contacts(solids, poses([(0.0, 0.0, 0.0), (0.0, 0.0, height - 0.003)]), 0.0)
    assert len(gap) >= 3
    assert gap == pytest.approx(np.full(len(gap), -0.003 * height / 0.7), abs=3e-3)
    assert normal[:, 2] == pytest.approx(np.full(len(gap), height / 0.7), abs=0.03)
    angle = np.sort(np.arctan2(point[:, 1], point[:, 0]))
    assert np.diff(angle, append=angle[0] + 2.0 * np.pi).max() < np.pi  # the axis lies within the contacts


def test_a_capsule_lies_on_a_box_with_its_ends():
    """Its core is far outside the box's grid."""
    solids = solids_of(mesh(box_surface(2.0, 2.0, 0.5)), Capsule(0.4, 1.0))
    lying = np.array([np.eye(3), Rotation.from_euler("xz", [90.0, 30.0], degrees=True).as_matrix()])
    _, normal, point, gap, _ = pair_contacts(solids, poses([(0.0, 0.0, 0.0), (0.1, 0.0, 0.65 - 1e-3)], lying), 0.0)
    assert np.abs(normal - [0.0, 0.0, 1.0]).max() < 1e-6
    assert gap == pytest.approx(np.full(len(gap), -1e-3), abs=1e-6)
    along = (point - [0.1, 0.0, 0.0]) @ lying[1][:, 2]
    assert along.min() == pytest.approx(-0.5, abs=1e-6) and along.max() == pytest.approx(0.5, abs=1e-6)


def test_a_thin_plate_is_pushed_out_at_the_side_it_came_from():
    """A ball's mesh 0.006 deep in a plate 0.01 thick: beyond its middle the nearest side is the wrong one."""
    plate = Mesh(vertices=(surface := box_surface(1.0, 1.0, 0.01))[0], faces=surface[1])
    solids = solids_of(plate, BALL)
    where = poses([(0.0, 0.0, 0.0), (0.0, 0.0, 0.5 + 0.005 - 0.006)])
    _, normal, _, gap, _ = pair_contacts(solids, where, 0.0)
    assert len(gap)
    assert (normal[:, 2] > 0.9).all()


@pytest.mark.parametrize("turn", range(3))
def test_a_tip_in_a_thin_plate_is_pushed_out_at_the_side_it_came_from(turn):
    """The plate is far wider than the body, and thinner: points beside the tip must not see its other side.

    A tip that is an eighth of the plate's thickness deep is pushed up by all of its contacts, with gaps between that
    depth and the margin.
    """
    corners = 0.12 * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    body = mesh((corners, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])), 0.12 / 64.0)
    solids = solids_of(body, Box((8.0, 8.0, 0.02)))
    turned = Rotation.random(random_state=turn).as_matrix()
    depth, margin = 0.0025, 0.01
    low = (solids.vertex[: solids.vertex_ptr[1]] @ (turned @ solids.turn[0]).T)[:, 2].min()
    where = poses([[0.0, 0.0, 0.01 - depth - low], [0.0, 0.0, 0.0]], [turned, np.eye(3)])
    normal, gap = pair_contacts(solids, where, margin)[1::2]
    assert (normal[:, 2] == -1.0).all()
    assert gap.min() == pytest.approx(-depth, abs=1e-12)
    assert gap.max() <= margin


def test_names_last_from_step_to_step():
    """A box sliding on a mesh floor keeps its corners' names; others may come and go."""
    solids = solids_of(mesh(box_surface(3.0, 3.0, 0.5), 0.06), Box((0.5, 0.5, 0.5)))
    seen = []
    for x in np.linspace(0.0, 0.2, 9):
        feature, *_ = pair_contacts(solids, poses([(0.0, 0.0, 0.0), (x, 0.5 * x, 0.5)]), 1e-6)
        seen.append(set(feature.tolist()))
    assert len(set.intersection(*seen)) >= 4


def test_parts_without_a_mesh_are_passed_over():
    solids = solids_of(Sphere(1.0), Box((1.0, 1.0, 1.0)), BALL)
    where = poses([(0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (9.0, 0.0, 0.0)])
    assert not len(pair_contacts(solids, where, 0.1)[0])
    floor = flat(((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    body = boundary_contacts(solids, where, (floor, floor), 0.0)[0]
    assert set(body.tolist()) == {2}


@pytest.mark.parametrize("name", [n for n in SHAPES if n not in ("mesh", "compound")])
def test_distance_of_points_is_exact(name):
    """Against the nearest of many points of the surface; inside negative. The normal is the slope of the distance."""
    solids = solids_of(SHAPES[name])
    surface = surface_of(solids, 0)
    random = np.random.default_rng(7)
    for point in random.uniform(-1.0, 1.0, (60, 3)):
        d, normal = signed_distance(surface, Vec3(*point), True)
        foot = point - d * np.array(normal)
        assert np.linalg.norm(normal) == pytest.approx(1.0)
        assert distance(surface, Vec3(*foot), np.inf) == pytest.approx(0.0, abs=1e-12)
        # No point nearer than d has another sign.
        for step in random.normal(size=(20, 3)):
            step *= 0.999 * abs(d) / np.linalg.norm(step)
            assert distance(surface, Vec3(*(point + step)), np.inf) * d > 0.0


def test_curved_meshes_that_do_not_touch_have_no_overlapping_contact():
    """A point outside of a curved surface may lie behind the tangent plane of another place: that is no overlap."""
    sim = Simulation(scenes.rabbits_and_pawns(rabbits=2, pawns=1), "qce")
    world, apart = sim.world, 2e-3 * sim.world.length_scale
    place = np.array([[50.0, 50.0, 50.0], [50.0, 50.0, 50.0], [90.0, 90.0, 90.0]])
    pair, seen = np.array([[0, 1]]), 0
    for seed in range(40):
        turn = Rotation.random(3, random_state=seed).as_quat(scalar_first=True)
        way = np.random.default_rng(seed).normal(size=3)
        near, far = 0.0, 3.0
        while far - near > 1e-9:  # until the sample points of the two are `apart`
            place[1] = place[0] + 0.5 * (near + far) * way / np.linalg.norm(way)
            still = Motions(pair[0], place[:2], np.zeros((2, 3)), matrices(turn[:2]), np.zeros((2, 3)))
            touches = gaps(world.shapes_3d, still, np.zeros(1))[0] <= apart
            near, far = (0.5 * (near + far), far) if touches else (near, 0.5 * (near + far))
        state = replace(sim.state, position=place, orientation=turn)
        found = find_contacts(world, state, state, 0.05 * world.length_scale)
        mine = (found.first == 0) & (found.second == 1)
        assert (found.gap[mine] > 0.0).all(), seed
        seen += mine.any()
    assert seen > 30

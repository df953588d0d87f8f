"""Where meshes touch: no contact in empty space, the deepest point always, both ends of an edge, rims that roll."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from carom.contact.parts import Poses
from carom.geometry.hulls import box as make_box
from carom.scene.parts import make_shapes
from carom.scene.shapes import Cone, Cylinder, Mesh, Sphere
from carom.world import PLANE, Boundaries

from .convex_cases import cone_base
from .mesh_cases import boundary_contacts, pair_contacts

CORNERS = 0.5 * np.array([(1.0, 1.0, 1.0), (1.0, -1.0, -1.0), (-1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)])
SIDES = np.array([(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)])
LYING = Rotation.from_euler("x", 90.0, degrees=True).as_matrix()  # a cylinder's axis along y


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("grids")
        patch.setattr("carom.geometry.distance_grid.user_cache", lambda: folder)
        yield


def solids_of(*shapes):
    return make_shapes([(f"bodies[{k}]", shape, 1) for k, shape in enumerate(shapes)])[0]


def poses(position, turn, after=None, turn_after=None):
    position, turn = np.array(position, dtype=np.float64), np.array(turn)
    after = position.copy() if after is None else np.array(after, dtype=np.float64)
    return Poses(
        np.arange(len(position)), position, turn, after, turn.copy() if turn_after is None else np.array(turn_after)
    )


def plate(x, y, z, spacing):
    form = make_box(np.array((x, y, z)))
    faces = np.array([(loop[0], loop[k], loop[k + 1]) for loop in form.loops for k in (1, 2)])
    return Mesh(vertices=form.vertices, faces=faces, spacing=spacing)


def prism(sections, radius, length):
    """A regular prism along z."""
    angle = 2.0 * np.pi * np.arange(sections) / sections
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    ends = [np.column_stack([ring, np.full(sections, z)]) for z in (-0.5 * length, 0.5 * length)]
    near = np.arange(sections)
    far = (near + 1) % sections
    sides = [np.stack(f, axis=1) for f in ((near, far, far + sections), (near, far + sections, near + sections))]
    fan = np.stack([np.zeros(sections - 2, int), near[1:-1], near[2:]], axis=1)
    faces = np.concatenate([*sides, fan[:, ::-1], fan + sections])
    return Mesh(vertices=np.concatenate(ends), faces=faces, spacing=max(2.0 * radius, length) / 64.0)


def to_tetrahedron(point):
    """Distance of an outside point: the nearest of the faces' and edges' points, found on a fine net of each face."""
    a, b = np.meshgrid(np.linspace(0.0, 1.0, 201), np.linspace(0.0, 1.0, 201))
    a, b = a[a + b <= 1.0], b[a + b <= 1.0]
    best = np.inf
    for p, q, r in CORNERS[SIDES]:
        net = p + np.outer(a, q - p) + np.outer(b, r - p)
        best = min(best, np.linalg.norm(net - point, axis=1).min())
    return best


@pytest.mark.parametrize("radius", [0.3, 1.0])
def test_a_sphere_by_the_empty_corner_of_a_box_touches_nothing(radius):
    """A tetrahedron leaves four corners of its box empty: gaps are those to its faces, not those to the box."""
    solids = solids_of(Mesh(vertices=CORNERS, faces=SIDES, spacing=np.ptp(CORNERS) / 64.0), Sphere(radius))
    random = np.random.default_rng(2)
    for k in range(12):
        along = np.array([-1.0, -1.0, -1.0]) if k == 0 else random.normal(size=3)
        along /= np.linalg.norm(along)
        center = 0.9 * along
        while (true := to_tetrahedron(center) - radius) < 0.05:
            center = center + 0.05 * along
        where = poses([(0.0, 0.0, 0.0), center], [np.eye(3), np.eye(3)])
        assert not len(pair_contacts(solids, where, true - 0.02)[0])
        gap = pair_contacts(solids, where, true + 0.02)[3]
        assert gap.min() == pytest.approx(true, abs=5e-3)  # a third of a cell, at corners


def test_the_lowest_line_of_a_finely_cut_roller_touches_a_coarse_plate():
    """From line to line it rises by less than the grid of the plate is sure of, and yet the lowest must stay."""
    solids = solids_of(plate(6.0, 4.0, 1.0, 0.25), prism(64, 0.3, 0.8))
    for angle in (0.0, 0.3, 0.77):
        turn = LYING @ Rotation.from_euler("z", angle).as_matrix()
        for depth in (0.0, 0.01):
            corner = (solids.vertex[solids.vertex_ptr[1] :] @ turn.T)[:, 2].min()
            where = poses([(0.0, 0.0, 0.0), (0.1, 0.0, 0.5 - corner - depth)], [np.eye(3), turn])
            _, normal, point, gap, _ = pair_contacts(solids, where, 0.05)
            low = gap < -depth + 1e-4
            assert gap.min() == pytest.approx(-depth, abs=1e-9)
            assert normal[low, 2].min() > 1.0 - 1e-9
            assert point[low, 1].min() == pytest.approx(-0.4) and point[low, 1].max() == pytest.approx(0.4)


@pytest.mark.parametrize("floor", ["plane", "mesh"])
def test_a_body_on_an_edge_has_both_ends_of_it(floor):
    """A square prism on its edge, one end higher by 2e-5, in a margin that takes in much of its sides."""
    turn = Rotation.from_euler("x", 2e-5).as_matrix() @ LYING
    low = -np.sqrt(0.5)  # square of side 1, corners on the axes
    form = prism(4, np.sqrt(0.5), 1.0)
    if floor == "plane":
        solids = solids_of(form)
        wall = Boundaries(
            np.full(1, PLANE, np.int8), np.array([(0.0, 0.0, low)]), np.array([(0.0, 0.0, 1.0)]),
            np.ones(1), np.zeros((1, 3)), np.zeros((1, 6)),
        )  # fmt: skip
        found = boundary_contacts(solids, poses([(0.0, 0.0, 0.0)], [turn]), (wall, wall), 0.2)
        point, gap = found[4], found[5]
    else:
        solids = solids_of(plate(4.0, 4.0, 1.0, 0.1), form)
        where = poses([(0.0, 0.0, low - 0.5), (0.0, 0.0, 0.0)], [np.eye(3), turn])
        _, _, point, gap, _ = pair_contacts(solids, where, 0.2)
    for end in (-0.5, 0.5):
        here = np.abs(point[:, :2] - [0.0, end]).max(axis=1) < 1e-3
        assert np.abs(gap[here]).min() < 2e-5


def test_a_cylinder_rolls_on_a_mesh_by_its_true_side():
    """Whatever its turn about the axis, the lowest line touches. Predictions are those of the side that comes there."""
    solids = solids_of(plate(6.0, 4.0, 1.0, 0.25), Cylinder(0.3, 0.8))
    for angle in (0.0, 0.1, 0.196, 1.0):
        turn, later = (LYING @ Rotation.from_euler("z", a).as_matrix() for a in (angle, angle + 0.1))
        start, end = (0.02, 0.0, 0.801), (0.05, 0.0, 0.8)
        where = poses([(0.0, 0.0, 0.0), start], [np.eye(3), turn], [(0.0, 0.0, 0.0), end], [np.eye(3), later])
        _, normal, point, gap, predicted = pair_contacts(solids, where, 0.01)
        low = gap < 0.002
        assert gap[low] == pytest.approx(np.full(low.sum(), 0.001), abs=1e-9)
        assert predicted.min() == pytest.approx(0.0, abs=1e-9)
        assert predicted[low] == pytest.approx(np.zeros(low.sum()), abs=1e-9)
        assert np.abs(normal[low] - [0.0, 0.0, 1.0]).max() < 1e-9
        assert point[low, 0] == pytest.approx(np.full(low.sum(), 0.02), abs=1e-9)
        assert point[low, 1].min() == pytest.approx(-0.4) and point[low, 1].max() == pytest.approx(0.4)


@pytest.mark.parametrize("half", [0.2, 0.01])
def test_a_cylinder_stands_on_a_mesh_with_its_rim(half):
    solids = solids_of(plate(4.0, 4.0, 1.0, 0.1), Cylinder(0.5, 2.0 * half))
    where = poses([(0.0, 0.0, 0.0), (0.03, 0.02, 0.5 + half - 1e-4)], [np.eye(3), np.eye(3)])
    _, normal, point, gap, _ = pair_contacts(solids, where, 0.0)
    assert gap == pytest.approx(np.full(len(gap), -1e-4), abs=1e-9)
    assert np.abs(normal - [0.0, 0.0, 1.0]).max() < 1e-9
    away = np.linalg.norm(point[:, :2] - [0.03, 0.02], axis=1)
    assert (away > 0.49).sum() >= 16


@pytest.mark.covering
@pytest.mark.parametrize("cone", [Cone(0.4, 1.0), Cone(0.4, 1.0, 0.2), Cone(0.8, 0.6)], ids=["tip", "cut off", "flat"])
@pytest.mark.parametrize("lies", [False, True], ids=["stands", "lies"])
def test_a_cone_touches_a_mesh_with_its_base_or_with_its_side(cone, lies):
    """On its base with at least its rim; on its side from one rim to the other, or to the tip."""
    solids = solids_of(plate(6.0, 4.0, 1.0, 0.25), cone)
    low, slant = cone_base(cone), np.hypot(cone.length, cone.radius - cone.top_radius)
    normal_z = (cone.radius - cone.top_radius) / slant  # of the side, along the axis
    turn = Rotation.from_euler("y", -0.5 * np.pi - np.arcsin(normal_z)).as_matrix() if lies else np.eye(3)
    height = cone.radius * cone.length / slant + low * normal_z if lies else -low
    where = poses([(0.0, 0.0, 0.0), (0.2, 0.1, 0.5 + height)], [np.eye(3), turn])
    _, normal, point, gap, _ = pair_contacts(solids, where, 0.01)
    assert np.abs(gap).max() < 1e-9 and np.abs(normal - [0.0, 0.0, 1.0]).max() < 1e-9
    if lies:
        assert point[:, 1] == pytest.approx(np.full(len(gap), 0.1), abs=1e-9)
        assert np.ptp(point[:, 0]) == pytest.approx(slant, abs=1e-9)
    else:
        away = np.linalg.norm(point[:, :2] - [0.2, 0.1], axis=1)
        assert (away > 0.99 * cone.radius).sum() == 16 and away.max() < cone.radius + 1e-9

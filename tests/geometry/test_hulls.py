"""Faces, edges and widths of convex polyhedra, and the tables made of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from carom.errors import ProblemError
from carom.geometry.hulls import box as make_box
from carom.geometry.hulls import hull
from carom.scene.parts import make_shapes
from carom.scene.shapes import Box, Capsule, Compound, Cylinder, Hull, Mesh, Part, Sphere
from carom.world import BOX, HULL, SPHERE

CUBE = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
TETRAHEDRON = np.array([(1.0, 1.0, 1.0), (1.0, -1.0, -1.0), (-1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)])


def check_faces(form):
    """Loops go round anticlockwise, lie in their planes, and every corner lies behind every face."""
    assert len(form.vertices) - len(form.edges) + len(form.loops) == 2  # Euler
    scale = form.reach
    for normal, offset, loop in zip(form.face_normals, form.face_offsets, form.loops):
        corners = form.vertices[loop]
        assert np.abs(corners @ normal - offset).max() < 1e-6 * scale
        assert (form.vertices @ normal).max() <= offset + 1e-9 * scale
        around = np.cross(np.roll(corners, -1, axis=0) - corners, np.roll(corners, -2, axis=0) - corners)
        assert (around @ normal > 0.0).all()
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_hull_of_a_turned_cube_is_a_cube(noise):
    """Rounding of the corners, as in single precision files, must not break its squares into triangles."""
    random = np.random.default_rng(1)
    for seed in range(20):
        points = CUBE @ Rotation.random(random_state=seed).as_matrix().T + random.normal(scale=noise, size=(8, 3))
        inside = random.uniform(-0.5, 0.5, (5, 3))
        form = hull("hull", np.concatenate([points, inside]))
        assert (len(form.vertices), len(form.loops), len(form.edges)) == (8, 6, 12)
        assert form.inner == pytest.approx(1.0, abs=1e-6)
        check_faces(form)


def test_box_and_its_hull_have_the_same_faces():
    box = make_box(np.array([1.0, 2.0, 3.0]))
    check_faces(box)
    form = hull("hull", box.vertices + 7.0)
    assert sorted(map(tuple, form.face_normals.round(12) + 0.0)) == sorted(map(tuple, box.face_normals + 0.0))
    assert len(box.edges) == len(form.edges) == 12
    assert np.allclose(form.inertia, box.inertia)


def test_width_of_a_tetrahedron_lies_between_opposite_edges():
    """Edge 2 sqrt 2: opposite edges are 2 apart, less than the height 2.309 over a face."""
    form = hull("hull", TETRAHEDRON)
    assert form.inner == pytest.approx(1.0, rel=1e-12)
    check_faces(form)


def test_hull_of_many_points():
    points = np.random.default_rng(3).normal(size=(400, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    form = hull("hull", points)
    assert len(form.vertices) == 400
    check_faces(form)
    assert 0.95 < form.inner <= 1.0


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_size_does_not_matter(scale):
    form = hull("hull", CUBE * scale)
    assert len(form.loops) == 6
    assert form.volume == pytest.approx(8.0 * scale**3, rel=1e-12)


def test_tables_point_into_each_other():
    shapes = [
        ("bodies[0]", Sphere(np.array([1.0, 2.0, 1.0])), 3),
        ("bodies[1]", Box((1.0, 1.0, 1.0)), 2),
        ("bodies[2]", Hull(TETRAHEDRON), 1),
        ("bodies[3]", Compound([Part(Box((1.0, 1.0, 1.0))), Part(Capsule(0.1, 1.0), (1.0, 0.0, 0.0))]), 1),
    ]
    solids, _ = make_shapes(shapes)
    assert solids.round.tolist() == [True] * 3 + [False] * 4
    assert solids.part_ptr.tolist() == [0, 1, 2, 3, 4, 5, 6, 8]
    assert solids.kind[solids.shape].tolist()[:6] == [SPHERE, SPHERE, SPHERE, BOX, BOX, HULL]
    assert solids.shape[0] == solids.shape[2] != solids.shape[1]
    assert solids.shape[3] == solids.shape[4] == solids.shape[6]
    box, tetrahedron = solids.shape[3], solids.shape[5]
    assert solids.vertex_ptr[box + 1] - solids.vertex_ptr[box] == 8
    assert solids.face_ptr[tetrahedron + 1] - solids.face_ptr[tetrahedron] == 4
    assert len(solids.loop_ptr) == len(solids.face_normal) + 1
    assert solids.loop_ptr[-1] == len(solids.loop)
    assert all(column.flags.writeable and column.flags.c_contiguous for column in solids)


def test_a_hull_in_the_body_frame_has_principal_axes():
    """Points of the tables, placed by their part, give the diagonal tensor that the properties state."""
    from carom.geometry.mass_properties import mass_properties

    points = np.random.default_rng(5).normal(size=(10, 3))
    solids, (found,) = make_shapes([("bodies[0]", Hull(points), 1)])
    placed = solids.place[0] + solids.vertex @ solids.turn[0].T
    faces = np.array(
        [
            (loop[0], loop[k], loop[k + 1])
            for loop in (solids.loop[a:b] for a, b in zip(solids.loop_ptr, solids.loop_ptr[1:]))
            for k in range(1, len(loop) - 1)
        ]
    )
    volume, center, inertia = mass_properties(placed, faces)
    assert volume == pytest.approx(found.volume[0], rel=1e-12)
    assert np.abs(center).max() < 1e-12
    assert np.abs(inertia - np.diag(found.gyration[0])).max() < 1e-12


@pytest.mark.parametrize(
    ("shape", "field", "part_of_message"),
    [
        (lambda: Sphere(0.0), "sphere.radius", "above 0"),
        (lambda: Sphere(float("nan")), "sphere.radius", "above 0"),
        (lambda: Sphere(np.array([1.0, -1.0])), "sphere.radius", "above 0"),
        (lambda: Sphere(np.ones(3)), "bodies[2].shape.radius", "one for each body"),
        (lambda: Box((1.0, 0.0, 1.0)), "box.size", "above 0"),
        (lambda: Box((1.0, 1.0)), "box.size", "three"),  # type: ignore[arg-type]
        (lambda: Capsule(1.0, float("inf")), "capsule.length", "above 0"),
        (lambda: Cylinder(-1.0, 1.0), "cylinder.radius", "above 0"),
        (lambda: Hull(np.eye(3)), "bodies[2].shape.vertices", "at least 4"),
        (lambda: Hull(CUBE * [1.0, 1.0, 0.0]), "bodies[2].shape.vertices", "volume"),
        (lambda: Hull(CUBE * [1.0, 1.0, 1e-14]), "bodies[2].shape.vertices", "volume"),
        (lambda: Hull(np.ones((5, 3))), "bodies[2].shape.vertices", "volume"),
        (lambda: Hull(CUBE * np.nan), "bodies[2].shape.vertices[0]", "finite"),
        (lambda: Compound([]), "bodies[2].shape.parts", "at least one"),
        (lambda: Compound([Part(Sphere(1.0), density=0.0)]), "bodies[2].shape.parts[0].density", "above 0"),
        (
            lambda: Compound([Part(Sphere(1.0), orientation=(0, 0, 0, 0))]),
            "bodies[2].shape.parts[0].orientation",
            "not zero",
        ),
        (lambda: Compound([Part(Sphere(1.0)), Part(Sphere(-1.0))]), "sphere.radius", "above 0"),
        (lambda: Mesh(), "bodies[2].shape.vertices", "path to a file"),
        (lambda: 3, "bodies[2].shape", "a 3D shape"),
    ],
)
def test_bad_shapes_are_refused_with_their_path(shape, field, part_of_message):
    """Where they are written if their fields are wrong by themselves, else where shapes are made."""
    with pytest.raises(ProblemError, match=part_of_message) as caught:
        make_shapes([("bodies[2]", shape(), 2)])
    assert caught.value.field == field

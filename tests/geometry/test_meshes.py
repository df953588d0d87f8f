"""Meshes that are read, mended and refused, their sample points, and the knots and balls made by rule."""

from __future__ import annotations

import numpy as np
import pytest

from carom.errors import ProblemError
from carom.geometry.hulls import box as make_box
from carom.geometry.mass_properties import mass_properties, signed_volume
from carom.geometry.sample_points import RUN, sample_points
from carom.geometry.surfaces import icosphere, torus, trefoil
from carom.scene.parts import make_shapes
from carom.scene.shapes import Box, Mesh
from carom.world import HULL, MESH

BOX = make_box(np.array([1.0, 1.0, 1.0]))
VERTICES = BOX.vertices
FACES = np.array([(loop[0], loop[k], loop[k + 1]) for loop in BOX.loops for k in (1, 2)])
COARSE = 0.125  # a spacing at which grids take no time


def made(**mesh):
    return make_shapes([("bodies[2]", Mesh(**{"spacing": COARSE, **mesh}), 1)])


def box(scale=1.0, shift=(0.0, 0.0, 0.0)):
    return VERTICES * scale + np.asarray(shift)


def joined(*meshes):
    vertices = np.concatenate([v for v, _ in meshes])
    starts = np.cumsum([0, *(len(v) for v, _ in meshes)])
    return vertices, np.concatenate([f + s for (_, f), s in zip(meshes, starts)])


def with_nan():
    out = VERTICES.copy()
    out[3, 1] = np.nan
    return out


def turned(faces, which):
    out = faces.copy()
    out[which] = out[which][::-1]
    return out


CROSSING = joined((box(), FACES), (box(shift=(0.5, 0.3, 0.2)), FACES))
SQUEEZED = VERTICES * [1.0, 1.0, 0.02]

BAD = {
    "open": ({"vertices": VERTICES, "faces": FACES[1:]}, "shape", "open mesh: 3 edges"),
    "inverted": (
        {"vertices": VERTICES, "faces": FACES[:, ::-1], "repair": False},
        "shape",
        "inverted mesh, of volume -1",
    ),
    "one turned": (
        {"vertices": VERTICES, "faces": turned(FACES, 4), "repair": False},
        "shape",
        "1 of 12 triangles face",
    ),
    "no volume": ({"vertices": VERTICES * [1.0, 1.0, 0.0], "faces": FACES}, "shape", "volume 0"),
    "two sheets": ({"vertices": np.eye(3), "faces": [(0, 1, 2), (0, 2, 1)]}, "shape", "volume 0"),
    "not finite": ({"vertices": with_nan(), "faces": FACES}, "shape.vertices[3]", "finite"),
    "out of range": ({"vertices": VERTICES, "faces": FACES + 1}, "shape.faces", "from 0 to 7"),
    "negative": ({"vertices": VERTICES, "faces": FACES - 1}, "shape.faces", "from 0 to 7"),
    "fractions": ({"vertices": VERTICES, "faces": FACES + 0.5}, "shape.faces", "whole"),
    "no triangles": ({"vertices": VERTICES, "faces": np.zeros((0, 3))}, "shape.faces", "no triangles"),
    "flat points": ({"vertices": VERTICES[:, :2], "faces": FACES}, "shape.vertices", "(k, 3)"),
    "repeated corner": (
        {"vertices": VERTICES, "faces": np.vstack([FACES, [0, 0, 1]]), "repair": False},
        "shape",
        "triangle 12 of vertices (0, 0, 1) has no area",
    ),
    "unmerged": (
        {"vertices": VERTICES[FACES].reshape(-1, 3), "faces": np.arange(36).reshape(-1, 3), "repair": False},
        "shape",
        "repair = true merges them",
    ),
    "crossing pieces": ({"vertices": CROSSING[0], "faces": CROSSING[1]}, "shape", "cross each other"),
    "missing faces": ({"vertices": VERTICES}, "shape.faces", "path to a file"),
    "file and arrays": ({"path": "box.obj", "vertices": VERTICES}, "shape.path", "either a file"),
    "no such file": ({"path": "nowhere.obj"}, "shape.path", "an existing file"),
    "unknown kind": ({"path": "mesh.docx"}, "shape.path", ".obj, .stl"),
    "zero scale": ({"vertices": VERTICES, "faces": FACES, "scale": 0.0}, "mesh.scale", "above 0"),
    "negative spacing": ({"vertices": VERTICES, "faces": FACES, "spacing": -1.0}, "mesh.spacing", "above 0"),
    "coarse": ({"vertices": VERTICES, "faces": FACES, "spacing": 0.5}, "shape.spacing", "quarter of the longest"),
    "fine": ({"vertices": VERTICES, "faces": FACES, "spacing": 1e-4}, "shape.spacing", "20000000 nodes"),
    "thin": ({"vertices": SQUEEZED, "faces": FACES}, "shape.spacing", "half of the thickness"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_meshes_are_refused_with_one_message(name):
    mesh, field, message = BAD[name]
    with pytest.raises(ProblemError) as caught:
        made(**mesh)
    assert caught.value.field == (field if field.startswith("mesh.") else f"bodies[2].{field}")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.obj", b"", "no triangles"),
        ("words.stl", b"these are words", "no triangles"),
        ("words.ply", b"these are words", "words.ply"),
        ("noise.obj", bytes(range(256)) * 20, "noise.obj"),
        ("empty.gltf", b"{}", "no triangles"),
        ("range.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "range.obj"),
        ("nan.obj", b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n", "finite"),
    ],
)
def test_bad_files_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ProblemError, match=message) as caught:
        made(path=str(tmp_path / name))
    assert caught.value.field == "bodies[2].shape.path"


@pytest.mark.parametrize("suffix", ["obj", "stl", "ply", "glb"])
@pytest.mark.parametrize("repair", [True, False])
def test_files_of_every_kind_give_the_same_solid(tmp_path, suffix, repair):
    """STL has no shared corners, and files keep single precision: 1e-7."""
    import trimesh

    file = tmp_path / f"box.{suffix}"
    trimesh.Trimesh(box(shift=(0.3, 0.2, 0.1)), FACES, process=False).export(file)
    _, (found,) = made(path=str(file), scale=2.0, repair=repair)
    exact = make_shapes([("bodies[0]", Box((2.0, 2.0, 2.0)), 1)])[1][0]
    assert found.volume[0] == pytest.approx(8.0, rel=1e-6)
    assert found.origin == pytest.approx([0.6, 0.4, 0.2], abs=1e-6)
    assert found.gyration[0] == pytest.approx(exact.gyration[0], rel=1e-6)


@pytest.mark.parametrize(
    ("vertices", "faces"),
    [
        (VERTICES, FACES[:, ::-1]),
        (VERTICES, turned(turned(FACES, 3), 9)),
        (VERTICES, np.vstack([FACES, [5, 5, 2]])),
        (VERTICES[FACES].reshape(-1, 3), np.arange(36).reshape(-1, 3)),
    ],
    ids=["inverted", "two turned", "repeated corner", "unmerged"],
)
def test_repair_gives_the_sound_mesh(vertices, faces):
    _, (found,) = made(vertices=vertices, faces=faces)
    assert found.volume[0] == pytest.approx(1.0, rel=1e-14)
    assert found.gyration[0] == pytest.approx(np.full(3, 1.0 / 6.0), rel=1e-14)


def test_a_hollow_is_kept_whichever_way_its_faces_point():
    for inner in (FACES, FACES[:, ::-1]):
        vertices, faces = joined((box(), FACES), (box(0.5), inner))
        solids, (found,) = made(vertices=vertices, faces=faces)
        assert found.volume[0] == pytest.approx(1.0 - 0.125, rel=1e-14)
        center = tuple(solids.grid_count[0] // 2)
        assert solids.grid_value.reshape(solids.grid_count[0])[center] == pytest.approx(0.25)  # outside, in the hollow


def test_a_knot_that_runs_through_itself_is_refused():
    """One closed piece, so that only the grid sees it: parts of its inside are counted twice."""
    angle = 2.0 * np.pi * np.arange(90) / 90
    from carom.geometry.surfaces import swept

    curve = np.stack([np.sin(2.0 * angle), np.sin(angle), np.zeros(90)], axis=1)  # a figure of eight
    along = np.roll(curve, -1, axis=0) - np.roll(curve, 1, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    up = np.tile([0.0, 0.0, 1.0], (90, 1))
    vertices, faces = swept(curve, np.cross(along, up), up, 0.2, 12)
    with pytest.raises(ProblemError, match="crosses itself near"):
        made(vertices=vertices, faces=faces, spacing=0.06)


def test_sample_points_are_dense_even_and_outward():
    spacing = 0.1
    points, normals, neighbors, (reach, in_runs) = sample_points(VERTICES, FACES, spacing)
    assert len(np.unique(points.round(12), axis=0)) == len(points)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(len(points)))
    assert (np.einsum("ij,ij->i", points, normals) > 0.0).all()
    assert {tuple(p) for p in VERTICES} <= {tuple(p) for p in points}
    assert in_runs % RUN == 0 and 0.9 * len(points) < in_runs <= len(points)
    for begin in range(0, in_runs, RUN):
        assert np.linalg.norm(points[begin : begin + RUN] - points[begin], axis=1).max() <= reach
    assert reach < 5.0 * spacing
    # Every place of the surface has a point nearby, and the points are connected.
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.ones(3), size=(12, 50))
    places = np.einsum("fsk,fki->fsi", weights, VERTICES[FACES]).reshape(-1, 3)
    distance = np.linalg.norm(places[:, None] - points[None], axis=2).min(axis=1)
    assert distance.max() < 0.75 * spacing
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(neighbors)), neighbors.T), shape=(len(points), len(points)))
    assert connected_components(graph, directed=False)[0] == 1
    assert np.linalg.norm(points[neighbors[:, 0]] - points[neighbors[:, 1]], axis=1).max() <= 1.6 * spacing


def test_fine_meshes_get_no_more_points():
    vertices, faces = icosphere(1.0, 3)
    points, normals, *_ = sample_points(vertices, faces, 0.5)
    assert len(points) == len(vertices)
    assert np.abs(normals - points).max() < 0.01


def test_trefoil_is_closed_and_three_fold_symmetric():
    vertices, faces = trefoil(1.0, 0.2, 12, 72)
    turn = np.array([[-0.5, -np.sqrt(0.75), 0.0], [np.sqrt(0.75), -0.5, 0.0], [0.0, 0.0, 1.0]])
    third = len(vertices) // 3
    # The curve winds twice round the axis: its second third lies 240 degrees on.
    assert np.abs(np.roll(vertices, -third, axis=0) - vertices @ turn).max() < 1e-15
    _, center, inertia = mass_properties(vertices, faces)
    assert np.abs(center).max() < 1e-15
    assert inertia[0, 0] == pytest.approx(inertia[1, 1], rel=1e-14)
    assert np.abs(inertia - np.diag(np.diag(inertia))).max() < 1e-15
    # Pappus: a thin tube has the volume of its section times the length of its middle line.
    thin = trefoil(1.0, 0.01, 48, 960)
    t = np.linspace(0.0, 2.0 * np.pi, 100_000, endpoint=False)
    speed = np.sqrt(9.0 + 4.0 * (2.0 + np.cos(3.0 * t)) ** 2) / 3.0
    assert signed_volume(*thin) == pytest.approx(np.pi * 1e-4 * 2.0 * np.pi * speed.mean(), rel=5e-3)
    _, (found,) = make_shapes([("bodies[0]", Mesh(vertices=vertices, faces=faces, spacing=0.1), 1)])
    assert found.frame.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert found.gyration[0, 0] == found.gyration[0, 1]


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: trefoil(1.0, 0.4), "trefoil.tube"),
        (lambda: trefoil(1.0, 0.2, 12, 70), "trefoil.along"),
        (lambda: trefoil(-1.0), "trefoil.radius"),
        (lambda: torus(1.0, 2.0), "torus.tube"),
        (lambda: torus(1.0, 0.2, 2), "torus.around"),
        (lambda: icosphere(0.0), "icosphere.radius"),
    ],
)
def test_bad_sizes_of_surfaces(call, field):
    with pytest.raises(ProblemError) as caught:
        call()
    assert caught.value.field == field


@pytest.mark.parametrize("dent", [0.0, 0.2])
def test_a_convex_mesh_is_a_hull_unless_a_spacing_is_given(dent):
    """A tetrahedron whose slanted face has a vertex in its middle: flat it is convex, dented it is not."""
    middle = (1.0 - dent) / 3.0
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [middle] * 3], float)
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 4], [2, 3, 4], [3, 1, 4]])
    own, (found,) = make_shapes([("bodies[0]", Mesh(vertices=vertices, faces=faces), 1)])
    assert own.kind[0] == (HULL if dent == 0.0 else MESH)
    sampled, (same,) = make_shapes([("bodies[0]", Mesh(vertices=vertices, faces=faces, spacing=0.05), 1)])
    assert sampled.kind[0] == MESH
    assert found.volume == pytest.approx(same.volume, rel=1e-12)
    assert np.abs(found.gyration - same.gyration).max() < 1e-12

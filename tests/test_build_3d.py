"""Bad 3D scenes: each is refused by one ProblemError with its path, before any file is touched."""

from __future__ import annotations

import math

import numpy as np
import pytest

from carom import ProblemError, simulate
from carom.build import build
from carom.scene import Bodies, Disc, Moving, Periodic, Rotating, Scene, Scripted
from carom.scene.boundaries import Container, Drum, Plane, Shell, Tube
from carom.scene.shapes import Box, Capsule, Compound, Cylinder, Hull, Mesh, Part, Solid, Sphere

NAN, INF = math.nan, math.inf
CORNERS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 2.0
FACES = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
SQUARE = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.0]])
CUBE = Box((1.0, 1.0, 1.0))


def body(shape=None, place=(0.0, 0.0, 0.0), **more) -> Bodies:
    return Bodies(Sphere(1.0) if shape is None else shape, np.array([place], dtype=float), **more)


def scene(*bodies, boundaries=(), **more) -> Scene:
    return Scene("bad", bodies, boundaries, **more)


def mesh(**changes) -> Mesh:
    return Mesh(**{"vertices": CORNERS, "faces": FACES, **changes})


def refused(given: Scene, tmp_path, field: str, *words: str) -> None:
    """The run is refused for `field`, with the words in the message, and leaves no file behind."""
    output = tmp_path / "run.h5"
    with pytest.raises(ProblemError) as caught:
        simulate(given, duration=0.1, step=0.01, output=output)
    assert caught.value.field == field, str(caught.value)
    for word in words:
        assert word in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert not output.exists()
    assert not list(tmp_path.glob("run*"))


def test_the_good_ones_run(tmp_path):
    """Or the tests below show nothing."""
    for shape in (Sphere(1.0), CUBE, Hull(CORNERS), mesh(), mesh(faces=FACES[:, ::-1])):
        simulate(scene(body(shape)), duration=0.02, step=0.01, output=tmp_path / "run.h5", overwrite=True)
    assert (tmp_path / "run.h5").exists()


SIZES = [
    (Sphere(np.array([1.0, 2.0])), "radius"),
    (Hull(CORNERS[:3]), "vertices"),
    (Hull(SQUARE), "vertices"),
    (Hull(np.zeros((5, 3))), "vertices"),
    (Hull(np.zeros((5, 2))), "vertices"),
    (Hull("abc"), "vertices"),
    (Hull([]), "vertices"),
    (Hull([[1, 2, 3], [1, 2]]), "vertices"),
    (Compound([]), "parts"),
    (Compound([Part(CUBE), Part(Disc(1.0))]), "parts[1].shape"),
    (Compound([Part(CUBE, (0.0, 0.0))]), "parts[0].position"),
    (Compound([Part(CUBE, orientation=(0.0, 0.0, 0.0, 0.0))]), "parts[0].orientation"),
    (Compound([Part(CUBE, density=0.0)]), "parts[0].density"),
]


WRITTEN = [
    (lambda: Sphere(0.0), "sphere.radius"),
    (lambda: Sphere(-1.0), "sphere.radius"),
    (lambda: Sphere(NAN), "sphere.radius"),
    (lambda: Sphere(INF), "sphere.radius"),
    (lambda: Sphere("a"), "sphere.radius"),
    (lambda: Sphere(None), "sphere.radius"),
    (lambda: Box((1.0, 1.0)), "box.size"),
    (lambda: Box((1.0, 0.0, 1.0)), "box.size"),
    (lambda: Box((1.0, NAN, 1.0)), "box.size"),
    (lambda: Box(1.0), "box.size"),
    (lambda: Box("abc"), "box.size"),
    (lambda: Capsule(1.0, 0.0), "capsule.length"),
    (lambda: Capsule(np.array([1.0, 2.0]), 1.0), "capsule.radius"),
    (lambda: Cylinder(1.0, -1.0), "cylinder.length"),
    (lambda: Cylinder("a", 1.0), "cylinder.radius"),
    (lambda: Compound([Part(Sphere(-1.0))]), "sphere.radius"),
    (lambda: mesh(scale=0.0), "mesh.scale"),
    (lambda: mesh(scale=NAN), "mesh.scale"),
    (lambda: mesh(spacing=-1.0), "mesh.spacing"),
]


def test_bad_sizes_are_refused_where_they_are_written():
    for make, field in WRITTEN:
        with pytest.raises(ProblemError) as wrong:
            make()
        assert str(wrong.value).startswith(f"{field}: got "), wrong.value


@pytest.mark.parametrize(("shape", "field"), SIZES)
def test_sizes(shape, field, tmp_path):
    refused(scene(body(shape)), tmp_path, f"bodies[0].shape.{field}")


def test_a_name_of_the_group_is_told(tmp_path):
    refused(scene(body(), body(Hull([]), (9, 0, 0), name="moon")), tmp_path, "bodies[1] (moon).shape.vertices")


def test_one_bad_corner_is_named(tmp_path):
    for shape in (Hull, lambda v: mesh(vertices=v)):
        bad = CORNERS.copy()
        bad[3, 1] = NAN
        refused(scene(body(shape(bad))), tmp_path, "bodies[0].shape.vertices[3]", "nan")


MESHES = [
    ({"faces": FACES[:3]}, "", "open", "3 edges"),
    ({"faces": FACES[:3], "repair": False}, "", "open"),
    ({"faces": np.array([*FACES, FACES[0]])}, "", "odd number of triangles"),
    ({"faces": FACES[:, ::-1], "repair": False}, "", "inverted", "repair"),
    ({"faces": np.array([FACES[0][::-1], *FACES[1:]]), "repair": False}, "", "1 of 4", "repair"),
    ({"vertices": CORNERS * [1, 1, 0]}, "", "volume 0"),
    ({"vertices": SQUARE, "faces": np.array([[0, 1, 2], [0, 2, 1], [1, 3, 2], [1, 2, 3]])}, "", "volume 0"),
    ({"vertices": np.concatenate([CORNERS, CORNERS + 0.1]), "faces": np.concatenate([FACES, FACES + 4])}, "", "cross"),
    ({"faces": FACES + 1}, ".faces", "from 0 to 3"),
    ({"faces": FACES - 1}, ".faces", "-1"),
    ({"faces": FACES + 0.5}, ".faces", "whole"),
    ({"faces": np.zeros((3, 4), int)}, ".faces"),
    ({"faces": np.zeros((0, 3), int)}, ".faces"),
    ({"faces": None}, ".faces"),
    ({"vertices": None, "faces": None}, ".vertices"),
    ({"vertices": "a"}, ".vertices"),
    ({"spacing": 10.0}, ".spacing", "at most"),
    ({"spacing": 1e-5}, ".spacing", "at least"),
]


@pytest.mark.parametrize("case", MESHES)
def test_meshes(case, tmp_path):
    changes, field, *words = case
    refused(scene(body(mesh(**changes))), tmp_path, f"bodies[0].shape{field}", *words)


def test_a_bad_mesh_within_a_compound(tmp_path):
    shape = Compound([Part(CUBE, (3, 0, 0)), Part(mesh(faces=FACES[:3]))])
    refused(scene(body(shape)), tmp_path, "bodies[0].shape.parts[1].shape", "open")


FILES = {
    "empty.obj": ("", "no triangles"),
    "words.stl": ("hello world\n" * 10, "no triangles"),
    "points.obj": ("v 0 0 0\nv 1 0 0\nv 0 1 0\n", "no triangles"),
    "lines.obj": ("v 0 0 0\nv 1 0 0\nl 1 2\n", "no triangles"),
    "nan.obj": ("v 0 0 0\nv 1 0 nan\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n", "nan"),
    "open.obj": ("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 3 4\nf 1 4 2\n", "open"),
    "range.obj": ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "readable"),
    "half.gltf": ('{"asset":', "readable"),
    "noise.ply": ("\x07\x08\x99 no ply at all", "readable"),
    "picture.png": ("\x89PNG", ".obj, .stl"),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path):
    text, word = FILES[name]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    refused(scene(body(Mesh(path=str(path)))), tmp_path, "bodies[0].shape.path", word)


def test_files_that_are_none(tmp_path):
    (tmp_path / "folder.obj").mkdir()
    for name in ("missing.obj", "folder.obj"):
        refused(scene(body(Mesh(path=str(tmp_path / name)))), tmp_path, "bodies[0].shape.path", "existing file")
    both = Mesh(path="some.obj", vertices=CORNERS, faces=FACES)
    refused(scene(body(both)), tmp_path, "bodies[0].shape.path", "either")


BODIES = [
    ({"inertia": 0.0}, "inertia"),
    ({"inertia": (1.0, -1.0, 1.0)}, "inertia[0]"),
    ({"inertia": (1.0, 0.0, 1.0)}, "inertia[0]"),
    ({"inertia": (1.0, 1.0)}, "inertia"),
    ({"inertia": np.eye(3)}, "inertia"),
    ({"inertia": (1.0, NAN, 1.0)}, "inertia"),
    ({"mass": 0.0}, "mass"),
    ({"mass": NAN}, "mass"),
    ({"mass": (1.0, 2.0)}, "mass"),
    ({"velocity": (1.0, 2.0)}, "velocity"),
    ({"spin": (1.0, 2.0)}, "spin"),
    ({"angle": 1.0}, "angle"),
    ({"orientation": (0.0, 0.0, 0.0, 0.0)}, "orientation"),
    ({"orientation": (1.0, 0.0, 0.0)}, "orientation"),
    ({"orientation": (1.0, 0.0, NAN, 0.0)}, "orientation"),
    ({"orientation": "x"}, "orientation"),
    ({"motion": "fixed"}, "motion"),
    ({"motion": Moving((1.0, 0.0))}, "motion.velocity"),
    ({"motion": Rotating(1.0, about=(0.0, 0.0))}, "motion.about"),
]


@pytest.mark.parametrize(("changes", "field"), BODIES)
def test_numbers_of_bodies(changes, field, tmp_path):
    refused(scene(body(CUBE, **changes)), tmp_path, f"bodies[0].{field}")


def test_places(tmp_path):
    for place in (np.zeros((1, 2)), np.array([[0, NAN, 0]]), np.zeros((0, 3))):
        refused(scene(Bodies(Sphere(1.0), place)), tmp_path, "bodies[0].position")


def test_what_belongs_to_the_plane(tmp_path):
    disc = Bodies(Disc(1.0), np.zeros((1, 2)))
    refused(scene(body(), Bodies(Disc(1.0), np.array([[5.0, 0, 0]]))), tmp_path, "bodies[1].shape", "Disc")
    refused(scene(body(), Bodies(Disc(1.0), np.array([[5.0, 0]]))), tmp_path, "bodies[1].position")
    refused(scene(body(Solid())), tmp_path, "bodies[0].shape", "Sphere")
    refused(scene(body(), boundaries=[Plane((0.0, 0.0))]), tmp_path, "boundaries[0].point", "3 numbers")
    refused(scene(body(), boundaries=[Drum(5.0)]), tmp_path, "boundaries[0]", "Plane, Container, Tube, Shell")
    refused(scene(body(), boundaries=[Container((-5, -5), (5, 5))]), tmp_path, "boundaries[0].lower", "3 numbers")
    refused(scene(disc, boundaries=[Plane(normal=(0.0, 0.0, 1.0))]), tmp_path, "boundaries[0].normal", "2 numbers")
    refused(scene(disc, boundaries=[Tube(5.0)]), tmp_path, "boundaries[0]", "Plane, Container, Drum, Segment")
    refused(scene(disc, boundaries=[Container((-5, -5, -5), (5, 5, 5))]), tmp_path, "boundaries[0].lower", "2 numbers")
    refused(scene(disc, gravity=(0.0, 0.0, -1.0)), tmp_path, "gravity", "two")
    turned = Bodies(Disc(1.0), np.zeros((1, 2)), orientation=(0.0, 1.0, 0.0, 0.0))
    refused(scene(turned), tmp_path, "bodies[0].orientation", "angle")
    moved = Plane(motion=Moving((1.0, 0.0)))
    refused(scene(body(place=(0, 0, 2)), boundaries=[moved]), tmp_path, "boundaries[0].motion.velocity")


@pytest.mark.parametrize("gravity", [(0.0, -1.0), (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, NAN), "abc"])
def test_gravity(gravity, tmp_path):
    refused(scene(body(), gravity=gravity), tmp_path, "gravity")


PAIRS = {
    "spheres": [body(), body(place=(1, 0, 0))],
    "boxes": [body(CUBE), body(CUBE, (0.5, 0.5, 0.5))],
    "at one place": [body(CUBE), body(CUBE)],
    "meshes": [body(mesh()), body(mesh(), (0.3, 0, 0))],
    "meshes at one place": [body(mesh()), body(mesh())],
    "box within a mesh": [body(mesh(scale=10.0)), body(Box((0.1, 0.1, 0.1)))],
    "sphere within a mesh": [body(mesh(scale=10.0)), body(Sphere(0.1))],
    "mesh within a box": [body(Box((9.0, 9.0, 9.0))), body(mesh(), (1.0, 1.0, 2.0))],
    "sphere within a box": [body(Box((10.0, 10.0, 10.0))), body(Sphere(0.1), (1, 1, 1))],
    "sphere within a hull": [body(Hull(20.0 * CORNERS)), body(Sphere(0.1))],
    "sphere within a sphere": [body(Sphere(5.0)), body(Sphere(0.1))],
    "capsule across a cylinder": [body(Capsule(0.1, 4.0)), body(Cylinder(1.0, 1.0))],
    "parts of compounds": [
        body(Compound([Part(CUBE, (-2, 0, 0)), Part(CUBE, (2, 0, 0))])),
        body(Sphere(0.4), (2.5, 0.0, 0.0)),
    ],
}


@pytest.mark.parametrize("name", PAIRS)
def test_bodies_that_start_in_each_other(name, tmp_path):
    who = "bodies: body 0 (bodies[0], number 0) and body 1 (bodies[1], number 0)"
    refused(scene(*PAIRS[name]), tmp_path, who, "overlap", "at the start")


def test_bodies_that_are_apart_start(tmp_path):
    """In the empty corners of each other's boxes, and within reach of each other's bounding spheres."""
    pairs = [
        [body(mesh()), body(Sphere(0.5), (-0.7, -0.7, -0.7))],
        [body(mesh()), body(CUBE, (-0.9, -0.9, -0.9))],
        [body(Compound([Part(CUBE, (-2, 0, 0)), Part(CUBE, (2, 0, 0))])), body(Sphere(1.4))],
        [body(Box((10.0, 10.0, 0.1))), body(Box((10.0, 10.0, 0.1)), (0, 0, 0.11))],
        [body(Capsule(0.1, 9.0)), body(Capsule(0.1, 9.0), (0.21, 0, 0))],
    ]
    for k, pair in enumerate(pairs):
        simulate(scene(*pair), duration=0.01, step=0.01, output=tmp_path / f"{k}.h5")


OUTSIDE = {
    "half through a plane": (body(), Plane((0, 0, 0.5)), "plane"),
    "far behind a plane": (body(place=(0, 0, -50)), Plane(), "plane"),
    "through a tube": (body(place=(5, 0, 0)), Tube(3.0), "tube"),
    "wider than a tube": (body(Sphere(4.0)), Tube(3.0), "tube"),
    "corners through a shell": (body(CUBE, (2.7, 0, 0)), Shell(3.0), "shell"),
    "a mesh through a wall": (body(mesh()), Container((-0.2, -1, -1), (1, 1, 1)), "plane"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_bodies_outside_of_their_room(name, tmp_path):
    one, boundary, kind = OUTSIDE[name]
    refused(scene(one, boundaries=[boundary]), tmp_path, "bodies: body 0 (bodies[0], number 0)", kind)


def test_periodic_sides(tmp_path):
    small = body(Sphere(0.1), (0, 0, 5))
    refused(scene(small, periodic=Periodic(z=(0.0, 1.0))), tmp_path, "position of body 0", "z within")
    refused(scene(body(), periodic=Periodic(z=(-0.9, 0.9))), tmp_path, "bodies[0][0]", "periodic length")


def test_names(tmp_path):
    for field in ("integrator", "stepper", "law"):
        refused(scene(body(), **{field: "euler"}), tmp_path, field, "known:")
    refused(scene(body(material="ice")), tmp_path, "material (of bodies[0])", "default")
    refused(scene(body(), boundaries=[Plane((0, 0, -9), material="ice")]), tmp_path, "material (of boundaries[0])")


def test_functions_are_tried_before_the_run(tmp_path):
    for wrong in (np.zeros((1, 2)), np.full((1, 3), NAN), "x", None):
        refused(scene(body(), force=lambda t, x, v, out=wrong: out), tmp_path, "force")
    for wrong in ((0.0, 0.0), (0.0, 0.0, NAN), (0.0,) * 5):
        moving = body(motion=Scripted(lambda t, out=wrong: out))
        refused(scene(moving), tmp_path, "motion.function")
        wall = Plane((0, 0, -9), motion=Scripted(lambda t, out=wrong: out))
        refused(scene(body(), boundaries=[wall]), tmp_path, "motion.function")


BOUNDARIES = [
    (lambda: Plane(normal=(0, 0, 0)), "boundary.normal"),
    (lambda: Plane((0, 0, 0), (0, 1)), "boundary.normal"),
    (lambda: Plane((0, 0, NAN)), "boundary.point"),
    (lambda: Plane("abc"), "boundary.point"),
    (lambda: Container((0, 0, 0), (1, 1, -1)), "boundary.upper"),
    (lambda: Container((0, 0, 0), (1, 1)), "boundary.upper"),
    (lambda: Container((0,), (1,)), "boundary.lower"),
    (lambda: Tube(0.0), "boundary.radius"),
    (lambda: Tube("a"), "boundary.radius"),
    (lambda: Tube(1.0, axis=(0, 0, 0)), "boundary.axis"),
    (lambda: Shell(-1.0), "boundary.radius"),
    (lambda: Shell(1.0, (0, 0)), "boundary.center"),
    (lambda: Rotating(1.0, axis=(0, 0, 0)), "motion.axis"),
    (lambda: Rotating(NAN), "motion.speed"),
    (lambda: Periodic(z=(1.0, 0.0)), "periodic.z"),
]


@pytest.mark.parametrize(("make", "field"), BOUNDARIES)
def test_boundaries_and_motions(make, field):
    with pytest.raises(ProblemError) as caught:
        make()
    assert caught.value.field == field


def test_arrays_of_a_state_are_contiguous():
    """Also where one row is given for all bodies: kernels would be compiled again for another order in memory."""
    _, state = build(Scene("row", [Bodies(Sphere(0.4), np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))]))
    assert all(a.flags.c_contiguous for a in (state.position, state.orientation, state.velocity))

"""Boundaries take their dimension from their vectors; kinds are the same words in Python and in files."""

from __future__ import annotations

import re
from dataclasses import fields

import numpy as np
import pytest

from carom import ProblemError
from carom.build import build
from carom.geometry.surfaces import height_field
from carom.scene import Bodies, Container, Disc, Funnel, HeightField, Plane, Scene, Sphere, boundaries, motion, shapes
from carom.scene.file import load_scene, parse_toml, scene_schema, scene_to_toml
from carom.scene.store import pack, unpack


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


@pytest.mark.parametrize("module", [boundaries, motion, shapes])
def test_kinds_are_the_names_of_the_classes(module):
    for kind, owner in module.KINDS.items():
        assert kind == owner.kind == snake(owner.__name__)


def test_every_kind_is_in_the_schema_with_its_fields():
    tables = scene_schema()["$defs"]
    for kind, owner in {**boundaries.KINDS, **motion.KINDS}.items():
        assert tables[owner.__name__]["properties"]["kind"] == {"const": kind}
        assert {field.name for field in fields(owner)} <= set(tables[owner.__name__]["properties"])
    assert tables["Bodies"]["properties"]["shape"]["enum"] == list(shapes.KINDS)
    for shape in shapes.KINDS.values():
        assert set(shape.file_fields()) <= set(tables["Bodies"]["properties"])


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_default_plane_is_the_ground(dimension):
    shape = Disc(0.5) if dimension == 2 else Sphere(0.5)
    up = np.eye(dimension)[-1]
    world, _ = build(
        Scene("s", [Bodies(shape, up[None])], [Plane(), Plane(normal=tuple(up)), Plane((0.0,) * dimension)])
    )
    np.testing.assert_array_equal(world.boundaries.axis, [up] * 3)
    np.testing.assert_array_equal(world.boundaries.point, np.zeros((3, dimension)))


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_container_keeps_bodies_between_its_planes(dimension):
    lower, upper = (-1.0, -2.0, -3.0)[:dimension], (1.0, 2.0, 3.0)[:dimension]
    sides = Container(lower, upper).sides(dimension)
    assert len(sides) == 2 * dimension
    for side in sides:
        inward = np.array(side.normal) @ (np.zeros(dimension) - np.array(side.point))
        assert inward == pytest.approx(abs(np.array(side.normal)) @ np.array(upper))
    top = (0.0,) * (dimension - 1) + (-1.0,)
    open_sides = Container(lower, upper, open_top=True).sides(dimension)
    assert [s for s in sides if s not in open_sides] == [Plane(upper, top)]


def test_the_dimension_of_a_file_may_follow_from_its_vectors():
    ball = "[[bodies]]\nradius = 1\nposition = [0, 0, 5]\n[[boundaries]]\nkind = 'plane'"
    assert parse_toml(ball).dimension == 3
    assert parse_toml(ball.replace("[0, 0, 5]", "[0, 5]")).dimension == 2
    with pytest.raises(ProblemError, match=r"boundaries\[0\]\.point.*three numbers"):
        parse_toml(ball + "\npoint = [0, 0]")
    with pytest.raises(ProblemError, match=r"bodies\[0\]\.position.*two numbers"):
        parse_toml(ball.replace("radius", "shape = 'disc'\nradius"))


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_funnel_is_written_and_read(dimension):
    """In a file and in a trajectory it stays a funnel; only the world has its sides or its panels."""
    point = (1.0, 2.0, 3.0)[:dimension]
    funnel = Funnel(0.5, 2.0, 1.0, point, **({} if dimension == 2 else {"panels": 12, "thickness": 0.2}))
    shape = Disc(0.1) if dimension == 2 else Sphere(0.1)
    scene = Scene("s", [Bodies(shape, np.zeros((1, dimension)))], [funnel])
    assert parse_toml(scene_to_toml(scene)).boundaries == (funnel,)
    assert tuple(unpack(*pack(scene)).boundaries) == (funnel,)
    assert len(scene.bodies) == 1 and len(scene.groups) == dimension - 1
    text = "[[bodies]]\nradius = 1\nposition = [0, 0]\n[[boundaries]]\nkind = 'funnel'\noutlet = 1\ntop = 2\n"
    text += "height = 1\n"
    assert parse_toml(text).boundaries == (Funnel(1.0, 2.0, 1.0),)
    with pytest.raises(ProblemError, match="panels"):
        parse_toml(text + "panels = 12")


@pytest.mark.parametrize("heights", [[0.0, 1.0, 0.5], [[0.0, 1.0], [0.5, 0.25], [3.0, -1.0]]], ids=["2D", "3D"])
def test_a_height_field_is_the_same_after_writing_and_reading(heights, tmp_path):
    """As lists, tuples, an array, and from a file; in TOML, and as stored in a trajectory."""
    shape = Disc(0.5) if np.ndim(heights) == 1 else Sphere(0.5)
    field = HeightField(heights, 0.5)
    np.save(tmp_path / "field.npy", np.array(heights))
    np.savetxt(tmp_path / "field.csv", np.array(heights), delimiter=",")
    assert field == HeightField(np.array(heights), 0.5) == HeightField(str(tmp_path / "field.npy"), 0.5)
    scene = Scene("s", [Bodies(shape, np.full((1, shape.dimension), 9.0))], [field])
    assert parse_toml(scene_to_toml(scene)).boundaries == (field,)
    assert tuple(unpack(*pack(scene)).boundaries) == (field,)
    at = "[0, 9]" if shape.dimension == 2 else "[0, 0, 9]"
    for name in ("field.npy", "field.csv"):
        text = f"[[bodies]]\nradius = 1\nposition = {at}\n[[boundaries]]\nkind = 'height_field'\nspacing = 0.5\n"
        (tmp_path / "scene.toml").write_text(text + f"heights = '{name}'\n")
        assert load_scene(tmp_path / "scene.toml").boundaries == (field,)


BAD_FIELDS = {
    "one height": (([1.0], 0.5), "heights.*at least two numbers"),
    "one row": (([[1.0, 2.0]], 0.5), "heights.*at least two equally long lists"),
    "ragged": (([[1.0, 2.0], [1.0]], 0.5), "heights.*equally long"),
    "not a number": (([[1.0, 2.0], [1.0, np.nan]], 0.5), "heights.*a finite number"),
    "text": ((["high", "low"], 0.5), "heights.*a finite number"),
    "spacing": (([1.0, 2.0], 0.0), "spacing: got 0.0; expected a number above 0"),
    "too many": ((np.zeros((300, 300)), 0.5), "heights.*at most 65,536 heights"),
    "no file": (("nowhere.npy", 0.5), "heights: got nowhere.npy; expected an existing file"),
    "other file": (("hills.png", 0.5), r"heights: got hills.png; expected .*\.npy, \.csv"),
    "fine grid": ((np.zeros((200, 200)), 1.0, None, 4.0, 0.1), "cell: got 0.1; expected at least about"),
    "thin": ((np.zeros((9, 9)), 1.0, None, 0.1), "cell: got 0.5; expected at most half of depth = 0.1"),
}


@pytest.mark.parametrize("name", BAD_FIELDS)
def test_a_bad_height_field_is_refused(name):
    given, message = BAD_FIELDS[name]
    with pytest.raises(ProblemError, match=message):
        HeightField(*given)


def test_a_height_field_has_the_dimension_of_its_heights():
    field = HeightField([0.0, 1.0], 0.5)
    with pytest.raises(ProblemError, match=r"heights: got a single list; expected .*: the scene is 3D"):
        build(Scene("s", [Bodies(Sphere(0.5), [[0.0, 0.0, 9.0]])], [field]))
    with pytest.raises(ProblemError, match=r"heights: got a list of lists; expected .*: the scene is 2D"):
        build(Scene("s", [Bodies(Disc(0.5), [[0.0, 9.0]])], [HeightField([[0.0, 1.0], [0.0, 1.0]], 0.5)]))


def test_the_surface_under_a_height_field_is_closed_and_mirrored_with_it():
    """Its volume is the mean height of each triangle times its area, and a mirrored field has the mirrored surface."""
    heights = np.random.default_rng(0).random((5, 4))
    vertices, faces = height_field(heights, 0.5, -1.0)
    corners = vertices[faces]
    assert np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6.0 == pytest.approx(
        sum(c[:, 2].mean() + 1.0 for c in corners[: 2 * 4 * 3]) * 0.125
    )
    edges = {(int(a), int(b)) for face in faces for a, b in zip(face, np.roll(face, -1))}
    assert len(edges) == 3 * len(faces) and {(b, a) for a, b in edges} == edges
    other, turned = height_field(heights[::-1], 0.5, -1.0)
    top = [[2.0, 0.0, 0.0] + v * [-1.0, 1.0, 1.0] for v in corners[:24]]
    assert {tuple(sorted(map(tuple, v.tolist()))) for v in top} == {
        tuple(sorted(map(tuple, v.tolist()))) for v in other[turned][:24]
    }

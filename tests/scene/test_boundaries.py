"""Boundaries take their dimension from their vectors; kinds are the same words in Python and in files."""

from __future__ import annotations

import re
from dataclasses import fields

import numpy as np
import pytest

from carom import ProblemError
from carom.build import build
from carom.scene import Bodies, Container, Disc, Funnel, Plane, Scene, Sphere, boundaries, motion, shapes
from carom.scene.file import parse_toml, scene_schema, scene_to_toml
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

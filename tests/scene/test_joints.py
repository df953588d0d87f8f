"""Joints of scenes: reading, writing, storing, and one line for each mistake."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.build import build
from carom.scene import (
    BallJoint,
    Bodies,
    Box,
    Disc,
    Hinge,
    Moving,
    Pin,
    Rectangle,
    Rod,
    Rope,
    Scene,
    Slider,
    Spring,
    Weld,
)  # fmt: skip
from carom.scene.file.document import parse_toml, scene_schema
from carom.scene.file.write import scene_to_toml
from carom.scene.joints import KINDS
from carom.scene.store import pack, unpack

BAR = Bodies(Rectangle(1.0, 0.1), [[0.5, 0.0]], name="bar")
BALL = Bodies(Disc(0.1), [[2.0, 0.0], [3.0, 0.0]], name="ball")
JOINTS_2D = (
    Pin(("world", "bar"), (0.0, 0.0), limits=(-1.0, 0.5), restitution=0.5, speed=1.0, torque=2.0, name="shoulder"),
    Slider((0, "ball[0]"), (1.0, 0.0), (1.0, 0.0), limits=(-0.1, 0.1)),
    Weld((1, 2), (2.5, 0.0)),
    Rod(("bar", 2), ((1.0, 0.0), (3.0, 0.0))),
    Rope(("world", 2), ((3.0, 1.0), (3.0, 0.0)), length=2.0, restitution=0.2),
    Spring((1, 2), ((2.0, 0.0), (3.0, 0.0)), stiffness=1.0, damping=0.5),
)
JOINTS_3D = (
    Hinge(("world", 0), (0.0, 0.0, 0.0), (0.0, 0.0, 2.0), limits=(-1.0, 1.0)),
    BallJoint((0, 1), (1.0, 0.0, 0.0), collide=True),
)


def flat(*joints):
    return Scene("flat", (BAR, BALL), joints=joints)


def solid(*joints):
    boxes = Bodies(Box((0.8, 0.2, 0.2)), [[0.5, 0.0, 0.0], [1.5, 0.0, 0.0]])
    return Scene("solid", (boxes,), joints=joints, gravity=(0.0, 0.0, 0.0))


@pytest.mark.parametrize("scene", [flat(*JOINTS_2D), solid(*JOINTS_3D)], ids=["2D", "3D"])
def test_joints_are_written_and_read(scene):
    again = parse_toml(scene_to_toml(scene))
    assert tuple(again.joints) == tuple(scene.joints)
    stored = unpack(*pack(scene))
    assert tuple(stored.joints) == tuple(scene.joints)
    build(again)


def test_scenes_without_joints_are_stored_as_before():
    meta, _ = pack(Scene("none", (BAR,)))
    assert meta["format"] == 4 and "joints" not in meta


def test_schema_has_every_kind():
    tables = scene_schema()["$defs"]
    assert all(owner.__name__ in tables for owner in KINDS.values())


def moving(*joints):
    return Scene("moving", (Bodies(Disc(0.1), [[1.0, 0.0]], velocity=(1.0, 0.0)),), joints=joints)


def pulled(*joints):
    """A ball at rest beside a scripted one that moves away."""
    scripted = Bodies(Disc(0.1), [[0.0, 0.0]], motion=Moving((1.0, 0.0)))
    return Scene("pulled", (Bodies(Disc(0.1), [[1.0, 0.0]]), scripted), joints=joints)


MISTAKES = [
    (lambda: flat(Pin(("world", "rod"), (0.0, 0.0))), "unknown .*bodies.1.: body 'rod'"),
    (lambda: flat(Pin(("world", 7), (0.0, 0.0))), "a number from 0 to 2"),
    (lambda: flat(Pin(("world", "ball"), (0.0, 0.0))), r"ball\[0\] to ball\[1\]"),
    (lambda: flat(Pin((1, "ball[0]"), (0.0, 0.0))), "two different bodies"),
    (lambda: flat(Hinge((0, 1), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))), "the bodies are 2D"),
    (lambda: solid(Hinge((0, 1), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))), "direction .* not zero"),
    (lambda: flat(Slider((0, 1), (0.0, 0.0), (0.0, 0.0))), "direction .* not zero"),
    (lambda: flat(Pin((0, 1), (0.0, 0.0), limits=(1.0, -1.0))), "low below high"),
    (lambda: flat(Pin((0, 1), (0.0, 0.0), limits=(0.5, 1.0))), "lower <= 0 <= upper"),
    (lambda: flat(Pin((0, 1), (0.0, 0.0), speed=1.0)), "joint.torque"),
    (lambda: flat(Rod((0, 1), ((1.0, 0.0), (1.0, 0.0)))), "two different points"),
    (lambda: flat(Rope((0, 1), ((0.0, 0.0), (2.0, 0.0)), length=1.0)), "at least 2"),
    (lambda: flat(Spring((0, 1), ((0.0, 0.0), (2.0, 0.0)), stiffness=-1.0)), "at least 0"),
    (lambda: flat(Spring((0, 1), ((0.0, 0.0), (2.0, 0.0)), stiffness=1e9)), "a time step of at most"),
    (lambda: moving(Rod(("world", 0), ((0.0, 0.0), (1.0, 0.0)))), "joints.0.*move apart at 1"),
    (lambda: pulled(Rod(("world", 0), ((2.0, 0.0), (1.0, 0.0))), Rod((1, 0), ((0.0, 0.0), (1.0, 0.0)))),
     r"joints.1. .rod.: .* move apart at 1 .*no velocity satisfies both it and joints.0. .rod.$"),
    (lambda: pulled(Rod((1, 0), ((0.0, 0.0), (1.0, 0.0)))), "joints.0.*velocities and spins that the joint allows$"),
    (lambda: solid(Hinge((0, 1), (0.0, 0.0, 0.0), (0.0, 0.0, 1e-300))), "direction .* not zero"),
    (lambda: flat(Pin((0, 1), (0.0, 0.0), torque=1.0)), "joint.speed: got None; expected the speed"),
    (lambda: flat(Rod((0, 1), ((0.0, 0.0), (2.0, 0.0))), Rope((0, 1), ((0.0, 0.0), (2.0, 0.0)), length=1.5)),
     "joints.1.*at least 2"),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(MISTAKES)))
def test_mistakes_get_one_line(k):
    make, message = MISTAKES[k]
    with pytest.raises(carom.ProblemError, match=message) as error:
        build(make())
    assert "\n" not in str(error.value)


MISTAKEN_FILE = """
[scene]
name = "mistake"
{start}
[[bodies]]
name = "{name}"
shape = "{shape}"
{size}
position = {places}
[[joints]]
{joint}
"""
DISCS = {"start": "gravity = [0.0, -9.81]", "name": "ball", "shape": "disc", "size": "radius = 0.1",
         "places": "[[1.0, 0.0], [2.0, 0.0]]"}  # fmt: skip
SPHERES = {**DISCS, "start": "", "shape": "sphere", "places": "[[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]"}
PAIR = "bodies = [0, 1]\n"


@pytest.mark.parametrize(
    ("bodies", "joint", "message"),
    [
        (DISCS, 'kind = "pin"\nbodies = ["world", "bal"]\npoint = [0.0, 0.0]', "did you mean 'ball'"),
        (DISCS, 'kind = "pin"\nbodies = [0, 5]\npoint = [0.0, 0.0]', r"joints\[0\].bodies\[1\]: got 5"),
        (DISCS, 'kind = "pin"\nbodies = [0]\npoint = [0.0, 0.0]', r"joints\[0\].bodies: got .*two bodies"),
        (DISCS, f'kind = "glue"\n{PAIR}', r"joints\[0\].kind"),
        (DISCS, f'kind = "pin"\n{PAIR}', r"joints\[0\].point"),
        (DISCS, f'kind = "pin"\n{PAIR}point = [0.0, 0.0]\nangle = 1.0', "angle"),
        (DISCS, f'kind = "slider"\n{PAIR}point = [0.0, 0.0]\naxis = [0.0, 0.0]', r"joints\[0\].axis.*not zero"),
        (SPHERES, f'kind = "hinge"\n{PAIR}point = [0.0, 0.0, 0.0]\naxis = [0, 0, 0]', r"joints\[0\].axis.*not zero"),
        (DISCS, f'kind = "pin"\n{PAIR}point = [0.0, 0.0]\nlimits = [1.0, -1.0]', r"joints\[0\].limits.*low below high"),
        (DISCS, f'kind = "spring"\n{PAIR}ends = [[1.0, 0.0], [2.0, 0.0]]\nstiffness = -1.0', r"joints\[0\].stiffness"),
    ],
)  # fmt: skip
def test_mistakes_in_files_get_one_line(bodies, joint, message):
    with pytest.raises(carom.ProblemError, match=message) as error:
        build(parse_toml(MISTAKEN_FILE.format(**bodies, joint=joint)))
    assert "\n" not in str(error.value)


def test_names_and_numbers_mean_the_same_bodies():
    point = (1.0, 0.0)
    by_name, _ = build(flat(Pin(("bar", "ball[1]"), point)))
    by_number, _ = build(flat(Pin((0, 2), point)))
    assert np.array_equal(by_name.joints.rows.body, by_number.joints.rows.body)

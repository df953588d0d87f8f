"""Coefficients of rolling and torsional friction: materials, pairs, scene files, and the tables of the world."""

from __future__ import annotations

import numpy as np
import pytest

from carom.build import build
from carom.errors import ProblemError
from carom.scene import Bodies, Disc, Material, Plane, Scene, Sphere
from carom.scene.file import parse_toml, scene_schema, scene_to_toml
from carom.scene.store import pack, unpack

GROUND = Material(0.5, 0.3, rolling_friction=0.04)


def rolling(shape, position, **more) -> Scene:
    body = Bodies(shape, np.array([position]), material="ball")
    given = {"materials": {"ball": Material(0.5, 0.3, rolling_friction=0.01), "ground": GROUND}}
    return Scene("rolling", [body], [Plane(material="ground")], **{**given, **more})


def disc(**more) -> Scene:
    return rolling(Disc(1.0), (0.0, 1.0), **more)


def sphere(**more) -> Scene:
    return rolling(Sphere(1.0), (0.0, 0.0, 1.0), **more)


@pytest.mark.parametrize("make", [disc, sphere])
def test_two_materials_meet_with_the_geometric_mean(make):
    world, _ = build(make())
    np.testing.assert_allclose(world.rolling_friction, [[0.01, 0.02], [0.02, 0.04]], rtol=1e-15)
    assert world.torsional_friction is None and not world.frictionless


@pytest.mark.parametrize("make", [disc, sphere])
def test_a_pair_overrides_the_mean(make):
    pairs = {("ground", "ball"): {"rolling_friction": 0.5}}
    world, _ = build(make(pairs=pairs))
    assert world.rolling_friction[0, 1] == world.rolling_friction[1, 0] == 0.5
    assert world.friction[0, 1] == pytest.approx(0.3, rel=1e-15)  # the others stay


def test_worlds_without_them_have_no_tables():
    world, _ = build(disc(materials={"ball": Material(), "ground": Material()}))
    assert world.rolling_friction is None and world.torsional_friction is None
    assert world.frictionless and not world.turns


@pytest.mark.parametrize("name", ["rolling_friction", "torsional_friction"])
def test_spheres_turn_where_nothing_but_these_act(name):
    world, state = build(sphere(materials={"ball": Material(**{name: 0.1}), "ground": Material(**{name: 0.1})}))
    assert world.turns and state.velocity.shape == (1, 6)
    assert getattr(world, name).tolist() == [[0.1, 0.1], [0.1, 0.1]]
    world, _ = build(sphere(materials={"ball": Material(**{name: 0.1}), "ground": Material()}))
    assert world.turns  # two balls would resist each other, the ground does not
    assert getattr(world, name).tolist() == [[0.1, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("bad", [-0.1, float("nan"), float("inf"), "much", None])
@pytest.mark.parametrize("name", ["rolling_friction", "torsional_friction"])
def test_bad_coefficients_are_refused_with_their_path(name, bad):
    with pytest.raises(ProblemError, match=rf"materials\.ball\.{name}"):
        build(sphere(materials={"ball": Material(**{name: bad}), "ground": Material()}))
    with pytest.raises(ProblemError, match=rf"pairs\[ball, ground\]\.{name}"):
        build(sphere(pairs={("ball", "ground"): {name: bad}}))


def test_nothing_spins_about_a_normal_in_2d():
    with pytest.raises(ProblemError, match=r"materials\.ball\.torsional_friction.*2D"):
        build(disc(materials={"ball": Material(torsional_friction=0.1), "ground": Material()}))


def test_scene_files_have_them():
    text = scene_to_toml(sphere(pairs={("ball", "ground"): {"torsional_friction": 0.25}}))
    read = parse_toml(text)
    assert read.materials["ground"] == GROUND and read.pairs == {("ball", "ground"): {"torsional_friction": 0.25}}
    world, _ = build(read)
    pair = [world.material_names.index(name) for name in ("ball", "ground")]
    assert world.torsional_friction[np.ix_(pair, pair)].tolist() == [[0.0, 0.25], [0.25, 0.0]]
    for owner in ("Material", "Pair"):
        fields = scene_schema()["$defs"][owner]["properties"]
        assert fields["rolling_friction"]["minimum"] == fields["torsional_friction"]["minimum"] == 0
    with pytest.raises(ProblemError, match=r"materials\.ground\.rolling_friction.*at least 0"):
        parse_toml(text.replace("rolling_friction = 0.04", "rolling_friction = -0.04"))
    flat = scene_to_toml(disc())
    assert "torsional" not in flat
    with pytest.raises(ProblemError, match=r"torsional_friction.*the scene is 2D"):
        parse_toml(flat.replace("rolling_friction = 0.04", "torsional_friction = 0.04"))


def test_stored_scenes_have_them():
    scene = sphere(pairs={("ball", "ground"): {"rolling_friction": 0.25}})
    again = unpack(*pack(scene))
    assert again.materials == scene.materials and again.pairs == scene.pairs

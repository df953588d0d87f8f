"""The experiments of the papers at small size: what each of them showed."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import scenes
from carom.analysis.runs import symmetry_error
from carom.build import build
from carom.errors import ProblemError
from carom.scenes import make_scene


def symmetric_until(run, bound: float = 1e-5) -> float:
    """When the symmetry is off by more than `bound` of the smallest half width; infinite if never."""
    late = run.time[symmetry_error(run) > bound]
    return float(late[0]) if len(late) else np.inf


@pytest.mark.parametrize("law", ["gr", pytest.param("qce", marks=pytest.mark.long)])
def test_two_rabbits_keep_energy_and_symmetry(law):
    """Smith 2012, fig. 8. Energy to rounding. Each tumbling impact amplifies rounding errors, so that the symmetry is
    lost after 4.6 s (gr) and 6.3 s (qce)."""
    run = carom.simulate(scenes.two_rabbits_box(), law, duration=5.0)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-12)
    assert symmetric_until(run) > 4.0


def test_two_rabbits_lose_their_symmetry_under_gauss_seidel():
    run = carom.simulate(scenes.two_rabbits_box(), "gauss_seidel", duration=5.0)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-12)
    assert symmetric_until(run) < 4.0


def test_momentum_of_rabbits_in_a_pot():
    """Smith 2012, section 10.3: the system is closed. 1,000 steps of rounding with friction."""
    run = carom.simulate(scenes.rabbits_in_pot(), duration=10.0)
    steps = run.steps
    assert steps["contacts"].sum() > 20
    linear = np.stack([steps[f"momentum_{x}"] for x in "xyz"])
    angular = np.stack([steps[f"angular_momentum_{x}"] for x in "xyz"])
    assert np.abs(linear).max() < 1e-12
    assert np.abs(angular / angular[:, :1] - 1.0).max() < 1e-12
    assert run.kinetic[-1] < 0.9 * run.kinetic[0]  # restitution 0.8 and friction


def test_rabbits_and_pawns_hardly_overlap_in_any_step():
    """The scene asks for 5e-4 of the smallest half width; without the search at the end of a step there is 1.5e-2."""
    run = carom.simulate(scenes.rabbits_and_pawns(rabbits=8, pawns=2), duration=1.3)
    assert (run.steps["contacts"] > 0).sum() > 40
    assert run.steps["overlap"].max() <= 1e-3 * run.world.length_scale
    assert np.diff(run.energy).max() <= 1e-12 * run.energy[0]


@pytest.mark.long
def test_dolls_open_under_gr_and_bounce_as_one_under_lcp():
    """Smith 2012, fig. 2: how far the upper half of the outer doll is above the lower one when they come back up."""

    def opened(law):
        run = carom.simulate(scenes.dolls(count=2, height=0.5), law, duration=0.8)
        height = np.asarray(run.positions)[:, :, 2]
        apart = height[:, 1] - height[:, 0]
        return float((apart - apart[0]).max())

    assert opened("gr") > 0.2
    assert opened("lcp") < 0.01


def test_layer_has_the_published_frequency_and_acceleration():
    scene = scenes.vibrated_layer(pattern="squares", width=10)
    motion = scene.boundaries[0].motion
    g, depth = 9.81, 5.42 * 1.65e-4
    assert motion.frequency * np.sqrt(depth / g) == pytest.approx(0.27)
    assert 4.0 * np.pi**2 * motion.frequency**2 * motion.amplitude / g == pytest.approx(3.0)
    assert scenes.vibrated_layer(width=100).count == pytest.approx(60_000, rel=0.01)


def test_shape_of_a_cross():
    """Seven cubes: volume 7 c^3; the inertia of one bar of volume 3 c^3 and four cubes beside it."""
    world, _ = build(scenes.cross_packing(count=1, side=3.0))
    c = 3.78 / 3.0
    expected = (7.0 * c**2 / 6.0 + 4.0 * c**2) / 7.0  # of unit mass, about each axis
    np.testing.assert_allclose(world.inertia[0], expected, rtol=1e-12)


def test_a_mesh_of_the_user_has_the_size_of_the_rabbit(tmp_path):
    """A tetrahedron of any size, anywhere: its longest side becomes 1, its center of mass the place of the body."""
    corners = np.array([[0.0, 0.0, 0.0], [60.0, 0.0, 0.0], [0.0, 80.0, 0.0], [0.0, 0.0, 100.0]]) + 1000.0
    lines = ["v {} {} {}".format(*v) for v in corners] + ["f 1 3 2", "f 1 2 4", "f 1 4 3", "f 2 3 4"]
    (tmp_path / "mine.obj").write_text("\n".join(lines))
    scene = scenes.rabbit_pile(count=2, mesh=str(tmp_path / "mine.obj"))
    world, state = build(scene)
    np.testing.assert_allclose(state.position, scene.bodies[0].position, atol=1e-12)
    np.testing.assert_allclose(world.shapes.radius, np.linalg.norm([0.15, 0.2, 0.75]), rtol=1e-12)  # of the far corner


@pytest.mark.parametrize(
    ("name", "parameters", "field"),
    [
        ("two_rabbits_box", {"room": 1.0}, "room"),
        ("two_rabbits_box", {"detail": 3}, "detail"),
        ("rabbits_in_pot", {"duration": 0.0}, "duration"),
        ("rabbit_pile", {"count": 0}, "count"),
        ("rabbits_and_pawns", {"pawns": 0}, "pawns"),
        ("dolls", {"cells": 2}, "cells"),
        ("dolls", {"height": -1.0}, "height"),
        ("granular_wave", {"side": 0.5}, "side"),
        ("granular_wave", {"lift": 0.0}, "lift"),
        ("vibrated_layer", {"pattern": "spots"}, "pattern"),
        ("vibrated_layer", {"width": 0}, "width"),
        ("cube_packing", {"edge": -1.0}, "edge"),
        ("cross_packing", {"count": 0}, "count"),
        ("repose", {"shape": "stars"}, "shape"),
        ("repose", {"settle": float("nan")}, "settle"),
    ],
)
def test_bad_parameters(name, parameters, field):
    with pytest.raises(ProblemError) as wrong:
        make_scene(name, **parameters)
    assert field in wrong.value.field

"""The Rube Goldberg machine: its devices by themselves, and the whole chain under two laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import carom
from carom import scenes
from carom.analysis.checks import check_run
from carom.analysis.stages import stages, turn, way
from carom.build import build
from carom.errors import ProblemError
from carom.scene import Bodies, Sphere
from carom.scenes.rube_goldberg import (
    AXLE,
    AXLE_RADIUS,
    CARD,
    DOMINO,
    RADIUS,
    TILT,
    above,
    billiards,
    center_of_mass,
    dominoes,
    fixed,
    house,
    machine,
    seesaw,
    seesaw_shape,
    track,
)


def device(*groups: Bodies, duration: float, law: str = "gr"):
    """A run of some groups of the machine, with its materials and settings."""
    return carom.simulate(machine(groups), law, duration=duration)


def test_ball_rolls_down_a_track():
    """A ball that touches both sides rolls about the line through the contacts, at the distance d from its center:
    a = g sin / (1 + 2/5 r^2 / d^2), without rolling friction. The resting step is second order in h = 0.002."""
    slope = 0.2
    cos = 1.0 / np.sqrt(1.0 + slope**2)
    arm2 = 1.0 - cos**2 / (1.0 + cos**2)  # (d / r)^2; the unit normals are (sin, +-cos, -cos) / sqrt(1 + cos^2)
    expected = 9.81 * slope * cos / (1.0 + 0.4 / arm2)
    curve = np.array([(0.0, 0.0, 2.0), (-3.0, 0.0, 2.0 - 3.0 * slope)])
    ball = Bodies(Sphere(RADIUS), np.array([[-0.5, 0.0, 2.0 - 0.5 * slope + above(slope)]]), material="ball")
    scene = machine([ball, fixed("track", track(curve))])
    smooth = {name: replace(material, rolling_friction=0.0) for name, material in scene.materials.items()}
    run = carom.simulate(scene.with_(materials=smooth), duration=1.0)
    moved = np.linalg.norm(run.positions[-1][0] - run.positions[0][0])
    assert moved == pytest.approx(0.5 * expected, rel=1e-5)


def test_mass_properties_of_the_seesaw():
    """Sums over its boxes and cylinder. It is balanced so that it rests tilted to either side."""
    boxes = np.array(
        [
            (0.2, 2.0, 0.05, 0.0, 0.075),
            (0.6, 0.5, 0.05, 0.85, 0.075),
            (0.05, 0.5, 0.25, -0.9, -0.075),
            (0.2, 0.3, 0.25, -0.5, 0.225),
        ]
    )
    mass, axle = boxes[:, :3].prod(axis=1), np.pi * AXLE_RADIUS**2 * 0.9
    total = mass.sum() + axle
    y, z = (mass @ boxes[:, 3] / total, mass @ boxes[:, 4] / total)
    np.testing.assert_allclose(center_of_mass(seesaw_shape()), (0.0, y, z), atol=1e-14)
    for side in (1.0, -1.0):  # the center of mass is on the lower side of the axle
        assert side * (y * np.cos(TILT) - side * z * np.sin(TILT)) < -0.005
    about_axle = (mass * ((boxes[:, 1] ** 2 + boxes[:, 2] ** 2) / 12.0 + boxes[:, 3] ** 2 + boxes[:, 4] ** 2)).sum()
    about_axle += 0.5 * axle * AXLE_RADIUS**2
    world, _ = build(machine(seesaw()))
    assert world.mass[0] == pytest.approx(total, rel=1e-12)
    along_x = about_axle - total * (y**2 + z**2)
    assert np.abs(world.inertia[0] - along_x).min() < 1e-12  # x is one of its principal axes


def test_devices_rest_until_they_are_triggered():
    """Without its first ball nothing in the machine moves. Contacts at rest settle by less than 1e-4 of a radius."""
    scene = scenes.rube_goldberg()
    groups = [group for group in scene.bodies if group.name != "first ball"]
    with carom.simulate(scene.with_(bodies=groups), duration=0.3) as run:
        for group in groups:
            assert way(run, group.name).max() < 1e-4 * RADIUS, group.name
            assert turn(run, group.name).max() < 1e-4, group.name


def test_last_domino_tips_the_seesaw_which_releases_the_ball():
    """The last domino alone, pushed over at its top, is heavy enough; an empty seesaw stays as it is."""
    row = dominoes()[0]
    last = replace(row, position=row.position[-1:], orientation=row.orientation[-1:])
    # It rotates about its lower edge towards negative y.
    speed = 1.5
    falling = replace(last, spin=(speed, 0.0, 0.0), velocity=(0.0, -0.5 * speed * DOMINO[2], 0.5 * speed * DOMINO[0]))
    (_, table), (cue, _, oblique, _) = house(), billiards()
    run = device(cue, falling, table, *seesaw(), oblique, duration=1.4)
    assert turn(run, "seesaw").max() > TILT
    assert run.positions[-1][0][0] < AXLE[0] - RADIUS  # the ball has passed the gate
    run = device(cue, last, table, *seesaw(), oblique, duration=0.3)
    assert turn(run, "seesaw").max() < 1e-3 and way(run, "cue ball").max() < 1e-3


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"height": 0.0}, "height"),
        ({"height": 5.0}, "height"),
        ({"pillars": 0}, "pillars"),
        ({"friction": 0.0}, "friction"),
    ],
)
def test_bad_parameters(parameters, field):
    with pytest.raises(ProblemError) as wrong:
        scenes.rube_goldberg(**parameters)
    assert wrong.value.field == field


def test_stages_of_another_scene_are_refused():
    run = carom.simulate(scenes.rolling_sphere(), duration=0.05)
    with pytest.raises(ProblemError, match="rube_goldberg"):
        stages(run)


@pytest.mark.long
@pytest.mark.parametrize("law", ["gr", "qce"])
def test_every_stage_is_triggered_by_the_one_before(law):
    """From the first ball to the last pillar, in order. Each device is at rest until the one before it has moved; steps
    with hundreds of contacts are solved to the tolerance of 1e-2, so that bodies may creep by 1e-3 of a radius."""
    run = carom.simulate(scenes.rube_goldberg(), law)
    times = stages(run)
    assert list(times.values()) == sorted(set(times.values())) and np.isfinite(list(times.values())).all(), times
    rests = {"cradle": "first ball", "cards": "cradle", "dominoes": "card house", "seesaw": "last domino"}
    rests |= {"cue ball": "last domino", "rack": "cue ball", "pillar 1": "second spiral"}
    for group, before in rests.items():
        until = run.time <= times[before]
        assert way(run, group)[until].max() < 1e-2 * RADIUS, group
    assert run.steps["overlap"].max() < 0.1 * CARD[2]
    assert all(check.passed is not False for check in check_run(run))


@pytest.mark.long
@pytest.mark.parametrize("law", ["gr", "qce"])
def test_the_last_dominoes_turn_the_seesaw(law):
    """The last three, of which the first is pushed: the gate of the seesaw opens."""
    groups = {group.name: group for group in scenes.rube_goldberg().bodies}
    last, spin = groups["dominoes"], np.zeros((3, 3))
    spin[0, 0] = 4.0  # about x: its top moves towards the seesaw
    three = replace(last, position=last.position[-3:], orientation=last.orientation[-3:], spin=spin)
    run = device(three, groups["seesaw"], groups["upper table"], groups["bearing"], duration=1.6, law=law)
    assert turn(run, "dominoes")[-1, -1] > np.radians(45.0)
    assert turn(run, "seesaw")[-1, 0] > TILT

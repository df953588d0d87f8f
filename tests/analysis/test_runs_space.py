"""Measurements of runs in space, against what follows from the scene by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import carom
from carom.analysis import runs
from carom.analysis.checks import check_run
from carom.analysis.run_momentum import along_boundaries, angular_momentum_drift, conserved_axes_3d, momentum_drift
from carom.analysis.run_panels import PANELS, overview, panel
from carom.analysis.statistics import run_summary
from carom.build import build
from carom.scene import Bodies, Material, Moving, Periodic, Rotating, Scene, Vibrating
from carom.scene.boundaries import Container, Plane, Shell, Tube
from carom.scene.shapes import Box, Sphere

ROUNDING = 1e-12  # of sums over a few hundred steps with numbers of order 1
DOWN = (0.0, 0.0, -10.0)


def spheres(position, velocity, radius=0.5, **fields) -> Bodies:
    return Bodies(Sphere(radius), np.array(position, float), np.array(velocity, float), mass=1.0, **fields)


def free_flight(*groups, duration=2.0, **fields):
    """Law none: every body goes its way through all others."""
    scene = Scene("flight", groups, step=0.1, frame_rate=10.0, duration=duration, stepper="synchronous", **fields)
    return carom.simulate(scene, "none")


def bounced(boundaries, law="gr", **fields):
    bodies = spheres([[0.3, 0.1, 1.2], [-0.9, 0.4, 2.0]], [[1.0, -0.4, -2.0], [0.8, -0.3, 1.5]])
    fields = {"duration": 3.0, "step": 0.01, "stepper": "synchronous", **fields}
    return carom.simulate(Scene("bounce", [bodies], boundaries, **fields), law)


def axes_of(boundaries=(), **fields):
    """What is conserved beside boundaries: worked out from the world alone."""
    world = build(Scene("w", [spheres([[0, 0, 0]], [[0, 0, 0]])], boundaries, **fields), check_overlap=False)[0]
    return along_boundaries(world) if len(world.boundaries.kind) else np.eye(3), *conserved_axes_3d(world)


def same_space(found, rows):
    """Whether two orthonormal bases span the same space."""
    return np.allclose(np.atleast_2d(found).T @ np.atleast_2d(found), np.array(rows).T @ np.array(rows))


# ---- what is conserved


def test_free_bodies_keep_all_six():
    along, about, axes, why = axes_of()
    assert same_space(along, np.eye(3)) and same_space(axes, np.eye(3)) and about is not None and "nothing" in why


def test_gravity_leaves_the_moment_about_the_vertical():
    _, about, axes, why = axes_of(gravity=DOWN)
    assert about is not None and axes.tolist() == [[0.0, 0.0, 1.0]] and "along z" in why
    _, _, axes, why = axes_of(gravity=(3.0, 0.0, -4.0))
    assert same_space(axes, [[0.6, 0.0, -0.8]]) and "0.8" in why


def test_a_floor_leaves_what_lies_along_it():
    along, about, axes, _ = axes_of([Plane()], gravity=DOWN)
    assert same_space(along, [[1, 0, 0], [0, 1, 0]]) and about is not None and same_space(axes, [[0, 0, 1]])
    tilted, _, axes, why = axes_of([Plane(normal=(1.0, 0.0, 1.0))], gravity=DOWN)
    assert same_space(tilted, [[0, 1, 0], [np.sqrt(0.5), 0, -np.sqrt(0.5)]])
    assert why == "gravity acts and boundaries push"


def test_a_corner_leaves_its_edge_and_a_container_nothing():
    along, about, _, why = axes_of([Plane(), Plane(normal=(1.0, 0.0, 0.0))])
    assert same_space(along, [[0, 1, 0]]) and about is None and why == "boundaries push"
    along, about, _, _ = axes_of([Container((-1, -1, -1), (1, 1, 1))])
    assert along is None and about is None


def test_a_tube_leaves_its_axis_and_a_shell_its_center():
    along, about, axes, why = axes_of([Tube(2.0, (1.0, 2.0, 0.0), (0.0, 0.0, 3.0))])
    assert same_space(along, [[0, 0, 1]]) and same_space(axes, [[0, 0, 1]]) and about.tolist() == [1.0, 2.0, 0.0]
    assert "(1, 2, 0)" in why
    along, about, axes, why = axes_of([Shell(3.0, (1.0, 0.0, 2.0))])
    assert along is None and about.tolist() == [1.0, 0.0, 2.0] and same_space(axes, np.eye(3)) and "shell" in why
    # Shell with gravity, two shells, and a tube with its floor: one axis is left.
    assert same_space(axes_of([Shell(3.0)], gravity=DOWN)[2], [[0, 0, 1]])
    assert same_space(axes_of([Shell(3.0), Shell(3.0, (0.0, 1.0, 0.0))])[2], [[0, 1, 0]])
    along, about, axes, _ = axes_of([Tube(2.0), Plane((0.0, 0.0, -1.0))], gravity=DOWN)
    assert along is None and about is not None and same_space(axes, [[0, 0, 1]])
    assert axes_of([Tube(2.0), Tube(5.0, (1.0, 0.0, 0.0))])[1] is None


@pytest.mark.parametrize(
    ("motion", "linear", "angular"),
    [
        (Vibrating(0.1, 1.0), True, True),
        (Moving((1.0, 0.0, 0.0)), True, True),
        (Rotating(1.0), True, True),  # about its own normal: without friction nothing feels it
        (Rotating(1.0, axis=(1.0, 0.0, 0.0)), False, False),
        (Moving((0.0, 0.0, 1.0), 1.0, (0.0, 1.0, 0.0)), False, False),
    ],
)
def test_a_floor_may_move_if_it_keeps_its_direction(motion, linear, angular):
    along, about, _, _ = axes_of([Plane(motion=motion)])
    assert (along is not None) is linear and (about is not None) is angular


def test_a_tube_may_turn_about_its_axis_but_not_move():
    assert axes_of([Tube(2.0, motion=Rotating(1.0))])[1] is not None
    assert axes_of([Tube(2.0, motion=Rotating(1.0, about=(1.0, 0.0, 0.0)))])[1] is None
    assert axes_of([Tube(2.0, motion=Vibrating(0.1, 1.0))])[1] is None


# ---- and whether it is kept


def test_a_bounce_keeps_just_that():
    """The first sphere falls at 2, the second rises: both meet the floor in 3 time units under gravity."""
    run = bounced([Plane()], gravity=DOWN)
    linear, angular = momentum_drift(run), angular_momentum_drift(run)
    assert linear.conserved and linear.value.max() < ROUNDING and "gravity" in linear.why
    assert angular.conserved and angular.value.max() < ROUNDING and "along z" in angular.why
    assert np.ptp(run.momentum[:, 2]) > 1.0 and np.ptp(run.angular_momentum[:, 0]) > 0.1  # the rest is not
    assert {c.name: c.passed for c in check_run(run)}["angular momentum"]


def test_a_shell_keeps_the_moment_about_its_center():
    center = np.array([5.0, -3.0, 1.0])
    bodies = spheres(np.array([[0.3, 0.1, 0.2], [-0.9, 0.4, 1.0]]) + center, [[1.0, -0.4, -2.0], [0.8, -0.3, 1.5]])
    fields = {"duration": 4.0, "step": 0.01, "stepper": "synchronous"}
    run = carom.simulate(Scene("shell", [bodies], [Shell(2.0, tuple(center))], **fields), "gr")
    drift = angular_momentum_drift(run)
    assert run.steps["contacts"].sum() > 4 and drift.conserved and drift.value.max() < ROUNDING
    assert np.ptp(run.angular_momentum, axis=0).min() > 1.0  # about the origin
    assert not momentum_drift(run).conserved


def test_a_rough_floor_keeps_neither():
    run = bounced([Plane()], gravity=DOWN, materials={"default": Material(1.0, 0.4)})
    for drift in (momentum_drift(run), angular_momentum_drift(run)):
        assert not drift.conserved and "friction" in drift.why and drift.value.max() > 1e-4


def test_turning_bodies_that_fly_keep_their_angular_momentum():
    brick = Bodies(Box((1.0, 2.0, 3.0)), np.array([[1.0, 0.0, 2.0]]), (0.5, 0.1, 0.0), spin=(0.1, 2.0, 0.05))
    run = free_flight(brick, duration=10.0)
    drift = angular_momentum_drift(run)
    assert drift.conserved and drift.value.max() < ROUNDING and len(drift.value) == len(run.steps)
    changed = np.array(run.steps)
    changed["angular_momentum_y"][50:] += 0.1
    run.__dict__["steps"] = changed
    assert angular_momentum_drift(run).value.max() > 1e-4


def test_periodic_sides_and_held_bodies():
    run = free_flight(spheres([[0, 0, 0]], [[3, 1, 0]]), periodic=Periodic(x=(-2.0, 2.0)))
    assert momentum_drift(run).conserved and momentum_drift(run).value.max() < ROUNDING
    drift = angular_momentum_drift(run)
    assert drift.conserved and "along x" in drift.why and drift.value.max() < ROUNDING
    run = free_flight(spheres([[0, 0, 0]], [[3, 1, 0]]), spheres([[9, 9, 9]], [[0, 0, 0]], motion=carom.scene.FIXED))
    assert momentum_drift(run).why == "bodies are held"


# ---- numbers


def test_energy_speed_and_spread_count_all_three_axes():
    run = free_flight(spheres([[0, 0, -1], [0, 0, 1]], [[0, 0, -3], [0, 4, 3]], radius=0.1), gravity=(0.0, 0.0, -1.0))
    v = np.asarray(run.velocities)
    assert runs.fastest(run) == pytest.approx(np.linalg.norm(v, axis=2).max(axis=1))
    assert runs.energy_scale(run) == pytest.approx(0.5 * (v**2).sum(axis=(1, 2)).max())
    x = np.asarray(run.positions)
    about = x - x.mean(axis=1, keepdims=True)
    assert runs.spread(run) == pytest.approx(np.sqrt((about**2).sum(axis=2).mean(axis=1)))
    assert np.abs(runs.energy_drift(run)).max() < ROUNDING


def test_overlap_of_spheres_that_fly_through_each_other():
    run = free_flight(spheres([[0, 0, -2], [0, 0, 2]], [[0, 0, 1], [0, 0, -1]]), duration=4.0)
    distance = np.abs(4.0 - 2.0 * run.time)
    assert runs.overlap(run) == pytest.approx(np.maximum(1.0 - distance, 0.0) / 0.5, abs=ROUNDING)


def symmetry(matrix):
    """What a symmetry of space is asked for."""
    s = np.array(matrix, float)
    return SimpleNamespace(
        matrix=s, name="mirror", image=lambda x: x @ s.T, permutation=lambda x: np.array([1, 0], np.int64)
    )


def test_symmetry_error_of_bodies_that_stray_or_turn():
    mirror = symmetry(np.diag([-1, 1, 1]))
    run = free_flight(spheres([[-3, 0, 0], [3, 0, 0]], [[0, 0, 0], [0, 0, 0.2]]))
    assert runs.symmetry_error(run, mirror) == pytest.approx(0.2 * run.time / 0.5, abs=ROUNDING)
    # Under a mirror across x, spins along x are equal and those along z opposite.
    for spins, error in (([[1, 0, 0], [1, 0, 0]], 0.0), ([[0, 0, 1], [0, 0, -1]], 0.0), ([[0, 0, 1], [0, 0, 1]], 2.0)):
        pair = Bodies(Box((1, 1, 1)), np.array([[-3.0, 0, 0], [3.0, 0, 0]]), spin=0.3 * np.array(spins, float))
        found = runs.symmetry_error(free_flight(pair), mirror)
        time = 0.1 * np.arange(len(found))
        assert found == pytest.approx(error * 0.3 * time * np.sqrt(0.75) / 0.5, abs=1e-7)  # arcsin near 0


def test_panels_and_summary_of_a_run_in_space():
    run = bounced([Plane()], gravity=DOWN, duration=0.5)
    assert [p.name for p in overview(run)] == ["energy", "momentum", "contacts", "speed"]
    for name in PANELS:
        if name != "symmetry":
            assert all(np.isfinite(c.value).all() for c in panel(run, name).curves)
    boxed = bounced([Container((-3, -3, 0), (3, 3, 6))], duration=0.5)
    names = [c.name for c in panel(boxed, "momentum").curves]
    assert names == ["x component", "y component", "z component"]
    facts = run_summary(run)
    assert (
        facts["integrator"] == "dmv"
        and facts["momentum_drift"] < ROUNDING
        and "along z" in facts["angular_momentum_why"]
    )

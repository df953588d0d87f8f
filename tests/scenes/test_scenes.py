"""The library of scenes: every one builds, runs at a small size, and does what its first line says."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import scenes
from carom.analysis.run_momentum import unexplained_momentum, unexplained_reason
from carom.build import build
from carom.errors import ProblemError
from carom.scenes import SCENES, make_scene

DRIVEN = {
    "arm_strikes_balls",
    "hopper",
    "maxwells_demon",
    "granular_wave_2d",
    "granular_wave",
    "vibrated_layer",
    "repose",
}  # moving boundaries do work
ELASTIC = ["newtons_cradle", "newtons_cradle_disturbed", "three_ball_chain", "bernoulli", "pool_break", "splash"]
ELASTIC += ["energy_drum", "butterfly", "drop", "gas"]


@pytest.mark.parametrize("name", SCENES)
def test_scene_says_what_it_is(name):
    entry = SCENES[name]
    scene = entry()
    assert scene.name == name and getattr(scenes, name) is entry.make
    assert scene.count == entry.size == entry.bodies(entry.parameters)
    assert scene.description.endswith(".") and entry.line
    assert dict(scene.parameters) == entry.parameters  # so that the record can make it again
    build(scene)  # no overlap, nothing outside


@pytest.mark.parametrize("name", SCENES)
def test_small_one_runs(name):
    """Energy never grows; elastic laws keep it to rounding (here: about 1e-15 an impact, 20 steps).

    Events explain the momentum of each body: impulses are stored in double precision, and only sums are rounded.
    """
    entry = SCENES[name]
    scene = entry(**entry.small)
    run = carom.simulate(scene, duration=20 * scene.step, frame_rate=1.0 / scene.step)
    assert len(run.time) == 21 and np.isfinite(run.positions[-1]).all()
    scale = max(run.kinetic.max(), 1e-12)
    if name not in DRIVEN:
        rounding = 4.0 * np.finfo(float).eps * np.abs(run.energy).max()
        assert run.energy.max() - run.energy[0] <= 1e-12 * scale + rounding
    if name in ELASTIC:
        np.testing.assert_allclose(run.energy, run.energy[0], atol=1e-12 * scale)
    if unexplained_reason(run):
        assert run.world.joints is not None
    else:
        assert unexplained_momentum(run) <= 1e-11


@pytest.mark.parametrize("name", SCENES)
def test_symmetries_hold_bitwise_at_the_start(name):
    entry = SCENES[name]
    scene = entry(**entry.small)
    x = np.concatenate([group.position for group in scene.bodies])
    v = np.concatenate([np.broadcast_to(group.velocity, group.position.shape) for group in scene.bodies])
    for symmetry in scene.symmetries:
        partner = symmetry.permutation(x)
        np.testing.assert_array_equal(symmetry.image(x), x[partner])
        np.testing.assert_array_equal(symmetry.image_of_velocity(v), v[partner])


@pytest.mark.parametrize(
    ("name", "parameters", "field"),
    [
        ("newtons_cradle", {"balls": 1}, "balls"),
        ("newtons_cradle", {"striking": 5}, "striking"),
        ("newtons_cradle", {"speed": 0.0}, "speed"),
        ("newtons_cradle_disturbed", {"gap": -1.0}, "gap"),
        ("newtons_cradle_disturbed", {"seed": -1}, "seed"),
        ("three_ball_chain", {"va": 1.5}, "va"),
        ("bernoulli", {"restitution": 2.0}, "restitution"),
        ("pool_break", {"rows": 2.5}, "rows"),
        ("pool_break", {"rows": 0}, "rows"),
        ("pool_break", {"distance": 1.0}, "distance"),
        ("splash", {"side": 1}, "side"),
        ("energy_drum", {"spacing": 1.5}, "spacing"),
        ("butterfly", {"radius": 2.0}, "radius"),
        ("drop", {"side": True}, "side"),
        ("drop", {"gravity": float("nan")}, "gravity"),
        ("gas", {"spacing": "wide"}, "spacing"),
        ("box_stack", {"boxes": 0}, "boxes"),
        ("box_stack", {"friction": -0.1}, "friction"),
        ("maxwells_demon", {"width": 10.0}, "width"),
        ("granular_wave_2d", {"rows": 1}, "rows"),
        ("sliding_block", {"mu": -1.0}, "mu"),
        ("sliding_block", {"angle": 95.0}, "angle"),
        ("rolling_disc", {"step": 0.0}, "step"),
    ],
)
def test_bad_parameters_are_refused(name, parameters, field):
    with pytest.raises(ProblemError) as error:
        make_scene(name, **parameters)
    assert error.value.field == field


def test_unknown_names_get_a_hint():
    with pytest.raises(ProblemError, match="pool_break"):
        make_scene("pool_brake")
    with pytest.raises(ProblemError, match="rows"):
        make_scene("pool_break", row=3)


@pytest.mark.covering
@pytest.mark.parametrize("law", ["gr", "qce", "gauss_seidel"])
@pytest.mark.parametrize("striking", [1, 2, 3])
def test_cradle_lets_as_many_go_as_came(law, striking):
    run = carom.simulate(scenes.newtons_cradle(striking=striking), law)
    expected = np.repeat([0.0, 1.0], [5 - striking, striking])
    np.testing.assert_allclose(run.velocities[-1][:, 0], expected, atol=1e-9)


def test_cradle_under_lcp_sticks():
    """A law without break-away sends all four off together."""
    run = carom.simulate(scenes.newtons_cradle(), "lcp")
    np.testing.assert_allclose(run.velocities[-1][:, 0], [-0.6, 0.4, 0.4, 0.4, 0.4], atol=1e-9)


def test_disturbed_cradle_is_nearly_a_cradle():
    """Offsets of a part d of a radius turn each normal by at most d: what is lost from the line is of order d^2."""
    offset = 1e-3
    run = carom.simulate(scenes.newtons_cradle_disturbed(offset=offset))
    v = run.velocities[-1]
    assert np.abs(v[:, 0] - [0, 0, 0, 0, 1]).max() < 10 * offset**2
    assert 0 < np.abs(v[:, 1]).max() < 2 * offset
    apart = carom.simulate(scenes.newtons_cradle_disturbed(offset=0.0, gap=0.2), "lcp")
    np.testing.assert_allclose(apart.velocities[-1][:, 0], [0, 0, 0, 0, 1], atol=1e-9)  # pairs, one after the other


@pytest.mark.parametrize(
    ("law", "expected"),
    [("gr", [-5 / 6, -1 / 3, 2 / 3]), ("lcp", [-5 / 6, -1 / 3, 2 / 3]), ("qce", [-1.0458, 0.2125, 1 / 3])],
)
def test_three_balls(law, expected):
    run = carom.simulate(scenes.three_ball_chain(va=0.5), law)
    np.testing.assert_allclose(run.velocities[1][:, 0], expected, atol=5e-5)


@pytest.mark.parametrize("law", ["gr", "lcp", "qce"])
def test_bernoullis_answer(law):
    """Equal elastic balls: the striker keeps -1/5 of its speed. Resolved 1e-7 of a radius before the touch."""
    run = carom.simulate(scenes.bernoulli(speed=3.0), law)
    expected = 3.0 / 5.0 * np.array([[-1.0, 0.0], [3.0, np.sqrt(3.0)], [3.0, -np.sqrt(3.0)]])
    np.testing.assert_allclose(run.velocities[-1], expected, atol=1e-6)


def test_break_keeps_momentum_and_has_the_rack_of_the_paper():
    scene = scenes.pool_break()
    assert scene.count == 56
    x = scene.bodies[0].position[1:]
    apart = np.hypot(*(x[:, None] - x[None]).transpose(2, 0, 1))
    assert (np.abs(apart - 1.0) < 1e-12).sum() == 2 * 135  # 3 * 9 * 10 / 2 touching pairs in ten rows, counted twice
    run = carom.simulate(scene, duration=2.0)
    np.testing.assert_allclose(run.momentum, np.tile([5.0, 0.0], (len(run.time), 1)), atol=1e-12)


def test_sizes_of_the_drop():
    from carom.scenes.drum import drum_radius

    assert [drum_radius(side, 2.0) for side in (101, 317, 1001)] == [143, 449, 1416]
    assert scenes.gas(side=30).boundaries[0].radius / scenes.gas(side=60).boundaries[0].radius == pytest.approx(
        0.5, 0.02
    )


def test_gas_has_unit_speeds():
    np.testing.assert_allclose(np.hypot(*scenes.gas(side=20).bodies[0].velocity.T), 1.0, rtol=1e-15)


def test_wave_runs_up_the_layers():
    """Each layer is reached after the one below, by a front that is faster than anything in it."""
    columns, rows = 8, 10
    run = carom.simulate(scenes.granular_wave_2d(columns=columns, rows=rows), duration=0.25, frame_rate=500.0)
    v = run.velocities[:][:, :, 1].reshape(len(run.time), rows, columns).mean(axis=2)
    reached = run.time[np.argmax(v > 1.0, axis=0)]
    assert (v.max(axis=0) > 1.0).all() and (np.diff(reached) >= 0.0).all() and reached[-1] > reached[1] + 0.05
    front = (rows - 2) * 2.0 * np.sqrt(0.75) / (reached[-1] - reached[1])
    assert front > 3.0 * v.max()


def test_slow_shots_of_the_gun_reach_the_wall():
    """With 0.1 of the speed upward alone, shots at 10 would fall to the ground before a wall of three rows."""
    for speed in (6.0, 10.0, 12.0):
        run = carom.simulate(scenes.gun(shots=1, speed=speed, rows=3), duration=0.25 + 4.9 / speed)
        hits = run.events.where("kind == 'impact' and second >= 9 and impulse > 0.3")
        assert len(hits) and (hits["first"] >= 0).all()

"""The synchronous step: exact flight, momentum and energy to rounding, and the classic outcomes over many steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.stepping.runs import box, clusters, disc, engine_of, rough, rows_of, states_of

import carom
from carom import scenes
from carom.errors import ProblemError
from carom.scene import FIXED, Bodies, Box, Container, Disc, Drum, Moving, Plane, Rectangle, Rotating, Scene, Sphere
from carom.stepping.report import totals

ELASTIC = ["gr", "qce", "gauss_seidel", "lcp"]


# ---- flight


@pytest.mark.parametrize("stepper", ["synchronous", "drift_safe"])
@pytest.mark.parametrize("h", [0.1, 1e-3])
def test_parabola_is_exact(stepper, h):
    """Verlet in uniform gravity has no error but rounding, whatever the step."""
    q, v, g = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([0.5, -9.81])
    scene = Scene("s", [disc(*q, *v)], gravity=tuple(g), step=h)
    steps = round(2.0 / h)
    states = states_of(scene, steps, stepper)
    for k in (steps // 2, steps):
        t = states[k].time
        assert t == k * h
        np.testing.assert_allclose(states[k].position[0], q + v * t + 0.5 * g * t * t, rtol=1e-13 * steps**0.5)
        np.testing.assert_allclose(states[k].velocity[0], v + g * t, rtol=1e-13 * steps**0.5)


@pytest.mark.parametrize("stepper", ["synchronous", "drift_safe"])
def test_rotation_is_exact(stepper):
    """A free body turns at constant spin; angles are not wrapped."""
    states = states_of(Scene("s", [box(0.0, 0.0, angle=0.3, spin=2.5)], gravity=(0.0, -1.0), step=0.01), 1000, stepper)
    assert states[-1].orientation[0] == pytest.approx(0.3 + 25.0, rel=1e-13)
    assert states[-1].velocity[0, 2] == 2.5


def test_bodies_on_a_motion_are_where_it_wants_them():
    """Exactly, at the end of every step, off the origin of their turning too."""
    arm = Bodies(Disc(0.1), np.array([[2.0, 1.0]]), motion=Rotating(0.7, about=(1.0, 1.0)))
    cart = disc(5.0, 5.0, motion=Moving((0.3, -0.1), 0.2))
    for s in states_of(Scene("s", [arm, cart, disc(50.0, 0.0)], step=0.03), 100)[1:]:
        t = s.time
        np.testing.assert_allclose(s.position[0], [1.0 + np.cos(0.7 * t), 1.0 + np.sin(0.7 * t)], atol=1e-14)
        np.testing.assert_allclose(s.position[1], [5.0 + 0.3 * t, 5.0 - 0.1 * t], atol=1e-14)
        np.testing.assert_allclose(s.orientation[:2], [0.7 * t, 0.2 * t], atol=1e-14)


# ---- a force of the user


def spring(k):
    return lambda time, position, velocity: -k * position


def test_harmonic_spring_converges_with_the_square_of_the_step():
    """Verlet: halving the step divides the error by four. Mass 2, k 3, a phase of about 10 radians."""
    omega, time = np.sqrt(3.0 / 2.0), 8.0
    errors = []
    for n in (200, 400, 800):
        scene = Scene("s", [disc(1.0, 0.0, 0.0, 0.5, radius=0.1, mass=2.0)], force=spring(3.0), step=time / n)
        last = states_of(scene, n, "synchronous")[-1]
        exact = [np.cos(omega * time), 0.5 / omega * np.sin(omega * time)]
        errors.append(np.hypot(*(last.position[0] - exact)))
    ratios = np.array(errors[:-1]) / errors[1:]
    np.testing.assert_allclose(ratios, 4.0, rtol=0.05)


def test_force_and_gravity_add_and_mass_divides_the_force_only():
    force = lambda t, q, v: np.tile([3.0, 0.0], (len(q), 1))  # noqa: E731
    scene = Scene("s", [disc(0.0, 0.0, mass=2.0), disc(9.0, 0.0, mass=0.5)], gravity=(0.0, -1.0), force=force)
    last = states_of(scene, 100, "synchronous")[-1]
    np.testing.assert_allclose(last.velocity[:, :2], [[1.5, -1.0], [6.0, -1.0]], rtol=1e-12)


def test_force_may_bring_a_torque():
    """A third column is a torque: a disc of mass 1 and radius 1 has inertia 1/2."""
    force = lambda t, q, v: np.array([[0.0, 0.0, 0.25]])  # noqa: E731
    last = states_of(Scene("s", [disc(0.0, 0.0, mass=1.0)], force=force, step=0.01), 100, "synchronous")[-1]
    assert last.velocity[0, 2] == pytest.approx(0.5, rel=1e-12)
    assert last.orientation[0] == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize("shape", [(2,), (3, 2), (2, 4), ()])
def test_force_of_a_wrong_shape_is_refused(shape):
    scene = Scene("s", [disc(0.0, 0.0), disc(9.0, 0.0)], force=lambda t, q, v: np.zeros(shape))
    with pytest.raises(ProblemError, match=r"force: got an array of shape .*expected"):
        states_of(scene, 1, "synchronous")


def test_fixed_bodies_feel_no_force():
    scene = Scene("s", [disc(0.0, 0.0, motion=FIXED), disc(9.0, 0.0)], gravity=(0.0, -1.0), force=spring(1.0))
    last = states_of(scene, 50, "synchronous")[-1]
    np.testing.assert_array_equal(last.position[0], [0.0, 0.0])
    assert last.position[1, 1] < 0.0


# ---- impacts


@given(clusters(most=9, gravity=False))
def test_free_clusters_keep_their_momenta(scene):
    """Linear momentum to rounding, and the angular one too: both surfaces are pushed at one point, gap or not."""
    rows = rows_of(scene, 80, "synchronous")
    scale = 1.0 + np.sqrt(rows["kinetic"][0])
    for name in ("momentum_x", "momentum_y", "angular_momentum"):
        np.testing.assert_allclose(rows[name], rows[name][0], atol=1e-11 * scale)
    energy = rows["kinetic"]
    assert (np.diff(energy) <= 1e-12 * max(energy[0], 1e-9)).all()


@pytest.mark.parametrize("law", ELASTIC)
def test_elastic_laws_keep_the_energy_in_gravity(law):
    """Impacts change velocities at one place and time, flight is exact: the total stays to rounding (1e-12)."""
    rng = np.random.default_rng(4)
    places = 1.3 * np.stack(np.divmod(np.arange(25), 5), axis=1) + [-2.6, -2.6]
    group = Bodies(Disc(0.5), places, velocity=rng.normal(size=(25, 2)))
    scene = Scene("s", [group], [Drum(6.0)], gravity=(0.0, -5.0), step=0.01, law=law)
    rows = rows_of(scene, 500, "synchronous")
    assert rows["contacts"].sum() > 300
    energy = rows["kinetic"] + rows["potential"]
    np.testing.assert_allclose(energy, energy[0], atol=1e-12 * rows["kinetic"].max())


def test_jacobi_does_not_keep_it():
    """The law that reflects all pairs at once without looking: the test above can fail."""
    rng = np.random.default_rng(4)
    places = 1.3 * np.stack(np.divmod(np.arange(25), 5), axis=1) + [-2.6, -2.6]
    group = Bodies(Disc(0.5), places, velocity=rng.normal(size=(25, 2)))
    rows = rows_of(Scene("s", [group], [Drum(6.0)], gravity=(0.0, -5.0), step=0.01, law="jacobi"), 500, "synchronous")
    energy = rows["kinetic"] + rows["potential"]
    assert np.abs(energy - energy[0]).max() > 1e-6 * rows["kinetic"].max()


def test_newtons_cradle():
    """One in, one out, the rest at rest: with gr to rounding; lcp sends all of them."""
    scene = scenes.newtons_cradle(balls=5)
    start, *_, last = states_of(scene, 300, "synchronous", "gr")
    speed = np.abs(start.velocity).max()
    np.testing.assert_allclose(last.velocity[:, 0] / speed, [0, 0, 0, 0, 1], atol=1e-12)
    last = states_of(scene, 300, "synchronous", "lcp")[-1]
    assert (np.abs(last.velocity[:, 0]) > 0.1 * speed).all()


def test_bernoullis_problem():
    """Three equal discs, one hits two at speed 2: (-2/5, 0), (6/5, +-2 sqrt(3)/5) if they touch when they are hit.

    They are hit up to a step early, at an angle that is off by about the gap over a diameter.
    """
    last = states_of(scenes.bernoulli(), 400, "synchronous", "gr")[-1]
    velocity = last.velocity / np.sqrt((last.velocity**2).sum()) * 2.0
    down, middle, up = velocity[np.argsort(velocity[:, 1])]
    np.testing.assert_allclose(up, down * [1.0, -1.0], atol=1e-12)
    np.testing.assert_allclose(middle, [-0.4, 0.0], atol=0.02)
    np.testing.assert_allclose(up, [1.2, 0.4 * np.sqrt(3.0)], atol=0.02)
    assert 2.0 * up[0] + middle[0] == pytest.approx(2.0, abs=1e-12)


def test_billiards_in_a_box():
    """One elastic ball in a box without gravity: |vx| and |vy| never change, and it stays inside."""
    scene = Scene("s", [disc(0.3, 0.2, 1.1, -0.7, radius=0.1)], [Container((-1.0, -1.0), (1.0, 1.0))], step=0.01)
    for s in states_of(scene, 2000, "synchronous"):
        np.testing.assert_allclose(np.abs(s.velocity[0]), [1.1, 0.7], rtol=1e-12)
        assert (np.abs(s.position[0]) <= 0.9).all()


def test_drum_keeps_angular_momentum_of_frictionless_discs():
    """The wall pushes through the center: angular momentum about it stays, to rounding."""
    rng = np.random.default_rng(0)
    places = 1.5 * np.stack(np.divmod(np.arange(16), 4), axis=1) - 2.25
    group = Bodies(Disc(0.5), places, velocity=rng.normal(size=(16, 2)))
    rows = rows_of(Scene("s", [group], [Drum(5.0)], step=0.02), 500, "synchronous")
    assert rows["contacts"].sum() > 50
    np.testing.assert_allclose(rows["angular_momentum"], rows["angular_momentum"][0], atol=1e-11)


def test_the_law_runs_only_where_something_approaches():
    """A touching cradle that moves as one: no impact, no work; rounding is not approach."""
    group = Bodies(Disc(0.1), 0.2 * np.stack([np.arange(10), np.zeros(10)], axis=1), velocity=(0.3, 0.1))
    engine, state = engine_of(Scene("s", [group], step=0.01), "synchronous")
    for _ in range(50):
        state, report = engine.step(state)
        assert report.rounds == 0 and report.contacts == 0


def test_restitution_of_a_head_on_hit():
    """v+ = -e v on a wall, whatever e."""
    for e in (0.0, 0.3, 1.0):
        scene = Scene("s", [disc(0.0, 1.05, 0.2, -1.0)], [Plane()], materials=rough(0.0, e), step=0.01)
        last = states_of(scene, 10, "synchronous")[-1]
        np.testing.assert_allclose(last.velocity[0], [0.2, e], atol=1e-14)


def test_impulses_are_what_changed_the_momentum():
    """The record of the step's impulses adds up to each body's change of momentum and of spin."""
    scene = Scene(
        "s",
        [disc(0.0, 1.01, 0.5, -1.0, spin=1.0), disc(2.01, 1.01, -0.5, 0.0)],
        [Plane()],
        materials=rough(0.3, 0.5),
        step=0.02,
    )
    engine, state = engine_of(scene, "synchronous")
    after, report = engine.step(state)
    given = report.impulses()
    assert len(given.first) == 2
    change = np.zeros((2, 3))
    for a, b, point, n, lam, beta in zip(*(getattr(given, f) for f in given.__dataclass_fields__)):
        impulse = lam * n + beta * np.array([-n[1], n[0]])
        for body, sign in ((a, -1.0), (b, 1.0)):
            if body >= 0:
                arm = point - state.position[body]
                change[body] += sign * np.array([*impulse, arm[0] * impulse[1] - arm[1] * impulse[0]])
    weight = np.column_stack([engine.world.mass, engine.world.mass, engine.world.inertia])
    np.testing.assert_allclose(weight * (after.velocity - state.velocity), change, atol=1e-13)
    assert np.abs(change[:, 2]).max() > 0.01


# ---- fast bodies and the active set


def meeting(shapes, speed=4.0, step=0.05, offset=0.07, start=1.0, **settings):
    """Two bodies of size 0.1 that fly at each other, free of gravity, 2 speed step apart from step to step."""
    dim = 2 if isinstance(shapes[0], Disc | Rectangle) else 3
    place, velocity = np.zeros((2, dim)), np.zeros((2, dim))
    place[:, 0], place[1, 1:], velocity[:, 0] = (-start, start), offset, (speed, -speed)
    bodies = [Bodies(s, place[k : k + 1], velocity[k : k + 1], mass=1.0 + k) for k, s in enumerate(shapes)]
    return Scene("meeting", bodies, gravity=(0.0,) * dim, step=step, stepper="synchronous", **settings)


def passed(scene):
    """Whether the bodies have flown through each other without an impulse."""
    run = carom.simulate(scene, duration=0.5)
    return bool((run.velocities[-1] == run.velocities[0]).all())


@pytest.mark.parametrize("shapes", [(Sphere(0.1),) * 2, (Sphere(0.1), Box((0.2, 0.15, 0.1))), (Box((0.2,) * 3),) * 2])
@pytest.mark.parametrize("step", [0.02, 0.05])
def test_fast_bodies_keep_their_angular_momentum(shapes, step):
    """At 1.6 and 4 radii per step relative to each other. Normals of the touch with arms of the start changed it by 7
    and 71 percent for spheres."""
    for offset in (0.01, 0.04, 0.08):
        for start in (1.0, 1.06, 1.13):
            engine, state = engine_of(meeting(shapes, step=step, offset=offset, start=start))
            before, struck = totals(engine.world, state), False
            for _ in range(round(0.5 / step)):
                state, report = engine.step(state)
                struck |= report.rounds > 0
            after = totals(engine.world, state)
            assert struck
            np.testing.assert_allclose(after[2:], before[2:], atol=1e-12)  # of momenta up to 12
            assert after[0] == pytest.approx(before[0], rel=1e-12)


def test_swept_spheres_do_not_spin_without_friction():
    state = states_of(meeting((Sphere(0.1),) * 2), 10)[-1]
    assert state.velocity[0, 0] < 4.0
    np.testing.assert_array_equal(state.velocity[:, 3:], 0.0)


@pytest.mark.parametrize(
    "shapes", [(Disc(0.1),) * 2, (Disc(0.1), Rectangle(0.2, 0.2)), (Rectangle(0.2, 0.2),) * 2, (Sphere(0.1),) * 2]
)
def test_swept_finds_what_the_end_of_the_step_misses(shapes):
    """0.4 apart before and after a step of 0.8: only the active set that is swept sees them."""
    scene = meeting(shapes, speed=8.0, start=1.4, offset=0.03)
    assert passed(scene.with_(active_set="end"))
    assert not passed(scene.with_(active_set="swept"))


def test_swept_balls_graze_however_little_they_move():
    """Discs that come within 1.999 radii in the middle of a step of a fifth of a radius; the other sets wait until the
    end of a step finds an overlap, which there is none of."""
    scene = meeting((Disc(0.1),) * 2, speed=1.0, step=0.01, start=0.205, offset=0.1999)
    assert passed(scene.with_(active_set="end")) and not passed(scene.with_(active_set="swept"))


@pytest.mark.parametrize(("dimension", "name"), [(2, "end"), (3, "crossing")])
def test_the_default_active_set_is_recorded(dimension, name):
    shapes = (Disc(0.1),) * 2 if dimension == 2 else (Sphere(0.1),) * 2
    run = carom.simulate(meeting(shapes), duration=0.5)
    assert run.settings.active_set == name
    assert carom.simulate(meeting(shapes), duration=0.5, stepper="drift_safe").settings.active_set is None


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"active_set": "all"}, "one of end, crossing, swept"),
        ({"active_set": 3}, "one of end, crossing, swept"),
        ({"active_set": "crossing"}, "end or swept in 2D"),
        ({"active_set": "end", "stepper": "drift_safe"}, "does not have the choice"),
    ],
)
def test_an_active_set_that_is_none_is_refused(settings, wanted):
    with pytest.raises(ProblemError, match=wanted):
        carom.simulate(meeting((Disc(0.1),) * 2), duration=0.5, **settings)


def test_a_resumed_run_keeps_its_active_set(tmp_path):
    """The scene says end, the run says swept; a branch keeps it too, unless its stepper has no such choice."""
    scene = meeting((Disc(0.1),) * 2, 8.0, start=1.4, offset=0.03, active_set="end")
    path, again = tmp_path / "a.h5", tmp_path / "b.h5"
    with carom.simulate(scene, duration=0.1, output=path, active_set="swept"):
        pass
    with carom.resume(path, duration=0.5) as run:
        assert run.settings.active_set == "swept" and (run.velocities[-1] != run.velocities[0]).any()
    with carom.branch(path, 0.0, again) as run:
        assert run.settings.active_set == "swept"
    with carom.branch(path, 0.0, tmp_path / "c.h5", stepper="drift_safe") as run:
        assert run.settings.active_set is None


def test_the_scene_file_and_the_command_line_have_the_active_set(tmp_path):
    from typer.testing import CliRunner

    from carom.cli.main import app
    from carom.scene.file import load_scene, save_scene

    path = tmp_path / "s.toml"
    save_scene(meeting((Disc(0.1),) * 2, active_set="swept"), path)
    assert load_scene(path).active_set == "swept"
    out = tmp_path / "r.h5"
    done = CliRunner().invoke(app, ["run", str(path), "--active-set", "end", "--duration", "0.5", "-o", str(out), "-q"])
    assert done.exit_code == 0, done.output
    with carom.Trajectory(out) as run:
        assert run.settings.active_set == "end"


def test_a_contact_with_a_predicted_gap_of_zero_is_active():
    """A rack of touching balls is one impact: lcp, which sticks there, says so (Smith 2012, fig. 5), gr does not. If
    the contacts of the balls at rest dropped out, lcp would pass the blow on from ball to ball."""
    balls = [disc(2.0 * k, 0.0, 1.0 if k == 0 else 0.0) for k in range(5)]
    after = {
        law: states_of(Scene("rack", balls, step=0.1), 1, "synchronous", law)[-1].velocity[:, 0] for law in ELASTIC
    }
    np.testing.assert_allclose(after["lcp"], [-0.6, 0.4, 0.4, 0.4, 0.4], atol=1e-9)
    np.testing.assert_allclose(after["gr"], [0.0, 0.0, 0.0, 0.0, 1.0], atol=1e-9)

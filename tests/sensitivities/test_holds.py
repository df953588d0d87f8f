"""Derivatives of runs in which bodies come to rest, slide and roll, against central differences of whole runs."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import ProblemError
from carom.scene import boundaries, motion, shapes
from carom.scene.model import Bodies, Material, Scene
from carom.sensitivities import follow, holds
from carom.sensitivities import run as runs

STEPS = 1e-5  # of differences: the answers of steppers are exact to 1e-11 and better
COMMON = ("materials.default.restitution", "scene.gravity")
DOWN = (0.0, -9.81)


def scene(bodies, walls, friction: float, restitution: float = 0.4, gravity=DOWN, duration: float = 2.0) -> Scene:
    material = {"default": Material(restitution, friction)}
    return Scene("rest", bodies, walls, materials=material, gravity=gravity, duration=duration)


def ball(friction: float) -> Scene:
    """A disc on a slope: it slides, or sticks and rolls."""
    disc = Bodies(shapes.Disc(0.1), [[0.0, 0.3]], velocity=[[1.0, 0.0]])
    return scene([disc], [boundaries.Plane((0.0, 0.0), (0.05, 1.0))], friction)


def sphere(friction: float) -> Scene:
    body = Bodies(shapes.Sphere(0.1), [[0.0, 0.0, 0.3]], velocity=[[1.0, 0.3, 0.0]], spin=(1.0, 2.0, 3.0))
    ground = boundaries.Plane((0.0, 0.0, 0.0), (0.0, 0.02, 1.0))
    return scene([body], [ground], friction, gravity=(0.0, 0.0, -9.81))


def box(friction: float) -> Scene:
    """A box that lands on a corner and comes to lie on two: it slides, or stays."""
    body = Bodies(shapes.Rectangle(0.4, 0.2), [[0.0, 0.3]], velocity=[[1.0, 0.0]], angle=0.1)
    return scene([body], [boundaries.Plane((0.0, 0.0), (0.03, 1.0))], friction, 0.3, duration=1.2)


def two(friction: float) -> Scene:
    """A disc that rolls against one at rest, within a step: both are released, and held again."""
    bodies = [
        Bodies(shapes.Disc(0.1), [[0.0, 0.11]]),
        Bodies(shapes.Disc(0.12), [[-1.0, 0.13]], velocity=[[1.3, 0.0]], spin=-4.0),
    ]
    return scene(bodies, [boundaries.Plane((0.0, 0.0), (0.0, 1.0))], friction, duration=1.3)


def spheres(friction: float, height: float = 0.0) -> Scene:
    """A sphere that rolls against one at rest on the ground."""
    bodies = [
        Bodies(shapes.Sphere(0.1), [[0.0, 0.0, 0.1 + height]]),
        Bodies(shapes.Sphere(0.12), [[-0.25, 0.03, 0.12 + height]], velocity=[[0.7, 0.0, 0.0]], spin=(0.0, 6.0, 0.0)),
    ]
    ground = boundaries.Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    made = scene(bodies, [ground], friction, gravity=(0.0, 0.0, -9.81), duration=0.2)
    return made.with_(step=0.003)


def groove(friction: float) -> Scene:
    """A disc that two planes hold."""
    disc = Bodies(shapes.Disc(0.1), [[0.1, 0.6]], velocity=[[-0.2, 0.0]])
    walls = [boundaries.Plane((0.0, 0.0), (0.6, 1.0)), boundaries.Plane((0.0, 0.0), (-0.8, 1.0))]
    return scene([disc], walls, friction)


def lift(friction: float) -> Scene:
    """A disc on a floor that moves up and down."""
    floor = boundaries.Plane((0.0, 0.0), (0.0, 1.0), motion=motion.Vibrating(amplitude=0.1, frequency=0.5))
    return scene([Bodies(shapes.Disc(0.1), [[0.0, 0.3]], velocity=[[0.2, 0.0]])], [floor], friction)


def landed(friction: float) -> Scene:
    """A sphere that lands and rolls: its step is such that start plus duration of a hold is not quite its end."""
    ground = boundaries.Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    body = Bodies(shapes.Sphere(0.12), [[0.0, 0.0, 0.13]], velocity=[[0.2612718297424591, 0.0, 0.0]])
    made = scene([body], [ground], friction, gravity=(0.5, 0.0, -9.81), duration=0.25)
    return made.with_(step=0.0043576609651937645)


def end(made: Scene, stepper: str) -> np.ndarray:
    """Positions and velocities at the end, by the stepper alone."""
    state = carom.Simulation(made, stepper=stepper, tolerance="exact").run(until=made.duration)
    return np.concatenate([state.position.ravel(), state.velocity[:, : made.dimension].ravel()])


def difference(run: carom.Sensitivity, path: str, along: np.ndarray) -> np.ndarray:
    """Central differences of the fourth order."""
    value, stepper, total = run.parameters.value(path), run.sim.stepper, 0.0
    for far, weight in ((1.0, 8.0), (2.0, -1.0)):
        for sign in (1.0, -1.0):
            made = run.parameters.scene_with({path: value + sign * far * STEPS * along})
            total = total + sign * weight * end(made, stepper)
    return np.asarray(total / (12.0 * STEPS))


def disagreements(made: Scene, stepper: str, extra: tuple[str, ...] = ()) -> dict[str, float]:
    """Differences between derivatives and central differences, by parameter; adjoints are compared as well."""
    run, rng = carom.sensitivity(made, stepper=stepper), np.random.default_rng(0)
    assert run.sim.report["resting"]
    out = {}
    for path in ("bodies.0.position", "bodies.0.velocity", *COMMON, *extra):
        along = np.asarray(rng.normal(size=run.parameters.value(path).shape))
        change = run.jvp({path: along})
        got = np.concatenate([change.position.ravel(), change.velocity.ravel()])
        wanted = difference(run, path, along)
        weights = rng.normal(size=(2, *change.position.shape[1:]))
        back = float(np.vdot(run.vjp(path, position=weights[0], velocity=weights[1])[path], along))
        forth = float((weights[0] * change.position[0]).sum() + (weights[1] * change.velocity[0]).sum())
        assert back == pytest.approx(forth, rel=1e-9, abs=1e-9)
        out[path] = float(np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1.0))
    return out


FRICTION = "materials.default.friction"
CASES = [
    (ball, 0.0, "time_of_impact", ("bodies.0.radius", "boundaries.0.normal")),
    (ball, 0.02, "time_of_impact", (FRICTION,)),
    (ball, 0.3, "time_of_impact", (FRICTION, "bodies.0.radius")),
    (ball, 0.02, "drift_safe", (FRICTION, "boundaries.0.point")),
    (ball, 0.3, "drift_safe", ("bodies.0.radius",)),
    (sphere, 0.02, "time_of_impact", (FRICTION,)),
    (sphere, 0.3, "drift_safe", (FRICTION,)),
    (box, 0.0, "time_of_impact", ()),
    (box, 0.2, "time_of_impact", (FRICTION,)),
    (box, 0.6, "time_of_impact", (FRICTION,)),
    (two, 0.2, "time_of_impact", (FRICTION, "bodies.1.velocity")),
    (groove, 0.2, "time_of_impact", (FRICTION,)),
    (landed, 0.05, "drift_safe", (FRICTION,)),
    (lift, 0.2, "drift_safe", ("boundaries.0.motion.amplitude",)),
]


QUICK = {
    (ball, 0.02, "drift_safe"),
    (two, 0.2, "time_of_impact"),
    (landed, 0.05, "drift_safe"),
}


@pytest.mark.parametrize(
    ("make", "friction", "stepper", "extra"),
    [
        pytest.param(*c, id=f"{c[0].__name__}-{c[1]}-{c[2]}", marks=[] if c[:3] in QUICK else pytest.mark.long)
        for c in CASES
    ],
)
def test_bodies_that_are_held_agree_with_central_differences(make, friction, stepper, extra):
    off = disagreements(make(friction), stepper, extra)
    assert max(off.values()) < 1e-5, off


@pytest.mark.parametrize("stepper", ["time_of_impact", "drift_safe"])
def test_a_ball_at_rest_stays_on_the_ground(stepper):
    """Its height is the radius, whatever the drop was, also within a step; without friction it keeps its speed."""
    ground = boundaries.Plane((0.0, 0.0), (0.0, 1.0))
    made = scene([Bodies(shapes.Disc(0.1), [[0.0, 0.3]], velocity=[[0.5, 0.0]])], [ground], 0.0, duration=2.0)
    run = carom.sensitivity(made, stepper=stepper)
    frames = run.derivative(["bodies.0.position", "bodies.0.radius", "bodies.0.velocity"], [1.7, 1.7043, 2.0])
    assert frames.position[:, 0, 1] == pytest.approx(0.1, abs=1e-8)
    assert frames["bodies.0.position"].position[:, 0, 1, 0, 1] == pytest.approx(0.0, abs=1e-9)
    assert frames["bodies.0.radius"].position[:, 0, 1].ravel() == pytest.approx(1.0, abs=1e-9)
    assert frames["bodies.0.velocity"].position[:, 0, 0, 0, 0] == pytest.approx(frames.time, abs=1e-12)


def test_restitution_and_friction_are_fitted_to_a_ball_that_comes_to_rest():
    times = np.linspace(0.0, 2.0, 60)
    place = carom.sensitivity(ball(0.02)).derivative("scene.gravity", times).position[:, 0]
    data = {"time": times, "body": np.zeros(60, int), "x": place[:, 0], "y": place[:, 1]}
    start = ball(0.025).with_(materials={"default": Material(0.45, 0.025)})
    found = carom.fit(start, data, ["materials.default.restitution", FRICTION])
    assert found.estimate == pytest.approx([0.4, 0.02], abs=1e-6)


def test_rest_beside_other_impacts_is_refused_in_3d():
    bodies = [Bodies(shapes.Sphere(0.1), [[0.0, 0.0, 0.15]]), Bodies(shapes.Sphere(0.1), [[1.0, 0.0, 1.5]])]
    made = scene(bodies, [boundaries.Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))], 0.2, gravity=(0.0, 0.0, -9.81))
    with pytest.raises(ProblemError, match="resting contacts beside an impact") as caught:
        carom.sensitivity(made)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("height", [0.0, 0.002])
def test_rolling_spheres_that_collide_are_refused_where_impacts_are_timed(height):
    """The ground acts on a sphere during the impact as well; neither stepper resolves it where the gap closes."""
    for stepper in ("time_of_impact", "drift_safe"):
        with pytest.raises(ProblemError, match=r"resting contacts beside|differs by|is .* from that") as caught:
            carom.sensitivity(spheres(0.2, height), stepper=stepper)
        assert "\n" not in str(caught.value)


def test_rolling_spheres_that_collide_have_the_derivative_of_fixed_steps():
    """Changes stay in the plane of the ground: upwards the spheres would leave it, which `kinks` says."""
    run, along = carom.sensitivity(spheres(0.2), stepper="synchronous"), np.array([[0.7, 0.4, 0.0]])
    assert "a contact touches at the start of the run" in [reason for _, reason in run.kinks]
    for path, change in (("bodies.1.velocity", along), ("bodies.1.position", along), (FRICTION, np.array(1.0))):
        found = run.jvp({path: change})
        got = np.concatenate([found.position.ravel(), found.velocity.ravel()])
        assert got == pytest.approx(difference(run, path, change), rel=1e-6, abs=1e-6)


def test_contacts_that_touch_at_the_start_are_a_kink():
    for height, kinks in ((0.1, 1), (0.15, 0)):
        made = scene([Bodies(shapes.Disc(0.1), [[0.0, height]])], [boundaries.Plane((0.0, 0.0), (0.0, 1.0))], 0.2)
        for stepper in ("time_of_impact", "drift_safe", "synchronous"):
            run = carom.sensitivity(made, duration=0.5, stepper=stepper)
            assert len(run.kinks) == kinks, (stepper, run.kinks)


def test_a_state_that_is_off_is_noticed_near_rest_and_beside_fast_bodies():
    """A billionth of the speed that gravity adds in a step, and of a fast body, is rounding error; more is not."""
    bodies = [
        Bodies(shapes.Disc(0.1), [[0.0, 0.15]]),
        Bodies(shapes.Disc(0.1), [[5.0, 30.0]], velocity=[[0.0, 10.0]]),
    ]
    made = scene(bodies, [boundaries.Plane((0.0, 0.0), (0.0, 1.0))], 0.2, duration=1.2)
    run = carom.sensitivity(made)
    follower, gained = run.follower, run.sim.time_step * 9.81
    follower.compare(run.state)
    for body, off, noticed in ((0, 1e-10 * gained, False), (0, 1e-6 * gained, True), (1, 1e-6, False), (1, 1e-3, True)):
        follower.cast.actors[body, 6] += off
        if noticed:
            with pytest.raises(ProblemError, match="differs by"):
                follower.compare(run.state)
        else:
            follower.compare(run.state)
        follower.cast.actors[body, 6] = 0.0


def rolling(friction: float, speed: float) -> Scene:
    """Two discs that come to rest on the ground and roll against each other so slowly that gravity outweighs it."""
    bodies = [
        Bodies(shapes.Disc(0.1), [[0.0, 0.11]], velocity=[[0.05, 0.0]]),
        Bodies(shapes.Disc(0.1), [[0.21, 0.11]], velocity=[[speed, 0.0]]),
    ]
    return scene(bodies, [boundaries.Plane((0.0, 0.0), (0.0, 1.0))], friction, duration=0.35)


def test_slow_bodies_that_collide_at_rest_agree_with_differences():
    off = disagreements(rolling(0.0, -0.03), "time_of_impact")
    assert max(off.values()) < 1e-5, off


def test_friction_beside_a_contact_at_rest_is_a_kink():
    """Equal discs do not slip on each other; the least difference presses one of them on the ground and lifts one."""
    run = carom.sensitivity(rolling(0.3, -0.05))
    assert "a contact at rest is about to push" in [reason for _, reason in run.kinks]
    assert np.isfinite(run.vjp("bodies.0.velocity", position=np.ones((2, 2)))["bodies.0.velocity"]).all()


def boxes(friction: float) -> Scene:
    """Three boxes that fall alike: impacts of each end holds of its own within rounding of the others."""
    body = Bodies(shapes.Rectangle(0.4, 0.2), [[0.8 * k, 0.3] for k in range(3)], velocity=[[0.5, 0.0]] * 3, angle=0.1)
    return scene([body], [boundaries.Plane((0.0, 0.0), (0.0, 1.0))], friction, 0.3, duration=0.6)


def test_equal_bodies_have_equal_derivatives():
    slopes = carom.sensitivity(boxes(0.4)).vjp(["bodies.0.velocity", "bodies.0.position"], position=np.ones((3, 2)))
    for value in slopes.values():
        assert value[1:] == pytest.approx(np.broadcast_to(value[0], value[1:].shape), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("stepper", ["time_of_impact", "drift_safe"])
def test_whole_steps_are_those_that_begin_and_end_by_themselves(stepper, monkeypatch):
    """The kernel of single contacts and the active set of several ones, against the general way with the law."""
    cases = [(ball(0.02), 1.2), (box(0.2), 0.9)] if stepper == "time_of_impact" else [(ball(0.3), 1.2)]
    paths = ["bodies.0.position", "bodies.0.velocity", FRICTION, "scene.gravity", "boundaries.0.normal"]
    found = [carom.sensitivity(made, duration=end, stepper=stepper).derivative(paths) for made, end in cases]
    monkeypatch.setattr(runs, "MOST_STEPS", 1)
    whole = follow.Follower._alone
    monkeypatch.setattr(
        follow.Follower, "_alone", lambda self, *step: (whole(self, *step)[1] * False, whole(self, *step)[1])
    )
    monkeypatch.setattr(holds, "solved", lambda island, guess: None)
    for (made, end), fast in zip(cases, found):
        slow = carom.sensitivity(made, duration=end, stepper=stepper).derivative(paths)
        for path in paths:
            for field in ("position", "velocity", "rotation"):
                one, other = getattr(fast[path], field), getattr(slow[path], field)
                assert one == pytest.approx(other, rel=1e-7, abs=1e-7 * max(1.0, np.abs(other).max())), (path, field)

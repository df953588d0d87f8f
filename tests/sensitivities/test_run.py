"""Derivatives of whole runs against closed forms, central differences, and each other."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sensitivities import random_scenes as random

import carom
from carom import ProblemError
from carom.scene import boundaries, motion, shapes
from carom.scene.model import Bodies, Material, Scene
from carom.sensitivities import run as runs

HEIGHT, SPEED, RESTITUTION, GRAVITY, RADIUS, END = 1.3, 0.4, 0.8, 9.81, 0.1, 1.5
OF_BALL = ["bodies.0.position", "bodies.0.velocity", "materials.default.restitution", "scene.gravity"]


def ball() -> Scene:
    """A ball above the ground."""
    return Scene(
        "ball",
        [Bodies(shapes.Disc(RADIUS), [[0.0, HEIGHT]], velocity=[[0.3, SPEED]])],
        [boundaries.Plane((0.0, 0.0), (0.0, 1.0))],
        materials={"default": Material(RESTITUTION)},
        gravity=(0.0, -GRAVITY),
        duration=END,
    )


def height(values):
    """Height of the ball at the time END, in closed form; complex values give its derivatives."""
    start, speed, e, g = values
    fast = np.sqrt(speed * speed + 2.0 * g * (start - RADIUS))
    left, fast = END - (speed + fast) / g, e * fast
    while left.real > (2.0 * fast / g).real:
        left, fast = left - 2.0 * fast / g, e * fast
    return RADIUS + fast * left - 0.5 * g * left * left


def slopes_of_height(run):
    """Derivatives with respect to height, speed, restitution and gravity, and the height."""
    frames = run.derivative(OF_BALL)
    by = [frames[name].position[0, 0, 1].ravel() for name in OF_BALL]
    return np.array([by[0][1], by[1][1], by[2][0], -by[3][1]]), frames.position[0, 0, 1]


def test_a_bouncing_ball_has_the_derivatives_of_its_closed_form():
    values = np.array([HEIGHT, SPEED, RESTITUTION, GRAVITY])
    wanted = [height(values + 1e-30j * unit).imag * 1e30 for unit in np.eye(4)]
    for stepper in ("time_of_impact", "drift_safe"):  # both resolve the impact of a ball at its own time
        got, place = slopes_of_height(carom.sensitivity(ball(), stepper=stepper))
        assert place == pytest.approx(height(values + 0j).real, abs=1e-12)
        assert got == pytest.approx(wanted, abs=1e-10), stepper


def test_fixed_steps_have_another_derivative_and_say_so():
    values = np.array([HEIGHT, SPEED, RESTITUTION, GRAVITY])
    wanted = height(values + 1e-30j * np.eye(4)[0]).imag * 1e30
    off = []
    for step in (1e-2, 1e-3, 1e-4):
        run = carom.sensitivity(ball(), stepper="synchronous", step=step)
        assert "fixed steps" in run.warnings[0]
        off.append(abs(slopes_of_height(run)[0][0] - wanted))
    assert min(off) > 0.1  # the bias does not vanish with the step: the time of the impact is not differentiated


def agreement(run, paths, seed, make, step=2e-7) -> float:
    """Largest relative difference from central differences along a random direction of some parameters together.

    Also compares both modes.
    """
    rng = np.random.default_rng(seed)
    along = {path: np.asarray(rng.normal(size=run.parameters.value(path).shape)) for path in paths}
    change = run.jvp(along)
    got = np.concatenate([np.ravel(part) for part in (change.position, change.velocity, change.spin)])
    wanted = random.difference(run, along, make, step)
    weights = rng.normal(size=change.position.shape[1:])
    back = run.vjp(paths, position=weights)
    total = sum(np.vdot(back[path], along[path]) for path in paths)
    assert total == pytest.approx(float((weights * change.position[0]).sum()), rel=1e-9, abs=1e-9)
    return float(np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1.0))


def compared(kind: str, seed: int, directions: int) -> tuple[int, float]:
    """Impacts of a random scene, and the largest difference of its derivatives from central differences."""
    scene = random.random_scene(kind, seed)
    for duration in (2.0, 1.2, 0.6, 0.3):
        try:
            run = carom.sensitivity(scene, duration=duration)
        except ProblemError as error:
            if "resting" not in str(error):
                raise
            continue
        if 1 <= run.impacts <= 20:
            break
    else:
        return 0, 0.0

    def make(changed):
        return random.final(carom.sensitivity(changed, duration=duration))

    paths = random.parameters(scene)
    return run.impacts, max(agreement(run, paths, 10 * seed + k, make) for k in range(directions))


@pytest.mark.parametrize("kind", random.KINDS)
def test_runs_agree_with_central_differences(kind):
    impacts, worst = compared(kind, 1, 1)
    assert impacts > 0
    assert worst < 1e-5


@pytest.mark.long
@pytest.mark.parametrize("kind", random.KINDS)
def test_one_hundred_runs_agree_with_central_differences(kind):
    found: list[float] = []
    for seed in range(20):  # bodies of some scenes rest on their first contact, which has no derivative
        impacts, worst = compared(kind, seed, 3)
        found += [worst] if impacts else []
        if len(found) == 15:
            break
    assert len(found) == 15
    assert max(found) < 1e-5


def test_restitution_that_friction_reduces_is_followed():
    """A corner would gain energy: the stepper finds the share of its restitution as exactly as the replay."""
    scene = random.random_scene("rough_polygons", 15)
    run = carom.sensitivity(scene, duration=1.0)

    def make(changed):
        return random.final(carom.sensitivity(changed, duration=1.0))

    # The share is known to 1e-9, which differences divide by their step: it is longer than that of the other scenes.
    assert agreement(run, random.parameters(scene), 3, make, 2e-6) < 1e-5


def test_the_run_is_that_of_the_stepper():
    scene = random.random_scene("rough_polygons", 0)
    frames = carom.sensitivity(scene, duration=1.0).derivative("scene.gravity")
    state = carom.Simulation(scene, stepper="time_of_impact", tolerance="exact").run(until=1.0)
    assert frames.position[0] == pytest.approx(state.position, abs=1e-7)
    assert frames.velocity[0] == pytest.approx(state.velocity[:, :2], abs=1e-6)


def test_a_trajectory_has_the_derivatives_of_its_run():
    path = "materials.default.restitution"
    made = carom.simulate(ball(), "gr", stepper="synchronous", step=0.01, duration=0.9)
    run, same = carom.sensitivity(made), carom.sensitivity(ball(), "gr", 0.9, stepper="synchronous", step=0.01)
    assert run.warnings and run.derivative(path).position[0] == pytest.approx(made.frame(-1).position, abs=1e-9)
    assert (run.derivative(path)[path].position == same.derivative(path)[path].position).all()
    assert (made.derivative(path)[path].position == same.derivative(path)[path].position).all()
    assert carom.sensitivity(made, stepper="time_of_impact").warnings == ()


def test_moving_boundaries_have_derivatives():
    floor = boundaries.Plane((0.0, 0.0), (0.0, 1.0), motion=motion.Vibrating(amplitude=0.1, frequency=1.3))
    two = Bodies(shapes.Disc(0.1), [[0.0, 0.5], [0.05, 1.0]])
    scene = Scene("shaken", [two], [floor], materials={"default": Material(0.9)}, gravity=(0.0, -9.81), duration=1.0)
    run = carom.sensitivity(scene)

    def make(changed):
        return random.final(carom.sensitivity(changed))

    paths = ["boundaries.0.motion.amplitude", "boundaries.0.motion.frequency", "bodies.0.position"]
    assert agreement(run, paths, 5, make) < 1e-6


def parts() -> Scene:
    """Bodies of several kinds and materials above a floor that moves, one of which follows a motion itself."""
    paddle = motion.Vibrating(amplitude=0.05, frequency=2.1, direction=(0.0, 1.0))
    bodies = [
        Bodies(shapes.Disc(0.2), [[0.0, 0.9]], velocity=[[0.4, -0.5]], spin=3.0, mass=1.3),
        Bodies(shapes.Polygon(0.3 * np.array([[1.0, 0.1], [-0.3, 0.9], [-0.6, -0.8]])), [[0.9, 1.2]], spin=-2.0),
        Bodies(shapes.Rectangle(0.4, 0.2), [[-0.9, 1.0]], velocity=[[0.3, -0.2]], angle=0.4, material="ball"),
        Bodies(shapes.Disc(0.15), [[0.25, 1.6]], velocity=[[0.0, -2.0]], material="ball"),
        Bodies(shapes.Disc(0.3), [[2.0, 0.4]], motion=paddle),
        Bodies(shapes.Disc(0.1), [[2.1, 1.3]], material="ball"),
    ]
    floor = boundaries.Plane((0.0, 0.0), (0.02, 1.0), motion=motion.Vibrating(amplitude=0.05, frequency=1.3))
    materials = {"default": Material(0.8, 0.3), "ball": Material(0.9, 0.1, 2.0)}
    return Scene("parts", bodies, [floor], materials=materials, gravity=(0.0, -4.0), step=0.02, duration=0.9)


EACH = (
    "bodies.0.position", "bodies.0.velocity", "bodies.0.spin", "bodies.0.mass", "bodies.0.radius", "bodies.1.vertices",
    "bodies.2.size", "bodies.2.angle", "bodies.3.radius", "bodies.4.position", "bodies.4.motion.amplitude",
    "bodies.4.motion.frequency", "boundaries.0.point", "boundaries.0.normal", "boundaries.0.motion.amplitude",
    "boundaries.0.motion.frequency", "materials.default.restitution", "materials.default.friction",
    "materials.default.density", "materials.ball.restitution", "materials.ball.friction", "materials.ball.density",
    "scene.gravity",
)  # fmt: skip


@pytest.mark.parametrize("together", [6, pytest.param(1, marks=pytest.mark.long)])
def test_each_kind_of_parameter_agrees_with_differences(together):
    """Initial state, coefficients, masses, sizes, gravity and motions: some along a random direction, or each alone."""
    run = carom.sensitivity(parts())
    assert run.impacts >= 5 and run.smooth

    def make(changed):
        return random.final(carom.sensitivity(changed))

    # Impacts multiply rounding errors by some hundreds, so that the steps are longer than in the other scenes.
    groups = [EACH[start::together] for start in range(together)] if together > 1 else [(path,) for path in EACH]
    off = {paths: agreement(run, [*paths], 7, make, 2e-6) for paths in groups}
    assert max(off.values()) < 1e-5, off
    moving = [path for path in EACH if np.abs(run.derivative(path)[path].position).max() > 1e-6]
    assert set(EACH) - set(moving) == {"materials.ball.restitution"}, moving  # no impact of two such bodies


def chain() -> Scene:
    places = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [7.0, 0.3]])
    moving = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [-1.0, 0.01]]
    balls = Bodies(shapes.Disc(1.0), places, velocity=moving, mass=[1.0, 2.0, 1.5, 3.0])
    return Scene("chain", [balls], materials={"default": Material(0.9)}, step=0.05, duration=2.0)


def test_simultaneous_impacts_go_through_the_law_and_are_kinks():
    for law in ("gr", "lzb"):
        run = carom.sensitivity(chain(), law)
        assert not run.smooth
        assert "touch at the same time" in run.kinks[0][1]

        def make(changed, law=law):
            return random.final(carom.sensitivity(changed, law))

        paths = ["bodies.0.mass", "materials.default.restitution"]  # these do not open or close a contact
        assert agreement(run, paths, 2, make) < 1e-6, law


def test_tapes_that_were_not_kept_are_made_again(monkeypatch):
    monkeypatch.setattr(runs, "SEGMENT_NUMBERS", 500)
    scene = random.random_scene("rough_discs", 0)
    whole = carom.sensitivity(scene)
    monkeypatch.setattr(runs, "KEPT_SEGMENTS", 1)
    part = carom.sensitivity(scene)
    assert sum(segment.tape is None for segment in part.segments) >= 2
    names, weights = ["bodies.0.position", "scene.gravity"], np.ones((len(scene.bodies), 2))
    for name, slope in whole.vjp(names, position=weights).items():
        assert (slope == part.vjp(names, position=weights)[name]).all()
    times = np.linspace(0.0, 2.0, 7)
    assert (whole.derivative(names, times)[names[0]].velocity == part.derivative(names, times)[names[0]].velocity).all()


def test_derivatives_of_every_frame_are_those_of_shorter_runs():
    frames = carom.sensitivity(ball()).derivative("materials.default.restitution", [0.3, 0.9, 1.5])
    for k, time in enumerate((0.3, 0.9, 1.5)):
        alone = carom.sensitivity(ball(), duration=time).derivative("materials.default.restitution")
        assert frames.position[k] == pytest.approx(alone.position[0], abs=1e-12)
        name = "materials.default.restitution"
        assert frames[name].position[k] == pytest.approx(alone[name].position[0], abs=1e-12)
    change = carom.sensitivity(ball()).jvp({"materials.default.restitution": 1e-3})
    assert change.position[0] == pytest.approx(1e-3 * frames[name].position[2], abs=1e-15)


def test_bad_input_gets_one_line():
    run = carom.sensitivity(ball(), duration=0.2)
    for act, message in (
        (lambda: run.derivative("materials.steel.restitution"), "steel"),
        (lambda: run.derivative("bodies.0.material"), "number"),
        (lambda: run.derivative([]), "paths"),
        (lambda: run.derivative("scene.gravity", [0.1, 0.3]), "times"),
        (lambda: run.vjp("scene.gravity", position=[1.0]), "shape"),
        (lambda: run.jvp({"scene.gravity": 1.0}), "shape"),
        (lambda: carom.sensitivity(ball(), stepper="substepped"), "stepper"),
        (lambda: carom.sensitivity(ball().with_(linear_drag=0.1)), "drag"),
    ):
        with pytest.raises(ProblemError, match=message) as caught:
            act()
        assert "\n" not in str(caught.value)

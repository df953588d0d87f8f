"""Event-driven steps of discs and spheres: against closed forms, the law itself, all pairs, and the general path."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import scenes, stepping
from carom.build import build
from carom.problem.problem import ImpactProblem
from carom.resolve.response import Response
from carom.scene.boundaries import Container, Drum, Periodic, Plane, Segment, Shell, Tube
from carom.scene.model import Bodies, Material, Scene
from carom.scene.motion import FIXED, Moving, Rotating
from carom.scene.shapes import Disc, Sphere
from carom.stepping.event_driven import CLOSED_FORM_LAWS
from carom.stepping.time_of_impact import TimeOfImpact

LAWS = sorted(CLOSED_FORM_LAWS)


def engine(scene: Scene, step: float, law: str = "gr") -> tuple[TimeOfImpact, carom.world.State]:
    world, state = build(scene)
    mover = stepping.make("time_of_impact", world, Response.for_run(law, tolerance="exact"), step)
    assert isinstance(mover, TimeOfImpact) and mover.events is not None
    return mover, state


def gas(count: int, dimension: int, fraction: float = 0.3, seed: int = 0, material: Material | None = None, **more):
    """Balls of unit diameter and mass on a lattice with random velocities, in periodic sides unless told otherwise."""
    rng = np.random.default_rng(seed)
    volume = {2: np.pi / 4.0, 3: np.pi / 6.0}[dimension]
    side, cells = (count * volume / fraction) ** (1.0 / dimension), int(np.ceil(count ** (1.0 / dimension) - 1e-9))
    grid = np.stack(np.unravel_index(np.arange(count), (cells,) * dimension), axis=1)
    velocity = rng.normal(size=(count, dimension))
    shape = Disc(0.5) if dimension == 2 else Sphere(0.5)
    rotates = more.pop("rotates", False)
    bodies = Bodies(shape, (grid + 0.5) * (side / cells), velocity - velocity.mean(axis=0), mass=1.0, rotates=rotates)
    if "boundaries" not in more:
        more["periodic"] = Periodic(**dict.fromkeys("xyz"[:dimension], (0.0, side)))
    materials = {"default": material or Material(1.0)}
    return Scene("gas", [bodies], materials=materials, gravity=more.pop("gravity", (0.0,) * dimension), **more)


def test_every_law_answers_a_single_contact_as_the_loop_does():
    """Oblique impacts of rotating balls of different mass and radius: in the loop, and left to the law.

    The tolerance is that of the laws: etm and lzb integrate, with errors of 1e-13."""
    for law in LAWS:
        own = carom.laws.make(law).own_friction
        for dimension in (2, 3):
            for material in (Material(1.0), Material(0.5, 0.0 if own else 0.4), Material(0.1, 0.0 if own else 0.05)):
                place, speed = np.array([[0.0, 0.1, 0.2], [2.0, -0.3, 0.0]]), np.array([[3.0, 1, 0.5], [-1, 0.2, 2]])
                spin = [1.0, -2.0] if dimension == 2 else [[1.0, 2.0, -1.0], [0.3, -3.0, 0.1]]
                shapes = [Disc(0.5), Disc(0.8)] if dimension == 2 else [Sphere(0.5), Sphere(0.8)]
                bodies = [
                    Bodies(shapes[k], place[k : k + 1, :dimension], speed[k, :dimension], spin=spin[k])
                    for k in range(2)
                ]
                scene = Scene("two", bodies, materials={"default": material}, gravity=(0.0,) * dimension)
                ends = []
                for closed in (True, False):
                    mover, state = engine(scene, 0.5, law)
                    assert mover.events.closed_form
                    mover.events.closed_form = closed
                    end, report = mover.step(state)
                    assert report.rounds == 1
                    ends.append((end, report.impulses()))
                (one, pushed), (two, law_pushed) = ends
                where = f"{law}, {dimension}D, {material}"
                assert np.abs(one.velocity - two.velocity).max() <= 1e-12, where
                assert np.abs(one.position - two.position).max() <= 1e-12, where
                assert np.abs(pushed.normal_impulse - law_pushed.normal_impulse).max() <= 1e-12, where
                assert np.abs(pushed.tangent_impulse - law_pushed.tangent_impulse).max() <= 1e-12, where


@pytest.mark.parametrize("law", LAWS)
def test_a_break_of_56_balls_is_one_impact_for_the_law(law):
    """The cue ball arrives within the step; the law gets 136 contacts as `solve_impact` does."""
    restitution = 0.9 if law in ("smm", "jacobi") else 1.0
    scene = scenes.pool_break(restitution=restitution)
    mover, state = engine(scene, 0.41, law)
    place, velocity = state.position.copy(), state.velocity.copy()
    place[0] = place[1] - [1.0, 0.0]
    problem = ImpactProblem.from_discs(place, 0.5, 1.0, velocity, restitution=restitution)
    assert problem.contact_count == 136
    solution = carom.solve_impact(problem, law)
    seen = []
    collide = mover.collide

    def first_collide(state, found, impact, report):
        after = collide(state, found, impact, report)
        seen.append((found.count, after.velocity))
        return after

    mover.collide = first_collide
    mover.step(state)
    assert seen[0][0] == 136
    assert np.abs(seen[0][1] - solution.velocity).max() <= 1e-12 * np.abs(velocity).max()


def all_pairs(scene: Scene, duration: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Elastic balls of unit mass and diameter in periodic sides, by the roots of all pairs at every impact."""
    world, state = build(scene)
    x, v, time, impacts = state.position.copy(), state.velocity.copy(), 0.0, 0
    length = np.array([side[1] - side[0] for side in world.periodic.sides[: world.dimension]])
    first, second = np.triu_indices(len(x), 1)
    while True:
        d, w = x[second] - x[first], v[second] - v[first]
        d -= length * np.round(d / length)
        images = np.stack(np.meshgrid(*[[-1, 0, 1]] * world.dimension), -1).reshape(-1, world.dimension) * length
        d = d[:, None] + images
        b, square = (d * w[:, None]).sum(-1), (w * w).sum(-1)[:, None]
        c = (d * d).sum(-1) - 1.0
        inside = b * b - square * c
        near = (b < 0) & (inside > 0) & (c > -1e-9)
        root = np.where(near, c / np.where(near, np.sqrt(np.maximum(inside, 0)) - b, 1.0), np.inf)
        pair, image = np.unravel_index(np.argmin(root), root.shape)
        s = max(root[pair, image], 0.0)
        if time + s > duration:
            return x + (duration - time) * v, v, impacts
        x, time, impacts = x + s * v, time + s, impacts + 1
        n = d[pair, image] + s * w[pair]
        change = (n @ w[pair]) * n / (n @ n)
        v[first[pair]] += change
        v[second[pair]] -= change


@pytest.mark.parametrize(("count", "dimension"), [(25, 2), (64, 3)])
def test_a_gas_has_the_impacts_that_all_pairs_have(count, dimension):
    scene, duration = gas(count, dimension), 1.5
    place, velocity, impacts = all_pairs(scene, duration)
    assert impacts > count
    for steps in (1, 6):
        mover, state = engine(scene, duration / steps)
        made = 0
        for _ in range(steps):
            state, report = mover.step(state)
            made += report.rounds
            assert report.contacts == report.rounds == len(report.impulses().first)
            times = np.concatenate([stage.time for stage in report.stages])
            begin = state.time - duration / steps
            assert (np.diff(times) >= 0.0).all() and begin <= times.min() <= times.max() <= state.time
        assert made == impacts
        # Rounding errors grow by a factor of a few per impact of a ball.
        assert np.abs(state.velocity - velocity).max() <= 1e-7
        assert np.abs(np.sin(np.pi * (state.position - place) / mover.world.periodic.x[1])).max() <= 1e-7


@pytest.mark.parametrize("dimension", [2, 3])
def test_energy_and_momentum_of_a_gas_are_exact(dimension):
    scene = gas(1000, dimension)
    mover, state = engine(scene, 2.0)
    energy, impacts = (state.velocity**2).sum(), 0
    for _ in range(5):
        state, report = mover.step(state)
        impacts += report.rounds
    assert impacts > 5000
    assert abs((state.velocity**2).sum() / energy - 1.0) <= 1e-13
    assert np.abs(state.velocity.sum(axis=0)).max() <= 1e-11


def test_friction_and_restitution_dissipate_and_keep_angular_momentum():
    """Free rotating spheres without sides: momentum and angular momentum to rounding, energy falls in every step."""
    scene = gas(125, 3, material=Material(0.8, 0.3), rotates=True, boundaries=[])
    mover, state = engine(scene, 0.2)
    rows, kinetic = [mover.start(state).row], stepping.report.step_table(3).names.index("kinetic")
    for _ in range(6):
        state, report = mover.step(state)
        rows.append(report.row)
        lost = sum(float(stage.speeds[2].sum()) for stage in report.stages)
        assert rows[-2][kinetic] - rows[-1][kinetic] == pytest.approx(lost, rel=1e-9)
    table = np.array(rows, dtype=stepping.report.step_table(3))
    assert (np.diff(table["kinetic"]) < 0.0).all()
    for name in stepping.report.MOMENTUM[3] + stepping.report.ANGULAR_MOMENTUM[3]:
        assert np.abs(table[name] - table[name][0]).max() <= 1e-10 * 125, name


BOUNDARIES = {
    "container 2D": (2, [Container((-3.0, -2.0), (3.0, 2.0))]),
    "drum": (2, [Drum(3.0)]),
    "segments": (2, [Container((-3.0, -2.0), (3.0, 2.0)), Segment((-1.5, -0.7), (0.4, -0.2)), Segment((1, 1), (2, 1))]),
    "container 3D": (3, [Container((-2.0, -2.0, -2.0), (2.0, 2.0, 2.0))]),
    "tube": (3, [Tube(2.0), Plane((0, 0, -2)), Plane((0, 0, 2), (0, 0, -1))]),
    "shell": (3, [Shell(2.5)]),
}


@pytest.mark.parametrize("name", BOUNDARIES)
def test_balls_under_gravity_stay_inside_and_keep_their_energy(name):
    """Elastic balls and a fixed one in every kind of boundary, several radii per step."""
    dimension, walls = BOUNDARIES[name]
    shape, rng = (Disc, Sphere)[dimension - 2], np.random.default_rng(2)
    place = np.array([[-1.2, 0.3, 0.2], [1.0, 0.2, -0.4], [0.1, -1.3, 0.5], [0.0, 1.2, 0.1]])[:, :dimension]
    moving = Bodies(shape(0.25), place, rng.normal(size=(4, dimension)) * 2.0, mass=1.0)
    fixed = Bodies(shape(0.3), np.zeros((1, dimension)) + 0.05, motion=FIXED)
    gravity = (0.0,) * (dimension - 1) + (-5.0,)
    scene = Scene("box", [moving, fixed], walls, gravity=gravity, materials={"default": Material(1.0)})
    mover, state = engine(scene, 0.3)
    start, impacts = mover.start(state).row, 0
    names = stepping.report.step_table(dimension).names
    kinetic, potential = names.index("kinetic"), names.index("potential")
    for _ in range(60):
        state, report = mover.step(state)
        impacts += report.rounds
        assert report.resting == 0 and report.overlap <= 1e-9
        assert report.row[kinetic] + report.row[potential] == pytest.approx(start[kinetic] + start[potential], abs=1e-9)
        apart = np.linalg.norm(state.position[:, None] - state.position[None], axis=-1)[np.triu_indices(5, 1)]
        reach = np.add.outer(mover.world.shapes.radius, mover.world.shapes.radius)[np.triu_indices(5, 1)]
        assert (apart >= reach - 1e-9).all()
        assert np.abs(state.position).max() <= 3.0
    assert impacts > 100


def test_a_moving_wall_and_a_rotating_drum():
    """A piston gives a ball twice its speed; a drum that rotates drags a ball by friction, up to the bound of slip."""
    piston = Plane((-2.0, 0.0), (1.0, 0.0), motion=Moving((3.0, 0.0)))
    one = Bodies(Disc(0.5), np.array([[0.0, 0.0]]), mass=1.0)
    mover, state = engine(Scene("piston", [one], [piston]), 0.25)
    for _ in range(4):
        state, _ = mover.step(state)
    assert state.velocity[0, 0] == pytest.approx(6.0) and state.position[0, 0] == pytest.approx(3.0)
    drum = Drum(2.0, motion=Rotating(4.0))
    ball = Bodies(Disc(0.5), np.array([[0.0, 0.0]]), (1.0, 0.0), mass=1.0)
    mover, state = engine(Scene("drum", [ball], [drum], materials={"default": Material(1.0, 0.1)}), 2.0)
    state, report = mover.step(state)
    assert report.rounds == 1  # at x = 1.5, where the wall moves up at 8: slip remains, friction is 0.1 of 2
    assert state.velocity[0] == pytest.approx([-1.0, 0.2, 0.2 * 0.5 / (0.5 * 0.25)])


@pytest.mark.parametrize("dimension", [2, 3])
def test_bits_do_not_depend_on_where_a_run_is_resumed(tmp_path, dimension):
    scene = gas(200, dimension, material=Material(0.9, 0.2), rotates=True).with_(step=0.2, duration=2.0)
    whole = carom.simulate(scene, stepper="time_of_impact", output=tmp_path / "whole.h5")
    part = carom.simulate(scene, stepper="time_of_impact", duration=0.8, output=tmp_path / "part.h5")
    more = carom.resume(tmp_path / "part.h5", duration=2.0)
    assert np.array_equal(whole.positions[-1], more.positions[-1])
    assert np.array_equal(whole.velocities[-1], more.velocities[-1])
    assert len(part.steps) < len(more.steps) == len(whole.steps)


def test_worlds_that_the_loop_does_not_treat_take_the_general_path():
    for change in ({"periodic": Periodic(x=(0.0, 9.0), y=(0.0, 9.0), shear_rate=0.1)}, {"linear_drag": 0.1}):
        base = gas(9, 2, fraction=0.1)
        scene = base.with_(**change)
        mover = stepping.make("time_of_impact", build(scene)[0], Response.for_run("gr"), 0.1)
        assert isinstance(mover, TimeOfImpact) and mover.events is None


def test_a_queue_that_grows_changes_no_bit(monkeypatch):
    """A step that begins with room for its first entries alone, and one with room for all."""
    from carom.stepping import event_driven

    def velocities() -> np.ndarray:
        mover, state = engine(gas(300, 2), 3.0)
        return mover.step(state)[0].velocity

    whole, grown = velocities(), []
    monkeypatch.setattr(event_driven, "ENTRIES_PER_BODY", 1)
    monkeypatch.setattr(event_driven, "QUEUE_ENTRIES", 2)
    larger = event_driven.grown_queue
    monkeypatch.setattr(event_driven, "grown_queue", lambda queue: grown.append(1) or larger(queue))
    assert np.array_equal(velocities(), whole) and grown

"""The drift-safe step: energy never rises, what rests stays, what slides or bounces does so as the textbook says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.stepping.runs import box, clusters, disc, engine_of, rough, rows_of, states_of

from carom import Simulation, scenes
from carom.contact.detector import find_contacts
from carom.resolve.response import DEFAULT_TOLERANCE
from carom.scene import FIXED, Bodies, Container, Disc, Drum, Moving, Plane, Rectangle, Scene, Segment

G = 9.81
TUB = (Plane(), Plane((-5.0, 0.0), (1.0, 0.0)), Plane((5.0, 0.0), (-1.0, 0.0)))
BOWL = (Drum(6.0, (0.0, 4.5)),)
LEDGE = (Plane((0.0, -3.0)), Segment((-6.0, -0.5), (0.0, 0.0)), Segment((0.5, 0.0), (6.0, -1.0)))


def total(rows):
    return rows["kinetic"] + rows["potential"]


def rise(rows):
    """Largest rise of the total energy above the lowest so far, in units of the largest kinetic energy."""
    energy = total(rows)
    return (energy - np.minimum.accumulate(energy)).max() / rows["kinetic"].max()


# ---- energy


@pytest.mark.parametrize("walls", [TUB, BOWL, LEDGE], ids=["tub", "bowl", "ledge"])
@given(clusters())
def test_energy_never_rises(walls, scene):
    """All shapes, with and without friction and restitution. The resting solve stops at 1e-8 of the fastest speed,
    which leaves about 1e-8 of the kinetic energy."""
    rows = rows_of(scene.with_(boundaries=walls), 120, "drift_safe")
    assert rise(rows) < 1e-7


@pytest.mark.parametrize("seed", [*(pytest.param(seed, marks=pytest.mark.long) for seed in (7, 67)), 152])
def test_energy_never_rises_in_a_coarse_pile(seed):
    """Steps so long that bodies sink into each other by a tenth: to move them out is paid for in full.

    Seeds in which some bodies of an island are lifted and others lowered (7, 67), and in which bodies hand their
    energy on in an impact of the same step (152).
    """
    rng = np.random.default_rng(seed)
    bodies = []
    for c in rng.permutation(16)[:11]:
        i, j = divmod(int(c), 4)
        size = rng.uniform(0.2, 1.0)
        shape = Disc(size) if rng.random() < 0.5 else Rectangle(1.7 * size, size * rng.uniform(0.2, 1.0))
        place = [[2.1 * (i - 1.5), 1.2 + 2.1 * j]]
        bodies.append(
            Bodies(shape, np.array(place), velocity=tuple(10.0 * rng.normal(size=2)), mass=10.0 ** rng.uniform(-2, 2))
        )
    scene = Scene("s", bodies, TUB, materials=rough(0.1, 0.3), gravity=(0.0, -G), step=0.05)
    assert rise(rows_of(scene, 150, "drift_safe")) < 1e-7


def test_energy_handed_on_does_not_pay_for_a_lift():
    """A disc that sits a hair deep in the floor stops dead in a head-on hit: all it had is its partner's now, and
    nothing is left to lift it with."""
    bodies = [disc(0.0, 1.0 - 9e-5, 2.0, 0.0, mass=1.0), disc(2.01, 1.0 - 9e-5, mass=1.0)]
    scene = Scene("s", bodies, [Plane()], gravity=(0.0, -G), step=0.01)
    assert rise(rows_of(scene, 3)) < 1e-9


def test_bouncing_ball_comes_back_to_e_squared():
    """Dropped from H with restitution e: the top after n bounces is e^(2n) H, up to a step's fall at each bounce."""
    e, top, r = 0.8, 1.0, 0.1
    errors = []
    for h in (4e-3, 1e-3):
        ball = disc(0.0, r + top, radius=r)
        scene = Scene("s", [ball], [Plane()], gravity=(0.0, -G), materials=rough(0.0, e), step=h)
        y = np.array([s.position[0, 1] - r for s in states_of(scene, int(2.0 / h))])
        tops = [y[i] for i in range(1, len(y) - 1) if y[i] >= y[i - 1] and y[i] > y[i + 1]][:3]
        errors.append(np.abs(np.array(tops) - top * e ** (2.0 * np.arange(1, 4))).max())
        # At a bounce it is above the floor by up to v h, of which the potential energy is not reduced by e^2.
        assert errors[-1] < 1.5 * np.sqrt(2.0 * G * top) * h
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.long)])
def test_elastic_ball_bounces_many_times(count):
    """Restitution 1: energy to rounding. Each bounce and each flight adds some 1e-16."""
    r = 0.1
    scene = Scene("s", [disc(0.0, 0.12, 0.3, 0.0, radius=r)], [Plane()], gravity=(0.0, -G), step=4e-3)
    engine, state = engine_of(scene)
    bounces, energy = 0, []
    while bounces < count:
        state, report = engine.step(state)
        bounces += report.rounds
        energy.append(report.row[9] + report.row[10])
        assert state.step < 60_000
    np.testing.assert_allclose(energy, energy[0], rtol=1e-11)


@pytest.mark.parametrize("gap", [0.5, 0.02])
def test_elastic_gas_keeps_its_energy_however_dense(gap):
    """Many impacts of a disc in one step, each leading to others: none may be stopped for want of rounds."""
    rng = np.random.default_rng(1)
    places = (1.0 + gap) * np.stack(np.divmod(np.arange(36), 6), axis=1) + 0.5 * (1.0 + gap)
    group = Bodies(Disc(0.5), places, velocity=rng.normal(size=(36, 2)))
    side = 6.0 * (1.0 + gap)
    rows = rows_of(Scene("s", [group], [Container((0.0, 0.0), (side, side))], step=0.01), 100)
    assert rows["contacts"].sum() > 50
    np.testing.assert_allclose(rows["kinetic"], rows["kinetic"][0], rtol=1e-11)


def test_a_force_on_one_body_does_not_change_how_another_bounces():
    """A stiff spring far away must not make a fast elastic impact count as rest."""

    def highest(stiffness):
        def force(time, position, velocity):
            return np.array([[0.0, -G], [0.0, -stiffness * (position[1, 1] - 30.5)]])

        bodies = [disc(0.0, 1.5, mass=1.0), disc(9.0, 30.0, mass=1.0)]
        states = states_of(Scene("s", bodies, [Plane()], force=force, step=5e-3), 200)
        return max(s.velocity[0, 1] for s in states)

    assert highest(0.0) == pytest.approx(np.sqrt(2.0 * G * 0.5), rel=0.03)
    assert highest(1000.0) == pytest.approx(highest(0.0), rel=1e-12)


def test_it_comes_to_rest_and_stays():
    """Inelastic, on a floor: no kinetic energy is left, and the gap stays at rounding for a thousand steps."""
    scene = Scene("s", [disc(0.0, 1.5)], [Plane()], gravity=(0.0, -G), materials=rough(0.3, 0.5), step=0.01)
    engine, state = engine_of(scene)
    for _ in range(400):
        state, _ = engine.step(state)
    at = state.position.copy()
    for _ in range(1000):
        state, _ = engine.step(state)
    np.testing.assert_allclose(state.position, at, atol=1e-12)
    assert abs(state.position[0, 1] - 1.0) < 1e-7
    np.testing.assert_allclose(state.velocity, 0.0, atol=1e-8 * G * 0.01)  # the resting solve's tolerance


# ---- friction


def incline(body, degrees, mu, h=1e-3, steps=500):
    """A body on a plane that is level, in gravity that is not; both the same but for the numbers."""
    a = np.radians(degrees)
    gravity = (G * np.sin(a), -G * np.cos(a))
    scene = Scene("s", [body], [Plane()], gravity=gravity, materials=rough(mu), step=h)
    return a, states_of(scene, steps)


@pytest.mark.parametrize("degrees", [10.0, 19.0])
def test_block_sticks_below_the_angle_of_friction(degrees):
    """tan(angle) < mu: it must not move, not even slowly. mu = 0.35 is 19.29 degrees."""
    _, states = incline(box(0.0, 0.25, 1.0, 0.5), degrees, 0.35)
    np.testing.assert_allclose(states[-1].position, states[0].position, atol=1e-9)
    np.testing.assert_allclose(states[-1].velocity, 0.0, atol=1e-9)


@pytest.mark.parametrize("degrees", [20.0, 35.0])
def test_block_slides_above_it(degrees):
    """a = g (sin - mu cos), from the first step on."""
    a, states = incline(box(0.0, 0.25, 1.0, 0.5), degrees, 0.35)
    wanted = G * (np.sin(a) - 0.35 * np.cos(a))
    last = states[-1]
    assert last.velocity[0, 0] == pytest.approx(wanted * last.time, rel=1e-6)
    assert last.position[0, 0] == pytest.approx(0.5 * wanted * last.time**2, rel=5e-3)
    assert last.orientation[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("degrees", [20.0, 50.0])
def test_disc_rolls_below_three_mu_and_slips_above(degrees):
    """Rolling: 2/3 g sin. It needs tan <= 3 mu: beyond, g (sin - mu cos) with spin 2 mu g cos / r."""
    mu, r = 0.3, 0.5
    a, states = incline(disc(0.0, r, radius=r), degrees, mu)
    last = states[-1]
    if np.tan(a) <= 3.0 * mu:
        speed, spin = 2.0 / 3.0 * G * np.sin(a), -2.0 / 3.0 * G * np.sin(a) / r
    else:
        speed, spin = G * (np.sin(a) - mu * np.cos(a)), -2.0 * mu * G * np.cos(a) / r
    np.testing.assert_allclose(last.velocity[0], [speed * last.time, 0.0, spin * last.time], rtol=1e-6, atol=1e-9)


def test_disc_that_does_not_turn_sticks():
    """On an incline below the angle of friction a disc without rotation stays as a block does."""
    _, states = incline(disc(0.0, 0.5, radius=0.5, rotates=False), 15.0, 0.35)
    np.testing.assert_allclose(states[-1].position, states[0].position, atol=1e-9)


# ---- stacks, pushers, clusters


def test_small_stack_stands():
    """Five boxes: no creep and no overlap beyond 1e-5 of a box over 5 time units."""
    scene = scenes.box_stack(boxes=5)
    engine, state = engine_of(scene)
    first = state
    for _ in range(int(5.0 / scene.step)):
        state, _ = engine.step(state)
    found = find_contacts(engine.world, state, state)
    assert np.abs(state.position - first.position).max() < 1e-4
    assert np.abs(state.orientation).max() < 1e-6
    assert (-found.gap).max(initial=0.0) < 2e-5


@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_pusher_moves_a_block_at_its_own_speed(mu):
    """A driven disc pushes a block along a floor with friction: it moves with it, and does not tip or overlap."""
    pusher = disc(-1.0, 0.5, radius=0.5, motion=Moving((0.7, 0.0)))
    scene = Scene("s", [pusher, box(0.0, 0.5)], [Plane()], gravity=(0.0, -G), materials=rough(mu), step=2e-3)
    last = states_of(scene, 500)[-1]
    assert last.velocity[1, 0] == pytest.approx(0.7, abs=1e-6)
    assert last.position[1, 0] - last.position[0, 0] == pytest.approx(1.0, abs=1e-4)
    assert last.position[1, 1] == pytest.approx(0.5, abs=1e-4)


def test_elevator_carries_its_load():
    """A driven platform that rises and stops: the boxes on it go up with it, and none flies off."""
    platform = box(0.0, -0.5, 6.0, 1.0, motion=Moving((0.0, 0.5)))
    load = Bodies(Rectangle(1.0, 1.0), np.array([[-1.5, 0.5], [-1.5, 1.5], [1.5, 0.5]]))
    scene = Scene("s", [platform, load], gravity=(0.0, -G), materials=rough(0.4), step=5e-3)
    last = states_of(scene, 400)[-1]
    np.testing.assert_allclose(last.position[1:, 1], np.array([0.5, 1.5, 0.5]) + 0.5 * last.time, atol=1e-4)
    np.testing.assert_allclose(last.velocity[1:, :2], [[0.0, 0.5]] * 3, atol=1e-6)


@given(clusters(most=9, gravity=False))
def test_free_clusters_keep_their_momentum(scene):
    """Rounds of impacts, resting solves, push-out: none of them moves the center of mass by anything of its own."""
    engine, state = engine_of(scene, "drift_safe")
    mass = engine.world.mass[:, None]
    start, momentum = (mass * state.position).sum(axis=0), (mass * state.velocity[:, :2]).sum(axis=0)
    for _ in range(80):
        state, _ = engine.step(state)
    np.testing.assert_allclose((mass * state.velocity[:, :2]).sum(axis=0), momentum, atol=1e-11)
    np.testing.assert_allclose((mass * state.position).sum(axis=0), start + momentum * state.time, atol=1e-10)


def test_gravity_moves_the_center_of_mass_of_a_free_cluster_as_one():
    """A touching cluster in free fall: internal contacts change nothing, the center of mass falls as a point."""
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    group = Bodies(Disc(0.5), places, velocity=np.array([[0.1, 0.0], [-0.1, 0.0], [0.0, -0.05]]))
    scene = Scene("s", [group], gravity=(0.0, -G), materials=rough(0.5, 0.3), step=0.01)
    rows = rows_of(scene, 100)
    mass = 3.0 * np.pi * 0.25
    np.testing.assert_allclose(rows["momentum_y"], -0.05 * mass / 3.0 - G * mass * rows["time"], rtol=1e-12)
    assert rise(rows) < 1e-9


# ---- symmetry


def pyramid(friction, step=5e-3):
    """Discs in rows of 3, 2, 1 between two fixed ones, mirrored about x = 0 bit by bit."""
    rows = [[(-1.0, 0.0), (0.0, 0.0), (1.0, 0.0)], [(-0.5, 1.0), (0.5, 1.0)], [(0.0, 2.0)]]
    places = np.array([(1.01 * x, 0.5 + 0.88 * y) for row in rows for x, y in row])
    fixed = Bodies(Disc(0.5), np.array([[-2.01, 0.5], [2.01, 0.5]]), motion=FIXED)
    striker = disc(0.0, 4.5, 0.0, -3.0, radius=0.5, mass=3.0)
    return Scene(
        "s",
        [Bodies(Disc(0.5), places), fixed, striker],
        [Plane()],
        gravity=(0.0, -G),
        materials=rough(friction, 0.4),
        step=step,
    )


@pytest.mark.parametrize("friction", [0.0, 0.5, 0.8])
def test_mirrored_scenes_stay_mirrored(friction):
    """A pyramid that is struck from above: left and right stay images of each other. Rounding grows by each impact.

    With friction Coulomb's law allows several answers; from a mirrored problem the solve must find a mirrored one.
    """
    partner = np.array([2, 1, 0, 4, 3, 5, 7, 6, 8])
    states = states_of(pyramid(friction), 200)
    assert min(s.velocity[8, 1] for s in states) < -3.0 and states[-1].velocity[8, 1] > -1.0  # it did strike
    worst = max(np.abs(s.position * [-1.0, 1.0] - s.position[partner]).max() for s in states)
    assert worst < 1e-9


# ---- what a step reports at the default tolerance


def settling_discs(seed, heavy=0.0, steps=500):
    """Rows of a run of 96 discs that fall from a hexagonal grid into a container, under one of the given mass."""
    rng = np.random.default_rng(seed)
    row, column = np.divmod(np.arange(96), 12)
    place = 0.52 * np.stack([column - 5.75 + 0.5 * (row % 2), 0.75**0.5 * row + 0.8], axis=1)
    bodies = [Bodies(Disc(0.25), place + 0.008 * rng.uniform(-1.0, 1.0, place.shape))]
    if heavy:
        bodies.append(Bodies(Disc(1.0), np.array([[0.1, 7.0]]), mass=heavy))
    walls = (Container((-3.3, 0.0), (3.3, 12.0)),)
    scene = Scene("s", bodies, walls, materials=rough(0.3, 0.4), gravity=(0.0, -G), step=0.005)
    sim, rows = Simulation(scene, stepper="drift_safe"), []
    for _ in range(steps):
        sim.step()
        rows.append(sim.report)
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_no_step_of_a_plain_pile_adds_energy_at_the_default_tolerance(seed):
    """A warm start that is good enough is accepted, but not the work that it does. Rounding of the sums is allowed."""
    rows = settling_discs(seed)
    rises, largest = np.diff(total(rows)), np.maximum.accumulate(rows["kinetic"])[1:]
    assert (rises <= 1e-12 * largest + 1e-14 * np.abs(total(rows)[1:])).all()


@pytest.mark.parametrize("seed", [0, 5])
def test_a_step_that_misses_its_tolerance_says_so(seed):
    """A disc 10,000 times heavier than those below it. With seed 5 one application of the law used up the work that was
    meant for shorter sub-steps, and the run ended in an overlap."""
    rows = settling_discs(seed, heavy=1963.5)
    assert rows["contacts"].max() > 0 and rows["resting"].max() > 100
    assert (rows["residual"][rows["status"] == 0] <= DEFAULT_TOLERANCE).all()


# ---- restarts


def test_memory_makes_the_next_step_the_same():
    """A stepper that takes up another's memory goes on with the same bits."""
    scene = scenes.box_stack(boxes=4)
    engine, state = engine_of(scene)
    for _ in range(30):
        state, _ = engine.step(state)
    other, _ = engine_of(scene)
    other.remember({name: value.copy() for name, value in engine.memory().items()})
    one, two = state, state
    for _ in range(20):
        one, two = engine.step(one)[0], other.step(two)[0]
    assert one.position.tobytes() == two.position.tobytes() and one.velocity.tobytes() == two.velocity.tobytes()

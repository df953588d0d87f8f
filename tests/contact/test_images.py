"""Periodic and Lees-Edwards sides: contacts across them against all images, and motion that cannot tell them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stepping.runs import disc, engine_of, rough, states_of

from carom.build import build
from carom.contact.detector import find_contacts
from carom.contact.images import wrapped
from carom.scene import Bodies, Disc, Moving, Periodic, Plane, Rectangle, Scene
from carom.world import State

SEEDS = st.integers(0, 2**32 - 1)


def lengths(periodic: Periodic) -> np.ndarray:
    return np.array([np.inf if side is None else side[1] - side[0] for side in (periodic.x, periodic.y)])


def shifted(periodic: Periodic, time: float, kx: int, ky: int) -> np.ndarray:
    """Where image (kx, ky) stands relative to its owner at a time."""
    length = np.where(np.isfinite(lengths(periodic)), lengths(periodic), 0.0)
    out = np.array([kx, ky]) * length
    if periodic.sheared == "y":
        out[0] += ky * periodic.shear_rate * length[1] * time
    else:
        out[1] += kx * periodic.shear_rate * length[0] * time
    return out


def by_all_images(periodic, before, after, radius, margin):
    """{(i, j, apart at the start, rounded): (gap after, velocity of the image)} over every image of every pair."""
    out = {}
    reach = [0 if side is None else 3 for side in (periodic.x, periodic.y)]
    along = 0 if periodic.sheared == "y" else 1
    if periodic.shear_rate:  # the images of a row have slid by any number of boxes
        length = lengths(periodic)
        reach[along] += int(np.ceil(3.0 * abs(periodic.shear_rate * after.time) * length[1 - along] / length[along]))
    for i in range(len(radius)):
        for j in range(i + 1, len(radius)):
            for kx in range(-reach[0], reach[0] + 1):
                for ky in range(-reach[1], reach[1] + 1):
                    apart1 = after.position[j] + shifted(periodic, after.time, kx, ky) - after.position[i]
                    gap = np.hypot(*apart1) - radius[i] - radius[j]
                    if gap <= margin:
                        apart0 = before.position[j] + shifted(periodic, before.time, kx, ky) - before.position[i]
                        drift = shifted(periodic, 1.0, kx, ky) - shifted(periodic, 0.0, kx, ky)
                        out[(i, j, *np.round(apart0, 7) + 0.0)] = (gap, *drift)
    return out


def by_find(world, before, after, margin):
    found = find_contacts(world, before, after, margin)
    out = {}
    for k in range(found.count):
        i, j = found.first[k], found.second[k]
        apart, drift = before.position[j] + found.offset[k] - before.position[i], found.drift[k]
        distance = np.hypot(*apart)
        np.testing.assert_allclose(found.normal[k] * distance, apart, atol=1e-12)
        np.testing.assert_allclose(found.gap[k], distance - world.shapes.radius[i] - world.shapes.radius[j], atol=1e-12)
        if i > j:
            i, j, apart, drift = j, i, -apart, -drift
        name = (i, j, *np.round(apart, 7) + 0.0)
        assert name not in out, "a contact twice"
        out[name] = (found.predicted[k], *drift)
    return out


PERIODIC = [
    Periodic(x=(-3.0, 4.0)),
    Periodic(y=(0.0, 5.0)),
    Periodic(x=(-3.0, 4.0), y=(-1.0, 5.0)),
    Periodic(x=(0.0, 4.0), y=(0.0, 9.0), shear_rate=0.7),
    Periodic(x=(0.0, 5.0), y=(-2.0, 2.5), shear_rate=-1.3, sheared="x"),
    Periodic(x=(0.0, 2.2), y=(0.0, 2.4)),  # narrow: hardly wider than one body
    Periodic(x=(0.0, 2.2), y=(0.0, 2.4), shear_rate=0.4),
]


@pytest.mark.parametrize("periodic", PERIODIC, ids=range(len(PERIODIC)))
@given(seed=SEEDS, n=st.integers(1, 6), time=st.sampled_from([0.0, 0.013, 4.77]))
def test_contacts_are_those_of_all_images_each_once(periodic, seed, n, time):
    """Across sides and corners, in boxes as narrow as a body, after sides have slid for long; overlap is welcome."""
    rng = np.random.default_rng(seed)
    radius = rng.uniform(0.2, 1.0, n)
    low = np.array([-5.0 if s is None else s[0] for s in (periodic.x, periodic.y)])
    high = np.array([5.0 if s is None else s[1] for s in (periodic.x, periodic.y)])
    start = low + (high - low) * rng.random((n, 2))
    start[rng.random((n, 2)) < 0.1] = low.min() if low.min() == low.max() else start.min()
    start = np.clip(start, low, high)
    move = rng.normal(size=(n, 2)) * 0.1
    world, _ = build(Scene("s", [Bodies(Disc(radius), start)], periodic=periodic), check_overlap=False)
    h = 0.05
    before = State(time, 0, start, np.zeros(n), np.zeros((n, 2)))
    after = State(time + h, 0, start + move, np.zeros(n), np.zeros((n, 2)))
    margin = 0.02
    expected, found = by_all_images(periodic, before, after, radius, margin), by_find(world, before, after, margin)
    sure = {name for name, (gap, *_) in expected.items() if gap < margin - 1e-9}
    assert sure <= set(found) <= set(expected)
    for name in sure:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-9)


def test_a_corner_is_one_contact():
    """Four bodies about the corner of a doubly periodic box: each of the six touching pairs once."""
    r = 0.5
    places = np.array([[0.1, 0.1], [9.1, 0.1], [0.1, 9.1], [9.1, 9.1]])
    world, state = build(Scene("s", [Bodies(Disc(r), places)], periodic=Periodic((0.0, 10.0), (0.0, 10.0))))
    found = find_contacts(world, state, state, 0.45)  # diagonals: sqrt(2) - 1 apart
    assert sorted(zip(np.minimum(found.first, found.second), np.maximum(found.first, found.second))) == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 2),
        (1, 3),
        (2, 3),
    ]
    np.testing.assert_allclose(np.sort(found.gap), [0, 0, 0, 0, np.sqrt(2) - 1, np.sqrt(2) - 1], atol=1e-12)


# ---- motion


def gas(seed=0, n=40, shear_rate=0.0, sheared="y", friction=0.0, shift=(0.0, 0.0), box=(10.0, 12.0)):
    rng = np.random.default_rng(seed)
    grid = np.stack(np.divmod(np.arange(72), 9), axis=1)[rng.permutation(72)[:n]] * [10.0 / 8, 12.0 / 9] + 0.5
    grid = grid + rng.uniform(-0.1, 0.1, grid.shape)
    velocity = rng.normal(size=(n, 2))
    velocity -= velocity.mean(axis=0)
    place = np.mod(grid + shift, box)
    bodies = Bodies(Disc(0.45), place, velocity=velocity, mass=rng.uniform(0.5, 2.0, n))
    periodic = Periodic((0.0, box[0]), (0.0, box[1]), shear_rate, sheared)
    return Scene("gas", [bodies], periodic=periodic, materials=rough(friction, 1.0), step=0.01)


@pytest.mark.parametrize("stepper", ["synchronous", "drift_safe"])
@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_gas_keeps_momentum_and_energy(stepper, friction):
    """Every impulse has its opposite: momentum to rounding (about 1e-16 an impact), energy as the law keeps it."""
    scene = gas(friction=friction)
    engine, state = engine_of(scene, stepper)
    mass = engine.world.mass[:, None]
    momentum = (mass * state.velocity[:, :2]).sum(axis=0)
    energy, impacts = [], 0
    for _ in range(400):
        state, report = engine.step(state)
        impacts += report.rounds
        energy.append(report.row[9])
    assert impacts > 100
    np.testing.assert_allclose((mass * state.velocity[:, :2]).sum(axis=0), momentum, atol=1e-12)
    if friction:
        assert (np.diff(energy) <= 1e-12 * energy[0]).all()
    else:
        np.testing.assert_allclose(energy, energy[0], rtol=1e-12)


@pytest.mark.parametrize("shear_rate", [0.0, 0.5])
def test_where_the_sides_are_does_not_matter(shear_rate):
    """The same gas moved by half a box along x has the same motion, moved. Rounding grows as the gas is chaotic:
    measured 1e-13 after 100 steps and some 30 impacts.

    Along y too where nothing shears; under shear the frame's velocity differs from box to box.
    """
    shift = np.array([5.0, 0.0 if shear_rate else 6.0])
    one, other = states_of(gas(shear_rate=shear_rate), 100), states_of(gas(shear_rate=shear_rate, shift=shift), 100)
    apart = other[-1].position - one[-1].position - shift
    apart -= np.round(apart / [10.0, 12.0]) * [10.0, 12.0]
    assert np.abs(apart).max() < 1e-10
    assert np.abs(other[-1].velocity - one[-1].velocity).max() < 1e-10
    assert np.abs(one[-1].velocity - one[0].velocity).max() > 0.5  # they did collide


def test_all_places_stay_inside_the_sides():
    for state in states_of(gas(shear_rate=0.8), 200)[1:]:
        assert (state.position >= 0.0).all() and (state.position < [10.0, 12.0]).all()


@given(st.floats(-50.0, 50.0), st.floats(-50.0, 50.0))
def test_wrapping_lands_inside_however_far(x, y):
    periodic = Periodic((-1.0, 2.0), (0.5, 4.5))
    place, velocity = wrapped(periodic, np.array([[x, y]]), np.array([[1.0, 2.0]]), 3.0)
    assert -1.0 <= place[0, 0] < 2.0 and 0.5 <= place[0, 1] < 4.5
    turns = (np.array([x, y]) - place[0]) / [3.0, 4.0]
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-12)
    np.testing.assert_array_equal(velocity, [[1.0, 2.0]])


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("speed", [2.0, 1.9])
def test_crossing_a_sheared_side_changes_velocity_by_that_of_the_image(sign, speed):
    """Up through the top: out at y = L, in at y = 0, slower by rate L along x and set back by rate L t.

    At speed 2 a step ends on the very side, up to rounding: it still is one crossing.
    """
    rate, length, width, h = 0.3, 4.0, 10.0, 0.01
    scene = Scene(
        "s",
        [disc(5.0, 2.0 + 1.5 * sign, 1.0, speed * sign, radius=0.1)],
        periodic=Periodic((0.0, width), (0.0, length), rate),
        step=h,
    )
    states = states_of(scene, 100)
    last, jump = states[-1], sign * rate * length
    np.testing.assert_allclose(last.velocity[0], [1.0 - jump, speed * sign], rtol=1e-14)
    np.testing.assert_allclose(last.position[0, 1], 2.0 - 2.5 * sign + speed * sign * last.time, rtol=1e-12)
    crossed = next(s.time for s in states if s.velocity[0, 0] != 1.0)
    assert crossed == pytest.approx(0.5 / speed, abs=1.01 * h)
    x = 5.0 + crossed - jump * crossed + (1.0 - jump) * (last.time - crossed)
    np.testing.assert_allclose(np.mod(last.position[0, 0] - x + 0.5 * width, width), 0.5 * width, atol=1e-12)


def test_streaming_profile_stays():
    """v_x = rate y with some velocity along y and no contact: each body keeps what it has beyond the profile."""
    rate, n = 0.4, 30
    rng = np.random.default_rng(1)
    place = rng.uniform(0.0, 10.0, (n, 2))
    own = rng.normal(size=(n, 2))
    velocity = own + np.stack([rate * place[:, 1], np.zeros(n)], axis=1)
    scene = Scene(
        "s",
        [Bodies(Disc(1e-9), place, velocity=velocity)],
        periodic=Periodic((0.0, 10.0), (0.0, 10.0), rate),
        step=0.01,
    )
    last = states_of(scene, 2000)[-1]
    # Bodies fly straight, so what they have beyond the profile changes along their way up by rate times the way, and
    # each crossing takes rate L away again: it stays as if nothing had crossed.
    crossings = np.round((place[:, 1] + own[:, 1] * last.time - last.position[:, 1]) / 10.0)
    np.testing.assert_allclose(last.velocity[:, 0], velocity[:, 0] - rate * 10.0 * crossings, atol=1e-11)
    assert np.abs(crossings).max() > 3


def two_across(friction, sheared="y", time_steps=60):
    """Two discs that meet across the sheared side, and the same two in free space with the image as second."""
    rate, length, width = 0.05, 8.0, 9.0
    low, high = np.array([4.0, 0.6]), np.array([4.4, 7.3])
    v_low, v_high = np.array([0.2, -0.9]), np.array([-0.7, 0.8])
    sides = ((0.0, width), (0.0, length))
    if sheared == "x":
        low, high, v_low, v_high, sides = low[::-1], high[::-1], v_low[::-1], v_high[::-1], sides[::-1]
    up = np.array([0.0, length]) if sheared == "y" else np.array([length, 0.0])
    jump = rate * up[::-1]
    materials = rough(friction, 1.0)
    bodies = [disc(*low, *v_low, radius=0.5), disc(*high, *v_high, radius=0.5, mass=2.0)]
    image = [disc(*(low + up), *(v_low + jump), radius=0.5), bodies[1]]
    across = Scene("across", bodies, periodic=Periodic(*sides, rate, sheared), materials=materials, step=0.01)
    plain = Scene("plain", image, materials=materials, step=0.01)
    return states_of(across, time_steps, "synchronous"), states_of(plain, time_steps, "synchronous"), jump


@pytest.mark.parametrize("sheared", ["y", "x"])
@pytest.mark.parametrize("friction", [0.0, 0.6])
def test_contact_across_a_sheared_side_is_contact_with_the_moving_image(friction, sheared):
    across, plain, jump = two_across(friction, sheared)
    a, b = across[-1], plain[-1]
    assert np.abs(b.velocity[1, :2] - plain[0].velocity[1, :2]).max() > 0.3  # they met
    # The low one has not crossed: its image's motion less the image's own.
    for k in range(2):
        difference = b.velocity[k, :2] - a.velocity[k, :2]
        times = np.round(difference @ jump / (jump @ jump))
        np.testing.assert_allclose(difference, times * jump, atol=1e-12)
    if friction:
        np.testing.assert_allclose(a.velocity[:, 2], b.velocity[:, 2], atol=1e-12)
        assert np.abs(a.velocity[:, 2]).min() > 0.1


def test_sheared_x_is_the_transposed_sheared_y():
    """Exchange of x and y is a mirror: places and velocities exchange, spins change sign."""
    scene = gas(shear_rate=0.5, friction=0.4, box=(10.0, 12.0))
    group = scene.bodies[0]
    turned = Bodies(Disc(0.45), group.position[:, ::-1].copy(), velocity=group.velocity[:, ::-1], mass=group.mass)
    mirrored = scene.with_(bodies=[turned], periodic=Periodic((0.0, 12.0), (0.0, 10.0), 0.5, "x"))
    one, other = states_of(scene, 60, "synchronous")[-1], states_of(mirrored, 60, "synchronous")[-1]
    assert np.abs(one.velocity[:, 2]).max() > 0.1
    np.testing.assert_allclose(other.position, one.position[:, ::-1], atol=1e-9)
    np.testing.assert_allclose(other.velocity[:, :2], one.velocity[:, 1::-1], atol=1e-9)
    np.testing.assert_allclose(other.velocity[:, 2], -one.velocity[:, 2], atol=1e-9)


def test_pusher_crosses_a_side_and_pushes_as_before():
    """A body on a prescribed motion goes out at the right and comes in at the left: what it hits must not notice."""
    materials = rough(0.5, 1.0)

    def after(x, periodic):
        pusher = disc(x, 0.0, radius=0.5, motion=Moving((1.0, 0.0)))
        scene = Scene("s", [pusher, disc(1.5, 0.6, radius=0.5)], periodic=periodic, materials=materials, step=0.01)
        return states_of(scene, 350, "synchronous")[-1]

    plain, across = after(-2.0, None), after(8.0, Periodic(x=(0.0, 10.0)))
    np.testing.assert_allclose(across.velocity[1], plain.velocity[1], atol=1e-12)
    np.testing.assert_allclose(across.position[1], plain.position[1], atol=1e-12)


def test_walls_and_sides_together():
    """A periodic layer on a floor: contacts with the floor carry no image."""
    places = np.array([[0.2, 0.5], [9.3, 0.5]])
    world, state = build(
        Scene("s", [Bodies(Disc(0.5), places)], [Plane()], periodic=Periodic(x=(0.0, 10.0))), check_overlap=False
    )
    found = find_contacts(world, state, state, 1e-9)
    assert sorted(found.second) == [-1, -1, 1] or sorted(found.second) == [-1, -1, 0]
    floor = found.second < 0
    np.testing.assert_array_equal(found.offset[floor], 0.0)
    np.testing.assert_array_equal(found.drift[floor], 0.0)
    np.testing.assert_allclose(np.abs(found.offset[~floor]), [[10.0, 0.0]])


def test_boxes_meet_across_a_side():
    """Polygons have images too: the same two contacts as for neighbors in the middle."""

    def contacts(x0, x1, periodic):
        group = Bodies(Rectangle(1.0, 1.0), np.array([[x0, 0.0], [x1, 0.2]]))
        world, state = build(Scene("s", [group], periodic=periodic))
        return find_contacts(world, state, state, 0.05)

    plain, across = contacts(4.0, 5.02, None), contacts(9.4, 0.42, Periodic(x=(0.0, 10.0)))
    assert plain.count == across.count == 2
    np.testing.assert_allclose(np.sort(across.gap), np.sort(plain.gap), atol=1e-12)
    np.testing.assert_allclose(np.abs(across.normal), np.abs(plain.normal), atol=1e-12)

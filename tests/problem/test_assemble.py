"""The bridge from geometry to rows: against problems made by hand and by the single-impact constructors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.stepping.runs import box, clusters, disc, rough

from carom import ImpactProblem
from carom.build import build
from carom.contact.boundaries import boundaries_at
from carom.contact.detector import find_contacts
from carom.problem import assemble as module
from carom.problem.assemble import assemble, coefficients
from carom.problem.contacts import as_matrix
from carom.scene import FIXED, Bodies, Disc, Drum, Material, Moving, Periodic, Plane, Rotating, Scene
from carom.stepping.integrator import prescribed


def velocity_after(impact, result, velocity):
    """Velocities (n, d) of all bodies after the impulses."""
    return impact.unwhitened(impact.contacts.after(result.normal, result.tangent), velocity)


def assembled(scene, margin=1e-9, h=0.01, check=True):
    world, state = build(scene, check)
    state = prescribed(world, state, h)
    found = find_contacts(world, state, state, margin)
    return world, state, found, assemble(world, state, found, boundaries_at(world, state.time, h)[0])


def physical(impact, rows, first=0):
    """Rows times velocity in physical units: `J = G sqrt(M)`, all bodies; the normals, or tangent `first`."""
    matrix = as_matrix(rows, first).toarray()
    root = impact.world.inverse_sqrt_mass if impact.bodies is None else impact.world.inverse_sqrt_mass[impact.bodies]
    with np.errstate(divide="ignore"):
        scale = np.where(root > 0.0, 1.0 / root, 0.0)
    return (matrix * scale.ravel()).reshape(len(matrix), *root.shape)


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_discs_as_the_constructor_makes_them(friction):
    """A touching hexagon of different masses on a floor: the rows of ImpactProblem.from_discs, contact by contact."""
    rng = np.random.default_rng(2)
    angle = np.pi / 3 * np.arange(6)
    places = np.concatenate([[[0.0, 0.0]], 2.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1)])
    masses, velocity = rng.uniform(0.5, 2.0, 7), rng.normal(size=(7, 2))
    floor = -1.0 - np.sqrt(3.0)
    group = Bodies(Disc(1.0), places, velocity=velocity, mass=masses)
    scene = Scene("s", [group], [Plane((0.0, floor))], materials=rough(friction, 1.0))
    *_, impact = assembled(scene, 1e-6)
    turning = np.column_stack([velocity, np.zeros(7)]) if friction else velocity
    problem = ImpactProblem.from_discs(
        places, np.ones(7), masses, turning, friction=friction, planes=[((0.0, floor), (0.0, 1.0))]
    )
    theirs = problem.contacts
    assert impact.contacts.count == theirs.count == 14

    def sets(contacts, rows):
        matrix = as_matrix(rows).toarray()
        order = np.lexsort(np.round(matrix, 9).T)
        return matrix[order], contacts.speeds()[order]

    mine, u = sets(impact.contacts, impact.contacts.rows)
    reference, v = sets(theirs, theirs.rows)
    np.testing.assert_allclose(mine, reference, atol=1e-12)
    np.testing.assert_allclose(u, v, atol=1e-12)
    if friction:
        np.testing.assert_allclose(
            np.sort(np.abs(impact.contacts.tangent_speeds()).ravel()),
            np.sort(np.abs(theirs.tangent_speeds()).ravel()),
            atol=1e-12,
        )


def test_a_box_on_the_floor_by_hand():
    """Corner at (x, y) from the center: the speed into the floor is -vy - spin x, the slip vx - spin y, turned."""
    scene = Scene(
        "s", [box(0.0, 0.5, 2.0, 1.0, velocity=(0.7, -0.3), spin=0.9)], [Plane()], materials=rough(0.5), step=0.01
    )
    world, state, found, impact = assembled(scene)
    mass, inertia = 2.0, 2.0 * (4.0 + 1.0) / 12.0
    assert world.mass[0] == pytest.approx(mass) and world.inertia[0] == pytest.approx(inertia)
    normal, slip = physical(impact, impact.contacts.rows), physical(impact, impact.contacts.rows, 1)
    for k in range(2):
        x, y = found.point[k] - state.position[0]
        # u = n . (v_floor - v_corner), n = (0, -1) from box to floor; tangent = n turned by 90 degrees = (1, 0)
        np.testing.assert_allclose(normal[k, 0], [0.0, 1.0, x], atol=1e-14)
        np.testing.assert_allclose(slip[k, 0], [-1.0, 0.0, y], atol=1e-14)
        assert impact.contacts.speeds()[k] == pytest.approx(-0.3 + 0.9 * x)
        assert impact.contacts.tangent_speeds()[k, 0] == pytest.approx(-(0.7 - 0.9 * y))
    np.testing.assert_allclose(
        impact.contacts.delassus().toarray(),
        [[1 / mass + a * b / inertia for b in found.point[:, 0]] for a in found.point[:, 0]],
        atol=1e-14,
    )


@given(clusters(most=9, boundaries=[Plane((0.0, -1.0)), Drum(12.0, (0.0, 3.0), motion=Rotating(0.7))]))
def test_rows_measure_the_speed_of_the_surfaces(scene):
    """Speeds from rows are those of material points: `n . (v2 + spin2 x r2 - v1 - spin1 x r1)`, walls included."""
    scene = scene.with_(materials=rough(0.5))
    world, state, found, impact = assembled(scene, 1.5)
    assume(found.count)
    velocity = np.column_stack([state.velocity, np.zeros(world.count)])[:, :3]  # spin zero where nothing turns

    def surface(body, point):
        if body < 0:
            wall, center, spin = boundaries_at(world, 0.0, 0.01)[0], *((0.0, 0.0), 0.0)
            k = -1 - body
            center, spin = wall.center[k], wall.velocity[k, 2]
            return wall.velocity[k, :2] + spin * np.array([-(point - center)[1], (point - center)[0]])
        arm = point - state.position[body]
        return velocity[body, :2] + velocity[body, 2] * np.array([-arm[1], arm[0]])

    for k in range(found.count):
        n = found.normal[k]
        apart = surface(found.second[k], found.point[k]) - surface(found.first[k], found.point[k])
        assert impact.contacts.speeds()[k] == pytest.approx(apart @ n, abs=1e-12)
        assert impact.contacts.tangent_speeds()[k, 0] == pytest.approx(apart @ [-n[1], n[0]], abs=1e-12)


@given(clusters(most=9), st.integers(0, 2**32 - 1))
def test_impulses_keep_momentum_and_angular_momentum(scene, seed):
    """Any impulses along the rows: free clusters keep both, whatever the impulses are."""
    scene = scene.with_(materials=rough(0.5))
    world, state, found, impact = assembled(scene, 2.0)
    assume(found.count)
    rng = np.random.default_rng(seed)
    result = type("Given", (), {"normal": rng.random(found.count), "tangent": rng.normal(size=(found.count, 1))})
    after = velocity_after(impact, result, state.velocity)
    if after.shape[1] == 2:
        after, before = (np.column_stack([v, np.zeros(len(v))]) for v in (after, state.velocity))
    else:
        before = state.velocity
    change = after - before
    momentum = world.mass[:, None] * change[:, :2]
    np.testing.assert_allclose(momentum.sum(axis=0), 0.0, atol=1e-12)
    x, y = state.position.T
    turning = (x * momentum[:, 1] - y * momentum[:, 0] + world.inertia * change[:, 2]).sum()
    if world.block == 3:
        assert turning == pytest.approx(0.0, abs=1e-11)
        assert np.abs(change).max() > 0.0


def test_fixed_and_driven_bodies_have_no_entries():
    """They act as boundaries: their speed is in the boundary's part, and an impulse does not change them."""
    bodies = [
        disc(0.0, 0.0, motion=FIXED),
        disc(2.0, 0.0, 0.5, 0.2),
        disc(4.0, 0.0, motion=Moving((-3.0, 1.0), spin=2.0)),
    ]
    _, state, found, impact = assembled(Scene("s", bodies, materials=rough(0.3)))
    assert found.count == 2
    assert set(impact.contacts.rows.body.ravel()) - {-1} == {1}
    left = found.first == 0
    np.testing.assert_allclose(impact.contacts.speeds()[left], [0.5])
    np.testing.assert_allclose(impact.contacts.speeds()[~left], [-3.0 - 0.5])
    # Tangent of the right one is (0, 1): the driven rim there moves at 1 + 2 * (-1).
    np.testing.assert_allclose(impact.contacts.tangent_speeds()[~left, 0], [1.0 - 2.0 - 0.2], atol=1e-12)
    result = type("Given", (), {"normal": np.array([1.0, 2.0]), "tangent": np.array([[0.3], [0.1]])})
    after = velocity_after(impact, result, state.velocity)
    np.testing.assert_array_equal(after[[0, 2]], state.velocity[[0, 2]])
    assert np.abs(after[1] - state.velocity[1]).max() > 0.1


def test_images_add_their_own_velocity():
    """Across a Lees-Edwards side the partner moves faster by rate times length."""
    group = Bodies(Disc(0.5), np.array([[5.0, 0.3], [5.6, 9.5]]), velocity=np.array([[0.1, 0.2], [0.3, -0.4]]))
    rate = 0.25
    scene = Scene("s", [group], periodic=Periodic((0.0, 10.0), (0.0, 10.0), rate), materials=rough(0.5))
    *_, found, impact = assembled(scene)
    assert found.count == 1
    sign = 1.0 if found.first[0] == 1 else -1.0  # seen from the upper disc, the lower one is above it
    n = found.normal[0]
    np.testing.assert_allclose(sign * n, np.array([-0.6, 0.8]), atol=1e-12)
    apart = sign * (np.array([0.1 + rate * 10.0, 0.2]) - np.array([0.3, -0.4]))
    assert impact.contacts.speeds()[0] == pytest.approx(apart @ n, abs=1e-12)
    assert impact.contacts.tangent_speeds()[0, 0] == pytest.approx(apart @ [-n[1], n[0]], abs=1e-12)


def test_only_touched_bodies_take_part_and_nothing_else_changes(monkeypatch):
    """A few contacts among many bodies: the same speeds and the same velocities as with all bodies in the rows."""
    rng = np.random.default_rng(5)
    places = 3.0 * np.stack(np.divmod(np.arange(100), 10), axis=1).astype(float)
    places[7] = places[8] - [1.9999, 0.0]
    places[55] = places[45] + [1.9999, 0.0]
    group = Bodies(Disc(1.0), places, velocity=rng.normal(size=(100, 2)), spin=rng.normal(size=100))
    scene = Scene("s", [group], materials=rough(0.4, 1.0))
    world, state, found, sparse = assembled(scene, check=False)
    assert list(sparse.bodies) == [7, 8, 45, 55]
    monkeypatch.setattr(module, "TOUCHED_BODIES_FACTOR", 0)
    full = assemble(world, state, found, world.boundaries)
    sparse = (monkeypatch.undo(), assemble(world, state, found, world.boundaries))[1]
    assert full.bodies is not None or len(full.contacts.velocity) == 100
    np.testing.assert_array_equal(sparse.contacts.speeds(), full.contacts.speeds())
    np.testing.assert_array_equal(sparse.contacts.tangent_speeds(), full.contacts.tangent_speeds())
    result = type("Given", (), {"normal": np.array([1.0, 2.0]), "tangent": np.array([[0.3], [0.1]])})
    np.testing.assert_array_equal(
        velocity_after(sparse, result, state.velocity), velocity_after(full, result, state.velocity)
    )


@given(clusters(most=9))
def test_whitening_there_and_back(scene):
    """`x = sqrt(M) v`: kinetic energy is |x|^2 / 2, and the way back is exact up to rounding."""
    world, state, found, impact = assembled(scene, 3.0)
    assume(found.count and impact.bodies is None)
    x = impact.whitened(state.velocity)
    energy = 0.5 * (world.mass * (state.velocity[:, :2] ** 2).sum(axis=1)).sum()
    if world.block == 3:
        energy += 0.5 * (world.inertia * state.velocity[:, 2] ** 2).sum()
    assert 0.5 * (x**2).sum() == pytest.approx(energy, rel=1e-13)
    np.testing.assert_allclose(impact.unwhitened(x, state.velocity), state.velocity, rtol=1e-15, atol=1e-300)


def test_coefficients_of_material_pairs():
    """Pairs from the table; else the smaller restitution and the geometric mean of friction; walls have materials."""
    materials = {"steel": Material(0.9, 0.2), "rubber": Material(0.5, 0.8), "ice": Material(0.7, 0.0)}
    bodies = [
        disc(0.0, 1.0, material="steel"),
        disc(2.0, 1.0, material="rubber"),
        disc(4.0, 1.0, material="steel"),
        disc(6.0, 1.0, material="ice"),
    ]
    scene = Scene(
        "s",
        bodies,
        [Plane(material="rubber")],
        materials=materials,
        pairs={("rubber", "steel"): {"restitution": 0.65}, ("ice", "ice"): {"friction": 0.01}},
    )
    world, state = build(scene)
    found = find_contacts(world, state, state, 1e-9)
    restitution, friction = coefficients(world, found)
    got = {(a, b): (e, mu) for a, b, e, mu in zip(found.first, found.second, restitution, friction[:, 0])}
    assert got[0, 1] == got[1, 2] == got[0, -1] == got[2, -1] == (0.65, pytest.approx(0.4))
    assert got[1, -1] == (0.5, pytest.approx(0.8))
    assert got[2, 3] == (0.7, 0.0)
    assert got[3, -1] == (0.5, 0.0)
    assert world.friction[2, 2] == 0.01 and world.restitution[2, 2] == 0.7


def test_bodies_that_do_not_turn_have_no_arm():
    """rotates=False: a blow off center changes no spin, and the inertia does not count."""
    free, stiff = box(0.0, 0.5), box(5.0, 0.5, rotates=False)
    world, state, found, impact = assembled(Scene("s", [free, stiff], [Plane()], materials=rough(0.3)))
    arms = {int(a): row for a, row in zip(found.first, physical(impact, impact.contacts.rows))}
    assert abs(arms[0][0, 2]) == pytest.approx(0.5)
    assert arms[1][1, 2] == 0.0
    one = replace(found.take(found.first == 1))
    diag = assemble(world, state, one, world.boundaries).contacts.rows.diag
    np.testing.assert_allclose(diag, 1.0)  # 1 / mass

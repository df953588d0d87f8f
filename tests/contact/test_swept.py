"""Fast bodies do not tunnel: who passes through whom is found, with contacts that prevent it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from carom.build import build
from carom.contact.advancement import NO_TOUCH_TIME, touch_times
from carom.contact.contact_set import WIDTH, Contact, ContactSet, put
from carom.contact.detector import Detector
from carom.contact.motion import FAR_MOTION, moves_far, relative_displacements
from carom.contact.pairs import Pairs
from carom.contact.swept import contacts_at_touch, swept_pairs, with_swept
from carom.geometry.vectors import Vec3
from carom.scene import Bodies, Periodic, Scene
from carom.scene.shapes import Box, Capsule, Compound, Cone, Cylinder, Hull, Part, Sphere
from carom.stepping.integrator import free_motion

SEEDS = st.integers(0, 2**32 - 1)
H = 0.01
PLATE = Box((2.0, 2.0, 0.01))


def world_of(groups, periodic=None, gravity=(0.0, 0.0, 0.0)):
    """World, state, and the state after free flight, for groups (shape, places, velocities, spins)."""
    bodies = []
    for shape, place, velocity, *spin in groups:
        place = np.atleast_2d(np.array(place, dtype=float))
        velocity = np.broadcast_to(np.array(velocity, dtype=float), place.shape)
        turning = np.broadcast_to(np.array(spin[0] if spin else 0.0, dtype=float), place.shape)
        bodies.append(Bodies(shape, place, velocity=velocity, spin=turning))
    world, state = build(Scene("s", bodies, gravity=gravity, periodic=periodic, step=H), check_overlap=False)
    return world, state, free_motion(world, state, H)


def candidates(world, before, after):
    """The pairs whose bounding spheres meet within the step, and the displacements of the bodies."""
    pairs = Pairs(world)
    moved = relative_displacements(pairs, before, after)
    pairs.make(before, after, np.zeros(world.count), moved.center)
    return pairs, moved


def crossings_of(world, before, after, found=None):
    pairs, moved = candidates(world, before, after)
    crossings = swept_pairs(pairs, moved, before, after, ContactSet.empty(3) if found is None else found)
    assert crossings is None or moves_far(pairs, moved)
    return crossings


def contact_of(first, second, predicted=-1.0):
    """A contact of two bodies, or of a body and a boundary."""
    table = np.empty((1, WIDTH))
    put(table, 0, first, second, Contact(3, 1.0, predicted, Vec3(1.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)))
    return ContactSet(table, 3)


def contacts_of(world, before, after):
    crossings = crossings_of(world, before, after)
    return None if crossings is None else contacts_at_touch(world, before, crossings)


def listed(crossings):
    if crossings is None:
        return []
    return sorted(zip(*crossings.motions.owner.reshape(2, -1).tolist()))


# ---- who passes through whom


@pytest.mark.covering
@pytest.mark.parametrize("speed", [20.0, 100.0, 1e4, 1e7])
@pytest.mark.parametrize("radius", [0.02, 0.2])
def test_sphere_and_thin_plate_at_any_speed(radius, speed):
    """Straight down through a plate that is thinner than the sphere: one contact, up, where the sphere would touch."""
    world, before, after = world_of([(PLATE, (0, 0, 0), 0.0), (Sphere(radius), (0.3, -0.2, 0.205), (0, 0, -speed))])
    found = contacts_of(world, before, after)
    if speed * H < 0.2 - radius:
        assert found is None
        return
    assert found.count == 1 and (found.first[0], found.second[0]) == (0, 1)
    np.testing.assert_allclose(found.normal[0], [0.0, 0.0, 1.0], atol=1e-9)
    # Midway between the surfaces at the start, below the center of the sphere: no torque on it.
    np.testing.assert_allclose(found.point[0], [0.3, -0.2, 0.005 + 0.5 * (0.2 - radius)], atol=1e-4)
    np.testing.assert_allclose(found.gap[0], 0.2 - radius, atol=1e-4)
    np.testing.assert_allclose(found.predicted[0], 0.2 - radius - speed * H, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(found.offset[0], 0.0)


def test_a_box_that_falls_flat_has_four_corners():
    world, before, after = world_of([(PLATE, (0, 0, 0), 0.0), (Box((0.2,) * 3), (0.1, 0.1, 0.3), (0, 0, -200.0))])
    found = contacts_of(world, before, after)
    assert found.count == 4
    np.testing.assert_allclose(found.normal, np.tile([0.0, 0.0, 1.0], (4, 1)), atol=1e-9)
    assert sorted(map(tuple, np.round(found.point[:, :2], 6))) == [(0.0, 0.0), (0.0, 0.2), (0.2, 0.0), (0.2, 0.2)]
    np.testing.assert_allclose(found.predicted, found.predicted[0], rtol=1e-9)
    assert found.predicted[0] < -1.0


def test_two_bullets_that_cross():
    """Small spheres, head on with an offset of half a radius: the line of their centers at the start, on which impulses
    at the start conserve angular momentum without spinning them; a gap that closes when they touch."""
    groups = [(Sphere(0.01), (-1.0, 0.0, 0.0), (500.0, 0, 0)), (Sphere(0.01), (1.0, 0.005, 0.0), (-500.0, 0, 0))]
    found = contacts_of(*world_of(groups))
    assert found.count == 1
    np.testing.assert_allclose(found.normal[0], np.array([2.0, 0.005, 0.0]) / np.hypot(2.0, 0.005), atol=1e-12)
    touch = (2.0 - np.sqrt(0.02**2 - 0.005**2)) / (1000.0 * H)
    np.testing.assert_allclose(found.gap[0] / (found.gap[0] - found.predicted[0]), touch, rtol=1e-9)


def test_a_spinning_rod_hits_what_it_sweeps():
    """A rod that turns by a radian a step between two spheres: the one in its way, not the one beyond its end."""
    rod = (Capsule(0.01, 1.0), (0, 0, 0), 0.0, (0.0, 100.0, 0.0))
    world, before, after = world_of([rod, (Sphere(0.02), [(0.35, 0.0, 0.25), (0.6, 0.0, 0.45)], 0.0)])
    assert listed(crossings_of(world, before, after)) == [(0, 1)]
    found = contacts_of(world, before, after)
    # Turning about y takes z to x: the rod comes from above. The normal is square to its axis, whose distance from the
    # sphere is both radii; tolerance is a thousandth of the rod's radius.
    far = np.hypot(0.35, 0.25)
    assert found.normal[0] @ np.array([0.35, 0.0, 0.25]) / far == pytest.approx(0.03 / far, abs=1e-4)
    assert found.normal[0] @ [0.0, 0.0, 1.0] < 0.0
    assert found.predicted[0] < 0.0


def test_only_the_first_of_several_plates():
    """A bullet through five plates is met by the first; the others would be met after it has bounced."""
    plates = (PLATE, [(0, 0, z) for z in (0.0, -0.1, -0.2, -0.3, -0.4)], 0.0)
    bullet = (Sphere(0.02), (0.1, 0.1, 1.0), (0, 0, -500.0))
    assert listed(crossings_of(*world_of([plates, bullet]))) == [(0, 5)]


def test_touches_at_one_instant_all_count():
    """A bullet that meets two spheres at once, one on each side: symmetry needs both."""
    pair = (Sphere(0.1), [(0.11, 0, 0), (-0.11, 0, 0)], 0.0)
    bullet = (Sphere(0.05), (0.0, 0.0, 2.0), (0, 0, -1000.0))
    world, before, after = world_of([pair, bullet])
    assert listed(crossings_of(world, before, after)) == [(0, 2), (1, 2)]
    found = contacts_of(world, before, after)
    np.testing.assert_allclose(found.normal[0], found.normal[1] * [-1.0, 1.0, 1.0], atol=1e-12)


def test_pairs_whose_contacts_close_are_left_out():
    """Contacts with a gap at the end of the step, within the margin of the search, do not tell what was in between."""
    groups = [(Sphere(0.01), (-1.0, 0, 0), (500.0, 0, 0)), (Sphere(0.01), (1.0, 0, 0), (-500.0, 0, 0))]
    world, before, after = world_of(groups)
    assert crossings_of(world, before, after, contact_of(0, 1)) is None
    assert crossings_of(world, before, after, contact_of(0, 1, predicted=1.0)) is not None
    assert crossings_of(world, before, after, contact_of(0, -1).joined(contact_of(1, -1))) is not None


def test_slow_worlds_are_left_alone():
    """Relative motion up to half of the smaller inner radius is not looked at: overlap is then at most a quarter."""
    for way, expected in ((0.49 * FAR_MOTION, 0), (3.0, 1)):
        v = way * 0.1 / H
        world, before, after = world_of([(Sphere(0.1), [(-0.11, 0, 0), (0.11, 0, 0)], [(v, 0, 0), (-v, 0, 0)])])
        assert len(listed(crossings_of(world, before, after))) == expected


def test_bodies_that_fly_together_do_not_meet():
    rng = np.random.default_rng(0)
    place = np.stack(np.unravel_index(np.arange(60), (4, 4, 4)), axis=1) * 0.21 + rng.uniform(-0.004, 0.004, (60, 3))
    assert crossings_of(*world_of([(Sphere(0.1), place, (100.0, 30.0, -70.0))])) is None


@pytest.mark.parametrize("n", [32, 192])
def test_against_all_pairs(n):
    """A gas of fast spheres: the touches before which nothing happens, by the closed form for every pair."""
    rng = np.random.default_rng(n)
    place, velocity = rng.uniform(0.0, 0.5 * n ** (1 / 3), (n, 3)), rng.normal(size=(n, 3)) * 60.0
    world, before, after = world_of([(Sphere(rng.uniform(0.02, 0.1, n)), place, velocity)])
    i, j = np.triu_indices(n, 1)
    d, v, reach = (
        place[j] - place[i],
        H * (velocity[j] - velocity[i]),
        world.shapes_3d.radius[i] + world.shapes_3d.radius[j],
    )
    inward, fast = (d * v).sum(axis=1), (v * v).sum(axis=1)
    c = (d * d).sum(axis=1) - reach**2
    square = inward**2 - fast * c
    time = np.where((square >= 0) & (inward < 0), c / (np.sqrt(np.maximum(square, 0)) - inward), 9.0)
    time[(c <= 0) & (inward < 0)] = 0.0
    expected, taken = [], set()
    for k in np.argsort(time):
        if time[k] <= 1.0 and not {i[k], j[k]} & taken:
            expected.append((i[k], j[k]))
            taken |= {i[k], j[k]}
    assert listed(crossings_of(world, before, after)) == sorted(expected)
    assert len(expected) > n // 20


def test_across_periodic_sides():
    """Bullets that leave at both ends of a periodic box meet beyond them."""
    groups = [(Sphere(0.01), (0, 0, 1.0), (0, 0, 300.0)), (Sphere(0.01), (0.005, 0, -1.0), (0, 0, -300.0))]
    world, before, after = world_of(groups, Periodic(z=(-2.0, 2.0)))
    found = contacts_of(world, before, after)
    assert found.count == 1 and crossings_of(*world_of(groups)) is None
    a, b = found.first[0], found.second[0]
    apart = before.position[b] + found.offset[0] - before.position[a]
    np.testing.assert_allclose(np.linalg.norm(apart), np.hypot(2.0, 0.005), atol=1e-12)  # the images at the start
    np.testing.assert_allclose(found.normal[0], apart / np.hypot(2.0, 0.005), atol=1e-12)


def test_across_sides_that_slide():
    """A sphere at rest below a Lees-Edwards side is hit by the image of one above, which moves at 200 along x."""
    sides = Periodic(x=(-2.0, 2.0), z=(0.0, 1.0), shear_rate=200.0, sheared="z")
    groups = [(Sphere(0.02), (0.0, 0.0, 0.02), 0.0), (Sphere(0.02), (1.0, 0.0, 0.99), 0.0)]
    found = contacts_of(*world_of(groups, sides))
    assert found.count == 1
    np.testing.assert_allclose(np.abs(found.drift[0]), [200.0, 0.0, 0.0], atol=1e-9)


# ---- the contacts prevent the crossing


@given(SEEDS, st.sampled_from([0.0, 0.5, 1.0]))
def test_an_impact_along_the_normal_keeps_balls_apart(seed, restitution):
    """Any offset, any way: with the normal speed stopped or reversed the balls stay apart to the end of the step."""
    rng = np.random.default_rng(seed)
    aim = rng.normal(size=3)
    start = aim / np.linalg.norm(aim)
    velocity = (-start * rng.uniform(1.0, 5.0) + 0.05 * rng.normal(size=3)) / H
    groups = [(Sphere(0.05), np.zeros(3), 0.0), (Sphere(0.03), start, velocity)]
    found = contacts_of(*world_of(groups))
    assume(found is not None)
    n = found.normal[0]
    u = velocity @ n
    assert u < 0.0
    touch = found.gap[0] / (found.gap[0] - found.predicted[0])
    np.testing.assert_allclose(found.gap[0], start @ n - 0.08)
    np.testing.assert_allclose(np.linalg.norm(start + touch * H * velocity), 0.08, rtol=1e-9)
    bounced = velocity - (1.0 + restitution) * u * n
    t = np.linspace(0.0, H, 500)[:, None]
    assert np.linalg.norm(start + t * bounced, axis=1).min() > 0.08


SHAPES = [Box((0.3, 0.3, 0.02)), Capsule(0.03, 0.4), Cylinder(0.1, 0.3), Box((0.2, 0.1, 0.3))]
SHAPES.append(Cone(0.15, 0.3))
SHAPES.append(Hull(np.array([(0.2, 0, 0), (-0.1, 0.2, 0), (-0.1, -0.2, 0), (0, 0, 0.3)])))


@given(SEEDS, st.integers(0, len(SHAPES) - 1), st.integers(0, len(SHAPES) - 1))
def test_an_impact_along_the_normals_keeps_solids_apart(seed, one, other):
    """Solids that do not turn, at random angles: the relative velocity with its normal part reversed leads past."""
    rng = np.random.default_rng(seed)
    aim = rng.normal(size=3)
    start = 0.8 * aim / np.linalg.norm(aim)
    velocity = (-start * rng.uniform(1.0, 5.0) + 0.2 * rng.normal(size=3)) / H
    groups = [(SHAPES[one], np.zeros(3), 0.0), (SHAPES[other], start, velocity)]
    bodies = [
        Bodies(s, np.array([p]), velocity=np.array([v * np.ones(3)]), orientation=rng.normal(size=4))
        for s, p, v in groups
    ]
    world, before = build(Scene("s", bodies, gravity=(0.0, 0.0, 0.0), step=H), check_overlap=False)
    after = free_motion(world, before, H)
    crossings = crossings_of(world, before, after)
    assume(crossings is not None)
    found = contacts_at_touch(world, before, crossings)
    assert found.count >= 1
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-12)
    for n in found.normal:
        assert velocity @ n < 0.0
        bounced = velocity - 2.0 * (velocity @ n) * n
        motions = crossings.motions._replace(displacement=np.array([np.zeros(3), H * bounced]))
        time = touch_times(world.shapes_3d, motions, crossings.tolerance)
        assert time[0] == NO_TOUCH_TIME


def test_sets_are_joined():
    groups = [(Sphere(0.01), (-1.0, 0, 0), (500.0, 0, 0)), (Sphere(0.01), (1.0, 0, 0), (-500.0, 0, 0))]
    world, before, after = world_of(groups)
    one = contact_of(0, -1)
    both, number = with_swept(*candidates(world, before, after), before, after, one)
    assert number == 1
    assert both.count == 2 and both.second.tolist() == [-1, 1]
    np.testing.assert_array_equal(both.offset[0], 0.0)
    assert both.predicted[1] < 0.0
    world, before, after = world_of([(Sphere(0.01), (0.0, 0, 0), 0.0)])
    assert with_swept(*candidates(world, before, after), before, after, one)[0] is one


def test_a_swept_sphere_meets_a_compound_of_spheres_along_a_unit_normal():
    """The frame of the single sphere gives the normal where both parts are spheres: it must be a rotation, not zero."""
    pair = Compound([Part(Sphere(0.2), (-0.3, 0.0, 0.0)), Part(Sphere(0.2), (0.3, 0.0, 0.0))])
    ball = Bodies(Sphere(0.1), np.array([[0.3, 0.0, 2.0]]), velocity=(0.0, 0.0, -400.0))
    world, state = build(Scene("s", [ball, Bodies(pair, np.zeros((1, 3)))], gravity=(0.0,) * 3))
    found = Detector(world).find(state, free_motion(world, state, 0.01), 0.0)
    assert found.count == 1
    np.testing.assert_allclose(np.abs(found.normal[0]), [0.0, 0.0, 1.0], atol=1e-9)

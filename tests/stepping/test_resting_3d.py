"""The resting solve in 3D: bodies stop, friction is kept as a vector of the world, memory survives a checkpoint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.stepping.runs import rest, rough

from carom.build import build
from carom.contact.contact_set import NORMAL, ContactSet
from carom.contact.detector import find_contacts
from carom.problem.assemble import assemble
from carom.scene import Bodies, Box, Plane, Scene, Sphere

FALL = 0.1  # speed that everything falls at


def prepared(scene, pull=(0.0, 0.0, -1.0), bend=0.0):
    """World, contacts and their rows, everything falling along `pull`; normals are bent by so much along z."""
    world, state = build(scene)
    found = find_contacts(world, state, state, 1e-6)
    normal = found.normal + np.array([0.0, 0.0, bend])
    table = found.table.copy()
    table[:, NORMAL : NORMAL + 3] = normal / np.linalg.norm(normal, axis=1)[:, None]
    found = ContactSet(table, 3)
    velocity = np.zeros_like(state.velocity)
    velocity[:, :3] = FALL * np.array(pull)
    return world, found, assemble(world, state, found, world.boundaries).moving(velocity)


def tower(mu, count=4):
    places = np.array([(0.0, 0.0, 0.5 + i) for i in range(count)])
    return Scene("tower", [Bodies(Box((1.0, 1.0, 1.0)), places)], [Plane()], materials=rough(mu))


def on_a_wall(mu):
    """A cube against the wall x = 0."""
    wall = Plane(normal=(1.0, 0.0, 0.0))
    return Scene("wall", [Bodies(Box((1.0, 1.0, 1.0)), np.array([[0.5, 0.0, 0.0]]))], [wall], materials=rough(mu))


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_a_tower_that_falls_stops(mu):
    """Every body stops, and the floor takes all the momentum."""
    world, found, impact = prepared(tower(mu))
    contacts = impact.contacts
    assert found.count == 16
    result, _ = rest(impact, found, np.zeros(found.count))
    np.testing.assert_allclose(contacts.after(result.normal, result.tangent), 0.0, atol=1e-6 * FALL)
    floor = found.second < 0
    assert result.normal[floor].sum() == pytest.approx(world.mass.sum() * FALL, rel=1e-6)
    assert result.residual < 1e-7


def test_slack_lets_fall():
    _, found, impact = prepared(tower(0.5, 1))
    contacts = impact.contacts
    assert rest(impact, found, np.full(found.count, 2 * FALL))[0] is None
    half, _ = rest(impact, found, np.full(found.count, 0.5 * FALL))
    after = contacts.after(half.normal, half.tangent)
    np.testing.assert_allclose(contacts.speeds(after), -0.5 * FALL, atol=1e-9)


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_the_same_contacts_cost_nothing_again(mu):
    _, found, impact = prepared(tower(mu))
    none = np.zeros(found.count)
    first, warm_start = rest(impact, found, none)
    result, again = rest(impact, found, none, warm_start)
    np.testing.assert_allclose(result.normal, first.normal, rtol=1e-6)
    if mu > 0.0:
        assert result.iterations == 0
        assert again.impulse.shape == (found.count, 4)


def test_friction_is_kept_as_a_vector_of_the_world():
    """Pulled into a wall and down along it. A normal a hair above or below the horizon turns the tangents about,

    and the remembered friction must not turn with them: the second solve has nothing left to do.
    """
    pull = (-1.0, 0.2, -0.3)
    _, found, impact = prepared(on_a_wall(0.5), pull, bend=1e-15)
    contacts = impact.contacts
    _, turned, others = prepared(on_a_wall(0.5), pull, bend=-1e-15)
    change = contacts.rows.val[:, :, 1:] - others.contacts.rows.val[:, :, 1:]
    assert np.abs(change).max() > 0.1  # or the test shows nothing
    none = np.zeros(found.count)
    first, warm_start = rest(impact, found, none)
    assert first.iterations > 0
    assert np.abs(first.tangent).max() > 0.0
    second, _ = rest(others, turned, none, warm_start)
    assert second.iterations == 0
    np.testing.assert_allclose(
        contacts.after(first.normal, first.tangent),
        others.contacts.after(second.normal, second.tangent),
        atol=1e-9 * FALL,
    )


def test_a_start_that_does_work_is_given_up():
    """Impulses a thousand times too large are not believed."""
    scene = Scene("spheres", [Bodies(Sphere(0.5), np.array([[0.0, 0.0, 0.5], [1.0, 0.0, 0.5]]))], [Plane()])
    _, found, impact = prepared(replace(scene, materials=rough(0.5)))
    contacts = impact.contacts
    none = np.zeros(found.count)
    fair, warm_start = rest(impact, found, none)
    result, _ = rest(impact, found, none, warm_start._replace(impulse=1e3 * warm_start.impulse + 1.0))
    np.testing.assert_allclose(contacts.after(result.normal, result.tangent), 0.0, atol=1e-7 * FALL)
    np.testing.assert_allclose(result.normal, fair.normal, atol=1e-7 * FALL)

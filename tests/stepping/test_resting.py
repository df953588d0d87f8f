"""The resting solve: no approach beyond the slack, no restitution, friction within its cone, names that warm-start."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stepping.runs import box, disc, rest, rough

from carom import Simulation, stepping
from carom.build import build
from carom.contact.detector import find_contacts
from carom.problem.assemble import assemble
from carom.resolve.response import Response
from carom.scene import Bodies, Container, Disc, Material, Periodic, Plane, Rectangle, Scene
from carom.stepping.resting import put_keys

FALL = 0.1  # speed that everything falls at


def prepared(scene, velocity=None, margin=1e-6):
    world, state = build(scene)
    found = find_contacts(world, state, state, margin)
    if velocity is None:
        velocity = np.zeros_like(state.velocity)
        velocity[:, 1] = -FALL
    return world, found, assemble(world, state, found, world.boundaries).moving(velocity)


def pile(mu, columns=4, rows=3, jitter=0.0, seed=0):
    rng = np.random.default_rng(seed)
    places = np.array([(1.0 * i, 0.5 + 1.0 * j) for j in range(rows) for i in range(columns)])
    places[:, 0] += jitter * rng.uniform(-1.0, 1.0, len(places))
    return Scene("s", [Bodies(Rectangle(0.9, 1.0), places)], [Plane()], materials=rough(mu))


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_a_pile_that_falls_stops(mu):
    """Straight columns: every body stops, and the floor takes all the momentum."""
    world, found, impact = prepared(pile(mu))
    contacts = impact.contacts
    result, _ = rest(impact, found, np.zeros(found.count))
    after = contacts.after(result.normal, result.tangent)
    np.testing.assert_allclose(after, 0.0, atol=1e-6 * FALL)
    floor = found.second < 0
    assert result.normal[floor].sum() == pytest.approx(world.mass.sum() * FALL, rel=1e-6)
    assert result.residual < 1e-7


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 0.8]))
def test_signs_cones_and_slack(seed, mu):
    """u + slack >= 0 with lam >= 0, one of the two zero; |beta| <= mu lam; the kinetic energy does not rise."""
    rng = np.random.default_rng(seed)
    scene = pile(mu, jitter=0.04, seed=seed)
    _, state = build(scene)
    velocity = rng.normal(size=state.velocity.shape) * 0.1
    velocity[:, 1] -= FALL
    _, found, impact = prepared(scene, velocity, margin=0.05)
    contacts = impact.contacts
    slack = np.where(rng.random(found.count) < 0.5, rng.random(found.count) * FALL, 0.0)
    result, _ = rest(impact, found, slack)
    x = contacts.after(result.normal, result.tangent)
    u = contacts.speeds(x) + slack
    top = np.abs(contacts.speeds()).max() + slack.max()
    tolerance = (2.0 * result.residual + 1e-7) * top
    assert (result.normal >= 0.0).all()
    assert u.min() >= -tolerance
    assert np.minimum(u, contacts.rows.diag * result.normal).max() <= tolerance
    if mu:
        assert (np.abs(result.tangent[:, 0]) <= mu * result.normal * (1 + 1e-9)).all()
    else:
        assert result.tangent is None
    before = (contacts.velocity**2).sum()
    assert (x**2).sum() <= before * (1.0 + 1e-6)


def test_nothing_approaches_nothing_happens():
    _, found, impact = prepared(pile(0.5), np.zeros((12, 3)))
    assert rest(impact, found, np.zeros(found.count))[0] is None
    _, found, impact = prepared(pile(0.5))
    assert rest(impact, found, np.full(found.count, 2.0 * FALL))[0] is None  # far enough apart


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_second_time_costs_nothing(mu):
    """The impulses of the last step solve the same problem at once; the contacts may come in any order."""
    world, found, impact = prepared(pile(mu))
    first, warm_start = rest(impact, found, np.zeros(found.count))
    order = np.random.default_rng(0).permutation(found.count)
    shuffled = found.take(order)
    world, state = build(pile(mu))
    velocity = np.zeros_like(state.velocity)
    velocity[:, 1] = -FALL
    moving = assemble(world, state, shuffled, world.boundaries).moving(velocity)
    again, _ = rest(moving, shuffled, np.zeros(len(order)), warm_start)
    if mu:
        assert again.iterations == 0
        np.testing.assert_array_equal(again.normal, first.normal[order])
    np.testing.assert_allclose(again.normal, first.normal[order], atol=1e-6 * FALL)


def test_names_differ_for_all_contacts():
    """Boundaries, bodies and the two contacts of a face: no two share a name."""
    world, found, _ = prepared(pile(0.5, columns=6, rows=6))
    boundaries = len(world.boundaries.kind)
    names = np.empty(found.count, np.int64)
    put_keys(found.table, world.count + boundaries, boundaries, names)
    assert len(np.unique(names)) == found.count == 72


def test_memory_round_trip():
    world, found, impact = prepared(pile(0.5))
    response = Response.for_run("gr")
    one, two = (stepping.make("drift_safe", world, response, 0.01) for _ in range(2))
    _, one.warm_start = rest(impact, found, np.zeros(found.count))
    two.remember(one.memory())
    a, _ = rest(impact, found, np.zeros(found.count), one.warm_start)
    b, _ = rest(impact, found, np.zeros(found.count), two.warm_start)
    assert a.normal.tobytes() == b.normal.tobytes() and a.tangent.tobytes() == b.tangent.tobytes()


def test_a_memory_that_misleads_adds_no_energy():
    """Impulses of another problem under the same names: the answer must be the law's, not theirs."""
    _, found, impact = prepared(pile(0.5))
    contacts = impact.contacts
    _, warm_start = rest(impact, found, np.zeros(found.count))
    misleading = warm_start._replace(impulse=1e3 * warm_start.impulse + 1.0)
    result, _ = rest(impact, found, np.zeros(found.count), misleading)
    np.testing.assert_allclose(contacts.after(result.normal, result.tangent), 0.0, atol=1e-6 * FALL)


def test_the_same_pair_twice_in_a_narrow_box():
    """Two discs that touch on both sides of a narrow periodic box: both contacts act, and it stops."""
    group = Bodies(Disc(0.5), np.array([[0.5, 0.0], [1.5, 0.0]]), velocity=np.array([[0.1, 0.0], [-0.1, 0.0]]))
    scene = Scene("s", [group], periodic=Periodic(x=(0.0, 2.0)), materials=rough(0.5))
    _, state = build(scene)
    _, found, impact = prepared(scene, state.velocity)
    contacts = impact.contacts
    assert found.count == 2
    result, _ = rest(impact, found, np.zeros(2))
    x = contacts.after(result.normal, result.tangent)
    assert (contacts.speeds(x) >= -1e-8).all()


def test_many_discs_by_sweeps_come_near():
    """Above the size for exact solves: 700 columns of 6 discs stop to the sweeps' own residual."""
    places = np.array([(1.001 * i, 0.5 + j) for j in range(6) for i in range(700)])
    scene = Scene("s", [Bodies(Disc(0.5), places)], [Plane()])
    _, found, impact = prepared(scene)
    contacts = impact.contacts
    assert found.count > 3000
    result, _ = rest(impact, found, np.zeros(found.count))
    u = contacts.speeds(contacts.after(result.normal))
    assert u.min() >= -max(1e-6, 10.0 * result.residual) * FALL


def test_a_box_and_a_disc_share_the_load():
    """A plank on two discs: each carries half."""
    bodies = [
        disc(-1.0, 0.5, radius=0.5, rotates=False),
        disc(1.0, 0.5, radius=0.5, rotates=False),
        box(0.0, 1.1, 3.0, 0.2, mass=2.0),
    ]
    _, found, impact = prepared(Scene("s", bodies, [Plane()], materials=rough(0.4)))
    result, _ = rest(impact, found, np.zeros(found.count))
    plank = (found.first == 2) | (found.second == 2)
    np.testing.assert_allclose(result.normal[plank], [FALL, FALL], rtol=1e-6)


def test_sliding_on_curved_contacts_adds_no_energy():
    """A disc slides off another one in a narrow box, without friction. Motion at the mean of the old and the new
    velocity gains `lam u0 / 2` where the normal turns, 5e-7 of the largest kinetic energy in one step. What is left is
    rounding of the potential energy, 1e-16 of a weight times a height, which is a hundred times as large."""
    discs = [((0.00237398614975825, 0.500700604060848), 0.49574317233747334, 7.13258863646535),
             ((0.018363315628553815, 1.4926979369704638), 0.48643240480076005, 6.288050898008642)]  # fmt: skip
    groups = [Bodies(Disc(radius), [place], mass=mass) for place, radius, mass in discs]
    width = 0.5081367516459101
    smooth = {"default": Material(restitution=0.7, friction=0.0)}
    box = Container((-width, 0.0), (width, 13.0))
    sim = Simulation(Scene("narrow", groups, [box], gravity=(0.0, -9.81), materials=smooth), step=0.009085453990104157)
    rows = []
    for _ in range(60):
        sim.step()
        rows.append((sim.report["kinetic"], sim.report["potential"], sim.report["resting"]))
    kinetic, potential, resting = np.array(rows).T
    assert np.diff(kinetic + potential).max() <= 1e-12 * kinetic.max()
    assert (resting >= 3).sum() > 40

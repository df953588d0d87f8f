"""Boundaries against direct formulas, and what moving ones do to bodies: they push exactly as fast as they move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.stepping.runs import box, disc, rough, states_of

from carom.build import build
from carom.contact.boundaries import Boundary, boundaries_at, passes, point_gap
from carom.contact.detector import find_contacts
from carom.geometry.vectors import Vec3
from carom.scene import Container, Drum, Moving, Plane, Rotating, Scene, Scripted, Segment, Table, Vibrating
from carom.world import INSIDE, OUTSIDE, PLANE, SEGMENT

FAR = st.floats(-3.0, 3.0)


def disc_gap(kind, a, b, big, x, y, r):
    """Gap of a disc of radius r at (x, y) to a boundary with point a, axis b and radius `big`, and the normal to it."""
    wall = Boundary(float(kind), Vec3(*map(float, a), 0.0), Vec3(*map(float, b), 0.0), float(big))
    gap, normal = point_gap(wall, Vec3(float(x), float(y), 0.0))
    return gap - r, normal.x, normal.y


def crosses(a0, b0, a1, b1, x0, y0, x1, y1):
    """Whether a point passes through a segment that moves from a0 b0 to a1 b1."""
    ends = [Boundary(float(SEGMENT), Vec3(*a, 0.0), Vec3(*b, 0.0), 0.0) for a, b in ((a0, b0), (a1, b1))]
    return passes(*ends, Vec3(x0, y0, 0.0), Vec3(x1, y1, 0.0))


SIZES = st.floats(0.05, 1.0)


@given(FAR, FAR, FAR, FAR, st.floats(0.0, 6.28), SIZES)
def test_plane_gap(px, py, x, y, angle, r):
    n = np.array([np.cos(angle), np.sin(angle)])
    gap, nx, ny = disc_gap(PLANE, np.array([px, py]), n, 0.0, x, y, r)
    assert gap == pytest.approx(np.dot([x - px, y - py], n) - r, abs=1e-14)
    assert (nx, ny) == (-n[0], -n[1])  # from the disc into the wall


@given(FAR, FAR, FAR, FAR, SIZES)
def test_circle_gaps(cx, cy, x, y, r):
    big, center = 2.0, np.array([cx, cy])
    apart = np.array([x - cx, y - cy])
    distance = np.hypot(*apart)
    gap, nx, ny = disc_gap(INSIDE, center, center, big, x, y, r)
    assert gap == pytest.approx(big - distance - r, abs=1e-14)
    # At the center no direction is defined; contacts there get one from the motion, or the x axis.
    assert np.hypot(nx, ny) == (0.0 if distance == 0.0 else pytest.approx(1.0, rel=1e-14))
    np.testing.assert_allclose(np.array([nx, ny]) * distance, apart, atol=1e-14)  # outwards
    gap, nx, ny = disc_gap(OUTSIDE, center, center, big, x, y, r)
    assert gap == pytest.approx(distance - big - r, abs=1e-14)
    np.testing.assert_allclose(np.array([nx, ny]) * distance, -apart, atol=1e-14)  # toward the center


@pytest.mark.parametrize(("velocity", "normal"), [((0.0, 0.0), (1.0, 0.0)), ((0.0, -2.0), (0.0, -1.0))])
def test_a_disc_at_the_center_of_a_drum_has_a_normal(velocity, normal):
    world, state = build(Scene("s", [disc(0.0, 0.0, *velocity, radius=1.0)], [Drum(1.0)]))
    after = replace(state, position=state.position + 0.01 * state.velocity[:, :2])
    found = find_contacts(world, state, after)
    np.testing.assert_array_equal(found.normal, [normal])


@given(FAR, FAR, FAR, FAR, FAR, FAR, SIZES)
def test_segment_gap_is_to_the_nearest_point(ax, ay, bx, by, x, y, r):
    """Against 2,001 points along it: the nearest of them is at most half a spacing off, quadratically near."""
    a, b = np.array([ax, ay]), np.array([bx, by])
    length = np.hypot(*(b - a))
    assume(length >= 1e-3)
    gap, nx, ny = disc_gap(SEGMENT, a, b, 0.0, x, y, r)
    along = a + np.linspace(0.0, 1.0, 2001)[:, None] * (b - a)
    distance = np.hypot(*(along - [x, y]).T)
    assert gap == pytest.approx(distance.min() - r, abs=length / 2000)
    assert gap <= distance.min() - r + 1e-14
    assert np.hypot(nx, ny) == pytest.approx(1.0, rel=1e-12)
    # Along the normal by the distance of the center lies a point of the segment.
    foot = np.array([x, y]) + (gap + r) * np.array([nx, ny])
    assert np.hypot(*(along - foot).T).min() <= 0.51 * length / 2000 + 1e-12


@given(st.floats(-2.0, 2.0), st.floats(-2.0, 2.0), st.floats(0.01, 2.0), st.floats(0.01, 2.0))
def test_crossing_a_segment(x0, x1, above, below):
    """Through y = 0 between x = -1 and 1: where the straight way meets the line decides."""
    a, b = np.array([-1.0, 0.0]), np.array([1.0, 0.0])
    at = x0 + (x1 - x0) * above / (above + below)
    if abs(abs(at) - 1.0) > 1e-9:
        assert crosses(a, b, a, b, x0, above, x1, -below) == (abs(at) < 1.0)
        assert crosses(a, b, a, b, x0, -below, x1, above) == (abs(x0 + (x1 - x0) * below / (above + below)) < 1.0)
    assert not crosses(a, b, a, b, x0, above, x1, below)
    # The same with the segment moving and the point still: only what moves relative to what matters.
    shift = np.array([x0 - x1, above + below])
    if abs(abs(at) - 1.0) > 1e-9:
        assert crosses(a, b, a + shift, b + shift, x0, above, x0, above) == (abs(at) < 1.0)


def test_segments_keep_fast_discs_on_their_side():
    """Five diameters a step: the center passes the wall within the step, and the disc must turn back."""
    scene = Scene(
        "s",
        [disc(0.0, 0.55, 0.0, -1.0, radius=0.1)],
        [Segment((-2.0, 0.0), (2.0, 0.0))],
        step=1.0,
        materials=rough(0.0, 1.0),
    )
    states = states_of(scene, 3, "synchronous")
    np.testing.assert_allclose([s.velocity[0, 1] for s in states[1:]], 1.0, rtol=1e-14)
    assert all(s.position[0, 1] > 0.1 for s in states)


def test_the_end_of_a_segment_is_a_point():
    """A disc that hits an end off center by s is deflected as by a point: the normal is along center to end."""
    r, s, h = 0.5, 0.3, 1e-3
    scene = Scene("s", [disc(1.0 + s, 2.0, 0.0, -1.0, radius=r)], [Segment((-1.0, 0.0), (1.0, 0.0))], step=h)
    after = states_of(scene, 2500, "synchronous")[-1].velocity[0]
    sine, cosine = s / r, np.sqrt(1.0 - (s / r) ** 2)
    # It is hit up to one step early: the normal is off by about h / r.
    np.testing.assert_allclose(after, [2.0 * sine * cosine, 2.0 * cosine**2 - 1.0], atol=4.0 * h / r)
    assert np.hypot(*after) == pytest.approx(1.0, rel=1e-14)


def test_beyond_the_end_there_is_nothing():
    scene = Scene("s", [disc(1.5001, 2.0, 0.0, -1.0, radius=0.5)], [Segment((-1.0, 0.0), (1.0, 0.0))])
    np.testing.assert_array_equal(states_of(scene, 400, "synchronous")[-1].velocity, [[0.0, -1.0]])


@pytest.mark.parametrize("inside", [True, False])
def test_drum_reflects_about_its_normal(inside):
    """Straight at the drum off center by s: the angle of incidence is asin(s / (R -+ r))."""
    big, r, s, h = 3.0, 0.25, 1.0, 1e-3
    start = (0.0, s) if inside else (-6.0, s)
    scene = Scene("s", [disc(*start, 1.0, 0.0, radius=r)], [Drum(big, inside=inside)], step=h)
    after = states_of(scene, 4500, "synchronous")[-1].velocity[0]
    sine = s / (big - r if inside else big + r)
    normal = np.array([np.sqrt(1.0 - sine**2) * (1.0 if inside else -1.0), sine])
    np.testing.assert_allclose(after, np.array([1.0, 0.0]) - 2.0 * normal[0] * normal, atol=4.0 * h)


# ---- motion


MOTIONS = [
    Vibrating(0.3, 2.0, (1.0, 2.0), 0.4),
    Moving((0.5, -0.2)),
    Moving((0.5, -0.2), 0.7),
    Rotating(1.3),
    Rotating(-0.8, (1.0, 2.0)),
    Table((0.0, 0.1, 0.4), (0.0, 1.0, -1.0), (0.0, 0.0, 2.0), (0.0, 0.3, 0.1)),
    Scripted(lambda t: (t * t, -t, np.sin(t))),
]


@pytest.mark.covering
@pytest.mark.parametrize("motion", MOTIONS, ids=lambda m: m.kind)
@pytest.mark.parametrize("time", [0.0, 0.237])
def test_velocity_is_displacement_over_the_step(motion, time):
    h = 0.01
    wall = Segment((0.5, 0.0), (2.5, 1.0), motion=motion)
    world, _ = build(Scene("s", [disc(0.0, 50.0)], [wall]))
    start, end = boundaries_at(world, time, h)
    np.testing.assert_array_equal(start.velocity, end.velocity)
    pose0, pose1 = np.array(motion.pose(time)), np.array(motion.pose(time + h))
    np.testing.assert_allclose(h * start.velocity[0], pose1 - pose0, atol=1e-16)
    np.testing.assert_allclose(end.center - start.center, h * start.velocity[:, :2], atol=1e-15)
    # Rigid: the ends keep their distance from the center of turning, and turn by spin h.
    about = np.array(motion.about if motion.about is not None else (1.5, 0.5))
    for at in (start, end):
        pose = pose0 if at is start else pose1
        turned = np.array([[np.cos(pose[2]), -np.sin(pose[2])], [np.sin(pose[2]), np.cos(pose[2])]])
        np.testing.assert_allclose(at.point[0], about + pose[:2] + turned @ (np.array([0.5, 0.0]) - about), atol=1e-14)
        np.testing.assert_allclose(at.axis[0], about + pose[:2] + turned @ (np.array([2.5, 1.0]) - about), atol=1e-14)


def test_a_box_turns_as_one():
    """All four walls of a box turn about its middle: after a quarter its floor is its right wall."""
    world, _ = build(Scene("s", [disc(0.0, 0.0)], [Container((-4.0, -2.0), (4.0, 2.0), motion=Rotating(np.pi / 2))]))
    now = boundaries_at(world, 1.0, 0.1)[0]
    gaps = [disc_gap(PLANE, a, b, 0.0, 0.0, 0.0, 0.0)[0] for a, b in zip(now.point, now.axis)]
    np.testing.assert_allclose(gaps, [2.0, 2.0, 4.0, 4.0], atol=1e-14)
    np.testing.assert_allclose(now.axis[0], [-1.0, 0.0], atol=1e-15)


def test_floor_hits_at_the_speed_of_its_step():
    """Elastic: v+ = 2 w - v, with w the floor's displacement over the step in which they meet."""
    motion, h = Vibrating(0.2, 1.5), 1e-3
    scene = Scene("s", [disc(0.0, 1.5, 0.0, -1.0, radius=0.5)], [Plane(motion=motion)], step=h)
    states = states_of(scene, 1500, "synchronous")
    k = next(i for i, s in enumerate(states) if s.velocity[0, 1] > 0.0)
    time = states[k - 1].time
    w = (motion.pose(time + h)[1] - motion.pose(time)[1]) / h
    assert abs(w) > 0.1
    assert states[k].velocity[0, 1] == pytest.approx(2.0 * w + 1.0, rel=1e-12)


def test_vibrating_floor_carries_a_ball():
    """Below 1 g of acceleration a ball that does not bounce stays on the floor, and moves as it does."""
    motion, h, g = Vibrating(0.05, 1.0), 2e-3, 9.81  # Gamma = 0.2
    scene = Scene(
        "s", [disc(0.0, 0.5, radius=0.5)], [Plane(motion=motion)], gravity=(0.0, -g), materials=rough(0.0), step=h
    )
    for s in states_of(scene, 1500)[1:]:
        assert s.position[0, 1] - 0.5 - motion.pose(s.time)[1] == pytest.approx(0.0, abs=1e-6)
        speed = (motion.pose(s.time)[1] - motion.pose(s.time - h)[1]) / h
        assert s.velocity[0, 1] == pytest.approx(speed, abs=1e-6)


def test_ball_leaves_the_floor_where_its_acceleration_passes_g():
    """a (2 pi f)^2 sin(2 pi f t) = g: from then on it flies freely with the floor's velocity of that moment."""
    a, f, h, g = 0.05, 4.0, 1e-4, 9.81
    omega = 2.0 * np.pi * f
    motion = Vibrating(a, f)
    scene = Scene(
        "s", [disc(0.0, 0.5, radius=0.5)], [Plane(motion=motion)], gravity=(0.0, -g), materials=rough(0.0), step=h
    )
    leaves = np.arcsin(g / (a * omega**2)) / omega
    speed = a * omega * np.cos(omega * leaves)
    states = states_of(scene, 900)
    height = np.array([s.position[0, 1] - 0.5 - motion.pose(s.time)[1] for s in states])
    assert height[int(leaves / h) - 2] == pytest.approx(0.0, abs=1e-6)
    late = states[-1]
    t = late.time - leaves
    assert late.velocity[0, 1] == pytest.approx(speed - g * t, abs=20.0 * h)
    assert late.position[0, 1] - 0.5 == pytest.approx(motion.pose(leaves)[1] + speed * t - 0.5 * g * t * t, abs=2.0 * h)


@pytest.mark.parametrize("rotates", [True, False])
def test_belt_drags_until_speeds_agree(rotates):
    """A floor that moves along itself at w: a block is dragged at mu g for w / (mu g), a disc for a third of that.

    The disc's rim also speeds up, by 2 mu g (inertia r^2 / 2): they agree when mu g t (1 + 2) = w.
    """
    mu, g, w, h = 0.3, 10.0, 2.0, 1e-3
    body = disc(0.0, 0.5, radius=0.5) if rotates else box(0.0, 0.5, rotates=False)
    floor = Plane(motion=Moving((w, 0.0)))
    scene = Scene("s", [body], [floor], gravity=(0.0, -g), materials=rough(mu), step=h)
    stop = w / (mu * g) / (3.0 if rotates else 1.0)
    states = states_of(scene, int(1.5 * stop / h))
    half = states[int(0.5 * stop / h)]
    assert half.velocity[0, 0] == pytest.approx(mu * g * half.time, rel=1e-3)
    last = states[-1].velocity[0]
    assert last[0] == pytest.approx(mu * g * stop, rel=1e-6)
    if rotates:  # the lowest point moves at vx + spin r
        assert last[0] + 0.5 * last[2] == pytest.approx(w, rel=1e-6)
        assert last[2] == pytest.approx((w - mu * g * stop) / 0.5, rel=1e-6)


def test_rotating_drum_drags_a_disc_until_it_rolls():
    """In a drum that turns at W a disc at the bottom ends up rolling: its rim moves as the drum's."""
    big, r, turn, h = 3.0, 0.5, 0.8, 2e-3
    scene = Scene(
        "s",
        [disc(0.0, -(big - r), radius=r)],
        [Drum(big, motion=Rotating(turn))],
        gravity=(0.0, -10.0),
        materials=rough(0.4),
        step=h,
    )
    states = states_of(scene, 1500)
    assert states[200].position[0, 0] > 1e-4  # dragged the way the bottom of the drum moves

    def slip(s):
        n = s.position[0] / np.hypot(*s.position[0])
        rim = np.array([-n[1], n[0]])
        return s.velocity[0, :2] @ rim + r * s.velocity[0, 2] - big * turn

    assert slip(states[0]) == pytest.approx(-big * turn)
    assert np.abs([slip(s) for s in states[800:]]).max() < 2e-3 * big * turn
    distance = np.array([np.hypot(*s.position[0]) for s in states])
    assert np.abs(distance - (big - r)).max() < 1e-4


def test_a_paddle_hits_with_the_speed_of_the_point_that_hits():
    """A segment that turns at W about its end meets a still disc at distance s: v+ = 2 W s across it."""
    turn, s, h = 1.5, 2.0, 1e-3
    paddle = Segment((0.0, 0.0), (3.0, 0.0), motion=Rotating(turn, (0.0, 0.0)))
    angle = np.pi / 3
    along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    r = 0.2
    scene = Scene("s", [disc(*(s * along + r * across), radius=r)], [paddle], step=h)
    after = states_of(scene, 900, "synchronous")[-1].velocity[0]
    # It is met up to a step before, by a paddle at an angle of up to h W less, at a point up to r h W nearer.
    np.testing.assert_allclose(after, 2.0 * turn * s * across, atol=2.0 * turn * s * 2.0 * h * turn)


def test_table_and_script_drive_the_same_piston():
    """The same straight lines, once from a table and once from a function: the same bits."""
    times, x = (0.0, 1.0, 2.0), (0.0, 1.0, 0.5)
    table = Table(times, x, (0.0, 0.0, 0.0))
    script = Scripted(lambda t: (float(np.interp(t, times, x)), 0.0))
    ends = []
    for motion in (table, script):
        scene = Scene(
            "s",
            [disc(1.0, 0.0, -0.5, 0.0, radius=0.4), disc(2.5, 0.1, radius=0.4)],
            [Plane((0.0, 0.0), (1.0, 0.0), motion=motion), Plane((4.0, 0.0), (-1.0, 0.0))],
        )
        ends.append(states_of(scene, 250, "synchronous")[-1])
    assert ends[0].position.tobytes() == ends[1].position.tobytes()
    assert np.abs(ends[0].velocity).max() > 1.0  # the piston did work


def test_moving_walls_are_found_where_they_will_be():
    """A disc at rest and a floor that comes up: contact if and only if the floor reaches it in the step."""
    world, state = build(Scene("s", [disc(0.0, 1.0, radius=0.5)], [Plane(motion=Moving((0.0, 10.0)))]))
    for h, hit in ((0.049, False), (0.051, True)):
        later = type(state)(h, 0, state.position, state.orientation, state.velocity)
        found = find_contacts(world, state, later, 0.0)
        assert found.count == hit
        if hit:
            assert found.gap[0] == pytest.approx(0.5)
            assert found.predicted[0] == pytest.approx(-0.01)
            np.testing.assert_array_equal(found.normal, [[0.0, -1.0]])

"""When two solids first touch: against dense samples of their paths, and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom.contact.advancement import NO_TOUCH_TIME, gap_3d, part_of, solid_work, sphere_touch, touch_times
from carom.contact.motion import Motions
from carom.geometry.rotations import matrices
from carom.geometry.vectors import Vec3
from carom.scene.parts import make_shapes
from carom.scene.shapes import Box, Capsule, Compound, Cone, Cylinder, Ellipsoid, Hull, Mesh, Part, Sphere

SEEDS = st.integers(0, 2**32 - 1)
CORNERS = np.array([(1.0, 0.0, 0.0), (-0.5, 0.9, 0.0), (-0.5, -0.8, 0.1), (0.1, 0.0, 0.7), (0.0, 0.2, -0.6)])
CONVEX = {
    "sphere": Sphere(0.5),
    "plate": Box((2.0, 2.0, 0.02)),
    "cube": Box((0.8, 0.8, 0.8)),
    "rod": Capsule(0.05, 2.0),
    "cylinder": Cylinder(0.4, 0.6),
    "cone": Cone(0.4, 0.7),
    "ellipsoid": Ellipsoid((0.6, 0.3, 0.2)),
    "hull": Hull(CORNERS),
}
NAMES = list(CONVEX)
SOLIDS, _ = make_shapes([(name, shape, 1) for name, shape in CONVEX.items()])


def motions_of(owner, position, way, orientation=None, spin=None):
    """Rows that move as told; `spin` is the rotation vector of the step."""
    k = len(owner)
    turn = np.repeat(np.eye(3)[None], k, axis=0) if orientation is None else matrices(orientation)
    spin = np.zeros((k, 3)) if spin is None else np.array(spin, dtype=float)
    return Motions(np.array(owner), np.array(position, dtype=float), np.array(way, dtype=float), turn, spin)


def touch(solids, motions, tolerance):
    return float(touch_times(solids, motions, np.array([tolerance]))[0])


def gap_of(solids, motions, time):
    """Least gap of two rows over all pairs of their parts at a time of the step."""
    work, least = solid_work(), np.inf
    a, b = motions.owner
    for pa in range(solids.part_ptr[a], solids.part_ptr[a + 1]):
        for pb in range(solids.part_ptr[b], solids.part_ptr[b + 1]):
            one, two = part_of(solids, motions, 0, pa), part_of(solids, motions, 1, pb)
            least = min(least, gap_3d(solids, work, one, two, time, np.inf)[0])
    return least


def check_against_samples(solids, motions, tolerance, samples=60):
    """No sample before the touch overlaps; at the touch they are near; without one no sample overlaps."""
    time = touch(solids, motions, tolerance)
    end = min(time, 1.0)
    gaps = [gap_of(solids, motions, t) for t in np.linspace(0.0, end, samples)[:-1]]
    # A grazing pass at less than the tolerance is no touch unless it closes; GJK is good to 1e-9 of the size.
    assert min(gaps) > -2.0 * tolerance
    if time < NO_TOUCH_TIME:
        assert gap_of(solids, motions, time) <= tolerance
        assert gap_of(solids, motions, max(time - 1e-3, 0.0)) > -tolerance
    return time


@given(SEEDS, st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from([0.0, 1.0, 3.0]))
def test_first_touch_of_convex_solids(seed, one, other, turning):
    """Random passes of every two shapes: straight, with some spin, with nearly half a turn."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(2, 4))
    spin = rng.normal(size=(2, 3))
    spin *= turning / np.linalg.norm(spin, axis=1, keepdims=True)
    aim = rng.normal(size=3)
    start = 4.0 * aim / np.linalg.norm(aim)
    way = -start * rng.uniform(0.5, 4.0) + 0.7 * rng.normal(size=3)
    motions = motions_of([NAMES.index(one), NAMES.index(other)], [np.zeros(3), start], [np.zeros(3), way], q, spin)
    check_against_samples(SOLIDS, motions, 1e-4)


def test_most_random_passes_touch_and_some_do_not():
    """The test above is not empty: of straight passes aimed about the middle both kinds occur."""
    rng = np.random.default_rng(0)
    times = []
    for _ in range(40):
        aim = rng.normal(size=3)
        start = 4.0 * aim / np.linalg.norm(aim)
        way = -2.0 * start + 1.5 * rng.normal(size=3)
        times.append(touch(SOLIDS, motions_of([2, 4], [np.zeros(3), start], [np.zeros(3), way]), 1e-4))
    assert 5 < sum(t == NO_TOUCH_TIME for t in times) < 35


@pytest.mark.covering
@pytest.mark.parametrize("speed", [0.4, 2.0, 50.0, 1e4, 1e8])
@pytest.mark.parametrize("angle", [0.0, 0.6, 1.2])
def test_sphere_and_thin_plate(speed, angle):
    """A way of any length through a plate of 0.02: the touch is where the sphere's side meets the plate's."""
    drop = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    fall = (0.9 - 0.51) / np.cos(angle)
    start = -0.5 * fall * drop * [1.0, 0.0, 0.0] + [0.0, 0.0, 0.9]
    motions = motions_of([0, 1], [start, np.zeros(3)], [speed * drop, np.zeros(3)])
    time = touch(SOLIDS, motions, 1e-9)
    assert time == (NO_TOUCH_TIME if speed < fall else pytest.approx(fall / speed, rel=1e-6))


def test_rod_that_turns_into_a_sphere():
    """A rod along z turns about y: it meets a sphere on the x axis when its side is a radius away."""
    motions = motions_of([0, 3], [(1.0, 0.0, 0.0), np.zeros(3)], np.zeros((2, 3)), spin=[np.zeros(3), (0.0, 2.5, 0.0)])
    # Distance of the sphere's center from the axis: cos(angle); rod and sphere touch at 0.55.
    assert touch(SOLIDS, motions, 1e-7) == pytest.approx(np.arccos(0.55) / 2.5, abs=1e-6)
    beyond = motions._replace(position=np.array([(1.6, 0.0, 0.0), (0.0, 0.0, 0.0)]))
    assert touch(SOLIDS, beyond, 1e-7) == NO_TOUCH_TIME


def test_flat_faces_that_slide_do_not_touch():
    """A cube that slides on a plate, over its rim and away: no approach, no touch, whatever the gap is."""
    for gap in (0.0, 1e-9, 1e-3):
        motions = motions_of([2, 1], [(0.0, 0.0, 0.41 + gap), np.zeros(3)], [(9.0, 0.0, 0.0), np.zeros(3)])
        assert touch(SOLIDS, motions, 1e-5) == NO_TOUCH_TIME


def test_bodies_that_touch_at_the_start():
    """Coming nearer: at once. Leaving: not at all. Slightly overlapping ones likewise."""
    for gap in (1e-6, -1e-3):
        for way, time in ((-1.0, 0.0), (1.0, NO_TOUCH_TIME)):
            motions = motions_of([2, 1], [(0.0, 0.0, 0.41 + gap), np.zeros(3)], [(0.0, 0.0, way), np.zeros(3)])
            assert touch(SOLIDS, motions, 1e-5) == time


@given(SEEDS)
def test_balls_by_closed_form(seed):
    rng = np.random.default_rng(seed)
    d, v = rng.normal(size=3) * 3.0, rng.normal(size=3) * 10.0
    reach = 0.9 * min(np.linalg.norm(d), 2.0)
    time = sphere_touch(Vec3(*d), Vec3(*v), reach)
    t = np.linspace(0.0, 1.0, 4001)[:, None]
    distance = np.linalg.norm(d + t * v, axis=1)
    if time == NO_TOUCH_TIME:
        assert distance.min() > reach - 1e-9
    else:
        assert np.linalg.norm(d + time * v) == pytest.approx(reach, abs=1e-12)
        assert (distance[t[:, 0] < time] > reach - 1e-12).all()


def test_parts_of_compounds_touch():
    """The bar of a dumb-bell passes a sphere by; its ball does not."""
    ends = [Part(Sphere(0.3), (0.0, 0.0, z)) for z in (-1.0, 1.0)]
    bell = Compound([*ends, Part(Capsule(0.05, 2.0))])
    solids, _ = make_shapes([("bell", bell, 1), ("ball", Sphere(0.2), 1)])
    high = motions_of([0, 1], [np.zeros(3), (3.0, 0.3, 1.0)], [np.zeros(3), (-6.0, 0.0, 0.0)])
    low = motions_of([0, 1], [np.zeros(3), (3.0, 0.3, 0.0)], [np.zeros(3), (-6.0, 0.0, 0.0)])
    order = np.argsort(np.abs(solids.place[:3, 2]))  # the frame is principal: z stays an axis, up to its sign
    assert solids.kind[solids.shape[order[0]]] == 2
    assert touch(solids, high, 1e-6) == pytest.approx((3.0 - np.sqrt(0.5**2 - 0.3**2)) / 6.0, abs=1e-6)
    assert touch(solids, low, 1e-6) == NO_TOUCH_TIME


def box_mesh(x, y, z):
    corner = np.array([(i, j, k) for i in (-x, x) for j in (-y, y) for k in (-z, z)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corner, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])


@pytest.mark.parametrize("radius", [0.1, 0.6])
@pytest.mark.parametrize("speed", [1.0, 30.0, 3000.0])
def test_sphere_and_thin_mesh(speed, radius):
    """As for the plate; a mesh is as sharp as the cells of its grid, here 0.025.

    The center of the large sphere is outside of the grid when they touch: distances there are bounds, and do not count.
    """
    vertices, faces = box_mesh(0.5, 0.5, 0.05)
    solids, _ = make_shapes(
        [("ball", Sphere(radius), 1), ("mesh", Mesh(vertices=vertices, faces=faces, spacing=0.025), 1)]
    )
    moves = ((0.0, 0.0, -speed), np.zeros(3))
    motions = motions_of([0, 1], [(0.1, 0.05, radius + 0.5), np.zeros(3)], moves)
    assert touch(solids, motions, 1e-4) == pytest.approx(0.45 / speed, abs=0.025 / speed)
    beside = motions._replace(position=np.array([(0.6 + radius, 0.0, radius + 0.5), (0.0, 0.0, 0.0)]))
    assert touch(solids, beside, 1e-4) == NO_TOUCH_TIME

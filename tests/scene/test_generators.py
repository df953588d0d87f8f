"""Generators: how many, how far apart, inside what; the same seed gives the same bodies."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from carom import ProblemError
from carom.scene.checks import Where
from carom.scene.file import parse_toml
from carom.scene.generators import Chain, Grid, HexGrid, Outline, Rack, Ring
from carom.scene.pour import Region, random_pour

ROUND = 1e-12  # of a spacing: places are sums of a few products of numbers of size up to 1e3


def group(text: str):
    (only,) = parse_toml("[[generators]]\n" + text).bodies
    return only


def closest(points: np.ndarray) -> float:
    return float(cKDTree(points).query(points, k=2)[0][:, 1].min())


@pytest.mark.parametrize(
    "text",
    [
        "kind = 'grid'\nrows = 4\ncolumns = 7",
        "kind = 'hex_grid'\nrows = 5\ncolumns = 6",
        "kind = 'chain'\ncount = 9\ndirection = [1, 2]",
        "kind = 'rack'\nrows = 6\ndirection = [-1, 1]",
        "kind = 'ring'\nnumber = 11",
        "kind = 'ring'\nrings = 4",
    ],
)
def test_bodies_touch_unless_a_spacing_is_given(text):
    """The nearest neighbors are one diameter apart: they touch, and do not overlap."""
    assert closest(np.asarray(group(text + "\nradius = 0.35").position)) == pytest.approx(0.7, abs=0.7 * ROUND)


def test_a_gap_is_kept():
    for text in ("kind = 'grid'\nrows = 3\ncolumns = 3\nspacing = 1.5", "kind = 'chain'\ncount = 5\ngap = 0.8"):
        assert closest(np.asarray(group(text + "\nradius = 0.35").position)) == pytest.approx(1.5, abs=ROUND)


def places(generator, radius=(1.0,)):
    return generator.places(Outline(np.asarray(radius)), Where(2), "generators[0]")


def test_counts():
    for generator, count in (
        (Rack(rows=10), 55),
        (Ring(rings=3), 1 + 6 + 12 + 18),
        (Grid(rows=3, columns=5), 15),
    ):
        assert len(places(generator)) == generator.count == count


def test_grid_and_hex_grid_are_centerd_or_cornered():
    for place in ({"center": (5, 6)}, {"corner": (5, 6)}):
        square = places(Grid(rows=3, columns=4, spacing=(1.0, 2.0), **place))
        hexagonal = places(HexGrid(rows=4, columns=3, spacing=1.0, **place))
        for points in (square, hexagonal):
            if "corner" in place:
                np.testing.assert_array_equal(points[0], (5, 6))
                assert (points >= (5, 6)).all()
                continue
            np.testing.assert_allclose(0.5 * (points.min(axis=0) + points.max(axis=0)), (5, 6), atol=ROUND)


def test_hexagonal_packing_is_the_densest():
    """Six neighbors at one diameter in the middle; a square grid has four."""
    for generator, number in ((HexGrid(rows=5, columns=5), 6), (Grid(rows=5, columns=5), 4)):
        points = places(generator, [0.5])
        middle = points[np.argmin(np.hypot(*(points - points.mean(axis=0)).T))]
        assert (np.abs(np.hypot(*(points - middle).T) - 1.0) < 1e-9).sum() == number


def test_rack_has_its_apex_first_and_is_symmetric():
    points = places(Rack(rows=5, apex=(3.0, 1.0)))
    np.testing.assert_array_equal(points[0], (3.0, 1.0))
    assert (points[1:, 0] > 3.0).all()
    mirrored = points * (1, -1) + (0, 2.0)
    assert cKDTree(points).query(mirrored)[0].max() < 1e-12


def test_chain_of_different_discs_touches_everywhere():
    radius = np.array([0.5, 1.0, 0.25, 2.0])
    points = places(Chain(count=4, start=(1.0, 1.0), direction=(0.0, -3.0)), radius)
    np.testing.assert_allclose(np.hypot(*np.diff(points, axis=0).T), radius[:-1] + radius[1:], rtol=1e-14)
    assert (points[:, 0] == 1.0).all() and (np.diff(points[:, 1]) < 0.0).all()


def test_turned_boxes_touch():
    """A box turned by a quarter has its height along x."""
    bricks = group(f"kind = 'chain'\ncount = 3\nshape = 'rectangle'\nsize = [1, 3]\nangle = {np.pi / 2}")
    np.testing.assert_allclose(np.asarray(bricks.position)[:, 0], [0, 3, 6], atol=1e-12)


def test_ring_of_one_and_its_radius():
    np.testing.assert_array_equal(places(Ring(number=1, center=(1, 1))), [[1, 1]])
    around = places(Ring(number=4, center=(1, 1), ring_radius=2.0))
    np.testing.assert_allclose(around, [[3, 1], [1, 3], [-1, 1], [1, -1]], atol=1e-15)


# -- chance ----------------------------------------------------------------------------------------------------

POUR = "kind = 'random_pour'\ncount = 200\nradius = {low = 0.2, high = 0.5}\nlower = [0, 0]\nupper = [20, 20]\n"


def test_seeds():
    first, again, other = group(POUR), group(POUR), group(POUR + "seed = 1")
    np.testing.assert_array_equal(first.position, again.position)
    assert not np.array_equal(first.position, other.position)


def test_each_use_of_chance_has_its_own_stream():
    plain, shaken = group(POUR), group(POUR + "jitter = 0.1\nrandom_velocity = {speed = 1}")
    np.testing.assert_array_equal(plain.shape.radius, shaken.shape.radius)
    assert np.hypot(*(plain.position - shaken.position).T).max() <= 0.1
    assert np.hypot(*(plain.position - shaken.position).T).max() > 0.05


@given(
    n=st.integers(1, 400),
    share=st.floats(0.05, 0.7),
    ratio=st.floats(1.0, 4.0),
    aspect=st.floats(0.4, 2.5),
    circle=st.booleans(),
    gap=st.sampled_from([0.0, 0.05]),
    seed=st.integers(0, 1000),
)
def test_poured_bodies_neither_overlap_nor_stick_out(n, share, ratio, aspect, circle, gap, seed):
    radius = np.random.default_rng(seed).uniform(0.1, 0.1 * ratio, n)
    area = np.pi * ((radius + 0.5 * gap) ** 2).sum() / share
    wide = np.sqrt(area * aspect)
    region = Region((3.0, -2.0), radius=np.sqrt(area / np.pi)) if circle else Region((0.0, 0.0), (wide, area / wide))
    try:
        points = random_pour(radius, region, gap, np.random.default_rng(seed), "g")
    except ProblemError:
        points = None
    if points is None:
        # Few bodies in a small region may truly not fit, although their areas would.
        assert n < 40 and share > 0.2
        return
    if n > 1:
        i, j = np.triu_indices(n, 1)
        assert (pdist(points) - radius[i] - radius[j] - gap).min() >= -1e-12
    if circle:
        assert (np.hypot(*(points - region.lower).T) + radius).max() <= region.radius * (1 + 1e-12)
    else:
        assert (points - radius[:, None]).min() >= -1e-12
        assert ((points + radius[:, None]) <= np.array(region.upper) * (1 + 1e-12)).all()


def test_pour_fills_the_region_evenly():
    """Counts in 16 equal cells: chi-square of a Poisson count would be 15; excluded volume makes it smaller."""
    text = "kind = 'random_pour'\ncount = 4000\nradius = 0.02\nlower = [0, 0]\nupper = [10, 10]"
    cells = np.histogram2d(*np.asarray(group(text).position).T, bins=4, range=[[0, 10], [0, 10]])[0]
    assert ((cells - 250.0) ** 2 / 250.0).sum() < 37.7  # 0.1 % of Poisson counts lie above


def test_radii_by_chance():
    base = "kind = 'grid'\nrows = 100\ncolumns = 100\nspacing = 9\nradius = "
    even = np.asarray(group(base + "{low = 1, high = 2}").shape.radius)
    assert 1.0 <= even.min() < 1.01 and 1.99 < even.max() <= 2.0
    bell = np.asarray(group(base + "{kind = 'normal', mean = 1, deviation = 0.3}").shape.radius)
    assert bell.min() >= 0.5 and bell.max() <= 1.5 and abs(bell.mean() - 1.0) < 0.02
    pick = np.asarray(group(base + "{kind = 'choice', values = [1, 2], weights = [3, 1]}").shape.radius)
    assert set(pick) == {1.0, 2.0}
    assert abs((pick == 1.0).mean() - 0.75) < 0.02  # 4.6 standard deviations


@pytest.mark.parametrize(("kind", "mean_square"), [("normal", 8.0), ("uniform", 8.0 / 3.0), ("direction", 4.0)])
def test_random_velocities(kind, mean_square):
    """speed 2: 2 s^2, 2 s^2 / 3 and s^2 are the mean squares."""
    text = "kind = 'grid'\nrows = 100\ncolumns = 100\nradius = 1\nvelocity = [5, 0]\n"
    v = np.asarray(group(text + f"random_velocity = {{kind = '{kind}', speed = 2}}").velocity) - (5, 0)
    assert (v**2).sum(axis=1).mean() == pytest.approx(mean_square, rel=0.05)
    still = group(text + f"random_velocity = {{kind = '{kind}', speed = 2, no_drift = true}}")
    np.testing.assert_allclose(np.asarray(still.velocity).mean(axis=0), (5, 0), atol=1e-12)


def test_random_angles():
    angle = np.asarray(
        group("kind = 'grid'\nrows = 30\ncolumns = 30\nshape = 'rectangle'\nsize = [1, 2]\nrandom_angle = true").angle
    )
    assert 0.0 <= angle.min() < 0.1 and 6.2 < angle.max() < 2.0 * np.pi


def test_turned_by_chance_boxes_of_a_grid_cannot_overlap():
    boxes = group("kind = 'grid'\nrows = 3\ncolumns = 3\nshape = 'rectangle'\nsize = [3, 4]\nrandom_angle = true")
    assert closest(np.asarray(boxes.position)) == pytest.approx(5.0)


# -- copies ----------------------------------------------------------------------------------------------------


def test_copies_are_moved_turned_and_pushed():
    scene = parse_toml(
        """
        [[bodies]]
        name = "pair"
        radius = [1, 0.5]
        position = [[1, 0], [3, 0]]
        velocity = [[1, 0], [0, 0]]
        angle = 0.1
        [[generators]]
        kind = "copies"
        of = "pair"
        offsets = [[0, 10], [0, 20]]
        turn = [0, 1.5707963267948966]
        velocity = [0, 1]
        """
    )
    pair, copies = scene.bodies
    assert pair.count == 2 and copies.count == 4
    np.testing.assert_allclose(copies.position, [[1, 10], [3, 10], [2, 19], [2, 21]], atol=1e-12)
    np.testing.assert_allclose(copies.velocity, [[1, 1], [0, 1], [0, 2], [0, 1]], atol=1e-12)
    np.testing.assert_allclose(copies.angle, [0.1, 0.1, 0.1 + np.pi / 2, 0.1 + np.pi / 2])
    np.testing.assert_array_equal(copies.shape.radius, [1, 0.5, 1, 0.5])


def test_copies_of_copies_of_a_template():
    scene = parse_toml(
        """
        [[generators]]
        kind = "rack"
        name = "rack"
        rows = 3
        radius = 1
        template = true
        [[generators]]
        kind = "copies"
        name = "row"
        of = "rack"
        columns = 4
        spacing = 10
        template = true
        [[generators]]
        kind = "copies"
        of = "row"
        rows = 5
        spacing = 10
        """
    )
    assert scene.count == 6 * 4 * 5
    assert closest(np.asarray(scene.bodies[0].position)) == pytest.approx(2.0)


def test_a_group_that_turns_about_a_point_is_not_copied():
    text = "[[bodies]]\nname = 'a'\nradius = 1\nposition = [0, 0]\n"
    text += "motion = {kind = 'rotating', speed = 1, about = [5, 5]}\n"
    with pytest.raises(ProblemError, match=r"generators\[0\]\.of"):
        parse_toml(text + "[[generators]]\nkind = 'copies'\nof = 'a'\noffsets = [5, 0]")


# -- size ------------------------------------------------------------------------------------------------------


def test_a_million_discs_in_five_lines():
    text = "[[generators]]\nkind = 'hex_grid'\nrows = 1000\ncolumns = 1000\nradius = 0.5\n"
    assert text.count("\n") == 5
    start = time.process_time()
    scene = parse_toml(text)
    assert scene.count == 1_000_000
    assert time.process_time() - start < 10.0  # measured: well below one second on an idle machine


def test_a_hundred_thousand_poured():
    text = "[[generators]]\nkind = 'random_pour'\ncount = 100_000\nradius = 0.5\nlower = [0, 0]\nupper = [500, 500]"
    start = time.process_time()
    points = np.asarray(parse_toml(text).bodies[0].position)
    assert time.process_time() - start < 15.0  # a fraction of a second besides compiling
    assert closest(points) >= 1.0 - 1e-12

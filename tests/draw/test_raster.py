"""Shapes as pixels: areas and centers are right, whatever lies where between the pixels."""

from __future__ import annotations

import numpy as np
import pytest

from carom.draw.primitives import Discs, Hole, Lines, Page, Polygons, Rings, Text, clipped, quads, repeated, thick
from carom.draw.raster import painted, text_width

BLACK = (0, 0, 0)
# Each pixel is a byte, rounded; along the eight lines of a pixel coverage is exact, across them it is a midpoint rule.
ROUNDING = 0.5 / 255.0


def darkness(*layers, size=(80, 60)) -> np.ndarray:
    """How much of each pixel is covered by black shapes on white."""
    page = Page(*size)
    page.add(*layers)
    return 1.0 - painted(page)[..., 0] / 255.0


def center(cover: np.ndarray) -> tuple[float, float]:
    rows, columns = np.indices(cover.shape) + 0.5
    return float((columns * cover).sum() / cover.sum()), float((rows * cover).sum() / cover.sum())


def disc(x, y, r, **look) -> Discs:
    return Discs(np.array([[x, y]]), np.array([r]), repeated(BLACK, 1), **look)


@pytest.mark.covering
@pytest.mark.parametrize("radius", [0.4, 1.0, 3.3, 20.0])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.5, 0.25), (0.31, 0.77)])
def test_a_disc_has_its_area_and_its_center(radius, shift):
    x, y = 40.0 + shift[0], 30.0 + shift[1]
    cover = darkness(disc(x, y, radius))
    # The midpoint rule errs where the rim is level, over a width of the root of radius / 8, and by rounding at the rim.
    assert cover.sum() == pytest.approx(np.pi * radius**2, rel=0.004, abs=0.03 + 8 * radius * ROUNDING)
    # What is smaller than a pixel is known to lie in it, and not where in it.
    assert center(cover) == pytest.approx((x, y), abs=0.02 if radius >= 1.0 else 0.2)


def test_inside_is_full_and_outside_is_empty():
    cover = darkness(disc(40.0, 30.0, 10.0))
    rows, columns = np.indices(cover.shape) + 0.5
    far = np.hypot(columns - 40.0, rows - 30.0)
    assert (cover[far < 10.0 - 0.75] == 1.0).all()
    assert (cover[far > 10.0 + 0.75] == 0.0).all()
    rim = cover[np.abs(far - 10.0) < 0.3]
    assert ((rim > 0.1) & (rim < 0.9)).all(), "the rim is not smooth"


def test_a_rim_lies_inside_the_shape():
    page = Page(80, 60)
    blue = repeated((0, 0, 255), 1)
    page.add(Discs(np.array([[40.0, 30.0]]), np.array([20.0]), blue, (255, 0, 0), 4.0))
    image = painted(page)
    assert image[30, 40].tolist() == [0, 0, 255]
    assert image[30, 21].tolist() == [255, 0, 0]
    assert image[30, 19].tolist() == [255, 255, 255]
    # Only the rim has no blue, and only the inside no red.
    assert (1.0 - image[..., 2] / 255.0).sum() == pytest.approx(np.pi * (20.0**2 - 16.0**2), rel=0.01)
    assert (1.0 - image[..., 0] / 255.0).sum() == pytest.approx(np.pi * 16.0**2, rel=0.01)


@pytest.mark.covering
@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize("angle", [0.0, 0.3, 1.1])
def test_a_polygon_has_its_area_either_way_round(angle, way):
    corners = np.array([[-12.0, -5.0], [12.0, -5.0], [12.0, 5.0], [-12.0, 5.0]])[::way]
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    place = corners @ turn.T + (40.2, 30.4)
    cover = darkness(Polygons(np.array([0, 4]), place, repeated(BLACK, 1)))
    # A side that is level falls between two of the eight lines: up to half their distance, along 24 pixels, twice.
    assert cover.sum() == pytest.approx(240.0, abs=2 * 24.0 / 16.0 + 0.3)
    assert center(cover) == pytest.approx((40.2, 30.4), abs=0.05)


def test_a_line_thinner_than_a_pixel_is_pale_and_not_broken():
    cover = darkness(Lines(np.array([[5.0, 10.0]]), np.array([[75.0, 41.0]]), repeated(BLACK, 1), width=0.5))
    assert cover.sum() == pytest.approx(0.5 * np.hypot(70.0, 31.0), rel=0.03)
    assert (cover[:, 6:74].sum(axis=0) > 0.3).all()


def test_a_ring_and_a_hole():
    ring = darkness(Rings(np.array([[40.0, 30.0]]), np.array([20.0]), BLACK, 2.0))
    assert ring.sum() == pytest.approx(2.0 * np.pi * 20.0 * 2.0, rel=0.01)
    assert ring[30, 40] == 0.0
    hole = darkness(Hole(np.array([40.0, 30.0]), 20.0, BLACK))
    assert hole.sum() == pytest.approx(80 * 60 - np.pi * 400.0, rel=0.002)
    assert hole[30, 40] == 0.0 and hole[0, 0] == 1.0


def test_half_of_alpha_is_half_of_the_color():
    cover = darkness(
        quads(np.array([[[10.0, 10.0], [30.0, 10.0], [30.0, 20.0], [10.0, 20.0]]]), repeated(BLACK, 1), 0.5)
    )
    assert cover.sum() == pytest.approx(0.5 * 200.0, rel=0.01)


@pytest.mark.parametrize("x", [-100.0, -1e9, 1e9, np.nan])
def test_what_is_not_on_the_page_leaves_it_alone(x):
    far = np.array([[x, x], [x + 5.0, x], [x + 5.0, x + 5.0]])
    assert not darkness(disc(x, x, 10.0), Polygons(np.array([0, 3]), far, repeated(BLACK, 1))).any()


def test_a_shape_larger_than_the_page_fills_it():
    assert (darkness(disc(40.0, 30.0, 1e4)) == 1.0).all()
    wide = np.array([[[-1e5, -1e5], [1e5, -1e5], [1e5, 1e5], [-1e5, 1e5]]])
    assert (darkness(quads(wide, repeated(BLACK, 1))) == 1.0).all()


def test_the_later_shape_covers_the_earlier_one():
    page = Page(20, 20)
    page.add(disc(10.0, 10.0, 8.0), Discs(np.array([[10.0, 10.0]]), np.array([4.0]), repeated((9, 200, 40), 1)))
    assert painted(page)[10, 10].tolist() == [9, 200, 40]


def test_text_is_where_its_anchor_says():
    wide = text_width("center", 20.0)
    for anchor, left in (("left", 80.0), ("center", 80.0 - wide / 2), ("right", 80.0 - wide)):
        ink = darkness(Text(80.0, 30.0, "center", 20.0, BLACK, anchor), size=(160, 60))
        columns = np.flatnonzero(ink.any(axis=0))
        assert columns[0] == pytest.approx(left, abs=3.0) and columns[-1] == pytest.approx(left + wide, abs=3.0)
        rows = np.flatnonzero(ink.any(axis=1))
        assert rows[0] >= 12 and rows[-1] <= 31  # above its base line, but for rounding


def test_a_clipped_square_is_on_the_right_side():
    square = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])
    part = clipped(square, np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    assert part[:, 0].min() == 1.0 and part[:, 0].max() == 4.0
    assert not len(clipped(square, np.array([5.0, 0.0]), np.array([1.0, 0.0])))
    # A line of no length has no direction, and is left out.
    assert len(thick(Lines(np.ones((2, 2)), np.array([[1.0, 1.0], [3.0, 1.0]]), repeated(BLACK, 2))).ptr) == 2

"""Pictures of runs: what is where, in which color, and that no picture is blank."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image

import carom
from carom.draw.colors import MAPS, PALETTE
from carom.draw.films import Look, Span, Studio, write_still
from carom.draw.world2d import GROUND

SIZE = (640, 360)
SVG = "{http://www.w3.org/2000/svg}"


def look(**more) -> Look:
    return Look(**{"size": SIZE, "caption": False, **more})


def picture(path, time, **more) -> np.ndarray:
    with carom.Trajectory(path) as run:
        return Studio(run, look(**more), Span(time, time)).picture(time)


def inked(image) -> np.ndarray:
    return (image != 255).any(axis=2)


def test_a_ball_is_where_the_camera_says(ball):
    # 8 length units across 640 pixels: 80 pixels each. At t = 1 the ball is at x = 2, right of the middle at x = 1.
    image = picture(ball, 1.0, camera="1,0,8")
    rows, columns = np.nonzero(inked(image))
    assert columns.mean() + 0.5 == pytest.approx(320.0 + 80.0, abs=0.1)
    assert rows.mean() + 0.5 == pytest.approx(180.0, abs=0.1)
    assert inked(image).sum() == pytest.approx(np.pi * 80.0**2, rel=0.02)  # whole pixels, the rim's as well


def test_between_frames_the_ball_is_between_its_places(ball):
    image = picture(ball, 0.5, camera="1,0,8")  # frames are at 0.4 and 0.6
    columns = np.nonzero(inked(image))[1]
    assert columns.mean() + 0.5 == pytest.approx(320.0, abs=0.1)


def test_pictures_of_different_times_differ_and_none_is_blank(ball, boxes, solid):
    for path in (ball, boxes, solid):
        with carom.Trajectory(path) as run:
            studio = Studio(run, look(), Span(0.0, float(run.time[-1])))
            first, last = studio.picture(0.0), studio.picture(float(run.time[-1]))
        assert inked(first).mean() > 0.01 and inked(last).mean() > 0.01
        assert (first != last).any(axis=2).mean() > 0.005


def test_colors_are_those_of_the_quantity(struck):
    # After the impact the first two balls rest, and the third has all the speed.
    image = picture(struck, 2.0, camera="1.5,0,6")
    scale = SIZE[0] / 6.0
    for x, color in ((-1.0, MAPS["soft"][0]), (0.0, MAPS["soft"][0]), (4.0, MAPS["soft"][-1])):
        column = round(SIZE[0] / 2 + (x - 1.5) * scale)
        spot = image[SIZE[1] // 2 + 12, column]  # beside the line from center to rim
        assert spot.tolist() == color.tolist(), x
    other = picture(struck, 2.0, camera="1.5,0,6", color="body")
    assert other[SIZE[1] // 2 + 12, round(SIZE[0] / 2 - 2.5 * scale)].tolist() == PALETTE[0].tolist()
    map_ = picture(struck, 2.0, camera="1.5,0,6", map="cividis")
    assert map_[SIZE[1] // 2 + 12, round(SIZE[0] / 2 + 2.5 * scale)].tolist() == MAPS["cividis"][-1].tolist()


def test_the_ground_lies_below_the_boxes(boxes):
    image = picture(boxes, 1.0)
    assert image[-1, 5].tolist() == list(GROUND) and image[0, 5].tolist() == [255, 255, 255]
    top = int(np.flatnonzero((image[:, 5] != 255).any(axis=1))[0])  # the line of the ground at the left
    body = (image != 255).any(axis=2) & ~(image == GROUND).all(axis=2)
    rows = np.flatnonzero(body[:, SIZE[0] // 2])
    assert rows[-1] <= top + 3, "a box is drawn below the ground"


def test_trails_show_where_the_ball_was(ball):
    # The other trail, of a point 3 above the center, is outside the picture.
    pictures = [picture(ball, 2.0, camera="2,0,8", trails=(which,)) for which in ("all", "0:0,3")]
    columns = np.nonzero((pictures[0] != pictures[1]).any(axis=2))[1]
    # From the start of the center at x = 0 to its end at x = 4, over the ball.
    assert columns.min() == pytest.approx(320 - 2 * 80, abs=2) and columns.max() == pytest.approx(320 + 2 * 80, abs=2)


def test_a_still_with_trails_shows_where_they_began(ball):
    with carom.Trajectory(ball) as run:
        places = [
            Studio(run, look(trails=which), Span(2.0, 2.0))._scenery._window.pixels(np.zeros(2))
            for which in ((), ("all",))
        ]
    assert places[0][0] < 0.0 < places[1][0], "the start, which the end alone does not show"


@pytest.mark.parametrize("text", ["", "1", "-1", "ball", "0:1", "0:1,x", "0:1,nan", "0:1,2,3", "all:1,2", "0:"])
def test_bad_trails_are_refused(ball, text):
    with pytest.raises(carom.ProblemError, match="--trail"):
        picture(ball, 1.0, trails=(text,))


def test_bodies_outside_the_picture_are_counted(struck, tmp_path):
    with carom.Trajectory(struck) as run:
        made = write_still(run, tmp_path / "part.svg", 2.0, Look(size=SIZE, camera="0,0,6"))
        whole = write_still(run, tmp_path / "whole.svg", 2.0, Look(size=SIZE))
    words = {
        name: " ".join(t.text for t in ET.parse(tmp_path / name).iter(f"{SVG}text"))
        for name in ("part.svg", "whole.svg")
    }
    assert made.outside == 1 and "3 bodies, 1 of them outside the picture" in words["part.svg"]
    assert whole.outside == 0 and "outside" not in words["whole.svg"]


def test_impulses_point_the_way_they_push(struck):
    with carom.Trajectory(struck) as run:
        hit = next(i for i in range(len(run)) if len(run.impulses(i).first))
        time = float(run.time[hit])
        views = [Studio(run, look(camera="0,0,6", impulses=on), Span(time, time)).picture(time) for on in (False, True)]
    rows, columns = np.nonzero((views[0] != views[1]).any(axis=2))
    # The first ball strikes at x = -0.5 and pushes to the right; arrows start at the contacts and run along the line.
    assert abs(rows.mean() - 180.0) < 2.0
    assert columns.min() >= 320 - 0.5 * SIZE[0] / 6.0 - 8


def test_a_run_without_impulses_says_so(ball):
    with pytest.raises(carom.ProblemError, match="--impulses"):
        picture(ball, 0.0, impulses=True)


def test_the_caption_tells_scene_law_and_time(struck, tmp_path):
    path = tmp_path / "still.svg"
    with carom.Trajectory(struck) as run:
        write_still(run, path, 1.25, Look(size=SIZE))
    words = [t.text for t in ET.parse(path).iter(f"{SVG}text")]
    assert "Newton's cradle" in words and "t = 1.25" in words
    assert any("Generalized reflections (gr)" in w for w in words)
    assert any("speed" in w for w in words)


def test_an_svg_holds_shapes_and_no_image(struck, boxes, tmp_path):
    for run_path, count in ((struck, 3), (boxes, 2)):
        path = tmp_path / "still.svg"
        with carom.Trajectory(run_path) as run:
            write_still(run, path, 1.0, look(color="body"))
        root = ET.parse(path).getroot()
        assert not list(root.iter(f"{SVG}image"))
        fills = [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in PALETTE[:count].tolist()]
        text = path.read_text()
        for fill in fills:
            assert text.count(f"fill: {fill}") == 1, "each body is one shape of its own color"
        assert root.get("viewBox") == f"0 0 {SIZE[0]} {SIZE[1]}"


def test_png_and_pdf(boxes, solid, tmp_path):
    for run_path in (boxes, solid):
        with carom.Trajectory(run_path) as run:
            write_still(run, tmp_path / "a.png", 0.2, Look(size=SIZE))
            write_still(run, tmp_path / "a.pdf", 0.2, Look(size=SIZE))
        with Image.open(tmp_path / "a.png") as image:
            assert image.size == SIZE and inked(np.asarray(image)).mean() > 0.05
        assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF-")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.pdf", "a.png"]


def test_a_still_is_the_same_every_time(boxes, tmp_path):
    names = [tmp_path / name for name in ("a.svg", "b.svg")]
    with carom.Trajectory(boxes) as run:
        for name in names:
            write_still(run, name, 0.5, Look(size=SIZE))
    assert names[0].read_bytes() == names[1].read_bytes()


def test_space_has_light_shadow_and_a_camera(solid):
    image = picture(solid, 0.0)
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 200, "shades"
    other = picture(solid, 0.0, camera="azimuth=20,elevation=50")
    near = picture(solid, 0.0, camera="distance=3")
    far = picture(solid, 0.0, camera="distance=30")
    assert (image != other).any(axis=2).mean() > 0.05

    def body(shot):  # what has color: floor and shadow are gray
        return (np.ptp(shot.astype(int), axis=2) > 25).sum()

    assert body(near) > 20 * body(far) > 0

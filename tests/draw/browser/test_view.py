"""The viewer in a real browser: it shows the bodies where they are, in their colors, and does what it is told."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
from PIL import Image
from tests.draw.viewer.made_runs import plane_scene, record, space_scene

from carom import simulate
from carom.draw.colors import Coloring
from carom.draw.viewer import tone, viewing
from carom.draw.viewer.look import WIDTH
from carom.draw.viewer.panel import strongest_impacts
from carom.scene import Bodies, Disc, Scene, Sink, Source
from carom.trajectory import Trajectory

SECONDS = 120.0  # until something must have happened: software rendering, perhaps beside other tests
EDGE = 12  # pixels beside the panel, where its shadow falls
THREE_FRAMES = """() => new Promise((done) => {
    let frames = 0;
    const next = () => (++frames > 3 ? done() : requestAnimationFrame(next));
    next(); })"""
NEAR = 14  # of 255 steps: colors are given to the page in 6 bits, and its curve is undone to a few steps


@pytest.fixture(scope="module")
def plane_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "plane.h5"
    record(path, plane_scene())
    return path


@pytest.fixture(scope="module")
def space_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "space.h5"
    record(path, space_scene())
    return path


def picture(page) -> np.ndarray:
    """What is to the left of the panel, without the window's hints; (rows, columns, 3)."""
    size = page.viewport_size
    clip = {"x": 0, "y": 0, "width": size["width"] - WIDTH - EDGE, "height": size["height"]}
    data = page.screenshot(clip=clip)
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def until(page, condition, what: str):
    """Looks at the picture until the condition holds; returns that picture."""
    end = time.monotonic() + SECONDS
    while True:
        seen = picture(page)
        if condition(seen):
            return seen
        assert time.monotonic() < end, f"never happened: {what}"
        page.wait_for_timeout(150)


def settled(page) -> np.ndarray:
    """The picture once it no longer changes."""
    before = picture(page)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        page.wait_for_timeout(200)
        page.evaluate(THREE_FRAMES)  # a busy machine may not have drawn anything meanwhile
        after = picture(page)
        if not differs(before, after):
            return after
        before = after
    raise AssertionError("the picture never comes to rest")


def differs(one: np.ndarray, two: np.ndarray, least: int = 60) -> bool:
    """Whether so many pixels differ visibly."""
    return int((np.abs(one - two).max(axis=2) > 24).sum()) >= least


def colored(seen: np.ndarray) -> int:
    """Pixels that are neither white nor gray: bodies."""
    return int((np.ptp(seen, axis=2) > 30).sum())


def load(page, viewer) -> np.ndarray:
    # Without `fixedDpr` slow pages lower their resolution, and pictures cannot be compared.
    page.goto(f"{viewer.address}/?fixedDpr=1")
    page.add_style_tag(content="[class*=mantine-Notification] { display: none !important }")  # they cover the picture
    page.wait_for_selector("canvas")
    until(page, lambda seen: colored(seen) > 300, "bodies on the page")
    return settled(page)


@pytest.fixture(scope="module")
def plane_page(shared_page, plane_run):
    """A page with the run of the plane, and what serves it."""
    faults = []
    shared_page.on("pageerror", lambda error: faults.append(str(error)))
    with viewing([plane_run], port=0, play=False) as viewer:
        load(shared_page, viewer)
        yield shared_page, viewer
    assert not faults, faults


def choose(page, label: str, option: str) -> None:
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def first_frame(page, viewer, path) -> np.ndarray:
    """The start, in the colors of speeds."""
    page.get_by_text("|◀", exact=True).click()
    choose(page, "Color", "speed")
    until(page, lambda seen: far_off(seen, viewer, path, 0) <= NEAR, "the start in the colors of speeds")
    return settled(page)


def far_off(seen: np.ndarray, viewer, path, frame: int) -> int:
    """The largest difference between a body's color and what its speed gives, over all bodies and channels."""
    with Trajectory(path) as run:
        wanted = tone.shown(Coloring.of(run, "speed").rgb(frame)).astype(int)
        found = [at_body(seen, viewer, run, frame, body) for body in range(run.count)]
    return int(np.abs(np.array(found) - wanted).max())


def at_body(seen: np.ndarray, viewer, run, frame: int, body: int) -> np.ndarray:
    """A pixel near the middle of a body."""
    x, y = pixel_of(seen, viewer, run, frame, body)
    return seen[round(y), round(x)]


def pixel_of(seen: np.ndarray, viewer, run, frame: int, body: int) -> tuple[float, float]:
    """Where a body must be, by the camera that the page should have."""
    layout = viewer.page.layout
    place = layout.placed(run.positions[frame] - [0.2, 0.0], 0)[body]  # beside the mark that starts in the middle
    rows, columns = seen.shape[0], seen.shape[1] + EDGE
    view = layout.view(columns / rows)
    ahead = (view.target - view.eye) / np.linalg.norm(view.target - view.eye)
    right = np.cross(ahead, view.up)
    arm = place - view.eye
    scale = 0.5 * rows / np.tan(0.5 * view.angle) / float(arm @ ahead)
    return 0.5 * columns + scale * float(arm @ right), 0.5 * rows - scale * float(arm @ view.up)


def test_bodies_are_shown_where_and_as_they_are_at_any_time(plane_page, plane_run):
    page, viewer = plane_page
    first = first_frame(page, viewer, plane_run)
    slider = page.locator(".mantine-Slider-root").first.bounding_box()
    page.mouse.click(slider["x"] + 0.5 * slider["width"], slider["y"] + 0.5 * slider["height"])
    until(page, lambda seen: differs(seen, first), "another picture at another time")
    assert viewer.page.player.time == pytest.approx(1.5, abs=0.15)  # a few of the slider's pixels
    number = page.locator(".mantine-NumberInput-input").first
    number.fill("2.5")
    number.press("Enter")
    until(page, lambda seen: viewer.page.player.time == pytest.approx(2.5), "the time that was typed")
    until(page, lambda seen: far_off(seen, viewer, plane_run, 25) <= NEAR, "all bodies in their places and colors")


def test_playing_moves_bodies_and_pausing_stops_them(plane_page, plane_run):
    page, viewer = plane_page
    first = first_frame(page, viewer, plane_run)
    page.get_by_role("button", name="Play").click()
    until(page, lambda seen: differs(seen, first), "movement")
    page.get_by_role("button", name="Pause").click()
    still, shown = settled(page), viewer.page.player.time
    page.wait_for_timeout(300)
    assert viewer.page.player.time == shown
    assert not differs(picture(page), still)
    page.get_by_text("|◀", exact=True).click()
    until(page, lambda seen: not differs(seen, first), "the first frame again")
    page.keyboard.press("l")
    until(page, lambda seen: viewer.page.player.time == pytest.approx(0.1), "one frame on")


def test_colors_and_impulses_change_the_picture(plane_page, plane_run):
    page, viewer = plane_page
    by_speed = first_frame(page, viewer, plane_run)
    choose(page, "Color", "body")
    until(page, lambda seen: differs(seen, by_speed), "other colors")
    page.get_by_text("▶|", exact=True).click()  # at the start nothing has happened yet
    until(page, lambda seen: differs(seen, by_speed, 30), "the end of the run")
    by_body = settled(page)
    page.get_by_label("Impulses").check()
    until(page, lambda seen: differs(seen, by_body, 30), "arrows")
    page.get_by_label("Impulses").uncheck()
    until(page, lambda seen: not differs(seen, by_body, 30), "no arrows any more")


def test_a_click_on_a_body_tells_about_it_and_the_picture_can_be_saved(plane_page, plane_run):
    page, viewer = plane_page
    seen = first_frame(page, viewer, plane_run)
    assert page.title() == "Carom"
    with Trajectory(plane_run) as run:
        page.mouse.click(*pixel_of(seen, viewer, run, 0, 2))
    until(page, lambda seen: viewer.page.chosen == (0, 2), "the body that was clicked")
    page.get_by_text("body 2", exact=True).wait_for()
    page.get_by_text("speed 1", exact=True).wait_for()
    with page.expect_download(timeout=1000 * SECONDS) as saved:
        page.get_by_text("Save as PNG").click()
    picture = np.asarray(Image.open(saved.value.path()).convert("RGB")).astype(int)
    assert picture.shape[0] == page.viewport_size["height"] and colored(picture) > 300
    page.mouse.click(20, 0.8 * page.viewport_size["height"])  # beside all bodies
    until(page, lambda seen: viewer.page.chosen is None, "no body any more")


def test_a_click_in_the_list_of_impacts_shows_the_frame_after_it(plane_page, plane_run):
    page, viewer = plane_page
    first_frame(page, viewer, plane_run)
    with Trajectory(plane_run) as run:
        label, time_after = list(strongest_impacts(run).items())[3]
    choose(page, "Impacts", label)
    until(page, lambda seen: viewer.page.player.time == pytest.approx(time_after), "the frame after the impact")
    assert time_after > 0.0


def test_two_runs_of_space_stand_side_by_side_with_shadows_and_move(shared_page, space_run, tmp_path):
    other, page = tmp_path / "other.h5", shared_page
    record(other, space_scene(), law="lcp")
    with viewing([space_run, other], port=0, play=False) as viewer:
        first = load(page, viewer)
        half = first.shape[1] // 2 + EDGE // 2
        sides = colored(first[:, :half]), colored(first[:, half:])
        assert min(sides) > 0.8 * max(sides) > 0
        assert page.get_by_text("lcp").first.is_visible()
        bright, gray = first.mean(axis=2), np.ptp(first, axis=2) < 25
        floor = float(np.median(bright[gray & (bright < 250)]))
        assert (gray & (bright < floor - 10) & (bright > 150)).sum() > 300, "no shadow on the floor"
        page.get_by_text("▶|", exact=True).click()
        until(page, lambda seen: differs(seen, first), "another picture at the end")
        assert viewer.page.player.time == pytest.approx(3.0)
        page.set_viewport_size({"width": 400, "height": 800})  # the panel covers the lower part
        clip = {"x": 0, "y": 0, "width": 400, "height": 310}

        def beside(_) -> bool:
            seen = np.asarray(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")).astype(int)
            sides = colored(seen[:, :200]), colored(seen[:, 200:])
            return min(sides) > 0.7 * max(sides) > 0

        until(page, beside, "both runs above the panel of a narrow window")


def test_bodies_that_come_and_go(page):
    """A disc without gravity, and a second one that is there in the middle third of the run."""
    late = Bodies(Disc(0.5), [[2.0, 0.0]], name="late", present=False)
    source, sink = Source("late", (2.0, 0.0), (2.0, 0.0), start=1.0, stop=1.1), Sink(bodies=("late",), start=2.0)
    scene = Scene("two", [Bodies(Disc(0.5), [[0.0, 0.0]]), late], sources=[source], sinks=[sink])
    with simulate(scene, duration=3.0, frame_rate=10.0) as run, viewing([run], port=0, play=False) as viewer:
        alone = colored(load(page, viewer))
        for time_shown, factor in ((1.5, 2.0), (2.5, 1.0)):
            number = page.locator(".mantine-NumberInput-input").first
            number.fill(str(time_shown))
            number.press("Enter")
            near = pytest.approx(factor * alone, rel=0.1)
            until(page, lambda seen, near=near: colored(seen) == near, f"{factor:g} discs at {time_shown}")

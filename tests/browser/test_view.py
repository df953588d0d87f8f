"""The viewer in a real browser: it shows the bodies where they are, in their colours, and does what it is told."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
from PIL import Image

from carom.colouring import Colouring
from carom.trajectory import Trajectory
from carom.viewer import viewing
from carom.viewer.look import WIDTH
from tests.viewer.made_runs import plane_scene, record, space_scene

SECONDS = 40.0  # until something must have happened: software rendering, perhaps beside other tests
NEAR = 14  # of 255 steps: colours are given to the page in 6 bits, and its curve is undone to a few steps


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
    clip = {"x": 0, "y": 0, "width": size["width"] - WIDTH - 8, "height": size["height"]}
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
        page.wait_for_timeout(400)
        after = picture(page)
        if not differs(before, after):
            return after
        before = after
    raise AssertionError("the picture never comes to rest")


def differs(one: np.ndarray, two: np.ndarray, least: int = 60) -> bool:
    """Whether so many pixels differ visibly."""
    return int((np.abs(one - two).max(axis=2) > 24).sum()) >= least


def coloured(seen: np.ndarray) -> int:
    """Pixels that are neither white nor grey: bodies."""
    return int((np.ptp(seen, axis=2) > 30).sum())


def opened(page, viewer) -> np.ndarray:
    page.goto(viewer.address)
    page.wait_for_selector("canvas")
    until(page, lambda seen: coloured(seen) > 300, "bodies on the page")
    if page.locator("[class*=Notification-closeButton]").count():  # "software rendering", over the picture
        page.locator("[class*=Notification-closeButton]").first.click()
    page.mouse.move(300, 600)
    return settled(page)


def at_body(seen: np.ndarray, viewer, path, frame: int, body: int) -> np.ndarray:
    """The pixel in the middle of a body, by the camera that the page should have."""
    layout = viewer.page.layout
    with Trajectory(path) as run:
        place = layout.placed(run.positions[frame], 0)[body]
    rows, columns = seen.shape[:2]
    view = layout.view((columns + 8) / rows)
    ahead = (view.target - view.eye) / np.linalg.norm(view.target - view.eye)
    right = np.cross(ahead, view.up)
    right /= np.linalg.norm(right)
    arm = place - view.eye
    scale = 0.5 * rows / np.tan(0.5 * view.angle) / float(arm @ ahead)
    x, y = 0.5 * (columns + 8) + scale * arm @ right, 0.5 * rows - scale * arm @ np.cross(right, ahead)
    return seen[round(float(y)), round(float(x))]


def test_a_run_of_the_plane_is_shown_where_and_as_it_is(page, plane_run):
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    with viewing([plane_run], port=0, play=False) as viewer:
        first = opened(page, viewer)
        page.get_by_role("combobox", name="Colour").click()
        page.get_by_role("option", name="speed", exact=True).click()
        settled(page)
        # Scrubbing: the box beside the slider takes a time.
        number = page.get_by_label("Time").last
        number.fill("2.5")
        number.press("Enter")
        later = until(page, lambda seen: differs(seen, first), "another picture at another time")
        assert viewer.page.player.time == pytest.approx(2.5)
        later = settled(page)
        with Trajectory(plane_run) as run:
            wanted = Colouring.of(run, "speed").rgb(25)
        for body in (1, 3, 4):  # discs that move carry a mark in their middle
            assert np.abs(at_body(later, viewer, plane_run, 25, body) - wanted[body]).max() <= NEAR
        assert not differs(settled(page), later)
    assert not faults, faults


def test_playing_moves_bodies_and_pausing_stops_them(page, plane_run):
    with viewing([plane_run], port=0, play=False) as viewer:
        first = opened(page, viewer)
        page.get_by_role("button", name="Play").click()
        until(page, lambda seen: differs(seen, first), "movement")
        page.get_by_role("button", name="Pause").click()
        still = settled(page)
        shown = viewer.page.player.time
        page.wait_for_timeout(500)
        assert viewer.page.player.time == shown and not differs(picture(page), still)
        page.get_by_text("|◀", exact=True).click()
        until(page, lambda seen: not differs(seen, first), "the first frame again")
        page.keyboard.press("l")
        until(page, lambda seen: viewer.page.player.time == pytest.approx(0.1), "one frame on")


def test_colours_contacts_and_impulses_change_the_picture(page, plane_run):
    with viewing([plane_run], port=0, play=False) as viewer:
        by_speed = opened(page, viewer)
        page.get_by_role("combobox", name="Colour").click()
        page.get_by_role("option", name="body", exact=True).click()
        by_body = until(page, lambda seen: differs(seen, by_speed), "other colours")
        page.get_by_label("Impulses").check()
        arrows = until(page, lambda seen: differs(seen, by_body, 30), "arrows")
        page.get_by_label("Impulses").uncheck()
        until(page, lambda seen: not differs(seen, by_body, 30), "no arrows any more")
        assert differs(arrows, by_body, 30)


def test_a_run_of_space_has_bodies_that_move_and_shadows(page, space_run):
    with viewing([space_run], port=0, play=False) as viewer:
        first = opened(page, viewer)
        grey = (np.ptp(first, axis=2) < 12) & (first.mean(axis=2) < 238) & (first.mean(axis=2) > 120)
        assert grey.sum() > 300, "no shadow on the floor"
        page.get_by_text("▶|", exact=True).click()
        until(page, lambda seen: differs(seen, first), "another picture at the end")
        assert viewer.page.player.time == pytest.approx(3.0)


def test_two_runs_stand_side_by_side(page, plane_run, tmp_path):
    other = tmp_path / "other.h5"
    record(other, plane_scene(), law="lcp")
    with viewing([plane_run, other], port=0, play=False) as viewer:
        seen = opened(page, viewer)
        half = seen.shape[1] // 2
        sides = coloured(seen[:, :half]), coloured(seen[:, half:])
        assert min(sides) > 0.8 * max(sides) > 0
        assert page.get_by_text("lcp").first.is_visible()

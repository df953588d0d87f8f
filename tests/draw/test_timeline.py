"""Instants between frames, trails, and the camera of the plane."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.draw.camera import camera_option_2d, camera_option_3d
from carom.draw.framing import Area, fitted, following, together, zooming
from carom.draw.timeline import Timeline, Traced
from carom.scene import Bodies, Disc, Periodic, Scene, Sphere
from carom.scenes import SCENES

PAGE = Area(0.0, 0.0, 1600.0, 900.0)


def test_places_between_frames_and_the_nearest_frame(ball):
    with carom.Trajectory(ball) as run:
        line = Timeline(run)
        assert line.at(0.3).state.position[0] == pytest.approx([0.6, 0.0])
        assert line.at(0.29).frame == 1 and line.at(0.31).frame == 2  # frames are at 0.2 and 0.4
        assert line.at(2.0).frame == len(run) - 1 and line.at(0.0).frame == 0


def test_times_outside_the_run_are_refused(ball):
    with carom.Trajectory(ball) as run:
        line = Timeline(run)
        assert line.check("--at", 2.0 + 1e-12) == 2.0
        for time in (-0.1, 2.1, float("nan")):
            with pytest.raises(carom.ProblemError, match="a time from 0 to 2"):
                line.check("--at", time)


def test_what_crosses_a_periodic_side_does_not_slide_back():
    ball = Bodies(Disc(0.1), [[0.9, 0.5]], velocity=[[1.0, 0.0]])
    scene = Scene("round", [ball], periodic=Periodic(x=(0.0, 1.0)), stepper="synchronous")
    run = carom.simulate(scene, "gr", duration=1.0, step=0.05, frame_rate=5)
    line = Timeline(run)
    places = np.array([line.at(t).state.position[0, 0] for t in np.linspace(0.0, 1.0, 101)])
    assert (np.abs(np.diff(places)) < 0.25)[np.abs(np.diff(places)) < 0.5].all()
    assert not ((places > 0.25) & (places < 0.75)).sum() > 55, "it was seen on its way back"
    _, tracks = line.tracks(0.0, 1.0, 100, Traced(np.arange(run.count), np.zeros((run.count, 2))))
    assert np.isnan(tracks).any(), "the trail has a gap where it jumps"


def test_a_traced_point_turns_with_its_body():
    """A body with a constant spin about one axis: the point describes a circle about the center, which moves."""
    disc = Bodies(Disc(1.0), [[0.0, 0.0]], velocity=[[1.0, 0.0]], angle=0.3, spin=2.0)
    ball = Bodies(Sphere(1.0), [[0.0, 0.0, 0.0]], velocity=[[1.0, 0.0, 0.0]], spin=(0.0, 0.0, 2.0))
    for bodies, offset in ((disc, [0.0, 0.5]), (ball, [0.0, 0.5, 0.2])):
        run = carom.simulate(Scene("turning", [bodies], stepper="synchronous"), "gr", duration=1.0, frame_rate=20)
        times, places = Timeline(run).tracks(0.0, 1.0, 100, Traced(np.array([0]), np.array([offset])))
        x, y = times - 0.5 * np.sin(2.0 * times), 0.5 * np.cos(2.0 * times)
        # Rotation in 3D is integrated with steps of 0.01: its error is of second order.
        assert places[:, 0, :2] == pytest.approx(np.stack([x, y], axis=1), abs=1e-3)
        assert places[:, 0, 2:] == pytest.approx(0.2)


def test_no_ball_of_a_pool_break_is_left_out():
    """The two outer balls of the last row fly much farther than the others."""
    run = carom.simulate(SCENES["pool_break"](), "gr", frame_rate=1.0)
    x, y = fitted(Timeline(run), PAGE, 10.0, 10.0).pixels(run.frame(-1).position).T
    assert (x > 0.0).all() and (x < 1600.0).all() and (y > 0.0).all() and (y < 900.0).all()


def test_quaternions_between_frames_have_unit_length(solid):
    with carom.Trajectory(solid) as run:
        line = Timeline(run)
        q = line.at(0.5 * float(run.time[1])).state.orientation
    assert np.linalg.norm(q, axis=1) == pytest.approx(1.0)


def test_the_window_holds_the_whole_run(ball):
    with carom.Trajectory(ball) as run:
        window = fitted(Timeline(run), PAGE, 0.0, 2.0)
    left, right = window.pixels(np.array([[-1.0, 0.0], [5.0, 0.0]]))
    assert 0.0 < left[0] < right[0] < 1600.0
    assert right[0] - left[0] > 0.85 * 1600.0, "it should be as large as fits"
    assert window.places(window.pixels(np.array([3.0, -2.0]))) == pytest.approx([3.0, -2.0])


def test_one_that_flies_away_does_not_make_the_others_tiny():
    rng = np.random.default_rng(1)
    places = np.concatenate([rng.uniform(-1.0, 1.0, (20 * 30, 2)), np.linspace([0.0, 0.0], [200.0, 0.0], 20)])
    kept = together(places, 31)
    assert kept[: 20 * 30].all() and not kept[-1]
    spread = rng.uniform(-1.0, 1.0, (600, 2))
    assert together(spread, 30).all(), "nothing is cut off without need"
    few = np.concatenate([np.zeros((40, 2)), np.linspace([0.0, 0.0], [4.0, 0.0], 10)])
    assert together(few, 5).all(), "of few bodies each one counts"


def test_a_camera_that_follows_keeps_its_body_in_the_middle(ball):
    with carom.Trajectory(ball) as run:
        line = Timeline(run)
        moving = following(line, PAGE, 0)
        for time in (0.0, 0.7, 2.0):
            assert moving.at(time).pixels(line.at(time).state.position)[0] == pytest.approx([800.0, 450.0])


def test_a_camera_that_zooms_never_comes_nearer(struck):
    with carom.Trajectory(struck) as run:
        moving = zooming(Timeline(run), PAGE, 0.0, 2.0)
        scale = [moving.at(t).scale for t in np.linspace(0.0, 2.0, 30)]
    assert (np.diff(scale) <= 1e-9).all()


def test_cameras_from_text():
    assert camera_option_2d("fit", 3).center is None and camera_option_2d(" ALL ", 3).everything
    assert camera_option_2d("follow:2", 3).body == 2 and camera_option_2d("1,-2.5,8", 3).center == (1.0, -2.5)
    assert camera_option_3d("azimuth=30, elevation=-10,target=1:2:3,turn=20").target == (1.0, 2.0, 3.0)
    for text in ("", "left", "1,2", "1,2,3,4", "1,2,0", "1,2,nan", "1,2,x", "follow:3", "follow:-1", "follow:x"):
        with pytest.raises(carom.ProblemError, match="--camera"):
            camera_option_2d(text, 3)
    for text in ("1,2,3", "azimuth", "azimuth=x", "elevation=91", "distance=0", "target=1:2", "tilt=3", "azimuth=inf"):
        with pytest.raises(carom.ProblemError, match="--camera"):
            camera_option_3d(text)

"""`carom render`: what it writes, and one clear line for what it cannot."""

from __future__ import annotations

import sys

import pytest
from PIL import Image

import carom
from carom.draw import encoding as encode
from carom.scene import Bodies, Material, Plane, Rectangle, Scene


def test_a_picture_and_its_report(render, ball, tmp_path):
    path = tmp_path / "still.png"
    done = render(ball, "-o", path, "--at", 1, "--size", "320x180")
    assert done.code == 0 and done.out.strip() == str(path)
    assert "one_ball, law gr: 320 x 180" in done.err
    with Image.open(path) as image:
        assert image.size == (320, 180)


def test_a_film_and_its_report(render, ball, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "film.mp4"
    done = render(ball, "-o", path, "--size", "320x180", "--fps", 10, "--color", "energy", "--trails")
    assert done.code == 0 and "21 pictures, 2.1 s, 320 x 180" in done.err
    assert path.stat().st_size > 1000


def test_missing_folders_are_made(render, ball, tmp_path):
    path = tmp_path / "new" / "deep" / "still.png"
    assert render(ball, "-o", path, "--size", "160x90").code == 0 and path.is_file()
    refused = render(ball, "-o", path / "below.png")
    assert refused.code == 2 and "a name in a folder" in refused.err


def test_rest_at_the_end_is_cut_and_told(render, tmp_path):
    """A box slides at speed 2 against friction 0.5: it rests after v / (mu g) = 0.4 of 6 units of time."""
    box = [Bodies(Rectangle(2.0, 0.2), [[0.0, 0.1]], velocity=[[2.0, 0.0]])]
    rough = {"default": Material(restitution=0.0, friction=0.5)}
    scene = Scene("slide", box, [Plane()], materials=rough, gravity=(0.0, -10.0))
    path = tmp_path / "slide.h5"
    with carom.simulate(scene, duration=6.0, output=path, frame_rate=20):
        pass
    done = render(path, "-o", tmp_path / "a.gif", "--size", "160x90", "--fps", 5)
    assert done.code == 0 and "--to 6 keeps them" in done.err
    assert "8 pictures" in done.err  # 0.4 of motion and 1 of rest, 5 pictures per unit
    kept = render(path, "-o", tmp_path / "b.gif", "--size", "160x90", "--fps", 5, "--to", 6)
    assert kept.code == 0 and "keeps them" not in kept.err and "31 pictures" in kept.err


def test_a_file_is_written_over_only_if_asked(render, ball, tmp_path):
    path = tmp_path / "still.png"
    path.write_bytes(b"old")
    refused = render(ball, "-o", path)
    assert refused.code == 2 and "--overwrite" in refused.err and path.read_bytes() == b"old"
    assert render(ball, "-o", path, "--overwrite", "--size", "160x90").code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("film.avi", [], ["--output", ".mp4", ".png"]),
        ("film", [], ["--output", ".mp4"]),
        ("a.png", ["--at", 7], ["--at", "7", "from 0 to 2"]),
        ("a.png", ["--at", -1], ["--at", "from 0 to 2"]),
        ("a.png", ["--at", "noon"], ["noon", "not a number"]),
        ("a.png", ["--at", "nan"], ["--at", "from 0 to 2"]),
        ("a.png", ["--color", "spede"], ["unknown color 'spede'", "did you mean 'speed'"]),
        ("a.png", ["--map", "jet"], ["unknown color map 'jet'", "cividis"]),
        ("a.png", ["--size", "big"], ["--size", "big", "1920x1080"]),
        ("a.png", ["--size", "10x10"], ["--size", "10x10", "pixels"]),
        ("a.png", ["--camera", "north"], ["--camera", "north", "follow"]),
        ("a.png", ["--camera", "follow:1"], ["--camera", "from 0 to 0"]),
        ("a.png", ["--impulses"], ["--impulses", "carom run", "ball.h5"]),
        ("a.png", ["--fps", 10], ["--fps", "films"]),
        ("a.png", ["--speed", 2], ["--speed", "films"]),
        ("a.mp4", ["--at", 1], ["--at", "--from"]),
        ("a.mp4", ["--from", 3], ["--from", "from 0 to 2"]),
        ("a.mp4", ["--from", 1, "--to", 1], ["--to", "after --from"]),
        ("a.mp4", ["--fps", 0], ["--fps", "above 0"]),
        ("a.mp4", ["--fps", 1000], ["--fps", "240"]),
        ("a.mp4", ["--speed", -1], ["--speed", "above 0"]),
        ("a.mp4", ["--size", "321x180"], ["--size", "321x180", "even"]),
        ("a.gif", ["--fps", 60], ["--fps", "50", "GIF"]),
    ],
)
def test_bad_input_is_one_line_and_touches_no_file(render, ball, tmp_path, name, options, words):
    if name.endswith(".mp4"):
        pytest.importorskip("imageio_ffmpeg")
    done = render(ball, "-o", tmp_path / name, *options)
    assert done.code == 2 and done.out == ""
    lines = done.err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("carom: ")
    for word in words:
        assert str(word) in lines[0], lines[0]
    assert not list(tmp_path.iterdir())


def test_cameras_of_the_plane_are_refused_in_space(render, solid, tmp_path):
    done = render(solid, "-o", tmp_path / "a.png", "--camera", "1,2,3")
    assert done.code == 2 and "azimuth=" in done.err


@pytest.mark.parametrize(
    ("content", "word"),
    [(None, "no such file"), (b"", "empty"), (b"hello world", "not an HDF5 file")],
)
def test_files_that_are_no_runs(render, tmp_path, content, word):
    path = tmp_path / "run.h5"
    if content is not None:
        path.write_bytes(content)
    done = render(path, "-o", tmp_path / "a.png")
    assert done.code == 2 and word in done.err and len(done.err.strip().splitlines()) == 1
    assert not (tmp_path / "a.png").exists()


def test_a_run_that_was_cut_off_by_a_copy(render, boxes, tmp_path):
    path = tmp_path / "run.h5"
    path.write_bytes(boxes.read_bytes()[:-5000])
    done = render(path, "-o", tmp_path / "a.png")
    assert done.code == 2 and "cut off" in done.err


def test_a_run_that_was_stopped_is_shown_as_far_as_it_went(render, folder, tmp_path):
    import carom
    from carom.scene import Bodies, Disc, Scene

    scene = Scene("stopped", [Bodies(Disc(1.0), [[0.0, 0.0]], velocity=[[1.0, 0.0]])], stepper="synchronous")

    def stop(progress):
        if progress.step >= 60:
            raise KeyboardInterrupt

    path = tmp_path / "run.h5"
    with pytest.raises(KeyboardInterrupt):
        carom.simulate(scene, "gr", duration=10.0, step=0.1, frame_rate=10, output=path, progress=stop)
    if not path.exists():
        pytest.skip("it was stopped before its first checkpoint")
    done = render(path, "-o", tmp_path / "a.png", "--size", "160x90")
    assert done.code == 0 and "was stopped; it is shown up to t =" in done.err
    assert "the run was stopped there" in render(path, "-o", tmp_path / "b.png", "--at", 10).err


def test_a_missing_extra_is_one_line_with_the_command(render, ball, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    done = render(ball, "-o", tmp_path / "a.mp4")
    assert done.code == 2 and len(done.err.strip().splitlines()) == 1
    assert encode.EXTRA in done.err and not list(tmp_path.iterdir())
    # Pictures and GIFs need none of it.
    assert render(ball, "-o", tmp_path / "a.gif", "--size", "160x90", "--to", 0.5).code == 0


def test_a_run_of_one_frame_makes_a_picture_and_no_film(render, ball, tmp_path):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "one.h5"
    with carom.Trajectory(ball) as run, pytest.raises(KeyboardInterrupt):  # interrupted after its first frame
        carom.simulate(run.scene, frame_rate=1e-3, output=path, progress=stop)
    assert "picture" in render(path, "-o", tmp_path / "a.gif").err
    assert render(path, "-o", tmp_path / "a.png", "--size", "160x90").code == 0


def test_a_long_film_is_announced_with_a_better_speed(render, ball, tmp_path):
    done = render(ball, "-o", tmp_path / "a.gif", "--speed", "4", "--size", "160x90")
    assert done.code == 0 and "the film will run for 0.5 s; --speed 0.1 makes it about 20 s" in done.err


def test_a_scene_is_run_up_to_its_picture(render, tmp_path):
    path = tmp_path / "scene.png"
    done = render("three_ball_chain", "-o", path, "--set", "va=0", "--at", 0.5, "--size", "320x180", "--law", "qce")
    assert done.code == 0 and "three_ball_chain, law qce: 320 x 180" in done.err


def test_a_scene_has_its_own_view(render, tmp_path):
    """The butterfly is drawn with trails and a color per ball; options replace both."""
    paths = [tmp_path / name for name in ("own.png", "plain.png")]
    for path, more in zip(paths, ((), ("--color", "speed", "--trail", "0"))):
        assert render("butterfly", "-o", path, "--at", 20, "--size", "320x180", "-q", *more).code == 0
    with Image.open(paths[0]) as own, Image.open(paths[1]) as plain:
        assert own.tobytes() != plain.tobytes()


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("pool_brake", [], ["unknown scene 'pool_brake'", "pool_break"]),
        ("pool_break", ["--at", "nan"], ["--at", "finite"]),
        ("pool_break", ["--at", -1], ["--at", "from 0 up"]),
        ("pool_break", ["--camera", "azimuth=3"], ["--camera", "follow"]),
        ("pool_break", ["--trail", 99], ["--trail", "from 0 to 55"]),
        ("pool_break", ["--set", "rows=0"], ["rows", "whole number"]),
        ("pool_break", ["--law", "grr"], ["unknown law 'grr'"]),
        ("none.h5", [], ["none.h5", "no such file"]),
    ],
)
def test_a_scene_that_cannot_be_drawn_is_refused_before_it_is_run(render, tmp_path, source, options, words):
    done = render(source, "-o", tmp_path / "a.png", *options)
    assert done.code == 2 and not list(tmp_path.iterdir())
    assert all(word in done.err for word in words), done.err


def test_parameters_are_not_for_runs(render, ball, tmp_path):
    for option in (("--law", "gr"), ("--set", "rows=3")):
        done = render(ball, "-o", tmp_path / "a.png", *option)
        assert done.code == 2 and option[0] in done.err and "is a run already" in done.err

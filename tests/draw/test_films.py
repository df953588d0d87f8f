"""Films: as many pictures as they should have, of the right size, moving, and whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time as clock

import numpy as np
import pytest
from PIL import Image

import carom
from carom.draw.films import Look, Span, write_film
from carom.draw.timeline import film_times

ffmpeg = pytest.importorskip("imageio_ffmpeg")

SMALL = Look(size=(320, 180))


def frames(path) -> tuple[np.ndarray, dict]:
    reader = ffmpeg.read_frames(str(path))
    meta = next(reader)
    wide, tall = meta["size"]
    return np.stack([np.frombuffer(f, np.uint8).reshape(tall, wide, 3) for f in reader]), meta


def test_a_film_has_its_pictures_size_and_length(ball, tmp_path):
    path, told = tmp_path / "film.mp4", []
    with carom.Trajectory(ball) as run:
        made = write_film(run, path, Span(0.0, 2.0, fps=20.0), SMALL, lambda done, count: told.append((done, count)))
    film, meta = frames(path)
    assert film.shape == (41, 180, 320, 3) and made.pictures == 41
    assert meta["fps"] == 20.0 and meta["codec"] == "h264" and meta["pix_fmt"].startswith("yuv420p")
    assert told[-1] == (41, 41) and [done for done, _ in told] == list(range(1, 42))
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]


def test_no_picture_is_blank_and_none_is_frozen(ball, tmp_path):
    path = tmp_path / "film.mp4"
    with carom.Trajectory(ball) as run:
        write_film(run, path, Span(0.0, 2.0, fps=10.0), Look(size=(320, 180), caption=False))
    film = frames(path)[0].astype(int)
    dark = (film < 230).any(axis=3)
    assert (dark.mean(axis=(1, 2)) > 0.01).all(), "a blank picture"
    # The ball moves by 0.2 length units from one picture to the next: several columns of pixels change for good.
    changed = (np.abs(np.diff(film, axis=0)) > 60).any(axis=3).mean(axis=(1, 2))
    assert (changed > 0.001).all(), "two pictures are the same"
    columns = [np.nonzero(d)[1].mean() for d in dark]
    assert (np.diff(columns) > 0.0).all(), "the ball moves to the right, picture by picture"


def test_speed_and_part_of_a_run(ball, tmp_path):
    path = tmp_path / "film.mp4"
    with carom.Trajectory(ball) as run:
        made = write_film(run, path, Span(0.5, 1.5, speed=2.0, fps=10.0), SMALL)
    assert made.pictures == 6 and len(frames(path)[0]) == 6


def test_times_of_a_film():
    assert film_times(0.0, 1.0, 4.0, 1.0).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert film_times(1.0, 2.0, 2.0, 1.0).tolist() == [1.0, 1.5, 2.0]
    assert film_times(0.0, 0.3, 10.0, 1.0) == pytest.approx([0.0, 0.1, 0.2, 0.3])  # rounding takes none away
    assert film_times(0.0, 10.0, 1.0, 4.0).tolist() == [0.0, 4.0, 8.0]


def test_a_gif_has_its_colors_and_its_length(struck, tmp_path):
    path = tmp_path / "film.gif"
    with carom.Trajectory(struck) as run:
        write_film(run, path, Span(0.0, 1.0, fps=30.0), Look(size=(320, 180), color="body", caption=False))
    with Image.open(path) as film:
        assert film.size == (320, 180) and film.n_frames == 31 and film.info["loop"] == 0
        lengths, pictures = [], []
        for k in range(film.n_frames):
            film.seek(k)
            lengths.append(film.info["duration"])
            pictures.append(np.asarray(film.convert("RGB")).astype(int))
    # Hundredths of a second: 30 a second are 3 or 4 of them, and right on the whole.
    assert set(lengths) == {30, 40} and sum(lengths) == pytest.approx(1000.0 * 31 / 30, abs=10)
    assert np.abs(pictures[0][3, 3] - 255).max() <= 2, "white stays white"
    assert (np.abs(pictures[0] - pictures[-1]).max(axis=2) > 60).mean() > 0.01
    for color in ((86, 180, 233), (230, 159, 0), (0, 158, 115)):
        assert (np.abs(pictures[0] - color).max(axis=2) <= 6).mean() > 0.005, "a body has lost its color"


def test_a_film_of_space(solid, tmp_path):
    path = tmp_path / "film.mp4"
    with carom.Trajectory(solid) as run:
        write_film(run, path, Span(0.0, 0.5, fps=8.0), SMALL)
    film = frames(path)[0].astype(int)
    assert len(film) == 5
    assert (np.abs(film[-1] - film[0]) > 40).any(axis=2).mean() > 0.005


def test_a_film_that_fails_leaves_nothing_and_keeps_the_old_one(ball, tmp_path):
    path = tmp_path / "film.mp4"
    path.write_bytes(b"the old film")

    def stop(done, count):
        if done == 3:
            raise KeyboardInterrupt

    with carom.Trajectory(ball) as run, pytest.raises(KeyboardInterrupt):
        write_film(run, path, Span(0.0, 2.0), SMALL, stop)
    assert path.read_bytes() == b"the old film"
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_killed_film_has_no_file_of_its_name(ball, tmp_path):
    path = tmp_path / "film.mp4"
    command = [sys.executable, "-m", "carom", "render", str(ball), "-o", str(path), "--speed", "0.01", "-q"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = clock.monotonic() + 120.0
    while not list(tmp_path.glob(".film.*")) and clock.monotonic() < until:
        clock.sleep(0.05)
        assert process.poll() is None, "it ended before it was killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not path.exists()

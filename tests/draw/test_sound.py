"""The sound of films: a tone at the time of each impact, as long as the film."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

import carom
from carom.draw.films import Look, Span, write_film
from carom.draw.sound import PEAK, RATE, SOFTEST, film_sound, mixed, tone
from carom.scene import Bodies, Disc, Scene

QUIET = 0.02  # of the peak: below is what the encoder adds


def three_discs() -> Scene:
    """A small disc strikes a large one at 0.5, and that one a third at 1.5: different pitches."""
    place, speed = [[-1.5, 0.0], [0.0, 0.0], [3.0, 0.0]], [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    discs = [Bodies(Disc(r), [p], velocity=[v]) for r, p, v in zip((0.25, 0.25, 0.75), place, speed)]
    return Scene("three", discs, stepper="time_of_impact")


def begins(samples: np.ndarray) -> float:
    """The time of the first sound."""
    return float(np.flatnonzero(np.abs(samples) > QUIET)[0]) / RATE


def test_tones_begin_with_the_impacts():
    with carom.simulate(three_discs(), duration=2.0, step=0.01) as run:
        times = run.events.impacts["time"]
        heard = film_sound(run, Span(0.0, 2.0, 1.0, 20.0), 40)
        assert len(heard) == 2 * RATE and np.abs(heard).max() == pytest.approx(PEAK)
        assert begins(heard) == pytest.approx(times[0], abs=2e-3)
        second = heard.copy()
        second[: int((times[1] - 0.05) * RATE)] = 0.0
        second[np.abs(second) < 0.1] = 0.0
        assert begins(second) == pytest.approx(times[1], abs=5e-3)
        slow = film_sound(run, Span(0.0, 2.0, 0.5, 20.0), 80)
        assert len(slow) == 4 * RATE and begins(slow) == pytest.approx(2.0 * times[0], abs=2e-3)


def test_mixing():
    """The sum of the tones, written out; soft impacts are not heard, smaller bodies sound higher."""
    time, size, radius = np.array([0.1, 0.3, 0.5]), np.array([1.0, 0.5 * SOFTEST, 1.0]), np.array([1.0, 1.0, 1.0])
    heard, sound = mixed(time, size, radius, RATE), tone(900.0)
    want = np.zeros(RATE)
    for t in (0.1, 0.5):
        k = round(t * RATE)
        want[k : k + len(sound)] += sound[: RATE - k]
    assert np.allclose(heard, want * PEAK / np.abs(want).max(), atol=1e-9)
    assert not mixed(time - 1.0, size, radius, RATE).any() and not mixed(time[:0], size[:0], radius[:0], 10).any()
    crossings = [np.count_nonzero(np.diff(np.sign(mixed(time, size, r * radius, RATE)))) for r in (0.5, 1.0, 2.0)]
    assert crossings[0] > crossings[1] > crossings[2]


def test_a_film_has_the_sound(tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "film.mp4"
    with carom.simulate(three_discs(), duration=1.0, step=0.01) as run:
        made = write_film(run, path, Span(0.0, 1.0, 1.0, 10.0), Look((64, 64), caption=False), sound=True)
        first = run.events.impacts["time"][0]
    decoded = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", str(path), "-f", "s16le", "-ac", "1", "-"]
    samples = np.frombuffer(subprocess.run(decoded, capture_output=True, check=True).stdout, "<i2") / 32768.0
    assert len(samples) / RATE == pytest.approx(made.seconds, abs=0.03)  # an AAC frame has 1024 samples
    assert np.abs(samples).max() > 0.5 and begins(samples) == pytest.approx(first, abs=0.03)


def test_what_has_no_sound(tmp_path, ball):
    with carom.Trajectory(ball) as run, pytest.raises(carom.ProblemError, match=r"--sound.*no events"):
        write_film(run, tmp_path / "film.mp4", Span(0.0, 1.0), Look((64, 64)), sound=True)
    assert not (tmp_path / "film.mp4").exists()

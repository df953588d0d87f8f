"""The clock of a page."""

from __future__ import annotations

import pytest

from carom import ProblemError
from carom.draw.viewer.player import Player, nice, speeds, usual_speed

TIMES = [0.0, 0.5, 1.0, 1.5, 2.0]


def test_it_stands_until_it_is_told_to_play():
    player = Player(TIMES)
    player.advance(1.0)
    assert (player.time, player.playing) == (0.0, False)
    player.speed = 0.5
    player.play()
    player.advance(1.0)
    assert player.time == pytest.approx(0.5)
    player.pause()
    player.advance(1.0)
    assert player.time == pytest.approx(0.5)


def test_at_the_end_it_stops_repeats_or_waits():
    player = Player(TIMES)
    player.speed, player.repeat = 1.0, False
    player.play()
    player.advance(5.0)
    assert (player.shown, player.playing) == (2.0, False)
    player.play()  # from the start again
    assert player.time == 0.0
    player.repeat = True
    player.advance(2.1)
    assert player.shown == 2.0 and player.playing  # the end stays for a moment
    player.advance(1.0)
    assert player.shown == 0.0
    player.advance(9.0, wait_at_end=True)
    player.extend([*TIMES, 2.5])
    assert player.time == 2.0
    player.advance(0.25)
    assert player.time == pytest.approx(2.25)


@pytest.mark.parametrize(
    ("time", "steps", "wanted"),
    [(0.0, 1, 0.5), (0.5, 1, 1.0), (0.7, 1, 1.0), (0.7, -1, 0.5), (1.0, -1, 0.5), (0.0, -1, 0.0), (2.0, 1, 2.0)],
)
def test_single_steps_go_from_frame_to_frame(time, steps, wanted):
    player = Player(TIMES)
    player.play()
    player.seek(time)
    player.step(steps)
    assert player.time == wanted and not player.playing


def test_seeking_stays_within_the_run():
    player = Player(TIMES)
    player.seek(-3.0)
    assert player.time == 0.0
    player.seek(99.0)
    assert player.time == 2.0


@pytest.mark.parametrize(("duration", "wanted"), [(10.0, 1.0), (4.0, 1.0), (1.0, 0.1), (2e4, 2e3), (0.0, 1.0)])
def test_the_usual_speed_makes_a_run_last_a_few_seconds(duration, wanted):
    assert usual_speed(duration) == pytest.approx(wanted)
    assert wanted in speeds(wanted)


def test_nice_numbers():
    assert [nice(v) for v in (0.11, 0.0034, 7.5, 0.9)] == pytest.approx([0.1, 0.005, 10.0, 1.0])


def test_a_run_without_frames_is_refused():
    with pytest.raises(ProblemError, match="no frames"):
        Player([])

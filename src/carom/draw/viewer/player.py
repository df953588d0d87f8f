"""The player: the time that a page shows, whether it advances, and how fast."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

import numpy as np

from ...errors import ProblemError

SHORTEST, LONGEST = 4.0, 25.0  # durations of runs in seconds between which the speed is 1
USUAL = 10.0  # seconds that other runs take
REST = 0.4  # seconds that the end is shown before a repetition


def nice(value: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten, by ratio."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(min((m * power for m in (1.0, 2.0, 5.0, 10.0)), key=lambda v: abs(np.log(v / value))))


def usual_speed(duration: float) -> float:
    """The default speed in units of time per second."""
    if not duration > 0.0:
        return 1.0
    return 1.0 if SHORTEST <= duration <= LONGEST else nice(duration / USUAL)


def speeds(usual: float) -> list[float]:
    """The speeds that can be chosen, from a hundredth to twenty times the default."""
    return [float(f"{usual * m:.3g}") for m in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)]


class Player:
    """The time of a page, in units of the run. Several threads may use it."""

    def __init__(self, times: Iterable[float], duration: float | None = None) -> None:
        self._times = [float(t) for t in times]  # times of the frames, increasing
        if not self._times:
            raise ProblemError("run", "no frames", "at least one frame")
        whole = self._times[-1] if duration is None else max(duration, self._times[-1])
        self._lock = threading.RLock()
        self.time = self._times[0]
        self.playing = False
        self.repeat = True
        self.speed = usual_speed(whole - self._times[0])

    @property
    def start(self) -> float:
        return self._times[0]

    @property
    def end(self) -> float:
        """The last time that can be shown now."""
        return self._times[-1]

    def extend(self, times: Iterable[float]) -> None:
        """Replaces the times of the frames, because the run has more of them."""
        with self._lock:
            self._times = [float(t) for t in times]

    def play(self) -> None:
        """Starts playing; from the start, if the time is at the end."""
        with self._lock:
            self.playing = True
            if self.time >= self.end:
                self.time = self.start

    def pause(self) -> None:
        self.playing = False

    def toggle(self) -> None:
        with self._lock:
            self.pause() if self.playing else self.play()

    def seek(self, time: float) -> None:
        with self._lock:
            self.time = min(max(float(time), self.start), self.end)

    def step(self, frames: int) -> None:
        """Moves forward by a number of frames, or back if it is negative, and stops playing."""
        with self._lock:
            self.playing = False
            slack = 1e-9 * max(1.0, abs(self.time))
            if frames > 0:
                here = bisect_right(self._times, self.time + slack) - 1
            else:  # between two frames the earlier one is a step back
                here = bisect_left(self._times, self.time - slack)
            self.time = self._times[min(max(here + frames, 0), len(self._times) - 1)]

    def advance(self, seconds: float, wait_at_end: bool = False) -> None:
        """Advances by some seconds of real time. At the end it starts again, stops, or waits for more frames."""
        with self._lock:
            if not self.playing:
                return
            self.time += self.speed * seconds
            if self.time < self.end:
                return
            length = self.end - self.start
            if wait_at_end:
                self.time = self.end
            elif self.repeat and length > 0.0:
                self.time = self.start if self.time > self.end + REST * self.speed else self.time
            else:
                self.time, self.playing = self.end, False

    @property
    def shown(self) -> float:
        """The time to show; the end during the rest before a repetition."""
        return min(self.time, self.end)

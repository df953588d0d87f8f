"""The clock of a page: what time is shown, whether it goes on by itself, how fast. It knows nothing of pages."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

import numpy as np

from ...errors import ProblemError

SHORTEST, LONGEST = 4.0, 25.0  # seconds that a run may take at one unit of time a second
USUAL = 10.0  # seconds that it takes otherwise


def nice(value: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten, by ratio."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(min((m * power for m in (1.0, 2.0, 5.0, 10.0)), key=lambda v: abs(np.log(v / value))))


def usual_speed(duration: float) -> float:
    """Units of time a second at which a run takes a few seconds: one, where that will do."""
    if not duration > 0.0:
        return 1.0
    return 1.0 if SHORTEST <= duration <= LONGEST else nice(duration / USUAL)


def speeds(usual: float) -> list[float]:
    """A choice of speeds, from a hundredth to twenty times the usual one."""
    return [float(f"{usual * m:.3g}") for m in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)]


class Player:
    """Time between 0 and the end, in the run's own unit. Safe to use from several threads."""

    def __init__(self, times: Iterable[float], duration: float | None = None) -> None:
        self._times = [float(t) for t in times]  # of frames, in rising order: single steps go from one to the next
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
        """The run has more frames."""
        with self._lock:
            self._times = [float(t) for t in times]

    def play(self) -> None:
        """Goes on; from the start, if it stands at the end."""
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
        """So many frames on, or back if negative; stops playing."""
        with self._lock:
            self.playing = False
            slack = 1e-9 * max(1.0, abs(self.time))
            if frames > 0:
                here = bisect_right(self._times, self.time + slack) - 1
            else:  # between two frames the one before is already a step back
                here = bisect_left(self._times, self.time - slack)
            self.time = self._times[min(max(here + frames, 0), len(self._times) - 1)]

    def advance(self, seconds: float, wait_at_end: bool = False) -> None:
        """What passes in so many seconds on the wall. At the end it starts again, stops, or waits for more frames."""
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
                self.time = self.start if self.time > self.end + 0.4 * self.speed else self.time
            else:
                self.time, self.playing = self.end, False

    @property
    def shown(self) -> float:
        """The time to show: during the short rest before a repetition, the end."""
        return min(self.time, self.end)

"""The frames of a run, read when they are needed and kept for the next time round; a run that goes on is followed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats
from ..trajectory import Trajectory

KEPT = 256 << 20  # bytes of frames in memory


class Frame(NamedTuple):
    """Where everything is in one frame."""

    index: int
    time: float
    position: Floats  # (n, D)
    orientation: Floats  # (n,) angles, or (n, 4)
    walls: Floats  # (w, 3), in space (w, 6): displacement and turn of each boundary


class Frames:
    """Reads a run's frames. One thread at a time."""

    def __init__(self, run: Trajectory) -> None:
        self.run = run
        self.problem: str | None = None  # the last frame that could not be read, in words
        self._kept: OrderedDict[int, Frame] = OrderedDict()
        self._lock = threading.Lock()
        self._stamp = self._stamp_now()

    @property
    def times(self) -> Floats:
        return self.run.time

    def index_at(self, time: float) -> int:
        """The last frame that is not after `time`; the first one before the start."""
        slack = 1e-9 * max(1.0, abs(time))
        return max(0, int(np.searchsorted(self.times, time + slack, side="right")) - 1)

    def at(self, index: int) -> Frame:
        """A frame. If its bytes are damaged, the nearest earlier one that can be read; `problem` says so."""
        with self._lock:
            for i in range(min(index, len(self.times) - 1), -1, -1):
                if i in self._kept:
                    self._kept.move_to_end(i)
                    return self._kept[i]
                try:
                    return self._keep(self._read(i))
                except ProblemError as error:
                    self.problem = f"frame {i:,} cannot be read; an earlier one is shown"
                    if i == 0:
                        raise error
            raise ProblemError("frame", index, "a run with at least one frame")

    def _read(self, i: int) -> Frame:
        run = self.run
        return Frame(i, float(run.time[i]), run.positions[i], run.orientations[i], np.asarray(run.wall_poses[i]))

    def _keep(self, frame: Frame) -> Frame:
        self._kept[frame.index] = frame
        size = frame.position.nbytes + frame.orientation.nbytes + frame.walls.nbytes
        while len(self._kept) * size > KEPT and len(self._kept) > 1:
            self._kept.popitem(last=False)
        return frame

    # ---- runs that go on

    def refresh(self) -> bool:
        """Opens the file again if it has changed; whether there is anything new. Frames never change once written."""
        path, stamp = self.run.path, self._stamp_now()
        if path is None or stamp == self._stamp:
            return False
        try:
            newer = Trajectory(path)
            frames, done = len(newer.time), newer.finished
        except (ProblemError, OSError):  # in the middle of a checkpoint: next time
            return False
        if frames < len(self.run.time):  # another run has taken its place: stay with what is open
            newer.close()
            return False
        grown = frames > len(self.run.time) or done != self.run.finished
        with self._lock:
            for name in ("scene", "world"):  # costly to make again
                if name in vars(self.run):
                    setattr(newer, name, vars(self.run)[name])
            older, self.run, self._stamp = self.run, newer, stamp
            older.close()
        return grown

    def _stamp_now(self) -> tuple[int, int] | None:
        path = self.run.path
        try:
            status = None if path is None else Path(path).stat()
        except OSError:
            status = None
        return None if status is None else (status.st_mtime_ns, status.st_size)

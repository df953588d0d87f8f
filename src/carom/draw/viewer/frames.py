"""The frames of a run, read when they are needed and kept for the next time round; a run that goes on is followed."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import ProblemError
from ...solvers.rows import Floats
from ...trajectory.file_locks import in_use
from .snapshots import committed, open_run

KEPT = 256 << 20  # bytes of frames in memory


class Frame(NamedTuple):
    """Where everything is in one frame."""

    number: int
    time: float
    position: Floats  # (n, D)
    orientation: Floats  # (n,) angles, or (n, 4)
    walls: Floats  # (w, 3), in space (w, 6): displacement and turn of each boundary


class Frames:
    """Reads a run's frames. One thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp = committed(path)
        self.run = open_run(path)
        self.problem: str | None = None  # the last frame that could not be read, in words
        self._kept: OrderedDict[int, Frame] = OrderedDict()

    @property
    def running(self) -> bool:
        """Whether the run still goes on."""
        return not self.run.finished and in_use(self.path)

    @property
    def times(self) -> Floats:
        return self.run.time

    def index_at(self, time: float) -> int:
        """The last frame that is not after `time`; the first one before the start."""
        slack = 1e-9 * max(1.0, abs(time))
        return max(0, int(np.searchsorted(self.times, time + slack, side="right")) - 1)

    def at(self, index: int) -> Frame:
        """A frame. If its bytes are damaged, the nearest earlier one that can be read; `problem` says so."""
        for i in range(min(index, len(self.times) - 1), -1, -1):
            if i in self._kept:
                self._kept.move_to_end(i)
                return self._kept[i]
            try:
                return self._keep(self._read(i))
            except ProblemError:
                self.problem = f"frame {i:,} cannot be read; an earlier one is shown"
                if i == 0:
                    raise
        raise ProblemError("frame", index, "a run with at least one frame")

    def _read(self, i: int) -> Frame:
        run = self.run
        return Frame(i, float(run.time[i]), run.positions[i], run.orientations[i], np.asarray(run.boundary_poses[i]))

    def _keep(self, frame: Frame) -> Frame:
        self._kept[frame.number] = frame
        size = frame.position.nbytes + frame.orientation.nbytes + frame.walls.nbytes
        while len(self._kept) * size > KEPT and len(self._kept) > 1:
            self._kept.popitem(last=False)
        return frame

    def refresh(self) -> None:
        """Opens the file again if there was a checkpoint since. Frames that were recorded stay as they are."""
        stamp = committed(self.path)
        if stamp is None or (stamp == self._stamp and self.running):
            return
        try:
            newer = open_run(self.path)
            shorter = len(newer.time) < len(self.run.time)
        except (ProblemError, OSError):  # next time
            return
        if shorter:  # another run has taken its place: stay with what is open
            newer.close()
            return
        for name in ("scene", "world"):  # costly to make again
            if name in vars(self.run):
                setattr(newer, name, vars(self.run)[name])
        older, self.run, self._stamp = self.run, newer, stamp
        older.close()

"""Runs that the viewer shows: opening files, reading frames on demand, following a run that is in progress."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import ProblemError
from ...hdf5.journal import Head, in_use, read_head
from ...solvers.rows import Floats
from ...trajectory import Trajectory

MOST = 2  # runs on one page
KEPT = 256 << 20  # bytes of frames in memory
IN_MEMORY = "in memory"  # the name of a run that has no file


class Frame(NamedTuple):
    """Positions and orientations in one frame."""

    number: int
    time: float
    position: Floats  # (n, D)
    orientation: Floats  # (n,) angles, or (n, 4) quaternions
    boundaries: Floats  # (w, 3), in 3D (w, 6): translation and rotation of each boundary
    present: np.ndarray | None = None  # (n,) which bodies are there; None for all, all the time


class Frames:
    """Reads the frames of a run and keeps them. Only one thread may use it at a time."""

    def __init__(self, source: Path | Trajectory) -> None:
        self.borrowed = isinstance(source, Trajectory)  # an open run, which belongs to the caller
        self.run = source if isinstance(source, Trajectory) else Trajectory(source)
        self.path = self.run.path or Path(IN_MEMORY)
        self._stamp = committed(self.path)
        self.problem: str | None = None  # describes the last frame that could not be read
        self._kept: OrderedDict[int, Frame] = OrderedDict()

    @property
    def running(self) -> bool:
        """Whether the run is still in progress."""
        return not self.run.finished and in_use(self.path)

    @property
    def times(self) -> Floats:
        return self.run.time

    def index_at(self, time: float) -> int:
        """The index of the last frame that is not after `time`, or of the first frame."""
        slack = 1e-9 * max(1.0, abs(time))
        return max(0, int(np.searchsorted(self.times, time + slack, side="right")) - 1)

    def at(self, index: int) -> Frame:
        """A frame. If it is damaged, the nearest earlier one that can be read; `problem` then says so."""
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
        present = run.lives[i] > 0 if run.changes else None
        walls = np.asarray(run.boundary_poses[i])
        return Frame(i, float(run.time[i]), run.positions[i], run.orientations[i], walls, present)

    def _keep(self, frame: Frame) -> Frame:
        self._kept[frame.number] = frame
        size = frame.position.nbytes + frame.orientation.nbytes + frame.boundaries.nbytes
        while len(self._kept) * size > KEPT and len(self._kept) > 1:
            self._kept.popitem(last=False)
        return frame

    def refresh(self) -> None:
        """Opens the file again if there was a checkpoint since. Frames that were recorded stay unchanged."""
        stamp = committed(self.path)
        if self.borrowed or stamp is None or (stamp == self._stamp and self.running):
            return
        try:
            newer = Trajectory(self.path)
            shorter = len(newer.time) < len(self.run.time)
        except (ProblemError, OSError):  # the next call tries again
            return
        if shorter:  # another run has replaced the file: the open one is kept
            newer.close()
            return
        for name in ("scene", "world"):  # expensive to build again
            if name in vars(self.run):
                setattr(newer, name, vars(self.run)[name])
        older, self.run, self._stamp = self.run, newer, stamp
        older.close()


# ---- runs in progress


def committed(path: Path) -> Head | None:
    """Identity and number of commits of a file, which change with every checkpoint; None if there is no file."""
    try:
        with io.FileIO(str(path), "rb") as raw:
            return read_head(raw)
    except OSError:
        return None


# ---- opening files


@dataclass
class Opened:
    """Runs that can be shown, and remarks about those that cannot be shown or only in part."""

    runs: list[Frames] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def close(self) -> None:
        for frames in self.runs:
            if not frames.borrowed:
                frames.run.close()


def open_runs(sources: Sequence[str | Path | Trajectory]) -> Opened:
    """Opens one or two files, or takes open runs. One that cannot be shown is an error unless the other can be."""
    if not 1 <= len(sources) <= MOST:
        raise ProblemError("RUN.h5", f"{len(sources)} files", "one file, or two to see side by side")
    out, problems = Opened(), []
    for source in sources:
        try:
            frames = _opened(source if isinstance(source, Trajectory) else Path(source))
        except (ProblemError, OSError) as error:
            problems.append(error)
            continue
        out.runs.append(frames)
        out.remarks += _remarks(frames)
    if not out.runs:
        raise problems[0]
    if len({frames.run.dimension for frames in out.runs}) > 1:
        names = " and ".join(str(frames.path) for frames in out.runs)
        out.close()
        raise ProblemError("RUN.h5", names, "two 2D runs, or two 3D runs")
    out.remarks = [f"{error}; the other run is shown alone" for error in problems] + out.remarks
    return out


def _opened(source: Path | Trajectory) -> Frames:
    path = Path(IN_MEMORY) if isinstance(source, Trajectory) else source
    part = path.with_name(path.name + ".part")
    if not path.exists() and part.exists():
        text = f"{path}: the run has not reached its first checkpoint; wait for it, or run the scene again"
        raise ProblemError("RUN.h5", str(path), "a file with a checkpoint", text)
    frames = Frames(source)
    run, path = frames.run, frames.path
    try:
        if not len(run.time) or not run.count:
            what = "frames" if not len(run.time) else "bodies"
            text = f"{path}: the file has no {what}; there is nothing to show"
            raise ProblemError("RUN.h5", str(path), f"a run with {what}", text)
        frames.at(0)
    except BaseException:
        if not frames.borrowed:
            run.close()
        raise
    return frames


def _remarks(frames: Frames) -> list[str]:
    run, out = frames.run, []
    if not run.finished and not frames.running:
        span = f"time {run.time[-1]:g} of {run.settings.duration:g}"
        out.append(f"{frames.path}: the run was stopped; it is shown up to its last checkpoint, {span}")
    last = len(run.time) - 1
    if frames.at(last).number != last:
        out.append(f"{frames.path}: {frames.problem}")
    return out

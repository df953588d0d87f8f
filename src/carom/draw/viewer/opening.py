"""Opening runs to look at: what is wrong with a file, and what of it can still be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import ProblemError
from .frames import Frames

MOST = 2  # runs on one page


@dataclass
class Opened:
    """Runs that can be shown, and remarks about those that cannot, or only in part."""

    runs: list[Frames] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def close(self) -> None:
        for frames in self.runs:
            frames.run.close()


def open_runs(paths: Sequence[str | Path]) -> Opened:
    """Opens one or two files. A file that cannot be shown is an error, unless the other one can."""
    if not 1 <= len(paths) <= MOST:
        raise ProblemError("RUN.h5", f"{len(paths)} files", "one file, or two to see side by side")
    out, problems = Opened(), []
    for path in map(Path, paths):
        try:
            frames = _opened(path)
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
        raise ProblemError("RUN.h5", names, "two runs of the plane, or two of space")
    out.remarks = [f"{error}; the other run is shown alone" for error in problems] + out.remarks
    return out


def _opened(path: Path) -> Frames:
    part = path.with_name(path.name + ".part")
    if not path.exists() and part.exists():
        text = f"{path}: the run has not reached its first checkpoint; wait for it, or run the scene again"
        raise ProblemError("RUN.h5", str(path), "a file with a checkpoint", text)
    frames = Frames(path)
    run = frames.run
    try:
        if not len(run.time) or not run.count:
            what = "frames" if not len(run.time) else "bodies"
            text = f"{path}: the file has no {what}; there is nothing to show"
            raise ProblemError("RUN.h5", str(path), f"a run with {what}", text)
        frames.at(0)
    except BaseException:
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

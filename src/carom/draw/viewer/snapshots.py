"""A copy in memory of the file of a run that still goes on.

Its recorder moves things within the file at every checkpoint, under the eyes of whoever has it open. Between two
checkpoints nothing that is committed changes, so that a copy made then is a whole file.
"""

from __future__ import annotations

import io
import time
from pathlib import Path

from ...errors import ProblemError
from ...trajectory import Trajectory
from ...trajectory.file_locks import in_use
from ...trajectory.journal import journal_of
from ...trajectory.safe_file import stored_end

TRIES = 20
PAUSE = 0.05  # seconds; a checkpoint takes a few milliseconds, of large runs some tenths of a second


def committed(path: Path) -> int | None:
    """How far the file is committed: grows with checkpoints. None while one is being made, or without a file."""
    try:
        if journal_of(path).exists():
            return None
        with io.FileIO(str(path), "rb") as raw:
            return stored_end(raw)
    except OSError:
        return None


def open_run(path: Path) -> Trajectory:
    """The run in a file: the file itself, or a copy of it if the run goes on."""
    for _ in range(TRIES):
        if not in_use(path):
            break
        try:
            found = _copy(path)
        except ProblemError:  # a checkpoint came between
            found = None
        if found is not None:
            return found
        time.sleep(PAUSE)
    return Trajectory(path)


def _copy(path: Path) -> Trajectory | None:
    end = committed(path)
    if end is None:
        return None
    data = path.read_bytes()[:end]
    if committed(path) != end:
        return None
    run = Trajectory(io.BytesIO(data))
    return run

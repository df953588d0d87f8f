"""Advisory file locks, so that two runs do not write the same file.

A recorder holds a *shared* lock on its file during its lifetime. It does not exclude readers: HDF5 itself takes a
shared lock to read. To start writing, a process must hold an exclusive lock for an instant, which fails while another
recorder, or another program, has the file open. The system releases the locks of a killed process. On systems without
such locks (Windows, some network drives) these functions have no effect.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


def try_alone(raw: io.FileIO) -> bool:
    """Whether no other process has locked the file; if so, the caller now holds a shared lock."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(raw.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    fcntl.flock(raw.fileno(), fcntl.LOCK_SH)
    return True


def in_use(path: Path) -> bool:
    """Whether a recorder or another program has the file open."""
    try:
        with io.FileIO(str(path), "rb") as raw:
            return not try_alone(raw)
    except OSError:
        return False


def still_named(raw: io.FileIO, path: Path) -> bool:
    """Whether `path` is still the name of the open file `raw`."""
    try:
        return os.path.samestat(os.fstat(raw.fileno()), os.stat(path))
    except FileNotFoundError:
        return False

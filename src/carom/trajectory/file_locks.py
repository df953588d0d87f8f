"""Who may write: advisory locks, so that two runs do not write one file.

A recorder holds a *shared* lock on its file for as long as it lives. Readers are not kept out: HDF5 itself takes a
shared lock to read. To start writing one must be alone for an instant, which fails beside a living recorder and
beside another program that has the file open. The system drops the locks of a killed process.
Where the system has no such locks (Windows, some network drives) all of this does nothing.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


def hold(raw: io.FileIO) -> None:
    """Waits until nobody else holds the file, and holds it until it is closed."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(raw.fileno(), fcntl.LOCK_EX)


def try_alone(raw: io.FileIO) -> bool:
    """Whether nobody else has locked the file; if so, it is from now on shared with readers only."""
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
    """Whether a recorder, or another program, has the file open."""
    try:
        with io.FileIO(str(path), "rb") as raw:
            return not try_alone(raw)
    except OSError:
        return False


def still_named(raw: io.FileIO, path: Path) -> bool:
    """Whether `path` still names the file that `raw` has open."""
    try:
        return os.path.samestat(os.fstat(raw.fileno()), os.stat(path))
    except FileNotFoundError:
        return False

"""Files of compiled kernels: the folder, reading with a checksum, atomic writing, and locks between processes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from ..files import atomic_path, user_cache

SUFFIX = ".kernel"
NESTED = ".nested.kernel"  # ending of a version that Python cannot call (see `nested.py`)
SHIPPED = Path(__file__).with_name("compiled")  # the kernels of the package itself (see `shipped.py`)
KEEP_DAYS = 60.0  # without use, after which a file is removed


@cache
def cache_folder() -> Path | None:
    """The folder of the compiled kernels: `kernels` in `user_cache`, a temporary folder, or None."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    for folder in (user_cache() / "kernels", Path(tempfile.gettempdir()) / f"carom-kernels-{user}"):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if os.access(folder, os.W_OK | os.X_OK) and _is_safe(folder):
                return folder
        except OSError:
            continue
    return None


def _is_safe(folder: Path) -> bool:
    """Machine code is loaded from here, so nobody else may own the folder or write to it."""
    if not hasattr(os, "getuid"):
        return True
    facts = folder.stat()
    return facts.st_uid == os.getuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def digest(text: str) -> str:
    """The part of a file name that stands for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def existing(path: Path) -> Path:
    """The file of a version that Python can call, where there is none of the version that kernels call; else `path`."""
    whole = path.with_name(path.name.replace(NESTED, SUFFIX))
    return whole if whole.exists() and not path.exists() else path


def read(path: Path) -> tuple[dict[str, Any], bytes] | None:
    """Facts and machine code of a file; None if there is none, or if it is damaged, in which case it is removed."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if path.parent != SHIPPED:
        with contextlib.suppress(OSError):
            os.utime(path)  # for prune
    checksum, _, rest = data.partition(b"\n")
    if hashlib.sha256(rest).hexdigest().encode() == checksum:
        facts, _, code = rest.partition(b"\n")
        return json.loads(facts), code
    remove(path)
    return None


def write(path: Path, facts: dict[str, Any], code: bytes) -> None:
    """Writes a file atomically; raises OSError or ProblemError if that is impossible."""
    rest = json.dumps(facts, separators=(",", ":")).encode() + b"\n" + code
    with atomic_path(path) as part:
        part.write_bytes(hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)


def prune(folder: Path, days: float = KEEP_DAYS) -> None:
    """Removes files that no process has used for some days, such as kernels of older versions."""
    oldest = time.time() - days * 86400.0
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def remove(path: Path) -> None:
    """Removes a file of the user's cache if the system allows it (Windows does not while another process reads it)."""
    if path.parent != SHIPPED:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def lock(path: Path) -> int | None:
    """Waits until no other process compiles the kernel of this file; None where files cannot be locked.

    The system frees the lock of a process that dies. The call graph of kernels has no cycles but that of a kernel
    with itself, so processes that wait for each other's kernels cannot block each other.
    """
    try:
        import fcntl

        handle = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        os.close(handle)
        return None
    return handle


def unlock(path: Path, handle: int | None) -> None:
    """Frees a lock. A process that still waits for the removed file gets it and finds the kernel compiled."""
    if handle is not None:
        remove(path.with_suffix(".lock"))
        os.close(handle)

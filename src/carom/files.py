"""Atomic writing of files, which are complete or do not exist, and strict JSON.

Trajectories are the exception: they grow during a run and have their own protocol (`carom.trajectory.safe_file`).
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import ProblemError


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields the path of a temporary file beside `target`, which replaces `target` when the block ends.

    If the block raises, the temporary file is removed and `target` is what it was. The temporary name ends in the
    suffix of the target, because encoders choose their format by it, and contains process and thread, so that several
    writers do not disturb each other: the last one to finish wins. Errors of the system name the target.

    Raises ProblemError if the target is a folder, or lies in a folder that does not exist.
    """
    target = Path(target)
    if target.is_dir():
        raise ProblemError(str(target), "a folder", "a file name")
    if not target.absolute().parent.is_dir():
        raise ProblemError(str(target), "no such folder", "a folder that exists")
    part = target.with_name(f".{target.stem}.{os.getpid()}.{threading.get_ident()}.part{target.suffix}")
    try:
        yield part
        os.replace(part, target)
    except OSError as error:
        if error.filename in (part, str(part)):
            error.filename, error.filename2 = str(target), None
        raise
    finally:
        part.unlink(missing_ok=True)


def write_text(target: str | os.PathLike[str], text: str) -> None:
    """Writes `text` in UTF-8, atomically."""
    with atomic_path(target) as part:
        part.write_text(text, encoding="utf-8")


def json_text(data: Any, indent: int | None = None) -> str:
    """Strict JSON, in which numbers that are not finite become null; NumPy scalars are converted."""
    return json.dumps(_finite(data), indent=indent, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    if hasattr(data, "item") and not isinstance(data, (str, bytes)):
        data = data.item()
    return None if isinstance(data, float) and not math.isfinite(data) else data

"""Files of bounded size, atomic writing (a file is complete or does not exist), strict JSON, modules of users.

Trajectories are the exception: they grow during a run and have their own protocol (`carom.hdf5.safe_file`).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import ProblemError

FACTOR = "CAROM_LIMITS"  # environment variable: multiplies all limits on the sizes of files and of what they declare
CACHE = "CAROM_CACHE_DIR"  # environment variable: the folder of all that is kept between runs
LARGEST_FILE = 64 << 20  # bytes


def user_cache() -> Path:
    """The folder of compiled kernels and distance grids: $CAROM_CACHE_DIR, or `carom` in the user's cache folder."""
    chosen = os.environ.get(CACHE)
    if chosen:
        return Path(chosen)
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "carom"


def limit(number: int) -> int:
    """A limit on what is read from files: `number`, times the number in the environment variable CAROM_LIMITS."""
    try:
        return int(number * max(1.0, float(os.environ.get(FACTOR, "1"))))
    except (ValueError, OverflowError):
        raise ProblemError(
            FACTOR, os.environ[FACTOR], "a number of at least 1, by which limits are multiplied"
        ) from None


def read_file(path: Path, kind: str, largest: int = LARGEST_FILE) -> bytes:
    """The bytes of a regular file of limited size; `kind` says in messages what the file should hold."""
    if not path.exists():
        raise ProblemError(str(path), "nothing", f"a {kind} file that exists")
    if path.is_dir():
        raise ProblemError(str(path), "a folder", f"a {kind} file")
    if not path.is_file():
        raise ProblemError(str(path), "a device or a pipe", f"a {kind} file")
    try:
        size = path.stat().st_size
        if size > limit(largest):
            most = f"at most {limit(largest):,} bytes, or {FACTOR}=10 in the environment"
            raise ProblemError(str(path), f"{size:,} bytes", most)
        return path.read_bytes()
    except OSError as wrong:
        raise ProblemError(str(path), wrong.strerror, "a file that can be read") from None


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
    part.unlink(missing_ok=True)  # a link of that name must not be followed
    try:
        yield part
        os.replace(part, target)
    except OSError as error:
        if error.filename in (part, str(part)):
            error.filename, error.filename2 = str(target), None
        raise
    finally:
        part.unlink(missing_ok=True)


def check_folder_of(field: str, target: Path) -> None:
    """Raises ProblemError, before any work, if `make_folder_of` could not make the folder of a file."""
    nearest = next(folder for folder in target.absolute().parents if folder.exists())
    if not nearest.is_dir():
        raise ProblemError(field, str(target), f"a name in a folder, which {nearest} is not")


def make_folder_of(field: str, target: Path) -> None:
    """Makes the folder of a file that is to be written, and the folders above it; `field` names the file in errors."""
    try:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        reason = wrong.strerror or str(wrong)
        raise ProblemError(field, str(target), f"a name in a folder that exists or can be made ({reason})") from None


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


def module_of(file: str, code: str) -> ModuleType:
    """The module that the Python text `code` of a user's `file` makes. Its classes can be dataclasses."""
    module = ModuleType(f"carom_{Path(file).stem}_{hashlib.sha256(code.encode()).hexdigest()[:8]}")
    module.__file__ = file
    sys.modules[module.__name__] = module  # dataclasses look up the module of their class
    try:
        exec(compile(code, file, "exec", dont_inherit=True), module.__dict__)
    except Exception as wrong:  # whatever the user's file raises
        raise ProblemError(file, f"{type(wrong).__name__}: {wrong}", "a Python file that can be imported") from wrong
    return module

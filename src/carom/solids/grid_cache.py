"""Distance grids on disk, under the user's cache folder. What cannot be read or written is no error."""

from __future__ import annotations

import contextlib
import os
import zipfile
from pathlib import Path

import numpy as np

from ..errors import ProblemError
from ..files import atomic_path
from ..solvers.rows import Floats


def cache_folder() -> Path:
    """CAROM_CACHE, or `carom` in XDG_CACHE_HOME, or ~/.cache/carom."""
    own = os.environ.get("CAROM_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "carom"


def fetch(key: str, shape: tuple[int, ...]) -> Floats | None:
    """The values kept under a key; None if there are none, or if the file is damaged (its checksums tell)."""
    try:
        with np.load(_file(key), allow_pickle=False) as kept:
            value = np.array(kept["value"])
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile):
        return None
    if value.shape != shape or value.dtype != np.float64 or not np.isfinite(value).all():
        return None
    return value


def keep(key: str, value: Floats) -> None:
    """Write the values: whole or not at all, since another process may read at the same time."""
    with contextlib.suppress(OSError, RuntimeError, ProblemError):  # RuntimeError: there is no home folder
        file = _file(key)
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(file) as part, part.open("wb") as stream:
            np.savez(stream, value=value)


def _file(key: str) -> Path:
    return cache_folder() / "distance" / f"{key}.npz"

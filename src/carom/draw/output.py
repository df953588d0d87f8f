"""File names of films and pictures."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import ProblemError

STILLS = (".png", ".svg", ".pdf")
FILMS = (".mp4", ".gif")


def checked_path(path: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """The file name, checked before any work."""
    target = Path(path)
    if target.suffix.lower() not in (*STILLS, *FILMS):
        wanted = f"a film ({', '.join(FILMS)}) or a picture ({', '.join(STILLS)})"
        raise ProblemError("--output", str(target), f"a name that ends as {wanted}")
    if target.is_dir():
        raise ProblemError("--output", str(target), "a file name; this is a folder")
    if not target.absolute().parent.is_dir():
        raise ProblemError("--output", str(target), f"a folder that exists: {target.absolute().parent} does not")
    if target.exists() and not overwrite:
        raise ProblemError("--output", str(target), "a new name, or --overwrite: this file exists")
    return target

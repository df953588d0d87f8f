"""Opening trajectory files, and one clear message for each that cannot be."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from ..errors import ProblemError
from .layout import FORMAT, VERSION
from .safe_file import SafeFile, open_safely, recover, stored_end

SIGNATURE = b"\x89HDF\r\n\x1a\n"
DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError)  # what h5py raises, depending on what is damaged


def open_to_read(path: Path) -> h5py.File:
    """The file as last committed.

    Through a file object and not by name: HDF5 would lock it against a run that is to be resumed, and would refuse
    to open it a second time with other settings in the same process.
    """
    check_bytes(path)
    redo = recover(path)
    raw = io.FileIO(str(path), "rb")
    pages, end = redo if redo is not None else ({}, stored_end(raw))
    with reading(path):
        file = h5py.File(SafeFile(raw, end, None, pages), "r")
    check_format(file, path)
    return file


def open_to_write(path: Path) -> tuple[SafeFile, h5py.File]:
    """The file to go on recording. Nothing is changed until the first commit."""
    check_bytes(path)
    try:
        safe = open_safely(path)
    except BlockingIOError:
        raise problem(path, "another program has it open; wait until that run has ended, or close the viewer") from None
    try:
        with reading(path):
            file = h5py.File(safe, "r+", libver="earliest")
        check_format(file, path)
    except ProblemError:
        safe.drop()
        safe.close()
        raise
    return safe, file


def check_bytes(path: Path) -> None:
    """Refuses what HDF5 would refuse, in words that say why."""
    if not path.exists():
        raise problem(path, "there is no such file")
    if path.is_dir():
        raise problem(path, "this is a folder, not a trajectory (a file such as run.h5)")
    with io.FileIO(str(path), "rb") as raw:
        size = raw.seek(0, os.SEEK_END)
        raw.seek(0)
        head = raw.read(8) or b""
        if size == 0:
            raise problem(path, "the file is empty; run the scene again")
        if head != SIGNATURE[: len(head)]:
            raise problem(path, "this is not an HDF5 file; trajectories are what `carom run` writes")
        end = stored_end(raw) if size >= 64 else 64
        if end > size:
            text = f"the file is cut off: {size:,} bytes of {end:,} are there; copy it again, or run the scene again"
            raise problem(path, text)


def check_format(file: h5py.File, path: Path) -> None:
    with reading(path):
        name, version = file.attrs.get("format"), file.attrs.get("version")
        writer = file.attrs.get("carom_version", "?")
    if name != FORMAT:
        file.close()
        raise problem(path, "an HDF5 file, but no trajectory of Carom; trajectories are what `carom run` writes")
    if version is None or version > VERSION:
        file.close()
        text = f"written by Carom {writer} in format {version}, and this version reads up to {VERSION}; upgrade Carom"
        raise problem(path, text)


@contextmanager
def reading(path: Path | None) -> Iterator[None]:
    """Turns whatever h5py raises about damaged bytes into one message."""
    try:
        yield
    except ProblemError:
        raise
    except DAMAGE as error:
        detail = " ".join(str(error).split())[:120]
        text = f"the file is damaged ({detail}); take a copy of it from before, or run the scene again"
        raise problem(path, text) from error


def problem(path: Path | None, text: str) -> ProblemError:
    name = "trajectory" if path is None else str(path)
    return ProblemError("trajectory", name, "a trajectory that Carom wrote", f"{name}: {text}")

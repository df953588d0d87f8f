"""Export of runs to formats of other programs: `carom export`, and `carom.export(run, path)`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ProblemError
from ..files import atomic_path, check_folder_of, make_folder_of
from ..trajectory import Trajectory

if TYPE_CHECKING:
    from ..solvers.rows import Ints
    from .content import Content

FORMATS = {
    ".html": "one web page that plays the run, without a server",
    ".glb": "glTF, binary, with animation",
    ".usdc": "Universal Scene Description, binary",
    ".usda": "Universal Scene Description, text",
    ".pvd": "VTK XML for ParaView, with a folder of .vtp files",
    ".csv": "tables of frames, bodies, impulses and events",
    ".npz": "NumPy arrays",
}
STEADY = (".glb", ".csv", ".npz")  # formats whose bodies have one color


def export(
    run: Trajectory | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    every: int = 1,
    start: float | None = None,
    end: float | None = None,
    color: str | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Writes a run in the format that the ending of `path` names: see FORMATS. Returns the files and folders written.

    `every` takes each `every`-th of the frames from time `start` to time `end`. `color`
    is a quantity of `carom.draw.colors`; the default is that of the viewer, or the body where a format has no colors
    that change with time. Files are complete or do not exist; missing folders are made.
    """
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in FORMATS:
        raise ProblemError("output", str(target), f"a name that ends in {', '.join(FORMATS)}")
    check_folder_of("output", target)
    if ending in (".usdc", ".usda"):
        from .usd import need_usd

        need_usd()
    opened: AbstractContextManager[Trajectory] = (
        nullcontext(run) if isinstance(run, Trajectory) else Trajectory(os.fspath(run))
    )
    with opened as trajectory:
        frames = chosen_frames(trajectory, every, start, end)
        for existing in _written_by(target, ending, trajectory):
            _check_free(existing, overwrite)
        from .content import Content, coloring_of

        content = Content(trajectory, frames, coloring_of(trajectory, color, ending in STEADY))
        make_folder_of("output", target)
        return _WRITERS[ending](content, target)


def chosen_frames(run: Trajectory, every: int, start: float | None, end: float | None) -> Ints:
    """Indices of the frames from time `start` to `end`, each `every`-th of them."""
    if isinstance(every, bool) or not isinstance(every, (int, np.integer)) or every < 1:
        raise ProblemError("every", every, "a whole number of at least 1")
    times = run.time
    if not len(times) or not run.count:
        raise ProblemError("run", str(run.path), "a run with frames and bodies")
    span = f"a time from {times[0]:g} to {times[-1]:g}"
    slack = 1e-9 * max(abs(float(times[0])), abs(float(times[-1])))
    low = float(times[0]) if start is None else float(start)
    high = float(times[-1]) if end is None else float(end)
    for name, value in (("start", low), ("end", high)):
        if not times[0] - slack <= value <= times[-1] + slack:
            raise ProblemError(name, value, span)
    found = np.flatnonzero((times >= low - slack) & (times <= high + slack))[::every]
    if not len(found):
        raise ProblemError("end", high, f"a time from which a frame lies between start = {low:g} and it")
    return found


# ---- writing


def _written_by(target: Path, ending: str, run: Trajectory) -> list[Path]:
    """The files and folders that an export makes, the named one last."""
    if ending == ".pvd":
        return [_folder(target), target]
    if ending == ".csv":
        extra = (
            ["bodies"]
            + (["impulses"] if run.settings.impulses else [])
            + (["events"] if run.events is not None else [])
        )
        return [*(_beside(target, name) for name in extra), target]
    return [target]


def _folder(target: Path) -> Path:
    return target.with_name(f"{target.stem}_frames")


def _beside(target: Path, name: str) -> Path:
    return target.with_name(f"{target.stem}_{name}{target.suffix}")


def _check_free(path: Path, overwrite: bool) -> None:
    """Raises ProblemError if the path may not be replaced, as a folder that contains anything but frames."""
    if not path.exists() and not path.is_symlink():
        return
    if path.suffix and path.is_dir():
        raise ProblemError("output", str(path), "a file name, not a folder")
    if not overwrite:
        raise ProblemError("output", str(path), "a file that does not exist yet, or overwrite=True (--overwrite)")
    if not path.suffix and (path.is_symlink() or not path.is_dir() or any(p.suffix != ".vtp" for p in path.iterdir())):
        raise ProblemError("output", str(path), "a folder of .vtp files only, because it would be replaced")


def _one_file(write: Callable[[Content, Path], None]) -> Callable[[Content, Path], list[Path]]:
    def written(content: Content, target: Path) -> list[Path]:
        with atomic_path(target) as part:
            write(content, part)
        return [target]

    return written


def _write_gltf(content: Content, path: Path) -> None:
    from .gltf import write

    write(content, path)


def _write_page(content: Content, path: Path) -> None:
    from .web_page import write

    write(content, path)


def _write_usd(content: Content, path: Path) -> None:
    from .usd import write

    write(content, path)


def _write_npz(content: Content, path: Path) -> None:
    from .tables import write_npz

    write_npz(content, path)


def _write_csv(content: Content, target: Path) -> list[Path]:
    from . import tables

    files = {_beside(target, "bodies"): tables.write_bodies_csv}
    if content.impulses(0) is not None:
        files[_beside(target, "impulses")] = tables.write_impulses_csv
    if content.run.events is not None:
        files[_beside(target, "events")] = tables.write_all_events_csv
    files[target] = tables.write_csv
    for path, write in files.items():
        with atomic_path(path) as part:
            write(content, part)
    return list(files)


def _write_paraview(content: Content, target: Path) -> list[Path]:
    """The folder is complete before it gets its name, and the collection that refers to it is written last."""
    from .paraview import write

    folder = _folder(target)
    part, old = (folder.with_name(f".{folder.name}.{os.getpid()}.{end}") for end in ("part", "old"))
    try:
        with atomic_path(target) as collection:
            write(content, collection, part, folder.name)
            if folder.exists():
                os.replace(folder, old)
            os.replace(part, folder)
    finally:
        for leftover in (part, old):
            shutil.rmtree(leftover, ignore_errors=True)
    return [folder, target]


_WRITERS: dict[str, Callable[[Content, Path], list[Path]]] = {
    ".html": _one_file(_write_page),
    ".glb": _one_file(_write_gltf),
    ".usdc": _one_file(_write_usd),
    ".usda": _one_file(_write_usd),
    ".pvd": _write_paraview,
    ".csv": _write_csv,
    ".npz": _one_file(_write_npz),
}

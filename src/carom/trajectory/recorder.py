"""Recording a run in its file, and resuming an unfinished recording."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..hdf5.journal import in_use, new_file, try_alone
from ..hdf5.safe_file import SafeFile
from ..hdf5.slots import Arrays, Slots, Written
from ..scene.model import Scene
from ..settings import Settings
from ..world import State, World
from .checkpoint import arrays_of, load, state_hash
from .events import check_memory, packed
from .format import (
    HASH,
    ORIENTATION,
    boundary_poses,
    create_file,
    extend_file,
    open_to_write,
    problem,
    read_scene,
    read_settings,
    reading,
)
from .interrupts import uninterrupted
from .series import Series

if TYPE_CHECKING:
    from .reader import Trajectory


class Recorder:
    """The file of a run. Only `checkpoint` and `finish` change what a reader, or a resumed run, finds in it.

    If the process dies between two checkpoints, the file is that of the first one.
    """

    def __init__(self, safe: SafeFile, file: h5py.File, path: Path | None, world: World | None) -> None:
        self.path, self._safe, self._file, self._world = path, safe, file, world
        frames = file["frames"]
        self._frames = {name: Series(frames[name]) for name in frames}
        self._dimension = int(frames["position"].shape[2])
        self._steps = Series(file["steps"])
        self._events = Series(file["events"]) if "events" in file else None
        self._checkpoints = Slots(file["checkpoint"], safe)
        self._open = True
        self._unnamed = self._overwrite = False

    # ---- creating and resuming

    @classmethod
    def create(
        cls,
        path: str | Path | None,
        scene: Scene,
        world: World,
        state: State,
        settings: Settings,
        overwrite: bool = False,
    ) -> Recorder:
        """Starts a new file, or a recording in memory if `path` is None.

        Until the first checkpoint the file is called `path`.part; then it replaces an older file of its name. A run
        that fails before leaves the older file as it was.
        """
        if path is None:
            safe, target = SafeFile(io.BytesIO(), 0, None), None
        else:
            target = Path(path)
            check_target(target, overwrite)
            safe = _part_of(target)
        try:
            file = create_file(safe, scene, world, state, settings)
        except BaseException:
            _discard(safe)
            raise
        recorder = cls(safe, file, target, world)
        recorder._unnamed, recorder._overwrite = target is not None, overwrite
        return recorder

    def _give_name(self) -> None:
        assert self.path is not None
        check_target(self.path, self._overwrite)  # again: another run may have created it meanwhile
        self._safe.move(self.path)
        self._unnamed = False

    @classmethod
    def resume(cls, path: str | Path, scene: Scene | None = None, steps: int | None = None) -> Resumed:
        """Opens an unfinished run to continue it from its last checkpoint.

        `scene` is needed only if the scene contains Python functions (forces and motions), which no file can hold.
        `steps` is a new number of steps of the whole run, which may be finished.
        """
        target = Path(path)
        safe, file = open_to_write(target)
        try:
            if file.attrs.get("finished", 0) and steps is None:
                raise problem(target, "this run is finished; a longer duration (--duration TIME) extends it")
            with reading(target):
                resumed = cls._taken_up(safe, file, target, scene, steps)
        except BaseException:
            safe.drop()
            file.close()
            safe.close()
            raise
        return resumed

    @classmethod
    def _taken_up(cls, safe: SafeFile, file: h5py.File, path: Path, scene: Scene | None, steps: int | None) -> Resumed:
        from ..build import build

        settings, whole = read_settings(file), read_scene(file, scene)
        if "impulses" in file:
            raise problem(
                path, "an older version recorded its impulses in another way; branch from it instead (--from)"
            )
        if steps is not None:
            settings = replace(settings, steps=steps)
            extend_file(safe, file, settings)
        state, memory, _ = load(file["checkpoint"])
        if ("life" in file["frames"]) != (state.life is not None):
            raise ValueError("frames and checkpoint do not agree on whether bodies appear and vanish")
        if "events" in file:
            check_memory(memory, len(file["events"]), len(state.position), len(file["world/boundary_kind"]), state)
        # The world is needed only for the poses of moving boundaries.
        world = build(whole, check_overlap=False)[0] if "boundary_pose" in file["frames"] else None
        return Resumed(cls(safe, file, path, world), whole, settings, state, memory)

    # ---- recording

    def frame(self, state: State) -> None:
        """Adds a frame."""
        for name in ("step", "time", "position", "velocity"):
            self._frames[name].append(getattr(state, name))
        self._frames[ORIENTATION[state.position.shape[1]]].append(state.orientation)
        if "life" in self._frames:
            self._frames["life"].append(state.life)
        if "boundary_pose" in self._frames:
            assert self._world is not None
            self._frames["boundary_pose"].append(boundary_poses(self._world, state.time))

    def step(self, row: Any) -> None:
        """Adds a row, or an array of rows, to the step table (`stepping.report.step_table`)."""
        if isinstance(row, np.ndarray) and row.ndim:
            self._steps.extend(row)
        else:
            self._steps.append(row)

    def events(self, rows: NDArray[np.float64]) -> None:
        """Adds events, as rows of numbers (`stepping.events`)."""
        if self._events is not None and len(rows):
            self._events.extend(packed(rows, self._dimension))

    def checkpoint(self, state: State, memory: Arrays) -> None:
        """Makes everything recorded so far permanent. A run that is killed later can be resumed from here."""
        with uninterrupted():
            self._save(state, memory)
            self._file.flush()
            self._commit()

    def _save(self, state: State, memory: Arrays) -> None:
        if len({series.count for series in self._frames.values()}) != 1:
            raise RuntimeError("a frame is incomplete, because it was interrupted; the last checkpoint is kept")
        for series in (*self._frames.values(), self._steps, *([] if self._events is None else [self._events])):
            series.flush()
        kept = memory if state.life is None else {**memory, "life": state.life}
        counts = self._frames["step"].count, self._steps.count
        self._checkpoints.save(arrays_of(state), kept, Written(state.step, state.time, *counts, state_hash(state)))

    def _commit(self) -> None:
        self._safe.commit()
        self._checkpoints.settle()
        if self._unnamed:
            self._give_name()

    # ---- closing

    def finish(self, state: State, memory: Arrays | None = None) -> Trajectory:
        """Completes the file with the last state and opens it for reading.

        With `memory`, the arrays besides the state on which the next step would depend, the run can be extended.
        """
        from .reader import Trajectory

        with uninterrupted():
            self._save(state, memory or {})
            self._file.attrs.modify("state_hash", np.array(state_hash(state).encode(), HASH))
            self._file.attrs.modify("finished", np.int8(1))
            self._close()
            self._commit()
            self._safe.close()
        raw = self._safe.raw
        return Trajectory(raw if isinstance(raw, io.BytesIO) else Path(self.path or ""))

    def leave(self) -> Trajectory:
        """Closes a run that is not finished, and opens it for reading; call `checkpoint` before."""
        from .reader import Trajectory

        raw = self._safe.raw
        if not isinstance(raw, io.BytesIO):
            self.abort()
            return Trajectory(Path(self.path or ""))
        with uninterrupted():
            self._close()
            self._safe.close()
        return Trajectory(raw)

    def abort(self) -> None:
        """Closes the file in the state of its last checkpoint, to be resumed; without a checkpoint it is removed."""
        if self._open:
            self._safe.drop()
            self._close()
            if self._unnamed:
                _discard(self._safe)
            self._safe.close()

    def _close(self) -> None:
        self._open = False
        self._file.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()


@dataclass(frozen=True, eq=False)
class Resumed:
    """An unfinished run at its last checkpoint, ready to continue."""

    recorder: Recorder
    scene: Scene
    settings: Settings
    state: State
    memory: dict[str, NDArray[Any]]


def check_target(path: Path, overwrite: bool) -> None:
    """Raises ProblemError if a new run may not write here. Changes nothing."""
    if path.is_dir():
        raise ProblemError("output", str(path), "the name of a file, not of a folder")
    if not path.parent.is_dir():
        raise ProblemError("output", str(path), f"a file in a folder that exists ({path.parent} does not)")
    if not os.access(path.parent, os.W_OK):
        raise ProblemError("output", str(path), f"a file in a folder that may be written ({path.parent} may not)")
    if not path.exists():
        return
    if not overwrite:
        raise ProblemError("output", str(path), "a file that does not exist yet, or overwrite=True (--overwrite)")
    if in_use(path):
        raise ProblemError("output", str(path), "a file that no other run is writing and no other program has open")


def _part_of(path: Path) -> SafeFile:
    """A new file beside `path`, with the suffix .part."""
    part = path.with_name(path.name + ".part")
    if part.is_file() and not part.is_symlink() and in_use(part):  # of another run before its first checkpoint
        raise ProblemError("output", str(path), "a file that no other run is starting to write")
    raw = new_file(part)
    try_alone(raw)
    return SafeFile(raw, 0, part)


def _discard(safe: SafeFile) -> None:
    safe.close()
    if safe.path is not None:
        safe.path.unlink(missing_ok=True)

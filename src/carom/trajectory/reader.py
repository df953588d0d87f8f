"""Reading a recorded run. Arrays of all frames are read from the file as far as they are indexed."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from ..geometry.rotations import SPIN_SHAPE, velocity_components
from ..hdf5.journal import in_use
from ..hdf5.slots import current
from ..scene.model import Scene
from ..settings import Settings
from ..shown import NOTEBOOK, Shown, counted
from ..stepping.report import ANGULAR_MOMENTUM, MOMENTUM, ContactImpulses
from ..world import State, World
from . import checkpoint
from .events import (
    Events,
    Unlisted,
    as_table,
    check_rows,
    impulses_between,
    listed_count,
    open_events,
    unlisted_of,
    unpacked,
)
from .format import (
    IMPULSES,
    ORIENTATION,
    SPINS,
    open_raw,
    open_to_read,
    read_json,
    read_scene,
    read_settings,
    reading,
    text_of,
)

Floats = NDArray[np.float64]
TOLERANCE_ROUNDING = 1e-12  # a residual that equals the tolerance may exceed it by the rounding of their common scale


class Trajectory(Shown):
    """A recorded run: k frames of n bodies in D dimensions. Frame 0 is the start; `time[i]` belongs to `positions[i]`.

    The file of a run that was killed, or is still running, ends at its last checkpoint. `positions`, `velocities`,
    `angles` and `spins` are LazyArrays; the other arrays are small and read on first use.
    """

    def __init__(self, source: str | Path | io.BytesIO, scene: Scene | None = None) -> None:
        self.path: Path | None = None
        self._viewer: Any = None  # of `view`
        self._given = scene
        if isinstance(source, io.BytesIO):
            self._file = open_raw(source, None)
        else:
            self.path = Path(source)
            self._file = open_to_read(self.path)

    # ---- the run

    @cached_property
    def scene(self) -> Scene:
        """The scene of the run."""
        with self._reading():
            return read_scene(self._file, self._given)

    @property
    def not_stored(self) -> list[str]:
        """Paths of the Python functions of the scene, such as a force, which no file can hold."""
        with self._reading():
            return list(read_json(self._file["scene"], "meta")["not_stored"])

    @cached_property
    def settings(self) -> Settings:
        """Law, models, stepper, time step, tolerance and recording interval of the run."""
        with self._reading():
            return read_settings(self._file)

    @cached_property
    def world(self) -> World:
        """The world, rebuilt from the scene."""
        from ..build import build

        scene = self.scene
        with self._reading():
            return build(scene, check_overlap=False)[0]

    @property
    def geometry(self) -> Mapping[str, Any]:
        """Arrays of the group /world by name (radius, kind, vertex, mass, boundary_point, ...). They need no scene."""
        return _Arrays(self)

    @property
    def name(self) -> str:
        """Name of the scene."""
        return text_of(self._attribute("scene"))

    @property
    def law(self) -> str:
        """Name of the law."""
        return text_of(self._attribute("law"))

    @property
    def tolerance(self) -> float | None:
        """Speed that the impulses of a step may leave, relative to the fastest approach or slip before them.

        That speed is at least what two steps of free fall gain. None for towers, which have bounds of their own.
        """
        return self.settings.tolerance

    @property
    def carom_version(self) -> str:
        """Version of Carom that started the run."""
        return text_of(self._attribute("carom_version"))

    @property
    def finished(self) -> bool:
        """Whether the run reached its end. If not, `carom run --resume` continues it."""
        return bool(self._attribute("finished"))

    @property
    def running(self) -> bool:
        """Whether a process is still recording the run; always False on systems without file locks."""
        return not self.finished and self.path is not None and in_use(self.path)

    @cached_property
    def state_hash(self) -> str:
        """SHA-256 of the state at the end, or at the last checkpoint of an unfinished run, in hexadecimal."""
        with self._reading():
            return text_of(current(self._file["checkpoint"])[0]["state_hash"])

    # ---- frames

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def time(self) -> Floats:
        """(k,) time of each frame."""
        return self._whole("frames/time")

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """(k,) step number of each frame."""
        return self._whole("frames/step")

    @property
    def count(self) -> int:
        """Number of bodies."""
        return int(self._file["frames/position"].shape[1])

    @property
    def dimension(self) -> int:
        """D: 2 or 3."""
        return int(self._file["frames/position"].shape[2])

    @property
    def positions(self) -> LazyArray:
        """(k, n, D) centers of mass."""
        return self._lazy("frames/position")

    @property
    def angles(self) -> LazyArray:
        """(k, n) angles in radians, not reduced modulo 2 pi; 2D only: 3D has `orientations`."""
        if self.dimension == 3:
            raise AttributeError("a 3D run has no angles: see orientations")
        return self._lazy("frames/angle")

    @property
    def orientations(self) -> LazyArray:
        """(k, n, 4) unit quaternions (w, x, y, z) from the body's principal axes to the world; in 2D (k, n) angles."""
        return self._lazy(f"frames/{ORIENTATION[self.dimension]}")

    @property
    def velocities(self) -> LazyArray:
        """(k, n, D) velocities of the centers of mass."""
        return self._lazy("frames/velocity", slice(0, self.dimension))

    @property
    def spins(self) -> LazyArray | Floats:
        """Angular velocities in radians per unit of time.

        The shape is (k, n) in 2D and (k, n, 3), about the body's principal axes, in 3D. They are zero if no body of
        the scene can rotate.
        """
        dim = self.dimension
        if self._file["frames/velocity"].shape[2] == dim:
            return np.broadcast_to(0.0, (len(self), self.count, *SPIN_SHAPE[dim]))
        return self._lazy("frames/velocity", SPINS[dim])

    @property
    def changes(self) -> bool:
        """Whether bodies may appear and vanish during the run."""
        return "life" in self._file["frames"]

    @property
    def lives(self) -> LazyArray | NDArray[np.int32]:
        """(k, n) which bodies are present: m > 0 for the m-th time, -m for absent after m times.

        Absent bodies stay where they were last, or where they were declared, at velocity 0.
        """
        if self.changes:
            return self._lazy("frames/life")
        return np.broadcast_to(np.int32(1), (len(self), self.count))

    @property
    def present(self) -> NDArray[np.bool_]:
        """(k, n) whether each body is present in each frame."""
        return np.asarray(self.lives) > 0

    @property
    def boundary_poses(self) -> LazyArray | Floats:
        """(k, w, 3) displacement and rotation of each boundary since time 0, about its center; in 3D (k, w, 6)."""
        if "boundary_pose" in self._file["frames"]:
            return self._lazy("frames/boundary_pose")
        return np.broadcast_to(
            0.0, (len(self), len(self.geometry["boundary_kind"]), velocity_components(self.dimension))
        )

    def frame(self, index: int) -> State:
        """The state of one frame; negative indices count from the end."""
        i = range(len(self))[index]
        with self._reading():
            group = self._file["frames"]
            arrays = (group["position"][i], group[ORIENTATION[self.dimension]][i], group["velocity"][i])
            life = group["life"][i] if self.changes else None
        return State(float(self.time[i]), int(self.step[i]), *arrays, life)

    def frames(self) -> Iterator[State]:
        """The states of all frames, one at a time."""
        return (self.frame(i) for i in range(len(self)))

    # ---- events

    @cached_property
    def events(self) -> Events | None:
        """The table of events, ordered by time: every impact, and every period of resting contact with its impulse.

        None if the run did not record events. Periods that had not ended at the end of the run are included. Events
        beyond the budget of the run are in `unlisted_events`.
        """
        if "events" not in self._file:
            return None
        with self._reading():
            stored, memory, walls = self._file["events"][()], self._memory, len(self.geometry["boundary_kind"])
            if len(stored) != listed_count(memory):
                raise ValueError("the table of events does not fit the checkpoint")
            check_rows(stored, self.count, walls, self.last)
            left = open_events(memory, self.count, walls, self.last)
            return as_table(unpacked(np.concatenate([stored, left]), self.dimension), self.dimension)

    @cached_property
    def unlisted_events(self) -> Unlisted | None:
        """Sums of the events that the budget of the run did not allow to list; None if events were not recorded."""
        if "events" not in self._file:
            return None
        with self._reading():
            return unlisted_of(self._memory, self.count, self.dimension)

    def impulses(self, index: int) -> ContactImpulses | None:
        """Contact impulses of the time from the frame before to this one; None if the run did not record events.

        They are exact if the run was recorded with `impulses`. Otherwise that of a period of rest that goes on for
        longer is distributed evenly over the period. Files of format 4 have those of the step before the frame only.
        """
        i = range(len(self))[index]
        if "impulses" in self._file:
            with self._reading():
                group = self._file["impulses"]
                start, stop = (int(group["ptr"][i - 1]) if i else 0), int(group["ptr"][i])
                return ContactImpulses(**{name: group[name][start:stop] for name in IMPULSES})
        if self.events is None:
            return None
        begin, end = (int(self.step[i - 1]), int(self.step[i])) if i else (-1, -1)
        return impulses_between(self.events, begin, end, self.settings.step)

    @cached_property
    def _memory(self) -> dict[str, NDArray[Any]]:
        """The memory of the last checkpoint."""
        with self._reading():
            return checkpoint.load(self._file["checkpoint"])[1]

    @cached_property
    def last(self) -> State:
        """The state of the last checkpoint. For a finished run that is its end, even if no frame was recorded there."""
        with self._reading():
            return checkpoint.load(self._file["checkpoint"])[0]

    # ---- energies and momenta per frame, of the free bodies

    @cached_property
    def kinetic(self) -> Floats:
        """(k,) kinetic energy."""
        return self._at_frames("kinetic")

    @cached_property
    def potential(self) -> Floats:
        """(k,) potential energy in uniform gravity, zero at the origin. A force in Python does not contribute."""
        return self._at_frames("potential")

    @property
    def energy(self) -> Floats:
        """(k,) kinetic plus potential energy."""
        return self.kinetic + self.potential

    @cached_property
    def momentum(self) -> Floats:
        """(k, D) linear momentum."""
        return np.stack([self._at_frames(name) for name in MOMENTUM[self.dimension]], axis=1)

    @cached_property
    def angular_momentum(self) -> Floats:
        """Angular momentum about the origin: (k,) in 2D, (k, 3) in 3D."""
        columns = np.stack([self._at_frames(name) for name in ANGULAR_MOMENTUM[self.dimension]], axis=1)
        return columns.reshape(len(self), *SPIN_SHAPE[self.dimension])

    @cached_property
    def steps(self) -> NDArray[Any]:
        """The step table: one row for the start and one per step, with columns as in `stepping.report.step_table`."""
        return self._whole("steps")

    @cached_property
    def missed_steps(self) -> NDArray[np.int64]:
        """Numbers of the steps whose residual is above the tolerance, ascending."""
        if self.tolerance is None:
            return np.zeros(0, np.int64)
        return np.asarray(self.steps["step"][~(self.steps["residual"] <= self.tolerance * (1.0 + TOLERANCE_ROUNDING))])

    def _at_frames(self, name: str) -> Floats:
        """A column of the step table, at the steps of the frames."""
        rows = np.searchsorted(self.steps["step"], self.step)
        with self._reading():
            if len(self.step) and not np.array_equal(self.steps["step"][rows], self.step):
                raise ValueError("a frame has no row in the step table")
        return np.asarray(self.steps[name][rows])

    def derivative(self, wrt: Any, times: Any = None) -> Any:
        """State and derivatives at the end of the run, or at some times, with respect to numbers of the scene.

        `wrt` are paths such as "materials.default.restitution": see docs/derivatives.md. The run is made again with its
        own settings; `carom.sensitivity` keeps what that takes for more derivatives, and has the reverse mode.
        """
        from ..sensitivities.run import sensitivity

        return sensitivity(self).derivative(wrt, times)

    def to_xarray(self) -> Any:
        """The run as an `xarray.Dataset` with the dimensions time, body and component; needs the extra `xarray`.

        Units are those of the scene, as the attribute `units` of each variable in terms of length, time and mass.
        """
        from .dataset import dataset_of

        return dataset_of(self)

    def view(self, height: int = 640) -> Any:
        """The viewer of the run as an inline frame of a notebook, `height` pixels high; needs the extra `view`.

        The page is served on this machine until the run is closed, the next call, or the end of the process.
        `carom view` shows a file outside notebooks.
        """
        if self._viewer is not None:
            self._viewer.close()
        self._viewer = importlib.import_module(NOTEBOOK).view(self, height)
        return self._viewer

    # ---- the file

    def close(self) -> None:
        """Closes the file; arrays that were not read are no longer available."""
        if self._viewer is not None:
            self._viewer.close()
        self._file.close()

    def __enter__(self) -> Trajectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self._file:
            return f"<Trajectory {self.path or 'in memory'}, closed>"
        s = self.settings
        done = "finished" if self.finished else f"stopped at step {self.last.step:,} of {s.steps:,}"
        time = f"t = {self.time[0]:g} .. {self.time[-1]:g}"
        bodies = counted(self.count, "body", "bodies")
        return f"<Trajectory {self.name}: law {s.law}, {bodies}, {len(self):,} frames, {time}, {done}>"

    def _attribute(self, name: str) -> Any:
        with self._reading():
            return self._file.attrs[name]

    def _whole(self, name: str) -> NDArray[Any]:
        with self._reading():
            return np.asarray(self._file[name][()])

    def _lazy(self, name: str, last: slice | int | None = None) -> LazyArray:
        with self._reading():
            return LazyArray(self._file[name], last, self._reading)

    def _reading(self) -> Any:
        if not self._file:
            raise ValueError(f"the trajectory {self.path or 'in memory'} has been closed")
        return reading(self.path)


class _Arrays(Mapping[str, Any]):
    def __init__(self, owner: Trajectory) -> None:
        self._owner = owner

    def __getitem__(self, name: str) -> Any:
        if name not in self._owner._file["world"]:
            raise KeyError(name)
        return self._owner._whole(f"world/{name}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._owner._file["world"])

    def __len__(self) -> int:
        return len(self._owner._file["world"])


class LazyArray(NDArrayOperatorsMixin):
    """An array of shape (k, n, ...) in a file, of which only the indexed part is read.

    `run.positions[-1]` reads one frame, `run.positions[:, 5]` the path of one body. Arithmetic, NumPy functions and
    array methods read the whole array. `last` selects components of the dataset's last axis: a slice, or an index.
    """

    def __init__(
        self,
        dataset: h5py.Dataset,
        last: slice | int | None = None,
        guard: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._dataset, self._last, self._guard = dataset, last, guard
        shape = tuple(dataset.shape)
        if isinstance(last, slice):
            shape = (*shape[:-1], len(range(*last.indices(shape[-1]))))
        self.shape: tuple[int, ...] = shape[:-1] if isinstance(last, int) else shape
        self.dtype = dataset.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if not _basic(keys) or len(keys) > self.ndim:
            return np.asarray(self)[key]
        return self._read(tuple(_within(k, size) for k, size in zip(keys, self.shape)))

    def _read(self, keys: tuple[int | slice, ...]) -> Any:
        whole = (*keys, *(slice(0, size) for size in self.shape[len(keys) :]))
        if isinstance(self._last, int):
            whole = (*whole, self._last)
        elif self._last is not None:
            whole = (*whole[:-1], _shifted(whole[-1], self._last.start or 0))
        with self._guard():
            return self._dataset[whole]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array: NDArray[Any] = np.asarray(self._read(()))
        return array if dtype is None else array.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*(np.asarray(x) if isinstance(x, LazyArray) else x for x in inputs), **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(np.asarray(self), name)

    def __repr__(self) -> str:
        return f"LazyArray(shape={self.shape}, dtype={self.dtype}, {self.nbytes / 1e6:.1f} MB when read)"


def _basic(keys: tuple[Any, ...]) -> bool:
    """Whether h5py supports the index: integers and slices with positive step."""
    return all(
        (isinstance(k, (int, np.integer)) and not isinstance(k, (bool, np.bool_)))
        or (isinstance(k, slice) and (k.step is None or k.step > 0))
        for k in keys
    )


def _within(key: Any, size: int) -> int | slice:
    if isinstance(key, slice):
        start, stop, step = key.indices(size)
        return slice(start, max(start, stop), step)
    index = int(key)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range for {size}")
    return index % size


def _shifted(key: int | slice, by: int) -> int | slice:
    return slice(key.start + by, key.stop + by, key.step) if isinstance(key, slice) else key + by

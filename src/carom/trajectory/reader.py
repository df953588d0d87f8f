"""A recorded run: everything lazily read from its file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..scene.model import Scene
from ..settings import Settings
from ..stepping.report import ContactImpulses
from ..world import State, World
from . import checkpoint
from .file_locks import in_use
from .layout import IMPULSES, ORIENTATION, read_scene, read_settings
from .lazy import LazyArray
from .opening import check_format, open_to_read, reading

Floats = NDArray[np.float64]


class Trajectory:
    """What a run recorded. Frames are counted from 0, the start; `time[i]` belongs to `positions[i]`.

    A file of a run that was killed, or still goes on, ends at its last checkpoint. `positions`, `velocities`,
    `angles` and `spins` are read as far as they are indexed; the rest is small and read on first use.
    """

    def __init__(self, source: str | Path | io.BytesIO, scene: Scene | None = None) -> None:
        self.path = None if isinstance(source, io.BytesIO) else Path(source)
        self._given = scene
        if self.path is not None:
            self._file = open_to_read(self.path)
        else:
            self._file = h5py.File(source, "r")
            check_format(self._file, Path("trajectory in memory"))

    # ---- the run

    @cached_property
    def scene(self) -> Scene:
        with self._reading():
            return read_scene(self._file, self._given)

    @cached_property
    def settings(self) -> Settings:
        with self._reading():
            return read_settings(self._file)

    @cached_property
    def world(self) -> World:
        """The world, built again from the scene."""
        from ..build import build

        return build(self.scene, check_overlap=False)[0]

    @property
    def geometry(self) -> Mapping[str, Any]:
        """Arrays of the group /world by name: radius, kind, vertex, mass, boundary_point ...; needs no scene."""
        return _Arrays(self)

    @property
    def name(self) -> str:
        return str(self._attribute("scene"))

    @property
    def law(self) -> str:
        return str(self._attribute("law"))

    @property
    def carom_version(self) -> str:
        return str(self._attribute("carom_version"))

    @property
    def finished(self) -> bool:
        """Whether the run came to its end. If not, `carom run --resume` goes on with it."""
        return bool(self._attribute("finished"))

    @property
    def running(self) -> bool:
        """Whether the run still goes on; where files cannot be locked this is not known, and False."""
        return not self.finished and self.path is not None and in_use(self.path)

    @cached_property
    def state_hash(self) -> str:
        """SHA-256 of the state at the end, or at the last checkpoint of a run that was stopped."""
        with self._reading():
            records = self._file["checkpoint/record"][()]
        return str(records[np.argmax(records["serial"])]["state_hash"].decode())

    # ---- frames

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def time(self) -> Floats:
        return self._whole("frames/time")

    @cached_property
    def step(self) -> NDArray[np.int64]:
        return self._whole("frames/step")

    @property
    def count(self) -> int:
        """Number of bodies."""
        return int(self._file["frames/position"].shape[1])

    @property
    def dimension(self) -> int:
        """Number of axes: 2 or 3."""
        return int(self._file["frames/position"].shape[2])

    @property
    def positions(self) -> LazyArray:
        """(k, n, D)"""
        return self._lazy("frames/position")

    @property
    def angles(self) -> LazyArray:
        """(k, n), radians; not wrapped round. Bodies of space have `orientations` instead."""
        if self.dimension == 3:
            raise AttributeError("bodies of space have no angles: see orientations")
        return self._lazy("frames/angle")

    @property
    def orientations(self) -> LazyArray:
        """(k, n, 4), unit quaternions (w, x, y, z) from the body's principal axes to the world; in the plane angles."""
        return self._lazy(f"frames/{ORIENTATION[self.dimension]}")

    @property
    def velocities(self) -> LazyArray:
        """(k, n, D)"""
        return self._lazy("frames/velocity", slice(0, self.dimension))

    @property
    def spins(self) -> LazyArray | Floats:
        """(k, n), radians / time; zeros if nothing in the scene can turn. In space (k, n, 3), about the body's axes."""
        dim = self.dimension
        if self._file["frames/velocity"].shape[2] == dim:
            return np.broadcast_to(0.0, (len(self), self.count) if dim == 2 else (len(self), self.count, 3))
        return self._lazy("frames/velocity", 2 if dim == 2 else slice(3, 6))

    @property
    def boundary_poses(self) -> LazyArray | Floats:
        """(k, w, 3): displacement and turn of each boundary since time 0, about its center; in space (k, w, 6)."""
        if "boundary_pose" in self._file["frames"]:
            return self._lazy("frames/boundary_pose")
        return np.broadcast_to(0.0, (len(self), len(self.geometry["boundary_kind"]), 3 * self.dimension - 3))

    def frame(self, index: int) -> State:
        """The state of one frame; negative numbers count from the end."""
        i = range(len(self))[index]
        with self._reading():
            group = self._file["frames"]
            arrays = (group["position"][i], group[ORIENTATION[self.dimension]][i], group["velocity"][i])
        return State(float(self.time[i]), int(self.step[i]), *arrays)

    def frames(self) -> Iterator[State]:
        return (self.frame(i) for i in range(len(self)))

    def impulses(self, index: int) -> ContactImpulses | None:
        """Impulses of the step that led to a frame; None if the run did not record them."""
        if "impulses" not in self._file:
            return None
        i = range(len(self))[index]
        with self._reading():
            group = self._file["impulses"]
            start, stop = (int(group["ptr"][i - 1]) if i else 0), int(group["ptr"][i])
            return ContactImpulses(**{name: group[name][start:stop] for name in IMPULSES})

    @cached_property
    def last(self) -> State:
        """The state of the last checkpoint: of a finished run, its end, whether or not a frame fell on it."""
        with self._reading():
            return checkpoint.load(self._file["checkpoint"])[0]

    # ---- energies and momenta, one value for each frame

    @cached_property
    def kinetic(self) -> Floats:
        return self._at_frames("kinetic")

    @cached_property
    def potential(self) -> Floats:
        """In uniform gravity, zero at the origin; a force in Python has none."""
        return self._at_frames("potential")

    @property
    def energy(self) -> Floats:
        return self.kinetic + self.potential

    @cached_property
    def momentum(self) -> Floats:
        """(k, D)"""
        return np.stack([self._at_frames(f"momentum_{axis}") for axis in "xyz"[: self.dimension]], axis=1)

    @cached_property
    def angular_momentum(self) -> Floats:
        """About the origin; in space (k, 3)."""
        if self.dimension == 2:
            return self._at_frames("angular_momentum")
        return np.stack([self._at_frames(f"angular_momentum_{axis}") for axis in "xyz"], axis=1)

    @cached_property
    def steps(self) -> NDArray[Any]:
        """The start, and a row for each step: contacts, iterations, energies, seconds ... (`stepping.report.STEP`)."""
        return self._whole("steps")

    def _at_frames(self, name: str) -> Floats:
        """A column of the table of steps, at the steps that became frames."""
        rows = np.searchsorted(self.steps["step"], self.step)
        with self._reading():
            if len(self.step) and not np.array_equal(self.steps["step"][rows], self.step):
                raise ValueError("a frame has no row in the table of steps")
        return np.asarray(self.steps[name][rows])

    # ---- the file

    def close(self) -> None:
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
        time = f"t = 0 .. {self.time[-1]:g}"
        bodies = f"{self.count:,} {'body' if self.count == 1 else 'bodies'}"
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

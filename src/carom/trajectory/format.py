"""The layout of a trajectory file, and opening it. docs/trajectory.md describes it for readers other than Carom."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..geometry.rotations import velocity_components
from ..scene.model import Scene
from ..scene.store import pack, unpack
from ..settings import Settings
from ..stepping.report import FRICTION_SHAPE, step_table
from ..world import State, World
from .checkpoint import Checkpoints
from .safe_file import SafeFile, open_safely, recover, stored_end
from .series import Series, store_array

FORMAT = "carom trajectory"
# 2: boundary_* arrays in place of wall_*, column residual in place of certificate. 3: setting tolerance; one column
# residual, that of the whole step, relative to the same speed as the tolerance, in place of residual and rest_residual.
# 4: column substeps.
VERSION = 4
HASH = "S64"
ORIENTATION = {2: "angle", 3: "orientation"}  # the dataset of orientations, by dimension
SPINS: dict[int, int | slice] = {2: 2, 3: slice(3, 6)}  # components of velocities that are spins, by dimension
SIGNATURE = b"\x89HDF\r\n\x1a\n"  # of HDF5
DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError)  # what h5py raises on damaged bytes
IMPULSES = ("first", "second", "point", "normal", "normal_impulse", "tangent_impulse")


def write_header(file: h5py.File, scene: Scene, world: World, state: State, settings: Settings) -> None:
    """Writes scene, settings and world, and creates the empty tables that the run fills."""
    from .. import __version__

    file.attrs["format"] = FORMAT
    file.attrs["version"] = VERSION
    file.attrs["carom_version"] = __version__
    file.attrs["scene"] = scene.name
    file.attrs["law"] = settings.law
    file.attrs["finished"] = np.int8(0)
    file.attrs["state_hash"] = np.array(b"", HASH)
    _write_scene(file.create_group("scene"), scene)
    _write_json(file, "settings", settings.as_dict())
    _write_world(file.create_group("world"), world)
    _create_frames(file.create_group("frames"), world, state, settings)
    Series.create(file, "steps", (), step_table(world.dimension), settings.steps + 1)
    if settings.impulses:
        _create_impulses(file.create_group("impulses"), world, settings)
    Checkpoints.create(file.create_group("checkpoint"), state)


def expected_frames(settings: Settings) -> int:
    """Number of frames of a complete run."""
    return 1 + -(-settings.steps // max(1, settings.frame_every))


def read_scene(file: h5py.File, scene: Scene | None = None) -> Scene:
    """The scene of the file. `scene` supplies the Python functions, which no file can hold; the rest must agree."""
    group = file["scene"]
    arrays = {name: data[()] for name, data in group["arrays"].items()}
    return unpack(_read_json(group, "meta"), arrays, scene)


def read_settings(file: h5py.File) -> Settings:
    return Settings.from_dict(_read_json(file, "settings"))


def _write_scene(group: h5py.Group, scene: Scene) -> None:
    meta, arrays = pack(scene)
    _write_json(group, "meta", meta)
    target = group.create_group("arrays")
    for name, array in arrays.items():
        store_array(target, name, array)


def _write_world(group: h5py.Group, world: World) -> None:
    """Writes shapes, masses and boundaries, which viewers draw."""
    for name in ("mass", "inertia", "free", "material", "restitution", "friction", "group"):
        store_array(group, name, np.asarray(getattr(world, name)))
    for name in ("rolling_friction", "torsional_friction"):
        if getattr(world, name) is not None:
            store_array(group, name, getattr(world, name))
    for name, array in world.shapes._asdict().items():
        store_array(group, name, array)
    for name, array in world.boundaries._asdict().items():
        if name != "velocity":  # which holds for one step only
            store_array(group, f"boundary_{name}", array)
    store_array(group, "boundary_material", world.boundary_material)
    group.attrs["gravity"] = world.gravity
    group.attrs["material_names"] = list(world.material_names) or [""]
    if world.periodic is not None:
        for axis in "xyz":
            side = getattr(world.periodic, axis)
            if side is not None:
                group.attrs[f"periodic_{axis}"] = np.asarray(side, np.float64)
        group.attrs["shear_rate"] = world.periodic.shear_rate


def _create_frames(group: h5py.Group, world: World, state: State, settings: Settings) -> None:
    dim = world.dimension
    count = expected_frames(settings)
    Series.create(group, "step", (), np.int64, count)
    Series.create(group, "time", (), np.float64, count)
    Series.create(group, "position", state.position.shape, np.float64, count)
    Series.create(group, ORIENTATION[dim], state.orientation.shape, np.float64, count)
    Series.create(group, "velocity", state.velocity.shape, np.float64, count)
    if moving(world):
        row = (len(world.boundary_motions), velocity_components(dim))
        Series.create(group, "boundary_pose", row, np.float64, count)


def _create_impulses(group: h5py.Group, world: World, settings: Settings) -> None:
    Series.create(group, "ptr", (), np.int64, expected_frames(settings))
    vector = (world.dimension,)
    shapes = {"point": vector, "normal": vector, "tangent_impulse": FRICTION_SHAPE[world.dimension]}
    for name in IMPULSES:
        row = shapes.get(name, ())
        Series.create(group, name, row, np.int64 if name in ("first", "second") else np.float64)


def moving(world: World) -> bool:
    """Whether any boundary moves."""
    return any(motion.kind != "fixed" for motion in world.boundary_motions)


def boundary_poses(world: World, time: float) -> NDArray[np.float64]:
    """Displacement and rotation of each boundary relative to time 0: (w, 3) in 2D, (w, 6) in 3D."""
    return np.array([motion.pose(time, world.dimension) for motion in world.boundary_motions], dtype=np.float64)


def _write_json(group: h5py.Group, name: str, data: Any) -> None:
    group.create_dataset(name, data=json.dumps(data), dtype=h5py.string_dtype())


def _read_json(group: h5py.Group, name: str) -> Any:
    return json.loads(group[name].asstr()[()])


def open_to_read(path: Path) -> h5py.File:
    """Opens the last committed content of the file.

    h5py gets a file object and not the name: HDF5 would lock a named file against a run that is to be resumed, and
    would refuse to open it a second time with other settings in the same process.
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
    """Opens the file to continue a recording. Nothing changes until the first commit."""
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
    """Refuses files that HDF5 would refuse, with the reason."""
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
    """Refuses HDF5 files of other programs and of other versions of the format."""
    with reading(path):
        name, version = file.attrs.get("format"), file.attrs.get("version")
        writer = file.attrs.get("carom_version", "?")
    if name != FORMAT:
        file.close()
        raise problem(path, "this HDF5 file is not a trajectory of Carom; trajectories are what `carom run` writes")
    if version != VERSION:
        file.close()
        older = version is not None and version < VERSION
        advice = "use that version, or run the scene again" if older else "upgrade Carom"
        raise problem(path, f"written by Carom {writer} in format {version}; this version reads {VERSION}; {advice}")


@contextmanager
def reading(path: Path | None) -> Iterator[None]:
    """Translates the errors that h5py raises on damaged bytes into one ProblemError."""
    try:
        yield
    except ProblemError:
        raise
    except DAMAGE as error:
        detail = " ".join(str(error).split())[:120]
        text = f"the file is damaged ({detail}); restore a backup, or run the scene again"
        raise problem(path, text) from error


def problem(path: Path | None, text: str) -> ProblemError:
    """The error about a trajectory file; None is a trajectory in memory."""
    name = "trajectory" if path is None else str(path)
    return ProblemError("trajectory", name, "a trajectory that Carom wrote", f"{name}: {text}")

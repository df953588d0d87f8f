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

from ..errors import ProblemError, check_texts, printable
from ..geometry.rotations import velocity_components
from ..hdf5.journal import HEAD, USER_BLOCK, try_alone
from ..hdf5.safe_file import SafeFile, open_safely
from ..hdf5.slots import Slots, current
from ..hdf5.snapshot import snapshot
from ..hdf5.structure import SIGNATURE, Structure, superblock
from ..scene.model import Scene
from ..scene.store import pack, unpack
from ..settings import WHOLE_STEP, Settings
from ..stepping.report import step_table
from ..world import State, World
from .checkpoint import arrays_of
from .events import FIRST_ROWS, stored_table
from .series import Series, store_array

FORMAT = "carom trajectory"
# 2: boundary_* arrays in place of wall_*, column residual in place of certificate. 3: setting tolerance; one column
# residual, that of the whole step, relative to the same speed as the tolerance, in place of residual and rest_residual.
# 4: a user block with identity and number of commits, text of fixed length, checksums of the header and of checkpoints;
# column substeps. 5: /events in place of /impulses, which had those of the step before each frame only.
VERSION = 5
READABLE = (4, 5)
HASH = "S64"
ORIENTATION = {2: "angle", 3: "orientation"}  # the dataset of orientations, by dimension
SPINS: dict[int, int | slice] = {2: 2, 3: slice(3, 6)}  # components of velocities that are spins, by dimension
LONGEST_NAME = 1000  # characters of the name of the scene in the attributes; all of it is in /scene
IMPULSES = ("first", "second", "point", "normal", "normal_impulse", "tangent_impulse")  # of format 4


def create_file(safe: SafeFile, scene: Scene, world: World, state: State, settings: Settings) -> h5py.File:
    """A new file with scene, settings and world, and the empty tables that the run fills."""
    file = h5py.File(safe, "w", libver="earliest", userblock_size=USER_BLOCK)
    try:
        safe.begin()
        _write_header(file, scene, world, state, settings)
        _write_checksum(safe, file)
    except BaseException:
        safe.drop()
        file.close()
        raise
    return file


def extend_file(safe: SafeFile, file: h5py.File, settings: Settings) -> None:
    """Prepares the file of a run, finished or not, for more steps: `settings` has their number.

    A frame of the old end that the new run would not record is removed. Nothing is committed.
    """
    old = read_settings(file)
    if old.steps % old.frame_every and int(file["frames/step"][-1]) == old.steps:
        _remove_last_frame(file)
    del file["settings"]
    _write_json(file, "settings", settings.as_dict())
    file.attrs.modify("finished", np.int8(0))
    file.attrs.modify("state_hash", np.array(b"", HASH))
    _write_checksum(safe, file)


def _remove_last_frame(file: h5py.File) -> None:
    frames = len(file["frames/step"]) - 1
    for dataset in file["frames"].values():
        dataset.resize(frames, axis=0)


def _write_checksum(safe: SafeFile, file: h5py.File) -> None:
    """Stores the digest of all that does not change during a run."""
    file.flush()
    file.attrs.modify("checksum", np.array(safe.structure().digest.encode(), HASH))


def _write_header(file: h5py.File, scene: Scene, world: World, state: State, settings: Settings) -> None:
    from .. import __version__

    texts = {"format": FORMAT, "carom_version": __version__, "scene": scene.name[:LONGEST_NAME], "law": settings.law}
    for name, text in texts.items():
        file.attrs[name] = fixed_text(text)
    file.attrs["version"] = VERSION
    file.attrs["finished"] = np.int8(0)
    for name in ("state_hash", "checksum"):
        file.attrs[name] = np.array(b"", HASH)
    _write_scene(file.create_group("scene"), scene)
    _write_json(file, "settings", settings.as_dict())
    _write_world(file.create_group("world"), world)
    _create_frames(file.create_group("frames"), world, state, settings)
    Series.create(file, "steps", (), step_table(world.dimension), settings.steps + 1)
    if settings.events != "none":
        Series.create(file, "events", (), stored_table(world.dimension), FIRST_ROWS)
    Slots.create(file.create_group("checkpoint"), arrays_of(state))


def expected_frames(settings: Settings) -> int:
    """Number of frames of a complete run."""
    return 1 + -(-settings.steps // max(1, settings.frame_every))


def read_scene(file: h5py.File, scene: Scene | None = None) -> Scene:
    """The scene of the file. `scene` supplies the Python functions, which no file can hold; the rest must agree."""
    group = file["scene"]
    arrays = {name: data[()] for name, data in group["arrays"].items()}
    found = unpack(read_json(group, "meta"), arrays, scene)
    bodies = sum(group.count for group in found.groups), found.dimension
    if bodies != file["frames/position"].shape[1:]:
        raise ValueError(f"its scene has {bodies[0]} bodies in {bodies[1]}D, which do not fit its frames")
    return found


def read_settings(file: h5py.File) -> Settings:
    return Settings.from_dict(read_json(file, "settings"))


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
    store_array(group, "material_names", np.stack([fixed_text(name) for name in world.material_names or [""]]))
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
    if state.life is not None:
        Series.create(group, "life", state.life.shape, np.int32, count)
    if moving(world):
        row = (len(world.boundary_motions), velocity_components(dim))
        Series.create(group, "boundary_pose", row, np.float64, count)


def moving(world: World) -> bool:
    """Whether any boundary moves."""
    return any(motion.kind != "fixed" for motion in world.boundary_motions)


def boundary_poses(world: World, time: float) -> NDArray[np.float64]:
    """Displacement and rotation of each boundary relative to time 0: (w, 3) in 2D, (w, 6) in 3D."""
    return np.array([motion.pose(time, world.dimension) for motion in world.boundary_motions], dtype=np.float64)


def fixed_text(text: str) -> NDArray[Any]:
    """Text of fixed length in UTF-8: HDF5 stores other text apart, where no checksum covers it."""
    data = text.encode("utf-8", "replace")
    return np.array(data, dtype=h5py.string_dtype("utf-8", max(1, len(data))))


def _write_json(group: h5py.Group, name: str, data: Any) -> None:
    group.create_dataset(name, data=fixed_text(json.dumps(data)))


def read_json(group: h5py.Group, name: str) -> Any:
    """The JSON text of a dataset, parsed."""
    data = json.loads(group[name][()])
    check_texts(name, data)
    return data


def open_to_read(path: Path) -> h5py.File:
    """Opens the last committed content of the file, whether or not a process is writing it.

    h5py gets a file object and not the name: HDF5 would lock a named file against a run that is to be resumed, and
    would refuse to open it a second time with other settings in the same process.
    """
    check_bytes(path)
    return open_raw(io.FileIO(str(path), "rb"), path)


def open_raw(raw: io.FileIO | io.BytesIO, path: Path | None) -> h5py.File:
    """Opens an open file, or one in memory if `path` is None, for reading."""
    with reading(path):
        safe, structure = snapshot(path, raw)
        file = h5py.File(safe, "r")
    check_file(file, path, structure)
    return file


def open_to_write(path: Path) -> tuple[SafeFile, h5py.File]:
    """Opens the file to continue a recording. Nothing changes until the first commit.

    The structure is checked before, so that nothing outside of the file can be written.
    """
    open_to_read(path).close()
    raw = io.FileIO(str(path), "r+b")
    if not try_alone(raw):
        raw.close()
        raise problem(path, "another program has it open; wait until that run has ended, or close the viewer")
    safe = open_safely(path, raw)
    try:
        with reading(path):
            structure = safe.structure()
            file = h5py.File(safe, "r+", libver="earliest")
        check_file(file, path, structure)
    except ProblemError:
        safe.drop()
        safe.close()
        raise
    return safe, file


def check_bytes(path: Path) -> None:
    """Refuses files that are no trajectories by their first bytes, with the reason."""
    if not path.exists():
        raise problem(path, "there is no such file")
    if path.is_dir():
        raise problem(path, "this is a folder, not a trajectory (a file such as run.h5)")
    if not path.is_file():
        raise problem(path, "this is not a regular file")
    with io.FileIO(str(path), "rb") as raw:
        size = raw.seek(0, os.SEEK_END)
        raw.seek(0)
        head = raw.read(USER_BLOCK + 96) or b""
    if size == 0:
        raise problem(path, "the file is empty; run the scene again")
    if head.startswith(SIGNATURE):
        text = f"this HDF5 file is not a trajectory of Carom in format {VERSION}, which `carom run` writes"
        raise problem(path, f"{text}; of an older version, run the scene again")
    if head[: len(HEAD)] != HEAD[: len(head)]:
        raise problem(path, "this is not an HDF5 file; trajectories are what `carom run` writes")
    with reading(path):
        end = superblock(head[USER_BLOCK:]).end if len(head) == USER_BLOCK + 96 else USER_BLOCK + 96
    if end > size:
        text = f"the file is cut off: {size:,} bytes of {end:,} are there; copy it again, or run the scene again"
        raise problem(path, text)


def check_file(file: h5py.File, path: Path | None, structure: Structure) -> None:
    """Refuses HDF5 files of other programs and versions, and those whose parts do not fit together."""
    try:
        with reading(path):
            name, version = text_of(file.attrs.get("format", b"")), file.attrs.get("version")
            writer = text_of(file.attrs.get("carom_version", b"?"))
            version = int(version) if isinstance(version, np.integer) else 0
        if name != FORMAT:
            raise problem(path, "this HDF5 file is not a trajectory of Carom; `carom run` writes them")
        if version not in READABLE:
            advice = "use that version, or run the scene again" if version < VERSION else "upgrade Carom"
            readable = f"{READABLE[0]} to {READABLE[-1]}"
            text = f"written by Carom {writer} in format {version}; this version reads {readable}; {advice}"
            raise problem(path, text)
        with reading(path):
            if text_of(file.attrs["checksum"]) != structure.digest:
                raise ValueError("the checksum of its header does not match")
            _check_tables(file)
            _check_settings(file)
    except BaseException:
        file.close()
        raise


def _check_tables(file: h5py.File) -> None:
    """Raises ValueError unless tables, frames and checkpoint agree in their lengths and shapes."""
    record, slot = current(file["checkpoint"])
    dimension = slot["position"].shape[1]
    if file["steps"].dtype != step_table(dimension) or file["steps"].shape != (record["steps"],):
        raise ValueError("the table of steps does not fit the checkpoint")
    turn = ORIENTATION[dimension]
    frames = file["frames"]
    rows = {name: slot[name].shape for name in ("position", turn, "velocity")}
    rows |= {"step": (), "time": ()}
    if "boundary_pose" in frames:
        rows["boundary_pose"] = (len(file["world/boundary_kind"]), velocity_components(dimension))
    if "life" in frames:
        rows["life"] = slot["position"].shape[:1]
    kinds = {"step": np.dtype(np.int64), "life": np.dtype(np.int32)}
    for name in frames:
        wanted = (int(record["frames"]), *rows[name])
        if frames[name].shape != wanted or frames[name].dtype != kinds.get(name, np.dtype(np.float64)):
            raise ValueError(f"frames/{name} does not fit the checkpoint")
    if not rows.keys() <= set(frames):
        raise ValueError("a dataset of the frames is missing")
    if "impulses" in file and file["impulses/ptr"].shape != (record["frames"],):
        raise ValueError("the impulses do not fit the checkpoint")
    if "events" in file and (file["events"].dtype != stored_table(dimension) or file["events"].ndim != 1):
        raise ValueError("the table of events is not one of this version")
    finished, at_end = file.attrs["finished"], text_of(file.attrs["state_hash"])
    if (int(finished), at_end) not in ((0, ""), (1, text_of(record["state_hash"]))):
        raise ValueError("the end of the run does not fit the checkpoint")


def _check_settings(file: h5py.File) -> None:
    """Raises ProblemError for settings that are none, and ValueError unless they fit the rest of the file."""
    settings, record = read_settings(file), current(file["checkpoint"])[0]
    old, recorded = int(file.attrs["version"]) < VERSION, settings.events != "none"
    fits = settings.impulses == ("impulses" in file) if old else recorded == ("events" in file)
    fits &= old or not settings.impulses or settings.events == "all"
    if text_of(file.attrs["law"]) != settings.law or not fits:
        raise ValueError("its settings do not fit its content")
    number, time = int(record["step"]), float(record["time"])
    if not (0 <= number <= settings.steps and abs(time - number * settings.step) <= WHOLE_STEP * settings.step):
        raise ValueError(f"its settings do not fit step {number} at time {time:g} of its checkpoint")


def text_of(value: Any) -> str:
    """The text of an attribute."""
    return printable(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


@contextmanager
def reading(path: Path | None) -> Iterator[None]:
    """Translates the errors that h5py raises on damaged bytes into one ProblemError."""
    try:
        yield
    except ProblemError as error:
        if path is None or str(error).startswith(str(path)):
            raise
        raise ProblemError(error.field, error.value, error.expected, f"{path}: {error}") from None
    except MemoryError:
        raise
    except Exception as error:  # h5py raises errors of many kinds on damaged bytes
        detail = " ".join(str(error).split())[:120]
        text = f"the file is damaged ({detail}); restore a backup, or run the scene again"
        raise problem(path, text) from error


def problem(path: Path | None, text: str) -> ProblemError:
    """The error about a trajectory file; None is a trajectory in memory."""
    name = "trajectory" if path is None else str(path)
    return ProblemError("trajectory", name, "a trajectory that Carom wrote", f"{name}: {text}")

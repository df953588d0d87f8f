"""What stands where in a trajectory file; docs/trajectory.md says it for readers that are not Carom."""

from __future__ import annotations

import json
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..scene.model import Scene
from ..scene.store import pack, unpack
from ..settings import Settings
from ..stepping.report import step_table
from ..world import State, World
from .checkpoint import Checkpoints
from .series import Series, store_array

FORMAT = "carom trajectory"
VERSION = 1
HASH = "S64"
ORIENTATION = {2: "angle", 3: "orientation"}  # the dataset of orientations, by the number of axes
IMPULSES = ("first", "second", "point", "normal", "normal_impulse", "tangent_impulse")


def write_header(file: h5py.File, scene: Scene, world: World, state: State, settings: Settings) -> None:
    """All that a run knows before its first step, and the empty tables that it will fill."""
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
    return 1 + -(-settings.steps // max(1, settings.frame_every))


def read_scene(file: h5py.File, scene: Scene | None = None) -> Scene:
    """The scene; `scene` supplies what no file can hold (Python functions), and must agree with the rest."""
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
    """Shapes, masses and boundaries: what a viewer draws."""
    for name in ("mass", "inertia", "free", "material", "restitution", "friction", "group"):
        store_array(group, name, np.asarray(getattr(world, name)))
    for name, array in world.shapes._asdict().items():
        store_array(group, name, array)
    for name, array in world.boundaries._asdict().items():
        if name != "velocity":  # it belongs to one step
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
        Series.create(group, "boundary_pose", (len(world.boundary_motions), 3 * dim - 3), np.float64, count)


def _create_impulses(group: h5py.Group, world: World, settings: Settings) -> None:
    Series.create(group, "ptr", (), np.int64, expected_frames(settings))
    vectors = ("point", "normal") if world.dimension == 2 else ("point", "normal", "tangent_impulse")
    for name in IMPULSES:
        row = (world.dimension,) if name in vectors else ()
        Series.create(group, name, row, np.int64 if name in ("first", "second") else np.float64)


def moving(world: World) -> bool:
    """Whether any boundary moves."""
    return any(motion.kind != "fixed" for motion in world.boundary_motions)


def boundary_poses(world: World, time: float) -> NDArray[np.float64]:
    """(w, 3) displacement and turn of each boundary, from where it was at time 0; in space (w, 6)."""
    return np.array([motion.pose(time, world.dimension) for motion in world.boundary_motions], dtype=np.float64)


def _write_json(group: h5py.Group, name: str, data: Any) -> None:
    group.create_dataset(name, data=json.dumps(data), dtype=h5py.string_dtype())


def _read_json(group: h5py.Group, name: str) -> Any:
    return json.loads(group[name].asstr()[()])

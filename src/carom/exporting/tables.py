"""Tables: CSV with one row per frame and body, and NumPy's .npz with all arrays."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..files import json_text
from ..stepping.report import ContactImpulses
from ..trajectory.events import Events
from .content import Content

AXES = "xyz"
TURN = {2: ("angle",), 3: ("qw", "qx", "qy", "qz")}
SPIN = {2: ("spin",), 3: ("spin_x", "spin_y", "spin_z")}


def write_csv(content: Content, path: Path) -> None:
    """One row per frame and body that is present, ordered by time; numbers have all their digits."""
    run = content.run
    d = run.dimension
    columns = [*AXES[:d], *TURN[d], *(f"v{axis}" for axis in AXES[:d]), *SPIN[d]]

    def rows() -> Iterator[Sequence[Any]]:
        for frame in content.frames.tolist():
            n = run.count
            arrays = (run.positions[frame], run.orientations[frame], run.velocities[frame], run.spins[frame])
            table = np.concatenate([np.asarray(a).reshape(n, -1) for a in arrays], axis=1).tolist()
            time, step = float(run.time[frame]), int(run.step[frame])
            there = run.lives[frame] > 0
            yield from ((time, step, body, *values) for body, values in enumerate(table) if there[body])

    _write(path, ["time", "step", "body", *columns], rows())


def write_bodies_csv(content: Content, path: Path) -> None:
    """One row per body: what stays constant, and its color in the first frame."""
    run = content.run
    g = run.geometry
    names = [group.name or f"group_{k}" for k, group in enumerate(run.scene.groups)]
    colors = ["#" + bytes(c.tolist()).hex() for c in content.colors(0)]
    columns = (g["group"].tolist(), g["radius"].tolist(), g["mass"].tolist(), g["free"].astype(int).tolist(), colors)
    rows = ((body, names[group], *rest) for body, (group, *rest) in enumerate(zip(*columns)))
    _write(path, ["body", "group", "radius", "mass", "free", "color"], rows)


def write_impulses_csv(content: Content, path: Path) -> None:
    """One row per contact of each frame: the impulses since the frame before."""
    d = content.run.dimension
    vectors = [f"{name}_{axis}" for name in ("point", "normal") for axis in AXES[:d]]
    tangent = ["tangent_impulse"] if d == 2 else [f"tangent_impulse_{axis}" for axis in AXES]

    def rows() -> Iterator[Sequence[Any]]:
        for k, time in enumerate(content.time.tolist()):
            found = content.impulses(k)
            assert found is not None
            m = len(found.first)
            if not m:
                continue
            tables = (found.point, found.normal, found.normal_impulse, found.tangent_impulse)
            values = np.concatenate([np.asarray(a).reshape(m, -1) for a in tables], axis=1).tolist()
            pairs = zip(found.first.tolist(), found.second.tolist(), values)
            yield from ((time, first, second, *rest) for first, second, rest in pairs)

    _write(path, ["time", "first", "second", *vectors, "normal_impulse", *tangent], rows())


def write_all_events_csv(content: Content, path: Path) -> None:
    """All events of the run."""
    assert content.run.events is not None
    write_events_csv(content.run.events, path)


def write_events_csv(events: Events, path: Path) -> None:
    """One row per event, ordered by time; vectors have one column per axis."""
    columns = events.columns()
    _write(path, list(columns), zip(*(values.tolist() for values in columns.values())))


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(names)
        table.writerows(rows)


def write_npz(content: Content, path: Path) -> None:
    """All arrays of the chosen frames, the constant arrays as `world_...`, and the settings as JSON in `about`."""
    run, frames = content.run, content.frames.tolist()
    arrays: dict[str, Any] = {"time": content.time, "step": run.step[content.frames]}
    names: dict[str, Any] = {
        "position": run.positions,
        "orientation": run.orientations,
        "velocity": run.velocities,
        "spin": run.spins,
    }
    if run.changes:
        names["life"] = run.lives
    if len(run.geometry["boundary_kind"]):
        names["boundary_pose"] = run.boundary_poses
    for name, values in names.items():
        arrays[name] = np.stack([np.asarray(values[i]) for i in frames])
    for name in ("kinetic", "potential"):
        arrays[name] = getattr(run, name)[content.frames]
    arrays["color"] = content.colors(0)
    # HDF5 attaches names of codes to the types of some arrays, which this format cannot store.
    plain = {name: run.geometry[name] for name in run.geometry}
    arrays |= {f"world_{name}": values.astype(values.dtype.str) for name, values in plain.items()}
    arrays |= _impulses([content.impulses(k) for k in range(len(frames))])
    if run.events is not None:
        arrays |= {f"event_{name}": values for name, values in run.events.columns().items()}
    about = {"scene": run.name, "law": run.law, "settings": run.settings.as_dict(), "state_hash": run.state_hash}
    arrays["about"] = np.array(json_text({**about, "carom_version": run.carom_version}))
    memory = io.BytesIO()
    np.savez_compressed(memory, **arrays)
    path.write_bytes(memory.getbuffer())


def _impulses(found: list[ContactImpulses | None]) -> dict[str, Any]:
    """Contacts of all frames one after the other; those of frame i are `impulse_ptr[i]` to `impulse_ptr[i + 1]`."""
    each = [f for f in found if f is not None]
    if len(each) < len(found):
        return {}
    out = {f"impulse_{name}": np.concatenate([getattr(f, name) for f in each]) for name in vars(each[0])}
    return {**out, "impulse_ptr": np.cumsum([0, *(len(f.first) for f in each)])}

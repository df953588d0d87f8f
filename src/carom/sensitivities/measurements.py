"""Measured motion: a table with the columns time, body, and some of x, y, z, angle, vx, vy, vz, spin."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..scene.model import Scene
from ..solvers.rows import Floats, Ints

COLUMNS = {2: ("x", "y", "angle", "vx", "vy", "spin"), 3: ("x", "y", "z", "vx", "vy", "vz")}
MISSING = ("", "nan", "na", "null", "none")
MOST_ROWS = 5_000_000
OTHER_UNITS = 100.0  # times and first places that are so many times what the scene allows are in other units


@dataclass(frozen=True, eq=False)
class Measurements:
    """k measured numbers: when, of which body, which column, and the value."""

    time: Floats  # (k,)
    body: Ints  # (k,)
    column: Ints  # (k,) index into `columns`
    value: Floats  # (k,)
    columns: tuple[str, ...]

    @property
    def count(self) -> int:
        """Number of measured numbers."""
        return len(self.value)


def measurements(data: Any, scene: Scene) -> Measurements:
    """The measurements of a file (.csv, .parquet) or of a mapping of columns, checked against the scene."""
    if isinstance(data, str | PathLike):
        name, table = str(data), read_columns(Path(data))
    else:
        name, table = "data", _mapped(data)
    known = COLUMNS[scene.dimension]
    for needed in ("time", "body"):
        if needed not in table:
            raise ProblemError(name, f"columns {', '.join(table) or 'none'}", f"a column {needed!r}")
    chosen = tuple(column for column in known if column in table)
    unknown = [column for column in table if column not in (*known, "time", "body")]
    if unknown:
        wanted = f"time, body, and some of {', '.join(known)}, for a scene in {scene.dimension}D"
        raise ProblemError(f"{name}: column", unknown[0], wanted)
    if not chosen:
        raise ProblemError(name, f"columns {', '.join(table)}", f"at least one of {', '.join(known)}")
    time = _numbers(f"{name}: time", table["time"])
    body = _bodies(name, table["body"], scene)
    if not np.isfinite(time).all() or (time < 0.0).any():
        bad = int(np.flatnonzero(~(time >= 0.0) | ~np.isfinite(time))[0])
        raise ProblemError(f"{name}: time in row {bad + 1}", table["time"][bad], "a time from 0 on")
    parts = []
    for k, column in enumerate(chosen):
        values = _numbers(f"{name}: {column}", table[column])
        if len(values) != len(time):
            raise ProblemError(f"{name}: {column}", f"{len(values)} values", f"{len(time)}, as many as times")
        there = ~np.isnan(values)
        parts.append((time[there], body[there], np.full(there.sum(), k), values[there]))
    columns = [np.concatenate(part) for part in zip(*parts)]
    if not len(columns[3]):
        raise ProblemError(name, "no values", "at least one measured number")
    if not np.isfinite(columns[3]).all():
        raise ProblemError(name, "infinite values", "finite numbers, or nothing where a value is missing")
    found = Measurements(columns[0], columns[1], columns[2], columns[3], chosen)
    _check_units(name, found, scene)
    return found


def _check_units(name: str, data: Measurements, scene: Scene) -> None:
    """Refuses milliseconds and millimeters where the scene has seconds and meters.

    A body is first measured near its start: within the reach of its fall and of its speed, up to OTHER_UNITS times.
    """
    last = float(data.time.max())
    if last > OTHER_UNITS * scene.duration:
        raise ProblemError(f"{name}: time", last, f"the unit of the scene, whose duration is {scene.duration:g}")
    start = np.concatenate([np.asarray(group.position, float).reshape(group.count, -1) for group in scene.bodies])
    speed = np.concatenate([np.asarray(group.velocity, float).reshape(-1) for group in scene.bodies])
    largest, fastest = float(np.abs(start).max()), float(np.abs(speed).max(initial=0.0))
    gravity = float(np.abs(np.asarray(scene.gravity, float)).max(initial=0.0))
    for axis, column in enumerate("xyz"[: scene.dimension]):
        if column not in data.columns or largest == 0.0:
            continue
        rows = np.flatnonzero(data.column == data.columns.index(column))
        first = rows[data.time[rows] == data.time[rows].min(initial=np.inf)]
        t = data.time[first]
        off = np.abs(data.value[first] - start[data.body[first], axis])
        far = off > OTHER_UNITS * (largest + fastest * t + 0.5 * gravity * t**2)
        if far.any():
            k = first[far][0]
            at = start[data.body[k], axis]
            wanted = f"the unit of the scene, where body {data.body[k]} starts at {at:g}"
            raise ProblemError(f"{name}: first {column}", float(data.value[k]), wanted)


def read_columns(path: Path) -> dict[str, Sequence[Any]]:
    """The columns of a CSV or Parquet file."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise ProblemError("data", str(path), "a file that ends in .csv or .parquet")
    if not path.is_file():
        raise ProblemError("data", str(path), "a file that exists")
    if path.suffix.lower() == ".parquet":
        return _parquet(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
    except (UnicodeDecodeError, csv.Error, OSError) as wrong:
        raise ProblemError("data", str(path), f"a CSV file in UTF-8 ({wrong})") from None
    if len(rows) < 2 or len(rows) > MOST_ROWS:
        raise ProblemError("data", str(path), "a line with the names of columns, and rows below it")
    names = [name.strip() for name in rows[0]]
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            raise ProblemError(f"{path}: row {number}", f"{len(row)} cells", f"{len(names)}, as in the first line")
    return {name: [row[k].strip() for row in rows[1:]] for k, name in enumerate(names)}


def _parquet(path: Path) -> dict[str, Sequence[Any]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ProblemError("data", str(path), "the package pyarrow for Parquet: pip install '.[sweep]'") from None
    try:
        return {str(name): values for name, values in parquet.read_table(path).to_pydict().items()}
    except (ArrowException, OSError) as wrong:
        raise ProblemError("data", str(path), f"a Parquet file ({wrong})") from None


def _mapped(data: Any) -> dict[str, Sequence[Any]]:
    if not hasattr(data, "keys") or not hasattr(data, "__getitem__"):
        raise ProblemError("data", type(data).__name__, "the path of a file, or columns by name")
    return {str(name): np.asarray(data[name]).tolist() for name in data.keys()}  # noqa: SIM118


def _numbers(where: str, values: Sequence[Any]) -> Floats:
    out = np.empty(len(values))
    for k, value in enumerate(values):
        missing = value is None or (isinstance(value, str) and value.strip().lower() in MISSING)
        try:
            out[k] = np.nan if missing else float(value)
        except (TypeError, ValueError):
            raise ProblemError(f"{where} in row {k + 1}", value, "a number, or nothing") from None
    return out


def _bodies(name: str, values: Sequence[Any], scene: Scene) -> Ints:
    """Numbers of bodies from numbers, or from names of groups with one body."""
    first = np.concatenate([[0], np.cumsum([group.count for group in scene.bodies])])
    names: Mapping[str, int] = {g.name: int(first[k]) for k, g in enumerate(scene.bodies) if g.name and g.count == 1}
    out = np.empty(len(values), np.int64)
    for k, value in enumerate(values):
        try:
            number = names[value] if value in names else int(value)
            fits = number == float(value) if value not in names else True
        except (TypeError, ValueError, OverflowError):
            number, fits = -1, False
        if not fits or not 0 <= number < scene.count:
            wanted = f"a body of the scene {scene.name}: a number from 0 to {scene.count - 1}"
            raise ProblemError(f"{name}: body in row {k + 1}", value, wanted + "".join(f", {n}" for n in names))
        out[k] = number
    return out

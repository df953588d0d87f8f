"""Heights of a height field in scenes: lists of numbers, or the name of a file with them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from ..files import read_file
from .checks import Check, Remark, Schema, Where, is_number, refuse

MOST_HEIGHTS = {2: 4_096, 3: 65_536}  # every body is tested against every segment; a grid has 2 triangles per cell


class Heights(Check):
    """Heights: a list in 2D, a list of equally long lists in 3D, or the name of a file with either (.npy, .csv)."""

    dtype = np.float64

    def words(self, where: Where) -> str:
        d = where.dimension
        rows = "at least two equally long lists of at least two numbers"
        form = "at least two numbers" if d == 2 else rows if d == 3 else f"at least two numbers, in 3D {rows}"
        return f"{form}, or a file of them (.npy, .csv)"

    def read(self, value: Any, where: Where) -> tuple[Any, ...]:
        """Nested tuples of numbers, so that equal boundaries compare as equal."""
        given, value = value, self._read_file(value, where) if isinstance(value, str) else value
        flat = not (isinstance(value, list) and value and isinstance(value[0], list))
        rows = [value] if flat else value
        good = all(isinstance(row, list) and len(row) == len(rows[0]) >= 2 for row in rows) and (flat or len(rows) > 1)
        if not good or where.dimension not in (2 if flat else 3, None):
            raise refuse(self.words(where), given)
        for i, row in enumerate(rows):
            for j, number in enumerate(row):
                if not is_number(number):
                    raise refuse("a finite number", number, *((j,) if flat else (i, j)))
        most = MOST_HEIGHTS[2 if flat else 3]
        if len(rows) * len(rows[0]) > most:
            raise refuse(f"at most {most:,} heights", Remark(f"{len(rows) * len(rows[0]):,} heights"))
        found = tuple(tuple(float(v) for v in row) for row in rows)
        return found[0] if flat else found

    def _read_file(self, name: str, where: Where) -> Any:
        file = Path(where.folder) / name
        if file.suffix.lower() not in (".npy", ".csv"):
            raise refuse(self.words(where), name)
        if not file.is_file():
            raise refuse("an existing file", name)
        content = io.BytesIO(read_file(file, "height field"))
        try:
            is_array = file.suffix.lower() == ".npy"
            found = np.load(content, allow_pickle=False) if is_array else np.loadtxt(content, delimiter=",")
            return np.asarray(found, dtype=np.float64).tolist()
        except (ValueError, TypeError, OSError, EOFError) as wrong:
            raise refuse("a readable file of numbers", Remark(f"{name} ({wrong})")) from None

    def schema(self) -> Schema:
        row: Schema = {"type": "array", "items": {"type": "number"}, "minItems": 2}
        return {"anyOf": [{"type": "string"}, row, {"type": "array", "items": row, "minItems": 2}]}


HEIGHTS = Heights()

"""Former name of the rows of contacts (`rows.py`), until all callers have moved."""

from __future__ import annotations

from .rows import FRICTION, ROLLING, TORSION, row_speed
from .rows import Rows as Blocks
from .rows import speeds as normal_speeds

__all__ = ["FRICTION", "ROLLING", "TORSION", "Blocks", "normal_speeds", "row_speed"]

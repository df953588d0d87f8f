"""Contacts as columns, before they become a ContactSet."""

from __future__ import annotations

import numpy as np

from ..solvers.rows import Floats, Ints

Columns = tuple[Ints, Ints, Ints, Floats, Floats, Floats, Floats]  # the first seven fields of a ContactSet
Places = tuple[Ints, Floats, Floats]  # owner of each row, place before and after; rows are bodies, then their images


def joined(parts: list[Columns]) -> Columns:
    """One after the other."""
    full = [columns for columns in parts if len(columns[0])] or parts[:1]
    return full[0] if len(full) == 1 else tuple(np.concatenate(c) for c in zip(*full))  # type: ignore[return-value]

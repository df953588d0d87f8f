"""Checks of numbers and arrays: what is not finite or not of the right shape raises ProblemError with its path."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats


def array(field: str, value: Any, shape: tuple[int | None, ...], wanted: str) -> Floats:
    """A finite array of the given shape; None stands for any length."""
    try:
        text = np.asarray(value).dtype.kind in "SU"  # numpy reads numbers from text; the owner would keep the text
        out = np.array(math.nan if text else value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ProblemError(field, value, wanted) from None
    except OverflowError:  # an integer beyond the range of float64; it may have too many digits to print
        raise ProblemError(field, "a number beyond 1.8e308", wanted) from None
    if text or value is None:  # numpy converts None to nan
        raise ProblemError(field, repr(value) if text else value, wanted)
    if out.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, out.shape)):
        raise ProblemError(field, f"an array of shape {out.shape}" if out.ndim else value, wanted)
    bad = np.argwhere(~np.isfinite(out))
    if len(bad):
        where = f"[{bad[0][0]}]" if out.ndim > 1 and len(out) > 1 else ""
        raise ProblemError(field + where, float(out[tuple(bad[0])]), "finite numbers" if out.ndim else wanted)
    return out


def scalar(field: str, value: Any, low: float | None = None, high: float | None = None, above: bool = False) -> float:
    """A finite number, from `low` (or above it) to `high`."""
    if low is not None and above:
        wanted = f"a finite number above {low:g}"
    elif low is not None and high is not None:
        wanted = f"a number from {low:g} to {high:g}"
    else:
        wanted = "a finite number" if low is None else f"a finite number from {low:g} up"
    out = float(array(field, value, (), wanted))
    low_ok = low is None or (out > low if above else out >= low)
    if not low_ok or (high is not None and out > high):
        raise ProblemError(field, value, wanted)
    return out

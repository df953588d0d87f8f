"""Restitution that depends on the speed of approach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats
from .checks import RESTITUTION, Refused, Where
from .fields import plain

_WANTED = "coefficients from 0 to 1, one for each speed of approach"


class Curve(NamedTuple):
    """A coefficient of restitution as a function of speeds of approach (k,), and its path for messages."""

    path: str
    function: Callable[[Floats], Any]

    def at(self, speed: Floats) -> Floats:
        """The coefficients (k,), or a ProblemError that names the first one that is none."""
        values = np.asarray(self.function(speed), dtype=np.float64)
        if values.shape not in ((), speed.shape):
            raise ProblemError(self.path, f"shape {values.shape} for {len(speed)} speeds", _WANTED)
        values = np.broadcast_to(values, speed.shape)
        bad = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))
        if len(bad):
            raise ProblemError(self.path, f"{values[bad[0]]} at speed {speed[bad[0]]:g}", _WANTED)
        return values


class SpeedCurve(NamedTuple):
    """The smallest of the coefficients of one or two materials."""

    curves: Sequence[Curve]

    def at(self, speed: Floats) -> Floats:
        """The coefficients (k,) at speeds of approach (k,)."""
        return np.min([curve.at(speed) for curve in self.curves], axis=0)


def curve_of(path: str, value: Any) -> Curve:
    """The curve of a number, of a table [[speed, coefficient], ...] or of a function, which is called once."""
    if callable(value):
        curve = Curve(path, value)
        curve.at(np.array([0.0, 1.0]))
        return curve
    try:
        checked = RESTITUTION.read(plain(value), Where())
    except Refused as wrong:
        raise ProblemError(path, wrong.faults[0].got, wrong.faults[0].expected) from None
    speeds, values = np.array(checked).T if isinstance(checked, tuple) else (np.zeros(1), np.array([checked]))
    return Curve(path, lambda speed: np.interp(speed, speeds, values))

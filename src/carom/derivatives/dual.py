"""Numbers with derivatives, on which the kernels of a law run uncompiled: its own code is differentiated."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from ..solvers.rows import Floats

EQUAL = 1e-12  # relative difference of two numbers up to which they are equal


class Dual:
    """A number and its derivatives with respect to some inputs. Comparisons are those of the numbers."""

    __slots__ = ("slope", "value")
    margins: ClassVar[list[float] | None] = (
        None  # where to keep how close comparisons were, in units of the first inputs
    )
    ties: ClassVar[int] = 0  # comparisons of equal numbers that depend on inertia in different ways
    SPEEDS: ClassVar[int] = 3  # inputs that are speeds, the first ones
    INERTIAS: ClassVar[int] = 9  # the inputs after these, up to this one, are entries of K

    def __init__(self, value: float, slope: Floats) -> None:
        self.value, self.slope = value, slope

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.slope + other.slope)
        return Dual(self.value + other, self.slope)

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __sub__(self, other: Any) -> Dual:
        return self + (-other)

    def __rsub__(self, other: Any) -> Dual:
        return (-self) + other

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value * other.value, self.value * other.slope + other.value * self.slope)
        return Dual(self.value * other, other * self.slope)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            quotient = self.value / other.value
            return Dual(quotient, (self.slope - quotient * other.slope) / other.value)
        return Dual(self.value / other, self.slope / other)

    def __rtruediv__(self, other: float) -> Dual:
        quotient = other / self.value
        return Dual(quotient, -quotient / self.value * self.slope)

    def __pow__(self, power: int) -> Dual:
        return Dual(self.value**power, power * self.value ** (power - 1) * self.slope)

    def __abs__(self) -> Dual:
        return self if self.value >= 0.0 else -self

    def sqrt(self) -> Dual:
        """The square root, as `np.sqrt` asks for it; at zero it has no derivative, and none is given."""
        root = float(np.sqrt(self.value))
        return Dual(root, self.slope * (0.5 / root if root > 0.0 else 0.0))

    def __lt__(self, other: Any) -> bool:
        return self._beyond(other) < 0.0

    def __le__(self, other: Any) -> bool:
        return self._beyond(other) <= 0.0

    def __gt__(self, other: Any) -> bool:
        return self._beyond(other) > 0.0

    def __ge__(self, other: Any) -> bool:
        return self._beyond(other) >= 0.0

    def _beyond(self, other: Any) -> float:
        """The difference to another number; the change of the speeds that would turn the comparison is noted."""
        if not isinstance(other, Dual):
            other = Dual(other, np.zeros_like(self.slope))
        difference = self.value - other.value
        if Dual.margins is not None and np.isfinite(difference):
            slope = self.slope - other.slope
            rate = float(np.abs(slope[: Dual.SPEEDS]).sum())
            if abs(difference) <= EQUAL * abs(self.value) and np.abs(slope[Dual.SPEEDS : Dual.INERTIAS]).max() > EQUAL:
                Dual.ties += 1
            if rate > 0.0:
                Dual.margins.append(abs(difference) / rate)
        return difference

    def __eq__(self, other: Any) -> bool:
        return self.value == (other.value if isinstance(other, Dual) else other)

    __hash__ = None  # type: ignore[assignment]


def inputs(values: list[float]) -> list[Dual]:
    """Independent inputs: each with the derivative 1 with respect to itself."""
    unit = np.eye(len(values))
    return [Dual(value, unit[k]) for k, value in enumerate(values)]


def slope_of(number: Any, count: int) -> Floats:
    """The derivatives of a result with respect to `count` inputs; zero for a plain number."""
    return number.slope if isinstance(number, Dual) else np.zeros(count)


def uncompiled(kernel: Any, **others: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function of a kernel, which calls `others` in place of the kernels of these names."""
    function = getattr(kernel, "py_func", kernel)
    return FunctionType(function.__code__, {**function.__globals__, **others}, function.__name__)

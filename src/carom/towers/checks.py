"""What arguments of towers must be: each check returns the value in its type, or says what would be right."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ProblemError

LARGEST = Fraction(1e50)  # of lengths, densities, gravity: moments of inertia, density times length^4, are doubles
SMALLEST = Fraction(1e-50)
LONGEST = 10**60  # whole numbers beyond are not written out in messages
MOST_DIGITS = 400  # exponents of ten in text beyond this are refused unread: they would fill the memory
MOST_BRICKS = 100_000  # of a tower; making the bricks would take minutes
EXPONENT = re.compile(r"[eE]([-+]?[\d_]+)")
NUMBER = 'a finite number (1, 0.5, Fraction(1, 6) or "1/6")'


def exact_number(field: str, value: Any, limits: str = "a number from -1e50 to 1e50") -> Fraction:
    """A number as a fraction: int, float, Fraction, or text like "1/6"; at most 1e50 in size."""
    try:
        if isinstance(value, str) and _exponent(value) > MOST_DIGITS:
            raise ProblemError(field, value, f"a number with an exponent from -{MOST_DIGITS} to {MOST_DIGITS}")
        number = _fraction(value)
    except ProblemError:
        raise
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ProblemError(field, shown(value), NUMBER) from None
    if abs(number) > LARGEST:
        raise ProblemError(field, shown(value), limits)
    return number


def positive_number(field: str, value: Any) -> Fraction:
    """A number above 0, from 1e-50 to 1e50."""
    limits = "a number from 1e-50 to 1e50"
    number = exact_number(field, value, limits)
    if number <= 0:
        raise ProblemError(field, shown(value), "a number above 0")
    if number < SMALLEST:
        raise ProblemError(field, shown(value), limits)
    return number


def count(field: str, value: Any, most: int | None = None, least: int = 1) -> int:
    """A whole number from `least` up, or to `most`."""
    number = whole(value)
    if number is None or number < least or (most is not None and number > most):
        limits = f"from {least} up" if most is None else f"from {least} to {most:,}"
        raise ProblemError(field, shown(value), f"a whole number {limits}")
    return number


def bricks_in_all(field: str, value: Any, number: int) -> None:
    """Refuses a tower of too many bricks; `field` is what asked for it."""
    if number > MOST_BRICKS:
        raise ProblemError(field, shown(value), f"at most {MOST_BRICKS:,} bricks in all")


def flag(field: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ProblemError(field, shown(value), "true or false")
    return bool(value)


def choice(field: str, value: Any, known: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in known:
        raise ProblemError.unknown(field, shown(value), known)
    return str(value)


def text(field: str, value: Any) -> str:
    """Text that a file can hold."""
    try:
        if isinstance(value, str) and value.encode("utf-8") is not None:
            return str(value)
    except UnicodeEncodeError:
        value = repr(value)  # a message must be printable
    raise ProblemError(field, shown(value), "text")


def file_path(field: str, value: Any) -> Path:
    """The path of a file, not looked for yet."""
    name = fspath(value) if isinstance(value, str | PathLike) else None
    if not isinstance(name, str) or not name or "\0" in name:
        raise ProblemError(field, repr(value) if isinstance(value, str) else shown(value), "the name of a file")
    path = Path(name)
    try:
        path.exists()
    except OSError as wrong:  # too long a name, a folder that may not be searched
        raise ProblemError(field, name, f"the name of a file that can be reached ({wrong.strerror})") from None
    return path


def whole(value: Any) -> int | None:
    """The value as an int if it is a whole number, else None."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    return None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)


def shown(value: Any) -> Any:
    """The value as a message can show it: Python itself writes no whole number of thousands of digits."""
    if isinstance(value, int) and abs(value) > LONGEST:
        return f"a whole number of about {int(value.bit_length() * math.log10(2.0)) + 1} digits"
    try:
        repr(value)
    except ValueError:
        return "a number of very many digits"
    return value


def _exponent(number: str) -> int:
    """The size of the exponent of ten that a text has."""
    found = EXPONENT.search(number)
    return abs(int(found[1])) if found else 0


def _fraction(value: Any) -> Fraction:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, str):
        return Fraction(value)
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise TypeError
    if isinstance(value, Fraction):
        return value
    return Fraction(int(value)) if isinstance(value, Integral) else Fraction(float(value))

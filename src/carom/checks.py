"""Checks of arguments: each function returns the value in its type, or raises a ProblemError that names the field."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ProblemError

LARGEST_QUANTITY = Fraction(1e50)  # lengths, densities, gravity: density times length^4 must not overflow a double
SMALLEST_QUANTITY = Fraction(1e-50)
LARGEST_PRINTED = 10**60  # larger integers are not printed in messages
MOST_DIGITS = 400  # largest decimal exponent in a text; larger ones would exhaust the memory
EXPONENT = re.compile(r"[eE]([-+]?[\d_]+)")
NUMBER = 'a finite number (1, 0.5, Fraction(1, 6) or "1/6")'


def array(field: str, value: Any, shape: tuple[int | None, ...], wanted: str) -> NDArray[np.float64]:
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


def exact_number(field: str, value: Any, limits: str = "a number from -1e50 to 1e50") -> Fraction:
    """Converts an int, float, Fraction or text like "1/6" to a fraction with absolute value up to 1e50."""
    try:
        if isinstance(value, str) and _exponent(value) > MOST_DIGITS:
            raise ProblemError(field, value, f"a number with an exponent from -{MOST_DIGITS} to {MOST_DIGITS}")
        number = _fraction(value)
    except ProblemError:
        raise
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ProblemError(field, shown(value), NUMBER) from None
    if abs(number) > LARGEST_QUANTITY:
        raise ProblemError(field, shown(value), limits)
    return number


def positive_number(field: str, value: Any) -> Fraction:
    """A number from 1e-50 to 1e50, as a fraction."""
    limits = "a number from 1e-50 to 1e50"
    number = exact_number(field, value, limits)
    if number <= 0:
        raise ProblemError(field, shown(value), "a number above 0")
    if number < SMALLEST_QUANTITY:
        raise ProblemError(field, shown(value), limits)
    return number


def count(field: str, value: Any, most: int | None = None, least: int = 1) -> int:
    """An integer from `least` to `most`, or without an upper limit."""
    number = whole(value)
    if number is None or number < least or (most is not None and number > most):
        limits = f"from {least} up" if most is None else f"from {least} to {most:,}"
        raise ProblemError(field, shown(value), f"a whole number {limits}")
    return number


def flag(field: str, value: Any) -> bool:
    """A truth value."""
    if not isinstance(value, bool | np.bool_):
        raise ProblemError(field, shown(value), "true or false")
    return bool(value)


def choice(field: str, value: Any, known: Collection[str]) -> str:
    """One of the strings in `known`."""
    if not isinstance(value, str) or value not in known:
        raise ProblemError.unknown(field, shown(value), known)
    return str(value)


def check_fields(table: Iterable[str], known: Collection[str], required: Iterable[str], where: str) -> None:
    """Rejects unknown and missing fields of the table `where`."""
    for key in table:
        if key not in known:
            path = f"{where}.{key}".lstrip(".")
            error = ProblemError.unknown("field", key, known)
            rest = str(error).removeprefix(f"unknown field {key!r}")
            rest = f"; {rest[2:]}" if rest.startswith(": ") else rest
            raise ProblemError(path, key, error.expected, f"{path}: no such field{rest}")
    for key in required:
        if key not in table:
            raise ProblemError(f"{where}.{key}", "nothing", "a value; the field is required")


def text(field: str, value: Any) -> str:
    """A string that can be encoded in UTF-8."""
    try:
        if isinstance(value, str) and value.encode("utf-8") is not None:
            return str(value)
    except UnicodeEncodeError:
        value = repr(value)  # the message must be printable
    raise ProblemError(field, shown(value), "text")


def file_path(field: str, value: Any) -> Path:
    """The path of a file, which need not exist."""
    name = fspath(value) if isinstance(value, str | PathLike) else None
    if not isinstance(name, str) or not name or "\0" in name:
        raise ProblemError(field, repr(value) if isinstance(value, str) else shown(value), "the name of a file")
    path = Path(name)
    try:
        path.exists()
    except OSError as wrong:  # the name is too long, or a folder is not accessible
        raise ProblemError(field, name, f"the name of an accessible file ({wrong.strerror})") from None
    return path


def whole(value: Any) -> int | None:
    """The value as an int if it is an integer, else None."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    return None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)


def shown(value: Any) -> Any:
    """The value in a form that a message can print: Python refuses to print integers of thousands of digits."""
    if isinstance(value, int) and abs(value) > LARGEST_PRINTED:
        return f"a whole number of about {int(value.bit_length() * math.log10(2.0)) + 1} digits"
    try:
        repr(value)
    except ValueError:
        return "a number of very many digits"
    return value


def _exponent(number: str) -> int:
    """Absolute value of the decimal exponent in a text."""
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

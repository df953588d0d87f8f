"""Random damage to texts, trees of plain data, arrays and bytes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
NASTY_NUMBERS = (
    *("0", "-0.0", "-1", "1", "2", "3", "7", "0.5", "1e-9", "1e-160", "1e-308", "5e-324", "1e9", "1e19", "1e50"),
    *("1e150", "1e308", "-1e308", "1e400", "nan", "inf", "-inf", "2147483648", "9223372036854775807"),
    *("18446744073709551616", "9" * 400, "9" * 5000, "0x10", "1_000", "1/3", "1/0"),
)
NASTY_TEXTS = (
    *("true", "[]", "{}", '""', '"x"', "[[]]", "[1]", "[1, 2, 3, 4]", "null", "[" * 40 + "]" * 40, '"\\u001b[31m"'),
    *("'\x9b31m'", "[1, [2, 3]]", "[[1, 2], [3]]", "\0", "\ufeff", "é", "2024-01-01", "-", "=", "]", "<", "&x;", '"'),
)
NASTY_VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 2, 3, 0.5, -0.0, 1e-9, 1e-308, 5e-324, 1e19, 1e50, 1e154, 1e308, -1e308, float("nan"), float("inf")),
    *(2**31, 2**63, 2**64, 10**400, 10**5000, True, None, "", "x", "1", "\x1b[31m", [], {}, [1], [[]], [[1], [2, 3]]),
    *({"a": 1}, [None], ["x"], [1, "x"], [1e308, 1e308]),
)
DEEP = 100_000


def chosen(rng: np.random.Generator, items: Any) -> Any:
    """One of the items."""
    return items[int(rng.integers(len(items)))]


def damaged_text(rng: np.random.Generator, text: str, deep: str = "") -> str:
    """The text after one to four changes; with `deep` rarely a part that is nested deeply."""
    for _ in range(int(rng.integers(1, 5))):
        text = chosen(rng, (_number, _number, _number, _token, _lines, _lines, _cut, _characters))(rng, text)
    if deep and rng.random() < 0.02:
        at = int(rng.integers(len(text) + 1))
        text = text[:at] + deep * int(chosen(rng, (100, 1000, 20_000))) + text[at:]
    return text


def _number(rng: np.random.Generator, text: str) -> str:
    """Another number in place of one."""
    found = list(NUMBER.finditer(text))
    if not found:
        return text
    where = chosen(rng, found)
    return text[: where.start()] + chosen(rng, NASTY_NUMBERS) + text[where.end() :]


def _token(rng: np.random.Generator, text: str) -> str:
    """Something else in place of a word, a number or a text in quotes."""
    found = list(re.finditer(r'"[^"\n]*"|\[[^\[\]\n]*\]|[\w.+-]+', text))
    if not found:
        return text
    where, other = chosen(rng, found), chosen(rng, found)
    new = other[0] if rng.random() < 0.5 else chosen(rng, NASTY_TEXTS)
    return text[: where.start()] + new + text[where.end() :]


def _lines(rng: np.random.Generator, text: str) -> str:
    """A line removed, repeated or moved."""
    lines = text.split("\n")
    i, k = (int(rng.integers(len(lines))) for _ in range(2))
    kind = int(rng.integers(3))
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines.insert(k, lines[i])
    else:
        lines[i], lines[k] = lines[k], lines[i]
    return "\n".join(lines)


def _cut(rng: np.random.Generator, text: str) -> str:
    i, k = sorted(int(rng.integers(len(text) + 1)) for _ in range(2))
    return text[:i] + text[min(k, i + 40) :]


def _characters(rng: np.random.Generator, text: str) -> str:
    at = int(rng.integers(len(text) + 1))
    new = "".join(chr(int(rng.integers(1, 0x250))) for _ in range(int(rng.integers(1, 5))))
    return text[:at] + new + text[at + int(rng.integers(3)) :]


def damaged_tree(rng: np.random.Generator, data: Any) -> Any:
    """Plain data in which one to three values are replaced, removed or moved."""
    for _ in range(int(rng.integers(1, 4))):
        data = _changed(rng, data, int(rng.integers(1, 5)))
    return data


def _changed(rng: np.random.Generator, data: Any, depth: int) -> Any:
    if depth == 0 or not isinstance(data, (dict, list)) or not data:
        return chosen(rng, NASTY_VALUES)
    copy: Any = dict(data) if isinstance(data, dict) else list(data)
    key = chosen(rng, list(copy)) if isinstance(copy, dict) else int(rng.integers(len(copy)))
    kind = rng.random()
    if kind < 0.15:
        del copy[key]
    elif kind < 0.3:
        other = chosen(rng, list(copy.values()) if isinstance(copy, dict) else copy)
        copy[key] = other
    elif kind < 0.4 and isinstance(copy[key], list):
        copy[key] = copy[key] * 2 if rng.random() < 0.5 else copy[key][:-1]
    else:
        copy[key] = _changed(rng, copy[key], depth - 1)
    return copy


def damaged_array(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """An array with other values, another shape or another type."""
    array = np.array(array)
    kind = int(rng.integers(6))
    if kind == 0:
        return array.reshape(-1)[: int(rng.integers(array.size + 1))]
    if kind == 1:
        return array[None]
    if kind == 2:
        return array.astype(
            chosen(rng, ("f2", "c16", "U5", "S3", "i1", "?", "O")) if array.dtype.kind in "iuf" else "S9"
        )
    if kind == 3:
        return np.array(chosen(rng, (0, -1, 1e308, np.nan, np.inf, 2**62, True)))
    if array.size and array.dtype.str in ("<f8", "<i8"):
        flat = array.reshape(-1)
        values = (
            [0, 1, -1, 1e19, 1e308, np.nan, -np.inf] if array.dtype.kind == "f" else [0, -1, 1, 2**31, 2**62, -(2**63)]
        )
        flat[int(rng.integers(flat.size))] = chosen(rng, values)
    return array


def damaged_table(rng: np.random.Generator, table: np.ndarray) -> np.ndarray:
    """A structured table with other values, and rarely with another length, shape or columns of other types."""
    table, kind = np.array(table), rng.random()
    if kind < 0.1:
        return table[: int(rng.integers(len(table) + 1))]
    if kind < 0.2:
        return np.concatenate([table, table])
    if kind < 0.25:
        return table[None]
    if kind < 0.35:
        changed = chosen(rng, table.dtype.names)
        types = [
            (n, chosen(rng, ("f2", "S3", "i1", "u8", "c16")) if n == changed else table.dtype[n])
            for n in table.dtype.names
        ]
        return np.zeros(len(table), types)
    for _ in range(int(rng.integers(1, 4)) if len(table) else 0):
        name = chosen(rng, table.dtype.names)
        column = table[name]
        if column.dtype.kind == "f":
            values: tuple[Any, ...] = (0.0, -1.0, 1e19, 1e38, 1e308, np.nan, -np.inf, -1e300)
        else:
            limits = np.iinfo(column.dtype)
            values = (0, -1, 1, 2, 100, limits.min, limits.max)
        with np.errstate(over="ignore"):
            column[int(rng.integers(len(column)))] = np.array(chosen(rng, values)).astype(column.dtype)
    return table


def damaged_bytes(rng: np.random.Generator, data: bytes, first: int = 0) -> bytes:
    """Bytes with one kind of damage behind `first`: bits, ranges, zeros, moved or missing parts."""
    out, kind = bytearray(data), int(rng.integers(7))
    span = max(1, len(out) - first)

    def place() -> int:
        return first + int(rng.integers(span))

    if kind <= 1:
        for _ in range(int(rng.integers(1, 4))):
            out[min(place(), len(out) - 1)] ^= 1 << int(rng.integers(8))
    elif kind == 2:
        at = place()
        out[at : at + 8] = int(chosen(rng, (0, 1, 2**32, 2**63, 2**64 - 1, at))).to_bytes(8, "little")[: len(out) - at]
    elif kind == 3:
        at, count = place(), int(rng.integers(1, 5000))
        out[at : at + count] = (bytes if rng.random() < 0.5 else rng.bytes)(len(out[at : at + count]))
    elif kind == 4:
        a, b, count = place(), place(), int(rng.integers(1, 3000))
        piece = out[a : a + count]
        out[b : b + len(piece)] = piece[: len(out) - b]
    elif kind == 5:
        del out[place() :]
    else:
        at = place()
        del out[at : at + int(rng.integers(1, 600))]
    return bytes(out)

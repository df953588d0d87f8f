"""TOML text: reading it, and finding the line of a field."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from ...errors import ProblemError, check_texts, has_controls
from ...files import FACTOR, limit, read_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_.\"' -]+?)\s*=")
_SEPARATORS = re.compile(r"[=,{}\[\]]")
_TABLE = re.compile(r"""^[ \t]*\[\[?(?:[^,\[\]\n"']|"[^"\n]*"|'[^'\n]*')*\]\]?[ \t\r]*(?:\#.*)?$""", re.MULTILINE)
DEEPEST = 100  # parts of a key
# Tables, keys and lists of a file. They take about 1000, 200 and 100 bytes of memory and 10 to 50 microseconds each. A
# tower of 100,000 bricks has as many tables; positions of bodies are lists.
MOST = {"tables": 250_000, "keys": 1_000_000, "lists": 5_000_000}
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*')


def parse(text: str, name: str) -> dict[str, Any]:
    """The document, or a ProblemError that names line and column."""
    _check_counts(text, name)
    try:
        _check_depth(text)
        document = tomllib.loads(text)
        if "\\" in text or has_controls(text):
            check_texts("text", document)
        return document
    except (ValueError, RecursionError) as wrong:  # numbers with thousands of digits, deeply nested lists
        raise ProblemError(name, str(wrong), "TOML", f"{name}: not valid TOML: {wrong}") from None


def _check_depth(text: str) -> None:
    """Refuses keys such as a.a.a..., for which the parser takes memory that grows with the square of their length."""
    if text.count(".") > DEEPEST:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.count(".") > DEEPEST:
                parts = _SEPARATORS.split(_QUOTED.sub("x", line))
                if max(part.count(".") for part in parts) > DEEPEST:
                    raise ValueError(f"a key of more than {DEEPEST} parts (at line {number})")


def _check_counts(text: str, name: str) -> None:
    """Refuses texts for which the parser, which makes an object of each table, key and list, would need gigabytes."""
    counts = {"keys": text.count("="), "lists": text.count("[")}
    tables = counts["lists"] + text.count("{") + text.count(".")  # at most so many
    if tables > limit(MOST["tables"]):
        headers = sum(1 + header[0].count(".") for header in _TABLE.finditer(text))
        dots = sum(part.count(".") for line in text.split("\n") if "." in line for part in line.split("=")[:-1])
        counts["tables"] = headers + text.count("{") + dots
    for what, count in counts.items():
        if count > limit(MOST[what]):
            most = f"at most {limit(MOST[what]):,} {what}, or {FACTOR}=10 in the environment"
            raise ProblemError(name, f"{count:,} {what}", most)


def read(path: Path, kind: str = "scene") -> str:
    """The text of a file, or a ProblemError; `kind` says in messages what the file should hold."""
    try:
        return read_file(path, kind).decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as wrong:
        raise ProblemError(str(path), f"byte {wrong.start} that is not UTF-8", "a text file in UTF-8") from None


def line_of(text: str, field: str) -> int | None:
    """The line of `bodies[2].radius` or, if that is not found, of the table that contains it; the first line is 1.

    The text must be valid TOML. Keys of inline tables are not searched.
    """
    lines = _lines(text)
    while field:
        if field in lines:
            return lines[field]
        field = re.sub(r"(\.[^.\[\]]*|\[\d+\])$", "", field) if re.search(r"(\.[^.\[\]]*|\[\d+\])$", field) else ""
    return None


def _lines(text: str) -> dict[str, int]:
    """Path of each table and key -> its line."""
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    table, depth, closing = "", 0, ""
    for number, line in enumerate(text.split("\n"), start=1):
        if closing:  # inside a string of several lines
            closing = "" if closing in line else closing
            continue
        if depth == 0:
            header, key = _HEADER.match(line), _KEY.match(line)
            if header:
                table = _table(header[2].strip(), header[1] == "[[", counts)
                found.setdefault(table, number)
                continue
            if key:
                found.setdefault(f"{table}.{_plain(key[1])}".lstrip("."), number)
        closing = next((mark for mark in ('"""', "'''") if line.count(mark) == 1), "")
        bare = _QUOTED.sub("", line)
        depth += sum(bare.count(c) for c in "[{") - sum(bare.count(c) for c in "]}")
    return found


def _table(name: str, is_array: bool, counts: dict[str, int]) -> str:
    """`bodies` -> `bodies[2]` for the third `[[bodies]]`, and `bodies[2].motion` for a `[bodies.motion]` under it."""
    pieces, path = _plain(name).split("."), ""
    for k, piece in enumerate(pieces):
        path = f"{path}.{piece}".lstrip(".")
        if k == len(pieces) - 1 and is_array:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = f"{path}[{counts[path]}]"
    return path


def _plain(key: str) -> str:
    return ".".join(piece.strip().strip("\"'") for piece in key.split("."))


# ---- changes


def change(document: dict[str, Any], path: str, text: str) -> None:
    """Replaces the value at a dotted path. `text` is a value of TOML; else it is a string."""
    table, key = place(document, path)
    table[key] = _value(text)


def place(document: dict[str, Any], path: str) -> tuple[Any, Any]:
    """Table or list, and key or index in it, of a dotted path into a document, such as `bodies.0.velocity`.

    Tables and lists on the way must exist; the error lists what is there. The last key of a table may be new: whether
    it is known is for the reader of the document to say, because keys with defaults need not be in a file.
    """
    keys = path.split(".")
    if keys[0] == "scene":  # all of its keys have defaults, so a file may lack it
        document.setdefault("scene", {})
    here: Any = document
    for depth, word in enumerate(keys):
        last = depth == len(keys) - 1
        key: Any = int(word) if isinstance(here, list) and word.isdigit() else word
        known = range(len(here)) if isinstance(here, list) else here if isinstance(here, dict) else ()
        if key not in known and not (last and isinstance(here, dict)):
            where = ".".join(keys[:depth]) or "the file"
            if not known:
                raise ProblemError(path, word, f"a place in the file; {where} has nothing")
            raise ProblemError.unknown(f"key of {where}", word, map(str, known))
        if last:
            break
        here = here[key]
    return here, key


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return text

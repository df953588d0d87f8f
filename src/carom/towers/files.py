"""Towers as TOML files: a function of `named.py` with its arguments, or bricks and pins one by one.

    [tower]                                  [tower]
    kind = "wall"                            name = "two bricks"
    rows = 5                                 [[brick]]
    columns = 5                              x = 0
    gap = "1/10"                             y = 0.5
                                             width = 3
                                             height = 1

A number stands for the nearest double, as in Python; text ("1/6", "0.1") keeps its exact value. `load_tower` restores
exactly what `save_tower` wrote.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import cos, sin
from os import PathLike
from typing import Any

import tomli_w

from ..checks import check_fields, exact_number, file_path, flag
from ..errors import ProblemError
from ..files import atomic_path
from ..scene.file.text import line_of, read
from ..scene.file.text import parse as parse_text
from .bricks import Brick, Pin, brick_of
from .contacts import GROUND
from .named import MAKERS
from .tower import Tower

COMMON = ("name", "mass_model", "gravity", "floating")
LISTS = ("brick", "offsets")  # arguments that are lists
PIN = ("bricks", "at")
EXACT_INTEGER = 2**53  # largest integer up to which all are doubles


def load_tower(path: str | PathLike[str]) -> Tower:
    """Reads a tower from a .toml file. A tower without a name gets that of the file."""
    path = file_path("path", path)
    if path.suffix.lower() != ".toml":
        raise ProblemError(str(path), repr(path.suffix), "a tower file: .toml")
    return parse(read(path, "tower"), path.name, path.stem)


def parse(text: str, name: str = "tower", default_name: str = "tower") -> Tower:
    """Reads a tower from TOML text; messages refer to the text by `name`."""
    document = parse_text(text, name)
    try:
        return tower_of(document, default_name)
    except ProblemError as error:
        raise _in_file(error, text, name) from None


def save_tower(tower: Tower, path: str | PathLike[str], overwrite: bool = False) -> None:
    """Writes the file atomically. A tower made by a function of `named.py` is written as its arguments."""
    path = file_path("path", path)
    flag("overwrite", overwrite)
    if path.suffix.lower() != ".toml":
        raise ProblemError(str(path), repr(path.suffix), "a file name that ends in .toml")
    if path.is_dir():
        raise ProblemError(str(path), "a folder", "a file name")
    if path.exists() and not overwrite:
        raise ProblemError(str(path), "a file that exists", "a new name, or overwrite=True")
    if not path.absolute().parent.is_dir():
        raise ProblemError(str(path), "no such folder", "a folder that exists")
    content = tower_to_toml(tower).encode("utf-8")
    try:
        with atomic_path(path) as part:
            part.write_bytes(content)
    except OSError as wrong:
        raise ProblemError(str(path), wrong.strerror, "a file in a folder that can be written") from None


# ---- reading


def tower_of(document: Mapping[str, Any], default_name: str = "tower") -> Tower:
    """Makes a tower from a parsed TOML document."""
    check_fields(document, ("tower", "brick", "pin"), (), "")
    head, bricks, pins = document.get("tower", {}), _tables(document, "brick"), _tables(document, "pin")
    if not isinstance(head, Mapping):
        raise ProblemError("tower", head, "a table: write [tower]")
    options = _options(head, default_name)
    if "kind" in head and bricks:
        raise ProblemError("tower.kind", head["kind"], "either kind or [[brick]] tables, not both")
    if "kind" in head:
        made = _made(head, options, ())
        held = [_pin(pin, f"pin[{k}]", made.count) for k, pin in enumerate(pins)]
        return _made(head, options, held) if held else made
    check_fields(head, COMMON, (), "tower")
    if not bricks:
        raise ProblemError("brick", "nothing", "at least one [[brick]] table, or kind = ... in [tower]")
    solid = [brick_of(brick, f"brick[{i}]") for i, brick in enumerate(bricks)]
    return Tower.from_bricks(solid, pins=[_pin(p, f"pin[{k}]", len(solid)) for k, p in enumerate(pins)], **options)


def _options(head: Mapping[str, Any], default_name: str) -> dict[str, Any]:
    """Validates the fields that all towers have."""
    options = {"name": default_name, **{key: head[key] for key in COMMON if key in head}}
    for key, kind, wanted in (("name", str, "text"), ("mass_model", str, "text"), ("floating", bool, "true or false")):
        if key in options and not isinstance(options[key], kind):
            raise ProblemError(f"tower.{key}", options[key], wanted)
    if "gravity" in options:
        options["gravity"] = float(exact_number("tower.gravity", options["gravity"]))
    return options


def _made(head: Mapping[str, Any], options: dict[str, Any], pins: Iterable[Pin]) -> Tower:
    kind = head["kind"]
    if not isinstance(kind, str) or kind not in MAKERS:
        raise _named(ProblemError.unknown("kind of tower", kind, MAKERS), "tower.kind")
    signature = inspect.signature(MAKERS[kind]).parameters.values()
    own = [p for p in signature if p.kind is not inspect.Parameter.VAR_KEYWORD]
    needed = [p.name for p in own if p.default is inspect.Parameter.empty]
    check_fields(head, ("kind", *(p.name for p in own), *COMMON), needed, "tower")
    arguments = {p.name: head[p.name] for p in own if p.name in head}
    for name in LISTS:
        if name in arguments and not isinstance(arguments[name], list):
            raise ProblemError(f"tower.{name}", arguments[name], "a list of numbers")
    try:
        return MAKERS[kind](**arguments, **options, pins=tuple(pins))
    except ProblemError as error:
        raise _named(error, f"tower.{error.field}") from None


def _pin(table: Mapping[str, Any], where: str, count: int) -> Pin:
    check_fields(table, PIN, PIN, where)
    pair, at = table["bricks"], table["at"]
    if not isinstance(pair, list) or len(pair) != 2:
        raise ProblemError(f"{where}.bricks", pair, 'two bricks, [0, 1], or a brick and the ground, [0, "ground"]')
    numbers = [GROUND if value == "ground" else value for value in pair]
    for value in numbers:
        if isinstance(value, bool) or not isinstance(value, int) or not GROUND <= value < count:
            raise ProblemError(f"{where}.bricks", value, f'the number of a brick, 0 to {count - 1}, or "ground"')
    if not isinstance(at, list) or len(at) != 2:
        raise ProblemError(f"{where}.at", at, "a point [x, y]")
    if numbers[0] == GROUND:
        numbers.reverse()
    if numbers[0] == numbers[1]:
        raise ProblemError(f"{where}.bricks", pair, "two different bricks, or one and the ground")
    x, y = (float(exact_number(f"{where}.at", value)) for value in at)
    return Pin(numbers[0], numbers[1], (x, y))


def _tables(document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = document.get(key, [])
    if not isinstance(found, list) or not all(isinstance(table, Mapping) for table in found):
        raise ProblemError(key, found, f"an array of tables: write [[{key}]]")
    return found


def _named(error: ProblemError, field: str) -> ProblemError:
    """The error with the name that its field has in the file."""
    text = str(error)
    if text.startswith(f"{error.field}: "):
        text = field + text.removeprefix(error.field)
    return ProblemError(field, error.value, error.expected, text)


def _in_file(error: ProblemError, text: str, name: str) -> ProblemError:
    """The error with file and line, and with the names that tables have in the file."""
    field, message = (s.replace("bricks[", "brick[").replace("pins[", "pin[") for s in (error.field, str(error)))
    if field in ("mass_model", "gravity", "floating"):  # what Tower itself found
        message = message if message.startswith("unknown") else f"tower.{message}"
        field = f"tower.{field}"
    if isinstance(error.value, str) and f'"{error.value}"' in text:  # show that a number was given as text
        message = message.replace(f"got {error.value};", f"got {error.value!r};")
    line = line_of(text, field.split(",")[0])
    where = f"{name}, line {line}" if line is not None else name
    return ProblemError(field, error.value, error.expected, f"{message} [{where}]")


# ---- writing


def tower_to_toml(tower: Tower) -> str:
    """The text of a tower file."""
    head: dict[str, Any] = {"name": tower.name}
    by_maker = _is_as_made(tower)
    if by_maker:
        head |= {key: value for key, value in tower.parameters.items() if value is not None}
    head |= {"mass_model": tower.mass_model, "gravity": tower.gravity}
    if tower.floating:
        head["floating"] = True
    parts = [_table("[tower]", head)]
    if not by_maker:
        parts += [_table("[[brick]]", _brick_fields(brick)) for brick in tower.bricks]
    parts += [_table("[[pin]]", _pin_fields(pin)) for pin in tower.pins]
    return "\n".join(parts)


def _is_as_made(tower: Tower) -> bool:
    """Whether the recorded function still gives these bricks; one may have been moved since."""
    arguments = dict(tower.parameters)
    maker = MAKERS.get(str(arguments.pop("kind", "")))
    if maker is None:
        return False
    try:
        again = maker(**arguments, floating=True)
    except (ProblemError, TypeError):
        return False
    return [_content(b) for b in again.bricks] == [_content(b) for b in tower.bricks]


def _content(brick: Brick) -> tuple[Any, ...]:
    return brick.exact, brick.density, brick.fixed, brick.name


def _brick_fields(brick: Brick) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": brick.name} if brick.name else {}
    fields |= _rectangle_fields(brick) or {"corners": [list(corner) for corner in brick.exact]}
    if brick.density != 1:
        fields["density"] = brick.density
    return {**fields, "fixed": True} if brick.fixed else fields


def _rectangle_fields(brick: Brick) -> dict[str, Any] | None:
    """Center, sides and angle, if they reproduce the corners exactly; else None."""
    if brick.rectangle_size is None:
        return None
    angle = brick.rectangle_size[2]
    c, s = (Fraction(cos(angle)), Fraction(sin(angle))) if angle else (Fraction(1), Fraction(0))
    (ax, ay), (bx, by), (ux, uy), (dx, dy) = brick.exact
    width, height = ((bx - ax) / c, (dy - ay) / c) if abs(c) > abs(s) else ((by - ay) / s, (ax - dx) / s)
    fields: dict[str, Any] = {"x": (ax + ux) / 2, "y": (ay + uy) / 2, "width": width, "height": height}
    if min(width, height) <= 0 or Brick.rectangle(**fields, angle=angle).exact != brick.exact:
        return None
    return {**fields, "angle": angle} if angle else fields


def _pin_fields(pin: Pin) -> dict[str, Any]:
    second: Any = "ground" if pin.second == GROUND else pin.second
    return {"bricks": [pin.first, second], "at": [float(x) for x in pin.at]}


def _table(title: str, fields: Mapping[str, Any]) -> str:
    return "\n".join([title, *(f"{key} = {_text(value)}" for key, value in fields.items())]) + "\n"


def _text(value: Any) -> str:
    """A TOML value on one line; fractions that are no doubles become text."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_text(item) for item in value)}]"
    if isinstance(value, Fraction):
        value = _number(value)
    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


def _number(value: Fraction) -> int | float | str:
    if value.denominator == 1 and abs(value) <= EXACT_INTEGER:
        return int(value)
    try:
        near = float(value)
    except OverflowError:
        return str(value)
    return near if Fraction(near) == value else str(value)

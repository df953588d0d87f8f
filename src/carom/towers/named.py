"""Functions that make towers, and the towers that the command line knows by name. All lengths are fractions.

`wall`, `stack`, `harmonic` and `diamond` build regular towers of equal bricks; `NAMED` has single examples, `PATTERNS`
the names with numbers in them, such as `wall-5x5`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from ..checks import choice, count, exact_number, positive_number, shown
from ..errors import ProblemError
from .bricks import Brick, Pin, bricks_in_all
from .tower import Tower

BONDS = ("running", "stacked", "shifted")
BLOCKS = 4  # wedges of the round arch on each side of its keystone
MOST_NAMED_BRICKS = 10_000  # largest number of bricks of a named tower
MOST_HARMONIC = 10_000  # bricks; the number of digits of their positions grows with their number


def wall(
    rows: int, columns: int, brick: Sequence[Any] = (3, 1), gap: Any = 0, *, bond: str = "running", **options: Any
) -> Tower:
    """A wall of `rows` rows on the ground with a gap of width `gap` between neighbors in a row.

    bond "running": rows of `columns` and `columns - 1` bricks alternate, with each brick above a joint, so that the
    wall is mirror symmetric. The end bricks of the wider rows overhang by half a brick and half a gap; they tip over if
    there is a gap and too little weight above them. "stacked": columns without bond. "shifted": every row has `columns`
    bricks, and odd rows are shifted to the right by half a brick and half a gap.
    """
    r, c = count("rows", rows), count("columns", columns)
    bricks_in_all("rows" if r > c else "columns", max(r, c), r * c)
    width, height = size_of(brick)
    space = _gap(gap)
    choice("bond", bond, BONDS)
    if bond == "running" and c < 2 and r > 1:
        raise ProblemError("columns", columns, "at least 2 with bond='running': every second row has one brick fewer")
    pitch = width + space
    bricks = []
    for i in range(r):
        odd = i % 2 == 1
        wide = c - 1 if odd and bond == "running" else c
        middle = pitch / 2 if odd and bond == "shifted" else Fraction(0)
        for j in range(wide):
            x = middle + pitch * (j - Fraction(wide - 1, 2))
            bricks.append(Brick.rectangle(x, height * (i + Fraction(1, 2)), width, height))
    made = {"kind": "wall", "rows": r, "columns": c, "brick": [width, height], "gap": space, "bond": bond}
    return _tower(bricks, f"wall {r}x{c}", made, options)


def stack(offsets: Sequence[Any], brick: Sequence[Any] = (1, "1/4"), **options: Any) -> Tower:
    """Bricks on top of each other, from the ground up; offsets[i] is the x coordinate of the center of brick i."""
    width, height = size_of(brick)
    try:
        places = [exact_number(f"offsets[{i}]", x) for i, x in enumerate(offsets)]
    except TypeError:
        raise ProblemError("offsets", shown(offsets), "a list of numbers") from None
    if not places:
        raise ProblemError("offsets", offsets, "at least one number")
    bricks_in_all("offsets", f"{len(places):,} numbers", len(places))
    bricks = [Brick.rectangle(x, height * (i + Fraction(1, 2)), width, height) for i, x in enumerate(places)]
    made = {"kind": "stack", "offsets": places, "brick": [width, height]}
    return _tower(bricks, f"stack of {len(places)}", made, options)


def harmonic(n: int, brick: Sequence[Any] = (1, "1/4"), *, table: Any = None, **options: Any) -> Tower:
    """The harmonic stack of n bricks at the right edge x = 0 of a table, with an overhang of (1 + 1/2 + ... + 1/n) / 2.

    The overhang is in brick lengths. The table is the first brick; it is fixed and `table` high (default: one brick
    length). The k-th brick from the top overhangs the one below it by 1 / 2k of a brick, so that the center of mass of
    the part above lies exactly over an edge.
    """
    n = count("n", n, MOST_HARMONIC)
    width, height = size_of(brick)
    high = width if table is None else positive_number("table", table)
    bricks = [Brick.rectangle(-2 * width, high / 2, 4 * width, high, fixed=True, name="table")]
    right = Fraction(0)
    for level in range(n):
        right += width / (2 * (n - level))
        bricks.append(Brick.rectangle(right - width / 2, high + height * (level + Fraction(1, 2)), width, height))
    made = {"kind": "harmonic", "n": n, "brick": [width, height], "table": high}
    return _tower(bricks, f"harmonic stack of {n}", made, options)


def diamond(n: int, brick: Sequence[Any] = (3, 1), gap: Any = 0, **options: Any) -> Tower:
    """n x n bricks in a diamond: rows of 1, 2, ..., n, ..., 2, 1, each shifted by half a brick, on a single brick.

    Stable up to n = 4 (Paterson and Zwick, Overhang, 2006); diamond(5) is the tower of 5 x 5 bricks in the paper.
    """
    number = count("n", n)
    bricks_in_all("n", n, number**2)
    n, (width, height) = number, size_of(brick)
    space = _gap(gap)
    bricks = []
    for i in range(2 * n - 1):
        wide = n - abs(n - 1 - i)
        for j in range(wide):
            x = (width + space) * (j - Fraction(wide - 1, 2))
            bricks.append(Brick.rectangle(x, height * (i + Fraction(1, 2)), width, height))
    made = {"kind": "diamond", "n": n, "brick": [width, height], "gap": space}
    return _tower(bricks, f"diamond {n}", made, options)


MAKERS: dict[str, Callable[..., Tower]] = {"wall": wall, "stack": stack, "harmonic": harmonic, "diamond": diamond}


def size_of(brick: Any) -> tuple[Fraction, Fraction]:
    """Width and height of a brick as fractions."""
    try:
        width, height = brick
    except (TypeError, ValueError):
        raise ProblemError("brick", shown(brick), "(width, height)") from None
    return positive_number("brick width", width), positive_number("brick height", height)


def _gap(value: Any) -> Fraction:
    gap = exact_number("gap", value)
    if gap < 0:
        raise ProblemError("gap", shown(value), "0 or more")
    return gap


def _tower(bricks: list[Brick], name: str, made: dict[str, Any], options: dict[str, Any]) -> Tower:
    known = ("pins", "mass_model", "gravity", "floating", "name")
    for key in options:
        if key not in known:
            raise ProblemError.unknown("option", key, known)
    options.setdefault("name", name)
    return Tower(tuple(bricks), parameters=made, **options)


class NamedTower(NamedTuple):
    """A function that makes a tower, and a description of one line."""

    make: Callable[..., Tower]
    line: str


class NamePattern(NamedTuple):
    """A name that contains numbers: its notation, its pattern, the function it calls, and a description."""

    written: str
    pattern: str
    make: Callable[..., Tower]
    line: str


def arch() -> Tower:
    """A flat arch whose joints all point to one center, so that the weight of each wedge is balanced by its two faces.

    Between joints of slopes t1 and t2 (x = t y) and heights h1, h2 above the center a wedge has the area
    (t2 - t1) (h2^2 - h1^2) / 2. The vertical components of forces normal to its joints with a constant horizontal
    component H differ by H (t2 - t1). The two are proportional for every wedge, so no friction is needed.
    """
    low, high = Fraction(3), Fraction(9, 2)  # heights above the center
    sunk = Fraction(3, 2)  # depth of the center below the ground

    def at(slope: Fraction, height: Fraction) -> tuple[Fraction, Fraction]:
        return slope * height, height - sunk

    slopes = [Fraction(k, 10) for k in range(-7, 8, 2)]
    bricks = [Brick.polygon([at(a, low), at(b, low), at(b, high), at(a, high)]) for a, b in pairwise(slopes)]
    for side, end in ((-1, slopes[0]), (1, slopes[-1])):
        reach = Fraction(19, 4) * side
        foot, top = at(end, low), at(end, high)
        bricks.append(Brick.polygon([foot, top, (reach, top[1]), (reach, 0), (foot[0], 0)], fixed=True, name="pier"))
    return Tower.from_bricks(bricks, name="flat arch")


def round_arch() -> Tower:
    """Equal wedges of a half circle on two fixed blocks; smooth joints cannot hold the lower, lighter wedges."""
    inner, outer, base, count = 2.0, 3.0, 1, 2 * BLOCKS + 1
    turns = [math.pi * k / count for k in range(count + 1)]
    rays = [(math.cos(t), math.sin(t)) for t in turns]
    rays[0], rays[-1] = (1.0, 0.0), (-1.0, 0.0)
    bricks = [
        Brick.polygon([(r * c, base + r * s) for (c, s), r in ((a, inner), (a, outer), (b, outer), (b, inner))])
        for a, b in pairwise(rays)
    ]
    for side in (-1, 1):
        bricks.append(Brick.rectangle(side * Fraction(5, 2), Fraction(base, 2), 2, base, fixed=True, name="pier"))
    return Tower.from_bricks(bricks, name="round arch")


def truss() -> Tower:
    """Two rafters and a tie with three pins between them; the tie takes the thrust."""
    rise, half, thick, low = 2.0, 3.0, 0.3, 0.75
    angle, length = math.atan2(rise, half), math.hypot(rise, half) + thick
    rafters = [Brick.rectangle(s * half / 2, low + rise / 2, length, thick, -s * angle) for s in (-1, 1)]
    tie = Brick.rectangle(0, low, 2 * half + 1, 0.5)
    posts = [Brick.rectangle(s * half, 0.25, 0.75, 0.5, fixed=True, name="post") for s in (-1, 1)]
    pins = [(0, 1, (0.0, low + rise)), (0, 2, (-half, low)), (1, 2, (half, low))]
    return Tower.from_bricks([*rafters, tie, *posts], pins=pins, name="truss")


def chain() -> Tower:
    """Five bricks in a row with pins between them and to two posts; the chain sags."""
    high, links, thick = 4, 5, Fraction(2, 5)
    bricks = [Brick.rectangle(2 * k - links + 1, high, 2 + thick / 2, thick) for k in range(links)]
    top = high + thick / 2
    bricks += [Brick.rectangle(s * (links + thick), top / 2, 1, top, fixed=True, name="post") for s in (-1, 1)]
    pins = [Pin(k, k + 1, (2.0 * k - links + 2, high)) for k in range(links - 1)]
    pins += [Pin(0, links, (-float(links), high)), Pin(links - 1, links + 1, (float(links), high))]
    return Tower.from_bricks(bricks, pins=pins, name="pinned chain")


def leaning() -> Tower:
    """Six bricks, each 1/5 further out than the one below. Offsets of up to 1/6 would be stable."""
    return stack([Fraction(k, 5) for k in range(6)], name="leaning stack")


def counterweight() -> Tower:
    """A brick held down by another extends a whole brick beyond the table, the largest overhang of three bricks."""
    table = Brick.rectangle(-2, Fraction(1, 2), 4, 1, fixed=True, name="table")
    places = ((0, "9/8"), ("-1/2", "11/8"), ("1/2", "11/8"))
    bricks = [Brick.rectangle(x, y, 1, Fraction(1, 4)) for x, y in places]
    return Tower.from_bricks([table, *bricks], name="counterweight")


NAMED = {
    "arch": NamedTower(arch, "a flat arch of seven wedges between fixed piers; stable without friction"),
    "round-arch": NamedTower(round_arch, "nine equal wedges of a half circle; the lowest slide outward"),
    "truss": NamedTower(truss, "two rafters and a tie with three pins, on posts; stable"),
    "chain": NamedTower(chain, "five bricks connected by pins between two posts; sags"),
    "leaning": NamedTower(leaning, "six bricks, each 1/5 further out than the one below; tips over"),
    "counterweight": NamedTower(counterweight, "three bricks with an overhang of a whole brick; balanced"),
}
PATTERNS = (
    NamePattern("wall-RxC", r"wall-(\d+)x(\d+)", wall, "rows of C and C - 1 bricks alternately, R rows, no gaps"),
    NamePattern("diamond-N", r"diamond-(\d+)", diamond, "rows of 1, 2, ..., N, ..., 2, 1 bricks; stable up to N = 4"),
    NamePattern("harmonic-N", r"harmonic-(\d+)", harmonic, "N bricks on a table, overhang (1 + ... + 1/N) / 2"),
    NamePattern("stack-N", r"stack-(\d+)", lambda n: stack([0] * n), "N bricks exactly on top of each other"),
)


def named_tower(name: str) -> Tower:
    """The tower with a name in NAMED, or of a form such as `wall-5x5`, `diamond-5`, `harmonic-8`."""
    if name in NAMED:
        return NAMED[name].make()
    for entry in PATTERNS:
        found = re.fullmatch(entry.pattern, name)
        if found:
            numbers = [int(digits) if len(digits) < 6 else MOST_NAMED_BRICKS + 1 for digits in found.groups()]
            bricks = math.prod(numbers) if entry.make is not diamond else numbers[0] ** 2
            if bricks > MOST_NAMED_BRICKS:
                raise ProblemError(name, "a tower of too many bricks", f"at most {MOST_NAMED_BRICKS:,} bricks")
            return entry.make(*numbers)
    raise unknown_tower(name)


def unknown_tower(name: str) -> ProblemError:
    """The error for an unknown name, with the closest known name; forms are compared by an example."""
    examples = {"wall-5x5": "wall-RxC", "diamond-5": "diamond-N", "harmonic-8": "harmonic-N", "stack-3": "stack-N"}
    error = ProblemError.unknown("tower", name, [*NAMED, *examples])
    text = str(error)
    for example, form in examples.items():
        text = text.replace(f", {example}", f", {form}").replace(f"known: {example}", f"known: {form}")
    return ProblemError(error.field, name, error.expected, text.removesuffix(")") + "; or a file that ends in .toml)")

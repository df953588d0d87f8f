"""Towers with a name: walls, stacks, harmonic stacks, diamonds. All lengths stay fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from ..errors import ProblemError
from .bricks import Brick
from .checks import bricks_in_all, choice, count, exact_number, positive_number, shown
from .tower import Tower

BONDS = ("running", "stacked", "shifted")
MOST_HARMONIC = 10_000  # bricks; their places are fractions with as many digits


def wall(
    rows: int, columns: int, brick: Sequence[Any] = (3, 1), gap: Any = 0, *, bond: str = "running", **options: Any
) -> Tower:
    """A wall of `rows` rows on the ground, `gap` between neighbors in a row.

    bond "running": rows of `columns` and `columns - 1` bricks take turns, each brick above a joint, so the wall is its
    own mirror image. The end bricks of the wider rows then hang out by half a brick and half a gap, and tip over if
    there is a gap and too little weight above. "stacked": columns without bond. "shifted": every row has `columns`
    bricks, odd rows half a brick and half a gap further right.
    """
    r, c = count("rows", rows), count("columns", columns)
    bricks_in_all("rows" if r > c else "columns", max(r, c), r * c)
    width, height = size_of(brick)
    space = _gap(gap)
    choice("bond", bond, BONDS)
    if bond == "running" and c < 2 and r > 1:
        raise ProblemError("columns", columns, "at least 2 with bond='running': every second row has one brick less")
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
    """One brick on the other, from the ground up; offsets[i] is the x of brick i's center."""
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
    """The harmonic stack of n bricks at the right edge of a table, x = 0: it reaches (1 + 1/2 + ... + 1/n) / 2 bricks.

    The table is the first brick, fixed, `table` high (default: one brick length). The k-th brick from the top reaches
    1 / 2k of a brick beyond the one below it; each part above lies with its center of mass right on the edge below.
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
    """n x n bricks as a diamond: rows of 1, 2, ..., n, ..., 2, 1, each shifted by half a brick, on one brick.

    Stable up to n = 4 (Paterson and Zwick, Overhang, 2006); diamond(5) is the tower of 5 x 5 bricks of the paper.
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

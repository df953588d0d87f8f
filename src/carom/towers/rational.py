"""Sparse linear equations in whole numbers: exact solutions near a given floating one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

Row = Mapping[int, Fraction]

RIGHT = -1  # the column of the right side
SHORT = 1000  # denominators tried first
GRAIN = 2**50


def solve_near(rows: Sequence[Row], right: Sequence[Fraction], near: Sequence[float]) -> list[Fraction] | None:
    """An exact x with rows . x = right, close to the floating solution `near`. None if there is no solution.

    Unknowns that the equations leave open take the value of `near`, rounded to a short fraction; the others follow.
    With a floating solution that is good to 1e-16 the exact one differs from it by about as much.
    """
    pivots = _eliminate([_whole(row, value) for row, value in zip(rows, right)])
    if pivots is None:
        return None
    found: list[Fraction | None] = [None] * len(near)
    bound = {column for column, _ in pivots}
    for column, guess in enumerate(near):
        if column not in bound:
            found[column] = short_fraction(guess)
    for column, row in reversed(pivots):
        total = Fraction(row.get(RIGHT, 0))
        for other, factor in row.items():
            if other not in (RIGHT, column):
                value = found[other]
                assert value is not None
                total -= factor * value
        found[column] = total / row[column]
    return [value if value is not None else Fraction(0) for value in found]


def dot(row: Row, values: Sequence[Fraction]) -> Fraction:
    """Their product."""
    return sum((factor * values[column] for column, factor in row.items()), Fraction(0))


def short_fraction(value: float) -> Fraction:
    """A fraction with a small denominator if one is as good as the float, else the float to 2^-50."""
    short = Fraction(value).limit_denominator(SHORT)
    if abs(float(short) - value) <= 1e-14 * (1.0 + abs(value)):
        return short
    return Fraction(round(value * GRAIN), GRAIN)


def _whole(row: Row, right: Fraction) -> dict[int, int]:
    """The equation in whole numbers without a common factor."""
    parts = {column: value for column, value in row.items() if value}
    if right:
        parts[RIGHT] = right
    common = math.lcm(*(value.denominator for value in parts.values()))
    return _lean({column: int(value * common) for column, value in parts.items()})


def _lean(row: dict[int, int]) -> dict[int, int]:
    factor = math.gcd(*row.values())
    return {column: value // factor for column, value in row.items()} if factor > 1 else row


def _eliminate(rows: list[dict[int, int]]) -> list[tuple[int, dict[int, int]]] | None:
    """Pivot columns with their rows, in order; a row holds its pivot and columns that come later or stay open.

    The shortest row goes next, with its rarest column: towers are sparse, and stay so. Rows stay whole numbers, and
    a common factor is taken out at once.
    """
    users: dict[int, set[int]] = {}
    for k, row in enumerate(rows):
        for column in row:
            if column != RIGHT:
                users.setdefault(column, set()).add(k)
    left = set(range(len(rows)))
    pivots = []
    while left:
        k = min(left, key=lambda i: (len(rows[i]) - (RIGHT in rows[i]), i))
        left.remove(k)
        row = rows[k]
        columns = [column for column in row if column != RIGHT]
        if not columns:
            if row:
                return None
            continue
        pivot = min(columns, key=lambda c: (len(users[c]), c))
        pivots.append((pivot, row))
        for column in columns:
            users[column].discard(k)
        for i in sorted(users.pop(pivot)):
            rows[i] = _without(rows[i], row, pivot, users, i)
    return pivots


def _without(
    row: dict[int, int], other: dict[int, int], pivot: int, users: dict[int, set[int]], number: int
) -> dict[int, int]:
    """`row` less the multiple of `other` that takes out the pivot column."""
    common = math.gcd(row[pivot], other[pivot])
    mine, theirs = other[pivot] // common, row[pivot] // common
    out = {column: mine * value for column, value in row.items() if column != pivot}
    for column, value in other.items():
        if column == pivot:
            continue
        new = out.get(column, 0) - theirs * value
        if new:
            out[column] = new
            if column != RIGHT:
                users[column].add(number)
        else:
            out.pop(column, None)
            if column != RIGHT:
                users[column].discard(number)
    return _lean(out) if out else out

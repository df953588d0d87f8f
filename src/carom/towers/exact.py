"""Verification in rational arithmetic: equilibrium forces, unstable motions, initial accelerations of small towers.

The floating-point answer tells which contacts push or stay closed. The resulting equations are solved in fractions,
from the exact corners of the bricks, and every inequality is checked. A contact row uses the edge rotated by a right
angle in place of its unit normal, so that no square root occurs; forces are converted to unit normals at the end. The
contacts are given, as those of `Tower.contacts`: gaps within the contact tolerance are taken as closed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..solvers.rows import Floats
from .contacts import GROUND, TowerContacts

if TYPE_CHECKING:
    from .tower import Tower

MOST_CONTACTS = 1000  # larger towers take seconds
PUSHES = 1e-9  # relative to the largest force: larger forces push
OPENS = 1e-9  # relative to the largest motion: contacts that open more slowly stay closed
MOST_TRIES = 8  # corrections of the set of contacts that push
RIGHT = -1  # the column of the right-hand side
SHORT = 1000  # largest denominator of the fractions that are tried first
GRAIN = 2**50  # denominator of all others

Vector = tuple[Fraction, Fraction, Fraction]
Row = Mapping[int, Fraction]
ExactRow = dict[int, Fraction]


class NotVerified(Exception):
    """The floating-point answer could not be verified; the text is the reason."""


class ExactInitial(NamedTuple):
    """Verified initial accelerations (ax, ay, alpha) of each brick, with the forces."""

    acceleration: tuple[Vector, ...]
    forces: Floats  # (m,) along unit normals
    pin_forces: Floats  # (p, 2)


class ExactRows:
    """Contact and pin rows, masses and gravity of a tower as fractions, for motions as in `contacts.py`."""

    def __init__(self, tower: Tower, contacts: TowerContacts) -> None:
        count = len(contacts.on)
        if count > MOST_CONTACTS:
            raise NotVerified(f"{count} contacts; rational arithmetic is limited to {MOST_CONTACTS}")
        self.size = 3 * tower.count
        self.free = [i for i in range(tower.count) if tower.free[i]]
        self.columns = [3 * i + k for i in self.free for k in range(3)]
        made = [brick.properties(tower.mass_model) for brick in tower.bricks]
        self.mass = [p.mass for p in made]
        self.inertia = [p.inertia for p in made]
        self._center = [p.center for p in made]
        # Gravity is a common factor: its decimal value serves as well as its binary one and is easier to read.
        self.gravity = Fraction(repr(float(tower.gravity)))
        self.lengths: list[float] = []  # of the normals of the contact rows
        self.contacts = [self._contact(tower, contacts, k) for k in range(count)]
        self.pins = [row for pin in tower.pins for row in self._pin(tower, pin.first, pin.second, pin.at)]

    def weight(self, brick: int) -> Fraction:
        """Weight of a brick, >= 0."""
        return self.mass[brick] * self.gravity

    def _contact(self, tower: Tower, found: TowerContacts, k: int) -> ExactRow:
        on, under, edge = int(found.on[k]), int(found.under[k]), int(found.edge[k])
        point = tower.bricks[on].exact[int(found.vertex[k])]
        normal = (Fraction(0), Fraction(1))
        if under != GROUND:
            corners = tower.bricks[under].exact
            (ax, ay), (bx, by) = corners[edge], corners[(edge + 1) % len(corners)]
            normal = (by - ay, ax - bx)
            longest = max(abs(normal[0]), abs(normal[1]))
            normal = (normal[0] / longest, normal[1] / longest)  # a unit vector if the edge follows an axis
        self.lengths.append(float(np.hypot(float(normal[0]), float(normal[1]))))
        return self._row(tower, ((on, 1), (under, -1)), point, normal)

    def _pin(self, tower: Tower, first: int, second: int, at: Sequence[float]) -> list[ExactRow]:
        point = (Fraction(at[0]), Fraction(at[1]))
        axes = ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)))
        return [self._row(tower, ((first, 1), (second, -1)), point, axis) for axis in axes]

    def _row(
        self,
        tower: Tower,
        sides: Sequence[tuple[int, int]],
        point: tuple[Fraction, Fraction],
        normal: tuple[Fraction, Fraction],
    ) -> ExactRow:
        row: ExactRow = {}
        for brick, sign in sides:
            if brick == GROUND or not tower.free[brick]:
                continue
            ax, ay = (point[k] - self._center[brick][k] for k in (0, 1))
            for k, value in enumerate((normal[0], normal[1], ax * normal[1] - ay * normal[0])):
                if value:
                    row[3 * brick + k] = sign * value
        return row


def exact_forces(tower: Tower, contacts: TowerContacts, forces: Floats, pin_forces: Floats) -> tuple[Floats, Floats]:
    """Solves J^T f + P^T q + weights = 0 for the contacts that push in `forces` (m,), and verifies f >= 0.

    Forces that the equations do not determine keep their floating-point value. Returns the forces (m,) along unit
    normals and the pin forces (p, 2).
    """
    rows = ExactRows(tower, contacts)
    floats = np.asarray(forces) / np.array(rows.lengths).reshape(-1)
    largest = float(floats.max(initial=0.0))
    reason = "the contacts that push cannot balance the weights exactly: the tower is in limiting equilibrium"
    for least in (PUSHES, 1e-6, 1e-12):
        push = [k for k in range(len(floats)) if floats[k] > least * largest]
        unknown = [rows.contacts[k] for k in push] + rows.pins
        near = [*(float(floats[k]) for k in push), *np.asarray(pin_forces).ravel().tolist()]
        equations, right = _balance(rows, unknown)
        found = solve_near(equations, right, near)
        if found is None:
            continue
        pushed = found[: len(push)]
        if any(f < 0 for f in pushed):
            reason = "a force of the exact balance is negative"
            continue
        _check_solution(equations, right, found)
        held = np.array([float(q) for q in found[len(push) :]]).reshape(-1, 2)
        return _along_normals(rows, push, pushed), held
    raise NotVerified(reason)


def exact_motion(tower: Tower, contacts: TowerContacts, motion: Floats) -> tuple[Vector, ...]:
    """Solves J d = 0 for the contacts that stay closed in `motion` (n, 3), P d = 0; verifies J d >= 0 and the work."""
    rows = ExactRows(tower, contacts)
    near = np.asarray(motion).ravel()
    rates = [sum(float(value) * near[c] for c, value in row.items()) for row in rows.contacts]
    largest = float(np.abs(near).max(initial=0.0))
    reason = "there is no exact motion near the floating-point one"
    for least in (OPENS, 1e-12, 1e-6):
        closed = [row for row, rate in zip(rows.contacts, rates) if rate <= least * largest]
        fixed = [{c: Fraction(1)} for c in sorted(set(range(rows.size)) - set(rows.columns))]
        equations = [*closed, *rows.pins, *fixed]
        found = solve_near(equations, [Fraction(0)] * len(equations), near.tolist())
        if found is None:
            continue
        work = -sum((rows.weight(i) * found[3 * i + 1] for i in rows.free), Fraction(0))
        if any(dot(row, found) < 0 for row in rows.contacts) or any(dot(row, found) for row in rows.pins):
            reason = "a contact closes in the exact motion"
        elif work <= 0:
            reason = "gravity does no work along the exact motion: the tower is in limiting equilibrium"
        else:
            return _vectors(found)
    raise NotVerified(reason)


def exact_initial(tower: Tower, contacts: TowerContacts, forces: Floats, acceleration: Floats) -> ExactInitial:
    """Verifies min 1/2 (a - g)^T M (a - g) with J a >= 0, P a = 0 in fractions.

    The contacts that push in `forces` (m,) give M (a - g) = J^T f + P^T q with J a = 0 for them. This is the solution
    if f >= 0 and J a >= 0 everywhere. Contacts that violate this are exchanged, at most MOST_TRIES times.
    """
    rows = ExactRows(tower, contacts)
    floats = np.asarray(forces, dtype=float) / np.array(rows.lengths).reshape(-1)
    push = set(np.flatnonzero(floats > PUSHES * floats.max(initial=0.0)).tolist())
    near = np.asarray(acceleration, dtype=float).ravel()
    for _ in range(MOST_TRIES):
        order = sorted(push)
        motion, pushed, pins = _gauss(rows, order, near, floats)
        pulls = {k for k, f in zip(order, pushed) if f < 0}
        closes = {k for k, row in enumerate(rows.contacts) if k not in push and dot(row, motion) < 0}
        if not pulls and not closes:
            held = np.array([float(q) for q in pins]).reshape(-1, 2)
            return ExactInitial(_vectors(motion), _along_normals(rows, order, pushed), held)
        push = (push - pulls) | closes
    raise NotVerified("no set of pushing contacts near the floating-point one is exactly right")


def _gauss(
    rows: ExactRows, push: list[int], near: Floats, floats: Floats
) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
    """a, f and q with M (a - g) = J^T f + P^T q, J a = 0 for the pushing contacts, P a = 0."""
    pressing = [rows.contacts[k] for k in push] + rows.pins
    equations: list[ExactRow] = [{} for _ in range(rows.size)]
    right = [Fraction(0)] * rows.size
    for c in range(rows.size):
        brick, k = divmod(c, 3)
        equations[c][c] = Fraction(1) if brick not in rows.free else (rows.mass, rows.mass, rows.inertia)[k][brick]
        if k == 1 and brick in rows.free:
            right[c] = -rows.weight(brick)
    for k, row in enumerate(pressing):
        for c, value in row.items():
            equations[c][rows.size + k] = -value
    equations += pressing
    right += [Fraction(0)] * len(pressing)
    guess = [*near.tolist(), *(float(floats[k]) for k in push), *([0.0] * len(rows.pins))]
    found = solve_near(equations, right, guess)
    if found is None:
        raise NotVerified("the equations of the contacts that push have no exact solution")
    _check_solution(equations, right, found)
    middle = rows.size + len(push)
    return found[: rows.size], found[rows.size : middle], found[middle:]


def _balance(rows: ExactRows, unknown: list[ExactRow]) -> tuple[list[ExactRow], list[Fraction]]:
    """One equation for each motion of a free brick: the sum of the forces along it is the weight."""
    equations: dict[int, ExactRow] = {c: {} for c in rows.columns}
    for k, row in enumerate(unknown):
        for c, value in row.items():
            equations[c][k] = value
    right = [rows.weight(c // 3) if c % 3 == 1 else Fraction(0) for c in rows.columns]
    return [equations[c] for c in rows.columns], right


def _check_solution(equations: Sequence[Row], right: Sequence[Fraction], found: Sequence[Fraction]) -> None:
    if any(dot(row, found) != value for row, value in zip(equations, right)):
        raise RuntimeError("an exact solution does not solve its equations")


def _along_normals(rows: ExactRows, push: Sequence[int], pushed: Sequence[Fraction]) -> Floats:
    """(m,) forces along unit normals, zero for contacts that do not push."""
    out = np.zeros(len(rows.lengths))
    out[push] = [float(f) * rows.lengths[k] for f, k in zip(pushed, push)]
    return out


def _vectors(values: Sequence[Fraction]) -> tuple[Vector, ...]:
    return tuple((values[i], values[i + 1], values[i + 2]) for i in range(0, len(values), 3))


# ---- linear equations in fractions


def solve_near(rows: Sequence[Row], right: Sequence[Fraction], near: Sequence[float]) -> list[Fraction] | None:
    """An exact x with rows . x = right, close to the floating-point solution `near`. None if there is no solution.

    Unknowns that the equations do not determine take the value of `near`, rounded to a short fraction. The difference
    between the exact solution and `near` is about the error of `near`.
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
    """Scalar product of a row and a vector."""
    return sum((factor * values[column] for column, factor in row.items()), Fraction(0))


def short_fraction(value: float) -> Fraction:
    """A fraction with a small denominator if one agrees with the float to 1e-14, else the float rounded to 2^-50."""
    short = Fraction(value).limit_denominator(SHORT)
    if abs(float(short) - value) <= 1e-14 * (1.0 + abs(value)):
        return short
    return Fraction(round(value * GRAIN), GRAIN)


def _whole(row: Row, right: Fraction) -> dict[int, int]:
    """The equation with integer coefficients without a common factor."""
    parts = {column: value for column, value in row.items() if value}
    if right:
        parts[RIGHT] = right
    common = math.lcm(*(value.denominator for value in parts.values()))
    return _lean({column: int(value * common) for column, value in parts.items()})


def _lean(row: dict[int, int]) -> dict[int, int]:
    """The row divided by its common factor."""
    factor = math.gcd(*row.values())
    return {column: value // factor for column, value in row.items()} if factor > 1 else row


def _eliminate(rows: list[dict[int, int]]) -> list[tuple[int, dict[int, int]]] | None:
    """Pivot columns with their rows, in order; a row contains its pivot and columns that are eliminated later or never.

    The next pivot is the rarest column of the shortest row, which keeps the rows sparse. Coefficients remain integers
    without a common factor. None if the equations contradict each other.
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
    """`row` minus the multiple of `other` that eliminates the pivot column."""
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

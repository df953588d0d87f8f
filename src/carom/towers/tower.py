"""The class Tower: bricks on the ground y = 0, with methods for each analysis (section 1 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..checks import choice, exact_number, flag, shown, text, whole
from ..errors import ProblemError
from ..shown import Shown, counted
from ..solvers.rows import Floats, Ints
from .bricks import Brick, Pin, brick_of, bricks_in_all, check_mass_model
from .contacts import CONTACT_TOLERANCE, GROUND, Touching, TowerContacts, find_contacts, near_pairs, pair_contacts

if TYPE_CHECKING:
    from ..trajectory import Trajectory
    from .contacts import Choice
    from .initial_collapse import InitialCollapse
    from .margin import Margin
    from .resting_shape import RestingShape
    from .stability import Stability

MOST_NAMED = 3  # largest number of bricks listed in an error message
FARTHEST = 1e8  # largest distance from the origin, in shortest sides: rounding must stay well below CONTACT_TOLERANCE


@dataclass(frozen=True, eq=False)
class Tower(Shown):
    """Bricks without friction, at rest. The ground is y = 0, and gravity acts in the direction -y.

    `mass_model` is "uniform" for homogeneous bricks or "corners" for bricks with equal masses in their corners.
    `gravity` is an acceleration, >= 0. Units are arbitrary but consistent. A tower is validated when it is made:
    overlapping bricks are rejected, and so are free bricks without a connection to the ground through contacts and
    pins, unless `floating` is True.
    """

    bricks: tuple[Brick, ...]
    pins: tuple[Pin, ...] = ()
    mass_model: str = "uniform"
    gravity: float = 9.81
    floating: bool = False
    name: str = "tower"
    parameters: Mapping[str, Any] = field(default_factory=dict)  # arguments of the function that made it

    def __repr__(self) -> str:
        return f"<Tower {self.name}: {counted(len(self.bricks), 'brick')}, {counted(len(self.pins), 'pin')}>"

    def __post_init__(self) -> None:
        given = _listed("bricks", self.bricks, "a list of bricks")
        if not given:
            raise ProblemError("bricks", (), "at least one brick")
        bricks_in_all("bricks", f"{len(given):,} bricks", len(given))
        bricks = tuple(brick_of(value, f"bricks[{i}]") for i, value in enumerate(given))
        pins = _listed("pins", self.pins, "a list of pins (first brick, second brick or -1, (x, y))")
        checked = {
            "bricks": bricks,
            "pins": tuple(_pin_of(k, pin, len(bricks)) for k, pin in enumerate(pins)),
            "mass_model": check_mass_model(self.mass_model),
            "gravity": _gravity(self.gravity),
            "floating": flag("floating", self.floating),
            "name": text("name", self.name),
        }
        if not isinstance(self.parameters, Mapping):
            raise ProblemError("parameters", shown(self.parameters), "a mapping from names to values")
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self._check_far()
        self._check_overlap()
        if not self.floating:
            self._check_floating()

    # ---- making towers

    @classmethod
    def from_bricks(
        cls,
        bricks: Iterable[Any],
        *,
        pins: Iterable[Any] = (),
        mass_model: str = "uniform",
        gravity: float = 9.81,
        floating: bool = False,
        name: str = "tower",
    ) -> Tower:
        """Makes a tower from bricks given as (x, y, width, height[, angle]), as mappings, or as `Brick`s.

        (x, y) is the center of a brick, `angle` is in radians. Pins are (first, second, (x, y)); second = -1 is the
        ground.
        """
        made = cast("tuple[Brick, ...]", bricks)  # __post_init__ converts them
        return cls(made, cast("tuple[Pin, ...]", pins), mass_model, gravity, floating, name)

    @classmethod
    def wall(cls, rows: int, columns: int, brick: Sequence[Any] = (3, 1), gap: Any = 0, **options: Any) -> Tower:
        """A wall in a running, stacked or shifted bond; see `carom.towers.named.wall`."""
        from .named import wall

        return wall(rows, columns, brick, gap, **options)

    @classmethod
    def stack(cls, offsets: Sequence[Any], brick: Sequence[Any] = (1, "1/4"), **options: Any) -> Tower:
        """Bricks on top of each other; see `carom.towers.named.stack`."""
        from .named import stack

        return stack(offsets, brick, **options)

    @classmethod
    def harmonic(cls, n: int, brick: Sequence[Any] = (1, "1/4"), **options: Any) -> Tower:
        """The harmonic stack at the edge of a table; see `carom.towers.named.harmonic`."""
        from .named import harmonic

        return harmonic(n, brick, **options)

    @classmethod
    def diamond(cls, n: int, brick: Sequence[Any] = (3, 1), **options: Any) -> Tower:
        """Rows of 1, 2, ..., n, ..., 2, 1 bricks; see `carom.towers.named.diamond`."""
        from .named import diamond

        return diamond(n, brick, **options)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Tower:
        """Reads a tower from a TOML file."""
        from .files import load_tower

        return load_tower(path)

    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """Writes a TOML file from which `load` restores the same tower exactly."""
        from .files import save_tower

        save_tower(self, path, overwrite=overwrite)

    def with_(self, **changes: Any) -> Tower:
        """Returns a copy with some fields replaced; the copy is validated."""
        unknown = set(changes) - set(self.__dataclass_fields__)
        if unknown:
            raise ProblemError.unknown("tower field", sorted(unknown)[0], self.__dataclass_fields__)
        return replace(self, **changes)

    def moved(self, brick: int, dx: Any, dy: Any = 0) -> Tower:
        """Returns a copy in which one brick is translated by (dx, dy). Negative indices count from the end."""
        bricks = list(self.bricks)
        i = self.brick_number(brick)
        bricks[i] = bricks[i].moved(dx, dy)
        return self.with_(bricks=tuple(bricks))

    # ---- geometry and mass

    @cached_property
    def corners(self) -> list[Floats]:
        """One (k, 2) array of corners per brick, counterclockwise."""
        return [brick.corners for brick in self.bricks]

    @cached_property
    def first_corner(self) -> Ints:
        """(n + 1,) number of the first corner of each brick, if the corners of all bricks are numbered in order."""
        return np.concatenate([[0], np.cumsum([len(c) for c in self.corners])]).astype(np.int64)

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """(n,) True for bricks that can move."""
        return np.array([not brick.fixed for brick in self.bricks])

    @cached_property
    def _properties(self) -> tuple[Floats, Floats, Floats]:
        made = [brick.properties(self.mass_model) for brick in self.bricks]
        mass = np.array([float(p.mass) for p in made])
        center = np.array([(float(p.center[0]), float(p.center[1])) for p in made])
        return mass, center, np.array([float(p.inertia) for p in made])

    @property
    def mass(self) -> Floats:
        """(n,) masses of the bricks."""
        return self._properties[0]

    @property
    def center(self) -> Floats:
        """(n, 2) centers of mass."""
        return self._properties[1]

    @property
    def inertia(self) -> Floats:
        """(n,) moments of inertia about the centers of mass."""
        return self._properties[2]

    @property
    def count(self) -> int:
        """Number of bricks, including fixed ones."""
        return len(self.bricks)

    @cached_property
    def size(self) -> float:
        """Length of the shortest side of any brick. Contact tolerances are relative to it."""
        return min(float(np.hypot(*(np.roll(c, -1, axis=0) - c).T).min()) for c in self.corners)

    @cached_property
    def held_corners(self) -> NDArray[np.bool_]:
        """(c,) True for corners, of all bricks, that a pin attaches to the ground: these need no contact."""
        at = [(pin.first, pin.at) for pin in self.pins if pin.second == GROUND]
        close = 2.0 * CONTACT_TOLERANCE * self.size
        return np.array(
            [
                any(i == brick and np.abs(corner - point).max() <= close for brick, point in at)
                for i, corners in enumerate(self.corners)
                for corner in corners
            ],
            dtype=bool,
        )

    @cached_property
    def contacts(self) -> TowerContacts:
        """Contacts of the free bricks with each other, with fixed bricks and with the ground.

        Bricks that meet corner to corner touch along the edge of `corner_choice`.
        """
        return self._touching.certain if self.corner_choice is None else self.corner_choice.contacts

    @cached_property
    def corner_choice(self) -> Choice | None:
        """The separating edges of bricks that meet corner to corner; None if there are none."""
        from .contacts import choose

        touching = self._touching
        return choose(self, touching.certain, touching.corners) if touching.corners else None

    @property
    def corner_count(self) -> int:
        """Number of pairs that meet corner to corner; their contacts are the last ones."""
        return len(self._touching.corners)

    @cached_property
    def _touching(self) -> Touching:
        """Contacts, corners that meet, and overlap."""
        pinned = {tuple(sorted((p.first, p.second))) for p in self.pins}
        fixed = ~self.free
        tolerance = CONTACT_TOLERANCE * self.size
        pairs = [
            (i, j)
            for i, j in near_pairs(self.corners, 2.0 * tolerance)
            if (i, j) not in pinned and not (fixed[i] and fixed[j])
        ]
        touching = find_contacts(self.corners, pairs, tolerance)
        found = touching.certain
        between_fixed = fixed[found.on] & ((found.under == GROUND) | fixed[found.under])
        keep = ~between_fixed & ~(
            (found.under == GROUND) & self.held_corners[self.first_corner[found.on] + found.vertex]
        )
        return touching._replace(certain=TowerContacts(*(part[keep] for part in found)))

    # ---- analysis

    def stability(self, exact: bool = False) -> Stability:
        """Whether the tower is in equilibrium: contact forces that support it, or a motion that releases energy.

        With `exact` the answer is verified in rational arithmetic.
        """
        from .stability import stability

        return stability(self, exact=flag("exact", exact))

    def margin(self, **options: Any) -> Margin:
        """How far a load or a shift can grow before the tower falls; see `carom.towers.margin.margin`."""
        from .margin import margin

        return margin(self, **options)

    def initial_collapse(self, exact: bool = False, **options: Any) -> InitialCollapse:
        """Accelerations at the instant of release, by Gauss' principle of least constraint.

        With `exact` they are verified in rational arithmetic. For the options see
        `carom.towers.initial_collapse.initial_collapse`.
        """
        from .framework import BRACINGS
        from .initial_collapse import COORDINATES, initial_collapse

        for name, known in (("coordinates", COORDINATES), ("bracing", BRACINGS)):
            if name in options:
                choice(name, options[name], known)
        return initial_collapse(self, exact=flag("exact", exact), **options)

    def collapse(self, steps: int = 1000, step: float = 0.01, method: str = "position", **options: Any) -> Trajectory:
        """Integrates the collapse in time; see `carom.towers.collapse.collapse`."""
        from .collapse import collapse

        return collapse(self, steps=steps, step=step, method=method, **options)

    def resting_shape(self) -> RestingShape:
        """Heights of least potential energy for bricks that cannot slide."""
        from .resting_shape import resting_shape

        return resting_shape(self)

    def overhang(self) -> float:
        """Distance by which the free bricks extend beyond their support, to the right (+x).

        The support is the right end of the fixed bricks or, without any, of the bricks that stand on the ground.
        """
        free = [c for c, moves in zip(self.corners, self.free) if moves]
        if not free:
            return 0.0
        support = [c for c, moves in zip(self.corners, self.free) if not moves]
        if not support:
            support = [self.corners[i] for i in sorted(set(self.contacts.on[self.contacts.under == GROUND].tolist()))]
        if not support:
            raise ProblemError("overhang", self.name, "a tower with a fixed brick or a brick on the ground")
        return max(float(c[:, 0].max()) for c in free) - max(float(c[:, 0].max()) for c in support)

    def draw(self, path: str | PathLike[str], **options: Any) -> None:
        """Writes a picture; see `carom.towers.drawing.draw`."""
        from .drawing import draw

        draw(self, path, **options)

    def brick_number(self, brick: Any) -> int:
        """Index of a brick, given as an index (from the end if negative) or as its name."""
        if isinstance(brick, str):
            names = [b.name for b in self.bricks]
            if brick not in names:
                raise ProblemError.unknown("brick", brick, [n for n in names if n])
            return names.index(brick)
        number = whole(brick)
        if number is None or not -self.count <= number < self.count:
            wanted = f"a whole number from 0 to {self.count - 1}, or the name of a brick"
            raise ProblemError("brick", shown(brick), wanted)
        return number % self.count

    # ---- checks

    def _check_far(self) -> None:
        """Checks that double precision resolves the contact tolerance at every corner and pin."""
        for k, pin in enumerate(self.pins):
            if not max(map(abs, pin.at)) <= FARTHEST * self.size:
                wanted = f"a point within {FARTHEST:g} times the shortest side ({self.size:g}) of the origin"
                raise ProblemError(f"pins[{k}].at", pin.at, wanted)
        if self.size > 0.0 and max(float(np.abs(c).max()) for c in self.corners) <= FARTHEST * self.size:
            return
        for i, corners in enumerate(self.corners):
            x, y = corners[np.argmax(np.abs(corners).max(axis=1))].tolist()
            if not max(abs(x), abs(y)) <= FARTHEST * self.size:
                wanted = f"bricks within {FARTHEST:g} times the shortest side ({self.size:g}) of the origin"
                raise ProblemError(f"bricks[{i}]", f"a corner at ({x:g}, {y:g})", wanted)

    def _check_overlap(self) -> None:
        limit = CONTACT_TOLERANCE * self.size
        for i, corners in enumerate(self.corners):
            low = float(corners[:, 1].min())
            if low < -limit and self.free[i]:
                raise ProblemError(f"bricks[{i}]", f"a lowest corner at y = {low:g}", "a brick above the ground, y = 0")
        if self._touching.deepest <= limit:
            return
        pinned = {tuple(sorted((p.first, p.second))) for p in self.pins}
        for i, j in near_pairs(self.corners, 2.0 * limit):
            if (i, j) in pinned or not (self.free[i] or self.free[j]):
                continue
            deep = -pair_contacts(self.corners[i], self.corners[j], limit).separation
            if deep > limit:
                raise ProblemError(
                    f"bricks[{j}]",
                    f"an overlap of {deep:g} with bricks[{i}]",
                    f"bricks that overlap by at most {limit:g}",
                )

    def _check_floating(self) -> None:
        lost = sorted(set(np.flatnonzero(self.free).tolist()) - self._grounded())
        if lost:
            names = ", ".join(f"bricks[{i}]" for i in lost[:MOST_NAMED]) + (" ..." if len(lost) > MOST_NAMED else "")
            raise ProblemError(
                names, "floating in the air", "bricks connected to the ground by contacts or pins (or floating=True)"
            )

    def _grounded(self) -> set[int]:
        """Bricks connected to the ground or to a fixed brick through contacts and pins."""
        links: dict[int, set[int]] = {}
        found = self._touching.certain
        joints = [(p.first, p.second) for p in self.pins]
        joints += [(on, under) for (on, _, under, _), _ in self._touching.corners]
        for a, b in (*zip(found.on.tolist(), found.under.tolist()), *joints):
            links.setdefault(a, set()).add(b)
            links.setdefault(b, set()).add(a)
        reached = {GROUND, *np.flatnonzero(~self.free).tolist()}
        ahead = list(reached)
        while ahead:
            for other in links.get(ahead.pop(), set()) - reached:
                reached.add(other)
                ahead.append(other)
        return reached - {GROUND}


def _listed(field: str, value: Any, wanted: str) -> list[Any]:
    try:
        return list(value)
    except TypeError:
        raise ProblemError(field, shown(value), wanted) from None


def _gravity(value: Any) -> float:
    limits = "a number from 0 to 1e50"
    number = exact_number("gravity", value, limits)
    if number < 0:
        raise ProblemError("gravity", shown(value), limits)
    return float(number)


def _pin_of(k: int, value: Any, count: int) -> Pin:
    try:
        first, second, (x, y) = (value.first, value.second, value.at) if isinstance(value, Pin) else value
    except (TypeError, ValueError):
        wanted = "(first brick, second brick or -1, (x, y))"
        raise ProblemError(f"pins[{k}]", shown(value), wanted) from None
    ends = []
    for name, given, lowest in (("first", first, 0), ("second", second, GROUND)):
        number = whole(given)
        if number is None or not lowest <= number < count:
            raise ProblemError(f"pins[{k}].{name}", shown(given), f"the number of a brick, {lowest} to {count - 1}")
        ends.append(number)
    if ends[0] == ends[1]:
        raise ProblemError(f"pins[{k}]", tuple(ends), "two different bricks")
    at = (float(exact_number(f"pins[{k}].at", x)), float(exact_number(f"pins[{k}].at", y)))
    return Pin(ends[0], ends[1], at)

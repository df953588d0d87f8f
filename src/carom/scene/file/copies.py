"""Groups of a scene file. `kind = "copies"` names another group, which may itself be copies, but not of the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import ProblemError
from ...geometry.rotations import matrices, product
from ...solvers.rows import Floats
from ..checks import Where
from ..generators import grid
from ..model import Bodies
from ..shapes import UNTURNED, Disc, Shape, Sphere
from .bodies import Group, affordable, placed
from .generators import Copies, origin

DEEPEST = 20  # copies of copies


class Groups:
    """All groups of a file, by the path of their table. Each table is placed once, on demand."""

    def __init__(self, tables: Mapping[str, Group | Copies], where: Where) -> None:
        self.where = where
        self.tables = tables
        self.done: dict[str, list[Bodies]] = {}
        self.total = 0  # bodies of all tables so far, templates included

    def all(self) -> list[Bodies]:
        """Every group except the templates. A nameless generated group is named after its table, for messages."""
        out: list[Bodies] = []
        for path, table in self.tables.items():
            made = self.of(path, ())
            if not table.template:
                out += [
                    g if g.name or path == f"bodies[{len(out) + k}]" else replace(g, name=path)
                    for k, g in enumerate(made)
                ]
        return out

    def of(self, path: str, asked_by: tuple[str, ...]) -> list[Bodies]:
        """The groups of one table; `asked_by` are the copies that lead to it."""
        if path not in self.done:
            table = self.tables[path]
            if isinstance(table, Copies):
                self.done[path] = self._copies(table, path, (*asked_by, path))
            else:
                self.done[path] = [placed(table, path, self.where)]
            self.total += sum(group.count for group in self.done[path])
            affordable(self.total, path)
        return self.done[path]

    def _copies(self, table: Copies, path: str, chain: tuple[str, ...]) -> list[Bodies]:
        source = self._named(table.of, path)
        if source in chain:
            names = [self.tables[p].name or p for p in (*chain[chain.index(source) :], source)]
            raise ProblemError(
                f"{path}.of", repr(table.of), f"a group that does not lead back to itself: {' -> '.join(names)}"
            )
        if len(chain) > DEEPEST:
            raise ProblemError(f"{path}.of", repr(table.of), f"copies of copies at most {DEEPEST} deep")
        return _copied(self.of(source, chain), table, path, self.where)

    def _named(self, name: str, path: str) -> str:
        found = [p for p, table in self.tables.items() if table.name and table.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise ProblemError(f"{path}.of", repr(name), f"a name that one group has; {' and '.join(found)} have it")
        names = sorted({t.name for t in self.tables.values() if t.name})
        if not names:
            raise ProblemError(f"{path}.of", repr(name), "the name of a group; no group has one")
        message = str(ProblemError.unknown("group", name, names))
        raise ProblemError(f"{path}.of", repr(name), f"one of {', '.join(names)}", f"{path}.of: {message}")


def _copied(groups: Sequence[Bodies], table: Copies, path: str, where: Where) -> list[Bodies]:
    count, dimension = table.count, where.dimension or 2
    affordable(count * sum(group.count for group in groups), path)
    turned = table.quaternions()
    name = "orientation" if table.rotation is None else "rotation.degrees"
    for field, value, single in (("turn", table.turn, 0), ("velocity", table.velocity, 1), (name, turned, 1)):
        if value is not None and np.ndim(value) > single and len(np.asarray(value)) != count:
            raise ProblemError(f"{path}.{field}", f"{len(np.asarray(value))} entries", f"one, or {count}: one per copy")
    if dimension == 2:
        turn = np.array(np.broadcast_to(np.asarray(table.turn, dtype=np.float64), (count,)))
        is_turned = bool(turn.any())
    else:
        turn = np.array(np.broadcast_to(np.array(UNTURNED) if turned is None else turned, (count, 4)))
        is_turned = turned is not None
    velocity = np.broadcast_to(0.0 if table.velocity is None else table.velocity, (count, dimension))
    middle = np.concatenate([np.atleast_2d(g.position) for g in groups]).mean(axis=0)
    for group in groups:
        moves = group.motion is not None and group.motion.kind != "fixed"
        if moves and group.motion is not None and (is_turned or group.motion.about is not None):
            raise ProblemError(f"{path}.of", repr(table.of), "bodies that are free or fixed, or moved but not rotated")
    made = _Copier(_offsets(table, where), turn, velocity, middle, table.name)
    return [made.copy(group) for group in groups]


def _offsets(table: Copies, where: Where) -> Floats:
    if table.offsets is not None:
        return np.atleast_2d(table.offsets)
    assert table.spacing is not None
    return grid(table.rows, table.columns, table.spacing, corner=table.start or origin(where), layers=table.layers)


@dataclass(frozen=True, eq=False)
class _Copier:
    """The transformation to k copies: rotated about `middle`, displaced, with a velocity added."""

    offsets: Floats  # (k, D)
    turn: Floats  # (k,) radians, or in 3D (k, 4) quaternions
    velocity: Floats  # (k, D)
    middle: Floats  # (D,)
    name: str

    def copy(self, group: Bodies) -> Bodies:
        """All copies of one group as one group: copy after copy, each in the order of the original."""
        (k, d), n = self.offsets.shape, group.count
        place = self._rotated(np.atleast_2d(group.position) - self.middle) + self.middle + self.offsets[:, None, :]
        own = np.array(np.broadcast_to(group.velocity, (n, d)))
        speed = self._rotated(own) + self.velocity[:, None, :]
        changes = self._rotations_2d(group) if d == 2 else self._rotations_3d(group)
        if np.ndim(mass := np.asarray(group.mass)) == 1:
            changes["mass"] = np.tile(mass, k)
        return replace(
            group,
            shape=self._shape(group),
            position=np.ascontiguousarray(place.reshape(-1, d)),
            velocity=np.ascontiguousarray(speed.reshape(-1, d)),
            name=self.name,
            **changes,
        )

    def _rotated(self, vectors: Floats) -> Floats:
        """(n, D) -> (k, n, D)"""
        if self.turn.ndim == 1:
            c, s = np.cos(self.turn), np.sin(self.turn)
            rotation = np.stack([c, -s, s, c], axis=-1).reshape(-1, 1, 2, 2)
        else:
            rotation = matrices(self.turn)[:, None]
        return np.asarray((rotation @ vectors[None, :, :, None])[..., 0])

    def _shape(self, group: Bodies) -> Shape:
        shape = group.shape
        if isinstance(shape, (Disc, Sphere)) and np.ndim(shape.radius):
            return type(shape)(np.tile(shape.radius, len(self.offsets)))
        return shape

    def _rotations_2d(self, group: Bodies) -> dict[str, Any]:
        k = len(self.offsets)
        angle = np.broadcast_to(group.angle, (group.count,)) + self.turn[:, None]
        lists = {f: np.tile(v, k) for f in ("spin", "inertia") if np.ndim(v := getattr(group, f))}
        return {"angle": np.ascontiguousarray(angle.reshape(-1)), **lists}

    def _rotations_3d(self, group: Bodies) -> dict[str, Any]:
        k, n = len(self.offsets), group.count
        own = np.tile(np.broadcast_to(np.asarray(group.orientation, dtype=np.float64), (n, 4)), (k, 1))
        out: dict[str, Any] = {"orientation": product(np.repeat(self.turn, n, axis=0), own)}
        if np.any(group.spin):  # a vector of the world, rotated with the rest
            spin = np.array(np.broadcast_to(np.asarray(group.spin, dtype=np.float64), (n, 3)))
            out["spin"] = np.ascontiguousarray(self._rotated(spin).reshape(-1, 3))
        inertia = np.asarray(group.inertia)
        if inertia.ndim == 2:
            out["inertia"] = np.tile(inertia, (k, 1))
        return out

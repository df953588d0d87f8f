"""Copies of groups: `kind = "copies"` names another group, which may itself be copies, but not of the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import ProblemError
from ...solvers.rows import Floats
from ..generators import grid
from ..model import Bodies, Disc
from .bodies import BodiesTable
from .document import SceneFile
from .generators import Copies, PlacedTable
from .groups import affordable, explicit, generated

Source = BodiesTable | PlacedTable | Copies


class Groups:
    """All groups of a file. Each table is worked out once, when it or a copy of it is asked for."""

    def __init__(self, file: SceneFile) -> None:
        self.tables: dict[str, Source] = {}
        for kind, tables in (("bodies", file.bodies), ("generators", file.generators)):
            self.tables.update({f"{kind}[{i}]": table for i, table in enumerate(tables)})
        self.done: dict[str, list[Bodies]] = {}

    def all(self) -> list[Bodies]:
        """Every group but the templates. A nameless group of a generator is named after its table, for messages."""
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
        if path not in self.done:
            table = self.tables[path]
            if isinstance(table, BodiesTable):
                self.done[path] = [explicit(table, path)]
            elif isinstance(table, Copies):
                self.done[path] = self._copies(table, path, (*asked_by, path))
            else:
                self.done[path] = [generated(table, path)]
        return self.done[path]

    def _copies(self, table: Copies, path: str, chain: tuple[str, ...]) -> list[Bodies]:
        source = self._named(table.of, path)
        if source in chain:
            names = [self.tables[p].name or p for p in (*chain[chain.index(source) :], source)]
            raise ProblemError(
                f"{path}.of", repr(table.of), f"a group that does not lead back to itself: {' -> '.join(names)}"
            )
        return _copied(self.of(source, chain), table, path)

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


def _copied(groups: Sequence[Bodies], table: Copies, path: str) -> list[Bodies]:
    copies = table.rows * table.columns if table.offsets is None else len(np.atleast_2d(table.offsets))
    affordable(copies * sum(group.count for group in groups), path)
    offsets = _offsets(table)
    count = len(offsets)
    for field, value, single in (("turn", table.turn, 0), ("velocity", table.velocity, 1)):
        if np.ndim(value) > single and len(np.asarray(value)) != count:
            raise ProblemError(f"{path}.{field}", f"{len(np.asarray(value))} entries", f"one, or {count}: one a copy")
    turn = np.broadcast_to(np.asarray(table.turn, dtype=np.float64), (count,))
    velocity = np.broadcast_to(table.velocity, (count, 2))
    middle = np.concatenate([np.atleast_2d(g.position) for g in groups]).mean(axis=0)
    for group in groups:
        moves = group.motion is not None and group.motion.kind != "fixed"
        if moves and group.motion is not None and (turn.any() or group.motion.about is not None):
            raise ProblemError(f"{path}.of", repr(table.of), "bodies that are free or fixed, or moved but not turned")
    return [_copy(group, offsets, turn, velocity, middle, table.name) for group in groups]


def _offsets(table: Copies) -> Floats:
    if table.offsets is not None:
        return np.atleast_2d(table.offsets)
    assert table.spacing is not None
    return grid(table.rows, table.columns, table.spacing, corner=table.start)


def _copy(group: Bodies, offsets: Floats, turn: Floats, velocity: Floats, middle: Floats, name: str) -> Bodies:
    """All copies of one group as one group: copy after copy, each in the order of the original."""
    k, n = len(offsets), group.count
    rotation = np.stack([np.cos(turn), -np.sin(turn), np.sin(turn), np.cos(turn)], axis=-1).reshape(k, 1, 2, 2)
    about = (np.atleast_2d(group.position) - middle)[None, :, :, None]
    place = (rotation @ about)[..., 0] + middle + offsets[:, None, :]
    own = np.broadcast_to(group.velocity, (n, 2))[None, :, :, None]
    speed = (rotation @ own)[..., 0] + velocity[:, None, :]
    angle = np.broadcast_to(group.angle, (n,)) + turn[:, None]
    shape = group.shape
    if isinstance(shape, Disc) and np.ndim(shape.radius):
        shape = Disc(np.tile(shape.radius, k))
    lists: dict[str, Any] = {f: np.tile(v, k) for f in ("spin", "mass", "inertia") if np.ndim(v := getattr(group, f))}
    return replace(
        group,
        shape=shape,
        position=np.ascontiguousarray(place.reshape(-1, 2)),
        velocity=np.ascontiguousarray(speed.reshape(-1, 2)),
        angle=np.ascontiguousarray(angle.reshape(-1)),
        name=name,
        **lists,
    )

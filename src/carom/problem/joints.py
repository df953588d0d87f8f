"""Joints of an impact problem: rows B with `B v = b` before, during and after the impact.

Joints do no work, so a law never sees them. It sees the motions that they allow: with `M = L L^T` and an orthonormal
basis N of the null space of `B L^-T`, the velocity is `v = T z + v_b`, `T = L^-T N`, where v_b is the part that the
joints prescribe. In z the mass matrix is the identity and the rows of the contacts are `J T`. What a law claims holds
there, with `M (v+ - v) = J^T lam + B^T nu` for some impulses nu of the joints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..geometry.rotations import spin_components
from ..late import sparse as sp
from ..solvers.rows import Floats
from . import checks
from .mass import PhysicalRows, rows_from_matrix, rows_from_pairs

RANK_TOLERANCE = 1e-10  # of the largest singular value of the joint rows: below it a row is redundant
SPEED_TOLERANCE = 1e-9  # of the largest speed: joints that velocities violate by more are an error
ZERO_ROW = 1e-12  # of its length before: a contact row of which joints leave less acts on no allowed motion


@dataclass(frozen=True, eq=False)
class Joints:
    """The rows B of all joints, in the coordinates of the user, and the speeds b that they hold."""

    rows: PhysicalRows
    speed: Floats  # (r,) relative speed that each row holds, second body minus first
    labels: tuple[str, ...]  # of each row, for messages

    def __len__(self) -> int:
        return len(self.speed)

    def error(self, velocity: Floats, before: Floats) -> float:
        """Largest `|B v - b|`, relative to the fastest term of the rows after or before an impact.

        An impact may stop a clamped mechanism: what is left of its velocity is the rounding of that before.
        """
        return float(self._errors(velocity, np.maximum(np.abs(velocity), np.abs(before))).max(initial=0.0))

    def _errors(self, velocity: Floats, largest: Floats) -> Floats:
        moved = PhysicalRows(self.rows.ptr, self.rows.body, np.abs(self.rows.val)).times(np.abs(largest))
        scale = max(float(moved.max(initial=0.0)), float(np.abs(self.speed).max(initial=0.0)), np.finfo(float).tiny)
        return np.abs(self.rows.times(velocity) - self.speed) / scale

    def check(self, velocity: Floats) -> None:
        """Raises ProblemError if the velocity before the impact violates a joint."""
        errors = self._errors(velocity, velocity)
        if errors.max(initial=0.0) > SPEED_TOLERANCE:
            k = int(errors.argmax())
            got = float(self.rows.times(velocity)[k])
            wanted = f"{self.speed[k]:g}, the speed of the joint, or other velocities"
            raise ProblemError(self.labels[k], f"a relative velocity of {got:.3g} before the impact", wanted)

    def holding(self, velocity: Floats) -> Joints:
        """The same joints at the speeds that a velocity has: what another engine holds only nearly stays as it is."""
        return replace(self, speed=checks.frozen(self.rows.times(np.asarray(velocity, dtype=float))))

    def in_units(self, exponent: int) -> Joints:
        """The same joints with 2^exponent as the unit of speed."""
        return replace(self, speed=checks.frozen(np.ldexp(self.speed, -exponent)))

    def arrays(self) -> dict[str, Any]:
        """The joints as arrays, for files."""
        rows = {"joint_ptr": self.rows.ptr, "joint_body": self.rows.body, "joint_value": self.rows.val}
        return {**rows, "joint_speed": self.speed, "joint_label": np.array(self.labels)}


# ---- joints from matrices, and from points and axes


def joints_from_matrix(matrix: Any, speed: Any, block: tuple[int, int]) -> Joints:
    """Joints given as rows B over all components of the velocity, dense or sparse."""
    n, d = block
    given = checks.rows_matrix("joints", matrix, n * d)
    flat = rows_from_matrix(given)
    rows = flat if d == 1 else _by_body(given, d)
    held = checks.per_contact("joint_speed", 0.0 if speed is None else speed, given.shape[0], None, None)
    return Joints(rows, checks.frozen(held), tuple(f"joints[{k}]" for k in range(given.shape[0])))


def _by_body(matrix: sp.csr_matrix, d: int) -> PhysicalRows:
    """Rows over single components as rows over bodies of d components."""
    blocks = sp.csr_matrix(matrix).tobsr(blocksize=(1, d))
    blocks.sort_indices()
    ptr, body = blocks.indptr.astype(np.int64), blocks.indices.astype(np.int64)
    return PhysicalRows(checks.frozen(ptr), checks.frozen(body), checks.frozen(blocks.data[:, 0, :].astype(float)))


def joints_between(joints: Any, place: Floats, components: int) -> Joints:
    """Joints given as tables: `kind`, `bodies` (two numbers, -1 for the world), and `point`, `axis`, `ends`, `speed`.

    pin, hinge: the bodies share a point and, in 3D, the direction `axis`. ball (3D): they share a point. slider: they
    move along `axis` only. weld: not at all. rod: two points `ends`, one fixed to each body, keep their distance.
    `speed` is the relative speed about the axis of a hinge, or along that of a slider, if a motor prescribes it.
    """
    if not isinstance(joints, Sequence) or isinstance(joints, str):
        raise ProblemError("joints", type(joints).__name__, "a list of tables with kind, bodies, point")
    pairs, rows, speeds, labels = [], [], [], []
    for k, table in enumerate(joints):
        field = f"joints[{k}]"
        made, speed, between = _joint(field, table, place)
        pairs += [between] * len(made)
        rows += [row[:, :components] for row in made]
        speeds += speed
        labels += [f"{field} ({table['kind']} of bodies {between[0]} and {between[1]})"] * len(made)
    found = np.array(rows).reshape(len(rows), 2, components)
    return Joints(
        rows_from_pairs(np.array(pairs, dtype=np.int64).reshape(-1, 2), found), np.array(speeds), tuple(labels)
    )


_KINDS = ("pin", "hinge", "ball", "slider", "weld", "rod")


def _joint(field: str, table: Any, place: Floats) -> tuple[list[Floats], list[float], tuple[int, int]]:
    """Rows (2, d), speeds and bodies of one joint."""
    n, dim = place.shape
    if not isinstance(table, Mapping):
        raise ProblemError(field, table, "a table with kind, bodies and a point")
    kind = table.get("kind")
    if kind not in _KINDS or (kind == "ball" and dim == 2):
        kinds = [name for name in _KINDS if dim == 3 or name != "ball"]
        raise ProblemError.unknown(f"{field}.kind", kind, kinds)
    axial = kind == "slider" or (dim == 3 and kind in ("pin", "hinge"))
    driven = kind in ("pin", "hinge", "slider")
    known = (
        "kind",
        "bodies",
        "ends" if kind == "rod" else "point",
        *(("axis",) if axial else ()),
        *(("speed",) if driven else ()),
    )
    for key in table:
        if key not in known:
            raise ProblemError.unknown(f"{field} ({kind}): key", key, known)
    for key in known:
        if key not in table and key != "speed":
            raise ProblemError(f"{field}.{key}", "nothing", f"a value, which a {kind} needs")
    first, second = (int(b) for b in checks.body_pairs([table["bodies"]], n)[0])
    if first == second:
        raise ProblemError(f"{field}.bodies", table["bodies"], "two different bodies, -1 for the world")
    if kind == "rod":
        ends = checks.shaped(f"{field}.ends", checks.finite(f"{field}.ends", table["ends"]), (2, dim))
        line = _direction(f"{field}.ends", ends[1] - ends[0])
        return [_row(place, (first, second), ends, line)], [0.0], (first, second)
    point = checks.shaped(f"{field}.point", checks.finite(f"{field}.point", table["point"]), (dim,))
    axis = None
    if axial:
        axis = checks.shaped(f"{field}.axis", checks.finite(f"{field}.axis", table["axis"]), (dim,))
        axis = _direction(f"{field}.axis", axis)
    speed = table.get("speed")
    if speed is not None:
        speed = float(checks.shaped(f"{field}.speed", checks.finite(f"{field}.speed", speed), ()))
    made, speeds = _ROWS[kind](place, (first, second), np.stack([point, point]), axis, speed)
    return made, speeds, (first, second)


def _direction(field: str, vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        raise ProblemError(field, vector, "a direction of a length above 0")
    return vector / length


def _row(place: Floats, pair: tuple[int, int], ends: Floats, direction: Floats) -> Floats:
    """The row (2, d) of the relative velocity along a direction, of two points fixed to the bodies."""
    from .geometry import contact_directions

    arms = np.stack([ends[k] - place[b] if b >= 0 else np.zeros_like(ends[k]) for k, b in enumerate(pair)])
    return contact_directions(direction[None, None, :], arms[None])[0, 0]


def _turn(dim: int, axis: Floats | None) -> Floats:
    """The row (2, d) of the relative angular velocity, about z in 2D and about an axis in 3D."""
    row = np.zeros((2, dim + spin_components(dim)))
    row[0, dim:], row[1, dim:] = (-1.0, 1.0) if axis is None else (-axis, axis)
    return row


def _across(axis: Floats) -> list[Floats]:
    """Unit vectors that complete a direction to an orthonormal basis."""
    from .geometry import tangents_of

    return list(tangents_of(axis[None])[0])


Made = tuple[list[Floats], list[float]]


def _held(rows: list[Floats], motor: Floats | None = None, speed: float | None = None) -> Made:
    """Rows at speed 0, and that of a motor if there is one."""
    if motor is None or speed is None:
        return rows, [0.0] * len(rows)
    return [*rows, motor], [0.0] * len(rows) + [speed]


def _ball(place: Floats, pair: tuple[int, int], ends: Floats, axis: Floats | None, speed: float | None) -> Made:
    return _held([_row(place, pair, ends, e) for e in np.eye(place.shape[1])])


def _hinge(place: Floats, pair: tuple[int, int], ends: Floats, axis: Floats | None, speed: float | None) -> Made:
    rows = _ball(place, pair, ends, None, None)[0]
    if axis is not None:
        rows = rows + [_turn(3, e) for e in _across(axis)]
    return _held(rows, _turn(place.shape[1], axis), speed)


def _turns(dim: int) -> list[Floats]:
    return [_turn(2, None)] if dim == 2 else [_turn(3, e) for e in np.eye(3)]


def _slider(place: Floats, pair: tuple[int, int], ends: Floats, axis: Floats | None, speed: float | None) -> Made:
    assert axis is not None
    rows = [_row(place, pair, ends, e) for e in _across(axis)] + _turns(place.shape[1])
    return _held(rows, _row(place, pair, ends, axis), speed)


def _weld(place: Floats, pair: tuple[int, int], ends: Floats, axis: Floats | None, speed: float | None) -> Made:
    return _held(_ball(place, pair, ends, None, None)[0] + _turns(place.shape[1]))


_ROWS: dict[str, Callable[..., Made]] = {
    "pin": _hinge, "hinge": _hinge, "ball": _ball, "slider": _slider, "weld": _weld,
}  # fmt: skip

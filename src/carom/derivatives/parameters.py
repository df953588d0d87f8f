"""The parameters of an impact problem: from changes of masses, velocities and rows to those in whitened coordinates.

Velocities are `v = T x + v_b`, with the allowed motions T, `T^T M T = I`, and what joints prescribe, v_b; without
joints T is `L^-T` of `M = L L^T`, and v_b is zero. Rows are `G = J T`. Impulses depend on T through `P = T T^T` alone,
the inverse of M on the allowed motions, and `dP = -P dM P`. So any T of the changed mass matrix will do, and no
factorization has to be differentiated: with `dT = -P dM T / 2`

    dx = T^T M dv + T^T dM T x / 2,   dG = dJ T - J P dM T / 2,   d base = J (dv - T dx) + dJ v_b,
    dv+ = dv + T (dx+ - dx) - P dM (v+ - v) / 2.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..late import sparse as sp
from ..problem.geometry import contact_directions, tangents_of
from ..problem.jointed_mass import JointedMass
from ..problem.mass import BlockMass, DiagonalMass, GeneralMass
from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats
from .tape import Slopes, System

PLAIN = ("velocity", "restitution", "friction", "boundary_speed")
NAMES = (*PLAIN, "tangent_speed", "mass", "masses", "inertias", "rows", "tangents", "points", "normals")
OF_ROWS = frozenset(NAMES) - {*PLAIN, "tangent_speed"}  # parameters that change the whitened rows


class Parameters:
    """The parameters of one problem, and the linear maps between them and the slopes of its system."""

    def __init__(self, problem: ImpactProblem) -> None:
        self.problem = problem
        mass, n, d = problem.mass, problem.velocity.size, problem.block[1]
        self.mass: DiagonalMass | BlockMass | GeneralMass = mass.base if isinstance(mass, JointedMass) else mass
        self.basis = mass.basis if isinstance(mass, JointedMass) else _inverse_root(self.mass)
        self.jacobian = _matrix(problem.rows, n, d)
        if problem.tangents is not None:
            self.jacobian = sp.vstack([self.jacobian, _matrix(problem.tangents, n, d)], format="csr")
        if isinstance(mass, DiagonalMass):  # the same pattern, and the usual case
            self.projection = _diagonal(np.sqrt(mass.values).ravel())  # x = T^T M v
            pattern = self.jacobian
            data = self.jacobian.data * self.basis.diagonal()[self.jacobian.indices]
        else:
            self.projection = sp.csr_matrix(self.basis.T @ _mass_matrix(self.mass))
            pattern = _pattern(self.jacobian) @ _pattern(self.basis)
            pattern.sort_indices()
            row = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
            data = np.asarray((self.jacobian @ self.basis)[row, pattern.indices]).ravel()
        self._rows, self._columns = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr)), pattern.indices
        contacts = problem.contacts
        base = contacts.rows.base
        self.system = System(
            sp.csr_matrix((data, self._columns, pattern.indptr), shape=pattern.shape),
            np.concatenate([base[:, 0], base[:, 1:].ravel()]),
            contacts.velocity.ravel().copy(),
            np.array(problem.restitution),
            np.array(problem.friction),
        )
        self._free = np.asarray(self.basis @ self.system.velocity)  # T x
        self._held = problem.velocity.ravel() - self._free if problem.joints is not None else None  # v_b

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a parameter; ProblemError if the problem has none of this name."""
        p = self.problem
        if name not in NAMES:
            raise ProblemError.unknown("parameter", name, NAMES)
        if name in PLAIN:
            return tuple(np.shape(getattr(p, name)))
        if name == "rows":
            return p.rows.val.shape
        if name in ("tangents", "tangent_speed") and p.tangents is None:
            raise ProblemError("wrt", name, "a parameter of a problem with tangent rows")
        if name == "tangents":
            return p.tangents.val.shape  # type: ignore[union-attr]
        if name == "tangent_speed":
            return p.tangent_speed.shape  # type: ignore[union-attr]
        if name == "mass":
            return (p.velocity.size,) * 2 if isinstance(self.mass, GeneralMass) else self.mass.values.shape
        if name in ("points", "normals"):
            return self.geometry.normals.shape
        return self._mass_shape(name)

    def _mass_shape(self, name: str) -> tuple[int, ...]:
        p = self.problem
        if p.positions is None or isinstance(self.mass, GeneralMass):
            raise ProblemError("wrt", name, "a problem with positions, such as from_contacts makes; or wrt='mass'")
        n, d = p.block
        if name == "masses":
            return (n,)
        turning = d - p.positions.shape[1]
        if turning <= 0:
            raise ProblemError("wrt", name, "bodies that rotate")
        return (n, turning, turning) if turning == 3 and isinstance(self.mass, BlockMass) else (n,)

    @cached_property
    def geometry(self) -> Geometry:
        """Points and normals, which the rows of rigid bodies contain."""
        return Geometry(self.problem)

    # -- tangents ------------------------------------------------------------------------------------------

    def tangents(self, changes: dict[str, Floats], directions: int) -> Slopes:
        """Slopes of the system for changes of parameters, each of its shape and one axis of directions."""
        d = self.system.zeros(directions, bool(OF_ROWS & set(changes)))
        flat = {name: np.reshape(value, (-1, directions)) for name, value in changes.items()}
        x = np.zeros((self.basis.shape[1], directions))
        m = self.system.count
        d.restitution += flat.get("restitution", 0.0)
        d.friction += flat.get("friction", 0.0)
        d.base[:m] += flat.get("boundary_speed", 0.0)
        d.base[m:] += flat.get("tangent_speed", 0.0)
        if "velocity" in flat:
            x += self.projection @ flat["velocity"]
            if self._held is not None:
                d.base += self.jacobian @ (flat["velocity"] - self.basis @ x)
        if d.rows is not None:
            entries = self._row_entries(flat, directions)
            for k in range(directions):
                self._turn(d, x, entries[:, k], self._mass_change(flat, k), k)
        d.registers["before"] = x
        return d

    def _turn(self, d: Slopes, x: Floats, entries: Floats, mass: sp.csr_matrix | None, k: int) -> None:
        """Changes of rows and mass matrix in direction k."""
        assert d.rows is not None
        if mass is None and not entries.any():
            return
        turned = sp.csr_matrix((entries, self.jacobian.indices, self.jacobian.indptr), self.jacobian.shape)
        white = turned @ self.basis
        if mass is not None:
            half = 0.5 * (self.basis.T @ mass @ self.basis)
            white = white - (self.jacobian @ self.basis) @ half
            x[:, k] += 0.5 * (self.basis.T @ (mass @ self._free))
        if self._held is not None:
            d.base[:, k] += turned @ self._held
        d.rows[:, k] = np.asarray(white[self._rows, self._columns]).ravel()

    def outcome(self, changes: dict[str, Floats], d: Slopes, x: Floats, after: Floats) -> Floats:
        """Tangents of the velocity after impact (N, directions) from those of the whitened one, x."""
        directions = x.shape[1]
        out = np.asarray(self.basis @ (x - d.registers["before"]))
        flat = {name: np.reshape(value, (-1, directions)) for name, value in changes.items()}
        out = out + flat.get("velocity", 0.0)
        for k in range(directions):
            mass = self._mass_change(flat, k)
            if mass is not None:
                gained = mass @ (after - self.problem.velocity.ravel())
                out[:, k] -= 0.5 * (self.basis @ (self.basis.T @ gained))
        return out

    def _row_entries(self, flat: dict[str, Floats], directions: int) -> Floats:
        """Changes of the entries of all physical rows, (entries, directions)."""
        p = self.problem
        normal = np.zeros((p.rows.val.size, directions))
        tangent = np.zeros((0 if p.tangents is None else p.tangents.val.size, directions))
        normal += flat.get("rows", 0.0)
        tangent += flat.get("tangents", 0.0)
        for name in ("points", "normals"):
            if name in flat:
                for k in range(directions):
                    one, two = self.geometry.rows_of(name, flat[name][:, k])
                    normal[:, k] += one
                    tangent[:, k] += two
        return np.concatenate([normal, tangent])

    def _mass_change(self, flat: dict[str, Floats], k: int) -> sp.csr_matrix | None:
        """dM of one direction; None if that is zero."""
        total = None
        for name in ("mass", "masses", "inertias"):
            if name in flat and flat[name][:, k].any():
                more = self._mass_matrix(name, flat[name][:, k])
                total = more if total is None else total + more
        return total

    def _mass_matrix(self, name: str, value: Floats) -> sp.csr_matrix:
        p, (n, d) = self.problem, self.problem.block
        value = value.reshape(self.shape(name))
        if name == "mass":
            if isinstance(self.mass, GeneralMass):
                return sp.csr_matrix(0.5 * (value + value.T))
            if isinstance(self.mass, DiagonalMass):
                return sp.diags(value.ravel()).tocsr()
            return sp.block_diag(0.5 * (value + value.swapaxes(1, 2)), format="csr")
        dim = p.positions.shape[1]  # type: ignore[union-attr]
        blocks = np.zeros((n, d, d))
        places = np.arange(min(dim, d)) if name == "masses" else np.arange(dim, d)
        if value.ndim == 1:
            blocks[:, places, places] = value[:, None]
        else:
            blocks[:, dim:, dim:] = 0.5 * (value + value.swapaxes(1, 2))
        return sp.block_diag(blocks, format="csr")

    # -- adjoints ------------------------------------------------------------------------------------------

    def adjoints(self, wrt: tuple[str, ...], bar: Slopes, given: Floats, after: Floats) -> dict[str, Floats]:
        """Adjoints of parameters, each of its shape and one axis of directions.

        `given` (N, directions) are those of the velocity after impact, which is `after` (N,).
        """
        m, directions, basis = self.system.count, given.shape[1], self.basis
        x = bar.registers["before"] - basis.T @ given
        velocity = given
        if self._held is not None:
            pushed = self.jacobian.T @ bar.base
            x, velocity = x - basis.T @ pushed, velocity + pushed
        out = {
            "velocity": velocity + self.projection.T @ x,
            "restitution": bar.restitution,
            "friction": bar.friction,
            "boundary_speed": bar.base[:m],
            "tangent_speed": bar.base[m:],
        }
        if bar.rows is not None:
            for name in OF_ROWS & set(wrt):
                out[name] = np.zeros((int(np.prod(self.shape(name))), directions))
            for k in range(directions):
                rows = sp.csr_matrix((bar.rows[:, k], self._columns, self.system.rows.indptr), self.system.rows.shape)
                self._add_rows(out, wrt, sp.csr_matrix(rows @ basis.T), bar.base[:, k], k)
                if {"mass", "masses", "inertias"} & set(wrt):
                    # The mass matrix does not change what the joints prescribe: that part of x is left out.
                    start = basis @ (bar.registers["before"][:, k] - basis.T @ given[:, k]), self._free
                    end = basis @ (basis.T @ given[:, k]), after - self.problem.velocity.ravel()
                    inner = basis @ (basis.T @ (self.jacobian.T @ (rows @ basis.T)))
                    self._add_mass(out, wrt, start, end, -0.5 * inner, k)
        return {name: np.asarray(out[name]).reshape((*self.shape(name), directions)) for name in wrt}

    def _add_rows(
        self, out: dict[str, Floats], wrt: tuple[str, ...], physical: sp.csr_matrix, base: Floats, k: int
    ) -> None:
        row = np.repeat(np.arange(self.jacobian.shape[0]), np.diff(self.jacobian.indptr))
        entries = np.asarray(physical[row, self.jacobian.indices]).ravel()
        if self._held is not None:
            entries = entries + base[row] * self._held[self.jacobian.indices]
        normal, tangent = entries[: self.problem.rows.val.size], entries[self.problem.rows.val.size :]
        if "rows" in wrt:
            out["rows"][:, k] = normal
        if "tangents" in wrt:
            out["tangents"][:, k] = tangent
        for name in {"points", "normals"} & set(wrt):
            out[name][:, k] = self.geometry.from_rows(name, normal, tangent)

    def _add_mass(self, out: dict[str, Floats], wrt: tuple[str, ...], half: Any, end: Any, inner: Any, k: int) -> None:
        """Adjoints of `dM`: `inner + (a b^T) / 2 - (c d^T) / 2`, at the entries that each parameter has."""
        p, (n, d) = self.problem, self.problem.block
        if isinstance(self.mass, GeneralMass):
            whole = inner.toarray() + 0.5 * np.outer(*half) - 0.5 * np.outer(*end)
            out["mass"][:, k] = (0.5 * (whole + whole.T)).ravel()
            return
        body = np.repeat(np.arange(n), d * d)
        one = np.tile(np.repeat(np.arange(d), d), n) + body * d
        two = np.tile(np.arange(d), n * d) + body * d
        blocks = np.asarray(inner.tocsr()[one, two]).ravel()
        blocks = blocks + 0.5 * half[0][one] * half[1][two] - 0.5 * end[0][one] * end[1][two]
        blocks = blocks.reshape(n, d, d)
        blocks = 0.5 * (blocks + blocks.swapaxes(1, 2))
        diagonal = np.diagonal(blocks, axis1=1, axis2=2)
        if "mass" in wrt:
            out["mass"][:, k] = (diagonal if isinstance(self.mass, DiagonalMass) else blocks).ravel()
        if "masses" in wrt:
            dim = p.positions.shape[1]  # type: ignore[union-attr]
            out["masses"][:, k] = diagonal[:, :dim].sum(axis=1)
        if "inertias" in wrt:
            dim = p.positions.shape[1]  # type: ignore[union-attr]
            full = len(self.shape("inertias")) == 3
            out["inertias"][:, k] = (blocks[:, dim:, dim:] if full else diagonal[:, dim:].sum(axis=1)).ravel()


class Geometry:
    """Contact points and unit normals of rigid bodies, read from rows `+-(n, r x n)` and those of the tangents."""

    def __init__(self, problem: ImpactProblem) -> None:
        p, place = problem, problem.positions
        d = p.block[1]
        if place is None or p.tangents is None or d != {2: 3, 3: 6}.get(place.shape[1]):
            raise ProblemError("wrt", "points, normals", "a problem of rigid bodies with positions: from_contacts")
        self.dim, self.problem = place.shape[1], problem
        self._side, self._contact = _sides(problem)
        sign = np.where(self._side == 1, 1.0, -1.0)
        self._sign = sign
        rows = sign[:, None] * p.rows.val
        first = p.rows.ptr[:-1]
        self.normals = rows[first, : self.dim]
        t = p.tangent_count
        self._along = (sign[:, None, None] * _by_contact(p, t)).transpose(0, 1, 2)
        frame = np.concatenate([rows[:, None], self._along], axis=1)  # (entries, 1 + t, d), orthonormal directions
        self._arms = _arms(frame, self.dim)
        expected = self._of(self.normals, tangents_of(self.normals), self._arms)
        if max(np.abs(a - b).max() for a, b in zip(expected, (p.rows.val, _by_contact(p, t)), strict=True)) > 1e-9:
            raise ProblemError("wrt", "points, normals", "a problem whose rows from_contacts has made")

    def _of(self, normals: Floats, tangents: Floats, arms: Floats) -> tuple[Floats, Floats]:
        """Rows (entries, d) and tangents (entries, t, d) of all entries."""
        direction = np.concatenate([normals[:, None], tangents], axis=1)[self._contact]
        two = np.repeat(arms[:, None], 2, axis=1)
        rows = contact_directions(direction, two)[:, :, 1] * self._sign[:, None, None]
        return rows[:, 0], rows[:, 1:]

    def rows_of(self, name: str, change: Floats) -> tuple[Floats, Floats]:
        """Changes of the entries of rows and tangents for a change of points or normals."""
        change, n = change.reshape(self.normals.shape), self.normals
        tangents = tangents_of(n)
        if name == "points":
            moved = self._of(n, tangents, change[self._contact])
            still = self._of(n, tangents, np.zeros_like(self._arms))
            rows, along = moved[0] - still[0], moved[1] - still[1]
        else:
            across = change - (change * n).sum(axis=1, keepdims=True) * n
            rows, along = self._of(across, _tangent_changes(n, across), self._arms)
        return rows.ravel(), _in_order(self.problem, along).ravel()

    def from_rows(self, name: str, rows: Floats, tangents: Floats) -> Floats:
        """The adjoint of `rows_of`: each component by itself, since a problem has few of them per contact."""
        m, dim, p = len(self.normals), self.dim, self.problem
        rows = rows.reshape(p.rows.val.shape)
        along = _out_of_order(p, tangents.reshape(p.tangents.val.shape))  # type: ignore[union-attr]
        out = np.zeros((m, dim))
        for axis in range(dim):
            unit = np.zeros((m, dim))
            unit[:, axis] = 1.0
            one, two = self.rows_of(name, unit.ravel())
            two = _out_of_order(p, two.reshape(p.tangents.val.shape))  # type: ignore[union-attr]
            each = (one.reshape(rows.shape) * rows).sum(axis=1) + (two * along).sum(axis=(1, 2))
            out[:, axis] = np.bincount(self._contact, each, minlength=m)
        return out.ravel()


def _sides(problem: ImpactProblem) -> tuple[Any, Any]:
    """For each entry of the rows its side (0 or 1) and its contact.

    A row of one entry belongs to a contact with the world, which was on the other side if the row is against the given
    normal. Without given normals the world counts as the first body, as it is for discs and spheres on planes.
    """
    width = np.diff(problem.rows.ptr)
    contact = np.repeat(np.arange(len(width)), width)
    side = np.arange(len(contact)) - problem.rows.ptr[:-1][contact]
    alone, along = width[contact] == 1, np.ones(len(contact))
    if problem.normals is not None:
        along = (problem.rows.val[:, : problem.normals.shape[1]] * problem.normals[contact]).sum(axis=1)
    return np.where(alone, np.where(along > 0.0, 1, 0), side), contact


def _by_contact(problem: ImpactProblem, t: int) -> Floats:
    """Tangent entries as (entries of the normal rows, t, d)."""
    return _out_of_order(problem, problem.tangents.val)  # type: ignore[union-attr]


def _out_of_order(problem: ImpactProblem, values: Floats) -> Floats:
    """From the order of tangent rows (contact, tangent, body) to (contact, body; tangent)."""
    width, t = np.diff(problem.rows.ptr), problem.tangent_count
    return values[_order(problem, width, t)]


def _in_order(problem: ImpactProblem, values: Floats) -> Floats:
    """The inverse of `_out_of_order`."""
    width, t = np.diff(problem.rows.ptr), problem.tangent_count
    out = np.empty((values.shape[0] * t, values.shape[2]))
    out[_order(problem, width, t)] = values
    return out


def _order(problem: ImpactProblem, width: Any, t: int) -> Any:
    contact = np.repeat(np.arange(len(width)), width)
    body = np.arange(len(contact)) - problem.rows.ptr[:-1][contact]
    start = t * problem.rows.ptr[:-1][contact] + body
    return start[:, None] + np.arange(t) * width[contact][:, None]


def _arms(frame: Floats, dim: int) -> Floats:
    """The arm r (entries, dim) from `r x e` along orthonormal directions e: frame (entries, dim, d)."""
    e, turn = frame[:, :, :dim], frame[:, :, dim:]
    if dim == 2:  # r x e = r_x e_y - r_y e_x
        matrix = np.stack([e[:, :, 1], -e[:, :, 0]], axis=2)
        return np.asarray(np.linalg.solve(matrix, turn[:, :, 0][..., None])[..., 0], dtype=np.float64)
    # sum over directions e of e x (r x e) = 2 r
    return np.asarray(0.5 * np.cross(e, turn).sum(axis=1), dtype=np.float64)


def _tangent_changes(n: Floats, across: Floats) -> Floats:
    """Changes of `tangents_of(n)` for changes of n that are orthogonal to it."""
    if n.shape[1] == 2:
        return tangents_of(across)
    helper = np.zeros_like(n)
    helper[np.arange(len(n)), np.argmin(np.abs(n), axis=1)] = 1.0
    raw = np.cross(n, helper)
    length = np.linalg.norm(raw, axis=1, keepdims=True)
    first, change = raw / length, np.cross(across, helper) / length
    change -= (change * first).sum(axis=1, keepdims=True) * first
    return np.stack([change, np.cross(across, first) + np.cross(n, change)], axis=1)


def _matrix(rows: Any, n: int, d: int) -> sp.csr_matrix:
    columns = (rows.body[:, None] * d + np.arange(d)).ravel()
    return sp.csr_matrix((np.array(rows.val).ravel(), columns, np.array(rows.ptr) * d), shape=(len(rows.ptr) - 1, n))


def _pattern(matrix: sp.csr_matrix) -> sp.csr_matrix:
    matrix = sp.csr_matrix(matrix)
    return sp.csr_matrix((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def _diagonal(values: Floats) -> sp.csr_matrix:
    n = len(values)
    return sp.csr_matrix((values, np.arange(n), np.arange(n + 1)), shape=(n, n))


def _mass_matrix(mass: DiagonalMass | BlockMass | GeneralMass) -> sp.csr_matrix:
    if isinstance(mass, DiagonalMass):
        return _diagonal(mass.values.ravel())
    if isinstance(mass, BlockMass):
        return sp.block_diag(mass.values, format="csr")
    return mass.matrix


def _inverse_root(mass: DiagonalMass | BlockMass | GeneralMass) -> sp.csr_matrix:
    """`L^-T`."""
    if isinstance(mass, DiagonalMass):
        return _diagonal(1.0 / np.sqrt(mass.values).ravel())
    if isinstance(mass, BlockMass):
        return sp.block_diag(np.linalg.inv(np.linalg.cholesky(mass.values)).swapaxes(1, 2), format="csr")
    return sp.csr_matrix(mass._inverse_root.T)

"""ImpactProblem: bodies, contacts and velocities at the instant of impact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..late import sparse as sp
from ..shown import Shown, counted
from ..solvers.rows import FRICTION, Floats, Ints, rows_from_csr, writable
from ..solvers.thresholds import DENSE_QP_CONTACTS
from . import checks
from .batch import Pieces
from .contacts import Contacts
from .jointed_mass import JointedMass
from .joints import Joints, joints_from_matrix
from .mass import BlockMass, DiagonalMass, GeneralMass, Mass, PhysicalRows, rows_from_matrix, rows_from_pairs, take_rows

ORDINARY_EXPONENT = 100
"""Speeds from 2^-100 to 2^100 are used as they are, others are scaled by a power of two."""
LIMITS = {  # of the numbers per contact
    "restitution": (0.0, 1.0),
    "boundary_speed": (None, None),
    "friction": (0.0, None),
    "weights": (0.0, None),
}


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A symmetry of a problem: body b is mapped to `bodies[b]`, and velocities are mapped linearly, v -> S v.

    `matrix` is S, one (d, d) block for each body (n, d, d), or a single (d, d) for all of them.
    """

    bodies: Ints
    matrix: Floats
    name: str = "symmetry"

    def image(self, v: Floats) -> Floats:
        """The image of velocities of shape (n, d)."""
        out = np.empty_like(v)
        out[self.bodies] = np.einsum("...ij,...j->...i", self.matrix, v)
        return out


class Given(NamedTuple):
    """What a user gives beside mass, rows and velocity: numbers per contact, which are checked, and descriptions."""

    boundary_speed: Any
    restitution: Any
    friction: Any
    tangent_speed: Any
    name: str
    positions: Floats | None = None
    symmetries: tuple[Symmetry, ...] = ()
    weights: Any = 1.0
    joints: Joints | None = None


@dataclass(frozen=True, eq=False)
class ImpactProblem(Shown):
    """One instant of simultaneous impact. Immutable; made by one of the constructors.

    Separation speed of contact i: `u_i = J_i v + boundary_speed_i`, negative when approaching.
    """

    mass: Mass | JointedMass
    rows: PhysicalRows
    velocity: Floats  # in the shape in which it was given
    boundary_speed: Floats  # (m,) prescribed normal speed of the boundary, m/s; negative toward the body
    restitution: Floats  # (m,) from 0 to 1
    friction: Floats  # (m,) coefficient mu, not negative
    tangents: PhysicalRows | None = None
    tangent_speed: Floats | None = None  # (m, t) prescribed speed of the boundary along the tangents, m/s
    weights: Floats | None = None  # (m,) share of a contact patch that each contact stands for, positive; None: 1 each
    positions: Floats | None = None  # (n, 1..3) centers, for angular momentum and pictures
    symmetries: tuple[Symmetry, ...] = ()
    name: str = "impact problem"
    block: tuple[int, int] = (0, 1)  # (n bodies, d components)
    joints: Joints | None = None
    normals: Floats | None = None  # (m, 2 or 3) unit normals that from_contacts was given, for derivatives

    def __repr__(self) -> str:
        known = self.block[1] > 1 or self.positions is not None
        bodies = counted(self.block[0], "body", "bodies") if known else counted(self.block[0], "component")
        approaching = int((self.separation_speed() < 0.0).sum())
        contacts = f"{counted(self.contact_count, 'contact')}, {approaching:,} approaching"
        return f"<ImpactProblem {self.name}: {bodies}, {contacts}, kinetic energy {self.kinetic_energy:.6g}>"

    # -- constructors --------------------------------------------------------------------------------------

    @classmethod
    def from_matrices(
        cls,
        mass: Any,
        jacobian: Any,
        velocity: Any,
        boundary_speed: Any = None,
        restitution: Any = 1.0,
        friction: Any = None,
        *,
        tangents: Any = None,
        tangent_speed: Any = None,
        weights: Any = 1.0,
        joints: Any = None,
        joint_speed: Any = None,
        name: str = "matrices",
    ) -> ImpactProblem:
        """Any mechanical system: mass (N, N) or its diagonal (N,), jacobian (m, N), velocity of N numbers.

        Dense or scipy.sparse. `tangents` are the rows of friction, (m, N), (m * t, N) or (m, t, N), with t rows per
        contact: one in 2D, two orthogonal ones in 3D. `weights`, one positive number or one for each contact, are the
        shares of a contact patch that the contacts stand for. Only their ratios matter, and only to qce and lzb.
        `joints` are rows B, (r, N), with `B v = joint_speed` before and after the impact, 0 unless given.
        """
        v = checks.finite("velocity", velocity)
        n = v.size
        checks.not_empty("velocity", n)
        matrix = checks.rows_matrix("jacobian", jacobian, n)
        m = matrix.shape[0]
        tangent_rows = None if tangents is None else rows_from_matrix(checks.tangent_matrix(tangents, m, n))
        held = None if joints is None else joints_from_matrix(joints, joint_speed, (n, 1))
        given = Given(boundary_speed, restitution, friction, tangent_speed, name, weights=weights, joints=held)
        return cls._build(_mass_from_matrix(mass, n), rows_from_matrix(matrix), tangent_rows, v, (n, 1), given)

    @classmethod
    def from_blocks(
        cls,
        mass: Any,
        bodies: Any,
        rows: Any,
        velocity: Any,
        boundary_speed: Any = None,
        restitution: Any = 1.0,
        friction: Any = None,
        *,
        tangents: Any = None,
        tangent_speed: Any = None,
        positions: Any = None,
        symmetries: Sequence[Symmetry] = (),
        weights: Any = 1.0,
        joints: Any = None,
        joint_speed: Any = None,
        name: str = "blocks",
    ) -> ImpactProblem:
        """Bodies with equal numbers of velocity components, the form that a simulator has.

        velocity (n, d); mass (n,), (n, d) or (n, d, d); bodies (m, 2) with -1 for the world; rows (m, 2, d);
        tangents (m, t, 2, d). Entries of the world are ignored. `weights` and `joints`, rows (r, n d), as in
        `from_matrices`.
        """
        v = checks.finite("velocity", velocity)
        checks.not_empty("velocity", v.size)
        if v.ndim != 2:
            raise ProblemError("velocity", f"shape {v.shape}", "shape (bodies, components)")
        n, d = v.shape
        pair = checks.body_pairs(bodies, n)
        m = len(pair)
        normal = checks.shaped("rows", checks.finite("rows", rows), (m, 2, d))
        tangent_rows = None
        if tangents is not None:
            tangent = checks.finite("tangents", tangents)
            if tangent.ndim != 4 or tangent.shape[0] != m or tangent.shape[2:] != (2, d):
                raise ProblemError("tangents", f"shape {tangent.shape}", f"shape ({m}, t, 2, {d}) with t = 1 or 2")
            t = tangent.shape[1]
            repeated = np.repeat(pair, t, axis=0)
            tangent_rows = rows_from_pairs(repeated, tangent.reshape(m * t, 2, d))
        place = None if positions is None else checks.finite("positions", positions)
        if place is not None and (place.ndim != 2 or len(place) != n or place.shape[1] > 3):
            raise ProblemError("positions", f"shape {place.shape}", f"shape ({n}, 1, 2 or 3)")
        held = (
            joints if joints is None or isinstance(joints, Joints) else joints_from_matrix(joints, joint_speed, (n, d))
        )
        given = Given(
            boundary_speed, restitution, friction, tangent_speed, name, place, tuple(symmetries), weights, held
        )
        rows = rows_from_pairs(pair, normal)
        return cls._build(_mass_from_blocks(mass, n, d), rows, tangent_rows, v, (n, d), given)

    @classmethod
    def chain(
        cls,
        masses: Any,
        velocities: Any,
        *,
        restitution: Any = 1.0,
        symmetries: Sequence[Symmetry] = (),
        weights: Any = 1.0,
        name: str = "chain",
    ) -> ImpactProblem:
        """Touching balls on a line, from left to right; contact i lies between balls i and i + 1."""
        v = checks.finite("velocities", velocities)
        checks.not_empty("velocities", v.size)
        mass = checks.finite("masses", masses).ravel()
        n = v.size
        if mass.size != n:
            raise ProblemError("masses", f"{mass.size} of them", f"one for each of {n} velocities")
        left = np.arange(n - 1)
        built = cls.from_blocks(
            mass=mass,
            bodies=np.stack([left, left + 1], axis=1),
            rows=np.tile([[[-1.0], [1.0]]], (n - 1, 1, 1)),
            velocity=v.reshape(n, 1),
            restitution=restitution,
            positions=np.arange(n, dtype=float)[:, None],
            symmetries=symmetries,
            weights=weights,
            name=name,
        )
        return replace(built, velocity=checks.frozen(v))

    @classmethod
    def from_discs(cls, positions: Any, radii: Any, masses: Any, velocities: Any, **options: Any) -> ImpactProblem:
        """Touching discs in 2D: see `carom.problem.geometry.balls`."""
        from .geometry import balls

        return balls(2, positions, radii, masses, velocities, **options)

    @classmethod
    def from_spheres(cls, positions: Any, radii: Any, masses: Any, velocities: Any, **options: Any) -> ImpactProblem:
        """Touching spheres in 3D: see `carom.problem.geometry.balls`."""
        from .geometry import balls

        return balls(3, positions, radii, masses, velocities, **options)

    @classmethod
    def from_contacts(
        cls,
        positions: Any,
        masses: Any,
        inertias: Any,
        velocities: Any,
        bodies: Any,
        points: Any,
        normals: Any,
        **options: Any,
    ) -> ImpactProblem:
        """Rigid bodies and contact points in 2D or 3D: see `carom.problem.geometry.rigid_bodies`."""
        from .geometry import rigid_bodies

        return rigid_bodies(positions, masses, inertias, velocities, bodies, points, normals, **options)

    @classmethod
    def _build(
        cls,
        mass: Mass,
        rows: PhysicalRows,
        tangents: PhysicalRows | None,
        velocity: Floats,
        block: tuple[int, int],
        given: Given,
    ) -> ImpactProblem:
        m, restitution = len(rows.ptr) - 1, given.restitution
        if m == 0:
            raise ProblemError("contacts", "none", "at least one contact")
        checks.no_zero_rows("jacobian", rows.ptr, rows.val)
        jointed: Mass | JointedMass = mass
        if given.joints is not None:
            given.joints.check(velocity)
            jointed = JointedMass(mass, given.joints, block)
            jointed.check_rows(rows)
        mu = checks.per_contact("friction", 0.0 if given.friction is None else given.friction, m, *LIMITS["friction"])
        if tangents is None and mu.any():
            raise ProblemError("friction", given.friction, "tangent rows (tangents=...) to go with it")
        slip = None
        if tangents is not None:
            t = (len(tangents.ptr) - 1) // max(m, 1)
            slip = np.zeros((m, t))
            if given.tangent_speed is not None:
                slip += checks.shaped("tangent_speed", checks.finite("tangent_speed", given.tangent_speed), (m, t))
        moving = 0.0 if given.boundary_speed is None else given.boundary_speed
        speed = checks.per_contact("boundary_speed", moving, m, *LIMITS["boundary_speed"])
        if callable(restitution):
            restitution = restitution(np.maximum(-rows.times(velocity.reshape(block)) - speed, 0.0))
        return cls(
            mass=jointed,
            joints=given.joints,
            rows=rows,
            velocity=checks.frozen(velocity),
            boundary_speed=checks.frozen(speed),
            restitution=checks.frozen(checks.per_contact("restitution", restitution, m, *LIMITS["restitution"])),
            friction=checks.frozen(mu),
            tangents=tangents,
            tangent_speed=None if slip is None else checks.frozen(slip),
            weights=_weights(given.weights, m),
            positions=None if given.positions is None else checks.frozen(given.positions),
            symmetries=given.symmetries,
            name=given.name,
            block=block,
        )

    # -- properties -------------------------------------------------------------------------------------------

    @property
    def contact_count(self) -> int:
        """Number of contacts m."""
        return len(self.boundary_speed)

    @property
    def tangent_count(self) -> int:
        """Tangent rows of each contact: 0, 1 or 2."""
        return 0 if self.tangent_speed is None else self.tangent_speed.shape[1]

    @property
    def block_velocity(self) -> Floats:
        """The velocity as (n, d)."""
        return self.velocity.reshape(self.block)

    @property
    def kinetic_energy(self) -> float:
        """`1/2 v^T M v` before impact."""
        return self.energy_of(self.velocity)

    def energy_of(self, velocity: Floats) -> float:
        """`1/2 v^T M v` of any velocity."""
        v = np.reshape(velocity, self.block)
        return 0.5 * float(np.vdot(v, self.mass.times(v)))

    def separation_speed(self, velocity: Floats | None = None) -> Floats:
        """`J v + boundary_speed`, (m,): of the velocity before impact, or of a given one."""
        v = self.velocity if velocity is None else np.asarray(velocity, dtype=float)
        return self.rows.times(v.reshape(self.block)) + self.boundary_speed

    def slip_speed(self, velocity: Floats | None = None) -> Floats:
        """Slip along the tangents, (m, t): of the velocity before impact, or of a given one."""
        if self.tangents is None or self.tangent_speed is None:
            return np.zeros((self.contact_count, 0))
        v = self.velocity if velocity is None else np.asarray(velocity, dtype=float)
        return self.tangents.times(v.reshape(self.block)).reshape(self.tangent_speed.shape) + self.tangent_speed

    def velocity_after(self, normal: Floats, tangent: Floats | None) -> Floats:
        """`v + M^-1 (J^T lam + D^T beta)` for impulses (m,) and (m, t), in the shape of the velocity."""
        momentum = self.rows.transpose_times(normal, self.block[0])
        if tangent is not None and self.tangents is not None:
            momentum += self.tangents.transpose_times(np.ascontiguousarray(tangent).ravel(), self.block[0])
        return (self.block_velocity + self.mass.solve(momentum)).reshape(self.velocity.shape)

    def with_(self, **changes: Any) -> ImpactProblem:
        """A copy with another `velocity`, `restitution`, `friction`, `boundary_speed`, `weights` or `name`."""
        m = self.contact_count
        allowed = {"velocity", "restitution", "friction", "boundary_speed", "weights", "name", "symmetries"}
        checked: dict[str, Any] = {}
        for key, value in changes.items():
            if key not in allowed:
                raise ProblemError("with_", key, "one of " + ", ".join(sorted(allowed)))
            if key == "velocity":
                v = checks.finite("velocity", value)
                if v.size != self.velocity.size:
                    raise ProblemError("velocity", f"{v.size} numbers", f"{self.velocity.size} numbers")
                checked[key] = checks.frozen(v)
                if self.joints is not None:
                    self.joints.check(v)
            elif key in LIMITS:
                if key == "restitution" and callable(value):
                    value = value(np.maximum(-self.separation_speed(), 0.0))
                if key == "weights":
                    checked[key] = _weights(value, m)
                    continue
                number = checks.per_contact(key, value, m, *LIMITS[key])
                if key == "friction" and self.tangents is None and number.any():
                    raise ProblemError("friction", value, "a problem with tangent rows")
                checked[key] = checks.frozen(number)
            else:
                checked[key] = value
        return replace(self, **checked)

    def permuted(self, order: Any) -> ImpactProblem:
        """The same problem with its contacts in another order: new contact i is old contact `order[i]`."""
        return self._taken(checks.permutation("order", order, self.contact_count))

    def selected(self, contacts: Any) -> ImpactProblem:
        """The problem with some of its contacts only: a mask (m,) or numbers of contacts, at least one."""
        chosen = np.arange(self.contact_count)[np.asarray(contacts)]
        if chosen.size == 0:
            raise ProblemError("contacts", "none", "at least one contact")
        return self._taken(chosen)

    def _taken(self, order: Ints) -> ImpactProblem:
        t = self.tangent_count
        tangents = self.tangents
        if tangents is not None:
            tangents = take_rows(tangents, (order[:, None] * t + np.arange(t)).ravel())
        return replace(
            self,
            rows=take_rows(self.rows, order),
            boundary_speed=checks.frozen(self.boundary_speed[order]),
            restitution=checks.frozen(self.restitution[order]),
            friction=checks.frozen(self.friction[order]),
            tangents=tangents,
            tangent_speed=None if self.tangent_speed is None else checks.frozen(self.tangent_speed[order]),
            weights=None if self.weights is None else checks.frozen(self.weights[order]),
            normals=None if self.normals is None else checks.frozen(self.normals[order]),
        )

    @cached_property
    def speed_exponent(self) -> int:
        """k such that the fastest speed is about 2^k; 0 for speeds whose squares neither over- nor underflow."""
        given = (self.velocity, self.boundary_speed, *(() if self.tangent_speed is None else (self.tangent_speed,)))
        fastest = max(float(np.abs(speed).max(initial=0.0)) for speed in given)
        exponent = int(np.frexp(fastest)[1])
        return exponent if abs(exponent) > ORDINARY_EXPONENT else 0

    def in_units(self, exponent: int) -> ImpactProblem:
        """The same problem with 2^exponent as the unit of speed."""
        slip = self.tangent_speed
        return replace(
            self,
            velocity=checks.frozen(np.ldexp(self.velocity, -exponent)),
            boundary_speed=checks.frozen(np.ldexp(self.boundary_speed, -exponent)),
            tangent_speed=None if slip is None else checks.frozen(np.ldexp(slip, -exponent)),
            joints=None if self.joints is None else self.joints.in_units(exponent),
        )

    @cached_property
    def contacts(self) -> Contacts:
        """The problem in whitened coordinates, the input of a law."""
        normal, tangents, t = self.mass.whiten_rows(self.rows), None, 0
        base, bound = self.boundary_speed[:, None], np.zeros((self.contact_count, 3))
        if self.tangents is not None and self.tangent_speed is not None:
            white, t = self.mass.whiten_rows(self.tangents), self.tangent_count
            tangents = (white.ptr, white.body, white.val)
            base = np.concatenate([base, self.tangent_speed], axis=1)
        if isinstance(self.mass, JointedMass):  # speeds of what the joints prescribe belong to no allowed motion
            held = self.mass.prescribed(self.block_velocity)
            base = base + (self.separation_speed(held) - self.boundary_speed)[:, None] * (np.arange(base.shape[1]) == 0)
            if t and self.tangent_speed is not None:
                base[:, 1:] += self.slip_speed(held) - self.tangent_speed
        bound[:, FRICTION] = self.friction
        velocity = self.mass.whiten(self.block_velocity)
        rows = rows_from_csr(normal.ptr, normal.body, normal.val, len(velocity), tangents, t)
        rows = rows._replace(base=np.array(base), bound=bound)
        weights = None if self.weights is None else self.weights.copy()
        return Contacts(rows, velocity, self.restitution.copy(), weights)

    @cached_property
    def frictional(self) -> bool:
        """Whether any coefficient of friction is positive."""
        return bool(self.friction.any())

    @cached_property
    def pieces(self) -> Pieces | None:
        """The arrays of a problem that can be part of a `Batch`, else None."""
        c, mass = self.restitution, self.mass
        if not isinstance(mass, DiagonalMass) or self.contact_count > DENSE_QP_CONTACTS:
            return None
        if self.frictional or self.speed_exponent or (c != c[0]).any():
            return None
        contacts = self.contacts.without_friction()
        rows = contacts.rows
        if len(rows.touch) != len(self.rows.val):  # tangents touch other bodies than the normal rows
            return None
        arrays = (rows.body, rows.val, rows.base, rows.diag, rows.touch_ptr, rows.touch, contacts.velocity)
        given = (contacts.shares, self.rows.val, self.block_velocity, mass.values, c[:1])
        # Read-only arrays are another type to Numba.
        return Pieces(*arrays, *(writable(array) for array in given))

    # -- files ---------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Writes .json or .npz, by the suffix of the path."""
        from .files import save

        return save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> ImpactProblem:
        """Reads .json or .npz, by the suffix of the path."""
        from .files import load

        return load(Path(path))


def _weights(value: Any, m: int) -> Floats | None:
    """Positive weights (m,); None if all are 1."""
    number = checks.per_contact("weights", value, m, *LIMITS["weights"])
    if not number.all():
        raise ProblemError("weights", 0.0, "positive numbers")
    return None if (number == 1.0).all() else checks.frozen(number)


def _mass_from_matrix(mass: Any, n: int) -> Mass:
    if not sp.issparse(mass):
        mass = checks.finite("mass", mass)
    if mass.ndim == 2:
        matrix = checks.symmetric(mass, n)
        off = sp.csr_matrix(matrix - sp.diags(matrix.diagonal()))
        off.eliminate_zeros()
        if off.nnz:
            return GeneralMass(matrix)
        mass = matrix.diagonal()
    diagonal = mass.ravel()
    if diagonal.size != n:
        raise ProblemError("mass", f"{diagonal.size} numbers", f"shape ({n}, {n}) or ({n},)")
    return DiagonalMass(checks.positive("mass", diagonal)[:, None])


def _mass_from_blocks(mass: Any, n: int, d: int) -> Mass:
    values = checks.finite("mass", mass)
    if values.shape == (n, d, d) and d > 1:
        if np.abs(values - values.swapaxes(1, 2)).max(initial=0.0) > 1e-12 * np.abs(values).max():
            raise ProblemError("mass", values, "symmetric blocks")
        return BlockMass(values)
    if values.shape == (n,):
        values = np.repeat(values[:, None], d, axis=1)
    if values.shape == (n, 1, 1):
        values = values[:, :, 0]
    if values.shape != (n, d):
        raise ProblemError("mass", f"shape {values.shape}", f"shape ({n},), ({n}, {d}) or ({n}, {d}, {d})")
    return DiagonalMass(checks.positive("mass", values))

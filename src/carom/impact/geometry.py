"""Impact problems of rigid bodies: from contact points and normals, or of discs and spheres that touch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProblemError
from ..geometry.rotations import cross, spin_components
from ..solvers.rows import Floats, Ints
from . import checks
from .problem import ImpactProblem

LARGEST = 1e150  # length whose square is still a double


def discs(
    positions: Any,
    radii: Any,
    masses: Any,
    velocities: Any,
    *,
    tolerance: float = 1e-6,
    planes: Any = (),
    boundary_speed: Any = None,
    restitution: Any = 1.0,
    friction: Any = None,
    inertias: Any = None,
    symmetries: Any = (),
    name: str = "discs",
) -> ImpactProblem:
    """Every touching pair of discs, and every disc that touches a plane.

    positions (n, 2); velocities (n, 2) for discs that do not rotate, (n, 3) with the spin last for discs that do
    (inertia m r^2 / 2 unless given). Two discs touch if their gap is at most `tolerance` times the smaller
    radius. `planes` are (point, unit normal) pairs of fixed half-planes, the normal pointing to the discs.
    Contacts are sorted by body numbers, those with planes last; normals point from the first body to the second.
    """
    return _balls(2, 0.5, positions, radii, masses, velocities, tolerance, planes, inertias).build(
        boundary_speed, restitution, friction, symmetries, name
    )


def spheres(
    positions: Any,
    radii: Any,
    masses: Any,
    velocities: Any,
    *,
    tolerance: float = 1e-6,
    planes: Any = (),
    boundary_speed: Any = None,
    restitution: Any = 1.0,
    friction: Any = None,
    inertias: Any = None,
    symmetries: Any = (),
    name: str = "spheres",
) -> ImpactProblem:
    """Every touching pair of spheres, and every sphere that touches a plane: `discs` in 3D.

    velocities (n, 3), or (n, 6) with the angular velocity last (inertia 2 m r^2 / 5 unless given).
    """
    return _balls(3, 0.4, positions, radii, masses, velocities, tolerance, planes, inertias).build(
        boundary_speed, restitution, friction, symmetries, name
    )


def rigid_bodies(
    positions: Any,
    masses: Any,
    inertias: Any,
    velocities: Any,
    bodies: Any,
    points: Any,
    normals: Any,
    **options: Any,
) -> ImpactProblem:
    """Rigid bodies in 2D or 3D with contacts that were found elsewhere: what a simulator has.

    positions (n, D) of the centers of mass; masses (n,); inertias about the center, (n,) in 2D, (n, 3, 3) in world
    axes in 3D; velocities (n, 3) as (vx, vy, spin) or (n, 6) as linear and angular velocity in world axes. Contact i
    lies between `bodies[i]`, -1 for the world, at the point `points[i]` (D,), with a normal `normals[i]` (D,) that
    points from the first body to the second and need not have unit length. `options` are those of
    `ImpactProblem.from_blocks`.
    """
    place = checks.finite("positions", positions)
    if place.ndim != 2 or place.shape[1] not in (2, 3):
        raise ProblemError("positions", f"shape {place.shape}", "shape (bodies, 2) or (bodies, 3)")
    n, dim = place.shape
    spin = spin_components(dim)
    velocity = checks.shaped("velocities", checks.finite("velocities", velocities), (n, dim + spin))
    weight = checks.positive("masses", _one_each("masses", masses, n))
    inertia = checks.finite("inertias", inertias)
    if dim == 2:
        inertia = checks.positive("inertias", _one_each("inertias", inertia, n))[:, None, None]
    mass = np.zeros((n, dim + spin, dim + spin))
    mass[:, :dim, :dim] = weight[:, None, None] * np.eye(dim)
    mass[:, dim:, dim:] = checks.shaped("inertias", inertia, (n, spin, spin))
    pair = checks.body_pairs(bodies, n)
    where = checks.shaped("points", checks.finite("points", points), (len(pair), dim))
    normal = checks.shaped("normals", checks.finite("normals", normals), (len(pair), dim))
    length = np.linalg.norm(normal, axis=1)
    if not length.all():
        raise ProblemError(f"normals[{int(np.argmin(length))}]", "a vector of length 0", "a direction")
    unit = normal / length[:, None]
    arms = where[:, None, :] - np.where(pair[..., None] >= 0, place[pair], where[:, None, :])
    return ImpactProblem.from_blocks(
        mass=mass,
        bodies=pair,
        rows=contact_directions(unit[:, None, :], arms)[:, 0],
        velocity=velocity,
        tangents=contact_directions(tangents_of(unit), arms),
        positions=place,
        **{"name": "rigid bodies", **options},
    )


def contact_directions(direction: Floats, arms: Floats) -> Floats:
    """Rows (m, t, 2, d) of the relative velocity, second body minus first, along (m, t, D) directions.

    `arms` (m, 2, D) lead from the center of each body to the contact point; the row of a body is `+-(e, r x e)`.
    """
    m, t, dim = direction.shape
    rows = np.zeros((m, t, 2, dim + spin_components(dim)))
    for side, sign in ((0, -1.0), (1, 1.0)):
        rows[:, :, side, :dim] = sign * direction
        arm = np.broadcast_to(arms[:, side][:, None, :], direction.shape)
        rows[:, :, side, dim:] = sign * cross(arm, direction)
    return rows


class _balls:
    """Validates the input, finds the contacts, and computes their rows."""

    def __init__(
        self,
        dim: int,
        inertia_factor: float,
        positions: Any,
        radii: Any,
        masses: Any,
        velocities: Any,
        tolerance: float,
        planes: Any,
        inertias: Any,
    ) -> None:
        self.dim = dim
        self.positions = checks.finite("positions", positions)
        if self.positions.ndim != 2 or self.positions.shape[1] != dim:
            raise ProblemError("positions", f"shape {self.positions.shape}", f"shape (bodies, {dim})")
        n = len(self.positions)
        checks.not_empty("positions", n)
        self.radii = checks.positive("radii", _one_each("radii", radii, n))
        self.masses = checks.positive("masses", _one_each("masses", masses, n))
        self.velocity = checks.finite("velocities", velocities)
        spin = spin_components(dim)
        if self.velocity.shape not in ((n, dim), (n, dim + spin)):
            raise ProblemError(
                "velocities",
                f"shape {self.velocity.shape}",
                f"shape ({n}, {dim}), or ({n}, {dim + spin}) with spin",
            )
        self.turning = self.velocity.shape[1] > dim
        inertia = inertia_factor * self.masses * self.radii**2 if inertias is None else inertias
        self.inertia = checks.positive("inertias", _one_each("inertias", inertia, n))
        if not (np.isfinite(tolerance) and tolerance >= 0):
            raise ProblemError("tolerance", tolerance, "a number not below 0")
        self.pairs, self.normals = self._touching(tolerance)
        self._add_planes(planes, tolerance)
        if len(self.pairs) == 0:
            raise ProblemError(
                "positions", "bodies that do not touch", f"a gap of at most tolerance={tolerance:g} radii"
            )

    def _touching(self, tolerance: float) -> tuple[Ints, Floats]:
        reach = 2 * self.radii.max() + tolerance * self.radii.min()
        largest = max(float(np.abs(self.positions).max(initial=0.0)), reach)
        if largest > LARGEST:
            raise ProblemError("positions", f"lengths of {largest:.3g}", f"lengths of at most {LARGEST:g}")
        from scipy.spatial import cKDTree  # slow to import

        pairs = cKDTree(self.positions).query_pairs(reach, output_type="ndarray").astype(np.int64)
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        offset = self.positions[pairs[:, 1]] - self.positions[pairs[:, 0]]
        distance = np.linalg.norm(offset, axis=1)
        gap = distance - self.radii[pairs].sum(axis=1)
        near = gap <= tolerance * self.radii[pairs].min(axis=1)
        if (distance[near] == 0).any():
            a, b = pairs[near][np.argmin(distance[near])]
            raise ProblemError("positions", f"bodies {a} and {b} at one point", "distinct centers")
        self.gaps = gap[near]
        return pairs[near], offset[near] / distance[near, None]

    def _add_planes(self, planes: Any, tolerance: float) -> None:
        for k, plane in enumerate(planes):
            try:
                point, normal = (checks.finite(f"planes[{k}]", part) for part in plane)
            except (TypeError, ValueError) as problem:
                if isinstance(problem, ProblemError):
                    raise
                raise ProblemError(f"planes[{k}]", plane, "a pair (point, unit normal)") from None
            length = np.linalg.norm(normal)
            if point.shape != (self.dim,) or normal.shape != (self.dim,) or abs(length - 1) > 1e-6:
                raise ProblemError(f"planes[{k}]", plane, f"a point and a unit normal in {self.dim} dimensions")
            gap = (self.positions - point) @ normal - self.radii
            touching = np.flatnonzero(gap <= tolerance * self.radii)
            ends = np.stack([np.full(len(touching), -1), touching], axis=1)
            self.pairs = np.concatenate([self.pairs, ends])
            self.normals = np.concatenate([self.normals, np.tile(normal / length, (len(touching), 1))])
            self.gaps = np.concatenate([self.gaps, gap[touching]])

    def build(self, boundary_speed: Any, restitution: Any, friction: Any, symmetries: Any, name: str) -> ImpactProblem:
        d = self.velocity.shape[1]
        mass = np.repeat(self.masses[:, None], d, axis=1)
        if self.turning:
            mass[:, self.dim :] = self.inertia[:, None]
        tangents = self._directions(tangents_of(self.normals))
        return ImpactProblem.from_blocks(
            mass=mass,
            bodies=self.pairs,
            rows=self._directions(self.normals[:, None, :])[:, 0],
            velocity=self.velocity,
            boundary_speed=boundary_speed,
            restitution=restitution,
            friction=friction,
            tangents=tangents,
            positions=self.positions,
            symmetries=symmetries,
            name=name,
        )

    def _directions(self, direction: Floats) -> Floats:
        """Rows (m, t, 2, d) along (m, t, dim) directions, without the spin of balls that do not rotate."""
        # Both impulses act at one point, in the middle of the gap, or angular momentum would not be
        # conserved: the arm is +(r + gap / 2) n for the first body and the opposite for the second.
        reach = np.where(self.pairs >= 0, self.radii[self.pairs] + 0.5 * self.gaps[:, None], 0.0)
        arms = (reach * [1.0, -1.0])[..., None] * self.normals[:, None, :]
        return contact_directions(direction, arms)[..., : self.velocity.shape[1]]


def tangents_of(normals: Floats) -> Floats:
    """Orthonormal tangents (m, t, dim) of unit normals (m, dim): one in 2D, two in 3D."""
    if normals.shape[1] == 2:
        return np.stack([-normals[:, 1], normals[:, 0]], axis=1)[:, None, :]
    helper = np.zeros_like(normals)
    helper[np.arange(len(normals)), np.argmin(np.abs(normals), axis=1)] = 1.0
    first = np.cross(normals, helper)
    first /= np.linalg.norm(first, axis=1)[:, None]
    return np.stack([first, np.cross(normals, first)], axis=1)


def _one_each(field: str, value: Any, n: int) -> Floats:
    array = checks.finite(field, value)
    if array.shape not in ((), (1,), (n,)):
        raise ProblemError(field, f"shape {array.shape}", f"one number or one for each of {n} bodies")
    return np.broadcast_to(array, (n,)).copy()

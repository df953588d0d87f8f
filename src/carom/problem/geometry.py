"""Impact problems of rigid bodies: from contact points and normals, or of discs and spheres that touch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..geometry.rotations import cross, spin_components
from ..solvers.rows import Floats, Ints
from . import checks
from .joints import Joints, joints_between
from .patches import patch_shares
from .problem import ImpactProblem

DEEP_OVERLAP = 0.05  # of two balls, relative to the smaller radius: more is a mistake in positions or radii
LARGEST_LENGTH = 1e150  # length whose square is still a double
GYRATION = {2: 0.5, 3: 0.4}  # moment of inertia of a disc and of a sphere over m r^2


def balls(
    dimension: int,
    positions: Any,
    radii: Any,
    masses: Any,
    velocities: Any,
    *,
    tolerance: Any = 1e-6,
    overlap: Any = DEEP_OVERLAP,
    planes: Any = (),
    boundary_speed: Any = None,
    restitution: Any = 1.0,
    friction: Any = None,
    inertias: Any = None,
    symmetries: Any = (),
    weights: Any = 1.0,
    joints: Any = None,
    name: str | None = None,
) -> ImpactProblem:
    """Every touching pair of discs (dimension 2) or spheres (3), and every one of them that touches a plane.

    positions (n, D); velocities (n, D) for balls that do not rotate, (n, 3) with the spin last or (n, 6) with the
    angular velocity last for balls that do (inertia m r^2 / 2 of a disc and 2 m r^2 / 5 of a sphere unless given). Two
    balls touch if their gap is at most `tolerance` times the smaller radius. Balls that overlap by more than `overlap`
    times the smaller radius are refused; `overlap=numpy.inf` admits all. `planes` are (point, unit normal) pairs of
    fixed half-spaces, the normal pointing to the balls. Contacts are sorted by body numbers, those with planes last;
    normals point from the first body to the second. `joints` are tables as in `rigid_bodies`.
    """
    place = checks.finite("positions", positions)
    if place.ndim != 2 or place.shape[1] != dimension:
        raise ProblemError("positions", f"shape {place.shape}", f"shape (bodies, {dimension})")
    n, full = len(place), dimension + spin_components(dimension)
    checks.not_empty("positions", n)
    radius = checks.positive("radii", _one_each("radii", radii, n))
    weight = checks.positive("masses", _one_each("masses", masses, n))
    velocity = checks.finite("velocities", velocities)
    if velocity.shape not in ((n, dimension), (n, full)):
        wanted = f"shape ({n}, {dimension}), or ({n}, {full}) with spin"
        raise ProblemError("velocities", f"shape {velocity.shape}", wanted)
    inertia = GYRATION[dimension] * weight * radius**2 if inertias is None else inertias
    inertia = checks.positive("inertias", _one_each("inertias", inertia, n))
    if not isinstance(tolerance, int | float | np.number) or not 0.0 <= tolerance <= LARGEST_LENGTH:
        raise ProblemError("tolerance", tolerance, "a number not below 0")
    tolerance = float(tolerance)
    if not isinstance(overlap, int | float | np.number) or not overlap >= 0.0:
        raise ProblemError("overlap", overlap, "a number not below 0, relative to the smaller radius")
    if not isinstance(planes, Iterable):
        raise ProblemError("planes", planes, "a list of pairs (point, unit normal)")
    touches = [_touching(place, radius, tolerance)]
    touches += [_on_plane(f"planes[{k}]", plane, place, radius, tolerance) for k, plane in enumerate(planes)]
    pairs, normals, gaps = (np.concatenate(column) for column in zip(*touches))
    if len(pairs) == 0:
        raise ProblemError("positions", "bodies that do not touch", f"a gap of at most tolerance={tolerance:g} radii")
    _check_overlap(pairs, gaps, radius, float(overlap))
    # Both impulses act at one point, in the middle of the gap, or angular momentum would not be conserved: the arm is
    # +(r + gap / 2) n for the first body and the opposite for the second.
    distance = np.where(pairs >= 0, radius[pairs] + 0.5 * gaps[:, None], 0.0)
    arms = (distance * [1.0, -1.0])[..., None] * normals[:, None, :]
    d = velocity.shape[1]
    mass = np.repeat(weight[:, None], d, axis=1)
    mass[:, dimension:] = inertia[:, None]
    return ImpactProblem.from_blocks(
        mass=mass,
        bodies=pairs,
        rows=contact_directions(normals[:, None, :], arms)[:, 0, :, :d],
        velocity=velocity,
        boundary_speed=boundary_speed,
        restitution=restitution,
        friction=friction,
        tangents=contact_directions(tangents_of(normals), arms)[..., :d],
        positions=place,
        symmetries=symmetries,
        weights=weights,
        joints=None if joints is None else joints_between(joints, place, d),
        name=("discs" if dimension == 2 else "spheres") if name is None else name,
    )


def _check_overlap(pairs: Ints, gaps: Floats, radius: Floats, largest: float) -> None:
    """Raises ProblemError if balls overlap each other, or a plane, by more than `largest` times the smaller radius."""
    depth = -gaps / np.where(pairs >= 0, radius[pairs], np.inf).min(axis=1)
    worst = int(np.argmax(depth))
    if depth[worst] > largest:
        a, b = pairs[worst]
        names = f"bodies {a} and {b}" if a >= 0 else f"body {b} and a plane"
        found = f"{names} that overlap by {depth[worst]:.3g} of the smaller radius"
        raise ProblemError("positions", found, f"at most {largest:g}, or overlap={np.ceil(100 * depth[worst]) / 100:g}")


def _touching(place: Floats, radius: Floats, tolerance: float) -> tuple[Ints, Floats, Floats]:
    """Pairs of balls that touch, their normals and gaps."""
    distance = 2 * radius.max() + tolerance * radius.min()
    largest = max(float(np.abs(place).max(initial=0.0)), distance)
    if largest > LARGEST_LENGTH:
        raise ProblemError("positions", f"lengths of {largest:.3g}", f"lengths of at most {LARGEST_LENGTH:g}")
    from scipy.spatial import cKDTree  # slow to import

    pairs = cKDTree(place).query_pairs(distance, output_type="ndarray").astype(np.int64)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    offset = place[pairs[:, 1]] - place[pairs[:, 0]]
    distance = np.linalg.norm(offset, axis=1)
    gap = distance - radius[pairs].sum(axis=1)
    near = gap <= tolerance * radius[pairs].min(axis=1)
    if (distance[near] == 0).any():
        a, b = pairs[near][np.argmin(distance[near])]
        raise ProblemError("positions", f"bodies {a} and {b} at one point", "distinct centers")
    return pairs[near], offset[near] / distance[near, None], gap[near]


def _on_plane(field: str, plane: Any, place: Floats, radius: Floats, tolerance: float) -> tuple[Ints, Floats, Floats]:
    """Pairs of the world and the balls that touch a plane, with their normals and gaps."""
    try:
        point, normal = (checks.finite(field, part) for part in plane)
    except (TypeError, ValueError) as problem:
        if isinstance(problem, ProblemError):
            raise
        raise ProblemError(field, plane, "a pair (point, unit normal)") from None
    dimension, length = place.shape[1], np.linalg.norm(normal)
    if point.shape != (dimension,) or normal.shape != (dimension,) or abs(length - 1) > 1e-6:
        raise ProblemError(field, plane, f"a point and a unit normal in {dimension} dimensions")
    gap = (place - point) @ normal - radius
    touching = np.flatnonzero(gap <= tolerance * radius)
    pairs = np.stack([np.full(len(touching), -1), touching], axis=1)
    return pairs, np.tile(normal / length, (len(touching), 1)), gap[touching]


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
    `ImpactProblem.from_blocks`; `weights="patch"` gives each contact its share of the patch between its bodies (see
    `carom.problem.patches`). `joints` is a list of tables with `kind`, `bodies` and `point`, `axis` or `ends` (see
    `carom.problem.joints.joints_between`).
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
    if isinstance(options.get("weights"), str):
        if options["weights"] != "patch":
            raise ProblemError("weights", options["weights"], 'positive numbers, or "patch"')
        options = {**options, "weights": patch_shares(pair, where, unit)}
    if options.get("joints") is not None and not isinstance(options["joints"], Joints):
        options = {**options, "joints": joints_between(options["joints"], place, dim + spin)}
    arms = where[:, None, :] - np.where(pair[..., None] >= 0, place[pair], where[:, None, :])
    built = ImpactProblem.from_blocks(
        mass=mass,
        bodies=pair,
        rows=contact_directions(unit[:, None, :], arms)[:, 0],
        velocity=velocity,
        tangents=contact_directions(tangents_of(unit), arms),
        positions=place,
        **{"name": "rigid bodies", **options},
    )
    return replace(built, normals=checks.frozen(unit))


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

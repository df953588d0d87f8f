"""Linear and angular momentum of an impact problem, and the error of their balance in an answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.rotations import spin_components
from ..solvers.rows import Floats, Ints
from .problem import ImpactProblem


def generators(problem: ImpactProblem) -> dict[str, Floats]:
    """Rigid motions (n, d) of all bodies by name; the momentum along a motion is `sum(motion * M v)`.

    The rotations need the positions of the bodies. A problem given as matrices has none, so the meaning of its
    components is unknown and the result is empty.
    """
    n, d = problem.block
    place = problem.positions
    if place is None:
        return {}
    dim = place.shape[1]
    motions: dict[str, Floats] = {}
    for k in range(min(dim, d)):
        motion = np.zeros((n, d))
        motion[:, k] = 1.0
        motions["linear " + "xyz"[k]] = motion
    if d < 2 or dim < 2:
        return motions
    first = 3 - spin_components(dim)  # in 2D bodies rotate about z alone
    for k in range(first, 3):
        axis = np.eye(3)[k]
        arm = np.zeros((n, 3))
        arm[:, :dim] = place
        motion = np.zeros((n, d))
        motion[:, :dim] = np.cross(axis, arm)[:, :dim]
        if d > dim:
            motion[:, dim:] = axis[first:]
        motions["angular " + "xyz"[k]] = motion
    return motions


def momentum_violation(problem: ImpactProblem, velocity: Floats, normal: Floats, tangent: Floats | None) -> float:
    """Largest relative error of the momentum balance.

    Two errors are measured: that of `M (v+ - v) = J^T lam` in every component, and, along each rigid motion, that of
    the change of momentum against the impulses of contacts with the world. Contacts between bodies must add nothing.
    """
    n = problem.block[0]
    change = problem.mass.times(velocity.reshape(problem.block) - problem.block_velocity)
    pushed = problem.rows.transpose_times(normal, n)
    world = problem.rows.transpose_times(np.where(_alone(problem.rows.ptr), normal, 0.0), n)
    if tangent is not None and problem.tangents is not None:
        flat = np.ascontiguousarray(tangent).ravel()
        pushed += problem.tangents.transpose_times(flat, n)
        world += problem.tangents.transpose_times(np.where(_alone(problem.tangents.ptr), flat, 0.0), n)
    before = problem.mass.times(problem.block_velocity)
    size = max(np.abs(before).max(), np.abs(pushed).max(), np.finfo(float).tiny)
    worst = np.abs(change - pushed).max() / size
    motions = generators(problem)
    if tangent is not None and problem.positions is not None and problem.block[1] == problem.positions.shape[1]:
        # Bodies that cannot rotate take up no torque: with friction their angular momentum is not balanced.
        motions = {name: motion for name, motion in motions.items() if name.startswith("linear")}
    for motion in motions.values():
        reach = max(np.abs(motion).max(), np.finfo(float).tiny)
        total = np.abs(motion * change).sum() + np.abs(motion * before).sum()
        error = abs((motion * (change - world)).sum())
        worst = max(worst, error / max(total, size * reach))
    return float(worst)


def _alone(ptr: Ints) -> NDArray[np.bool_]:
    """Mask (m,) of the contacts with the world, which touch one body."""
    return np.diff(ptr) == 1

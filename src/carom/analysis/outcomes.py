"""Outcome sets: the velocities that mechanics allows after an impact, and how far it leaves the answer open.

Contacts can push by any impulses `lam >= 0`, one after another or at the same time (Halm and Posa, "Set-valued rigid
body dynamics for simultaneous frictional impact", 2021). A mixture a >= 0 of contacts that push together and return
their energy changes the velocity by `lam = t a`, `t = -2 (a . u) / (a^T A a)`, which does no work; a pairwise impact is
the mixture of one contact. The answers of sequences of mixtures are therefore

    x+ = x + G^T lam,   lam >= 0,   G x+ + w >= 0,   lam . (u + u+) / 2 = 0   (elastic; else <= 0):

momentum, one-sidedness, feasibility and energy. Without the energy this is a polyhedron, with it a part of a sphere in
the metric of kinetic energy, or of the ball inside it where restitution is below 1. Friction adds impulses
`|beta| <= mu lam`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from .. import laws as registry
from ..errors import ProblemError
from ..problem.contacts import RESOLVED
from ..problem.problem import ImpactProblem
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats

APPROACH = 1e-10  # speed of approach, relative to the fastest, that counts as none
ALLOWED = 1e-8  # violation of a condition, relative, up to which a velocity is allowed
SAME_VELOCITY = 1e-9  # distance of velocities, relative, up to which they are one
MOST_STATES = 10_000  # velocities visited in the enumeration of all orders of pairwise impacts
MOST_CORNERS = 20_000  # sets of active conditions examined for corners
MOST_CONTACTS = 2_000  # contacts of a problem
LONGEST_SEQUENCE = 2_000  # impulses of one sampled sequence
UNENDED = 10  # sequences without an end, one after another, after which no more are tried: contacts of a clamp
CONE_SIDES = 64  # directions of friction in 3D in the test of membership


@dataclass(frozen=True, eq=False)
class OutcomeSet:
    """The velocities after an impact that mechanics allows. Velocities have the shape (k, N), whitened ones too."""

    problem: ImpactProblem
    elastic: bool  # whether energy must be conserved: restitution 1 and no friction
    orders: Floats  # (k, N) outcomes of pairwise impacts one after another
    all_orders: bool  # whether these are the outcomes of all orders, or of a sample
    corners: Floats  # (k, N) corners of the set, by enumeration; none where contacts are many or depend on each other
    samples: Floats  # (k, N) outcomes of random sequences of mixtures
    laws: Mapping[str, Floats]  # answer of each law, (N,)
    broken: Mapping[str, tuple[str, ...]]  # conditions that the answer of a law breaks; empty inside the set

    def __repr__(self) -> str:
        counts = f"{len(self.corners):,} corners, {len(self.orders):,} orders, {len(self.samples):,} samples"
        return f"<OutcomeSet of {self.problem.name}: size {self.size:.3g}, {counts}>"

    @cached_property
    def dimension(self) -> int:
        """Dimension of the set: the number of independent contacts, less one where the energy is given."""
        return _Space(self.problem).rank - (1 if self.elastic else 0)

    @cached_property
    def size(self) -> float:
        """How much mechanics leaves open, from 0 to 1: the largest distance of two outcomes over the largest possible.

        Distances are those of kinetic energy, and the largest possible one is twice the speed that contacts can change.
        For one elastic contact the size is 0, for three equal balls it is 1/2, whatever their velocities. It is exact
        where corners were enumerated and the set has at most one dimension, else a lower bound.
        """
        points = _white(self.problem, np.concatenate([self.corners, self.orders, self.samples]))
        space = _Space(self.problem)
        if len(points) < 2 or space.radius == 0.0:
            return 0.0
        squares = (points**2).sum(axis=1)
        apart = squares[:, None] + squares - 2.0 * points @ points.T
        i, j = np.unravel_index(np.argmax(apart), apart.shape)
        return float(np.linalg.norm(points[i] - points[j]) / (2.0 * space.radius))

    def violations(self, velocity: Any) -> dict[str, float]:
        """How far a velocity is from each condition, relative: momentum with one-sidedness, energy, feasibility."""
        v = np.asarray(velocity, dtype=float).ravel()
        if v.size != self.problem.velocity.size:
            raise ProblemError("velocity", f"{v.size} numbers", f"{self.problem.velocity.size} numbers")
        return _Space(self.problem).violations(_white(self.problem, v[None])[0], self.elastic)

    def contains(self, velocity: Any) -> bool:
        """Whether mechanics allows a velocity."""
        return max(self.violations(velocity).values()) <= ALLOWED

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON."""
        return {
            "problem": self.problem.name,
            "elastic": self.elastic,
            "size": self.size,
            "orders": self.orders.tolist(),
            "all_orders": self.all_orders,
            "corners": self.corners.tolist(),
            "samples": len(self.samples),
            "laws": {name: v.tolist() for name, v in self.laws.items()},
            "broken": {name: list(conditions) for name, conditions in self.broken.items()},
        }


def outcomes(
    problem: ImpactProblem, *, laws: Iterable[str] | None = None, samples: int = 2000, seed: int = 0
) -> OutcomeSet:
    """The set of velocities after impact that mechanics allows, with the answers of laws placed in it.

    Corners and all orders of pairwise impacts are enumerated for few contacts. `samples` random sequences of mixtures
    fill the set; the same `seed` gives the same ones. `laws` are names, by default all registered laws.
    """
    _check(problem, samples)
    names = [name for name in registry.names() if name != "none"] if laws is None else list(laws)
    chosen = {name: registry.make(name) for name in names}
    elastic = bool((problem.restitution == 1.0).all() and not problem.friction.any())
    space, rng = _Space(problem), np.random.default_rng(seed)
    orders, complete = _orders(space, rng, samples)
    corners = _corners(space, elastic)
    filling = np.concatenate([_mixtures(space, rng, samples, elastic), _between(space, corners, rng, samples, elastic)])
    answers, broken = {}, {}
    for name, law in chosen.items():
        try:
            solution = solve_impact(problem, law)
        except ProblemError:  # lzb takes no small coefficients of restitution
            continue
        if solution.status == RESOLVED:
            answers[name] = np.array(solution.velocity).ravel()
            found = space.violations(_white(problem, answers[name][None])[0], elastic)
            broken[name] = tuple(condition for condition, size in found.items() if size > ALLOWED)
    return OutcomeSet(
        problem,
        elastic,
        _after(problem, orders),
        complete,
        _after(problem, corners),
        _after(problem, filling),
        answers,
        broken,
    )


def _check(problem: Any, samples: Any) -> None:
    if not isinstance(problem, ImpactProblem):
        raise ProblemError("problem", type(problem).__name__, "an ImpactProblem")
    if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 0:
        raise ProblemError("samples", samples, "a whole number from 0 up")
    if problem.contact_count > MOST_CONTACTS:
        raise ProblemError("contacts", problem.contact_count, f"at most {MOST_CONTACTS} for an outcome set")
    if problem.speed_exponent:
        raise ProblemError("velocity", "speeds beyond 2^100", "ordinary speeds for an outcome set")


class _Space:
    """Whitened rows G, and velocities relative to one that moves along with all boundaries."""

    def __init__(self, problem: ImpactProblem) -> None:
        contacts = problem.contacts
        self.rows = contacts.matrix().toarray()
        self.problem, self.start = problem, contacts.velocity.ravel()
        w = contacts.boundary_speed
        self.center = np.linalg.lstsq(self.rows, -w, rcond=1e-12)[0] if w.any() else np.zeros(len(self.start))
        if np.abs(self.rows @ self.center + w).max(initial=0.0) > 1e-9 * np.abs(w).max(initial=1.0):
            raise ProblemError("boundary_speed", w, "boundaries at rest, or that move together")
        self.x = self.start - self.center
        self.gram = self.rows @ self.rows.T
        self.u = self.rows @ self.x
        self.fastest = max(float(-self.u.min(initial=0.0)), 0.0)
        left, size, _ = np.linalg.svd(self.rows.T, full_matrices=False)
        self.along = left[:, size > 1e-10 * size.max(initial=0.0)]  # (N, rank) what contacts can change
        self.rank = self.along.shape[1]
        self.radius = float(np.linalg.norm(self.along.T @ self.x))  # of the sphere of equal energy

    def violations(self, white: Floats, elastic: bool) -> dict[str, float]:
        """The conditions at a whitened velocity (N,)."""
        from scipy.optimize import nnls  # slow to import

        x = white - self.center
        scale = max(float(np.linalg.norm(self.x)), np.finfo(float).tiny)
        speed = max(float(np.abs(self.u).max()), scale * np.sqrt(self.gram.diagonal().max()) * 1e-3)
        rays = self._rays()
        missing = nnls(rays.T, x - self.x, maxiter=50 * len(rays))[1]
        energy = (float(x @ x) - float(self.x @ self.x)) / scale**2
        return {
            "momentum and one-sidedness": missing / scale,
            "energy": abs(energy) if elastic else max(energy, 0.0),
            "feasibility": max(float(-(self.rows @ x).min()) / speed, 0.0),
        }

    def _rays(self) -> Floats:
        """Generators (k, N) of the impulses: normals, and with friction the sides of each friction cone."""
        contacts = self.problem.contacts
        mu, t = contacts.friction, contacts.tangent_count
        if not mu.any() or t == 0:
            return self.rows
        tangents = contacts.tangent_matrix().toarray().reshape(len(mu), t, -1)
        angles = 2.0 * np.pi * np.arange(CONE_SIDES) / CONE_SIDES
        around = np.stack([np.cos(angles), np.sin(angles)], axis=1) if t == 2 else np.array([[1.0], [-1.0]])
        # Sides that touch the cone from outside in 3D, so that no answer on the cone is left out.
        around = around / (np.cos(np.pi / CONE_SIDES) if t == 2 else 1.0)
        sides = self.rows[:, None] + mu[:, None, None] * np.einsum("kt,mtn->mkn", around, tangents)
        return np.concatenate([self.rows, sides.reshape(-1, self.rows.shape[1])])


def _orders(space: _Space, rng: np.random.Generator, samples: int) -> tuple[Floats, bool]:
    """Impulses (k, m) of all orders of pairwise impacts, or of random ones where they are too many; and whether all."""
    e, diagonal, least = space.problem.restitution, space.gram.diagonal(), APPROACH * space.fastest
    grid = SAME_VELOCITY * max(float(np.abs(space.x).max()), np.finfo(float).tiny)
    seen: set[bytes] = set()
    ends: dict[bytes, Floats] = {}
    stack = [(space.x, np.zeros(len(space.u)))]
    while stack and len(seen) <= MOST_STATES:
        x, lam = stack.pop()
        u = space.rows @ x
        approaching = np.flatnonzero(u < -least)
        if len(approaching) == 0:
            ends.setdefault(_key(x, 100.0 * grid), lam)
        for i in approaching:
            push = -(1.0 + e[i]) * u[i] / diagonal[i]
            new = x + push * space.rows[i]
            key = _key(new, 100.0 * grid)
            if key not in seen:
                seen.add(key)
                more = lam.copy()
                more[i] += push
                stack.append((new, more))
    if not stack:
        return np.array(list(ends.values())).reshape(-1, len(space.u)), True
    found = _found(space, (_sequence(space, rng, e, False) for _ in range(min(samples, 500))))
    return np.concatenate([found, np.array(list(ends.values())).reshape(-1, len(space.u))]), False


def _key(x: Floats, grid: float) -> bytes:
    """Equal for velocities that differ by rounding error, up to rare ones on the border of two cells."""
    return np.round(x / grid).astype(np.int64).tobytes()


def _mixtures(space: _Space, rng: np.random.Generator, samples: int, elastic: bool) -> Floats:
    """Impulses (k, m) of random sequences of mixtures."""
    count = min(samples, max(int(2e7 / max(space.rows.size, 1)), 10))
    one = np.ones(len(space.u))
    return _found(space, (_sequence(space, rng, one if elastic else rng.random() * one, True) for _ in range(count)))


def _found(space: _Space, sequences: Iterable[Floats | None]) -> Floats:
    """The impulses (k, m) of sequences that end."""
    found, failed = [], 0
    for lam in sequences:
        failed = failed + 1 if lam is None else 0
        if lam is not None:
            found.append(lam)
        elif failed >= UNENDED:
            break
    return np.array(found).reshape(-1, len(space.u))


def _between(space: _Space, corners: Floats, rng: np.random.Generator, samples: int, elastic: bool) -> Floats:
    """Impulses (k, m) between corners, where these are known: the polyhedron is convex.

    A velocity relative to the boundaries may be scaled without loss of feasibility, here to the sphere of equal energy.
    """
    if len(corners) == 0 or samples == 0:
        return np.zeros((0, len(space.u)))
    weights = rng.exponential(size=(samples, len(corners))) ** 3
    lam = (weights / weights.sum(axis=1, keepdims=True)) @ corners
    x = (space.x + lam @ space.rows) @ space.along
    size = np.linalg.norm(x, axis=1)
    scale = np.where(size > 0.0, space.radius / np.where(size > 0.0, size, 1.0), 1.0)
    wanted = (scale - 1.0)[:, None] * x @ space.along.T  # change of the velocity
    outer = lam + np.linalg.solve(space.gram, space.rows @ wanted.T).T
    outer = outer[(outer >= 0.0).all(axis=1)]
    return outer if elastic else np.concatenate([lam, outer])


def _sequence(space: _Space, rng: np.random.Generator, e: Floats, mixed: bool) -> Floats | None:
    """The impulses (m,) of one random sequence of approaching contacts, alone or mixed; None if it does not end."""
    x, lam, least = space.x, np.zeros(len(space.u)), APPROACH * space.fastest
    for _ in range(LONGEST_SEQUENCE):
        u = space.rows @ x
        approaching = np.flatnonzero(u < -least)
        if len(approaching) == 0:
            return lam
        size = int(rng.integers(1, len(approaching) + 1)) if mixed else 1
        chosen = rng.choice(approaching, size, replace=False)
        weights = rng.exponential(size=size) ** 2 * -u[chosen] / space.gram.diagonal()[chosen]
        push = space.rows[chosen].T @ weights
        length = float(push @ push)
        if length <= 0.0:  # contacts of a clamp: their impulses balance each other
            return None
        amount = -(1.0 + float(e[chosen].mean())) * float(weights @ u[chosen]) / length
        x = x + amount * push
        lam[chosen] += amount * weights
    return None


def _corners(space: _Space, elastic: bool) -> Floats:
    """Impulses (k, m) at the corners: as many conditions `lam_i = 0` or `u_i+ = 0` hold as there are dimensions left.

    With independent rows lam are coordinates. On a line along which all but one of them are fixed by conditions, the
    energy is a quadratic; where energy may be lost, corners of the polyhedron count as well.
    """
    m, none = len(space.u), np.zeros((0, len(space.u)))
    lines = comb(2 * m, m - 1) if m <= 30 else MOST_CORNERS + 1
    if space.rank < m or lines > MOST_CORNERS or space.fastest == 0.0 or space.problem.friction.any():
        return none
    conditions, right = np.vstack([np.eye(m), space.gram]), np.concatenate([np.zeros(m), -space.u])
    found = []
    for chosen in combinations(range(2 * m), m - 1):
        found += _on_line(space, conditions[list(chosen)], right[list(chosen)])
    if not elastic:
        for chosen in combinations(range(2 * m), m):
            matrix = conditions[list(chosen)]
            if np.linalg.matrix_rank(matrix) == m:
                found.append(np.linalg.solve(matrix, right[list(chosen)]))
    scale = space.fastest / space.gram.diagonal()
    kept = []
    for lam in found:
        work = float(lam @ (space.u + 0.5 * space.gram @ lam))
        bounded = work <= ALLOWED * space.fastest * float(np.abs(lam).sum())
        feasible = (space.u + space.gram @ lam >= -ALLOWED * space.fastest).all()
        if bounded and feasible and (lam >= -ALLOWED * scale).all():
            kept.append(np.maximum(lam, 0.0))
    if not kept:
        return none
    _, first = np.unique(np.round(np.array(kept) / (100.0 * SAME_VELOCITY * scale)), axis=0, return_index=True)
    return np.array(kept)[first]


def _on_line(space: _Space, matrix: Floats, right: Floats) -> list[Floats]:
    """The impulses without work on the line `matrix lam = right`, m - 1 equations."""
    m = len(space.u)
    if m > 1:
        left, size, turned = np.linalg.svd(matrix)
        if size[-1] <= 1e-10 * size[0]:
            return []
        point = turned[:-1].T @ ((left.T @ right) / size)
        along = turned[-1]
    else:
        point, along = np.zeros(1), np.ones(1)
    # lam (u + A lam / 2) = 0 at lam = point + s along: a s^2 / 2 + b s + c = 0.
    a = float(along @ space.gram @ along)
    b = float(along @ (space.u + space.gram @ point))
    c = float(point @ (space.u + 0.5 * space.gram @ point))
    square = b * b - 2.0 * a * c
    if square < 0.0:
        return []
    root = np.sqrt(square)
    return [point + along * (-b + sign * root) / a for sign in (1.0, -1.0)]


def _white(problem: ImpactProblem, velocities: Floats) -> Floats:
    """Whitened velocities (k, N)."""
    white = [problem.mass.whiten(v.reshape(problem.block)).ravel() for v in velocities]
    return np.array(white).reshape(len(velocities), problem.contacts.velocity.size)


def _after(problem: ImpactProblem, impulses: Floats) -> Floats:
    """Velocities (k, N) after normal impulses (k, m)."""
    out = [problem.velocity_after(lam, None).ravel() for lam in impulses]
    return np.array(out).reshape(len(impulses), problem.velocity.size)

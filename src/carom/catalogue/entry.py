"""An entry of the catalogue: a problem, its known answers and its symmetries."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.optimize import linprog

from ..errors import ProblemError
from ..late import sparse as sp
from ..problem.problem import ImpactProblem, Symmetry
from ..solvers.rows import Floats


@dataclass(frozen=True, eq=False)
class Entry:
    """A problem and its known properties.

    breaking: contacts that must separate under an elastic law with break-away: those that rest before the impact and
    are opened by it, and in Bernoulli's problem the struck ones too.
    answers: law -> velocities after an elastic impact; the key "hertz" is the compliant chain, not a law.
    sizes: shapes of the bodies, so that an engine can set the problem up. They are one radius, (n,) radii of balls, or
    (n, D) half sizes of boxes parallel to the axes. They are stored as (n, 1) or (n, D), or as None where no such
    bodies touch.
    resampled: the same impact with more contact points, whose rows are convex combinations of those of the problem.
    degenerate: some non-negative combination of contact rows vanishes, so that no velocity separates every contact and
    energy has to be lost.
    """

    problem: ImpactProblem
    note: str
    breaking: tuple[int, ...] = ()
    answers: Mapping[str, Floats] = field(default_factory=dict)
    source: str = ""
    degenerate: bool = False
    sizes: Any = None
    resampled: tuple[ImpactProblem, ...] = ()

    def __post_init__(self) -> None:
        m = self.problem.contact_count
        for contact in self.breaking:
            if not 0 <= contact < m:
                raise ProblemError("breaking", contact, f"numbers of contacts, 0 to {m - 1}")
        if self.sizes is not None:
            sizes = np.asarray(self.sizes, dtype=float)
            n = self.problem.block[0]
            sizes = sizes if sizes.ndim == 2 else np.broadcast_to(sizes, (n,)).reshape(n, 1)
            object.__setattr__(self, "sizes", sizes)
        shape = self.problem.velocity.shape
        fixed = {law: np.asarray(v, dtype=float).reshape(shape) for law, v in self.answers.items()}
        for values in fixed.values():
            values.setflags(write=False)
        object.__setattr__(self, "answers", MappingProxyType(fixed))

    @property
    def name(self) -> str:
        return self.problem.name


LARGEST_SEARCHED = 2000  # contacts up to which `is_degenerate` solves its linear program


def is_degenerate(problem: ImpactProblem) -> bool:
    """Whether `J^T y = 0` has a solution y >= 0 other than 0: a small linear program.

    No velocity then separates all contacts: those with y_i > 0 are a clamp. Problems of
    more than `LARGEST_SEARCHED` contacts count as free of clamps.
    """
    m = problem.contact_count
    if m > LARGEST_SEARCHED:
        return False
    g = problem.contacts.matrix()
    length = np.sqrt(np.asarray(g.multiply(g).sum(axis=1)).ravel())
    balance = sp.vstack([g.T @ sp.diags(1.0 / length), np.ones((1, m))])
    target = np.append(np.zeros(g.shape[1]), 1.0)
    found = linprog(np.zeros(m), A_eq=balance.tocsr(), b_eq=target, bounds=(0, None), method="highs")
    return bool(found.status == 0)


def answers_for(laws: str, velocity: Any) -> dict[str, Any]:
    """The same velocities for several laws, given as one string: `answers_for("gr qce", v)`."""
    return dict.fromkeys(laws.split(), velocity)


def spatial_symmetry(
    positions: Any, matrix: Any, components: int, name: str, center: Any = None, tolerance: float = 1e-9
) -> Symmetry:
    """The symmetry x -> center + Q (x - center) of bodies at `positions` (n, dim), Q orthogonal.

    Linear velocity maps by Q. Angular velocity is a pseudovector: det(Q) in 2D, det(Q) Q in 3D.
    The center is the centroid unless given. Bodies are matched by their positions.
    """
    place = np.asarray(positions, dtype=float)
    q = np.asarray(matrix, dtype=float)
    dim = place.shape[1]
    middle = place.mean(axis=0) if center is None else np.asarray(center, dtype=float)
    moved = middle + (place - middle) @ q.T
    distance = np.linalg.norm(moved[:, None] - place[None], axis=2)
    bodies = distance.argmin(axis=1)
    reach = max(float(np.ptp(place, axis=0).max()), 1.0)
    worst = float(distance[np.arange(len(place)), bodies].max())
    if worst > tolerance * reach or len(set(bodies.tolist())) < len(place):
        raise ProblemError("symmetry", f"bodies off by {worst:.2g}", "a map of the bodies onto themselves")
    block = np.zeros((components, components))
    block[:dim, :dim] = q
    turn = float(np.linalg.det(q))
    if components > dim:
        block[dim:, dim:] = turn if dim == 2 else turn * q
    return Symmetry(bodies=bodies.astype(np.int64), matrix=block, name=name)


def mirror(axis: int, dim: int) -> Floats:
    """The orthogonal matrix that flips one coordinate."""
    q = np.eye(dim)
    q[axis, axis] = -1.0
    return q


def rotation(angle: float, dim: int = 2) -> Floats:
    """The rotation by `angle` (radians) in the plane of the first two coordinates."""
    q = np.eye(dim)
    q[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return q


# ---- random problems


def disc_cluster(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """`count` touching discs with radii from 0.35 to 0.65: positions (count, 2) and radii.

    Where one fits, a new disc touches two that touch each other: the cluster consists of triangles, so that all
    contacts are coupled.
    """
    radii = rng.uniform(0.35, 0.65, count)
    places = np.zeros((count, 2))
    if count > 1:
        places[1] = [radii[0] + radii[1], 0.0]
    pairs = [(0, 1)]
    for k in range(2, count):
        order = rng.permutation(len(pairs))
        spots = (spot for i in order for spot in _leaning(places, radii, pairs[i], radii[k]))
        places[k] = next(s for s in spots if _fits(s, places[:k], radii[:k], radii[k]))
        gap = np.linalg.norm(places[:k] - places[k], axis=1) - radii[:k] - radii[k]
        pairs += [(int(j), k) for j in np.flatnonzero(gap < 1e-9)]
    return places - places.mean(axis=0), radii


def _leaning(places: Floats, radii: Floats, pair: tuple[int, int], radius: float) -> list[Floats]:
    """The two centers of a disc that touches both discs of a pair."""
    a, b = pair
    offset = places[b] - places[a]
    base = float(np.linalg.norm(offset))
    ra, rb = radii[a] + radius, radii[b] + radius
    along = (ra * ra - rb * rb + base * base) / (2 * base)
    height2 = ra * ra - along * along
    if height2 <= 0:
        return []
    axis = offset / base
    up = np.array([-axis[1], axis[0]]) * np.sqrt(height2)
    return [places[a] + along * axis + up, places[a] + along * axis - up]


def _fits(spot: Floats, places: Floats, radii: Floats, radius: float) -> bool:
    return bool((np.linalg.norm(places - spot, axis=1) - radii - radius > -1e-12).all())


def sphere_cluster(rng: np.random.Generator, count: int) -> Floats:
    """Centers (count, 3) of `count` touching spheres of diameter 1, grown at random on the densest lattice."""
    steps = [
        np.array(step)
        for step in itertools.product((-1, 0, 1), repeat=3)
        if abs(step[0]) + abs(step[1]) + abs(step[2]) == 2
    ]
    taken: list[tuple[int, ...]] = [(0, 0, 0)]
    while len(taken) < count:
        base = np.array(taken[rng.integers(len(taken))])
        spot = tuple(int(c) for c in base + steps[rng.integers(len(steps))])
        if spot not in taken:
            taken.append(spot)
    return np.array(taken, dtype=float) / np.sqrt(2.0)

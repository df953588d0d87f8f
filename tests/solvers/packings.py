"""Rows for the solvers' tests: arrangements whose Delassus matrices are singular, stretched or long."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from carom import ImpactProblem
from carom.catalogue.entry import disc_cluster, sphere_cluster
from carom.problem.contacts import as_matrix
from carom.solvers.qp.cone import Cone, solve_chosen, work_of
from carom.solvers.rows import rows_from_csr, taken


def rows_from(matrix):
    """Rows over bodies of one component each, from a dense (m, n) matrix."""
    csr = sp.csr_matrix(matrix)
    return rows_from_csr(csr.indptr, csr.indices, csr.data[:, None], csr.shape[1])


def rows_and_speeds(problem):
    return problem.contacts.rows, problem.contacts.speeds()


def flat_box(velocity=(0.0, 0.0, -1.0, 0.0, 0.0, 0.0)):
    """A box on a floor: four corners, of which only three are independent."""
    arms = np.array([[x, y, -0.5] for x in (-1.0, 1.0) for y in (-1.5, 1.5)])
    rows = np.zeros((4, 2, 6))
    rows[:, 1, 2] = 1.0
    rows[:, 1, 3:] = np.cross(arms, [0.0, 0.0, 1.0])
    inertia = [[2.0, 2.0, 2.0, 1.7, 0.9, 2.2]]
    return ImpactProblem.from_blocks(inertia, [[-1, 0]] * 4, rows, [velocity])


def hexagonal(side, rng, *, spin=False, floor=True):
    """Equal discs in the densest packing, thrown together: three contacts a disc for two degrees of freedom."""
    cells = np.array([(i + 0.5 * (j % 2), j * np.sqrt(0.75)) for j in range(side) for i in range(side)])
    velocity = rng.normal(size=(side * side, 3 if spin else 2))
    velocity[:, :2] -= 2.0 * (cells - cells.mean(axis=0)) / side
    planes = [([0.0, -0.5], [0.0, 1.0])] if floor else []
    return ImpactProblem.from_discs(cells, 0.5, 1.0, velocity, planes=planes)


def unequal_discs(count, rng, *, decades=2.0):
    """A cluster of discs whose masses span twice the given number of powers of ten."""
    places, radii = disc_cluster(rng, count)
    masses = 10.0 ** rng.uniform(-decades, decades, count)
    return ImpactProblem.from_discs(places, radii, masses, rng.normal(size=(count, 2)))


def spheres(count, rng, *, spin=False):
    velocity = rng.normal(size=(count, 6 if spin else 3))
    return ImpactProblem.from_spheres(sphere_cluster(rng, count), 0.5, 1.0, velocity)


def long_chain(count, rng, *, decades=0.5):
    masses = 10.0 ** rng.uniform(-decades, decades, count + 1)
    return ImpactProblem.chain(masses, rng.normal(size=count + 1))


def with_duplicates(problem, rng):
    """Rows in which every third contact occurs twice, in a random order, and their speeds."""
    rows, u = rows_and_speeds(problem)
    m = len(u)
    pick = rng.permutation(np.concatenate([np.arange(m), np.arange(0, m, 3)]))
    return taken(rows, pick), u[pick]


def solve(rows, c, start=None):
    """`argmin 1/2 y^T A y + c^T y` over `y >= 0` and all contacts, and its residual; `start` is a guess."""
    y = np.zeros(len(c)) if start is None else np.array(start, dtype=float)
    given = Cone(np.require(c, float, ["C", "W"]), y, start is not None)
    return y, solve_chosen(rows, np.arange(len(c)), given, work_of(rows))


def dense(rows):
    """The rows as a dense matrix."""
    return as_matrix(rows).toarray()

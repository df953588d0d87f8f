"""Random rough problems for the friction tests: discs and spheres that turn, and any mechanical system."""

from __future__ import annotations

import numpy as np

from carom import ImpactProblem
from carom.catalogue.entry import disc_cluster, sphere_cluster


def discs(rng, friction=0.4):
    n = int(rng.integers(2, 8))
    places, radii = disc_cluster(rng, n)
    masses = 10.0 ** rng.uniform(-0.5, 0.5, n)
    return ImpactProblem.from_discs(places, radii, masses, rng.normal(size=(n, 3)), friction=friction)


def spheres(rng, friction=0.4):
    n = int(rng.integers(2, 7))
    masses = 10.0 ** rng.uniform(-0.5, 0.5, n)
    velocity = rng.normal(size=(n, 6))
    return ImpactProblem.from_spheres(sphere_cluster(rng, n), 0.5, masses, velocity, friction=friction)


def matrices(rng, friction=0.4):
    """A full mass matrix, and tangents that are not orthogonal to the normals in any sense.

    Rows are turned and tilted so that one velocity separates all contacts.
    """
    n = int(rng.integers(4, 9))
    m = int(rng.integers(1, 5))
    root, outward = rng.normal(size=(n, n)), rng.normal(size=n)
    rows = rng.normal(size=(m, n))
    rows *= np.sign(rows @ outward)[:, None]
    rows += 0.3 * outward / np.linalg.norm(outward)
    tangents = rng.normal(size=(m, int(rng.integers(1, 3)), n))
    mass = root @ root.T + 0.5 * np.eye(n)
    velocity = rng.normal(size=n) - outward
    return ImpactProblem.from_matrices(mass, rows, velocity, friction=friction, tangents=tangents)


KINDS = {"discs": discs, "spheres": spheres, "matrices": matrices}


def sample(kind, seed, **options):
    """A problem of that kind with at least one approaching contact; the same for the same seed."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    problem = KINDS[kind](rng, **options)
    while (problem.separation_speed() > -1e-2).all():
        problem = KINDS[kind](rng, **options)
    return problem

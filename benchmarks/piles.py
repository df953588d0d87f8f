"""Random piles of touching discs or spheres, of any size."""

from __future__ import annotations

import numpy as np

import carom


def random_pile(contacts: int, dim: int = 2, seed: int = 0) -> carom.ImpactProblem:
    """A jittered lattice of balls with random masses and velocities and about the asked number of contacts.

    Neighbors closer than 1.02 diameters count as touching, about 2 contacts a disc and 4 a sphere.
    """
    rng = np.random.default_rng(seed)
    per_ball = 2.0 if dim == 2 else 3.1
    side = int(np.ceil((contacts / per_ball) ** (1 / dim)))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * dim, indexing="ij"), axis=-1).reshape(-1, dim).astype(float)
    if dim == 2:
        grid[:, 0] += 0.5 * (grid[:, 1] % 2)
        grid[:, 1] *= np.sqrt(3) / 2
    else:
        grid += 0.5 * (grid[:, 2:3] % 2) * np.array([1.0, 1.0, 0.0])
        grid[:, 2] *= np.sqrt(0.5)
    place = 2.0 * grid + rng.uniform(-0.08, 0.08, grid.shape)
    return carom.ImpactProblem.from_discs(
        place, 1.0, rng.uniform(0.5, 2.0, len(place)), rng.normal(size=place.shape), tolerance=0.04, overlap=0.4
    ) if dim == 2 else carom.ImpactProblem.from_spheres(
        place, 1.0, rng.uniform(0.5, 2.0, len(place)), rng.normal(size=place.shape), tolerance=0.04, overlap=0.4
    )  # fmt: skip


def cluster_field(clusters: int, contacts: int, seed: int = 0) -> carom.ImpactProblem:
    """Many separate clusters of discs with at most `contacts` contacts each."""
    rng = np.random.default_rng(seed)
    place, apart = [], 40.0
    side = int(np.ceil(np.sqrt(clusters)))
    for k in range(clusters):
        balls = [np.zeros(2)]
        touching, goal = 0, rng.integers(max(1, contacts // 2), contacts + 1)
        while touching < goal:
            angle = rng.uniform(0, 2 * np.pi)
            spot = balls[rng.integers(len(balls))] + 2.0 * np.array([np.cos(angle), np.sin(angle)])
            distance = np.linalg.norm(np.array(balls) - spot, axis=1)
            near = int((distance <= 2.0 + 1e-9).sum())
            if distance.min() >= 2.0 - 1e-9 and touching + near <= contacts:
                balls.append(spot)
                touching += near
        place.append(np.array(balls) + apart * np.array([k % side, k // side]))
    spots = np.concatenate(place)
    return carom.ImpactProblem.from_discs(
        spots, 1.0, rng.uniform(0.5, 2.0, len(spots)), rng.normal(size=spots.shape), tolerance=1e-6
    )

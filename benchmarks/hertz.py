"""Elastic laws against stiff Hertz springs: chains, racks and clusters, by kind of problem.

    python -m benchmarks hertz

The reference is the ODE of `carom.reproduce.hertz`, in which bodies move and gaps open and close; it shares no code
with the laws. Errors are the largest difference of a velocity component over the largest speed before the impact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from carom import ImpactProblem, solve_impact
from carom.catalogue.entry import disc_cluster, sphere_cluster
from carom.reproduce.hertz import hertz_impact

from .report import Row

LAWS = ("gr", "qce", "lcp", "gauss_seidel", "lzb")
ADVISED = {  # the law besides lzb that docs/choosing.md names for each kind
    "chains, equal masses": "gr",
    "chains, unequal masses": "gr",
    "racks of discs": "gr",
    "pyramids of spheres": "qce",
    "clusters, equal masses": "qce",
    "clusters, unequal masses": "qce",
}
TIE = 0.005  # difference of median errors that does not matter
AGREEMENT = 1e-3  # of lzb, where no gap narrows again: lzb has no positions, and closes a gap at once


def _chain(rng: np.random.Generator, unequal: bool) -> ImpactProblem:
    """3 to 12 balls in a row; one to three of them arrive, sometimes from both ends."""
    n, arriving = int(rng.integers(3, 13)), int(rng.integers(1, 4))
    v = np.zeros(n)
    v[: min(arriving, n - 1)] = 1.0
    if rng.random() < 0.5:
        v[-1] = -rng.uniform(0.2, 1.0)
    return ImpactProblem.chain(_masses(rng, n, unequal), v, name="chain")


def _masses(rng: np.random.Generator, n: int, unequal: bool) -> Any:
    return 10.0 ** rng.uniform(-0.5, 0.5, n) if unequal else np.ones(n)


def triangle(rows: int) -> Any:
    """Centers of a rack of touching discs of diameter 1, its head at the origin, pointing to -x."""
    return np.array([[k * np.sqrt(0.75), j - 0.5 * k] for k in range(rows) for j in range(k + 1)])


def _rack(rng: np.random.Generator) -> ImpactProblem:
    """A triangle of 3 to 15 discs, struck at its head at up to 25 degrees; the cue moves along the line of centers or
    up to 30 degrees off it."""
    place = triangle(int(rng.integers(2, 6)))
    at, turn = rng.uniform(-25, 25), rng.choice([0.0, rng.uniform(-30, 30)])
    a, b = np.radians(at), np.radians(at + turn)
    place = np.vstack([place, [-np.cos(a), -np.sin(a)]])
    v = np.zeros_like(place)
    v[-1] = [np.cos(b), np.sin(b)]
    return ImpactProblem.from_discs(place, 0.5, 1.0, v, name="rack")


def _pyramid(rng: np.random.Generator) -> ImpactProblem:
    """A pyramid of 4 or 10 spheres, struck from above at its top, up to 20 degrees off the vertical."""
    layers = int(rng.integers(2, 4))
    place = [
        [*(p - triangle(k).mean(axis=0)), -(k - 1) * np.sqrt(2 / 3)] for k in range(1, layers + 1) for p in triangle(k)
    ]
    tilt, way = np.radians(rng.uniform(0, 20)), rng.uniform(0, 2 * np.pi)
    up = np.array([np.sin(tilt) * np.cos(way), np.sin(tilt) * np.sin(way), np.cos(tilt)])
    place = np.vstack([place, up])
    v = np.zeros_like(place)
    v[-1] = -up
    return ImpactProblem.from_spheres(place, 0.5, 1.0, v, name="pyramid")


def _cluster(rng: np.random.Generator, unequal: bool) -> ImpactProblem:
    """4 to 14 discs or spheres of which one to three move towards the middle."""
    n = int(rng.integers(4, 15))
    plane = rng.random() < 0.5
    place, radius = disc_cluster(rng, n) if plane else (sphere_cluster(rng, n), 0.5)
    place = place - place.mean(axis=0)
    v = np.zeros_like(place)
    for k in np.argsort(-np.linalg.norm(place, axis=1))[: int(rng.integers(1, 4))]:
        v[k] = -place[k] / np.linalg.norm(place[k]) + 0.3 * rng.normal(size=place.shape[1])
    make = ImpactProblem.from_discs if plane else ImpactProblem.from_spheres
    return make(place, radius, _masses(rng, n, unequal), v, name="cluster")


KINDS: dict[str, tuple[int, Callable[[np.random.Generator], ImpactProblem]]] = {  # how many, and one of them
    "chains, equal masses": (35, lambda rng: _chain(rng, False)),
    "chains, unequal masses": (35, lambda rng: _chain(rng, True)),
    "racks of discs": (40, _rack),
    "pyramids of spheres": (20, _pyramid),
    "clusters, equal masses": (35, lambda rng: _cluster(rng, False)),
    "clusters, unequal masses": (35, lambda rng: _cluster(rng, True)),
}


def errors(problem: ImpactProblem) -> list[float]:
    """The error of each law of LAWS, and the number of contacts whose gap opens and narrows again."""
    (want, returning), top = hertz_impact(problem), float(np.abs(problem.velocity).max())
    return [*(float(np.abs(solve_impact(problem, law).velocity - want).max()) / top for law in LAWS), returning]


def approaching(make: Callable[[np.random.Generator], ImpactProblem], seed: list[int]) -> ImpactProblem:
    """A problem of a kind in which something approaches."""
    rng = np.random.default_rng(seed)
    problem = make(rng)
    while problem.separation_speed().min() > -0.1:
        problem = make(rng)
    return problem


def run(quick: bool = False) -> list[Row]:
    """Median error of each law by kind; the advice of the docs must be the law with the least, and lzb agree."""
    rows, tables = [], []
    for number, (kind, (many, make)) in enumerate(KINDS.items()):
        table = np.array([errors(approaching(make, [number, k])) for k in range(3 if quick else many)])
        tables.append(table)
        median, tail = np.median(table, axis=0), np.quantile(table, 0.9, axis=0)
        for k, law in enumerate(LAWS):
            print(f"  {kind}, {law}: median {median[k]:.3f}, 90 % {tail[k]:.3f}, largest {table[:, k].max():.3f}")
        gr, qce = table[:, 0], table[:, 1]
        print(
            f"  {kind}: gr nearer in {(gr < qce - TIE).sum()}, qce in {(qce < gr - TIE).sum()} of {len(table)}",
            flush=True,
        )
        measured = ", ".join(f"{law} {median[k]:.3f}" for k, law in enumerate(LAWS))
        best = bool(median[LAWS.index(ADVISED[kind])] <= median[: len(LAWS) - 1].min() + TIE)
        rows.append(Row(f"{kind} against Hertz springs", f"{ADVISED[kind]} is nearest", measured, best))
    lzb, returning = np.concatenate(tables)[:, -2:].T
    once, twice = lzb[returning == 0], lzb[returning > 0]
    measured = f"{once.max(initial=0.0):.0e} in {len(once)} problems"
    if len(twice):
        measured += f"; where a gap opens and narrows, {np.median(twice):.3f} in the median, at most {twice.max():.3f}"
    asked = f"within {AGREEMENT:g} where no gap narrows again"
    return [*rows, Row("lzb against Hertz springs", asked, measured, once.max(initial=0.0) <= AGREEMENT)]

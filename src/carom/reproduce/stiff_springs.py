"""Every elastic law against stiff Hertz springs: chains, racks, pyramids, clusters, and boxes on their faces.

The reference is the ODE of `hertz.py`, in which bodies move and gaps open and close; it shares no code with the laws.
Errors are the largest difference of a velocity component over the largest speed before the impact.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..catalogue.entry import disc_cluster, sphere_cluster
from ..draw.style import GRAY, law_style, styled, write
from ..problem.problem import ImpactProblem
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats
from ..testing import random_problem
from .evidence import Case, Evidence, Row
from .hertz import hertz_impact

LAWS = ("gr", "qce", "lcp", "gauss_seidel", "jacobi", "sqm", "smm", "etm", "lzb")  # lzb last
ADVISED = {  # the law besides lzb that docs/choosing.md names for each kind
    "chains, equal masses": "gr",
    "chains, unequal masses": "gr",
    "racks of discs": "gr",
    "pyramids of spheres": "qce",
    "clusters, equal masses": "qce",
    "clusters, unequal masses": "qce",
    "boxes on a face": "qce",
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
    layered = [
        [*(p - triangle(k).mean(axis=0)), -(k - 1) * np.sqrt(2 / 3)] for k in range(1, layers + 1) for p in triangle(k)
    ]
    tilt, way = np.radians(rng.uniform(0, 20)), rng.uniform(0, 2 * np.pi)
    up = np.array([np.sin(tilt) * np.cos(way), np.sin(tilt) * np.sin(way), np.cos(tilt)])
    place = np.vstack([layered, up])
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
    "boxes on a face": (20, lambda rng: random_problem(rng, "box").with_(boundary_speed=0.0)),
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


def run(case: Case, share: float = 1.0) -> Evidence:
    """Median error of each law by kind of problem; writes stiff_springs.png, .svg, .pdf and .csv.

    share: part of the 220 problems, at least 2 of each kind.
    """
    tables: dict[str, Floats] = {}
    for number, (part, (kind, (many, make))) in enumerate(case.each(list(KINDS.items()))):
        count = max(2, round(share * many))
        made = []
        for k in range(count):
            part.tell(k / count, kind)
            made.append(errors(approaching(make, [number, k])))
        tables[kind] = np.array(made)
    rows = [row for kind, table in tables.items() for row in _rows(kind, table)]
    lzb, returning = np.concatenate(list(tables.values()))[:, -2:].T
    once, twice = lzb[returning == 0], lzb[returning > 0]
    largest = float(once.max(initial=0.0))
    rows += [
        Row("lzb: largest error where no gap opens and narrows again", 0.0, largest, "of the speed",
            largest <= AGREEMENT, f"{len(once)} problems"),
        Row("lzb: largest error elsewhere", None, float(twice.max(initial=0.0)), "of the speed",
            remark=f"{len(twice)} problems, median {np.median(twice) if len(twice) else 0.0:.3f}"),
    ]  # fmt: skip
    files = _draw(case.out, tables)
    return Evidence(tuple(rows), files, _findings(tables), {"problems": sum(map(len, tables.values()))})


def _rows(kind: str, table: Floats) -> list[Row]:
    """The median of each law, with a claim for the one that docs/choosing.md advises besides lzb."""
    median, tail = np.median(table, axis=0), np.quantile(table, 0.9, axis=0)
    least = float(median[: len(LAWS) - 1].min())
    rows = []
    for k, law in enumerate(LAWS):
        advised = law == ADVISED[kind]
        holds = bool(median[k] <= least + TIE) if advised else None
        said = "advised: nearest" if advised else None
        remark = f"90 % below {tail[k]:.3f}, largest {table[:, k].max():.3f}; {len(table)} problems"
        rows.append(Row(f"{kind}, {law}: median error", said, float(median[k]), "of the speed", holds, remark))
    return rows


def _findings(tables: dict[str, Floats]) -> tuple[str, ...]:
    lines = []
    for kind, table in tables.items():
        median = np.median(table, axis=0)[: len(LAWS) - 1]
        order = np.argsort(median)[:2]
        lines.append(f"{kind}: nearest besides lzb " + ", then ".join(f"{LAWS[k]} ({median[k]:.3f})" for k in order))
    return tuple(lines)


def _draw(out: Path, tables: dict[str, Floats]) -> tuple[Path, ...]:
    """One row of dots per kind: the median of each law, with a line up to 90 percent of the problems."""
    with styled(1, width=6.4, height=0.9 + 0.62 * len(tables)) as (figure, (axes,)):
        for y, table in enumerate(tables.values()):
            for k, law in enumerate(LAWS):
                look, at = law_style(law), y + 0.07 * (k - 0.5 * (len(LAWS) - 1))
                median, tail = np.median(table[:, k]), np.quantile(table[:, k], 0.9)
                axes.plot([max(median, 1e-4), max(tail, 1e-4)], [at, at], color=look["color"], linewidth=0.8, alpha=0.6)
                face = "white" if law in ("sqm", "smm") else look["color"]  # they share color and marker with others
                mark = {"marker": look["marker"], "color": look["color"], "markerfacecolor": face, "linestyle": ""}
                axes.plot(max(median, 1e-4), at, **mark, label=law if y == 0 else None)
            if y:
                axes.axhline(y - 0.5, color=GRAY, linewidth=0.4)
        axes.set(xscale="log", xlim=(8e-5, 3.0), ylim=(len(tables) - 0.5, -0.5))
        axes.set_yticks(range(len(tables)), list(tables))
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("error of a velocity / largest speed before: median, and line to 90 % of the problems")
        axes.set_title("Elastic laws against stiff Hertz springs (below 1e-4 at the left edge)")
        figure.legend(loc="outside lower center", ncols=5)
        rows = [(kind, law, table[:, k]) for kind, table in tables.items() for k, law in enumerate(LAWS)]
        columns: dict[str, list[Any]] = {"kind": [r[0] for r in rows], "law": [r[1] for r in rows]}
        columns |= {"median": [float(np.median(r[2])) for r in rows], "largest": [float(r[2].max()) for r in rows]}
        return write(figure, out, "stiff_springs", columns)

"""Testing of impact laws: random problems, and a check of all claims of a law.

    carom.testing.check_law(MyLaw)

raises AssertionError with the claim, the problem and the measured value if the law breaks a claim. No test framework
is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np

from . import catalogue, laws
from .analysis.audit import as_entry
from .analysis.desiderata import ORDER, Examination, Finding
from .catalogue import Entry
from .catalogue.entry import disc_cluster, sphere_cluster
from .errors import ProblemError
from .laws import DESIDERATA, Law
from .problem.contacts import STATUSES
from .problem.problem import ImpactProblem
from .problem.solution import ImpactSolution
from .resolve.impulses import solve_impact
from .resolve.verify import NOT_FINITE

# ---- random problems


def _chain(rng: np.random.Generator) -> ImpactProblem:
    n = int(rng.integers(2, 10))
    v = rng.normal(size=n)
    return ImpactProblem.chain(_masses(rng, n), np.where(rng.random(n) < 0.3, 0.0, v), name="random chain")


def _discs(rng: np.random.Generator) -> ImpactProblem:
    n = int(rng.integers(2, 13))
    places, radii = disc_cluster(rng, n)
    v = rng.normal(size=(n, 2 + int(rng.integers(2))))
    v[rng.random(n) < 0.3] = 0.0
    return ImpactProblem.from_discs(places, radii, _masses(rng, n), v, name="random disc cluster")


def _spheres(rng: np.random.Generator) -> ImpactProblem:
    n = int(rng.integers(2, 11))
    v = rng.normal(size=(n, 3 if rng.random() < 0.7 else 6))
    v[rng.random(n) < 0.3] = 0.0
    return ImpactProblem.from_spheres(sphere_cluster(rng, n), 0.5, _masses(rng, n), v, name="random sphere cluster")


def _matrices(rng: np.random.Generator) -> ImpactProblem:
    """A general system with a full mass matrix of n components and up to n + 2 rows.

    The signs of the rows are chosen so that one velocity separates all contacts; the problem is not degenerate.
    """
    n = int(rng.integers(2, 9))
    m = int(rng.integers(1, n + 3))
    root = rng.normal(size=(n, n))
    rows = rng.normal(size=(m, n))
    outward = rng.normal(size=n)
    rows *= np.sign(rows @ outward)[:, None]
    # Pairs of nearly opposite rows would need very many reflections: tilt every row outward.
    rows += 0.3 * outward / np.linalg.norm(outward)
    mass = root @ root.T + 0.5 * np.eye(n)
    return ImpactProblem.from_matrices(mass, rows, rng.normal(size=n) - outward, name="random matrices")


def _box(rng: np.random.Generator) -> ImpactProblem:
    """A box that lands on its lower corners on a ground that may move: d = 3 with 2 contacts or d = 6 with 4."""
    size = rng.uniform(0.5, 2.0, 3)
    mass = float(rng.uniform(0.5, 2.0))
    if rng.random() < 0.5:
        w, h = size[:2]
        rows = np.zeros((2, 2, 3))
        rows[:, 1] = [[0.0, 1.0, -w / 2], [0.0, 1.0, w / 2]]
        inertia = [mass, mass, mass * (w * w + h * h) / 12]
    else:
        a, b, h = size
        arms = np.array([[x, y, -h / 2] for x in (-a / 2, a / 2) for y in (-b / 2, b / 2)])
        rows = np.zeros((4, 2, 6))
        rows[:, 1, 2] = 1.0
        rows[:, 1, 3:] = np.cross(arms, [0.0, 0.0, 1.0])
        turning = np.array([b * b + h * h, a * a + h * h, a * a + b * b]) * mass / 12
        inertia = [mass, mass, mass, *turning]
    m, d = rows.shape[0], rows.shape[2]
    v = rng.normal(size=(1, d))
    v[0, 1 if d == 3 else 2] -= 1.0
    return ImpactProblem.from_blocks(
        mass=[inertia],
        bodies=[[-1, 0]] * m,
        rows=rows,
        velocity=v,
        boundary_speed=-float(rng.uniform(0, 0.5)) * float(rng.integers(2)),
        positions=np.zeros((1, 2 if d == 3 else 3)),
        name="random box",
    )


KINDS: dict[str, Callable[[np.random.Generator], ImpactProblem]] = {
    "chain": _chain,
    "discs": _discs,
    "spheres": _spheres,
    "matrices": _matrices,
    "box": _box,
}


def _masses(rng: np.random.Generator, n: int) -> np.ndarray:
    return 10.0 ** rng.uniform(-0.7, 0.7, n)


def random_problem(rng: np.random.Generator, kind: str | None = None) -> ImpactProblem:
    """A random elastic problem with at least one approaching contact; the same for the same generator state.

    `kind` is chain, discs, spheres, matrices or box; by default it is random. None of these problems is
    degenerate, so an elastic law can conserve their energy.
    """
    if kind is not None and kind not in KINDS:
        raise ProblemError.unknown("kind of random problem", kind, KINDS)
    make = KINDS[kind if kind is not None else str(rng.choice(list(KINDS)))]
    problem = make(rng)
    while (problem.separation_speed() > -1e-3).all():
        problem = make(rng)
    return problem


@cache
def random_entries(count: int, seed: int = 0, kind: str | None = None) -> tuple[Entry, ...]:
    """`count` random problems as catalogue entries without known solutions; names contain seed and number."""
    found = []
    for k in range(count):
        problem = random_problem(np.random.default_rng([seed, k]), kind)
        found.append(Entry(problem.with_(name=f"{problem.name} [{seed}, {k}]"), "random"))
    return tuple(found)


# ---- the check


def check_law(
    law: str | Law | type[Law],
    *,
    problems: Sequence[Entry | ImpactProblem] | None = None,
    examples: int = 100,
    seed: int = 0,
    claims: Iterable[str] | None = None,
) -> None:
    """Raises AssertionError if a law breaks one of its claims.

    `law` is an instance, a class or a registered name; `problems` replace the catalogue; `examples` is the number
    of additional random problems; `claims` replace those of the law. Independent of its claims, a law must return
    one finite impulse per contact, a known status, and the same bits for the same problem.
    """
    if isinstance(law, str):
        chosen = laws.make(law)
    elif isinstance(law, type):
        chosen = law()
    else:
        chosen = laws.make(law)
    name = getattr(chosen, "name", type(chosen).__name__)
    held = _claims(chosen, claims)
    entries = tuple(as_entry(p) for p in problems) if problems is not None else catalogue.entries()
    examination = Examination(chosen, entries + random_entries(examples, seed))
    faults = [f"{name}: {fault}" for fault in _faults(examination)]
    for claim in ORDER:
        if claim in held:
            finding = examination.finding(claim)
            if not finding.passed:
                faults.append(_sentence(name, finding))
    if faults:
        raise AssertionError("\n".join(faults))


def _claims(law: Law, claims: Iterable[str] | None) -> frozenset[str]:
    held = frozenset(getattr(law, "claims", ()) if claims is None else claims)
    for claim in held:
        if claim not in DESIDERATA:
            raise ProblemError.unknown("desideratum", claim, DESIDERATA)
    return held


def _faults(examination: Examination) -> Iterable[str]:
    """Errors that no law may make: wrong shapes, impulses that are not finite, unknown status, different bits."""
    for entry, solution in zip(examination.entries, examination.solutions, strict=True):
        fault = _fault(entry.problem, solution)
        if fault is None:
            again = solve_impact(entry.problem, examination.law)
            if not np.array_equal(again.impulse, solution.impulse):
                fault = "gives different impulses for the same problem"
        if fault is not None:
            yield f"{fault} (on {entry.name})"
            return


def _fault(problem: ImpactProblem, solution: ImpactSolution) -> str | None:
    if solution.impulse.shape != (problem.contact_count,):
        return f"returns impulses of shape {solution.impulse.shape} for {problem.contact_count} contacts"
    if any(NOT_FINITE in message for message in solution.messages):
        return "returns impulses that are not finite"
    if solution.status not in STATUSES:
        return f"returns the unknown status {solution.status!r}"
    return None


def _sentence(name: str, finding: Finding) -> str:
    words = {
        "BRK": "leaves a contact that must break away at the separation speed",
        "SYM": "departs from symmetry or depends on the order of contacts by",
        "KIN": "has a relative energy error of",
        "MOM": "has a relative momentum error of",
        "ONE": "pulls with a share of the largest impulse of",
        "WAV": "departs from the exchange of velocities by",
        "FEA": "leaves bodies approaching at a share of the speed before of",
        "SMP": "depends on contact points that add no constraint by a share of the top speed of",
    }
    value = f"{words[finding.desideratum]} {finding.worst:.3g} (bound {finding.bound:g})"
    return f"{name} claims {finding.desideratum} but {value} on {finding.where}"


__all__ = ["KINDS", "check_law", "random_entries", "random_problem"]

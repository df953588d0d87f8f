"""Random impact problems: ill-conditioned, degenerate and badly scaled ones, under all laws and models.

What a solution claims is measured in extended precision from its impulses and velocities alone.
"""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from carom import friction, laws
from carom.errors import ProblemError
from carom.problem.problem import ImpactProblem
from carom.problem.solution import ImpactSolution
from carom.resolve.impulses import solve_impact

from .campaign import Campaign
from .problem_checks import wrong_with

SELDOM = {"etm": 0.3, "lzb": 0.3, "sqm": 0.6}  # laws that take ten times as long as the others
PARTING = 0.1  # share of the problems in which nothing approaches, or nothing moves
FEW, FEW_SECONDS = 30, 1.0  # contacts, and CPU seconds that they may take


class Case(NamedTuple):
    """The arguments of a problem, which may be refused, and of its solution."""

    kind: str
    arguments: dict[str, Any]
    law: str
    restitution_model: str
    friction_model: str | None

    def problem(self) -> ImpactProblem:
        """Raises ProblemError for arguments that no problem can have."""
        make = ImpactProblem.from_matrices if self.kind == "matrices" else ImpactProblem.from_blocks
        return make(**self.arguments)

    def solution(self) -> ImpactSolution:
        return solve_impact(
            self.problem(), self.law, restitution_model=self.restitution_model, friction_model=self.friction_model
        )


class Problems(Campaign):
    """Mass ratios to 1e12, speeds from 1e-300 to 1e150, redundant, nearly opposite and zero rows, friction to 1,000."""

    title = "random impact problems under all laws and models"
    quick = 200
    limit_seconds = 5.0

    def case(self, rng: np.random.Generator) -> Case:
        kind = str(rng.choice(["matrices", "blocks"], p=[0.25, 0.75]))
        arguments = _matrices(rng) if kind == "matrices" else _blocks(rng)
        if rng.random() < PARTING:
            arguments = _parting(rng, arguments)
        names = laws.names()
        weight = np.array([SELDOM.get(name, 1.0) for name in names])
        law = laws.make(str(rng.choice(names, p=weight / weight.sum())))
        model = str(rng.choice(law.restitution_models))
        rough = [*friction.MODELS, *([friction.OWN] if law.own_friction else [])]
        arguments["restitution"] = _restitution(rng, len(arguments["friction"]), law.name, model)
        chosen = str(rng.choice(rough))
        if kind == "blocks" and arguments["rows"].shape[2] < 3 and chosen == "cone":
            chosen = "pyramid"  # the same bounds with one tangent; cones of points that cannot turn compile for minutes
        return Case(kind, arguments, law.name, model, chosen)

    def check(self, case: Case, folder: Path) -> str | None:
        try:
            solution, seconds = _timed(case)
            if len(solution.impulse) <= FEW and seconds > FEW_SECONDS:
                solution, seconds = _timed(case)  # the first time kernels may have been compiled
        except ProblemError as error:
            return None if len(str(error)) < 500 else f"message: of {len(str(error))} characters"
        if len(solution.impulse) <= FEW and seconds > FEW_SECONDS:
            return f"slow: {seconds:.1f} CPU s for {len(solution.impulse)} contacts"
        return wrong_with(solution, case.restitution_model)

    def group(self, case: Case) -> str:
        return case.law

    def save(self, case: Case, folder: Path) -> None:
        lines = [f"{key} = {value!r}" for key, value in case._asdict().items()]
        with np.printoptions(threshold=1_000_000, floatmode="unique"):
            (folder / "case.txt").write_text("\n".join(lines) + "\n")


def _timed(case: Case) -> tuple[ImpactSolution, float]:
    start = process_time()
    return case.solution(), process_time() - start


# ---- random arguments


def _restitution(rng: np.random.Generator, m: int, law: str, model: str) -> Any:
    low = 0.05 if law == "lzb" else 0.0
    if rng.random() < 0.3:
        return rng.uniform(low, 1.0, m)
    return float(rng.choice([low, 1.0, rng.uniform(low, 1.0)]))


def _parting(rng: np.random.Generator, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the normals of approaching contacts reversed, up to rounding, or with all speeds zero."""
    if rng.random() < 0.3:
        names = ("velocity", "boundary_speed", "tangent_speed")
        return {key: 0.0 * value if key in names else value for key, value in arguments.items()}
    v, w = arguments["velocity"], arguments["boundary_speed"]
    if "jacobian" in arguments:
        u = arguments["jacobian"] @ v
        sign = np.where(u < 0.0, -1.0, 1.0)[:, None]
        return {**arguments, "jacobian": sign * arguments["jacobian"], "boundary_speed": abs(w)}
    padded = np.vstack([v, np.zeros((1, v.shape[1]))])  # the world is body -1
    u = (arguments["rows"] * padded[arguments["bodies"]]).sum(axis=(1, 2))
    sign = np.where(u < 0.0, -1.0, 1.0)[:, None, None]
    return {**arguments, "rows": sign * arguments["rows"], "boundary_speed": abs(w)}


def _contact_count(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 6) if rng.random() < 0.6 else rng.integers(6, 31 if rng.random() < 0.95 else 111))


def _near(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """Rows (m, ...) of which some nearly repeat or oppose the one before, by 1e-16 to 1e-2; some are zero."""
    rows = rows.copy()
    chance = rng.choice([0.0, 0.3, 0.8], p=[0.5, 0.3, 0.2])
    for i in range(1, len(rows)):
        if rng.random() < chance:
            error = 10.0 ** rng.uniform(-16, -2) if rng.random() < 0.7 else 0.0
            sign = rng.choice([-1.0, 1.0])
            rows[i] = sign * rows[i - 1] * rng.choice([1.0, rng.uniform(0.5, 2.0)])
            rows[i] += error * rng.normal(size=rows[i].shape) * (rows[i] != 0.0)
    if rng.random() < 0.01:
        rows[rng.integers(len(rows))] *= rng.choice([0.0, 1e-200, 1e-20])
    return rows


def _speeds(rng: np.random.Generator, m: int, t: int) -> dict[str, Any]:
    """Boundary speeds, friction, and the factor on all speeds."""
    moving = rng.random() < 0.15
    mu = 0.0 if rng.random() < 0.4 else 10.0 ** rng.uniform(-3, 3)
    return {
        "boundary_speed": rng.normal(size=m) * (rng.random(m) < 0.3) if moving else np.zeros(m),
        "tangent_speed": rng.normal(size=(m, t)) if moving and rng.random() < 0.5 else np.zeros((m, t)),
        "friction": np.full(m, mu) * (1.0 if rng.random() < 0.7 else rng.random(m)),
    }


def _scaled(rng: np.random.Generator, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with all speeds multiplied by one factor."""
    factor = 10.0 ** rng.uniform(-300, 150) if rng.random() < 0.3 else 1.0
    names = ("velocity", "boundary_speed", "tangent_speed")
    return {key: value * factor if key in names else value for key, value in arguments.items()}


def _masses(rng: np.random.Generator, n: int) -> np.ndarray:
    half = rng.choice([0.3, 2.0, 6.0])
    return 10.0 ** rng.uniform(-half, half, n)


def _blocks(rng: np.random.Generator) -> dict[str, Any]:
    """Bodies of d components whose contacts lie in a plane (d = 2, 3) or in space (d = 6), or on a line (d = 1)."""
    d = int(rng.choice([1, 2, 3, 6]))
    m = _contact_count(rng)
    n = int(rng.integers(1, max(2, min(m + 2, 2 + 2 * m // d))))
    dim, t = {1: (1, 1), 2: (2, 1), 3: (2, 1), 6: (3, 2)}[d]
    first = rng.integers(-1, n, m)
    second = rng.integers(0, n, m)
    second = np.where(second == first, -1, second)
    bodies = np.where((first < 0)[:, None] & (second < 0)[:, None], [[0, -1]], np.stack([first, second], axis=1))
    frame = np.linalg.qr(rng.normal(size=(m, dim, dim)))[0]
    oblique = rng.random() < 0.2
    if oblique:
        frame = rng.normal(size=(m, dim, dim))
    normal = _rows(rng, frame[:, 0], d)
    tangents = np.stack([_rows(rng, frame[:, min(1 + s, dim - 1)], d) for s in range(t)], axis=1)
    if rng.random() < 0.5:
        normal = _near(rng, normal)
        for k in range(1, m):
            if rng.random() < 0.7:
                bodies[k] = bodies[k - 1]
    velocity = rng.normal(size=(n, d)) * (rng.random((n, 1)) < 0.8)
    mass = _masses(rng, n * d).reshape(n, d) if d in (3, 6) and rng.random() < 0.2 else _masses(rng, n)
    if d > 1 and rng.random() < 0.1:
        root = rng.normal(size=(n, d, d)) / np.sqrt(d) + np.eye(d)
        mass = root @ root.swapaxes(1, 2) * _masses(rng, n)[:, None, None]
    arguments = {
        "mass": mass,
        "bodies": bodies,
        "rows": normal,
        "velocity": velocity,
        "tangents": tangents,
        **_speeds(rng, m, t),
    }
    return _scaled(rng, arguments)


def _rows(rng: np.random.Generator, direction: np.ndarray, d: int) -> np.ndarray:
    """Rows (m, 2, d) of contacts along `direction` (m, dim) at random points of both bodies."""
    m, dim = direction.shape
    rows = np.zeros((m, 2, d))
    for side, sign in ((0, -1.0), (1, 1.0)):
        rows[:, side, :dim] = sign * direction
        if d > dim:
            arm = rng.normal(size=(m, dim))
            if dim == 2:
                turn = (arm[:, 0] * direction[:, 1] - arm[:, 1] * direction[:, 0])[:, None]
            else:
                turn = np.cross(arm, direction)
            rows[:, side, dim:] = sign * turn
    return rows


def _matrices(rng: np.random.Generator) -> dict[str, Any]:
    """A general system: any mass matrix, rows and tangents, dense or with few entries."""
    n, m = int(rng.integers(1, 13)), _contact_count(rng)
    t = int(rng.integers(1, 3))
    root = rng.normal(size=(n, n)) / np.sqrt(n) + np.eye(n)
    root *= np.sqrt(_masses(rng, n))[:, None] if rng.random() < 0.5 else 1.0
    dense = rng.random() < 0.5
    jacobian = rng.normal(size=(m, n)) * (1.0 if dense else rng.random((m, n)) < 0.3)
    jacobian[np.arange(m), rng.integers(0, n, m)] += 1.0
    arguments = {
        "mass": root @ root.T if rng.random() < 0.7 else _masses(rng, n),
        "jacobian": _near(rng, jacobian) if rng.random() < 0.5 else jacobian,
        "velocity": rng.normal(size=n),
        "tangents": rng.normal(size=(m, t, n)) * (rng.random((m, t, n)) < 0.5),
        **_speeds(rng, m, t),
    }
    return _scaled(rng, arguments)


CAMPAIGN = Problems()

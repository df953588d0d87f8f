"""Contact rows projected off joints, as in Carom, beside joint rows kept as equality rows of the cone problem.

An impact of a mechanism is `min 1/2 |x|^2` subject to `G x >= -c, B x = 0`, once (inelastic) or for the violators until
none is left (`gr`). Carom makes the rows of B, factorizes `B B^T`, projects G and solves: all of it counts. Sweeps and
PIQP get G and B as they are, with rows of length one, and of them only the solver itself counts.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from carom.build import build
from carom.contact.detector import find_contacts
from carom.kernels import kernel
from carom.laws.gr import ELASTIC_STRETCH, reflections
from carom.mechanism import allowed
from carom.problem.assemble import assemble_contacts, through_joints
from carom.problem.contacts import as_matrix
from carom.scene import Bodies, Pin, Plane, Rectangle, Scene
from carom.scenes.mechanisms import ragdoll
from carom.solvers.qp.cone import solve_cone
from carom.solvers.rows import make_rows, pushed, speeds
from carom.stepwise import Simulation

from .report import Row

WANTED, MOST_SWEEPS, ROUNDS, WARM = 1e-10, 30_000, 3, 5
RELAXATION = (1.0, 1.5, 1.8, 1.95)  # factors of over-relaxed sweeps
Solved = tuple[float, int, float, Any]  # seconds, iterations, largest residual relative to c, velocity


def bars(corners: Any) -> Scene:
    """Bars from corner to corner on the ground, pinned to their neighbors; closed if the last corner is the first."""
    along, n = np.diff(corners, axis=0), len(corners) - 1
    size, angle = np.hypot(*along.T), np.arctan2(along[:, 1], along[:, 0])
    middle = 0.5 * (corners[1:] + corners[:-1])
    up = np.array([0.0, (0.5 * size * abs(np.sin(angle)) + 0.05 * abs(np.cos(angle)) - middle[:, 1]).max()])
    made = [Bodies(Rectangle(size[k], 0.1), (middle[k] + up)[None], angle=float(angle[k])) for k in range(n)]
    first = 0 if (corners[0] == corners[-1]).all() else 1
    pins = [Pin(((k - 1) % n, k), tuple((corners[k] + up).tolist())) for k in range(first, n)]
    return Scene("bars", made, boundaries=(Plane(),), joints=pins, step=0.01)


class Impact:
    """A mechanism in contact, with a random velocity that its joints allow."""

    def __init__(self, scene: Scene, time: float) -> None:
        simulation, world = Simulation(scene, "gr"), build(scene)[0]
        while simulation.time < time:
            simulation.step()
        state, root, self.held = simulation.state, world.inverse_sqrt_mass, world.joints
        at = self.held.at(state.position, state.orientation, root)
        v = np.random.default_rng(1).normal(size=state.velocity.shape)
        v[:, world.dimension - 1] -= 2.0
        v = np.where(root > 0.0, allowed(self.held.rows, at.val, at.lower, np.zeros(len(at.val)), root, v), 0.0)
        self.state = replace(state, velocity=v)
        found = find_contacts(world, self.state, self.state, 1e-3)
        self.direct = assemble_contacts(world, self.state, found, world.boundaries)
        self.contacts = _matrix(self.direct.rows.body, self.direct.rows.val[:, :, 0], world.count)
        self.joints = _matrix(self.held.rows.body, at.val, world.count)
        self.speeds = self.contacts @ self.direct.velocity.ravel()

    def projected(self, elastic: bool) -> Solved:
        self.held.kept.clear()  # joint rows of the last poses
        x, count, begin = self.direct.velocity, 1, process_time()
        rows = through_joints(self.direct, self.state).contacts.without_friction().rows
        u = speeds(rows, x)
        if elastic:
            stretch, size = np.full(len(u), ELASTIC_STRETCH), np.abs(u).max()
            _, x, end = reflections(rows, x, stretch, WANTED * size, 1000)
            residual, count = end.worst, end.iterations
        else:
            y, residual = solve_cone(rows, u)
            x = pushed(rows, y, x)
        return process_time() - begin, count, residual / np.abs(u).max(), x.ravel()

    def with_equalities(self, solve: Callable[..., Any], elastic: bool) -> Solved:
        x, seconds, count, worst, turn = self.direct.velocity.ravel(), 0.0, 0, 0.0, 0
        while turn < (1000 if elastic else 1):
            u = self.contacts @ x
            front = np.flatnonzero(u < -WANTED * abs(self.speeds).max()) if elastic else np.arange(len(u))
            if not len(front):
                break
            size, rows = (ELASTIC_STRETCH if elastic else 1.0) * abs(u[front]).max(), self.contacts[front]
            c = u[front] / abs(u[front]).max()
            y, change, spent, used = solve(rows, self.joints, c)
            left = abs(np.append(np.minimum(y, rows @ change + c), self.joints @ change)).max()
            x, seconds, count = x + size * change, seconds + spent, count + used
            worst, turn = max(worst, left), turn + 1
        return seconds, count, worst, x


def _matrix(body: Any, val: Any, bodies: int) -> sp.csr_matrix:
    """Rows (m, w, d) over bodies (m, w), -1 for none, each divided by its length."""
    val = val / np.sqrt((val**2).sum(axis=(1, 2)))[:, None, None]
    return as_matrix(make_rows(body, val[:, :, None], np.zeros((len(val), 1)), np.zeros((len(val), 3)), 1, bodies))


def by_sweeps(rows: Any, joints: Any, c: Any, factor: float) -> tuple[Any, Any, float, int]:
    both, goal = sp.vstack([rows, joints], format="csr"), np.append(c, np.zeros(joints.shape[0]))
    x, y, begin = np.zeros(both.shape[1]), np.zeros(len(goal)), process_time()
    count = _sweeps(both.indptr, both.indices, both.data, goal, len(c), factor, x, y)
    return y[: len(c)], x, process_time() - begin, count


@kernel
def _sweeps(ptr, column, val, c, contacts, factor, x, y):
    """Number of sweeps over rows of length one; those behind the contacts have impulses of any sign."""
    for sweep in range(1, MOST_SWEEPS + 1):
        worst = 0.0
        for i in range(len(c)):
            u = c[i]
            for e in range(ptr[i], ptr[i + 1]):
                u += val[e] * x[column[e]]
            worst = max(worst, abs(min(u, y[i]) if i < contacts else u))
            new = y[i] - factor * u
            new = max(new, 0.0) if i < contacts else new
            for e in range(ptr[i], ptr[i + 1]):
                x[column[e]] += val[e] * (new - y[i])
            y[i] = new
        if worst <= 0.25 * WANTED:  # speeds have changed since they were compared
            return sweep
    return MOST_SWEEPS


def by_piqp(rows: Any, joints: Any, c: Any) -> tuple[Any, Any, float, int]:
    import piqp

    n, solver = rows.shape[1], piqp.SparseSolver()
    given = {"P": sp.identity(n, format="csc"), "c": np.zeros(n), "A": joints.tocsc(), "G": rows.tocsc()}
    for key, value in (("eps_abs", 1e-12), ("eps_rel", 0.0), ("check_duality_gap", True), ("max_iter", 40)):
        setattr(solver.settings, key, value)
    solver.settings.eps_duality_gap_abs, solver.settings.eps_duality_gap_rel = 1e-18, 0.0
    begin = process_time()
    solver.setup(b=np.zeros(joints.shape[0]), h_l=-c, **given)
    solver.solve()
    return np.abs(solver.result.z_l), solver.result.x, process_time() - begin, solver.result.info.iter


def run() -> list[Row]:
    if importlib.util.find_spec("piqp") is None:
        return [Row("joints as equality rows", "velocities agree to 1e-8", "PIQP is not installed", None)]
    zigzag = {n: np.array([(0.95 * k, 0.3 * (k % 2)) for k in range(n + 1)]) for n in (5, 20, 100)}
    scenes = {f"chain of {n} bars": (bars(corners), 0.0) for n, corners in zigzag.items()}
    loop = np.array([(0.0, 0.0), (1.0, 0.0), (1.2, 0.7), (-0.1, 0.8), (0.0, 0.0)])
    scenes |= {"four-bar loop": (bars(loop), 0.0), "ragdoll": (ragdoll(), 1.5)}
    rows = []
    for name, (scene, time) in scenes.items():
        impact = Impact(scene, time)
        for law in ("inelastic", "gr"):
            answers = _in_turns(impact, law == "gr")
            size, mine = abs(impact.speeds).max(), answers["projected"]
            for method, (seconds, count, residual, x) in answers.items():
                held, apart = abs(impact.joints @ x).max() / size, abs(x - mine[3]).max() / size
                print(
                    f"{name}, {law}, {method}: {seconds * 1e6:.0f} us, {count} iterations, residual {residual:.0e}, "
                    f"joints {held:.0e}, velocity differs by {apart:.0e}"
                )
            sweeps, piqp = answers["sweeps"], answers["PIQP"]
            agree = max(abs(x - mine[3]).max() for *_, x in (sweeps, piqp)) <= 1e-8 * size
            measured = f"{mine[0] * 1e6:.0f} us; sweeps {sweeps[0] * 1e6:.0f}, PIQP {piqp[0] * 1e6:.0f}"
            rows.append(Row(f"joints, {name}, {law}", "velocities agree to 1e-8", measured, agree))
    return rows


def _in_turns(impact: Impact, elastic: bool) -> dict[str, Solved]:
    """The fastest answer of each method; of sweeps that of the best factor among those that end."""
    sweeps = {
        f"sweeps {f}": lambda f=f: impact.with_equalities(partial(by_sweeps, factor=f), elastic) for f in RELAXATION
    }
    methods: dict[str, Callable[[], Solved]] = {"projected": lambda: impact.projected(elastic), **sweeps}
    methods["PIQP"] = lambda: impact.with_equalities(by_piqp, elastic)
    best: dict[str, Solved] = {}
    for _ in range(ROUNDS):
        for name, work in methods.items():
            answer = min((work() for _ in range(WARM)), key=lambda found: found[0])
            best[name] = min(best.get(name, answer), answer, key=lambda found: found[0])
    ended = [answer for name, answer in best.items() if name in sweeps and answer[2] <= WANTED]
    return {"projected": best["projected"], "sweeps": min(ended, key=lambda a: a[0]), "PIQP": best["PIQP"]}

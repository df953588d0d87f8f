"""Impacts of mechanisms: joints hold, do no work, and a law answers as in coordinates that have no joints at all."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problem.jointed_problems import jointed_problems

from carom import ImpactProblem, ImpactSolution, laws, solve_impact
from carom.analysis.audit import audit_problem
from carom.errors import ProblemError

FRICTIONLESS = [name for name in laws.names() if name != "none"]


def mechanism(seed: int, loops: int = 0, dim: int = 2) -> dict[str, object]:
    """The arguments of a random mechanism: a tree of pins (2D) or balls (3D), `loops` more of them, and contacts.

    Velocities are those of the nearest motion that the joints allow, so the mechanism moves.
    """
    rng = np.random.default_rng(seed)
    n, spin = int(rng.integers(2, 31)), 1 if dim == 2 else 3
    place = rng.normal(size=(n, dim)) * 2.0
    kind = "pin" if dim == 2 else "ball"
    pairs = [(int(rng.integers(-1, b)), b) for b in range(n)]
    pairs += [tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(loops)]
    joints = [{"kind": kind, "bodies": list(p), "point": rng.normal(size=dim).tolist()} for p in pairs]
    m = int(rng.integers(1, 9))
    bodies = np.array([rng.choice(np.arange(-1, n), 2, replace=False) for _ in range(m)])
    inertia = rng.uniform(0.2, 2.0, n)
    given = {
        "positions": place,
        "masses": rng.uniform(0.5, 2.0, n),
        "inertias": inertia if dim == 2 else inertia[:, None, None] * np.eye(3),
        "velocities": rng.normal(size=(n, dim + spin)),
        "bodies": bodies,
        "points": rng.normal(size=(m, dim)),
        "normals": rng.normal(size=(m, dim)),
        "joints": joints,
    }
    return given


def matrices(given: dict[str, object]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mass, contact rows, joint rows and a velocity that the joints allow, dense, from the problem without joints."""
    free = ImpactProblem.from_contacts(**{k: v for k, v in given.items() if k != "joints"})
    n, d = free.block
    size = n * d
    mass = np.stack([free.mass.times(e.reshape(n, d)).ravel() for e in np.eye(size)])
    rows = np.stack([free.rows.times(e.reshape(n, d)) for e in np.eye(size)], axis=1)
    held = joint_rows(given, n, d)
    basis = null_space(held)
    allowed = basis @ np.linalg.solve(basis.T @ mass @ basis, basis.T @ mass @ free.velocity.ravel())
    return mass, rows, held, allowed


def joint_rows(given: dict[str, object], n: int, d: int) -> np.ndarray:
    """Rows of pins and balls, written down again: the velocity of the shared point, second body minus first."""
    place, out = np.asarray(given["positions"]), []
    dim = place.shape[1]
    for joint in given["joints"]:  # type: ignore[attr-defined]
        for k in range(dim):
            row = np.zeros((n, d))
            for body, sign in zip(joint["bodies"], (-1.0, 1.0), strict=True):
                if body >= 0:
                    arm = np.asarray(joint["point"]) - place[body]
                    row[body, k] += sign
                    if dim == 2:
                        row[body, 2] += sign * (-arm[1], arm[0])[k]
                    else:
                        row[body, 3:] += sign * np.cross(arm, np.eye(3)[k])
            out.append(row.ravel())
    return np.array(out)


def null_space(rows: np.ndarray) -> np.ndarray:
    _, size, directions = np.linalg.svd(rows)
    return directions[int((size > 1e-10 * size.max()).sum()) :].T


def compare(seed: int, loops: int, dim: int, unresolved: list[tuple[int, str]]) -> float:
    """Largest difference of the velocities from those of the same law in minimal coordinates, relative to the fastest.

    Random contacts sometimes clamp a mechanism: what they hold stops, and the law answers for the rest. Where
    reflections go on to the bound of a law without a clamp, rounding grows with each of them: such cases are noted in
    `unresolved` instead.
    """
    given = mechanism(seed, loops, dim)
    mass, rows, held, allowed = matrices(given)
    basis = null_space(held)
    movable = np.linalg.norm(rows @ basis, axis=1) > 1e-6 * np.linalg.norm(rows, axis=1)
    if basis.shape[1] == 0 or not movable.any():
        return 0.0
    given = {**given, "velocities": allowed.reshape(np.shape(given["velocities"]))}
    for key in ("bodies", "points", "normals"):
        given[key] = np.asarray(given[key])[movable]
    jointed = ImpactProblem.from_contacts(**given)
    reduced_velocity = np.linalg.lstsq(basis, allowed, rcond=None)[0]
    minimal = ImpactProblem.from_matrices(basis.T @ mass @ basis, rows[movable] @ basis, reduced_velocity)
    worst = 0.0
    for name in FRICTIONLESS:
        ours, theirs = solve_impact(jointed, name), solve_impact(minimal, name)
        if not (answered(ours) and answered(theirs)):
            unresolved.append((seed, name))
            continue
        audit = ours.audit()
        claims = laws.make(name).claims
        checks = {"momentum error": "MOM", "joint error": "MOM", "energy change": "KIN", "smallest impulse": "ONE"}
        for measure in audit.measures:
            if checks.get(measure.name) in (claims if ours.status == "resolved" else claims - {"KIN"}):  # clamps stop
                assert measure.passed, (seed, name, str(audit))
        apart = np.abs(ours.velocity.ravel() - basis @ theirs.velocity).max() / np.abs(allowed).max()
        if name == "etm":  # rounding decides which of two equal approaches is served first: up to an increment
            assert apart < 1 / 30, (seed, apart)
            continue
        worst = max(worst, apart)
    return worst


def answered(solution: ImpactSolution) -> bool:
    """Whether the law has an answer of its own: it has resolved the impact, or all but the clamps that it names."""
    return solution.status == "resolved" or all("clamp a body" in message for message in solution.messages)


@pytest.mark.parametrize("law", ["gr", "lcp", "qce", "smm"])
def test_clamps_of_mechanisms_are_found(law):
    """Contacts 0, 3 and 6 clamp this mechanism, and the others move. Its joints prescribe rounding, not speeds.

    As speeds of boundaries that close in, the rounding hid the clamp, and the law ran to its bound: 2.155 for 2.192.
    """
    given = mechanism(1050, 2)
    *_, allowed = matrices(given)
    problem = ImpactProblem.from_contacts(**{**given, "velocities": allowed.reshape(np.shape(given["velocities"]))})
    solution = solve_impact(problem, law)
    assert solution.messages == ("contacts [0, 3, 6] clamp a body: their motion was resolved inelastically",)
    assert np.abs(solution.separation_speed[[0, 3, 6]]).max() < 1e-12


@pytest.mark.parametrize(("loops", "dim"), [(0, 2), (1, 2), (0, 3), (1, 3)])
def test_laws_answer_as_in_minimal_coordinates(loops, dim):
    """The same problem on a basis of the null space of the joints, by an SVD of this test. Rounding grows with n."""
    unresolved: list[tuple[int, str]] = []
    for seed in range(4):
        assert compare(10 * seed + loops, loops, dim, unresolved) < 1e-10
    assert len(unresolved) <= len(FRICTIONLESS)


@pytest.mark.long
@pytest.mark.parametrize(("count", "loops", "dim"), [(350, 0, 2), (150, 0, 3), (140, 2, 2), (60, 2, 3)])
def test_laws_answer_as_in_minimal_coordinates_on_many(count, loops, dim):
    """500 trees and 200 mechanisms with closed loops, 2 to 30 bodies, every law."""
    unresolved: list[tuple[int, str]] = []
    assert max(compare(1000 + seed, loops, dim, unresolved) for seed in range(count)) < 1e-10
    assert len(unresolved) <= 0.08 * count * len(FRICTIONLESS)


@pytest.mark.parametrize("law", FRICTIONLESS)
def test_struck_at_its_center_of_percussion_a_pendulum_does_not_push_its_pivot(law):
    """A rod of length L hangs from a pin. Its center of percussion is 2 L / 3 below; elsewhere the pin is pushed."""
    length = 2.0

    def pivot(depth: float) -> np.ndarray:
        problem = ImpactProblem.from_contacts(
            positions=[[0, -length / 2], [-1, -depth]],
            masses=[1, 1],
            inertias=[length**2 / 12, 1],
            velocities=[[0, 0, 0], [1, 0, 0]],
            bodies=[[1, 0]],
            points=[[0, -depth]],
            normals=[[1, 0]],
            joints=[{"kind": "pin", "bodies": [-1, 0], "point": [0, 0]}],
        )
        solution = solve_impact(problem, law)
        assert solution.audit().passed
        return np.asarray(solution.joint_impulse)

    assert np.abs(pivot(2 * length / 3)).max() < 1e-12
    assert pivot(length / 2)[0] == pytest.approx(-2 / 7) and pivot(0.9 * length)[0] > 0.2


@pytest.mark.parametrize("law", FRICTIONLESS)
def test_two_rods_struck_at_their_joint(law):
    """At its end a free rod of mass m resists with m / 4; two rods, pinned end to end, with m / 2."""
    m, striker = 3.0, 1.2
    problem = ImpactProblem.from_contacts(
        positions=[[-0.5, 0], [0.5, 0], [0, 1]],
        masses=[m, m, striker],
        inertias=[m / 12, m / 12, 1],
        velocities=[[0, 0, 0], [0, 0, 0], [0, -1, 0]],
        bodies=[[0, 2]],
        points=[[0, 0]],
        normals=[[0, 1]],
        joints=[{"kind": "pin", "bodies": [0, 1], "point": [0, 0]}],
    )
    after = solve_impact(problem, law)
    assert after.velocity[2, 1] == pytest.approx(-(striker - m / 2) / (striker + m / 2), abs=1e-12)
    assert after.velocity[0, 2] == pytest.approx(-after.velocity[1, 2], abs=1e-12)  # the rods fold symmetrically
    assert after.audit().passed


@pytest.mark.parametrize("spokes", [6, 8, 12])
def test_a_rimless_wheel_keeps_the_cosine_of_its_step(spokes):
    """Inelastic feet that do not slip: the speed after a step is cos(2 alpha) of that before, for a mass at the hub.

    A wheel with the moment of inertia I about its hub keeps (cos 2 alpha + I) / (1 + I). Both feet touch at the instant
    of the step; the old one leaves by itself. The wheel is two bodies that a weld holds together.
    """
    alpha, inertia = np.pi / spokes, 1e-3
    old, new = np.array([0.0, 0.0]), np.array([2 * np.sin(alpha), 0.0])
    hub = np.array([np.sin(alpha), np.cos(alpha)])
    turn = -1.0
    velocity = [-turn * hub[1], turn * hub[0], turn]
    problem = ImpactProblem.from_contacts(
        positions=[hub, hub],
        masses=[0.5, 0.5],
        inertias=[inertia / 2, inertia / 2],
        velocities=[velocity, velocity],
        bodies=[[-1, 0], [-1, 0]],
        points=[old, new],
        normals=[[0, 1], [0, 1]],
        restitution=0.0,
        friction=20.0,
        joints=[{"kind": "weld", "bodies": [0, 1], "point": hub}],
    )
    for law in ("gr", "lcp", "qce"):
        solution = solve_impact(problem, law)
        expected = (np.cos(2 * alpha) + inertia) / (1 + inertia)
        assert solution.velocity[0, 2] / turn == pytest.approx(expected, abs=1e-12)
        assert solution.velocity[1] == pytest.approx(solution.velocity[0], abs=1e-12)


def test_a_rocking_block_loses_what_housner_says():
    """`1 - 3/2 sin^2 alpha` of the spin is left when a block rocks from one corner to the other (Housner 1963).

    Here the block is two halves with a slider between them that is locked by a weld: joints must change nothing.
    """
    width, height = 1.0, 3.0
    alpha = np.arctan(width / height)
    center, turn = np.array([0.0, height / 2]), -1.0
    arm = center - [-width / 2, 0.0]
    halves = np.array([[0.0, height / 4], [0.0, 3 * height / 4]])
    velocities = [[-turn * (c[1]), turn * (c[0] + width / 2), turn] for c in halves]
    assert np.allclose(np.mean(velocities, axis=0)[:2], [-turn * arm[1], turn * arm[0]])
    problem = ImpactProblem.from_contacts(
        positions=halves,
        masses=[0.5, 0.5],
        inertias=[0.5 * (width**2 + (height / 2) ** 2) / 12] * 2,
        velocities=velocities,
        bodies=[[-1, 0], [-1, 0]],
        points=[[-width / 2, 0], [width / 2, 0]],
        normals=[[0, 1], [0, 1]],
        restitution=0.0,
        friction=10.0,
        joints=[{"kind": "weld", "bodies": [0, 1], "point": center}],
    )
    left = solve_impact(problem, "gr").velocity[0, 2] / turn
    assert left == pytest.approx(1 - 1.5 * np.sin(alpha) ** 2, abs=1e-12)


def four_bar(**options: object) -> ImpactProblem:
    """A parallelogram of three rods on two pins, struck at its coupler: one motion, four pins, a closed loop."""
    pins = [([-1, 0], [0, 0]), ([0, 1], [0, 2]), ([1, 2], [2, 2]), ([-1, 2], [2, 0])]
    given = {
        "positions": [[0, 1], [1, 2], [2, 1]],
        "masses": [1, 1, 1],
        "inertias": [1 / 3] * 3,
        "velocities": [[0, 0, 0]] * 3,
        "bodies": [[-1, 1]],
        "points": [[0, 2]],
        "normals": [[1, 0]],
        "boundary_speed": -1.0,
        "joints": [{"kind": "pin", "bodies": b, "point": p} for b, p in pins],
    }
    return ImpactProblem.from_contacts(**{**given, **options})


def test_a_redundant_loop_moves_as_one_motion():
    """A wall that arrives at speed 1 drives the coupler at twice its speed; the side rods turn at 2 / 2 per length."""
    after = solve_impact(four_bar(), "gr")
    assert after.velocity[1] == pytest.approx([2, 0, 0], abs=1e-12)
    assert after.velocity[0] == pytest.approx([1, 0, -1], abs=1e-12)
    assert after.audit().passed and len(after.joint_impulse) == 8


def test_a_motor_prescribes_its_speed():
    """The same loop with a motor on its first pin: the joint holds its speed, whatever strikes the coupler."""
    turning = {"positions": [[0, 1], [1, 2], [2, 1]], "velocities": [[1, 0, -1], [2, 0, 0], [1, 0, -1]]}
    motor = [dict(j, speed=-1.0) if k == 0 else j for k, j in enumerate(_tables())]
    with pytest.raises(ProblemError, match="cannot move along its normal"):
        four_bar(**turning, joints=motor)  # no motion is left, so no impulse could change anything
    free = four_bar(**turning, boundary_speed=-3.0)
    assert solve_impact(free, "gr").velocity[1, 0] == pytest.approx(4.0)
    with pytest.raises(ProblemError, match=r"joints\[0\].*relative velocity of"):
        four_bar(joints=motor)  # the loop rests, the motor turns: they contradict each other


def _tables() -> list[dict[str, object]]:
    pins = [([-1, 0], [0, 0]), ([0, 1], [0, 2]), ([1, 2], [2, 2]), ([-1, 2], [2, 0])]
    return [{"kind": "pin", "bodies": b, "point": p} for b, p in pins]


def test_a_cart_with_a_driven_slider_is_seen_by_contacts():
    """What a joint prescribes counts in separation speeds: a piston that a motor drives strikes a ball at its speed."""
    problem = ImpactProblem.from_contacts(
        positions=[[0, 0], [1, 0]],
        masses=[5, 1],
        inertias=[1, 1],
        velocities=[[2, 0, 0], [0, 0, 0]],
        bodies=[[0, 1]],
        points=[[0.5, 0]],
        normals=[[1, 0]],
        joints=[{"kind": "slider", "bodies": [-1, 0], "point": [0, 0], "axis": [1, 0], "speed": 2.0}],
    )
    for law in FRICTIONLESS:
        after = solve_impact(problem, law).velocity
        assert after[:, 0] == pytest.approx([2.0, 4.0], abs=1e-12), law


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_files_keep_joints(suffix, tmp_path):
    problem = four_bar()
    again = ImpactProblem.load(problem.save(tmp_path / f"loop{suffix}"))
    assert again.joints is not None and again.joints.labels == problem.joints.labels
    np.testing.assert_array_equal(solve_impact(again, "qce").velocity, solve_impact(problem, "qce").velocity)


def test_rows_say_the_same_as_tables():
    given = mechanism(3)
    mass, rows, held, allowed = matrices(given)
    shape = np.shape(given["velocities"])
    tables = ImpactProblem.from_contacts(**{**given, "velocities": allowed.reshape(shape)})
    by_rows = ImpactProblem.from_matrices(mass, rows, allowed, joints=held)
    apart = solve_impact(tables, "gr").velocity.ravel() - solve_impact(by_rows, "gr").velocity
    assert np.abs(apart).max() < 1e-11 * np.abs(allowed).max()


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ({"kind": "glue"}, "kind"),
        ({"kind": "pin", "bodies": [0, 7], "point": [0, 0]}, "7"),
        ({"kind": "pin", "bodies": [0, 0], "point": [0, 0]}, "two different bodies"),
        ({"kind": "pin", "bodies": [0, 1]}, "point"),
        ({"kind": "pin", "bodies": [0, 1], "point": [0, 0], "angle": 1}, "angle"),
        ({"kind": "slider", "bodies": [0, 1], "point": [0, 0], "axis": [0, 0]}, "axis"),
        ({"kind": "rod", "bodies": [0, 1], "ends": [[1, 1], [1, 1]]}, "ends"),
        ({"kind": "ball", "bodies": [0, 1], "point": [0, 0]}, "ball"),
        ("pin", "table"),
    ],
)
def test_bad_joints_are_named(joint, message):
    with pytest.raises(ProblemError, match=message):
        four_bar(joints=[joint])


@pytest.mark.parametrize("law", laws.names())
def test_claims_hold_on_mechanisms(law):
    """Twenty mechanisms: what the audit measures on one problem, with their symmetries and other orders of contacts."""
    for entry in jointed_problems():
        report = audit_problem(entry.problem, [law])
        assert not report.broken_claims and not report.refusals, f"{entry.name}\n{report}"

"""Random impacts, and their derivatives by central differences of the compiled laws, which know nothing of the tape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from carom import ImpactProblem, solve_impact
from carom.catalogue.entry import disc_cluster, sphere_cluster
from carom.friction import Solved
from carom.resolve.restitution import targeted_impulses
from carom.resolve.verify import relative_gain

CHECKED = 1e-3  # least distance to a kink at which differences are compared
PARAMETERS = ("velocity", "mass", "rows", "boundary_speed", "restitution", "friction", "tangents")


def random_impact(rng, rough: bool, largest: int = 60) -> ImpactProblem:
    """2 to `largest` contacts: chains, discs, spheres, boxes with redundant contacts, general mass matrices."""
    while True:
        kind = str(rng.choice(["discs", "spheres"] if rough else ["chain", "discs", "spheres", "boxes", "matrices"]))
        problem = MAKERS[kind](rng, int(rng.integers(2, largest + 1)))
        if not 2 <= problem.contact_count <= largest:
            continue
        m = problem.contact_count
        e = [1.0, float(rng.uniform(0.2, 0.9)), rng.uniform(0.2, 0.9, m)][int(rng.integers(3))]
        problem = problem.with_(velocity=rng.normal(size=problem.velocity.shape), restitution=e)
        if rough:
            problem = problem.with_(friction=rng.uniform(0.05, 0.8, m))
        if (problem.separation_speed() < -1e-2).any():
            return problem


def _masses(rng, n: int):
    return 10.0 ** rng.uniform(-0.4, 0.4, n)


def _chain(rng, contacts: int) -> ImpactProblem:
    return ImpactProblem.chain(_masses(rng, contacts + 1), np.zeros(contacts + 1))


def _discs(rng, contacts: int) -> ImpactProblem:
    n = max(3, contacts // 2 + 1)
    places, radii = disc_cluster(rng, n)
    return ImpactProblem.from_discs(places, radii, _masses(rng, n), np.zeros((n, 2 + int(rng.integers(2)))))


def _spheres(rng, contacts: int) -> ImpactProblem:
    n = max(3, contacts // 2 + 1)
    return ImpactProblem.from_spheres(sphere_cluster(rng, n), 0.5, _masses(rng, n), np.zeros((n, 6)))


def _boxes(rng, contacts: int) -> ImpactProblem:
    """Boxes side by side on a floor, four contacts of rank three each."""
    n = max(1, contacts // 4)
    a, b, h = rng.uniform(0.5, 2.0, (3, n))
    corners = np.array([[x, y] for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
    places = np.stack([3.0 * np.arange(n), np.zeros(n), 0.5 * h], axis=1)
    points = np.concatenate([places[k] + np.c_[corners * [a[k], b[k]], np.full(4, -0.5 * h[k])] for k in range(n)])
    masses = _masses(rng, n)
    inertia = masses[:, None] / 12 * np.stack([b * b + h * h, a * a + h * h, a * a + b * b], axis=1)
    return ImpactProblem.from_contacts(
        places,
        masses,
        np.einsum("ni,ij->nij", inertia, np.eye(3)),
        np.zeros((n, 6)),
        [[-1, k] for k in range(n) for _ in range(4)],
        points,
        np.tile([0.0, 0.0, 1.0], (4 * n, 1)),
    )


def _matrices(rng, contacts: int) -> ImpactProblem:
    m = min(contacts, 12)
    n = m + int(rng.integers(0, 4))
    root, rows, outward = rng.normal(size=(n, n)), rng.normal(size=(m, n)), rng.normal(size=n)
    rows *= np.sign(rows @ outward)[:, None]
    rows += 0.3 * outward / np.linalg.norm(outward)
    return ImpactProblem.from_matrices(root @ root.T + 0.5 * np.eye(n), rows, np.zeros(n))


MAKERS = {"chain": _chain, "discs": _discs, "spheres": _spheres, "boxes": _boxes, "matrices": _matrices}


def changed(problem: ImpactProblem, name: str, change) -> ImpactProblem:
    """The problem with one of its parameters changed."""
    if name in ("rows", "tangents"):
        rows = getattr(problem, name)
        return replace(problem, **{name: replace(rows, val=rows.val + change.reshape(rows.val.shape))})
    if name == "mass":
        mass = problem.mass
        before = mass.values if hasattr(mass, "values") else mass.matrix.toarray()
        change = change.reshape(before.shape)
        if change.ndim == 3 or not hasattr(mass, "values"):
            change = 0.5 * (change + np.swapaxes(change, -1, -2))
        after = before + change
        if not hasattr(mass, "values"):
            from scipy.sparse import csr_matrix

            after = csr_matrix(after)
        return replace(problem, mass=type(mass)(after))
    old = getattr(problem, name)
    return replace(problem, **{name: old + change.reshape(old.shape)})


def answer(problem: ImpactProblem, law: str, options: dict):
    """The velocity after impact (N,).

    Where restitution would raise the energy under coupled friction, the library halves an interval for the share of
    the target speeds; here a root finder refines it, because differences divide its error by the step.
    """
    solution = solve_impact(problem, law, **options)
    if not any("raise the kinetic energy" in note for note in solution.messages) or solution.friction_model is None:
        return solution.velocity.ravel()
    contacts, model = problem.contacts, solution.response.friction_model
    if model is None or not model.coupled or contacts.island_labels().max() > 0:
        return solution.velocity.ravel()
    _, target = targeted_impulses(contacts, solution.response)
    # Coulomb's law can have several solutions: the one of the library is the start.
    start = Solved(solution.impulse, solution.friction_impulse, contacts.velocity, 0.0, 0, True)

    def gain(share: float) -> float:
        found = model.joint(contacts, share * target, start)
        return relative_gain(contacts, found.normal, found.tangent)

    after, before = solution.separation_speed, target
    closed = (solution.impulse > 0.0) & (before > 1e-6)
    share = float(after[closed] @ before[closed] / (before[closed] @ before[closed]))
    width = next((w for w in (1e-7, 1e-5, 1e-3) if gain(share - w) < 0.0 < gain(share + w)), None)
    if width is None:
        return solution.velocity.ravel()
    share = brentq(gain, share - width, share + width, xtol=1e-16, rtol=1e-15)
    found = model.joint(contacts, share * target, start)
    return problem.velocity_after(found.normal, found.tangent).ravel()


def differences(problem: ImpactProblem, law: str, name: str, direction, h: float, options: dict):
    """Central differences at three steps, extrapolated to the sixth order; and the first of them, of least rounding."""
    slopes = []
    for step in (h, h / 2, h / 4):
        ends = [answer(changed(problem, name, sign * step * direction), law, options) for sign in (1.0, -1.0)]
        slopes.append((ends[0] - ends[1]) / (2.0 * step))
    first, second = (4.0 * slopes[1] - slopes[0]) / 3.0, (4.0 * slopes[2] - slopes[1]) / 3.0
    return (16.0 * second - first) / 15.0, slopes[0]


def compared(solution, name: str, rng, options: dict, least: float = CHECKED) -> tuple[float, float] | None:
    """Errors of one derivative along a random direction: against differences, and of the adjoint; None near a kink.

    Both are relative to the derivative, or to 0.1 for derivatives that are smaller: speeds are of the order of 1. The
    step stays within the distance to the kink at first; it is reduced where the answer is curved, or where a parameter
    moves a decision faster than the velocity after impact, as under jacobi, whose iterations amplify changes, and
    enlarged where the kink is so near that differences are rounding error.
    """
    from carom.derivatives import linearize

    problem = solution.problem
    linear = linearize(solution, name)
    distance = linear.distance((name,))
    if distance < least:
        return None
    direction = rng.normal(size=linear.parameters.shape(name))
    found = solution.jvp({name: direction}).ravel()
    weights = rng.normal(size=found.shape)
    twice = float((solution.vjp(weights, name)[name] * direction).sum()), float(weights @ found)
    adjoint = abs(twice[0] - twice[1]) / max(float(np.abs(weights) @ np.abs(found)), 0.1)
    error, h = np.inf, min(1e-2, 0.3 * distance) / max(1.0, float(np.abs(found).max()))
    # An agreement of six digits is no accident, whatever the step.
    for power in (0, -1, 1, -2, 2, -3, -4, -5, -0.5, -1.5, -2.5):
        step = min(h * 8.0**power, 1e-2)
        for slope in differences(problem, solution.law, name, direction, step, options):
            error = min(error, float(np.abs(slope - found).max()) / max(float(np.abs(slope).max()), 0.1))
        if error <= 1e-7:
            break
    return error, adjoint

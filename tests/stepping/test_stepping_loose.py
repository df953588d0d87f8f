"""Loose tolerances: what they may leave, and what holds whatever the tolerance."""

from __future__ import annotations

import numpy as np
import pytest
from tests.stepping.runs import engine_of

from carom.scene import Bodies, Disc, Material, Plane, Scene, Sphere
from carom.solvers.thresholds import EXACT_CONTACTS

G = 9.81


def heap(dimension, gravity=G, friction=0.5):
    """Enough balls on a lattice that stages are solved to the tolerance of the run."""
    across, layers = (24, 14) if dimension == 2 else (7, 7)
    grid = np.stack(np.meshgrid(*[np.arange(across)] * (dimension - 1), np.arange(layers), indexing="ij"), axis=-1)
    places = 1.0 * grid.reshape(-1, dimension) + 0.5
    places[:, -1] *= 1.0005
    chance = np.random.default_rng(1)
    velocity = chance.normal(scale=0.3, size=places.shape)
    shape = Disc(0.499) if dimension == 2 else Sphere(0.499)
    up = np.eye(dimension)[-1]
    floor = [Plane(normal=up)] if gravity else []
    materials = {"default": Material(0.2, friction)}
    group = Bodies(shape, places, velocity=velocity, mass=1.0)
    return Scene("heap", [group], floor, materials=materials, gravity=-gravity * up, step=0.004)


def stepped(scene, steps, tolerance):
    engine, state = engine_of(scene)
    engine.tolerance = tolerance
    for _ in range(steps):
        before = state
        state, report = engine.step(state)
        yield engine, report, before, state


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("tolerance", [1e-1, 2e-2])
def test_a_step_reaches_its_tolerance(dimension, tolerance):
    """Tighter ones than these are missed where friction and impact disagree, which the residual then shows."""
    rows = [(r.resting, r.residual) for _, r, _, _ in stepped(heap(dimension), 30, tolerance)]
    assert max(resting for resting, _ in rows) > EXACT_CONTACTS
    assert max(residual for _, residual in rows) <= tolerance * (1.0 + 1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_energy_never_rises_at_a_loose_tolerance(dimension):
    energies = [r.row[9] + r.row[10] for _, r, _, _ in stepped(heap(dimension), 40, 0.1)]
    assert np.diff(energies).max() <= 1e-12 * abs(energies[0])


@pytest.mark.parametrize("dimension", [2, 3])
def test_momentum_is_conserved_at_a_loose_tolerance(dimension):
    """Impulses act on two bodies with opposite signs. Without gravity and floor the sum stays to rounding."""
    touched = 0
    for _, report, before, after in stepped(heap(dimension, gravity=0.0), 25, 0.1):
        change = (after.velocity - before.velocity)[:, :dimension].sum(axis=0)
        assert np.abs(change).max() <= 1e-12 * np.abs(before.velocity).sum()
        touched = max(touched, report.contacts)
    assert touched > EXACT_CONTACTS


def recomputed(engine, report, before, after, h):
    """The residual of a resting solve over balls, from impulses, positions and velocities alone.

    Tangential impulses are compared as vectors, so no tangents are needed; masses are 1 and the balls are uniform.
    """
    found, dim = report.stages[-1].contacts, engine.world.dimension
    impulses = report.impulses()
    radius, mass = engine.world.shapes.radius[0], 1.0
    inertia = engine.world.inertia.reshape(len(before.position), -1)[0, 0]
    friction = engine.world.friction[0, 0]
    lookup = {
        (a, b): (lam, beta)
        for a, b, lam, beta in zip(impulses.first, impulses.second, impulses.normal_impulse, impulses.tangent_impulse)
    }
    fall = np.zeros(dim)
    fall[-1] = -G * h
    worst = 0.0
    free = [p + h * v + 0.5 * h * fall for p, v in zip(before.position, before.velocity[:, :dim])]
    for k in range(found.count):
        a, b = int(found.first[k]), int(found.second[k])
        n = np.append(found.normal[k], [0.0] * (3 - dim))

        start = [before.position[a], before.position[b] if b >= 0 else None]
        now = (np.linalg.norm(start[1] - start[0]) - 2 * radius) if b >= 0 else start[0][-1] - radius
        arm = radius + 0.5 * now  # impulses act midway between the surfaces

        def at_point(state, body, sign, n=n, arm=arm):
            if body < 0:
                return np.zeros(3)
            v = np.append(state.velocity[body, :dim], [0.0] * (3 - dim))
            spin = state.velocity[body, dim:]
            if dim == 3:
                w, x, y, z = state.orientation[body]
                turn = np.array(
                    [
                        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
                    ]
                )
                spin = turn @ spin
            else:
                spin = np.array([0.0, 0.0, spin[0]])
            return v + np.cross(spin, sign * arm * n)

        def gap(pa, pb):
            return np.linalg.norm(pb - pa) - 2 * radius if pb is not None else pa[-1] - radius

        later = gap(free[a], free[b] if b >= 0 else None)
        mean = np.append(
            (before.velocity[b, :dim] if b >= 0 else -0.5 * fall) - before.velocity[a, :dim], [0.0] * (3 - dim)
        )
        mean = mean if b >= 0 else np.append(-(before.velocity[a, :dim] + 0.5 * fall), [0.0] * (3 - dim))
        slack = max(later / h - mean @ n, 0.0)
        u = at_point(after, b, -1.0) - at_point(after, a, 1.0)
        normal = u @ n
        slip = u - normal * n
        lam, beta = lookup.get((a, b), (0.0, np.zeros(3) if dim == 3 else 0.0))
        if dim == 2:
            beta = beta * np.array([-n[1], n[0], 0.0])
        bodies = 1 + (b >= 0)
        stiff = bodies / mass
        soft = bodies * (1.0 / mass + arm**2 / inertia)
        worst = max(worst, abs(min(normal + slack, stiff * lam)))
        step = beta - slip / soft
        size = np.linalg.norm(step)
        if size > friction * lam:
            step = step * (friction * lam / size) if size > 0.0 else step
        worst = max(worst, soft * np.linalg.norm(beta - step))
    return worst


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_residual_of_a_run_recomputed(dimension, monkeypatch):
    """From impulses and velocities alone, in steps without impacts, where the resting solve is all there is.

    Position correction, which takes its energy from velocities, is left out.
    """
    monkeypatch.setattr("carom.stepping.drift_safe.without_overlap", lambda before, end, *others: (end, 0.0))
    compared = 0
    for engine, report, before, after in stepped(heap(dimension), 60, 0.05):
        if report.rounds or report.resting <= EXACT_CONTACTS:
            continue
        mine = recomputed(engine, report, before, after, 0.004) / report.scale
        assert mine == pytest.approx(report.residual, rel=1e-3, abs=1e-9)
        compared += 1
        if compared == 4:
            break
    assert compared >= 3

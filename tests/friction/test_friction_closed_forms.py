"""One body on a floor or a wall: what every friction model must give, known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from carom import ImpactProblem, friction, laws, solve_impact

FLOOR_2D = [([0.0, 0.0], [0.0, 1.0])]
FLOOR_3D = [([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])]
# etm and sqm bring their own friction; every other law takes each model. lzb has no e = 0.
CASES = [
    (law, model)
    for law in laws.names()
    for model in [*friction.MODELS, friction.OWN]
    if law != "none" and (model != friction.OWN or laws.make(law).own_friction)
]
RESTITUTION = [0.0, 0.5, 1.0]
# A single contact leaves nothing to choose, so all laws agree; their solvers stop at 1e-10 of the approach.
CLOSE = 1e-8


def solved(problem, law, model, e):
    if law == "lzb" and e == 0.0:
        e = 0.05
    return e, solve_impact(problem.with_(restitution=e), law, friction_model=model)


def disc(velocity, mu, **options):
    return ImpactProblem.from_discs([[0.0, 0.8]], 0.8, 1.7, [velocity], planes=FLOOR_2D, friction=mu, **options)


def sphere(velocity, mu):
    return ImpactProblem.from_spheres([[0, 0, 0.8]], 0.8, 1.7, [velocity], planes=FLOOR_3D, friction=mu)


@pytest.mark.covering
@pytest.mark.parametrize("e", RESTITUTION)
@pytest.mark.parametrize(("law", "model"), CASES)
def test_disc_that_grips(law, model, e):
    """No slip after: v_t + r w is stopped, a third of it by turning. Without spin v_t+ = 2/3 v_t."""
    e, s = solved(disc([0.9, -2.0, 0.0], 5.0), law, model, e)
    np.testing.assert_allclose(s.velocity[0], [0.6, 2.0 * e, -0.6 / 0.8], atol=CLOSE)


@pytest.mark.covering
@pytest.mark.parametrize("e", RESTITUTION)
@pytest.mark.parametrize(("law", "model"), CASES)
def test_sphere_that_grips(law, model, e):
    """Two sevenths are stopped: v_t+ = 5/7 v_t, along both tangents.

    The slip is along one tangent of the problem, where pyramid and disk agree.
    """
    e, s = solved(sphere([0.7, 0.0, -2.0, 0.0, 0.0, 0.0], 5.0), law, model, e)
    np.testing.assert_allclose(s.velocity[0], [0.5, 0, 2.0 * e, 0, 0.5 / 0.8, 0], atol=CLOSE)


@pytest.mark.covering
@pytest.mark.parametrize("e", RESTITUTION)
@pytest.mark.parametrize(("law", "model"), CASES)
def test_disc_that_slides(law, model, e):
    """v_t+ = v_t - mu (1 + e) |v_n|, and the spin changes by mu (1 + e) |v_n| r m / I = 2 mu (1 + e) |v_n| / r."""
    mu, v, w = 0.1, 3.0, 0.4
    e, s = solved(disc([v, -2.0, w], mu), law, model, e)
    taken = mu * (1 + e) * 2.0
    np.testing.assert_allclose(s.velocity[0], [v - taken, 2.0 * e, w - 2 * taken / 0.8], atol=CLOSE)
    assert s.friction_impulse[0, 0] == pytest.approx(np.sign(s.friction_impulse[0, 0]) * mu * s.impulse[0])


@pytest.mark.covering
@pytest.mark.parametrize("e", RESTITUTION)
@pytest.mark.parametrize(("law", "model"), CASES)
def test_sphere_that_slides(law, model, e):
    """The same in space: the spin changes by 5/2 mu (1 + e) |v_n| / r about the horizontal axis across."""
    mu = 0.1
    e, s = solved(sphere([3.0, 0.0, -2.0, 0.0, 0.0, 0.5], mu), law, model, e)
    taken = mu * (1 + e) * 2.0
    expected = [3.0 - taken, 0, 2.0 * e, 0, 2.5 * taken / 0.8, 0.5]
    np.testing.assert_allclose(s.velocity[0], expected, atol=CLOSE)


@pytest.mark.parametrize("model", friction.MODELS)
def test_spin_alone_drives(model):
    """A disc dropped with backspin and no drift: it grips and leaves with v_t = -r w / 3."""
    s = solve_impact(disc([0.0, -1.0, 0.9], 5.0), "gr", friction_model=model)
    np.testing.assert_allclose(s.velocity[0], [-0.8 * 0.9 / 3, 1.0, 0.9 / 3], atol=CLOSE)


@pytest.mark.covering
@pytest.mark.parametrize("e", RESTITUTION)
@pytest.mark.parametrize(("law", "model"), CASES)
def test_block_that_cannot_turn(law, model, e):
    """A particle: all of the slip is stopped if mu (1 + e) |v_n| reaches it, and that much is taken if not."""
    problem = ImpactProblem.from_matrices([2.0, 2.0], [[0.0, 1.0]], [1.0, -1.0], friction=0.3, tangents=[[1.0, 0.0]])
    e, s = solved(problem, law, model, e)
    np.testing.assert_allclose(s.velocity, [1.0 - 0.3 * (1 + e), e], atol=CLOSE)
    e, s = solved(problem.with_(friction=5.0), law, model, e)
    np.testing.assert_allclose(s.velocity, [0.0, e], atol=CLOSE)


@pytest.mark.covering
@pytest.mark.parametrize(("law", "model"), CASES)
def test_the_printed_objective_lacks_a_half(law, model):
    """Minimising z^T B z + z^T D v instead of its half first term would only halve the slip of a rough contact.

    Every model minimizes kinetic energy: a rough contact stops, completely.
    """
    _, s = solved(disc([1.0, -1.0, 0.0], 50.0), law, model, 1.0)
    slip = s.velocity[0, 0] + 0.8 * s.velocity[0, 2]
    assert abs(slip) <= CLOSE
    assert abs(slip - 0.5) > 0.4


@pytest.mark.covering
@pytest.mark.parametrize("e", RESTITUTION)
@pytest.mark.parametrize(("law", "model"), CASES)
def test_a_conveyor_drags_what_lands_on_it(law, model, e):
    """The belt runs at speed 1.5: slip is v_t - 1.5. A rough one takes a block along, a smooth one pulls mu lam."""
    problem = ImpactProblem.from_matrices(
        [2.0, 2.0], [[0.0, 1.0]], [0.0, -1.0], friction=5.0, tangents=[[1.0, 0.0]], tangent_speed=[[-1.5]]
    )
    e, s = solved(problem, law, model, e)
    np.testing.assert_allclose(s.velocity, [1.5, e], atol=CLOSE)
    e, s = solved(problem.with_(friction=0.2), law, model, e)
    np.testing.assert_allclose(s.velocity, [0.2 * (1 + e), e], atol=CLOSE)
    assert s.contact_work <= 1e-12, "in the belt's frame friction only takes energy"


@pytest.mark.covering
@pytest.mark.parametrize("e", RESTITUTION)
@pytest.mark.parametrize("angle", [0.0, 0.4, 1.1])
def test_coupled_cone_of_one_contact_with_a_lever(e, angle):
    """A rod that lands on one end without slip: the normal impulse drives the end sideways.

    Newton's and Coulomb's law together in closed form: `K p = (-(1 + e) u_n, -u_t)` if |p_t| <= mu p_n, else p_t = -+
    mu p_n with u_n+ = -e u_n. That friction may do work, and then restitution is reduced; here it does not.
    """
    arm = np.array([np.cos(angle), np.sin(angle)])
    rows = np.array([0.0, 1.0, arm[0]])  # v_y + w x
    tangent = np.array([1.0, 0.0, -arm[1]])
    inverse = np.array([1.0, 1.0, 3.0])
    mu, v = 0.15, np.array([0.0, -1.0, 0.0])
    problem = ImpactProblem.from_matrices(1 / inverse, [rows], v, friction=mu, tangents=[tangent], restitution=e)
    basis = np.stack([rows, tangent])
    k, u = basis * inverse @ basis.T, basis @ v

    p = np.linalg.solve(k, [-(1 + e) * u[0], -u[1]])
    if abs(p[1]) > mu * p[0]:
        lean = mu * np.sign(p[1])
        normal = -(1 + e) * u[0] / (k[0, 0] + lean * k[0, 1])
        p = np.array([normal, lean * normal])

    for model in ("cone", "pyramid"):
        s = solve_impact(problem, "gr", friction_model=model)
        assert not s.messages
        np.testing.assert_allclose(s.velocity, v + inverse * (basis.T @ p), atol=1e-9)

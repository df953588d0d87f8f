"""Restitution models: what each means, which laws have it, and what it refuses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from carom import ImpactProblem, ProblemError, friction, laws, solve_impact
from carom.resolve.restitution import MODELS
from carom.solvers.qp.cone import solve_cone
from carom.testing import random_problem

INTERPOLATED = [name for name, law in laws.every() if "energetic" in law.restitution_models]
PER_CONTACT = [
    (name, model)
    for name, law in laws.every()
    for model in law.restitution_models
    if model in ("newton", "stronge") and name != "none"
]
SEEDS = st.integers(0, 2**32 - 1)
COLLAPSE = 7 - 4 * np.sqrt(3)  # 0.0718: tan^2(pi / 12), three balls on a line


def cluster(seed):
    return random_problem(np.random.default_rng(seed), ["discs", "spheres"][seed % 2])


def with_models(problem, law, c):
    """Solutions with restitution 0, c and 1 under the default model, and with c under qce_lcp."""
    dead, between, elastic = (solve_impact(problem.with_(restitution=k), law) for k in (0.0, c, 1.0))
    return dead, between, elastic, solve_impact(problem.with_(restitution=c), law, restitution_model="qce_lcp")


def complementarity(problem, elastic, lam, c):
    """Residual of `0 <= lam perp A lam + u - c u_elastic >= 0`, in units of the fastest approach."""
    a = problem.contacts.delassus()
    gap = a @ lam + problem.separation_speed() - c * elastic.separation_speed
    speed = -problem.separation_speed().min()
    return np.abs(np.minimum(a.diagonal() * lam, gap)).max() / speed


@pytest.mark.parametrize("law", INTERPOLATED)
@given(seed=SEEDS, c=st.floats(0.01, 0.99))
def test_energetic_is_between_inelastic_and_elastic(law, seed, c):
    """`lam = (1 - c) lam_inelastic + c lam_elastic`, so the velocities lie on the same line."""
    dead, between, elastic, _ = with_models(cluster(seed), law, c)
    np.testing.assert_allclose(
        between.impulse,
        (1 - c) * dead.impulse + c * elastic.impulse,
        rtol=1e-12,
        atol=1e-12 * (1.0 + np.abs(elastic.impulse).max()),
    )
    np.testing.assert_allclose(between.velocity, (1 - c) * dead.velocity + c * elastic.velocity, atol=1e-9)


@pytest.mark.parametrize("law", INTERPOLATED)
def test_without_restitution_all_laws_are_one(law):
    """c = 0 is the inelastic cone problem, whatever the law."""
    for seed in range(10):
        problem = cluster(seed).with_(restitution=0.0)
        for model in ("energetic", "qce_lcp"):
            s = solve_impact(problem, law, restitution_model=model)
            np.testing.assert_array_equal(s.velocity, solve_impact(problem, "lcp").velocity)
        u = problem.separation_speed()
        gap = problem.contacts.delassus() @ s.impulse + u
        assert np.abs(np.minimum(s.impulse * problem.contacts.rows.diag, gap)).max() <= 1e-10 * np.abs(u).max()


@pytest.mark.parametrize("law", INTERPOLATED)
@given(seed=SEEDS, c=st.floats(0.0, 1.0))
def test_qce_lcp_solves_its_complementarity_problem(law, seed, c):
    problem = cluster(seed)
    _, _, elastic, solved = with_models(problem, law, c)
    assume(elastic.status == "resolved")  # jacobi can diverge
    assume(not any("kinetic energy" in message for message in solved.messages))  # its elastic answer gains energy
    assert complementarity(problem, elastic, solved.impulse, c) <= 1e-10
    assert solved.impulse.min() >= 0.0
    # The separation it asks for is c times that of the elastic answer, which separates.
    assert (solved.separation_speed >= c * elastic.separation_speed - 1e-9 * np.abs(elastic.velocity).max()).all()


def test_the_interpolation_does_not_solve_qce_lcp():
    """The appendix of Zhang 2015 says that it does. On random clusters it breaks complementarity often, and by
    more than half of the approach speed."""
    c, broken, worst = 0.5, 0, 0.0
    for seed in range(150):
        problem = cluster(seed)
        _, between, elastic, _ = with_models(problem, "qce", c)
        residual = complementarity(problem, elastic, between.impulse, c)
        broken += residual > 1e-6
        worst = max(worst, residual)
    assert worst > 0.1
    assert broken > 30


def test_for_one_contact_both_models_are_newtons_law():
    """Where there is nothing to choose, the models agree: u+ = -c u."""
    problem = ImpactProblem.chain([1.0, 3.0], [1.0, -0.5], restitution=0.3)
    for law in INTERPOLATED:
        for model in laws.make(law).restitution_models:
            s = solve_impact(problem, law, restitution_model=model)
            np.testing.assert_allclose(s.separation_speed, 0.3 * 1.5, rtol=1e-9)


@pytest.mark.parametrize("law", [name for name in INTERPOLATED if "KIN" in laws.make(name).claims])
@given(seed=SEEDS, c=st.floats(0.0, 1.0))
def test_energy_is_bounded(law, seed, c):
    """Between that of the inelastic answer, the least there is, and that before impact; convex for `energetic`."""
    problem = cluster(seed)
    k = problem.kinetic_energy
    dead, between, elastic, complementary = with_models(problem, law, c)
    for s in (between, complementary):
        assert dead.kinetic_energy - 1e-10 * k <= s.kinetic_energy <= k * (1 + 1e-10)
    chord = (1 - c) * dead.kinetic_energy + c * elastic.kinetic_energy
    assert between.kinetic_energy <= chord + 1e-10 * k


def two_pairs(first, second):
    """Two separate collisions in one problem."""
    return ImpactProblem.from_blocks(
        mass=np.ones(4),
        bodies=[[0, 1], [2, 3]],
        rows=np.tile([[[-1.0], [1.0]]], (2, 1, 1)),
        velocity=[[1.0], [0.0], [2.0], [0.0]],
        restitution=[first, second],
    )


@pytest.mark.covering
@pytest.mark.parametrize("model", ["energetic", "qce_lcp"])
@pytest.mark.parametrize("law", INTERPOLATED)
def test_islands_may_differ(law, model):
    """Each island has its own coefficient: an equal pair leaves with (1 - e)/2 and (1 + e)/2 of the speed."""
    s = solve_impact(two_pairs(0.2, 0.8), law, restitution_model=model)
    np.testing.assert_allclose(s.velocity.ravel(), [0.4, 0.6, 0.2, 1.8], atol=1e-12)
    s = solve_impact(two_pairs(0.0, 1.0), law, restitution_model=model)
    np.testing.assert_allclose(s.velocity.ravel(), [0.5, 0.5, 0.0, 2.0], atol=1e-12)


@pytest.mark.covering
@pytest.mark.parametrize("model", ["energetic", "qce_lcp"])
@pytest.mark.parametrize("law", [name for name in INTERPOLATED if "KIN" in laws.make(name).claims])
def test_contacts_of_one_island_may_differ(law, model):
    """Steel and rubber: each contact separates at least as fast as its own target, and exactly so where it pushes."""
    stepped = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        problem = cluster(seed)
        c = rng.uniform(0.0, 1.0, problem.contact_count)
        s = solve_impact(problem.with_(restitution=c), law, restitution_model=model)
        dead, elastic = (solve_impact(problem.with_(restitution=k), law) for k in (0.0, 1.0))
        below = (1 - c) * dead.separation_speed if model == "energetic" else 0.0
        target = below + c * elastic.separation_speed
        fastest = -problem.separation_speed().min()
        assert s.contact_work <= 1e-12 * problem.kinetic_energy
        assert s.impulse.min() >= 0.0
        assert s.separation_speed.min() >= -1e-9 * fastest
        if any("kinetic energy" in message for message in s.messages):
            stepped += 1
            assert s.contact_work == pytest.approx(0.0, abs=1e-12 * problem.kinetic_energy)
            # On the segment between the inelastic answer and the one that was asked for.
            assert s.kinetic_energy >= dead.kinetic_energy
            continue
        gap = s.separation_speed - target
        assert np.abs(np.minimum(problem.contacts.rows.diag * s.impulse, gap)).max() <= 1e-9 * fastest
    assert stepped < 20


@pytest.mark.parametrize("model", ["energetic", "qce_lcp"])
@pytest.mark.parametrize("law", ["gr", "qce"])
def test_per_contact_restitution_is_continuous(law, model):
    """Coefficients that differ by rounding give the answer of equal ones, which takes another path."""
    for seed in range(20):
        problem = cluster(seed)
        c = np.full(problem.contact_count, 0.6)
        one = solve_impact(problem.with_(restitution=c), law, restitution_model=model).velocity
        c[::2] += 1e-14
        two = solve_impact(problem.with_(restitution=c), law, restitution_model=model).velocity
        np.testing.assert_allclose(one, two, atol=1e-10 * np.abs(one).max())


def test_a_ball_between_steel_and_rubber():
    """A ball in a corner of 90 degrees hits both walls at once; they act on different components of its velocity."""
    problem = ImpactProblem.from_matrices([1.0, 1.0], np.eye(2), [-1.0, -2.0], restitution=[0.9, 0.2])
    for law in INTERPOLATED:
        for model in ("energetic", "qce_lcp"):
            s = solve_impact(problem, law, restitution_model=model)
            np.testing.assert_allclose(s.velocity, [0.9, 0.4], atol=1e-12)
            np.testing.assert_allclose(s.effective_restitution, [0.9, 0.2], atol=1e-12)


def test_restitution_that_would_raise_the_energy_steps_back():
    """Without the limit the energy rises: the cone problem alone, from the same targets, gains it."""
    for seed in range(200):
        problem = cluster(seed)
        c = np.random.default_rng(seed).uniform(0.0, 1.0, problem.contact_count).round()
        s = solve_impact(problem.with_(restitution=c), "gr")
        if s.messages:
            break
    dead, elastic = (solve_impact(problem.with_(restitution=k), "gr") for k in (0.0, 1.0))
    target = (1 - c) * dead.separation_speed + c * elastic.separation_speed
    lam, _ = solve_cone(problem.contacts.rows, problem.separation_speed() - target)
    after = problem.contacts.after(lam)
    assert 0.5 * (after**2).sum() > problem.kinetic_energy * (1 + 1e-6)
    assert "restitution would raise the kinetic energy at contacts" in s.messages[0]
    assert s.kinetic_energy == pytest.approx(problem.kinetic_energy, rel=1e-12)


@pytest.mark.long
def test_energy_never_rises_on_random_problems():
    """100,000 random problems with random coefficients, a third with 0 and 1 only; rounding error is below 1e-12."""
    rng, worst, stepped = np.random.default_rng(15), 0.0, 0
    names = [name for name in INTERPOLATED if "KIN" in laws.make(name).claims]
    for k in range(100_000):
        problem = random_problem(rng, ["discs", "spheres", "chain", "box"][k % 4])
        c = rng.uniform(0.0, 1.0, problem.contact_count)
        c = c.round() if k % 3 == 0 else c
        model = ("energetic", "qce_lcp")[k % 2]
        s = solve_impact(problem.with_(restitution=c), names[k % len(names)], restitution_model=model)
        worst = max(worst, s.contact_work / problem.kinetic_energy)
        stepped += any("kinetic energy" in message for message in s.messages)
    assert worst <= 1e-12
    assert stepped > 1000


@pytest.mark.parametrize(("law", "model"), PER_CONTACT)
def test_contacts_may_differ_under_newton_and_stronge(law, model):
    """A coefficient for each contact of a chain, and the same ones the other way round: different answers."""
    problem = ImpactProblem.chain([1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0], restitution=[0.3, 0.6, 0.9])
    s = solve_impact(problem, law, restitution_model=model)
    assert s.status == "resolved"
    assert s.kinetic_energy < problem.kinetic_energy
    assert s.separation_speed.min() >= -1e-9
    assert s.velocity.sum() == pytest.approx(1.0)
    swapped = solve_impact(problem.with_(restitution=[0.9, 0.6, 0.3]), law, restitution_model=model)
    assert np.abs(s.velocity - swapped.velocity).max() > 1e-3


@pytest.mark.parametrize(("law", "model"), PER_CONTACT)
def test_each_contact_keeps_its_own_coefficient(law, model):
    """Apart from each other, contacts show their coefficients: u+ = -e u, under newton and stronge alike."""
    s = solve_impact(two_pairs(0.2, 0.8), law, restitution_model=model)
    np.testing.assert_allclose(s.separation_speed, [0.2, 1.6], rtol=1e-8)


@pytest.mark.covering
@pytest.mark.parametrize("law", ["gauss_seidel", "sqm"])
@pytest.mark.parametrize("velocities", [[1.0, 0.0, 0.0], [1.0, 0.0, -1.0]])
@pytest.mark.parametrize(("e", "collapses"), [(0.0, True), (0.05, True), (0.0715, True), (0.08, False), (0.3, False)])
def test_inelastic_collapse_of_three_balls(law, velocities, e, collapses):
    """Below 7 - 4 sqrt(3) = 0.0718 the collisions never end; above it they do, and soon."""
    assert collapses == (e < COLLAPSE)
    problem = ImpactProblem.chain([1, 1, 1], velocities, restitution=e)
    s = solve_impact(problem, law, restitution_model="newton")
    assert any("inelastic collapse" in message for message in s.messages) == collapses
    assert s.status == "resolved"
    if collapses:
        # The three end up together, at the velocity of their center of mass.
        np.testing.assert_allclose(s.velocity, np.mean(velocities), atol=1e-8)
    else:
        assert s.separation_speed.min() > 0.0


@pytest.mark.covering
@pytest.mark.parametrize("law", [name for name, model in PER_CONTACT if model == "newton"])
@pytest.mark.parametrize("balls", [2, 5, 20])
def test_newton_without_restitution_ends(law, balls):
    """e = 0 in a chain: the impact relaxes to a common velocity instead of ending in finitely many collisions."""
    problem = ImpactProblem.chain(np.ones(balls), [1.0] + [0.0] * (balls - 1), restitution=0.0)
    s = solve_impact(problem, law, restitution_model="newton")
    assert s.separation_speed.min() >= -1e-9
    np.testing.assert_allclose(s.velocity, 1.0 / balls, atol=1e-6)


@pytest.mark.parametrize("law", [name for name in INTERPOLATED if "KIN" in laws.make(name).claims])
def test_energetic_does_not_collapse(law):
    """Far below the threshold the interpolated answer separates, at c times the speed of the elastic one."""
    problem = ImpactProblem.chain([1, 1, 1], [1, 0, -1], restitution=0.02)
    s = solve_impact(problem, law)
    assert not s.messages
    np.testing.assert_allclose(s.velocity[[0, 2]], [-0.02, 0.02], atol=1e-9)


@pytest.mark.covering
@pytest.mark.parametrize("law", laws.names())
@pytest.mark.parametrize("model", MODELS)
def test_a_model_that_a_law_does_not_have_is_refused(law, model):
    problem = ImpactProblem.chain([1, 1, 1], [1, 0, 0], restitution=0.5)
    offered = laws.make(law).restitution_models
    if model in offered:
        assert solve_impact(problem, law, restitution_model=model).law == law
    else:
        with pytest.raises(
            ProblemError, match=f"restitution_model: got {model}; expected .*with law '{law}'"
        ) as caught:
            solve_impact(problem, law, restitution_model=model)
        assert all(name in str(caught.value) for name in offered)


def test_a_model_that_nobody_has():
    with pytest.raises(ProblemError, match=r"unknown restitution model 'energetik': did you mean 'energetic'\?"):
        solve_impact(ImpactProblem.chain([1, 1], [1, 0]), restitution_model="energetik")


def test_the_default_is_the_first_model_of_the_law():
    problem = ImpactProblem.chain([1, 2, 1], [1, 0, 0], restitution=0.4)
    for name, law in laws.every():
        default = solve_impact(problem, name)
        named = solve_impact(problem, name, restitution_model=law.restitution_models[0])
        np.testing.assert_array_equal(default.velocity, named.velocity)


ANSWERS = [
    (name, model, rough)
    for name, law in laws.every()
    for model in law.restitution_models
    for rough in [*friction.MODELS, *([friction.OWN] if law.own_friction else [])]
]
# Velocities of three discs in a row: they part, nothing moves, or they slide along each other without approaching.
NO_APPROACH = {
    "parting": [[-1, 0.5, 0.3], [0, 0, 0], [1, -0.2, 0]],
    "still": np.zeros((3, 3)),
    "sliding": [[0, 0.5, 1], [0, 0, 0], [0, -1, 2]],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("law", laws.names())
def test_without_approach_there_is_no_impulse(law):
    """Exactly none, with equal and with different coefficients; a velocity that approaches gets one (`none` apart)."""
    for (name, velocity), e in product(NO_APPROACH.items(), ([0.2, 0.8], 0.5, 1.0)):
        problem = ImpactProblem.from_discs(
            [[0, 0], [1, 0], [2, 0]], 0.5, 1.0, velocity, restitution=e, friction=[0.3, 0.5]
        )
        closing = problem.with_(velocity=[[1, 0.5, 0], [0, 0, 0], [0, 0, 0]])
        for _, model, rough in (answer for answer in ANSWERS if answer[0] == law):
            case, models = (name, e, model, rough), {"restitution_model": model, "friction_model": rough}
            s = solve_impact(problem, law, **models)
            assert (s.status, s.residual, s.messages) == ("resolved", 0.0, ()), case
            assert not s.impulse.any() and np.array_equal(s.velocity, problem.velocity), case
            assert s.audit().passed, case
            if name == "still":  # the same problem for all names
                assert solve_impact(closing, law, **models).impulse.any() == (law != "none"), case


@pytest.mark.parametrize("law", INTERPOLATED)
def test_an_island_without_approach_gets_no_impulse_from_another(law):
    """Different coefficients in both islands. Targets computed as differences left impulses of 1e-17 in the first."""
    problem = ImpactProblem.from_discs(
        [[0, 0], [1, 0], [2, 0], [0, 5], [1, 5], [2, 5]], 0.5, [1.1, 0.7, 1.3, 1, 1, 1],
        [[-0.1, 0.3], [0.1, 0.7], [0.3, 0], [1, 0], [0, 0], [0, 0]], restitution=[0.2, 0.7, 0.3, 0.6],
    )  # fmt: skip
    s = solve_impact(problem, law)
    assert not s.impulse[:2].any() and s.impulse[2:].all() == (law != "none")


def test_a_problem_without_contacts_is_refused():
    with pytest.raises(ProblemError, match="at least one contact"):
        ImpactProblem.chain([1.0], [1.0])

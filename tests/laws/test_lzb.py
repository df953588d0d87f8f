"""Compliant impact in impulse time: energy, the Hertz chain, closed forms, events, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from carom import ImpactProblem, ProblemError, catalogue, solve_impact
from carom.laws.lzb import LZB
from carom.problem.contacts import FINISHED_INELASTICALLY, RESOLVED
from carom.reproduce.hertz import hertz_chain

ENERGY = 1e-10  # relative; what the library promises of every law that claims KIN


def box(velocity, restitution=1.0):
    """A flat box on four corners: four contacts, rank three."""
    corners = [(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
    rows = np.array([[0, 0, 1, y, -x, 0] for x, y in corners])
    return ImpactProblem.from_matrices(np.diag([1, 1, 1, 0.3, 0.4, 0.5]), rows, velocity, restitution=restitution)


def chain(velocities, masses=None, **options):
    return ImpactProblem.chain(np.ones(len(velocities)) if masses is None else masses, velocities, **options)


def energy_error(solution):
    before = solution.problem.kinetic_energy
    return abs(solution.kinetic_energy - before) / before


CHAINS = [chain([va, 0, -1]).velocity for va in (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)]
CHAINS += [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]


@pytest.mark.parametrize("velocities", CHAINS, ids=lambda v: str(list(v)))
def test_chains_agree_with_the_hertz_ode(velocities):
    """Bodies stay in place here and gaps open there, which may cost 1e-2 in a chain that closes again."""
    ours = solve_impact(chain(velocities), "lzb").velocity
    assert np.abs(ours - hertz_chain(np.ones(len(velocities)), velocities)).max() < 1e-2


def test_the_exponent_matters_as_much_as_in_the_ode():
    """Linear springs spread a cradle's blow more than Hertz ones, and by what the ODE says."""
    velocities = [1, 0, 0, 0, 0]
    linear = solve_impact(chain(velocities), LZB(eta=1.0)).velocity
    hertz = solve_impact(chain(velocities), "lzb").velocity
    assert np.abs(linear - hertz).max() > 0.03
    assert np.abs(linear - hertz_chain(np.ones(5), velocities, eta=1.0)).max() < 1e-2


def test_unequal_stiffness_agrees_with_the_ode():
    velocities, stiffness = [1.0, 0, 0, -0.5], (1.0, 20.0, 3.0)
    ours = solve_impact(chain(velocities, [1, 2, 1, 3]), LZB(stiffness=stiffness)).velocity
    assert np.abs(ours - hertz_chain([1, 2, 1, 3], velocities, stiffness=stiffness)).max() < 1e-2
    equal = solve_impact(chain(velocities, [1, 2, 1, 3]), "lzb").velocity
    assert np.abs(ours - equal).max() > 0.05


def test_only_ratios_of_stiffness_and_of_speed_matter():
    p = chain([1.0, 0, -0.3, 0, -2.0], [1, 2, 1, 3, 1])
    base = solve_impact(p, LZB(stiffness=(1, 2, 3, 4))).velocity
    stiffer = solve_impact(p, LZB(stiffness=(1e6, 2e6, 3e6, 4e6))).velocity
    faster = solve_impact(p.with_(velocity=1e5 * p.velocity), LZB(stiffness=(1, 2, 3, 4))).velocity
    assert np.allclose(stiffer, base, rtol=0, atol=1e-11)
    assert np.allclose(1e-5 * faster, base, rtol=0, atol=1e-11)


@pytest.mark.covering
@pytest.mark.parametrize(
    "problem",
    [
        chain([1] + [0] * 8),
        chain([1, 1] + [0] * 18),
        chain([1, 0, 0, 0, -1], [1, 1e4, 1, 1e4, 1]),
        chain([1] + [0] * 6, [1e4, 1, 1, 1e4, 1, 1, 1]),
        box([0.1, 0.2, -1, 0, 0, 0]),
        box([0.1, 0.2, -1, 0.3, -0.2, 0.1]),
    ],
    ids=["nine", "twenty", "light ends", "heavy among light", "flat box", "turning box"],
)
@pytest.mark.parametrize("eta", [1.0, 1.5, 3.0])
def test_energy_is_kept(problem, eta):
    s = solve_impact(problem, LZB(eta=eta))
    assert s.status == RESOLVED
    assert energy_error(s) < ENERGY
    assert s.residual < ENERGY
    assert s.impulse.min() >= 0.0
    assert s.separation_speed.min() > -1e-9


@given(seed=st.integers(0, 10**6), m=st.integers(1, 10), n=st.integers(1, 8))
def test_energy_is_kept_on_random_problems(seed, m, n):
    rng = np.random.default_rng(seed)
    rows, root = rng.normal(size=(m, n)), rng.normal(size=(n, n))
    # Contacts that no motion separates are clamped: those lose energy by necessity, and are tested below.
    apart = linprog(np.zeros(n), A_ub=-rows, b_ub=-np.ones(m), bounds=(None, None))
    assume(apart.status == 0)
    s = solve_impact(ImpactProblem.from_matrices(root @ root.T + 0.1 * np.eye(n), rows, rng.normal(size=n)), "lzb")
    assert s.status == RESOLVED
    assert energy_error(s) < ENERGY
    assert s.residual < ENERGY
    assert s.impulse.min() >= 0.0


def test_a_looser_tolerance_shows_in_the_certificate():
    """The estimate must follow the tolerance, or it says nothing."""
    p = chain([1, 1, 0, 0, 0])
    loose, tight = (solve_impact(p, LZB(tolerance=t)) for t in (1e-6, 1e-13))
    error = float(np.abs(loose.velocity - tight.velocity).max())
    assert tight.residual < 1e-11 < 1e-7 < loose.residual
    assert error < loose.residual


@pytest.mark.parametrize("e", [0.05, 0.3, 0.8, 1.0])
def test_one_contact_gives_back_e_squared(e):
    """Alone, Stronge's coefficient is Newton's: u+ = -e u."""
    s = solve_impact(chain([1.0, -0.5], [1, 3], restitution=e), "lzb")
    assert s.separation_speed[0] == pytest.approx(1.5 * e, abs=1e-10)


def test_contacts_keep_their_own_coefficients():
    """Two pairs that do not touch each other, in one problem."""
    rows = [[-1, 1, 0, 0], [0, 0, -1, 1]]
    p = ImpactProblem.from_matrices(np.ones(4), rows, [1, 0, 2, 0], restitution=[0.2, 0.9])
    assert np.allclose(solve_impact(p, "lzb").separation_speed, [0.2, 1.8], atol=1e-10)


@given(seed=st.integers(0, 10**6), e=st.floats(0.05, 1.0))
def test_energy_never_rises_below_restitution_one(seed, e):
    rng = np.random.default_rng(seed)
    p = chain(rng.normal(size=5), rng.uniform(0.2, 5.0, 5), restitution=e)
    s = solve_impact(p, "lzb")
    assert s.kinetic_energy <= p.kinetic_energy * (1 + ENERGY)
    assert s.separation_speed.min() > -1e-9 * np.abs(p.separation_speed()).max()


def test_lower_restitution_loses_more():
    losses = []
    for e in (0.9, 0.6, 0.3):
        p = chain([1, 0, 0, 0], restitution=e)
        losses.append(p.kinetic_energy - solve_impact(p, "lzb").kinetic_energy)
    assert losses == sorted(losses) and losses[0] > 0.01


def test_the_answer_does_not_depend_on_the_order_of_contacts():
    rng = np.random.default_rng(3)
    p = chain(rng.normal(size=8), rng.uniform(0.5, 2.0, 8))
    reference = solve_impact(p, "lzb").velocity
    for _ in range(4):
        other = solve_impact(p.permuted(rng.permutation(7)), "lzb").velocity
        assert np.abs(other - reference).max() < 1e-10


def test_a_flat_box_bounces_straight_up():
    v = solve_impact(box([0.1, 0.2, -1, 0, 0, 0]), "lzb").velocity
    assert np.allclose(v, [0.1, 0.2, 1, 0, 0, 0], atol=1e-11)


def test_islands_do_not_feel_each_other():
    """A blow a million times weaker beside another is resolved as well as when alone."""
    alone = solve_impact(chain([1e-6, 0, 0]), "lzb").velocity
    rows = np.zeros((4, 6))
    for k, left in enumerate((0, 1, 3, 4)):
        rows[k, left], rows[k, left + 1] = -1, 1
    both = solve_impact(ImpactProblem.from_matrices(np.ones(6), rows, [1, 0, 0, 1e-6, 0, 0]), "lzb").velocity
    assert np.abs(both[3:] - alone).max() < 1e-15


def test_nothing_happens_without_approach():
    s = solve_impact(chain([-1, 0, 0, 2]), "lzb")
    assert s.iterations == 0 and not s.impulse.any()


def test_a_clamped_ball_ends():
    """Between two walls it would swing from one spring to the other for ever."""
    p = ImpactProblem.from_matrices([1.0], [[1.0], [-1.0]], [1.0])
    result = LZB(max_steps=2000).impulses(p.contacts)
    assert result.status == FINISHED_INELASTICALLY and "bound" in result.messages[0]
    s = solve_impact(p, LZB(max_steps=2000))
    assert abs(s.velocity[0]) < 1e-9
    fading = solve_impact(p.with_(restitution=0.5), "lzb")
    assert abs(fading.velocity[0]) < 1e-9 and "collapse" in fading.messages[0]


def test_low_restitution_is_refused_before_work():
    with pytest.raises(ProblemError, match=r"restitution.*0\.05.*gr") as refusal:
        solve_impact(chain([1, 0, 0], restitution=0.04), "lzb")
    assert refusal.value.field == "restitution"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("eta", 0.9),
        ("eta", 3.1),
        ("eta", float("nan")),
        ("eta", "soft"),
        ("stiffness", 0.0),
        ("stiffness", (1.0, -1.0)),
        ("stiffness", ()),
        ("stiffness", float("inf")),
        ("tolerance", 0.0),
        ("tolerance", 1.0),
        ("max_steps", -1),
        ("max_steps", 1.5),
    ],
)
def test_bad_options_are_refused(field, value):
    with pytest.raises(ProblemError) as refusal:
        LZB(**{field: value})
    assert refusal.value.field == field


def test_a_list_of_stiffnesses_must_fit():
    with pytest.raises(ProblemError, match=r"stiffness.*2 numbers"):
        solve_impact(chain([1, 0, 0, 0]), LZB(stiffness=[1.0, 2.0]))


def test_the_law_is_hashable():
    assert hash(LZB(stiffness=[1.0, 2.0])) == hash(LZB(stiffness=(1.0, 2.0)))


@pytest.mark.parametrize("entry", [e for e in catalogue.entries() if "hertz" in e.answers], ids=lambda e: e.name)
def test_lzb_follows_hertz_springs(entry):
    """The limit of stiff Hertz contacts, within 1e-2 of the incoming speed."""
    velocity = solve_impact(entry.problem, "lzb").velocity
    np.testing.assert_allclose(velocity, entry.answers["hertz"], rtol=0, atol=1e-2)

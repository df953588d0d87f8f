"""What laws claim, tested on the catalogue and on random problems. The list of laws is the registry's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import carom
from carom import catalogue, laws
from carom.analysis import desiderata
from carom.testing import KINDS, check_law, random_problem

NAMES = laws.names()
FULL = [name for name in ("lcp", "gauss_seidel", "gr", "qce") if name in NAMES]  # a thousand random problems
# Energy tracking takes small increments, and with masses 10^4 apart it needs hundreds of thousands of them.
HARD = {"etm": {"galperin_billiard", "pinched_light_ball"}}
BUILT_ON_THE_CONE = [name for name in ("lcp", "gr") if name in NAMES]
CLAIMS = [(name, claim) for name, law in laws.every() for claim in desiderata.ORDER if claim in law.claims]


@pytest.fixture(scope="module")
def examinations():
    """One examination a law, so that each solves the catalogue once for all of its claims."""
    return {
        name: desiderata.Examination(law, tuple(e for e in catalogue.entries() if e.name not in HARD.get(name, ())))
        for name, law in laws.every()
    }


@pytest.mark.parametrize(("name", "claim"), CLAIMS, ids=[f"{n}-{c}" for n, c in CLAIMS])
def test_claim_on_the_catalogue(examinations, name, claim):
    finding = examinations[name].finding(claim)
    assert finding.passed, f"{finding.worst:.3g} against {finding.bound:g} on {finding.where}"


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in HARD if name in NAMES])
def test_claims_on_the_hard_part_of_the_catalogue(name):
    check_law(name, problems=[catalogue.entry(hard) for hard in HARD[name]], examples=0)


@pytest.mark.parametrize("share", [0.2, pytest.param(1.0, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", NAMES)
def test_claims_on_random_problems(name, share):
    check_law(name, problems=(), examples=round(share * (250 if name in FULL else 25)))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_claims_on_a_thousand_random_problems(name):
    check_law(name, problems=(), examples=1000)


@pytest.mark.parametrize("name", BUILT_ON_THE_CONE)
def test_certificates(name):
    """Every cone problem is solved to 1e-10 of its right-hand side, redundant contacts or not."""
    problems = [e.problem for e in catalogue.entries() if not e.degenerate]
    problems += [random_problem(np.random.default_rng([11, k])) for k in range(300)]
    worst = max(carom.solve_impact(p, name).residual for p in problems)
    assert worst <= 1e-10


@pytest.mark.covering
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("entry", [e for e in catalogue.entries() if e.degenerate], ids=lambda e: e.name)
def test_clamped_bodies_end(entry, name):
    """A clamped body would be reflected for ever; every law ends, and no answer gains energy."""
    solution = carom.solve_impact(entry.problem, name)
    assert solution.status in ("resolved", "finished_inelastically")
    assert solution.kinetic_energy <= entry.problem.kinetic_energy * (1 + 1e-10)
    if "FEA" in laws.make(name).claims:
        # One component is blocked from both sides, so that it has to come to rest.
        assert abs(solution.velocity[0, -1]) <= 1e-9


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(sorted(KINDS)), factor=st.floats(1e-3, 1e3))
@pytest.mark.parametrize("name", FULL)
def test_answers_scale_with_speed(name, seed, kind, factor):
    """No speed is special: v -> k v (boundaries too) gives v+ -> k v+. Tolerances are relative, or it fails."""
    problem = random_problem(np.random.default_rng(seed), kind)
    scaled = problem.with_(velocity=factor * problem.velocity, boundary_speed=factor * problem.boundary_speed)
    one = carom.solve_impact(problem, name).velocity
    two = carom.solve_impact(scaled, name).velocity / factor
    assert np.abs(one - two).max() <= 1e-8 * np.abs(one).max()


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(["chain", "discs", "spheres"]))
@pytest.mark.parametrize("name", FULL)
def test_answers_do_not_depend_on_the_frame(name, seed, kind):
    """Among free bodies a common velocity changes nothing: v+(v + w) = v+(v) + w."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, kind)
    drift = np.zeros(problem.block)
    dim = {"chain": 1, "discs": 2, "spheres": 3}[kind]
    drift[:, :dim] = rng.normal(size=dim)
    drift = drift.reshape(problem.velocity.shape)
    one = carom.solve_impact(problem, name).velocity + drift
    two = carom.solve_impact(problem.with_(velocity=problem.velocity + drift), name).velocity
    assert np.abs(one - two).max() <= 1e-8 * np.abs(one).max()

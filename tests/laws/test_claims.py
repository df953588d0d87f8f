"""Every non-claim shown failing: what a law does not claim, it was seen to break."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import carom
from carom import catalogue, laws
from carom.analysis import desiderata

# Where each failure is at its plainest. A new law's non-claims are looked for over the whole catalogue.
PLAIN = {
    ("none", "BRK"): "cradle_5_1",
    ("none", "FEA"): "cradle_5_1",
    ("lcp", "BRK"): "cradle_5_1",
    ("gauss_seidel", "SYM"): "bernoulli",
    ("jacobi", "KIN"): "bernoulli",
    ("etm", "SYM"): "bernoulli",
}
NON_CLAIMS = [(name, d) for name, law in laws.every() for d in desiderata.ORDER if d not in law.claims]


@pytest.mark.parametrize(("name", "desideratum"), NON_CLAIMS, ids=[f"{n}-{d}" for n, d in NON_CLAIMS])
def test_what_is_not_claimed_fails(name, desideratum):
    place = PLAIN.get((name, desideratum))
    entries = (catalogue.entry(place),) if place else catalogue.entries()
    finding = desiderata.Examination(laws.make(name), entries).finding(desideratum)
    assert not finding.passed, f"{name} passes {desideratum} ({finding.worst:.3g}): claim it"


def test_the_table_in_the_docs_is_that_of_the_claims():
    """Ticks of docs/audit.md are the claims, which the other tests hold against measurements."""
    text = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| ([✓✗].*) \|$", text, flags=re.MULTILINE)
    table = {
        name: {d for d, cell in zip(desiderata.ORDER, cells.split(" | "), strict=True) if cell.startswith("✓")}
        for name, cells in rows
    }
    assert table == {name: set(law.claims) for name, law in laws.every()}


def test_jacobi_stops_dead_in_an_acute_corner():
    """Two walls at 60 degrees: their single reflections add up to rest. All energy is gone."""
    solution = carom.solve_impact(catalogue.entry("acute_corner").problem, "jacobi")
    assert solution.kinetic_energy <= 1e-20


def test_lcp_leaves_the_cradle_stuck():
    """Resting contacts stay at rest: the struck balls move on as one body."""
    solution = carom.solve_impact(catalogue.entry("cradle_5_1").problem, "lcp")
    assert np.abs(solution.separation_speed[1:]).max() <= 1e-12
    assert (solution.impulse[1:] > 0).all()


def test_gauss_seidel_breaks_bernoullis_symmetry():
    """The first of the two struck discs takes more; the other order gives the mirror image of that."""
    problem = catalogue.entry("bernoulli").problem
    v = carom.solve_impact(problem, "gauss_seidel").velocity
    w = carom.solve_impact(problem.permuted([1, 0, 2]), "gauss_seidel").velocity
    assert np.abs(v[1] * [1, -1] - v[2]).max() > 0.1
    np.testing.assert_allclose(problem.symmetries[0].image(w), v, atol=1e-12)


def test_jacobi_makes_energy():
    problem = catalogue.entry("bernoulli").problem
    assert carom.solve_impact(problem, "jacobi").kinetic_energy > 1.05 * problem.kinetic_energy


def test_gr_jumps_where_the_middle_ball_is_just_touched():
    """Continuous in va for va > 0, with another limit than its value at 0: Zhang 2015, fig. 4."""
    chains = [carom.ImpactProblem.chain([1, 1, 1], [va, 0, -1]) for va in (0.0, 1e-6)]
    at, near = (carom.solve_impact(chain, "gr").velocity for chain in chains)
    np.testing.assert_allclose(at, [-1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(near, [-2 / 3, -2 / 3, 1 / 3], atol=1e-5)

"""Newton's cradle under every law."""

from __future__ import annotations

import pytest

from carom import ImpactProblem, laws, solve_impact
from carom.analysis.cradles import Outcome, arriving_speeds, cradles, exchange


@pytest.fixture(scope="module")
def rows():
    return cradles()


def test_every_law_has_its_row(rows):
    assert [row.name for row in rows] == laws.names()


def test_what_counts_as_observed(rows):
    observed = {row.name: [o.as_observed for o in row.outcomes] for row in rows}
    for name in ("gr", "qce", "gauss_seidel"):
        assert observed[name] == [True, True]
    for name in ("none", "lcp"):
        assert observed[name] == [False, False]


def test_deviation_and_energy_are_measured():
    problem = ImpactProblem.chain([1] * 5, arriving_speeds(2))
    outcome = Outcome(2, solve_impact(problem, "none"))
    assert exchange(2) == [0, 0, 0, 1, 1]
    assert outcome.deviation == 1.0
    assert outcome.energy_kept == 1.0

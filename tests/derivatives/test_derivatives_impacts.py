"""Derivatives of one impact against central differences, for every law, restitution model and friction model."""

from __future__ import annotations

import numpy as np
import pytest
from tests.derivatives.differences import PARAMETERS, compared, random_impact

from carom import ImpactProblem, ProblemError, solve_impact

# Differences of the sixth order leave truncation and rounding of about 1e-9 where kinks are 1e-3 away. Adjoints are the
# same numbers in another order.
DIFFERENCE, ADJOINT = 1e-6, 1e-12

# (law, options, friction): every law as it is by default, and every model beside it. "inelastic" is gr without
# restitution, which is the answer of lcp and qce then, too.
CASES = [
    ("lcp", {}, False),
    ("gr", {}, False),
    ("smm", {}, False),
    ("sqm", {}, False),
    ("gauss_seidel", {}, False),
    ("jacobi", {}, False),
    ("qce", {}, False),
    ("lzb", {}, False),
    ("etm", {}, False),
    ("inelastic", {}, False),
    ("gr", {"restitution_model": "newton"}, False),
    ("gr", {"restitution_model": "qce_lcp"}, False),
    ("lcp", {"friction_model": "cone"}, True),
    ("gr", {"friction_model": "cone"}, True),
    ("smm", {"friction_model": "cone"}, True),
    ("smm", {}, True),
    ("sqm", {}, True),
    ("gauss_seidel", {"friction_model": "cone"}, True),
    ("jacobi", {"friction_model": "cone"}, True),
    ("qce", {"friction_model": "pyramid"}, True),
    ("qce", {"friction_model": "pyramid", "restitution_model": "qce_lcp"}, True),
    ("lzb", {"friction_model": "cone"}, True),
    ("etm", {}, True),
    ("etm", {"friction_model": "coulomb_fixed_direction"}, True),
    ("gr", {"friction_model": "coulomb_fixed_direction"}, True),
]
# etm makes thousands of decisions, so that kinks are near; differences with smaller steps have larger rounding errors.
# With friction its replay runs in Python, on few contacts. (law, friction): most contacts, least distance to a kink.
SELECTED = {("etm", False): (60, 1e-7), ("etm", True): (6, 1e-6)}


def errors(law: str, options: dict, rough: bool, seed: int, wanted: int) -> list[tuple[float, float]]:
    """Errors of `wanted` random problems that are not near a kink; parameters in turns."""
    found, tried, refused = [], 0, 0
    largest, least = SELECTED.get((law, rough), (60, 1e-3))
    while len(found) < wanted:
        rng = np.random.default_rng([seed, tried])
        tried += 1
        assert tried < 60 * wanted + 400, f"{len(found)} of {tried} problems are far enough from kinks"
        problem = random_impact(rng, rough, largest)
        names = PARAMETERS if rough else PARAMETERS[:5]
        name = names[tried % len(names)]
        if law == "inelastic":
            problem = problem.with_(restitution=0.0)
        if name == "restitution" and np.isin(problem.restitution, (0.0, 1.0)).all():
            name = "velocity"  # differences would leave the range of restitution
        solution = solve_impact(problem, "gr" if law == "inelastic" else law, **options)
        if solution.status != "resolved":
            continue
        try:
            pair = compared(solution, name, rng, options, least)
        except ProblemError:  # friction that law and model do not share, restitution in steps: docs/derivatives.md
            refused += 1
            assert rough, "without friction nothing is refused"
            # smm pulls, and pulls reduce friction: of its large problems most are refused.
            assert law == "smm" or refused <= tried // 2 + 5, "most problems are refused"
            continue
        if pair is not None:
            found.append(pair)
    return found


def case_name(case) -> str:
    law, options, rough = case
    return "-".join([law, *options.values(), *(["rough"] if rough and not options else [])])


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_derivatives_equal_central_differences(case):
    worst = np.array(errors(*case, seed=1, wanted=3)).max(axis=0)
    assert worst[0] <= DIFFERENCE
    assert worst[1] <= ADJOINT


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_derivatives_of_a_thousand_problems(case):
    law, _, rough = case
    worst = np.array(errors(*case, seed=2, wanted=1000 if not rough or law in ("gr", "lcp", "sqm") else 300))
    assert worst[:, 0].max() <= DIFFERENCE
    assert worst[:, 1].max() <= ADJOINT


def test_etm_is_replayed_where_two_contacts_approach_equally_fast():
    """Whole numbers make ties, which rounding decides: the replay adds up as the law does, with the same answer."""
    chain = ImpactProblem.chain([1, 2, 1, 3], [1, 0.1, 0.2, -1], restitution=0.8)
    found = solve_impact(chain, "etm").derivative()
    assert not found.smooth
    assert "fastest" in found.kinks[0].reason
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 7))
        chain = ImpactProblem.chain(rng.integers(1, 4, n), rng.normal(size=n).round(1), restitution=0.8)
        solve_impact(chain, "etm").derivative()  # an error if the replay ends elsewhere


def test_restitution_that_was_reduced_in_steps_has_no_derivative():
    """Friction takes so many iterations that the share of the restitution is known to two digits: energy is lost."""
    problem = random_impact(np.random.default_rng([2, 159]), True, 60)
    solution = solve_impact(problem, "qce", friction_model="pyramid", restitution_model="qce_lcp")
    assert solution.kinetic_energy < (1.0 - 1e-4) * problem.kinetic_energy
    with pytest.raises(ProblemError, match="reduced in steps"):
        solution.derivative("tangents")


def test_a_wrong_derivative_is_noticed():
    """The comparison can fail: the derivative of lcp is not that of gr."""
    problem = ImpactProblem.chain([1.0, 2.0, 1.0, 3.0], [1.0, 0.1, 0.2, -1.0])
    one, other = solve_impact(problem, "gr"), solve_impact(problem, "lcp")
    assert not np.allclose(one.velocity, other.velocity)
    assert np.abs(one.derivative()["velocity"] - other.derivative()["velocity"]).max() > 1e-2

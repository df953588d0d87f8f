"""Known answers: closed forms to 1e-9, figures given to four or five decimals to their last digit."""

from __future__ import annotations

import math

import numpy as np
import pytest

import carom
from carom import catalogue, laws
from carom.catalogue.problems_1d import galperin


@pytest.mark.parametrize("entry", [e for e in catalogue.entries() if e.answers], ids=lambda e: e.name)
def test_known_answers(entry):
    for law, expected in entry.answers.items():
        if law not in laws.names():
            continue
        exact = "decimals" not in entry.source
        if law in ("lcp", "gauss_seidel") or entry.name.startswith("cradle"):
            exact = True  # the rounded figures are those of qce, of gr's two-sided chain and of the Hertz ODE
        velocity = carom.solve_impact(entry.problem, law).velocity
        speed = max(np.abs(expected).max(), np.abs(entry.problem.velocity).max())
        atol = 1e-9 * speed if exact else 6e-5
        np.testing.assert_allclose(velocity, expected, rtol=0, atol=atol, err_msg=law)


# Velocities after the impact of three equal balls with v = (va, 0, -1), by va. All contacts violate for va > 0, and one
# iteration of gr is the Newton-law LCP. Those of qce were calculated independently of this library, to four decimals.
TOGETHER = {0.25: (-0.75, -0.5, 0.5), 0.5: (-5 / 6, -1 / 3, 2 / 3), 0.75: (-11 / 12, -1 / 6, 5 / 6), 1.0: (-1, 0, 1)}
THREE_BALLS = {
    "gr": {0.0: (-1, 0, 0), **TOGETHER},
    "lcp": {0.0: (-2 / 3, -2 / 3, 1 / 3), **TOGETHER},
    "qce": {
        0.0: (-1, 0, 0),
        0.25: (-1.0137, 0.1208, 0.1429),
        0.5: (-1.0458, 0.2125, 0.3333),
        0.75: (-1.0736, 0.2236, 0.6000),
        1.0: (-1, 0, 1),
    },
}


@pytest.mark.parametrize(("law", "va"), [(law, va) for law, found in THREE_BALLS.items() for va in found])
def test_three_balls(law, va):
    velocity = carom.solve_impact(carom.ImpactProblem.chain([1, 1, 1], [va, 0, -1]), law).velocity
    np.testing.assert_allclose(velocity, THREE_BALLS[law][va], atol=6e-5 if law == "qce" else 1e-12)


CRADLE_ONE, CRADLE_TWO, UNEQUAL = ([1] * 5, [1, 0, 0, 0, 0]), ([1] * 5, [1, 1, 0, 0, 0]), ([1, 2, 1, 3], [1, 0, 0, -1])


@pytest.mark.parametrize(
    ("laws", "before", "after", "accuracy"),
    [
        (("gr", "qce"), CRADLE_ONE, [0, 0, 0, 0, 1], 1e-12),
        (("gr", "qce"), CRADLE_TWO, [0, 0, 0, 1, 1], 1e-12),
        (("gr", "qce"), UNEQUAL, [-1.18930, -0.99177, -0.16049, 0.44444], 6e-6),
        (("lcp",), CRADLE_ONE, [-0.6, 0.4, 0.4, 0.4, 0.4], 1e-12),
        (("lcp",), CRADLE_TWO, [-0.2, -0.2, 0.8, 0.8, 0.8], 1e-12),
        (("lcp",), UNEQUAL, [-11 / 7, -4 / 7, -4 / 7, 3 / 7], 1e-12),
    ],
)
def test_chains(laws, before, after, accuracy):
    for law in laws:
        velocity = carom.solve_impact(carom.ImpactProblem.chain(*before), law).velocity
        np.testing.assert_allclose(velocity, after, atol=accuracy, err_msg=law)


@pytest.mark.parametrize("digits", [1, 2, 3])
@pytest.mark.parametrize("law", ["gauss_seidel", "gr", "qce"])
def test_galperin_counts_the_digits_of_pi(law, digits):
    """A light ball between a wall and one 10^(2k) times heavier collides 31, 314, 3141 times."""
    entry = galperin(100.0**digits)
    solution = carom.solve_impact(entry.problem, laws.make(law, max_iterations=10_000))
    assert solution.iterations == math.floor(10**digits * math.pi)
    expected = entry.answers[law]
    # Each of N reflections rounds the energy by some 1e-16 of the heavy ball's, which is the mass ratio times what the
    # light one can hold: its velocity is uncertain by the root of that ratio times N times round-off.
    bound = 20 * np.finfo(float).eps * solution.iterations * 10**digits
    np.testing.assert_allclose(solution.velocity, expected, rtol=0, atol=bound)


@pytest.mark.parametrize("law", [n for n in laws.names() if n not in ("none", "lcp")])
def test_one_contact_has_one_answer(law):
    """Two balls: momentum, energy and one-sidedness leave nothing to choose."""
    v = carom.solve_impact(carom.ImpactProblem.chain([1.0, 3.0], [2.0, -1.0]), law).velocity
    np.testing.assert_allclose(v, [-2.5, 0.5], atol=1e-9)

"""The six theorems of "Conservation of Core Desiderata under Interpolation" (Smith 2012, supplement).

With restitution model "energetic" the answer lies between the inelastic and the elastic one,
v(c) = (1 - c) v(0) + c v(1), and keeps what both ends keep.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import carom
from carom import catalogue, laws
from carom.analysis import desiderata
from carom.analysis.desiderata import image_error
from carom.testing import KINDS, random_problem

NAMES = [n for n in ("gr", "qce", "lcp", "gauss_seidel") if n in laws.names()]
SYMMETRIC = [e for e in catalogue.entries() if e.problem.symmetries]
coefficients = st.floats(0.0, 1.0)
seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(sorted(KINDS))

pytestmark = pytest.mark.parametrize("name", NAMES)


def solve(problem, name, c):
    return carom.solve_impact(problem.with_(restitution=c), name, restitution_model="energetic")


def speed(problem):
    return np.abs(problem.separation_speed()).max()


@given(seed=seeds, kind=kinds, c=coefficients)
def test_1_feasibility(name, seed, kind, c):
    problem = random_problem(np.random.default_rng(seed), kind)
    assert solve(problem, name, c).separation_speed.min() >= -1e-9 * speed(problem)


@given(seed=seeds, kind=kinds, c=coefficients)
def test_2_momentum(name, seed, kind, c):
    """And the lemma: velocities interpolate as the impulses do."""
    problem = random_problem(np.random.default_rng(seed), kind)
    low, mid, high = (solve(problem, name, k) for k in (0.0, c, 1.0))
    assert desiderata.momentum_error(mid) <= 1e-12
    between = (1 - c) * low.velocity + c * high.velocity
    assert np.abs(mid.velocity - between).max() <= 1e-10 * max(np.abs(between).max(), speed(problem))


@given(seed=seeds, kind=kinds, c=coefficients)
def test_3_one_sided_impulses(name, seed, kind, c):
    problem = random_problem(np.random.default_rng(seed), kind)
    assert solve(problem, name, c).impulse.min() >= 0.0


@given(seed=seeds, kind=kinds, c=coefficients)
def test_4_bounded_energy(name, seed, kind, c):
    """Not above the elastic response, and not below the inelastic one: energy is convex in c.

    Stated for the work of the impulses, which is the change of energy where boundaries stand still.
    """
    problem = random_problem(np.random.default_rng(seed), kind)
    low, mid, high = (solve(problem, name, k).contact_work for k in (0.0, c, 1.0))
    slack = 1e-10 * max(problem.kinetic_energy, abs(low))
    assert low - slack <= mid <= high + slack
    assert mid <= (1 - c) * low + c * high + slack


@given(entry=st.sampled_from(SYMMETRIC), c=coefficients)
def test_5_symmetry(name, entry, c):
    if "SYM" not in laws.make(name).claims:
        pytest.skip("the theorem is about laws whose elastic answer is symmetric")
    error, _ = image_error(entry.problem, solve(entry.problem, name, c).velocity)
    assert error <= 1e-9


@given(seed=seeds, kind=kinds, c=st.floats(0.01, 1.0))
def test_6_break_away(name, seed, kind, c):
    """A contact that separates under the elastic law separates for every c > 0, at least c times as fast."""
    problem = random_problem(np.random.default_rng(seed), kind)
    elastic, mid = (solve(problem, name, k).separation_speed for k in (1.0, c))
    assert (mid >= c * elastic - 1e-9 * speed(problem)).all()


def test_the_bounds_are_met_strictly_somewhere(name):
    """The properties can fail: half way the energy lies well inside its bounds, and far from either end."""
    problem = catalogue.entry("disc_cluster_9").problem
    low, mid, high = (solve(problem, name, k).kinetic_energy for k in (0.0, 0.5, 1.0))
    assert low + 0.05 * high < mid < 0.95 * high

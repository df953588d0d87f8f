"""Gases against kinetic theory, in small: what holds, and what must not."""

from __future__ import annotations

import numpy as np
import pytest

from carom.reproduce import gases
from carom.reproduce.evidence import Case

pytestmark = pytest.mark.usefixtures("blank_pictures")


def test_the_equations_of_state_begin_with_the_known_virial_coefficients():
    """Z = 1 + 4 f + 10 f^2 + 18.36 f^3 for spheres (Carnahan and Starling: 10, 18), 1 + 2 f + 3.128 f^2 for discs."""
    f = 1e-4
    for dimension, coefficients in ((2, (2.0, 3.125)), (3, (4.0, 10.0))):
        z = gases.compressibility(f, dimension)
        assert z - 1.0 == pytest.approx(coefficients[0] * f + coefficients[1] * f * f, rel=1e-7)
        # The pressure of impacts is what Enskog's rate of impacts gives: Z - 1 = sqrt(pi) rate / (2 D).
        rate = gases.impact_rate(0.3, dimension)
        assert gases.compressibility(0.3, dimension) - 1.0 == pytest.approx(np.sqrt(np.pi) * rate / (2.0 * dimension))


@pytest.mark.parametrize("dimension", [2, 3])
def test_pressure_and_mean_free_path_of_a_small_gas(tmp_path, dimension):
    """512 balls and 25,000 impacts: a standard error of 0.4 %; the ideal gas is off by more than half."""
    found = gases.run_pressure(Case(tmp_path), 512, 100.0, (0.3,), (dimension,))
    pressure, path = found.rows
    assert pressure.ours == pytest.approx(pressure.paper, rel=0.02) and pressure.ours > 2.0
    assert path.ours == pytest.approx(path.paper, rel=0.03)


def test_a_gas_cools_by_haffs_law_and_an_elastic_one_does_not(tmp_path):
    found = gases.run_cooling(Case(tmp_path), count=512, seeds=2, duration=5.0, restitution=0.9)
    exponent, rate, _ = found.rows
    assert exponent.holds and rate.ours == pytest.approx(rate.paper, rel=0.06)
    assert gases.cooling_rate(0.1, 3, 1.0) == 0.0

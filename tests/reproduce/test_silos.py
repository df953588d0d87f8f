"""Silos of discs, in small: forces balance, and more runs out of a wider outlet than in proportion to its width."""

from __future__ import annotations

import numpy as np
import pytest

from carom.reproduce import silos
from carom.reproduce.evidence import Case

pytestmark = pytest.mark.usefixtures("blank_pictures")


def test_the_constant_of_a_free_fall_arch():
    """Grains fall freely from a semicircle of diameter 1: their speed at x is sqrt(2 sqrt(1/4 - x^2))."""
    x = 0.5 * np.sin(np.linspace(-0.5 * np.pi, 0.5 * np.pi, 20_001))
    flow = np.trapezoid(np.sqrt(2.0 * np.sqrt(np.maximum(0.25 - x * x, 0.0))), x)
    assert pytest.approx(flow, rel=1e-6) == silos.FREE_FALL_ARCH


def test_walls_and_bottom_carry_the_weight_of_a_column(tmp_path):
    """60 discs whose bottom is lowered slowly: accelerations are far below gravity, so that forces balance to 2 %."""
    found = silos._wall_pressure(Case(tmp_path), silos.column(5.0, 60, 0, 15.0, 15.0, 0.2), 4)
    walls = 2.0 * (found.depth[1] - found.depth[0]) * found.shear.sum()
    assert walls + found.bottom == pytest.approx(found.weight, rel=0.02)
    assert found.bottom < 0.95 * found.weight and (found.normal >= 0.0).all()


@pytest.mark.long
def test_discharge_grows_faster_than_the_outlet(tmp_path):
    """Beverloo: (9 - k)^1.5 / (4 - k)^1.5 is above 4 for k from 1 to 2; in proportion it would be 2.25."""
    found = silos.run_discharge(Case(tmp_path), (4.0, 6.0, 9.0), 24.0, 350, 15.0, 20.0)
    rates = [row.ours for row in found.rows if row.quantity.startswith("discharge")]
    assert rates[2] > 3.0 * rates[0] and rates[0] < rates[1] < rates[2]

"""Laboratory entries, small: what the laws say about real spheres, and which of them cannot say it."""

from __future__ import annotations

import numpy as np
import pytest

from carom.draw.style import written_as
from carom.reproduce import Case, laboratory
from carom.reproduce.hertz import hertz_chain, hertz_history


@pytest.fixture(autouse=True)
def one_format():
    """Figures are written as PNG alone, which saves most of the time of these tests."""
    with written_as(("png",)):
        yield


def test_history_ends_as_the_chain_does():
    """The same equations by another route; both are accurate to 1e-9."""
    before = [1.0, 0.0, 0.0]
    v, q = hertz_history(np.ones(3), before, np.linspace(0.0, 20.0, 50))
    assert np.abs(v[-1] - hertz_chain(np.ones(3), before)).max() < 1e-8
    assert (q[-1] < 0.0).all()


def test_striker_moves_back_under_lzb_alone(tmp_path):
    """gr and qce leave it at rest; lcp and etm throw it back, but the two targets stick together."""
    evidence = laboratory.cradle(Case(tmp_path), restitutions=(0.7, 0.95, 1.0))
    holds = {row.quantity: row.holds for row in evidence.rows}
    assert holds["lzb: velocity of the striker, restitution 1"]
    assert not holds["gr: velocity of the striker, restitution 1"]
    assert not holds["qce: velocity of the striker, restitution 1"]
    assert evidence.numbers["lzb: velocity of the striker, restitution 1"] == pytest.approx(-0.0710, abs=1e-4)
    assert "under: lzb" in evidence.findings[0]
    assert holds["gap between the targets, restitution 0.95: velocity of the striker, all laws"]


def test_speed_of_the_solitary_wave(tmp_path):
    """Nesterenko's formula is for long waves; the chain of beads differs by about one percent."""
    evidence = laboratory.solitary_wave(Case(tmp_path), beads=30, speeds=(0.1, 1.0))
    by_name = {row.quantity: row for row in evidence.rows}
    assert by_name["speed over sqrt(k/m) d^(1/4)"].ratio == pytest.approx(1.012, abs=0.005)
    assert by_name["lzb: largest deviation from the Hertz ODE, 20 beads"].holds
    assert by_name["gr: largest deviation from the Hertz ODE, 20 beads"].holds is False


def test_a_column_loses_more_energy_under_lzb(tmp_path):
    """Energetic restitution acts once per impact; under lzb every contact of the column dissipates."""
    n = laboratory.column(Case(tmp_path), most=4, restitution=0.9).numbers
    assert n["gr: rebound of the center of mass, 4 beads"] == pytest.approx(0.9, abs=1e-9)
    assert n["lzb: rebound of the center of mass, 1 beads"] == pytest.approx(0.9, abs=1e-9)
    assert n["lzb: rebound of the center of mass, 4 beads"] < 0.85


def test_restitution_falls_with_speed(tmp_path):
    evidence = laboratory.restitution(Case(tmp_path), speeds=(1e-5, 1e-4, 1e-3, 1e-2))
    assert all(row.holds for row in evidence.rows if row.holds is not None)
    assert laboratory.viscoelastic(1e-4) > laboratory.viscoelastic(1.0)

"""`carom demo`."""

from __future__ import annotations

import struct

import pytest

from carom import ImpactProblem, laws, scenes, solve_impact
from carom.cli.demo import Outcome, arriving_speeds, cradle_rows, exchange

RACK = scenes.pool_break


@pytest.fixture(scope="module")
def rows():
    return cradle_rows()


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


@pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.long)])
def test_table_and_picture(carom, tmp_path, monkeypatch, columns):
    """The rack is smaller than that of the demo, and the figure of its break is not drawn (test_compare_figure.py)."""
    monkeypatch.setattr(scenes, "pool_break", lambda rows: RACK(rows=rows - 7))
    monkeypatch.setattr("carom.cli.compare_figure.draw", lambda runs, output, stem, *_: [output / f"{stem}.png"])
    ended = carom("demo", "-o", tmp_path / "pictures", columns=columns)
    assert ended.code == 0, ended.err
    for name in laws.names():
        assert name in ended.out
    assert max(map(len, ended.out.splitlines())) <= columns
    head = (tmp_path / "pictures" / "newtons_cradle.png").read_bytes()[:24]
    assert struct.unpack(">II", head[16:24]) == (1920, 1080)

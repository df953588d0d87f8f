"""The audit: the papers' charts reproduced, reports in three forms, and the spread between laws."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import carom
from carom import ImpactProblem, Symmetry, catalogue, laws
from carom.analysis.audit import CHARTS, audit_laws, audit_problem, published
from carom.cli.errors import run
from carom.cli.main import app

FAST = [n for n in ("none", "lcp", "gauss_seidel", "jacobi", "gr", "qce") if n in laws.names()]


@pytest.fixture(scope="module")
def report():
    return audit_laws(FAST)


@pytest.mark.parametrize("paper", list(CHARTS))
def test_charts_of_the_papers(report, paper):
    """Every cell of Smith's and Zhang's tables 1 comes out as printed."""
    columns, ticks = CHARTS[paper]
    for law, ticked in ticks.items():
        measured = {d for d in columns if report.cell(law, d).passed}
        assert measured == ticked, f"{paper}, {law}"
    assert not any(row.contradicted for row in report.rows)


def test_charts_are_those_of_the_papers():
    """Smith: each older family misses one of five. Zhang: gr misses WAV, lcp misses WAV and BRK of six."""
    missing = {
        (paper, law): set(columns) - ticked for paper, (columns, rows) in CHARTS.items() for law, ticked in rows.items()
    }
    assert missing == {
        ("Smith 2012", "gr"): set(),
        ("Smith 2012", "lcp"): {"BRK"},
        ("Smith 2012", "gauss_seidel"): {"SYM"},
        ("Smith 2012", "jacobi"): {"KIN"},
        ("Zhang 2015", "qce"): set(),
        ("Zhang 2015", "gr"): {"WAV"},
        ("Zhang 2015", "lcp"): {"WAV", "BRK"},
    }
    assert published("gr", "WAV") == {"Zhang 2015": False}
    assert published("etm", "KIN") == {}


def test_the_baseline_fails(report):
    for desideratum in ("BRK", "WAV", "FEA"):
        assert not report.cell("none", desideratum).passed


def test_claims_and_measurements_agree(report):
    assert [row for row in report.rows if not row.agrees_with_claim] == []


def test_a_contradiction_is_said():
    """Under a paper's name with other physics the chart is contradicted, and the report says so."""
    original = laws.make("gr")
    try:
        laws.register("gr", laws.make("lcp"), replace=True)
        broken = audit_laws(["gr"])
    finally:
        laws.register("gr", original, replace=True)
    text = str(broken)
    assert "gr BRK: Smith 2012 has a tick, measured a fail" in text
    assert "gr BRK: Zhang 2015 has a tick, measured a fail" in text
    assert "9 of 11 cells" in text


def test_report_as_text_dict_and_csv(report):
    text = str(report)
    assert text.splitlines()[0].split() == ["law", "BRK", "SYM", "KIN", "MOM", "ONE", "WAV", "FEA", "SMP"]
    assert "cells of the papers' charts are reproduced" in text
    data = json.loads(json.dumps(report.to_dict()))
    assert len(data["rows"]) == 8 * len(FAST) and len(data["problems"]) == len(catalogue.entries())
    rows = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert [(r["law"], r["desideratum"]) for r in rows] == [(r.law, r.desideratum) for r in report.rows]
    lcp = next(r for r in rows if (r["law"], r["desideratum"]) == ("lcp", "BRK"))
    assert lcp["passed"] == "fail" and lcp["claimed"] == "no"
    assert lcp["remark"] == "matches Smith 2012 and Zhang 2015"


def test_progress_is_told():
    seen = []
    audit_laws(["none"], [catalogue.entry("cradle_3_1")], lambda law, d: seen.append((law, d)))
    assert [d for _, d in seen] == ["BRK", "SYM", "KIN", "MOM", "ONE", "WAV", "FEA", "SMP"]


# -- one problem -----------------------------------------------------------------------------------------------


def test_spread_of_the_cradle():
    """gr breaks away where lcp sticks: on the last contact they differ by the whole speed."""
    report = audit_problem(ImpactProblem.chain([1] * 5, [1, 0, 0, 0, 0]), ["lcp", "gr", "gauss_seidel", "none"])
    spread = report.spread
    assert spread is not None and spread.laws == ("lcp", "gr", "gauss_seidel")  # none is no answer
    assert set(spread.order[:2]) == {0, 3}
    assert spread.by_contact[3] == pytest.approx(1.0)
    assert spread.extremes(3)[0] == "lcp"
    assert spread.by_body[4] == pytest.approx(0.6)
    assert (np.diff(spread.by_contact[spread.order]) <= 0).all()


def test_laws_agree_on_a_single_contact():
    report = audit_problem(ImpactProblem.chain([1, 3], [1, 0]), [n for n in FAST if n != "none"])
    assert report.spread is not None and report.spread.by_contact.max() <= 1e-12


def test_symmetries_of_a_problem_count():
    entry = catalogue.entry("bernoulli")
    report = audit_problem(entry.problem, ["gauss_seidel", "gr"])
    assert not report.cell("gauss_seidel", "SYM").passed and report.cell("gr", "SYM").passed


def test_a_false_symmetry_is_refused():
    flip = Symmetry(np.array([2, 1, 0]), np.array([[-1.0]]), "ends")
    problem = ImpactProblem.chain([1, 1, 2], [1, 0, -1], symmetries=[flip])
    with pytest.raises(carom.ProblemError, match=r"'ends'.*keeps masses"):
        audit_problem(problem, ["gr"])


def test_a_law_that_does_not_take_the_problem_is_listed():
    problem = ImpactProblem.chain([1, 1, 1], [1, 0, 0], restitution=[0.9, 0.02])
    report = audit_problem(problem, ["lzb"])
    assert report.rows == () and report.spread is None
    assert report.refusals[0][0] == "lzb" and "restitution" in report.refusals[0][1]


def test_a_clamped_problem_may_lose_energy():
    report = audit_problem(catalogue.entry("clamped_ball").problem, ["gr"])
    assert report.cell("gr", "KIN").passed


# -- the command -----------------------------------------------------------------------------------------------


@pytest.fixture
def command(capsys, monkeypatch):
    def call(*arguments, columns=120):
        monkeypatch.setenv("COLUMNS", str(columns))
        code = run(app, ["audit", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def chain_file(tmp_path):
    return ImpactProblem.chain([1, 2, 1, 3], [1, 0, 0, -1], name="mine").save(tmp_path / "p.json")


def test_command_table(command):
    code, out, _ = command("--laws", "lcp,gr", columns=100)
    assert code == 0
    assert "22 of 22 cells" in out
    assert max(map(len, out.splitlines())) <= 100


def test_command_json_and_csv(command):
    code, out, _ = command("--laws", "gr", "--json")
    assert code == 0 and {r["law"] for r in json.loads(out)["rows"]} == {"gr"}
    code, out, _ = command("--laws", "gr", "--csv")
    assert code == 0 and len(list(csv.reader(io.StringIO(out)))) == 9


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_command_with_a_file(command, chain_file, columns):
    code, out, _ = command(chain_file, "--laws", "none,lcp,gr,gauss_seidel", columns=columns)
    assert code == 0
    assert "'mine'" in out and "Spread" in out and "still approach: none" in out
    assert max(map(len, out.splitlines())) <= columns


def test_command_with_a_file_as_json_and_csv(command, chain_file):
    code, out, _ = command(chain_file, "--laws", "lcp,gr", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["spread"]["contacts"][0]["contact"] == 1
    assert data["spread"]["contacts"][0]["spread"] == pytest.approx(0.83128, abs=1e-5)
    code, out, _ = command(chain_file, "--laws", "lcp,gr", "--csv")
    table, spread = out.split("\n\n")
    assert code == 0
    assert len(list(csv.DictReader(io.StringIO(table)))) == 10
    assert [r["contact"] for r in csv.DictReader(io.StringIO(spread))] == ["1", "0", "2"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--laws", "grr"), "unknown law 'grr': did you mean 'gr'?"),
        (("--laws", ","), "--laws: got ,; expected names of laws"),
        (("--laws", "gr", "--json", "--csv"), "expected one of the two"),
        (("nowhere.json",), "nowhere.json; expected a file that exists"),
        (("--rows", "0"), "--rows"),
    ],
)
def test_command_refuses(command, arguments, words):
    code, out, err = command(*arguments)
    assert code == 2 and out == ""
    assert words in err and "Traceback" not in err

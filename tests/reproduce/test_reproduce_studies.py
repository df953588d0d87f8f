"""Every study, small: the files are there and the headline numbers hold."""

from __future__ import annotations

import csv
import inspect

import numpy as np
import pytest

from carom import ProblemError, laws, scenes
from carom.laws import LZB
from carom.reproduce import (
    ENTRIES,
    PAPERS,
    Case,
    Evidence,
    Row,
    disturbance,
    inelastic_collapse,
    model_problems,
    nonlinear_potential,
    run,
    theorems,
    three_ball,
)
from carom.reproduce.entries import CONTENTS


def table(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_files(result):
    endings = {path.suffix for path in result.files}
    assert endings == {".png", ".svg", ".pdf", ".csv"}
    for path in result.files:
        assert path.stat().st_size > 100
    assert next(p for p in result.files if p.suffix == ".png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    return three_ball.run(Case(tmp_path_factory.mktemp("three")), points=11)


def test_three_ball_covers_every_law(sweep):
    check_files(sweep)
    rows = table(sweep.files[-1])
    assert len(rows) == 12  # eleven values, and one just above zero
    for name in laws.names():
        assert (f"{name}_A" in rows[0]) == (name != "none")


def test_three_ball_numbers(sweep):
    n = sweep.numbers
    assert n["hertz: off the exchange"] == pytest.approx(0.0764, abs=1e-4)
    assert n["lzb: off the Hertz ODE"] < 1e-2
    assert n["gauss_seidel: off the exchange"] < 1e-12
    assert n["gr: jump at va = 0"] == pytest.approx(2 / 3, abs=1e-5)
    assert n["lcp: off the exchange"] == pytest.approx(2 / 3, abs=1e-9)
    assert 0.2 < n["qce: off the exchange"] < 0.25
    assert n["qce: jump at va = 0"] < 1e-5


@pytest.mark.long
def test_three_ball_takes_in_a_law_of_the_users(tmp_path, monkeypatch):
    monkeypatch.setattr(laws, "_LAWS", {"none": laws.make("none"), "mine": LZB(eta=1.0)})
    result = three_ball.run(Case(tmp_path), points=3)
    assert "mine: off the Hertz ODE" in result.numbers


def test_coinciding_curves_share_a_line():
    va = np.linspace(0, 1, 5)[:, None]
    assert three_ball.groups({"a": va, "b": va + 1, "c": va + 1e-4}) == [["a", "c"], ["b"]]


def test_collapse_threshold_of_three_balls():
    assert inelastic_collapse.threshold(3) == pytest.approx(7 - 4 * np.sqrt(3), abs=1e-12)
    assert inelastic_collapse.measured_threshold(3) == pytest.approx(0.0718, abs=1e-4)


@pytest.mark.parametrize("balls", [4, 7])
@pytest.mark.parametrize("wall", [False, True])
def test_collapse_threshold_follows_the_formula(balls, wall):
    measured = inelastic_collapse.measured_threshold(balls, wall=wall, one=False)
    assert measured == pytest.approx(inelastic_collapse.threshold(balls, wall), abs=1e-5)


def test_another_order_collapses_elsewhere():
    """The formula belongs to one order of reflections: the agreement above is no accident of the search."""
    measured = inelastic_collapse.measured_threshold(8, inelastic_collapse.WORST)
    assert measured > inelastic_collapse.threshold(8) + 1e-3


@pytest.mark.long
def test_inelastic_collapse_numbers(tmp_path):
    result = inelastic_collapse.run(Case(tmp_path), points=25, largest=5)
    check_files(result)
    assert result.numbers["off the formula, all approach, in order"] == pytest.approx(0, abs=1e-5)
    rows = table(tmp_path / "inelastic_collapse.csv")
    collapsed = [row for row in rows if float(row["c_r"]) < 0.07]
    ended = [row for row in rows if float(row["c_r"]) > 0.1]
    for row in collapsed:  # a common velocity, and counts that only the tolerance limits
        assert abs(float(row["v_A"]) - 1 / 3) < 1e-6 and abs(float(row["v_C"]) - 1 / 3) < 1e-6
        assert int(row["reflections_tolerance_1e-12"]) > int(row["reflections_tolerance_1e-06"])
    for row in ended:
        assert row["reflections_tolerance_1e-12"] == row["reflections_tolerance_1e-06"]


@pytest.mark.long
def test_disturbance_numbers(tmp_path):
    result = disturbance.run(Case(tmp_path), seeds=25, sizes=3)
    check_files(result)
    n = result.numbers
    for name in ("lcp", "gauss_seidel", "lzb"):  # continuous: the change is of the size of the disturbance
        assert n[f"{name}: largest change at size 1e-08"] < 1e-7
    assert n["gr: part of disturbances that jump"] > 0.3
    assert n["gr: largest change at size 1e-08"] > 0.3
    assert n["qce: median change at size 1e-08"] < 1e-7
    assert n["qce: part of disturbances that jump"] < n["gr: part of disturbances that jump"]


def test_every_entry_has_a_function_and_sizes_that_it_accepts():
    for entry in ENTRIES.values():
        known = inspect.signature(entry.make()).parameters
        for sizes in (entry.small, entry.paper):
            assert "box" in known or set(sizes) <= set(known), entry.key
        assert entry.key.split("-")[0] in PAPERS
    with pytest.raises(ProblemError, match="did you mean 'zhang-figure-4'"):
        run("zang-figure-4")


def test_a_row_knows_its_ratio():
    assert Row("speed", 2.0, 3.0).ratio == 1.5
    assert Row("speed", None, 3.0).ratio is None and Row("speed", 0.0, 3.0).ratio is None
    assert Row("pattern", "stripes", "squares").ratio is None


def test_evidence_is_read_as_it_was_written(tmp_path):
    before = Evidence(
        (Row("a", 1.0, 2.0, "s", True, "why"), Row("b", None, "text")), (tmp_path / "x.png",), ("found",), {"n": 3}
    )
    before.save(tmp_path / "evidence.json")
    assert Evidence.load(tmp_path / "evidence.json") == before


def test_an_interrupted_entry_continues_its_runs(tmp_path):
    """The second call reads the finished run instead of computing it again."""
    scene = scenes.newtons_cradle()
    first = Case(tmp_path, record=True).simulate("cradle", scene, "gr", 0.1)
    stamp = (tmp_path / "runs" / "cradle.h5").stat().st_mtime_ns
    again = Case(tmp_path, record=True).simulate("cradle", scene, "gr", 0.1)
    assert (tmp_path / "runs" / "cradle.h5").stat().st_mtime_ns == stamp
    assert np.array_equal(first.positions[-1], again.positions[-1])


def test_a_run_with_a_condition_ends_at_it_and_continues_to_it(tmp_path):
    """A ball that falls: the run stops when it is fast enough, and an interrupted one stops at the same step."""
    scene = scenes.box_stack(boxes=1)
    case = Case(tmp_path, record=True)
    first = case.simulate("fall", scene, "gr", 0.5, until=lambda state: state.step >= 20)
    assert first.last.step == 20 and not first.finished
    first.close()
    stamp = (tmp_path / "runs" / "fall.h5").stat().st_mtime_ns
    assert case.simulate("fall", scene, "gr", 0.5, until=lambda state: state.step >= 20).last.step == 20
    assert (tmp_path / "runs" / "fall.h5").stat().st_mtime_ns == stamp
    later = case.simulate("fall", scene, "gr", 0.5, until=lambda state: state.step >= 30)
    assert later.last.step == 30
    alone = Case(tmp_path).simulate("fall", scene, "gr", 0.5, until=lambda state: state.step >= 30)
    assert np.array_equal(alone.last.position, later.last.position)


# Numbers of figures and tables of the papers, counted in them.
FIGURES = {"smith": (12, 3), "zhang": (12, 2), "tang": (15, 0), "collapse": (11, 0)}
# Their numbered or named statements and algorithms, as they are listed.
STATEMENTS = {
    "smith": {"algorithms 1 to 4", "section 4, lemma", "supplement, lemma and theorems 1.1 to 1.6"},
    "zhang": {"algorithm 1", "appendix, lemma and theorem"},
    "tang": {"algorithms 1 and 2", "lemmas 3.1 and 3.2", "equation 69"},
    "collapse": {"theorems 5.1 and 7.1"},
}


def test_every_figure_table_and_statement_of_the_papers_has_an_entry_or_a_reason():
    assert set(CONTENTS) == set(FIGURES)
    for paper, (figures, tables) in FIGURES.items():
        listed = CONTENTS[paper]
        wanted = {f"figure {k + 1}" for k in range(figures)} | {f"table {k + 1}" for k in range(tables)}
        wanted |= STATEMENTS[paper]
        assert wanted <= set(listed), f"{paper}: {sorted(wanted - set(listed))}"
        for item, target in listed.items():
            assert target in ENTRIES or " " in target, f"{paper}, {item}: {target!r} is no entry and no sentence"
        used = {target for target in listed.values() if target in ENTRIES}
        assert used == {key for key in ENTRIES if key.split("-")[0] == paper}  # no entry is left unlisted


def claims(evidence):
    return {row.quantity: row.holds for row in evidence.rows if row.holds is not None}


def test_interpolated_impacts_hold_the_theorems(tmp_path):
    evidence = theorems.interpolation(Case(tmp_path), problems=20)
    check_files(evidence)
    assert len(claims(evidence)) == 8 and all(claims(evidence).values())
    stuck, beyond = [row.ours for row in evidence.rows if row.holds is None]
    assert beyond > 0.1  # extrapolation breaks the bound of the energy, so the measure can fail
    assert stuck > 0.1  # and lcp lets contacts stick where the assumption of the lemma does not hold


def test_interpolated_impulses_do_not_solve_the_equations_of_the_appendix(tmp_path):
    found = claims(theorems.appendix(Case(tmp_path), problems=40))
    failing = [name for name, holds in found.items() if not holds]
    assert len(failing) == 1 and failing[0].startswith("equation 24: problems")


def test_lemmas_on_single_contacts(tmp_path):
    assert all(claims(theorems.lemmas(Case(tmp_path), problems=20)).values())


def test_each_classical_view_fails_on_one_model_problem(tmp_path):
    evidence = model_problems.run(Case(tmp_path))
    check_files(evidence)
    assert all(claims(evidence).values())  # including that lcp sticks and that gauss_seidel leans
    assert all(claims(model_problems.two_balls(Case(tmp_path))).values())


@pytest.mark.long
def test_energy_walks_in_a_nonlinear_potential(tmp_path):
    evidence = nonlinear_potential.run(Case(tmp_path), duration=8.0, steps=(0.02, 0.01))
    assert all(claims(evidence).values())
    assert evidence.numbers["gr: order of the walk in the time step, mean"] > 1.5

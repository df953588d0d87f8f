"""`carom resolve`."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from carom import ImpactProblem, laws, solve_impact


def solution(ended) -> dict:
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_the_cradle_passes_the_blow_on(carom, cradle):
    ended = carom("resolve", cradle, "--law", "gr", "--json")
    assert np.allclose(solution(ended)["velocity"], [0, 0, 0, 0, 1], atol=1e-9)


@pytest.mark.parametrize("name", laws.names())
def test_json_holds_what_the_library_answers(carom, cradle, name):
    ended = carom("resolve", cradle, "--law", name, "--json")
    data, s = json.loads(ended.out), solve_impact(ImpactProblem.load(cradle), name)
    # The same arithmetic twice: equal to the last bit, and JSON keeps every digit of a double.
    assert data["velocity"] == s.velocity.tolist()
    assert data["impulse"] == s.impulse.tolist()
    assert data["audit"]["passed"] == s.audit().passed
    assert ended.code == (0 if s.audit().passed else 1), "an audit that fails is an exit code"
    assert s.audit().passed == (name != "none")


def test_restitution_replaces_that_of_the_file(carom, cradle):
    data = solution(carom("resolve", cradle, "--law", "gr", "--restitution", "0", "--json"))
    # Fully inelastic: all five go on together with the momentum of one.
    assert np.allclose(data["velocity"], 0.2, atol=1e-9)


def test_options_reach_the_law(carom, tmp_path):
    path = tmp_path / "p.json"
    ImpactProblem.chain([1, 2, 1, 3], [1, 0.3, 0, -1]).save(path)
    for order in ("index", "worst"):
        data = solution(carom("resolve", path, "--law", "gauss_seidel", "--option", f"order={order}", "--json"))
        s = solve_impact(ImpactProblem.load(path), laws.make("gauss_seidel", order=order))
        assert data["velocity"] == s.velocity.tolist()


def test_tables_show_bodies_contacts_and_audit(carom, cradle):
    ended = carom("resolve", cradle, "--law", "gr", columns=80)
    assert ended.code == 0
    for word in ("5 bodies", "4 contacts", "speed before", "speed after", "impulse", "momentum error", "pass"):
        assert word in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_long_lists_are_cut_with_a_note(carom, tmp_path):
    path = tmp_path / "long.npz"
    ImpactProblem.chain(np.ones(60), np.r_[1.0, np.zeros(59)]).save(path)
    cut = carom("resolve", path, "--law", "gauss_seidel").out
    assert "and 40 more bodies" in cut
    assert "and 39 more contacts" in cut
    whole = carom("resolve", path, "--law", "gauss_seidel", "--rows", "60").out
    assert "more bodies" not in whole
    assert len(whole.splitlines()) > len(cut.splitlines()) + 70


def test_output_file(carom, cradle, tmp_path):
    target = tmp_path / "answer.json"
    ended = carom("resolve", cradle, "--law", "lcp", "-o", target)
    assert ended.code == 0
    assert "answer.json" in ended.err.replace("\n", "")
    assert json.loads(target.read_text())["law"] == "lcp"
    assert [p.name for p in tmp_path.glob(".*.part*")] == []


def test_a_problem_from_standard_input(carom, cradle, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(cradle.read_text()))
    assert solution(carom("resolve", "-", "--law", "lcp", "--json"))["law"] == "lcp"


def test_planar_and_general_problems_print_too(carom, tmp_path):
    discs = ImpactProblem.from_discs([[0, 0], [2, 0]], [1, 1], [1, 1], [[1, 0.5], [0, 0]], friction=0.2)
    arm = ImpactProblem.from_matrices(
        [[2, 0.3, 0.1], [0.3, 1, 0.2], [0.1, 0.2, 1]], [[1, 1, 1]], [-1, 0, 0], name="a jointed arm"
    )
    for name, problem in {"discs": discs, "arm": arm}.items():
        path = tmp_path / f"{name}.json"
        problem.save(path)
        for columns in (80, 120):
            ended = carom("resolve", path, "--law", "lcp", columns=columns)
            assert ended.code == 0, ended.err
            assert max(map(len, ended.out.splitlines())) <= columns

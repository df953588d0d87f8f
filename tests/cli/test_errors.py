"""Bad input ends with exit code 2 and one line that says what is right; never with a traceback."""

from __future__ import annotations

import json

import pytest
import typer

from carom import ImpactProblem
from carom.cli.errors import run


def refused(ended, *words):
    assert ended.code == 2
    assert ended.out == ""
    assert "Traceback" not in ended.err
    # Where the kernels were not compiled yet, that may have been said before.
    lines = [line for line in ended.err.splitlines() if not line.startswith(("compiling", "compiled"))]
    assert len(lines) == 1, ended.err
    assert lines[0].startswith("carom: ")
    for word in words:
        assert word in lines[0], lines[0]


def test_missing_file(carom, tmp_path):
    refused(carom("resolve", tmp_path / "nowhere.json"), "nowhere.json", "exists")


def test_a_folder_is_not_a_problem(carom, tmp_path):
    folder = tmp_path / "folder.json"
    folder.mkdir()
    refused(carom("resolve", folder), "folder.json")


def test_broken_json(carom, tmp_path):
    path = tmp_path / "broken.json"
    path.write_text('{"chain": ')
    refused(carom("resolve", path), "broken.json", "valid JSON")


def test_json_that_is_no_problem(carom, tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"balls": 3}')
    refused(carom("resolve", path), "balls", "chain")


def test_wrong_numbers_in_the_file(carom, tmp_path):
    path = tmp_path / "light.json"
    path.write_text(json.dumps({"chain": {"masses": [1, -1], "velocities": [1, 0]}}))
    refused(carom("resolve", path), "mass", "-1", "positive")


def test_unknown_ending(carom, tmp_path):
    path = tmp_path / "problem.txt"
    path.write_text("{}")
    refused(carom("resolve", path), ".json", ".npz")


def test_unknown_law_gets_a_suggestion(carom, cradle):
    refused(carom("resolve", cradle, "--law", "grr"), "unknown law 'grr'", "did you mean 'gr'?")


def test_unknown_option_gets_a_suggestion(carom, cradle):
    ended = carom("resolve", cradle, "--law", "gauss_seidel", "--option", "sed=3")
    refused(ended, "option of law 'gauss_seidel'", "'sed'", "did you mean 'seed'?")


def test_option_without_value(carom, cradle):
    refused(carom("resolve", cradle, "--law", "gauss_seidel", "--option", "seed"), "seed", "key=value")


def test_option_of_the_wrong_type(carom, cradle):
    ended = carom("resolve", cradle, "--law", "gauss_seidel", "--option", "seed=often")
    refused(ended, "seed", "often", "whole number")


def test_option_with_a_value_that_the_law_refuses(carom, cradle):
    refused(carom("resolve", cradle, "--law", "gauss_seidel", "--option", "order=worse"), "did you mean 'worst'?")


def test_option_of_a_law_without_options(carom, cradle):
    refused(carom("resolve", cradle, "--law", "none", "--option", "seed=1"), "no option of law")


@pytest.mark.parametrize("value", ["1.5", "-0.1", "nan"])
def test_restitution_outside_its_range(carom, cradle, value):
    refused(carom("resolve", cradle, "--restitution", value), "restitution", value)


def test_restitution_that_is_no_number(carom, cradle):
    refused(carom("resolve", cradle, "--restitution", "bouncy"), "--restitution", "bouncy")


def test_friction_without_tangents(carom, cradle):
    refused(carom("resolve", cradle, "--friction", "0.3"), "friction", "tangent")


def test_unknown_restitution_model(carom, cradle):
    ended = carom("resolve", cradle, "--restitution", "0.5", "--restitution-model", "energetik")
    refused(ended, "energetik", "energetic")


def test_unknown_friction_model(carom, tmp_path):
    path = tmp_path / "discs.json"
    ImpactProblem.from_discs([[0, 0], [2, 0]], [1, 1], [1, 1], [[1, 0.5], [0, 0]], friction=0.2).save(path)
    refused(carom("resolve", path, "--law", "lcp", "--friction-model", "cones"), "cones", "did you mean 'cone'?")


def test_output_with_another_ending(carom, cradle, tmp_path):
    refused(carom("resolve", cradle, "-o", tmp_path / "answer.csv"), "answer.csv", ".json")


def test_output_into_a_missing_folder(carom, cradle, tmp_path):
    ended = carom("resolve", cradle, "--law", "none", "-o", tmp_path / "no" / "answer.json")
    refused(ended, "answer.json", "a folder that exists")


def test_unknown_command(carom):
    refused(carom("resolv"), "resolv")


def test_unknown_flag(carom):
    refused(carom("laws", "--loud"), "--loud")


def test_missing_argument(carom):
    refused(carom("resolve"), "FILE")


def test_interrupt(capsys):
    app = typer.Typer()

    @app.command()
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert run(app, []) == 130
    assert capsys.readouterr().err.strip() == "carom: interrupted"


def test_a_fault_of_ours_keeps_its_traceback():
    def broken(**_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(broken, [])


def test_exit_code_of_a_command_passes_through():
    app = typer.Typer()

    @app.command()
    def three() -> None:
        raise typer.Exit(3)

    assert run(app, []) == 3

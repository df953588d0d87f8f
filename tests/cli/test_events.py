"""`carom events`: what it lists and writes, and one line for bad input."""

from __future__ import annotations

import csv
import json

import pytest

import carom
from carom.cli.errors import run as run_command
from carom.cli.main import app


@pytest.fixture(scope="module")
def cradle(tmp_path_factory):
    path = tmp_path_factory.mktemp("events") / "run.h5"
    carom.simulate("newtons_cradle", duration=2.0, output=path).close()
    return path


def call(*arguments) -> int:
    return run_command(app, ["events", *(str(a) for a in arguments)])


def test_lists_and_tables(cradle, tmp_path, capsys):
    with carom.Trajectory(cradle) as run:
        count = len(run.events)
    assert call(cradle, "--limit", 1) == 0
    assert f"{count} events of {count}, {count - 1} not shown" in capsys.readouterr().out
    files = tmp_path / "e.csv", tmp_path / "e.parquet"
    assert call(cradle, "--csv", files[0], "--parquet", files[1], "--where", "impulse > 0", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["selected"] == count and facts["unlisted"] == 0 and len(facts["rows"]) == count
    with files[0].open() as file:
        assert [float(row["impulse"]) for row in csv.DictReader(file)] == [row["impulse"] for row in facts["rows"]]
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(files[1]).num_rows == count


def test_bad_input_gets_one_line(cradle, tmp_path, capsys):
    (tmp_path / "there.csv").write_text("mine")
    carom.simulate("newtons_cradle", duration=0.1, output=tmp_path / "none.h5", events="none").close()
    for arguments, words in (
        ((cradle, "--where", "foo > 1"), "unknown column 'foo'"),
        ((cradle, "--where", "time >"), "where: got time >"),
        ((cradle, "--limit", -1), "--limit"),
        ((cradle, "--csv", tmp_path / "there.csv"), "--overwrite"),
        ((cradle, "--csv", tmp_path / "no" / "x.csv"), "folder that exists"),
        ((tmp_path / "none.h5",), "a run with events"),
        ((tmp_path / "missing.h5",), "no such file"),
    ):
        assert call(*arguments) == 2, arguments
        text = capsys.readouterr().err
        assert words in text and text.count("\n") == 1, text
    assert (tmp_path / "there.csv").read_text() == "mine"

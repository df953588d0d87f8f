"""`carom run --resume RUN.h5 --duration T` and `carom run --from RUN.h5 --at T`."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def made(carom, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = carom(
        "run", "energy_drum", "--set", "side=3", "--duration", "0.5", "-o", "run.h5", "--frame-rate", "10", "-q"
    )
    assert done.code == 0, done.err
    return tmp_path / "run.h5"


def test_a_run_is_extended(carom, made):
    longer = json.loads(carom("run", "--resume", made, "--duration", "0.8", "--json").out)
    whole = json.loads(
        carom("run", "energy_drum", "--set", "side=3", "--duration", "0.8", "-o", "whole.h5", "--json").out
    )
    assert longer["resumed_at"] == 50 and longer["steps"] == 30 and longer["finished"]
    assert longer["state_hash"] == whole["state_hash"]
    refused = carom("run", "--resume", made, "--duration", "0.8")
    assert refused.code == 2 and "more than 0.8, which is done" in refused.err


def test_a_run_that_the_clock_stops_says_how_to_continue(carom, made):
    stopped = carom("run", "--resume", made, "--duration", "2", "--seconds", "1e-9", "-q")
    assert stopped.code == 0 and "carom run --resume" in stopped.err and "everything is saved" in stopped.err
    assert json.loads(carom("run", "--resume", made, "--json").out)["finished"]


def test_a_branch_prints_where_it_starts(carom, made):
    done = carom("run", "--from", made, "--at", "0.33", "--law", "qce", "--tolerance", "1e-4", "-o", "new.h5", "--json")
    assert done.code == 0, done.err
    told = " ".join(done.err.split())  # a long path breaks the line
    assert "starts from" in told and "at time 0.3, step 30" in told
    facts = json.loads(done.out)
    assert facts["law"] == "qce" and facts["settings"]["tolerance"] == 1e-4 and facts["steps"] == 20
    assert facts["time"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--from", "run.h5", "--at", "3.5"), "at: got 3.5; expected a time within the run, from 0 to 0.5"),
        (("--from", "run.h5", "--at", "0.2", "--set", "sides=3"), "did you mean 'side'"),
        (("--from", "run.h5", "--at", "0.2", "--set", "side=4"), "16 bodies"),
        (("energy_drum", "--from", "run.h5"), "the file alone"),
        (("energy_drum", "--at", "1"), "--from RUN.h5 as well"),
        (("--from", "run.h5", "--resume", "run.h5"), "--from as well"),
        (("--from", "none.h5", "--at", "1"), "there is no such file"),
        (("--from", "run.h5", "--at", "0.2", "-o", "new.txt"), "a name that ends in .h5"),
    ],
)
def test_what_is_refused(carom, made, arguments, text):
    files = sorted(path.name for path in made.parent.iterdir())
    ended = carom("run", *arguments)
    assert ended.code == 2 and text in ended.err.replace("\n", " ")
    assert sorted(path.name for path in made.parent.iterdir()) == files

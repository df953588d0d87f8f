"""`carom info run.h5`: one screen, one JSON object, one line for what cannot be read."""

from __future__ import annotations

import json

import pytest
import typer
from tests.trajectory import small

from carom import ProblemError
from carom.analysis.runs import energy_scale
from carom.cli.errors import run as run_command
from carom.cli.info import info
from carom.stepping.report import PHASES
from carom.trajectory import Trajectory

app = typer.Typer()
app.command()(info)


def call(*arguments) -> int:
    return run_command(app, [str(a) for a in arguments])


def test_the_screen_of_a_finished_run(tmp_path, capsys):
    path = tmp_path / "run.h5"
    with small.whole_run(path) as run:
        digest = run.state_hash
    assert call(path) == 0
    out = capsys.readouterr().out
    for text in ("small", "5 discs and 2 polygons", "2 boundaries", "gr", "tolerance=1e-09", "synchronous", "finished"):
        assert text in out, text
    assert digest in out
    assert "0.4 in 40 steps" in out
    assert "21, one every 2 steps, with impulses" in out
    assert "impulses    of every step" in out and "events      60 impacts" in out
    assert "--resume" not in out
    assert all(len(line.rstrip()) <= 80 for line in out.splitlines()), "it fits a plain terminal"


def test_a_stopped_run_says_how_to_go_on(tmp_path, capsys):
    path = tmp_path / "run.h5"
    recorder, fake = small.start(path)
    small.go(recorder, fake, 23)
    assert call(path) == 0
    running = capsys.readouterr().out
    assert "still running" in running and "--resume" not in running
    recorder.abort()
    assert call(path) == 0
    out = capsys.readouterr().out
    assert "stopped" in out and "50 %" in out and "0.2 of 0.4" in out
    assert "carom run --resume" in out and str(path) in out.replace("\n", "")


def test_json_agrees_with_the_trajectory(tmp_path, capsys):
    path = tmp_path / "run.h5"
    small.whole_run(path).close()
    assert call(path, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    with Trajectory(path) as run:
        steps = run.steps[1:]
        assert facts["state_hash"] == run.state_hash
        assert facts["frames"] == len(run) and facts["finished"] is True and facts["running"] is False
        assert facts["statistics"]["contacts"]["mean"] == pytest.approx(steps["contacts"].mean(), rel=1e-15)
        assert facts["statistics"]["contacts"]["max"] == steps["contacts"].max()
        assert facts["statistics"]["statuses"] == {
            "resolved": 40,
            "finished_inelastically": 0,
            "infeasible": 0,
            "not_converged": 0,
        }
        assert facts["energy"]["last"] == run.energy[-1]
        change = (run.energy[-1] - run.energy[0]) / energy_scale(run)
        assert facts["energy"]["change"] == pytest.approx(change, rel=1e-12)
        assert facts["seconds"]["impact"] == pytest.approx(40e-3, rel=1e-12)  # the row of the start is no step
    assert facts["settings"]["law_options"] == {"max_iterations": 0, "tolerance": 1e-9}
    assert facts["scene"] == {"name": "small", "bodies": 7, "discs": 5, "polygons": 2, "held": 0, "boundaries": 2}


def test_a_run_that_has_not_made_a_step(tmp_path, capsys):
    recorder, _ = small.start(tmp_path / "run.h5")
    recorder.abort()
    assert call(tmp_path / "run.h5") == 0
    assert "0 of 40 steps" in capsys.readouterr().out
    assert call(tmp_path / "run.h5", "--json") == 0
    assert json.loads(capsys.readouterr().out)["statistics"]["contacts"] is None


def test_what_is_no_trajectory_gets_one_line(tmp_path, capsys):
    (tmp_path / "run.h5").write_text("nothing")
    assert call(tmp_path / "run.h5") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1 and "not an HDF5 file" in captured.err
    with pytest.raises(ProblemError):
        Trajectory(tmp_path / "run.h5")


def test_names_with_brackets_are_shown_as_they_are(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recorder, _ = small.start("run[bold].h5")
    recorder.abort()
    assert call("run[bold].h5") == 0
    assert capsys.readouterr().out.count("run[bold].h5") == 2


def test_phases_have_mean_maximum_and_minimum_per_step(tmp_path, capsys):
    path = tmp_path / "run.h5"
    small.whole_run(path).close()
    assert call(path, "--json") == 0
    found = json.loads(capsys.readouterr().out)["seconds_per_step"]
    with Trajectory(path) as run:
        steps = run.steps[1:]
    whole = 0.0
    for phase in PHASES:
        taken = steps[f"seconds_{phase}"]
        assert found[phase] == {"mean": taken.mean(), "max": taken.max(), "min": taken.min()}
        whole += taken
    assert found["total"]["max"] == whole.max() and found["total"]["mean"] == pytest.approx(whole.mean(), rel=1e-12)
    assert call(path) == 0
    out = capsys.readouterr().out
    assert "mean" in out and "maximum" in out and "minimum" in out

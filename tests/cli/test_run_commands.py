"""`carom scenes`, `run`, `check`, `compare`, `plot`: what they write, print and refuse."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.trajectory import small

import carom as package
from carom.analysis import runs
from carom.scenes import SCENES

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(package.__file__))}
SMALL = ("pool_break", "--set", "rows=3", "--duration", "1")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def made(carom, tmp_path) -> Path:
    """A short pool break under gr."""
    assert carom("run", *SMALL, "-o", "made.h5", "--quiet").code == 0
    return tmp_path / "made.h5"


def remarks_of(ended) -> list[str]:
    """Where kernels were not compiled yet, that may have been said before."""
    return [line for line in ended.err.splitlines() if not line.startswith(("compiling", "compiled"))]


def refused(ended, *words):
    assert ended.code == 2 and ended.out == "" and "Traceback" not in ended.err, (ended.out, ended.err)
    lines = remarks_of(ended)
    assert len(lines) == 1 and lines[0].startswith("carom: "), ended.err
    for word in words:
        assert word in lines[0], lines[0]


# ---- scenes


def test_scenes_lists_all_with_their_sizes(carom):
    shown = carom("scenes", columns=80)
    assert shown.code == 0 and all(len(line) <= 80 for line in shown.out.splitlines())
    for name, entry in SCENES.items():
        row = next(line for line in shown.out.splitlines() if line.split()[:1] == [name])
        assert row.split()[-1] == f"{entry.size:,}"


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_shows_its_parameters(carom, name):
    shown = carom("scenes", name, columns=80)
    assert shown.code == 0 and all(len(line) <= 80 for line in shown.out.splitlines())
    for key, value in SCENES[name].parameters.items():
        words = [key, *str(value).split()]
        assert any(line.split()[: len(words)] == words for line in shown.out.splitlines()), key
    assert f"carom run {name}" in shown.out


def test_scenes_as_json(carom):
    found = json.loads(carom("scenes", "--json").out)
    assert set(found) == set(SCENES)
    splash = found["splash"]
    assert splash["bodies"] == 225 and splash["parameters"]["side"] == 15
    assert splash["duration"] == package.scenes.splash().duration
    refused(carom("scenes", "splosh"), "unknown scene 'splosh'", "did you mean 'splash'?")


# ---- run


def test_a_run_writes_one_file_and_tells_about_it(carom, tmp_path):
    ended = carom("run", *SMALL, columns=80)
    assert ended.code == 0 and [p.name for p in tmp_path.iterdir()] == ["pool_break-gr.h5"]
    assert all(len(line) <= 80 for line in ended.out.splitlines())
    with package.Trajectory("pool_break-gr.h5") as run:
        assert run.finished and run.count == 7 and run.scene.parameters["rows"] == 3
        contacts = f"at most {run.steps['contacts'].max():,}"
        for text in ("7 bodies", "1 in 100 steps of 0.01", contacts, "100 steps resolved", run.state_hash, "file"):
            assert text in ended.out, ended.out


def test_json_has_the_numbers(carom):
    ended = carom("run", *SMALL, "--json", "--quiet")
    facts = json.loads(ended.out)
    assert remarks_of(ended) == []
    with package.Trajectory(facts["file"]) as run:
        assert facts["contacts"]["mean"] == pytest.approx(run.steps["contacts"][1:].mean())
        assert facts["iterations"]["max"] == run.steps["iterations"].max()
        assert facts["energy_drift"] == pytest.approx(np.abs(runs.energy_drift(run)).max())
        assert facts["state_hash"] == run.state_hash and facts["bytes"] == Path(facts["file"]).stat().st_size
        assert 0.0 < sum(facts["seconds"].values()) <= facts["wall_seconds"]


def test_quiet_is_quiet(carom):
    ended = carom("run", *SMALL, "--quiet")
    assert ended.code == 0 and ended.out == "" and remarks_of(ended) == []


def test_nothing_is_written_over_unasked(carom, made):
    before = made.read_bytes()
    refused(carom("run", *SMALL, "-o", "made.h5"), "made.h5", "--overwrite")
    assert made.read_bytes() == before
    assert carom("run", *SMALL, "-o", "made.h5", "--overwrite", "--law", "lcp", "-q").code == 0
    with package.Trajectory(made) as run:
        assert run.law == "lcp"


def test_default_names_count_up(carom, tmp_path):
    for _ in range(3):
        assert carom("run", *SMALL, "-q").code == 0
    names = {"pool_break-gr.h5", "pool_break-gr-2.h5", "pool_break-gr-3.h5"}
    assert {p.name for p in tmp_path.iterdir()} == names
    assert carom("run", *SMALL, "-q", "--overwrite").code == 0
    assert {p.name for p in tmp_path.iterdir()} == names


def test_every_setting_reaches_the_run(carom):
    options = (
        *("--law", "gauss_seidel", "--law-option", "order=worst", "--law-option", "seed=3", "--step", "0.02"),
        *("--stepper", "drift_safe", "--frame-rate", "10", "--restitution-model", "newton", "--impulses"),
        *("--threads", "1", "--set", "restitution=0.5", "--set", "speed=3"),
    )
    assert carom("run", *SMALL, *options, "-o", "all.h5", "-q").code == 0
    with package.Trajectory("all.h5") as run:
        s = run.settings
        assert dict(s.law_options)["order"] == "worst" and dict(s.law_options)["seed"] == 3
        assert (s.stepper, s.step, s.steps, s.frame_every, s.impulses) == ("drift_safe", 0.02, 50, 5, True)
        assert s.restitution_model == "newton" and run.impulses(-1) is not None
        assert run.scene.materials["default"].restitution == 0.5 and run.frame(0).velocity[0, 0] == 3.0


def test_a_scene_file_runs(carom, tmp_path):
    text = (
        '[scene]\nname = "two/three bodies"\n[[bodies]]\nradius = 1\nposition = [[0, 0], [3, 0]]\nvelocity = [1, 0]\n'
    )
    Path("mine.toml").write_text(text)
    assert carom("run", "mine.toml", "--duration", "0.1", "-q").code == 0
    assert {p.name for p in tmp_path.iterdir()} == {"mine.toml", "two_three_bodies-gr.h5"}


def test_what_a_file_asks_in_vain_is_one_line(carom, monkeypatch):
    def read(path, changes=()):
        warnings.warn("mine.xml: not used by Carom: camera", stacklevel=2)
        return package.scenes.pool_break(rows=2)

    monkeypatch.setattr("carom.scene.file.load_scene", read)
    ended = carom("run", "mine.xml", "--duration", "0.1", "-q")
    assert ended.code == 0 and remarks_of(ended) == ["warning: mine.xml: not used by Carom: camera"]


def test_one_and_two_threads_give_the_same_bits(carom):
    found = [
        json.loads(carom("run", "drop", "--set", "side=30", "--duration", "0.3", "--threads", n, "-q", "--json").out)
        for n in (1, 2)
    ]
    assert found[0]["state_hash"] == found[1]["state_hash"]


BAD = [
    ((), "SCENE|FILE", "carom scenes"),
    (("pool_brake",), "unknown scene 'pool_brake'", "did you mean 'pool_break'?"),
    (("nowhere.toml",), "nowhere.toml", "exists"),
    (("scene.json",), "scene.json"),
    (("pool_break", "--law", "grr"), "unknown law 'grr'", "did you mean 'gr'?"),
    (("pool_break", "--law-option", "tolerence=1"), "did you mean 'tolerance'?"),
    (("pool_break", "--law-option", "tolerance"), "--law-option", "key=value"),
    (("pool_break", "--law", "none", "--law-option", "a=1"), "no option of law 'none'"),
    (("pool_break", "--set", "row=4"), "did you mean 'rows'?"),
    (("pool_break", "--set", "rows"), "--set", "key=value"),
    (("pool_break", "--set", "rows=2.5"), "--set rows", "2.5", "whole number"),
    (("pool_break", "--set", "rows=many"), "--set rows", "many", "whole number"),
    (("pool_break", "--set", "rows=Infinity"), "--set rows", "whole number"),
    (("pool_break", "--set", "speed=fast"), "--set speed", "a number"),
    (("pool_break", "--set", "speed=NaN"), "speed", "finite"),
    (("pool_break", "--set", "rows=0"), "rows", "from 1 up"),
    (("pool_break", "--set", "rows=2", "--set", "rows=3"), "rows", "once"),
    (("pool_break", "--duration", "-1"), "duration", "above 0"),
    (("pool_break", "--duration", "nan"), "duration", "above 0"),
    (("pool_break", "--duration", "soon"), "--duration", "soon"),
    (("pool_break", "--duration", "1e-9"), "duration", "one step"),
    (("pool_break", "--step", "0"), "step", "above 0"),
    (("pool_break", "--frame-rate", "0"), "frame_rate", "above 0"),
    (("pool_break", "--stepper", "synchronus"), "did you mean 'synchronous'?"),
    (("pool_break", "--restitution-model", "energetik"), "energetic"),
    (("pool_break", "--friction-model", "cones"), "did you mean 'cone'?"),
    (("pool_break", "--threads", "0"), "threads"),
    (("pool_break", "--threads", "two"), "--threads", "two"),
    (("pool_break", "--threads", "100000"), "threads"),
    (("pool_break", "-o", "run.txt"), "run.txt", ".h5"),
    (("pool_break", "-o", "no/run.h5"), "no", "folder"),
    (("pool_break", "--resume", "x.h5"), "--resume", "SCENE"),
    (("--resume", "x.h5", "--law", "gr"), "--resume", "--law"),
    (("--resume", "nowhere.h5"), "nowhere.h5"),
]


@pytest.mark.parametrize(("arguments", "words"), [(b[0], b[1:]) for b in BAD], ids=[" ".join(b[0]) or "-" for b in BAD])
def test_bad_input_is_one_line_and_touches_nothing(carom, tmp_path, arguments, words):
    refused(carom("run", *arguments), *words)
    assert list(tmp_path.iterdir()) == []


def test_resume_refuses_what_is_finished_or_cut_off(carom, made):
    refused(carom("run", "--resume", made), "finished")
    whole = made.read_bytes()
    made.write_bytes(whole[: len(whole) // 2])
    refused(carom("run", "--resume", made), "cut off")
    assert made.read_bytes() == whole[: len(whole) // 2]


# `carom`, which receives SIGINT at its first frame from step 4,000 on: independent of the speed of the machine.
INTERRUPTED = """
import os, signal, sys
from carom.cli.main import main
from carom.trajectory import Recorder

frame = Recorder.frame

def interrupt(self, state):
    frame(self, state)
    if state.step >= 1000:
        os.kill(os.getpid(), signal.SIGINT)
        Recorder.frame = frame

signal.signal(signal.SIGINT, signal.default_int_handler)
Recorder.frame = interrupt
main(sys.argv[1:])
"""


@pytest.mark.long  # tests of the library and of the recorder state each half of it
@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_interrupted_and_resumed_gives_the_same_bits(carom, tmp_path):
    """Ctrl-C in the middle: exit 130, a file that opens, and `--resume` ends in the state of an unbroken run."""
    order = ("energy_drum", "--set", "side=4", "--duration", "30")
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, "run", *order, "-o", "stopped.h5"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, err = child.communicate()
    assert child.returncode == 130 and out == "" and "Traceback" not in err, err
    assert "carom run --resume stopped.h5" in err
    with package.Trajectory("stopped.h5") as run:
        assert not run.finished and 0 < run.last.step < run.settings.steps
        stopped = run.last.step
    resumed = json.loads(carom("run", "--resume", "stopped.h5", "-q", "--json").out)
    whole = json.loads(carom("run", *order, "-o", "whole.h5", "-q", "--json").out)
    assert resumed["resumed_at"] == stopped and resumed["steps"] == 3_000 - stopped
    assert resumed["state_hash"] == whole["state_hash"]
    with package.Trajectory("stopped.h5") as a, package.Trajectory("whole.h5") as b:
        assert np.array_equal(a.positions, b.positions) and np.array_equal(a.steps["kinetic"], b.steps["kinetic"])


# ---- check


def test_check_passes_and_fails(carom, made):
    good = carom("check", made, columns=80)
    assert good.code == 0 and "FAIL" not in good.out and "all checks pass" in good.out
    assert all(len(line) <= 80 for line in good.out.splitlines())
    bad = carom("check", made, "--symmetry", "1e-30", "--overlap", "0")
    assert bad.code == 1 and bad.out.splitlines()[-1].startswith("FAIL: ") and "symmetry" in bad.out.splitlines()[-1]


def test_check_as_json(carom, made):
    ended = carom("check", made, "--json", "--energy", "1e-30")
    found = json.loads(ended.out)
    with package.Trajectory(made) as run:
        assert found["checks"]["symmetry"]["value"] == pytest.approx(runs.symmetry_error(run).max())
        assert found["checks"]["energy"]["bound"] == 1e-30
        failed = np.abs(runs.energy_drift(run)).max() > 1e-30
    assert ended.code == int(failed) and found["passed"] is not failed


def test_check_refuses(carom, tmp_path, made):
    refused(carom("check", made, "--energy", "-1"), "energy", "from 0 up")
    refused(carom("check", made, "--energy", "small"), "--energy", "small")
    refused(carom("check", "nowhere.h5"), "nowhere.h5")
    Path("text.h5").write_text("not a run")
    refused(carom("check", "text.h5"), "text.h5", "HDF5")


def test_check_says_why_it_does_not_check(carom):
    assert carom("run", "maxwells_demon", "--set", "side=2", "--set", "width=8", "--duration", "0.5", "-q").code == 0
    shown = carom("check", "maxwells_demon-gr.h5")
    assert shown.code == 0
    for text in ("moving boundaries or bodies do work", "not conserved here: gravity acts", "no registered symmetry"):
        assert text in shown.out


# ---- plot


def table_of(path) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_the_overview_is_four_files(carom, made, tmp_path):
    ended = carom("plot", made, "-o", "figures")
    assert ended.code == 0
    names = [f"made-overview.{ending}" for ending in ("png", "svg", "pdf", "csv")]
    assert sorted(p.name for p in (tmp_path / "figures").iterdir()) == sorted(names)
    assert [Path(line).name for line in ended.out.splitlines()] == names
    assert (tmp_path / "figures" / names[0]).read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("blank_pictures")
def test_plotted_numbers_are_those_of_the_analysis(carom, made):
    assert carom("plot", made, "--what", "symmetry,energy,state", "--format", "svg").code == 0
    with package.Trajectory(made) as run:
        rows = table_of("made-symmetry.csv")
        assert [float(r["value"]) for r in rows] == pytest.approx(runs.symmetry_error(run), rel=1e-9)
        kinetic = [float(r["value"]) for r in table_of("made-energy.csv") if r["curve"] == "kinetic"]
        assert kinetic == pytest.approx(run.steps["kinetic"])
        x = [float(r["x (length units)"]) for r in table_of("made-state.csv")]
        assert x == pytest.approx(run.positions[-1][:, 0])
    assert carom("plot", made, "--what", "state", "--time", "0.5", "--format", "svg").code == 0
    with package.Trajectory(made) as run:
        middle = run.positions[int(np.argmin(np.abs(run.time - 0.5)))][:, 0]
    assert [float(r["x (length units)"]) for r in table_of("made-state.csv")] == pytest.approx(middle)


@pytest.mark.long  # test_runs.py of analysis draws every panel
def test_all_plots_of_a_run_with_polygons_and_friction(carom, tmp_path):
    assert carom("run", "box_stack", "--set", "boxes=3", "--duration", "0.3", "-q").code == 0
    ended = carom("plot", "box_stack-gr.h5", "--what", "all", "--format", "svg", "-o", "figures")
    assert ended.code == 0 and len(list((tmp_path / "figures").glob("*.svg"))) == 15


def test_plot_refuses(carom, tmp_path, made):
    before = sorted(p.name for p in tmp_path.iterdir())
    refused(carom("plot", made, "--what", "energi"), "did you mean 'energy'?")
    refused(carom("plot", made, "--what", ","), "--what")
    refused(carom("plot", made, "--time", "5", "--what", "state"), "--time", "from 0 to 1")
    refused(carom("plot", made, "-o", made), "--output", "folder")
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert carom("run", "energy_drum", "--set", "side=2", "--duration", "0.1", "-o", "gas.h5", "-q").code == 0
    refused(carom("plot", "gas.h5", "--what", "symmetry"), "no symmetry")


# ---- compare


@pytest.mark.usefixtures("blank_pictures")
def test_compare_is_a_table_and_a_figure(carom, tmp_path):
    ended = carom("compare", *SMALL, "--laws", "gr,gauss_seidel,jacobi", "-o", "out", "-q", columns=80)
    assert ended.code == 0 and all(len(line) <= 80 for line in ended.out.splitlines())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]  # the runs themselves are not kept
    names = ["pool_break-compare-energy.csv", *(f"pool_break-compare.{e}" for e in ("csv", "pdf", "png", "svg"))]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == names
    rows = {row["law"]: row for row in table_of("out/pool_break-compare.csv")}
    for law in ("gr", "gauss_seidel", "jacobi"):
        run = package.simulate(package.scenes.pool_break(rows=3), law, duration=1.0)
        assert float(rows[law]["spread"]) == pytest.approx(runs.spread(run)[-1])
        assert float(rows[law]["symmetry_error"]) == pytest.approx(runs.symmetry_error(run).max(), rel=1e-9, abs=1e-14)
        assert float(rows[law]["contacts"]) == pytest.approx(run.steps["contacts"][1:].mean())
        assert law in ended.out
    # All in the kinetic energy of the cue ball, 25 / 2, which is the largest that the conserving laws have.
    assert float(rows["gr"]["energy_change_most"]) < 1e-12 and float(rows["jacobi"]["energy_change_most"]) > 0.1


@pytest.mark.usefixtures("blank_pictures")
def test_compare_can_keep_the_runs(carom, tmp_path):
    order = ("compare", *SMALL, "--laws", "gr,lcp", "-o", "out", "--keep", "-q", "--json")
    found = json.loads(carom(*order).out)
    assert [row["law"] for row in found["laws"]] == ["gr", "lcp"]
    with package.Trajectory("out/pool_break-lcp.h5") as run:
        assert run.finished and run.law == "lcp"
    refused(carom(*order), "pool_break-gr.h5", "not taken")


def test_compare_refuses_before_it_runs(carom, tmp_path):
    refused(carom("compare", "pool_break", "--laws", "gr,grr"), "unknown law 'grr'")
    refused(carom("compare", "pool_break", "--laws", "gr,gr"), "once")
    refused(carom("compare", "pool_break", "--laws", ","), "--laws")
    refused(carom("compare", "pool_break", "--duration", "-3"), "duration")
    assert not list(tmp_path.iterdir())


# ---- tolerance


def test_the_tolerance_of_a_run_and_its_residual_are_shown(carom):
    ended = carom("run", *SMALL, "-o", "run.h5", "--tolerance", "exact")
    assert ended.code == 0, ended.err
    line = next(line for line in ended.out.splitlines() if line.startswith("tolerance"))
    assert "1e-10; largest residual" in line and line.rstrip().endswith("no step missed it")
    told = next(line for line in carom("info", "run.h5").out.splitlines() if line.startswith("tolerance"))
    assert told.split() == line.split()
    facts = json.loads(carom("info", "run.h5", "--json").out)
    assert facts["settings"]["tolerance"] == 1e-10 and facts["statistics"]["missed"] == 0
    checks = json.loads(carom("check", "run.h5", "--json").out)["checks"]
    assert checks["residual"]["passed"] and checks["residual"]["bound"] == 1e-10


@pytest.mark.parametrize("bad", ["0", "0.5", "-0.001", "nan", "tight", ""])
def test_what_is_no_tolerance_is_refused(carom, tmp_path, bad):
    wanted = 'a number above 0 up to 0.1, or "exact"'
    refused(carom("run", *SMALL, f"--tolerance={bad}"), "--tolerance", bad, wanted)
    refused(carom("compare", *SMALL, f"--tolerance={bad}"), "--tolerance", bad, wanted)
    assert not list(tmp_path.iterdir())


def test_check_fails_if_a_step_missed_its_tolerance(carom, tmp_path):
    recorder, fake = small.start(tmp_path / "run.h5")
    fake.residual = {9: 0.02}
    small.go(recorder, fake, small.STEPS)
    recorder.finish(fake.state, fake.memory).close()
    ended = carom("check", "run.h5", columns=200)
    assert ended.code == 1 and "residual" in ended.out.splitlines()[-1]
    assert "1 of 40 steps missed" in ended.out and "step 9 at time 0.09 with residual 2.0e-02" in ended.out
    assert "1 step missed it" in carom("info", "run.h5").out


def test_a_tolerance_cannot_change_when_a_run_is_resumed(carom, made):
    refused(carom("run", "--resume", made, "--tolerance", "1e-3"), "--resume", "--tolerance as well")


def test_run_and_info_agree_on_steps_per_second(carom):
    told = next(line for line in carom("run", *SMALL, "-o", "rate.h5").out.splitlines() if line.startswith("took"))
    described = next(line for line in carom("info", "rate.h5").out.splitlines() if line.startswith("time"))
    rates = [re.search(r"steps [\d.]+ s, ([\d,]+) per second", line).group(1) for line in (told, described)]
    assert rates[0] == rates[1]

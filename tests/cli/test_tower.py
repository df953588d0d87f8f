"""`carom tower ...`: what the commands print, write and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from carom import Trajectory
from carom.towers import Tower
from carom.towers.named import NAMED, PATTERNS, named_tower

COMMANDS = ("list", "check", "draw", "collapse", "overhang", "new")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def remarks_of(ended) -> list[str]:
    """Where kernels were not compiled yet, that may have been said before."""
    return [line for line in ended.err.splitlines() if not line.startswith(("compiling", "compiled"))]


def refused(ended, *words):
    assert ended.code == 2 and ended.out == "" and "Traceback" not in ended.err, (ended.out, ended.err)
    lines = remarks_of(ended)
    assert len(lines) == 1 and lines[0].startswith("carom: "), ended.err
    for word in words:
        assert word in lines[0], lines[0]


def fits(ended, columns: int = 80) -> bool:
    return all(len(line) <= columns for line in ended.out.splitlines())


# ---- list, new


def test_help_names_every_command(carom):
    shown = carom("tower", columns=80)
    assert shown.code == 0 and all(f" {name} " in shown.out for name in COMMANDS)
    assert " tower " in carom("--help").out


def test_list_has_every_name_with_its_line(carom):
    shown = carom("tower", "list", columns=100)
    assert shown.code == 0 and fits(shown, 100)
    for name, line in [*((f.written, f.line) for f in PATTERNS), *((n, entry.line) for n, entry in NAMED.items())]:
        assert any(text.split()[:1] == [name] and line in text for text in shown.out.splitlines()), name
    assert set(json.loads(carom("tower", "list", "--json").out)) == {*NAMED, *(f.written for f in PATTERNS)}


def test_a_new_file_is_a_tower_that_stands(carom):
    made = carom("tower", "new", "mine.toml")
    assert made.code == 0 and "carom tower check mine.toml" in made.err
    text = Path("mine.toml").read_text()
    assert carom("tower", "check", "mine.toml", "--expect", "stable").code == 0
    assert text.count("[[brick]]") == Tower.load("mine.toml").count and Tower.load("mine.toml").name == "mine"
    refused(carom("tower", "new", "mine.toml"), "mine.toml", "--overwrite")
    assert Path("mine.toml").read_text() == text
    assert carom("tower", "new", "mine.toml", "wall-3x3", "--overwrite").code == 0
    assert Tower.load("mine.toml").count == 8
    refused(carom("tower", "new", "mine.txt"), ".toml")
    refused(carom("tower", "new", "no/mine.toml"), "folder")


# ---- check


def test_a_stable_tower_shows_its_forces(carom):
    shown = carom("tower", "check", "harmonic-4", columns=80)
    assert shown.code == 0 and fits(shown)
    assert "harmonic stack of 4: 5 bricks (1 fixed)" in shown.out and "\nstable, certificate" in shown.out
    assert "overhang 1.0417" in shown.out and "4 of 8 contacts carry" in shown.out
    largest = named_tower("harmonic-4").stability().forces.max()
    first = next(line for line in shown.out.splitlines() if "0 table" in line)
    assert float(first.split()[-1]) == pytest.approx(largest, abs=1e-4)


def test_an_unstable_tower_shows_the_motion(carom):
    shown = carom("tower", "check", "leaning", columns=80)
    assert shown.code == 0 and fits(shown) and "\nunstable, certificate" in shown.out
    assert "5 of 6 bricks move, no contact closes" in shown.out and "carom tower collapse leaning" in shown.err


def test_expect_decides_the_exit_code(carom):
    for name, verdict in (("wall-2x2", "stable"), ("leaning", "unstable")):
        other = {"stable": "unstable", "unstable": "stable"}[verdict]
        assert carom("tower", "check", name).code == 0
        assert carom("tower", "check", name, "--expect", verdict).code == 0
        assert carom("tower", "check", name, "--expect", other).code == 1
    refused(carom("tower", "check", "wall-2x2", "--expect", "standing"), "--expect", "stable or unstable")


def test_exact_verdicts_say_so(carom):
    for name in ("counterweight", "leaning"):
        assert "verified in fractions" in carom("tower", "check", name, "--exact").out
        assert "verified in fractions" not in carom("tower", "check", name).out


def test_check_as_json(carom):
    found = json.loads(carom("tower", "check", "truss", "--json", "--mass-model", "corners").out)
    tower = named_tower("truss").with_(mass_model="corners")
    verdict = tower.stability()
    assert found["stable"] and found["proven"] and found["mass_model"] == "corners" and found["bricks"] == 5
    assert [c["force"] for c in found["forces"]] == pytest.approx(verdict.forces.tolist(), rel=1e-12)
    assert np.allclose(found["pin_forces"], verdict.pin_forces)
    falls = json.loads(carom("tower", "check", "chain", "--json").out)
    assert not falls["stable"] and falls["power"] > 0 and np.shape(falls["motion"]) == (7, 3) and "forces" not in falls


def test_margin_names_a_spot_and_a_shift(carom):
    """Two bricks straight on each other: the upper one can be moved by half its length, and no further."""
    Tower.stack([0, 0]).save("two.toml")
    found = json.loads(carom("tower", "check", "two.toml", "--margin", "--json").out)["margin"]
    assert found["shift"]["bricks"] == [1] and found["shift"]["value"] == pytest.approx(0.5, abs=1e-6)
    assert found["weakest"]["limit"] in ("falls", "none")
    shown = carom("tower", "check", "two.toml", "--margin").out
    assert shown.count("margin: ") == 2
    assert json.loads(carom("tower", "check", "leaning", "--margin", "--json").out)["margin"] is None


def test_check_draws(carom, tmp_path):
    for name, word in (("wall-2x2", "brick weights"), ("leaning", "acceleration")):
        ended = carom("tower", "check", name, "-o", f"{name}.svg")
        assert ended.code == 0 and f"wrote {name}.svg" in ended.err and word in Path(f"{name}.svg").read_text()
    assert {p.name for p in tmp_path.iterdir()} == {"wall-2x2.svg", "leaning.svg"}


def test_long_lists_are_cut_with_a_note(carom):
    shown = carom("tower", "check", "wall-5x5", "--rows", "3", columns=80)
    assert fits(shown) and "more contacts: --rows" in shown.out and len(shown.out.splitlines()) < 15


# ---- draw


def test_draw_chooses_what_to_show(carom):
    for name, word in (("harmonic-3", "brick weights"), ("chain", "acceleration")):
        ended = carom("tower", "draw", name, "-o", "t.svg", "--caption", "--numbers")
        assert ended.code == 0 and ended.out.strip() == "t.svg" and remarks_of(ended) == []
        text = Path("t.svg").read_text()
        assert word in text and named_tower(name).name in text and ">1</text>" in text
    assert carom("tower", "draw", "wall-2x2", "-o", "t.svg", "--what", "plain").code == 0
    assert "brick weights" not in Path("t.svg").read_text()
    assert carom("tower", "draw", "diamond-5", "-o", "t.png", "--what", "resting", "--width", "5").code == 0


BAD = [
    (("check",), "FILE|NAME"),
    (("check", "archh"), "unknown tower 'archh'", "did you mean 'arch'?"),
    (("check", "nowhere.toml"), "nowhere.toml", "exists"),
    (("check", "wall-0x3"), "rows"),
    (("check", "arch", "--mass-model", "unifrm"), "did you mean 'uniform'?"),
    (("check", "arch", "-o", "x.txt"), "--output", ".png"),
    (("check", "arch", "-o", "no/x.png"), "--output", "folder"),
    (("draw", "arch"), "-o"),
    (("draw", "arch", "-o", "x.gif"), "--output", ".svg"),
    (("draw", "arch", "-o", "x.svg", "--what", "force"), "did you mean 'forces'?"),
    (("draw", "arch", "-o", "x.svg", "--width", "wide"), "--width"),
    (("draw", "arch", "-o", "x.svg", "--width", "0"), "width"),
    (("draw", "arch", "-o", "x.svg", "--what", "resting"), "rectangle"),
    (("draw", "arch", "-o", "x.svg", "--what", "certificate"), "stable tower"),
    (("collapse", "arhc"), "did you mean 'arch'?"),
    (("collapse", "leaning", "-o", "run.txt"), ".h5"),
    (("collapse", "leaning", "-o", "no/run.h5"), "folder"),
    (("collapse", "leaning", "--steps", "few"), "--steps"),
    (("collapse", "leaning", "--steps", "0"), "steps"),
    (("collapse", "leaning", "--step", "0"), "step"),
    (("collapse", "leaning", "--step", "100"), "free fall per step"),
    (("collapse", "leaning", "--edges", "papers"), "did you mean 'paper'?"),
    (("collapse", "leaning", "--coordinates", "framework", "--bracing", "brace"), "did you mean 'braced'?"),
    (("collapse", "leaning", "--bracing", "minimal"), "--coordinates framework"),
    (("collapse", "leaning", "--penalty", "10"), "--lengths penalty"),
    (("collapse", "leaning", "--passes", "0"), "passes"),
    (("collapse", "leaning", "--method", "positions"), "did you mean 'position'?"),
    (("collapse", "leaning", "--lengths", "orignal"), "did you mean 'original'?"),
    (("collapse", "leaning", "--coordinates", "reduce"), "did you mean 'reduced'?"),
    (("overhang", "0"), "n"),
    (("overhang", "many"), "many"),
    (("overhang", "3", "--seconds", "-1"), "seconds"),
    (("overhang", "3", "-o", "x.txt"), "--output", ".toml"),
    (("overhang", "3", "-o", "no/x.toml"), "--output", "folder"),
    (("overhang", "3", "--draw", "x.txt"), "--draw", ".png"),
]


@pytest.mark.parametrize(("arguments", "words"), [(b[0], b[1:]) for b in BAD], ids=[" ".join(b[0]) for b in BAD])
def test_bad_input_is_one_line_and_touches_nothing(carom, tmp_path, arguments, words):
    refused(carom("tower", *arguments), *words)
    assert list(tmp_path.iterdir()) == []


def test_a_bad_file_is_named_with_its_line(carom):
    Path("bad.toml").write_text("[[brick]]\nx = 0\ny = 0.5\nwidht = 3\nheight = 1\n")
    refused(carom("tower", "check", "bad.toml"), "brick[0].widht", "did you mean 'width'?", "[bad.toml, line 4]")


# ---- collapse


def test_a_collapse_is_a_run_like_any_other(carom, tmp_path):
    ended = carom("tower", "collapse", "leaning", "--steps", "60", "--step", "0.01", columns=80)
    assert ended.code == 0 and fits(ended), ended.out
    assert [p.name for p in tmp_path.iterdir()] == ["leaning_stack-collapse.h5"]
    assert (
        "leaning stack" in ended.out and "6 bricks" in ended.out and "carom plot leaning_stack-collapse.h5" in ended.err
    )
    with Trajectory("leaning_stack-collapse.h5") as run:
        assert run.finished and run.count == 6 and run.settings.steps == 60
        first, last = run.frame(0).position, run.frame(-1).position
    fall = last[:, 1] - first[:, 1]
    assert fall[-1] < -0.1 and abs(fall[0]) < 1e-9, "the top comes down, the lowest brick stays"
    for command in (("info",), ("plot", "--format", "svg")):
        assert carom(*command, "leaning_stack-collapse.h5").code == 0, command


def test_collapse_takes_every_option_and_writes_over_nothing(carom):
    order = ("tower", "collapse", "leaning", "--steps", "20", "-o", "a.h5", "-q")
    options = ("--method", "acceleration", "--lengths", "previous", "--coordinates", "framework")
    ended = carom(*order, *options, "--mass-model", "corners")
    assert ended.code == 0 and ended.out == "" and remarks_of(ended) == []
    before = Path("a.h5").read_bytes()
    refused(carom(*order), "a.h5", "overwrite")
    assert Path("a.h5").read_bytes() == before
    facts = json.loads(carom(*order, "--overwrite", "--json").out)
    assert facts["file"] == "a.h5" and facts["step"] == 20 and facts["tower"]["bricks"] == 6
    more = ("--lengths", "penalty", "--penalty", "50", "--bracing", "minimal", "--edges", "paper", "--passes", "1")
    stored = json.loads(carom(*order, "--overwrite", "--json", *more).out)["settings"]["law_options"]
    assert {"penalty": 50.0, "bracing": "minimal", "edges": "paper", "passes": 1}.items() <= stored.items()


# ---- overhang


def test_overhang_finds_writes_and_draws(carom):
    ended = carom("tower", "overhang", "3", "-o", "three.toml", "--draw", "three.svg", columns=80)
    assert ended.code == 0 and fits(ended), ended.out + ended.err
    assert "stable" in ended.out and "wrote three.toml" in ended.err and "wrote three.svg" in ended.err
    tower = Tower.load("three.toml")
    assert tower.overhang() >= 1.0 - 1e-9 and tower.stability(exact=True).exact
    assert "brick weight" in Path("three.svg").read_text()
    refused(carom("tower", "overhang", "3", "-o", "three.toml"), "--output", "--overwrite")
    facts = json.loads(carom("tower", "overhang", "2", "--json").out)
    assert facts["overhang"] == pytest.approx(0.75, abs=1e-6) and facts["harmonic"] == pytest.approx(0.75)

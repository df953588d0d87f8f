"""`carom laws NAME`, `carom cite`, and laws from Python files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from carom import laws
from carom.laws import every

OWN = Path(__file__).resolve().parents[2] / "examples" / "own_law.py"


@pytest.fixture
def registry(monkeypatch):
    """Laws that a test registers are forgotten after it."""
    monkeypatch.setattr(laws, "_LAWS", dict(laws._LAWS))


@pytest.mark.parametrize("name", laws.names())
def test_every_law_describes_itself(carom, name):
    law = dict(every())[name]
    ended = carom("laws", name, columns=200)
    assert ended.code == 0
    for text in (law.title, law.cost, law.paper.text, law.restitution_models[0], *law.claims, *law.options()):
        assert text in ended.out, text
    plain = json.loads(carom("laws", name, "--json").out)[name]
    assert plain["cost"] and plain["claims"] == sorted(law.claims)


def test_an_unknown_law_gets_a_suggestion(carom):
    ended = carom("laws", "qcee")
    assert ended.code == 2 and "did you mean 'qce'?" in ended.err


@pytest.mark.parametrize("name", laws.names())
def test_the_entry_of_a_law_is_bibtex_of_its_paper(carom, name):
    text = carom("cite", name).out
    assert text.startswith("@article{") and text.count("{") == text.count("}")
    year, first = dict(every())[name].paper.key.split()[::-1]
    assert f"year    = {{{year}}}" in text and f"author  = {{{first}," in text


def test_carom_cites_itself_with_its_version(carom):
    import carom as package

    text = carom("cite").out
    assert text.startswith("@software{carom,") and package.__version__ in text
    cff = (OWN.parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    assert "Carom: simultaneous impact of rigid bodies" in text and "Carom: simultaneous impact of rigid bodies" in cff


def test_a_law_without_bibtex_gets_an_entry(carom, registry):
    assert carom("cite", f"{OWN}:FastestFirst").out.startswith("@misc{example,")


def test_a_law_of_a_file_is_taken_wherever_a_law_is(carom, registry, cradle, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = f"{OWN}:FastestFirst"
    solved = json.loads(carom("resolve", cradle, "--law", own, "--json").out)
    assert solved["law"] == "fastest_first" and solved["velocity"][-1] == pytest.approx(1.0)
    ended = carom(
        "run", "newtons_cradle", "--law", own, "--law-option", "tolerance=1e-9", "--duration", "0.6", "--json"
    )
    facts = json.loads(ended.out)
    assert facts["law"] == "fastest_first" and facts["passed"] and facts["settings"]["law_options"]["tolerance"] == 1e-9
    report = json.loads(carom("audit", cradle, "--laws", f"gr,{own}", "--json").out)
    assert {row["law"] for row in report["rows"]} == {"gr", "fastest_first"}
    assert carom("check", facts["file"]).code == 0  # a file needs its law only to be resumed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("missing.py:Mine", ["missing.py", "exists"]),
        (f"{OWN}:Nothing", ["Nothing", "FastestFirst"]),
        ("broken.py:Mine", ["ZeroDivisionError"]),
        ("clash.py:Mine", ["gr", "own laws"]),
    ],
)
def test_files_that_have_no_law_are_one_line(carom, cradle, registry, tmp_path, monkeypatch, text, words):
    monkeypatch.chdir(tmp_path)
    Path("broken.py").write_text("1 / 0\n")
    Path("clash.py").write_text("from carom.laws import GR\nclass Mine(GR):\n    pass\n")
    ended = carom("resolve", cradle, "--law", text)
    assert ended.code == 2 and ended.err.count("\n") == 1
    assert all(word in ended.err for word in words), ended.err


def test_a_scene_file_cannot_run_python(carom, tmp_path):
    """Only the command line may name a file: a scene from elsewhere must not execute code."""
    marker, evil = tmp_path / "ran", tmp_path / "evil.py"
    evil.write_text(f"open({str(marker)!r}, 'w')\n")
    scene = tmp_path / "scene.toml"
    scene.write_text(f'[scene]\nlaw = "{evil}:Mine"\n[[bodies]]\nshape = "disc"\nradius = 1\nposition = [0, 0]\n')
    for command in ("validate", "run"):
        assert carom(command, scene).code == 2
    assert not marker.exists()

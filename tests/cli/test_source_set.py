"""`--set` on scene files, the verdict of a run, and `carom validate --json`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SCENE = """
[[bodies]]
shape = "disc"
radius = 0.5
position = [[0, 0.5], [3, 0.5]]
velocity = [[1, 0], [0, 0]]

[[boundaries]]
kind = "plane"
normal = [0, 1]
point = [0, 0]
"""


@pytest.fixture
def file(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("scene.toml").write_text(SCENE)
    return "scene.toml"


def test_values_of_a_file_are_replaced(carom, file):
    changes = ["bodies.0.radius=0.25", "scene.gravity=[0,-1]", "scene.law=qce", "boundaries.0.point=[0,-1]"]
    arguments = [word for change in changes for word in ("--set", change)]
    found = json.loads(carom("validate", file, *arguments, "--json").out)
    assert found["law"] == "qce" and found["gravity"] == [0.0, -1.0]
    # Two discs of unit density: mass 2 pi r^2.
    assert found["mass"] == pytest.approx(2 * 3.141592653589793 * 0.25**2)
    assert found["bodies"] == [{"name": "", "shape": "disc", "count": 2}]


def test_a_run_uses_them(carom, file):
    facts = json.loads(carom("run", file, "--set", "bodies.0.velocity=[2,0]", "--duration", "0.1", "--json").out)
    assert facts["finished"] and facts["passed"]
    import carom as package

    with package.Trajectory(facts["file"]) as run:
        assert run.velocities[0].tolist() == [[2.0, 0.0], [2.0, 0.0]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("bodies.1.radius=1", ["unknown key of bodies '1'", "0"]),
        ("bodys.0.radius=1", ["unknown key of the file 'bodys': did you mean 'bodies'?"]),
        ("bodies.0.radios=1", ["radios", "did you mean 'radius'?", "velocity"]),
        ("bodies.0.radius.x=1", ["bodies.0.radius has nothing"]),
        ("bodies.0.radius=-1", ["bodies[0].radius", "-1"]),
        ("scene.stepp=1", ["stepp", "did you mean 'step'?"]),
        ("radius", ["path=value"]),
    ],
)
def test_unknown_places_list_what_is_there(carom, file, change, words):
    ended = carom("validate", file, "--set", change)
    assert ended.code == 2 and ended.err.count("\n") == 1
    assert all(word in ended.err for word in words), ended.err


def test_the_summary_of_a_run_ends_with_the_verdict_of_check(carom, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The stack falls 0.1: its energy is lost in resting contact, which is no drift.
    ended = carom("run", "box_stack", "--set", "boxes=2", "--duration", "0.1", "-o", "stack.h5")
    energy = next(line for line in ended.out.splitlines() if line.startswith("energy"))
    assert "change" in energy and "drift" not in energy
    assert "all checks pass" in ended.out.splitlines()[-1]
    assert carom("check", "stack.h5").out.splitlines()[-1] == ended.out.splitlines()[-1]


def test_a_run_that_breaks_its_requirements_says_so(carom, tmp_path, monkeypatch):
    """Law none lets balls pass through each other: bodies overlap, and approach is left."""
    monkeypatch.chdir(tmp_path)
    ended = carom("run", "newtons_cradle", "--law", "none", "--duration", "1", "-o", "none.h5")
    checked = carom("check", "none.h5")
    assert checked.code == 1 and checked.out.splitlines()[-1].startswith("FAIL")
    assert ended.code == 0 and ended.out.splitlines()[-1] == checked.out.splitlines()[-1]

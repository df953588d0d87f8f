"""Scene files that would need gigabytes are refused before they are parsed."""

from __future__ import annotations

import pytest
from tests.memory import outcome

from carom import ProblemError
from carom.scene.file import parse_toml
from carom.scene.file.text import MOST, parse

MANY = 10**6
# Made when they are asked for: together they take half a second and 100 MB.
TEXTS = {
    "tables": lambda: "[[bodies]]\n" * MANY,
    "named tables": lambda: "".join(f"[a{i}]\n" for i in range(MANY)),
    "quoted tables": lambda: "".join(f'["a,{i}"] # one\n' for i in range(MANY)),
    "inline tables": lambda: "a = [" + "{}," * MANY + "]",
    "dotted keys": lambda: "".join(f"a{i}.b.c.d = 1\n" for i in range(MANY // 4)),
    "dotted headers": lambda: "".join(f"[a{i}{'.b' * 50}]\n" for i in range(MANY // 50)),
    "keys": lambda: "".join(f"a{i} = 1\n" for i in range(MANY + 1)),
    "lists": lambda: "a = [" + "[]," * (5 * MANY) + "]",
}


@pytest.mark.parametrize("kind", TEXTS)
def test_what_would_take_too_much_is_refused(tmp_path, kind):
    """A million tables took 978 MB and 27 seconds before the refusal."""
    (tmp_path / "scene.toml").write_text(TEXTS[kind]())
    imports, act = "from carom.scene.file import load_scene", "load_scene(path)"
    assert "at most" in outcome(tmp_path / "scene.toml", imports, act, 300)


@pytest.fixture
def _few_tables(monkeypatch):
    """A limit whose excess is parsed in no time."""
    monkeypatch.setitem(MOST, "tables", 1000)


@pytest.mark.usefixtures("_few_tables")
def test_the_limit_can_be_raised(monkeypatch):
    text = "[[bodies]]\n" * (MOST["tables"] + 1)
    with pytest.raises(ProblemError, match="CAROM_LIMITS=10"):
        parse(text, "scene")
    monkeypatch.setenv("CAROM_LIMITS", "2")
    assert len(parse(text, "scene")["bodies"]) == MOST["tables"] + 1


@pytest.mark.usefixtures("_few_tables")
def test_many_bodies_in_one_table_are_no_tables():
    """Rows of a list begin with a bracket, too."""
    rows = ",\n".join(f"[{2.5 * i}, 0.5]" for i in range(MOST["tables"] + 10))
    scene = parse_toml(f"[[bodies]]\nradius = 0.5\nposition = [\n{rows}\n]\n")
    assert scene.count == MOST["tables"] + 10

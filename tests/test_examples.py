"""Every example runs and its check holds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from carom import laws

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


def load(path: Path, monkeypatch):
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_there_are_examples():
    assert EXAMPLES


# The example of other engines starts them all.
CASES = [pytest.param(path, marks=[pytest.mark.long] if path.stem == "engines" else []) for path in EXAMPLES]


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in EXAMPLES])
def test_example(path, capsys, monkeypatch):
    monkeypatch.setattr(laws, "_LAWS", dict(laws._LAWS))  # an example may register a law
    example = load(path, monkeypatch)
    assert example.__doc__ and f"python examples/{path.name}" in example.__doc__
    example.main()
    assert capsys.readouterr().out
    example.check()

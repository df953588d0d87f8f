"""What the tests of the command line share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from carom.cli.errors import run
from carom.cli.main import app


class Ended:
    """How a command ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def carom(capsys, monkeypatch):
    """Runs a command in this process: `carom("laws", columns=80)`."""

    def call(*arguments: object, columns: int = 120) -> Ended:
        monkeypatch.setenv("COLUMNS", str(columns))
        code = run(app, [str(a) for a in arguments])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return call


@pytest.fixture
def cradle(tmp_path) -> Path:
    """Newton's cradle with one ball arriving, in the short form of a problem file."""
    path = tmp_path / "cradle.json"
    path.write_text(json.dumps({"chain": {"masses": [1] * 5, "velocities": [1, 0, 0, 0, 0]}}))
    return path

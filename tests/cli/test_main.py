"""The commands, and the names of what they do in Python."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import typer

import carom
from carom.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"


def resolved(name: str) -> object:
    """The object of a dotted name: the longest module, then attributes."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


def test_what_a_command_does_is_available_in_python():
    rows = re.findall(r"^\| (`[a-z]+`.*?) \| (.*carom\..*?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    commands = {re.findall(r"`([a-z]+)`", left)[0]: right for left, right in rows}
    assert set(commands) == set(typer.main.get_command(app).commands)
    for names in commands.values():
        for name in re.findall(r"`(carom(?:\.\w+)+)", names):
            assert resolved(name) is not None
    for name in ("audit", "check", "compare", "export", "fit", "info", "outcomes", "scenes", "sweep", "laws"):
        assert f"`carom.{name}" in commands[name] and hasattr(carom, name)


def test_comparison_and_audit_from_python():
    runs = carom.compare(carom.scenes.SCENES["newtons_cradle"](), ["gr", "lcp"], duration=0.2)
    assert [c.numbers.law for c in runs] == ["gr", "lcp"] and all(c.run.finished for c in runs)
    assert carom.info(runs[0].run)["finished"] and all(c.passed is not False for c in carom.check(runs[0].run))
    report = carom.audit(carom.ImpactProblem.chain([1, 1, 1], [1, 0, 0]), ["gr", "lcp"])
    assert report.laws == ["gr", "lcp"]


LEAVES_A_CYCLE = """
import carom
from carom.cli.main import main

run = carom.simulate("three_ball_chain", duration=0.05)
cycle = [run]
cycle.append(cycle)
del run, cycle
main(["--version"])
"""


def test_a_command_ends_well_with_a_run_in_memory_that_only_a_cycle_holds():
    """Its file must be closed while there is Python: HDF5 calls Python to close it."""
    done = subprocess.run([sys.executable, "-c", LEAVES_A_CYCLE], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, f"carom {carom.__version__}"), done.stderr

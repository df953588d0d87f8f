"""The plugin that runs tests in several processes, in a small folder of tests of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from . import processes

pytestmark = pytest.mark.skipif(sys.platform in processes.CANNOT_FORK, reason="one process runs all tests there")

PASSES = "def test_passes():\n    pass\n\n\ndef test_passes_too():\n    pass\n"
FAILS = "def test_fails():\n    said = 'what it printed'\n    print(said)\n    assert said == 'something else'\n"
DIES = "import os\n\n\ndef test_dies():\n    os._exit(3)\n\n\ndef test_never_runs():\n    pass\n"
NOTES = """
import os, time

def test_of_this_file():
    with open("order.txt", "a") as order:
        order.write(__name__ + " " + str(os.getpid()) + "\\n")
    time.sleep(0.05)
"""


@pytest.fixture
def run(tmp_path):
    """Runs tests, given by the names and texts of their files, in two processes; returns exit code and output."""

    def run(files: dict[str, str], *options: str) -> tuple[int, str]:
        (tmp_path / "conftest.py").write_text(Path(processes.__file__).read_text())
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--processes=2", *options]
        alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
        done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    return run


def test_reports_of_all_processes_are_counted(run):
    code, said = run({f"test_{name}.py": PASSES for name in "abc"})
    assert (code, "6 passed" in said) == (0, True), said


def test_a_failing_test_is_reported_with_what_it_printed(run):
    code, said = run({"test_a.py": PASSES, "test_b.py": FAILS, "test_c.py": PASSES})
    assert code == 1, said
    for wanted in ("FAILED test_b.py::test_fails", "what it printed", "something else", "1 failed, 4 passed"):
        assert wanted in said, said


def test_a_process_that_dies_fails_the_test_that_it_ran(run):
    """The tests that it left do not count as passed, and the session fails."""
    code, said = run({"test_a.py": PASSES, "test_b.py": DIES})
    assert code != 0, said
    assert "FAILED test_b.py::test_dies" in said and "has died (status 768)" in said, said
    assert "1 failed, 2 passed" in said, said


def test_files_are_taken_in_the_order_of_collection(run, tmp_path):
    """Two processes take a file each and then the next: a file is begun at most one place before its turn."""
    code, said = run({f"test_{name}.py": NOTES for name in "abcdef"})
    assert code == 0, said
    lines = [line.split() for line in (tmp_path / "order.txt").read_text().splitlines()]
    order, by = [name for name, _ in lines], {process for _, process in lines}
    assert sorted(order) == [f"test_{name}" for name in "abcdef"] and len(by) == 2
    assert all(abs(order.index(f"test_{name}") - place) <= 2 for place, name in enumerate("abcdef")), order


def test_tests_wait_for_a_file_and_need_not_if_it_exists(run, tmp_path):
    """`--after` with an existing path: without the equals sign pytest would take it for a test."""
    there = tmp_path / "compiled"
    there.touch()
    code, said = run({"test_a.py": PASSES, "test_b.py": PASSES}, f"--after={there}")
    assert (code, "4 passed" in said) == (0, True), said
    makes = (
        "from pathlib import Path\n\nPath('made').touch()\n\n\ndef test_passes():\n    assert Path('made').exists()\n"
    )
    code, said = run({"test_a.py": makes, "test_b.py": PASSES}, f"--after={tmp_path / 'made'}")
    assert (code, "3 passed" in said) == (0, True), said


def test_the_first_failure_ends_the_session_if_asked(run):
    """What a process has taken before it hears of the failure, it runs: its file and the next."""
    slow = "import time\n\n\ndef test_fails():\n    time.sleep(0.2)\n    assert False\n"
    code, said = run({f"test_{name}.py": slow for name in "abcdefghijklmnop"}, "-x")
    assert code == 1 and "stopping after" in said, said
    assert int(re.findall(r"(\d+) failed", said)[0]) < 16, said

"""What only a process of its own shows: start-up, pipes, signals."""

from __future__ import annotations

import os
import subprocess
import sys

import carom

COMMAND = [sys.executable, "-m", "carom"]
# The package that is under test, also where it is not installed.
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(carom.__file__))}


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False
    )


def test_version():
    done = subprocess.run([*COMMAND, "--version"], env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"carom {carom.__version__}\n", "")


def test_help_does_not_wait_for_the_compiler():
    done = python(
        "import sys\n"
        "from carom.cli.errors import run\n"
        "from carom.cli.main import app\n"
        "assert run(app, ['--help']) == 0\n"
        "slow = {'numba', 'scipy', 'numpy', 'matplotlib'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )
    assert done.returncode == 0, done.stderr


def test_public_names_load_on_demand():
    done = python(
        "import sys, carom\n"
        "assert 'numba' not in sys.modules\n"
        "assert {'ImpactProblem', 'solve_impact', 'laws', 'ProblemError'} <= set(dir(carom))\n"
        "carom.ImpactProblem, carom.solve_impact, carom.laws.names(), carom.ProblemError\n"
        "from carom import ImpactSolution, Symmetry\n"
        "assert not hasattr(carom, 'nothing')\n"
    )
    assert done.returncode == 0, done.stderr


def test_a_closed_pipe_is_no_error():
    process = subprocess.Popen(
        [*COMMAND, "laws", "--json"], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=120) in (1, 141)
    assert errors == ""


def test_a_traceback_never_reaches_the_user(tmp_path):
    done = subprocess.run(
        [*COMMAND, "resolve", str(tmp_path / "x.json")],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""

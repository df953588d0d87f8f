"""kill -9 of process groups at random moments, resumes included: no file is lost, and the end has the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import carom
from carom.scene import Bodies, Box, Disc, Material, Plane, Scene
from carom.trajectory import Trajectory

from .campaign import Campaign
from .mutations import chosen

MOST = 8  # kills of one run, at most
CODE = """
import sys
from pathlib import Path
import carom, carom.simulation
from fuzz.kills import run_of
carom.simulation.CHECKPOINT_SECONDS = 0.02
path = Path(sys.argv[2])
print("ready", flush=True)
carom.resume(path) if path.exists() else run_of(sys.argv[1], path)
"""


class Case(NamedTuple):
    """The kind of a run, and the seconds after the start of each process at which it is killed."""

    kind: str
    moments: list[float]


class Kills(Campaign):
    title = "killed runs: every file opens, and resumes to the same bits"
    quick = 0  # a case starts several processes; tests/trajectory/test_killed.py counts write operations instead
    limit_seconds = 60.0

    def case(self, rng: np.random.Generator) -> Case:
        return Case(chosen(rng, KINDS), [float(t) for t in rng.uniform(0.0, 1.0, MOST)])

    def check(self, case: Case, folder: Path) -> str | None:
        path = folder / "run.h5"
        for moment in [*case.moments, 600.0]:
            if wrong := _process(case.kind, path, moment):
                return wrong
            if path.exists():
                with Trajectory(path) as run:
                    if run.finished:
                        return None if run.state_hash == expected(case.kind) else "different: the end has other bits"
        return "endless: the run does not end"

    def group(self, case: Case) -> str:
        return case.kind


def _process(kind: str, path: Path, seconds: float) -> str | None:
    """Starts or resumes the run in a process group, and kills it after some seconds; what it says if it fails."""
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, kind, str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    error = process.communicate()[1]
    return f"error: {error.strip()[-200:]}" if process.returncode not in (0, -signal.SIGKILL) else None


KINDS = ("2D", "2D with impulses", "3D with friction")


def run_of(kind: str, path: Path | None) -> Trajectory:
    """A run of about a second of one kind."""
    if kind.startswith("2D"):
        place = np.stack(np.meshgrid(np.arange(6) * 1.01, 0.6 + np.arange(6) * 1.01), -1).reshape(-1, 2)
        scene = Scene("2D", [Bodies(Disc(0.5), place)], [Plane()], gravity=(0.0, -9.81))
    else:
        place = np.array([[0.0, 0.0, 0.5 + 1.05 * k] for k in range(4)])
        rough = {"default": Material(friction=0.5, restitution=0.2)}
        scene = Scene(
            "3D", [Bodies(Box((1.0, 1.0, 1.0)), place)], [Plane()], materials=rough, gravity=(0.0, 0.0, -9.81)
        )
    return carom.simulate(scene, "gr", 8.0, path, step=0.005, impulses="impulses" in kind)


@cache
def expected(kind: str) -> str:
    """The state hash of a run that was not killed."""
    with run_of(kind, None) as run:
        return run.state_hash


CAMPAIGN = Kills()

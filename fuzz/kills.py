"""kill -9 of process groups at random moments, resumes included: no file is lost, and the end has the same bits."""

from __future__ import annotations

import os
import signal
import time
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import carom
from carom import simulation
from carom.scene import Bodies, Box, Disc, Material, Plane, Scene
from carom.towers import Tower
from carom.trajectory import Trajectory

from .campaign import Campaign
from .mutations import chosen

KINDS = ("2D", "2D with impulses", "3D with friction", "tower")
MOST = 8  # kills of one run, at most
LONGEST = 0.8  # time until a process is killed, at most, per time of a whole run in memory; with a file it takes longer
CHECKPOINTS = (0.0, 0.005, 0.02)  # seconds between two checkpoints


class Case(NamedTuple):
    """The kind of a run, and when its processes are killed, as fractions of the time that a whole run takes."""

    kind: str
    checkpoints: float
    moments: list[float]


class Kills(Campaign):
    title = "killed runs: every file opens, and resumes to the same bits"
    quick = 1
    limit_seconds = 60.0

    def case(self, rng: np.random.Generator) -> Case:
        moments = [float(t) for t in rng.uniform(0.0, LONGEST, MOST)]
        return Case(chosen(rng, KINDS), chosen(rng, CHECKPOINTS), moments)

    def check(self, case: Case, folder: Path) -> str | None:
        path = folder / "run.h5"
        state_hash, seconds = whole(case.kind)
        last = -1
        for moment in [*(seconds * fraction for fraction in case.moments), None]:
            if wrong := _process(case, path, moment):
                return wrong
            if path.exists():
                with Trajectory(path) as run:
                    if run.last.step < last:
                        return f"lost: the run went back from step {last} to {run.last.step}"
                    last = run.last.step
                    if run.finished:
                        return None if run.state_hash == state_hash else "different: the end has other bits"
        return "endless: the run does not end"

    def group(self, case: Case) -> str:
        return case.kind


def _process(case: Case, path: Path, seconds: float | None) -> str | None:
    """Starts or resumes the run in a process group of its own, which is killed after some seconds.

    It is a copy of this process, which has compiled code in memory: kills fall into the run and not into imports.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of this process are not needed in its copy
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            simulation.CHECKPOINT_SECONDS = case.checkpoints
            carom.resume(path, threads=1) if path.exists() else run_of(case.kind, path)
            code = 0
        except BaseException as error:
            path.with_name("error.txt").write_text(f"{type(error).__name__}: {error}")
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        try:
            os.killpg(child, signal.SIGKILL)
        except ProcessLookupError:  # killed before it had its own group
            os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0:
        return None
    return f"error: {path.with_name('error.txt').read_text()[:200]}"


def run_of(kind: str, path: Path | None) -> Trajectory:
    """A run of one kind."""
    if kind == "tower":
        return Tower.diamond(3).collapse(steps=400, output=path)
    if kind.startswith("2D"):
        place = np.stack(np.meshgrid(np.arange(6) * 1.01, 0.6 + np.arange(6) * 1.01), -1).reshape(-1, 2)
        scene = Scene("2D", [Bodies(Disc(0.5), place)], [Plane()], gravity=(0.0, -9.81))
    else:
        place = np.array([[0.0, 0.0, 0.5 + 1.05 * k] for k in range(4)])
        rough = {"default": Material(friction=0.5, restitution=0.2)}
        scene = Scene(
            "3D", [Bodies(Box((1.0, 1.0, 1.0)), place)], [Plane()], materials=rough, gravity=(0.0, 0.0, -9.81)
        )
    return carom.simulate(scene, "gr", 2.0, path, step=0.005, impulses="impulses" in kind, threads=1)


@cache
def whole(kind: str) -> tuple[str, float]:
    """State hash and wall time of a run that is not killed. The first of the two runs may load compiled code."""
    run_of(kind, None).close()
    start = time.perf_counter()
    with run_of(kind, None) as run:
        return run.state_hash, time.perf_counter() - start


CAMPAIGN = Kills()

"""The other end of the pipe: an engine that runs in its own environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
TITLES = {"rapier": "Rapier", "mujoco": "MuJoCo", "bullet": "PyBullet", "chipmunk": "pymunk", "cholmod": "CHOLMOD"}


def environments() -> Path:
    """The folder with one virtual environment per engine, which `make bench` creates."""
    return Path(os.environ.get("CAROM_ENGINES", f"{sys.prefix}-engines")).absolute()


def missing(name: str) -> str | None:
    """Why an engine cannot run here, or None."""
    if (environments() / name / "bin" / "python").exists() and (environments() / name / ".ready").exists():
        return None
    return f"{TITLES.get(name, name)}: no wheel for this Python, or not installed (`make bench` installs it)"


class EngineProcess:
    """A scene in another engine; `settings` is added to its title."""

    def __init__(self, name: str, scene: dict[str, np.ndarray], settings: str = "") -> None:
        self.title = TITLES[name]
        self.folder = tempfile.TemporaryDirectory()
        files = [str(Path(self.folder.name) / file) for file in ("scene.npz", "poses.npz")]
        np.savez(files[0], **scene)
        single = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "RAYON")}
        self.process = subprocess.Popen(
            [str(environments() / name / "bin" / "python"), "-m", "benchmarks.engines.driver", name, *files],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(Path(self.folder.name) / "errors").open("w"),
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **single},
        )
        self.title += f" {self._answer()['version']}{settings}"
        self.poses = files[1]

    def _answer(self) -> dict:
        """The next line of JSON; engines print lines of their own in between."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        errors = (Path(self.folder.name) / "errors").read_text().strip().splitlines()
        raise RuntimeError(f"{self.title} ended with code {self.process.wait()}: {errors[-1:]}")

    def steps(self, count: int) -> list[float]:
        """Makes steps; the CPU seconds of each."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return list(self._answer()["seconds"])

    def pose(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, orientations and linear velocities after the last steps."""
        with np.load(self.poses) as data:
            return data["position"], data["orientation"], data["velocity"]

    def report(self) -> str:
        """Other engines do not say how far their solver got."""
        return ""

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()

"""An engine in this process or in that of another Python environment."""

from __future__ import annotations

import importlib
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ..errors import ProblemError
from . import ENGINES, Engine, source_of, worker


class Runner:
    """Runs impacts in an engine: `title`, `settings` and `dimension` are those of the engine."""

    def __init__(self, spec: str) -> None:
        path, name, package = source_of(spec)
        try:
            if path.parent == Path(__file__).parent:
                made = getattr(importlib.import_module(f".{path.stem}", __package__), name)
            else:
                made = worker.load(str(path), name)
        except ImportError as absent:
            raise _missing(spec, package, str(absent)) from absent
        except AttributeError:
            raise ProblemError("--engine", spec, f"a class of {path.name}") from None
        try:
            engine: Engine = made()
        except ImportError as absent:  # of a program that the engine drives
            raise _missing(spec, package, str(absent)) from absent
        self.engine = engine
        self.title, self.settings, self.dimension = engine.title, engine.settings, engine.dimension

    def run(self, bodies: Any, planes: Any, restitution: float) -> Any:
        """Velocities of the bodies after the impact; NotImplementedError if the engine cannot set it up."""
        return worker.run(self.engine, bodies, planes, restitution)[0]

    def close(self) -> None:
        """Ends the engine."""


class RemoteRunner(Runner):
    """An engine that runs under another Python, driven through pipes; see `worker`."""

    def __init__(self, spec: str, python: str) -> None:
        path, name, package = source_of(spec)
        if spec == "carom":
            raise ProblemError("--python", python, "an engine other than Carom")
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the engine
        command = [python, "-I", str(Path(worker.__file__)), str(path.absolute()), name]
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True
            )
        except OSError as failure:
            raise ProblemError("--python", python, f"a Python interpreter ({failure.strerror})") from failure
        try:
            facts = self._answer()
        except RuntimeError as failure:
            raise _missing(spec, package, str(failure), python) from failure
        self.title, self.settings, self.dimension = facts["title"], facts["settings"], facts["dimension"]

    def _answer(self) -> dict[str, Any]:
        """The next line of JSON; engines print lines of their own in between."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                return dict(json.loads(line))
        self.errors.seek(0)
        last = self.errors.read().strip().splitlines()[-1:]
        raise RuntimeError(last[0] if last else f"it ended with code {self.process.wait()}")

    def run(self, bodies: Any, planes: Any, restitution: float) -> Any:
        assert self.process.stdin is not None
        request = {"bodies": bodies, "planes": planes, "restitution": restitution}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self._answer()
        if "refused" in answer:
            raise NotImplementedError(answer["refused"])
        return answer["velocities"]

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def _missing(spec: str, package: str, reason: str, python: str | None = None) -> ProblemError:
    """The error of an engine that could not be loaded: what to install, and where."""
    if spec not in ENGINES:
        return ProblemError("--engine", reason, f"for {spec} the packages {package}")
    where = "here, or in another environment whose Python --python names" if python is None else ""
    wanted = f"`{python or 'python'} -m pip install {package}` {where}".strip()
    if package.startswith("npm "):
        wanted = f"Node.js, and `{package}` in this folder"
    return ProblemError("--engine", f"{spec} ({reason})", wanted)


def runner_of(spec: str, python: str | None = None) -> Runner:
    """The engine `spec` (a name or `file.py:Class`), under another interpreter if `python` is given."""
    return Runner(spec) if python is None else RemoteRunner(spec, python)

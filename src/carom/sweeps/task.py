"""One run of a sweep, as it is sent to a worker, and the record that comes back."""

from __future__ import annotations

import platform
import time
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import printable
from ..laws import Law
from ..scene.model import Scene
from .measures import Column

DONE, FAILED = "done", "failed"
LONGEST_ERROR = 500  # characters
Record = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """Everything that a worker needs. `library` names a scene of the library; other scenes are sent as they are."""

    id: int
    library: str | None
    scene: Scene | None
    parameters: dict[str, Any]
    law: Law
    settings: dict[str, Any]
    measures: list[Column]
    file: str | None  # the trajectory file to write
    taken: frozenset[str]  # columns of the table that no measurement may have

    def run(self) -> Record:
        """The record of the run; an error in the run or in a measurement becomes part of it."""
        began = time.perf_counter()
        try:
            found = {"status": DONE, "error": None, "measures": self._measured()}
        except Exception as error:  # whatever a scene, a law or a user's function raises
            found = {"status": FAILED, "error": _text(error), "measures": {}}
        return {"id": self.id, **found, "seconds": time.perf_counter() - began, "versions": versions()}

    def _measured(self) -> dict[str, Any]:
        from ..simulation import completed, simulate

        scene = self.scene
        if scene is None:
            from ..scenes import SCENES

            scene = SCENES[str(self.library)](**self.parameters)
        if self.file is not None:
            Path(self.file).parent.mkdir(parents=True, exist_ok=True)
        out: dict[str, Any] = {}
        run = simulate(scene, self.law, output=self.file, threads=1, overwrite=True, **self.settings)
        with completed(run):
            for column in self.measures:
                for name, value in column.measured(run).items():
                    if name in self.taken or name in out:
                        raise ValueError(f"the table has a column {name!r} already; rename the measurement")
                    out[name] = value
        return out


def lost(task: int, text: str) -> Record:
    """The record of a run whose workers died."""
    return {"id": task, "status": FAILED, "error": text, "measures": {}, "seconds": None, "versions": versions()}


@cache
def versions() -> dict[str, str]:
    """Versions of the software that determines the numbers of a run."""
    import numba
    import numpy

    from .. import __version__

    return {"carom": __version__, "numpy": numpy.__version__, "numba": numba.__version__} | {
        "python": platform.python_version()
    }


def _text(error: Exception) -> str:
    """One line: the message of an error, with its kind and its place unless it is one of Carom's own."""
    from ..errors import ProblemError

    text = " ".join(str(error).split())
    if not isinstance(error, ProblemError):
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {text} ({Path(last.filename).name}, line {last.lineno})"
    return printable(text)[:LONGEST_ERROR]

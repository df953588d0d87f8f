"""The requests of the play page: plain data in and out, independent of HTTP. Every request is validated."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from .. import __version__, laws
from ..kernels import compiling
from ..kernels.notice import Notice, using
from .impacts import LESSONS, impact_answer, outcomes_answer
from .jobs import Jobs
from .runs import MEANINGS as RUN_MEANINGS
from .runs import RunRequest, library
from .sliders import MAX_LAWS
from .ticks import MEANINGS


class Compilation(Notice):
    """The progress of compiling, for the page."""

    def __init__(self) -> None:
        super().__init__()
        self.done = self.kernels = 0

    def begin(self, kernels: int = 0) -> None:
        super().begin(kernels)
        self.done, self.kernels = 0, kernels

    def advance(self, done: int, kernels: int) -> None:
        self.done, self.kernels = done, kernels

    def to_dict(self) -> dict[str, Any]:
        return {"active": compiling(), "done": self.done, "kernels": self.kernels}


class Api:
    """Answers requests. Impacts are solved at once; runs become jobs."""

    def __init__(self) -> None:
        self.jobs = Jobs()
        self.compilation = Compilation()
        self._notice = using(self.compilation)
        self._notice.__enter__()
        self._solving = threading.Lock()  # two simultaneous first calls would compile the same kernels twice

    def start(self) -> dict[str, Any]:
        """The data that the page needs at its start: lessons, scenes, laws, and meanings of the checks."""
        return {
            "version": __version__,
            "most_laws": MAX_LAWS,
            "groups": [
                {"title": "One impact", "kind": "impact", "scenes": [_lesson(name) for name in LESSONS]},
                {"title": "Runs in 2D", "kind": "run", "scenes": _scenes(2)},
                {"title": "Runs in 3D", "kind": "run", "scenes": _scenes(3)},
            ],
            "laws": [{"name": n, "title": law.title, "paper": law.paper.key} for n, law in laws.every()],
            "desiderata": [{"key": k, "mark": k, "title": t, "meaning": m} for k, (t, m) in MEANINGS.items()],
            "checks": [{"key": k, "mark": c, "title": t, "meaning": m} for k, (c, t, m) in RUN_MEANINGS.items()],
        }

    def impact(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Solves an impact; see `impact_answer`."""
        with self._solving:
            return impact_answer(request)

    def outcomes(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The outcome set of an impact; see `outcomes_answer`."""
        with self._solving:
            return outcomes_answer(request)

    def run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Validates the request and puts it in the queue; returns the state of the job."""
        wanted = RunRequest(request)
        return self.jobs.add(wanted.answer).to_dict()

    def run_state(self, number: int) -> dict[str, Any]:
        """The state of a job, and that of the compilation of kernels."""
        return {**self.jobs.job(number).to_dict(), "compiling": self.compilation.to_dict()}

    def close(self) -> None:
        """Stops all jobs."""
        self.jobs.close()
        self._notice.__exit__()


def _lesson(name: str) -> dict[str, Any]:
    lesson = LESSONS[name]
    sliders = [slider.to_dict() for slider in lesson.sliders]
    return {"name": name, "title": lesson.title, "note": lesson.note, "laws": list(lesson.laws), "sliders": sliders}


def _scenes(dimension: int) -> list[dict[str, Any]]:
    return [
        {
            "name": play.name,
            "title": play.title,
            "note": play.note[:1].upper() + play.note[1:] + ".",
            "laws": [play.law],
            "sliders": [slider.to_dict() for slider in play.sliders],
        }
        for play in library().values()
        if play.dimension == dimension
    ]

"""The requests of the play page: plain data in and out, independent of HTTP. Every request is validated."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from .. import __version__, laws
from .impacts import LESSONS, impact_answer
from .jobs import Jobs
from .runs import MEANINGS as RUN_MEANINGS
from .runs import RunRequest, library
from .sliders import MAX_LAWS
from .ticks import MEANINGS


class Api:
    """Answers requests. Impacts are solved at once; runs become jobs."""

    def __init__(self) -> None:
        self.jobs = Jobs()
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

    def run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Validates the request and puts it in the queue; returns the state of the job."""
        wanted = RunRequest(request)
        return self.jobs.add(wanted.answer).to_dict()

    def close(self) -> None:
        """Stops all jobs."""
        self.jobs.close()


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

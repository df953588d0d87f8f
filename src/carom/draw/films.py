"""Films and stills of a run."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..files import atomic_path
from ..trajectory import Trajectory
from . import encoding as encode
from . import vector
from .colors import Bytes
from .layers import Page
from .output import FILMS
from .raster import painted
from .studio import Look, Span, Studio
from .timeline import film_times

SAMPLES = 12  # pictures from which a GIF takes its colors


@dataclass(frozen=True)
class Made:
    """A film or picture that was written."""

    path: Path
    size: tuple[int, int]
    pictures: int
    seconds: float  # that the film runs; 0 for a still


def write_still(run: Trajectory, path: Path, time: float, look: Look) -> Made:
    """One instant, as PNG, SVG or PDF. Bodies of the plane stay shapes in the latter two."""
    studio = Studio(run, look, Span(time, time))
    page = studio.sketch(time)()
    kind = path.suffix.lower().removeprefix(".")
    with atomic_path(path) as part:
        if kind == "png":
            from PIL import Image

            Image.fromarray(painted(page)).save(part, optimize=True)
        else:
            vector.write(page, part, kind)
    return Made(path, look.size, 1, 0.0)


def write_film(
    run: Trajectory, path: Path, span: Span, look: Look, progress: Callable[[int, int], None] | None = None
) -> Made:
    """A film from `span.start` to `span.stop`. `progress(done, all)` is called after each picture."""
    encode.check_film(path, look.size, span.fps)
    times = film_times(span.start, span.stop, span.fps, span.speed)
    studio = Studio(run, look, span)

    def samples() -> list[Bytes]:
        chosen = np.unique(np.linspace(0, len(times) - 1, SAMPLES).round().astype(int))
        return list(_pictures(studio, times[chosen].tolist()))

    with encode.film(path, look.size, span.fps, samples) as film:
        for done, picture in enumerate(_pictures(studio, times.tolist()), start=1):
            film.add(picture)
            if progress is not None:
                progress(done, len(times))
    return Made(path, look.size, len(times), len(times) / span.fps)


def _painted(make: Callable[[], Page]) -> Bytes:
    return painted(make())


def is_film(path: Path) -> bool:
    return path.suffix.lower() in FILMS


def _pictures(studio: Studio, times: list[float]) -> Iterator[Bytes]:
    """Pictures in order. The file is read here, pages are made and painted by as many threads as there are cores."""
    workers = os.cpu_count() or 1
    waiting: deque[Future[Bytes]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for time in times:
                waiting.append(pool.submit(_painted, studio.sketch(time)))
                if len(waiting) > workers + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

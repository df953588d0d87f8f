"""Stills: instants of runs, drawn with the views of their scenes, side by side in a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import FigureBase
from numpy.typing import NDArray

from ..draw.films import Look, Span, Studio
from ..draw.style import WIDE, sheet, write
from ..draw.timeline import Timeline
from ..scenes.views import view_of
from ..trajectory import Trajectory

PIXELS = (900, 640)  # of a still


@dataclass(frozen=True, eq=False)
class Still:
    """One instant of a run (None: the end), its title, and options of `Look` that replace those of the scene's view."""

    run: Trajectory
    title: str
    at: float | None = None
    look: Mapping[str, Any] | None = None

    @property
    def tallness(self) -> float:
        """Height over width."""
        wide, tall = (self.look or {}).get("size", PIXELS)
        return float(tall / wide)

    def picture(self) -> NDArray[np.uint8]:
        """The picture, (height, width, 3) sRGB bytes."""
        view = view_of(self.run.scene)
        options: dict[str, Any] = {
            "size": PIXELS,
            "color": view.color,
            "camera": view.camera,
            "trails": view.trails,
            "caption": False,
        }
        line = Timeline(self.run)
        time = line.stop if self.at is None else min(self.at, line.stop)
        return Studio(self.run, Look(**options | dict(self.look or {})), Span(time, time)).picture(time)


def draw_stills(figure: FigureBase, stills: Sequence[Still], columns: int) -> None:
    """Fills a figure with stills, row by row."""
    panels = figure.subplots(-(-len(stills) // columns), columns, squeeze=False).ravel()
    for axes in panels:
        axes.set_axis_off()
    for axes, still in zip(panels, stills):
        axes.imshow(still.picture(), interpolation="antialiased")
        axes.set_title(still.title)


def write_stills(
    out: Path, name: str, stills: Sequence[Still], table: Mapping[str, Any], columns: int = 3
) -> tuple[Path, ...]:
    """Writes a figure of stills as NAME.png, .svg and .pdf, and the table as NAME.csv."""
    columns = min(columns, len(stills))
    height = -(-len(stills) // columns) * (WIDE / columns * stills[0].tallness + 0.3)
    with sheet(height=height) as figure:
        draw_stills(figure, stills, columns)
        return write(figure, out, name, table)

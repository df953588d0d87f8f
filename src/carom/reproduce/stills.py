"""Pictures of several runs at the same instants, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import FigureBase

from ..draw.camera import Camera
from ..draw.figures import Angle, View, draw_state, frame_of, speed_scale
from ..draw.style import GRAY
from ..trajectory import Trajectory

WIDTH = 1440  # pixels of a row of 3D pictures


def draw_stills(
    figure: FigureBase, runs: Mapping[str, Trajectory], times: Sequence[float], angle: Angle | None = None
) -> None:
    """One row of pictures per run, one column per instant. All have the same frame; colors show groups or speeds."""
    look = Angle(by_group=True) if angle is None else angle
    views = {name: [View.of(run, int(np.abs(run.time - t).argmin())) for t in times] for name, run in runs.items()}
    every = [view for row in views.values() for view in row]
    frame, scale = frame_of(every, look), speed_scale(every)
    panels = figure.subplots(len(views), len(times), squeeze=False)
    words: dict[str, Any] = {"ha": "right", "va": "center", "rotation": 90, "fontsize": 9, "weight": "bold"}
    for (name, row), axes_row in zip(views.items(), panels):
        for view, axes in zip(row, axes_row):
            draw_state(axes, view, scale, frame, WIDTH // len(times), look.by_group)
            axes.set_xlabel(axes.get_xlabel() if isinstance(frame, Camera) and axes is panels[-1][0] else "")
            if axes in panels[0]:
                axes.set_title(f"$t$ = {view.state.time:.3g}", loc="center", color=GRAY)
        axes_row[0].text(-0.03, 0.5, name, transform=axes_row[0].transAxes, **words)

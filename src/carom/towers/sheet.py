"""The Matplotlib figure of a tower: bricks, ground, arrows with their scale, marks. Lengths are those of the tower."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..draw.style import BLACK, BLUE, GRAY, PALE, RED, save, sheet
from ..solvers.rows import Floats
from .drawing import thickness

if TYPE_CHECKING:
    from .tower import Tower

SAND, TINT = "#F1E9DA", "#FBDCC6"  # bricks at rest, bricks that move
INK = "#374151"
TALLEST = 8.5  # inches: largest height of the figure
THICKEST = 0.45  # inches: largest thickness of a brick, so that few bricks do not fill a page
NARROWEST = 2.6  # inches: smallest width, which the legend needs
LEAST_OVERHANG = 0.25  # in lengths of a brick: smaller overhangs have no dimension
LETTER = 0.055  # inches: width of a letter
LONG = 2.5  # in lengths of a free brick: longer fixed bricks are not shown as a whole
ROW = 0.19  # inches: height of a line of text below the tower
LINE = 0.8  # points: outline of a brick in a figure of few bricks
COLORS = {"forces": BLUE, "motion": RED}


class Unit(NamedTuple):
    """A round value, and the length and color of its arrow."""

    value: float
    length: float
    color: str


@dataclass(frozen=True, eq=False)
class Sheet:
    """A figure with the tower above lines of text. `box` is (left, right, bottom, top) in lengths of the tower."""

    tower: Tower
    figure: Figure
    axes: Axes
    text: Axes  # the lines of text, in inches
    box: tuple[float, float, float, float]
    inch: float  # lengths per inch

    @classmethod
    @contextmanager
    def of(cls, tower: Tower, width: float, more: list[Floats], rows: int) -> Iterator[Sheet]:
        """A figure for the tower and `more` polygons, `width` inches wide, with `rows` lines of text below."""
        box = _box(tower, more)
        across, up = box[1] - box[0], box[3] - box[2]
        inch = max(across / width, up / TALLEST, thickness(tower) / THICKEST)
        high, below = up / inch, ROW * rows
        wide = across / inch
        page = max(wide, min(width, NARROWEST))
        with sheet(page, high + below) as figure:
            figure.set_layout_engine("none")
            axes = figure.add_axes(
                ((page - wide) / 2 / page, below / (high + below), wide / page, high / (high + below))
            )
            axes.set(xlim=box[:2], ylim=box[2:])
            axes.axis("off")
            strip = figure.add_axes((0, 0, 1, max(below, 1e-3) / (high + below)))
            strip.set(xlim=(0, page), ylim=(0, max(below, 1e-3)))
            strip.axis("off")
            yield cls(tower, figure, axes, strip, box, inch)

    # ---- the tower

    def bricks(self, tinted: Any = None, corners: list[Floats] | None = None) -> None:
        """Draws the ground and all bricks; fixed ones are hatched, those in the mask `tinted` (n,) are highlighted."""
        self._ground()
        t = self.tower
        shapes = t.corners if corners is None else corners
        fixed = [c for c, free in zip(shapes, t.free) if not free]
        free = [c for c, moves in zip(shapes, t.free) if moves]
        if fixed:
            look: dict[str, Any] = {
                "facecolors": "#EEF0F3",
                "edgecolors": "#9CA3AF",
                "hatch": "////",
                "linewidths": 0.0,
            }
            self._add(PolyCollection(fixed, **look, zorder=1), "fixed")
            self._add(
                PolyCollection(fixed, facecolors="none", edgecolors=INK, linewidths=self.line, zorder=2),
                "fixed-outline",
            )
        faces = [SAND] * t.count if tinted is None else [TINT if move else SAND for move in tinted]
        colors = [face for face, moves in zip(faces, t.free) if moves]
        self._add(PolyCollection(free, facecolors=colors, edgecolors=INK, linewidths=self.line, zorder=2), "bricks")
        for pin in t.pins:
            self.axes.plot(*pin.at, marker="o", markersize=4 * self.fine + 1, mfc="white", mec=INK, mew=1.0, zorder=6)

    def ghosts(self, shapes: list[Floats], color: str = RED) -> None:
        """Draws dashed outlines."""
        look: dict[str, Any] = {
            "facecolors": "none",
            "edgecolors": color,
            "linewidths": self.line,
            "linestyles": [(0, (3, 2))],
        }
        self._add(PolyCollection(shapes, **look, zorder=3), "ghosts")

    def dots(self, points: Floats, small: bool = False) -> None:
        """Marks contacts that stay closed; `small` leaves room for arrows beside them."""
        self._marks(points, "contacts", color=BLACK, s=((2.2 if small else 3.2) * self.fine) ** 2, linewidths=0.0)

    def rings(self, points: Floats) -> None:
        """Marks contacts that open."""
        self._marks(points, "opening", facecolors="white", edgecolors=RED, s=(4.5 * self.fine) ** 2, linewidths=0.9)

    def arrows(self, at: Floats, vectors: Floats, name: str, unit: float = 1.0) -> Unit:
        """Draws arrows proportional to `vectors`, the longest about as long as a brick is high.

        Returns a round number of units and the length of its arrow.
        """
        color = COLORS[name]
        size = np.hypot(vectors[:, 0], vectors[:, 1])
        largest = float(size.max(initial=0.0))
        if largest == 0.0:
            return Unit(0.0, 0.0, color)
        longest = self._longest
        made = self.axes.quiver(
            *at.T, *vectors.T, color=color, angles="xy", scale_units="xy", scale=largest / longest, **self._shaft()
        )
        made.set_gid(name)
        value = _round(largest / unit)
        return Unit(value, value * unit / largest * longest, color)

    def overhang(self) -> None:
        """Dimensions the overhang beyond the fixed bricks, in lengths of a brick if all have the same."""
        t = self.tower
        if t.free.all() or not t.free.any():
            return
        reach, far = t.overhang(), max((c for c, moves in zip(t.corners, t.free) if moves), key=lambda c: c[:, 0].max())
        lengths = [float(np.ptp(c[:, 0])) for c, moves in zip(t.corners, t.free) if moves]
        if reach < LEAST_OVERHANG * float(np.median(lengths)):
            return
        equal = np.ptp(lengths) <= 1e-9 * lengths[0]
        times = f"{reach / lengths[0]:.4g}"
        unit = "brick length" if times == "1" else "brick lengths"
        text = f"{times} {unit}" if equal else f"{reach:.4g}"
        right = float(far[:, 0].max())
        left, bottom = right - reach, float(far[:, 1].min())
        lowest = min(float(c[:, 1].min()) for c, moves in zip(t.corners, t.free) if moves)
        y = lowest - 0.16 * self.inch  # below all free bricks, beside the fixed ones
        self.axes.plot([right, right], [bottom, y - 0.04 * self.inch], color=GRAY, linewidth=0.6, zorder=1.4)
        line = {
            "arrowstyle": "<|-|>",
            "color": GRAY,
            "linewidth": 0.7,
            "shrinkA": 0.0,
            "shrinkB": 0.0,
            "mutation_scale": 5,
        }
        self.axes.annotate("", (left, y), (right, y), arrowprops=line, zorder=4).set_gid("overhang")
        fits = reach / self.inch > LETTER * len(text)
        x, side = (0.5 * (left + right), "center") if fits else (right, "right")
        self.axes.text(x, y - 0.05 * self.inch, text, ha=side, va="top", fontsize=7, color=INK)

    def numbers(self) -> None:
        """Writes the number of each brick into its middle."""
        low, high = (self.box[0], 0.0), (self.box[1], self.box[3])
        for i, brick in enumerate(self.tower.corners):
            corners = np.clip(brick, low, high)
            x, y = self.tower.center[i] if np.array_equal(corners, brick) else corners.mean(axis=0)
            tall = min(np.ptp(corners[:, 1]), 0.8 * np.ptp(corners[:, 0])) / self.inch * 72.0
            look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": float(np.clip(0.5 * tall, 3.0, 8.0))}
            self.axes.text(x, y, str(i), color=INK, zorder=7, **look)

    # ---- the lines of text

    def scale(self, unit: Unit, text: str) -> None:
        """Draws an arrow of a round value with its text in the first line."""
        if unit.value == 0.0:
            return
        length = unit.length / self.inch
        y = self.text.get_ylim()[1] - 0.55 * ROW
        self.text.quiver(
            0.1, y, length, 0.0, color=unit.color, angles="xy", scale_units="xy", scale=1.0, **self._shaft()
        ).set_gid("scale")
        self.text.text(0.1 + length + 0.08, y, text, va="center", fontsize=7)

    def marks_legend(self, opens: bool, holds: bool) -> None:
        """Explains dots and rings in the next line."""
        y, x = self.text.get_ylim()[1] - (1.55 if self.text.collections else 0.55) * ROW, 0.14
        for is_there, text, look in (
            (holds, "contact stays closed", {"mfc": BLACK, "mec": BLACK, "markersize": 3}),
            (opens, "contact opens", {"mfc": "white", "mec": RED, "markersize": 4.5}),
        ):
            if is_there:
                self.text.plot(x, y, marker="o", clip_on=False, **look)  # type: ignore[arg-type]
                self.text.text(x + 0.09, y, text, va="center", fontsize=7)
                x += 1.3

    def caption(self, text: str) -> None:
        self.text.text(0.08, 0.45 * ROW, text, va="center", fontsize=7, color=GRAY)

    def save(self, target: Path) -> None:
        """Writes the figure atomically; the same figure gives the same bytes."""
        save(self.figure, target)

    # ---- sizes

    @property
    def fine(self) -> float:
        """The scale of marks and lines: 1 for large bricks, less for small ones."""
        return float(np.clip(self._height / self.inch / 0.2, 0.35, 1.0))

    @property
    def line(self) -> float:
        return LINE * self.fine

    @property
    def inside(self) -> float:
        """The distance of an arrow from the dot of the contact at which it acts: half of its head and the dot."""
        return 0.042 * self.fine * self.inch

    @property
    def _longest(self) -> float:
        """The length of the longest arrow: most of the height of a brick, but always visible."""
        return max(0.95 * self._height, 0.2 * self.fine * self.inch)

    @property
    def _height(self) -> float:
        return thickness(self.tower)

    def _shaft(self) -> dict[str, Any]:
        return {
            "units": "inches",
            "width": 0.018 * self.fine,
            "headwidth": 3.6,
            "headlength": 4.2,
            "headaxislength": 3.8,
            "zorder": 5,
        }

    def _ground(self) -> None:
        left, right, bottom, _ = self.box
        if bottom < 0.0:
            depth = 0.07 * self.inch
            strip = Rectangle(
                (left, -depth), right - left, depth, facecolor="none", edgecolor=PALE, hatch="//////", linewidth=0
            )
            self.axes.add_patch(strip)
            self.axes.plot([left, right], [0.0, 0.0], color=GRAY, linewidth=1.2, zorder=1.5, gid="ground")

    def _marks(self, points: Floats, name: str, **look: Any) -> None:
        if len(points):
            self.axes.scatter(*points.T, zorder=6, **look).set_gid(name)

    def _add(self, collection: PolyCollection, name: str) -> None:
        collection.set_gid(name)
        self.axes.add_collection(collection, autolim=False)


def _box(tower: Tower, more: list[Floats]) -> tuple[float, float, float, float]:
    """What the figure shows: all bricks and room for arrows; of long fixed bricks only the part beside the others."""
    free = [c for c, moves in zip(tower.corners, tower.free) if moves] or tower.corners
    seen = np.concatenate([*free, *more])
    everything = np.concatenate([seen, *tower.corners])
    edge = 0.4 * thickness(tower)
    wide = float(np.median([np.ptp(c[:, 0]) for c in free]))
    low, high = float(seen[:, 0].min()), float(seen[:, 0].max())
    beside = max(wide, 0.12 * (high - low))
    left, right = low - edge, high + edge
    for corners in (c for c, moves in zip(tower.corners, tower.free) if not moves):
        start, end = float(corners[:, 0].min()), float(corners[:, 0].max())
        if end - start > LONG * wide and start < high + beside and end > low - beside:
            left = min(left, max(start - edge, low - beside))
            right = max(right, min(end + edge, high + beside))
        else:
            left, right = min(left, start - edge), max(right, end + edge)
    ground = min(float(everything[:, 1].min()), 0.0)
    top = float(everything[:, 1].max()) + edge
    below = 0.03 * max(right - left, top - ground)  # the hatched strip under the ground
    return left, right, ground - below, top


def _round(value: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above `value`."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(k * power for k in (1.0, 2.0, 5.0) if k * power <= value * (1.0 + 1e-9)))

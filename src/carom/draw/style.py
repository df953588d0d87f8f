"""The one plot style of the project: readable in a column of a paper, safe for color-blind eyes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..files import atomic_path

# Okabe and Ito (2008), without their yellow, which is too pale for lines on white.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK = "#CC79A7", "#56B4E9", "#000000"
GRAY, PALE = "#6B7280", "#D1D5DB"
CYCLE = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.4, 1)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

# A law looks the same in every figure. Seven differ in color and marker alike; beyond that, dashes tell.
_LAW_ORDER = ("gr", "lcp", "qce", "lzb", "gauss_seidel", "jacobi", "etm", "sqm", "smm")

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "grid.color": "#E5E7EB",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "svg.hashsalt": "carom",  # the same picture gives the same file
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # journals refuse the other kind
}
COLUMN, WIDE = 3.5, 7.2  # inches: one column of a paper, and two
FORMATS = ("png", "svg", "pdf")
DOTS = 300  # an inch, of PNG files
_UNDATED: dict[str, dict[str, None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}

# Scenes have no units of their own: what is a length there is a length here.
TIME, X, Y = "time (time units)", "x (length units)", "y (length units)"

_formats: ContextVar[tuple[str, ...]] = ContextVar("formats", default=FORMATS)


def law_style(name: str) -> dict[str, Any]:
    """Color, dash and marker of a law; a law of the user's gets the next ones in the cycle."""
    k = _LAW_ORDER.index(name) if name in _LAW_ORDER else len(_LAW_ORDER) + sum(map(ord, name))
    return {
        "color": CYCLE[k % len(CYCLE)],
        "linestyle": DASHES[k % len(DASHES)],
        "marker": MARKERS[k % len(MARKERS)],
    }


@contextmanager
def styled(
    columns: int, rows: int = 1, width: float = WIDE, height: float = 2.9
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure and its panels, row by row, drawn in the project's style inside the block; sizes in inches."""
    with sheet(width, height) as figure:
        yield figure, list(figure.subplots(rows, columns, squeeze=False).flat)


@contextmanager
def sheet(width: float = WIDE, height: float = 2.9) -> Iterator[Figure]:
    """An empty figure in the project's style, for panels of different sizes."""
    with matplotlib.rc_context(_STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


@contextmanager
def written_as(formats: Sequence[str]) -> Iterator[None]:
    """Inside the block `write` gives figures in these of FORMATS only; the CSV is always written."""
    before = _formats.set(tuple(formats))
    try:
        yield
    finally:
        _formats.reset(before)


def write(figure: Figure, out: Path, name: str, columns: Mapping[str, Any]) -> tuple[Path, ...]:
    """Writes NAME.png, NAME.svg and NAME.pdf, or those that `written_as` asks for, and NAME.csv with the plotted
    numbers. Names of columns hold the unit, as in `x (length units)`; without one they are pure numbers. Returns the
    paths, the table last."""
    figures = [save(figure, out / f"{name}.{ending}") for ending in _formats.get()]
    return (*figures, write_table(out / f"{name}.csv", columns))


def save(figure: Figure, path: Path, dots: float = DOTS) -> Path:
    """Writes a figure in the format that its ending names, whole or not at all; the same picture gives the same bytes.
    `dots` an inch, of a PNG and of what an SVG or PDF holds as an image."""
    ending = path.suffix.lower().lstrip(".")
    with atomic_path(path) as part:
        figure.savefig(part, format=ending, dpi=dots, metadata=_UNDATED[ending])
    return path


def write_table(path: Path, columns: Mapping[str, Any]) -> Path:
    """Writes columns of equal length as CSV, with their names in the first line; whole or not at all."""
    with atomic_path(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows([_cell(v) for v in row] for row in zip(*columns.values(), strict=True))
    return path


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"

"""The style of all figures: sizes for one column of a paper, colors that color-blind readers can tell apart.

Figures are written in several formats together with a CSV table of the plotted numbers.
"""

from __future__ import annotations

import csv
import io
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

# A law looks the same in every figure. The first seven differ in color and marker, the others in dashes.
_LAW_ORDER = ("gr", "lcp", "qce", "lzb", "gauss_seidel", "jacobi", "etm", "sqm", "smm")

VECTOR_FONTS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "svg.hashsalt": "carom",  # the same figure gives the same file
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # TrueType: journals do not accept Type 3 fonts
}
_STYLE: dict[Any, Any] = VECTOR_FONTS | {
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
}
COLUMN, WIDE = 3.5, 7.2  # inches: width of one and of two columns of a paper
FORMATS = ("png", "svg", "pdf")
DOTS = 300  # per inch, of PNG files
_UNDATED: dict[str, dict[str, None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}

# Scenes have no units of their own, and neither have figures.
TIME, X, Y = "time (time units)", "x (length units)", "y (length units)"

_formats: ContextVar[tuple[str, ...]] = ContextVar("formats", default=FORMATS)


def law_style(name: str) -> dict[str, Any]:
    """Color, dash and marker of a law. A law that a user has registered gets the next ones of the cycle."""
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
    """A figure and its axes, row by row, in the style of the project while the block runs. Sizes are in inches."""
    with sheet(width, height) as figure:
        yield figure, list(figure.subplots(rows, columns, squeeze=False).flat)


@contextmanager
def sheet(width: float = WIDE, height: float = 2.9) -> Iterator[Figure]:
    """An empty figure in the style of the project while the block runs. Sizes are in inches."""
    with matplotlib.rc_context(_STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


@contextmanager
def written_as(formats: Sequence[str]) -> Iterator[None]:
    """Restricts `write` to some of FORMATS while the block runs. The CSV table is always written."""
    before = _formats.set(tuple(formats))
    try:
        yield
    finally:
        _formats.reset(before)


def write(figure: Figure, out: Path, name: str, columns: Mapping[str, Any]) -> tuple[Path, ...]:
    """Writes NAME.png, NAME.svg and NAME.pdf (or those selected by `written_as`) and NAME.csv, the plotted numbers.

    Column names include the unit, as in `x (length units)`; a column without one is dimensionless. Returns the paths,
    the table last.
    """
    figures = [save(figure, out / f"{name}.{ending}") for ending in _formats.get()]
    return (*figures, write_table(out / f"{name}.csv", columns))


def picture(figure: Figure, ending: str, dots: float = DOTS) -> bytes:
    """The bytes of a figure as png, svg or pdf. The same figure gives the same bytes."""
    memory = io.BytesIO()
    figure.savefig(memory, format=ending, dpi=dots, metadata=_UNDATED[ending])
    return memory.getvalue()


def save(figure: Figure, path: Path, dots: float = DOTS) -> Path:
    """Writes a figure atomically in the format of its suffix. The same figure gives the same bytes.

    `dots` is the resolution per inch of a PNG file, and of images inside an SVG or PDF file.
    """
    with atomic_path(path) as part:
        part.write_bytes(picture(figure, path.suffix.lower().lstrip("."), dots))
    return path


def write_table(path: Path, columns: Mapping[str, Any]) -> Path:
    """Writes columns of equal length atomically as CSV, with their names in the first line."""
    with atomic_path(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows([_cell(v) for v in row] for row in zip(*columns.values(), strict=True))
    return path


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"

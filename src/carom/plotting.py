"""The one plot style of the project: readable in a column of a paper, safe for colour-blind eyes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito (2008), without their yellow, which is too pale for lines on white.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK = "#CC79A7", "#56B4E9", "#000000"
GREY, PALE = "#6B7280", "#D1D5DB"
CYCLE = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.4, 1)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

# A law looks the same in every figure. Seven differ in colour and marker alike; beyond that, dashes tell.
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
}
WIDE = 7.2  # inches: two columns of a paper


def law_style(name: str) -> dict[str, Any]:
    """Colour, dash and marker of a law; a law of the user's gets the next ones in the cycle."""
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


def write(figure: Figure, out: Path, name: str, columns: Mapping[str, Any]) -> tuple[Path, ...]:
    """Writes NAME.png (200 dots an inch), NAME.svg and NAME.csv with the plotted numbers. Returns the paths."""
    paths = tuple(out / f"{name}.{ending}" for ending in ("png", "svg", "csv"))
    figure.savefig(paths[0], dpi=200)
    figure.savefig(paths[1], metadata={"Date": None})
    write_table(paths[2], columns)
    return paths


def write_table(path: Path, columns: Mapping[str, Any]) -> Path:
    """Writes columns of equal length as CSV, with their names in the first line."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows([_cell(v) for v in row] for row in zip(*columns.values(), strict=True))
    return path


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"

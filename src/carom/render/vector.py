"""From a page to SVG and PDF: every shape stays a shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..colouring import Floats
from .layers import Discs, Hole, Layer, Lines, Page, Polygons, Rings, Text, thick

RASTER = 20_000  # shapes of one layer from which it is stored as an image: viewers choke on more


def write(page: Page, path: Path, kind: str) -> None:
    """Writes the page as `svg` or `pdf`; a pixel becomes a point."""
    import matplotlib
    from matplotlib.figure import Figure

    style = {"font.family": "DejaVu Sans", "svg.hashsalt": "carom", "svg.fonttype": "none", "pdf.fonttype": 42}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(page.width / 72.0, page.height / 72.0), dpi=72.0)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0.0, page.width), ylim=(page.height, 0.0))
        axes.set_axis_off()
        for layer in page.layers:
            draw(axes, layer, (page.width, page.height))
        meta = {"Date": None} if kind == "svg" else {"CreationDate": None}
        figure.savefig(path, format=kind, dpi=200.0, metadata=meta)


def draw(axes, layer: Layer, size: tuple[float, float]) -> None:  # type: ignore[no-untyped-def]
    """One layer into axes whose data are pixels of the page, and points of the figure."""
    if isinstance(layer, Text):
        _text(axes, layer)
    elif isinstance(layer, Discs):
        _discs(axes, layer)
    elif isinstance(layer, Hole):
        _hole(axes, layer, size)
    elif isinstance(layer, Rings):
        _rings(axes, layer)
    elif isinstance(layer, Lines):
        _polygons(axes, thick(layer))
    else:
        _polygons(axes, layer)

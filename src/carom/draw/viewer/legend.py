"""What colors mean, as a strip of HTML."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from ..colors import Legend
from . import tone

INK = "#3b4250"


def legend_html(legend: Legend) -> str:
    """A bar with ticks, or one swatch for each category; in the colors that the page shows."""
    body = _swatches(legend) if legend.places is None else _bar(legend)
    head = f'<div style="font-weight:600;margin-bottom:4px">{escape(legend.title)}</div>'
    return f'<div style="font:12px system-ui,sans-serif;color:{INK};padding:2px 12px 8px">{head}{body}</div>'


def _bar(legend: Legend) -> str:
    assert legend.places is not None
    chosen = tone.shown(legend.colors[np.linspace(0, len(legend.colors) - 1, 24).round().astype(int)])
    stops = ",".join(_hex(c) for c in chosen)
    marks = []
    for place, label in zip(legend.places, legend.labels):
        shift = -100.0 * place  # labels at the ends stay within the bar
        style = f"position:absolute;left:{100.0 * place:.1f}%;transform:translateX({shift:.0f}%)"
        marks.append(f'<span style="{style}">{escape(label)}</span>')
    bar = f'<div style="height:12px;border-radius:3px;background:linear-gradient(90deg,{stops})"></div>'
    return f'{bar}<div style="position:relative;height:16px;margin-top:2px">{"".join(marks)}</div>'


def _swatches(legend: Legend) -> str:
    box = "display:inline-block;width:11px;height:11px;border-radius:2px;margin:0 4px -1px 0"
    return " ".join(
        f'<span style="margin-right:9px;white-space:nowrap"><span style="{box};background:{_hex(c)}"></span>'
        f"{escape(label)}</span>"
        for label, c in zip(legend.labels, tone.shown(legend.colors))
    )


def _hex(color: NDArray[np.uint8]) -> str:
    return "#" + "".join(f"{int(v):02x}" for v in color)

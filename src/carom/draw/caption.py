"""The caption above a picture: scene, law, time and legend of the colors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..shown import counted
from ..trajectory import Trajectory
from .colors import Coloring, Legend
from .framing import Area
from .primitives import RGB, WHITE, Discs, Page, Primitive, Text, quads, repeated
from .raster import text_width

INK: RGB = (31, 41, 55)
QUIET: RGB = (107, 114, 128)
# Sizes are in pixels of a page of height 1080.
LARGE, MIDDLE, FINE = 31.0, 22.0, 19.0  # sizes of text
MARGIN, STRIP = 40.0, 118.0  # at the sides, and height of the caption
BAR = (250.0, 12.0)  # width and height of the color bar
PIECES = 64  # pieces of the color bar
PLATE = 0.84  # opacity of the strip that hides bodies behind the caption
WORDS = {"newtons": "Newton's", "maxwells": "Maxwell's", "2d": "2D", "3d": "3D"}
TOWER_LAWS = {"gauss": "Gauss' principle of least constraint"}


@dataclass(frozen=True, eq=False)
class Caption:
    """The caption of all pictures of a film; the time, and how many bodies are not shown, are added to each."""

    title: str
    law: str
    digits: int  # decimals of the time
    longest: float  # the last time
    legend: Legend | None

    def primitives(self, page: Page, time: float, outside: int = 0) -> list[Primitive]:
        unit = unit_of(page)
        edge, first, second = MARGIN * unit, 58.0 * unit, 94.0 * unit
        right = page.width - edge
        clock = f"t = {time:.{self.digits}f}"
        wide = text_width(f"t = {self.longest:.{self.digits}f}", LARGE * unit)
        # The time is aligned at its left end, so that it does not move when its digits change.
        out: list[Primitive] = [Text(right - wide, first, clock, LARGE * unit, INK)]
        room = right - wide - edge
        if self.legend is not None:
            legend, used = _legend(self.legend, right - wide - 60.0 * unit, first, unit)
            out += legend
            room -= used + 60.0 * unit
        out.append(Text(edge, first, _cut(self.title, LARGE * unit, True, room), LARGE * unit, INK, bold=True))
        law = f"{self.law}, {outside:,} of them outside the picture" if outside else self.law
        out.append(Text(edge, second, _cut(law, MIDDLE * unit, False, room), MIDDLE * unit, QUIET))
        return out


def unit_of(page: Page) -> float:
    """Pixels of this page per pixel of a page of height 1080; narrow pages are measured by their width."""
    return min(page.height / 1080.0, page.width / 1400.0)


def plate(page: Page, highest: float) -> list[Primitive]:
    """A pale strip behind the caption if a body reaches it; `highest` is the top of all bodies in pixels."""
    bottom = STRIP * unit_of(page)
    if not highest < bottom:
        return []
    corners = np.array([[[0.0, 0.0], [page.width, 0.0], [page.width, bottom], [0.0, bottom]]])
    return [quads(corners, repeated(WHITE, 1), PLATE)]


def picture_area(page: Page, caption: bool) -> Area:
    """The part of the page that the picture fills."""
    top = STRIP * unit_of(page) if caption else 0.0
    return Area(0.0, top, float(page.width), page.height - top)


def caption_of(run: Trajectory, coloring: Coloring | None, title: str | None = None) -> Caption:
    """The caption of a run; without a coloring it has no legend."""
    name = title if title is not None else spoken(run.name)
    longest = float(run.time[-1])
    digits = 1 if longest >= 100.0 else 2 if longest >= 0.5 else 4
    return Caption(name[:1].upper() + name[1:], law_text(run), digits, longest, _useful_legend(coloring))


def spoken(name: str) -> str:
    """The name of a scene in plain words: `newtons_cradle` is Newton's cradle."""
    return " ".join(WORDS.get(word, word) for word in name.replace("_", " ").split())


def _useful_legend(coloring: Coloring | None) -> Legend | None:
    """The legend; None for colors that only distinguish bodies, and for a single group."""
    if coloring is None or coloring.quantity.name == "body":
        return None
    return coloring.legend if len(coloring.legend.labels) > 1 else None


def law_text(run: Trajectory) -> str:
    """Title and name of the law, and the number of bodies."""
    from .. import laws

    known = dict(laws.every())
    name = run.law
    text = f"{known[name].title} ({name})" if name in known else TOWER_LAWS.get(name, name)
    bodies = counted(run.count, "body", "bodies")
    return f"{text[:1].upper() + text[1:]}  ·  {bodies}"


def _cut(text: str, size: float, bold: bool, room: float) -> str:
    """The text, shortened to a width in pixels."""
    if text_width(text, size, bold) <= room:
        return text
    while text and text_width(text + "…", size, bold) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def _legend(legend: Legend, right: float, base: float, unit: float) -> tuple[list[Primitive], float]:
    """Primitives that end at x = right, and their width."""
    return _bar(legend, right, base, unit) if legend.places is not None else _keys(legend, right, base, unit)


def _bar(legend: Legend, right: float, base: float, unit: float) -> tuple[list[Primitive], float]:
    """A color bar with numbers below it and the title above."""
    wide, tall = BAR[0] * unit, BAR[1] * unit
    left, top = right - wide, base - 4.0 * unit
    # Each piece extends to the end of the bar and the next one covers the rest, so that there are no seams.
    x = left + np.arange(PIECES) / PIECES * wide
    corners = np.empty((PIECES, 4, 2))
    corners[:, :, 0] = np.stack([x, x * 0 + right, x * 0 + right, x], axis=1)
    corners[:, :, 1] = (top, top, top + tall, top + tall)
    fill = legend.colors[np.linspace(0, 255, PIECES).round().astype(int)]
    out: list[Primitive] = [quads(corners, fill), Text(left, top - 10.0 * unit, legend.title, FINE * unit, QUIET)]
    free = left  # the next label may start here
    for place, label in zip(legend.places or (), legend.labels):
        at, size = left + place * wide, text_width(label, FINE * unit)
        anchor = "left" if place < 0.02 else "right" if place > 0.98 else "center"
        begin = at - {"left": 0.0, "center": 0.5, "right": 1.0}[anchor] * size
        if begin >= free - 1e-6:
            out.append(Text(at, top + tall + 22.0 * unit, label, FINE * unit, QUIET, anchor))
            free = begin + size + 14.0 * unit
    return out, max(wide, text_width(legend.title, FINE * unit))


def _keys(legend: Legend, right: float, base: float, unit: float) -> tuple[list[Primitive], float]:
    """A dot and a name per category, in one row."""
    size, gap = FINE * unit, 26.0 * unit
    widths = [text_width(label, size) + 22.0 * unit for label in legend.labels]
    total = sum(widths) + gap * (len(widths) - 1)
    x = right - total
    out: list[Primitive] = []
    for label, wide, color in zip(legend.labels, widths, legend.colors):
        dot = np.array([[x + 7.0 * unit, base - 6.5 * unit]])
        if label != "…":
            out.append(Discs(dot, np.array([7.0 * unit]), repeated(tuple(color.tolist()), 1)))
        out.append(Text(x + 22.0 * unit, base, label, size, QUIET))
        x += wide + gap
    return out, total

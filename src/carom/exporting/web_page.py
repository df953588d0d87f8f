"""A run as one web page (.html) that plays it: no server, no network, 2D and 3D, to be opened as a file or mailed.

The page has the drawing of the play page (`play/page`) and, in 3D, three.js, compressed. Positions and orientations are
16-bit numbers between their extremes: the largest error is 1 / 131070 of the extent of the motion, less than a tenth of
a pixel. Long or large runs are thinned to BODY_FRAMES poses, so that a page has at most about 4 MB.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ..draw.colors import MAPS
from ..draw.web_picture import life_numbers, picture
from ..solvers.rows import Floats
from .content import Content

BODY_FRAMES = 300_000  # poses of bodies: frames times bodies
STOPS = 18  # colors of the legend
INFLATE = """const inflated = async (id) => {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).blob();
};
const text = async (id) => (await inflated(id)).text();
"""
THREE = """const code = new Blob([await text("three")], { type: "text/javascript" });
const THREE = await import(URL.createObjectURL(code));
"""


def write(content: Content, path: Path) -> None:
    """Writes the page."""
    path.write_text(page(recorded(content), _packed("three", library())), encoding="utf-8")


def recorded(content: Content) -> bytes:
    """The run as compressed JSON, all that two pages do not share."""
    return _compressed(json.dumps(_data(content), separators=(",", ":")).encode())


def library() -> bytes:
    """three.js, compressed, for pages in 3D."""
    return _compressed(_source("three.min.js").encode())


def page(run: bytes, three: str) -> str:
    """The page of a recorded run. `three` is the element that holds or loads the library, for a run in 3D."""
    told = json.loads(gzip.decompress(run))
    spatial = told["dimension"] == 3
    scripts = ["drawing2d.js", "drawing3d.js", "film.js"] if spatial else ["drawing2d.js", "film.js"]
    code = INFLATE + (THREE if spatial else "class Painter3D {}\n") + "\n".join(_inlined(name) for name in scripts)
    parts = {
        "TITLE": html.escape(f"{told['scene']}, law {told['results'][0]['law']}"),
        "COLORS": _colors(),
        "SCRIPT": code,
        "PACKED": _packed("data", run) + ("\n" + three if spatial else ""),
    }
    # A function as replacement: backslashes in scripts stay what they are.
    return re.sub("@(TITLE|COLORS|SCRIPT|PACKED)@", lambda found: parts[found[1]], _source("film.html"))


def _source(name: str) -> str:
    return (files("carom.play") / "page" / name).read_text(encoding="utf-8")


def _inlined(name: str) -> str:
    """The text of a module without imports and exports: all modules of the page are one."""
    text = re.sub(r"^import .*;\n", "", _source(name), flags=re.MULTILINE)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def _colors() -> str:
    """The colors of the play page, light and dark."""
    return "\n".join(re.findall(r":root[^{]*\{[^}]*--back[^}]*\}", _source("play.css")))


def _compressed(data: bytes) -> bytes:
    return gzip.compress(data, 9, mtime=0)


def _packed(name: str, data: bytes) -> str:
    """An element with compressed data."""
    return f'<script type="text/plain" id="{name}">{base64.b64encode(data).decode("ascii")}</script>'


def _data(content: Content) -> dict[str, Any]:
    """The run as the play page has it, see `play.runs`, with smaller numbers."""
    run = content.run
    every = -(-len(content.frames) * run.count // BODY_FRAMES)
    frames = content.frames[::every]
    rgb = np.stack([content.coloring.rgb(int(k)) for k in frames])
    table, index = np.unique(rgb.reshape(-1, 3), axis=0, return_inverse=True)
    places = np.stack([run.positions[int(k)] for k in frames])
    turns = content.turn[::every] if run.dimension == 3 else np.stack([run.orientations[int(k)] for k in frames])
    walls = np.stack([run.boundary_poses[int(k)] for k in frames]) if run.dimension == 2 else np.zeros((0, 0))
    result = {
        "law": run.law,
        "time": run.time[frames].tolist(),
        "position": _quantized(places, run.dimension),
        "turn": _quantized(turns, 1 if run.dimension == 2 else 4),
        "color": base64.b64encode(index.astype("<u2").tobytes()).decode("ascii"),
        "boundaries": _quantized(walls, 3) if walls.size else None,
        "lives": base64.b64encode(life_numbers(run, frames).tobytes()).decode("ascii") if run.changes else None,
    }
    return {
        "scene": run.name,
        "version": run.carom_version,
        "dimension": run.dimension,
        "bodies": run.count,
        "picture": picture([run]),
        "colors": {"map": table.tolist(), **_legend(content)},
        "results": [result],
    }


def _legend(content: Content) -> dict[str, Any]:
    coloring = content.coloring
    if coloring.quantity.category:
        return {"title": coloring.quantity.title, "low": "", "high": "", "stops": []}
    low, high = (f"{value:.2g}" for value in coloring.range)
    stops = np.linspace(0, 255, STOPS).round().astype(int)
    return {"title": coloring.quantity.title, "low": low, "high": high, "stops": MAPS[coloring.map][stops].tolist()}


def _quantized(values: Floats, axes: int) -> dict[str, Any]:
    """Numbers (k, ...) whose last `axes` are quantities of their own, as 16-bit differences from frame to frame."""
    flat = np.asarray(values, dtype=np.float64).reshape(len(values), -1, axes)
    low, high = flat.min(axis=(0, 1)), flat.max(axis=(0, 1))
    share = (flat - low) / np.where(high > low, high - low, 1.0)
    whole = np.round(65535.0 * share).astype(np.uint16)
    steps = np.diff(whole, axis=0, prepend=np.zeros_like(whole[:1]))  # modulo 2^16, as the page adds them up
    data = base64.b64encode(steps.astype("<u2").tobytes()).decode("ascii")
    return {"low": low.tolist(), "high": high.tolist(), "width": flat[0].size, "data": data}

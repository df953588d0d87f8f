"""The web page that plays a run: one file, the numbers of the run within 16 bits, frames left out of large runs."""

from __future__ import annotations

import base64
import gzip
import json
import re

import numpy as np
import pytest

import carom
from carom.exporting import web_page


def data_of(path) -> dict:
    found = re.search(r'id="data">([^<]*)<', path.read_text(encoding="utf-8"))
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def numbers(packed) -> np.ndarray:
    """As the page decodes them: sums of differences modulo 2^16, then a share of the range of each axis."""
    steps = np.frombuffer(base64.b64decode(packed["data"]), "<u2").reshape(-1, packed["width"])
    whole = np.cumsum(steps, axis=0, dtype=np.uint16)
    low, high = np.array(packed["low"]), np.array(packed["high"])
    return low + whole.reshape(len(steps), -1, len(low)) * (high - low) / 65535


@pytest.mark.parametrize("name", ["flat", "solid"])
def test_the_page_has_the_poses_of_the_run(request, name, tmp_path):
    run = request.getfixturevalue(name)
    (path,) = carom.export(run, tmp_path / "page.html")
    data = data_of(path)
    result = data["results"][0]
    assert (data["dimension"], data["bodies"], result["law"]) == (run.dimension, run.count, run.law)
    assert result["time"] == run.time.tolist()
    places = np.array([run.positions[k] for k in range(len(run))])
    extent = places.max(axis=(0, 1)) - places.min(axis=(0, 1))
    # Half of a 16-bit step of the extent of each axis.
    assert (np.abs(numbers(result["position"]) - places) <= extent / 131070 + 1e-12).all()
    if run.dimension == 3:
        turns = np.array([run.orientations[k] for k in range(len(run))])
        alignment = np.abs((numbers(result["turn"]) * turns).sum(axis=-1))
        assert alignment.min() > 1 - 1e-4  # q and -q are the same orientation
    colors = np.array(data["colors"]["map"])[np.frombuffer(base64.b64decode(result["color"]), "<u2")]
    shown = np.array([carom.draw.colors.Coloring.of(run).rgb(k) for k in range(len(run))])
    assert (colors.reshape(shown.shape) == shown).all()


def test_the_page_needs_nothing_else(flat, solid, tmp_path):
    for run in (flat, solid):
        (path,) = carom.export(run, tmp_path / f"{run.name}.html")
        text = path.read_text(encoding="utf-8")
        code = re.sub(r'<script type="text/plain".*?</script>', "", text, flags=re.DOTALL)
        assert not re.findall(r'(?:src|href)="(?!data:)', code) and "http" not in code and "\nimport " not in code
        assert len(text) < 450_000


def test_large_runs_are_thinned(flat, tmp_path, monkeypatch):
    monkeypatch.setattr(web_page, "BODY_FRAMES", 3 * flat.count)
    (path,) = carom.export(flat, tmp_path / "page.html")
    times = data_of(path)["results"][0]["time"]
    assert 2 <= len(times) <= 3 and set(times) <= set(flat.time.tolist())


def test_the_title_is_text(flat, tmp_path):
    assert "<title>" in (page := carom.export(flat, tmp_path / "a.html")[0].read_text(encoding="utf-8"))
    assert "@TITLE@" not in page and "@SCRIPT@" not in page

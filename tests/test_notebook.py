"""Objects show themselves in notebooks, and the tutorial notebooks run."""

from __future__ import annotations

import base64
import json
import re
import urllib.request
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from tests.trajectory.small import whole_run

import carom
from carom.scene import Bodies, Disc, Scene
from carom.scenes import newtons_cradle
from carom.towers.named import named_tower

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "examples" / "notebooks").glob("*.ipynb"))
CHAIN = carom.ImpactProblem.chain([1.0] * 3, [1.0, 0.0, 0.0], name="<three> balls")


def pictures(html: str) -> list[ElementTree.Element]:
    """The SVG pictures of a display; each must be well formed."""
    found = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    return [ElementTree.fromstring(base64.b64decode(text)) for text in found]


def cells(html: str) -> list[str]:
    return re.findall(r"<td>(.*?)</td>", html)


def test_a_problem_shows_its_contacts_and_escapes_its_name():
    html = CHAIN._repr_html_()
    assert "&lt;three&gt; balls" in html and "<three>" not in html
    assert cells(html)[-6:] == ["0", "0 – 1", "-1", "1", "1 – 2", "0"]
    assert len(pictures(html)) == 1


def test_a_solution_shows_velocities_before_and_after():
    html = carom.solve_impact(CHAIN, "gr")._repr_html_()
    assert cells(html)[3:6] == ["0", "1", "0"]  # the first ball stops
    assert cells(html)[9:12] == ["2", "0", "1"]  # the last one leaves
    assert "all measures are within their bounds" in html
    assert len(pictures(html)) == 2


def test_a_solution_that_fails_its_audit_says_so():
    html = carom.solve_impact(CHAIN, "none")._repr_html_()
    assert "fails: slowest separation" in html


def test_problems_without_positions_show_bars():
    problem = carom.ImpactProblem.from_matrices(np.eye(2), [[-1.0, 1.0]], [1.0, 0.0])
    assert len(pictures(problem._repr_html_())) == 1


def test_long_tables_are_cut():
    html = carom.ImpactProblem.chain(np.ones(40), np.r_[1.0, np.zeros(39)])._repr_html_()
    assert "… 31 more" in html


def test_a_scene_shows_itself_or_its_error():
    assert len(pictures(newtons_cradle()._repr_html_())) == 1
    wrong = Scene("overlap", [Bodies(Disc(1.0), np.array([[0.0, 0.0], [0.1, 0.0]]))])
    html = wrong._repr_html_()
    assert not pictures(html) and "overlap" in html


def test_a_run_shows_its_start_and_end_and_says_when_it_is_closed(tmp_path):
    run = whole_run(tmp_path / "run.h5")
    assert len(pictures(run._repr_html_())) == 2
    run.close()
    assert "closed" in run._repr_html_()


@pytest.mark.parametrize(("name", "verdict"), [("stack-2", "stable"), ("leaning", "unstable")])
def test_a_tower_shows_its_verdict(name, verdict):
    html = named_tower(name)._repr_html_()
    assert f"<td>{verdict}" in html and len(pictures(html)) == 1


def test_the_viewer_is_served_in_a_frame_until_the_run_is_closed():
    pytest.importorskip("viser", reason="the viewer is the extra `view`")
    run = whole_run(None)
    shown = run.view(height=300)
    address = re.search(r'<iframe src="(http://127\.0\.0\.1:\d+)/?"', shown._repr_html_())[1]
    with urllib.request.urlopen(address, timeout=120) as answer:
        assert answer.status == 200
    again = run.view()
    assert again is not shown
    run.close()
    for gone in (shown.address, again.address):
        with pytest.raises(OSError):
            urllib.request.urlopen(gone, timeout=5)


# ---- the tutorial notebooks


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_outputs(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.long
def test_notebooks_run(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="nbclient and ipykernel run the notebooks")
    pytest.importorskip("ipykernel", reason="nbclient and ipykernel run the notebooks")
    import nbformat

    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [out for cell in book.cells for out in cell.get("outputs", [])]
    shown = [out for out in outputs if "text/html" in out.get("data", {})]
    assert len(shown) == 2  # each notebook ends two cells with an object that shows itself
    text = "".join(out.get("text", "") for out in outputs)
    if path.stem == "first_impact":  # the table of the handbook of laws: gr sends one ball away
        assert re.search(r"gr +-?0\.0000 +-?0\.0000 +-?0\.0000 +-?0\.0000 +1\.0000", text)
    else:
        assert "FAIL" not in text and text.count("pass") >= 3

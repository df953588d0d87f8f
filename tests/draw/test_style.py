"""One style for all figures: formats, tables beside them, and no figure that goes its own way."""

from __future__ import annotations

import ast
import csv
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from carom.draw import style as plotting

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "carom"

# Figures that are made or saved elsewhere, and why.
OWN_WAY = {
    "draw/style.py": "the style itself",
    "draw/vector.py": "a page of a film: its size and letters are those of the frames, in pixels",
}


def strays(source: str) -> set[str]:
    """What makes or saves a figure past the style: pyplot, Figure(...), .savefig(...), another rc_context."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [getattr(node, "module", None) or "", *(a.name for a in node.names)]
            found |= {"pyplot" for name in names if name.split(".")[-1] in ("pyplot", "pylab")}
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            found |= {called} & {"Figure", "savefig", "rc_context"}
    return found


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("import matplotlib.pyplot as plt", "pyplot"),
        ("from matplotlib import pyplot", "pyplot"),
        ("from matplotlib.pyplot import subplots", "pyplot"),
        ("f = Figure(figsize=(3, 3))", "Figure"),
        ("f = matplotlib.figure.Figure()", "Figure"),
        ("figure.savefig(path)", "savefig"),
        ("with matplotlib.rc_context({}): pass", "rc_context"),
    ],
)
def test_the_reader_sees_every_form(line, word):
    assert strays(line) == {word}


def test_every_figure_has_the_style_of_the_project():
    """A file without any of the words is not parsed."""
    texts = {p.relative_to(PACKAGE).as_posix(): p.read_text(encoding="utf-8") for p in PACKAGE.rglob("*.py")}
    words = ("pyplot", "pylab", "Figure", "savefig", "rc_context")
    own = {name: strays(text) for name, text in texts.items() if any(word in text for word in words)}
    own = {name: found for name, found in own.items() if found}
    assert set(own) == set(OWN_WAY), own


@pytest.fixture
def figure():
    with plotting.styled(1, width=plotting.COLUMN) as (made, (axes,)):
        axes.plot([0.0, 1.0], [1.0, 2.0])
        axes.set(xlabel=plotting.TIME, ylabel="speed (length / time units)")
        yield made


TABLE = {plotting.TIME: [0.0, 1.0], "law": ["gr", "lcp"], "speed": np.array([1.0, 1 / 3])}
STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def test_all_formats_and_the_table_last(figure, tmp_path):
    paths = plotting.write(figure, tmp_path, "name", TABLE)
    assert [p.name for p in paths] == ["name.png", "name.svg", "name.pdf", "name.csv"]
    assert sorted(tmp_path.iterdir()) == sorted(paths), "nothing half-written is left"
    for path, start in zip(paths, STARTS.values()):
        assert path.read_bytes().startswith(start)
    with paths[-1].open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["law"] for row in rows] == ["gr", "lcp"] and [float(row["time (time units)"]) for row in rows] == [0, 1]
    assert float(rows[1]["speed"]) == pytest.approx(1 / 3, rel=1e-11)


def test_chosen_formats_hold_inside_the_block_only(figure, tmp_path):
    with plotting.written_as(["pdf"]):
        assert [p.suffix for p in plotting.write(figure, tmp_path, "a", TABLE)] == [".pdf", ".csv"]
    assert len(plotting.write(figure, tmp_path, "b", TABLE)) == 4


@pytest.mark.parametrize("ending", plotting.FORMATS)
def test_the_same_picture_gives_the_same_bytes(figure, tmp_path, ending):
    first = plotting.save(figure, tmp_path / f"a.{ending}").read_bytes()
    assert first == plotting.save(figure, tmp_path / f"b.{ending}").read_bytes()


def test_what_fails_leaves_the_old_file(figure, tmp_path):
    path = plotting.write_table(tmp_path / "t.csv", TABLE)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="shorter"):
        plotting.write_table(path, {"a": [1, 2], "b": [1]})
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_column_of_a_paper_is_sharp_and_legible(figure, tmp_path):
    """3.5 inches at 300 dots; no letters below 7 points, axis labels above that."""
    from matplotlib.image import imread

    assert imread(plotting.save(figure, tmp_path / "a.png")).shape[1] == 1050
    with plotting.sheet():
        sizes = [matplotlib.rcParams[f"{name}.size"] for name in ("font",)]
        sizes += [matplotlib.rcParams[name] for name in ("axes.titlesize", "axes.labelsize", "legend.fontsize")]
        assert min(sizes) >= 7.0


def _seen_by_deuteranopes(color: str) -> np.ndarray:
    """Linear RGB as eyes without M cones see it (Viénot, Brettel and Mollon 1999)."""
    rgb = np.array(matplotlib.colors.to_rgb(color)) ** 2.2
    to_lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    lms = to_lms @ rgb
    lms[1] = 0.494207 * lms[0] + 1.24827 * lms[2]
    return np.clip(np.linalg.solve(to_lms, lms), 0.0, 1.0) ** (1 / 2.2)


def test_colors_stay_apart_without_green_cones():
    seen = np.array([_seen_by_deuteranopes(c) for c in plotting.CYCLE[:5]])
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=2) + np.eye(len(seen))
    assert apart.min() > 0.12
    bad = [_seen_by_deuteranopes(c) for c in ("#D62728", "#7F6A00")]  # a red and an olive that these eyes confuse
    assert np.linalg.norm(bad[0] - bad[1]) < 0.12

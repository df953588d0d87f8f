"""`carom plot`, `reproduce` and `compare`: formats, names of files, and the numbers beside each figure."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import carom as package
from carom.analysis.run_panels import panel
from carom.cli.arguments import ALL
from carom.draw.style import FORMATS

SMALL = ("pool_break", "--set", "rows=3", "--duration", "0.8", "-q")


@pytest.fixture
def made(carom, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert carom("run", *SMALL, "-o", "made.h5").code == 0
    return tmp_path / "made.h5"


def table_of(path) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def refused(ended, *words: str) -> None:
    assert ended.code == 2 and all(word in ended.err for word in words), ended.err


def test_the_command_knows_the_formats_of_the_style():
    assert tuple(ALL.split(",")) == FORMATS


@pytest.mark.parametrize(("asked", "endings"), [("svg, PNG,svg", ["svg", "png"]), (ALL, FORMATS)])
def test_formats(carom, made, asked, endings):
    ended = carom("plot", made, "--what", "spread", "--format", asked, "-o", "figures")
    assert ended.code == 0, ended.err
    names = [f"made-spread.{ending}" for ending in (*endings, "csv")]
    assert [Path(line).name for line in ended.out.splitlines()] == names
    assert sorted(p.name for p in Path("figures").iterdir()) == sorted(names)


def test_a_file_name_tells_the_format(carom, made):
    ended = carom("plot", made, "--what", "energy", "-o", "new/talk.pdf")
    assert ended.code == 0, ended.err
    assert sorted(p.name for p in Path("new").iterdir()) == ["talk.csv", "talk.pdf"]
    assert Path("new/talk.pdf").read_bytes().startswith(b"%PDF")


def test_refuses_before_it_writes(carom, made):
    before = sorted(p.name for p in made.parent.iterdir())
    refused(carom("plot", made, "--format", "pngs"), "did you mean 'png'")
    refused(carom("plot", made, "--format", ","), "--format")
    refused(carom("plot", made, "--format", "svg", "-o", "a.pdf"), "--format", "a.pdf")
    refused(carom("plot", made, "--what", "energy,state", "-o", "a.pdf"), "--output", "2 plots")
    refused(carom("reproduce", "smith-figure-6", "--format", "jpg"), "format")
    refused(carom("reproduce", "smith-figure-6", "-o", "a.pdf"), "--output", "--format")
    refused(carom("compare", *SMALL, "-o", "a.svg"), "--output", "--format")
    refused(carom("compare", *SMALL, "--format", ""), "--format")
    assert sorted(p.name for p in made.parent.iterdir()) == before


@pytest.mark.usefixtures("blank_pictures")
def test_the_table_has_every_plotted_number_with_its_unit(carom, made):
    assert carom("plot", made, "--what", "solver", "--format", "svg").code == 0
    rows = table_of("made-solver.csv")
    assert all(row["unit"] for row in rows)
    with package.Trajectory(made) as run:
        for name in ("drift", "overlap", "iterations", "symmetry"):
            for curve in panel(run, name).curves:
                own = [row for row in rows if (row["panel"], row["curve"]) == (name, curve.name)]
                assert [float(row["value"]) for row in own] == pytest.approx(curve.value, rel=1e-9, abs=1e-300)
                assert [float(row["time (time units)"]) for row in own] == pytest.approx(curve.time)
        seconds = {row["curve"]: float(row["value"]) for row in rows if row["panel"] == "computing"}
        assert seconds["impact"] == pytest.approx(run.steps["seconds_impact"].sum())


def test_the_picture_names_its_axes(carom, made):
    """Letters of an SVG stay letters: what stands at the axes can be read."""
    assert carom("plot", made, "--what", "state,moments,energy,overlap", "--format", "svg").code == 0
    for name in ("state", "moments"):
        text = Path(f"made-{name}.svg").read_text(encoding="utf-8")
        assert all(label in text for label in ("x (length units)", "y (length units)", "speed (length / time units)"))
    for name in ("energy", "overlap"):
        assert "time (time units)" in Path(f"made-{name}.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("what", ["state", *(pytest.param(w, marks=pytest.mark.long) for w in ("momentum", "spread"))])
def test_letters_stay_on_the_sheet(carom, made, what):
    """White all around: at the width of a column nothing is cut off."""
    from matplotlib.image import imread

    assert carom("plot", made, "--what", what, "-o", "a.png").code == 0
    pixels = imread("a.png")[..., :3]
    assert pixels.shape[1] == 1050
    edges = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    assert edges.min() == 1.0 and pixels.min() < 0.3


def test_the_energies_of_a_comparison_are_those_drawn(carom, made):
    order = ("compare", *SMALL, "--laws", "gr,jacobi", "-o", "out", "--format", "png")
    assert carom(*order).code == 0
    assert {p.suffix for p in Path("out").iterdir()} == {".png", ".csv"}
    rows = table_of("out/pool_break-compare-energy.csv")
    drift = {law: max(float(r["energy_drift"]) for r in rows if r["law"] == law) for law in ("gr", "jacobi")}
    table = {row["law"]: float(row["energy_change_most"]) for row in table_of("out/pool_break-compare.csv")}
    assert drift == pytest.approx(table, rel=1e-6, abs=1e-18)

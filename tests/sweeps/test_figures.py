"""Figures of sweeps and the commands: the drawn numbers are those of the table."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from carom.cli.errors import run
from carom.cli.main import app
from carom.draw.style import written_as
from carom.errors import ProblemError
from carom.sweeps import Results
from carom.sweeps.figures import draw_sweep

LAST = {"status": "done", "error": None, "seconds": 1.0, "carom": "", "numpy": "", "numba": "", "python": ""}
PLAN = """
[sweep]
scene = "energy_drum"
seeds = 2
measure = ["max_speed", "energy_drift"]
[parameters]
side = [3, 4]
[settings]
duration = 0.1
"""


def made(rows: list[dict], varied: list[str]) -> Results:
    known = ["id", "law", "seed", "f", "g"]
    return Results([{"id": k, **row, **LAST} for k, row in enumerate(rows)], len(rows), known, varied)


def drawn(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def layer() -> Results:
    rows = [
        {"law": law, "f": f, "g": g, "kind": "flat" if g < 3 else "stripes", "height": f * g}
        for law in ("gr", "qce")
        for f in (1, 2)
        for g in (2, 3, 4)
    ]
    return made(rows, ["f", "g", "law"])


def test_curves_show_mean_and_range_over_seeds(tmp_path):
    rows = [{"law": "gr", "f": f, "seed": seed, "speed": float(f + seed)} for f in (2, 1) for seed in (0, 1, 5)]
    paths = draw_sweep(made(rows, ["f"]), tmp_path)
    assert [p.suffix for p in paths] == [".png", ".svg", ".pdf", ".csv"]
    found = drawn(paths[-1])
    assert [(r["f"], r["speed mean"], r["speed minimum"], r["speed maximum"]) for r in found] == [
        ("1", "3", "1", "6"),
        ("2", "4", "2", "7"),
    ]


def test_maps_and_phase_diagrams_have_one_field_per_combination(layer, tmp_path):
    with written_as(("svg",)):
        draw_sweep(layer, tmp_path)
    heights, kinds = drawn(tmp_path / "sweep-height.csv"), drawn(tmp_path / "sweep-kind.csv")
    assert len(heights) == len(kinds) == 12
    assert all(float(r["height"]) == float(r["f"]) * float(r["g"]) for r in heights)
    assert all((r["kind"] == "flat") == (float(r["g"]) < 3) for r in kinds)


@pytest.mark.usefixtures("blank_pictures")
def test_categories_over_one_parameter(layer, tmp_path):
    draw_sweep(layer, tmp_path, "kind", where={"f": 1})
    assert [r["kind"] for r in drawn(tmp_path / "sweep-kind.csv")] == ["flat", "stripes", "stripes"] * 2


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"measure": "hight"}, "unknown measurement 'hight': did you mean 'height'"),
        ({"axes": ["h"]}, "unknown column 'h'"),
        ({"axes": ["f"]}, "one value: g=VALUE"),
        ({"where": {"f": 7}}, "f: got 7; expected one of 1, 2"),
        ({"where": {"f": 1, "g": 2}}, "one or two columns as axes"),
    ],
)
def test_what_cannot_be_drawn(layer, how, text, tmp_path):
    with pytest.raises(ProblemError, match=text):
        draw_sweep(layer, tmp_path, **how)
    assert not list(tmp_path.iterdir())


def test_the_commands(tmp_path, capsys):
    (tmp_path / "plan.toml").write_text(PLAN)
    folder = str(tmp_path / "out")
    assert run(app, ["sweep", str(tmp_path / "plan.toml"), "-o", folder, "--workers", "0"]) == 0
    assert "4 runs done" in capsys.readouterr().out
    assert run(app, ["sweep", "plot", folder, "--measure", "max_speed", "-o", str(tmp_path / "one.png")]) == 0
    assert capsys.readouterr().out.split()[0].endswith("one.png") and (tmp_path / "one.csv").exists()
    assert run(app, ["sweep", "plot", folder, "-o", str(tmp_path / "two.png")]) == 2
    assert "--measure NAME" in capsys.readouterr().err
    assert run(app, ["sweep", "plot", str(tmp_path)]) == 2
    assert "the folder of a sweep" in capsys.readouterr().err
    assert run(app, ["sweep", "measures"]) == 0
    assert "pattern" in capsys.readouterr().out

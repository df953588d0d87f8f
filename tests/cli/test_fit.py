"""`carom fit`."""

from __future__ import annotations

import json

import pytest
from tests.sensitivities.test_fit import measured, thrown

from carom.scene.file import load_scene, save_scene


@pytest.fixture
def files(tmp_path):
    scene, data = tmp_path / "thrown.toml", tmp_path / "data.csv"
    save_scene(thrown([0.75, 0.12, 1.0, 0.2]), scene)
    rows = measured(20)
    lines = [f"{t},0,{x},{y}" for t, x, y in zip(rows["time"], rows["x"], rows["y"])]
    data.write_text("\n".join(["time,body,x,y", *lines]))
    return scene, data


def test_estimates_figure_and_fitted_scene(carom, files, tmp_path):
    picture, fitted = tmp_path / "residuals.svg", tmp_path / "fitted.toml"
    ended = carom("fit", *files, "--vary", "materials.default.restitution", "--plot", picture, "-o", fitted)
    assert ended.code == 0
    assert "materials.default.restitution" in ended.out
    assert "measured minus fitted" in picture.read_text()
    assert load_scene(fitted).materials["default"].restitution == pytest.approx(0.8, abs=1e-6)


def test_json(carom, files):
    ended = carom("fit", *files, "--vary", "materials.default.restitution", "--json")
    found = json.loads(ended.out)["parameters"]["materials.default.restitution"]
    assert found["estimate"] == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--vary", "materials.steel.restitution"), "steel"),
        (("--vary", ","), "paths of parameters"),
        (("--vary", "scene.gravity", "--law", "grr"), "unknown law"),
        (("--vary", "scene.gravity", "--plot", "residuals.txt"), "png"),
        (("--vary", "scene.gravity", "--stepper", "substepped"), "stepper"),
    ],
)
def test_bad_input_gets_one_line(carom, files, arguments, message):
    ended = carom("fit", *files, *arguments)
    assert ended.code == 2
    assert message in ended.err
    assert len(ended.err.strip().splitlines()) == 1

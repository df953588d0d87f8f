"""Planar impacts: files of the data set, and coefficients that are found again in answers of a law."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from carom.draw.style import written_as
from carom.errors import ProblemError
from carom.reproduce import Case, ellipse

FRICTION, RESTITUTION = 0.08, 0.57


def measured(folder: Path, count: int = 60, **changed: np.ndarray) -> Path:
    """A file as the data set has them, of impacts that gr answers; the first model predicts that nothing moves."""
    rng = np.random.default_rng(3)
    before = np.column_stack([rng.uniform(-1, 1, count), rng.uniform(-3, -2, count), rng.uniform(-20, 20, count)])
    point = np.column_stack([rng.uniform(-0.01, 0.01, count), rng.uniform(-0.035, -0.025, count)])
    still = np.zeros((count, len(ellipse.MODELS), 3))
    after = ellipse.answer(ellipse.Impacts(before, before, point, still), "gr", RESTITUTION, FRICTION)
    zero, one = np.zeros(count), np.ones(count)
    data = {
        "states_i": np.column_stack([np.zeros((count, 3)), before]),
        "states_f": np.column_stack([np.zeros((count, 3)), after]),
        "n": np.column_stack([zero, one, point[:, 0]]),
        "d": np.column_stack([one, zero, -point[:, 1]]),
    } | changed
    savemat(folder / ellipse.IMPACTS, {"data": data})
    savemat(folder / ellipse.PREDICTIONS, {"v_models": still.reshape(count, -1)})
    return folder


def test_coefficients_of_answers_are_found_again(tmp_path):
    """At the true values the mean error has a kink: there the parabola through three points is off by a part of a step.

    Another law with other friction explains them worse, and predictions of no motion do not explain them at all.
    """
    folder = measured(tmp_path)
    with written_as(("png",)):
        found = ellipse.run(Case(tmp_path, data=folder), ("gr", "smm"))
    value, rows = found.numbers, {row.quantity: row for row in found.rows}
    assert value["gr: coefficient of friction"] == pytest.approx(FRICTION, abs=0.004)
    assert value["gr: coefficient of restitution"] == pytest.approx(RESTITUTION, abs=0.01)
    assert value["gr: error"] < 0.01 < value["smm: error"] < value["Mirtich, as stored with the data: error"]
    assert rows["gr explains the impacts at least as well as the best of the six models"].holds
    exact = ellipse.read_impacts(tmp_path)
    assert ellipse.error(exact, ellipse.answer(exact, "gr", RESTITUTION, FRICTION)).max() < 1e-12


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("states_i", np.zeros((60, 5)), "shapes"),
        ("states_f", np.full((60, 6), np.nan), "finite"),
        ("n", np.tile([0.6, 0.8, 0.0], (60, 1)), "normal"),
        ("d", np.zeros((3, 3)), "shapes"),
        ("d", np.tile([1.0, 0.0, 0.05], (60, 1)), "half axes"),
        ("d", np.tile([1.0, 0.0, 30.0], (60, 1)), "meters"),
        ("states_i", np.full((60, 6), -2500.0), "m/s"),
        ("states_i", np.full((60, 6), -1e-3), "m/s"),
    ],
)
def test_other_arrays_are_refused_in_one_line(tmp_path, name, value, says):
    with pytest.raises(ProblemError, match=says):
        ellipse.read_impacts(measured(tmp_path, **{name: value}))


def test_missing_and_damaged_files_are_refused_in_one_line(tmp_path):
    with pytest.raises(ProblemError, match="planar-impact-dataset"):
        ellipse.read_impacts(tmp_path)
    path = measured(tmp_path) / ellipse.IMPACTS
    whole = path.read_bytes()
    for damaged in (b"", b"MATLAB", whole[:200], whole[:-50]):
        path.write_bytes(damaged)
        with pytest.raises(ProblemError, match="the files of the data set"):
            ellipse.read_impacts(tmp_path)
    path.write_bytes(whole)
    (tmp_path / ellipse.PREDICTIONS).unlink()
    with pytest.raises(ProblemError, match="the files of the data set"):
        ellipse.read_impacts(tmp_path)

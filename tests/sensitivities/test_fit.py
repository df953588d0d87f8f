"""Fits to measured motion: recovery, coverage of intervals, parameters that cannot be found, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import ProblemError
from carom.scene import boundaries, shapes
from carom.scene.model import Bodies, Material, Scene

VARY = ["materials.default.restitution", "materials.default.friction", "bodies.0.velocity"]
TRUTH = np.array([0.8, 0.12, 1.0, 0.2])


def thrown(values=TRUTH) -> Scene:
    """A spinning disc that is thrown on the ground: it slides at its first impact."""
    e, mu, vx, vy = (float(value) for value in values)
    disc = Bodies(shapes.Disc(0.1), [[0.0, 1.0]], velocity=[[vx, vy]], spin=30.0, name="disc")
    ground = boundaries.Plane((0.0, 0.0), (0.0, 1.0))
    return Scene("thrown", [disc], [ground], materials={"default": Material(e, mu)}, gravity=(0.0, -9.81), duration=1.5)


def measured(count: int = 40, noise: float = 0.0, seed: int = 0) -> dict[str, np.ndarray]:
    """Positions at some times, with noise."""
    times = np.linspace(0.0, 1.5, count)
    place = carom.sensitivity(thrown()).derivative("scene.gravity", times).position[:, 0]
    place = place + noise * np.random.default_rng(seed).normal(size=place.shape)
    return {"time": times, "body": np.zeros(count, int), "x": place[:, 0], "y": place[:, 1]}


def test_exact_data_give_the_parameters_back():
    found = carom.fit(thrown([0.7, 0.2, 0.9, 0.3]), measured(), VARY)
    assert found.estimate == pytest.approx(TRUTH, rel=1e-6)
    assert found.noise < 1e-9
    assert found.scene.materials["default"].restitution == pytest.approx(0.8)


def coverage(trials: int) -> np.ndarray:
    """How often intervals of 95 percent contain each parameter."""
    hits = np.zeros(4)
    for seed in range(trials):
        found = carom.fit(thrown(), measured(30, 0.004, seed), VARY)
        hits += (found.interval[:, 0] <= TRUTH) & (found.interval[:, 1] >= TRUTH)
    return hits / trials


def test_intervals_cover_the_truth():
    assert (coverage(6) >= 3 / 6).all()  # fewer of 6 at 95 percent have a probability below 1e-4


@pytest.mark.long
def test_intervals_of_95_percent_cover_the_truth_in_95_percent_of_trials():
    found = coverage(200)
    assert 0.92 <= found.mean() <= 0.98
    assert (found >= 0.90).all()  # each parameter by itself: a binomial of 200 has a standard deviation of 1.5 percent


def test_missing_values_and_noise_of_known_size():
    data = measured(30, 0.004)
    data["y"][[3, 7]] = np.nan
    found = carom.fit(thrown(), data, VARY, sigma={"x": 0.004, "y": 0.004})
    assert found.data.count == 58
    assert found.noise == pytest.approx(1.0, abs=0.35)  # in units of sigma; its standard deviation is 0.1
    assert np.abs(found.estimate - TRUTH).max() < 6 * found.standard_error.max()
    assert (np.linalg.eigvalsh(found.correlation) > 0).all()


def test_parameters_that_the_data_do_not_determine_are_named():
    alone = carom.fit(thrown(), measured(20, 0.004), ["materials.default.density", "materials.default.restitution"])
    assert "materials.default.density has no effect" in alone.warnings[0]
    assert np.isinf(alone.standard_error[0])
    assert alone.standard_error[1] < 0.01
    single = carom.fit(thrown(), measured(20, 0.004), "materials.default.density")
    assert "materials.default.density has no effect" in single.warnings[0]
    both = thrown().with_(bodies=[*thrown().bodies], gravity=(0.0, -9.81))
    found = carom.fit(both, measured(20), ["boundaries.0.point", "bodies.0.position"])
    assert any("boundaries.0.point[0]" in text for text in found.warnings)  # the ground may be moved along itself


def test_files(tmp_path):
    from pyarrow import parquet, table

    data = measured(20)
    rows = zip(*(data[name] for name in ("time", "x", "y")))
    lines = ["# made by a test", "time,body,x,y", *(f"{t},disc,{x},{y}" for t, x, y in rows), "1.5,0,,"]
    text = tmp_path / "data.csv"
    text.write_text("\n".join(lines))
    parquet.write_table(table({name: list(values) for name, values in data.items()}), tmp_path / "data.parquet")
    start = thrown([0.78, 0.13, 1.0, 0.2])
    fits = [carom.fit(start, path, VARY[:2]) for path in (text, tmp_path / "data.parquet")]
    assert fits[0].estimate == pytest.approx(fits[1].estimate, abs=1e-9)
    assert fits[0].estimate == pytest.approx(TRUTH[:2], abs=1e-6)


@pytest.mark.parametrize(
    ("change", "vary", "message"),
    [
        ({}, "materials.steel.restitution", "steel"),
        ({}, "bodies.0.material", "number"),
        ({"body": np.ones(9, int)}, VARY, "body of the scene thrown"),
        ({"z": np.ones(9)}, VARY, "2D"),
        ({"x": None, "y": None}, VARY, "at least one of x"),
        ({"time": None}, VARY, "column 'time'"),
        ({"time": np.full(9, -1.0)}, VARY, "time from 0"),
        ({"x": ["?"] * 9}, VARY, "row 1"),
        ({"time": np.linspace(0.0, 1500.0, 9)}, VARY, "whose duration is 1.5"),
        ({"y": np.full(9, 1000.0)}, VARY, "where body 0 starts at 1"),
    ],
)
def test_bad_data_get_one_line(change, vary, message):
    data = {"time": np.linspace(0.0, 0.2, 9), "body": np.zeros(9, int), "x": np.zeros(9), "y": np.ones(9)} | change
    with pytest.raises(ProblemError, match=message) as caught:
        carom.fit(thrown(), {name: values for name, values in data.items() if values is not None}, vary)
    assert "\n" not in str(caught.value)


def test_a_law_without_derivatives_is_refused():
    places = np.array([[0.0, 0.0], [2.0, 0.0], [4.5, 0.0]])
    balls = Bodies(shapes.Disc(1.0), places, velocity=[[0.0, 0.0], [0.0, 0.0], [-1.0, 0.0]])
    scene = Scene("chain", [balls], step=0.05, materials={"default": Material(0.5)})
    data = {"time": [0.0, 1.0], "body": [0, 0], "x": [0.0, 0.1], "y": [0.0, 0.0]}
    with pytest.raises(ProblemError, match="qce"):
        carom.fit(scene, data, "materials.default.restitution", law="qce", restitution_model="stronge")

"""The benchmarks run at small sizes, and their measure of overlap agrees with closed forms."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks import layer
from benchmarks.__main__ import QUICK, main
from benchmarks.discs import time_at
from benchmarks.overlap import box_overlap, plane_overlap, round_overlap, scene_overlap
from benchmarks.race import Result, described
from benchmarks.report import Row, markdown
from benchmarks.settling import settling

from carom.scene.shapes import Box, Sphere

ROUNDING = 1e-12  # a few operations on numbers of order one


@pytest.mark.long
@pytest.mark.parametrize("name", QUICK)
def test_a_quick_benchmark_runs_and_reports(name, tmp_path, monkeypatch):
    monkeypatch.setattr(layer, "OUT", tmp_path)
    rows = tmp_path / "rows.json"
    assert main(["--quick", "--json", str(rows), name]) == 0
    found = json.loads(rows.read_text())
    assert found
    assert all(row["measured"] and "nan" not in row["measured"] for row in found)


def test_an_unknown_benchmark_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["no_such_benchmark"])
    assert "unknown benchmark" in capsys.readouterr().err


def test_overlap_of_spheres_is_the_sum_of_radii_minus_the_distance():
    place = np.array([[0.0, 0.0, 0.0], [0.9, 0.0, 0.0], [0.0, 5.0, 0.0]])
    assert round_overlap(place, np.full(3, 0.5)) == pytest.approx(0.1, abs=ROUNDING)
    assert round_overlap(10.0 * place, np.full(3, 0.5)) == 0.0


@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 4])
def test_overlap_of_stacked_boxes_is_that_of_their_faces(angle):
    turn = np.array([[1.0, 0.0, 0.0, 0.0], [np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle)]])
    place = np.array([[0.0, 0.0, 0.0], [0.1, -0.2, 0.95]])
    assert box_overlap(place, turn, np.ones(3)) == pytest.approx(0.05, abs=ROUNDING)


def test_overlap_of_crossed_edges_is_measured_along_their_cross_product():
    """Cubes that stand on edges along x and y: each reaches sqrt(1/2) from its center along z, at the crossing."""
    half = 0.5 * np.pi / 4
    turn = np.array([[np.cos(half), np.sin(half), 0.0, 0.0], [np.cos(half), 0.0, np.sin(half), 0.0]])
    place = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, np.sqrt(2.0) - 0.03]])
    assert box_overlap(place, turn, np.ones(3)) == pytest.approx(0.03, abs=ROUNDING)
    assert box_overlap(1.05 * place, turn, np.ones(3)) == 0.0


def test_overlap_with_a_plane_is_the_depth_of_the_lowest_point():
    up, origin = np.array([[0.0, 0.0, 1.0]]), np.zeros((1, 3))
    assert plane_overlap(np.full((1, 1), 0.5), np.array([[0.0, 0.0, 0.45]]), origin, up) == pytest.approx(0.05)
    assert plane_overlap(np.full((1, 1), 0.5), np.array([[0.0, 0.0, 0.55]]), origin, up) == 0.0


@pytest.mark.parametrize("shape", [Sphere(0.5), Box((0.8, 0.8, 0.8))])
def test_settling_bodies_start_without_overlap_inside_their_container(shape):
    plain = described(settling(shape, 60))
    assert scene_overlap(plain, plain["position"], plain["orientation"]) == 0.0
    sunk = plain["position"] - [0.0, 0.0, 1.0]
    assert scene_overlap(plain, sunk, plain["orientation"]) > 0.1


def test_time_at_equal_overlap_is_interpolated_between_the_efficient_settings():
    """Along time * overlap = const; a setting that is worse in both is left out."""

    def setting(milliseconds, overlap):
        return Result("", np.full(3, 1e-3 * milliseconds), np.array([overlap]), 0.0, "")

    settings = [setting(2.0, 0.02), setting(8.0, 0.005), setting(9.0, 0.03)]
    assert time_at(0.01, settings) == pytest.approx(4.0)
    assert time_at(0.1, settings) == pytest.approx(2.0)
    assert time_at(0.001, settings) == pytest.approx(8.0)


def test_height_map_has_the_highest_sphere_of_each_cell():
    scene = layer.layer(8)
    from carom.build import build

    state = build(scene)[1]
    found = layer.height_map(state, 8 * layer.DIAMETER)
    assert found.shape == (layer.CELLS, layer.CELLS)
    assert found.max() == state.position[:, 2].max()


def test_rows_make_a_table_with_the_values_of_an_earlier_run():
    text = markdown([Row("boxes", "<= 5 ms", "4 ms", True), Row("discs", "<= 8 ms", "9 ms", False)], {"boxes": "40 ms"})
    assert "| boxes | <= 5 ms | 40 ms | 4 ms | pass |" in text
    assert "| discs | <= 8 ms |  | 9 ms | **falls short** |" in text

"""Studies that run scenes, small: the files are there, and laws that must pass stand beside laws that must fail."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import carom
from carom import scenes
from carom.draw.style import written_as
from carom.reproduce import Case, clean_break, energy_drum, maxwells_demon, splash
from carom.scene.model import Bodies, Scene
from carom.scene.motion import Fixed
from carom.scene.shapes import Disc


def table(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_files(result):
    assert [path.suffix for path in result.files[:4]] == [".png", ".svg", ".pdf", ".csv"]
    for path in result.files:
        assert path.stat().st_size > 100
    assert result.files[0].read_bytes().startswith(b"\x89PNG")
    assert all(np.isfinite(value) for value in result.numbers.values())


@pytest.mark.long
def test_clean_break(tmp_path):
    told = []
    result = clean_break.run(Case(tmp_path, lambda part, what: told.append(part)), rows=5, duration=3.0)
    check_files(result)
    n = result.numbers
    for law in ("gr", "qce"):
        assert n[f"{law}: mirror error at the end, in radii"] <= 1e-10  # a few roundings, grown by a few impacts
        assert law in result.findings[0]
    assert n["gauss_seidel: mirror error at the end, in radii"] > 1.0
    assert "gauss_seidel" in result.findings[1]
    assert told == sorted(told) and told[-1] == 1.0
    assert len(table(tmp_path / "clean_break_positions.csv")) == 3 * 16
    assert float(table(tmp_path / "clean_break.csv")[-1]["time (time units)"]) == pytest.approx(3.0)


@pytest.mark.long
def test_splash(tmp_path):
    result = splash.run(Case(tmp_path), side=9)
    check_files(result)
    back = scenes.splash(side=9).duration
    assert result.numbers[f"gr: neighbors kept at t = {back:g}"] < 0.15
    assert result.numbers[f"lcp: neighbors kept at t = {back:g}"] > 0.95
    first = table(tmp_path / "splash.csv")[0]
    assert all(float(first[f"{law}_kept"]) == 1.0 for law in splash.COMPARED)


def test_first_fall_is_when_the_grid_meets_the_drum():
    scene = scenes.splash(side=6)
    run = carom.simulate(scene, "gr")
    struck = run.steps["time"][np.argmax(run.steps["contacts"] > 0)]
    assert struck == pytest.approx(splash.first_fall(scene), abs=2 * scene.step)


@pytest.fixture(scope="module")
def drum(tmp_path_factory):
    return energy_drum.run(Case(tmp_path_factory.mktemp("drum")), duration=25.0)


@pytest.mark.long
def test_energy_drum(drum):
    """Some 700 contacts, each of which rounds at 1e-16 of the energy."""
    check_files(drum)
    for law in ("gr", "qce", "gauss_seidel", "lcp"):
        assert drum.numbers[f"{law}: largest relative drift"] <= 1e-13
        assert law in drum.findings[0]
    assert drum.numbers["jacobi: largest relative drift"] > 1e-4
    assert drum.findings[1].startswith("jacobi exceeds it")


def test_energy_drum_table(tmp_path):
    with written_as(("svg",)):
        drum = energy_drum.run(Case(tmp_path), duration=3.0)
    rows = table(drum.files[-1])
    last = [float(row["jacobi_largest_so_far"]) for row in rows]
    assert last == sorted(last)
    assert last[-1] == pytest.approx(drum.numbers["jacobi: largest relative drift"], rel=1e-9)
    assert all(abs(float(row["gr_drift"])) <= 1e-13 for row in rows)


@pytest.fixture(scope="module")
def demon(tmp_path_factory):
    box = {"side": 6, "width": 15.0}
    return maxwells_demon.run(Case(tmp_path_factory.mktemp("demon")), seeds=2, controls=1, duration=27.5, **box)


@pytest.mark.long
def test_demon_gathers_and_the_controls_do_not(demon):
    """A small box: 72 coins would land at 0.5 +- 0.06."""
    check_files(demon)
    n = demon.numbers
    assert n["largest final part on the fuller side"] >= 0.75
    for kind in (maxwells_demon.SHAKEN, maxwells_demon.STILL):
        assert n[f"{kind}: largest final part"] < 0.7
    rest = f"{maxwells_demon.STILL}: crossings for each ball"
    assert n[rest] > 0.3 * n["crossings of the wall for each ball"]  # else the control would prove nothing
    assert 0.5 < n[f"{maxwells_demon.STILL}: kinetic energy over that with c_r = 0.6"] < 2.0


@pytest.mark.long
def test_demon_table_has_every_run(demon):
    (first, *_, last) = table(demon.files[3])
    runs = ["gather_right_0", "gather_right_1", "elastic_shaken_right_0", "elastic_at_rest_right_0"]
    assert list(first) == ["time (time units)", *runs]
    assert all(float(first[name]) == 0.5 for name in runs)
    ends = [max(float(last[name]), 1.0 - float(last[name])) for name in runs[:2]]
    assert max(ends) == pytest.approx(demon.numbers["largest final part on the fuller side"])


def test_control_starts_with_the_energy_asked_for():
    scene = maxwells_demon.at_rest(scenes.maxwells_demon(side=4, width=12.0, restitution=1.0), kinetic=60.0)
    velocity = np.asarray(scene.bodies[0].velocity)
    assert 0.5 * (velocity**2).sum(axis=1).mean() == pytest.approx(60.0, rel=1e-12)
    assert all(isinstance(boundary.motion, Fixed) for boundary in scene.boundaries)
    run = carom.simulate(scene, duration=1.0)
    assert run.energy[-1] == pytest.approx(run.energy[0], rel=1e-9)  # nothing drives it


def test_crossings_are_counted():
    """Of two balls one passes x = 0 once."""
    balls = Bodies(Disc(0.1), np.array([[-1.0, 0.0], [2.0, 3.0]]), np.array([[1.0, 0.0], [1.0, 0.0]]), mass=2.0)
    count = maxwells_demon.Count.of(carom.simulate(Scene("pass", [balls]), duration=2.0))
    assert count.crossings == 0.5
    assert count.right[0] == 0.5 and count.right[-1] == 1.0 and count.fuller[0] == 0.5
    assert count.kinetic == pytest.approx(1.0)

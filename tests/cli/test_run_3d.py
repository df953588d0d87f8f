"""`carom run`, `info`, `check`, `plot`, `compare`, `validate` with bodies of space."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import carom as package
from carom.cli.plot import WHAT
from carom.scene import Bodies, Scene
from carom.scene.boundaries import Container, Plane
from carom.scene.shapes import Box, Capsule, Compound, Part, Sphere


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def scene(**fields) -> Scene:
    """Two spheres that meet above a floor, and a brick that tumbles beside them."""
    balls = Bodies(
        Sphere(0.5), np.array([[-1.0, 0, 2.0], [1.0, 0, 2.0]]), np.array([[2.0, 0, 0], [-2.0, 0, 0]]), name="balls"
    )
    brick = Bodies(Box((0.4, 0.8, 1.2)), np.array([[0.0, 3.0, 3.0]]), spin=(0.2, 3.0, 0.1), name="brick")
    fields = {"gravity": (0.0, 0.0, -9.81), "duration": 0.3, "stepper": "synchronous", **fields}
    return Scene("pair", [balls, brick], [Plane()], **fields)


@pytest.fixture
def made(tmp_path) -> Path:
    package.simulate(scene(), "gr", output="made.h5").close()
    return tmp_path / "made.h5"


@pytest.fixture
def file_scene(monkeypatch):
    """A file `pair.toml` that holds the scene."""
    monkeypatch.setattr("carom.scene.file.load_scene", lambda path, settings=(): scene())
    Path("pair.toml").write_text("")
    return "pair.toml"


def table_of(path) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_run_tells_the_integrator_and_takes_another(carom, file_scene):
    shown = carom("run", file_scene, "-o", "one.h5", columns=80)
    assert shown.code == 0 and "rotations by dmv" in shown.out and all(len(x) <= 80 for x in shown.out.splitlines())
    facts = json.loads(carom("run", file_scene, "-o", "two.h5", "--integrator", "split", "--json", "-q").out)
    assert facts["integrator"] == "split"
    with package.Trajectory("two.h5") as run, package.Trajectory("one.h5") as other:
        assert run.scene.integrator == "split" and other.scene.integrator == "dmv"
        assert not np.array_equal(run.orientations[-1], other.orientations[-1])
    bad = carom("run", file_scene, "--integrator", "dvm")
    assert bad.code == 2 and "did you mean 'dmv'?" in bad.err
    flat = carom("run", "pool_break", "--integrator", "dmv")
    assert flat.code == 2 and "2D" in flat.err


def test_info_counts_solids_and_shows_three_axes(carom, made):
    found = json.loads(carom("info", made, "--json").out)
    assert found["scene"]["spheres"] == 2 and found["scene"]["boxes"] == 1 and found["scene"]["meshes"] == 0
    assert len(found["energy"]["momentum_first"]) == 3 and len(found["energy"]["angular_momentum_last"]) == 3
    with package.Trajectory(made) as run:
        assert found["energy"]["angular_momentum_last"] == pytest.approx(run.angular_momentum[-1])
    shown = carom("info", made)
    assert "2 spheres and 1 box, 1 boundary" in shown.out and "rotations by dmv" in shown.out
    assert shown.out.count("0.000000, 0.000000") >= 1


def test_info_tells_compounds_from_their_parts(carom):
    cross = Compound([Part(Box((1.0, 0.2, 0.2))), Part(Box((0.2, 1.0, 0.2)))])
    bodies = [Bodies(cross, np.array([[0.0, 0, 0], [3.0, 0, 0]])), Bodies(Capsule(0.2, 1.0), np.array([[0, 3.0, 0]]))]
    package.simulate(Scene("crosses", bodies, duration=0.02), "gr", output="c.h5").close()
    shown = carom("info", "c.h5")
    assert "1 capsule and 2 compounds" in shown.out


def test_check_names_the_axis_that_is_left(carom, made):
    shown = carom("check", made)
    assert shown.code == 0 and "about the axis along z alone" in shown.out
    found = json.loads(carom("check", made, "--json").out)["checks"]
    assert found["momentum"]["passed"] and found["angular_momentum"]["passed"] and found["overlap"]["passed"]


@pytest.mark.long
def test_plots(carom, made, tmp_path):
    ended = carom("plot", made, "--what", "all", "--format", "png", "-o", "figures")
    assert ended.code == 0, ended.err
    names = {p.stem for p in (tmp_path / "figures").glob("*.png")}
    what = [name for name in WHAT if name != "symmetry"]
    assert names == {f"made-{name}" for name in what}
    rows = table_of("figures/made-state.csv")
    with package.Trajectory(made) as run:
        last = run.frame(-1)
        assert [float(r["z (length units)"]) for r in rows] == pytest.approx(last.position[:, 2])
        assert [float(r["qw"]) for r in rows] == pytest.approx(last.orientation[:, 0])
        assert [float(r["spin_y (radians / time)"]) for r in rows] == pytest.approx(last.velocity[:, 4])
        moments = table_of("figures/made-moments.csv")
        assert len(moments) == 4 * run.count and float(moments[-1]["time (time units)"]) == pytest.approx(run.time[-1])


def test_the_picture_follows_camera_and_colors(carom, made):
    order = ("plot", made, "--what", "state", "--format", "png", "--colors", "group")
    assert carom(*order, "-o", "a").code == carom(*order, "--azimuth", "40", "--elevation", "80", "-o", "b").code == 0
    a, b = (imread(f"{folder}/made-state.png") for folder in "ab")
    assert a.shape != b.shape or not np.array_equal(a, b)
    # Orange of the second group: red above green above blue, and nowhere in the colors of speeds at rest.
    orange = (a[..., 0] > 0.6) & (a[..., 1] > 0.3) & (a[..., 1] < 0.75) & (a[..., 2] < 0.2)
    assert orange.sum() > 500


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [("--colors", "mass", "speed or group"), ("--elevation", "91", "from -90 to 90"), ("--azimuth", "nan", "degrees")],
)
def test_plot_refuses(carom, made, option, value, word):
    bad = carom("plot", made, "--what", "state", "--format", "png", option, value, "-o", "never")
    assert bad.code == 2 and word in bad.err and not Path("never").exists()


@pytest.mark.usefixtures("blank_pictures")
def test_the_plane_has_no_camera(carom):
    assert carom("run", "pool_break", "--set", "rows=2", "--duration", "0.1", "-o", "flat.h5", "-q").code == 0
    bad = carom("plot", "flat.h5", "--what", "state", "--azimuth", "20")
    assert bad.code == 2 and "3D runs" in bad.err
    assert carom("plot", "flat.h5", "--what", "moments").code == 0 and len(table_of("flat-moments.csv")) == 4 * 4


@pytest.mark.long
def test_compare_draws_all_laws(carom, file_scene, tmp_path):
    ended = carom("compare", file_scene, "--laws", "gr,lcp", "-o", "out", "-q", columns=100)
    assert ended.code == 0, ended.err
    assert (tmp_path / "out" / "pair-compare.png").exists()
    rows = {row["law"]: row for row in table_of("out/pair-compare.csv")}
    assert float(rows["gr"]["momentum_drift"]) < 1e-12 and float(rows["gr"]["angular_momentum_drift"]) < 1e-12


def test_validate_lists_solids_and_barriers(carom, file_scene, monkeypatch):
    crate = Container((-2, -2, 0), (2, 2, 5), open_top=True)
    monkeypatch.setattr("carom.scene.file.load_scene", lambda path, settings=(): scene().with_(boundaries=[crate]))
    bodies = carom("validate", file_scene)
    assert bodies.code == 2 and "brick" not in bodies.out  # it stands outside the crate
    monkeypatch.setattr("carom.scene.file.load_scene", lambda path, settings=(): scene())
    shown = carom("validate", file_scene)
    assert shown.code == 0, shown.err
    for text in ("0.4 x 0.8 x 1.2", "r 0.5", "normal (0, 0, 1)", "(0, 0, -9.81)", "rotations by dmv"):
        assert text in shown.out

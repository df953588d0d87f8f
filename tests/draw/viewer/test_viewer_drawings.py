"""Meshes, colors, plots and cameras: what the page is given."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from tests.draw.viewer.made_runs import plane_scene, record, space_scene

from carom.build import build
from carom.draw import meshes
from carom.draw.colors import MAPS, Coloring
from carom.draw.viewer import tone
from carom.draw.viewer.bodies import POINTS, batches_of
from carom.draw.viewer.boundaries import meshes_2d, meshes_3d
from carom.draw.viewer.layout import Layout, boundaries_of, box_of, united
from carom.draw.viewer.panel import legend_html
from carom.draw.viewer.plots import Line, Plot, energy_plot, momentum_plot
from carom.draw.viewer.runs import Frames
from carom.scene import Bodies, Capsule, Cone, Cylinder, Ellipsoid, Scene
from carom.trajectory import Trajectory


@pytest.fixture
def plane_run(tmp_path):
    record(tmp_path / "plane.h5", plane_scene())
    return tmp_path / "plane.h5"


@pytest.fixture
def space_run(tmp_path):
    record(tmp_path / "space.h5", space_scene())
    return tmp_path / "space.h5"


# ---- meshes


def volume(mesh):
    """By the divergence theorem: positive if all faces look outwards."""
    a, b, c = np.moveaxis(mesh.vertices.astype(float)[mesh.faces.astype(int)], 1, 0)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def solid(shape):
    """The surface of a shape of a 3D world."""
    scene = Scene("one", bodies=[Bodies(shape, [[0.0, 0.0, 0.0]])])
    return meshes.shape_mesh(build(scene)[0], scene, 0)


@pytest.mark.parametrize(
    ("mesh", "wanted"),
    [
        (meshes.sphere(4), 4.0 / 3.0 * np.pi),
        (meshes.box(np.array([1.0, 2.0, 0.5])), 8.0),
        (solid(Cylinder(0.5, 4.0)), np.pi),
        (solid(Capsule(0.5, 2.0)), np.pi * 0.25 * 2.0 + 4.0 / 3.0 * np.pi * 0.125),
        (solid(Cone(0.6, 2.0)), 0.24 * np.pi),
        (solid(Cone(0.3, 1.0, 0.6)), 0.21 * np.pi),
        (solid(Ellipsoid((0.5, 1.0, 1.5))), np.pi),
        (meshes.hull(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])), 1.0 / 6.0),
    ],
    ids=["sphere", "box", "cylinder", "capsule", "cone", "frustum", "ellipsoid", "hull"],
)
def test_solids_are_closed_and_look_outwards(mesh, wanted):
    # Round ones have flat triangles inside them, boxes lose their edges: at most 2 parts in a hundred.
    assert 0.98 * wanted < volume(mesh) <= wanted * (1.0 + 1e-6)


def test_a_coin_faces_the_viewer_and_has_a_steep_rim():
    mesh = meshes.coin(np.array([[-2.0, -0.5], [2.0, -0.5], [2.0, 0.5], [-2.0, 0.5]]))
    corners = mesh.vertices.astype(float)[mesh.faces.astype(int)]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    slope = normal[:, 2] / np.linalg.norm(normal, axis=1)
    assert (slope > 0.0).all()
    assert set(slope.round(3)) == {1.0, round(1.0 / np.sqrt(1.0 + meshes.STEEP**2), 3)}
    seen = 0.5 * normal[:, 2].sum()
    assert seen == pytest.approx(4.0, rel=1e-6)  # rim and face together cover the shape, once


def test_equal_shapes_share_a_mesh_and_many_round_bodies_become_points(plane_run):
    with Trajectory(plane_run) as run:
        batches = batches_of(run)
        assert sorted(len(b.body) for b in batches) == [2, 3]
        assert sorted(np.concatenate([b.body for b in batches])) == list(range(5))
    from carom.draw.viewer.bodies import _points

    layers = list(_points(np.arange(POINTS + 1), np.full(POINTS + 1, 0.5), 2))
    assert all(b.mesh is None for b in layers) and layers[0].scale[0] == 0.5


# ---- colors


def test_the_page_shows_the_colors_that_were_meant():
    # Red and green to a few steps; blue is lost where the film curve has no such yellow.
    soft = MAPS["soft"]
    apart = np.abs(tone.shown(soft).astype(int) - soft)
    assert apart[:, :2].max() <= 16
    assert apart[:200].max() <= 24
    # Lightness still grows along the map.
    light = tone.shown(soft).astype(float) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light[::8]) > 0.0).all()


def test_a_legend_has_its_ticks_in_place(plane_run):
    with Trajectory(plane_run) as run:
        scale = legend_html(Coloring.of(run, "speed").legend)
        bodies = legend_html(Coloring.of(run, "body").legend)
    assert "speed (length / time)" in scale and "linear-gradient" in scale
    assert "left:0.0%" in scale and ">0.0<" in scale
    assert bodies.count("border-radius:2px") == 5


# ---- plots


def test_plots_are_drawn_once_and_their_cursor_follows_the_time(plane_run):
    with Trajectory(plane_run) as run:
        for plot in (energy_plot([run], 3.0), momentum_plot([run], 3.0)):
            start, end = (ElementTree.fromstring(plot.svg(t)) for t in (0.0, 3.0))
            circles = [float(c.get("cx")) for c in (start[-1], end[-1])]
            assert circles[0] < 60.0 < 300.0 < circles[1]


def test_a_peak_survives_thinning():
    time = np.linspace(0.0, 1.0, 20_001)
    value = np.zeros_like(time)
    value[7_777] = 5.0
    points = re.search(r'points="([^"]+)"', Plot("peak", [Line("one", "#000", time, value)], 1.0).svg(0.0))[1].split()
    heights = [float(p.split(",")[1]) for p in points]
    assert len(points) <= 310
    assert min(heights) < 0.4 * max(heights)  # downwards is larger


def test_energy_that_does_not_change_is_drawn_at_its_height():
    line = Line("E", "#000", np.array([0.0, 1.0]), np.array([1.0, 1.0 + 1e-15]))
    heights = re.findall(r"([\d.]+),([\d.]+)", Plot("E", [line], 1.0).svg(0.5))
    assert len({y for _, y in heights}) == 1


# ---- where things are


def seen(layout, points, aspect):
    """Points of the page in the picture, from -1 to 1 in both directions."""
    view = layout.view(aspect)
    ahead = (view.target - view.eye) / np.linalg.norm(view.target - view.eye)
    right = np.cross(ahead, view.up)
    right /= np.linalg.norm(right)
    arm = points - view.eye
    depth = arm @ ahead
    half = np.tan(0.5 * view.angle)
    return np.stack([arm @ right / (depth * half * aspect), arm @ np.cross(right, ahead) / (depth * half)], axis=1)


@pytest.mark.covering
@pytest.mark.parametrize("aspect", [0.6, 1.0, 2.5])
@pytest.mark.parametrize("count", [1, 2])
def test_the_camera_sees_all_bodies_at_all_times(plane_run, space_run, aspect, count):
    for path in (plane_run, space_run):
        frames = Frames(path)
        layout = Layout.of(united([box_of(frames)] * count), count)
        for number in range(count):
            for index in range(0, 31, 6):
                inside = np.abs(seen(layout, layout.placed(frames.at(index).position, number), aspect)) < 1.0
                assert inside.all()
        frames.run.close()


def test_runs_side_by_side_do_not_overlap(plane_run):
    frames = Frames(plane_run)
    layout = Layout.of(box_of(frames), 2)
    low, high = ([layout.placed(p[None], k)[0] for k in (0, 1)] for p in (layout.box.low, layout.box.high))
    assert low[1][0] > high[0][0]
    frames.run.close()


def test_boundaries_are_drawn_where_they_are(plane_run, space_run):
    frames = Frames(plane_run)
    walls = meshes_2d(boundaries_of(frames), box_of(frames), True, None)
    frames.run.close()
    floor = [w for w in walls if w.number == 0]
    assert max((w.center + w.mesh.vertices)[:, 1].max() for w in floor) == pytest.approx(-2.0)
    inner = min(np.hypot(*(w.center + w.mesh.vertices)[:, :2].T).min() for w in walls if w.number == 1)
    assert inner == pytest.approx(7.0, rel=1e-6)
    frames = Frames(space_run)
    ground = meshes_3d(boundaries_of(frames), box_of(frames), np.zeros((0, 3)), False, np.zeros(3))
    (lit,) = ground
    assert abs((lit.center + lit.mesh.vertices)[:, 2]).max() < 0.01
    far = lit.horizon
    assert abs((lit.center + far.offset)[2]) < 0.01 and far.radius > 100.0
    assert far.image[512, 512, 3] == 0 and far.image[512, 1000, 3] == 255  # clear where shadows fall
    frames.run.close()

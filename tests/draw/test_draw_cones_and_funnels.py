"""Cones, funnels, ellipsoids and height fields in every kind of picture: stills, the viewer's page, the play page."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.draw.viewer.made_runs import record

from carom import Trajectory
from carom.draw.films import Look, Span, Studio
from carom.draw.raycast.visible import placed_parts, seen
from carom.draw.viewer.bodies import batches_of
from carom.draw.viewer.layout import Layout, box_of
from carom.draw.viewer.runs import Frames
from carom.draw.viewer.stage import boundary_meshes
from carom.draw.web_picture import picture
from carom.scene import Bodies, Cone, Disc, Ellipse, Ellipsoid, Funnel, HeightField, Plane, Scene, Sphere


@pytest.fixture(params=[2, 3])
def run(request, tmp_path):
    if request.param == 2:
        funnel = Funnel(0.5, 2.0, 1.0)
        scene = Scene("hopper", [Bodies(Disc(0.1), [[0.0, 0.8], [0.3, 0.8]])], [funnel], gravity=(0.0, -1.0))
    else:
        cone, ball = Bodies(Cone(0.2, 0.4, 0.1), [[0.0, 0.0, 0.7]]), Bodies(Sphere(0.1), [[0.3, 0.3, 0.9]])
        funnel, ground = Funnel(0.5, 2.0, 1.0), Plane((0.0, 0.0, -1.0))
        scene = Scene("hopper", [cone, ball], [funnel, ground], gravity=(0.0, 0.0, -1.0))
    record(tmp_path / "run.h5", scene)
    with Trajectory(tmp_path / "run.h5") as found:
        yield found


def test_a_still_shows_the_walls(run):
    """In 2D a line crosses the row half way up on either side; in 3D the funnel covers part of the picture."""
    image = Studio(run, Look(size=(320, 180), caption=False), Span(0.0, 0.0)).picture(0.0)
    assert (image != 255).any(axis=2).sum() > 500
    if run.dimension == 3:
        from carom.draw.camera import looking_at

        shapes, state = run.world.shapes_3d, run.frame(0)
        parts = placed_parts(shapes, state)
        camera = looking_at(state.position, shapes.radius, azimuth=-60.0, elevation=60.0)
        buffers = seen(camera.rays(120, 160), parts, shapes)
        shown = set(parts.body[buffers.part[buffers.part >= 0]].tolist())
        assert shown == {0, 1, 2}  # the view from above shows the funnel, and the bodies in it


def test_the_viewer_has_them(run):
    bodies = np.concatenate([batch.body for batch in batches_of(run)])
    frames = Frames(run.path)
    assert set(bodies.tolist()) == set(range(run.world.count))
    if run.dimension == 2:
        layout = Layout.of(box_of(frames), 1)
        assert len(boundary_meshes(frames, layout, 0)) >= 2


def test_the_play_page_has_them(run):
    shown = picture([run])
    json.dumps(shown)
    if run.dimension == 2:
        lines = [b["line"] for b in shown["boundaries"]]
        assert lines == [[[-0.25, 0.0], [-1.0, 1.0]], [[0.25, 0.0], [1.0, 1.0]]]
    else:
        cone, ball, funnel = (shown["meshes"][k] for k in shown["mesh"])
        assert "sphere" in ball and len(cone["triangles"]) > 100
        points = np.array(funnel["triangles"]).reshape(-1, 3)
        assert len(points) == 24 * 12 * 3


# ---- ellipsoids and height fields


@pytest.fixture(params=[2, 3])
def field(request, tmp_path):
    heights = 0.1 * np.arange(5) ** 2
    if request.param == 2:
        scene = Scene("field", [Bodies(Ellipse((0.2, 0.1)), [[0.5, 2.0], [1.0, 2.0]])], [HeightField(heights, 0.5)])
    else:
        ground = HeightField(heights[:, None] + np.zeros((1, 4)), 0.5)
        scene = Scene("field", [Bodies(Ellipsoid((0.3, 0.2, 0.1)), [[0.5, 0.7, 1.0]])], [ground])
    record(tmp_path / "field.h5", scene)
    with Trajectory(tmp_path / "field.h5") as found:
        yield found


def test_every_picture_has_the_field(field):
    """The still, the viewer and the play page show as many segments or triangles as the field has."""
    image = Studio(field, Look(size=(320, 180), caption=False), Span(0.0, 0.0)).picture(0.0)
    assert (image != 255).any(axis=2).sum() > 500
    batches, shown = batches_of(field), picture([field])
    json.dumps(shown)
    assert sum(len(batch.body) for batch in batches) == field.world.count
    if field.dimension == 2:
        lines = [b["line"] for b in shown["boundaries"]]
        assert np.array(lines)[:, 0] == pytest.approx(np.stack([0.5 * np.arange(4), 0.1 * np.arange(4) ** 2], axis=1))
    else:
        egg, ground = (shown["meshes"][k] for k in shown["mesh"])
        assert np.abs(np.array(egg["triangles"])).max() == pytest.approx(0.3, rel=0.01)
        # Two triangles per cell above and below, and two for each edge of the rim.
        assert len(np.array(ground["triangles"]).reshape(-1, 9)) == 4 * 12 + 2 * 14

"""The views of scenes: words that `carom render` understands, instants within the runs, and a shock that they show."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.draw.camera import camera_option_2d, camera_option_3d
from carom.draw.colors import QUANTITIES
from carom.draw.marks import traced_points
from carom.scenes import SCENES
from carom.scenes.views import VIEWS, View, view_of


@pytest.mark.covering
@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("small", [False, True])
def test_a_view_can_be_drawn(name, small):
    entry = SCENES[name]
    scene = entry(**(entry.small if small else {}))
    view = view_of(scene)
    assert view != View(), "a view like that of any scene need not be listed"
    assert view.at is None or 0.0 < view.at <= scene.duration
    assert view.color is None or view.color in QUANTITIES  # None: chosen from the run
    traced_points(view.trails, np.ones(scene.count, bool), scene.dimension)
    if scene.dimension == 2:
        camera_option_2d(view.camera, scene.count)
    else:
        camera_option_3d(view.camera)


def test_a_scene_of_the_same_name_has_the_plain_view():
    scene = SCENES["butterfly"]()
    assert view_of(scene).trails and view_of(scene.with_(parameters={})) == View()


@pytest.mark.long
def test_the_shock_of_a_granular_wave_is_seen_at_its_instant():
    """A step after the jerk the lower half is faster; later the shock has passed, and all grains fly alike."""
    scene = SCENES["granular_wave"](count=100, side=4.0, settle=1.5)
    at = view_of(scene).at
    run = carom.simulate(scene, duration=1.6, frame_rate=500.0)
    height = run.positions[round(500 * at)][:, 2]
    speeds = [run.velocities[round(500 * time)][:, 2] for time in (at, 1.6)]
    low = height < np.median(height)
    ratio = [float(v[low].mean() / v[~low].mean()) for v in speeds]
    assert ratio[0] > 1.15 and ratio[1] == pytest.approx(1.0, abs=0.1), ratio

"""The panels of `carom compare`: laws that explode are cut off, and say when and why."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.analysis.comparison import Compared, measure
from carom.draw.comparison_figure import _title, instants
from carom.draw.figures import frame_of, outside
from carom.scenes import SCENES


def test_a_law_that_explodes_is_cut_off_while_its_bodies_are_near():
    scene = SCENES["pool_break"]()
    runs = [carom.simulate(scene, law) for law in ("gr", "gauss_seidel", "jacobi")]
    views, cut = instants(runs, 10.0)
    assert cut == [False, False, True]
    assert [view.state.time for view in views[:2]] == [10.0, 10.0]
    # The rack is hit after 6 radii minus 2, at speed 5: after 0.4. What jacobi makes of it is seen.
    assert 0.4 < views[2].state.time < 2.0 and np.ptp(views[2].state.position[:, 1]) > 15.0
    frame = frame_of(views)
    assert [outside(view, frame) for view in views] == [0, 0, 0]
    title = _title(Compared(runs[2], measure(runs[2], 12.5, 0.0), 12.5), 0, views[2].state.time)
    assert title.startswith("jacobi, cut off at time ") and "times its energy" in title


def test_one_body_that_falls_through_the_ground_leaves_no_panel_empty():
    """Far below, the ground is not near the box, so that its extent alone is as small as that of the other law."""
    runs = [carom.simulate(SCENES["flat_box"](), law) for law in ("gr", "none")]
    views, cut = instants(runs, 3.0)
    assert cut == [False, True]
    camera = frame_of(views)
    for view in views:
        x, y, depth = camera.project(view.state.position)[0]
        radius = float(view.world.shapes.radius[0])
        assert 0.0 < x < 1.0 and 0.0 < y < 1.0
        assert radius / (2.0 * camera.field * depth) > 0.05, "a box of less than a tenth of the panel"


def test_matryoshka_is_compared_while_its_shells_are_apart():
    from carom.scenes.views import view_of

    scene = SCENES["matryoshka"](shells=2)
    run = carom.simulate(scene, "gr", frame_rate=100.0)
    apart = np.diff(run.positions[:][:, :, 2], axis=1)[:, 0]
    apart -= apart[0]
    at = view_of(scene).at
    assert at is not None and apart[round(100 * at)] > 0.5 * apart.max()
    assert apart[-1] < 0.1 * apart.max(), "at the end, which the pictures showed before, they lie in each other"


def test_a_time_outside_the_runs_is_refused():
    from carom.cli.compare import _instant

    scene = SCENES["pool_break"]()
    assert _instant(scene, None, None) == 10.0 and _instant(scene, 4.0, 3.0) == 3.0
    for at in (-1.0, 11.0, float("nan")):
        with pytest.raises(carom.ProblemError, match="--at"):
            _instant(scene, None, at)

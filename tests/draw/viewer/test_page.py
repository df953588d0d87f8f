"""The page without a browser: what it shows is what clock and panel say."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.draw.viewer.made_runs import plane_scene, record, space_scene

from carom.draw.viewer import viewing
from carom.scene import Bodies, Disc, Drum, Scene, Scripted

pytest.importorskip("viser")


@pytest.fixture
def made(tmp_path):
    def make(scene, name="run.h5", **options):
        record(tmp_path / name, scene, **options)
        return tmp_path / name

    return make


def until(condition):
    end = time.monotonic() + 120.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("scene", [plane_scene, space_scene])
def test_the_clock_moves_the_bodies(made, scene):
    with viewing([made(scene())], port=0, play=False) as viewer:
        page = viewer.page
        before = page._stages[0]._bodies._handles[0].batched_positions.copy()
        page.player.seek(2.5)
        page._wake.set()
        until(lambda: page._stages[0].shown == 25)
        after = page._stages[0]._bodies._handles[0].batched_positions
        assert np.abs(after - before).max() > 0.1
        page.player.play()
        until(lambda: page._stages[0].shown != 25)
    assert not page._thread.is_alive()


def test_all_colors_can_be_had_but_what_needs_a_scene_that_no_file_holds(made):
    balls = Bodies(Disc(0.5), np.array([[0.0, 0.0], [2.0, 0.0]]), velocity=[[1.0, 0.0], [0.0, 0.0]])
    path = made(Scene("scripted", [balls], [Drum(5.0, motion=Scripted(lambda t: (0.1 * t, 0.0)))]))
    with viewing([path], port=0, play=False) as viewer:
        page = viewer.page
        for name in ("speed", "body", "energy", "contacts"):
            page.panel.quantity = name
            page._wake.set()
            until(lambda name=name: page._quantity == name)
            until(lambda name=name: page._painted == name or page._lacking is not None)
        assert page._painted == "energy"
        assert "Python function" in page._lacking and page._lacking in page._state()


def test_a_stopped_run_says_so_on_the_page(made):
    with viewing([made(plane_scene(), upto=12, finish=False)], port=0, play=False) as viewer:
        assert "up to its last checkpoint, time 1.2 of 3" in viewer.page._state()[0]
        assert viewer.page.player.end == pytest.approx(1.2)


def test_two_runs_share_one_scale(made):
    slow, fast = plane_scene(), plane_scene(fastest=3.0)
    with viewing([made(slow, "slow.h5"), made(fast, "fast.h5")], port=0, play=False) as viewer:
        ranges = [stage.coloring.range for stage in viewer.page._stages]
        assert ranges[0] == ranges[1]
        assert ranges[0][1] == pytest.approx(3.0)


@pytest.mark.parametrize("scene", [plane_scene, space_scene])
def test_a_ray_meets_the_body_that_is_in_front(made, scene):
    """Rays from the camera to the center of each body meet it; one far above all bodies meets nothing."""
    with viewing([made(scene())], port=0, play=False) as viewer:
        layout, stage = viewer.page.layout, viewer.page._stages[0]
        centers = layout.placed(stage.frames.at(0).position, 0)
        eye = layout.view().eye

        def hit(point):
            way = point - eye
            return stage.hit(np.stack([eye, way / np.linalg.norm(way)]))[1]

        assert [hit(center) for center in centers] == list(range(len(centers)))
        assert hit(centers.mean(axis=0) + 10.0 * layout.box.up) == -1


def test_the_panel_says_which_impulses_are_recorded(tmp_path):
    """A frame has those since the frame before."""
    from tests.trajectory import small

    for every, words in ((2, "of every step"), (1, "of every step")):
        path = tmp_path / f"{every}.h5"
        small.whole_run(path, frame_every=every).close()
        with viewing([path], port=0, play=False) as viewer:
            assert words in viewer.page.panel.impulses_note.content


def test_the_list_of_impacts_jumps_to_the_frame_after_one(tmp_path):
    import carom
    from carom.draw.viewer.panel import strongest_impacts

    path = tmp_path / "run.h5"
    carom.simulate("newtons_cradle", duration=2.0, frame_rate=7, output=path).close()
    with carom.Trajectory(path) as run:
        listed, impacts = strongest_impacts(run), run.events.impacts
        assert len(listed) == min(20, len(impacts)) > 0
        for time, after in zip(impacts["time"].tolist(), listed.values()):
            assert after >= time and (run.time < after).sum() == (run.time <= time).sum()
    with viewing([path], port=0, play=False) as viewer:
        label, time = next(iter(listed.items()))
        panel = viewer.page.panel
        panel.impacts.value = label
        assert panel.impacts.value == label and time in run_times(path)


def test_flashes_are_the_impacts_since_the_frame_before(tmp_path):
    """Each impact flashes in one frame, at any frame rate, and rest does not."""
    import carom
    from carom.draw.viewer.contacts import impact_points

    path = tmp_path / "run.h5"
    carom.simulate("newtons_cradle", duration=2.0, frame_rate=7, output=path).close()
    with carom.Trajectory(path) as run:
        points = [impact_points(run, k) for k in range(len(run))]
        count, frame = len(run.events.impacts), int(np.argmax([len(p) for p in points]))
        assert sum(len(p) for p in points) == count > 0 and len(points[0]) == 0
    with viewing([path], port=0, play=False) as viewer:
        page = viewer.page
        clouds = page._stages[0]._marks._clouds
        assert page.panel.flashes and not clouds
        page.player.seek(run_times(path)[frame])
        page._wake.set()
        until(lambda: "impacts" in clouds)
        assert len(clouds["impacts"].points) == len(points[frame])
        page.panel.flashes = False
        page._wake.set()
        until(lambda: not clouds)


def run_times(path) -> list[float]:
    import carom

    with carom.Trajectory(path) as run:
        return run.time.tolist()

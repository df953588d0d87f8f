"""Every scene of the library is on the page, or stands in the list of those that are left out with a reason."""

from __future__ import annotations

import pytest

from carom.build import build
from carom.errors import ProblemError
from carom.play.runs import (
    BODIES,
    BODY_FRAMES,
    FRAMES,
    LEFT_OUT,
    STEPS,
    RunRequest,
    frame_rate,
    library,
    play_of,
)
from carom.resolve.response import DEFAULT_TOLERANCE
from carom.scenes import SCENES


def test_scenes_are_on_the_page_or_left_out_for_a_reason():
    assert set(library()) | set(LEFT_OUT) == set(SCENES)
    assert not set(library()) & set(LEFT_OUT)


def ends(play):
    """Defaults, and each slider by itself at both of its ends."""
    yield {}
    for slider in play.sliders:
        for value in (slider.low, slider.high):
            if slider.below is None:
                yield {slider.name: value}


@pytest.mark.parametrize("name", list(library()))
def test_each_slider_can_be_moved_to_both_ends(name):
    play = play_of(name)
    for values in ends(play):
        scene, timing = play.make(values)
        assert 1 <= scene.count <= BODIES and timing["duration"] / timing["step"] <= STEPS
        if "step" not in values and "duration" not in values:
            world, _ = build(scene)
            assert world.count == sum(len(group.position) for group in scene.groups)  # solids of boundaries too


def test_sliders_reach_the_scene():
    scene, timing = play_of("pool_break").make({"rows": 3, "restitution": 0.4, "first_mass": 2.5, "step": 0.005})
    assert scene.count == 7 and timing["step"] == 0.005
    world, _ = build(scene)
    assert world.mass.tolist() == [2.5] + [1.0] * 6 and world.restitution[0, 0] == 0.4
    drum, _ = play_of("energy_drum").make({"restitution": 0.7})  # a scene without a parameter for it
    assert build(drum)[0].restitution[0, 0] == 0.7
    block = {slider.name for slider in play_of("sliding_block").sliders}
    assert "mu" in block and "restitution" not in block  # it slides, and never bounces


def test_films_are_bounded():
    for play in library().values():
        scene, timing = play.make({})
        frames = frame_rate(scene, timing) * timing["duration"]
        assert frames <= FRAMES + 1e-9 and frames * scene.count <= BODY_FRAMES + 1e-9


@pytest.mark.long
@pytest.mark.parametrize("name", list(library()))
def test_every_scene_runs(name):
    play = play_of(name)
    duration = next(s for s in play.sliders if s.name == "duration")
    request = RunRequest({"scene": name, "laws": [play.law], "parameters": {"duration": duration.low}})
    (result,) = request.answer(lambda text, share: None)["results"]
    rows = {tick["name"] for tick in result["ticks"]}
    assert len(result["time"]) > 1 and {"energy", "momentum", "overlap", "symmetry", "impacts", "residual"} <= rows
    assert ("joints" in rows) == bool(play.make({})[0].joints)


def test_the_tolerance_is_a_slider_of_the_run():
    play = play_of("pool_break")
    slider = next(s for s in play.sliders if s.name == "tolerance")
    assert (slider.low, slider.high, slider.value) == (1e-10, 0.1, DEFAULT_TOLERANCE) and slider.decades
    request = RunRequest({"scene": "pool_break", "laws": ["gr"], "parameters": {"rows": 2, "tolerance": 1e-10}})
    run = request._run("gr", 0, lambda *_: None)
    assert run.tolerance == 1e-10
    with pytest.raises(ProblemError, match="tolerance"):
        play.make({"tolerance": 0.2})

"""The tolerance of a run: where it is set, what is refused, and what a run reports about it."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from tests.test_simulation import bouncing
from tests.trajectory.small import STEPS, TOLERANCE, go, start

import carom
from carom import scenes
from carom.analysis.checks import check_run
from carom.analysis.statistics import contact_statistics
from carom.errors import ProblemError
from carom.resolve.response import DEFAULT_TOLERANCE
from carom.resuming import resume
from carom.scene.file import parse_toml, scene_schema, scene_to_toml
from carom.settings import EXACT_TOLERANCE, Settings, tolerance_number
from carom.simulation import simulate

BAD = [0, 0.0, -1e-3, 0.11, 1, float("nan"), float("inf"), True, "exakt", "1e-3", "", [1e-3], 10**400]
DISC = """
[scene]
tolerance = {}
[[bodies]]
shape = "disc"
radius = 1.0
position = [0.0, 0.0]
"""


def missing_run(path, residual):
    """A made-up run whose steps have these residuals, by number."""
    recorder, fake = start(path)
    fake.residual = residual
    go(recorder, fake, STEPS)
    return recorder.finish(fake.state, fake.memory)


# ---- setting it


@pytest.mark.parametrize(
    ("given", "number"), [("exact", 1e-10), (0.1, 0.1), (1e-14, 1e-14), (np.float32(0.0625), 0.0625)]
)
def test_numbers_and_exact_are_tolerances(given, number):
    assert tolerance_number("tolerance", given) == number


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: str(bad)[:8])
def test_what_is_no_tolerance_is_refused_with_field_and_value(bad):
    for make in (
        lambda: simulate(bouncing(), tolerance=bad),
        lambda: simulate(bouncing(tolerance=bad)),
        lambda: carom.Simulation(bouncing(), tolerance=bad),
    ):
        with pytest.raises(ProblemError, match=r'tolerance.*a number above 0 up to 0\.1, or "exact"') as error:
            make()
        assert str(bad)[:8] in str(error.value)


def test_scene_argument_and_default():
    """An argument precedes the scene, and the scene precedes the default of the library."""
    for scene, argument, number in (
        (None, None, DEFAULT_TOLERANCE),
        ("exact", None, EXACT_TOLERANCE),
        (0.02, None, 0.02),
        (0.02, "exact", EXACT_TOLERANCE),
        (None, 1e-6, 1e-6),
    ):
        run = simulate(bouncing(tolerance=scene), duration=0.02, tolerance=argument)
        assert run.tolerance == run.settings.tolerance == number
        sim = carom.Simulation(bouncing(tolerance=scene), tolerance=argument)
        assert sim.tolerance == number and sim.engine.response.tolerance == number


def test_scene_files_have_it():
    assert parse_toml(DISC.format('"exact"')).tolerance == "exact"
    assert parse_toml(DISC.format("1e-4")).tolerance == 1e-4
    for scene in (scenes.pool_break(), scenes.pool_break(rows=2).with_(tolerance=1e-5)):
        assert parse_toml(scene_to_toml(scene)).tolerance == scene.tolerance
    allowed = scene_schema()["$defs"]["Scene"]["properties"]["tolerance"]["anyOf"]
    assert allowed == [{"type": "number", "exclusiveMinimum": 0, "maximum": 0.1}, {"const": "exact"}]
    for bad in ("0.2", "0", '"loose"', "true"):
        with pytest.raises(ProblemError, match=r"scene\.tolerance.*above 0 up to 0\.1.*line 3"):
            parse_toml(DISC.format(bad))


def test_a_resumed_run_keeps_it(tmp_path):
    path = tmp_path / "run.h5"

    def stop(progress):
        if progress.step >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(bouncing(tolerance=0.01), duration=60.0, output=path, tolerance="exact", progress=stop)
    with carom.Trajectory(path) as stopped:
        assert not stopped.finished and stopped.tolerance == EXACT_TOLERANCE
    seen = []

    def look(progress):
        seen.append(progress.step)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resume(path, progress=look)
    with carom.Trajectory(path) as again:
        assert again.tolerance == EXACT_TOLERANCE and seen


def test_settings_without_a_tolerance_are_those_of_other_engines():
    stored = dataclasses.replace(Settings("gauss", (), None, None, "tower_position", 0.01, 1, 1, False)).as_dict()
    assert Settings.from_dict(json.loads(json.dumps(stored))).tolerance is None


# ---- reporting it


def test_steps_that_miss_it_are_listed_and_fail_the_check(tmp_path):
    equal = np.nextafter(TOLERANCE, 1.0)  # up to rounding
    residual = {3: 0.5 * TOLERANCE, 7: 2.0 * TOLERANCE, 12: equal, 31: float("nan"), 33: 0.25}
    with missing_run(tmp_path / "run.h5", residual) as run:
        assert run.missed_steps.tolist() == [7, 31, 33]  # equal to the tolerance is not missed; no number is
        found = next(c for c in check_run(run) if c.name == "residual")
        assert found.passed is False and found.bound == TOLERANCE
        assert "3 of 40 steps missed" in found.note and "step 7 at time 0.07 with residual 2.0e-03" in found.note
        assert contact_statistics(run)["missed"] == 3 and contact_statistics(run, after=7)["missed"] == 2


def test_a_run_without_missed_steps_passes(tmp_path):
    with missing_run(tmp_path / "run.h5", {5: TOLERANCE}) as run:
        found = next(c for c in check_run(run) if c.name == "residual")
        assert not len(run.missed_steps) and found.passed and found.value == found.bound == TOLERANCE
        assert "no step missed" in found.note

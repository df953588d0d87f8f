"""Runs that go on past their end have the bits of one long run; branches start from a recorded state."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import carom
from carom.analysis.run_momentum import momentum_drift
from carom.analysis.statistics import contact_statistics
from carom.errors import ProblemError
from carom.scene.boundaries import Plane
from carom.scene.model import Bodies, Scene
from carom.scene.motion import Scripted
from carom.scene.shapes import Disc

SHORT, LONG = 37, 81  # steps; neither is a multiple of the steps between two frames
CASES = [
    ("box_stack", {"boxes": 3}, "drift_safe"),
    ("pool_break", {"rows": 3}, "time_of_impact"),
    ("energy_drum", {"side": 3}, "synchronous"),
    ("sphere_packing", {"count": 12, "side": 3.0}, "drift_safe"),
    ("cradle_3d", {}, "time_of_impact"),
]


def content(run) -> dict[str, bytes]:
    """Everything that a run records, but the times that it took."""
    steps = {name: run.steps[name].tobytes() for name in run.steps.dtype.names if not name.startswith("seconds")}
    frames = {
        name: np.asarray(getattr(run, name)).tobytes() for name in ("step", "positions", "orientations", "velocities")
    }
    pushes = {f"push {k}": run.impulses(k).normal_impulse.tobytes() for k in range(len(run))}
    return {**steps, **frames, **pushes, "state": run.state_hash.encode()}


@pytest.mark.parametrize(("name", "parameters", "stepper"), CASES)
def test_an_extended_run_has_the_bits_of_a_long_one(name, parameters, stepper, tmp_path):
    scene = carom.scenes.SCENES[name](**parameters)
    how = {"stepper": stepper, "impulses": True, "frame_rate": 1.0 / (10 * scene.step)}
    carom.simulate(scene, duration=SHORT * scene.step, output=tmp_path / "run.h5", **how).close()
    whole = carom.simulate(scene, duration=LONG * scene.step, **how)
    with carom.resume(tmp_path / "run.h5", duration=LONG * scene.step) as run:
        assert run.finished and run.settings == whole.settings
        assert content(run) == content(whole)


def test_a_run_that_the_clock_stops_is_continued_with_the_same_bits(tmp_path):
    """A bound of a nanosecond ends every run after its first steps, however fast the machine is."""
    scene, path = carom.scenes.pool_break(rows=3), tmp_path / "run.h5"
    with carom.simulate(scene, duration=2.0, output=path, impulses=True, seconds=1e-9) as stopped:
        assert not stopped.finished and 0 < stopped.last.step < 200
    with carom.resume(path, seconds=1e-9) as again:
        assert not again.finished and again.last.step > stopped.last.step
    with carom.resume(path, seconds=1e9) as run:
        assert run.finished and content(run) == content(carom.simulate(scene, duration=2.0, impulses=True))
    short = carom.simulate(scene, duration=2.0, seconds=1e-9)  # in memory
    assert not short.finished and short.last.step > 0
    with pytest.raises(ProblemError, match="seconds"):
        carom.resume(path, duration=3.0, seconds=-1.0)


def test_a_run_is_extended_again_and_again_and_by_less_than_planned(tmp_path):
    """Also one that was interrupted: it ends earlier than it was meant to, with the bits of a shorter run."""
    scene, path = carom.scenes.box_stack(boxes=2), tmp_path / "run.h5"
    carom.simulate(scene, duration=0.2, output=path, impulses=True).close()
    carom.resume(path, duration=0.31).close()

    with pytest.raises(KeyboardInterrupt):
        carom.resume(path, duration=500.0, progress=lambda _: signal.raise_signal(signal.SIGINT))
    with carom.Trajectory(path) as stopped:
        assert not stopped.finished
        end = stopped.last.time + 0.1
    with carom.resume(path, duration=end) as run:
        assert content(run) == content(carom.simulate(scene, duration=end, impulses=True))


def test_what_cannot_be_extended(tmp_path):
    path = tmp_path / "run.h5"
    carom.simulate(carom.scenes.box_stack(boxes=2), duration=0.2, output=path).close()
    before = path.read_bytes()
    with pytest.raises(ProblemError, match=r"this run is finished; a longer duration \(--duration TIME\) extends it"):
        carom.resume(path)
    for bad in (0.2, 0.1, -1.0, float("nan"), "long"):
        with pytest.raises(ProblemError, match="duration"):
            carom.resume(path, duration=bad)
    assert path.read_bytes() == before


# ---- branches


@pytest.fixture(scope="module")
def drum(tmp_path_factory):
    """A gas in a drum, 50 steps with a frame every ten."""
    path = tmp_path_factory.mktemp("runs") / "drum.h5"
    carom.simulate(carom.scenes.energy_drum(side=3), duration=0.5, frame_rate=10.0, output=path).close()
    return path


def test_a_branch_starts_from_the_nearest_recorded_state(drum):
    """Nothing but the state enters a synchronous step, so a branch without changes has the bits of the run."""
    same = carom.branch(drum, at=0.22)
    with carom.Trajectory(drum) as run:
        assert same.time[0] == run.time[2] == 0.2 and same.step[0] == 20
        assert same.state_hash == run.state_hash and same.settings == run.settings
        assert np.array_equal(same.positions[:], run.positions[2:])
    assert contact_statistics(same)["steps"] == 30


def test_a_branch_has_another_law_duration_and_step(drum):
    other = carom.branch(drum, at=0.2, law="qce", duration=0.7, step=0.005, tolerance=1e-4)
    assert (other.law, other.settings.step, other.tolerance) == ("qce", 0.005, 1e-4)
    assert other.step[0] == 40 and other.time[-1] == pytest.approx(0.7, rel=1e-12)
    assert carom.branch(drum, duration=0.6).time[0] == 0.5  # from the end


def test_a_branch_with_another_parameter(tmp_path):
    """The shaken container stops to lose energy when restitution becomes 1; bodies and state stay those of the run."""
    path = tmp_path / "run.h5"
    carom.simulate(carom.scenes.maxwells_demon(side=2, width=15.0), duration=0.5, output=path).close()
    new = carom.branch(path, at=0.4, parameters={"restitution": 1.0})
    assert new.scene.materials["default"].restitution == 1.0 and new.scene.parameters["side"] == 2
    with carom.Trajectory(path) as old:
        assert np.array_equal(new.positions[0], old.positions[list(old.time).index(new.time[0])])
    with pytest.raises(ProblemError, match="18 bodies in 2D; expected the 8 bodies in 2D"):
        carom.branch(path, parameters={"side": 3}, duration=1.0)


def test_momentum_of_a_falling_body_counts_from_the_start_of_the_branch(tmp_path):
    scene = Scene("fall", [Bodies(Disc(1.0), np.array([[0.0, 0.0]]))], gravity=(0.0, -10.0), duration=1.0)
    carom.simulate(scene, output=tmp_path / "run.h5").close()
    drift = momentum_drift(carom.branch(tmp_path / "run.h5", at=0.5))
    assert drift.conserved and drift.value.max() < 1e-12  # round-off of 50 additions


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"at": 0.6}, "at: got 0.6; expected a time within the run, from 0 to 0.5"),
        ({"at": -0.1}, "from 0 to 0.5"),
        ({"at": "soon"}, "from 0 to 0.5"),
        ({}, "at least one step of 0.01 after the start at 0.5"),
        ({"at": 0.2, "step": 0.03}, "a step of which the time of the start, 0.2, is a multiple"),
        ({"at": 0.2, "law": "grr"}, "unknown law"),
        ({"at": 0.2, "parameters": {"sides": 3}}, "did you mean 'side'"),
        ({"at": 0.2, "scene": carom.scenes.energy_drum(side=4)}, "16 bodies in 2D; expected the 9 bodies"),
    ],
)
def test_branches_that_are_refused(drum, how, text, tmp_path):
    with pytest.raises(ProblemError, match=text):
        carom.branch(drum, output=tmp_path / "new.h5", **how)
    assert not list(tmp_path.iterdir())


def test_a_scene_with_python_in_it_must_be_given(tmp_path):
    floor = Plane(motion=Scripted(lambda t: (0.0, 0.1 * t)))
    scene = Scene("scripted", [Bodies(Disc(1.0), np.array([[0.0, 5.0]]))], [floor], duration=0.1)
    carom.simulate(scene, output=tmp_path / "run.h5").close()
    with pytest.raises(ProblemError, match="whose Python functions no file holds"):
        carom.branch(tmp_path / "run.h5", duration=0.2)
    assert carom.branch(tmp_path / "run.h5", duration=0.2, scene=scene).finished

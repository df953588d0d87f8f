"""Runs, whole and step by step: frames at the given rate, equal bits, interruptions, and bad arguments."""

from __future__ import annotations

import signal

import numba
import numpy as np
import pytest
from tests.stepping.runs import box, disc, rough
from tests.trajectory.small import content

import carom
from carom import scenes
from carom.errors import ProblemError
from carom.resuming import resume
from carom.scene import Bodies, Container, Disc, Plane, Rotating, Scene, Scripted, Vibrating
from carom.simulation import completed, simulate
from carom.trajectory import Trajectory


def bouncing(**more) -> Scene:
    """A few bodies that hit each other and a floor; friction, restitution and rest all occur."""
    bodies = [
        disc(0.0, 1.5, 0.3, 0.0, radius=0.5),
        disc(0.2, 3.0, radius=0.5),
        box(1.5, 0.5, velocity=(-0.5, 0.0)),
        box(-1.5, 2.0, angle=0.3),
    ]
    given = {"bodies": bodies, "gravity": (0.0, -9.81), "materials": rough(0.4, 0.5), "step": 0.01, "duration": 1.0}
    return Scene("bouncing", boundaries=[Plane()], **{**given, **more})


# ---- frames and settings


def test_frames_come_at_the_asked_rate():
    run = simulate(bouncing(), duration=1.0, step=0.005, frame_rate=20.0)
    np.testing.assert_allclose(run.time, np.arange(21) * 0.05, rtol=1e-12)
    assert list(run.step) == list(range(0, 201, 10))
    assert run.positions.shape == (21, 4, 2) and len(run.steps) == 201
    np.testing.assert_array_equal(run.steps["step"], np.arange(201))
    np.testing.assert_allclose(run.steps["time"], 0.005 * np.arange(201), rtol=1e-12)


def test_the_end_is_a_frame_even_off_the_rate():
    run = simulate(bouncing(), duration=0.5, step=0.01, frame_rate=7.0)
    assert run.time[0] == 0.0 and run.time[-1] == pytest.approx(0.5)
    assert run.finished and run.last.step == 50


@pytest.mark.parametrize(("duration", "steps"), [(1.0, 100), (0.999, 100), (1.001, 101), (0.01, 1), (0.3, 30)])
def test_whole_steps_that_reach_the_duration(duration, steps):
    assert simulate(bouncing(), duration=duration, step=0.01).last.step == steps


def test_what_is_left_out_is_the_scenes_own():
    run = simulate(bouncing(law="qce", stepper="synchronous", duration=0.2, frame_rate=50.0))
    s = run.settings
    assert (s.law, s.stepper, s.step, s.steps, s.frame_every) == ("qce", "synchronous", 0.01, 20, 2)


def test_what_is_given_wins_and_is_recorded(tmp_path):
    law = carom.laws.make("gr", tolerance=1e-8)
    simulate(
        bouncing(law="qce"),
        law,
        0.2,
        tmp_path / "run.h5",
        step=0.02,
        stepper="synchronous",
        friction_model="cone",
        restitution_model="qce_lcp",
        impulses=True,
    ).close()
    with Trajectory(tmp_path / "run.h5") as run:
        s = run.settings
        assert (s.law, s.stepper, s.step, s.steps) == ("gr", "synchronous", 0.02, 10)
        assert (s.friction_model, s.restitution_model, s.impulses) == ("cone", "qce_lcp", True)
        assert dict(s.law_options)["tolerance"] == 1e-8
        assert run.carom_version == carom.__version__ and run.name == "bouncing"


def test_first_frame_is_the_start():
    s = bouncing()
    run = simulate(s, duration=0.1)
    np.testing.assert_array_equal(run.positions[0], np.concatenate([g.position for g in s.bodies]))
    assert run.steps["contacts"][0] == 0


def test_impulses_belong_to_the_step_of_their_frame():
    """The last frame's impulses are what changed the momentum in the last step, gravity apart."""
    run = simulate(bouncing(), duration=0.6, frame_rate=100.0, impulses=True)
    mass = run.world.mass[:, None]
    for k in range(1, len(run)):
        given = run.impulses(k)
        change = np.zeros((4, 2))
        for a, b, n, lam, beta in zip(
            given.first, given.second, given.normal, given.normal_impulse, given.tangent_impulse
        ):
            push = lam * n + beta * np.array([-n[1], n[0]])
            change[a] -= push
            if b >= 0:
                change[b] += push
        gained = mass * (run.velocities[k] - run.velocities[k - 1] - [0.0, -0.0981])
        if run.steps["overlap"][k] < 1e-6:  # else some of it paid for pushing out
            np.testing.assert_allclose(gained, change, atol=1e-9)


def test_progress_is_told_and_ends_at_the_end():
    told = []
    simulate(bouncing(), duration=0.3, progress=told.append)
    assert told[-1].step == told[-1].steps == 30
    assert told[-1].time == pytest.approx(0.3) and told[-1].steps_done == 30


# ---- the same bits


def bits(run) -> tuple[bytes, ...]:
    return tuple(run.frame(-1).__getattribute__(name).tobytes() for name in ("position", "orientation", "velocity"))


def crowd() -> Scene:
    """Enough discs at once that detection and islands go to several threads: over 4,000 contacts."""
    rng = np.random.default_rng(7)
    side = 75
    places = np.stack(np.divmod(np.arange(side * side), side), axis=1) * 1.0
    velocity = rng.normal(size=(side * side, 2))
    return Scene(
        "crowd",
        [Bodies(Disc(0.4999), places, velocity=velocity)],
        [Container((-1.0, -1.0), (side, side))],
        step=0.01,
        stepper="synchronous",
        materials=rough(0.0, 0.9),
    )


@pytest.mark.parametrize("law", ["gr", "qce"])
def test_threads_do_not_change_the_bits(law):
    one, two = (simulate(crowd(), law, 0.1, threads=k) for k in (1, 2))
    assert one.steps["contacts"].max() > 4000
    assert one.state_hash == two.state_hash and bits(one) == bits(two)


@pytest.mark.parametrize("stepper", ["synchronous", "drift_safe"])
def test_repeating_gives_the_same_bits(stepper):
    one, two = (simulate(bouncing(), duration=1.0, stepper=stepper, impulses=True) for _ in range(2))
    assert content(one) == content(two)
    other = simulate(bouncing(step=0.0099), duration=1.0, stepper=stepper)
    assert other.state_hash != one.state_hash  # the comparison can fail


def test_file_and_memory_are_the_same(tmp_path):
    memory = simulate(bouncing(), duration=0.5, impulses=True)
    file = simulate(bouncing(), duration=0.5, output=tmp_path / "run.h5", impulses=True)
    assert content(memory) == content(file)
    assert memory.path is None and file.path == tmp_path / "run.h5"


class Stop(Exception):
    pass


@pytest.mark.covering
@pytest.mark.parametrize("stepper", ["synchronous", "drift_safe"])
@pytest.mark.parametrize("after", [1, 23, 39])
def test_resuming_gives_the_bits_of_a_whole_run(tmp_path, stepper, after, monkeypatch):
    """Stopped somewhere by an error in a callback, and taken up again from the last checkpoint."""
    monkeypatch.setattr("carom.simulation.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("carom.simulation.TELL_SECONDS", 0.0)
    whole = simulate(bouncing(), duration=0.4, stepper=stepper, impulses=True)

    def stop(progress):
        if progress.step == after:
            raise Stop

    path = tmp_path / "run.h5"
    with pytest.raises(Stop):
        simulate(bouncing(), duration=0.4, stepper=stepper, impulses=True, output=path, progress=stop)
    with Trajectory(path) as half:
        assert not half.finished and 0 < half.last.step <= after
    again = resume(path)
    assert again.finished and content(again) == content(whole)


def test_resuming_with_driven_walls(tmp_path, monkeypatch):
    """A floor that vibrates and a paddle that turns go on where they were."""
    monkeypatch.setattr("carom.simulation.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("carom.simulation.TELL_SECONDS", 0.0)
    paddle = Bodies(Disc(0.3), np.array([[3.0, 1.0]]), motion=Rotating(2.0, about=(2.0, 1.0)))
    base = bouncing()
    s = base.with_(bodies=[*base.bodies, paddle], boundaries=[Plane(motion=Vibrating(0.02, 3.0))])
    whole = simulate(s, duration=0.5, impulses=True)

    def stop(progress):
        if progress.step == 33:
            raise Stop

    with pytest.raises(Stop):
        simulate(s, duration=0.5, impulses=True, output=tmp_path / "run.h5", progress=stop)
    assert content(resume(tmp_path / "run.h5")) == content(whole)


# ---- Ctrl-C


def interrupt_at(step: int):
    """A progress function that presses Ctrl-C once."""

    def tell(progress):
        if progress.step == step:
            signal.raise_signal(signal.SIGINT)

    return tell


def test_an_interrupted_run_in_memory_returns_what_is_done(monkeypatch):
    monkeypatch.setattr("carom.simulation.TELL_SECONDS", 0.0)
    run = simulate(bouncing(), duration=1.0, frame_rate=20.0, impulses=True, progress=interrupt_at(33))
    whole = simulate(bouncing(), duration=1.0, frame_rate=20.0, impulses=True)
    assert not run.finished and whole.finished
    assert len(run.steps) == 34 and list(run.step) == [0, 5, 10, 15, 20, 25, 30] and run.last.step == 33
    np.testing.assert_array_equal(run.positions[:], whole.positions[:7])
    with pytest.raises(KeyboardInterrupt):
        completed(run)
    assert completed(whole) is whole


def test_an_interrupted_run_with_a_file_raises_and_can_be_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr("carom.simulation.TELL_SECONDS", 0.0)
    path = tmp_path / "run.h5"
    with pytest.raises(KeyboardInterrupt):
        simulate(bouncing(), duration=0.5, output=path, impulses=True, progress=interrupt_at(33))
    with Trajectory(path) as half:
        assert not half.finished and half.last.step == 33
    assert content(resume(path)) == content(simulate(bouncing(), duration=0.5, impulses=True))


# ---- refused, and no file touched


def no_force(time, position, velocity):
    return np.zeros(2)


BAD = {
    "law": ({"law": "grr"}, ["grr", "gr"]),
    "negative duration": ({"duration": -1.0}, ["duration", "-1"]),
    "nan duration": ({"duration": np.nan}, ["duration", "nan"]),
    "duration of text": ({"duration": "long"}, ["duration", "long"]),
    "shorter than a step": ({"duration": 1e-3}, ["duration", "0.001", "step"]),
    "zero step": ({"step": 0.0}, ["step", "0"]),
    "frame rate": ({"frame_rate": 0.0}, ["frame_rate", "0"]),
    "stepper": ({"stepper": "leapfrog"}, ["stepper", "leapfrog", "drift_safe"]),
    "restitution model": ({"restitution_model": "bouncy"}, ["restitution model", "bouncy"]),
    "restitution model of another law": ({"law": "gr", "restitution_model": "stronge"}, ["stronge", "gr"]),
    "friction model": ({"friction_model": "sticky"}, ["friction model", "sticky"]),
    "friction of its own that it has not": ({"law": "gr", "friction_model": "own"}, ["friction_model", "own", "gr"]),
    "no threads": ({"threads": 0}, ["threads", "0"]),
    "too many threads": ({"threads": 10_000}, ["threads", "10000"]),
    "half a thread": ({"threads": 1.5}, ["threads", "1.5"]),
    "no time": ({"seconds": 0.0}, ["seconds", "0", "above 0"]),
    "progress": ({"progress": "yes"}, ["progress", "yes"]),
    "overlap": ({"scene": bouncing(bodies=[disc(0.0, 1.5), disc(0.5, 1.5)])}, ["overlap"]),
    "force of a wrong shape": ({"scene": bouncing(force=no_force)}, ["force", "(2,)"]),
    "force of text": ({"scene": bouncing(force=lambda *_: "up")}, ["force"]),
    "script of a wrong length": (
        {"scene": bouncing(bodies=[disc(0.0, 1.5), disc(9.0, 1.5, motion=Scripted(lambda t: (t,)))])},
        ["motion.function"],
    ),
    "not a scene": ({"scene": 7}, ["scene", "int"]),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("there", [False, True])
def test_bad_arguments_touch_no_file(bad, there, tmp_path):
    changes, words = BAD[bad]
    path = tmp_path / "run.h5"
    if there:
        path.write_bytes(b"precious")
    given = {"scene": bouncing(), "duration": 0.1, "output": path, "overwrite": True, **changes}
    with pytest.raises(ProblemError) as refused:
        simulate(given.pop("scene"), **given)
    for word in words:
        assert word in str(refused.value)
    assert [p.name for p in tmp_path.iterdir()] == (["run.h5"] if there else [])
    if there:
        assert path.read_bytes() == b"precious"


def test_an_existing_file_is_kept_unless_told(tmp_path):
    path = tmp_path / "run.h5"
    first = simulate(bouncing(), duration=0.1, output=path)
    hash_before = first.state_hash
    first.close()
    with pytest.raises(ProblemError, match="overwrite"):
        simulate(bouncing(), duration=0.2, output=path)
    with Trajectory(path) as kept:
        assert kept.state_hash == hash_before
    with simulate(bouncing(), duration=0.2, output=path, overwrite=True) as new:
        assert new.last.step == 20


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ProblemError, match="output"):
        simulate(bouncing(), duration=0.1, output=tmp_path / "nowhere" / "run.h5")


def test_threads_are_put_back():
    before = numba.get_num_threads()
    simulate(bouncing(), duration=0.05, threads=1)
    assert numba.get_num_threads() == before
    with pytest.raises(Stop):
        simulate(bouncing(), duration=0.05, threads=1, progress=lambda p: (_ for _ in ()).throw(Stop()))
    assert numba.get_num_threads() == before


def test_library_scenes_run_by_name():
    run = simulate(scenes.newtons_cradle(balls=3), duration=0.5)
    assert run.finished and run.law == "gr"

"""What is recorded comes back bit for bit; a run that was stopped goes on as if it had not been."""

from __future__ import annotations

import errno
import json
import signal
from dataclasses import replace

import h5py
import numpy as np
import pytest
from tests.trajectory import small

from carom import ProblemError
from carom.hdf5 import safe_file
from carom.hdf5.slots import pack_memory, unpack_memory
from carom.scene import Bodies, Disc, Plane, Scene
from carom.scene.motion import Scripted
from carom.stepping.events import as_events
from carom.stepping.report import STEP
from carom.trajectory import Recorder, Trajectory, state_hash
from carom.trajectory.interrupts import stop_on_request, uninterrupted
from carom.trajectory.series import CHUNK, Series
from carom.world import State


@pytest.fixture(params=["file", "memory"])
def target(request, tmp_path):
    return tmp_path / "run.h5" if request.param == "file" else None


def test_every_bit_comes_back(target):
    recorder, fake = small.start(target)
    states, rows, pushes = [fake.state], [fake.row()], [fake.events()]
    for _ in range(small.STEPS):
        fake.step()
        rows.append(fake.row())
        recorder.step(rows[-1][0])
        pushes.append(fake.events())
        recorder.events(pushes[-1])
        if fake.state.step % 2 == 0:
            states.append(fake.state)
            recorder.frame(states[-1])
    with recorder.finish(fake.state, fake.memory) as run:
        assert run.finished
        assert len(run) == len(states)
        for i, state in enumerate(states):
            assert state_hash(run.frame(i)) == state_hash(state)
            assert run.time[i] == state.time and run.step[i] == state.step
        whole = as_events(np.concatenate(pushes), 2)
        assert np.array_equal(np.asarray(run.events), whole[np.argsort(whole["time"], kind="stable")])
        assert len(run.impulses(0).first) == 0 and len(run.impulses(1).first) == 1 + 2  # of steps 1 and 2
        assert run.steps.tobytes() == np.concatenate(rows).tobytes()
        assert run.settings == small.settings()
        assert run.state_hash == state_hash(fake.state) == state_hash(run.last)


def test_moving_boundaries_are_recorded_where_they_are(target):
    with small.whole_run(target) as run:
        motion = run.scene.boundaries[0].motion
        assert run.boundary_poses.shape == (len(run), 2, 3)
        for i, time in enumerate(run.time):
            assert tuple(run.boundary_poses[i, 0]) == motion.pose(time)
        assert not run.boundary_poses[:, 1].any()
        assert run.boundary_poses[:, 0].any()


def test_still_boundaries_take_no_place(target):
    with small.whole_run(target, moving=False) as run:
        assert "boundary_pose" not in run._file["frames"]
        assert run.boundary_poses.shape == (len(run), 2, 3)


@pytest.mark.parametrize("stop", [1, 5, 39, *(pytest.param(stop, marks=pytest.mark.long) for stop in (4, 7, 13))])
def test_a_run_that_was_stopped_and_resumed_equals_one_that_was_not(tmp_path, stop):
    with small.whole_run(tmp_path / "whole.h5") as whole:
        expected = small.content(whole)
    recorder, fake = small.start(tmp_path / "run.h5")
    small.go(recorder, fake, stop)
    recorder.abort()
    with Trajectory(tmp_path / "run.h5") as stopped:
        assert not stopped.finished
        assert stopped.last.step == stop - stop % 5, "a stopped run ends at its last checkpoint"
        assert stopped.steps["step"][-1] == stopped.last.step
    with small.resumed_run(tmp_path / "run.h5") as resumed:
        assert small.content(resumed) == expected


def test_resuming_again_and_again(tmp_path):
    with small.whole_run(tmp_path / "whole.h5") as whole:
        expected = small.content(whole)
    recorder, _ = small.start(tmp_path / "run.h5")
    recorder.abort()
    for upto in (6, 6, 11, 23, 24, 38):
        resumed = Recorder.resume(tmp_path / "run.h5")
        small.go(resumed.recorder, small.Fake(resumed.state, resumed.memory), upto)
        resumed.recorder.abort()
    with small.resumed_run(tmp_path / "run.h5") as run:
        assert small.content(run) == expected


def test_checkpoints_do_not_make_the_file_grow(tmp_path):
    """Two slots are written in turn. The memory's size changes from step to step, its room only upwards."""
    recorder, fake = small.start(tmp_path / "run.h5")
    small.go(recorder, fake, 30)
    for _ in range(3):
        recorder.checkpoint(fake.state, fake.memory)
    size = (tmp_path / "run.h5").stat().st_size
    for _ in range(200):
        recorder.checkpoint(fake.state, fake.memory)
    assert (tmp_path / "run.h5").stat().st_size == size
    recorder.abort()


def test_a_checkpoint_is_written_once_and_not_kept_in_memory(tmp_path):
    """A million bodies have 50 MB of state: it must not pass through the journal."""
    recorder, fake = small.start(tmp_path / "run.h5")
    memory = {"large": np.random.default_rng(1).bytes(1 << 20)}
    memory = {"large": np.frombuffer(memory["large"], np.uint8)}
    for _ in range(3):
        recorder.checkpoint(fake.state, memory)
    recorder._save(fake.state, memory)
    recorder._file.flush()
    assert sum(len(page) for page in recorder._safe._pages.values()) < 100_000
    recorder.abort()


def test_memory_comes_back_in_type_and_shape():
    memory = {
        "keys": np.arange(5, dtype=np.int32),
        "impulse": np.array([[1.0, np.nan], [-0.0, 1e-300]]),
        "none": np.zeros((0, 3)),
        "one": np.array(7.0),
    }
    found = unpack_memory(pack_memory(memory))
    assert list(found) == list(memory)
    for name, value in memory.items():
        assert found[name].dtype == value.dtype and found[name].shape == value.shape
        assert found[name].tobytes() == value.tobytes()
    assert unpack_memory(pack_memory({})) == {}


def test_rows_larger_than_a_chunk_are_split(tmp_path):
    n = 3 * CHUNK // 16 + 17
    rows = np.random.default_rng(2).normal(size=(5, n, 2))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        series = Series.create(file, "x", (n, 2), np.float64)
        for row in rows:
            series.append(row)
        series.flush()
        assert series.dataset.chunks[0] == 1 and series.dataset.chunks[1] < n
        assert np.array_equal(file["x"][()], rows)


def test_a_series_goes_on_in_the_middle_of_a_chunk(tmp_path):
    rows = np.arange(1000.0)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        series = Series.create(file, "x", (), np.float64, 64)
        for start, stop in ((0, 10), (10, 63), (63, 64), (64, 300), (300, 1000)):
            series.extend(rows[start:stop])
            series.flush()
            series = Series(file["x"])
        assert np.array_equal(file["x"][()], rows)


def test_an_existing_file_is_refused_and_untouched(tmp_path):
    path = tmp_path / "run.h5"
    path.write_text("precious")
    with pytest.raises(ProblemError, match="overwrite"):
        small.start(path)
    assert path.read_text() == "precious"
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]


def test_overwriting_waits_for_the_first_checkpoint(tmp_path):
    path = tmp_path / "run.h5"
    path.write_text("precious")
    s = small.scene()
    world, state = small.world_of(s)
    recorder = Recorder.create(path, s, world, state, small.settings(), overwrite=True)
    recorder.frame(state)
    assert path.read_text() == "precious"
    recorder.abort()
    assert path.read_text() == "precious"
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"], "a run that failed at once leaves nothing behind"
    small.whole_run(path, overwrite=True).close()
    assert Trajectory(path).finished


def test_a_file_of_a_living_run_is_not_overwritten_or_resumed(tmp_path):
    path = tmp_path / "run.h5"
    recorder, _ = small.start(path)
    with pytest.raises(ProblemError, match="no other run is writing"):
        small.start(path, overwrite=True)
    with pytest.raises(ProblemError, match="another program has it open"):
        Recorder.resume(path)
    assert Trajectory(path).running
    recorder.abort()
    assert not Trajectory(path).running
    Recorder.resume(path).recorder.abort()


def test_readers_see_the_last_checkpoint_of_a_living_run(tmp_path):
    path = tmp_path / "run.h5"
    recorder, fake = small.start(path)
    for upto in (7, 12, 33):
        small.go(recorder, fake, upto)
        with Trajectory(path) as run, h5py.File(path) as plain:
            assert run.last.step == upto - upto % 5
            assert plain["steps"].shape[0] == run.last.step + 1
            assert state_hash(run.last) == run.state_hash
    recorder.abort()


@pytest.mark.parametrize(("name", "text"), [("folder", "not of a folder"), ("none/run.h5", "folder that exists")])
def test_places_where_nothing_can_be_written(tmp_path, name, text):
    (tmp_path / "folder").mkdir()
    with pytest.raises(ProblemError, match=text):
        small.start(tmp_path / name)


def test_a_scene_with_python_in_it_is_resumed_with_the_scene(tmp_path):
    path = tmp_path / "run.h5"
    floor = Plane(motion=Scripted(lambda t: (0.0, 0.1 * t)))
    s = Scene("scripted", [Bodies(Disc(1.0), np.array([[0.0, 5.0]]))], [floor])
    world, state = small.world_of(s)
    recorder = Recorder.create(path, s, world, state, small.settings(impulses=False))
    recorder.checkpoint(state, {})
    recorder.abort()
    before = path.read_bytes()
    with pytest.raises(ProblemError, match="scene itself"):
        Recorder.resume(path)
    with pytest.raises(ProblemError, match="scene"):
        Recorder.resume(path, replace(s, gravity=(0.0, -2.0)))
    assert path.read_bytes() == before
    resumed = Recorder.resume(path, s)
    assert resumed.scene is s
    resumed.recorder.abort()
    assert Trajectory(path, s).scene is s


def test_the_file_speaks_for_itself(tmp_path):
    """What the documentation promises to readers that are not Carom."""
    small.whole_run(tmp_path / "run.h5").close()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file.attrs["format"] == b"carom trajectory"
        assert file.attrs["law"] == b"gr" and file.attrs["scene"] == b"small"
        assert json.loads(file["settings"].asstr()[()])["step"] == 0.01
        assert file["steps"].dtype == STEP
        n = len(file["world/radius"])
        assert file["frames/position"].shape == (small.STEPS // 2 + 1, n, 2)
        assert file["frames/position"].compression == "gzip" and file["frames/position"].shuffle
        assert file["world/vertex_ptr"][-1] == len(file["world/vertex"])


def test_the_hash_sees_every_part():
    state = State(1.0, 3, np.zeros((2, 2)), np.zeros(2), np.zeros((2, 3)))
    changed = [
        replace(state, step=4),
        replace(state, position=np.full((2, 2), 1e-300)),
        replace(state, orientation=np.array([0.0, -0.0])),
        replace(state, velocity=np.eye(2, 3)),
    ]
    assert len({state_hash(s) for s in (state, *changed)}) == 5
    assert state_hash(state) == state_hash(replace(state, time=2.0)), "the time follows from the step"


@pytest.mark.parametrize(
    "room", [0, 5_000, 20_000, *(pytest.param(room, marks=pytest.mark.long) for room in (100, 10_000, 40_000))]
)
def test_a_full_disk_stops_the_run_and_keeps_the_file(tmp_path, monkeypatch, room):
    path, left = tmp_path / "run.h5", [room]
    recorder, fake = small.start(path)
    write_all = safe_file.write_all

    def limited(raw, at, view):
        left[0] -= len(view)
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_all(raw, at, view)

    with monkeypatch.context() as patch:
        patch.setattr(safe_file, "write_all", limited)
        with pytest.raises(OSError, match="No space left"):
            small.go(recorder, fake, small.STEPS, checkpoint_every=2)
        recorder.abort()
    assert not path.with_name("run.h5.journal.part").exists()
    with small.resumed_run(path) as run, small.whole_run(None) as whole:
        assert small.content(run) == small.content(whole)


def test_a_frame_that_was_interrupted_never_reaches_the_file(tmp_path):
    recorder, fake = small.start(tmp_path / "run.h5")
    with pytest.raises(ValueError, match="broadcast"):
        recorder.frame(replace(fake.state, orientation=np.zeros(3)))
    with pytest.raises(RuntimeError, match="incomplete"):
        recorder.checkpoint(fake.state, {})
    recorder.abort()
    assert len(Trajectory(tmp_path / "run.h5")) == 1


def test_ctrl_c_waits_for_the_end_of_a_write():
    done = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("write")
        done.append("never")
    assert done == ["write"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_between_steps():
    with stop_on_request() as stop:
        assert not stop.asked
        signal.raise_signal(signal.SIGINT)
        assert stop.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

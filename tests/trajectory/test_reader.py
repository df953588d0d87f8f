"""Trajectories are read lazily, and what belongs to a frame lines up with its time."""

from __future__ import annotations

import numpy as np
import pytest
from tests.trajectory import small

from carom import ProblemError
from carom.hdf5.safe_file import SafeFile
from carom.trajectory import Trajectory
from carom.trajectory.reader import LazyArray


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader") / "run.h5"
    small.whole_run(path).close()
    return path


@pytest.fixture
def run(path):
    with Trajectory(path) as run:
        yield run


def test_shapes(run):
    k, n = small.STEPS // 2 + 1, 7
    assert len(run) == k and run.count == n
    assert run.positions.shape == run.velocities.shape == (k, n, 2)
    assert run.angles.shape == run.spins.shape == (k, n)
    assert run.energy.shape == run.kinetic.shape == run.potential.shape == run.angular_momentum.shape == (k,)
    assert run.momentum.shape == (k, 2)
    assert run.steps.shape == (small.STEPS + 1,)
    assert [state.step for state in run.frames()] == list(range(0, small.STEPS + 1, 2))


def test_energies_line_up_with_frames(run):
    """The made-up run's kinetic energy is half the sum of the squares of all velocity components."""
    velocity = np.concatenate([run.velocities, run.spins[:][..., None]], axis=2)
    assert np.allclose(run.kinetic, 0.5 * (velocity**2).sum(axis=(1, 2)), rtol=1e-14)
    assert np.allclose(run.momentum, np.asarray(run.velocities).sum(axis=1), rtol=1e-13, atol=1e-15)
    assert np.array_equal(run.time, run.steps["time"][::2])


def test_scene_and_world_come_back(run):
    assert run.scene.name == run.name == "small"
    assert run.law == "gr"
    assert run.world.count == run.count
    assert np.array_equal(run.world.shapes.vertex, run.geometry["vertex"])
    assert {"radius", "kind", "mass", "free", "boundary_kind", "boundary_point", "boundary_material"} <= set(
        run.geometry
    )
    assert "nothing" not in run.geometry and len(run.geometry) == len(list(run.geometry))


def test_scenes_in_which_nothing_turns_have_no_spins(tmp_path):
    from carom.scene import Bodies, Disc, Scene
    from carom.trajectory import Recorder

    s = Scene("plain", [Bodies(Disc(1.0), np.array([[0.0, 0.0], [3.0, 0.0]]))])
    world, state = small.world_of(s)
    recorder = Recorder.create(None, s, world, state, small.settings(impulses=False))
    recorder.frame(state)
    run = recorder.finish(state)
    assert run.spins.shape == (1, 2) and not run.spins.any()
    assert run.impulses(0) is None
    assert run.boundary_poses.shape == (1, 0, 3)


def read_bytes(monkeypatch) -> list[int]:
    counts: list[int] = []
    readinto = SafeFile.readinto

    def counted(self, buffer):
        counts.append(len(buffer))
        return readinto(self, buffer)

    monkeypatch.setattr(SafeFile, "readinto", counted)
    return counts


def test_one_frame_costs_one_frame(tmp_path, monkeypatch):
    """Of 30 frames of 20,000 bodies, 320 kB of positions each, one is asked for: far from 10 MB may be read."""
    from carom.scene import Bodies, Disc, Scene
    from carom.trajectory import Recorder
    from carom.world import State

    grid = np.stack(np.meshgrid(np.arange(200.0), np.arange(100.0)), axis=-1).reshape(-1, 2)
    s = Scene("grid", [Bodies(Disc(0.4), grid)])
    world, state = small.world_of(s)
    recorder = Recorder.create(tmp_path / "run.h5", s, world, state, small.settings(30, 1, False))
    rng = np.random.default_rng(3)
    for i in range(30):
        recorder.frame(State(0.01 * i, i, rng.normal(size=grid.shape), state.orientation, state.velocity))
    recorder.finish(state).close()
    counts = read_bytes(monkeypatch)
    with Trajectory(tmp_path / "run.h5") as run:
        assert sum(counts) < 200_000, "opening reads no frames"
        before = sum(counts)
        frame = run.positions[17]
        assert frame.shape == grid.shape
        assert sum(counts) - before < 500_000
        track = run.positions[:, 123]
        assert np.array_equal(track[17], frame[123])


KEYS = [
    0, -1, 5, slice(None), slice(2, 9, 3), slice(-4, None), slice(9, 2), slice(None, None, -1), [3, 1, 2], ...,
    (slice(None), 2), (3, 4), (3, slice(1, 5)), (slice(None), slice(None), 1), (..., 0), (-2, -1, -1),
    (slice(None), [0, 2]), (None, 3), np.array([True, False] * 10 + [True]), np.int64(4),
]  # fmt: skip


@pytest.mark.parametrize("name", ["positions", "velocities"])
def test_indexing_is_that_of_numpy(run, name):
    lazy = getattr(run, name)
    for key in KEYS:
        assert np.array_equal(lazy[key], np.asarray(lazy)[key]), key


def test_indices_out_of_range(run):
    for index in (len(run), -len(run) - 1):
        with pytest.raises(IndexError):
            run.positions[index]
        with pytest.raises(IndexError):
            run.frame(index)
        with pytest.raises(IndexError):
            run.impulses(index)


def test_lazy_arrays_calculate(run):
    whole = np.asarray(run.positions)
    assert isinstance(run.positions, LazyArray)
    assert np.array_equal(run.positions - run.positions[0], whole - whole[0])
    assert np.array_equal(2.0 * run.positions, 2.0 * whole)
    assert np.array_equal(np.hypot(run.positions[..., 0], 1.0), np.hypot(whole[..., 0], 1.0))
    assert run.positions.max() == whole.max()
    assert np.linalg.norm(run.positions) == np.linalg.norm(whole)
    assert run.positions.ndim == 3 and run.positions.size == whole.size and run.positions.nbytes == whole.nbytes
    assert [f.shape for f in run.positions] == [(7, 2)] * len(run)
    with pytest.raises(AttributeError):
        run.positions.nothing  # noqa: B018
    assert "MB" in repr(run.positions)


def test_one_line_says_what_it_is(run):
    text = repr(run)
    assert "\n" not in text
    for word in ("small", "gr", "7 bodies", f"{len(run)} frames", "finished"):
        assert word in text


def test_a_closed_trajectory_says_so(path):
    run = Trajectory(path)
    run.close()
    assert "closed" in repr(run)
    with pytest.raises(ValueError, match="closed"):
        run.time  # noqa: B018


def test_two_readers_and_h5py_at_once(path):
    import h5py

    with Trajectory(path) as a, Trajectory(path) as b, h5py.File(path) as plain:
        assert np.array_equal(a.positions[3], b.positions[3])
        assert np.array_equal(a.positions[3], plain["frames/position"][3])


def test_a_missing_file(tmp_path):
    with pytest.raises(ProblemError, match="no such file"):
        Trajectory(tmp_path / "none.h5")

"""Files that cannot be read: one clear message each, and not a byte of them changes."""

from __future__ import annotations

import os

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.trajectory import small

from carom import ProblemError
from carom.trajectory import Recorder, Trajectory


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run that was stopped at step 23, so at its checkpoint of step 20."""
    path = tmp_path_factory.mktemp("damaged") / "run.h5"
    recorder, fake = small.start(path)
    small.go(recorder, fake, 23)
    recorder.abort()
    return path.read_bytes()


def empty(path, _):
    path.write_bytes(b"")


def text(path, _):
    path.write_text("a scene, not a run\n" * 10)


def short_text(path, _):
    path.write_text("x")


def half(path, content):
    path.write_bytes(content[: len(content) // 2])


def first_bytes(path, content):
    path.write_bytes(content[:20])


def another(path, _):
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(5)


def older_format(path, _):
    """Files of older formats have no user block."""
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "carom trajectory"


def newer(path, content):
    path.write_bytes(content)
    with h5py.File(path, "r+") as file:
        file.attrs["version"] = 99
        file.attrs["carom_version"] = np.bytes_(b"9.9")


def older(path, content):
    path.write_bytes(content)
    with h5py.File(path, "r+") as file:
        file.attrs["version"] = 2
        file.attrs["carom_version"] = np.bytes_(b"0.0")


def no_steps(path, content):
    path.write_bytes(content)
    with h5py.File(path, "r+") as file:
        del file["checkpoint"]


def wrong_state(path, content):
    path.write_bytes(content)
    with h5py.File(path, "r+") as file:
        for slot in "01":
            file[f"checkpoint/{slot}/position"][0, 0] += 1e-9


def wrong_count(path, content):
    path.write_bytes(content)
    with h5py.File(path, "r+") as file:
        file["steps"].resize(5, axis=0)


OPENING = [
    (empty, "is empty"),
    (text, "not an HDF5 file"),
    (short_text, "not an HDF5 file"),
    (half, "cut off: .* bytes of"),
    (first_bytes, "cut off"),
    (another, "not a trajectory of Carom"),
    (older_format, "older version.*run the scene again"),
    (newer, "Carom 9.9 .*upgrade"),
    (older, "Carom 0.0.* in format 2; .*run the scene again"),
]
RESUMING = [(no_steps, "damaged"), (wrong_state, "damaged"), (wrong_count, "damaged")]


@pytest.mark.parametrize(("spoil", "message"), OPENING, ids=[f.__name__ for f, _ in OPENING])
def test_opening(tmp_path, stopped, spoil, message):
    path = tmp_path / "run.h5"
    spoil(path, stopped)
    before = path.read_bytes()
    with pytest.raises(ProblemError, match=message):
        Trajectory(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("spoil", "message"), OPENING + RESUMING, ids=[f.__name__ for f, _ in OPENING + RESUMING])
def test_resuming(tmp_path, stopped, spoil, message):
    path = tmp_path / "run.h5"
    spoil(path, stopped)
    before = path.read_bytes()
    with pytest.raises(ProblemError, match=message) as error:
        Recorder.resume(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.h5"]


def test_a_missing_file_and_a_folder(tmp_path):
    for path, message in ((tmp_path / "none.h5", "no such file"), (tmp_path, "folder")):
        with pytest.raises(ProblemError, match=message):
            Recorder.resume(path)


def test_a_finished_run(tmp_path):
    path = tmp_path / "run.h5"
    small.whole_run(path).close()
    before = path.read_bytes()
    with pytest.raises(ProblemError, match="finished"):
        Recorder.resume(path)
    assert path.read_bytes() == before


def test_bytes_behind_the_end_do_no_harm(tmp_path, stopped):
    """What a killed run wrote after its last checkpoint."""
    path = tmp_path / "run.h5"
    path.write_bytes(stopped + os.urandom(10_000))
    with Trajectory(path) as run:
        assert run.last.step == 20
    with small.resumed_run(path) as run, small.whole_run(None) as whole:
        assert small.content(run) == small.content(whole)


@given(st.floats(0.0, 1.0, exclude_max=True))
def test_a_file_cut_off_anywhere(tmp_path_factory, stopped, part):
    path = tmp_path_factory.mktemp("cut") / "run.h5"
    content = stopped[: int(part * len(stopped))]
    path.write_bytes(content)
    for use in (Trajectory, Recorder.resume):
        with pytest.raises(ProblemError, match=r"cut off|empty"):
            use(path)
    assert path.read_bytes() == content


def data_bytes(path) -> list[tuple[str, int]]:
    """(dataset, address) of the middle of every compressed chunk."""
    found = []

    def look(name, item):
        if isinstance(item, h5py.Dataset) and item.chunks:
            chunks = [item.id.get_chunk_info(i) for i in range(item.id.get_num_chunks())]
            found.extend((name, chunk.byte_offset + chunk.size // 2) for chunk in chunks)

    with h5py.File(path) as file:
        file.visititems(look)
    return found


def test_damaged_chunks_are_noticed_where_they_are_read(tmp_path, stopped):
    """zlib's checksum sees a flipped bit, unless it is one of the few that mean nothing; the rest stays readable."""
    path = tmp_path / "run.h5"
    path.write_bytes(stopped)
    places = data_bytes(path)
    with Trajectory(path) as run:
        intact = {name: run._whole(name).tobytes() for name, _ in places}
    assert {"steps", "frames/position", "frames/time", "events"} <= set(intact)
    noticed = 0
    for name, at in places:
        content = bytearray(stopped)
        content[at] ^= 1
        path.write_bytes(content)
        with Trajectory(path) as run:
            try:
                assert run._whole(name).tobytes() == intact[name]
            except ProblemError:
                noticed += 1
            assert run.last.step == 20
            if not name.startswith("frames/"):
                assert run.positions[-1].shape == (7, 2)
    assert noticed > len(places) // 2

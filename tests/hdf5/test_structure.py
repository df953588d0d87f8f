"""Files of strangers: nothing outside of the file is read or written. And a reader beside a writer."""

from __future__ import annotations

import os

import h5py
import numpy as np
import pytest
from tests.trajectory import small

from carom import ProblemError
from carom.hdf5.journal import USER_BLOCK
from carom.hdf5.structure import Damaged, _item_size, check_structure
from carom.trajectory import Recorder, Trajectory

MANY = 20_000  # steps of a writer that is stopped before


@pytest.fixture
def stopped(tmp_path):
    path = tmp_path / "run.h5"
    recorder, fake = small.start(path)
    small.go(recorder, fake, 23)
    recorder.abort()
    return path


def external_storage(file, secret):
    shape = file["checkpoint/0/position"].shape
    for slot in "01":
        del file[f"checkpoint/{slot}/position"]
        count = int(np.prod(shape)) * 8
        file.create_dataset(f"checkpoint/{slot}/position", shape, "f8", external=[(secret, 0, count)])


def soft_link(file, _):
    del file["frames/time"]
    file["frames/time"] = h5py.SoftLink("/frames/position")


def external_link(file, secret):
    del file["frames/time"]
    file["frames/time"] = h5py.ExternalLink(secret, "/x")


def virtual(file, secret):
    del file["frames/time"]
    layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
    layout[:] = h5py.VirtualSource(secret, "x", shape=(3,))
    file.create_virtual_dataset("frames/time", layout)


def text_elsewhere(file, _):
    file.attrs["scene"] = "text of variable length"


def member_of_variable_length(file, _):
    """The values of such a member lie in a heap, to which no checked block leads."""
    dtype = np.dtype([("time", "f8"), ("text", h5py.string_dtype())])
    del file["frames/time"]
    file.create_dataset("frames/time", (11,), dtype)


def nested_member_of_variable_length(file, _):
    inner = np.dtype([("text", h5py.string_dtype())])
    del file["frames/time"]
    file.create_dataset("frames/time", (11,), np.dtype([("a", "i4"), ("b", inner)]))


def reference_member(file, _):
    del file["frames/time"]
    file.create_dataset("frames/time", (11,), np.dtype([("a", "i4"), ("b", h5py.ref_dtype)]))


@pytest.mark.parametrize(
    "forge",
    [
        *(external_storage, soft_link, external_link, virtual, text_elsewhere),
        *(member_of_variable_length, nested_member_of_variable_length, reference_member),
    ],
)
def test_what_lies_outside_is_refused(tmp_path, stopped, forge):
    secret = tmp_path / "secret"
    secret.write_bytes(b"s" * 4096)
    with h5py.File(stopped, "r+", libver="earliest") as file:
        forge(file, str(secret))
    before = stopped.read_bytes()
    for act in (Trajectory, Recorder.resume):
        with pytest.raises(ProblemError, match="damaged") as refusal:
            act(stopped)
        assert len(str(refusal.value)) <= 500
    assert stopped.read_bytes() == before and secret.read_bytes() == b"s" * 4096


@pytest.mark.parametrize("forge", [member_of_variable_length, nested_member_of_variable_length, reference_member])
def test_the_structure_check_alone_refuses_such_members(stopped, forge):
    """Before the HDF5 library reads the file."""
    with h5py.File(stopped, "r+", libver="earliest") as file:
        forge(file, "")
    data = stopped.read_bytes()
    with pytest.raises(Damaged, match="frames/time holds neither numbers nor text"):
        check_structure(lambda at, count: data[at : at + count], USER_BLOCK, len(data))


def test_other_compound_types_are_accepted():
    inner = np.dtype([("flag", "?"), ("text", "S7")])
    kind = h5py.h5t.py_create(np.dtype([("x", "f8"), ("number", "i2"), ("inner", inner)]), logical=True)
    encoded = kind.encode()[2:]  # without the header of the encoding
    assert _item_size(encoded, "x") == kind.get_size() == 18
    number = h5py.h5t.py_create(np.dtype("i2")).encode()[2:]
    third = b"\x36\x02\0\0\x04\0\0\0" + b"a\0\0" + number + b"bc\0\x02" + number  # version 3 of the datatype
    assert _item_size(third, "x") == 4
    text = h5py.h5t.py_create(h5py.string_dtype(), logical=True).encode()[2:]
    for wrong in (third[:-4], third.replace(b"\x02" + number, b"\x03" + number), third.replace(number, text)):
        with pytest.raises(Damaged):
            _item_size(wrong, "x")


def test_a_part_file_that_is_a_link_is_replaced_and_not_followed(tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (tmp_path / "run.h5.part").symlink_to(mine)
    small.whole_run(tmp_path / "run.h5").close()
    assert mine.read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_reader_beside_a_writer_sees_a_checkpoint(tmp_path):
    """The writer makes a checkpoint every second step and does nothing else, so that most openings meet one.

    It goes on until the reader has seen enough of them, however the system divides its time between the two.
    """
    path, enough = tmp_path / "run.h5", tmp_path / "enough"
    recorder, fake = small.start(path, steps=MANY)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for step in range(20, MANY, 20):
                small.go(recorder, fake, step, checkpoint_every=2)
                if enough.exists():
                    code = 0
                    break
        finally:
            os._exit(code)
    recorder._safe.drop()
    seen = set()
    try:
        while len(seen) <= 20:
            with Trajectory(path) as run:
                last = run.last.step
                assert len(run.steps) == last + 1 and np.isfinite(np.asarray(run.positions)).all()
                seen.add(last)
            assert os.waitpid(child, os.WNOHANG)[0] == 0, "the writer has ended"
    finally:
        enough.touch()
        recorder._file.close()
    assert os.waitpid(child, 0)[1] == 0

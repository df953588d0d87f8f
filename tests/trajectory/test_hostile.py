"""Files of strangers: nothing outside of the file is read or written. And a reader beside a writer."""

from __future__ import annotations

import os

import h5py
import numpy as np
import pytest
from tests.trajectory import small

from carom import ProblemError
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


@pytest.mark.parametrize("forge", [external_storage, soft_link, external_link, virtual, text_elsewhere])
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

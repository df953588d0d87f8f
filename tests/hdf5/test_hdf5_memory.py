"""Sizes are checked before memory is taken: a small file cannot ask for gigabytes."""

from __future__ import annotations

import os

import h5py
import numpy as np
import pytest
from fuzz import forgeries as forged
from tests.memory import outcome
from tests.trajectory import small

from carom.hdf5.journal import MAGIC, PAGE, Head, Journal, journal_of, read_head, read_journal
from carom.hdf5.slots import _record_crc
from carom.trajectory import Recorder, Trajectory
from carom.trajectory.series import shuffle_deflate

GIBIBYTE = 1 << 30
MOST = 512  # MiB
IMPORTS = "from carom.trajectory import Recorder, Trajectory\nfrom carom.analysis.statistics import file_summary"
READ = "with Trajectory(path) as run:\n    file_summary(run)"


@pytest.fixture
def stopped(tmp_path):
    path = tmp_path / "run.h5"
    recorder, fake = small.start(path)
    small.go(recorder, fake, 23)
    recorder.abort()
    return path


def head_of(path) -> Head:
    with open(path, "rb", buffering=0) as raw:
        head = read_head(raw)
    assert head is not None
    return head


def test_a_sparse_journal_of_six_gigabytes(stopped):
    head, count = head_of(stopped), 6 * GIBIBYTE // (8 + PAGE)
    start = MAGIC + head.identity + b"".join(k.to_bytes(8, "little") for k in (head.commits, 10**9, count))
    for size in (6 * GIBIBYTE, len(start) + count * (8 + PAGE) + 4):  # of any size, and of the size that it declares
        with open(journal_of(stopped), "wb") as journal:
            journal.write(start)
            journal.truncate(size)
        assert outcome(stopped, IMPORTS, READ, MOST) == "accepted"
        assert outcome(stopped, IMPORTS, "Recorder.resume(path).recorder.abort()", MOST) == "accepted"


@pytest.mark.parametrize("size", [2**61, 2**62, 2**40])
def test_a_journal_that_asks_for_a_huge_file(stopped, size):
    """Its checksum is right. A commit never makes a file larger than it is already."""
    before, head = stopped.read_bytes(), head_of(stopped)
    journal_of(stopped).write_bytes(Journal(head, {0: bytearray(before[:PAGE])}, size).packed())
    with open(stopped, "rb", buffering=0) as raw:
        assert read_journal(stopped, head, raw) is None
    Recorder.resume(stopped).recorder.abort()
    with Trajectory(stopped) as run:
        assert run.last.step == 20
    assert stopped.read_bytes() == before


def test_a_true_journal_is_read(stopped):
    before, head = stopped.read_bytes(), head_of(stopped)
    journal_of(stopped).write_bytes(Journal(head, {0: bytearray(before[:PAGE])}, len(before)).packed())
    with open(stopped, "rb", buffering=0) as raw:
        assert read_journal(stopped, head, raw) is not None


def test_a_step_table_of_four_gibibytes(stopped):
    """Its chunks are zeros, which deflate shrinks by a factor of a thousand."""

    def change(file: h5py.File) -> None:
        dtype = file["steps"].dtype
        rows = (1 << 20) // dtype.itemsize
        chunk, chunks = shuffle_deflate(np.zeros(rows, dtype)), 4 * GIBIBYTE // (rows * dtype.itemsize) + 1
        del file["steps"]
        filters = {"shuffle": True, "compression": "gzip", "compression_opts": 1}
        table = file.create_dataset("steps", (rows * chunks,), dtype, maxshape=(None,), chunks=(rows,), **filters)
        for i in range(chunks):
            table.id.write_direct_chunk((i * rows,), chunk)
        records = file["checkpoint/record"][()]
        records["steps"] = rows * chunks
        for i in range(2):
            records["crc"][i] = _record_crc(records[i])
        file["checkpoint/record"][...] = records

    forged.forge(stopped.read_bytes(), stopped, change)
    assert stopped.stat().st_size < 50_000_000
    assert "its tables have 4,2" in outcome(stopped, IMPORTS, READ, MOST)


@pytest.mark.parametrize("name", ["checkpoint/0/velocity", "world/mass"])
def test_a_sparse_array_of_six_gigabytes(stopped, name):
    with h5py.File(stopped, "r+", libver="earliest") as file:
        del file[name]
        how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        how.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple((6 * GIBIBYTE // 8,))
        h5py.h5d.create(file.id, name.encode(), h5py.h5t.NATIVE_DOUBLE, space, how)
    assert os.stat(stopped).st_size > 6 * GIBIBYTE > 100 * 512 * os.stat(stopped).st_blocks
    assert "bytes" in outcome(stopped, IMPORTS, READ, MOST)

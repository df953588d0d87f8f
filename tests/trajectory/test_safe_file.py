"""A file whose writer dies at any byte is the last committed one, or the next one."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from carom.trajectory import safe_file
from carom.trajectory.safe_file import SafeFile, journal_of, read_journal, recover, write_journal


class Died(BaseException):
    """Stands for kill -9: nothing that follows is carried out."""


class Mortal:
    """Lets `budget` bytes and file operations through, and then nothing more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, budget: int) -> None:
        self.left = budget
        write_all, replace, unlink, truncate = safe_file.write_all, os.replace, Path.unlink, SafeFile._resize

        def mortal_write(raw, at, view):
            allowed = max(0, min(len(view), self.left))
            write_all(raw, at, view[:allowed])  # the part that made it to the disk
            self.spend(len(view))

        def once(function):
            def mortal(*arguments, **options):
                self.spend(1)
                return function(*arguments, **options)

            return mortal

        monkeypatch.setattr(safe_file, "write_all", mortal_write)
        monkeypatch.setattr(os, "replace", once(replace))
        monkeypatch.setattr(Path, "unlink", once(unlink))
        monkeypatch.setattr(SafeFile, "_resize", once(truncate))

    def spend(self, amount: int) -> None:
        self.left -= amount
        if self.left < 0:
            raise Died


def new(path: Path, content: bytes) -> SafeFile:
    path.write_bytes(content)
    return SafeFile(io.FileIO(str(path), "r+b"), len(content), journal_of(path))


def write(file: SafeFile, at: int, data: bytes) -> None:
    file.seek(at)
    file.write(data)


def read(file: SafeFile) -> bytes:
    file.seek(0)
    return file.read()


def test_nothing_committed_changes_before_the_commit(tmp_path):
    file = new(tmp_path / "f", b"a" * 10_000)
    write(file, 5000, b"b" * 100)
    write(file, 9_990, b"c" * 100)
    assert (tmp_path / "f").read_bytes()[:10_000] == b"a" * 10_000
    expected = b"a" * 5000 + b"b" * 100 + b"a" * 4890 + b"c" * 100
    assert read(file) == expected
    file.commit()
    assert (tmp_path / "f").read_bytes() == expected
    assert not journal_of(tmp_path / "f").exists()


def test_what_lies_behind_the_end_goes_straight_to_the_file(tmp_path):
    file = new(tmp_path / "f", b"a" * 100)
    write(file, 100, b"b" * 1_000_000)
    assert (tmp_path / "f").stat().st_size == 1_000_100
    assert not file._pages, "a frame of a million bodies must not be kept in memory"


def test_an_allowed_range_goes_straight_to_the_file_and_stays_under_pages_of_its_neighbors(tmp_path):
    file = new(tmp_path / "f", b"a" * 10_000)
    write(file, 4100, b"n" * 10)  # a page that also covers part of the range
    file.allow(5000, 6000, now=True)
    write(file, 5000, b"x" * 1000)
    assert (tmp_path / "f").read_bytes()[5000:6000] == b"x" * 1000
    expected = b"a" * 4100 + b"n" * 10 + b"a" * 890 + b"x" * 1000 + b"a" * 4000
    assert read(file) == expected
    file.commit()
    assert (tmp_path / "f").read_bytes() == expected


def test_a_range_that_is_allowed_no_longer_waits_again(tmp_path):
    file = new(tmp_path / "f", b"a" * 10_000)
    file.allow(5000, 6000, now=True)
    file.disallow(5000)
    write(file, 5000, b"x" * 1000)
    assert (tmp_path / "f").read_bytes() == b"a" * 10_000


def test_shrinking_waits_for_the_commit_too(tmp_path):
    file = new(tmp_path / "f", b"a" * 10_000)
    file.truncate(7_000)
    assert (tmp_path / "f").stat().st_size == 10_000
    file.commit()
    assert (tmp_path / "f").read_bytes() == b"a" * 7_000


def test_growing_again_after_shrinking_gives_zeros(tmp_path):
    file = new(tmp_path / "f", b"a" * 10_000)
    write(file, 10_000, b"b" * 5000)
    file.truncate(7_000)
    file.truncate(13_000)
    expected = b"a" * 7_000 + bytes(6_000)
    assert read(file) == expected
    file.commit()
    assert (tmp_path / "f").read_bytes() == expected


def test_dropping_leaves_the_committed_file(tmp_path):
    file = new(tmp_path / "f", b"a" * 100)
    write(file, 50, b"b" * 1000)
    file.drop()
    write(file, 0, b"c" * 10)
    file.truncate(5)
    file.commit()
    file.close()
    assert (tmp_path / "f").read_bytes() == b"a" * 100


def test_memory_behaves_as_a_file(tmp_path):
    file, memory = new(tmp_path / "f", b""), SafeFile(io.BytesIO(), 0, None)
    for each in (file, memory):
        write(each, 10, b"abc")
        each.truncate(50)
        write(each, 3, b"xyz")
        each.commit()
        each.truncate(30)
        each.commit()
    assert read(file) == read(memory) == memory.raw.getvalue()


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 20_000), st.integers(1, 6000), st.integers(1, 255)),
        st.tuples(st.just("truncate"), st.integers(0, 20_000)),
        st.tuples(st.just("commit")),
    ),
    max_size=14,
)


@given(OPERATIONS, st.integers(0, 60_000))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_death_at_any_byte_leaves_a_committed_state(tmp_path, operations, budget):
    path = tmp_path / "f"
    journal_of(path).unlink(missing_ok=True)
    now = bytearray(b"s" * 9000)
    file = new(path, bytes(now))
    committed = [bytes(now)]
    with pytest.MonkeyPatch.context() as patch:
        Mortal(patch, budget)
        try:
            for what, *values in operations:
                if what == "write":
                    at, count, byte = values
                    now.extend(bytes(max(0, at + count - len(now))))
                    now[at : at + count] = bytes([byte]) * count
                    write(file, at, bytes([byte]) * count)
                elif what == "truncate":
                    del now[values[0] :]
                    now.extend(bytes(values[0] - len(now)))
                    file.truncate(values[0])
                else:
                    committed.append(bytes(now))
                    file.commit()
                    committed = committed[-1:]
        except Died:
            pass
    file.raw.close()
    if file._touched and len(committed) == 1:
        assert path.read_bytes()[: len(committed[0])] == committed[0]
    recover(path)
    # Bytes behind the end are allowed: HDF5 knows where its file ends.
    found = path.read_bytes()
    assert any(found[: len(state)] == state for state in committed)
    assert not journal_of(path).exists()


def test_half_a_journal_is_ignored(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"a" * 10_000)
    write_journal(journal_of(path), {0: bytearray(b"b" * 4096), 2: bytearray(b"c" * 4096)}, 9_000).close()
    whole = journal_of(path).read_bytes()
    for count in (0, 1, 15, 16, 40, 5000, len(whole) - 1):
        assert read_journal(whole[:count]) is None
        journal_of(path).write_bytes(whole[:count])
        assert recover(path) is None
        assert path.read_bytes() == b"a" * 10_000
    damaged = bytearray(whole)
    damaged[200] ^= 1
    assert read_journal(bytes(damaged)) is None
    journal_of(path).write_bytes(whole)
    recover(path)
    assert path.read_bytes() == b"b" * 4096 + b"a" * 4096 + b"c" * 808


def test_a_reader_that_may_not_write_gets_the_pages(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"a" * 10_000)
    write_journal(journal_of(path), {1: bytearray(b"b" * 4096)}, 10_000).close()

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(safe_file, "_redo", refuse)
    pages, size = recover(path)
    file = SafeFile(io.FileIO(str(path), "rb"), size, None, pages)
    assert read(file) == b"a" * 4096 + b"b" * 4096 + b"a" * 1808
    assert path.read_bytes() == b"a" * 10_000
    assert journal_of(path).exists()


def test_seek_and_read_as_any_file(tmp_path):
    file = new(tmp_path / "f", bytes(range(100)))
    assert file.seek(-10, os.SEEK_END) == 90
    assert file.read(5) == bytes(range(90, 95))
    assert file.seek(2, os.SEEK_CUR) == 97
    assert file.read() == bytes([97, 98, 99])
    assert file.read(4) == b""
    assert file.tell() == 100

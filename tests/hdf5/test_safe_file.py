"""A file whose writer dies at any byte is the last committed one, or the next one."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from carom.hdf5 import safe_file
from carom.hdf5.journal import USER_BLOCK, Head, Journal, journal_of, new_file, read_head, read_journal, unpacked
from carom.hdf5.safe_file import SafeFile, open_safely, write_journal


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


HEAD = Head(b"i" * 16, 0)


def new(path: Path, content: bytes) -> SafeFile:
    """A file with a user block before its content; the functions below count bytes from the content on."""
    path.write_bytes(HEAD.block() + content)
    return SafeFile(io.FileIO(str(path), "r+b"), USER_BLOCK + len(content), path)


def write(file: SafeFile, at: int, data: bytes) -> None:
    file.seek(USER_BLOCK + at)
    file.write(data)


def read(file: SafeFile) -> bytes:
    file.seek(USER_BLOCK)
    return file.read()


def stored(path: Path) -> bytes:
    return path.read_bytes()[USER_BLOCK:]


def recover(path: Path) -> None:
    """What a writer does first; the file need not be HDF5."""
    with pytest.MonkeyPatch.context() as patch, io.FileIO(str(path), "r+b") as raw:
        patch.setattr(safe_file, "superblock", lambda head: type("End", (), {"end": 0}))
        open_safely(path, raw)


def test_nothing_committed_changes_before_the_commit(tmp_path):
    file = new(tmp_path / "f", b"a" * 10_000)
    write(file, 5000, b"b" * 100)
    write(file, 9_990, b"c" * 100)
    assert stored(tmp_path / "f")[:10_000] == b"a" * 10_000
    expected = b"a" * 5000 + b"b" * 100 + b"a" * 4890 + b"c" * 100
    assert read(file) == expected
    file.commit()
    assert stored(tmp_path / "f") == expected
    assert not journal_of(tmp_path / "f").exists()


def test_what_lies_behind_the_end_goes_straight_to_the_file(tmp_path):
    file = new(tmp_path / "f", b"a" * 100)
    write(file, 100, b"b" * 1_000_000)
    assert (tmp_path / "f").stat().st_size == USER_BLOCK + 1_000_100
    assert not file._pages, "a frame of a million bodies must not be kept in memory"


def test_an_allowed_range_goes_straight_to_the_file_and_stays_under_pages_of_its_neighbors(tmp_path):
    file = new(tmp_path / "f", b"a" * 10_000)
    write(file, 4100, b"n" * 10)  # a page that also covers part of the range
    file.allow(USER_BLOCK + 5000, USER_BLOCK + 6000, now=True)
    write(file, 5000, b"x" * 1000)
    assert stored(tmp_path / "f")[5000:6000] == b"x" * 1000
    expected = b"a" * 4100 + b"n" * 10 + b"a" * 890 + b"x" * 1000 + b"a" * 4000
    assert read(file) == expected
    file.commit()
    assert stored(tmp_path / "f") == expected


def test_a_range_that_is_allowed_no_longer_waits_again(tmp_path):
    file = new(tmp_path / "f", b"a" * 10_000)
    file.allow(USER_BLOCK + 5000, USER_BLOCK + 6000, now=True)
    file.disallow(USER_BLOCK + 5000)
    write(file, 5000, b"x" * 1000)
    assert stored(tmp_path / "f") == b"a" * 10_000


def test_shrinking_waits_for_the_commit_too(tmp_path):
    file = new(tmp_path / "f", b"a" * 10_000)
    file.truncate(USER_BLOCK + 7_000)
    assert (tmp_path / "f").stat().st_size == USER_BLOCK + 10_000
    file.commit()
    assert stored(tmp_path / "f") == b"a" * 7_000


def test_growing_again_after_shrinking_gives_zeros(tmp_path):
    file = new(tmp_path / "f", b"a" * 10_000)
    write(file, 10_000, b"b" * 5000)
    file.truncate(USER_BLOCK + 7_000)
    file.truncate(USER_BLOCK + 13_000)
    expected = b"a" * 7_000 + bytes(6_000)
    assert read(file) == expected
    file.commit()
    assert stored(tmp_path / "f") == expected


def test_dropping_leaves_the_committed_file(tmp_path):
    file = new(tmp_path / "f", b"a" * 100)
    write(file, 50, b"b" * 1000)
    file.drop()
    write(file, 0, b"c" * 10)
    file.truncate(5)
    file.commit()
    file.close()
    assert stored(tmp_path / "f") == b"a" * 100


def test_memory_behaves_as_a_file(tmp_path):
    file, memory = new(tmp_path / "f", b""), SafeFile(io.BytesIO(), 0, None)
    for each in (file, memory):
        write(each, 10, b"abc")
        each.truncate(USER_BLOCK + 50)
        write(each, 3, b"xyz")
        each.commit()
        each.truncate(USER_BLOCK + 30)
        each.commit()
    assert read(file) == read(memory) == memory.raw.getvalue()[USER_BLOCK:]


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
                    file.truncate(USER_BLOCK + values[0])
                else:
                    committed.append(bytes(now))
                    file.commit()
                    committed = committed[-1:]
        except Died:
            pass
    file.raw.close()
    if file._touched and len(committed) == 1:
        assert stored(path)[: len(committed[0])] == committed[0]
    recover(path)
    # Bytes behind the end are allowed: HDF5 knows where its file ends.
    found = stored(path)
    assert any(found[: len(state)] == state for state in committed)
    assert not journal_of(path).exists()


def left_with(path: Path, pages: dict[int, bytearray], size: int, commits: int = 0, identity: bytes = b"i" * 16):
    """A file of "a" beside a journal; the size of the file after it counts the user block."""
    new(path, b"a" * 10_000).close()
    write_journal(path, Journal(Head(identity, commits), pages, size))
    return journal_of(path).read_bytes()


def test_half_a_journal_is_ignored(tmp_path):
    path = tmp_path / "f"
    whole = left_with(path, {1: bytearray(b"b" * 4096), 2: bytearray(b"c" * 4096)}, 9_000)
    for count in (0, 1, 15, 16, 40, 5000, len(whole) - 1):
        assert unpacked(whole[:count]) is None
        journal_of(path).write_bytes(whole[:count])
        recover(path)
        assert stored(path) == b"a" * 10_000
    damaged = bytearray(whole)
    damaged[200] ^= 1
    assert unpacked(bytes(damaged)) is None
    journal_of(path).write_bytes(whole)
    recover(path)
    assert stored(path) == b"a" * (4096 - USER_BLOCK) + b"b" * 4096 + b"c" * 808
    with io.FileIO(str(path), "rb") as raw:
        assert read_head(raw) == Head(HEAD.identity, 1)


@pytest.mark.parametrize(("commits", "identity"), [(1, b"i" * 16), (7, b"i" * 16), (0, b"j" * 16)])
def test_the_journal_of_another_commit_or_file_is_left_alone(tmp_path, commits, identity):
    path = tmp_path / "f"
    whole = left_with(path, {1: bytearray(b"b" * 4096)}, 9_000, commits, identity)
    recover(path)
    assert stored(path) == b"a" * 10_000
    assert journal_of(path).read_bytes() == whole


def test_a_journal_is_not_read_through_a_link(tmp_path):
    path, elsewhere = tmp_path / "f", tmp_path / "elsewhere"
    left_with(path, {1: bytearray(b"b" * 4096)}, 9_000)
    with io.FileIO(str(path), "rb") as raw:
        assert read_journal(path, HEAD, raw) is not None
        journal_of(path).rename(elsewhere)
        journal_of(path).symlink_to(elsewhere)
        assert read_journal(path, HEAD, raw) is None
    recover(path)
    assert stored(path) == b"a" * 10_000


def test_a_new_file_replaces_a_link_and_not_its_target(tmp_path):
    other, link, twin = tmp_path / "other", tmp_path / "link", tmp_path / "twin"
    other.write_text("mine")
    link.symlink_to(other)
    os.link(other, twin)
    for path in (link, twin):
        with new_file(path) as raw:
            raw.write(b"new")
        assert not path.is_symlink() and path.read_bytes() == b"new"
    assert other.read_text() == "mine"


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_removed_is_noticed_at_the_next_commit(tmp_path, replaced):
    path = tmp_path / "f"
    file = new(path, b"a" * 10_000)
    write(file, 5000, b"b")
    path.unlink()
    if replaced:
        path.write_bytes(b"another")
    with pytest.raises(OSError, match="removed or replaced"):
        file.commit()
    assert os.listdir(tmp_path) == (["f"] if replaced else [])


def test_seek_and_read_as_any_file(tmp_path):
    file = new(tmp_path / "f", bytes(range(100)))
    assert file.seek(-10, os.SEEK_END) == USER_BLOCK + 90
    assert file.read(5) == bytes(range(90, 95))
    assert file.seek(2, os.SEEK_CUR) == USER_BLOCK + 97
    assert file.read() == bytes([97, 98, 99])
    assert file.read(4) == b""
    assert file.tell() == USER_BLOCK + 100

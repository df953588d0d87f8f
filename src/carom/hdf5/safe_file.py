"""A file object for h5py whose file survives the death of the process at any instant.

HDF5 changes bytes in the middle of its file in an order of its own; a process that dies in between leaves a file that
no program can open. `SafeFile` intercepts the writes. The file on disk has a *committed* part, `[0, end)`:

- a write behind the end goes directly to the file, where no committed byte refers to it;
- a write into the committed part is kept in memory, in pages, until `commit()`.

`commit()` first writes the pages to a redo journal beside the file, which gets its name when it is complete, then
applies them to the file, counts the commit in its first bytes, and finally removes the journal (`journal.py`). Whenever
the process dies, the file is the last committed one, possibly followed by unused bytes, or a journal holds all changes
to the next one: see `open_safely`.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from pathlib import Path

from .journal import (
    COUNTER,
    ID,
    PAGE,
    USER_BLOCK,
    Head,
    Journal,
    Pages,
    journal_of,
    new_file,
    read_head,
    read_journal,
    still_named,
)
from .structure import Structure, check_structure, superblock


class SafeFile:
    """The file object that `h5py.File(safe_file, ...)` reads and writes.

    `raw` is an unbuffered file, or a BytesIO for a run in memory; the latter needs no protection, and `path`, the name
    of the file, is None. `end` is the end of the committed part, in bytes. `pages` replace those of the file.
    """

    def __init__(self, raw: io.FileIO | io.BytesIO, end: int, path: Path | None, pages: Pages | None = None) -> None:
        self.raw, self.path = raw, path
        self._end = self._size = end
        self._at = 0
        self._pages: Pages = pages or {}
        self._free: dict[int, int] = {}  # start -> stop of ranges in the committed part that are unused
        self._soon: dict[int, int] = {}  # ranges that become unused with the next commit
        self._dropped = False
        self.failure: OSError | None = None  # of a write that HDF5 asked for, such as a full disk
        self._touched = False  # whether the file itself was written since the last commit

    # ---- the interface that h5py calls

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._size - self._at))
        self._fetch(self._at, view[:count])
        for page, inside, outside in _pieces(self._at, count):
            if page in self._pages:
                view[outside] = self._pages[page][inside]
        self._at += count
        return count

    def read(self, count: int = -1) -> bytes:
        rest = max(0, self._size - self._at)
        data = bytearray(rest if count < 0 else min(count, rest))
        self.readinto(data)
        return bytes(data)

    def structure(self) -> Structure:
        """The structure of the file, which is checked. Raises Damaged."""

        def read_at(at: int, count: int) -> bytes:
            self.seek(at)
            return self.read(count)

        return check_structure(read_at, USER_BLOCK, self._size)

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data).cast("B")
        if not self._dropped:
            self._fill(self._at)
            inside = self._kept_part(self._at, len(view))
            self._keep(self._at, view[:inside])
            self._put(self._at + inside, view[inside:])
        self._at += len(view)
        self._size = max(self._size, self._at)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        size = self._at if size is None else size
        if not self._dropped:
            self._fill(size)
            if (self._touched or size > self._end) and self.failure is None:
                self._touched = True
                self._resize(max(size, self._end))
        self._size = size
        return size

    def flush(self) -> None:
        """Does nothing: data is safe only after `commit`."""

    # ---- the interface of the recorder

    def allow(self, start: int, stop: int, now: bool = False) -> None:
        """Lets writes inside a range go directly to the file; the caller guarantees that no reader needs its content.

        This holds from the next commit on, or from `now`: a range that HDF5 has just allocated may still be in use in
        the committed file.
        """
        (self._free if now else self._soon)[start] = stop

    def disallow(self, start: int) -> None:
        """Revokes `allow` for the range that begins at `start`."""
        self._free.pop(start, None)
        self._soon.pop(start, None)

    def begin(self) -> None:
        """Writes the user block of a new file, with a new identity."""
        self.seek(0)
        self.write(Head(os.urandom(ID), 0).block())

    def commit(self) -> None:
        """Makes everything written so far permanent, as one change. h5py must have flushed before."""
        if self.failure is not None:
            raise self.failure
        if self.path is None or self._dropped:
            return
        self._sync()
        if self._pages or self._size < self._end:
            self._redo()
        else:
            self._end = self._size
            self._apply()
        self._pages = {}
        self._free |= self._soon
        self._soon = {}
        self._touched = False

    def _redo(self) -> None:
        """Changes the committed part, by way of the journal."""
        assert self.path is not None
        assert isinstance(self.raw, io.FileIO)
        if not still_named(self.raw, self.path):
            raise OSError(errno.ENOENT, "the file was removed or replaced during the run", str(self.path))
        head = read_head(self.raw)
        if head is None:
            raise OSError(errno.EIO, "the first bytes of the file have changed during the run", str(self.path))
        head = Head(head.identity, max(0, head.commits))
        write_journal(self.path, Journal(head, self._pages, self._size))
        self._end = self._size  # the named journal makes this the committed file
        self._apply()
        self._finish_commit(head)

    def _finish_commit(self, head: Head) -> None:
        """Counts the commit after `head` and removes its journal."""
        assert self.path is not None
        write_all(self.raw, COUNTER, memoryview(Head(head.identity, head.commits + 1).counter()))
        journal_of(self.path).unlink(missing_ok=True)

    def drop(self) -> None:
        """Discards uncommitted data and ignores all further writes, so that h5py can close its file without effect."""
        self._dropped = True
        self._pages = {}
        if self.path is not None and self._touched:
            self._resize(self._end)

    def move(self, path: Path) -> None:
        """Renames the file to `path`; an older file of that name is replaced atomically."""
        assert isinstance(self.raw, io.FileIO)
        if os.name == "nt":  # Windows cannot rename an open file
            self.raw.close()
        assert self.path is not None
        os.replace(self.path, path)
        self.path = path
        if self.raw.closed:
            self.raw = io.FileIO(str(path), "r+b")

    def close(self) -> None:
        if isinstance(self.raw, io.FileIO):  # a BytesIO stays open for its reader
            self.raw.close()

    def __del__(self) -> None:
        self.close()

    # ---- implementation

    def _kept_part(self, at: int, count: int) -> int:
        """How many of the `count` bytes from `at` on must be kept until the commit."""
        if self.failure is not None:
            return count
        if any(start <= at and at + count <= stop for start, stop in self._free.items()):
            return 0
        return max(0, min(count, self._end - at))

    def _fill(self, size: int) -> None:
        """Writes zeros where the file grows again after it was shrunk into its committed part, which has old bytes."""
        stop = min(size, self._end)
        if self._size < stop:
            self._keep(self._size, memoryview(bytes(stop - self._size)))

    def _keep(self, at: int, view: memoryview) -> None:
        for page, inside, outside in _pieces(at, len(view)):
            if page not in self._pages:
                self._pages[page] = bytearray(PAGE)
                if inside.stop - inside.start < PAGE:
                    self._fetch(page * PAGE, memoryview(self._pages[page]))
            self._pages[page][inside] = view[outside]

    def _put(self, at: int, view: memoryview) -> None:
        if not len(view):
            return
        self._touched = True
        try:
            write_all(self.raw, at, view)
        except OSError as error:  # HDF5 cannot handle an exception here: `commit` raises it
            self.failure = error
            self._keep(at, view)
            return
        # A page in memory may cover some of these bytes too; it is written later and must not undo them.
        if self._pages:
            for page, inside, outside in _pieces(at, len(view)):
                if page in self._pages:
                    self._pages[page][inside] = view[outside]

    def _fetch(self, at: int, view: memoryview) -> None:
        """Fills `view` from the file, with zeros behind its end."""
        self.raw.seek(at)
        got = 0
        while got < len(view):
            count = self.raw.readinto(view[got:])
            if not count:
                view[got:] = bytes(len(view) - got)
                break
            got += count

    def _resize(self, size: int) -> None:
        actual = self.raw.seek(0, os.SEEK_END)
        if size < actual or isinstance(self.raw, io.FileIO):
            self.raw.truncate(size)
        elif size > actual:
            write_all(self.raw, size - 1, memoryview(b"\0"))

    def _apply(self) -> None:
        for page, content in sorted(self._pages.items()):
            write_all(self.raw, page * PAGE, memoryview(content))
        self._resize(self._size)
        self._sync()

    def _sync(self) -> None:
        if isinstance(self.raw, io.FileIO):
            os.fsync(self.raw.fileno())


def write_all(raw: io.FileIO | io.BytesIO, at: int, view: memoryview) -> None:
    """Writes all of `view` at position `at`; one call of an unbuffered file may write less."""
    raw.seek(at)
    done = 0
    while done < len(view):
        done += raw.write(view[done:]) or 0


def write_journal(path: Path, journal: Journal) -> None:
    """Writes the journal of the file `path`, which gets its name when it is complete."""
    place = journal_of(path)
    part = place.with_name(place.name + ".part")
    with new_file(part) as raw:
        try:
            write_all(raw, 0, memoryview(journal.packed()))
            os.fsync(raw.fileno())
        except OSError:
            part.unlink(missing_ok=True)
            raise
    os.replace(part, place)


def open_safely(path: Path, raw: io.FileIO) -> SafeFile:
    """The file object that continues to write `raw`, the file `path`.

    A commit that a killed process left incomplete is completed; a journal of another file, or of another commit, is
    left alone.
    """
    head = read_head(raw)
    journal = None if head is None else read_journal(path, head, raw)
    if journal is not None and head is not None and journal.follows(head):
        safe = SafeFile(raw, journal.size, path, journal.pages)
        safe._apply()
        safe._finish_commit(journal.head)
        safe._pages = {}
        return safe
    raw.seek(USER_BLOCK)
    return SafeFile(raw, superblock(raw.read(96) or b"").end, path)


def _pieces(at: int, count: int) -> Iterator[tuple[int, slice, slice]]:
    """Each page that `count` bytes from `at` on touch: its number, which of its bytes, and which of the `count`."""
    done = 0
    while done < count:
        page, start = divmod(at + done, PAGE)
        size = min(PAGE - start, count - done)
        yield page, slice(start, start + size), slice(done, done + size)
        done += size

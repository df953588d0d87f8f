"""A file that a killed process cannot spoil, for h5py to write into.

HDF5 changes bytes in the middle of its file, in an order of its own; a process that dies in between leaves a file
that nothing can open. `SafeFile` stands between the two. The file on disk has a *committed* part, `[0, end)`:

- a write behind the end goes straight to the file, where nothing that is committed refers to it;
- a write into the committed part is kept in memory, in pages, until `commit()`.

`commit()` first writes the pages to a redo journal beside the file (complete and named only then), next applies them
to the file, last removes the journal. Whenever the process dies, the file is the last committed one, perhaps with
unused bytes behind its end, or a journal holds all that is missing to the next one: see `recover`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

from . import file_locks, journal
from .file_locks import hold, try_alone
from .journal import PAGE, Pages, journal_of


class SafeFile:
    """The file object that `h5py.File(safe_file, ...)` reads and writes.

    `raw` is an unbuffered file, or a BytesIO for a run that is kept in memory; the latter needs no protection, and
    `journal` is None. `end` is where the committed part ends.
    """

    def __init__(self, raw: io.FileIO | io.BytesIO, end: int, journal: Path | None, pages: Pages | None = None) -> None:
        self.raw, self.journal = raw, journal
        self._end = self._size = end
        self._at = 0
        self._pages: Pages = pages or {}
        self._free: dict[int, int] = {}  # start -> stop of places in the committed part that nothing refers to
        self._soon: dict[int, int] = {}  # ... from the next commit on
        self._dropped = False
        self.failure: OSError | None = None  # of a write that HDF5 asked for, such as a full disk
        self._touched = False  # whether the file itself was written since the last commit

    # ---- what h5py calls

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._size - self._at))
        self._fetch(self._at, view[:count])
        for page, start, stop in _pieces(self._at, count):
            if page in self._pages:
                lo = page * PAGE + start
                view[lo - self._at : lo - self._at + stop - start] = self._pages[page][start:stop]
        self._at += count
        return count

    def read(self, count: int = -1) -> bytes:
        rest = max(0, self._size - self._at)
        data = bytearray(rest if count < 0 else min(count, rest))
        self.readinto(data)
        return bytes(data)

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
        """Nothing: what h5py has written is safe only after `commit`."""

    # ---- what a recorder calls

    def allow(self, start: int, stop: int, now: bool = False) -> None:
        """Writes inside this range go straight to the file: the caller vouches that no reader needs what is there.

        From the next commit on, or `now`: a place that HDF5 has just given away may still belong to something else in
        the committed file.
        """
        (self._free if now else self._soon)[start] = stop

    def disallow(self, start: int) -> None:
        self._free.pop(start, None)
        self._soon.pop(start, None)

    def commit(self) -> None:
        """All that was written becomes the file, as one change. h5py must have flushed before."""
        if self.failure is not None:
            raise self.failure
        if self.journal is None or self._dropped:
            return
        self._sync()
        lock = (
            journal.write_journal(self.journal, self._pages, self._size)
            if self._pages or self._size < self._end
            else None
        )
        self._end = self._size  # with the journal's name on it, this is the committed file
        self._apply()
        if lock is not None:
            self.journal.unlink(missing_ok=True)
            lock.close()
        self._pages = {}
        self._free |= self._soon
        self._soon = {}
        self._touched = False

    def drop(self) -> None:
        """Forgets what was not committed, and from now on swallows writes, so that h5py can close without a trace."""
        self._dropped = True
        self._pages = {}
        if self.journal is not None and self._touched:
            self._resize(self._end)

    def move(self, path: Path) -> None:
        """Gives the file its final name; what had that name before is replaced at this instant."""
        assert isinstance(self.raw, io.FileIO)
        if os.name == "nt":  # Windows renames no open file
            self.raw.close()
        os.replace(str(self.raw.name), path)
        self.journal = journal_of(path)
        if self.raw.closed:
            self.raw = io.FileIO(str(path), "r+b")

    def close(self) -> None:
        if isinstance(self.raw, io.FileIO):  # a BytesIO is what its reader will open
            self.raw.close()

    def __del__(self) -> None:
        self.close()

    # ---- how

    def _kept_part(self, at: int, count: int) -> int:
        """How many of `count` bytes from `at` on must wait for the commit."""
        if self.failure is not None:
            return count
        if any(start <= at and at + count <= stop for start, stop in self._free.items()):
            return 0
        return max(0, min(count, self._end - at))

    def _fill(self, size: int) -> None:
        """Zeros where the file grows again after it has shrunk into its committed part, whose old bytes still stand."""
        stop = min(size, self._end)
        if self._size < stop:
            self._keep(self._size, memoryview(bytes(stop - self._size)))

    def _keep(self, at: int, view: memoryview) -> None:
        for page, start, stop in _pieces(at, len(view)):
            if page not in self._pages:
                self._pages[page] = bytearray(PAGE)
                if stop - start < PAGE:
                    self._fetch(page * PAGE, memoryview(self._pages[page]))
            lo = page * PAGE + start - at
            self._pages[page][start:stop] = view[lo : lo + stop - start]

    def _put(self, at: int, view: memoryview) -> None:
        if not len(view):
            return
        self._touched = True
        try:
            journal.write_all(self.raw, at, view)
        except OSError as error:  # HDF5 would not survive it here: `commit` raises it
            self.failure = error
            self._keep(at, view)
            return
        # A page in memory may cover some of these bytes too; it is written later and must not undo them.
        if self._pages:
            for page, start, stop in _pieces(at, len(view)):
                if page in self._pages:
                    lo = page * PAGE + start - at
                    self._pages[page][start:stop] = view[lo : lo + stop - start]

    def _fetch(self, at: int, view: memoryview) -> None:
        """Fills `view` from the file; behind its end are zeros."""
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
            journal.write_all(self.raw, size - 1, memoryview(b"\0"))

    def _apply(self) -> None:
        for page, content in sorted(self._pages.items()):
            journal.write_all(self.raw, page * PAGE, memoryview(content))
        self._resize(self._size)
        self._sync()

    def _sync(self) -> None:
        if isinstance(self.raw, io.FileIO):
            os.fsync(self.raw.fileno())


def recover(path: Path) -> tuple[Pages, int] | None:
    """Completes a commit that a killed process left half done.

    Returns None when the file itself is now as it should be, or, where it may not be written, the pages that a
    reader has to lay over it. A journal that is locked belongs to a living process, which is waited for.
    """
    place = journal_of(path)
    while True:
        try:
            raw = io.FileIO(str(place), "rb")
        except FileNotFoundError:
            return None
        with raw:
            hold(raw)
            if not file_locks.still_named(raw, place):
                continue  # its owner has finished meanwhile
            redo = journal.read_journal(raw.readall())
            try:
                if redo is not None:
                    _redo(path, *redo)
                place.unlink(missing_ok=True)
            except PermissionError:
                return redo
            except OSError as error:
                if error.errno not in file_locks.READ_ONLY:
                    raise
                return redo
            return None


def _redo(path: Path, pages: Pages, size: int) -> None:
    with io.FileIO(str(path), "r+b") as raw:
        SafeFile(raw, size, None, pages)._apply()


def open_safely(path: Path) -> SafeFile:
    """An existing HDF5 file, to go on writing; its committed part is what its superblock says. It must be whole."""
    recover(path)
    raw = io.FileIO(str(path), "r+b")
    if not try_alone(raw):
        raw.close()
        raise BlockingIOError(f"{path} is in use")
    return SafeFile(raw, stored_end(raw), journal_of(path))


def stored_end(raw: io.FileIO | io.BytesIO) -> int:
    """Where the file ends according to its HDF5 superblock (version 0 or 1, which all of Carom's files have)."""
    raw.seek(0)
    head = raw.read(64) or b""
    if len(head) < 64 or head[8] > 1:
        return raw.seek(0, os.SEEK_END)
    at = 40 if head[8] == 0 else 44
    return int.from_bytes(head[at : at + 8], "little")


def _pieces(at: int, count: int) -> Iterator[tuple[int, int, int]]:
    """(page, start, stop) of each page that `count` bytes from `at` on touch."""
    stop = at + count
    while at < stop:
        page, start = divmod(at, PAGE)
        end = min(PAGE, start + stop - at)
        yield page, start, end
        at += end - start

"""A file object for h5py whose file survives the death of the process at any instant.

HDF5 changes bytes in the middle of its file in an order of its own; a process that dies in between leaves a file that
no program can open. `SafeFile` intercepts the writes. The file on disk has a *committed* part, `[0, end)`:

- a write behind the end goes directly to the file, where no committed byte refers to it;
- a write into the committed part is kept in memory, in pages, until `commit()`.

`commit()` first writes the pages to a redo journal beside the file, which gets its name when it is complete, then
applies them to the file, and finally removes the journal. Whenever the process dies, the file is the last committed
one, possibly followed by unused bytes, or a journal holds all changes to the next one: see `recover`.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from .file_locks import READ_ONLY, hold, still_named, try_alone

PAGE = 4096  # bytes
MAGIC = b"caromredo1\0\0\0\0\0\0"  # first bytes of a journal
Pages = dict[int, bytearray]  # page number -> content


class SafeFile:
    """The file object that `h5py.File(safe_file, ...)` reads and writes.

    `raw` is an unbuffered file, or a BytesIO for a run in memory; the latter needs no protection, and `journal` is
    None. `end` is the end of the committed part, in bytes.
    """

    def __init__(self, raw: io.FileIO | io.BytesIO, end: int, journal: Path | None, pages: Pages | None = None) -> None:
        self.raw, self.journal = raw, journal
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

    def commit(self) -> None:
        """Makes everything written so far permanent, as one change. h5py must have flushed before."""
        if self.failure is not None:
            raise self.failure
        if self.journal is None or self._dropped:
            return
        self._sync()
        lock = write_journal(self.journal, self._pages, self._size) if self._pages or self._size < self._end else None
        self._end = self._size  # the named journal makes this the committed file
        self._apply()
        if lock is not None:
            self.journal.unlink(missing_ok=True)
            lock.close()
        self._pages = {}
        self._free |= self._soon
        self._soon = {}
        self._touched = False

    def drop(self) -> None:
        """Discards uncommitted data and ignores all further writes, so that h5py can close its file without effect."""
        self._dropped = True
        self._pages = {}
        if self.journal is not None and self._touched:
            self._resize(self._end)

    def move(self, path: Path) -> None:
        """Renames the file to `path`; an older file of that name is replaced atomically."""
        assert isinstance(self.raw, io.FileIO)
        if os.name == "nt":  # Windows cannot rename an open file
            self.raw.close()
        os.replace(str(self.raw.name), path)
        self.journal = journal_of(path)
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
            write_all(self.raw, at, view)
        except OSError as error:  # HDF5 cannot handle an exception here: `commit` raises it
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


def journal_of(path: Path) -> Path:
    """Path of the redo journal of a file."""
    return path.with_name(path.name + ".journal")


def write_all(raw: io.FileIO | io.BytesIO, at: int, view: memoryview) -> None:
    """Writes all of `view` at position `at`; one call of an unbuffered file may write less."""
    raw.seek(at)
    done = 0
    while done < len(view):
        done += raw.write(view[done:]) or 0


def write_journal(journal: Path, pages: Pages, size: int) -> io.FileIO:
    """Writes and names the journal; returns it open and locked, to be closed when its pages have been applied."""
    numbers = sorted(pages)
    body = b"".join(
        [
            size.to_bytes(8, "little"),
            len(numbers).to_bytes(8, "little"),
            *(n.to_bytes(8, "little") for n in numbers),
            *(pages[n] for n in numbers),
        ]
    )
    part = journal.with_name(journal.name + ".part")
    raw = io.FileIO(str(part), "w+b")
    hold(raw)
    try:
        write_all(raw, 0, memoryview(MAGIC + body + zlib.crc32(body).to_bytes(4, "little")))
        os.fsync(raw.fileno())
    except OSError:
        raw.close()
        part.unlink(missing_ok=True)
        raise
    if os.name == "nt":
        raw.close()
    os.replace(part, journal)
    return raw


def read_journal(data: bytes) -> tuple[Pages, int] | None:
    """Pages and size of the file; None if the journal is incomplete or damaged."""
    body, check = data[len(MAGIC) : -4], data[-4:]
    if data[: len(MAGIC)] != MAGIC or len(body) < 16 or zlib.crc32(body).to_bytes(4, "little") != check:
        return None
    size, count = (int.from_bytes(body[i : i + 8], "little") for i in (0, 8))
    if len(body) != 16 + count * (8 + PAGE):
        return None
    first = 16 + 8 * count
    pages = {}
    for k in range(count):
        number = int.from_bytes(body[16 + 8 * k : 24 + 8 * k], "little")
        pages[number] = bytearray(body[first + k * PAGE : first + (k + 1) * PAGE])
    return pages, size


def recover(path: Path) -> tuple[Pages, int] | None:
    """Completes a commit that a killed process left incomplete.

    Returns None if the file is now complete, or, if it is read-only, the pages that replace those of the file and the
    size of the file. A locked journal belongs to a running process; this function waits for it.
    """
    place = journal_of(path)
    while True:
        try:
            raw = io.FileIO(str(place), "rb")
        except FileNotFoundError:
            return None
        with raw:
            hold(raw)
            if not still_named(raw, place):
                continue  # its owner has completed the commit
            redo = read_journal(raw.readall())
            try:
                if redo is not None:
                    _redo(path, *redo)
                place.unlink(missing_ok=True)
            except PermissionError:
                return redo
            except OSError as error:
                if error.errno not in READ_ONLY:
                    raise
                return redo
            return None


def _redo(path: Path, pages: Pages, size: int) -> None:
    with io.FileIO(str(path), "r+b") as raw:
        SafeFile(raw, size, None, pages)._apply()


def open_safely(path: Path) -> SafeFile:
    """Opens an existing, complete HDF5 file for writing; its superblock tells where the committed part ends."""
    recover(path)
    raw = io.FileIO(str(path), "r+b")
    if not try_alone(raw):
        raw.close()
        raise BlockingIOError(f"{path} is in use")
    return SafeFile(raw, stored_end(raw), journal_of(path))


def stored_end(raw: io.FileIO | io.BytesIO) -> int:
    """End of the file in bytes according to its HDF5 superblock (version 0 or 1, which all files of Carom have)."""
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

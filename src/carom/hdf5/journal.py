"""The redo journal of a file, and the first bytes of the file, which tell whether a journal belongs to it.

A trajectory begins with a user block of HDF5, 512 bytes that the library leaves alone. It holds a random identity and
the number of commits. A journal holds all pages of one commit, the identity of its file, and the number of commits
before it. It is applied by the writer of the file alone, and only if both agree; a reader replaces the pages of the
file by those of the journal in memory. Neither follows a link.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import limit

PAGE = 4096  # bytes
USER_BLOCK = 512  # bytes before the superblock of HDF5
MAGIC = b"caromredo2\0\0\0\0\0\0"  # first bytes of a journal
HEAD = b"carom trajectory"  # first bytes of a trajectory
ID = 16  # bytes
LEAST_MEMORY = 128 << 20  # bytes that reading a file may take in any case
EXPANSION = 50  # and multiple of its size on disk: tables of steps, whose times are noise, shrink to a 17th at best
UNKNOWN = -1  # the number of commits, if the process died while it was written
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
Pages = dict[int, bytearray]  # page number -> content


@dataclass(frozen=True)
class Head:
    """Identity of a file, and the number of its commits."""

    identity: bytes
    commits: int

    def block(self) -> bytes:
        """The user block: HEAD, identity, commits."""
        return (HEAD + self.identity + self.counter()).ljust(USER_BLOCK, b"\0")

    def counter(self) -> bytes:
        """The number of commits and its checksum, which are at byte COUNTER of the file."""
        number = max(0, self.commits).to_bytes(8, "little")
        return number + zlib.crc32(self.identity + number).to_bytes(4, "little")


COUNTER = len(HEAD) + ID  # byte


def read_head(raw: io.FileIO | io.BytesIO) -> Head | None:
    """The head of a file; None if it is not that of a trajectory."""
    raw.seek(0)
    block = raw.read(COUNTER + 12) or b""
    if len(block) < COUNTER + 12 or not block.startswith(HEAD):
        return None
    identity, number = block[len(HEAD) : COUNTER], block[COUNTER : COUNTER + 8]
    sure = zlib.crc32(identity + number).to_bytes(4, "little") == block[COUNTER + 8 :]
    return Head(identity, int.from_bytes(number, "little") if sure else UNKNOWN)


@dataclass(frozen=True, eq=False)
class Journal:
    """One commit: pages to be written to the file `head.identity` after `head.commits` commits, and its size then."""

    head: Head
    pages: Pages
    size: int

    def follows(self, head: Head) -> bool:
        """Whether the file has this commit still to come, or was left in the middle of it."""
        return head.identity == self.head.identity and head.commits in (self.head.commits, UNKNOWN)

    def packed(self) -> bytes:
        numbers = sorted(self.pages)
        body = b"".join(
            [
                self.head.identity,
                *(k.to_bytes(8, "little") for k in (self.head.commits, self.size, len(numbers), *numbers)),
                *(self.pages[n] for n in numbers),
            ]
        )
        return MAGIC + body + zlib.crc32(body).to_bytes(4, "little")


def unpacked(data: bytes) -> Journal | None:
    """The journal in these bytes; None if they are incomplete or damaged."""
    body, check = data[len(MAGIC) : -4], data[-4:]
    start = ID + 24
    if data[: len(MAGIC)] != MAGIC or len(body) < start or zlib.crc32(body).to_bytes(4, "little") != check:
        return None
    commits, size, count = (int.from_bytes(body[ID + 8 * k : ID + 8 * k + 8], "little") for k in range(3))
    if len(body) != start + count * (8 + PAGE):
        return None
    first = start + 8 * count
    pages = {}
    for k in range(count):
        number = int.from_bytes(body[start + 8 * k : start + 8 * k + 8], "little")
        pages[number] = bytearray(body[first + k * PAGE : first + (k + 1) * PAGE])
    if size > 2**62 or any(number * PAGE > size for number in pages):
        return None
    return Journal(Head(body[:ID], commits), pages, size)


def journal_of(path: Path) -> Path:
    """Path of the redo journal of a file."""
    return path.with_name(path.name + ".journal")


def memory_bound(raw: io.FileIO | io.BytesIO) -> int:
    """Bytes of memory that reading a file, or its journal, may take at once.

    It is proportional to what the file takes on disk: a few kilobytes may declare any size, by compressed zeros or by
    holes of a sparse file.
    """
    if isinstance(raw, io.BytesIO):
        return limit(max(LEAST_MEMORY, EXPANSION * raw.getbuffer().nbytes))
    status = os.fstat(raw.fileno())
    return limit(max(LEAST_MEMORY, EXPANSION * min(status.st_size, 512 * getattr(status, "st_blocks", sys.maxsize))))


def read_journal(path: Path, head: Head, file: io.FileIO | io.BytesIO) -> Journal | None:
    """The journal beside the open file `file`, which has the name `path` and this head.

    None if there is none, or it is incomplete, damaged, a link, or belongs to another file. Sizes are checked first.
    """
    try:
        handle = os.open(journal_of(path), os.O_RDONLY | NO_LINK)
    except OSError:
        return None
    with io.FileIO(handle, "rb") as raw:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        start = raw.read(len(MAGIC) + ID + 24)
        whole = len(start) + int.from_bytes(start[-8:], "little") * (8 + PAGE) + 4
        if not start.startswith(MAGIC + head.identity) or os.fstat(handle).st_size != whole:
            return None
        journal = unpacked(start + raw.read(whole)) if whole <= memory_bound(file) else None
    # A commit writes what lies behind the end of the file before its journal: the file is never smaller than it says.
    return journal if journal is not None and journal.size <= file.seek(0, os.SEEK_END) else None


def new_file(path: Path) -> io.FileIO:
    """Creates a file without following a link; an older file or link of that name is removed before."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_LINK | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags, 0o666)
    except FileExistsError:
        path.unlink(missing_ok=True)
        handle = os.open(path, flags, 0o666)
    return io.FileIO(handle, "r+b")


# ---- advisory file locks, so that two runs do not write the same file
#
# A recorder holds a *shared* lock on its file during its lifetime. It does not exclude readers: HDF5 itself takes a
# shared lock to read. To start writing, a process must hold an exclusive lock for an instant, which fails while another
# recorder, or another program, has the file open. The system releases the locks of a killed process. On systems without
# such locks (Windows, some network drives) these functions have no effect.


fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


def try_alone(raw: io.FileIO) -> bool:
    """Whether no other process has locked the file; if so, the caller now holds a shared lock."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(raw.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    fcntl.flock(raw.fileno(), fcntl.LOCK_SH)
    return True


def in_use(path: Path) -> bool:
    """Whether a recorder or another program has the file open."""
    try:
        with io.FileIO(str(path), "rb") as raw:
            return not try_alone(raw)
    except OSError:
        return False


def still_named(raw: io.FileIO, path: Path) -> bool:
    """Whether `path` is still the name of the open file `raw`."""
    try:
        return os.path.samestat(os.fstat(raw.fileno()), os.stat(path))
    except FileNotFoundError:
        return False

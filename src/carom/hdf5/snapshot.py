"""A consistent state of a file that another process may be writing at the same time.

A writer changes committed bytes at its checkpoints alone (`safe_file.py`): trees, headers, its checkpoints, and chunks
that are not full. A reader copies all of these into memory when it opens the file, and checks afterwards that no commit
fell into that time. Full chunks never change and are read later, from the file.
"""

from __future__ import annotations

import io
import time
from pathlib import Path

from .journal import PAGE, UNKNOWN, USER_BLOCK, Head, Journal, Pages, memory_bound, read_head, read_journal
from .safe_file import SafeFile
from .structure import Damaged, Structure, check_structure, superblock

TRIES = 200  # times that a state is read again because a commit came in between
AT_ONCE = ("/frames/step", "/frames/time")  # arrays of the frames that are read as a whole
PAUSE = 0.01  # seconds between two of them


class PageCache:
    """Reads parts of a file by whole pages and keeps them, up to `most` bytes; `pages` are there already."""

    def __init__(self, raw: io.FileIO | io.BytesIO, pages: Pages, most: int) -> None:
        self.raw, self.pages, self.most = raw, pages, most

    def read(self, at: int, count: int) -> bytes:
        """`count` bytes from `at` on, or fewer at the end of the file."""
        first, last = at // PAGE, -(-(at + count) // PAGE)
        if (len(self.pages) + last - first) * PAGE > self.most:
            raise Damaged(f"it has more than {self.most:,} bytes to read at once")
        missing = [page for page in range(first, last) if page not in self.pages]
        if missing:
            self.raw.seek(missing[0] * PAGE)
            data = self.raw.read((missing[-1] + 1 - missing[0]) * PAGE) or b""
            for page in missing:
                start = (page - missing[0]) * PAGE
                self.pages[page] = bytearray(data[start : start + PAGE].ljust(PAGE, b"\0"))
        whole = b"".join(self.pages[page] for page in range(first, last))
        return whole[at - first * PAGE : at - first * PAGE + count]


def snapshot(path: Path | None, raw: io.FileIO | io.BytesIO) -> tuple[SafeFile, Structure]:
    """A file object with the last committed state, and its structure, which has been checked. Raises Damaged.

    `path` is None for a file in memory.
    """
    for _ in range(TRIES):
        head = read_head(raw)
        if head is None:
            raise Damaged("its first bytes are damaged")
        journal = None if path is None else read_journal(path, head, raw)
        if journal is not None and not journal.follows(head):
            journal = None
        try:
            found = _copied(raw, journal)
        except Damaged:
            if not _changed(path, raw, head, journal):
                raise
        else:
            if not _changed(path, raw, head, journal):
                pages, structure = found
                end = superblock(PageCache(raw, pages, memory_bound(raw)).read(USER_BLOCK, 96)).end
                return SafeFile(raw, end, None, pages), structure
        time.sleep(PAUSE)
    raise Damaged("it changes all the time")


def _copied(raw: io.FileIO | io.BytesIO, journal: Journal | None) -> tuple[Pages, Structure]:
    """Pages with all bytes that the next commit may change, and the structure of the file."""
    most = memory_bound(raw)
    cache = PageCache(raw, {} if journal is None else {page: data[:] for page, data in journal.pages.items()}, most)
    size = raw.seek(0, io.SEEK_END)
    size = size if journal is None else max(size, journal.size)
    structure = check_structure(cache.read, USER_BLOCK, size)
    # Readers need all but the arrays of the frames as a whole.
    at_once = sum(size for path, size in structure.sizes.items() if not path.startswith("/frames/") or path in AT_ONCE)
    if at_once > most:
        raise Damaged(f"its tables have {at_once:,} bytes, and at most {most:,} may be in a file of its size")
    for start, stop in structure.loose:
        cache.read(start, stop - start)
    return cache.pages, structure


def _changed(path: Path | None, raw: io.FileIO | io.BytesIO, head: Head, journal: Journal | None) -> bool:
    """Whether another commit has begun or ended since `head` and `journal` were read.

    The journal is looked at before the head: a commit removes its journal after it has counted itself in the head.
    """
    if path is None:
        return False
    newer = read_journal(path, head, raw)
    now = read_head(raw)
    if now is None:
        return False
    done = head.commits if journal is None else journal.head.commits
    if newer is not None and newer.follows(now) and newer.head.commits != done:
        return True
    if journal is None:
        return now.commits != head.commits or (newer is not None and newer.follows(now))
    return now.commits not in (done, done + 1, UNKNOWN)

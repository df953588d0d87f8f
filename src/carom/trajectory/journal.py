"""The redo journal of a SafeFile: pages of the file as they are to be, complete or not there at all."""

from __future__ import annotations

import io
import os
import zlib
from pathlib import Path

from .file_locks import hold

PAGE = 4096
MAGIC = b"caromredo1\0\0\0\0\0\0"
Pages = dict[int, bytearray]  # page number -> its content


def journal_of(path: Path) -> Path:
    return path.with_name(path.name + ".journal")


def write_all(raw: io.FileIO | io.BytesIO, at: int, view: memoryview) -> None:
    """An unbuffered file may take less than it is given."""
    raw.seek(at)
    done = 0
    while done < len(view):
        done += raw.write(view[done:]) or 0


def write_journal(journal: Path, pages: Pages, size: int) -> io.FileIO:
    """Writes and names the journal; returns it open and locked, for as long as its content is being applied."""
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
    """Pages and size of the file; None if the journal is not complete."""
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

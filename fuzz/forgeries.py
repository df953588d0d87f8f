"""Forged trajectories: a stranger's file whose checksums are right and whose settings, scene or journal are not."""

from __future__ import annotations

import contextlib
import io
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

import carom
from carom.errors import ProblemError, has_controls
from carom.hdf5 import slots
from carom.hdf5.journal import PAGE, USER_BLOCK, Head, Journal, journal_of, read_head
from carom.hdf5.structure import check_structure
from carom.trajectory import Trajectory, checkpoint
from carom.trajectory.format import HASH, fixed_text

from .campaign import Campaign
from .files import fault
from .mutations import NASTY_VALUES, chosen, damaged_array, damaged_table, damaged_tree
from .trajectories import contents, runs

MOST_RESUMED = 60  # steps; the runs have 40
TEXTS = (
    "\x1b[31m\x1b]0;x\x07",
    "\x9b31m",
    "a\r\nb",
    "\u202e",
    "\ud800",
    "[/]",
    "[link=http://x]y",
    "x" * 3000,
    "gr",
    "lcp",
)


def forge(content: bytes, path: Path, change: Callable[[h5py.File], None]) -> Path:
    """Writes the trajectory `content` to `path` after a change, with the checksum of the changed header."""
    memory = io.BytesIO(content)
    with h5py.File(memory, "r+", libver="earliest") as file:
        change(file)
        file.flush()
        data = memory.getvalue()
        digest = check_structure(lambda at, count: data[at : at + count], USER_BLOCK, len(data)).digest
        file.attrs.modify("checksum", np.array(digest.encode(), HASH))
    path.write_bytes(memory.getvalue())
    return path


def with_settings(**changes: Any) -> Callable[[h5py.File], None]:
    """The change of a file to other settings; the attribute `law` follows."""

    def change(file: h5py.File) -> None:
        settings = json.loads(file["settings"][()]) | changes
        replace_json(file, "settings", settings)
        if isinstance(settings.get("law"), str):
            file.attrs["law"] = fixed_text(settings["law"])

    return change


def replace_json(file: h5py.Group, name: str, data: Any) -> None:
    """Another JSON text in place of that of a dataset."""
    del file[name]
    file.create_dataset(name, data=fixed_text(json.dumps(data)))


def replace_events(file: h5py.File, table: np.ndarray) -> None:
    """Another table of events, in chunks as the original."""
    old = file["events"]
    chunks = old.chunks if table.ndim == old.ndim else None
    del file["events"]
    file.create_dataset("events", data=table, chunks=chunks, maxshape=(None,) if chunks else None)


def replace_memory(file: h5py.File, memory: dict[str, np.ndarray]) -> None:
    """Another memory of the current checkpoint, with its checksums."""
    group = file["checkpoint"]
    records, packed = group["record"][()], slots.pack_memory(memory)
    slot = int(np.argmax(records["serial"]))
    del group[str(slot)]["memory"]
    group[str(slot)].create_dataset("memory", data=packed)
    records[slot]["memory"], records[slot]["memory_crc"] = len(packed), zlib.crc32(packed.data)
    records[slot]["crc"] = zlib.crc32(records[slot].tobytes()[: -slots.RECORD["crc"].itemsize])
    group["record"][...] = records


class Case(NamedTuple):
    """Name of the run, the part that is forged, and its new content."""

    run: str
    part: str
    data: Any


class Forgeries(Campaign):
    title = "forged trajectories with correct checksums: a message, or a run that is read and ends"
    quick = 60

    def case(self, rng: np.random.Generator) -> Case:
        run = chosen(rng, list(runs()))
        part = chosen(rng, ("settings", "settings", "settings", "scene", "scene", "journal", "events", "memory"))
        if part == "journal":
            size = int(chosen(rng, (0, 1, 10_000, 2**20, 2**40, 2**61, 2**62, 2**63 - 1)))
            pages = [int(page) for page in rng.integers(0, chosen(rng, (4, 2**20, 2**50)), int(rng.integers(0, 4)))]
            return Case(run, part, (size, int(chosen(rng, (0, 0, 0, 1, -1))), {n: rng.bytes(PAGE) for n in pages}))
        if part in ("events", "memory"):
            return Case(run, part, _damaged_part(rng, run, part))
        with h5py.File(io.BytesIO(runs()[run][0]), "r") as file:
            data = json.loads(file["settings" if part == "settings" else "scene/meta"][()])
        data = damaged_tree(rng, data)
        if isinstance(data, dict) and data and rng.random() < 0.5:
            data[chosen(rng, list(data))] = chosen(rng, (*NASTY_VALUES, *TEXTS))
        return Case(run, part, _plain(data))

    def check(self, case: Case, folder: Path) -> str | None:
        path = folder / "run.h5"
        if case.part == "journal":
            path.write_bytes(runs()[case.run][0])
            _write_journal(path, *case.data)
        else:
            forge(runs()[case.run][0], path, _change(case))
        return _refused(lambda: _read(path)) or _printed(path) or _refused(lambda: _resume(path))

    def group(self, case: Case) -> str:
        return case.part

    def save(self, case: Case, folder: Path) -> None:
        (folder / "case.txt").write_text(f"{case.run}, {case.part}\n{case.data!r}"[:100_000])


def _damaged_part(rng: np.random.Generator, run: str, part: str) -> Any:
    """The table of events, or the arrays of a checkpoint by name, with one to three changes."""
    with h5py.File(io.BytesIO(runs()[run][0]), "r") as file:
        table = file["events"][()] if "events" in file else None
        memory = checkpoint.load(file["checkpoint"])[1]
    if part == "events":
        return None if table is None else damaged_table(rng, table)
    for _ in range(int(rng.integers(1, 4))):
        name = chosen(rng, sorted(memory))
        if rng.random() < 0.15:
            memory = {key: value for key, value in memory.items() if key != name}
            continue
        made = damaged_array(rng, memory[name])
        memory[name] = made if made.dtype.kind != "O" else made.astype("S9")
    return memory


def _change(case: Case) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        if case.part == "scene":
            replace_json(file["scene"], "meta", case.data)
            return
        if case.part == "events":
            if case.data is not None:
                replace_events(file, case.data)
            return
        if case.part == "memory":
            replace_memory(file, case.data)
            return
        replace_json(file, "settings", case.data)
        if isinstance(case.data, dict) and isinstance(case.data.get("law"), str):
            file.attrs["law"] = fixed_text(case.data["law"])

    return change


def _plain(data: Any) -> Any:
    """Data without integers of more digits than Python prints."""
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_plain(value) for value in data]
    return 10**4000 if isinstance(data, int) and abs(data) > 10**4000 else data


def _write_journal(path: Path, size: int, later: int, pages: dict[int, bytes]) -> None:
    """The journal of a commit after `later` more, of a file of `size` bytes."""
    with io.FileIO(str(path), "rb") as raw:
        head = read_head(raw)
    assert head is not None
    place = Head(head.identity, max(0, head.commits + later))
    journal_of(path).write_bytes(Journal(place, {n: bytearray(data) for n, data in pages.items()}, size).packed())


def _refused(act: Callable[[], None]) -> str | None:
    """What is wrong with the message of a refusal."""
    try:
        act()
    except ProblemError as refusal:
        return fault(str(refusal))
    return None


def _read(path: Path) -> None:
    with Trajectory(path) as run:
        contents(run)


def _printed(path: Path) -> str | None:
    """What is wrong with the output of `carom info` and `carom check`."""
    from carom.cli.errors import run
    from carom.cli.main import app

    for command in ("info", "check"):
        streams = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            run(app, [command, str(path)])
        text = "".join(stream.getvalue() for stream in streams)
        if has_controls(text):
            return f"escape code: printed by {command}: {text!r}"[:300]
    return None


def _resume(path: Path) -> None:
    def stop(progress: Any) -> None:
        if progress.step > MOST_RESUMED:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        carom.resume(path, progress=stop).close()


CAMPAIGN = Forgeries()

"""The manifest: which kernels, with which signatures, each family of runs needs.

`manifest.json` is recorded by `carom warmup --record`, which runs the workloads of `carom.cli.warmup_workloads`.
An entry that does not exist any more does no harm: it is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher

from . import ALL, KernelCache, files
from .nested import nested
from .signatures import named

MANIFEST = Path(__file__).with_name("manifest.json")
FAILED = ".failed"  # suffix of the mark that an entry of the manifest cannot be compiled


@dataclass
class Entry:
    """One kernel with one signature."""

    kernel: str  # module:name
    types: list[Any]  # of the arguments, as plain data (see signatures.py)
    seconds: float = 0.0  # processor time of compiling it, without the kernels that it calls
    needs: list[int] = field(default_factory=list)  # entries of the kernels that it calls
    nested: bool = False  # do only kernels call it?

    @property
    def key(self) -> str:
        return self.kernel + json.dumps(self.types)

    def dispatcher(self) -> Any:
        """The kernel; raises if it does not exist any more."""
        found = named(self.kernel)
        if not isinstance(found, Dispatcher):
            raise AttributeError(f"{self.kernel} is not a kernel")
        return found

    def path(self) -> Path | None:
        """Where its machine code is kept; None if it does not exist any more, or if nothing can be kept."""
        try:
            cache = self.dispatcher()._cache
            with nested(self.nested):
                path = cache.path(self.types) if isinstance(cache, KernelCache) else None
            return path and files.existing(path)
        except Exception:  # stale in one of many ways: no module, no name, other fields, other imports
            return None

    def is_missing(self) -> bool:
        """Is it neither compiled nor marked as one that cannot be compiled?"""
        path = self.path()
        return path is not None and not path.exists() and not path.with_suffix(FAILED).exists()


@dataclass
class Manifest:
    """All entries, callees before callers, and the families, which are lists of indices of entries."""

    entries: list[Entry] = field(default_factory=list)
    families: dict[str, list[int]] = field(default_factory=dict)

    def names(self, family: str) -> list[str]:
        """The families that a name means: itself, and those below it (`2d` means `2d/discs` and others)."""
        return [name for name in self.families if name == family or name.startswith(f"{family}/")]

    def select(self, families: Iterable[str]) -> list[int]:
        """The entries of some families, callees before callers; a family that does not exist has none."""
        return sorted({i for family in families for name in self.names(family) for i in self.families[name]})

    def save(self, path: Path = MANIFEST) -> None:
        """Writes JSON with one line per type, entry and family."""
        types: dict[str, int] = {}
        rows = []
        for entry in self.entries:
            numbers = [types.setdefault(json.dumps(item), len(types)) for item in entry.types]
            rows.append(json.dumps([entry.kernel, numbers, entry.seconds, entry.needs, entry.nested]))
        families = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in self.families.items()]
        blocks = [("types", "[]", types), ("kernels", "[]", rows), ("families", "{}", families)]
        body = ",\n".join(f'"{name}": {ends[0]}\n' + ",\n".join(lines) + f"\n{ends[1]}" for name, ends, lines in blocks)
        path.write_text("{\n" + body + "\n}\n", encoding="utf-8")


@cache
def load(path: Path = MANIFEST) -> Manifest:
    """Reads a manifest; without a file it is empty, and kernels are compiled when they are called."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return Manifest()
    types = data["types"]
    entries = [Entry(name, [types[i] for i in numbers], *rest) for name, numbers, *rest in data["kernels"]]
    return Manifest(entries, data["families"])


class Recorder:
    """The kernels that a workload uses, including those that its kernels call."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}  # by key, callees before callers
        self.needs: dict[str, list[str]] = {}  # the keys of the callees of each entry

    def use(self, kernel: str, types: Any, path: Path | None, nested: bool) -> str | None:
        """Adds a kernel and its callees, which the facts of its file name; returns its key."""
        if types is None or path is None or "<" in kernel:
            return None  # a local function, or a type that cannot be written down
        entry = Entry(kernel, types, nested=nested)
        if entry.key not in self.entries:
            found = files.read(path)
            if found is None:
                return None
            entry.seconds = found[0]["seconds"]
            called = [Entry(name, wanted, nested=True) for name, wanted in found[0]["needs"]]
            needs = [self.use(other.kernel, other.types, other.path(), True) for other in called]
            self.needs[entry.key] = [key for key in needs if key is not None]
            self.entries[entry.key] = entry
        self.entries[entry.key].nested &= nested
        return entry.key


@contextmanager
def recording() -> Iterator[Recorder]:
    """Records what is used inside the block. Kernels that are loaded already are loaded again."""
    for dispatcher in ALL:
        dispatcher._reset_overloads()
    recorder, before = Recorder(), KernelCache.observer
    used: list[tuple[str, Any, Path, bool]] = []
    KernelCache.observer = lambda *what: used.append(what)
    try:
        yield recorder
    finally:
        KernelCache.observer = before
        for what in used:
            recorder.use(*what)

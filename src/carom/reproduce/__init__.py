"""Figures and tables of the papers, measured again: the published value, ours and their ratio, with plots and stills.

Run one with `carom.reproduce.run("smith-figure-5", out="evidence")`, or `carom reproduce smith-figure-5 -o evidence` in
a terminal.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

from .. import __version__
from ..errors import ProblemError
from ..files import json_text, write_text
from .entries import ENTRIES, PAPERS, SCALES, Entry
from .evidence import Case, Evidence, Progress, Row, silent

RESULT = "evidence.json"
BEGUN = "begun.json"


def run(
    key: str,
    out: str | Path = ".",
    scale: str = "small",
    progress: Progress | None = None,
    record: bool = False,
    data: str | Path | None = None,
) -> Evidence:
    """Makes one figure or table in the folder `out/KEY`, or reads it if it is there already.

    `scale` is "small" (minutes) or "paper" (the published size). `record` stores the trajectories; at the scale of the
    paper they are always stored, so that an interrupted entry can be continued.
    """
    if key not in ENTRIES:
        raise ProblemError.unknown("entry", key, ENTRIES)
    if scale not in SCALES:
        raise ProblemError.unknown("scale", scale, SCALES)
    folder = Path(out) / key
    if not begun(folder, scale):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / BEGUN, json_text(_mark(scale)) + "\n")
    if (folder / RESULT).exists():
        return Evidence.load(folder / RESULT)
    entry, began = ENTRIES[key], time.process_time()
    evidence = entry.run(
        Case(folder, progress or silent, record or scale == "paper", None if data is None else Path(data)), scale
    )
    parameters = entry.parameters(scale) | dict(evidence.parameters)
    evidence = replace(evidence, parameters=parameters, seconds=time.process_time() - began)
    evidence.save(folder / RESULT)
    return evidence


def finished(out: str | Path, scale: str) -> dict[str, Evidence]:
    """The evidence of all entries that are in the folder `out` at a scale, in the order of ENTRIES."""
    found = {}
    for key in ENTRIES:
        folder = Path(out) / key
        if (folder / RESULT).exists() and json.loads((folder / BEGUN).read_text(encoding="utf-8"))["scale"] == scale:
            found[key] = Evidence.load(folder / RESULT)
    return found


def begun(folder: Path, scale: str) -> bool:
    """Whether an entry was begun in its folder; one of another scale or version is refused."""
    if not (folder / BEGUN).exists():
        return False
    found = json.loads((folder / BEGUN).read_text(encoding="utf-8"))
    if found != _mark(scale):
        raise ProblemError("out", f"{folder} with {found}", f"a new folder, or the results of {_mark(scale)}")
    return True


def _mark(scale: str) -> dict[str, str]:
    return {"scale": scale, "version": __version__}


__all__ = [
    "ENTRIES",
    "PAPERS",
    "SCALES",
    "Case",
    "Entry",
    "Evidence",
    "Progress",
    "Row",
    "begun",
    "finished",
    "run",
    "silent",
]

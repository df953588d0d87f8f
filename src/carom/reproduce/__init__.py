"""Figures and tables of the papers, measured again: the published value, ours and their ratio, with plots and stills.

Run one with `carom.reproduce.run("smith-figure-5", out="evidence")`, or `carom reproduce smith-figure-5 -o evidence` in
a terminal.
"""

from __future__ import annotations

import json
from pathlib import Path

from .. import __version__
from ..errors import ProblemError
from ..files import json_text, write_text
from .entries import ENTRIES, PAPERS, SCALES, Entry
from .evidence import Case, Evidence, Progress, Row, silent

RESULT = "evidence.json"
BEGUN = "begun.json"


def run(
    key: str, out: str | Path = ".", scale: str = "small", progress: Progress | None = None, record: bool = False
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
    _begin(folder, scale)
    if (folder / RESULT).exists():
        return Evidence.load(folder / RESULT)
    evidence = ENTRIES[key].run(Case(folder, progress or silent, record or scale == "paper"), scale)
    evidence.save(folder / RESULT)
    return evidence


def _begin(folder: Path, scale: str) -> None:
    """Notes scale and version in the folder; a folder of another scale or version is refused."""
    mine = {"scale": scale, "version": __version__}
    if (folder / BEGUN).exists():
        found = json.loads((folder / BEGUN).read_text(encoding="utf-8"))
        if found != mine:
            raise ProblemError("out", f"{folder} with {found}", f"a new folder, or the results of {mine}")
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / BEGUN, json_text(mine) + "\n")


__all__ = ["ENTRIES", "PAPERS", "SCALES", "Case", "Entry", "Evidence", "Progress", "Row", "run", "silent"]

"""Studies: each reproduces one figure of the literature and writes it as PNG, SVG, PDF and CSV.

Run one with `carom.studies.run("three_ball", out="figures")`, or `carom study three_ball -o figures` in a terminal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from ..errors import ProblemError

# name -> description. Each study is the module of its name with a function run(out, progress).
STUDIES: dict[str, str] = {
    "three_ball": "three balls collide: every law against the exchange and the Hertz ODE (Zhang 2015, fig. 4)",
    "inelastic_collapse": "pairwise reflections with restitution below 1 that never end (Smith 2012, fig. 4)",
    "disturbance": "Newton's cradle with tiny random disturbances (Zhang 2015, fig. 12)",
    "clean_break": "a pool break of 56 balls: which laws keep its mirror symmetry (Smith 2012, fig. 5)",
    "splash": "a touching grid falls into a drum: scattered under gr, whole under lcp (Smith 2012, fig. 6)",
    "energy_drum": "81 balls in a drum for 1,000 s: which laws keep the energy (Smith 2012, section 9)",
    "maxwells_demon": "288 shaken balls gather on one side of a wall, ten seeds (Smith 2012, fig. 11)",
    "tumbling": "a T-handle tumbles freely: its flips, and what two integrators keep in a million steps",
}


Progress = Callable[[float, str], None]  # fraction done (0 to 1) and the present task


@dataclass(frozen=True)
class StudyResult:
    """The files of a study, its main numbers, and its findings in words."""

    name: str
    files: tuple[Path, ...]
    numbers: dict[str, float]
    findings: tuple[str, ...] = ()


def silent(part: float, what: str) -> None:
    """A progress function that does nothing."""


def names() -> list[str]:
    """Names of all studies."""
    return list(STUDIES)


def run(name: str, out: str | Path = ".", progress: Progress | None = None) -> StudyResult:
    """Runs a study and writes its files to the folder `out`."""
    if name not in STUDIES:
        raise ProblemError.unknown("study", name, STUDIES)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    result: StudyResult = import_module(f".{name}", __name__).run(folder, progress)
    return result


__all__ = ["STUDIES", "Progress", "StudyResult", "names", "run", "silent"]

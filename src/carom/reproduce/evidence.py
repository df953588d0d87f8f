"""What an entry of `carom reproduce` is given (`Case`) and what it returns (`Evidence`, rows of `Row`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..files import json_text, write_text
from ..laws import Law
from ..resuming import resume
from ..scene.model import Scene
from ..simulation import Progress as RunProgress
from ..simulation import completed, simulate
from ..world import State

if TYPE_CHECKING:
    from ..trajectory import Trajectory

Progress = Callable[[float, str], None]  # fraction done (0 to 1) and the present task
Value = float | str
T = TypeVar("T")
# The friction models of two papers. Tang 2014 uses the friction that its laws have themselves.
SMITH_FRICTION, ZHANG_FRICTION = "coulomb_fixed_direction", "pyramid"


def silent(part: float, what: str) -> None:
    """A progress function that does nothing."""


@dataclass(frozen=True)
class Row:
    """One quantity: the published value beside the measured one.

    `paper` is None where the paper shows a picture or nothing at all. `holds` states whether the claim of the paper
    holds; None means that there is no claim, only a number.
    """

    quantity: str
    paper: Value | None
    ours: Value
    unit: str = ""
    holds: bool | None = None
    remark: str = ""

    @property
    def ratio(self) -> float | None:
        """Measured over published value, where both are numbers and the published one is not zero."""
        if isinstance(self.paper, str) or isinstance(self.ours, str) or not self.paper:
            return None
        return self.ours / self.paper


@dataclass(frozen=True)
class Evidence:
    """The result of one entry: rows, files (figures first), findings in words, and the parameters of the run.

    `seconds` is the CPU time that it took. `error` says why an entry failed; its other fields are then empty.
    """

    rows: tuple[Row, ...]
    files: tuple[Path, ...] = ()
    findings: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    error: str = ""

    @property
    def numbers(self) -> dict[str, float]:
        """The measured numbers by name."""
        return {row.quantity: row.ours for row in self.rows if not isinstance(row.ours, str)}

    def save(self, path: Path) -> None:
        """Writes the evidence as JSON; files are stored relative to its folder."""
        write_text(path, json_text(self.as_dict(path.parent), indent=1) + "\n")

    def as_dict(self, folder: Path) -> dict[str, Any]:
        """The evidence as plain data; files are relative to `folder`."""
        return asdict(self) | {"files": [file.relative_to(folder).as_posix() for file in self.files]}

    @classmethod
    def load(cls, path: Path) -> Evidence:
        """Reads what `save` has written."""
        data = json.loads(path.read_text(encoding="utf-8"))
        data["rows"] = tuple(Row(**row) for row in data["rows"])
        data["files"] = tuple(path.parent / file for file in data["files"])
        data["findings"] = tuple(data["findings"])
        return cls(**data)


def claim(quantity: str, holds: Any, remark: str = "") -> Row:
    """The row of a statement that the paper makes and that the measurement confirms or does not."""
    return Row(quantity, "yes", "yes" if holds else "no", "", bool(holds), remark)


def rows_of(
    numbers: Mapping[str, float],
    paper: Mapping[str, Value] | None = None,
    unit: str = "",
    holds: Mapping[str, bool] | None = None,
) -> tuple[Row, ...]:
    """Rows of measured numbers; `paper` has the published values, and `holds` whether the claim about them holds."""
    said, held = paper or {}, holds or {}
    return tuple(Row(name, said.get(name), value, unit, held.get(name)) for name, value in numbers.items())


@dataclass(frozen=True)
class Case:
    """The folder, progress function and options of one entry.

    With `record` the runs of the entry are stored in `out/runs`: an interrupted entry continues them. `data` is a
    folder of measurements, for the entries that need one.
    """

    out: Path
    tell: Progress = silent
    record: bool = False
    data: Path | None = None

    def part(self, begin: float, end: float) -> Case:
        """The same case whose progress covers the fraction from `begin` to `end`."""
        return replace(self, tell=lambda part, what: self.tell(begin + part * (end - begin), what))

    def each(self, items: Sequence[T], work: Sequence[float] | None = None) -> Iterator[tuple[Case, T]]:
        """The items, each with its part of the case; parts are proportional to `work`, by default equal."""
        ends = list(accumulate(work or [1.0] * len(items), initial=0.0))
        for item, (begin, end) in zip(items, pairwise(ends)):
            yield self.part(begin / ends[-1], end / ends[-1]), item

    def simulate(
        self,
        name: str,
        scene: Scene,
        law: str | Law | None = None,
        duration: float | None = None,
        until: Callable[[State], bool] | None = None,
        **settings: Any,
    ) -> Trajectory:
        """A run of the scene with the options of `carom.simulate`. A recorded run is read or continued.

        With `until` it ends at the first state for which that is true, or after its duration.
        """

        def progress(run: RunProgress) -> None:
            self.tell(run.step / run.steps, name)

        if not self.record:
            run = simulate(scene, law, duration, progress=progress, on_step=until, **settings)
            return run if until is not None and until(run.last) else completed(run)
        from ..trajectory import Trajectory

        path = self.out / "runs" / f"{name}.h5"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            return simulate(scene, law, duration, path, progress=progress, on_step=until, **settings)
        found = Trajectory(path)
        if found.finished or (until is not None and until(found.last)):
            return found
        found.close()
        return resume(path, scene, progress=progress, on_step=until)

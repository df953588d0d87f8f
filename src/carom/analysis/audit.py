"""Audit of laws: measured desiderata beside the claims of the laws and the charts of the papers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .. import catalogue, laws
from ..catalogue import Entry
from ..errors import ProblemError
from ..laws import Law
from ..problem.problem import ImpactProblem
from .desiderata import ORDER, Examination, defect
from .spread import Spread, spread_of

PROBLEM_DESIDERATA = ("SYM", "KIN", "MOM", "ONE", "FEA")
SYMMETRY_DEFECT = 1e-9  # relative; up to it a registered symmetry of a problem is accepted
Progress = Callable[[str, str], None]  # called with (law, desideratum) before each measurement

# Smith 2012, table 1, and Zhang 2015, table 1 (its "MON" is MOM). Each set lists what the chart ticks; a
# desideratum that a chart does not have is in neither its columns nor a set.
CHARTS: dict[str, tuple[tuple[str, ...], dict[str, frozenset[str]]]] = {
    "Smith 2012": (
        ("BRK", "SYM", "KIN", "MOM", "ONE"),
        {
            "gr": frozenset({"BRK", "SYM", "KIN", "MOM", "ONE"}),
            "lcp": frozenset({"SYM", "KIN", "MOM", "ONE"}),
            "gauss_seidel": frozenset({"BRK", "KIN", "MOM", "ONE"}),
            "jacobi": frozenset({"BRK", "SYM", "MOM", "ONE"}),
        },
    ),
    "Zhang 2015": (
        ("WAV", "BRK", "SYM", "KIN", "MOM", "ONE"),
        {
            "qce": frozenset({"WAV", "BRK", "SYM", "KIN", "MOM", "ONE"}),
            "gr": frozenset({"BRK", "SYM", "KIN", "MOM", "ONE"}),
            "lcp": frozenset({"SYM", "KIN", "MOM", "ONE"}),
        },
    ),
}


@dataclass(frozen=True)
class AuditRow:
    """One cell of the table: the worst measured value of a desideratum of a law, and where it was found."""

    law: str
    desideratum: str
    passed: bool
    worst: float
    bound: float
    where: str
    claimed: bool
    papers: dict[str, bool]  # paper -> whether its chart ticks this cell

    @property
    def agrees_with_claim(self) -> bool:
        """Whether a claimed desideratum passed, or one that is not claimed failed."""
        return self.passed == self.claimed

    @property
    def contradicted(self) -> list[str]:
        """Papers whose chart differs from the measurement."""
        return [paper for paper, tick in self.papers.items() if tick != self.passed]

    @property
    def remark(self) -> str:
        """A broken claim, a pass without a claim, agreement or contradiction with a paper."""
        notes = []
        if self.claimed and not self.passed:
            notes.append("claimed, but fails")
        if self.passed and not self.claimed:
            notes.append("not claimed, but passes")
        says = {True: "a tick", False: "a cross"}
        notes += [f"contradicts {paper}, which has {says[self.papers[paper]]}" for paper in self.contradicted]
        if self.papers and not self.contradicted:
            notes.append("matches " + " and ".join(self.papers))
        return "; ".join(notes)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "remark": self.remark}


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The table of an audit. `rows` are ordered by law, then by desideratum."""

    rows: tuple[AuditRow, ...]
    problems: tuple[str, ...]
    spread: Spread | None = None  # of an audit of one problem
    refusals: tuple[tuple[str, str], ...] = ()  # (law, reason why it refuses the problem)

    @property
    def laws(self) -> list[str]:
        """Names of the laws, in order."""
        return list(dict.fromkeys(row.law for row in self.rows))

    @property
    def desiderata(self) -> list[str]:
        """Names of the desiderata, in order."""
        return list(dict.fromkeys(row.desideratum for row in self.rows))

    def cell(self, law: str, desideratum: str) -> AuditRow:
        """The row of a law and a desideratum; KeyError if it was not measured."""
        for row in self.rows:
            if (row.law, row.desideratum) == (law, desideratum):
                return row
        raise KeyError((law, desideratum))

    @property
    def broken_claims(self) -> list[AuditRow]:
        """Claims that failed."""
        return [row for row in self.rows if row.claimed and not row.passed]

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"problems": list(self.problems), "rows": [row.to_dict() for row in self.rows]}
        if self.spread is not None:
            data["spread"] = self.spread.to_dict()
        if self.refusals:
            data["refusals"] = dict(self.refusals)
        return data

    def to_csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["law", "desideratum", "passed", "worst", "bound", "where", "claimed", "remark"])
        for r in self.rows:
            verdict = "pass" if r.passed else "fail"
            claimed = "yes" if r.claimed else "no"
            row = [r.law, r.desideratum, verdict, repr(r.worst), repr(r.bound), r.where, claimed, r.remark]
            writer.writerow(row)
        return out.getvalue()

    def __str__(self) -> str:
        names = self.desiderata
        lines = [f"{'law':<14}" + "".join(f"{name:>15}" for name in names)]
        for law in self.laws:
            cells = (self.cell(law, name) for name in names)
            lines.append(f"{law:<14}" + "".join(f"{cell_text(c):>15}" for c in cells))
        lines += self.comparison()
        return "\n".join(lines)

    def comparison(self) -> list[str]:
        """Sentences about broken claims and about charts that differ."""
        lines = [f"{r.law} {r.desideratum}: {r.remark} ({r.where})" for r in self.broken_claims]
        known = broken = 0
        for row in self.rows:
            known += len(row.papers)
            broken += len(row.contradicted)
            for paper in row.contradicted:
                said = "tick" if row.papers[paper] else "cross"
                measured = "pass" if row.passed else "fail"
                lines.append(
                    f"{row.law} {row.desideratum}: {paper} has a {said}, measured a {measured} "
                    f"({row.worst:.2g}, {row.where})"
                )
        if known:
            lines.append(f"{known - broken} of {known} cells of the papers' charts are reproduced")
        return lines


def cell_text(row: AuditRow) -> str:
    """`pass 1e-15`, `FAIL 0.67`, with `!` where a claim is broken or a pass was not claimed."""
    mark = "" if row.agrees_with_claim else "!"
    return f"{'pass' if row.passed else 'FAIL'}{mark} {row.worst:.1e}"


def audit(
    problem: ImpactProblem | None = None, laws: Iterable[str] | None = None, progress: Progress | None = None
) -> AuditReport:
    """Measures which desiderata the named laws satisfy, by default all: on the catalogue, or on one problem, there with
    the spread between the laws. `print` shows the report as a table."""
    return audit_laws(laws, progress=progress) if problem is None else audit_problem(problem, laws, progress)


def audit_laws(
    names: Iterable[str] | None = None,
    problems: Sequence[Entry | ImpactProblem] | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Measures every desideratum of the named laws, by default all, on `problems`, by default the catalogue."""
    chosen = chosen_laws(names)
    entries = tuple(as_entry(p) for p in problems) if problems is not None else catalogue.entries()
    rows: list[AuditRow] = []
    for name, law in chosen:
        rows += _measure(name, law, entries, ORDER, progress, papers=problems is None)
    return AuditReport(tuple(rows), tuple(e.name for e in entries))


def audit_problem(
    problem: ImpactProblem, names: Iterable[str] | None = None, progress: Progress | None = None
) -> AuditReport:
    """Measures the desiderata of each law on one problem, and the spread between the laws.

    BRK and WAV are defined on catalogue problems only and are left out. Symmetries of the problem are verified
    first: a map that is not a symmetry of the problem is refused. A law that refuses the problem, for instance
    because of its coefficients, is listed with its reason; a law that leaves bodies approaching is excluded from
    the spread.
    """
    for symmetry in problem.symmetries:
        off = defect(problem, symmetry)
        if off > SYMMETRY_DEFECT:
            expected = "a map that keeps masses, velocities and contacts"
            raise ProblemError("symmetries", f"{symmetry.name!r}, off by {off:.2g}", expected)
    entry = as_entry(problem)
    rows: list[AuditRow] = []
    answering: list[tuple[str, Law]] = []
    refusals: list[tuple[str, str]] = []
    for name, law in chosen_laws(names):
        try:
            found = _measure(name, law, (entry,), PROBLEM_DESIDERATA, progress, papers=False)
        except ProblemError as refusal:
            refusals.append((name, str(refusal)))
            continue
        rows += found
        if found[-1].passed:  # FEA: solutions in which bodies still approach are not compared
            answering.append((name, law))
    spread = spread_of(problem, answering) if len(answering) > 1 else None
    return AuditReport(tuple(rows), (problem.name,), spread=spread, refusals=tuple(refusals))


def as_entry(problem: Entry | ImpactProblem) -> Entry:
    """A problem as a catalogue entry without known solutions."""
    if isinstance(problem, Entry):
        return problem
    return Entry(problem, "given", degenerate=catalogue.is_degenerate(problem))


def chosen_laws(names: Iterable[str] | None) -> list[tuple[str, Law]]:
    """(name, law) pairs; an unknown name is refused."""
    if names is None:
        return list(laws.every())
    pairs = [(name, laws.make(name)) for name in names]
    if not pairs:
        raise ProblemError("laws", "none", "at least one of " + ", ".join(laws.names()))
    return pairs


def _measure(
    name: str,
    law: Law,
    entries: tuple[Entry, ...],
    desiderata: Sequence[str],
    progress: Progress | None,
    *,
    papers: bool,
) -> list[AuditRow]:
    rows = []
    examination = Examination(law, entries)
    for desideratum in desiderata:
        if progress is not None:
            progress(name, desideratum)
        finding = examination.finding(desideratum)
        ticks = published(name, desideratum) if papers else {}
        rows.append(AuditRow(name, **asdict(finding), claimed=desideratum in law.claims, papers=ticks))
    return rows


def published(law: str, desideratum: str) -> dict[str, bool]:
    """Paper -> whether its chart ticks the desideratum for the law. Empty if no chart has that cell."""
    return {
        paper: desideratum in ticks[law]
        for paper, (columns, ticks) in CHARTS.items()
        if law in ticks and desideratum in columns
    }

"""The charts of desiderata of the papers, cell by cell beside the audit: Smith 2012, table 1; Zhang 2015, table 1.

A cell of the audit is the worst value of a desideratum over all problems of the catalogue, beside its bound.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..analysis.audit import CHARTS, AuditReport, audit_laws
from ..analysis.desiderata import ORDER
from ..draw.style import BLUE, GRAY, RED, styled, write
from .evidence import Case, Evidence, Row

TICK = {True: "yes", False: "no"}


def run(case: Case, paper: str = "Smith 2012", others: tuple[str, ...] = ()) -> Evidence:
    """Audits the laws of a chart and `others`; writes chart.png, .svg, .pdf and .csv."""
    columns, ticks = CHARTS[paper]
    names = (*ticks, *others)
    done = 0

    def progress(law: str, desideratum: str) -> None:
        nonlocal done
        case.tell(done / (len(names) * len(ORDER)), f"{law} {desideratum}")
        done += 1

    report = audit_laws(names, progress=progress)
    rows = [_row(report, law, name, name in ticks[law]) for law in ticks for name in columns]
    rows += [_row(report, law, name, None) for law in others for name in columns]
    files = _draw(case.out, report, paper)
    same = [row.holds for row in rows if row.holds is not None]
    failing = [row for row in report.rows if row.law in ticks and row.desideratum in columns and not row.passed]
    findings = (
        f"{sum(same)} of {len(same)} cells of the chart are confirmed on {len(report.problems)} problems",
        "; ".join(f"{r.law} fails {r.desideratum} by {r.worst:.2g} ({r.where})" for r in failing),
    )
    return Evidence(tuple(rows), files, findings, {"problems": len(report.problems)})


def _row(report: AuditReport, law: str, desideratum: str, tick: bool | None) -> Row:
    cell = report.cell(law, desideratum)
    said = None if tick is None else TICK[tick]
    holds = None if tick is None else tick == cell.passed
    remark = f"worst value {cell.worst:.2g}, bound {cell.bound:.2g}"
    return Row(f"{law}: {desideratum}", said, TICK[cell.passed], holds=holds, remark=remark)


def _draw(out: Path, report: AuditReport, paper: str) -> tuple[Path, ...]:
    """The measured chart: a disc for a pass, a cross for a failure, and the worst value."""
    columns = CHARTS[paper][0]
    laws = report.laws
    with styled(1, width=5.2, height=0.5 + 0.42 * len(laws)) as (figure, (axes,)):
        for y, law in enumerate(laws):
            for x, name in enumerate(columns):
                cell = report.cell(law, name)
                look: dict[str, Any] = {"marker": "o", "color": BLUE} if cell.passed else {"marker": "X", "color": RED}
                axes.plot(x - 0.3, y, markersize=7, linestyle="", **look)
                text = f"{cell.worst:.0e}" if 0.0 != cell.worst < 0.01 else f"{cell.worst:.2g}"
                axes.text(x - 0.15, y, text, va="center", fontsize=7.5, color=GRAY)
        axes.set(xlim=(-0.6, len(columns) - 0.4), ylim=(len(laws) - 0.5, -0.5))
        axes.set_xticks(np.arange(len(columns)) - 0.15, columns)
        axes.set_yticks(range(len(laws)), laws)
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        axes.grid(False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        table = {
            "law": [r.law for r in report.rows],
            "desideratum": [r.desideratum for r in report.rows],
            "passed": [TICK[r.passed] for r in report.rows],
            "worst": [r.worst for r in report.rows],
            "bound": [r.bound for r in report.rows],
            "where": [r.where for r in report.rows],
        }
        return write(figure, out, "chart", table)

"""The report of a folder of evidence: one HTML page that needs no other file, Markdown, and all rows as CSV."""

from __future__ import annotations

import base64
import csv
import io
import platform
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

import numba
import numpy as np

from .. import __version__
from ..draw.style import DOTS
from ..files import atomic_path, write_text
from .entries import ENTRIES, PAPERS
from .evidence import Evidence, Row, Value

HOLDS = {True: "yes", False: "no", None: ""}
COLUMNS = ("quantity", "paper", "ours", "ratio", "unit", "claim holds", "remark")
SUMMARY = ("entry", "subject", "claims that hold", "rows", "CPU s")
NUMBERS = ("paper", "ours", "ratio", "claims that hold", "rows", "CPU s")  # columns that are aligned to the right
LONGEST_NUMBER = 14  # characters: longer texts in columns of numbers are words, which may be broken into lines
PIXELS_PER_INCH = 125  # of figures on the page
INTRODUCTION = (
    "Each entry shows the published value, ours and their ratio. A claim is a statement of the paper: yes means that "
    "our measurement confirms it, no that it does not. Rows without a claim are measurements only; where the paper "
    "shows a picture or a curve without numbers, its column is empty."
)

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1f2937; max-width: 66rem; margin: 2rem auto; padding: 0 1rem }
h1, h2, h3 { line-height: 1.2 } h2 { margin-top: 3.5rem; font-size: 1.35rem; border-bottom: 2px solid #d1d5db }
h3 { margin: 2.8rem 0 0 } h3::first-letter { text-transform: uppercase } h3 + .small { margin-top: 0.2rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: 0.88rem; margin: 1rem 0 }
th, td { padding: 0.3rem 0.7rem; text-align: left; border-bottom: 1px solid #e5e7eb; vertical-align: top }
th { color: #6b7280; font-weight: 600; white-space: nowrap } td:first-child { min-width: 11rem }
td.number, th.number { text-align: right } td.number { font-variant-numeric: tabular-nums; white-space: nowrap }
td.words { min-width: 9rem } .no { color: #b91c1c; font-weight: 600 } .yes { color: #047857 }
td:last-child { min-width: 6rem } img { max-width: 100%; height: auto } a { color: #0072b2 }
.small { color: #6b7280; font-size: 0.85rem; overflow-wrap: anywhere }
@media (max-width: 40rem) {
  th, td { padding: 0.25rem 0.4rem } th { white-space: normal } table { font-size: 0.8rem }
  td:first-child, td:last-child { min-width: 5.5rem }
}
"""


def write_report(folder: Path, found: Mapping[str, Evidence], scale: str, date: str) -> tuple[Path, ...]:
    """Writes report.html, report.md and rows.csv in `folder` for the evidence of the entries `found`."""
    paths = folder / "report.html", folder / "report.md", folder / "rows.csv"
    write_text(paths[0], html(found, scale, date))
    write_text(paths[1], markdown(folder, found, scale, date))
    with atomic_path(paths[2]) as part, part.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(("entry", *COLUMNS))
        table.writerows((key, *cells(row)) for key, evidence in found.items() for row in evidence.rows)
    return paths


def cells(row: Row) -> tuple[str, ...]:
    """The texts of a row, in the order of COLUMNS."""
    ratio = "" if row.ratio is None else number(row.ratio)
    return row.quantity, number(row.paper), number(row.ours), ratio, row.unit, HOLDS[row.holds], row.remark


def number(value: Value | None) -> str:
    """Four significant digits; text as it is; nothing for None."""
    if value is None or isinstance(value, str):
        return value or ""
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:.4g}"


def machine() -> str:
    """The version of Carom and of what its speed depends on."""
    return (
        f"Carom {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}, "
        f"{platform.system()} {platform.machine()}"
    )


def summary(found: Mapping[str, Evidence]) -> list[tuple[str, ...]]:
    """Per entry, in the order of SUMMARY: key, title, claims that hold of all claims, number of rows, CPU time."""
    lines: list[tuple[str, ...]] = []
    for key, evidence in found.items():
        claims = [row.holds for row in evidence.rows if row.holds is not None]
        held = "failed" if evidence.error else f"{sum(claims)} of {len(claims)}" if claims else ""
        lines.append((key, ENTRIES[key].title, held, str(len(evidence.rows)), f"{evidence.seconds:.0f}"))
    return lines


def total(found: Mapping[str, Evidence]) -> str:
    """One sentence about all entries."""
    claims = [row.holds for evidence in found.values() for row in evidence.rows if row.holds is not None]
    failed = sum(bool(evidence.error) for evidence in found.values())
    minutes = sum(evidence.seconds for evidence in found.values()) / 60.0
    text = f"{len(found)} entries, {sum(claims)} of {len(claims)} claims hold, {minutes:.1f} minutes of CPU time"
    return f"{text}; {failed} entries failed." if failed else f"{text}."


def _by_paper(found: Mapping[str, Evidence]) -> Iterable[tuple[str, dict[str, Evidence]]]:
    for paper, citation in PAPERS.items():
        mine = {key: evidence for key, evidence in found.items() if key.startswith(f"{paper}-")}
        if mine:
            yield citation, mine


# ---- HTML


def html(found: Mapping[str, Evidence], scale: str, date: str) -> str:
    """The page, with its pictures inside."""
    page = io.StringIO()
    page.write('<!doctype html><html lang="en"><meta charset="utf-8"><title>Carom: the papers, measured again</title>')
    page.write(f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style>')
    page.write(f"<h1>The papers, measured again</h1><p>{INTRODUCTION}</p>")
    page.write(f'<p class="small">Scale: {scale}. {date}. {escape(machine())}. {total(found)}</p>')
    page.write(_html_table(SUMMARY, summary(found)))
    for citation, mine in _by_paper(found):
        page.write(f"<h2>{escape(citation)}</h2>")
        for key, evidence in mine.items():
            page.write(_html_entry(key, evidence))
    return page.getvalue()


def _html_entry(key: str, evidence: Evidence) -> str:
    parts = [f'<section id="{key}"><h3>{escape(ENTRIES[key].title)}</h3><p class="small">{key}</p>']
    if evidence.error:
        parts.append(f'<p class="no">Failed: {escape(evidence.error)}</p>')
    if evidence.findings:
        parts.append(f"<ul>{''.join(f'<li>{escape(finding)}</li>' for finding in evidence.findings)}</ul>")
    for path in evidence.files:
        if path.suffix == ".png":
            parts.append(_html_picture(path))
    if evidence.rows:
        parts.append(_html_table(COLUMNS, [cells(row) for row in evidence.rows]))
    if evidence.parameters:
        parts.append(f'<p class="small">Parameters: {escape(_parameters(evidence))}</p>')
    return "".join((*parts, "</section>"))


def _html_picture(path: Path) -> str:
    """A picture inside the page, in the same scale as all others."""
    data = path.read_bytes()
    width = int.from_bytes(data[16:20], "big") * PIXELS_PER_INCH / DOTS  # the width stands in the head of a PNG file
    code = base64.b64encode(data).decode()
    return f'<p><img alt="{escape(path.stem)}" width="{width:.0f}" src="data:image/png;base64,{code}"></p>'


def _html_table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table without its empty columns."""
    lines = list(rows)
    used = [k for k in range(len(heads)) if any(row[k] for row in lines)]
    body = "".join(f"<tr>{''.join(_html_cell(heads[k], row[k]) for k in used)}</tr>" for row in lines)
    head = "".join(f'<th class="{_kind(heads[k])}">{heads[k]}</th>' for k in used)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _kind(head: str) -> str:
    return "number" if head in NUMBERS else ""


def _html_cell(head: str, text: str) -> str:
    if head in ("paper", "ours") and len(text) > LONGEST_NUMBER:
        kind = "words"
    else:
        kind = text if head == "claim holds" else _kind(head)
    shown = f'<a href="#{text}">{text}</a>' if head == "entry" else escape(text)
    return f'<td class="{kind}">{shown}</td>'


# ---- Markdown


def markdown(folder: Path, found: Mapping[str, Evidence], scale: str, date: str) -> str:
    """The same report in Markdown; pictures are linked."""
    lines = [
        "# The papers, measured again",
        "",
        INTRODUCTION,
        "",
        f"Scale: {scale}. {date}. {machine()}. {total(found)}",
    ]
    lines += ["", *_md_table(SUMMARY, summary(found))]
    for citation, mine in _by_paper(found):
        lines += [f"## {citation}", ""]
        for key, evidence in mine.items():
            lines += _md_entry(folder, key, evidence)
    return "\n".join(lines)


def _md_entry(folder: Path, key: str, evidence: Evidence) -> list[str]:
    title = ENTRIES[key].title
    lines = [f"### {key}", "", f"{title[0].upper()}{title[1:]}.", ""]
    lines += [f"Failed: {evidence.error}", ""] if evidence.error else []
    lines += [*(f"- {finding}" for finding in evidence.findings), ""] if evidence.findings else []
    pictures = [path.relative_to(folder) for path in evidence.files if path.suffix == ".png"]
    lines += [line for path in pictures for line in (f"![{path.stem}]({path.as_posix()})", "")]
    lines += _md_table(COLUMNS, [cells(row) for row in evidence.rows]) if evidence.rows else []
    return [*lines, f"Parameters: {_parameters(evidence)}", ""] if evidence.parameters else lines


def _md_table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = list(rows)
    used = [k for k in range(len(heads)) if any(row[k] for row in lines)]
    table = [f"| {' | '.join(heads[k] for k in used)} |", f"|{' --- |' * len(used)}"]
    return table + [f"| {' | '.join(row[k].replace('|', '/') for k in used)} |" for row in lines] + [""]


def _parameters(evidence: Evidence) -> str:
    return ", ".join(f"{name} = {_value(value)}" for name, value in evidence.parameters.items())


def _value(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_value, value))})"
    return f"{value:g}" if isinstance(value, float) else str(value)

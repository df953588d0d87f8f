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
from ..files import atomic_path, write_text
from .entries import ENTRIES, PAPERS
from .evidence import Evidence, Row, Value

HOLDS = {True: "yes", False: "no", None: ""}
COLUMNS = ("quantity", "paper", "ours", "ratio", "unit", "claim holds", "remark")
PICTURES = {".png": "image/png", ".svg": "image/svg+xml"}

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1f2937; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1, h2, h3 { line-height: 1.2 } h2 { margin-top: 3rem; border-bottom: 1px solid #d1d5db } h3 { margin-top: 2.5rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: 0.9rem; margin: 1rem 0 }
th, td { padding: 0.25rem 0.7rem; text-align: left; border-bottom: 1px solid #e5e7eb; vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.no { color: #b91c1c; font-weight: 600 } td.yes { color: #047857 } img { max-width: 100%; height: auto }
.small { color: #6b7280; font-size: 0.85rem } a { color: #0072b2 }
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


def summary(found: Mapping[str, Evidence]) -> list[tuple[str, str, str, str]]:
    """Per entry: key, title, rows whose claim holds of those with a claim, and number of rows."""
    lines = []
    for key, evidence in found.items():
        claims = [row.holds for row in evidence.rows if row.holds is not None]
        held = f"{sum(claims)} of {len(claims)}" if claims else ""
        lines.append((key, ENTRIES[key].title, held, str(len(evidence.rows))))
    return lines


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
    page.write(f"<h1>The papers, measured again</h1><p>Scale: {scale}. {date}. {escape(machine())}.</p>")
    page.write(_html_table(("entry", "", "claims that hold", "rows"), summary(found), link=True))
    for citation, mine in _by_paper(found):
        page.write(f"<h2>{escape(citation)}</h2>")
        for key, evidence in mine.items():
            page.write(_html_entry(key, evidence))
    return page.getvalue()


def _html_entry(key: str, evidence: Evidence) -> str:
    parts = [f'<h3 id="{key}">{key}: {escape(ENTRIES[key].title)}</h3>']
    parts += [f"<p>{escape(finding)}</p>" for finding in evidence.findings]
    parts += [_html_table(COLUMNS, [cells(row) for row in evidence.rows])]
    for path in evidence.files:
        if path.suffix == ".png":
            data = base64.b64encode(path.read_bytes()).decode()
            parts.append(f'<p><img alt="{escape(path.stem)}" src="data:image/png;base64,{data}"></p>')
    if evidence.parameters:
        parts.append(f'<p class="small">Parameters: {escape(_parameters(evidence))}</p>')
    return "".join(parts)


def _html_table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]], link: bool = False) -> str:
    body = "".join(f"<tr>{''.join(_html_cell(*pair, link) for pair in zip(heads, row))}</tr>" for row in rows)
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _html_cell(head: str, text: str, link: bool) -> str:
    kind = "number" if head in ("paper", "ours", "ratio", "rows") else text if head == "claim holds" else ""
    shown = f'<a href="#{text}">{text}</a>' if link and head == "entry" else escape(text)
    return f'<td class="{kind}">{shown}</td>'


# ---- Markdown


def markdown(folder: Path, found: Mapping[str, Evidence], scale: str, date: str) -> str:
    """The same report in Markdown; pictures are linked."""
    lines = ["# The papers, measured again", "", f"Scale: {scale}. {date}. {machine()}.", ""]
    lines += _md_table(("entry", "", "claims that hold", "rows"), summary(found))
    for citation, mine in _by_paper(found):
        lines += [f"## {citation}", ""]
        for key, evidence in mine.items():
            lines += [f"### {key}: {ENTRIES[key].title}", ""]
            lines += [line for finding in evidence.findings for line in (finding, "")]
            lines += _md_table(COLUMNS, [cells(row) for row in evidence.rows])
            pictures = [path.relative_to(folder) for path in evidence.files if path.suffix == ".png"]
            lines += [line for path in pictures for line in (f"![{path.stem}]({path.as_posix()})", "")]
            if evidence.parameters:
                lines += [f"Parameters: {_parameters(evidence)}", ""]
    return "\n".join(lines)


def _md_table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    return lines + [f"| {' | '.join(text.replace('|', '/') for text in row)} |" for row in rows] + [""]


def _parameters(evidence: Evidence) -> str:
    return ", ".join(f"{name} = {value}" for name, value in evidence.parameters.items())

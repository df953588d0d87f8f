"""Writes docs/reproduce.md and a page per entry: `python -m benchmarks.evidence_page FOLDER DATE [PAPER_FOLDER]`.

FOLDER has the small scale, PAPER_FOLDER some entries at the size of the papers; without it the pages keep what they
have at that size. Figures are copied to docs/images in a
smaller size, with 256 colors. The part of docs/reproduce.md above MARK is written by hand.

`python -m benchmarks.evidence_page --add FOLDER DATE [SCALE]` writes the pages of the entries in FOLDER alone, at the
small scale or at SCALE, and their rows in the overview; all other pages stay as they are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from carom.reproduce import ENTRIES as ENTRIES_IN_ORDER
from carom.reproduce import finished
from carom.reproduce.report import markdown

PAGE = Path("docs/reproduce.md")
ENTRIES = Path("docs/evidence")
IMAGES = Path("docs/images/reproduce")
MARK = "<!-- Below: python -m benchmarks.evidence_page FOLDER DATE [PAPER_FOLDER] -->"
# Heading, largest width in pixels and largest size in bytes of the figures.
SECTIONS = {
    "small": ("Results at the small scale", 1100, 150_000),
    "paper": ("At the size of the papers", 1000, 120_000),
}


def main(folder: Path, date: str, paper: Path | None = None) -> None:
    IMAGES.mkdir(exist_ok=True, parents=True)
    for old in IMAGES.glob("*.png"):
        if paper or not old.name.startswith("paper-"):
            old.unlink()
    write({"small": report(folder, date, "small")} | ({"paper": report(paper, date, "paper")} if paper else {}))


def add(folder: Path, date: str, scale: str = "small") -> None:
    """The pages of some entries at one scale, and their rows in the overview; the other scale stays as it is."""
    pages, rows = {}, {}
    for part in re.split(r"^(?=##+ )", report(folder, date, scale), flags=re.MULTILINE):
        key, _, body = part.partition("\n")
        if key.startswith("### "):
            key, (title, _, results) = key[4:].strip(), body.strip().partition("\n")
            pages[key] = (top(key, title), f"## {SECTIONS[scale][0]}\n\n{results.strip()}\n\n")
        else:
            rows |= overview_rows(part)
    for key, (head, section) in pages.items():
        path = ENTRIES / f"{key}.md"
        kept = at_paper_size(path) if path.exists() else ""
        if scale == "small":
            text = head + section + kept
        else:
            text = (path.read_text(encoding="utf-8").removesuffix(kept) if path.exists() else head) + section
        path.write_text(text.rstrip() + "\n", encoding="utf-8")
    above, mark, below = PAGE.read_text(encoding="utf-8").partition(MARK)
    heading = f"## {SECTIONS['paper'][0]}\n"
    small, found, paper = below.partition(heading)
    if scale == "small":
        small = with_rows(small, rows, date, scale)
    else:
        paper = with_rows(paper, rows, date, scale)
    PAGE.write_text((above + mark + small + found + paper).rstrip() + "\n", encoding="utf-8")


def with_rows(overview: str, rows: dict[str, str], date: str, scale: str) -> str:
    """An overview with some rows added or replaced, and its totals."""
    rows = overview_rows(overview) | rows
    ordered = [rows[key] for key in ENTRIES_IN_ORDER if key in rows]
    head = re.sub(r"\d+ entries, .*? CPU time\.", total(ordered), overview.split("| entry |")[0], flags=re.DOTALL)
    head = re.sub(rf"(Scale: {scale}\. [\d-]+)[^.]*\.", rf"\1, entries added {date}.", head)
    table = ["| entry | subject | claims that hold | rows | CPU s |", "| --- | --- | --- | --- | --- |", *ordered]
    return head + "\n".join(table) + "\n\n"


def overview_rows(text: str) -> dict[str, str]:
    """The rows of an overview by entry, with links to their pages."""
    rows = re.findall(r"^\| \[?([a-z]+-[\w.-]+)(?:\]\(\S+\))? (\|.*)$", text, flags=re.MULTILINE)
    return {key: f"| [{key}](evidence/{key}.md) {rest}" for key, rest in rows}


def total(rows: list[str]) -> str:
    """Entries, claims and CPU time of the rows of an overview."""
    claims = [re.findall(r"\| (\d+) of (\d+) \|", row) for row in rows]
    held, made = (sum(int(pair[k]) for found in claims for pair in found) for k in (0, 1))
    minutes = sum(float(row.rstrip("| ").rsplit("| ", 1)[1]) for row in rows) / 60.0
    return f"{len(rows)} entries, {held} of {made}\nclaims hold, {minutes:.1f} minutes of CPU time."


def report(folder: Path, date: str, scale: str) -> str:
    """The report of a folder, with its figures copied."""
    _, width, largest = SECTIONS[scale]
    text = markdown(folder, finished(folder, scale), scale, date)
    for alt, link in re.findall(r"!\[(.*?)\]\((.*?)\)", text):
        name = link.replace("/", "-") if scale == "small" else f"{scale}-{link.replace('/', '-')}"
        shrink(folder / link, IMAGES / name, width, largest)
        text = text.replace(f"![{alt}]({link})", f"![{alt}](../images/reproduce/{name})")
    return text


def write(reports: Mapping[str, str]) -> None:
    """The overview and the pages of entries, from the reports of both scales."""
    overview, entries = "", dict[str, str]()
    kept = {} if "paper" in reports else {path.stem: at_paper_size(path) for path in ENTRIES.glob("*.md")}
    kept_overview = "" if "paper" in reports else at_paper_size(PAGE)
    for scale, text in reports.items():
        # A part begins with the heading of a paper or of an entry; the first part is that of the report.
        head, *parts = re.split(r"^(?=##+ )", text, flags=re.MULTILINE)
        table = re.sub(r"^\| ([a-z]+-[\w.-]+) \|", r"| [\1](evidence/\1.md) |", head, flags=re.MULTILINE)
        overview += f"## {SECTIONS[scale][0]}\n\n{table.split(chr(10), 2)[2].strip()}\n\n"
        for part in parts:
            key, _, body = part.partition("\n")
            if key.startswith("### "):
                key, (title, _, results) = key[4:].strip(), body.strip().partition("\n")
                page = entries.get(key, top(key, title))
                entries[key] = f"{page}## {SECTIONS[scale][0]}\n\n{results.strip()}\n\n"
    ENTRIES.mkdir(exist_ok=True)
    for old in ENTRIES.glob("*.md"):
        old.unlink()
    for key, text in entries.items():
        text += kept.get(key, "")
        (ENTRIES / f"{key}.md").write_text(text.rstrip() + "\n", encoding="utf-8")
    above = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    PAGE.write_text(f"{above}{MARK}\n\n{(overview + kept_overview).rstrip()}\n", encoding="utf-8")


def at_paper_size(page: Path) -> str:
    """The section of a page with the results at the size of the papers; empty if it has none."""
    heading = f"## {SECTIONS['paper'][0]}\n"
    _, found, text = page.read_text(encoding="utf-8").partition(heading)
    return found + text


def top(key: str, title: str) -> str:
    """The head of the page of an entry: its subject is the title."""
    data = " --data FOLDER" if ENTRIES_IN_ORDER[key].needs else ""
    how = f"To make this one: `carom reproduce {key}{data} -o evidence`."
    return f"# {title.rstrip('.')}\n\n[All entries](../reproduce.md). {how}\n\n"


def shrink(source: Path, target: Path, width: int, largest: int) -> None:
    while True:
        picture = Image.open(source).convert("RGB")
        size = min(width, picture.width)
        picture = picture.resize((size, round(picture.height * size / picture.width)), Image.Resampling.LANCZOS)
        picture.quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)
        if target.stat().st_size <= largest:
            return
        width = int(0.85 * width)


if __name__ == "__main__":
    if sys.argv[1] == "--add":
        add(Path(sys.argv[2]), *sys.argv[3:5])
    else:
        main(Path(sys.argv[1]), sys.argv[2], *map(Path, sys.argv[3:4]))

"""Puts reports of evidence into docs/reproduce.md: `python -m benchmarks.evidence_page FOLDER DATE [PAPER_FOLDER]`.

FOLDER has the small scale, PAPER_FOLDER some entries at the size of the papers. Figures are copied to docs/images in a
smaller size, with 256 colors.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from PIL import Image

from carom.reproduce import finished
from carom.reproduce.report import markdown

PAGE = Path("docs/reproduce.md")
IMAGES = Path("docs/images/reproduce")
MARK = "<!-- Below: python -m benchmarks.evidence_page FOLDER DATE [PAPER_FOLDER] -->"
# Heading, largest width in pixels and largest size in bytes of the figures.
SECTIONS = {"small": ("Results of one run", 1100, 150_000), "paper": ("At the size of the papers", 900, 70_000)}


def main(folder: Path, date: str, paper: Path | None = None) -> None:
    IMAGES.mkdir(exist_ok=True, parents=True)
    for old in IMAGES.glob("*.png"):
        old.unlink()
    text = section(folder, date, "small") + (section(paper, date, "paper") if paper else "")
    above = re.split("<!-- Below: python", PAGE.read_text(encoding="utf-8"))[0]
    PAGE.write_text(f"{above}{MARK}\n\n{text.rstrip()}\n", encoding="utf-8")


def section(folder: Path, date: str, scale: str) -> str:
    """The report of a folder as a section of the page, with its figures copied."""
    heading, width, largest = SECTIONS[scale]
    text = markdown(folder, finished(folder, scale), scale, date)
    text = re.sub(r"^(##+) ", r"#\1 ", text, flags=re.MULTILINE)
    text = text.replace("# The papers, measured again", f"## {heading}", 1)
    for alt, link in re.findall(r"!\[(.*?)\]\((.*?)\)", text):
        name = link.replace("/", "-") if scale == "small" else f"{scale}-{link.replace('/', '-')}"
        shrink(folder / link, IMAGES / name, width, largest)
        text = text.replace(f"![{alt}]({link})", f"![{alt}](images/reproduce/{name})")
    if scale == "paper":  # headings of entries and papers are unique in a page
        text = re.sub(r"^(###+ .*)$", r"\1 (paper scale)", text, flags=re.MULTILINE)
    return f"{text.rstrip()}\n\n"


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
    main(Path(sys.argv[1]), sys.argv[2], *map(Path, sys.argv[3:4]))

"""Puts the report of a folder of evidence into docs/reproduce.md: `python -m benchmarks.evidence_page FOLDER DATE`.

Figures are copied to docs/images in a smaller size, with 256 colors.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from PIL import Image

from carom.reproduce import SCALES, finished
from carom.reproduce.report import markdown

PAGE = Path("docs/reproduce.md")
IMAGES = Path("docs/images/reproduce")
MARK = "<!-- Below: python -m benchmarks.evidence_page FOLDER DATE -->"
WIDTH = 1100  # pixels
LARGEST = 150_000  # bytes


def main(folder: Path, date: str) -> None:
    scale, found = next((scale, found) for scale in reversed(SCALES) if (found := finished(folder, scale)))
    text = markdown(folder, found, scale, date).replace("# The papers, measured again", "## Results of one run", 1)
    text = re.sub(r"^(##+) (?!Results)", r"#\1 ", text, flags=re.MULTILINE)
    IMAGES.mkdir(exist_ok=True, parents=True)
    for old in IMAGES.glob("*.png"):
        old.unlink()
    for alt, link in re.findall(r"!\[(.*?)\]\((.*?)\)", text):
        name = link.replace("/", "-")
        shrink(folder / link, IMAGES / name)
        text = text.replace(f"![{alt}]({link})", f"![{alt}](images/reproduce/{name})")
    above = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    PAGE.write_text(f"{above}{MARK}\n\n{text.rstrip()}\n", encoding="utf-8")


def shrink(source: Path, target: Path) -> None:
    width = WIDTH
    while True:
        picture = Image.open(source).convert("RGB")
        size = min(width, picture.width)
        picture = picture.resize((size, round(picture.height * size / picture.width)), Image.Resampling.LANCZOS)
        picture.quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)
        if target.stat().st_size <= LARGEST:
            return
        width = int(0.85 * width)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

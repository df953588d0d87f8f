"""Writes each chapter of the tutorial as a notebook with its outputs: `python docs/tutorial/notebooks.py`.

A `python` block of a chapter is a cell, the `text` block after it is its output, everything else is Markdown. A test
runs the blocks and compares the outputs, and another one compares the notebooks with the chapters.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
BLOCKS = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", flags=re.MULTILINE | re.DOTALL)


def notebook(text: str) -> str:
    """The notebook of a chapter."""
    cells: list[dict[str, object]] = []

    def add(kind: str, source: str, **more: object) -> None:
        if source.strip():
            cell = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}, "source": lines(source.strip())}
            cells.append(cell | more)

    end = 0
    for found in BLOCKS.finditer(text):
        add("markdown", text[end : found.start()])
        printed = {"output_type": "stream", "name": "stdout", "text": lines(found[2] or "")}
        add("code", found[1], execution_count=None, outputs=[printed] if found[2] else [])
        end = found.end()
    add("markdown", re.sub(r"\]\((\w+)\.md\)", r"](\1.ipynb)", text[end:]))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    head = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": head, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def chapters() -> list[Path]:
    return sorted(HERE.glob("*.md"))


if __name__ == "__main__":
    for chapter in chapters():
        chapter.with_suffix(".ipynb").write_text(notebook(chapter.read_text(encoding="utf-8")), encoding="utf-8")
        print(chapter.with_suffix(".ipynb"))

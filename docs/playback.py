"""Runs that the gallery plays: recorded data in docs/playback, from which MkDocs writes pages that share their code.

`python docs/playback.py run.h5 ...` records runs; `make playback` runs and records all of them. `carom export run.h5 -o
page.html` writes the same page with all of its code in one file.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "playback"
# A script that puts the library where the pages expect it: files cannot be fetched from a site that is opened as files.
LIBRARY = """{
  const three = document.createElement("script");
  three.type = "text/plain";
  three.id = "three";
  three.textContent = %s;
  document.head.append(three);
}
"""


def record(path: Path) -> None:
    """Records a run of the name of its file."""
    from carom import Trajectory
    from carom.exporting import chosen_frames
    from carom.exporting.content import Content, coloring_of
    from carom.exporting.web_page import recorded

    with Trajectory(path) as run:
        content = Content(run, chosen_frames(run, 1, None, None), coloring_of(run, None, False))
        (FOLDER / f"{path.stem}.json.gz").write_bytes(recorded(content))


def on_post_build(config: Any) -> None:
    """Called by MkDocs: writes the pages into the site."""
    from carom.exporting.web_page import library, page

    site = Path(config["site_dir"]) / "playback"
    site.mkdir(exist_ok=True)
    text = base64.b64encode(library()).decode("ascii")
    (site / "three.js").write_text(LIBRARY % json.dumps(text), encoding="utf-8")
    for run in sorted(FOLDER.glob("*.json.gz")):
        name = run.name.removesuffix(".json.gz")
        text = page(run.read_bytes(), '<script src="three.js"></script>')
        (site / f"{name}.html").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        record(Path(argument))

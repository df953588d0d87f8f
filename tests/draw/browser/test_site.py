"""The documentation site, opened as files in a browser without a network, on a desktop and on a telephone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import without

ROOT = Path(__file__).resolve().parents[3]
WIDTHS = {"desktop": 1280, "telephone": 390}  # pixels
RAW_FORMULAS = """[...document.querySelectorAll('.arithmatex')]
    .filter((formula) => !formula.querySelector('.katex') || formula.querySelector('.katex-error')).length"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site as `make docs` builds it: CAROM_SITE if it is set, else built here."""
    if "CAROM_SITE" in os.environ:
        return Path(os.environ["CAROM_SITE"])
    pytest.importorskip("mkdocs", reason="the site needs the extra docs")
    if not (ROOT / "docs" / "katex" / "katex.min.js").exists():
        if shutil.which("npm") is None:
            without("no npm, which brings the formulas")
        subprocess.run(["make", "-C", str(ROOT), "docs/katex/katex.min.js"], check=True)
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    return folder


@pytest.mark.long
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_pages_fit_and_render(site, browser, width):
    """No sideways scroll, every formula rendered, nothing asked from elsewhere, no error on any page."""
    context = browser.new_context(viewport={"width": width, "height": 800}, offline=True)
    page, faults, formulas = context.new_page(), [], 0
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: faults.append(request.url) if request.url.startswith("http") else None)
    pages = sorted(path for path in site.rglob("*.html") if path.name != "404.html")  # which needs a server
    for path in pages:
        page.goto(path.as_uri(), wait_until="load")
        page.wait_for_function(f"{RAW_FORMULAS} === 0")
        formulas += page.evaluate("document.querySelectorAll('.katex').length")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width and not faults, f"{path.relative_to(site)}: {wide} pixels wide, {faults}"
    context.close()
    assert len(pages) > 100 and formulas > 300  # pages without formulas would pass

"""A real browser for the tests of pages: Chromium, without a window and without a graphics processor.

Without a browser these tests are skipped, with a reason. Where CI is set they must run: there a missing one fails.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = (
    "--no-sandbox",  # as root there is none
    "--use-angle=swiftshader",  # WebGL in software
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)
PATIENCE = 120_000  # milliseconds until anything must have happened: a bound for what hangs, not for busy machines
# Ten frames per second: drawing in software takes all processors otherwise, for as long as a page is open.
FEW_FRAMES = """window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 100);
window.cancelAnimationFrame = clearTimeout;"""
HERE = {"127.0.0.1", "localhost", "::1", None}


def without(what: str) -> None:
    """Skips the test, or fails it where pages have to be tested."""
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        pytest.fail(f"{what}, and CI is set: the tests of the pages must run there")
    pytest.skip(what)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright; one for the tests of a file."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        without("the package playwright is not installed")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        without("no Chromium on the path")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=found, args=list(OPTIONS))
        yield running
        running.close()


@contextmanager
def window(browser: Any, width: int, height: int) -> Iterator[Any]:
    """An empty page. Whatever it loads must come from this machine: pages work without a network."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(PATIENCE)
    page.add_init_script(FEW_FRAMES)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    yield page
    page.close()
    parts = [urlsplit(url) for url in asked]
    strangers = [p.geturl() for p in parts if p.scheme in ("http", "https") and p.hostname not in HERE]
    assert not strangers, f"the page asks other machines for {strangers}"


@pytest.fixture
def page(browser) -> Iterator[Any]:
    """A page of one test."""
    with window(browser, 1000, 640) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_page(browser) -> Iterator[Any]:
    """A small page that the tests of a file share: to load one takes seconds."""
    with window(browser, 880, 540) as opened:
        yield opened

"""The page that `carom export run.h5 -o page.html` writes, opened as a file."""

from __future__ import annotations

import pytest

import carom


@pytest.mark.parametrize(("fixture", "dimension"), [("boxes", 2), ("solid", 3)])
def test_a_page_plays_a_run_without_a_server(request, page, tmp_path, fixture, dimension):
    path = request.getfixturevalue(fixture)
    carom.export(path, tmp_path / "run.html")
    with carom.Trajectory(path) as run:
        end = float(run.time[-1])
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.set_viewport_size({"width": 390, "height": 600})
    page.goto((tmp_path / "run.html").as_uri())
    page.wait_for_function("window.carom !== undefined")
    assert page.evaluate("[carom.data.dimension, carom.begin, carom.end]") == [dimension, 0, pytest.approx(end)]
    first = page.locator("#stage").screenshot()
    page.evaluate("carom.seek(carom.end / 2)")
    assert page.locator("#stage").screenshot() != first  # bodies have moved
    page.click("#play")
    page.wait_for_function("!carom.playing")  # it stops at the end
    assert page.evaluate("carom.time === carom.end") and page.locator("#scrub").input_value() != "0"
    page.locator("#scrub").fill("0")
    assert page.evaluate("carom.time") == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth") and not faults

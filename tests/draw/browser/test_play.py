"""The play page in a real browser: what a teacher does with it, and that its numbers are those of `solve_impact`."""

from __future__ import annotations

import threading
import time

import pytest

import carom
from carom.play import open_server

WAIT = 240_000  # milliseconds: the first impact may compile kernels


def until(page, expression):
    """Waits until a script's value is true. Playwright's own way is an eval, which the page's policy forbids."""
    end = time.monotonic() + WAIT / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never came true: {expression}"
        page.wait_for_timeout(20)


@pytest.fixture(scope="module")
def address():
    server = open_server(port=0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.address
    server.shutdown()
    server.close()


@pytest.fixture
def play(page, address):
    """The page with its first answer; an error of a script or in the console fails the test."""
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(address)
    page.wait_for_selector("#velocities", timeout=WAIT)
    yield page
    assert not faults, faults


def open_scene(page, key, text="#velocities"):
    page.select_option("#scene", key)
    page.wait_for_selector(text, timeout=WAIT)


def numbers(page, column):
    """A column of the table of velocities as it is written there, minus signs as Python writes them."""
    cells = page.locator(f"#velocities tbody tr:not(.sum) td:nth-child({column}) .number").all_text_contents()
    return [text.replace("−", "-") for text in cells]


def set_slider(page, name, value):
    """Moves a slider as a hand would, and waits for the answer that belongs to it."""
    with page.expect_response("**/api/impact"):
        page.locator(f"#sliders input[name={name}]").fill(str(value))
    until(page, f"window.carom.data.parameters.{name} === {value}")


def picture(page):
    return page.locator("#stage").screenshot()


def test_a_cradle_with_changed_restitution_shows_the_velocities_of_solve_impact(play):
    set_slider(play, "restitution", 0.35)
    set_slider(play, "balls", 6)
    play.click("#run")
    until(play, "window.carom.time > 0.2")
    problem = carom.ImpactProblem.chain([1.0] * 6, [1.0, 0, 0, 0, 0, 0], restitution=0.35)
    assert numbers(play, 2) == ["1.0000"] + ["0.0000"] * 5
    for column, law in ((3, "gr"), (4, "lcp")):
        exact = carom.solve_impact(problem, law).velocity
        assert numbers(play, column) == [f"{v + 0.0:.4f}" for v in exact.round(12)]


def assert_marks_are_explained_without_scrolling(play):
    sentence = play.locator("p.sentence").filter(has_text="On this impact")
    assert "gr, wave. On this impact" in sentence.text_content()
    assert "In general: the answer jumps" in sentence.text_content()
    assert play.locator("#ticks td.always").nth(10).get_attribute("data-always") == "false"  # WAV of gr
    for part in (sentence, play.locator("#ticks")):
        box = part.bounding_box()
        assert box["y"] + box["height"] <= 800, part


def test_laws_are_compared_in_place(play):
    assert_marks_are_explained_without_scrolling(play)
    marks = play.locator("#ticks tbody tr").first.locator("td.mark")
    assert [marks.nth(k).get_attribute("data-passed") for k in range(2)] == ["true", "false"]  # BRK of gr and lcp
    with play.expect_response("**/api/impact"):
        play.click("#laws button:text-is('qce')")
    play.wait_for_selector("#velocities thead th.law2:has-text('qce')")
    assert play.locator(".lane").count() == 3
    assert numbers(play, 5) == ["0.0000"] * 4 + ["1.0000"]
    with play.expect_response("**/api/impact"):
        play.click("#laws button:text-is('lcp')")
    until(play, "document.querySelectorAll('.lane').length === 2")


def test_play_pause_and_scrub_move_the_balls(play):
    play.select_option("#pace", "0.25")  # so that a busy machine can pause it before the end
    start = picture(play)
    play.click("#play")
    until(play, "window.carom.time > -1.4")
    play.click("#play")
    paused = picture(play)
    assert paused != start
    play.wait_for_timeout(200)
    assert picture(play) == paused
    play.locator("#scrub").fill("2.0")
    assert "2.00 after impact" in play.locator("#clock").text_content()
    assert picture(play) != paused


def test_a_run_in_the_plane_is_drawn_with_energy_and_ticks(play):
    play.select_option("#scene", "run/pool_break")
    play.wait_for_selector("#stage.empty")
    play.click("#run")
    play.wait_for_selector(".chart svg", timeout=WAIT)
    curves = play.locator("#results .chart").nth(1).locator(":scope > svg .curve")
    assert curves.count() == play.locator("#results .chart").nth(1).locator(".keys > span").count() == 2
    looks = {(c.get_attribute("class"), c.get_attribute("stroke-dasharray")) for c in curves.all()}
    assert len(looks) == 2  # a color and a dash of its own
    play.evaluate("window.carom.setPlaying(false); window.carom.seek(0)")
    start = picture(play)
    play.evaluate("window.carom.seek(2)")
    assert picture(play) != start
    assert play.locator("#ticks td.mark.yes").count() >= 5
    assert play.locator("#ticks td.mark.no").count() == 0


def test_a_run_in_space_is_drawn(play):
    play.select_option("#scene", "run/pool_break_3d")
    play.locator("#sliders input[name=rows]").fill("3")
    play.click("#run")
    play.wait_for_selector(".chart svg", timeout=WAIT)
    play.evaluate("window.carom.setPlaying(false); window.carom.seek(0)")
    start = picture(play)
    colors = play.evaluate(
        """() => { const gl = window.carom.painters[0].painter.gl;
        const [wide, high] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
        const pixels = new Uint8Array(4 * wide * high); window.carom.draw();
        gl.readPixels(0, 0, wide, high, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
        return new Set(new Uint32Array(pixels.buffer)).size; }"""
    )
    assert colors > 100  # shaded balls and a floor, not an empty field
    play.evaluate("window.carom.seek(2)")
    assert picture(play) != start


def test_a_long_run_shows_progress_and_can_be_stopped(play):
    play.select_option("#scene", "run/sphere_packing")
    play.locator("#sliders input[name=count]").fill("120")
    play.click("#run")
    play.wait_for_selector("#progress:not([hidden])", timeout=WAIT)
    assert play.locator("#run").text_content() == "Stop"
    play.click("#run")
    until(play, "document.getElementById('run').textContent === 'Run'")
    assert play.locator("#stage.empty").count() == 1 and play.locator("#message").is_hidden()


def test_a_bookmark_opens_the_same_lesson_and_nothing_is_cut_off(page, address):
    """No scroll bar across, and no card wider than its place, with three laws side by side on any screen."""
    page.goto(f"{address}/#scene=impact%2Fbernoulli&laws=gauss_seidel,gr,jacobi&friction=0.2&restitution=0.5")
    page.wait_for_selector("#velocities", timeout=WAIT)
    assert page.locator("#scene").input_value() == "impact/bernoulli"
    assert page.locator("#sliders input[name=restitution]").input_value() == "0.5"
    assert page.locator("#ticks thead th.law0").text_content() == "gauss_seidel"
    for width, height in ((1280, 800), (1920, 1080), (900, 1000)):
        page.set_viewport_size({"width": width, "height": height})
        over = page.evaluate(
            """() => [document.documentElement, ...document.querySelectorAll(".card, aside, main")]
            .filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.className || e.tagName)"""
        )
        assert over == [], (width, height)

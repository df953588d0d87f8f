"""`carom reproduce`: report, failures, interrupts, folders that cannot be written, results of another scale."""

from __future__ import annotations

import csv
import json
import os

import pytest
import typer

from carom import ProblemError, laws
from carom.cli.reproduce import reproduce
from carom.laws import LZB
from carom.reproduce import ENTRIES, Case, Entry, Evidence, Row, report, three_ball


def command(key, scale="small", out="evidence", record=False, formats="png", json=False, data=None):
    """The command with its defaults; a direct call would get the objects that describe its options."""
    reproduce(key, scale, out, record, data, formats, json)


def table(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_command_lists_and_refuses(capsys, tmp_path):
    command("list", "small", tmp_path)
    told = capsys.readouterr().out
    assert all(key in told for key in ENTRIES)
    with pytest.raises(ProblemError, match="did you mean 'zhang-figure-12'"):
        command("zhang-figur-12", "small", tmp_path)
    with pytest.raises(ProblemError, match="scale"):
        command("zhang-figure-4", "tiny", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ProblemError, match="folder"):
        command("zhang-figure-4", "small", tmp_path / "file")


def test_command_writes_a_report_and_does_not_compute_twice(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(laws, "_LAWS", {"none": laws.make("none"), "lzb": LZB()})
    out = tmp_path / "new" / "folder"
    command("zhang-figure-4", "small", out, False, "png")
    told = capsys.readouterr().out
    assert "lzb: off the Hertz ODE" in told and "report.html" in told
    assert (out / "zhang-figure-4" / "three_ball.png").exists()
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in page and "lzb: off the Hertz ODE" in page
    assert "three_ball.png" in (out / "report.md").read_text(encoding="utf-8")
    assert len(table(out / "rows.csv")) > 1
    monkeypatch.setattr(three_ball, "run", None)  # a second run would fail
    command("zhang-figure-4", "small", out, False, "png")
    with pytest.raises(ProblemError, match="scale"):
        command("zhang-figure-4", "paper", out, False, "png")


def test_entries_without_their_data_are_refused_alone_and_left_out_among_others(capsys, tmp_path, three):
    three.append(KeyError("second"))
    needy = Entry("carom-a", "title", "chart", needs="measurements of somebody")
    ENTRIES["carom-a"] = needy
    with pytest.raises(ProblemError, match="measurements of somebody"):
        command("carom-a", out=tmp_path / "out")
    with pytest.raises(ProblemError, match="--data"):
        command("carom-a", out=tmp_path / "out", data=tmp_path / "nowhere")
    assert not (tmp_path / "out").exists()
    with pytest.raises(typer.Exit):  # the second entry fails
        command("all", out=tmp_path / "out")
    assert "carom-a: left out" in capsys.readouterr().err and not (tmp_path / "out" / "carom-a").exists()
    command("carom-a", out=tmp_path / "out", data=tmp_path)
    assert (tmp_path / "out" / "carom-a" / "evidence.json").exists()


@pytest.fixture
def three(monkeypatch):
    """Three entries, of which the second does what a test puts into the list."""
    does = []

    def good(case: Case) -> Evidence:
        case.tell(0.5, "half")
        return Evidence((Row("speed", 2.0, 3.0, "m/s", True),), (), ("it moves",))

    def second(case: Case) -> Evidence:
        raise does[0]

    made = {"carom-a": good, "carom-b": second, "carom-c": good}
    before = dict(ENTRIES)
    ENTRIES.clear()
    ENTRIES.update({key: Entry(key, f"title of {key}", "chart", seconds=(7.0, 7200.0)) for key in made})
    monkeypatch.setattr(Entry, "make", lambda entry: made[entry.key])
    yield does
    ENTRIES.clear()
    ENTRIES.update(before)  # in their order


def test_an_entry_that_fails_is_recorded_and_the_others_go_on(capsys, tmp_path, three):
    three.append(ValueError("no such thing"))
    with pytest.raises(typer.Exit) as end:
        command("all", "small", tmp_path, json=True)
    assert end.value.exit_code == 1
    told = capsys.readouterr()
    data = json.loads(told.out)
    assert list(data["entries"]) == ["carom-a", "carom-b", "carom-c"]
    assert data["entries"]["carom-b"]["error"] == "ValueError: no such thing"
    assert data["entries"]["carom-c"]["rows"][0]["ours"] == 3.0
    assert "about 21 s" in told.err and "left" in told.err
    for name in ("report.html", "report.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "Failed: ValueError: no such thing" in text and "2 of 2 claims hold" in text
    three[0] = KeyError("again")  # a failure is not kept: the entry is tried again, and only that one
    with pytest.raises(typer.Exit):
        command("all", "small", tmp_path)
    assert "about 7 s" in capsys.readouterr().err


def test_an_interrupt_leaves_the_finished_entries_and_says_how_to_continue(capsys, tmp_path, three):
    three.append(KeyboardInterrupt())
    with pytest.raises(typer.Exit) as end:
        command("all", "small", tmp_path)
    assert end.value.exit_code == 130
    assert f"carom reproduce all --scale small -o {tmp_path}" in capsys.readouterr().err.replace("\n", "")
    assert [row["entry"] for row in table(tmp_path / "rows.csv")] == ["carom-a"]


def test_the_list_has_the_times_of_both_scales(capsys, three):
    command("list")
    told = capsys.readouterr().out
    assert "title of carom-a" in told and "7 s" in told and "2.0 h" in told
    command("list", json=True)
    assert json.loads(capsys.readouterr().out)[2] == {
        "key": "carom-c",
        "title": "title of carom-c",
        "seconds": [7.0, 7200.0],
    }


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_folder_without_room_is_refused_before_any_work(tmp_path, three, monkeypatch):
    monkeypatch.setattr("carom.cli.reproduce.PROBE_NAME", "/dev/full")
    with pytest.raises(ProblemError, match="No space left"):
        command("all", "small", tmp_path / "new")
    (tmp_path / "file").write_text("")
    with pytest.raises(ProblemError, match="--output"):
        command("all", "small", tmp_path / "file" / "folder")


def test_a_report_has_no_empty_columns_and_escapes_what_it_shows():
    found = {"carom-tumbling": Evidence((Row("a < b", "c | d", 1.5),), findings=("x & y",), parameters={"n": 1e-3})}
    page, text = report.html(found, "small", "today"), report.markdown(None, found, "small", "today")
    assert "a &lt; b" in page and "x &amp; y" in page and "n = 0.001" in page
    assert "| a < b | c / d | 1.5 |" in text and "| ratio |" not in text

"""Files that cannot be shown, or only in part: what is said, and what is shown."""

from __future__ import annotations

import importlib
import sys

import pytest
from tests.draw.viewer.made_runs import plane_scene, record, space_scene

from carom import ProblemError
from carom.draw.viewer import viewing
from carom.draw.viewer.runs import Frames, open_runs
from carom.draw.viewer.server import free_port
from carom.trajectory import Recorder


@pytest.fixture
def run(tmp_path):
    record(tmp_path / "run.h5", plane_scene())
    return tmp_path / "run.h5"


def said(*paths):
    with pytest.raises(ProblemError) as caught:
        open_runs(paths)
    text = str(caught.value)
    assert "\n" not in text and len(text) < 300
    return text


def test_what_is_wrong_with_a_file_is_said(tmp_path, run):
    assert "no such file" in said(tmp_path / "none.h5")
    empty = tmp_path / "empty.h5"
    empty.write_bytes(b"")
    assert "empty" in said(empty)
    other = tmp_path / "other.h5"
    other.write_text("x,y\n1,2\n")
    assert "not an HDF5 file" in said(other)
    cut = tmp_path / "cut.h5"
    cut.write_bytes(run.read_bytes()[:9000])
    assert "cut off" in said(cut)
    part = tmp_path / "early.h5.part"
    part.write_bytes(b"")
    assert "first checkpoint" in said(tmp_path / "early.h5")


def test_a_stopped_run_is_shown_up_to_its_last_checkpoint(tmp_path):
    path = tmp_path / "stopped.h5"
    record(path, plane_scene(), upto=12, finish=False)
    opened = open_runs([path])
    assert len(opened.runs[0].times) == 13
    assert "stopped" in opened.remarks[0] and "time 1.2 of 3" in opened.remarks[0]
    assert opened.runs[0].at(12).time == pytest.approx(1.2)
    opened.close()


def test_of_two_files_the_readable_one_is_shown(tmp_path, run):
    bad = tmp_path / "bad.h5"
    bad.write_bytes(b"nothing of use")
    opened = open_runs([bad, run])
    assert [frames.path for frames in opened.runs] == [run]
    assert "not an HDF5 file" in opened.remarks[0] and "shown alone" in opened.remarks[0]
    opened.close()


def test_2d_and_3d_runs_are_not_shown_together(tmp_path, run):
    other = tmp_path / "space.h5"
    record(other, space_scene())
    assert "two 2D runs, or two 3D runs" in said(run, other)
    assert "one file, or two" in said(run, run, run)


def test_a_damaged_frame_is_told_and_an_earlier_one_shown(run, monkeypatch):
    frames = Frames(run)
    read = frames._read

    def broken(i):
        if i > 20:
            raise ProblemError("trajectory", "run.h5", "bytes", "damaged")
        return read(i)

    monkeypatch.setattr(frames, "_read", broken)
    assert frames.at(25).number == 20
    assert frames.problem == "frame 21 cannot be read; an earlier one is shown"
    frames.run.close()


def test_a_run_that_goes_on_is_followed(tmp_path):
    from tests.draw.viewer.made_runs import FRAMES, STEP, _moved, _row

    from carom.build import build
    from carom.settings import Settings

    scene, path = plane_scene(), tmp_path / "live.h5"
    world, state = build(scene, check_overlap=False)
    recorder = Recorder.create(
        path, scene, world, state, Settings("gr", (), None, None, "synchronous", STEP, FRAMES, 1, False)
    )
    frames = None
    for number in range(FRAMES + 1):
        state = _moved(state, 2, number) if number else state
        recorder.step(_row(state, 2))
        recorder.frame(state)
        if number % 5 == 0:
            recorder.checkpoint(state, {})
            if frames is None:
                frames = Frames(path)
                assert frames.running
            frames.refresh()
            assert len(frames.times) == number + 1
            assert (frames.at(number).position == state.position).all()
            assert frames.run.velocities[number].shape == (5, 2)
    recorder.finish(state).close()
    frames.refresh()
    assert frames.run.finished and not frames.running
    frames.run.close()


def test_a_port_that_is_taken_leads_to_the_next():
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert port < free_port("127.0.0.1", port) < port + 100
    assert free_port("127.0.0.1", port) == port


@pytest.mark.parametrize(
    ("host", "port"), [("no.such.host.invalid", 8080), ("127.0.0.1", 65536), ("203.0.113.7", 8080)]
)
def test_a_wrong_address_is_refused(host, port):
    with pytest.raises(ProblemError, match=r"--host|--port"):
        free_port(host, port)


def test_without_viser_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    server = importlib.import_module("carom.draw.viewer.server")
    with pytest.raises(ProblemError, match=r"pip install '\.\[view\]' in a clone"):
        server.need_viser()


def test_a_missing_file_is_named_before_a_missing_viser(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ProblemError, match=r"missing\.h5"), viewing(["missing.h5"]):
        pass

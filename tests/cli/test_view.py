"""`carom view` and `carom run --view` as processes: addresses, ports, signals."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from tests.draw.viewer.made_runs import plane_scene, record

import carom

pytest.importorskip("viser")
COMMAND = [sys.executable, "-m", "carom", "view", "--no-browser"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(carom.__file__)), "COLUMNS": "200"}


@pytest.fixture
def run(tmp_path):
    record(tmp_path / "run.h5", plane_scene())
    return tmp_path / "run.h5"


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def started(path, port):
    process = subprocess.Popen(
        [*COMMAND, "--port", str(port), str(path)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell in the background would have it ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    address = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address), (address, process.stderr.read() if not address else "")
    return process, address


@pytest.mark.skipif(os.name == "nt", reason="signals as on POSIX")
def test_it_tells_its_address_takes_the_next_port_and_frees_it_on_ctrl_c(run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process, address = started(run, port)
        found = int(address.rsplit(":", 1)[1])
    try:
        assert found > port
        with urllib.request.urlopen(address, timeout=120) as answer:
            assert b"<html" in answer.read(2000)
    finally:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out == "" and "Traceback" not in err
    assert is_free(found)


def test_a_file_that_cannot_be_shown_is_one_line(carom, tmp_path):
    bad = tmp_path / "bad.h5"
    bad.write_bytes(b"")
    for path in (bad, tmp_path / "none.h5"):
        ended = carom("view", path, "--no-browser")
        assert ended.code == 2 and ended.out == ""
        assert ended.err.startswith("carom: ") and ended.err.count("\n") == 1


def test_without_viser_both_commands_say_how_to_get_it(carom, run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    output = tmp_path / "new.h5"
    for arguments in (("view", run), ("run", "newtons_cradle", "--view", "-o", output)):
        ended = carom(*arguments)
        assert ended.code == 2 and "pip install '.[view]' in a clone" in ended.err and ended.err.count("\n") == 1
    assert not output.exists()


@pytest.mark.long
def test_a_viewer_beside_a_run_may_die(run, capfd):
    from carom.cli.view import LiveView

    told = []
    viewer = LiveView(run)
    tell = viewer.beside(told.append)
    tell("first")
    process = viewer._process
    end = time.monotonic() + 600.0
    while "http://127.0.0.1" not in (text := capfd.readouterr().err):
        assert time.monotonic() < end and process.poll() is None, text
        time.sleep(0.1)
    process.kill()
    process.wait()
    tell("second")
    assert told == ["first", "second"]
    viewer.wait()
    viewer.close()
    assert viewer._process is process  # it is not started again

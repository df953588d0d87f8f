"""The server of the play page over HTTP: files, JSON errors, ports, and who may ask."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

import carom
from carom.errors import ProblemError
from carom.play import jobs, open_server
from carom.play.jobs import Jobs
from carom.play.server import LARGEST_REQUEST, PAGE
from carom.play.sliders import RESTITUTION


@pytest.fixture(scope="module")
def server():
    made = open_server(port=0)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.close()


def ask(server, path, body=None, headers=None):
    """Status, and the JSON or the bytes of the answer."""
    given = {"Content-Type": "application/json", **(headers or {})} if body is not None else headers or {}
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.address + path, data, given)
    try:
        with urllib.request.urlopen(request, timeout=240) as answer:
            status, kind, content = answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        status, kind, content = error.code, error.headers["Content-Type"], error.read()
    return status, json.loads(content) if kind == "application/json" else content


def test_the_page_needs_nothing_from_elsewhere(server):
    for path in PAGE:
        status, content = ask(server, path)
        assert status == 200 and content
        text = content.decode()
        outside = [word for word in ("https://", "http://", "//cdn") if word in text.replace("http://www.w3.org/", "")]
        assert not outside, f"{path} asks for {outside}"


def test_the_velocities_of_an_answer_are_those_of_solve_impact(server):
    request = {"scene": "cradle", "laws": ["gr", "lcp"], "parameters": {"restitution": 0.7, "balls": 4}}
    status, data = ask(server, "/api/impact", request)
    assert status == 200
    problem = carom.ImpactProblem.chain([1] * 4, [1, 0, 0, 0], restitution=0.7)
    for result in data["results"]:
        exact = carom.solve_impact(problem, result["law"]).velocity
        assert [row[0] for row in result["velocity"]] == exact.tolist()


def test_start_lists_scenes_laws_and_meanings(server):
    _, start = ask(server, "/api/start")
    assert [law["name"] for law in start["laws"]] == carom.laws.names()
    assert [group["title"] for group in start["groups"]] == ["One impact", "Runs in 2D", "Runs in 3D"]
    assert [d["key"] for d in start["desiderata"]] == ["BRK", "SYM", "KIN", "MOM", "ONE", "WAV", "FEA"]


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "message"),
    [
        ("/api/impact", {"scene": "cradle", "laws": ["gr"], "parameters": {"balls": 99}}, {}, 400, "from 2 to 9"),
        ("/api/impact", b"{", {}, 400, "not JSON"),
        ("/api/outcomes", {"scene": "cradle", "laws": ["grr"], "parameters": {}}, {}, 400, "grr"),
        ("/api/impact", b"[" * 5000, {}, 400, "not JSON"),
        ("/api/impact", [1], {}, 400, "must be an object"),
        ("/api/impact", {}, {"Content-Type": "text/plain"}, 400, "application/json"),
        ("/api/impact", b" " * (LARGEST_REQUEST + 1), {}, 400, "at most"),
        ("/api/impact", {}, {"Host": "evil.example:80"}, 400, "its own address"),
        ("/api/runs", {"scene": "gas", "laws": ["gr"], "parameters": {"side": 10_000}}, {}, 400, "from 2 to 16"),
        ("/api/nothing", {}, {}, 404, "nothing at"),
        ("/api/runs/12345", None, {}, 400, "still keeps"),
        ("/api/runs/12345/result", None, {}, 400, "still keeps"),
        ("/api/runs/x", None, {}, 404, "nothing at"),
        ("/../server.py", None, {}, 404, "nothing at"),
        ("/page/index.html", None, {}, 404, "nothing at"),
    ],
)
def test_bad_requests_get_json_errors(server, path, body, headers, status, message):
    got, data = ask(server, path, body, headers)
    assert got == status and message in data["error"], data


def test_a_run_goes_through_http(server):
    parameters = {"duration": 0.5}
    status, job = ask(server, "/api/runs", {"scene": "newtons_cradle", "laws": ["gr"], "parameters": parameters})
    assert status == 200 and job["state"] in ("waiting", "running", "done")
    while job["state"] in ("waiting", "running"):
        _, job = ask(server, f"/api/runs/{job['id']}")
    status, data = ask(server, f"/api/runs/{job['id']}/result")
    assert status == 200 and data["scene"] == "newtons_cradle" and data["results"][0]["ticks"]
    status, job = ask(server, f"/api/runs/{job['id']}/stop", {})
    assert status == 200 and job["state"] == "done"  # too late, and no harm


def test_a_port_in_use_gives_the_next_one():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = open_server(port=port)
        assert port < server.server_address[1] <= port + 50
        server.close()


@pytest.mark.parametrize(("host", "port", "field"), [("127.0.0.1", 70_000, "--port"), ("no.such.host", 0, "--host")])
def test_bad_addresses_are_refused(host, port, field):
    with pytest.raises(ProblemError) as refusal:
        open_server(host, port)
    assert refusal.value.field == field


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process there")
def test_the_command_says_its_address_and_frees_its_port():
    command = [sys.executable, "-m", "carom", "play", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        address = line.split()[-1]
        port = int(address.rsplit(":", 1)[1])
        with urllib.request.urlopen(address, timeout=120) as page:
            assert b"Carom" in page.read()
        process.send_signal(signal.SIGINT)
        _, remarks = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0 and "the port is free again" in remarks and "Traceback" not in remarks
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


def test_pages_of_other_sites_are_refused(server):
    body = {"lesson": "none"}
    for headers in ({"Origin": "http://elsewhere.example"}, {"Host": "elsewhere.example"}, {"Origin": "null"}):
        status, answer = ask(server, "/api/impact", body, headers)
        assert status == 400 and "its own address" in answer["error"]
    status, answer = ask(server, "/api/impact", body, {"Origin": server.address})
    assert "its own address" not in answer["error"]


@pytest.mark.parametrize("path", [*PAGE, "/api/start", "/api/compiling", "/nothing"])
def test_nothing_is_answered_to_another_address(server, path):
    """The page itself neither: a site elsewhere can give its own name the address of this machine."""
    status, answer = ask(server, path, headers={"Host": "elsewhere.example"})
    assert status == 400 and "its own address" in answer["error"]


def test_a_number_too_large_for_a_float_gets_a_message():
    with pytest.raises(ProblemError, match=r"restitution.*from 0 to 1"):
        RESTITUTION.check(10**400)


def test_a_job_whose_page_is_gone_is_stopped(monkeypatch):
    """A job nobody asks about stops at its next report; one that is asked about goes on."""
    made = Jobs()
    monkeypatch.setattr(jobs, "ABANDONED", -1.0)
    job = made.add(lambda tell: tell("one step", 0.5) or {})
    made.close()
    made._thread.join(120)
    assert job.state == "stopped"

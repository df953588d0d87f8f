"""Requests of strangers to `carom play` on loopback: a clear refusal, and the next visitor is served."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from carom.play import open_server
from carom.play.server import CONNECTIONS, LARGEST_REQUEST, PAGE, PlayServer

from .campaign import Campaign
from .mutations import NASTY_NUMBERS, chosen, damaged_bytes, damaged_text, damaged_tree

PATIENCE = 10.0  # seconds of wall time for an answer, on a busy machine
LONGEST = 1000  # bytes of a refusal

STRANGERS = ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.2", "[::2]", "", "null", "é")
PATHS = (
    *PAGE, "/api/start", "/api/impact", "/api/runs", "/api/runs/1", "/api/runs/1/stop", "/api/runs/1/result",
    "/../server.py", "/%2e%2e/server.py", "//etc/passwd", "/page/index.html", "/api/runs/-1", "/api/runs/" + "9" * 5000,
    "/?" + "x" * 70_000, "\\..\\server.py", "http://evil.example/api/start", "*", "",
)  # fmt: skip
METHODS = ("GET", "GET", "POST", "POST", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "get", "", "\0")
TYPES = ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-7", "", "é")
BODIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/api/impact", {"scene": "cradle", "laws": ["gr", "lcp"], "parameters": {"restitution": 0.5, "balls": 4}}),
    ("/api/runs", {"scene": "newtons_cradle", "laws": ["gr"], "parameters": {"duration": 0.5, "balls": 3}}),
    ("/api/runs/1/stop", {}),
)


class Case(NamedTuple):
    """Bytes that are sent, in pieces with pauses, by a number of clients that may leave without reading an answer."""

    kind: str
    data: bytes
    cuts: tuple[int, ...] = ()
    clients: int = 1
    leaves: bool = False


class Servers(Campaign):
    title = "requests of strangers to a server: refused, and the next visitor is served"
    quick = 40
    limit_seconds = 5.0

    def case(self, rng: np.random.Generator) -> Case:
        made: Case = chosen(rng, (_foreign, _body, _body, _header, _line, _noise, _slow, _many))(rng)
        return made

    def check(self, case: Case, folder: Path) -> str | None:
        server, faults = served()
        before = _jobs(server)
        with contextlib.ExitStack() as opened:
            clients = [opened.enter_context(_client(server)) for _ in range(case.clients)]
            for client in clients:
                _sent(client, case)
            if len(clients) < CONNECTIONS - 1 and (wrong := _visitor(server)):
                return f"beside {len(clients)} others {wrong}"
            answer = b"" if case.leaves else _received(clients[0])
        wrong = _wrong(case, answer) or _visitor(server)
        if case.kind == "foreign" and _jobs(server) != before:
            wrong = "foreign: the request of another site started a run"
        for number in _jobs(server):
            server.api.jobs.stop(number)
        if faults:
            wrong = f"traceback: {faults.pop()}"
        return wrong

    def group(self, case: Case) -> str:
        return case.kind


def _request(line: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    told = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{line}\r\n{told}\r\n".encode("latin-1", "replace") + body


def _headers(body: bytes) -> dict[str, str]:
    return {"Host": "localhost", "Content-Type": "application/json", "Content-Length": str(len(body))}


def _foreign(rng: np.random.Generator) -> Case:
    """A good request for a page of another site, or under another name of this machine."""
    path, request = chosen(rng, BODIES[:2])
    body = json.dumps(request).encode()
    headers = _headers(body)
    if rng.random() < 0.5:
        headers["Host"] = chosen(rng, STRANGERS)
    else:
        headers["Origin"] = chosen(rng, ("", "http://", "https://", "file://")) + chosen(rng, STRANGERS)
    return Case("foreign", _request(f"POST {path} HTTP/1.1", headers, body))


def _body(rng: np.random.Generator) -> Case:
    """A damaged body."""
    path, request = chosen(rng, BODIES)
    tree = damaged_tree(rng, request)
    with contextlib.suppress(ValueError):  # Python writes no integers of more than 4,300 digits
        text = json.dumps(tree)
        body = (damaged_text(rng, text, "[") if rng.random() < 0.5 else text).encode(errors="replace")
        return Case("body", _request(f"POST {path} HTTP/1.1", _headers(body), body))
    return _body(rng)


def _header(rng: np.random.Generator) -> Case:
    """Headers that lie about the body, and bodies beyond the limit."""
    path, request = chosen(rng, BODIES)
    body = json.dumps(request).encode() + b" " * int(chosen(rng, (0, 0, LARGEST_REQUEST, 1_000_000)))
    headers = _headers(body)
    kind = int(rng.integers(5))
    if kind == 0:
        headers["Content-Length"] = chosen(rng, (*NASTY_NUMBERS, "", "²", "+5", "5, 5", "-5", "5 5"))
    elif kind == 1:
        headers["Content-Type"] = chosen(rng, TYPES)
    elif kind == 2:
        del headers[chosen(rng, list(headers))]
        headers["Transfer-Encoding"] = "chunked"
    elif kind == 3:
        headers |= {f"X-{k}": "x" for k in range(int(chosen(rng, (50, 99, 100, 5000))))}
    else:
        headers["Expect"] = "100-continue"
        headers["X"] = "x" * int(chosen(rng, (1, 65_000, 70_000)))
    return Case("headers", _request(f"POST {path} HTTP/1.1", headers, body))


def _line(rng: np.random.Generator) -> Case:
    """Other methods, paths and versions."""
    version = chosen(rng, ("HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/9", "HTTP/1.1.1", ""))
    body = b"{}"
    return Case("line", _request(f"{chosen(rng, METHODS)} {chosen(rng, PATHS)} {version}", _headers(body), body))


def _noise(rng: np.random.Generator) -> Case:
    """Damaged bytes of a request, or bytes that are none."""
    good = _foreign(rng).data if rng.random() < 0.5 else _body(rng).data
    return Case("noise", damaged_bytes(rng, good) if rng.random() < 0.8 else rng.bytes(int(rng.integers(1, 5000))))


def _slow(rng: np.random.Generator) -> Case:
    """A request in pieces, of which the last ones may never come."""
    data = _body(rng).data
    cuts = tuple(sorted(int(rng.integers(len(data))) for _ in range(int(rng.integers(1, 6)))))
    return Case("slow", data, cuts, leaves=bool(rng.random() < 0.5))


def _many(rng: np.random.Generator) -> Case:
    """Many clients at the same time that say nothing, or half of a request."""
    data = _body(rng).data
    clients = int(chosen(rng, (5, 30, CONNECTIONS - 2, CONNECTIONS + 30)))
    return Case("many", data[: int(rng.integers(len(data)))], clients=clients, leaves=True)


@cache
def served() -> tuple[PlayServer, list[str]]:
    """A server in a thread of this process, and the list of its unexpected errors."""
    server, faults = open_server(port=0), []

    def told(*_: Any) -> None:
        if not isinstance(error := sys.exc_info()[1], ConnectionError):  # of clients that left
            faults.append(repr(error))

    server.handle_error = told  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, faults


def _jobs(server: PlayServer) -> list[int]:
    return list(server.api.jobs._jobs)


def _client(server: PlayServer) -> socket.socket:
    client = socket.create_connection(server.server_address[:2], timeout=PATIENCE)
    client.settimeout(PATIENCE)
    return client


def _sent(client: socket.socket, case: Case) -> None:
    """Sends all pieces; a client that leaves keeps the last piece. The server may have closed the connection."""
    pieces = np.split(np.frombuffer(case.data, np.uint8), case.cuts)
    with contextlib.suppress(ConnectionError):
        for piece in pieces[:-1] if case.cuts and case.leaves else pieces:
            client.sendall(piece.tobytes())
            if case.cuts:
                time.sleep(0.01)
    if not case.leaves:
        with contextlib.suppress(OSError):  # not connected any more
            client.shutdown(socket.SHUT_WR)


def _received(client: socket.socket) -> bytes:
    """The answer; nothing if the server closed the connection. TimeoutError after PATIENCE."""
    answer = b""
    with contextlib.suppress(ConnectionError):
        while more := client.recv(1 << 16):
            answer += more
    return answer


def _wrong(case: Case, answer: bytes) -> str | None:
    """What is wrong with an answer: another site is served, an error of the server, a refusal that is too long."""
    answer = answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    status = answer[9:12].decode(errors="replace") if answer.startswith(b"HTTP/1.") else ""
    if case.kind == "foreign" and b"its own address" not in answer:
        return f"foreign: the request of another site is answered with {status}"
    if status == "500":
        return f"error: {answer[-300:]!r}"
    if status.startswith("4") and len(answer.partition(b"\r\n\r\n")[2].partition(b"HTTP/1.")[0]) > LONGEST:
        return f"long: a refusal of {len(answer)} bytes"
    return None


def _visitor(server: PlayServer) -> str | None:
    """Whether a visitor gets the page; connections of others that have just closed may take the server a moment."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with _client(server) as client:
            with contextlib.suppress(ConnectionError):
                client.sendall(_request("GET /icon.svg HTTP/1.1", {"Host": "localhost", "Connection": "close"}))
            if b"<svg" in _received(client):
                return None
        time.sleep(0.05)
    return "blocked: a visitor gets no page"


CAMPAIGN = Servers()

"""The web server of the play page, on the standard library: the files of the page and the requests of `Api`."""

from __future__ import annotations

import json
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from ..errors import ProblemError
from ..files import json_text
from ..ports import LOOPBACK, address, is_own_page, on_free_port
from .api import Api

PORT = 8090
LARGEST_REQUEST = 16_384  # bytes of a request
CONNECTIONS = 64  # at the same time; each has a thread

PAGE = {  # no other files are served
    "/": ("index.html", "text/html; charset=utf-8"),
    "/play.css": ("play.css", "text/css; charset=utf-8"),
    "/play.js": ("play.js", "text/javascript; charset=utf-8"),
    "/controls.js": ("controls.js", "text/javascript; charset=utf-8"),
    "/results.js": ("results.js", "text/javascript; charset=utf-8"),
    "/drawing2d.js": ("drawing2d.js", "text/javascript; charset=utf-8"),
    "/drawing3d.js": ("drawing3d.js", "text/javascript; charset=utf-8"),
    "/three.min.js": ("three.min.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}


class PlayServer(ThreadingHTTPServer):
    """A server that listens from its creation on; `serve_forever` answers requests."""

    daemon_threads = True
    request_queue_size = CONNECTIONS  # with the usual 5, a visitor beside many others waits for seconds
    # On Windows this would let two servers share a port; elsewhere it allows the immediate reuse of a port.
    allow_reuse_address = sys.platform != "win32"

    def __init__(self, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), Handler)
        self.host, self.api = host, Api()
        self._free = threading.BoundedSemaphore(CONNECTIONS)

    @property
    def address(self) -> str:
        """URL of the page for a browser on this machine."""
        return address(self.host, int(self.server_address[1]))

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers in a thread of its own; beyond CONNECTIONS at the same time, connections are closed at once."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def close(self) -> None:
        """Stops all runs and frees the port."""
        self.api.close()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores browsers that close the connection during an answer."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def open_server(host: str = LOOPBACK, port: int = PORT) -> PlayServer:
    """A server on `port`, or the next free one; 0 lets the system choose."""
    return on_free_port(PlayServer, host, port)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: PlayServer
    server_version = "carom-play"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds that an idle connection keeps its thread

    def parse_request(self) -> bool:
        """Refuses requests to another address and from pages of other sites, whatever they ask for."""
        if not super().parse_request():
            return False
        own = is_own_page(self.server.host, self.headers.get("Host", ""), self.headers.get("Origin"))
        if not own:
            self._refuse("this server answers requests to its own address only")
        return own

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path in PAGE:
            name, kind = PAGE[path]
            self._send(HTTPStatus.OK, (files(__package__) / "page" / name).read_bytes(), kind)
        elif path == "/api/start":
            self._answer(self.server.api.start)
        elif path == "/api/compiling":
            self._answer(self.server.api.compilation.to_dict)
        elif (asked := _run_number(path, "")) is not None:
            self._answer(partial(self.server.api.run_state, asked))
        elif (done := _run_number(path, "/result")) is not None:
            self._answer(partial(_result, self.server.api, done))
        else:
            self._error(HTTPStatus.NOT_FOUND, f"there is nothing at {path[:200]}")

    def do_POST(self) -> None:
        path = self.path
        api = self.server.api
        if path == "/api/impact":
            self._with_body(api.impact)
        elif path == "/api/outcomes":
            self._with_body(api.outcomes)
        elif path == "/api/runs":
            self._with_body(api.run)
        elif (number := _run_number(path, "/stop")) is not None:
            self._with_body(lambda _: api.jobs.stop(number).to_dict())
        else:
            self.close_connection = True
            self._error(HTTPStatus.NOT_FOUND, f"there is nothing at {path[:200]}")

    def _with_body(self, act: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Reads the JSON of a request. Requiring its type also keeps out forms of other pages."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json":
            return self._refuse("Content-Type must be application/json")
        if (number := _number(length)) is None or number > LARGEST_REQUEST:
            return self._refuse(f"a request must state its length, which is at most {LARGEST_REQUEST} bytes")
        try:
            body = json.loads(self.rfile.read(number))
        except (ValueError, RecursionError):
            return self._refuse("the request is not JSON")
        if not isinstance(body, dict):
            return self._refuse("the request must be an object")
        return self._answer(lambda: act(body))

    def _answer(self, act: Callable[[], dict[str, Any]]) -> None:
        try:
            text = json_text(act())
        except ProblemError as refusal:
            self._error(HTTPStatus.BAD_REQUEST, str(refusal), refusal.field)
        except ConnectionError:
            raise
        except Exception as fault:
            traceback.print_exc()
            self._error(HTTPStatus.INTERNAL_SERVER_ERROR, f"an error in Carom: {type(fault).__name__}: {fault}")
        else:
            self._send(HTTPStatus.OK, text.encode(), "application/json")

    def _refuse(self, message: str) -> None:
        self.close_connection = True  # its body may not have been read
        self._error(HTTPStatus.BAD_REQUEST, message)

    def _error(self, status: HTTPStatus, message: str, field: str = "") -> None:
        self._send(status, json.dumps({"error": message, "field": field}).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", "default-src 'self'")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Does not log requests."""


def _run_number(path: str, ending: str) -> int | None:
    """7 for `/api/runs/7` and the ending; None for everything else."""
    if not (path.startswith("/api/runs/") and path.endswith(ending)):
        return None
    return _number(path[len("/api/runs/") : len(path) - len(ending)])


def _number(text: str) -> int | None:
    """A whole number of one to nine digits; `int` would accept more and raise an error for some digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _result(api: Api, number: int) -> dict[str, Any]:
    job = api.jobs.job(number)
    if job.result is None:
        raise ProblemError("run", f"{number}, which is {job.state}", "a run that is done")
    return job.result

"""The web server of the viewer: viser without its own messages, on a free port."""

from __future__ import annotations

import gzip
import io
import logging
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Any

from ...errors import ProblemError
from ...ports import address, is_own_page, on_free_port

PORT = 8080
EXTRA = "pip install '.[view]' in a clone of Carom, or pip install viser"
TITLE = "Carom"
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Ccircle cx='7' cy='16' r='6' "
    "fill='%23e69f00'/%3E%3Ccircle cx='23' cy='9' r='6' fill='%230072b2'/%3E%3Ccircle cx='23' cy='23' r='6' "
    "fill='%230072b2'/%3E%3C/svg%3E"
)
# In windows below 36 em viser puts the panel below the picture, but keeps its width of 20 em.
NARROW = (
    "@media (max-width: 36em) { div[style*='width: 20em'] { width: 100% !important; } "
    ".mantine-Paper-root:has(div[style*='width: 20em']) { left: 0 !important; width: 100% !important; } }"
)


def need_viser() -> Any:
    """The package viser; the error says how to install it."""
    try:
        import viser
    except ImportError as error:
        if error.name not in (None, "viser"):  # installed, but one of its dependencies is missing
            raise
        missing = f"the viewer needs the package viser: {EXTRA}"
        raise ProblemError("viser", "not installed", EXTRA, missing) from None
    return viser


def free_port(host: str, port: int) -> int:
    """The first free port from `port` on; 0 lets the system choose."""
    return on_free_port(_bound, host, port)


def _bound(host: str, port: int) -> int:
    """Binds the port on every address of the host and releases it; returns its number."""
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, kind, protocol, _, place in found:
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server itself does
            probe.bind((place[0], port, *place[2:]))
            port = int(probe.getsockname()[1])
    return port


def open_server(host: str, port: int, label: str) -> Any:
    """Starts a server. Its own messages are dropped."""
    viser = need_viser()
    chosen = free_port(host, port)
    with _silence(), _own_pages(host):
        return viser.ViserServer(host=host, port=chosen, label=label, verbose=False)


@contextmanager
def _own_pages(host: str) -> Iterator[None]:
    """Servers that start in this block refuse requests of other sites' pages, and give the page its own title.

    viser accepts every connection and has options for neither; it passes its handlers to `serve` of websockets. That
    library reports requests that it cannot read with a traceback; its log is dropped.
    """
    from websockets.asyncio import server

    serve = server.serve

    def guarded(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        def check(connection: Any, request: Any) -> Any:
            headers = request.headers
            if not is_own_page(host, headers.get("Host", ""), headers.get("Origin")):
                return connection.respond(HTTPStatus.FORBIDDEN, "this server answers its own page only\n")
            answer = process_request(connection, request) if process_request is not None else None
            if answer is not None and answer.headers.get("Content-Type", "").startswith("text/html"):
                answer.body = _titled(answer.body, answer.headers.get("Content-Encoding", "") == "gzip")
                del answer.headers["Content-Length"]
                answer.headers["Content-Length"] = str(len(answer.body))
            return answer

        return serve(*arguments, process_request=check, **{"logger": _no_log(), **options})

    server.serve = guarded  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        server.serve = serve  # type: ignore[misc]


@cache
def _no_log() -> logging.Logger:
    """A log that nothing reads."""
    log = logging.getLogger("carom.viewer.connections")
    log.addHandler(logging.NullHandler())
    log.propagate = False
    return log


@lru_cache(maxsize=2)
def _titled(page: bytes, zipped: bool) -> bytes:
    """The page of viser with the title and the icon of Carom in the tab of the browser, and a panel that fits."""
    text = gzip.decompress(page) if zipped else page
    text = re.sub(rb"<title>.*?</title>", f"<title>{TITLE}</title>".encode(), text, count=1)
    text = text.replace(b"</head>", f"<style>{NARROW}</style></head>".encode(), 1)
    text = re.sub(rb'(<link\s+rel="icon"\s+href=")[^"]*', lambda found: found[1] + ICON.encode(), text, count=1)
    return gzip.compress(text) if zipped else text


def close_server(server: Any) -> None:
    """Closes all connections and frees the port."""
    with _silence():
        server.stop()


def address_of(server: Any) -> str:
    """The address of the page for a browser on this machine."""
    return address(server.get_host(), server.get_port())


@contextmanager
def _silence() -> Iterator[None]:
    """Drops what is printed while the block runs, also by other threads."""
    with redirect_stdout(io.StringIO()):
        yield

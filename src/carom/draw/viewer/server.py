"""The web server of the viewer: viser without its own messages, on a free port."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from http import HTTPStatus
from typing import Any

from ...errors import ProblemError
from ...ports import address, is_own_page, on_free_port

PORT = 8080
EXTRA = "pip install '.[view]' in a clone of Carom, or pip install viser"


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
    with _silence(), _own_pages_only(host):
        return viser.ViserServer(host=host, port=chosen, label=label, verbose=False)


@contextmanager
def _own_pages_only(host: str) -> Iterator[None]:
    """Servers that start in this block refuse requests of other sites' pages.

    viser accepts every connection and has no option for this; it passes its handlers to `serve` of websockets.
    """
    from websockets.asyncio import server

    serve = server.serve

    def guarded(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        def check(connection: Any, request: Any) -> Any:
            headers = request.headers
            if not is_own_page(host, headers.get("Host", ""), headers.get("Origin")):
                return connection.respond(HTTPStatus.FORBIDDEN, "this server answers its own page only\n")
            return process_request(connection, request) if process_request is not None else None

        return serve(*arguments, process_request=check, **options)

    server.serve = guarded  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        server.serve = serve  # type: ignore[misc]


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

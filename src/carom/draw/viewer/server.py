"""The server of a page: viser, made quiet, on a port that is free; loopback unless told otherwise."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from ...errors import ProblemError
from ...ports import address, on_free_port

PORT = 8080


def need_viser() -> Any:
    """The package, or one line that says how to get it."""
    try:
        import viser
    except ImportError as error:
        if error.name not in (None, "viser"):  # there, but without something that it needs
            raise
        text = "the viewer needs the package viser: pip install 'carom[view]'"
        raise ProblemError("viser", "not installed", "pip install 'carom[view]'", text) from None
    return viser


def free_port(host: str, port: int) -> int:
    """The first port from `port` on that nobody listens to; 0 lets the system choose."""
    return on_free_port(_bound, host, port)


def _bound(host: str, port: int) -> int:
    """Takes the port for an instant on every address of the host, and gives it back."""
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, kind, protocol, _, place in found:
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server itself does
            probe.bind((place[0], port, *place[2:]))
            port = int(probe.getsockname()[1])
    return port


def open_server(host: str, port: int, label: str) -> Any:
    """A server that listens. Its own messages are dropped: the command says what matters."""
    viser = need_viser()
    chosen = free_port(host, port)
    with _silence():
        return viser.ViserServer(host=host, port=chosen, label=label, verbose=False)


def close_server(server: Any) -> None:
    """Ends all connections and frees the port."""
    with _silence():
        server.stop()


def address_of(server: Any) -> str:
    """Where a browser on this machine finds the page."""
    return address(server.get_host(), server.get_port())


@contextmanager
def _silence() -> Iterator[None]:
    """What is printed in the block is dropped, by other threads too."""
    with redirect_stdout(io.StringIO()):
        yield

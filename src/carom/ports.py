"""Ports and addresses of web pages on this machine."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from typing import TypeVar

from .errors import ProblemError

LOOPBACK = "127.0.0.1"
HERE = {"localhost", "127.0.0.1", "::1"}  # names of this machine in requests to it
EVERYWHERE = ("0.0.0.0", "::", "")
TRIES = 100  # number of consecutive ports that are tried

Taken = TypeVar("Taken")


def on_free_port(take: Callable[[str, int], Taken], host: str, port: int) -> Taken:
    """The result of `take(host, port)` for the first free port from `port` on; 0 lets the system choose."""
    if not 0 <= port <= 65535:
        raise ProblemError("--port", port, "a whole number from 0 to 65535")
    for wanted in range(port, min(port + TRIES, 65536)):
        try:
            return take(host, wanted)
        except socket.gaierror:
            raise ProblemError("--host", host, "an address or name of this machine") from None
        except OSError as error:
            if error.errno == errno.EACCES:
                raise ProblemError("--port", port, "1024 or above: lower ports are reserved") from None
            if error.errno != errno.EADDRINUSE:
                raise ProblemError("--host", host, f"an address of this machine ({error.strerror})") from None
    raise ProblemError("--port", port, f"a port such that one of the {TRIES} ports from it on is free")


def is_own_page(bound: str, host: str, origin: str | None) -> bool:
    """Whether a request comes from a page of this server, or from no page; other sites could read or control it.

    `bound` is the address that the server listens on; `host` and `origin` are headers of the request. On loopback
    `host` must be a name of this machine: a page elsewhere can give its own name this machine's address.
    """
    if bound in HERE and _name(host) not in HERE:
        return False
    return origin is None or origin.partition("://")[2].lower() == host.lower()


def _name(host: str) -> str:
    """The name in `name:port`, in lower case and without brackets."""
    name = host.rsplit(":", 1)[0] if host.rpartition(":")[2].isdigit() and not host.endswith("]") else host
    return name.strip("[]").lower()


def address(host: str, port: int) -> str:
    """URL for a browser on this machine."""
    name = "localhost" if host in EVERYWHERE else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"

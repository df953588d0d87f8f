"""Ports and addresses of web pages on this machine."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from typing import TypeVar

from .errors import ProblemError

LOOPBACK = "127.0.0.1"
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


def address(host: str, port: int) -> str:
    """URL for a browser on this machine."""
    name = "localhost" if host in EVERYWHERE else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"

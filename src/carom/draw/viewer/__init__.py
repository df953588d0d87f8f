"""The viewer: a web page that shows recorded runs. `carom view` is the command.

with viewing(["run.h5"]) as viewer:
    print(viewer.address)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...trajectory import Trajectory
    from .page import Page

__all__ = ["Viewer", "viewing"]


@dataclass(frozen=True, eq=False)
class Viewer:
    """A page that is served."""

    page: Page
    server: Any
    address: str
    remarks: list[str]  # problems of the files, and what is shown of them


@contextmanager
def viewing(
    runs: Sequence[str | Path | Trajectory], host: str = "127.0.0.1", port: int = 8080, play: bool = True
) -> Iterator[Viewer]:
    """Serves a page that shows one run, or two side by side, while the block runs.

    `runs` are files or open runs; the latter stay open. If `port` is in use, the next free port is taken;
    `Viewer.address` contains it. Other machines can open the page only if `host` is an address that they reach, such
    as "0.0.0.0" for all addresses of this machine.
    """
    from .runs import open_runs
    from .server import TITLE, address_of, close_server, open_server

    opened = open_runs(runs)
    try:
        server = open_server(host, port, TITLE)
        try:
            from .page import Page

            page = Page(server, opened.runs, opened.remarks, play)
            try:
                yield Viewer(page, server, address_of(server), opened.remarks)
            finally:
                page.close()
        finally:
            close_server(server)
    finally:
        opened.close()

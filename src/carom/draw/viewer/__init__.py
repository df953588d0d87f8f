"""The viewer: a web page that shows recorded runs. It reads trajectories and nothing else; `carom view` opens it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .page import Page

__all__ = ["Viewer", "viewing"]


@dataclass(frozen=True, eq=False)
class Viewer:
    """A page that is being served."""

    page: Page
    server: Any
    address: str
    remarks: list[str]  # what is wrong with the files, and what of them is shown


@contextmanager
def viewing(
    paths: Sequence[str | Path], host: str = "127.0.0.1", port: int = 8080, play: bool = True
) -> Iterator[Viewer]:
    """Serves a page that shows one run, or two side by side, while the block runs; its port is free afterwards.

    If `port` is in use, the next free one is taken; `Viewer.address` tells. Other machines can see the page only if
    `host` is an address of this one that they reach, such as "0.0.0.0" for all of them.
    """
    from .opening import open_runs
    from .server import address_of, close_server, need_viser, open_server

    need_viser()
    opened = open_runs(paths)
    try:
        server = open_server(host, port, "Carom")
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

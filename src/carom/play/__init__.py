"""The play page for teaching: impacts and runs with sliders, laws side by side, served by a small web server."""

from __future__ import annotations

from .server import PlayServer, open_server

__all__ = ["PlayServer", "open_server"]

"""The play page: a lesson or a scene, some laws, sliders, and at once what happens. A small server of its own."""

from __future__ import annotations

from .server import PlayServer, open_server

__all__ = ["PlayServer", "open_server"]

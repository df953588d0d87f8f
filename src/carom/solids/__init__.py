"""Solids of space: from the shapes of a scene to mass properties and to the tables that contact detection reads."""

from __future__ import annotations

from .tables import Properties, make_solids

__all__ = ["Properties", "make_solids"]

"""Towers of bricks without friction: stability, initial collapse and collapse.

The methods are those of G. Rote and U. Zwick, "Collapse", SODA 2011, called "the paper" in this package. The module
docstrings name its sections; docs/towers.md has the equations and the results.
"""

from __future__ import annotations

from .bricks import Brick, Pin
from .tower import Tower

__all__ = ["Brick", "Pin", "Tower"]

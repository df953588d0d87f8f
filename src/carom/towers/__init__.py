"""Towers of bricks without friction: does it stand, how does it begin to fall, how does it come down.

After G. Rote et al.'s paper on the collapse of towers by Gauss' principle; docs/towers.md has equations and findings.
"""

from __future__ import annotations

from .bricks import Brick, Pin
from .tower import Tower

__all__ = ["Brick", "Pin", "Tower"]

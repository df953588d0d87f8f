"""Derivatives of one impact with respect to everything that it depends on."""

from __future__ import annotations

from .kinks import Kink
from .linearization import Derivative, Linearization, linearize, names_of
from .parameters import NAMES

__all__ = ["NAMES", "Derivative", "Kink", "Linearization", "linearize", "names_of"]

"""Derivatives of whole runs, and fits of the parameters of a scene to measured motion."""

from __future__ import annotations

from .run import Frames, Sensitivity, sensitivity

__all__ = ["Frames", "Sensitivity", "sensitivity"]

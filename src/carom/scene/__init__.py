"""Scenes: what there is before anything moves."""

from .boundaries import Box, Drum, HalfPlane, Periodic, Segment
from .model import FREE, Bodies, Disc, Material, Polygon, Rectangle, Scene
from .motion import FIXED, Motion, Moving, Rotating, Scripted, Table, Vibrating

__all__ = [
    "FIXED",
    "FREE",
    "Bodies",
    "Box",
    "Disc",
    "Drum",
    "HalfPlane",
    "Material",
    "Motion",
    "Moving",
    "Periodic",
    "Polygon",
    "Rectangle",
    "Rotating",
    "Scene",
    "Scripted",
    "Segment",
    "Table",
    "Vibrating",
]

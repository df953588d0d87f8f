"""Scenes: the description of an experiment before anything moves."""

from .boundaries import Container, Drum, Funnel, Periodic, Plane, Segment, Shell, Tube
from .model import FREE, Bodies, Material, Scene
from .motion import FIXED, Motion, Moving, Rotating, Scripted, Table, Vibrating
from .shapes import Box, Capsule, Compound, Cone, Cylinder, Disc, Hull, Mesh, Part, Polygon, Rectangle, Sphere

__all__ = [
    "FIXED",
    "FREE",
    "Bodies",
    "Box",
    "Capsule",
    "Compound",
    "Cone",
    "Container",
    "Cylinder",
    "Disc",
    "Drum",
    "Funnel",
    "Hull",
    "Material",
    "Mesh",
    "Motion",
    "Moving",
    "Part",
    "Periodic",
    "Plane",
    "Polygon",
    "Rectangle",
    "Rotating",
    "Scene",
    "Scripted",
    "Segment",
    "Shell",
    "Sphere",
    "Table",
    "Tube",
    "Vibrating",
]

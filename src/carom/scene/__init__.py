"""Scenes: what there is before anything moves."""

from .barriers import Container, Plane, Shell, Tube
from .boundaries import Box, Drum, HalfPlane, Periodic, Segment
from .model import FREE, Bodies, Disc, Material, Polygon, Rectangle, Scene
from .motion import FIXED, Motion, Moving, Rotating, Scripted, Table, Vibrating
from .solids import Capsule, Compound, Cuboid, Cylinder, Hull, Mesh, Part, Sphere

__all__ = [
    "FIXED",
    "FREE",
    "Bodies",
    "Box",
    "Capsule",
    "Compound",
    "Container",
    "Cuboid",
    "Cylinder",
    "Disc",
    "Drum",
    "HalfPlane",
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

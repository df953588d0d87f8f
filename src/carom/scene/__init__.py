"""Scenes: the description of an experiment before anything moves.

Shapes, boundaries, joints, sources and sinks are listed by their own modules.
"""

from . import boundaries, changes, joints, shapes
from .boundaries import *  # noqa: F403
from .changes import *  # noqa: F403
from .joints import *  # noqa: F403
from .model import FREE, Bodies, Material, Scene
from .motion import FIXED, Motion, Moving, Rotating, Scripted, Table, Vibrating
from .shapes import *  # noqa: F403

__all__ = [
    "FIXED",
    "FREE",
    "Bodies",
    "Material",
    "Motion",
    "Moving",
    "Rotating",
    "Scene",
    "Scripted",
    "Table",
    "Vibrating",
]
__all__ += boundaries.__all__
__all__ += changes.__all__
__all__ += joints.__all__
__all__ += shapes.__all__

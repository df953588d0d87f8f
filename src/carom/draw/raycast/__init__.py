"""Pictures of worlds of space: rays cast at every shape exactly, soft light, and the room round the bodies."""

from ..camera import Camera, looking_at
from .picture import Look, Picture, render

__all__ = ["Camera", "Look", "Picture", "looking_at", "render"]

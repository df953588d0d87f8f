"""A ray caster for 3D worlds: exact intersections with every shape, soft shadows, boundaries behind the bodies."""

from .picture import Kept, Picture, RayLook, render

__all__ = ["Kept", "Picture", "RayLook", "render"]

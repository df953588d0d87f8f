"""From a scene to a world and its first state, with every check that can be made before anything moves."""

from __future__ import annotations

from ..contact.start import check_start
from ..errors import ProblemError
from ..scene.model import Scene
from ..world import State, World
from .common import check_settings
from .plane import build_plane
from .space import build_space


def build(scene: Scene, check_overlap: bool = True) -> tuple[World, State]:
    """The world of a scene, and its state at time 0. Raises ProblemError for what cannot be run."""
    if not isinstance(scene, Scene):
        raise ProblemError(
            "scene", type(scene).__name__, "a Scene, as carom.scenes, carom.load_scene or carom.Scene make"
        )
    if not scene.bodies:
        raise ProblemError("bodies", "none", "at least one body")
    check_settings(scene)
    world, state = build_space(scene) if scene.dimension == 3 else build_plane(scene)
    if check_overlap:
        check_start(scene, world, state)
    return world, state

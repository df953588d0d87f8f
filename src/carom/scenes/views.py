"""The views of the scenes of the library: instant, camera, colors and trails of a still that shows what happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..scene.model import Scene


@dataclass(frozen=True)
class View:
    """Defaults of the pictures of a scene, in the words of the options of `carom render`."""

    at: float | None = None  # instant of stills and of `carom compare`; None: the end
    camera: str = "fit"
    color: str = "speed"
    trails: tuple[str, ...] = ()


VIEWS: dict[str, Callable[[Mapping[str, Any]], View]] = {
    "pool_break_3d": lambda p: View(camera="elevation=75,azimuth=-90"),
    # When the shells are farthest apart, after the fall by `height` under gravity 10.
    "matryoshka": lambda p: View(at=1.6 * (0.2 * p["height"]) ** 0.5, color="body"),
    "butterfly": lambda p: View(color="body", trails=("all",)),
}


def view_of(scene: Scene) -> View:
    """The view of a scene; the plain one for a scene that is not from the library."""
    from . import SCENES

    known = scene.name in VIEWS and scene.parameters.keys() == SCENES[scene.name].parameters.keys()
    return VIEWS[scene.name](scene.parameters) if known else View()

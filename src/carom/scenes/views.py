"""The views of the scenes of the library: instant, camera, colors and trails of a still that shows what happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, sqrt

from ..scene.boundaries import Container
from ..scene.model import Scene


@dataclass(frozen=True)
class View:
    """Defaults of the pictures of a scene, in the words of the options of `carom render`."""

    at: float | None = None  # instant of stills and of `carom compare`; None: the end
    camera: str = "fit"
    color: str | None = None  # None: depth where bodies rest on each other, else speed
    trails: tuple[str, ...] = ()


def _fallen(scene: Scene) -> float:
    """The time of a fall by the parameter `height` under the gravity 10."""
    return sqrt(0.2 * scene.parameters["height"])


def _on_bottom(scene: Scene) -> str:
    """A camera that looks at the bottom of a container about the z axis, which is much higher than what lies in it."""
    half = max(b.upper[0] for b in scene.boundaries if isinstance(b, Container))
    return f"elevation=35,target=0:0:{0.2 * half:.4g},distance={6.8 * half:.4g}"


def _in_flight(scene: Scene) -> float:
    """The last time at which the layer has just risen from the plate: a seventh of a period before one is complete."""
    periods = scene.parameters["periods"]
    return scene.duration * max(floor(periods) - 0.15, 0.5 * periods) / periods


VIEWS: dict[str, Callable[[Scene], View]] = {
    "butterfly": lambda s: View(color="body", trails=("all",)),
    "pool_break_3d": lambda s: View(camera="elevation=90,azimuth=-90"),
    "matryoshka": lambda s: View(at=1.6 * _fallen(s), color="body"),  # the shells are farthest apart
    "dolls": lambda s: View(at=1.6 * _fallen(s), color="body"),
    "card_house": lambda s: View(at=s.parameters["rest"] + 0.45, color="group"),
    "rube_goldberg": lambda s: View(
        at=7.85, color="group", camera="azimuth=-72,elevation=26,distance=21.5,target=2.8:-2:1.65"
    ),
    "two_rabbits_box": lambda s: View(at=3.0, color="body", trails=("0:0,0,0.5", "1:0,0,0.5")),
    "rabbits_in_pot": lambda s: View(at=min(1.0, s.duration), color="body", camera="elevation=12,distance=11.5"),
    "rabbit_pile": lambda s: View(color="body", camera=_on_bottom(s)),
    "rabbits_and_pawns": lambda s: View(at=1.6, color="group"),
    "sphere_packing": lambda s: View(color="depth", camera=_on_bottom(s)),
    "cube_packing": lambda s: View(color="body"),
    "cross_packing": lambda s: View(color="depth", camera=_on_bottom(s)),
    "pebbles": lambda s: View(color="group", camera="azimuth=-60,elevation=36,distance=24,target=0:0:-0.1"),
    "repose": lambda s: View(color="depth", camera="azimuth=-70,elevation=18"),
    "granular_wave": lambda s: View(at=s.parameters["settle"] + s.step, camera="elevation=10", color="speed"),
    "granular_wave_2d": lambda s: View(color="speed"),
    "hopper": lambda s: View(at=s.parameters["fill"] + 1.0, color="speed"),
    "gun": lambda s: View(at=1.1, color="group"),
    "cradle_on_rods": lambda s: View(at=2.3, color="body"),
    "cradle_on_strings": lambda s: View(at=2.3, color="body"),
    "cradle_on_strings_3d": lambda s: View(at=2.3, color="body", camera="azimuth=-60,elevation=12"),
    "double_pendulum": lambda s: View(at=0.9, color="body", trails=("all",)),
    "falling_chain": lambda s: View(at=1.6, color="body"),
    "four_bar": lambda s: View(at=0.25, color="body"),
    "arm_strikes_balls": lambda s: View(at=1.0, color="group"),
    "compass_walker": lambda s: View(at=min(10.9, s.duration), color="body", trails=("all",)),
    "rimless_wheel": lambda s: View(at=min(3.0, s.duration), color="body", trails=("all",)),
    "rocking_block": lambda s: View(at=0.3, color="body"),
    "ragdoll": lambda s: View(at=min(1.8, s.duration), color="body", camera="azimuth=-40,elevation=15"),
    "vibrated_layer": lambda s: View(at=_in_flight(s), color="height", camera="elevation=90,azimuth=-90"),
}


def view_of(scene: Scene) -> View:
    """The view of a scene; the plain one for a scene that is not from the library."""
    from . import SCENES

    known = scene.name in VIEWS and scene.parameters.keys() == SCENES[scene.name].parameters.keys()
    return VIEWS[scene.name](scene) if known else View()

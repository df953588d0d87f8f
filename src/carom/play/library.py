"""Scenes of the library on the page: which of their parameters have a slider, and how large a run may get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..scene.model import Bodies, Scene
from ..scenes import SCENES
from .sliders import FRICTION, RESTITUTION, Slider, at, checked, mass, whole

# Scenes that are left out, and why. A test holds every other scene of the library to its sliders.
LEFT_OUT = {"trefoil_drop": "its shape is a mesh, which `carom view` shows; the page draws balls and flat faces"}

LONGEST = 10.0  # time units; scenes that end sooner keep their own end
STEPS = 20_000  # of one run
BODIES = 400
STEP_RANGE = 4.0  # the step may be so many times smaller or larger than the scene's own

_GENERAL = {
    slider.name: slider
    for slider in (
        whole("balls", "balls", 2, 12, 5),
        whole("rows", "rows", 1, 8, 4),
        whole("columns", "columns", 2, 20, 8),
        whole("side", "bodies on a side", 2, 16, 5),
        whole("boxes", "boxes", 1, 12, 4),
        whole("shells", "shells", 1, 5, 4),
        whole("count", "bodies", 10, 120, 60),
        whole("stories", "stories", 1, 3, 2),
        RESTITUTION,
        FRICTION,
        Slider("mu", "friction", 0.0, 1.0, 0.1),
        Slider("va", "speed, left ball", 0.0, 1.0, 0.5),
        Slider("speed", "speed", 0.5, 10.0, 1.0, 0.1),
        Slider("gravity", "gravity", 1.0, 20.0, 10.0, 0.5),
        Slider("angle", "slope in degrees", 0.0, 60.0, 0.0, 1.0),
        Slider("spin", "spin", -20.0, 20.0, 0.0, 0.5),
        Slider("gap", "gap in radii", 0.0, 0.5, 0.0, 0.01),
        Slider("offset", "off the line, in radii", 0.0, 0.1, 0.001, 0.001),
        Slider("spacing", "spacing in radii", 2.0, 4.0, 3.0, 0.1),
        Slider("amplitude", "floor, amplitude", 0.5, 4.0, 2.0, 0.1),
        Slider("frequency", "floor, frequency", 1.0, 8.0, 4.0, 0.1),
        Slider("lift", "floor, lift", 0.5, 4.0, 2.0, 0.1),
        Slider("height", "height", 0.5, 3.0, 1.0, 0.1),
        whole("seed", "random start", 0, 20, 0),
    )
}
# Where a scene means something else by a name, or needs other limits.
_OWN: dict[str, dict[str, Slider | None]] = {
    "newtons_cradle": {"striking": whole("striking", "striking balls", 1, 11, 1, below="balls")},
    "cradle_3d": {"striking": whole("striking", "striking balls", 1, 11, 1, below="balls")},
    "box_stack": {"height": None},
    "granular_wave_2d": {"rows": whole("rows", "layers", 2, 12, 5)},
    "card_house": {
        "stories": None,
        "width": whole("width", "pairs of cards", 2, 4, 2),
        "rest": Slider("rest", "balls come after", 0.2, 3.0, 1.0, 0.1),
    },
    "maxwells_demon": {"side": whole("side", "balls on a side", 2, 6, 6)},
    "sphere_packing": {"side": None},
    "two_tetrahedra": {"speed": Slider("speed", "speed", 50.0, 200.0, 100.0, 5.0)},
    "spinning_top_free": {"spin": Slider("spin", "spin", 1.0, 10.0, 5.0, 0.5)},
    "flat_box": {"height": Slider("height", "height of the fall", 0.5, 3.0, 1.0, 0.1)},
}
_SHOWN = {"pool_break": 4.0, "pool_break_3d": 4.0}  # time after which all has flown apart
_TITLES = {"newtons_cradle": "Newton's cradle", "newtons_cradle_disturbed": "Newton's cradle, disturbed"}
_TITLES |= {"maxwells_demon": "Maxwell's demon", "bernoulli": "Bernoulli's problem", "box_2x2x1": "Box of 2 x 2 x 1"}
_WITH_STRIKER = ("newtons_cradle", "three_ball_chain", "bernoulli", "pool_break", "cradle_3d", "pool_break_3d")


@dataclass(frozen=True)
class Play:
    """A scene with its sliders. `make` gives the scene for checked values, and what `simulate` shall do with it."""

    name: str
    title: str
    note: str
    dimension: int
    law: str
    sliders: tuple[Slider, ...]

    def make(self, given: Any) -> tuple[Scene, dict[str, float]]:
        """The scene, and its step and duration, for the values of a request."""
        values = checked(self.sliders, given)
        scene = _scene(self.name, values)
        timing = {"step": values["step"], "duration": values["duration"]}
        _bounded(scene, timing)
        return scene, timing


@cache
def library() -> dict[str, Play]:
    """Every scene of the library that the page can show."""
    return {name: _play(name) for name in SCENES if name not in LEFT_OUT}


def play_of(name: Any) -> Play:
    known = library()
    if isinstance(name, str) and name in LEFT_OUT:
        raise ProblemError("scene", name, f"a scene of the page ({LEFT_OUT[name]})")
    if not isinstance(name, str) or name not in known:
        raise ProblemError.unknown("scene", name, known)
    return known[name]


def _play(name: str) -> Play:
    entry = SCENES[name]
    own = _OWN.get(name, {})
    sliders = []
    for key, value in {**entry.parameters, **entry.small}.items():
        slider = own[key] if key in own else _GENERAL.get(key)
        if slider is not None and _is_number(value) and slider.whole == isinstance(value, int):
            limit = min(max(value, slider.low), slider.high)
            sliders.append(slider if key in own else at(slider, limit))
    scene = entry(**{**_fixed(name), **{s.name: s.value for s in sliders}})
    sliders += _material_sliders(scene, {s.name for s in sliders})
    if name in _WITH_STRIKER:
        sliders.append(mass("first_mass", "mass, first ball"))
    sliders += _time_sliders(scene)
    return Play(name, _title(name), entry.line, scene.dimension, scene.law, tuple(sliders))


def _title(name: str) -> str:
    """The name in words; that a scene is one of space, the list on the page says already."""
    words = name.removesuffix("_3d").removesuffix("_2d").replace("_", " ").capitalize()
    return _TITLES.get(name, words)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _fixed(name: str) -> dict[str, Any]:
    """Parameters of the small scene that no slider moves."""
    return dict(SCENES[name].small)


def _material_sliders(scene: Scene, there: set[str]) -> list[Slider]:
    """Restitution and friction, where there is some, of scenes with one material and no parameter for it."""
    if len(scene.materials) != 1 or scene.pairs:
        return []
    (material,) = scene.materials.values()
    out = []
    if material.restitution > 0.0 and "restitution" not in there:
        out.append(at(RESTITUTION, material.restitution))
    if material.friction > 0.0 and not there & {"friction", "mu"}:
        out.append(at(FRICTION, min(material.friction, 1.0)))
    return out


def _time_sliders(scene: Scene) -> list[Slider]:
    """Step and duration. Steps are chosen in powers, and a duration in hundredths of the longest."""
    longest = min(scene.duration, LONGEST)
    shown, h = _SHOWN.get(scene.name, longest), scene.step
    return [
        Slider("duration", "duration", 0.1 * longest, longest, shown, 0.01 * longest),
        Slider("step", "time step", h / STEP_RANGE, h * STEP_RANGE, h, h / STEP_RANGE, logarithmic=True),
    ]


def _scene(name: str, values: Mapping[str, float]) -> Scene:
    entry = SCENES[name]
    own = {key: value for key, value in values.items() if key in entry.parameters and key not in ("step", "duration")}
    scene = entry(**{**_fixed(name), **own})
    changes = {key: values[key] for key in ("restitution", "friction") if key in values and key not in own}
    if changes:
        ((key, material),) = scene.materials.items()
        scene = scene.with_(materials={key: replace(material, **changes)})
    return _with_first_mass(scene, values.get("first_mass", 1.0))


def _with_first_mass(scene: Scene, factor: float) -> Scene:
    """The first ball made `factor` times heavier, with its size."""
    if factor == 1.0:
        return scene
    first, *others = scene.bodies
    weights = np.broadcast_to(np.asarray(first.mass, dtype=np.float64), (first.count,)).copy()
    weights[0] *= factor
    heavier: Bodies = replace(first, mass=weights)
    return scene.with_(bodies=[heavier, *others])


def _bounded(scene: Scene, timing: Mapping[str, float]) -> None:
    """Sizes that no slider reaches by itself, but that a combination of sliders or a crafted request might."""
    steps = timing["duration"] / timing["step"]
    if steps > STEPS:
        raise ProblemError("step", timing["step"], f"at most {STEPS:,} steps in the duration; this is {steps:,.0f}")
    if scene.count > BODIES:
        raise ProblemError("bodies", scene.count, f"at most {BODIES} on the page; `carom run` takes more")

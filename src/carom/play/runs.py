"""Runs for the play page: scenes with sliders and bounds on their size, and the recorded runs as plain data."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from .. import laws
from ..analysis.checks import Check, check_run
from ..draw.colors import DEFAULT_MAP, MAPS, PALETTE, QUANTITIES, Quantity, common_limits, usual_quantity
from ..draw.web_picture import life_numbers, picture
from ..errors import ProblemError
from ..resolve.response import DEFAULT_TOLERANCE
from ..scene.model import Bodies, Scene
from ..scenes import SCENES
from ..settings import EXACT_TOLERANCE, LARGEST_TOLERANCE, tolerance_number
from ..simulation import Progress, simulate
from ..trajectory import Trajectory
from .sliders import FRICTION, RESTITUTION, Slider, at, checked, chosen_laws, mass, whole
from .ticks import Tick, of_law

# Scenes that the page does not offer, with the reason. A test covers the sliders of every other scene.
_MESH = "its shapes are meshes, which `carom view` shows; the page draws balls and flat faces"
_LONG = "it has more bodies or takes longer than the page allows"
LEFT_OUT = dict.fromkeys(
    ("trefoil_drop", "two_rabbits_box", "rabbits_in_pot", "rabbit_pile", "rabbits_and_pawns", "dolls"), _MESH
)
LEFT_OUT |= dict.fromkeys(
    ("granular_wave", "vibrated_layer", "repose", "cube_packing", "cross_packing", "rube_goldberg"), _LONG
)

LONGEST_RUN = 10.0  # units of time; shorter scenes keep their duration
STEPS = 20_000  # per run
BODIES = 400  # per scene
STEP_RANGE = 4.0  # factor by which the time step may differ from that of the scene

FRAMES = 240
BODY_FRAMES = 120_000  # positions of bodies in one film, which bounds the size of an answer

RUN_SLIDERS = ("duration", "step", "tolerance")  # sliders that are settings of the run rather than of the scene

Tell = Callable[[str, float], None]  # present task, and the fraction that is done

# Checks of a run: desideratum, title and meaning.
MEANINGS = {
    "energy": ("KIN", "energy", "equal if elastic, never raised"),
    "momentum": ("MOM", "momentum", "conserved without external forces"),
    "angular momentum": ("", "angular momentum", "conserved without external torques"),
    "overlap": ("", "overlap", "none, or less than a step"),
    "symmetry": ("SYM", "symmetry", "symmetry is preserved"),
    "impacts": ("FEA", "feasibility", "nothing still approaches"),
    "residual": ("", "residual", "at most the tolerance in every step"),
    "events": ("", "events", "explain every change of momentum"),
    "joints": ("", "joints", "hold in every frame"),
}

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
        Slider("rolling", "rolling friction", 0.0, 0.2, 0.0, 0.005),
        Slider("torsional", "torsional friction", 0.0, 0.2, 0.0, 0.005),
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
# Sliders of scenes in which a parameter has another meaning or other limits; None omits the slider.
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
    **{
        name: {"angle": Slider("angle", "angle in radians", 0.1, 1.4, 0.6, 0.05)}
        for name in ("cradle_on_rods", "cradle_on_strings", "cradle_on_strings_3d", "double_pendulum")
    },
    "maxwells_demon": {"side": whole("side", "balls on a side", 2, 6, 6)},
    "sphere_packing": {"side": None},
    "two_tetrahedra": {"speed": Slider("speed", "speed", 50.0, 200.0, 100.0, 5.0)},
    "spinning_top_free": {"spin": Slider("spin", "spin", 1.0, 10.0, 5.0, 0.5)},
    "flat_box": {"height": Slider("height", "height of the fall", 0.5, 3.0, 1.0, 0.1)},
}
# Durations after which all balls have separated, or that have few enough steps.
_SHOWN = {"pool_break": 4.0, "pool_break_3d": 4.0, "rimless_wheel": 4.0, "rocking_block": 4.0}
_TITLES = {"newtons_cradle": "Newton's cradle", "newtons_cradle_disturbed": "Newton's cradle, disturbed"}
_TITLES |= {"maxwells_demon": "Maxwell's demon", "bernoulli": "Bernoulli's problem", "box_2x2x1": "Box of 2 x 2 x 1"}
_WITH_STRIKER = ("newtons_cradle", "three_ball_chain", "bernoulli", "pool_break", "cradle_3d", "pool_break_3d")


@dataclass(frozen=True)
class Play:
    """A scene of the library with its sliders."""

    name: str
    title: str
    note: str
    dimension: int
    law: str
    sliders: tuple[Slider, ...]

    def make(self, given: Any) -> tuple[Scene, dict[str, float]]:
        """The scene, and its time step, duration and tolerance, for the slider values of a request."""
        values = checked(self.sliders, given)
        scene = _scene(self.name, values)
        timing = {name: values[name] for name in RUN_SLIDERS}
        _bounded(scene, timing)
        return scene, timing


@cache
def library() -> dict[str, Play]:
    """Every scene of the library that the page offers."""
    return {name: _play(name) for name in SCENES if name not in LEFT_OUT}


def play_of(name: Any) -> Play:
    """The scene that a request names."""
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
    """The name in words, without the dimension, by which the page groups the scenes."""
    words = name.removesuffix("_3d").removesuffix("_2d").replace("_", " ").capitalize()
    return _TITLES.get(name, words)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _fixed(name: str) -> dict[str, Any]:
    """Parameters of the small version of a scene."""
    return dict(SCENES[name].small)


def _material_sliders(scene: Scene, there: set[str]) -> list[Slider]:
    """Sliders of restitution and friction for scenes with one material and no such parameters."""
    if len(scene.materials) != 1 or scene.pairs:
        return []
    (material,) = scene.materials.values()
    out = []
    restitution = material.restitution  # a table or a function of speed has no slider
    if _is_number(restitution) and restitution > 0.0 and "restitution" not in there:
        out.append(at(RESTITUTION, restitution))
    if material.friction > 0.0 and not there & {"friction", "mu"}:
        out.append(at(FRICTION, min(material.friction, 1.0)))
    return out


def _time_sliders(scene: Scene) -> list[Slider]:
    """Sliders of duration, in hundredths of the longest, and of time step and tolerance, on logarithmic scales."""
    longest = min(scene.duration, LONGEST_RUN)
    shown, h = _SHOWN.get(scene.name, longest), scene.step
    return [
        Slider("duration", "duration", 0.1 * longest, longest, shown, 0.01 * longest),
        Slider("step", "time step", h / STEP_RANGE, h * STEP_RANGE, h, h / STEP_RANGE, logarithmic=True),
        _tolerance_slider(scene),
    ]


def _tolerance_slider(scene: Scene) -> Slider:
    """The tolerance, from that which "exact" means."""
    value = DEFAULT_TOLERANCE if scene.tolerance is None else tolerance_number("tolerance", scene.tolerance)
    low, high = min(EXACT_TOLERANCE, value), LARGEST_TOLERANCE
    return Slider("tolerance", f"tolerance, {low:g} is exact", low, high, value, low, logarithmic=True, decades=True)


def _scene(name: str, values: Mapping[str, float]) -> Scene:
    entry = SCENES[name]
    own = {key: value for key, value in values.items() if key in entry.parameters and key not in RUN_SLIDERS}
    scene = entry(**{**_fixed(name), **own})
    changes = {key: values[key] for key in ("restitution", "friction") if key in values and key not in own}
    if changes:
        ((key, material),) = scene.materials.items()
        scene = scene.with_(materials={key: replace(material, **changes)})
    return _with_first_mass(scene, values.get("first_mass", 1.0))


def _with_first_mass(scene: Scene, factor: float) -> Scene:
    """The scene with the mass of its first body multiplied by `factor`, at the same size."""
    if factor == 1.0:
        return scene
    first, *others = scene.bodies
    weights = np.broadcast_to(np.asarray(first.mass, dtype=np.float64), (first.count,)).copy()
    weights[0] *= factor
    heavier: Bodies = replace(first, mass=weights)
    return scene.with_(bodies=[heavier, *others])


def _bounded(scene: Scene, timing: Mapping[str, float]) -> None:
    """Refuses runs that are too large, which combinations of sliders or crafted requests can ask for."""
    steps = timing["duration"] / timing["step"]
    if steps > STEPS:
        raise ProblemError("step", timing["step"], f"at most {STEPS:,} steps in the duration; this is {steps:,.0f}")
    if scene.count > BODIES:
        raise ProblemError("bodies", scene.count, f"at most {BODIES} on the page; `carom run` takes more")


# ---- recorded runs


class RunRequest:
    """A validated request for runs under several laws. After this only a law can refuse it."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.play: Play = play_of(request.get("scene"))
        self.laws = chosen_laws(request.get("laws"), laws.names())
        self.scene, self.timing = self.play.make(request.get("parameters", {}))

    def answer(self, tell: Tell) -> dict[str, Any]:
        """Runs the scene under each law. `tell` reports progress, and may raise to stop the computation."""
        runs: list[Trajectory | str] = []
        seconds = []
        for k, law in enumerate(self.laws):
            began = time.perf_counter()
            runs.append(self._run(law, k, tell))
            seconds.append(time.perf_counter() - began)
        done = [run for run in runs if isinstance(run, Trajectory)]
        if not done:
            raise ProblemError("laws", ", ".join(self.laws), "a law that takes this scene", str(runs[0]))
        tell("checking the runs", 1.0)
        colors = Colors.of(done)
        return {
            "kind": "run",
            "scene": self.scene.name,
            "title": self.play.title,
            "dimension": self.play.dimension,
            "bodies": self.scene.count,
            "picture": picture(done),
            "colors": colors.to_dict(),
            "results": [_result(law, run, colors, s) for law, run, s in zip(self.laws, runs, seconds)],
        }

    def _run(self, law: str, number: int, tell: Tell) -> Trajectory | str:
        """The run under one law, or the reason why that law refuses the scene."""
        tell(f"{law}: starting", number / len(self.laws))

        def told(p: Progress) -> None:
            tell(f"{law}: step {p.step:,} of {p.steps:,}", (number + p.step / p.steps) / len(self.laws))

        try:
            return simulate(
                self.scene,
                law,
                self.timing["duration"],
                step=self.timing["step"],
                tolerance=self.timing["tolerance"],
                frame_rate=frame_rate(self.scene, self.timing),
                progress=told,
            )
        except ProblemError as refusal:
            return str(refusal)


def frame_rate(scene: Scene, timing: Mapping[str, float]) -> float:
    """Frames per unit of time: FRAMES in the whole run, or fewer if there are many bodies."""
    count = min(FRAMES, max(2, BODY_FRAMES // max(scene.count, 1)))
    return count / timing["duration"]


def packed(values: Any, kind: str = "<f4") -> str:
    """An array as base64 text of little-endian numbers."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


@dataclass(frozen=True)
class Colors:
    """What the colors of bodies show, on one scale for all runs: the same as in films and in the viewer."""

    quantity: Quantity
    low: float
    high: float

    @classmethod
    def of(cls, runs: Sequence[Trajectory]) -> Colors:
        quantity = QUANTITIES[usual_quantity(runs[0])]
        return cls(quantity, *((0.0, 0.0) if quantity.category else common_limits(runs, quantity)))

    def to_dict(self) -> dict[str, Any]:
        """The table that the numbers of `indices` refer to, and the ends of its scale."""
        q = self.quantity
        table = (PALETTE if q.category else MAPS[DEFAULT_MAP]).tolist()
        return {"map": table, "low": self.low, "high": self.high, "title": q.title, "category": q.category}

    def indices(self, run: Trajectory) -> NDArray[np.uint8]:
        """(frames, n) indices of the table."""
        values = np.array([self.quantity.values(run, k) for k in range(len(run))])
        if self.quantity.category:
            return (values.astype(int) % len(PALETTE)).astype(np.uint8)
        share = (values - self.low) / ((self.high - self.low) or 1.0)
        return np.nan_to_num(255.0 * share.clip(0.0, 1.0)).round().astype(np.uint8)


def _result(name: str, run: Trajectory | str, colors: Colors, seconds: float) -> dict[str, Any]:
    law = laws.make(name)
    head = {"law": name, "title": law.title, "paper": law.paper.key}
    if isinstance(run, str):
        return {**head, "refusal": run}
    with run:
        return {**head, **_film(run, colors), **_curves(run), "seconds": seconds, "ticks": _ticks(check_run(run), name)}


def _film(run: Trajectory, colors: Colors) -> dict[str, Any]:
    return {
        "steps": int(run.last.step),
        "time": run.time.tolist(),
        "position": packed(np.where(run.present[:, :, None], np.asarray(run.positions[:]), np.nan)),
        "turn": packed(np.asarray(run.orientations[:])),
        "lives": packed(life_numbers(run, np.arange(len(run))), "u1") if run.changes else "",
        "color": packed(colors.indices(run), "u1"),
        "boundaries": packed(np.asarray(run.boundary_poses[:])) if run.dimension == 2 else "",
    }


def _curves(run: Trajectory) -> dict[str, Any]:
    """Energies and momentum per frame. The potential energy is relative to its minimum."""
    potential = run.potential - run.potential.min() if run.world.gravity.any() else np.zeros(len(run))
    return {
        "kinetic": run.kinetic.tolist(),
        "potential": potential.tolist() if run.world.gravity.any() else None,
        "energy": (run.kinetic + potential).tolist(),
        "momentum": run.momentum.T.tolist(),
    }


def _ticks(checks: Sequence[Check], law: str) -> list[dict[str, Any]]:
    out = []
    for c in checks:
        tick, desideratum = Tick(c.name, c.passed, _short(c), c.note), MEANINGS[c.name][0]
        out.append((of_law(tick, desideratum, laws.make(law)) if desideratum else tick).to_dict())
    return out


def _short(check: Check) -> str:
    if check.passed is None:
        return "n/a"
    if check.name == "impacts":
        return "none" if check.passed else f"in {check.value:.0f} steps" if check.value != 1.0 else "in one step"
    if check.value is None or check.value <= 1e-9:
        return "none" if check.name == "overlap" else "exact"
    if check.name in ("overlap", "symmetry"):
        return f"{check.value:.1g} radii" if check.value < 0.1 else f"{check.value:.1f} radii"
    return f"{check.value:.0e}" if check.value < 1e-3 else f"{100.0 * check.value:.3g} %"

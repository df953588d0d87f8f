"""Whole runs under some laws, as plain data for the page: frames, energies, momenta and ticks."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import laws
from ..analysis.run_checks import Check, check_run
from ..draw.colors import MAPS, QUANTITIES, limits
from ..errors import ProblemError
from ..scene.model import Scene
from ..simulation import Progress, simulate
from ..trajectory import Trajectory
from .library import Play, play_of
from .pictures import picture
from .sliders import chosen_laws
from .ticks import Tick

FRAMES = 240
BODY_FRAMES = 120_000  # places of bodies in one film: what a browser gets is bounded, too
MAP = "soft"

Tell = Callable[[str, float], None]  # what happens now, and the share that is done

# The checks of a run, with what they ask for.
MEANINGS = {
    "energy": ("KIN", "energy", "kept if elastic, never raised"),
    "momentum": ("MOM", "momentum", "kept if nothing pushes"),
    "angular momentum": ("", "angular momentum", "kept if nothing turns"),
    "overlap": ("", "overlap", "none, or less than a step"),
    "symmetry": ("SYM", "symmetry", "mirror images stay so"),
    "impacts": ("FEA", "feasibility", "nothing still approaches"),
}


class RunRequest:
    """A checked request: nothing has been computed yet, and nothing of it can be refused later but by a law."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.play: Play = play_of(request.get("scene"))
        self.laws = chosen_laws(request.get("laws"), laws.names())
        self.scene, self.timing = self.play.make(request.get("parameters", {}))

    def answer(self, tell: Tell) -> dict[str, Any]:
        """Runs it under each law. `tell` may raise, which ends it."""
        runs: list[Trajectory | str] = []
        seconds = []
        for k, law in enumerate(self.laws):
            began = time.perf_counter()
            runs.append(self._run(law, k, tell))
            seconds.append(time.perf_counter() - began)
        done = [run for run in runs if isinstance(run, Trajectory)]
        if not done:
            raise ProblemError("laws", ", ".join(self.laws), "a law that takes this scene", str(runs[0]))
        tell("checking what the run kept", 1.0)
        top = max(limits(run, QUANTITIES["speed"])[1] for run in done)
        return {
            "kind": "run",
            "scene": self.scene.name,
            "title": self.play.title,
            "dimension": self.play.dimension,
            "bodies": self.scene.count,
            "picture": picture(done),
            "colors": {"map": MAPS[MAP].tolist(), "low": 0.0, "high": top, "title": "speed"},
            "results": [_result(law, run, top, s) for law, run, s in zip(self.laws, runs, seconds)],
        }

    def _run(self, law: str, number: int, tell: Tell) -> Trajectory | str:
        """The run under one law, or why that law does not take it."""
        tell(f"{law}: starting (the first time, kernels are compiled)", number / len(self.laws))

        def told(p: Progress) -> None:
            tell(f"{law}: step {p.step:,} of {p.steps:,}", (number + p.step / p.steps) / len(self.laws))

        try:
            return simulate(
                self.scene,
                law,
                self.timing["duration"],
                step=self.timing["step"],
                frame_rate=frame_rate(self.scene, self.timing),
                progress=told,
            )
        except ProblemError as refusal:
            return str(refusal)


def frame_rate(scene: Scene, timing: Mapping[str, float]) -> float:
    """Frames a time unit: as many as make a smooth film of the whole run, within the bound."""
    count = min(FRAMES, max(2, BODY_FRAMES // max(scene.count, 1)))
    return count / timing["duration"]


def packed(values: Any, kind: str = "<f4") -> str:
    """An array as base64 text of little-endian numbers."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def _result(name: str, run: Trajectory | str, top: float, seconds: float) -> dict[str, Any]:
    law = laws.make(name)
    head = {"law": name, "title": law.title, "paper": law.paper.key}
    if isinstance(run, str):
        return {**head, "refusal": run}
    with run:
        return {**head, **_film(run, top), **_curves(run), "seconds": seconds, "ticks": _ticks(check_run(run), name)}


def _film(run: Trajectory, top: float) -> dict[str, Any]:
    places, velocities = np.asarray(run.positions[:]), np.asarray(run.velocities[:])
    speed = np.sqrt((velocities**2).sum(axis=-1))
    share = (speed / top).clip(0.0, 1.0) if top > 0.0 else np.zeros_like(speed)
    return {
        "steps": int(run.last.step),
        "time": run.time.tolist(),
        "position": packed(places),
        "turn": packed(np.asarray(run.orientations[:])),
        "color": packed(np.nan_to_num(255.0 * share).round(), "u1"),
        "walls": packed(np.asarray(run.boundary_poses[:])) if run.dimension == 2 else "",
    }


def _curves(run: Trajectory) -> dict[str, Any]:
    """Energies and momentum at each frame. The potential is counted from its lowest value."""
    potential = run.potential - run.potential.min() if run.world.gravity.any() else np.zeros(len(run))
    return {
        "kinetic": run.kinetic.tolist(),
        "potential": potential.tolist() if run.world.gravity.any() else None,
        "energy": (run.kinetic + potential).tolist(),
        "momentum": run.momentum.T.tolist(),
    }


def _ticks(checks: Sequence[Check], law: str) -> list[dict[str, Any]]:
    return [
        Tick(c.name, c.passed, _short(c), f"{c.note[:1].upper()}{c.note[1:]}", _claimed(c.name, law)).to_dict()
        for c in checks
    ]


def _claimed(name: str, law: str) -> bool | None:
    mark = MEANINGS[name][0]
    return mark in laws.make(law).claims if mark else None


def _short(check: Check) -> str:
    if check.passed is None:
        return "not asked"
    if check.name == "impacts":
        return "none" if check.passed else f"in {check.value:.0f} steps" if check.value != 1.0 else "in one step"
    if check.value is None or check.value <= 1e-9:
        return "none" if check.name == "overlap" else "exact"
    if check.name in ("overlap", "symmetry"):
        return f"{check.value:.1g} radii" if check.value < 0.1 else f"{check.value:.1f} radii"
    return f"{check.value:.0e}" if check.value < 1e-3 else f"{100.0 * check.value:.3g} %"

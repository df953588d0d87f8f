"""Cost of the geometry of the touch in drift-safe steps: the same steps from the same states with and without it.

`python -m benchmarks.touch_geometry [TEXT ...]` prints a row per scene, or for those whose names contain a text. Whole
runs are no measure: with and without that geometry they part, and the work of a pile depends on how it lies. States of
one run are therefore recorded, and each is stepped in turns by a stepper as it is and by one whose contacts keep the
geometry of the start of the step; the time of a step is the smallest of several.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from carom.scene import Scene
from carom.scene.shapes import Box, Sphere
from carom.scenes import make_scene
from carom.stepping import drift_safe
from carom.stepping.impact_stage import struck_bodies
from carom.stepping.resting import NO_BODIES
from carom.stepwise import Simulation

from .settling import settling

STATES, REPEATS = 60, 7
SCENES: dict[str, tuple[Callable[[], Scene], int]] = {  # and the steps of the run
    "100 boxes settle": (lambda: settling(Box((0.8, 0.8, 0.8)), 100), 480),
    "400 boxes settle": (lambda: settling(Box((0.8, 0.8, 0.8)), 400), 480),
    "512 spheres settle": (lambda: settling(Sphere(0.5), 512), 400),
    "wave of 800 grains": (lambda: make_scene("granular_wave_2d", columns=40, rows=20), 400),
    "drop of 900 discs": (lambda: make_scene("drop", side=30), 400),
}


class Bare(drift_safe.DriftSafe):
    """The drift-safe step whose resting contacts keep the geometry of the start."""

    def _since_impacts(self, impacts: Any, impact: Any, interval: Any, found: Any) -> Any:
        return found, interval


def _bare_strike(*given: Any) -> Any:
    """`impact_stage.strike` without the geometry of the touch: the times of impacts stay."""
    _, rows, approach, flight, start, table, (restitution, chosen, near), pull = given
    struck = struck_bodies(rows, approach, flight, start, restitution, chosen, pull, near)
    return struck._replace(contacts=NO_BODIES), table, np.empty(0), None


@contextmanager
def _bare(wanted: bool) -> Iterator[None]:
    kept = drift_safe.strike
    drift_safe.strike = _bare_strike if wanted else kept  # type: ignore[assignment]
    try:
        yield
    finally:
        drift_safe.strike = kept


def ratios(scene: Scene, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Times (k, 2) of single steps from recorded states, with and without, and whether each has impacts."""
    simulation = Simulation(scene, stepper="drift_safe")
    engine, states = simulation.engine, []
    for number in range(steps):
        if number % max(1, steps // STATES) == 0:
            states.append((simulation.state, engine.warm_start))
        simulation.step()
    engines = [kind(engine.world, engine.response, engine.h) for kind in (drift_safe.DriftSafe, Bare)]
    best, struck = np.full((len(states), 2), np.inf), np.zeros(len(states), np.bool_)
    for k, (state, warm) in enumerate(states):
        for turn in range(REPEATS):
            for side in (0, 1) if turn % 2 else (1, 0):
                one = engines[side]
                one.warm_start, one.rest = warm, None
                with _bare(side == 1):
                    begin = time.process_time()
                    _, report = one.step(state)
                    best[k, side] = min(best[k, side], time.process_time() - begin)
                struck[k] |= report.rounds > 0
    return best, struck


def main(wanted: list[str]) -> None:
    """Prints the ratios of the time of a step with the geometry of the touch to that without it."""
    print("scene, states with impacts, ms per step, ratio: median of all, of those with impacts, of the sums")
    for name, (make, steps) in SCENES.items():
        if wanted and not any(text in name for text in wanted):
            continue
        best, struck = ratios(make(), steps)
        share = best[:, 0] / best[:, 1]
        hot = f"{np.median(share[struck]):.3f}" if struck.any() else "-"
        whole = best[:, 0].sum() / best[:, 1].sum()
        print(f"{name}, {struck.sum()} of {len(best)}", end=", ")
        print(f"{1e3 * best[:, 0].mean():.2f}, {np.median(share):.3f}, {hot}, {whole:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Deepest overlap against CPU time for all steppers on four scenes: `python -m benchmarks.stepper_figure OUT.png`."""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time

import numpy as np

from carom import Simulation, scenes
from carom.draw.style import CYCLE, MARKERS, save, styled
from carom.errors import ProblemError
from carom.kernels import compile_seconds
from carom.scene import Scene
from carom.scene.shapes import Box, Sphere
from carom.stepping import STEPPERS, register
from carom.stepping.substepped import Substepped

from .discs import collapse
from .settling import BOX, settling

STEPS, LONGEST = 360, 15.0  # steps of a run, and CPU seconds after which it is given up
LEAST = 1e-5  # overlaps are shown from here on, in units of the smallest half width


class Eight(Substepped):
    """Twice as many sub-steps."""

    name, substeps = "substepped_8", 8


def case(scene: Scene, stepper: str) -> tuple[float, float] | None:
    """Milliseconds per step and the deepest overlap in half widths; None for a run that ends or takes too long."""
    sim = Simulation(scene, stepper=stepper)
    spent, deepest = [], LEAST
    for _ in range(STEPS):
        compiling, start = compile_seconds(), process_time()
        try:
            sim.step()
        except ProblemError:
            return None
        spent.append(process_time() - start - (compile_seconds() - compiling))
        deepest = max(deepest, sim.report["overlap"] / sim.world.length_scale)
        if sum(spent) > LONGEST:
            return None
    return 1e3 * float(np.mean(spent[1:])), deepest


def main(path: str) -> None:
    register(Eight.name, Eight)
    cases = {
        "150 boxes": settling(Box((BOX, BOX, BOX)), 150),
        "500 spheres": settling(Sphere(0.5), 500),
        "400 discs": collapse(20),
        "24 cards": scenes.card_house(balls=False),
    }
    with styled(len(cases), width=9.0, height=2.8) as (figure, axes):
        for at, (title, scene) in zip(axes, cases.items()):
            for number, stepper in enumerate(STEPPERS):
                found = case(scene, stepper)
                print(title, stepper, found, flush=True)
                if found is not None:
                    at.plot(*found, MARKERS[number], color=CYCLE[number], label=stepper, markersize=6)
            at.set(title=title, xscale="log", yscale="log", xlabel="CPU time per step (ms)")
            at.set(xlim=(0.1, 100.0), ylim=(0.5 * LEAST, 2.0))
        axes[0].set_ylabel("deepest overlap (half widths)")
        shown = {name: line for at in axes for line, name in zip(*at.get_legend_handles_labels())}
        figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=len(shown), frameon=False)
        save(figure, Path(path), 120)


if __name__ == "__main__":
    main(sys.argv[1])

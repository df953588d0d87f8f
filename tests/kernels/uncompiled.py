"""Small runs and impacts whose answers do not depend on whether kernels are compiled.

As a program it prints the answers as JSON, for a process with NUMBA_DISABLE_JIT=1.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np

import carom
from carom import catalogue, laws
from carom.friction import MODELS
from carom.scenes import make_scene

# Scene, its parameters, steps, arguments of Simulation.
RUNS: list[tuple[str, dict[str, Any], int, dict[str, Any]]] = [
    ("newtons_cradle", {}, 30, {}),
    ("newtons_cradle_disturbed", {}, 30, {}),
    ("three_ball_chain", {}, 30, {}),
    ("bernoulli", {}, 30, {}),
    ("butterfly", {}, 20, {}),
    ("pool_break", {"rows": 3}, 25, {"law": "qce"}),
    ("pool_break", {"rows": 3}, 25, {"stepper": "drift_safe"}),
    ("pool_break", {"rows": 3}, 12, {"stepper": "time_of_impact"}),
    ("gas", {"side": 4}, 10, {}),
    ("energy_drum", {"side": 3}, 15, {}),
    ("box_stack", {"boxes": 2}, 12, {}),
    ("sliding_block", {}, 12, {"friction_model": "cone"}),
    ("flat_box", {}, 25, {}),
    ("flat_box", {}, 12, {"stepper": "time_of_impact"}),
    ("sliding_box", {}, 12, {}),
    ("two_tetrahedra", {}, 15, {}),
    ("cradle_3d", {}, 12, {}),
    ("rolling_sphere", {}, 12, {}),
    ("rolling_disc", {}, 12, {}),
    ("card_house", {"stories": 1, "width": 1}, 4, {}),
]


def cases() -> dict[str, Any]:
    """Functions by name, each of which returns an array."""
    found: dict[str, Any] = {}
    for scene, parameters, steps, settings in RUNS:
        found[f"{scene} {parameters} {settings}"] = lambda s=scene, p=parameters, n=steps, a=settings: _run(s, p, n, a)
    for law in laws.names():
        found[f"law {law}"] = lambda law=law: _impact("disc_cluster_6", law)
    for model in MODELS:
        found[f"friction {model}"] = lambda model=model: _rough(model)
    return found


def _run(scene: str, parameters: dict[str, Any], steps: int, settings: dict[str, Any]) -> np.ndarray:
    sim = carom.Simulation(make_scene(scene, **parameters), **settings)
    for _ in range(steps):
        sim.step()
    return np.concatenate([sim.state.position.ravel(), sim.state.velocity.ravel()])


def _impact(name: str, law: str) -> np.ndarray:
    return carom.solve_impact(catalogue.entry(name).problem, law).velocity.ravel()


def _rough(model: str) -> np.ndarray:
    """Three spheres that touch each other, with spins and friction."""
    problem = carom.ImpactProblem.from_spheres(
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.75**0.5, 0.0]],
        [0.5, 0.5, 0.5],
        [1.0, 2.0, 1.5],
        [[1.0, 0.3, 0.0, 0.0, 0.0, 2.0], [-1.0, 0.0, 0.2, 1.0, 0.0, 0.0], [0.1, -1.0, 0.0, 0.0, 0.0, 0.0]],
        restitution=0.5,
        friction=0.4,
    )
    return carom.solve_impact(problem, "gr", friction_model=model).velocity.ravel()


if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)  # NumPy warns of products of integers that wrap around
    only = sys.argv[1:]
    answers = {}
    for name, work in cases().items():
        if not only or any(text in name for text in only):
            answers[name] = work().tolist()
            print(name, file=sys.stderr, flush=True)
    print(json.dumps(answers))

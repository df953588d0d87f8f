"""Runs of one scene under several laws, and their measured quantities."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np

from ..kernels import compile_seconds
from ..scene.model import Scene
from ..simulation import Tell, completed, simulate
from ..stepping.report import STATUSES
from ..trajectory import Trajectory
from .run_momentum import angular_momentum_drift, momentum_drift
from .runs import energy_drift, energy_scale, overlap, spread, symmetry_error


@dataclass(frozen=True)
class Numbers:
    """Measured quantities of the run of one law; None where the scene has nothing to measure, for all laws."""

    law: str
    energy_change: float  # (E - E(0)) / scale at the end; the scale is the smallest energy scale of all laws
    energy_change_most: float  # largest |E - E(0)| / scale
    symmetry_error: float | None  # largest, in units of the smallest radius
    momentum_drift: float | None
    angular_momentum_drift: float | None
    overlap: float  # deepest in any frame, in units of the smallest radius or half width
    contacts: float  # mean per step
    contacts_most: int
    iterations: float
    iterations_most: int
    unresolved: int  # steps whose status is not `resolved`
    missed: int  # steps that missed the tolerance of the run
    seconds: float  # wall time without compiling
    spread: float  # at the end: root mean square distance from the centroid, a length

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Compared:
    """A run and its measured quantities."""

    run: Trajectory
    numbers: Numbers
    scale: float  # unit of energy, the same for all laws

    @property
    def energy(self) -> np.ndarray:
        """(E - E(0)) / scale at every step."""
        return change_of_energy(self.run, self.scale)


def change_of_energy(run: Trajectory, scale: float) -> np.ndarray:
    """(E - E(0)) / scale at every step."""
    return energy_drift(run) * (energy_scale(run) / scale)


def measure(run: Trajectory, scale: float, seconds: float) -> Numbers:
    """The quantities of a run, with energies in units of `scale`; `seconds` is its wall time."""
    steps = run.steps[1:]
    change = change_of_energy(run, scale)
    linear, angular = momentum_drift(run), angular_momentum_drift(run)
    return Numbers(
        law=run.law,
        energy_change=float(change[-1]),
        energy_change_most=float(np.abs(change).max()),
        symmetry_error=float(symmetry_error(run).max()) if run.scene.symmetries else None,
        momentum_drift=float(linear.value.max()) if linear.conserved else None,
        angular_momentum_drift=float(angular.value.max()) if angular.conserved else None,
        overlap=float(overlap(run).max()),
        contacts=float(steps["contacts"].mean()),
        contacts_most=int(steps["contacts"].max()),
        iterations=float(steps["iterations"].mean()),
        iterations_most=int(steps["iterations"].max()),
        unresolved=int((steps["status"] != STATUSES.index("resolved")).sum()),
        missed=len(run.missed_steps),
        seconds=seconds,
        spread=float(spread(run)[-1]),
    )


def compare(
    scene: Scene,
    laws: Sequence[str],
    files: Mapping[str, str | PathLike[str]] | None = None,
    *,
    progress: Callable[[str], AbstractContextManager[Tell | None]] | None = None,
    **settings: Any,
) -> list[Compared]:
    """Runs a scene under several laws, one after the other, and measures each run.

    The runs are kept in memory, or in the files that `files` names by law. `settings` are those of `simulate`. One step
    is computed under every law before the first run, so that a law that refuses the scene does so at once. `progress`
    returns a context for a law, with the function that `simulate` calls in it. Energies have the smallest scale of all
    runs as their unit: with its own scale, a law whose energy explodes would have a drift of 1.
    """
    for law in laws:
        completed(simulate(scene, law, **{**settings, "duration": settings.get("step") or scene.step})).close()
    with ExitStack() as stack:
        runs, seconds = [], []
        for law in laws:
            with nullcontext() if progress is None else progress(law) as tell:
                compiled, began = compile_seconds(), time.perf_counter()
                run = simulate(scene, law, output=None if files is None else files[law], progress=tell, **settings)
                seconds.append(time.perf_counter() - began - (compile_seconds() - compiled))
            runs.append(stack.enter_context(completed(run)))
        scale = min(energy_scale(run) for run in runs)
        found = [Compared(run, measure(run, scale, spent), scale) for run, spent in zip(runs, seconds)]
        stack.pop_all()  # the caller has the runs, open
        return found

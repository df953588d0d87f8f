"""One scene under several laws: the runs, their numbers, one figure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.run_momentum import angular_momentum_drift, momentum_drift
from ..analysis.runs import energy_drift, energy_scale, overlap, spread, symmetry_error
from ..simulation import completed, simulate
from ..stepping.report import STATUSES
from .compiling import Compilation

if TYPE_CHECKING:
    from ..scene.model import Scene
    from ..trajectory import Trajectory


@dataclass(frozen=True)
class Numbers:
    """What one law made of the scene. None: nothing to measure, for all laws alike."""

    law: str
    energy_drift: float  # largest |E - E(0)|, over the smallest of the laws' energy scales
    energy_change: float  # at the end, with its sign
    symmetry_error: float | None  # largest, in smallest radii
    momentum_drift: float | None
    angular_momentum_drift: float | None
    overlap: float  # deepest in any frame, in smallest radii or half widths
    contacts: float  # a step, mean
    contacts_most: int
    iterations: float
    iterations_most: int
    unresolved: int  # steps that did not end as `resolved`
    seconds: float  # wall time without compiling
    spread: float  # at the end: rms distance from the centroid, a length

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Compared:
    """A run and its numbers."""

    run: Trajectory
    numbers: Numbers
    scale: float  # what its energy is measured in, the same for all laws

    @property
    def energy(self) -> np.ndarray:
        """(E - E(0)) / scale at every step."""
        return change_of_energy(self.run, self.scale)


def check_all(scene: Scene, laws: Sequence[str], settings: dict[str, Any]) -> None:
    """One step under every law, so that a law that refuses the scene says so before any of them has run."""
    step = settings.get("step") or scene.step
    short = {**settings, "duration": step}
    for law in laws:
        completed(simulate(scene, law, **short)).close()


@contextmanager
def compared(
    scene: Scene,
    files: Mapping[str, Path],
    settings: dict[str, Any],
    teller: Callable[[str], Any],
    compiled: Compilation,
) -> Iterator[list[Compared]]:
    """Runs the laws, one after the other, each into its file; they are open inside the block."""
    with ExitStack() as stack:
        runs, seconds = [], []
        for law, path in files.items():
            with teller(law) as tell:
                before, began = compiled.seconds, time.perf_counter()
                run = simulate(scene, law, output=path, progress=tell, **settings)
                seconds.append(time.perf_counter() - began - (compiled.seconds - before))
            runs.append(stack.enter_context(run))
        # The smallest of the scales: that of a law whose energy explodes would make its own drift look like 1.
        scale = min(energy_scale(run) for run in runs)
        yield [Compared(run, measure(run, scale, spent), scale) for run, spent in zip(runs, seconds)]


def change_of_energy(run: Trajectory, scale: float) -> np.ndarray:
    return energy_drift(run) * (energy_scale(run) / scale)


def measure(run: Trajectory, scale: float, seconds: float) -> Numbers:
    """The numbers of a run, with energies in units of `scale`."""
    steps = run.steps[1:]
    drift = change_of_energy(run, scale)
    linear, angular = momentum_drift(run), angular_momentum_drift(run)
    return Numbers(
        law=run.law,
        energy_drift=float(np.abs(drift).max()),
        energy_change=float(drift[-1]),
        symmetry_error=float(symmetry_error(run).max()) if run.scene.symmetries else None,
        momentum_drift=float(linear.value.max()) if linear.conserved else None,
        angular_momentum_drift=float(angular.value.max()) if angular.conserved else None,
        overlap=float(overlap(run).max()),
        contacts=float(steps["contacts"].mean()),
        contacts_most=int(steps["contacts"].max()),
        iterations=float(steps["iterations"].mean()),
        iterations_most=int(steps["iterations"].max()),
        unresolved=int((steps["status"] != STATUSES.index("resolved")).sum()),
        seconds=seconds,
        spread=float(spread(run)[-1]),
    )

"""Whole runs: the drops and gases of Smith 2012, Table 2, with the share of each phase."""

from __future__ import annotations

import importlib.util
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from carom import scenes
from carom.build import build
from carom.laws import GR
from carom.problem.contacts import Contacts, Impulses
from carom.resolve.response import Response
from carom.scene import Scene
from carom.stepping import make
from carom.stepping.report import PHASES, STEP

from .piqp_loop import reflect_with_piqp
from .report import Row

TOLERANCE = 1e-9  # speeds
# CPU seconds of the C++ code of the authors of GR, with Ipopt, for the impacts of the first 300 steps of the drop of
# 10,201 discs, measured once on two cores of a server of 2023.
AUTHORS_SECONDS = 86.0


@dataclass(frozen=True)
class WithPiqp(GR):
    """GR, and beside it the same loop with PIQP on the same contacts; times go to `seconds`."""

    seconds: tuple[list[float], list[float]] = ((), ())  # type: ignore[assignment]

    def impulses(self, contacts: Contacts, *options: Any) -> Impulses:
        other = reflect_with_piqp(contacts, TOLERANCE)
        self.seconds[0].append(other.total)
        self.seconds[1].append(other.inside)
        return super().impulses(contacts, *options)


@dataclass(frozen=True)
class Timed(GR):
    """GR that adds up the CPU time of its impacts."""

    seconds: tuple[float, ...] | list[float] = ()

    def impulses(self, contacts: Contacts, *options: Any) -> Impulses:
        start = process_time()
        answer = super().impulses(contacts, *options)
        self.seconds.append(process_time() - start)  # type: ignore[union-attr]
        return answer


def march(scene: Scene, steps: int, response: Response) -> Iterator[tuple]:
    world, state = build(scene)
    engine = make(scene.stepper, world, response, scene.step)
    for _ in range(steps):
        state, report = engine.step(state)
        yield report.row


def table_of(scene: Scene, steps: int, response: Response | None = None) -> np.ndarray:
    """The rows of all steps, with a line about them on the screen."""
    rows = np.array(list(march(scene, steps, response or Response.for_run("gr"))), STEP)
    seconds = {phase: rows[f"seconds_{phase}"] for phase in PHASES}
    total = sum(s.sum() for s in seconds.values())
    energy = rows["kinetic"] + rows["potential"]
    drift = np.abs(energy - energy[0]).max() / rows["kinetic"].max()
    share = ", ".join(f"{phase} {s.sum() / total:.0%}" for phase, s in seconds.items())
    print(
        f"  {scene.count:>9,} discs, {steps} steps: {total / steps * 1e3:.1f} ms per step ({share})\n"
        f"            impact {seconds['impact'].mean() * 1e3:.2f} ms on average, {seconds['impact'].max() * 1e3:.0f} "
        f"at worst; contacts {rows['contacts'].mean():.0f} and at most {rows['contacts'].max()}; GR iterations at most "
        f"{rows['iterations'].max()}; residual {rows['residual'].max():.0e}; energy drift {drift:.0e}",
        flush=True,
    )
    return rows


def warm_up() -> None:
    """Compiles all that the runs need, the kernels for large islands included."""
    for _ in march(scenes.drop(side=60), 400, Response.for_run("gr")):
        pass


def gibibytes() -> float:
    scale = 2**20 if sys.platform != "darwin" else 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def run_drop_10k() -> list[Row]:
    name, asked = "drop of 10,201 discs, impact", ">= 10 times faster than PIQP inside"
    if importlib.util.find_spec("piqp") is None:
        return [Row(name, asked, "PIQP is not installed", None)]
    warm_up()
    law = WithPiqp(seconds=([], []))
    rows = table_of(scenes.drop(side=101), 500, Response.for_run(law))
    whole, inside = (sum(s) for s in law.seconds)
    mine = rows["seconds_impact"].sum() - whole  # the stepper's clock saw both
    print(f"            carom {mine:.2f} s; the loop with PIQP {whole:.2f} s, of which {inside:.2f} s inside PIQP")
    own = f"{inside / mine:.1f} counting PIQP's own time only"
    measured = f"{whole / mine:.1f} times ({own}), {mine / 500 * 1e3:.2f} ms per step"
    return [Row(name, asked, measured, whole / mine >= 10.0)]


def run_gr_drop() -> list[Row]:
    """The impacts of 300 steps of the drop of 10,201 discs, beside the time of the authors' code on the same steps."""
    warm_up()
    runs = [Timed(seconds=[]) for _ in range(3)]
    for law in runs:
        table_of(scenes.drop(side=101), 300, Response.for_run(law))
    seconds = min(sum(law.seconds) for law in runs)
    measured = f"{AUTHORS_SECONDS / seconds:.0f} times: {seconds:.2f} s (theirs {AUTHORS_SECONDS:g} s, not run here)"
    return [
        Row("drop of 10,201 discs, GR", ">= 500 times the authors' code", measured, AUTHORS_SECONDS / seconds >= 500.0)
    ]


def run_drop_100k() -> list[Row]:
    warm_up()
    rows = table_of(scenes.drop(side=317), 600)
    mean, worst = rows["seconds_impact"].mean(), rows["seconds_impact"].max()
    passed = mean <= 0.1 and worst <= 1.0
    return [
        Row(
            "drop of 100,489 discs, impact",
            "<= 0.1 s on average, <= 1 s",
            f"{mean:.3f} s, at worst {worst:.2f} s",
            passed,
        )
    ]


def run_drop_1m() -> list[Row]:
    warm_up()
    rows = table_of(scenes.drop(side=1001), 400)
    whole = sum(rows[f"seconds_{phase}"] for phase in PHASES)
    memory = gibibytes()
    passed = whole.mean() <= 3.0 and memory <= 6.0
    measured = f"{whole.mean():.2f} s per step with detection, at worst {whole.max():.1f} s; {memory:.1f} GiB"
    return [Row("drop of 1,002,001 discs, 400 steps", "<= 3 s on average, <= 6 GiB", measured, passed)]


def run_gas() -> list[Row]:
    warm_up()
    cost = []
    for side in (101, 317, 1001):
        rows = table_of(scenes.gas(side=side), 200)
        cost.append(rows["seconds_impact"].sum() / rows["contacts"].sum())
    spread = max(cost) / min(cost)
    measured = f"{', '.join(f'{c * 1e6:.2f}' for c in cost)} us: factor {spread:.2f}"
    return [Row("gas of 1e4, 1e5, 1e6 discs, impact time a contact", "constant within 2", measured, spread <= 2.0)]

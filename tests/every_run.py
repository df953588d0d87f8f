"""Starts every scene of the library and every law, friction model and stepper, and lists the kernels that it compiled.

`python tests/every_run.py [TEXT ...]` runs all cases, or those whose names contain one of the texts. Exit code 1 if
anything was compiled: after `carom warmup`, or with the kernels of a wheel, nothing may be.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from numba.core import event

import carom
from carom import catalogue, friction, laws, scenes

SMALL_STEPS, LARGE_STEPS = 200, 10  # of scenes with their small parameters, and with their own
SMALL_IMPACT = 20  # contacts
STEPPERS = ("synchronous", "drift_safe", "time_of_impact", "substepped")


class Counter(event.Listener):
    """The functions that Numba has compiled in this process, kernels and those inside of them."""

    def __init__(self) -> None:
        self.compiled: list[str] = []

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        self.compiled.append(f"{function.__module__}:{function.__qualname__}")

    def on_end(self, event: Any) -> None:
        pass


def cases() -> Iterator[tuple[str, Callable[[], None]]]:
    for name, entry in scenes.SCENES.items():
        yield f"scene {name}, small", partial(run, name, dict(entry.small), SMALL_STEPS)
        yield f"scene {name}", partial(run, name, {}, LARGE_STEPS)
    for law in laws.names():
        yield f"law {law}, impacts", partial(impacts, law)
        yield f"law {law}, run", partial(run, "pool_break", {"rows": 4}, 60, law=law)
    for model in friction.MODELS:
        yield f"friction model {model}, 2D", partial(run, "box_stack", {"boxes": 3}, 40, friction_model=model)
        yield f"friction model {model}, 3D", partial(run, "box_tower_3d", {"boxes": 3}, 40, friction_model=model)
    for stepper in STEPPERS:
        yield f"stepper {stepper}, 2D", partial(run, "pool_break", {"rows": 4}, 60, stepper=stepper)
        yield f"stepper {stepper}, 3D", partial(run, "flat_box", {}, 60, stepper=stepper)


def run(name: str, parameters: dict[str, Any], steps: int, **settings: Any) -> None:
    scene = scenes.make_scene(name, **parameters)
    duration = min(steps * scene.step, scene.duration)
    with (
        tempfile.TemporaryDirectory() as folder,
        carom.simulate(scene, duration=duration, output=Path(folder) / "run.h5", **settings) as run,
    ):
        assert run.events is not None  # they are read by a kernel, too


def impacts(law: str) -> None:
    for entry in catalogue.entries():
        if entry.problem.contact_count <= SMALL_IMPACT:
            with contextlib.suppress(carom.ProblemError):  # a law may refuse a problem
                carom.solve_impact(entry.problem, law).audit()


def main(texts: list[str]) -> None:
    counter = Counter()
    event.register("numba:compile", counter)
    total = 0
    for name, work in cases():
        if not texts or any(text in name for text in texts):
            work()
            if counter.compiled:
                print(f"{name}: compiled {', '.join(counter.compiled)}", flush=True)
            total += len(counter.compiled)
            counter.compiled.clear()
    print(f"{total} functions compiled")
    sys.exit(bool(total))


if __name__ == "__main__":
    main(sys.argv[1:])

"""One thread against two: the same bits, and what it saves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from time import perf_counter

import numpy as np

from carom.laws.gr import ELASTIC_STRETCH, reflections
from carom.scene import Scene
from carom.scene.shapes import Sphere
from carom.solvers.processors import allowed_processors
from carom.solvers.threads import limited, most_threads

from .cone_data import DATA, TOLERANCE, load
from .layer import layer, steps_of
from .piles import cluster_field
from .race import TURN, Ours
from .report import Row, best_time
from .settling import settling


def run() -> list[Row]:
    if most_threads() < 2:
        return [Row("GR on 2 threads", "the same bits", "one core only", None)]
    cases = {"20,000 contacts in small clusters": cluster_field(1500, 20).contacts}
    for path in sorted(DATA.glob("*jammed.npz")):
        cases[path.stem] = load(path)
    rows = []
    for name, contacts in cases.items():
        answers, times = [], []
        for count in (1, 2):
            with limited(count):
                given = contacts.rows, contacts.velocity, np.full(contacts.count, ELASTIC_STRETCH), TOLERANCE, 100000
                seconds, answer = best_time(lambda args=given: reflections(*args), 7)
            answers.append(answer[1])
            times.append(seconds)
        same = np.array_equal(answers[0], answers[1])
        print(f"{name}: {times[0] * 1e3:.1f} ms on one thread, {times[1] * 1e3:.1f} ms on two")
        rows.append(Row(f"GR on 2 threads, {name}", "the same bits", f"{same}, {times[0] / times[1]:.2f} x", same))
    return rows


def run_steps(quick: bool = False) -> list[Row]:
    """Whole steps on one and on two threads, in turns: wall time, which another program on the machine disturbs.

    Then with the number of threads that a run chooses, beside a program that keeps all processors but one busy.
    """
    name, two = "2 threads against 1", "same bits, >= 1.6 times faster"
    if most_threads() < 2:
        return [Row(name, two, "one core only", None)]
    spheres, side = (300, 6) if quick else (10_000, 50)
    skip, steps = (40, 20) if quick else (160, 80)  # of the spheres, which then are a moving heap
    heap, plate = settling(Sphere(0.5), spheres), layer(side)
    length = (steps_of(0.3), 20) if quick else (steps_of(1.0), 120)
    of_plate, by_default = f"layer of {6 * side * side:,} spheres, gr", "same bits, >= 0.95 of one thread's speed"
    with busy(allowed_processors() - 1):
        beside = _both(f"{of_plate}, others busy, default threads", plate, *length, nullcontext, 0.95, by_default)
    return [
        _both(f"{spheres:,} spheres settle, 2 threads", heap, skip, steps, partial(limited, 2), 1.6, two),
        _both(f"{of_plate}, 2 threads", plate, *length, partial(limited, 2), 1.6, two),
        beside,
    ]


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keeps a number of processors busy for a while."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def _both(
    name: str,
    scene: Scene,
    skip: int,
    steps: int,
    threads: Callable[[], AbstractContextManager[None]],
    least: float,
    asked: str,
) -> Row:
    """The scene after `skip` steps, for `steps` more, on one thread and as `threads` says, in turns."""
    runs, wall = (Ours(scene), Ours(scene)), [0.0, 0.0]
    for done in range(0, skip + steps, TURN):
        for k, run in enumerate(runs):
            with limited(1) if k == 0 else threads():
                start = perf_counter()
                run.steps(TURN)
                wall[k] += perf_counter() - start if done >= skip else 0.0
    states = [run.sim.state for run in runs]
    same = all(np.array_equal(getattr(states[0], key), getattr(states[1], key)) for key in ("position", "velocity"))
    ratio, each = wall[0] / wall[1], [1e3 * seconds / steps for seconds in wall]
    print(f"  {name}: {each[1]:.1f} ms per step, {each[0]:.1f} on one thread", flush=True)
    print(f"    {runs[0].accuracy()}", flush=True)
    measured = f"{'same bits' if same else 'OTHER BITS'}, {ratio:.2f} times (wall time)"
    return Row(name, asked, measured, same and ratio >= least)

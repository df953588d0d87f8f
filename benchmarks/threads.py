"""One thread against two: the same bits, and what it saves."""

from __future__ import annotations

from time import perf_counter

import numba
import numpy as np

from carom.laws.gr import reflections
from carom.scene import Scene
from carom.scene.shapes import Sphere

from .cone_data import DATA, TOLERANCE, load
from .layer import layer, steps_of
from .piles import cluster_field
from .race import TURN, Ours
from .report import Row, best_time
from .settling import settling


def run() -> list[Row]:
    available = numba.config.NUMBA_NUM_THREADS
    if available < 2:
        return [Row("GR on 2 threads", "the same bits", "one core only", None)]
    cases = {"20,000 contacts in small clusters": cluster_field(1500, 20).contacts}
    for path in sorted(DATA.glob("*jammed.npz")):
        cases[path.stem] = load(path)
    rows = []
    for name, contacts in cases.items():
        answers, times = [], []
        for count in (1, 2):
            numba.set_num_threads(count)
            seconds, answer = best_time(lambda c=contacts: reflections(c.rows, c.velocity, TOLERANCE, 100000), 7)
            answers.append(answer[1])
            times.append(seconds)
        same = np.array_equal(answers[0], answers[1])
        print(f"{name}: {times[0] * 1e3:.1f} ms on one thread, {times[1] * 1e3:.1f} ms on two")
        rows.append(Row(f"GR on 2 threads, {name}", "the same bits", f"{same}, {times[0] / times[1]:.2f} x", same))
    return rows


def run_steps(quick: bool = False) -> list[Row]:
    """Whole steps on one and on two threads, in turns: wall time, which another program on the machine disturbs."""
    name = "2 threads against 1"
    if numba.config.NUMBA_NUM_THREADS < 2:
        return [Row(name, "same bits, >= 1.6 times faster", "one core only", None)]
    spheres, side = (300, 6) if quick else (10_000, 50)
    skip, steps = (40, 20) if quick else (160, 80)  # of the spheres, which then are a moving heap
    return [
        _both(f"{spheres:,} spheres settle", settling(Sphere(0.5), spheres), skip, steps),
        _both(
            f"layer of {6 * side * side:,} spheres, gr",
            layer(side),
            steps_of(0.3 if quick else 1.0),
            20 if quick else 120,
        ),
    ]


def _both(name: str, scene: Scene, skip: int, steps: int) -> Row:
    """The scene after `skip` steps, for `steps` more, on one thread and on two."""
    before, runs = numba.get_num_threads(), (Ours(scene), Ours(scene))
    wall = [0.0, 0.0]
    for done in range(0, skip + steps, TURN):
        for k, run in enumerate(runs):
            numba.set_num_threads(k + 1)
            start = perf_counter()
            run.steps(TURN)
            wall[k] += perf_counter() - start if done >= skip else 0.0
    numba.set_num_threads(before)
    states = [run.sim.state for run in runs]
    same = all(np.array_equal(getattr(states[0], key), getattr(states[1], key)) for key in ("position", "velocity"))
    ratio = wall[0] / wall[1]
    print(
        f"  {name}: {1e3 * wall[0] / steps:.1f} ms per step on one thread, {1e3 * wall[1] / steps:.1f} on two",
        flush=True,
    )
    print(f"    {runs[0].accuracy()}", flush=True)
    measured = f"{'same bits' if same else 'OTHER BITS'}, {ratio:.2f} times (wall time)"
    return Row(f"{name}, 2 threads", "same bits, >= 1.6 times faster", measured, same and ratio >= 1.6)

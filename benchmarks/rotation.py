"""Free rotation: time a step of 10,000 bodies, drift of one body in a million steps."""

from __future__ import annotations

import numpy as np
from numba import njit

from carom.geometry import rotations
from carom.solvers.rows import Floats
from carom.stepping.rotation import MOSER_VESELOV, SPLIT, rotate_free

from .report import Row, best_time

N, STEPS = 10_000, 1_000_000
MOMENTS = np.array([[1.0, 2.0, 2.7]])


@njit
def _tumble(orientation: Floats, spin: Floats, inertia: Floats, step: float, count: int, scheme: int):  # type: ignore[no-untyped-def]
    free = np.ones(len(spin), np.bool_)
    for _ in range(count):
        orientation, spin = rotate_free(orientation, spin, inertia, free, step, scheme)
    return orientation, spin


def drift(scheme: int, step: float = 0.01) -> tuple[float, float]:
    """Largest relative error of energy and of angular momentum at a hundred instants of a million steps."""
    q, w = np.array([[0.5, 0.1, -0.7, 0.5]]), np.array([[1.0, 0.7, -0.4]])
    energy, momentum = (MOMENTS * w**2).sum(), rotations.turned(q, MOMENTS * w)
    worst = [0.0, 0.0]
    for _ in range(100):
        q, w = _tumble(q, w, MOMENTS, step, STEPS // 100, scheme)
        off = np.linalg.norm(rotations.turned(q, MOMENTS * w) - momentum) / np.linalg.norm(momentum)
        worst = [max(worst[0], abs((MOMENTS * w**2).sum() / energy - 1.0)), max(worst[1], float(off))]
    return worst[0], worst[1]


def run() -> list[Row]:
    rng = np.random.default_rng(1)
    q = rng.normal(size=(N, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    w, free = 5.0 * rng.normal(size=(N, 3)), np.ones(N, np.bool_)
    equal, unequal = np.ones((N, 3)), rng.uniform(1.0, 1.9, (N, 3))

    def time(inertia: Floats, scheme: int) -> float:
        return 1e3 * best_time(lambda: rotate_free(q, w, inertia, free, 1e-3, scheme), 20)[0]

    spheres, bodies, split = time(equal, MOSER_VESELOV), time(unequal, MOSER_VESELOV), time(unequal, SPLIT)
    print(f"  {N:,} bodies: spheres {spheres:.2f} ms, Moser-Veselov {bodies:.2f} ms, split {split:.2f} ms per step")
    kept, other = drift(MOSER_VESELOV), drift(SPLIT)
    print(f"  split, {STEPS:,} steps: energy {other[0]:.1e}, angular momentum {other[1]:.1e}")
    return [
        Row("rotation, 10,000 spheres", "<= 0.3 ms", f"{spheres:.2f} ms", spheres <= 0.3),
        Row("rotation, 10,000 unequal moments", "<= 5 ms", f"{bodies:.2f} ms", bodies <= 5.0),
        Row("rotation, energy drift in 1e6 steps", "<= 1e-12", f"{kept[0]:.1e}", kept[0] <= 1e-12),
        Row("rotation, momentum drift in 1e6 steps", "<= 1e-12", f"{kept[1]:.1e}", kept[1] <= 1e-12),
    ]


if __name__ == "__main__":
    from .report import table

    print(table(run()))

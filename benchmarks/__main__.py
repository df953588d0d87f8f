"""`make bench`: every benchmark, what was asked of it and what was measured. Names as arguments pick some."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable

import numba
import numpy as np

from . import (
    bullet,
    cone_data,
    detection,
    overhead,
    qce_scaling,
    rotation,
    small_islands,
    solids,
    threads,
    towers,
    worlds,
)
from .report import Row, table

BENCHMARKS: dict[str, Callable[[], list[Row]]] = {
    "cone_data": cone_data.run,
    "small_islands": small_islands.run,
    "qce_scaling": qce_scaling.run,
    "overhead": overhead.run,
    "threads": threads.run,
    "detection": detection.run,
    "drop_10k": worlds.run_drop_10k,
    "drop_100k": worlds.run_drop_100k,
    "gas": worlds.run_gas,
    "drop_1m": worlds.run_drop_1m,
    "rotation": rotation.run,
    "solids": solids.run,
    "towers": towers.run,
    "bullet_spheres": bullet.run_spheres,
    "bullet_boxes": bullet.run_boxes,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}: one of {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    print(f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}")
    print("One thread except for `threads`, `detection`; ratios compare two things in the same run.\n")
    rows: list[Row] = []
    for name in names or BENCHMARKS:
        print(f"-- {name}: {BENCHMARKS[name].__module__}", flush=True)
        numba.set_num_threads(1)
        rows += BENCHMARKS[name]()
        print()
    print(table(rows))
    return int(any(row.passed is False for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`make bench`: every benchmark, what was asked of it and what was measured.

    python -m benchmarks [--quick] [--json FILE] [--markdown FILE] [--before FILE] [NAME ...]

Names select benchmarks. `--quick` takes small sizes and leaves other engines out. `--json` saves the rows;
`--markdown` writes them as a table, with the measured values of an earlier `--json` file as a column if `--before`
gives one.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import platform
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

import numba
import numpy as np

from . import (
    collapses,
    cone_data,
    derivatives,
    detection,
    discs,
    factorization,
    gas,
    guarantees,
    instants,
    joint_rows,
    layer,
    overhead,
    passes,
    qce_scaling,
    rotation,
    settling,
    small_islands,
    solids,
    threads,
    towers,
    worlds,
)
from .report import Row, markdown, table

BENCHMARKS: dict[str, Callable[..., list[Row]]] = {
    "boxes": settling.run_boxes,
    "spheres": settling.run_spheres,
    "discs": discs.run,
    "gas_events": gas.run,
    "layer": layer.run,
    "layer_large": layer.run_large,
    "layer_map": layer.run_map,
    "thread_steps": threads.run_steps,
    "instants": instants.run,
    "derivatives": derivatives.run,
    "collapses": collapses.run,
    "standing": guarantees.run_standing,
    "fuzz": guarantees.run_fuzz,
    "checks": guarantees.run_checks,
    "resume": guarantees.run_resume,
    "gr_drop": worlds.run_gr_drop,
    "factorization": factorization.run,
    "cone_data": cone_data.run,
    "small_islands": small_islands.run,
    "joint_rows": joint_rows.run,
    "qce_scaling": qce_scaling.run,
    "overhead": overhead.run,
    "small_worlds": overhead.run_small_worlds,
    "passes": passes.run,
    "threads": threads.run,
    "detection": detection.run,
    "drop_10k": worlds.run_drop_10k,
    "drop_100k": worlds.run_drop_100k,
    "gas": worlds.run_gas,
    "drop_1m": worlds.run_drop_1m,
    "rotation": rotation.run,
    "solids": solids.run,
    "towers": towers.run,
}
QUICK = [name for name, run in BENCHMARKS.items() if "quick" in inspect.signature(run).parameters]


def arguments(given: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Runs benchmarks and prints a verdict.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--quick", action="store_true", help=f"small sizes, without other engines: {', '.join(QUICK)}")
    parser.add_argument("--json", type=Path, help="file for the rows")
    parser.add_argument("--markdown", type=Path, help="file for the table in Markdown")
    parser.add_argument("--before", type=Path, help="rows of an earlier run, a column of the table in Markdown")
    chosen = parser.parse_args(given)
    known = QUICK if chosen.quick else list(BENCHMARKS)
    for name in chosen.names:
        if name not in known:
            parser.error(f"unknown benchmark {name!r}: one of {', '.join(known)}")
    chosen.names = chosen.names or known
    return chosen


def measured(name: str, quick: bool) -> list[Row]:
    """The rows of one benchmark. One that ends with an error fails, and the others still run."""
    try:
        return BENCHMARKS[name](quick=True) if quick else BENCHMARKS[name]()
    except Exception as error:
        traceback.print_exc()
        return [Row(name, "runs", f"{type(error).__name__}: {error}", False)]


def main(given: list[str]) -> int:
    """Runs the chosen benchmarks; 1 if one fails. A quick run fails by errors alone: its sizes decide nothing else."""
    chosen = arguments(given)
    print(f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}")
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}: other work slows CPU time down, too.")
    print("One thread and CPU time unless a line says otherwise; ratios compare two things in the same run.\n")
    rows: list[Row] = []
    for name in chosen.names:
        print(f"-- {name}: {BENCHMARKS[name].__module__}", flush=True)
        numba.set_num_threads(1)
        start = perf_counter()
        rows += measured(name, chosen.quick)
        print(f"   {perf_counter() - start:.0f} s\n", flush=True)
        if chosen.json:  # after each, so that an interrupted run leaves what it has measured
            chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    print(table(rows))
    if chosen.markdown:
        earlier = json.loads(chosen.before.read_text()) if chosen.before else []
        chosen.markdown.write_text(markdown(rows, {row["name"]: row["measured"] for row in earlier}))
    return int(any(row.passed is False and (not chosen.quick or row.asked == "runs") for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

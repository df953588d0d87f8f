"""CHOLMOD (supernodal, through cvxopt) on a sparse positive definite matrix, in its own environment.

Benchmarks call `cholmod_seconds`, which runs `python -m benchmarks.engines.cholmod MATRIX.npz` there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

REPEATS = 3


def cholmod_seconds(matrix: Any) -> tuple[float, float] | str:
    """CPU seconds for analysis and numeric factorization on one thread, or why they were not measured.

    `matrix` is a scipy sparse matrix, symmetric and positive definite.
    """
    from .process import ROOT, environments, missing

    if (reason := missing("cholmod")) is not None:
        return reason
    lower = matrix.tocoo()
    keep = lower.row >= lower.col
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrix.npz"
        np.savez(path, row=lower.row[keep], col=lower.col[keep], value=lower.data[keep], n=matrix.shape[0])
        ran = subprocess.run(
            [str(environments() / "cholmod" / "bin" / "python"), "-m", "benchmarks.engines.cholmod", str(path)],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
    found = json.loads(ran.stdout.splitlines()[-1])
    return found["analyze"], found["factor"]


def main(path: str) -> None:
    """Prints the shortest CPU times of REPEATS runs."""
    from cvxopt import cholmod, matrix, spmatrix

    with np.load(path) as data:
        entries = [matrix(np.ascontiguousarray(data["value"], float))]
        entries += [matrix(np.ascontiguousarray(data[key], int)) for key in ("row", "col")]
        lower = spmatrix(*entries, (int(data["n"]), int(data["n"])))
    cholmod.options["supernodal"] = 2
    analyze, factor = [], []
    for _ in range(REPEATS):
        start = process_time()
        symbolic = cholmod.symbolic(lower)
        middle = process_time()
        cholmod.numeric(lower, symbolic)
        analyze.append(middle - start)
        factor.append(process_time() - middle)
    print(json.dumps({"analyze": min(analyze), "factor": min(factor)}))


if __name__ == "__main__":
    main(sys.argv[1])

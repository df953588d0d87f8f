"""Benchmarks of Carom: `python -m benchmarks`."""

import os

# "One thread" is meant of linear algebra, too: its idle threads wait in a loop, which counts as processor time. The
# variables are read when NumPy is imported, so they stand here. Engines that are compared start processes of their own.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

"""Settings of the whole suite."""

import os

# Before NumPy and Numba load. Two threads even on one processor, so that tests can compare one with two; BLAS
# keeps to one, so that its sums do not depend on the machine.
os.environ.setdefault("NUMBA_NUM_THREADS", "2")
for _blas in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_blas, "1")
os.environ.setdefault("MPLBACKEND", "agg")

from hypothesis import HealthCheck, settings  # noqa: E402

# "ci" draws the same examples every time: a red build is then the fault of the change. "explore" draws new ones
# (HYPOTHESIS_PROFILE=explore make test). "long" is that of `make test-long`.
_slow = [HealthCheck.too_slow, HealthCheck.filter_too_much]
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=25, suppress_health_check=_slow)
settings.register_profile("long", derandomize=True, deadline=None, max_examples=100, suppress_health_check=_slow)
settings.register_profile("explore", deadline=None, max_examples=500, suppress_health_check=_slow)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Benchmarks and fuzzing limit and measure processes by calls of POSIX.
collect_ignore = ["test_benchmarks.py", "test_fuzz.py"] if os.name == "nt" else []

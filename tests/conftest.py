"""Settings of the whole suite."""

import os

# Before NumPy and Numba load. Two threads even on one processor, so that tests can compare one with two; BLAS
# keeps to one, so that its sums do not depend on the machine.
os.environ.setdefault("NUMBA_NUM_THREADS", "2")
for _blas in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_blas, "1")
os.environ.setdefault("MPLBACKEND", "agg")

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

# "ci" draws the same examples every time: a red build is then the fault of the change. "explore" draws new ones
# (HYPOTHESIS_PROFILE=explore make test). "long" is that of `make test-long`.
_slow = [HealthCheck.too_slow, HealthCheck.filter_too_much]
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=10, suppress_health_check=_slow)
settings.register_profile("long", derandomize=True, deadline=None, max_examples=100, suppress_health_check=_slow)
settings.register_profile("explore", deadline=None, max_examples=500, suppress_health_check=_slow)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Benchmarks and fuzzing limit and measure processes by calls of POSIX.
collect_ignore = ["test_benchmarks.py", "test_fuzz.py"] if os.name == "nt" else []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks as `long` the cases of tests marked `covering` that the fast suite leaves out."""
    tests = {}
    for item in items:
        if item.get_closest_marker("covering") and not item.get_closest_marker("long"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        kept = set(covering([case.callspec.params for case in cases]))
        for number, case in enumerate(cases):
            if number not in kept:
                case.add_marker(pytest.mark.long)


def covering(cases):
    """Indices of cases (dictionaries) in which each value of each parameter occurs, chosen one by one.

    The next case has as many values as possible that have not occurred, and then values that occurred least. Of a
    full grid this is a diagonal.
    """
    values = [[(name, _identity(value)) for name, value in case.items()] for case in cases]
    uses = {value: 0 for case in values for value in case}
    kept = []
    while not all(uses.values()):
        counts = [[uses[value] for value in case] for case in values]
        kept.append(max(range(len(cases)), key=lambda k: (counts[k].count(0), -sum(counts[k]))))
        for value in values[kept[-1]]:
            uses[value] += 1
    return kept


def _identity(value):
    """The value itself, or what tells it from others if it cannot be a key."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value

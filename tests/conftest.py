"""Settings of the whole suite."""

import gc
import os
import signal

# Before NumPy and Numba load. Two threads even on one processor, so that tests can compare one with two; BLAS
# keeps to one, so that its sums do not depend on the machine.
os.environ.setdefault("NUMBA_NUM_THREADS", "2")
for _blas in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_blas, "1")
os.environ.setdefault("MPLBACKEND", "agg")
# A shell that starts the tests in the background lets them ignore Ctrl-C, which some of them send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

# "ci" draws the same examples every time: a red build is then the fault of the change. "explore" draws new ones
# (HYPOTHESIS_PROFILE=explore make test). "long" is that of `make test-long`.
_slow = [HealthCheck.too_slow, HealthCheck.filter_too_much]
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=10, suppress_health_check=_slow)
settings.register_profile("long", derandomize=True, deadline=None, max_examples=100, suppress_health_check=_slow)
settings.register_profile("explore", deadline=None, max_examples=500, suppress_health_check=_slow)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

pytest_plugins = ["tests.processes"]

# Benchmarks and fuzzing limit and measure processes by calls of POSIX.
collect_ignore = ["test_benchmarks.py", "test_fuzz.py"] if os.name == "nt" else []


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Nothing that is collected is garbage: without the search for it, collecting takes a third less time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # later searches pass over the tests and all modules
        gc.enable()


@pytest.fixture
def blank_pictures(monkeypatch):
    """Figures become empty files, for tests of the numbers beside them: to draw one takes half a second per format."""
    monkeypatch.setattr("carom.draw.style.picture", lambda figure, ending, dots=None: b"")


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    """Of a test marked `covering`, the fast suite builds only the cases that it runs; elsewhere the others are `long`.

    The cases that are left out are a third of all, and to build and deselect them took seconds in each process.
    """
    yield
    marks = {mark.name for mark in metafunc.definition.iter_markers()}
    if "covering" in marks and "long" not in marks:
        cases = [case for case in metafunc._calls if "long" not in {mark.name for mark in case.marks}]
        kept = set(covering([case.params for case in cases]))
        for number, case in enumerate(cases):
            if number not in kept:
                case.marks.append(pytest.mark.long.mark)
        if metafunc.config.option.markexpr == "not long":
            metafunc._calls = [case for number, case in enumerate(cases) if number in kept]


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

"""One BLAS thread for many small problems.

SLSQP calls LAPACK for matrices of a few dozen rows. With several OpenBLAS threads each such call wakes and awaits
them all: on two busy processors the search for seven bricks took 84 s instead of 8 s, and the last bits of its sums
depended on the machine. SciPy and NumPy offer no switch, so it is thrown in the library that their wheels bring.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy
import scipy

PREFIXES = ("scipy_openblas", "openblas")
SUFFIXES = ("", "64_")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """OpenBLAS from the wheels of SciPy and NumPy keeps to one thread meanwhile. Another BLAS is left alone."""
    with ExitStack() as undo:
        for package in (scipy, numpy):
            for get, put in _switches(Path(str(package.__file__)).parent.parent / f"{package.__name__}.libs"):
                undo.callback(put, get())
                put(1)
        yield


def _switches(folder: Path) -> Iterator[tuple[Callable[[], int], Callable[[int], None]]]:
    """(get, set) of the number of threads for each OpenBLAS in the folder; it is loaded already, by its owner."""
    for path in sorted(folder.glob("*openblas*")):
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for prefix in PREFIXES:
            for suffix in SUFFIXES:
                get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                put = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if get is not None and put is not None:
                    yield get, put

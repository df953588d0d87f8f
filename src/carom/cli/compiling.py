"""Tells the user when Numba compiles kernels, which it does once and then keeps on disk."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.errors import LiveError
from rich.status import Status

from .console import remarks

NOTE = "compiling kernels (only the first time; up to two minutes)"


@dataclass
class Compilation:
    """What was compiled while the notice was up."""

    kernels: int = 0
    seconds: float = 0.0


@contextmanager
def compile_notice(console: Console | None = None) -> Iterator[Compilation]:
    """Prints a line on stderr as soon as a kernel is compiled inside the block, with a spinner in a terminal.

    It listens to Numba's own events, so it is silent exactly when every kernel came from the cache.
    """
    from numba.core import event

    err = console or remarks()
    report = Compilation()
    spinner: Status | None = None
    depth, since = 0, 0.0

    class Listener(event.Listener):  # type: ignore[misc]
        # What a kernel pulls in is compiled inside it and counts as part of it: hence the depth.
        def on_start(self, event: Any) -> None:
            nonlocal depth, since, spinner
            if depth == 0:
                if not report.kernels:
                    err.print(NOTE + " ...")
                since = time.perf_counter()
                report.kernels += 1
                spinner = _spinner(err, f"compiling {_kernel_name(event.data)} ({report.kernels})")
            depth += 1

        def on_end(self, event: Any) -> None:
            nonlocal depth
            depth -= 1
            if depth == 0:
                report.seconds += time.perf_counter() - since
                if spinner is not None:
                    spinner.stop()

    try:
        with event.install_listener("numba:compile", Listener()):
            yield report
    finally:
        if spinner is not None:  # an interrupt may have come between start and end
            spinner.stop()
    if report.kernels:
        what = "1 kernel" if report.kernels == 1 else f"{report.kernels} kernels"
        err.print(f"compiled {what} in {report.seconds:.1f} s; kept in {_short(cache_folder())}")


def cache_folder() -> Path:
    """The folder where Numba keeps the compiled kernels of `carom.solvers`; the other folders lie beside it."""
    from ..solvers.rows import rows_times

    return Path(rows_times.stats.cache_path)


def _spinner(console: Console, text: str) -> Status | None:
    """A spinner in a terminal, unless a progress bar has the last line already."""
    if not console.is_terminal:
        return None
    spinner = console.status(text)
    try:
        spinner.start()
    except LiveError:
        return None
    return spinner


def _kernel_name(data: Any) -> str:
    dispatcher = data.get("dispatcher") if isinstance(data, dict) else None
    function = getattr(dispatcher, "py_func", None)
    return getattr(function, "__qualname__", "a kernel")


def _short(path: Path) -> str:
    """The path without what every path here starts with."""
    for base, sign in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(base):
            return sign + str(path.relative_to(base))
    return str(path)

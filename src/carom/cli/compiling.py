"""Tells the user of a command when kernels are compiled, which happens once; the machine code is kept on disk."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.errors import LiveError
from rich.status import Status

from ..kernels import cache_folder, compile_seconds
from ..kernels.notice import Notice, announcement, short, using
from .console import remarks

EVERY = 10.0  # seconds between two lines where no terminal shows a spinner


class Compilation(Notice):
    """What is compiled while the notice is up: one line, then a spinner in a terminal, elsewhere a line per 10 s."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console
        self.kernels = 0  # that were compiled, without those that they call
        self.prepared = 0  # kernels that were compiled in parallel, before they were needed
        self.preparing = False  # whether that is going on
        self.shown = time.monotonic()  # when a line was last printed
        self.spinner: Status | None = None
        self.before = compile_seconds()
        self.after: float | None = None

    @property
    def seconds(self) -> float:
        """Wall time of compiling, so far or until the end of the notice."""
        return (compile_seconds() if self.after is None else self.after) - self.before

    def begin(self, kernels: int = 0) -> None:
        if not self.told:
            self.console.print(announcement(kernels) + " ...", markup=False, soft_wrap=True)
            self.told = True
        self.prepared += kernels
        if not self.preparing:  # else a kernel is compiled as one of those that were announced
            self.preparing = kernels > 0
            self._show(f"compiling {kernels} kernels" if kernels else "compiling a kernel")

    def advance(self, done: int, kernels: int) -> None:
        self.preparing = done < kernels
        text = f"compiling kernels: {done} of {kernels}"
        self._show(text)
        if not self.console.is_terminal and self.preparing and time.monotonic() - self.shown >= EVERY:
            self.shown = time.monotonic()
            self.console.print(text, markup=False, soft_wrap=True)
        self.stop()

    def stop(self) -> None:
        """Removes the spinner, unless kernels are still being compiled in parallel."""
        if self.spinner is not None and not self.preparing:
            self.spinner.stop()
            self.spinner = None

    def _show(self, text: str) -> None:
        if self.spinner is not None:
            self.spinner.update(text)
        elif self.console.is_terminal:
            spinner = self.console.status(text)
            try:
                spinner.start()
            except LiveError:  # a progress bar has the last line already
                return
            self.spinner = spinner


@contextmanager
def compile_notice(console: Console | None = None) -> Iterator[Compilation]:
    """Prints a line on stderr as soon as a kernel is compiled inside the block, with a spinner in a terminal.

    It is silent if every kernel comes from the cache.
    """
    from numba.core import event

    notice = Compilation(console or remarks())

    class Listener(event.Listener):  # type: ignore[misc]
        """Counts; a kernel that another one calls is compiled inside it and counts as part of it."""

        depth = 0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                notice.kernels += 1
                notice.begin()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                notice.stop()

    try:
        with using(notice), event.install_listener("numba:compile", Listener()):
            yield notice
    finally:
        notice.preparing = False
        notice.stop()
        notice.after = compile_seconds()
        notice.kernels = max(notice.kernels, notice.prepared)
    if notice.kernels:
        what = "1 kernel" if notice.kernels == 1 else f"{notice.kernels} kernels"
        folder = cache_folder()
        kept = f"; kept in {short(folder)}" if folder else ""
        notice.console.print(f"compiled {what} in {notice.seconds:.1f} s{kept}", markup=False, soft_wrap=True)

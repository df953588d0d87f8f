"""Deferring Ctrl-C: during a write, because HDF5 cannot handle an exception in its callbacks, and during a step, so
that state, step table and frames stay consistent."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays SIGINT to the end of the block. Has no effect outside the main thread, which alone receives signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[FrameType | None] = []
    before = signal.signal(signal.SIGINT, lambda _, frame: caught.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
        if caught and callable(before):
            before(signal.SIGINT, caught[0])


@dataclass
class StopRequest:
    """Whether Ctrl-C was pressed."""

    asked: bool = False


@contextmanager
def stop_on_request() -> Iterator[StopRequest]:
    """Inside the block the first Ctrl-C only sets `asked`, which a loop can test; the second one interrupts at once."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        if request.asked and callable(before):
            before(number, frame)
        request.asked = True

    signal.signal(signal.SIGINT, note)
    try:
        yield request
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)

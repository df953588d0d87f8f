"""When Ctrl-C counts: not inside a write, because HDF5 does not forgive a callback that fails half-way, and in a run
only between two steps, so that state, rows and frames belong together."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Holds SIGINT back inside the block, and delivers it at the end. Only the main thread ever receives it."""
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
    """Inside the block the first Ctrl-C is only noted, for a loop to look at; a second one interrupts at once."""
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

"""How far a film is: a bar in a terminal, a plain line now and then elsewhere. On stderr."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .console import remarks
from .progress import EVERY, WINDOW, clock

Tell = Callable[[int, int], None]


class Rate:
    """Pictures a second of late, and the seconds that are left.

    It counts from the first picture on: before that, kernels may be compiled and colors counted.
    """

    def __init__(self) -> None:
        self._past: deque[tuple[float, int]] = deque()

    def update(self, done: int, count: int) -> tuple[float, float]:
        now = time.perf_counter()
        self._past.append((now, done))
        while len(self._past) > 2 and now - self._past[0][0] > WINDOW:
            self._past.popleft()
        since, before = self._past[0]
        rate = (done - before) / max(now - since, 1e-9)
        return rate, (count - done) / rate if rate > 0.0 else float("inf")


@contextmanager
def showing(title: str, quiet: bool = False) -> Iterator[Tell | None]:
    """A function for `write_film(progress=...)` that shows how far it is while the block runs."""
    if quiet:
        yield None
    elif remarks().is_terminal:
        yield from _bar(title)
    else:
        yield _lines(title)


def _bar(title: str) -> Iterator[Tell]:
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("[dim]{task.fields[numbers]}"),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=remarks(), transient=True, expand=True) as bar:
        task = bar.add_task(escape(title), total=1.0, numbers="preparing", left="")
        pace = Rate()

        def tell(done: int, count: int) -> None:
            rate, left = pace.update(done, count)
            numbers = f"{done:,} of {count:,} pictures, {rate:.1f}/s"
            bar.update(task, completed=done / count, numbers=numbers, left=f"{clock(left)} left")

        yield tell


def _lines(title: str) -> Tell:
    pace = Rate()
    last = time.perf_counter()

    def tell(done: int, count: int) -> None:
        nonlocal last
        rate, left = pace.update(done, count)
        now = time.perf_counter()
        if now - last >= EVERY and done < count:
            last = now
            text = (
                f"{title}: {100 * done // count} %, {done:,} of {count:,} pictures, {rate:.1f}/s · {clock(left)} left"
            )
            remarks().print(text, markup=False, soft_wrap=True)

    return tell

"""Progress of work on stderr: a bar and a line of numbers in a terminal, otherwise a plain line every ten seconds."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from .console import remarks

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from ..simulation import Progress
    from .compiling import Compilation

    Tell = Callable[[Progress], None]

Show = Callable[[float, str, str], None]  # (share that is done, numbers, time left)

EVERY = 10.0  # seconds between plain lines
WINDOW = 10.0  # seconds over which the speed is measured: the cost of a step changes during a run


class Pace:
    """Recent speed, and an estimate of the remaining seconds. `begin` are the seconds and the work done at the start.

    Without it the first update is the start: kernels may be compiled before.
    """

    def __init__(self, *begin: tuple[float, int]) -> None:
        self._past: deque[tuple[float, int]] = deque(begin)

    def update(self, seconds: float, done: int, rest: int) -> tuple[float, float]:
        """(work per second, remaining seconds)."""
        self._past.append((seconds, done))
        while len(self._past) > 2 and seconds - self._past[0][0] > WINDOW:
            self._past.popleft()
        since, before = self._past[0]
        rate = (done - before) / max(seconds - since, 1e-9)
        return rate, rest / rate if rate > 0.0 else float("inf")


def numbers(p: Progress, rate: float) -> str:
    """The line below the bar, which fits 80 columns."""
    parts = (
        f"t {p.time:.{_digits(p)}f} of {p.duration:g}",
        f"{rate:,.0f} steps/s",
        f"contacts {p.contacts:,}",
        f"iterations {p.iterations:,}",
        f"energy {p.energy_change:+.0e}" if p.energy_change else "energy +0",
    )
    return " · ".join(parts)


def _digits(p: Progress) -> int:
    """Decimal places at which the time visibly changes."""
    return 0 if p.duration >= 1000 else 1 if p.duration >= 100 else 2 if p.duration >= 1 else 4


def clock(seconds: float) -> str:
    """`m:ss` or `h:mm:ss`."""
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


@contextmanager
def telling(title: str, quiet: bool = False) -> Iterator[Tell | None]:
    """A function for `simulate(progress=...)` that displays the progress inside the block; None if `quiet`."""
    with display(title, quiet) as show:
        pace = Pace((0.0, 0))

        def tell(p: Progress) -> None:
            rate, left = pace.update(p.seconds, p.steps_done, p.steps - p.step)
            show(p.step / max(p.steps, 1), numbers(p, rate), f"{clock(left)} left")

        yield None if quiet else tell


@contextmanager
def film_progress(title: str, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """The same for `carom.render(progress=...)`."""
    with display(title, quiet) as show:
        pace = Pace()

        def tell(done: int, count: int) -> None:
            rate, left = pace.update(time.perf_counter(), done, count - done)
            show(done / count, f"{done:,} of {count:,} pictures, {rate:.1f}/s", f"{clock(left)} left")

        yield None if quiet else tell


@contextmanager
def display(title: str, quiet: bool = False, every: float = EVERY) -> Iterator[Show]:
    """A function that displays the progress of some work inside the block.

    In a terminal it moves a bar; elsewhere it writes a line every so many seconds, if the work is not done.
    """
    if quiet:
        yield lambda share, text, left: None
        return
    if not remarks().is_terminal:
        last = time.perf_counter()

        def line(share: float, text: str, left: str) -> None:
            nonlocal last
            if time.perf_counter() - last >= every and share < 1.0:
                last = time.perf_counter()
                rest = f" · {left}" if left else ""
                remarks().print(f"{title}: {int(100 * share)} %, {text}{rest}", markup=False, soft_wrap=True)

        yield line
        return
    from rich.markup import escape

    with _bar() as bar:
        task = bar.add_task(escape(title), total=1.0, numbers="preparing", left="")
        yield lambda share, text, left: bar.update(task, completed=share, numbers=text, left=left)


def _bar() -> Bar:
    from rich.console import RenderableType
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.text import Text

    class TwoLines(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            for task in self.tasks:
                yield self.make_tasks_table([task])
                yield Text(task.fields["numbers"], style="dim", no_wrap=True, overflow="ellipsis")

    return TwoLines(
        TextColumn("[bold]{task.description}", markup=True),
        BarColumn(bar_width=None),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[left]}"),
        console=remarks(),
        transient=True,
        expand=True,
    )


@contextmanager
def interrupts_as_such() -> Iterator[None]:
    """Raises KeyboardInterrupt for Ctrl-C inside a compiled kernel, which arrives as a SystemError."""
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__ or cause.__context__  # a kernel in a kernel wraps it twice
        if cause is None:
            raise
        raise KeyboardInterrupt from None


def compile_notice_beside_bar() -> AbstractContextManager[Compilation]:
    """The notice about compiling without its spinner, which would interfere with a progress bar."""
    from rich.console import Console

    from .compiling import compile_notice

    return compile_notice(Console(stderr=True, force_terminal=False, highlight=False))

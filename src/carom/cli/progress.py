"""Progress of a run on stderr: a bar and a line of numbers in a terminal, otherwise a plain line every ten seconds."""

from __future__ import annotations

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

EVERY = 10.0  # seconds between plain lines
WINDOW = 10.0  # seconds over which the speed is measured: the cost of a step changes during a run


class Pace:
    """Recent speed in steps per second, and an estimate of the remaining seconds."""

    def __init__(self) -> None:
        self._past: deque[tuple[float, int]] = deque([(0.0, 0)])

    def update(self, p: Progress) -> tuple[float, float]:
        """(steps per second, remaining seconds)."""
        self._past.append((p.seconds, p.steps_done))
        while len(self._past) > 2 and p.seconds - self._past[0][0] > WINDOW:
            self._past.popleft()
        seconds, steps = self._past[0]
        rate = (p.steps_done - steps) / max(p.seconds - seconds, 1e-9)
        return rate, (p.steps - p.step) / rate if rate > 0.0 else float("inf")


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
    if quiet:
        yield None
    elif remarks().is_terminal:
        with _bar() as bar:
            yield _on_bar(bar, title)
    else:
        yield _in_lines(title)


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


def _on_bar(bar: Bar, title: str) -> Tell:
    from rich.markup import escape

    task = bar.add_task(escape(title), total=1.0, numbers="preparing", left="")
    pace = Pace()

    def tell(p: Progress) -> None:
        rate, left = pace.update(p)
        text = f"{clock(left)} left"
        bar.update(task, completed=p.step / max(p.steps, 1), numbers=numbers(p, rate), left=text)

    return tell


def _in_lines(title: str) -> Tell:
    pace = Pace()
    last = 0.0

    def tell(p: Progress) -> None:
        nonlocal last
        rate, left = pace.update(p)
        if p.seconds - last >= EVERY and p.step < p.steps:
            last = p.seconds
            line = f"{title}: {100 * p.step // max(p.steps, 1)} %, {numbers(p, rate)} · {clock(left)} left"
            remarks().print(line, markup=False, soft_wrap=True)

    return tell


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

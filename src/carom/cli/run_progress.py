"""How far a run is: a bar with a line of numbers in a terminal, a plain line now and then elsewhere. On stderr."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .console import remarks

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from ..simulation import Progress

    Tell = Callable[[Progress], None]

EVERY = 10.0  # seconds between plain lines
WINDOW = 10.0  # seconds over which the speed is taken: steps grow dearer as more bodies meet


class Pace:
    """Steps a second of late, and the seconds that are left."""

    def __init__(self) -> None:
        self._past: deque[tuple[float, int]] = deque([(0.0, 0)])

    def update(self, p: Progress) -> tuple[float, float]:
        self._past.append((p.seconds, p.steps_done))
        while len(self._past) > 2 and p.seconds - self._past[0][0] > WINDOW:
            self._past.popleft()
        seconds, steps = self._past[0]
        rate = (p.steps_done - steps) / max(p.seconds - seconds, 1e-9)
        return rate, (p.steps - p.step) / rate if rate > 0.0 else float("inf")


def numbers(p: Progress, rate: float) -> str:
    """The line below the bar; it fits 80 columns."""
    parts = (
        f"t {p.time:.{_digits(p)}f} of {p.duration:g}",
        f"{rate:,.0f} steps/s",
        f"contacts {p.contacts:,}",
        f"iterations {p.iterations:,}",
        f"drift {p.drift:.0e}" if p.drift else "drift 0",
    )
    return " · ".join(parts)


def _digits(p: Progress) -> int:
    """Enough to see the time move."""
    return 0 if p.duration >= 1000 else 1 if p.duration >= 100 else 2 if p.duration >= 1 else 4


def clock(seconds: float) -> str:
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


@contextmanager
def telling(title: str, quiet: bool = False) -> Iterator[Tell | None]:
    """A function for `simulate(progress=...)` that shows how far it is while the block runs."""
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

"""Tables, formats of numbers, and phrases about runs that commands print."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..shown import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


# ---- tables


def pairs_table(width: int | None = None) -> Table:
    """An empty borderless table of names, in a column of at least `width`, and texts."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True, min_width=width)
    table.add_column(overflow="fold")
    return table


def show_pairs(console: Console, rows: list[tuple[str, str]]) -> None:
    """Prints a borderless table of names and texts."""
    table = pairs_table()
    for name, text in rows:
        table.add_row(name, text)
    console.print(table)


def plain_table() -> Table:
    """An empty table with a rule below its head and no other lines."""
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False)


def ruled_table(title: str = "", *names: str) -> Table:
    """A table with a rule below its head and its title at the left; `names` are columns of numbers."""
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    add_numbers(table, *names)
    return table


def bare_table(padding: tuple[int, ...] = (0, 1)) -> Table:
    """A table without lines, its head in bold."""
    from rich.table import Table

    return Table(header_style="bold", box=None, padding=padding)  # type: ignore[arg-type]


def add_numbers(table: Table, *names: str) -> None:
    """Adds columns of numbers, which are flush right."""
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)


def print_cut(console: Console, table: Table, total: int, limit: int, one: str, many: str | None = None) -> None:
    """Prints a table of the first `limit` of all rows, and says how to see the others."""
    console.print(table)
    if total > limit:
        more = counted(total - limit, f"more {one}", f"more {many or one + 's'}")
        console.print(f"  ... and {more}: --rows {total} prints all, --json has all digits\n")


# ---- numbers


def tick(yes: bool) -> str:
    """A mark that differs in shape as well as in color."""
    return "[green]✓[/]" if yes else "[dim]·[/]"


def verdict(passed: bool) -> str:
    """`pass` or `FAIL`, colored."""
    return "[green]pass[/]" if passed else "[bold red]FAIL[/]"


def number(value: float, digits: int = 4) -> str:
    """A short fixed-point number, with an exponent if it is very small or large; negative zero prints as zero."""
    if not math.isfinite(value):
        return str(value)
    if value != 0.0 and not 1e-3 <= abs(value) < 1e5:
        rounded = f"{value:.{max(digits - 2, 1)}e}"
        return f"{0:.{digits}f}" if abs(value) < 1e-12 else rounded
    return f"{value + 0.0:.{digits}f}"  # + 0.0 removes the sign of a negative zero


def small_text(value: float | None, digits: int = 1, missing: str = "–") -> str:
    """A number with an exponent; 0 is exact."""
    if value is None:
        return missing
    return "0" if value == 0.0 else f"{value:.{digits}e}"


def short(value: float) -> str:
    """A number as a person would write it, with up to five digits."""
    return f"{value:.5g}"


def brief(value: float, low: float = 1e-3, high: float = 1e3) -> str:
    """Two digits from `low` to `high`; beyond them one digit and an exponent."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "inf"
    return f"{value:.2g}" if low <= abs(value) < high else f"{value:.0e}"


def vector(values: Any) -> str:
    """A list of numbers in parentheses."""
    return "(" + ", ".join(number(float(v)) for v in values) + ")"


def setting(value: Any) -> str:
    """The value of an option."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def duration_text(seconds: float) -> str:
    """Seconds with two decimals below two minutes, else a clock."""
    if seconds < 120.0:
        return f"{seconds:.2f} s"
    from .progress import clock

    return clock(seconds)


def size_text(count: int) -> str:
    """A number of bytes with a suitable unit."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"


def contents_text(bodies: str, boundaries: int) -> str:
    """The bodies, and the number of boundaries if there are any."""
    return bodies + (f", {counted(boundaries, 'boundary', 'boundaries')}" if boundaries else "")


# ---- phrases about runs


def law_text(settings: dict[str, Any]) -> str:
    """Law, models and options in one line."""
    from rich.markup import escape

    models = [f"{k} {settings[f'{k}_model']}" for k in ("restitution", "friction") if settings[f"{k}_model"]]
    options = " ".join(f"{key}={setting(value)}" for key, value in settings["law_options"].items())
    text = ", ".join([f"[cyan]{escape(settings['law'])}[/]", *map(escape, models)])
    return f"{text}  [dim]{escape(options)}[/]" if options else text


def took_text(facts: dict[str, Any]) -> str:
    """Wall time, and the time of the steps with the share of each phase.

    The rest is start-up and recording. The time of compiling a kernel is part of the phase that needs it first.
    """
    seconds, compiling = facts["seconds"], facts.get("compile_seconds", 0.0)
    spent = sum(seconds.values())
    wall = spent if facts["wall_seconds"] is None else facts["wall_seconds"]
    shares = [f"{name} {100 * value / spent:.0f} %" for name, value in seconds.items() if value >= 0.005 * spent > 0.0]
    since = f" since step {facts['resumed_at']:,}" if facts["resumed_at"] else ""
    first = f" ({compiling:.1f} s of it compiling kernels, once)" if compiling else ""
    steps = rate_text(facts["steps"], spent)
    return f"{duration_text(wall)}{first}{since}{steps}  [dim]{', '.join(shares)}[/]"


def rate_text(steps: int, seconds: float) -> str:
    """Number of steps per second of computing time, the same for `carom run` and `carom info`."""
    return f"; steps {duration_text(seconds)}, {steps / seconds:,.0f} per second" if seconds else ""


def tolerance_text(tolerance: float | None, statistics: dict[str, Any]) -> str:
    """Tolerance of a run, the largest residual of its steps, and the number of steps that missed the tolerance."""
    if tolerance is None:
        return "bounds of its own"
    found, missed = statistics["residual"], statistics["missed"]
    largest = f"; largest residual {found['max']:.1e}" if found else ""
    steps = f"[bold red]{counted(missed, 'step')} missed it[/]" if missed else "[green]no step missed it[/]"
    return f"{tolerance:g}{largest}; {steps}"


def outcomes_text(statuses: dict[str, int]) -> str:
    """Numbers of steps by the worst status of their impacts."""
    styles = {"resolved": "green", "infeasible": "bold red"}
    parts = [
        f"{count:,} {'step' if count == 1 else 'steps'} [{styles.get(name, 'yellow')}]{name.replace('_', ' ')}[/]"
        for name, count in statuses.items()
        if count
    ]
    return ", ".join(parts) or "none"


def events_text(counts: dict[str, Any] | None) -> str:
    """Numbers of the recorded events, their size, the budget, and how many are not listed."""
    if counts is None:
        return "[dim]not recorded[/]"
    found = [counted(counts["impact"], "impact")]
    found += [counted(counts["rest"], "period of rest", "periods of rest")] if counts["rest"] else []
    size = f"[dim]{size_text(counts['bytes'])}"
    size += "[/]" if counts["budget"] is None else f" of {size_text(counts['budget'])} allowed[/]"
    if not counts["unlisted"]:
        return f"{', '.join(found)}  {size}"
    missing = f"[yellow]{counts['unlisted']:,} weaker ones are summed, not listed[/] (--events all lists them)"
    return f"{', '.join(found)}; {missing}  {size}"

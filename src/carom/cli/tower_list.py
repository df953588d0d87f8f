"""`carom tower list`: the towers that have a name."""

from __future__ import annotations

import typer

from .console import as_json, out


def list_(json: bool = typer.Option(False, "--json", help="Print JSON instead of a table.")) -> None:
    """List the towers that have a name."""
    from ..towers.named import FORMS, NAMED

    lines = {form.written: form.line for form in FORMS} | {name: entry.line for name, entry in NAMED.items()}
    if json:
        print(as_json(lines))
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False)
    table.add_column("tower", style="bold cyan", no_wrap=True)
    table.add_column("what it is")
    for name, line in lines.items():
        table.add_row(name, line)
    console = out()
    console.print(table)
    console.print("[bold]carom tower check wall-5x5[/] checks one, [bold]carom tower new FILE.toml[/] starts another")

"""`carom warmup`: compiles kernels before they are needed, in parallel."""

from __future__ import annotations

import os

import typer

from ..errors import ProblemError
from .console import as_json, out, remarks


def warmup(
    families: list[str] = typer.Argument(
        None, metavar="FAMILY", help="Families of kernels, such as 2d, 3d/solids or laws/gr; default: all."
    ),
    processes: int | None = typer.Option(
        None, "--processes", "-j", min=1, metavar="N", help="Number of processes; default: one per core."
    ),
    list_families: bool = typer.Option(False, "--list", help="List the families instead, with what is compiled."),
    native: bool = typer.Option(
        False,
        "--native",
        help="Compile for this processor alone, for runs with CAROM_NATIVE=1; their last digits may differ.",
    ),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
    record: bool = typer.Option(False, "--record", hidden=True, help="Write the manifest of this version."),
) -> None:
    """Compile kernels before they are needed, in parallel. The machine code is kept in the user's cache folder."""
    from ..kernels.manifest import load
    from ..kernels.processor import NATIVE_VARIABLE

    if native:
        os.environ[NATIVE_VARIABLE] = "1"  # before the first kernel is looked up; other processes inherit it

    if record:
        _record()
        return
    known = load()
    for name in families or ():
        if not known.names(name):
            raise ProblemError.unknown("family", name, [*dict.fromkeys(n.partition("/")[0] for n in known.families)])
    if list_families:
        _list(json)
        return
    _warm_up(families or list(known.families), processes, json)
    if native and not json:
        remarks().print(f"{NATIVE_VARIABLE}=1 lets runs use them")


def _warm_up(families: list[str], processes: int | None, json: bool) -> None:
    from ..kernels.warmup import warm_up
    from .compiling import compile_notice

    with compile_notice() as compiled:
        done = warm_up(families, processes)
    for line in done.skipped:
        remarks().print(f"skipped {line}", markup=False, soft_wrap=True)
    if json:
        count = done.kernels - len(done.skipped)
        print(as_json({"compiled": count, "skipped": done.skipped, "seconds": compiled.seconds}))
    elif not done.kernels:
        remarks().print("all kernels are compiled")


def compiled_families() -> dict[str, tuple[int, int]]:
    """For each family: how many of its kernels are compiled, and how many it has."""
    from ..kernels.manifest import load

    manifest = load()
    there = []
    for entry in manifest.entries:
        path = entry.path()
        there.append(path is not None and path.exists())
    return {name: (sum(there[i] for i in found), len(found)) for name, found in manifest.families.items()}


def _list(json: bool) -> None:
    from rich.table import Table

    found = compiled_families()
    if json:
        print(as_json({name: {"compiled": have, "kernels": all_} for name, (have, all_) in found.items()}))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("family", style="bold cyan")
    table.add_column("compiled", justify="right")
    for name, (have, all_) in found.items():
        table.add_row(name, f"{have} of {all_}")
    out().print(table)


def _record() -> None:
    from ..kernels.manifest import MANIFEST
    from .warmup_workloads import record

    manifest = record(lambda line: remarks().print(line, markup=False, soft_wrap=True))
    manifest.save()
    remarks().print(f"{len(manifest.entries)} kernels in {MANIFEST}", markup=False, soft_wrap=True)

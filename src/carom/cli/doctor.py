"""`carom doctor`: versions, threads and compiled kernels of this installation, and a test of every law."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from .console import as_json, out
from .tables import verdict

if TYPE_CHECKING:
    from rich.console import Console

    from ..laws import Law
    from ..problem.solution import ImpactSolution

NEEDED = ("numpy", "scipy", "numba", "h5py", "trimesh", "matplotlib", "rich", "typer")
OPTIONAL = {
    "viser": "the viewer",
    "imageio-ffmpeg": "films as .mp4",
    "piqp": "benchmarks and cross-checks",
    "clarabel": "benchmarks and cross-checks",
}

# Which desideratum a line of a solution's audit measures.
MEASURED = {
    "energy change": "KIN",
    "momentum error": "MOM",
    "slowest separation": "FEA",
    "smallest impulse": "ONE",
}


@dataclass(frozen=True)
class SelfTest:
    """One law on Newton's cradle: does it keep there what it claims?"""

    law: str
    passed: bool
    milliseconds: float  # of a solve whose kernels are compiled
    energy_error: float
    momentum_error: float
    problem: str = ""


def doctor(json: bool = typer.Option(False, "--json", help="Print JSON instead of tables.")) -> None:
    """Show versions, threads and the kernel cache, and test every law on Newton's cradle."""
    versions = _versions()
    if not json:  # before Numba is imported
        _show_facts(out(), versions)
    from .compiling import compile_notice
    from .warmup import compiled_families

    threads = _threads()
    if not json:  # before the tests, which load kernels
        _show_facts(out(), threads)
    with compile_notice() as compiled:
        tests = self_tests()
    families = compiled_families()
    kernel_facts = _kernels(compiled.kernels)
    failed = [t.law for t in tests if not t.passed]
    if json:
        kernels = {name: {"compiled": have, "kernels": all_} for name, (have, all_) in families.items()}
        self_test = [vars(t) for t in tests]
        print(
            as_json(
                {
                    "facts": {**versions, **threads, **kernel_facts},
                    "families": kernels,
                    "self_test": self_test,
                    "passed": not failed,
                }
            )
        )
    else:
        _show_facts(out(), {**kernel_facts, **_compiled(families)})
        _show_tests(out(), tests)
    if failed:
        raise typer.Exit(1)


def self_tests() -> list[SelfTest]:
    """Every registered law on five balls, one arriving."""
    from ..laws import every

    return [_self_test(name, law) for name, law in every()]


def _self_test(name: str, law: Law) -> SelfTest:
    from ..problem.problem import ImpactProblem
    from ..resolve.impulses import solve_impact

    problem = ImpactProblem.chain([1.0] * 5, [1.0, 0.0, 0.0, 0.0, 0.0], name="Newton's cradle")
    try:
        solve_impact(problem, law)
        start = time.perf_counter()
        solution = solve_impact(problem, law)
        took = 1e3 * (time.perf_counter() - start)
    except Exception as error:
        # A broken installation shows itself in ways nobody can list; doctor's task is to report, not to fall.
        return SelfTest(name, False, 0.0, float("nan"), float("nan"), f"{type(error).__name__}: {error}")
    broken = _broken_claims(solution, law)
    values = {m.name: m.value for m in solution.audit().measures}
    return SelfTest(
        name,
        not broken,
        took,
        abs(values["energy change"]),
        values["momentum error"],
        "does not keep " + ", ".join(broken) if broken else "",
    )


def _broken_claims(solution: ImpactSolution, law: Law) -> list[str]:
    failed = [MEASURED[m.name] for m in solution.audit().measures if m.name in MEASURED and not m.passed]
    return [key for key in failed if key in law.claims]


def _versions() -> dict[str, str]:
    from .. import __version__

    facts = {
        "carom": __version__,
        "python": f"{platform.python_version()} ({platform.system()} {platform.machine()})",
    }
    needed = dict.fromkeys(NEEDED, "not installed, although Carom needs it")
    optional = {package: f"not installed (optional: {use})" for package, use in OPTIONAL.items()}
    for package, missing in (needed | optional).items():
        try:
            facts[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            facts[package] = missing
    return facts


def _threads() -> dict[str, str]:
    import numba

    return {
        "threads": f"{numba.get_num_threads()} of {os.cpu_count()} processors (NUMBA_NUM_THREADS sets it)",
        "threading layer": _threading_layer(),
    }


def _threading_layer() -> str:
    """Numba names its layer only after the first parallel kernel; starting its threads is enough."""
    import numba

    try:
        from numba.np.ufunc.parallel import _launch_threads

        _launch_threads()
        return str(numba.threading_layer())
    except (ImportError, ValueError, OSError) as error:
        return f"not available ({error})"


def _kernels(compiled: int) -> dict[str, str]:
    from ..kernels import cache_folder

    folder = cache_folder()
    state = f"{compiled} compiled just now" if compiled else "warm: nothing had to be compiled"
    place = str(folder) if folder else "no folder is writable, so nothing is kept: set CAROM_CACHE_DIR"
    return {"kernel cache": place, "kernels of the package": _shipped(), "kernels": state}


def _shipped() -> str:
    """The compiled kernels that came with the package, and whether this machine can use them."""
    from ..kernels.shipped import built, unsuitable

    if not built():
        return "none: kernels are compiled when they are needed first"
    return f"{built()['kernels']} for {built()['baseline']}" + (f", not used: {unsuitable()}" if unsuitable() else "")


def _compiled(families: dict[str, tuple[int, int]]) -> dict[str, str]:
    """One line: which families of kernels are compiled, and how much of the others."""
    parts = [name if have == all_ else f"{name} ({have} of {all_})" for name, (have, all_) in families.items()]
    return {"compiled": ", ".join(parts) + "; `carom warmup` compiles the rest"}


def _show_facts(console: Console, facts: dict[str, str]) -> None:
    from .tables import pairs_table

    table = pairs_table(len("kernels of the package"))
    for name, value in facts.items():
        table.add_row(name, value)
    console.print(table)


def _show_tests(console: Console, tests: list[SelfTest]) -> None:
    from rich import box
    from rich.table import Table

    checks = Table(title="\nself-test: Newton's cradle", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    checks.add_column("law", style="bold cyan")
    for title in ("energy error", "momentum error", "solve, ms"):
        checks.add_column(title, justify="right")
    checks.add_column("claims kept")
    for t in tests:
        times = (f"{t.energy_error:.0e}", f"{t.momentum_error:.0e}", f"{t.milliseconds:.2f}")
        checks.add_row(t.law, *times, verdict(t.passed) + (f"  {t.problem}" if t.problem else ""))
    console.print(checks)

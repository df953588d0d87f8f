"""The processor for which kernels are compiled: a baseline that many machines have, and not the host itself.

A few kernels may add in any order (`fastmath`), and LLVM then splits their sums by the width of the vector registers of
the processor. Compiled for each host by itself, the same scene would end in other bits on another machine. Compiled for
a baseline, it gives the same bits on every machine that has the baseline, with kernels of its own or of the package.

LLVM reads the processor from attributes of functions before it asks the processor for which Numba was set up. All
functions that are compiled inside of a kernel get them; functions of Numba that do not belong to kernels get none.
`CAROM_NATIVE=1` asks for the code of the host.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import binding
from numba.core import codegen, config

NATIVE_VARIABLE = "CAROM_NATIVE"
# Features of processors by their names in LLVM. x86-64-v3: Intel since 2013, AMD since 2015.
BASELINES = {
    "x86-64-v3": (
        *("cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"),  # these are x86-64-v2
        *("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
    ),
    "x86-64": (),
    "generic": (),  # any other architecture
}
_CANDIDATES = {"x86_64": ("x86-64-v3", "x86-64"), "aarch64": ("generic",), "arm64": ("generic",)}  # by architecture
_ATTRIBUTE = '"target-cpu"='
# Numba's reference counts, which are compiled before anything else, if need be for the host: they use no vectors.
_COUNTS, _COUNTS_MODULE = "NRT_", "nrt_module"

marking = False  # whether the functions that Numba compiles now belong to a kernel


@cache
def target() -> tuple[str, str, str]:
    """Architecture with system, name of the processor and its features, for which Numba generates code by itself."""
    name = config.CPU_NAME or binding.get_host_cpu_name()
    features = codegen.get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES
    return re.sub(r"[\d.]+$", "", binding.get_process_triple()), name, features  # macOS ends it with its version


def missing_features(baseline: str) -> list[str]:
    """What this processor lacks of a baseline."""
    _, name, features = target()
    has = features.split(",")
    return [] if name == baseline else [wanted for wanted in BASELINES[baseline] if f"+{wanted}" not in has]


@cache
def baseline(preferred: str = "") -> str:
    """The first baseline that this processor has, a preferred one before the others; empty if there is none."""
    if os.environ.get(NATIVE_VARIABLE, "0") not in ("", "0"):
        return ""
    candidates = _CANDIDATES.get(target()[0].partition("-")[0], ())
    wanted = [name for name in (preferred, *candidates) if name in BASELINES]
    return next((name for name in wanted if not missing_features(name)), "")


def mark(module: Any, name: str) -> None:
    """Gives the functions of a module of `llvmlite.ir` the processor `name`."""
    for function in module.functions:
        if not function.is_declaration:
            # The set itself refuses attributes with a value.
            set.update(function.attributes, {f'{_ATTRIBUTE}"{name}"', '"target-features"=""'})


def is_for_host(library: Any) -> bool:
    """Whether a compiled kernel contains a function of Numba that was compiled for the host, outside of kernels."""
    return any(
        not function.name.startswith(_COUNTS)
        and not any(_ATTRIBUTE.encode() in bytes(text) for text in function.attributes)
        for function in library._final_module.functions
        if not function.is_declaration
    )


def install(preferred: Callable[[], str]) -> None:
    """Lets kernels be compiled for the baseline; `preferred` tells which one before others, when it is asked first."""
    plain: Any = getattr(codegen.CPUCodeLibrary, "add_ir_module", None)

    def add_ir_module(library: Any, module: Any) -> None:
        if (marking or module.name == _COUNTS_MODULE) and (name := baseline(preferred())):
            mark(module, name)
        plain(library, module)

    if callable(plain):  # else there are no kernels but plain ones of Numba (see hooks.py)
        codegen.CPUCodeLibrary.add_ir_module = add_ir_module

"""The private interfaces of Numba that kernels rely on, checked in one place.

A version of Numba that lacks one of them gets plain kernels of Numba: compiled in each process, and never wrong.

| interface | used for |
| --- | --- |
| `dispatcher._cache` and `caching._Cache` | machine code on disk, keyed by a digest (`KernelCache`) |
| `dispatcher.get_call_template` | one version for a constant and a variable argument |
| `dispatcher.compile`, `add_overload`, `_compiler._customize_flags` | versions that only kernels call (`nested.py`) |
| `FunctionIdentity._unique_ids` | symbols that differ between processes (`linking.py`) |
| `CompileResult._reduce`, `_rebuild` | what is written to disk and read |
| `codegen._create_empty_module`, `library._final_module`, `_shared_module` | one copy of large kernels (`linking.py`) |
| `codegen.CPUCodeLibrary.add_ir_module` | one processor for all machines (`processor.py`) |
| `arrayobj.raise_with_shape_context` | a message that compiles fast; without it Numba's own |
| `np.linalg.ensure_blas` | no import of scipy.linalg; without it Numba imports it |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numba.core import caching, compiler
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import CPUCodegen, CPUCodeLibrary

_fits: dict[type, bool] = {}  # by the class of dispatchers: kernels are many, and the answer is one


def fit(dispatcher: Any) -> bool:
    """Whether all interfaces exist."""
    kind = type(dispatcher)
    if kind not in _fits:
        _fits[kind] = not missing(dispatcher)
    return _fits[kind]


def missing(dispatcher: Any) -> list[str]:
    """The interfaces that this version of Numba does not have, for a function that it has just wrapped."""
    return [name for name, fits in _checks(dispatcher) if not fits]


def _checks(dispatcher: Any) -> Iterator[tuple[str, bool]]:
    for name in ("_cache", "get_call_template", "compile", "add_overload", "overloads", "_reset_overloads"):
        yield f"dispatcher.{name}", hasattr(dispatcher, name)
    flags = getattr(getattr(dispatcher, "_compiler", None), "_customize_flags", None)
    yield "dispatcher._compiler._customize_flags", callable(flags)
    yield "caching._Cache", {"load_overload", "save_overload"} <= set(dir(getattr(caching, "_Cache", None)))
    yield "FunctionIdentity._unique_ids", hasattr(getattr(FunctionIdentity, "_unique_ids", None), "__next__")
    for name in ("_reduce", "_rebuild"):
        yield f"CompileResult.{name}", callable(getattr(compiler.CompileResult, name, None))
    yield "codegen._create_empty_module", callable(getattr(CPUCodegen, "_create_empty_module", None))
    yield "CPUCodeLibrary.add_ir_module", callable(getattr(CPUCodeLibrary, "add_ir_module", None))

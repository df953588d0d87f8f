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
| `TargetConfig._values`, `inline_closurecall.copy`, the events of LLVM's lock | less time of compiling (`hasten`) |
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

from llvmlite.binding import ffi
from numba.core import caching, compiler, inline_closurecall
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import CPUCodegen, CPUCodeLibrary
from numba.core.targetconfig import TargetConfig

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


def hasten() -> None:
    """Replaces what Numba repeats most often while it compiles by less work with the same result, where it fits."""
    flags: Any = TargetConfig
    if "_values" in getattr(flags, "__slots__", ()):
        flags.__hash__, flags.__eq__ = _hash_of_flags, _equal_flags
    if getattr(inline_closurecall, "copy", None) is copy:
        setattr(inline_closurecall, "copy", SimpleNamespace(copy=copy.copy, deepcopy=_Copies()))  # noqa: B010
    # Each call of LLVM is an event, which only Numba's own statistics of the time of locks receive.
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        for enter, leave in [*ffi.lib._lock._cblist]:
            if enter.__module__ == "numba.core.base":
                ffi.unregister_lock_callback(enter, leave)


@cache
def _hash_of_names(kind: type) -> int:
    return hash(tuple(sorted(kind.options)))  # type: ignore[attr-defined]


def _hash_of_flags(flags: Any) -> int:
    """Numba hashes the names of the options, which are those of the class, each time."""
    return _hash_of_names(flags.__class__)


def _equal_flags(flags: Any, other: Any) -> Any:
    """Options that are set alike are equal; only others need to be compared with their defaults."""
    if not isinstance(other, TargetConfig):
        return NotImplemented
    same = type(flags) is type(other) and flags._values == other._values
    return same or flags.values() == other.values()


class _Copies:
    """Copies the blocks of a function that is inlined. Numba copies the scope of the function with each block of it;
    here the copies of its blocks, which follow each other, share one."""

    def __init__(self) -> None:
        self.scope: Any = None
        self.memo: dict[int, Any] = {}

    def __call__(self, thing: Any, memo: Any = None) -> Any:
        scope = getattr(thing, "scope", None)
        if memo is not None or scope is None or not hasattr(thing, "body"):
            return copy.deepcopy(thing, memo)
        if scope is not self.scope or id(thing) in self.memo:  # the first block of another copy
            self.scope, self.memo = scope, {}
        return copy.deepcopy(thing, self.memo)

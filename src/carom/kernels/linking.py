"""Machine code of large kernels exists once; callers are linked to it.

Numba copies a kernel, with all that it calls, into each of its callers, and optimizes and translates the copy again: a
chain of kernels takes time that grows with the square of its length. A small kernel must be copied so that it can be
inlined. LLVM does not inline a large one, and its callers only need its name: its library shows an empty module to the
libraries that link it, and LLVM's execution engine finds the symbol. The file of the caller lists the files of these
kernels, which are loaded before it.
"""

from __future__ import annotations

import os
import secrets
from itertools import count, islice
from typing import Any

from llvmlite import binding
from numba.core.bytecode import FunctionIdentity

SMALL = 100  # instructions: LLVM inlines kernels of up to about 55, and of one more for each argument


def _number_kernels() -> None:
    """Numba distinguishes kernels of the same name by a number, which starts at 1 in each process. Symbols of kernels
    that different processes have compiled must differ too, forked ones included."""
    FunctionIdentity._unique_ids = count(secrets.randbits(56))


_number_kernels()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_number_kernels)

_files: dict[str, str] = {}  # the name of the file of each large kernel in memory, by the symbol of the kernel


def separate(compiled: Any, file: str) -> None:
    """Lets callers be linked to a kernel that was just compiled, if it is large, instead of copying it."""
    library, symbol = compiled.library, compiled.fndesc.llvm_func_name
    module = library._final_module
    if library.has_dynamic_globals or any(_is_recursive(variable.name) for variable in module.global_variables):
        return
    function = module.get_function(symbol)
    instructions = (1 for block in function.blocks for _ in block.instructions)
    limit = SMALL + sum(1 for _ in function.arguments)
    if sum(islice(instructions, limit + 1)) > limit:
        library._shared_module = binding.parse_assembly(str(library.codegen._create_empty_module(library.name)))
        _files[symbol] = file


def _is_recursive(variable: str) -> bool:
    return variable.startswith(".numba.unresolved$")


def links(compiled: Any) -> dict[str, str]:
    """The kernels that a compiled kernel is linked to: the names of their files and their symbols."""
    declared = (function.name for function in compiled.library._final_module.functions if function.is_declaration)
    return {_files[name]: name for name in declared if name in _files}


def announce(target_context: Any, fndesc: Any, file: str, nested: bool) -> None:
    """Makes the symbols of a kernel known that is about to be loaded; Numba looks for them in the empty module."""
    names = {fndesc.llvm_func_name, target_context.get_env_name(fndesc)}
    if not nested:
        names.add(fndesc.llvm_cpython_wrapper_name)
    target_context.codegen()._engine._defined_symbols.update(names)
    _files[fndesc.llvm_func_name] = file

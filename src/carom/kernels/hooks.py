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
| `arrayobj.raise_with_shape_context` | a short message: 0.1 s per kernel that needs it, 1.5 s per process |
| `np.linalg.ensure_blas` | no import of scipy.linalg; without it Numba imports it |
| `BaseFunction.get_call_type` | less time of compiling (`hasten`): 9 % of six large kernels |
| `PostProcessor.run` | the same: 8 % |
| `inline_closurecall.copy` | the same: 5 % |
| `CPUCodegen._function_pass_manager`, `_module_pass_manager` | fewer passes of LLVM: 12 to 35 % of large kernels |
| `NRTContext.get_meminfos` | shorter code before LLVM: 10 % of kernels that get tuples of many arrays |

Tried and removed, since they saved less than 2 %: hashes of Numba's flags, the variables of an instruction, and the
events of LLVM's lock. Fewer first passes took longer (8.2 s for 13 kernels, 7.3 s with them), as did level 1 of LLVM's
passes (7.5 s) or of its code generation (7.8 s).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

from llvmlite import binding
from numba import types
from numba.core import caching, codegen, compiler, config, errors, inline_closurecall, postproc, transforms, utils
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import CPUCodegen, CPUCodeLibrary
from numba.core.runtime.context import NRTContext
from numba.core.target_extension import get_local_target
from numba.core.types.functions import BaseFunction

from . import processor

# LLVM's level for kernels. At 3 it also doubles loops at each condition that is constant in them: kernels grew to twice
# the instructions, took a fourth longer to compile, and were not faster.
LEVEL = 2
# What LLVM does with a function before its library is optimized as a whole, which includes all of this and more: enough
# that reference counts are seen in pairs. Numba runs the whole sequence of level 3 here, a fifth of compiling.
FIRST_PASSES = ("sroa", "simplify_cfg", "instruction_combine")
# Whether the kernel that is compiled now may add in any order (`fastmath`). Its bits depend on the passes, so it keeps
# those of Numba.
loose = False

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
    if getattr(inline_closurecall, "copy", None) is copy:
        setattr(inline_closurecall, "copy", SimpleNamespace(copy=copy.copy, deepcopy=_Copies()))  # noqa: B010
    if {"templates", "get_call_type", "_impl_keys"} <= {*dir(BaseFunction), *BaseFunction.__init__.__code__.co_names}:
        functions: Any = BaseFunction
        functions.get_call_type = _Templates(functions.get_call_type)
    if {"variable_lifetime", "generator_info"} <= {*postproc.PostProcessor.run.__code__.co_names}:
        last: Any = postproc.PostProcessor
        last.run = _without_lifetimes(last.run)
    if has_passes():
        generator: Any = CPUCodegen
        generator._function_pass_manager = _first_passes(generator._function_pass_manager)
        generator._module_pass_manager = _at_level(generator._module_pass_manager)
    if hasattr(NRTContext, "get_meminfos"):
        counts: Any = NRTContext
        counts.get_meminfos = _without_plain_members


def has_passes() -> bool:
    """Whether this version of Numba uses LLVM's new managers of passes."""
    names = ("_function_pass_manager", "_module_pass_manager", "_pass_builder")
    manager = getattr(binding, "create_new_function_pass_manager", None)
    return all(hasattr(CPUCodegen, name) for name in names) and manager is not None


def pipeline() -> str:
    """What machine code depends on: with or without the passes of this module."""
    return f"{LEVEL} {FIRST_PASSES}, loose sums apart" if has_passes() else ""


def _first_passes(plain: Any) -> Any:
    def passes(generator: Any, **options: Any) -> Any:
        if not processor.marking or loose:
            return plain(generator, **options)
        manager: Any = binding.create_new_function_pass_manager()
        for name in FIRST_PASSES:
            getattr(manager, f"add_{name}_pass")()
        if config.LLVM_REFPRUNE_PASS:
            manager.add_refprune_pass(codegen._parse_refprune_flags())
        return manager, generator._pass_builder(**options)

    return passes


def _at_level(plain: Any) -> Any:
    def passes(generator: Any, **options: Any) -> Any:
        level = {"opt": min(LEVEL, int(config.OPT))} if processor.marking and not loose else {}
        return plain(generator, **(level | options))

    return passes


def _without_plain_members(context: Any, builder: Any, ty: Any, value: Any) -> list[tuple[Any, Any]]:
    """The reference counts within a value. Numba takes out every member of each array and tuple to look for them, also
    those that cannot have any, such as shapes: most of the code of a kernel that is called with many arrays."""
    models = context._context.data_model_manager
    model = models[ty]
    found = [(ty, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
    for member, taken_from in model.traverse(builder):
        if _is_counted(models, member):
            found += context.get_meminfos(builder, member, taken_from(value))
    return found


def _is_counted(models: Any, ty: Any) -> bool:
    if ty not in _counted:
        _counted[ty] = models[ty].contains_nrt_meminfo()
    return _counted[ty]


_counted: dict[Any, bool] = {}  # by type: whether its values contain reference counts


def _without_lifetimes(plain: Any) -> Any:
    """Numba finds out where variables live after each of its passes; only the last one, which deletes them, asks."""

    def run(processor: Any, emit_dels: bool = False, **options: Any) -> None:
        function = processor.func_ir
        if emit_dels or options or function.is_generator:
            plain(processor, emit_dels, **options)
        else:
            function.blocks = transforms.canonicalize_cfg(function.blocks)
            function.variable_lifetime = postproc.VariableLifetime(function.blocks)  # which computes what is asked for
            function.generator_info = None

    return run


class _Templates:
    """Types a call. Numba tries the templates of a function one after the other, ten on average; here the one that has
    served the same types before comes first. The others fail whenever they are asked, since they ask for types."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain
        self.served: dict[Any, tuple[Any, Any, bool]] = {}  # function, which stays alive, template, with constants

    def __get__(self, function: Any, _: Any = None) -> Any:
        return self if function is None else partial(self, function)

    def __call__(self, function: Any, context: Any, args: Any, kws: Any) -> Any:
        key = (id(function), args)
        for kind, literally in () if kws else self._candidates(function, context, args, key):
            template = kind(context)
            try:
                found = template.apply(args if literally else tuple(map(types.unliteral, args)), {})
            except errors.NumbaError:
                continue
            if found is not None:
                function._impl_keys[found.args] = template.get_impl_key(found)
                self.served[key] = (function, kind, literally)
                return found
        return self.plain(function, context, args, kws)  # which says what is wrong

    def _candidates(self, function: Any, context: Any, args: Any, key: Any) -> Iterator[tuple[Any, bool]]:
        """Templates in the order in which Numba tries them, with whether they get the values of constants."""
        if key in self.served:
            yield self.served[key][1:]
        elif not any(isinstance(arg, types.Poison) for arg in args):
            constants = any(types.unliteral(arg) is not arg for arg in args)
            for kind in utils.order_by_target_specificity(get_local_target(context), function.templates):
                choices = (True, False) if kind.prefer_literal else (False, True)
                yield from ((kind, literally) for literally in (choices if constants else choices[:1]))


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

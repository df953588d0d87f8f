"""Loads rows of arrays into the cache before they are needed, inside kernels."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

READ, KEEP, DATA = 0, 3, 1  # arguments of LLVM's prefetch: for reading, in all levels of the cache, data


@intrinsic
def _prefetch(typing: Any, array: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        made = context.make_array(sig.args[0])(context, builder, args[0])
        start = builder.bitcast(made.data, cgutils.voidptr_t)
        place = builder.gep(start, [builder.mul(args[1], builder.extract_value(made.strides, 0))])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        builder.call(function, [place, *(ir.Constant(number, value) for value in (READ, KEEP, DATA))])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def _nothing(array: Any, row: int) -> None:
    """What `prefetch` is in uncompiled kernels."""


# Begins to load row `row` of an array into the cache; any number is allowed. It changes no result.
prefetch: Any = _nothing if config.DISABLE_JIT else _prefetch

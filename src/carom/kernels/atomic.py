"""Atomic access to arrays of integers inside kernels, for threads that work on one problem."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _place(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    data = context.make_array(sig.args[0])(context, builder, args[0]).data
    return cgutils.gep(builder, data, args[1])


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:
    """array[index] of an int64 array, as other threads have written it last."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load_atomic(_place(context, builder, sig, args), "seq_cst", 8)

    return types.int64(array, types.int64), generate


@intrinsic
def add(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Adds to array[index] of an int64 array, and returns what was there before."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _place(context, builder, sig, args), args[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@intrinsic
def exchange(typing: Any, array: Any, index: Any, expected: Any, value: Any) -> Any:
    """Replaces array[index] of an int64 array by `value` if it is `expected`; returns whether it was."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pair = builder.cmpxchg(_place(context, builder, sig, args), args[2], args[3], "seq_cst")
        return builder.extract_value(pair, 1)

    return types.boolean(array, types.int64, types.int64, types.int64), generate

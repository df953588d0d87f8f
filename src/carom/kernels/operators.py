"""Arithmetic of small vectors inside kernels: `a + b`, `a - b`, `-a`, `s * a`, `a / s`, `dot(a, b)`, `cross(a, b)`.

A vector is a named tuple of floats, which Numba keeps in registers. Its operators are lowered to the floating-point
operations of the formulas written out for each component, in the same order. Numba itself gives named tuples no
arithmetic. Only the documented functions of `numba.extending` are used here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from numba import types as numba_types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

VERSION = 1  # part of the key of every compiled kernel: count it up when the lowering below changes
types: Any = numba_types  # without stubs
_VECTORS: set[type] = set()
_Number = (types.Float, types.Integer)


def vector_arithmetic(*classes: type) -> None:
    """Gives named tuples of floats the arithmetic of vectors inside kernels."""
    _VECTORS.update(classes)


def _is_vector(kind: Any) -> bool:
    return isinstance(kind, types.NamedUniTuple) and kind.instance_class in _VECTORS


def _same(a: Any, b: Any) -> Any:
    return a if _is_vector(a) and a == b else None


def _scaled(a: Any, b: Any) -> Any:
    if _is_vector(b) and isinstance(a, _Number):
        return b
    return a if _is_vector(a) and isinstance(b, _Number) else None


def _divided(a: Any, b: Any) -> Any:
    return a if _is_vector(a) and isinstance(b, _Number) else None


def _typed(function: Callable[..., Any], rule: Callable[..., Any]) -> None:
    type_callable(function)(lambda context: rule)


_typed(operator.add, _same)
_typed(operator.sub, _same)
_typed(operator.mul, _scaled)
_typed(operator.truediv, _divided)
type_callable(operator.neg)(lambda context: lambda a: a if _is_vector(a) else None)


def _parts(builder: Any, value: Any) -> list[Any]:
    return list(cgutils.unpack_tuple(builder, value))


def _elementwise(function: Any, instruction: str) -> None:
    @lower_builtin(function, types.NamedUniTuple, types.NamedUniTuple)
    def lowered(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pairs = zip(_parts(builder, args[0]), _parts(builder, args[1]))
        return context.make_tuple(builder, sig.return_type, [getattr(builder, instruction)(a, b) for a, b in pairs])


_elementwise(operator.add, "fadd")
_elementwise(operator.sub, "fsub")


@lower_builtin(operator.neg, types.NamedUniTuple)
def _negative(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return context.make_tuple(builder, sig.return_type, [builder.fneg(a) for a in _parts(builder, args[0])])


def _by_scalar(function: Any, instruction: str, scalar: int) -> None:
    """Lowers the operation of a vector with a number, which is argument number `scalar`."""

    def lowered(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = sig.return_type
        number = context.cast(builder, args[scalar], sig.args[scalar], kind.dtype)
        out = []
        for part in _parts(builder, args[1 - scalar]):
            pair = (number, part) if scalar == 0 else (part, number)
            out.append(getattr(builder, instruction)(*pair))
        return context.make_tuple(builder, kind, out)

    for kind in _Number:
        order = (kind, types.NamedUniTuple) if scalar == 0 else (types.NamedUniTuple, kind)
        lower_builtin(function, *order)(lowered)


_by_scalar(operator.mul, "fmul", 0)
_by_scalar(operator.mul, "fmul", 1)
_by_scalar(operator.truediv, "fdiv", 1)


def vector_products(dot: Callable[..., Any], cross: Callable[..., Any]) -> None:
    """Makes two functions of Python the scalar product and the vector product inside kernels."""
    _typed(dot, lambda a, b: a.dtype if _same(a, b) else None)
    _typed(cross, lambda a, b: (a if a.count == 3 else a.dtype) if _same(a, b) else None)
    lower_builtin(dot, types.NamedUniTuple, types.NamedUniTuple)(_dot)
    lower_builtin(cross, types.NamedUniTuple, types.NamedUniTuple)(_cross)


def _dot(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    a, b = (_parts(builder, value) for value in args)
    total = builder.fmul(a[0], b[0])
    for one, two in zip(a[1:], b[1:]):
        total = builder.fadd(total, builder.fmul(one, two))
    return total


def _cross(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    a, b = (_parts(builder, value) for value in args)

    def minor(i: int, j: int) -> Any:
        return builder.fsub(builder.fmul(a[i], b[j]), builder.fmul(a[j], b[i]))

    if len(a) == 2:
        return minor(0, 1)
    return context.make_tuple(builder, sig.return_type, [minor(1, 2), minor(2, 0), minor(0, 1)])

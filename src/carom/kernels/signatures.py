"""Numba types as plain data (strings, numbers, lists) and back, so that signatures can be kept in JSON.

"float64"                                    a number, bool or none
["array", "float64", 2, "C"]                 an array; "readonly" may follow
["tuple", "int64", "int64"]                  a tuple
["namedtuple", "carom.world:Shapes", ...]    a named tuple with the types of its fields
["literal", 3], ["omitted", 1e-09]           a constant; a default argument
["kernel", "carom.solvers.rows:speed"]       a kernel passed as an argument
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from numba import types
from numba.core.dispatcher import Dispatcher

from .digest import dependencies


class Unsupported(Exception):
    """The type has no form as plain data."""


def name_of(thing: Any) -> str:
    """`module:qualified_name` of a function or class."""
    return f"{thing.__module__}:{thing.__qualname__}"


def named(name: str) -> Any:
    """The object of a `module:qualified_name`; AttributeError or ImportError if it does not exist."""
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def encode(numba_type: Any) -> Any:
    """A Numba type as plain data."""
    if isinstance(numba_type, types.Literal):
        return ["literal", numba_type.literal_value]
    if isinstance(numba_type, types.Omitted):
        return ["omitted", _plain(numba_type.value)]
    if isinstance(numba_type, types.Number | types.Boolean | types.NoneType):
        return str(numba_type)
    if type(numba_type) is types.Array and numba_type.aligned:
        readonly = [] if numba_type.mutable else ["readonly"]
        return ["array", encode(numba_type.dtype), numba_type.ndim, numba_type.layout, *readonly]
    if isinstance(numba_type, types.BaseNamedTuple):
        return ["namedtuple", name_of(numba_type.instance_class), *map(encode, numba_type.types)]
    if isinstance(numba_type, types.BaseTuple) and not isinstance(numba_type, types.StarArgTuple):
        return ["tuple", *map(encode, numba_type.types)]
    if isinstance(numba_type, types.Dispatcher):
        return ["kernel", name_of(numba_type.dispatcher.py_func)]
    raise Unsupported(str(numba_type))


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise Unsupported(repr(value))


def decode(data: Any) -> Any:
    """The Numba type of plain data; raises if a class or kernel does not exist any more."""
    if isinstance(data, str):
        return types.boolean if data == "bool" else getattr(types, data)
    kind, *rest = data
    if kind == "literal":
        return types.literal(rest[0])
    if kind == "omitted":
        return types.Omitted(rest[0])
    if kind == "array":
        return types.Array(decode(rest[0]), rest[1], rest[2], readonly="readonly" in rest)
    if kind == "tuple":
        return types.BaseTuple.from_types([decode(item) for item in rest])
    if kind == "namedtuple":
        cls, fields = named(rest[0]), [decode(item) for item in rest[1:]]
        if len(cls._fields) != len(fields):
            raise Unsupported(f"{rest[0]} has {len(cls._fields)} fields")
        return types.BaseTuple.from_types(fields, cls)
    if kind == "kernel":
        return types.Dispatcher(named(rest[0]))
    raise Unsupported(kind)


def meaning(data: Any) -> str:
    """What plain data leaves out and machine code depends on: names of fields, the code of kernels in arguments."""
    return "\n".join(_meanings(data))


def _meanings(data: Any) -> Iterator[str]:
    if isinstance(data, str | int | float) or data is None:
        return
    kind, *rest = data
    if kind == "namedtuple":
        yield repr(named(rest[0])._fields)
    if kind == "kernel":
        function = named(rest[0])
        yield dependencies(function.py_func if isinstance(function, Dispatcher) else _function(function))
    if kind in ("namedtuple", "tuple"):
        for item in rest:
            yield from _meanings(item) if isinstance(item, list) else ()


def _function(thing: Any) -> FunctionType:
    if not isinstance(thing, FunctionType):
        raise Unsupported(repr(thing))
    return thing

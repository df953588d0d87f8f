"""Digest of everything that the machine code of a kernel depends on.

The digest covers the byte code, constants and default arguments of a kernel, the global names that it uses, and the
same for every kernel that it calls, directly or through others. Comments, docstrings and other functions of the same
file do not change it.
"""

from __future__ import annotations

import enum
import hashlib
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher


@dataclass
class _Local:
    """What a function depends on itself, without the functions that it calls."""

    text: str
    calls: list[FunctionType] = field(default_factory=list)


_LOCALS: dict[FunctionType, _Local] = {}
_DIGESTS: dict[FunctionType, str] = {}


def dependencies(function: FunctionType) -> str:
    """Digest of a function and of all functions that it calls; recursion is allowed."""
    known = _DIGESTS.get(function)
    if known is None:
        reached: dict[FunctionType, None] = {function: None}
        todo = [function]
        while todo:
            for called in _local(todo.pop()).calls:
                if called not in reached:
                    reached[called] = None
                    todo.append(called)
        # The function itself first, then the others in an order that does not depend on how they were reached.
        others = sorted(_local(other).text for other in reached if other is not function)
        known = _DIGESTS[function] = hashlib.sha256("\n".join([_local(function).text, *others]).encode()).hexdigest()
    return known


def options_text(options: dict[str, Any]) -> str:
    """The options of a kernel as a text that is the same in all processes; the order of a set of strings is not."""
    pairs = (
        (name, f"{{{', '.join(sorted(map(repr, value)))}}}" if isinstance(value, set | frozenset) else repr(value))
        for name, value in sorted(options.items())
    )
    return f"[{', '.join(f'({name!r}, {text})' for name, text in pairs)}]"


def _local(function: FunctionType) -> _Local:
    known = _LOCALS.get(function)
    if known is None:
        known = _LOCALS[function] = _describe(function)
    return known


def _describe(function: FunctionType) -> _Local:
    parts = [f"{function.__module__}.{function.__qualname__}"]
    parts.append(repr((function.__defaults__, function.__kwdefaults__)))
    names: set[str] = set()
    _add_code(function.__code__, parts, names, function.__doc__)
    local = _Local("")
    package = function.__module__.partition(".")[0]
    values = [(name, function.__globals__[name]) for name in sorted(names & function.__globals__.keys())]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            values.append((name, cell.cell_contents))
        except ValueError:  # a variable that is not bound yet
            continue
    for name, value in values:
        parts.append(f"{name} = {_described(value, names, package, local.calls, set())}")
    local.text = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return local


def _add_code(code: CodeType, parts: list[str], names: set[str], doc: str | None) -> None:
    parts.append(code.co_code.hex())
    parts.append(repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)))
    names.update(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(constant, parts, names, None)
        elif isinstance(constant, frozenset):
            parts.append(repr(sorted(map(repr, constant))))
        elif constant is None or constant != doc:
            parts.append(repr(constant))


def _described(value: Any, names: set[str], package: str, calls: list[FunctionType], seen: set[str]) -> str:
    """A text that changes if the meaning of a global changes; functions that are called are added to `calls`."""
    if isinstance(value, Dispatcher):
        calls.append(value.py_func)
        return f"{value.py_func.__module__}.{value.py_func.__qualname__} {options_text(value.targetoptions)}"
    if isinstance(value, FunctionType):
        if value.__module__.partition(".")[0] == package:
            calls.append(value)
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, ModuleType):
        if value.__name__.partition(".")[0] != package or value.__name__ in seen:
            return value.__name__
        inside = seen | {value.__name__}
        found = [
            f"{name} = {_described(getattr(value, name), names, package, calls, inside)}"
            for name in sorted(names & vars(value).keys())
        ]
        return ";".join([value.__name__, *found])
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return repr([(member.name, member.value) for member in value])
    if isinstance(value, int | float | complex | bool | str | bytes | tuple | list | np.generic) or value is None:
        return f"{type(value).__name__} {value!r}"
    kind = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"
    return f"{kind} {getattr(value, '_fields', '')!r}"

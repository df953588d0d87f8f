"""Kernels that only kernels call are compiled without the function through which Python calls a kernel.

That function takes arrays and tuples of Python apart and puts results together. It is a fifth of the time of compiling,
and most kernels never need it. A kernel that Python calls after all is compiled again, with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from numba.core import sigutils


class _Nesting(threading.local):
    active = False


_nesting = _Nesting()


def is_nested() -> bool:
    """Whether this thread compiles or loads a kernel for another kernel, which calls it."""
    return _nesting.active


@contextmanager
def nested(active: bool = True) -> Iterator[None]:
    """What is compiled or loaded inside the block is called by kernels only."""
    before, _nesting.active = _nesting.active, active
    try:
        yield
    finally:
        _nesting.active = before


def separate_versions(dispatcher: Any) -> None:
    """Lets a kernel have a version without the function that Python calls, for callers that are kernels."""
    inner: set[Any] = set()  # signatures whose version in memory Python cannot call
    dispatcher.compile = partial(_compile, dispatcher, dispatcher.compile, inner)
    dispatcher.add_overload = partial(_add_overload, dispatcher, dispatcher.add_overload, inner)
    dispatcher._compiler._customize_flags = _customize_flags


def _compile(dispatcher: Any, compile_it: Callable[[Any], Any], inner: set[Any], sig: Any) -> Any:
    args = tuple(sigutils.normalize_signature(sig)[0])
    if args in inner and not is_nested():
        dispatcher.overloads.pop(args, None)
    return compile_it(sig)


def _add_overload(dispatcher: Any, add: Callable[[Any], None], inner: set[Any], compiled: Any) -> None:
    args = tuple(compiled.signature.args)
    if is_nested():
        inner.add(args)
        dispatcher.overloads[args] = compiled  # and not in the table that serves calls from Python
    else:
        inner.discard(args)
        add(compiled)


def _customize_flags(flags: Any) -> Any:
    if is_nested():
        flags.no_cpython_wrapper = True
    return flags

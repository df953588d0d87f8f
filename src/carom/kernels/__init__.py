"""Compiled kernels: one decorator, a cache on disk, and compilation in parallel before it is needed.

Numba's own cache compares the time stamp of the file that defines a kernel. It misses an edit in a kernel that
another file's kernel calls, and it drops a whole file's kernels for an edit of a comment. Here the key of a
compiled kernel is a digest of everything that its machine code depends on (`digest.py`). A kernel is compiled again
if and only if one of these has changed. The files lie in a user cache folder, so that a read-only installation works
and all environments share them.

`prepare` compiles the kernels that a run is going to need in several processes; `manifest.json` lists them.
"""

from __future__ import annotations

import gc
import importlib
import json
import pickle
import re
import sys
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from types import FunctionType
from typing import Any

import numba
from numba import types
from numba.core import compiler, config, errors, event, sigutils
from numba.core.caching import _Cache
from numba.core.dispatcher import Dispatcher
from numba.cpython.unsafe import tuple as unsafe_tuple
from numba.extending import overload
from numba.np import arrayobj

from ..errors import ProblemError
from . import files, hooks, linking, processor, shipped
from .digest import dependencies, options_text
from .files import cache_folder
from .nested import is_nested, nested, separate_versions
from .notice import notice
from .signatures import Unsupported, encode, meaning, name_of

__all__ = ["cache_folder", "compile_seconds", "compiling", "kernel", "lean", "prepare", "tuple_setitem"]


def _with_item(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    """The tuple with another value at an index."""
    return (*values[:index], value, *values[index + 1 :])


tuple_setitem = _with_item if config.DISABLE_JIT else unsafe_tuple.tuple_setitem


def kernel(function: Any = None, *, slp: bool = False, **options: Any) -> Any:
    """Compiles a function with Numba in nopython mode, as a decorator with or without options.

    All kernels release the GIL and follow NumPy's rules for division by zero. Machine code is kept on disk.
    `options` are those of `numba.njit`. `slp` turns on LLVM's vectorization of straight-line code, for short loops of
    constant length that are unrolled; Numba leaves it off because it costs compile time.
    """
    if function is None:
        return lambda given: kernel(given, slp=slp, **options)
    # The C wrapper, which only function pointers need, is left out: it costs compile time.
    made: Any = numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    if isinstance(made, Dispatcher) and hooks.fit(made):  # no dispatcher with NUMBA_DISABLE_JIT
        setattr(made, "_cache", KernelCache(function, options_text(options) + "slp" * slp))  # noqa: B010
        setattr(made, "get_call_template", partial(_call_from_kernel, made.get_call_template))  # noqa: B010
        separate_versions(made)
        ALL.add(made)
    return made


def lean(function: Any = None, **options: Any) -> Any:
    """A kernel that allocates no array and calls only kernels that allocate none: compiled without reference counts.

    With them, an access to an array in a named tuple is two atomic additions, unless Numba finds that it can leave them
    out: a fifth of the time of a step of 1,000 boxes. It must not return arrays, and the kernels that it calls must be
    declared in the same way if they get arrays: those that Numba compiles for it have no reference counts either, but
    those that exist already, compiled for another caller or in parallel before they were needed, may have them. A test
    checks it. A kernel that allocates nevertheless is refused when it is compiled.
    """
    return kernel(function, _nrt=False, **options)


def _call_from_kernel(call_template: Any, args: Any, kws: Any) -> Any:
    """What Numba asks for a call of a kernel from a kernel, with `int64` for a constant in place of its value.

    Otherwise Numba compiles `f(x, 0)` and `f(x, n)` to two versions, and one more for each other constant.
    """
    plain = [types.unliteral(arg) for arg in args], {name: types.unliteral(arg) for name, arg in kws.items()}
    with nested():
        if plain == (list(args), dict(kws)):
            return call_template(args, kws)
        try:
            return call_template(tuple(plain[0]), plain[1])
        except errors.TypingError:  # the kernel needs the value, for example as the index of a tuple
            return call_template(args, kws)


def compile_seconds() -> float:
    """Seconds of wall time that this process has spent compiling kernels, or waiting for others to compile them."""
    return _clock.total + (perf_counter() - _clock.since if _clock.depth else 0.0)


def compiling() -> bool:
    """Whether this process is compiling kernels now, or waits for others to compile them."""
    return _clock.depth > 0


def prepare(families: Iterable[str], instead_of: Iterable[str] = ()) -> None:
    """Compiles the kernels of some families that are missing from the cache, in parallel processes.

    They serve `instead_of` other families, with all families below these: later calls skip them. A program that is
    known, such as the demo, has a family of what it calls, which are fewer kernels than runs of its kind may call.
    """
    wanted = [name for name in families if _prepared.isdisjoint((name, name.partition("/")[0]))]
    _prepared.update(instead_of)
    if wanted and not config.DISABLE_JIT and KernelCache.observer is None:
        from .warmup import warm_up

        _prepared.update(wanted)
        warm_up(wanted)


ALL: weakref.WeakSet[Any] = weakref.WeakSet()  # the dispatchers of all kernels
_prepared: set[str] = set()


class KernelCache(_Cache):  # type: ignore[misc]
    """The compiled versions of one kernel on disk: one file per signature, or two (see `nested.py`)."""

    # Called with the name, signature and file of every version that is loaded or compiled, and with whether a kernel
    # calls it: see manifest.recording.
    observer: Callable[[str, Any, Path, bool], None] | None = None

    def __init__(self, function: FunctionType, options: str) -> None:
        self.function, self.options, self.enabled = function, options, True
        self.locks: dict[Path, int | None] = {}
        self.slp = options.endswith("slp")
        self.loose = "fastmath" in options

    @property
    def cache_path(self) -> str:
        return str(cache_folder() or "")

    def enable(self) -> None:
        self.enabled = True

    def disable(self) -> None:
        self.enabled = False

    def flush(self) -> None:
        folder = cache_folder()
        for path in folder.glob(f"{self._file_name()}-*{files.SUFFIX}") if folder else ():
            files.remove(path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled version of a signature, or None, with a lock that lasts until it is compiled."""
        _define_array_functions()
        target_context.refresh()
        path, plain = self._path_of(sig)
        found = files.read(path) if path else None
        if not found:
            path, _ = self._path_of(sig, own=True)
            if path is None:
                return None
            with _clock:
                lock = files.lock(path)
            found = files.read(path)  # another process may have compiled it meanwhile
            if not found:
                self.locks[path] = lock  # Numba compiles now, and save_overload or a failure frees the lock
                return None
            files.unlock(path, lock)
        assert path is not None
        loaded = _load(path, found, target_context)
        if loaded is None:  # whatever is wrong with the file, the kernel can be compiled again
            files.remove(path)
            return None
        if KernelCache.observer:
            KernelCache.observer(name_of(self.function), plain, path, is_nested())
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        path, plain = self._path_of(sig, own=True)
        if path is None:
            return
        try:
            if not data.library.has_dynamic_globals:
                facts = {"seconds": round(_clock.last, 2), "needs": _called(data), "links": linking.links(data)}
                facts["nested"] = is_nested()
                if processor.is_for_host(data.library):
                    facts["host"] = processor.target()
                linking.separate(data, path.name)
                # Without the listing of types, which is text for readers and contains addresses.
                content = tuple("" if isinstance(part, str) else part for part in data._reduce())
                files.write(path, facts, pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL))
        except (OSError, ProblemError, AttributeError):
            pass  # a full disk, or a library of Numba without `_final_module`: it is compiled again next time
        finally:
            self.unlock()
        if KernelCache.observer:
            KernelCache.observer(name_of(self.function), plain, path, is_nested())

    def unlock(self) -> None:
        """Frees the lock of the version that has just been compiled, or has failed to compile."""
        if self.locks:
            files.unlock(*self.locks.popitem())

    def path(self, plain: list[Any], own: bool = False) -> Path | None:
        """The file of a signature, given as plain data (see `signatures.py`): one that exists, or where to write it.

        The package may have one too, unless `own` asks for that of the user's cache.
        """
        return self._path(json.dumps(plain) + meaning(["tuple", *plain]), own)

    def _path_of(self, sig: Any, own: bool = False) -> tuple[Path | None, Any]:
        args, _ = sigutils.normalize_signature(sig)
        try:
            plain = [encode(arg) for arg in args]
        except Unsupported:
            return self._path(re.sub(r" at 0x[0-9a-f]+", "", str(args)), own), None
        try:
            return self.path(plain, own), plain
        except (ImportError, AttributeError, Unsupported):
            return None, None  # a class or kernel that is local to a function: it has no name to tell versions apart

    def _path(self, signature: str, own: bool) -> Path | None:
        if not self.enabled:
            return None
        parts = (name_of(self.function), self.options, signature, dependencies(self.function))
        ending = files.NESTED if is_nested() else files.SUFFIX

        name = f"{self._file_name()}-{files.digest(chr(10).join([shipped.key(), *parts]))}{ending}"
        folder = cache_folder()
        mine = files.existing(folder / name) if folder else None
        if own or (mine and mine.exists()) or not shipped.serve():
            return mine
        theirs = files.existing(files.SHIPPED / name)
        return theirs if theirs.exists() else mine

    def _file_name(self) -> str:
        return name_of(self.function).replace(":", ".").replace("<locals>.", "").replace("<lambda>", "lambda")


_loaded: dict[Path, Any] = {}  # kernels that were loaded, by their files


def _load(path: Path, found: tuple[dict[str, Any], bytes], target_context: Any) -> Any:
    """The kernel of a file, after the kernels that it is linked to; None if it or one of them cannot be loaded."""
    if path not in _loaded:
        try:
            if tuple(found[0].get("host", processor.target())) != processor.target():
                return None  # a cache folder that machines share
            for name, symbol in found[0]["links"].items():
                other = _beside(path, name)
                linked = _loaded.get(other) or _load(other, files.read(other) or ({}, b""), target_context)
                if linked is None or linked.fndesc.llvm_func_name != symbol:  # it has been compiled again since
                    return None
            content = pickle.loads(found[1])
            linking.announce(target_context, content[1], path.name, found[0].get("nested", False))
            _loaded[path] = compiler.CompileResult._rebuild(target_context, *content)
        except Exception:  # a damaged file, or one of another version of Numba: the kernel is compiled again
            return None
    return _loaded[path]


def _beside(path: Path, name: str) -> Path:
    """The file of this name beside `path`, or in the package, which kernels of the user's cache may be linked to."""
    other = path.with_name(name)
    return other if other.exists() else files.SHIPPED / name


def _called(data: Any) -> list[Any]:
    """The kernels that a compiled kernel calls, with their signatures as plain data."""
    found = []
    typemap = data.type_annotation.typemap
    for expression, signature in data.type_annotation.calltypes.items():
        function = typemap.get(expression.func.name) if getattr(expression, "op", "") == "call" else None
        called = getattr(function, "dispatcher", None)
        if isinstance(called, Dispatcher):
            try:
                entry = [name_of(called.py_func), [encode(arg) for arg in signature.args]]
            except Unsupported:
                continue
            if entry not in found:
                found.append(entry)
    return found


class _Clock(event.Listener):  # type: ignore[misc]
    """Measures compilation: the wall time of this process, and the processor time of each kernel by itself."""

    def __init__(self) -> None:
        self.total, self.since, self.depth = 0.0, 0.0, 0
        self.last = 0.0  # processor seconds of the kernel that was compiled last, without those that it calls
        self.stack: list[list[float]] = []  # start, seconds of called kernels, settings of SLP and of sums before
        self.collects = True  # was the garbage collector on before?

    def __enter__(self) -> None:
        if self.depth == 0:
            self.since = perf_counter()
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.total += perf_counter() - self.since

    def on_start(self, event: Any) -> None:
        self.__enter__()
        if isinstance(getattr(event.data["dispatcher"], "_cache", None), KernelCache):
            if self.depth == 1:
                notice().begin()
            if not self.stack:
                _use_short_message(True)
                processor.marking = True
                self.collects = gc.isenabled()
                gc.disable()  # saves about a tenth of the time of compiling
            self.stack.append([process_time(), 0.0, config.SLP_VECTORIZE, hooks.loose])
            config.SLP_VECTORIZE = int(_SLP or event.data["dispatcher"]._cache.slp)
            hooks.loose = event.data["dispatcher"]._cache.loose

    def on_end(self, event: Any) -> None:
        cache = getattr(event.data["dispatcher"], "_cache", None)
        if isinstance(cache, KernelCache):
            start, inner, config.SLP_VECTORIZE, loose = self.stack.pop()
            hooks.loose = bool(loose)
            took = process_time() - start
            self.last = took - inner
            if self.stack:
                self.stack[-1][1] += took
            else:
                _use_short_message(False)
                processor.marking = False
                if self.collects:
                    gc.enable()
            if tuple(event.data["args"]) not in event.data["dispatcher"].overloads:  # it has failed
                cache.unlock()
        self.__exit__()


_SLP = config.SLP_VECTORIZE  # for all kernels, by the environment variable NUMBA_SLP_VECTORIZE
_clock = _Clock()
event.register("numba:compile", _clock)
processor.install(shipped.preferred)
hooks.hasten()


# ---- the linear algebra of SciPy
#
# Numba imports scipy.linalg to see whether it exists, before its first kernel: a tenth of the time of a short command.
# Carom depends on SciPy.


def _define_array_functions() -> None:
    """Lets Numba import its array functions, without looking for SciPy."""
    if "numba.np.arraymath" not in sys.modules and "scipy.linalg" not in sys.modules:
        from numba.np import linalg

        before = getattr(linalg, "ensure_blas", None)
        setattr(linalg, "ensure_blas", lambda: None)  # noqa: B010
        try:
            importlib.import_module("numba.np.arraymath")
        finally:
            setattr(linalg, "ensure_blas", before)  # noqa: B010


# ---- the message of an assignment between arrays of different shapes
#
# Numba's own message contains the shapes. The code that formats them takes 1.5 s to compile, in each process
# that compiles an assignment such as `a[:] = b`.


def _different_shapes(source: Any, target: Any) -> None:
    """Stands for Numba's function that raises the error, while a kernel is compiled."""


@overload(_different_shapes)
def _raise_different_shapes(source: Any, target: Any) -> Any:
    def raise_it(source: Any, target: Any) -> None:
        raise ValueError("cannot assign an array to a slice of another shape")

    return raise_it


_NUMBAS_MESSAGE = getattr(arrayobj, "raise_with_shape_context", None)


def _use_short_message(short: bool) -> None:
    if _NUMBAS_MESSAGE is not None:
        arrayobj.raise_with_shape_context = _different_shapes if short else _NUMBAS_MESSAGE

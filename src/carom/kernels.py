"""Compiled kernels: one decorator, a cache on disk, and a record of what was compiled.

Numba's own cache compares the time stamp of the file that defines a kernel. It misses an edit in a kernel that
another file's kernel calls, and it drops a whole file's kernels for an edit of a comment. Here the key of a
compiled kernel is a digest of everything that its machine code depends on: its byte code and constants, the globals
that it names and, recursively, the kernels that it calls. A kernel is compiled again if and only if one of these
has changed. The files lie in a user cache folder, so that a read-only installation works and all environments share
them.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import compiler
from numba.core.caching import _Cache
from numba.core.dispatcher import Dispatcher

from .errors import ProblemError
from .files import atomic_path

FOLDER_VARIABLE = "CAROM_CACHE_DIR"
SUFFIX = ".kernel"


def kernel(function: Any = None, **options: Any) -> Any:
    """Compiles a function with Numba in nopython mode, as a decorator with or without options.

    All kernels release the GIL and follow NumPy's rules for division by zero. Machine code is kept on disk.
    `options` are those of `numba.njit`.
    """
    if function is None:
        return lambda given: kernel(given, **options)
    # The C wrapper, which only function pointers need, is left out: it costs compile time.
    made: Any = numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    if isinstance(made, Dispatcher):  # not with NUMBA_DISABLE_JIT
        setattr(made, "_cache", KernelCache(function, repr(sorted(options.items()))))  # noqa: B010
    return made


class KernelCache(_Cache):  # type: ignore[misc]
    """The compiled versions of one kernel on disk, one file per signature."""

    def __init__(self, function: FunctionType, options: str) -> None:
        self.function, self.options, self.enabled = function, options, True
        self.locks: dict[Path, int | None] = {}

    @property
    def cache_path(self) -> str:
        return str(cache_folder() or "")

    def enable(self) -> None:
        self.enabled = True

    def disable(self) -> None:
        self.enabled = False

    def flush(self) -> None:
        folder = cache_folder()
        for path in folder.glob(f"{self._name()}-*{SUFFIX}") if folder else ():
            path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        if path is None:
            return None
        found = _read(path)
        if not found:
            lock = _lock(path)
            found = _read(path)  # another process may have compiled it meanwhile
            if not found:
                self.locks[path] = lock  # Numba compiles now, and save_overload frees the lock
                return None
            _unlock(path, lock)
        try:
            return compiler.CompileResult._rebuild(target_context, *pickle.loads(found))
        except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, ValueError, TypeError):
            path.unlink(missing_ok=True)  # a damaged file, or one of another Numba
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        path = self._path(sig, data.codegen)
        if path is None:
            return
        try:
            if not data.library.has_dynamic_globals:
                _write(path, pickle.dumps(data._reduce(), protocol=pickle.HIGHEST_PROTOCOL))
        except (OSError, ProblemError):
            pass  # a full disk: the kernel is compiled again next time
        finally:
            _unlock(path, self.locks.pop(path, None))

    def _name(self) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}".replace("<locals>.", "")

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        folder = cache_folder() if self.enabled else None
        if folder is None:
            return None
        text = "\n".join(
            [
                numba.__version__,
                sys.version,
                np.__version__,
                repr(codegen.magic_tuple()),
                self._name(),
                self.options,
                re.sub(r" at 0x[0-9a-f]+", "", str(sig)),
                dependencies(self.function),
            ]
        )
        return folder / f"{self._name()}-{hashlib.sha256(text.encode()).hexdigest()[:24]}{SUFFIX}"


# ---- what a kernel depends on


_DIGESTS: dict[FunctionType, str] = {}


def dependencies(function: FunctionType, under_way: tuple[FunctionType, ...] = ()) -> str:
    """Digest of all that the machine code of a function depends on, without the versions of Python and Numba."""
    known = _DIGESTS.get(function)
    if known is not None:
        return known
    if function in under_way:
        return function.__qualname__  # recursion: its code is already part of the digest
    parts: list[str] = []
    names: set[str] = set()
    _add_code(function.__code__, parts, names, function.__doc__)
    inside = (*under_way, function)
    for name in sorted(names & function.__globals__.keys()):
        parts.append(f"{name} = {_described(function.__globals__[name], names, inside)}")
    for cell in function.__closure__ or ():
        parts.append(_described(cell.cell_contents, names, inside))
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    if not under_way:
        _DIGESTS[function] = digest
    return digest


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


def _described(value: Any, names: set[str], under_way: tuple[FunctionType, ...]) -> str:
    if isinstance(value, Dispatcher):
        return dependencies(value.py_func, under_way) + repr(sorted(value.targetoptions.items(), key=str))
    if isinstance(value, FunctionType) and value.__module__.partition(".")[0] == "carom":
        return dependencies(value, under_way)
    if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "carom":
        return ";".join(
            f"{name} = {_described(getattr(value, name), names, under_way)}"
            for name in sorted(names & vars(value).keys())
        )
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, int | float | complex | bool | str | bytes | tuple | np.generic) or value is None:
        return repr(value)
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)} " + repr(
        getattr(value, "_fields", "")
    )


# ---- files


@cache
def cache_folder() -> Path | None:
    """Where compiled kernels are kept: $CAROM_CACHE_DIR, the user's cache folder, a temporary one, or None."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    candidates = [Path(chosen)] if chosen else [_user_cache() / "carom" / "kernels"]
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    candidates.append(Path(tempfile.gettempdir()) / f"carom-kernels-{user}")
    for folder in candidates:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Machine code is loaded from here: only from a folder that belongs to this user.
            if os.access(folder, os.W_OK) and (not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()):
                return folder
        except OSError:
            continue
    return None


def _user_cache() -> Path:
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _write(path: Path, data: bytes) -> None:
    with atomic_path(path) as part:
        part.write_bytes(data)


def _lock(path: Path) -> int | None:
    """Waits until no other process compiles the kernel of this file; None where files cannot be locked.

    The system frees the lock of a process that dies. The call graph of kernels has no cycles, so processes that wait
    for each other's kernels cannot lock up.
    """
    try:
        import fcntl

        handle = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        return handle
    except (ImportError, OSError):
        return None


def _unlock(path: Path, handle: int | None) -> None:
    if handle is not None:
        path.with_suffix(".lock").unlink(missing_ok=True)
        os.close(handle)

"""Machine code that comes with the package: kernels that were compiled when its wheel was built.

`CAROM_BUILD_KERNELS=1` lets the build of a wheel (`hatch_build.py`) compile the kernels of the manifest for a baseline
of processors and put the files into the folder `compiled` of this package. They serve where Python, Numba, LLVM and the
settings of Numba are those of the build and the processor has what the baseline demands. Everywhere else kernels are
compiled and kept in the user's cache, which is asked first. Files of the package are read; they are never written,
touched or removed.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import config
from numba.core.bytecode import FunctionIdentity
from numba.np.ufunc import array_exprs  # type: ignore[attr-defined]

from . import files, hooks, linking, operators, processor

FACTS = "built.json"
# As they are when this package is imported: compiling a kernel changes some of them.
_SETTINGS = (config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.BOUNDSCHECK, config.USING_SVML)


@cache
def key() -> str:
    """All that machine code depends on besides its source.

    Python counts by its byte code, which no patch release changes. NumPy's version does not count, as it does not in
    Numba's own cache: arrays reach machine code in a structure of Numba.
    """
    built_in = (linking.SMALL, operators.VERSION, hooks.pipeline(), str(_SETTINGS), config.DEBUGINFO_DEFAULT)
    wanted = processor.baseline(preferred())
    return repr((built_in, *_versions().values(), wanted or processor.target()[1:]))


def preferred() -> str:
    """The baseline of the shipped kernels."""
    return str(built().get("baseline", ""))


def _versions() -> dict[str, str]:
    versions = {"Python": sys.implementation.cache_tag, "Numba": numba.__version__, "llvmlite": llvmlite.__version__}
    return {**versions, "system": processor.target()[0]}


@cache
def built() -> dict[str, Any]:
    """The processor for which the shipped kernels were built, and their number; empty if there are none."""
    try:
        found: dict[str, Any] = json.loads((files.SHIPPED / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


@cache
def unsuitable() -> str:
    """Why this process cannot use the shipped kernels; empty if it can, or if there are none."""
    for what, here in _versions().items():
        if built() and built()[what] != here:
            return f"those of the package are for {what} {built()[what]}, and this is {here}"
    if preferred() in processor.BASELINES and (missing := processor.missing_features(preferred())):
        return f"those of the package need a processor with {', '.join(missing)}"
    if built() and processor.baseline(preferred()) != preferred():
        return f"those of the package are for {preferred()}, and {processor.NATIVE_VARIABLE} asks for this processor"
    return ""


def serve() -> bool:
    """Whether there are shipped kernels that this process can use."""
    return bool(built()) and not unsuitable()


def build(folder: Path, families: list[str]) -> None:
    """Compiles the kernels of some families, or of all, for the baseline, into a folder.

    One process compiles all of them in the order of the manifest, and symbols are numbered from a digest on, so that
    two builds give the same bytes (given PYTHONHASHSEED). The user's cache must be empty.
    """
    from .manifest import load
    from .warmup import warm_up

    FunctionIdentity._unique_ids = count(int(files.digest(key()), 16) >> 40)
    numbers = count()
    setattr(array_exprs, "hash", lambda _: next(numbers))  # noqa: B010  names of array expressions, else an address
    done = warm_up(families or load().families, processes=1)
    if not done.kernels:
        sys.exit("no kernels were compiled: the cache is not empty, or the families do not exist")
    for problem in done.skipped:
        print(f"not compiled: {problem}", file=sys.stderr)
    kernels = sorted(_cache().glob(f"*{files.SUFFIX}"))
    for path in kernels:
        facts, code = files.read(path) or ({}, b"")
        files.write(folder / path.name, {**facts, "seconds": 0.0}, code)  # the time it took differs in each build
    facts = {**_versions(), "baseline": processor.baseline(), "kernels": len(kernels)}
    (folder / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _cache() -> Path:
    folder = files.cache_folder()
    if folder is None:
        sys.exit("no folder for compiled kernels is writable: set CAROM_CACHE_DIR")
    return folder

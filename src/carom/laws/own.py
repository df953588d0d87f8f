"""Laws from files of the user: `FILE.py:CLASS`."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import ProblemError
from ..files import module_of
from . import Law, make, register


def is_file(text: str) -> bool:
    """Whether a text names a class of a file, and not a registered law."""
    return text.rpartition(":")[0].endswith(".py")


def law_named(text: str) -> Law:
    """The law of a name, or of FILE.py:CLASS, which is registered under its name. Scene files have names only."""
    if not is_file(text):
        return make(text)
    file, _, name = text.rpartition(":")
    if not Path(file).is_file():
        raise ProblemError("law", text, f"a file that exists, which {file} does not")
    law = _own(file, name, Path(file).read_text(encoding="utf-8", errors="replace"))
    register(law.name, law)
    return make(law.name)


def fingerprint(text: str) -> str:
    """A registered name as it is; of a file, its name with the SHA-256 of its content."""
    if not is_file(text):
        return text
    file, _, name = text.rpartition(":")
    return f"{Path(file).name}:{name} {hashlib.sha256(Path(file).read_bytes()).hexdigest()}"


@cache
def _own(file: str, name: str, code: str) -> type[Law]:
    """The class `name` of the Python text `code`. Its objects can be sent to processes without the file."""
    module = module_of(file, code)
    own = {key: value for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, Law)}
    own = {key: value for key, value in own.items() if value.__module__ == module.__name__}
    if name not in own:
        raise ProblemError.unknown(f"law in {file}", name, own)
    law = own[name]

    def reduce(self: Law) -> tuple[Any, ...]:
        return _remade, (file, name, code, self.options())

    law.__reduce__ = reduce  # type: ignore[method-assign, assignment]
    return law


def _remade(file: str, name: str, code: str, options: dict[str, Any]) -> Law:
    return _own(file, name, code)(**options)

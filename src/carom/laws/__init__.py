"""The impact laws, by name. `register` adds a law."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import ProblemError
from .etm import ETM
from .gauss_seidel import GaussSeidel
from .gr import GR
from .inelastic import finish_inelastically
from .jacobi import Jacobi
from .law import DESIDERATA, Law, Paper, impulses_of
from .lcp import LCP
from .lzb import LZB
from .none import NoImpulse
from .qce import QCE
from .smm import SMM
from .sqm import SQM

_LAWS: dict[str, Law] = {
    "none": NoImpulse(),
    "lcp": LCP(),
    "gauss_seidel": GaussSeidel(),
    "jacobi": Jacobi(),
    "gr": GR(),
    "qce": QCE(),
    "lzb": LZB(),
    "etm": ETM(),
    "sqm": SQM(),
    "smm": SMM(),
}
_OWN = frozenset(_LAWS)


def register(name: str, law: Law | type[Law], replace: bool = False) -> None:
    """Adds a law under a name, for `solve_impact(problem, law=name)`, the audit and the command line.

    A name of one of Carom's own laws is refused unless `replace` is true.
    """
    instance = law() if isinstance(law, type) else law
    if not callable(getattr(instance, "impulses", None)):
        raise ProblemError("law", law, "an object with a method impulses(contacts)")
    if not name.isidentifier():
        raise ProblemError("law name", name, "letters, digits and underscores")
    if name in _OWN and not replace:
        raise ProblemError("law name", name, "a name that none of Carom's own laws has, or replace=True")
    _LAWS[name] = instance


def names() -> list[str]:
    """Registered laws, in the order of the tables."""
    return list(_LAWS)


def every() -> Iterator[tuple[str, Law]]:
    """(name, law with default options) of every registered law."""
    return iter(_LAWS.items())


def make(law: str | Law, **options: Any) -> Law:
    """A law from its name and options; a law object is returned as it is."""
    if not isinstance(law, str):
        if not callable(getattr(law, "impulses", None)):
            raise ProblemError("law", law, "a name or an object with a method impulses(contacts)")
        return law
    if law not in _LAWS:
        raise ProblemError.unknown("law", law, _LAWS)
    default = _LAWS[law]
    if not options:
        return default
    known = default.options()
    for key in options:
        if key not in known:
            raise ProblemError.unknown(f"option of law {law!r}", key, known)
    return type(default)(**{**known, **options})


def with_history(law: str | Law) -> Law:
    """The law with its option `history` set."""
    chosen = make(law)
    if not getattr(chosen, "has_history", False):
        have = ", ".join(name for name, law in _LAWS.items() if law.has_history)
        raise ProblemError("history", True, f"a law that has one, which {chosen.name!r} has not: {have}")
    return type(chosen)(**{**chosen.options(), "history": True})


__all__ = [
    "DESIDERATA",
    "ETM",
    "GR",
    "LCP",
    "LZB",
    "QCE",
    "SMM",
    "SQM",
    "GaussSeidel",
    "Jacobi",
    "Law",
    "NoImpulse",
    "Paper",
    "every",
    "finish_inelastically",
    "impulses_of",
    "make",
    "names",
    "register",
    "with_history",
]

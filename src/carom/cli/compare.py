"""`carom compare`."""

from __future__ import annotations

from ..errors import ProblemError


def compare() -> None:
    """Under way."""
    raise ProblemError("compare", "nothing", "a later version")

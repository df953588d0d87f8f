"""The base of objects that show themselves in notebooks.

Pictures need modules that lie far above the objects which they show. As public names are in `carom/__init__.py`, the
module `carom.notebook` is therefore named here and imported when a notebook asks for the first time.
"""

from __future__ import annotations

import importlib

NOTEBOOK = "carom.notebook"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 body`, `2 bodies`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


class Shown:
    """An object with a table and a picture in notebooks."""

    def _repr_html_(self) -> str:
        html: str = importlib.import_module(NOTEBOOK).html(self)
        return html

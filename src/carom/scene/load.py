"""`load_scene`: the scene of a file, whatever its format."""

from __future__ import annotations

from pathlib import Path

from ..errors import ProblemError
from .model import Scene


def load_scene(path: str | Path) -> Scene:
    """The scene of a .toml file of Carom or an .xml file of SCISim. Bad files raise ProblemError."""
    path = Path(path)
    if path.suffix.lower() == ".toml":
        from .file import read_toml

        return read_toml(path)
    if path.suffix.lower() == ".xml":
        from .scisim import read_scisim

        return read_scisim(path)
    raise ProblemError(str(path), repr(path.suffix), "a scene file: .toml, or .xml of SCISim")

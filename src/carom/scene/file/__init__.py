"""Scene files in TOML: reading, checking, writing. `docs/scenes.md` is the reference of the format."""

from .convert import parse_toml, read_toml, scene_of
from .write import save_scene, scene_to_toml

__all__ = ["parse_toml", "read_toml", "save_scene", "scene_of", "scene_to_toml"]

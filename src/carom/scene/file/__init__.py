"""Scene files: reading, checking, writing. `docs/scenes.md` is the reference of the TOML format."""

from .document import load_scene, parse_toml, read_toml, scene_of, scene_schema, schema_text
from .write import save_scene, scene_document, scene_to_toml, starter_text

__all__ = [
    "load_scene",
    "parse_toml",
    "read_toml",
    "save_scene",
    "scene_document",
    "scene_of",
    "scene_schema",
    "scene_to_toml",
    "schema_text",
    "starter_text",
]

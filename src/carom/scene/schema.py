"""JSON schema of scene files, for editors that check and complete TOML."""

from __future__ import annotations

import json
from typing import Any


def scene_schema() -> dict[str, Any]:
    """The schema of `.toml` scenes, without what TOML cannot say (null)."""
    from .file.document import SceneFile

    schema: dict[str, Any] = _tidy(SceneFile.model_json_schema())
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Carom scene"}
    return {**head, **schema, **head}


def schema_text() -> str:
    return json.dumps(scene_schema(), indent=1)


def _tidy(node: Any) -> Any:
    """Takes off null alternatives, empty defaults of them, and titles that repeat the name."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    out: dict[str, Any] = {}
    for key, value in node.items():
        is_null_default = key == "default" and value is None
        is_title = key == "title" and isinstance(value, str)
        if not is_null_default and not is_title:
            out[key] = _tidy(value)
    options = [item for item in out.get("anyOf", ()) if item != {"type": "null"}]
    if "anyOf" in out and len(options) == 1:
        del out["anyOf"]
        return {**options[0], **out}
    if options:
        out["anyOf"] = options
    return out

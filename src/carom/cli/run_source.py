"""What to run: a scene of the library or a file, with parameters and law options from the command line."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ProblemError
from .console import remarks

if TYPE_CHECKING:
    from ..laws import Law
    from ..scene.model import Scene

FILES = (".toml", ".xml")


def load(source: str, pairs: Sequence[str]) -> Scene:
    """The scene that SCENE|FILE means, with `--set key=value` applied."""
    if Path(source).suffix.lower() in FILES or "/" in source or Path(source).is_file():
        if pairs:
            raise ProblemError("--set", ", ".join(pairs), f"nothing: {source} is a file; edit it instead")
        return from_file(source)
    from ..scenes import SCENES

    if source not in SCENES:
        raise unknown_scene(source, SCENES)
    entry = SCENES[source]
    return entry(**typed(pairs, entry.parameters, "--set", f"parameter of scene {source!r}"))


def with_integrator(scene: Scene, name: str | None) -> Scene:
    """The scene with another integrator of rotations; only bodies of space have one."""
    if name is None:
        return scene
    from ..scene.model import INTEGRATORS

    if name not in INTEGRATORS:
        raise ProblemError.unknown("integrator", name, INTEGRATORS)
    if scene.dimension == 2:
        raise ProblemError("--integrator", name, f"nothing: {scene.name} is a scene of the plane")
    return scene.with_(integrator=name)


def from_file(path: str) -> Scene:
    """The scene of a file; what its reader warns about becomes one line each."""
    from ..scene.file import load_scene

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scene = load_scene(path)
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        remarks().print(f"warning: {text}", markup=False, soft_wrap=True)
    return scene


def unknown_scene(name: str, known: Mapping[str, Any]) -> ProblemError:
    error = ProblemError.unknown("scene", name, known)
    text = str(error).removesuffix(")") + "; or a file that ends in .toml or .xml)"
    return ProblemError(error.field, name, error.expected, text)


def law_of(name: str | None, pairs: Sequence[str], scene: Scene) -> Law:
    """The law, the scene's own if none is named, with its options."""
    from ..laws import make

    law = make(scene.law if name is None else name)
    return make(law.name, **typed(pairs, law.options(), "--law-option", f"option of law {law.name!r}"))


def typed(pairs: Sequence[str], defaults: Mapping[str, Any], flag: str, what: str) -> dict[str, Any]:
    """`key=value` pairs in the type of their defaults. An unknown key or a value that does not fit is refused."""
    chosen: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not key:
            raise ProblemError(flag, pair, "key=value")
        if not defaults:
            raise ProblemError(flag, pair, f"nothing: there is no {what}")
        if key not in defaults:
            raise ProblemError.unknown(what, key, defaults)
        if key in chosen:
            raise ProblemError(flag, pair, f"{key} only once")
        chosen[key] = _value(f"{flag} {key}", text, defaults[key])
    return chosen


def _value(field: str, text: str, default: Any) -> Any:
    if isinstance(default, str):
        return text
    try:
        value = json.loads({"True": "true", "False": "false", "None": "null"}.get(text, text))
    except json.JSONDecodeError:
        value = text
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ProblemError(field, text, "true or false")
    elif isinstance(default, int):
        if not number or value != value or abs(value) == float("inf") or value != int(value):
            raise ProblemError(field, text, "a whole number")
        return int(value)
    elif isinstance(default, float):
        if not number:
            raise ProblemError(field, text, "a number")
        return float(value)
    return tuple(value) if isinstance(value, list) else value


def default_output(scene: str, law: str, overwrite: bool) -> Path:
    """NAME-LAW.h5 here; if that is taken, NAME-LAW-2.h5 and so on, so that nothing is written over unasked."""
    stem = f"{file_stem(scene)}-{law}"
    path, number = Path(f"{stem}.h5"), 2
    while path.exists() and not overwrite:
        path, number = Path(f"{stem}-{number}.h5"), number + 1
    return path


def file_stem(name: str) -> str:
    """A scene's name as part of a file name."""
    return re.sub(r"[^\w.+-]+", "_", name).strip("._") or "scene"

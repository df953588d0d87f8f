"""Where the scenes of a sweep come from: the library, a scene file, a `Scene`, or a function; and own functions."""

from __future__ import annotations

import copy
import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..files import module_of, read_file
from ..scene.model import Scene
from ..settings import RUN_SETTINGS

# Fields of a Scene that are settings of a run or its law: a sweep varies them there.
OF_RUNS = tuple(name for name, setting in RUN_SETTINGS.items() if setting.in_scene)


@dataclass(frozen=True)
class Source:
    """A scene with parameters.

    `parameters` are their names, or None if names are paths into a file, which `check` looks up. `make` is called with
    the values of some parameters.
    """

    title: str
    parameters: tuple[str, ...] | None
    make: Callable[[dict[str, Any]], Scene]
    record: dict[str, Any]  # for the fingerprint of the sweep
    library: str | None = None  # the name of a scene of the library, which workers make themselves
    document: dict[str, Any] | None = None

    def check(self, name: str) -> None:
        """Raises ProblemError if there is no such parameter."""
        if self.parameters is None:
            from ..scene.file.text import place

            place(self.document or {}, name)
        elif name not in self.parameters:
            raise ProblemError.unknown(f"parameter of {self.title}", name, self.parameters)

    def scene(self, values: dict[str, Any]) -> Scene:
        """The scene with these values."""
        return self.make(values)


def source_of(scene: Any) -> Source:
    """The source that a plan names."""
    if isinstance(scene, Scene):
        return _of_scene(scene)
    if callable(scene):
        return _of_function(scene)
    if not isinstance(scene, str | Path):
        raise ProblemError("scene", scene, "the name of a scene, a scene file, a Scene, or a function that returns one")
    if Path(scene).suffix.lower() in (".toml", ".xml", ".urdf"):
        return _of_file(Path(scene))
    from ..scenes import SCENES

    name = str(scene)
    if name not in SCENES:
        raise ProblemError.unknown("scene", name, SCENES)
    entry = SCENES[name]
    return Source(f"scene {name!r}", tuple(entry.parameters), lambda v: entry(**v), {"library": name}, library=name)


def _of_scene(scene: Scene) -> Source:
    from ..scene.store import pack

    fields = tuple(name for name in scene.__dataclass_fields__ if name not in OF_RUNS)
    digest = hashlib.sha256()
    meta, arrays = pack(scene)
    digest.update(repr(meta).encode())
    for name in sorted(arrays):
        digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    record = {"scene": scene.name, "sha256": digest.hexdigest()}
    return Source(f"scene {scene.name!r}", fields, lambda v: scene.with_(**v), record)


def _of_function(make: Callable[..., Scene]) -> Source:
    name = f"{make.__module__}:{getattr(make, '__qualname__', make)}"
    names = tuple(inspect.signature(make).parameters)

    def made(values: dict[str, Any]) -> Scene:
        scene = make(**values)
        if not isinstance(scene, Scene):
            raise ProblemError("scene", name, f"a function that returns a Scene, not {type(scene).__name__}")
        return scene

    return Source(f"scene {name!r}", names, made, {"function": name})


def _of_file(path: Path) -> Source:
    """A file: parameters are paths such as `materials.default.friction` or `bodies.0.velocity`."""
    from ..scene.file import load_scene, scene_of
    from ..scene.file.text import parse, place, read

    digest = hashlib.sha256(read_file(path, "scene")).hexdigest()
    record = {"file": path.name, "sha256": digest}
    if path.suffix.lower() != ".toml":
        fixed = load_scene(path)
        return Source(f"scene file {path}", (), lambda v: fixed, record)
    load_scene(path)  # refuses a bad file with the line of its fault
    document = parse(read(path), path.name)

    def made(values: dict[str, Any]) -> Scene:
        changed = copy.deepcopy(document)
        for name, value in values.items():
            table, key = place(changed, name)
            table[key] = value
        return scene_of(changed, path.stem, path.parent)

    return Source(f"scene file {path}", None, made, record, document=document)


def own_function(text: str) -> tuple[Callable[..., Any], str]:
    """The function that `file.py:function` names, and the text of its file."""
    file, _, name = text.rpartition(":")
    code = read_file(Path(file), "Python").decode("utf-8", "replace")
    return function_of(file, name, code), code


def function_of(file: str, name: str, code: str) -> Callable[..., Any]:
    """The function `name` of the Python text `code`; `file` stands for it in messages."""
    module = module_of(file, code)
    found = getattr(module, name, None)
    if not callable(found):
        names = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise ProblemError.unknown(f"function of {file}", name, names)
    return found

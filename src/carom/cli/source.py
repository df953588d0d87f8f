"""The scene, the law and the output file that the arguments of a command name."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ProblemError
from .arguments import law_named, law_with_options, typed
from .console import remarks

if TYPE_CHECKING:
    from ..laws import Law
    from ..scene.model import Scene

FILES = (".toml", ".xml", ".urdf")


def load(source: str, pairs: Sequence[str]) -> Scene:
    """The scene named by SCENE|FILE, with `--set KEY=VALUE` applied."""
    if Path(source).suffix.lower() in FILES or "/" in source or Path(source).is_file():
        return from_file(source, pairs)
    from ..scenes import SCENES

    if source not in SCENES:
        raise unknown_scene(source, SCENES)
    entry = SCENES[source]
    return entry(**typed(pairs, entry.parameters, "--set", f"parameter of scene {source!r}"))


def with_integrator(scene: Scene, name: str | None) -> Scene:
    """The scene with another integrator of rotations, which only 3D scenes have."""
    if name is None:
        return scene
    from ..scene.model import INTEGRATORS

    if name not in INTEGRATORS:
        raise ProblemError.unknown("integrator", name, INTEGRATORS)
    if scene.rotation_integrator is None:
        raise ProblemError("--integrator", name, f"nothing: {scene.name} is a 2D scene")
    return scene.with_(integrator=name)


def from_file(path: str, pairs: Sequence[str] = ()) -> Scene:
    """The scene of a file with `--set PATH=VALUE` applied; each warning of the reader is printed as one line."""
    from ..scene.file import load_scene

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scene = load_scene(path, [_setting(pair) for pair in pairs])
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        remarks().print(f"warning: {text}", markup=False, soft_wrap=True)
    return scene


def unknown_scene(name: str, known: Mapping[str, Any]) -> ProblemError:
    """The error about a name that is neither a scene of the library nor a file."""
    error = ProblemError.unknown("scene", name, known)
    text = str(error).removesuffix(")") + "; or a file that ends in .toml, .xml or .urdf)"
    return ProblemError(error.field, name, error.expected, text)


def law_of(name: str | None, pairs: Sequence[str], scene: Scene) -> Law:
    """The named law, or that of the scene if the name is None, with the options of `--law-option`."""
    from ..laws import make

    return law_with_options(make(scene.law) if name is None else law_named(name), pairs, "--law-option")


def _setting(pair: str) -> tuple[str, str]:
    key, equals, text = (part.strip() for part in pair.partition("="))
    if not equals or not key:
        raise ProblemError("--set", pair, "path=value, such as scene.step=0.001 or bodies.0.velocity=[1,0]")
    return key, text


def default_output(scene: str, law: str, overwrite: bool) -> Path:
    """SCENE-LAW.h5 in the current folder; if it exists and may not be overwritten, SCENE-LAW-2.h5 and so on."""
    stem = f"{file_stem(scene)}-{law}"
    path, number = Path(f"{stem}.h5"), 2
    while path.exists() and not overwrite:
        path, number = Path(f"{stem}-{number}.h5"), number + 1
    return path


def file_stem(name: str) -> str:
    """The name of a scene with characters that suit a file name."""
    return re.sub(r"[^\w.+-]+", "_", name).strip("._") or "scene"

"""A scene file's document -> a Scene."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from ...errors import ProblemError
from ..barriers import KINDS as BARRIERS
from ..boundaries import Boundary
from ..model import Material, Scene
from ..symmetry import Symmetry
from .copies import Groups
from .document import BOUNDARY, PairTable, SceneFile, SymmetryTable
from .groups import Place
from .refusal import at_line, refused
from .text import parse, read
from .vectors import SHAPES

T = TypeVar("T")


def read_toml(path: str | Path) -> Scene:
    """The scene of a TOML file. A scene without a name gets that of the file."""
    path = Path(path)
    return parse_toml(read(path), path.name, path.stem, path.parent)


def parse_toml(text: str, name: str = "scene", default_name: str = "scene", folder: str | Path = ".") -> Scene:
    """The scene of a TOML text; `name` stands for the text in messages. Mesh files are looked for from `folder`."""
    document = parse(text, name)
    try:
        return scene_of(document, default_name, folder)
    except ProblemError as error:
        raise at_line(error, text, name) from None


def scene_of(document: Mapping[str, Any], default_name: str = "scene", folder: str | Path = ".") -> Scene:
    """The scene of a document: dicts, lists, text and numbers, as TOML and JSON have them."""
    where = Place(dimension_of(document), Path(folder))
    try:
        file = SceneFile.model_validate(dict(document), context={"dimension": where.dimension})
    except ValidationError as found:
        raise refused(document, found, where.dimension) from None
    if not file.bodies and not file.generators:
        raise ProblemError("bodies", "nothing", "at least one [[bodies]] or [[generators]] table")
    materials = {"default": Material()} | {name: table.material() for name, table in file.materials.items()}
    _check_materials(file, materials)
    bodies = Groups(file, where).all()
    if not bodies:
        raise ProblemError("bodies", "templates only", "at least one group that is no template")
    apart = ("name", "gravity", "dimension")
    settings = {name: getattr(file.scene, name) for name in type(file.scene).model_fields if name not in apart}
    gravity: Any = file.scene.gravity or where.origin
    return Scene(
        name=file.scene.name or default_name,
        bodies=tuple(bodies),
        boundaries=tuple(_boundary(table, f"boundaries[{i}]") for i, table in enumerate(file.boundaries)),
        periodic=None if file.periodic is None else file.periodic.periodic(),
        materials=materials,
        gravity=gravity,
        pairs=dict(_pair(table, f"pairs[{i}]") for i, table in enumerate(file.pairs)),
        symmetries=tuple(_symmetry(table, f"symmetries[{i}]") for i, table in enumerate(file.symmetries)),
        **settings,
    )


def dimension_of(document: Mapping[str, Any]) -> int:
    """2 or 3: what [scene] says, or else 3 if a shape or a boundary is one of space."""
    head = document.get("scene")
    given = head.get("dimension") if isinstance(head, Mapping) else None
    if given is not None:
        return 3 if given == 3 else 2  # anything else is refused with the rest
    for table, key, known in (
        ("bodies", "shape", SHAPES[3]),
        ("generators", "shape", SHAPES[3]),
        ("boundaries", "kind", BARRIERS),
    ):
        rows = document.get(table)
        for row in rows if isinstance(rows, list) else ():
            word = row.get(key) if isinstance(row, Mapping) else None
            if isinstance(word, str) and word in known:
                return 3
    return 2


def _check_materials(file: SceneFile, known: Iterable[str]) -> None:
    """Every material that is named must exist."""
    for kind in ("bodies", "generators", "boundaries"):
        for i, table in enumerate(getattr(file, kind)):
            name = getattr(table, "material", "default")
            if name not in known:
                raise _unknown_material(f"{kind}[{i}].material", name, known)
            _check_motion(table, f"{kind}[{i}]")
    for i, pair in enumerate(file.pairs):
        for k, name in enumerate(pair.between):
            if name not in known:
                raise _unknown_material(f"pairs[{i}].between[{k}]", name, known)


def _unknown_material(path: str, name: str, known: Iterable[str]) -> ProblemError:
    message = str(ProblemError.unknown("material", name, known))
    return ProblemError(path, repr(name), f"one of {', '.join(known)}", f"{path}: {message}")


def _check_motion(table: Any, path: str) -> None:
    motion = getattr(table, "motion", None)
    if motion is not None and not isinstance(motion, str):
        _under(path, motion.motion)


def _boundary(table: Any, path: str) -> Boundary:
    if table.motion == "free":
        raise ProblemError(f"{path}.motion", "'free'", '"fixed" or a table: nothing pushes a boundary')
    return _under(path, lambda: BOUNDARY[table.kind](**table.plain()))


def _symmetry(table: SymmetryTable, path: str) -> Symmetry:
    return _under(path, table.symmetry)


def _pair(table: PairTable, path: str) -> tuple[tuple[str, str], dict[str, float]]:
    given = {name: getattr(table, name) for name in ("restitution", "friction")}
    values = {name: value for name, value in given.items() if value is not None}
    if not values:
        raise ProblemError(path, "neither", "restitution, friction or both")
    return (table.between[0], table.between[1]), values


def _under(path: str, make: Callable[[], T]) -> T:
    """Calls `make`; what it says of `boundary.upper` or `motion.times` is said of `path.upper`, `path.motion.times`."""
    try:
        return make()
    except ProblemError as error:
        owner, _, field = error.field.partition(".")
        own = path if owner in ("boundary", "symmetry") else f"{path}.{owner}"
        raise ProblemError(f"{own}.{field}", error.value, error.expected) from None

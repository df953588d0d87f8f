"""Scene files: text or document -> Scene, and the JSON schema of the TOML format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from ...errors import ProblemError
from ..boundaries import BOUNDARY, KINDS, Boundary, Periodic
from ..chance import RADIUS, RandomVelocity
from ..changes import Sink, Source
from ..checks import NOT_NEGATIVE, RESTITUTION, TEXT, Check, Choice, ListOf, Refused, Schema, Where, refuse
from ..fields import ONLY_3D, Field, TableOf, construct, fields_of, properties, read_fields, reference
from ..generators import Copies, Round
from ..joints import JOINT
from ..model import COEFFICIENTS, RESTITUTION_ABOUT, ROLLING_ABOUT, TORSIONAL_ABOUT, Material, Restitution, Scene
from ..motion import MOTION
from ..shapes import KINDS as SHAPES
from ..shapes import ROTATION, Part, Rotation, shape_fields
from ..symmetry import Symmetry
from .bodies import GENERATOR, BodiesOf, Table, Tables, schema_tables
from .text import change, line_of, parse, read


@dataclass(frozen=True)
class Pair:
    """[[pairs]]: how two materials meet, where the rule for two different materials does not suit."""

    between: Annotated[tuple[str, str], ListOf(TEXT, 2, 2, "a list of 2")]
    restitution: Annotated[Restitution | None, RESTITUTION, RESTITUTION_ABOUT] = None
    friction: Annotated[float | None, NOT_NEGATIVE] = None
    rolling_friction: Annotated[float | None, NOT_NEGATIVE, ROLLING_ABOUT] = None
    torsional_friction: Annotated[float | None, NOT_NEGATIVE, TORSIONAL_ABOUT, ONLY_3D] = None

    def __post_init__(self) -> None:
        if not self.values:
            raise ProblemError("pair", "none", f"one of {', '.join(COEFFICIENTS)}, or several")

    @property
    def values(self) -> dict[str, Any]:
        """The coefficients that are given."""
        given = {name: getattr(self, name) for name in COEFFICIENTS}
        return {name: value for name, value in given.items() if value is not None}


class _Materials(Check):
    """[materials.NAME]."""

    def read(self, value: Any, where: Where) -> dict[str, Material]:
        if not isinstance(value, Mapping):
            raise refuse("a table", value)
        out, faults = {}, []
        for name, table in value.items():
            try:
                out[name] = construct(Material, read_fields(table, fields_of(Material), where))
            except Refused as wrong:
                faults += wrong.under(name)
        if faults:
            raise Refused(faults)
        return out

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": reference(Material)}


class _SceneTable(Check):
    """[scene]: the declared fields of a Scene, none of them needed, and the dimension."""

    fields: ClassVar[dict[str, Field]] = {
        "dimension": Field(Choice((2, 3)), None, "2 or 3; by default that of the shapes and boundaries"),
        **{
            name: Field(f.check, f.default if name != "name" else "", f.about, f.only)
            for name, f in fields_of(Scene).items()
        },
    }

    def read(self, value: Any, where: Where) -> dict[str, Any]:
        return read_fields(value, self.fields, where)

    def schema(self) -> Schema:
        return reference(Scene)


def _tables(name: str, item: Check) -> Field:
    return Field(ListOf(item, text=f"an array of tables: write [[{name}]]"), ())


DOCUMENT = {
    "scene": Field(_SceneTable(), {}),
    "materials": Field(_Materials(), {}),
    "pairs": _tables("pairs", TableOf(Pair)),
    "bodies": _tables("bodies", BodiesOf()),
    "generators": _tables("generators", GENERATOR),
    "boundaries": _tables("boundaries", BOUNDARY),
    "periodic": Field(TableOf(Periodic), None),
    "joints": _tables("joints", JOINT),
    "sources": _tables("sources", TableOf(Source)),
    "sinks": _tables("sinks", TableOf(Sink)),
    "symmetries": _tables("symmetries", TableOf(Symmetry)),
}


def load_scene(path: str | Path, changes: Sequence[tuple[str, str]] = ()) -> Scene:
    """The scene of a .toml file of Carom, an .xml file of SCISim or a .urdf file. Bad files raise ProblemError.

    `changes` are places in a .toml file, such as `bodies.0.velocity`, and their new values in the syntax of TOML.
    """
    path = Path(path)
    if path.suffix.lower() == ".toml":
        return read_toml(path, changes)
    if path.suffix.lower() in (".xml", ".urdf"):
        if changes:
            raise ProblemError(changes[0][0], changes[0][1], "nothing: only .toml files can be changed")
        if path.suffix.lower() == ".urdf":
            from ..urdf import read_urdf

            return read_urdf(path)
        from ..scisim import read_scisim

        return read_scisim(path)
    raise ProblemError(str(path), repr(path.suffix), "a scene file: .toml, .xml of SCISim, or .urdf")


def read_toml(path: str | Path, changes: Sequence[tuple[str, str]] = ()) -> Scene:
    """The scene of a TOML file, with `changes` as in `load_scene`. A scene without a name gets that of the file."""
    path = Path(path)
    return parse_toml(read(path), path.name, path.stem, path.parent, changes)


def parse_toml(
    text: str,
    name: str = "scene",
    default_name: str = "scene",
    folder: str | Path = ".",
    changes: Sequence[tuple[str, str]] = (),
) -> Scene:
    """The scene of a TOML text; `name` stands for the text in messages. Mesh files are sought from `folder`."""
    document = parse(text, name)
    for place, value in changes:
        change(document, place, value)
    try:
        return scene_of(document, default_name, folder)
    except ProblemError as error:
        line = line_of(text, error.field)
        where = f"{name}, line {line}" if line is not None else name
        raise ProblemError(error.field, error.value, error.expected, f"{error} [{where}]") from None


def scene_of(document: Mapping[str, Any], default_name: str = "scene", folder: str | Path = ".") -> Scene:
    """The scene of a document: dicts, lists, text and numbers, as TOML and JSON have them."""
    where = Where(dimension_of(document), Path(folder))
    try:
        found = read_fields(document, DOCUMENT, where)
    except Refused as wrong:
        error = wrong.faults[0].problem()
        if len(wrong.faults) > 1:
            error.args = (f"{error} (and {len(wrong.faults) - 1} more)",)
        raise error from None
    tables: dict[str, Table | Copies] = {
        f"{kind}[{i}]": table for kind in ("bodies", "generators") for i, table in enumerate(found.get(kind, ()))
    }
    if not tables:
        raise ProblemError("bodies", "nothing", "at least one [[bodies]] or [[generators]] table")
    materials = {"default": Material()} | found.get("materials", {})
    boundaries, pairs = found.get("boundaries", ()), found.get("pairs", ())
    _check_materials(tables, boundaries, pairs, materials)
    bodies = Tables(tables, where).all()
    if not bodies:
        raise ProblemError("bodies", "templates only", "at least one group that is no template")
    head = {"gravity": where.origin, "name": default_name} | found.get("scene", {})
    head.pop("dimension", None)
    return Scene(
        bodies=tuple(bodies),
        boundaries=boundaries,
        periodic=found.get("periodic"),
        materials=materials,
        pairs={(pair.between[0], pair.between[1]): pair.values for pair in pairs},
        joints=found.get("joints", ()),
        sources=found.get("sources", ()),
        sinks=found.get("sinks", ()),
        symmetries=found.get("symmetries", ()),
        **{**head, "name": head["name"] or default_name},
    )


def dimension_of(document: Mapping[str, Any]) -> int:
    """The dimension in [scene], or else that of the shapes and boundaries, or else of the positions and vectors."""
    head = document.get("scene")
    given = head.get("dimension") if isinstance(head, Mapping) else None
    if given is not None:
        return 3 if given == 3 else 2  # anything else is refused later
    rows = [(name, row) for name in ("bodies", "generators", "boundaries") for row in _rows(document.get(name))]
    words = [str(row.get("kind" if name == "boundaries" else "shape")) for name, row in rows]
    suited: list[tuple[int, ...]] = [(SHAPES[word].dimension,) for word in words if word in SHAPES]
    suited += [KINDS[word].dimensions for word in words if word in KINDS]
    if (3,) in suited or (2,) in suited:
        return 3 if (3,) in suited else 2
    vectors = [row.get(key) for _, row in rows for key in ("position", "point", "normal", "lower", "upper")]
    first = [
        vector[0] if vector and isinstance(vector[0], list) else vector
        for vector in vectors
        if isinstance(vector, list)
    ]
    return 3 if any(len(vector) == 3 for vector in first) else 2


def _rows(tables: Any) -> list[Mapping[str, Any]]:
    return [row for row in tables if isinstance(row, Mapping)] if isinstance(tables, list) else []


def _check_materials(
    tables: Mapping[str, Table | Copies],
    boundaries: Iterable[Boundary],
    pairs: Iterable[Pair],
    known: Mapping[str, Material],
) -> None:
    """Every material that is named must exist."""
    used = {f"{path}.material": t.bodies.material for path, t in tables.items() if isinstance(t, Table)}
    used |= {f"boundaries[{i}].material": boundary.material for i, boundary in enumerate(boundaries)}
    used |= {f"pairs[{i}].between[{k}]": name for i, pair in enumerate(pairs) for k, name in enumerate(pair.between)}
    for path, name in used.items():
        if name not in known:
            message = str(ProblemError.unknown("material", name, known))
            raise ProblemError(path, repr(name), f"one of {', '.join(known)}", f"{path}: {message}")


# ---- JSON schema


def scene_schema() -> Schema:
    """The JSON schema of TOML scenes, for editors that check and complete them."""
    tables: dict[str, Schema] = {"Scene": properties(_SceneTable.fields), **schema_tables()}
    tables["Part"] = properties({**shape_fields(), **fields_of(Part), **ROTATION}, shape={"enum": list(SHAPES)})
    for owner in (Material, Pair, Periodic, Symmetry, Source, Sink, Rotation, RandomVelocity, Round, Copies):
        tables |= TableOf(owner).tables()
    for kinds in (BOUNDARY, JOINT, MOTION, RADIUS):
        tables |= kinds.tables()
    tables["Copies"] = properties(fields_of(Copies), kind={"const": Copies.kind})
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Carom scene"}
    return {**head, **properties(DOCUMENT), "$defs": tables}


def schema_text() -> str:
    """The JSON schema as text."""
    return json.dumps(scene_schema(), indent=1)

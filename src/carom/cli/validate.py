"""`carom validate FILE`: checks a scene file and lists its content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape

from .arguments import JSON, SET
from .console import as_json, out
from .tables import short

if TYPE_CHECKING:
    from rich.table import Table

    from ..scene.model import Bodies, Scene
    from ..world import State, World


def validate(
    file: Path = typer.Argument(..., metavar="FILE", help="Scene as .toml, .xml of SCISim, or .urdf."),
    parameter: list[str] = SET,
    json: bool = JSON,
) -> None:
    """Check a scene file, including its initial state, and list its content."""
    from ..build import build
    from ..laws import make
    from ..stepwise import Simulation
    from .compiling import compile_notice
    from .source import from_file

    with compile_notice():
        scene = from_file(str(file), parameter)
        make(scene.law)
        world, state = build(scene)
        if scene.sources:  # they need room at the start of a run
            Simulation(scene)
    if json:
        print(as_json({"file": str(file), "valid": True, **_plain(scene, world)}))
        return
    console = out()
    console.print(f"[bold]{escape(scene.name)}[/] is a valid scene.")
    if scene.description:
        console.print(f"[dim]{escape(scene.description)}[/]")
    about = [_groups(scene, world), _joints(scene), _boundaries(scene), *_changes(scene), _materials(scene)]
    tables = [*about, _settings(scene, world, state)]
    for table in tables:
        if table.row_count:
            console.print()
            console.print(table)


def _plain(scene: Scene, world: World) -> dict[str, Any]:
    """The content of a scene, for JSON."""
    names = ("name", "dimension", "law", "stepper", "step", "duration", "frame_rate", "gravity")
    return {
        **{name: getattr(scene, name) for name in names},
        "bodies": [{"name": g.name, "shape": g.shape.kind, "count": g.count} for g in scene.bodies],
        "joints": [{"name": joint.name, "kind": joint.kind, "bodies": list(joint.bodies)} for joint in scene.joints],
        "boundaries": [b.kind for b in scene.boundaries],
        "materials": {
            name: {"restitution": m.restitution if isinstance(m.restitution, float) else str(m.restitution)}
            | {"friction": m.friction}
            for name, m in scene.materials.items()
        },
        "mass": float(world.mass[world.free].sum()),
    }


def _table(title: str, *columns: str, numbers: tuple[str, ...] = ()) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, show_edge=False)
    table.add_column(title, style="bold cyan", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left")
    return table


def _groups(scene: Scene, world: World, longest: int = 20) -> Table:
    """One row per group; the groups beyond the first `longest` are summed up in one row."""
    table = _table(
        "bodies", "number", "shape", "size", "mass", "material", "motion", numbers=("number", "size", "mass")
    )
    start = 0
    for index, group in enumerate(scene.bodies):
        end = start + group.count
        if index < longest:
            name = group.name or f"bodies[{index}]"
            mass = _range(world.mass[start:end]) if group.motion is None else ""  # scripted: its mass has no effect
            motion = "free" if group.motion is None else group.motion.kind
            row = (f"{group.count:,}", group.shape.kind, _size(group), mass, escape(group.material), motion)
            table.add_row(escape(name), *row)
        start = end
    rest = scene.bodies[longest:]
    if rest:
        kinds = sorted({group.shape.kind for group in rest})
        table.add_row(f"{len(rest)} more groups", f"{sum(g.count for g in rest):,}", ", ".join(kinds), "", "", "", "")
    if len(scene.bodies) > 1:
        table.add_section()
        table.add_row("all", f"{scene.count:,}", "", "", short(float(world.mass[world.free].sum())), "", "")
    return table


def _size(group: Bodies) -> str:
    """The sizes of a shape, as a scene file gives them; of lists of points, triangles and parts their number."""
    sizes = []
    for key, value in group.shape.to_file(Path()).items():
        if key == "path":
            return escape(Path(value).name)
        if key == "size":
            sizes.append(" x ".join(short(v) for v in value))
        elif isinstance(value, list) and isinstance(value[0], (list, dict)):
            sizes.append(f"{len(value):,} {key}")
        else:
            sizes.append(f"{'r' if key == 'radius' else key} {_range(value)}")
    return ", ".join(sizes)


def _joints(scene: Scene, longest: int = 20) -> Table:
    """One row per joint; those beyond the first `longest` are counted in one row."""
    table = _table("joints", "kind", "bodies")
    for index, joint in enumerate(scene.joints[:longest]):
        table.add_row(
            escape(joint.name or f"joints[{index}]"), joint.kind, escape(" and ".join(map(str, joint.bodies)))
        )
    if rest := scene.joints[longest:]:
        table.add_row(f"{len(rest)} more joints", ", ".join(sorted({joint.kind for joint in rest})), "")
    return table


def _boundaries(scene: Scene) -> Table:
    table = _table("boundaries", "where", "material", "motion")
    for given in scene.boundaries:
        boundary = given.in_dimension(scene.dimension)
        fields = {k: v for k, v in vars(boundary).items() if k not in ("material", "motion", "inside", "open_top")}
        where = ", ".join(f"{key} {_value(value)}" for key, value in fields.items())
        where += ", bodies outside" if not getattr(boundary, "inside", True) else ""
        where += ", open at the top" if getattr(boundary, "open_top", False) else ""
        table.add_row(boundary.kind, where, escape(boundary.material), boundary.motion.kind)
    if scene.periodic is not None:
        sides = {axis: getattr(scene.periodic, axis, None) for axis in "xyz"}
        where = ", ".join(f"{axis} {_value(side)}" for axis, side in sides.items() if side is not None)
        shear = f", shear rate {short(scene.periodic.shear_rate)}" if scene.periodic.shear_rate else ""
        table.add_row("periodic", where + shear, "", "")
    return table


def _changes(scene: Scene) -> Iterator[Table]:
    """The sources, and the sinks: what each was given."""
    for title, given in (("sources", scene.sources), ("sinks", scene.sinks)):
        table = _table(title, "where", "how")
        for each in given:
            fields = {key: value for key, value in vars(each).items() if value not in (None, False, ())}
            names = fields.pop("bodies", "all free bodies")
            where = [f"{key} {_value(fields.pop(key))}" for key in ("lower", "upper") if key in fields]
            how = ", ".join(key if value is True else f"{key} {_value(value)}" for key, value in fields.items())
            table.add_row(escape(names if isinstance(names, str) else ", ".join(names)), ", ".join(where), how)
        yield table


def _materials(scene: Scene) -> Table:
    from ..scene.model import COEFFICIENTS

    used = {g.material for g in scene.bodies} | {b.material for b in scene.boundaries}
    columns = [key for key in COEFFICIENTS if key in ("restitution", "friction") or _has(scene, key)]
    table = _table("materials", *(key.replace("_", " ") for key in columns), "density", "")
    for name, m in scene.materials.items():
        if name in used or name != "default":
            numbers = [_number(getattr(m, key)) for key in (*columns, "density")]
            table.add_row(escape(name), *numbers, "" if name in used else "[yellow]not used[/]")
    for (a, b), values in scene.pairs.items():
        given = [_number(values[k]) if k in values else "" for k in columns]
        table.add_row(escape(f"{a}, {b}"), *given, "", "")
    return table


def _number(value: Any) -> str:
    """A coefficient, or how it depends on speed."""
    if callable(value):
        return "function of speed"
    return f"{short(value[0][1])} to {short(value[-1][1])}" if isinstance(value, tuple) else short(value)


def _has(scene: Scene, key: str) -> bool:
    """Whether any material or pair has a coefficient that is not zero."""
    tables = [vars(m) for m in scene.materials.values()] + [dict(values) for values in scene.pairs.values()]
    return any(table.get(key, 0.0) for table in tables)


def _settings(scene: Scene, world: World, state: State) -> Table:
    from ..analysis.runs import lengths

    table = _table("settings", "")
    low = (state.position - world.shapes.radius[:, None]).min(axis=0)
    high = (state.position + world.shapes.radius[:, None]).max(axis=0)
    table.add_row("extent of bodies", f"{_value(low)} to {_value(high)}")
    speed = float(lengths(state.velocity[:, : world.dimension]).max())
    table.add_row(
        "fastest body",
        f"{short(speed)}, {short(speed * scene.step / world.length_scale)} of the length scale per step",
    )
    table.add_row("gravity", _value(world.gravity))
    models = ", ".join(m for m in (scene.restitution_model, scene.friction_model) if m is not None)
    table.add_row("law", scene.law + (f" ({models})" if models else ""))
    steps = round(scene.duration / scene.step)
    times = f"{scene.stepper}, {steps:,} steps of {short(scene.step)} to time {short(scene.duration)}"
    table.add_row(
        "stepping", times + (f", rotations by {scene.rotation_integrator}" if scene.rotation_integrator else "")
    )
    if scene.tolerance is not None:
        table.add_row("tolerance", str(scene.tolerance))
    table.add_row("frames", f"{short(scene.frame_rate)} per unit of time")
    return table


def _value(value: object) -> str:
    import numpy as np

    if isinstance(value, (tuple, list, np.ndarray)):
        return "(" + ", ".join(short(float(v)) for v in value) + ")"
    return short(value) if isinstance(value, float) else str(value).lower()


def _range(values: object) -> str:
    import numpy as np

    array = np.asarray(values)
    low, high = float(array.min()), float(array.max())
    return short(low) if short(low) == short(high) else f"{low:.3g}–{high:.3g}"

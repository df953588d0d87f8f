"""`carom scenes` lists the library of scenes; `carom scenes NAME` describes one and its parameters."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import typer

from ..shown import counted
from .arguments import JSON, complete_scene
from .console import as_json, out
from .tables import plain_table

if TYPE_CHECKING:
    from rich.console import Console

    from ..scenes import Entry


def scenes(
    name: str | None = typer.Argument(
        None, metavar="NAME", help="A scene to describe, with its parameters.", autocompletion=complete_scene
    ),
    json: bool = JSON,
) -> None:
    """List the scenes of the library, or describe one."""
    from ..scenes import SCENES

    if name is None:
        if json:
            print(as_json({key: _plain(entry) for key, entry in SCENES.items()}))
        else:
            _list(out())
        return
    if name not in SCENES:
        from .source import unknown_scene

        raise unknown_scene(name, SCENES)
    entry = SCENES[name]
    if json:
        print(as_json({name: _plain(entry)}))
    else:
        _describe(out(), name, entry)


def _list(console: Console) -> None:
    from ..scenes import SCENES_2D, SCENES_3D

    table = plain_table()
    table.add_column("scene", style="bold cyan", no_wrap=True)
    table.add_column("what happens")
    table.add_column("bodies", justify="right", no_wrap=True)
    for title, group in (("2D", SCENES_2D), ("3D", SCENES_3D)):
        table.add_section()
        table.add_row(f"[not bold dim]{title}[/]", "", "")
        for name, entry in group.items():
            table.add_row(name, entry.line, f"{entry.size:,}")
    console.print(table)
    console.print("[bold]carom scenes NAME[/] shows its parameters, [bold]carom run NAME[/] runs it")


def _describe(console: Console, name: str, entry: Entry) -> None:
    from rich.markup import escape

    console.print(f"[bold cyan]{name}[/]: {escape(entry.line)}\n")
    for paragraph in paragraphs(entry):
        console.print(escape(paragraph) + "\n")
    table = plain_table()
    table.add_column("parameter", style="bold", no_wrap=True)
    table.add_column("default", justify="right")
    table.add_column("small example", justify="right", style="dim")
    for key, value in entry.parameters.items():
        table.add_row(key, str(value), str(entry.small.get(key, "")))
    console.print(table)
    facts = run_facts(entry)
    text = f"{counted(facts['bodies'], 'body', 'bodies')}, law {facts['law']}, "
    text += f"{facts['duration']:g} units of time in steps of {facts['step']:g}, {facts['stepper']}"
    console.print(text + (f", rotations by {facts['integrator']}" if "integrator" in facts else ""))
    first = next(iter(entry.parameters.items()), None)
    example = "" if first is None else f" --set {first[0]}={first[1]}"
    console.print(f"[bold]carom run {name}{example}[/]", soft_wrap=True)


def paragraphs(entry: Entry) -> list[str]:
    """The docstring of a scene, one line per paragraph."""
    text = inspect.cleandoc(entry.make.__doc__ or "")
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def run_facts(entry: Entry) -> dict[str, Any]:
    """Size and default settings of the scene."""
    scene = entry()
    names = ("law", "stepper", "step", "duration", "frame_rate")
    facts = {"bodies": scene.count, "dimension": scene.dimension, **{key: getattr(scene, key) for key in names}}
    return {**facts, "integrator": scene.rotation_integrator} if scene.rotation_integrator else facts


def _plain(entry: Entry) -> dict[str, Any]:
    return {
        "line": entry.line,
        "description": paragraphs(entry),
        "parameters": entry.parameters,
        "small": dict(entry.small),
        **run_facts(entry),
    }

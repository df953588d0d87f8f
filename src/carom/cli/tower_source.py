"""Which tower: a file or a name, and what else the commands about towers share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ProblemError

if TYPE_CHECKING:
    from ..towers import Tower

SOURCE = typer.Argument(..., metavar="FILE|NAME", help="A .toml file, or a name that `carom tower list` shows.")
MASS_MODEL = typer.Option(
    None, "--mass-model", metavar="NAME", help="uniform (homogeneous bricks) or corners, instead of the tower's own."
)


def tower_from(source: str, mass_model: str | None = None) -> Tower:
    """The tower that FILE|NAME means."""
    if Path(source).suffix.lower() == ".toml" or "/" in source or Path(source).is_file():
        from ..towers.files import load_tower

        tower = load_tower(source)
    else:
        from ..towers.named import named_tower

        tower = named_tower(source)
    return tower if mass_model is None else tower.with_(mass_model=mass_model)


def check_picture(path: Path | None, option: str) -> None:
    """Refuses a picture's name before any work is done."""
    if path is None:
        return
    from ..towers.drawing import picture_path

    try:
        picture_path(path)
    except ProblemError as error:
        raise ProblemError(option, str(path), error.expected) from None


def facts_of(tower: Tower) -> dict[str, Any]:
    """What every command tells about its tower."""
    return {
        "tower": tower.name,
        "bricks": tower.count,
        "fixed": int((~tower.free).sum()),
        "contacts": len(tower.contacts.on),
        "pins": len(tower.pins),
        "mass_model": tower.mass_model,
        "gravity": tower.gravity,
        "overhang": tower.overhang(),
    }


def headline(facts: dict[str, Any]) -> str:
    """One line about the tower, as rich markup."""
    from rich.markup import escape

    parts = [counted(facts["bricks"], "brick") + (f" ({facts['fixed']} fixed)" if facts["fixed"] else "")]
    parts.append(counted(facts["contacts"], "contact"))
    if facts["pins"]:
        parts.append(counted(facts["pins"], "pin"))
    return f"[bold cyan]{escape(facts['tower'])}[/]: {', '.join(parts)}, mass model {facts['mass_model']}"


def counted(k: int, one: str) -> str:
    return f"{k:,} {one}" if k == 1 else f"{k:,} {one}s"

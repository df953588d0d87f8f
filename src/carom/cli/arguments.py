"""Arguments and options that several commands share, and the parsing of KEY=VALUE pairs."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ..errors import ProblemError
from ..settings import COUNT, EXACT, FLAG, LIST, NUMBER, RUN_SETTINGS, Setting, tolerance_number

if TYPE_CHECKING:
    from ..laws import Law


def number(text: str) -> float:
    """Parser of options whose value is a number."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def whole_number(text: str) -> int:
    """Parser of options whose value is a whole number."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


def number_option(name: str, metavar: str, text: str) -> Any:
    """An optional number; `text` is its help."""
    return typer.Option(None, name, parser=number, metavar=metavar, help=text)


RUN = typer.Argument(..., metavar="RUN.h5", help="A trajectory written by `carom run`.")
LAW_HELP = RUN_SETTINGS["law"].help
SET = typer.Option(
    [],
    "--set",
    metavar="KEY=VALUE",
    help="Parameter of a scene, or place in a .toml file such as bodies.0.velocity=[1,0]; may be repeated.",
)
INTEGRATOR = typer.Option(None, "--integrator", metavar="NAME", help="Integrator of 3D rotations: dmv or split.")
JSON = typer.Option(False, "--json", help="Print JSON instead of tables.")
HOST = typer.Option(
    "127.0.0.1", "--host", metavar="ADDRESS", help="Address to listen on; 0.0.0.0 admits other machines."
)
PORT_HELP = "Port; if it is in use, the next free one is taken."


# ---- options that a declaration of settings names

TYPES: dict[str, tuple[Any, Any]] = {
    NUMBER: (float | None, number),
    COUNT: (int | None, whole_number),
    FLAG: (bool, None),
    LIST: (list[str], None),
}
F = TypeVar("F", bound=Callable[..., Any])


def settings_options(
    names: Sequence[str], after: str, declared: Mapping[str, Setting] = RUN_SETTINGS
) -> Callable[[F], F]:
    """Decorator of a command: options for these settings follow its parameter `after`, and are its other keywords."""

    def decorated(command: F) -> F:
        old, shown = inspect.signature(command, eval_str=True), []
        for parameter in old.parameters.values():
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                shown.append(parameter)
            if parameter.name == after:
                shown += [_option(name, declared[name], command) for name in names]
        command.__signature__ = old.replace(parameters=shown)  # type: ignore[attr-defined]
        return command

    return decorated


def _option(name: str, setting: Setting, command: Callable[..., Any]) -> inspect.Parameter:
    flag = setting.flag or f"--{name.replace('_', '-')}"
    kind, parser = TYPES.get(setting.kind, (str | None, None))
    default = setting.default if setting.kind in (FLAG, LIST) or setting.shown else None
    option = typer.Option(default, flag, parser=parser, metavar=setting.metavar, help=setting.help)
    command.__annotations__[name] = kind
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=option, annotation=kind)


def told(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The values of options that `settings_options` made, as arguments of `simulate`."""
    return {name: tolerance_of(value) if name == "tolerance" else value for name, value in settings.items()}


def tolerance_of(text: str | None) -> float | None:
    """The value of --tolerance as a number; None if it is not given."""
    if text is None:
        return None
    try:
        value: float | str = text if text == EXACT else float(text)
    except ValueError:
        value = text
    return tolerance_number("--tolerance", value)


def law_named(text: str) -> Law:
    """The law of a name, or of FILE.py:CLASS."""
    from ..laws.own import law_named

    return law_named(text)


def law_names(text: str, flag: str = "--laws") -> list[str]:
    """The names of laws separated by commas; each is a name or FILE.py:CLASS."""
    names = [law_named(name.strip()).name for name in text.split(",") if name.strip()]
    if not names:
        raise ProblemError(flag, text, "names of laws, separated by commas")
    if len(set(names)) < len(names):
        raise ProblemError(flag, text, "each law once")
    return names


def complete_law(incomplete: str) -> list[str]:
    """Names of laws, for the completion of shells."""
    from ..laws import names

    return [name for name in names() if name.startswith(incomplete)]


def complete_scene(incomplete: str) -> list[str]:
    """Names of scenes, for the completion of shells; these complete file names themselves."""
    from ..scenes import SCENES

    return [name for name in SCENES if name.startswith(incomplete)]


def law_with_options(law: Law, pairs: Sequence[str], flag: str) -> Law:
    """The law with the options of the `KEY=VALUE` pairs given by `flag`."""
    from ..laws import make

    return make(law.name, **typed(pairs, law.options(), flag, f"option of law {law.name!r}", lists=True))


def typed(
    pairs: Sequence[str], defaults: Mapping[str, Any], flag: str, what: str, lists: bool = False
) -> dict[str, Any]:
    """The values of `KEY=VALUE` pairs, in the types of their defaults.

    Raises ProblemError for an unknown or repeated key and for a value of another type. `lists` allows a list where
    the default is a number, as for options that may differ between contacts.
    """
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
        chosen[key] = _value(f"{flag} {key}", text, defaults[key], lists)
    return chosen


def _value(field: str, text: str, default: Any, lists: bool) -> Any:
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
        if not number or not math.isfinite(value) or value != int(value):
            raise ProblemError(field, text, "a whole number")
        return int(value)
    elif isinstance(default, float) and not (lists and isinstance(value, list)):
        if not number:
            raise ProblemError(field, text, "a number")
        return float(value)
    return tuple(value) if isinstance(value, list) else value


# ---- `--format` and `-o` of commands that draw figures


ALL = "png,svg,pdf"  # the same as carom.draw.style.FORMATS, whose import would load Matplotlib for every command
Formats = Annotated[
    str,
    typer.Option("--format", metavar="NAMES", help="Any of png, svg, pdf, separated by commas."),
]


def formats_of(text: str) -> tuple[str, ...]:
    """The formats that `--format` names, each once."""
    known = ALL.split(",")
    names = [name.strip().lower().lstrip(".") for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise ProblemError.unknown("format", name, known)
    if not names:
        raise ProblemError("--format", text, "any of png, svg, pdf, separated by commas")
    return tuple(dict.fromkeys(names))


def names_a_figure(path: Path) -> bool:
    """Whether `-o` names one figure and not a folder."""
    return not path.is_dir() and path.suffix.lower().lstrip(".") in ALL.split(",")


def check_folder(path: Path) -> None:
    """Checks `-o` of commands that name their files themselves."""
    if names_a_figure(path) or (path.exists() and not path.is_dir()):
        raise ProblemError("--output", str(path), "a folder, or a name for a new one; --format names the formats")


def check_figure(flag: str, path: Path | None) -> None:
    """Checks an option that names one figure."""
    if path is not None and (not names_a_figure(path) or not path.parent.is_dir()):
        raise ProblemError(flag, str(path), f"a name in a folder that exists, which ends in one of {ALL}")

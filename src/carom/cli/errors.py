"""Exit codes and error messages. Errors that the user can correct give one line on stderr and no traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import typer
import typer.main

from ..errors import ProblemError, printable

USAGE = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
BROKEN_PIPE = 141  # 128 + SIGPIPE


def run(command: Callable[..., Any], arguments: Sequence[str] | None = None) -> int:
    """Runs the application with `arguments` (default: those of the process) and returns its exit code."""
    try:
        if isinstance(command, typer.Typer):
            command = _built(command)
        code = command(args=arguments, prog_name="carom", standalone_mode=False)
        if code == INTERRUPTED:  # newer versions of Typer report an interrupt by this code
            raise KeyboardInterrupt
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except typer.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", INTERRUPTED)
    except SystemError as error:  # an interrupt inside a compiled kernel
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        return _leave_quietly()
    except ProblemError as error:
        return _say(str(error), USAGE)
    except OSError as error:
        return _say(f"{error.filename or 'file'}: {error.strerror or error}", USAGE)
    except Exception as error:
        # Usage errors. Their class differs between versions of Typer, their method does not.
        text = getattr(error, "format_message", None)
        if text is None:
            raise
        return _say(text(), USAGE)


@cache
def _built(app: typer.Typer) -> Callable[..., Any]:
    """The parser of an application, which Typer would build again for each command: it takes longer than most do."""
    built: Callable[..., Any] = typer.main.get_command(app)
    _hide_types(built)
    return built


def _hide_types(command: Any) -> None:
    """Lets the help print flags and the names of arguments alone, where newer versions of Typer add `<bool>` or
    `<list[str]>`."""
    for inner in getattr(command, "commands", {}).values():
        _hide_types(inner)
    make_help = command.get_help_option

    def get_help_option(context: Any) -> Any:
        option = make_help(context)
        if option is not None:
            option.metavar = ""
        return option

    command.get_help_option = get_help_option
    for parameter in command.params:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.param_type_name == "argument":
            parameter.display_type_rich = _no_type


def _no_type(**_: Any) -> None:
    return None


def _say(message: str, code: int) -> int:
    print("carom: " + printable(" ".join(message.split())), file=sys.stderr)
    return code


def _leave_quietly() -> int:
    """The reader of a pipe has closed it (`carom laws | head`): there is nothing to report or to flush."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE

"""Help with examples, and the completion of shells."""

from __future__ import annotations

import re
import shlex

import pytest
import typer.main

from carom.cli.errors import run
from carom.cli.main import EXAMPLES, app

GROUP = typer.main.get_command(app)


def every_command() -> list[tuple[str, ...]]:
    """The names of all commands; a group is named by its commands."""
    inside = {name: getattr(command, "commands", None) for name, command in GROUP.commands.items()}
    return [
        pair for name, parts in inside.items() for pair in ([(name, part) for part in parts] if parts else [(name,)])
    ]


@pytest.mark.parametrize("names", every_command(), ids=" ".join)
def test_help_ends_with_an_example_that_the_parser_accepts(carom, names):
    text = carom(*names, "--help").out.strip().splitlines()[-1].strip()
    assert text.startswith(f"Example: carom {' '.join(names)}"), text
    command = GROUP
    for name in names:
        command = command.commands[name]
    arguments = shlex.split(text.removeprefix("Example: carom "))[len(names) :]
    command.make_context(names[-1], arguments)  # raises a usage error for options that do not exist


def test_every_example_belongs_to_a_command():
    assert set(EXAMPLES) <= set(GROUP.commands)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("carom run newtons", ["newtons_cradle", "newtons_cradle_disturbed"]),
        ("carom run pool_break --law g", ["gauss_seidel", "gr"]),
        ("carom resolve f.json --law lz", ["lzb"]),
        ("carom scenes card", ["card_house"]),
        ("carom cite qc", ["qce"]),
        ("carom reso", ["resolve"]),
    ],
)
def test_names_complete(capsys, monkeypatch, words, wanted):
    monkeypatch.setenv("_CAROM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        run(app, [])
    assert capsys.readouterr().out.split() == wanted


def test_completion_can_be_installed(carom):
    text = carom("--help").out
    assert "--install-completion" in text and "--show-completion" in text


@pytest.mark.parametrize("names", [(), *every_command()], ids=" ".join)
def test_no_type_of_python_is_shown_and_arguments_are_named_once(carom, names):
    """Arguments and options have names such as FILE or N; a type such as `<list[str]>` says nothing more."""
    text = carom(*names, "--help").out
    assert "--help" in text and not re.search(r"<[a-z]", text) and "[[" not in text

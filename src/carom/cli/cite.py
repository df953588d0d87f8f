"""`carom cite [LAW]` prints BibTeX entries of the paper of a law, or of Carom."""

from __future__ import annotations

import typer

from .. import __version__
from .arguments import complete_law, law_named

CAROM = """\
@software{{carom,
  author  = {{{{Carom contributors}}}},
  title   = {{Carom: simultaneous impact of rigid bodies}},
  version = {{{version}}},
  license = {{MIT}}
}}"""


def cite(
    law: str | None = typer.Argument(
        None, metavar="LAW", help="A law; default: Carom itself.", autocompletion=complete_law
    ),
) -> None:
    """Print the BibTeX entry of the paper of a law, or of Carom itself. Cite both, if Carom helped your work."""
    print(CAROM.format(version=__version__) if law is None else law_named(law).paper.citation())

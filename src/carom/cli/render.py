"""`carom render RUN.h5|SCENE -o film.mp4`: films and stills of a run or a scene, without a display."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..draw.settings import PictureSettings
from ..errors import ProblemError
from ..settings import settings_of
from ..shown import counted
from .arguments import LAW_HELP, SET, settings_options
from .console import out, remarks
from .source import FILES, law_of, load
from .tables import size_text

if TYPE_CHECKING:
    from ..draw.films import Made
    from ..draw.rendering import Order
    from ..trajectory import Trajectory

PICTURE = settings_of(PictureSettings)


@settings_options(tuple(PICTURE), after="output", declared=PICTURE)
def render(
    source: str = typer.Argument(
        ..., metavar="RUN.h5|SCENE|FILE", help="A trajectory, or a scene that is run first: a name or a file."
    ),
    output: Path = typer.Option(
        ..., "-o", "--output", metavar="FILE", help="film.mp4, film.gif, picture.png, .svg or .pdf."
    ),
    law: str | None = typer.Option(
        None, "--law", "-l", metavar="NAME", help=f"Of a scene that is run first. {LAW_HELP}"
    ),
    parameter: list[str] = SET,
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing file."),
    quiet: bool = typer.Option(False, "-q", "--quiet", help="No progress and no remarks."),
    **told: Any,
) -> None:
    """Draw a run as a film or a still. Needs no display."""
    from ..draw.rendering import Order
    from .compiling import compile_notice
    from .progress import film_progress

    order = Order(output, PictureSettings(**told), overwrite)  # type: ignore[typeddict-item]

    def remark(text: str) -> None:
        if not quiet:
            remarks().print(text, markup=False, soft_wrap=True)

    with _opened(source, law, parameter, order, quiet) as run:
        with film_progress(output.name, quiet or not order.film) as tell, compile_notice():
            made = order.draw(run, tell, remark)
        if not quiet:
            _report(run, made)
    out().print(str(made.path), markup=False, soft_wrap=True)


def _opened(source: str, law: str | None, parameters: list[str], order: Order, quiet: bool) -> Trajectory:
    """The trajectory of the file, or of the scene, which is run in memory."""
    from ..trajectory import Trajectory

    path = Path(source)
    if path.suffix.lower() in (".h5", ".hdf5") or (path.is_file() and path.suffix.lower() not in FILES):
        for name, value in (("--law", law), ("--set", ", ".join(parameters))):
            if value:
                raise ProblemError(name, value, f"nothing: {source} is a run already; this is for scenes")
        return Trajectory(path)
    from ..simulation import completed, simulate
    from .progress import compile_notice_beside_bar, interrupts_as_such, telling

    scene = load(source, parameters)
    chosen, settings = law_of(law, [], scene), order.run_settings(scene)
    with interrupts_as_such(), telling(f"{scene.name}, {chosen.name}", quiet) as tell, compile_notice_beside_bar():
        return completed(simulate(scene, chosen, progress=tell, **settings))


def _report(run: Trajectory, made: Made) -> None:
    size = f"{made.size[0]} x {made.size[1]}, {size_text(made.path.stat().st_size)}"
    if made.seconds:
        size = f"{made.pictures:,} pictures, {made.seconds:.1f} s, {size}"
    remarks().print(f"{run.name}, law {run.law}: {size}", markup=False, soft_wrap=True)
    if made.outside:
        text = f"{made.outside:,} of {counted(run.count, 'body', 'bodies')} outside the picture; --camera all shows all"
        remarks().print(text, markup=False, soft_wrap=True)

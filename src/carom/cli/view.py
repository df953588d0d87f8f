"""`carom view RUN.h5 [OTHER.h5]`: runs in the browser, one or two side by side."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import typer

from .console import remarks

HOST = typer.Option("127.0.0.1", "--host", metavar="ADDRESS", help="Where to listen; 0.0.0.0 lets other machines in.")
PORT = typer.Option(8080, "--port", metavar="N", min=0, max=65535, help="If it is in use, the next free one is taken.")


def view(
    runs: list[Path] = typer.Argument(..., metavar="RUN.h5", help="One run, or two to see side by side."),
    host: str = HOST,
    port: int = PORT,
    browser: bool = typer.Option(True, "--browser/--no-browser", help="Open the page in a browser."),
    attached: bool = typer.Option(False, "--attached", hidden=True, help="Ends when its standard input does."),
) -> None:
    """Show runs in the browser: play, colors, contacts, energy. Ctrl-C ends it."""
    from ..draw.viewer import viewing
    from .compiling import compile_notice

    with ExitStack() as stack:
        with compile_notice(remarks()):
            viewer = stack.enter_context(viewing(runs, host, port))
        for remark in viewer.remarks:
            remarks().print(remark, markup=False, soft_wrap=True)
        print(viewer.address, flush=True)
        if not attached:
            remarks().print("Ctrl-C ends it")
        if browser:
            open_browser(viewer.address)
        wait_for_the_end(attached)


def open_browser(address: str) -> None:
    """Asks the system to show the page; where it cannot, the address that was printed will do."""
    import webbrowser

    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return  # only a browser for terminals could come up, over what is printed here
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def wait_for_the_end(attached: bool) -> None:
    """Until Ctrl-C, or until the program that started this one has ended."""
    try:
        if attached:
            sys.stdin.buffer.read()
        else:
            threading.Event().wait()
    except KeyboardInterrupt:
        return

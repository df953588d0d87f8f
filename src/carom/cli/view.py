"""`carom view RUN.h5 [OTHER.h5]` shows one run, or two side by side, in the browser; also `carom run --view`."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .arguments import HOST, PORT_HELP
from .console import remarks

if TYPE_CHECKING:
    from ..simulation import Progress
    from .progress import Tell

CHECKPOINTS = 1.0  # seconds between checkpoints of a run with a viewer, which shows no more than the last one


def view(
    runs: list[Path] = typer.Argument(..., metavar="RUN.h5", help="One run, or two to show side by side."),
    host: str = HOST,
    port: int = typer.Option(8080, "--port", metavar="N", min=0, max=65535, help=PORT_HELP),
    browser: bool = typer.Option(True, "--browser/--no-browser", help="Open the page in a browser."),
    attached: bool = typer.Option(False, "--attached", hidden=True, help="End when standard input is closed."),
) -> None:
    """Show runs in the browser with contacts, colors and energies. Ctrl-C ends the viewer."""
    from ..draw.viewer import viewing
    from .compiling import compile_notice

    with ExitStack() as stack:
        with compile_notice(remarks()):
            viewer = stack.enter_context(viewing(runs, host, port))
        for remark in viewer.remarks:
            remarks().print(remark, markup=False, soft_wrap=True)
        print(viewer.address, flush=True)
        if not attached:
            remarks().print("press Ctrl-C to end the viewer")
        if browser:
            open_browser(viewer.address)
        _wait(attached)


def open_browser(address: str) -> None:
    """Asks the system to open the page; if it cannot, the user has the printed address."""
    import webbrowser

    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return  # only a text browser could open, in this terminal
    # In a thread, because starting some browsers blocks.
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _wait(attached: bool) -> None:
    """Waits for Ctrl-C or, if `attached`, for the end of the program that started this one."""
    try:
        if attached:
            sys.stdin.buffer.read()
        else:
            threading.Event().wait()
    except KeyboardInterrupt:
        return


class LiveView:
    """The viewer beside a run: a separate process, started when the run has a file. If it dies, the run continues."""

    def __init__(self, path: Path) -> None:
        from ..draw.viewer.server import need_viser

        need_viser()  # raises an error of one line before anything is computed
        self._path = path
        self._process: subprocess.Popen[str] | None = None
        self._ending = False

    def beside(self, tell: Tell | None) -> Tell:
        """A function for `simulate(progress=...)`, which is first called after the first checkpoint."""

        def both(progress: Progress) -> None:
            if self._process is None:
                self._start()
            if tell is not None:
                tell(progress)

        return both

    def _start(self) -> None:
        command = [sys.executable, "-m", "carom", "view", "--attached", str(self._path)]
        # In a separate session Ctrl-C reaches only the run; the viewer ends when its standard input is closed.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._repeat, daemon=True).start()

    def _repeat(self) -> None:
        """Prints the output of the viewer."""
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            text = line.rstrip()
            remarks().print(f"viewer: {text}" if text else "", markup=False, soft_wrap=True)
        if not self._ending:
            remarks().print("the viewer has ended")

    def wait(self) -> None:
        """Waits until the viewer is closed or Ctrl-C is pressed."""
        if self._process is None or self._process.poll() is not None:
            return
        remarks().print("the viewer stays open; press Ctrl-C to end it")
        try:
            self._process.wait()
        except KeyboardInterrupt:
            return

    def close(self) -> None:
        """Ends the viewer and frees its port."""
        if self._process is None:
            return
        self._ending = True
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(timeout=10.0)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()


@contextmanager
def live_view(path: Path, wanted: bool) -> Iterator[LiveView | None]:
    """A viewer for the run inside the block, if `wanted`; checkpoints are then written every CHECKPOINTS seconds."""
    if not wanted:
        yield None
        return
    from .. import simulation

    view, usual = LiveView(path), simulation.CHECKPOINT_SECONDS
    simulation.CHECKPOINT_SECONDS = min(usual, CHECKPOINTS)
    try:
        yield view
    finally:
        simulation.CHECKPOINT_SECONDS = usual
        view.close()

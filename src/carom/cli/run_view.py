"""The viewer beside a run: a process of its own, which the run neither waits for nor depends on."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .console import remarks

if TYPE_CHECKING:
    from ..simulation import Progress
    from .run_progress import Tell

CHECKPOINTS = 1.0  # seconds between those of a run that is watched: a viewer sees no more than the last one


class LiveView:
    """Starts `carom view` as soon as the run has a file. If the viewer dies, the run goes on."""

    def __init__(self, path: Path) -> None:
        from ..draw.viewer.server import need_viser

        need_viser()  # or one line, before anything is computed
        self._path = path
        self._process: subprocess.Popen[str] | None = None
        self._ending = False

    def beside(self, tell: Tell | None) -> Tell:
        """A function for `simulate(progress=...)`; the first call comes after the first checkpoint."""

        def both(progress: Progress) -> None:
            if self._process is None:
                self._start()
            if tell is not None:
                tell(progress)

        return both

    def _start(self) -> None:
        command = [sys.executable, "-m", "carom", "view", "--attached", str(self._path)]
        # A session of its own, so that Ctrl-C is the run's alone; it ends when its standard input does.
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
        """Passes on what the viewer says."""
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            text = line.rstrip()
            remarks().print(f"viewer: {text}" if text else "", markup=False, soft_wrap=True)
        if not self._ending:
            remarks().print("the viewer has ended")

    def wait(self) -> None:
        """Until the viewer is closed, or Ctrl-C."""
        if self._process is None or self._process.poll() is not None:
            return
        remarks().print("the viewer stays open; Ctrl-C ends it")
        try:
            self._process.wait()
        except KeyboardInterrupt:
            return

    def close(self) -> None:
        """Ends the viewer, whose port is free after this."""
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
    """A viewer for the run of the block, if one is wanted. Checkpoints come more often meanwhile."""
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

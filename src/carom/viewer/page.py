"""The viewer's page: runs, panel and clock put together, and the one thread that moves things."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from ..colouring import QUANTITIES, Legend, limits
from .bodies import SHADOWS
from .frames import Frames
from .framing import Layout, box_of, united
from .look import point_camera, point_cameras, set_up_page
from .panel import Panel
from .player import Player
from .plots import energy_plot, momentum_plot
from .stage import Stage

TICK = 1.0 / 30.0
MANY = 20_000  # bodies from which half as many pictures a second are sent
LOOK = 0.5  # seconds between looks at a file that still grows
PLOTS = 0.1  # seconds between drawings of the plots


class Page:
    """Shows one run, or two side by side, on a server; `close` ends its thread, not the server."""

    def __init__(self, server: Any, runs: Sequence[Frames], remarks: Sequence[str] = (), play: bool = True) -> None:
        self._server, self._runs, self._remarks = server, list(runs), list(remarks)
        self._layout = Layout.of(united([box_of(frames) for frames in runs]), len(runs))
        set_up_page(server, self._layout, shadows=sum(f.run.count for f in runs) <= SHADOWS)
        self._stages = [
            Stage(server, frames, self._layout, k, self._title(frames) if len(runs) > 1 else None)
            for k, frames in enumerate(runs)
        ]
        self.live = any(frames.run.running for frames in runs)
        span = max(frames.run.settings.duration if self.live else float(frames.times[-1]) for frames in runs)
        longest = max(runs, key=lambda frames: float(frames.times[-1]))
        self.player = Player(longest.times, span if self.live else None)
        self._span = max(span, self.player.end)
        self._wake = threading.Event()
        self._ended = threading.Event()
        self.panel = Panel(server, self.player, [f.run for f in runs], self._span, self._wake.set)
        self.panel.reset_view = lambda client: point_camera(client, self._layout)
        self._quantity = ""
        self._marks = (False, False)
        self.frame_seconds: list[float] = []  # what the last changes of the page took, newest last
        self._count = sum(f.run.count for f in runs)
        self._draw_plots()
        point_cameras(server, self._layout)
        self._update()
        if play or self.live:
            self.player.play()
        self._thread = threading.Thread(target=self._keep_going, name="carom-viewer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._wake.set()
        self._thread.join(timeout=5.0)

    # ---- the thread

    def _keep_going(self) -> None:
        tick = TICK if self._count <= MANY else 2.0 * TICK
        before = looked = time.perf_counter()
        while not self._ended.is_set():
            self._wake.wait(tick if self.player.playing else LOOK)
            self._wake.clear()
            now = time.perf_counter()
            self.player.advance(min(now - before, 0.25), wait_at_end=self.live)
            before = now
            if self.live and now - looked >= LOOK:
                looked = now
                self._look()
            self._update()

    def _look(self) -> None:
        """Takes in what a run that goes on has recorded since."""
        grown = [frames.refresh() for frames in self._runs]
        if any(grown):
            longest = max(self._runs, key=lambda frames: float(frames.times[-1]))
            caught_up = self.player.time >= self.player.end
            self.player.extend(longest.times)
            if caught_up and self.player.playing:
                # What came in is shown until the next comes.
                self.player.speed = max(self.player.speed, (self.player.end - self.player.time) / 2.0)
            self._draw_plots()
        if not any(frames.run.running for frames in self._runs):
            for frames in self._runs:
                frames.refresh()
            self.live = False
            self.player.extend(max(self._runs, key=lambda f: float(f.times[-1])).times)
            self._draw_plots()

    def _update(self) -> None:
        """Brings the page to what panel and clock say."""
        began = time.perf_counter()
        panel, player = self.panel, self.player
        if panel.quantity != self._quantity:
            self._quantity = panel.quantity
            self._repaint()
        if (panel.dots, panel.arrows) != self._marks:
            self._marks = (panel.dots, panel.arrows)
            for stage in self._stages:
                stage.dots, stage.arrows, stage.shown = panel.dots, panel.arrows, -1
        now = player.shown
        with self._server.atomic():
            changed = [stage.show(now) for stage in self._stages]
            panel.show_time(now, player.playing)
            if began - self._plotted >= PLOTS or not player.playing:
                self._plotted = began
                panel.show_plots(self._plots, now)
        panel.show_state(self._state())
        if any(changed):
            self.frame_seconds = [*self.frame_seconds[-99:], time.perf_counter() - began]

    def _repaint(self) -> None:
        """New colours, on one scale for all runs."""
        quantity = QUANTITIES[self._quantity]
        self.panel.show_legend(None)
        scale = None
        if not quantity.category:
            own = [limits(frames.run, quantity) for frames in self._runs]
            scale = (min(low for low, _ in own), max(high for _, high in own))
        for stage in self._stages:
            stage.paint_by(self._quantity, scale)
        legend: Legend = self._stages[0].colouring.legend
        self.panel.show_legend(legend)

    def _draw_plots(self) -> None:
        runs = [frames.run for frames in self._runs]
        self._plots = [energy_plot(runs, self._span), momentum_plot(runs, self._span)]
        self._plotted = 0.0

    def _state(self) -> list[str]:
        out = list(self._remarks)
        out += [frames.problem for frames in self._runs if frames.problem]
        if self.live:
            out.append(f"still running: time {self.player.end:g} of {self._span:g} so far")
        return out

    def _title(self, frames: Frames) -> str:
        names = {f.run.name for f in self._runs}
        return frames.run.law if len(names) == 1 else f"{frames.run.name}, {frames.run.law}"

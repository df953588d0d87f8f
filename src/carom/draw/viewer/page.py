"""The viewer's page: runs, panel and clock put together, and the one thread that moves things."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import ProblemError
from ...trajectory import Trajectory
from ..colors import QUANTITIES, Quantity, limits
from .bodies import SHADOWS
from .frames import Frames
from .framing import Layout, box_of, outgrown, united
from .look import Cameras, set_up_page, set_up_panel
from .panel import Panel
from .player import Player
from .plots import energy_plot, momentum_plot
from .stage import Stage

TICK = 1.0 / 30.0
MANY = 20_000  # bodies from which half as many pictures a second are sent
LOOK = 0.5  # seconds between looks at a file that still grows
PLOTS = 0.1  # seconds between drawings of the plots
GROWN = 1.5  # more frames than when it was last measured, as a factor, after which a run is measured again


class Page:
    """Shows one run, or two side by side, on a server; `close` ends its thread, not the server."""

    def __init__(self, server: Any, runs: Sequence[Frames], remarks: Sequence[str] = (), play: bool = True) -> None:
        self._server, self._runs, self._remarks = server, list(runs), list(remarks)
        self._wake, self._ended = threading.Event(), threading.Event()
        self.live = any(frames.running for frames in runs)
        self._count = sum(frames.run.count for frames in runs)
        self._plotted = 0.0
        self.frame_seconds: list[float] = []  # what the last changes of the page took, newest last
        self._build(self._measured_layout())
        self._cameras = Cameras(server, self.layout)
        self.player = Player(self._longest.times, self._duration)
        set_up_panel(server)
        self.panel = Panel(server, self.player, [f.run for f in runs], self._duration, self._wake.set)
        self.panel.reset_view = self._cameras.fit
        self._quantity = self._painted = ""  # what the panel asked for, and what the colors tell
        self._lacking: str | None = None  # why they differ
        self._marks = (False, False)
        self._draw_plots()
        self._update()
        if play or self.live:
            self.player.play()
        self._thread = threading.Thread(target=self._keep_going, name="carom-viewer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._wake.set()
        self._thread.join(timeout=5.0)

    # ---- what is on it

    @property
    def _longest(self) -> Frames:
        return max(self._runs, key=lambda frames: float(frames.times[-1]))

    @property
    def _duration(self) -> float:
        """What the slider of time spans: of a run that goes on, all that it is going to be."""
        if self.live:
            return max(float(frames.run.settings.duration) for frames in self._runs)
        return float(self._longest.times[-1])

    def _measured_layout(self) -> Layout:
        self._measured = len(self._longest.times)
        return Layout.of(united([box_of(frames) for frames in self._runs]), len(self._runs))

    def _build(self, layout: Layout) -> None:
        self.layout = layout
        set_up_page(self._server, layout, shadows=self._count <= SHADOWS)
        titles = self._titles() if len(self._runs) > 1 else [None]
        self._stages = [
            Stage(self._server, frames, layout, k, title) for k, (frames, title) in enumerate(zip(self._runs, titles))
        ]

    def _titles(self) -> list[str | None]:
        same = len({frames.run.name for frames in self._runs}) == 1
        return [f.run.law if same else f"{f.run.name}, {f.run.law}" for f in self._runs]

    # ---- the thread

    def _keep_going(self) -> None:
        tick = TICK if self._count <= MANY else 2.0 * TICK
        before = looked = time.perf_counter()
        pause = LOOK
        while not self._ended.is_set():
            self._wake.wait(tick if self.player.playing else LOOK)
            self._wake.clear()
            now = time.perf_counter()
            self.player.advance(min(now - before, 0.25), wait_at_end=self.live)
            before = now
            if self.live and now - looked >= pause:
                began = time.perf_counter()
                self._safely(self._look)
                looked = time.perf_counter()
                pause = max(LOOK, 10.0 * (looked - began))  # large files are copied less often
            if not self._ended.is_set():
                self._safely(self._update)

    def _safely(self, act: Callable[[], None]) -> None:
        """What cannot be read is said on the page, and tried again at the next turn."""
        try:
            act()
        except (ProblemError, OSError) as error:
            self.panel.show_state([*self._state(), str(error)])

    def _look(self) -> None:
        """Takes in what a run that goes on has recorded since."""
        over = not any(frames.running for frames in self._runs)  # before the last look, which then sees all
        for frames in self._runs:
            frames.refresh()
        if float(self._longest.times[-1]) <= self.player.end and not over:
            return
        waiting = self.player.time >= self.player.end
        self.player.extend(self._longest.times)
        if waiting and self.player.playing:  # what came in lasts until more comes
            self.player.speed = max(self.player.speed, (self.player.end - self.player.time) / 2.0)
        if over or len(self._longest.times) > GROWN * self._measured:
            self._measure_again()
        self.live = not over
        self.panel.show_heading([frames.run for frames in self._runs])
        self._draw_plots()

    def _measure_again(self) -> None:
        """Colors and the part of the world that is shown, from all frames that there are now."""
        layout = self._measured_layout()
        if outgrown(self.layout.box, layout.box):
            self._server.scene.reset()
            self._build(layout)
            self._cameras.use(layout)
            self._marks = (False, False)
        self._quantity = ""

    def _update(self) -> None:
        """Brings the page to what panel and clock say."""
        began = time.perf_counter()
        panel, player = self.panel, self.player
        if panel.quantity != self._quantity:
            self._repaint(panel.quantity)
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

    def _repaint(self, name: str) -> None:
        """New colors, on one scale for all runs. What cannot be measured is said, and the colors stay."""
        if name != self._painted:
            self.panel.show_legend(None)
        self._quantity, self._lacking = name, None
        try:
            quantity = QUANTITIES[name]
            scale = None if quantity.category else common_scale([frames.run for frames in self._runs], quantity)
            for stage in self._stages:
                stage.paint_by(name, scale)
            self.panel.show_legend(self._stages[0].coloring.legend)
            self._painted = name
        except ProblemError as error:
            self._lacking = f"no colors by {QUANTITIES[name].title}: {error}"
            self.panel.show_legend(self._stages[0].coloring.legend)  # as before; at first, by body

    def _draw_plots(self) -> None:
        runs = [frames.run for frames in self._runs]
        self._plots = [energy_plot(runs, self._duration), momentum_plot(runs, self._duration)]
        self._plotted = 0.0

    def _state(self) -> list[str]:
        out = [*self._remarks, *(frames.problem for frames in self._runs if frames.problem)]
        if self._lacking:
            out.append(self._lacking)
        if self.live:
            out.append(f"still running: time {self.player.end:g} of {self._duration:g} so far")
        return out


def common_scale(runs: Sequence[Trajectory], quantity: Quantity) -> tuple[float, float]:
    """The ends of one scale of colors for all runs."""
    own = [_own_scale(run, quantity) for run in runs]
    return min(low for low, _ in own), max(high for _, high in own)


def _own_scale(run: Trajectory, quantity: Quantity) -> tuple[float, float]:
    try:
        return limits(run, quantity)
    except ProblemError:  # the scene holds a Python function, which no file keeps: the frames alone must do
        chosen = range(0, len(run), max(1, len(run) // 20))
        return 0.0, max(float(quantity.values(run, i).max(initial=0.0)) for i in chosen) or 1.0

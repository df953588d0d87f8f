"""The page of the viewer: it connects runs, panel and player, and updates the scene in one thread."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import PIL.Image

from ...errors import ProblemError
from ...solvers.rows import Floats
from ..colors import QUANTITIES, common_limits
from .bodies import SHADOWS
from .boundaries import add_scale_bar
from .layout import Layout, box_of, outgrown, united
from .look import Cameras, set_up_page, set_up_panel
from .panel import Panel
from .picking import Tag, facts_of
from .player import Player
from .plots import energy_plot, momentum_plot
from .runs import Frames
from .stage import Stage

TICK = 1.0 / 30.0  # seconds between updates of the page
MANY = 20_000  # number of bodies from which updates are half as frequent
LOOK = 0.5  # seconds between checks of the file of a run in progress
PLOTS = 0.1  # seconds between updates of the plots
GROWN = 1.5  # factor of growth in frames after which colors and layout of a run in progress are computed again
SAVING = 60.0  # seconds that the browser has for the picture that is saved
LONGEST = 0.25  # seconds that the player advances at most in one update


class Page:
    """Shows one run, or two side by side, on a server. `close` ends its thread, not the server."""

    def __init__(self, server: Any, runs: Sequence[Frames], remarks: Sequence[str] = (), play: bool = True) -> None:
        self._server, self._runs, self._remarks = server, list(runs), list(remarks)
        self._wake, self._ended = threading.Event(), threading.Event()
        self.live = any(frames.running for frames in runs)
        self._count = sum(frames.run.count for frames in runs)
        self._plotted = 0.0
        self.frame_seconds: list[float] = []  # durations of the last updates of the scene, newest last
        self._build(self._measured_layout())
        self._cameras = Cameras(server, self.layout)
        self.player = Player(self._longest.times, self._duration)
        set_up_panel(server)
        self.panel = Panel(server, self.player, [f.run for f in runs], self._duration, self._wake.set)
        self.panel.reset_view = self._cameras.fit
        self.panel.save_picture = self._save
        self._ray: Floats | None = None  # of a click that is not answered yet
        self.chosen: tuple[int, int] | None = None  # the run and the body that was clicked
        server.scene.on_click()(self._clicked)
        self._quantity = self._painted = ""  # the quantity that the panel requests, and the one that colors show
        self._lacking: str | None = None  # the reason why they differ
        self._marks = (False, False, False)
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

    # ---- contents

    @property
    def _longest(self) -> Frames:
        return max(self._runs, key=lambda frames: float(frames.times[-1]))

    @property
    def _duration(self) -> float:
        """The end of the time slider; for a run in progress, its intended duration."""
        if self.live:
            return max(float(frames.run.settings.duration) for frames in self._runs)
        return float(self._longest.times[-1])

    def _measured_layout(self) -> Layout:
        self._measured = len(self._longest.times)
        return Layout.of(united([box_of(frames) for frames in self._runs]), len(self._runs))

    def _build(self, layout: Layout) -> None:
        self.layout = layout
        set_up_page(self._server, layout, shadows=self._count <= SHADOWS[layout.box.dimension])
        titles = self._titles() if len(self._runs) > 1 else [None]
        self._stages = [
            Stage(self._server, frames, layout, k, title) for k, (frames, title) in enumerate(zip(self._runs, titles))
        ]
        add_scale_bar(self._server, layout)
        self._tag = Tag(self._server, layout)

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
            self.player.advance(min(now - before, LONGEST), wait_at_end=self.live)
            before = now
            if self.live and now - looked >= pause:
                began = time.perf_counter()
                self._safely(self._look)
                looked = time.perf_counter()
                pause = max(LOOK, 10.0 * (looked - began))  # large files are read less often
            if not self._ended.is_set():
                self._safely(self._update)

    def _safely(self, act: Callable[[], None]) -> None:
        """Shows errors of reading on the page; the next update tries again."""
        try:
            act()
        except (ProblemError, OSError) as error:
            self.panel.show_state([*self._state(), str(error)])

    def _look(self) -> None:
        """Reads what a run in progress has recorded since."""
        over = not any(frames.running for frames in self._runs)  # tested first, so that the last read is complete
        for frames in self._runs:
            frames.refresh()
        if float(self._longest.times[-1]) <= self.player.end and not over:
            return
        waiting = self.player.time >= self.player.end
        self.player.extend(self._longest.times)
        if waiting and self.player.playing:  # the new frames last until more are expected
            self.player.speed = max(self.player.speed, (self.player.end - self.player.time) / 2.0)
        if over or len(self._longest.times) > GROWN * self._measured:
            self._measure_again()
        self.live = not over
        self.panel.show_heading([frames.run for frames in self._runs])
        self._draw_plots()

    def _measure_again(self) -> None:
        """Computes colors and layout again from all frames that there are now."""
        layout = self._measured_layout()
        if outgrown(self.layout.box, layout.box):
            self._server.scene.reset()
            self._build(layout)
            self._cameras.use(layout)
            self._marks = (False, False, False)
        self._quantity = ""

    def _update(self) -> None:
        """Updates the page to the state of panel and player."""
        began = time.perf_counter()
        panel, player = self.panel, self.player
        if panel.quantity != self._quantity:
            self._repaint(panel.quantity)
        if (panel.dots, panel.arrows, panel.flashes) != self._marks:
            self._marks = (panel.dots, panel.arrows, panel.flashes)
            for stage in self._stages:
                stage.dots, stage.arrows, stage.flashes, stage.shown = *self._marks, -1
        now = player.shown
        with self._server.atomic():
            changed = [stage.show(now) for stage in self._stages]
            if self._choose() or (any(changed) and self.chosen):
                self._tell_chosen()
            panel.show_time(now, player.playing)
            if began - self._plotted >= PLOTS or not player.playing:
                self._plotted = began
                panel.show_plots(self._plots, now)
            panel.show_state(self._state())
        if any(changed):
            self.frame_seconds = [*self.frame_seconds[-99:], time.perf_counter() - began]

    # ---- clicks

    def _clicked(self, event: Any) -> None:
        self._ray = np.array([event.ray_origin, event.ray_direction])
        self._wake.set()

    def _choose(self) -> bool:
        """Chooses the body at the last click, or none; returns whether there was a click."""
        if (ray := self._ray) is None:
            return False
        self._ray = None
        hits = [stage.hit(ray) for stage in self._stages]
        number = min(range(len(hits)), key=lambda k: hits[k][0])
        self.chosen = (number, hits[number][1]) if hits[number][1] >= 0 else None
        return True

    def _tell_chosen(self) -> None:
        if self.chosen is None:
            self._tag.hide()
            return self.panel.show_body("", [])
        number, body = self.chosen
        run, frame = self._runs[number].run, self._stages[number].shown
        facts = facts_of(run, frame, body)
        self._tag.show(run, frame, body, number, f"{body} · {facts[0]}")
        return self.panel.show_body(f"body {body}" + (f", {run.law}" if len(self._runs) > 1 else ""), facts)

    def _save(self, client: Any) -> None:
        """Sends the picture of a window to its browser as a PNG file, without the panel."""
        height, width = client.camera.image_height, client.camera.image_width
        picture = client.get_render(height, width, transport_format="jpeg", timeout=SAVING)
        content = io.BytesIO()
        PIL.Image.fromarray(picture).save(content, "png")
        name = f"{'_'.join(dict.fromkeys(frames.run.name for frames in self._runs))}_{self.player.shown:g}.png"
        client.send_file_download(name, content.getvalue(), save_immediately=True)

    def _repaint(self, name: str) -> None:
        """Colors bodies by another quantity, on one scale for all runs. If it is not available, colors stay."""
        if name != self._painted:
            self.panel.show_legend(None)
        self._quantity, self._lacking = name, None
        try:
            quantity = QUANTITIES[name]
            scale = None if quantity.category else common_limits([frames.run for frames in self._runs], quantity)
            for stage in self._stages:
                stage.paint_by(name, scale)
            self.panel.show_legend(self._stages[0].coloring.legend)
            self._painted = name
        except ProblemError as error:
            self._lacking = f"no colors by {QUANTITIES[name].title}: {error}"
            self.panel.show_legend(self._stages[0].coloring.legend)

    def _draw_plots(self) -> None:
        runs = [frames.run for frames in self._runs]
        self._plots = [energy_plot(runs, self._duration), momentum_plot(runs, self._duration)]
        self._plotted = 0.0

    def _state(self) -> list[str]:
        out = [*self._remarks, *(frames.problem for frames in self._runs if frames.problem)]
        if self._lacking:
            out.append(self._lacking)
        if self.live:
            out.append(f"still running: time {self.player.end:g} of {self._duration:g}")
        return out

"""The panel beside the picture: heading, time, speed, colors, contacts, energy and momentum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...shown import counted
from ...trajectory import Trajectory
from ..colors import QUANTITIES, Legend, usual_quantity
from . import tone
from .player import Player, speeds
from .plots import Plot

FIRST, BACK, ON, LAST = "|◀", "◀", "▶", "▶|"
PLAY, PAUSE = "Play", "Pause"
LISTED_IMPACTS = 20  # strongest impacts of a run that the panel lists
NO_IMPACT = "jump to one of the strongest"
INK = "#3b4250"
SHOW_ALL, SAVE = "Show all", "Save as PNG"
HOW = "click a body for its number, speed and contacts · drag to rotate · right-drag to move · wheel to zoom · "
HOW += "K plays, J and L step"


class Panel:
    """The controls of a page. They change the player and call `changed`; the page then updates the scene."""

    def __init__(
        self, server: Any, player: Player, runs: Sequence[Trajectory], span: float, changed: Callable[[], None]
    ) -> None:
        self._gui, self._player, self._changed = server.gui, player, changed
        self.reset_view: Callable[[Any], None] = lambda client: None
        self.save_picture: Callable[[Any], None] = lambda client: None
        self.quantity = usual_quantity(runs[0])
        self._told = player.start  # the time that the slider was last set to
        self.dots = self.arrows = self.flashes = False
        self._heading = self._gui.add_html(heading(runs))
        self._state = self._gui.add_html("")
        self._body = self._gui.add_html("")
        self._add_time(span)
        self._add_speed(span)
        self._add_colors()
        self._add_contacts(runs)
        self._plots = [self._gui.add_html("") for _ in range(2)]
        self._gui.add_html(_small(HOW))
        self._add_keys()

    # ---- display

    def show_time(self, time: float, playing: bool) -> None:
        wanted = min(max(time, self._time.min), self._time.max)
        if wanted != self._told:  # a user may be dragging the slider
            self._told = self._time.value = wanted
        label = PAUSE if playing else PLAY
        if self._play.label != label:
            self._play.label = label

    def show_plots(self, plots: Sequence[Plot], time: float) -> None:
        for handle, plot in zip(self._plots, plots):
            handle.content = f'<div style="padding:2px 12px 0">{plot.svg(time)}</div>'

    def show_legend(self, legend: Legend | None) -> None:
        self._legend.content = _small("computing the color scale …") if legend is None else legend_html(legend)

    def show_heading(self, runs: Sequence[Trajectory]) -> None:
        self._heading.content = heading(runs)

    def show_state(self, lines: Sequence[str]) -> None:
        self._state.content = "".join(_small(line) for line in lines)

    def show_body(self, title: str, facts: Sequence[str]) -> None:
        """Tells about the body that was clicked; without a title there is none."""
        lines = "".join(f"<div>{escape(fact)}</div>" for fact in facts)
        style = f"font:12.5px system-ui,sans-serif;color:{INK};margin:6px 12px 2px;padding:5px 9px"
        box = f'<div style="{style};background:#eef3fa;border-radius:5px"><b>{escape(title)}</b>{lines}</div>'
        self._body.content = box if title else ""

    # ---- controls

    def _add_time(self, span: float) -> None:
        gui, player = self._gui, self._player
        start = player.start
        width = max(span - start, 1e-9)
        self._time = gui.add_slider(
            "Time", min=start, max=start + width, step=_rounded(width / 1000), initial_value=start
        )
        self._time.precision = _digits(width)
        self._play = gui.add_button(PLAY, color="blue")
        steps = gui.add_button_group("Step", (FIRST, BACK, ON, LAST))

        @self._time.on_update
        async def _(
            event: Any,
        ) -> None:  # a coroutine runs at once in the server's thread, before the page moves the slider again
            if event.client is not None:  # not None: moved by a user, not by the page
                player.pause()
                player.seek(float(event.target.value))
                self._changed()

        @self._play.on_click
        def _(event: Any) -> None:
            player.toggle()
            self._changed()

        @steps.on_click
        def _(event: Any) -> None:
            self._step(event.target.value)

    def _step(self, which: str) -> None:
        player = self._player
        if which in (FIRST, LAST):
            player.pause()
            player.seek(player.start if which == FIRST else player.end)
        else:
            player.step(1 if which == ON else -1)
        self._changed()

    def _add_speed(self, span: float) -> None:
        player = self._player
        choice = {f"{value:g}": value for value in speeds(player.speed)}
        speed = self._gui.add_dropdown(
            "Speed", tuple(choice), initial_value=f"{player.speed:g}", hint="units of time per second"
        )
        repeat = self._gui.add_checkbox("Repeat", player.repeat)

        @speed.on_update
        def _(event: Any) -> None:
            player.speed = choice[event.target.value]

        @repeat.on_update
        def _(event: Any) -> None:
            player.repeat = bool(event.target.value)

    def _add_colors(self) -> None:
        titles = {q.title: q.name for q in QUANTITIES.values()}
        color = self._gui.add_dropdown("Color", tuple(titles), initial_value=QUANTITIES[self.quantity].title)
        self._legend = self._gui.add_html("")

        @color.on_update
        def _(event: Any) -> None:
            self.quantity = titles[event.target.value]
            self._changed()

    def _add_impacts(self, run: Trajectory) -> None:
        """The list of the strongest impacts; choosing one shows the frame after it."""
        self.impacts: Any = None
        times = strongest_impacts(run)
        if not times:
            return
        self.impacts = self._gui.add_dropdown("Impacts", (NO_IMPACT, *times), initial_value=NO_IMPACT)

        @self.impacts.on_update
        def _(event: Any) -> None:
            if event.target.value in times:
                self._player.pause()
                self._player.seek(times[event.target.value])
                self._changed()

    def _add_contacts(self, runs: Sequence[Trajectory]) -> None:
        recorded = all(run.settings.impulses or run.settings.events != "none" for run in runs)
        hint = None if recorded else "not recorded: the run has no events"
        dots = self._gui.add_checkbox("Contact points", False)
        self.flashes = recorded
        flashes = self._gui.add_checkbox("Flashes of impacts", recorded, disabled=not recorded, hint=hint)
        arrows = self._gui.add_checkbox("Impulses", False, disabled=not recorded, hint=hint)
        since = "since the frame before"
        steps = "; ".join(dict.fromkeys(run.settings.recorded_impulses or since for run in runs))
        self.impulses_note = self._gui.add_html(_small(f"impulses {steps}") if recorded else "")
        self._add_impacts(runs[0])
        view = self._gui.add_button_group("Picture", (SHOW_ALL, SAVE))

        @dots.on_update
        def _(event: Any) -> None:
            self.dots = bool(event.target.value)
            self._changed()

        @flashes.on_update
        def _(event: Any) -> None:
            self.flashes = bool(event.target.value)
            self._changed()

        @arrows.on_update
        def _(event: Any) -> None:
            self.arrows = bool(event.target.value)
            self._changed()

        @view.on_click
        def _(event: Any) -> None:
            if event.client is not None:
                act = self.reset_view if event.target.value == SHOW_ALL else self.save_picture
                act(event.client)

    def _add_keys(self) -> None:
        for label, key, act in (
            ("Play or pause", "K", self._player.toggle),
            ("One frame back", "J", lambda: self._player.step(-1)),
            ("One frame forward", "L", lambda: self._player.step(1)),
        ):
            self._add_key(label, key, act)

    def _add_key(self, label: str, key: str, act: Callable[[], None]) -> None:
        command = self._gui.add_command(label, hotkey=key)

        @command.on_trigger
        def _(event: Any) -> None:
            act()
            self._changed()


def heading(runs: Sequence[Trajectory]) -> str:
    """Scene, law, stepper and number of bodies of each run; two runs of one scene share its name."""
    parts, told = [], ""
    for run in runs:
        s = run.settings
        facts = [f"law <b>{escape(s.law)}</b>", escape(s.stepper.replace("_", " "))]
        facts += [counted(run.count, "body", "bodies"), f"{len(run):,} frames"]
        name = escape(run.name.replace("_", " "))
        if name != told:
            parts.append(f'<div style="font-size:16px;font-weight:650;line-height:1.3">{name}</div>')
        parts.append(f'<div style="font-size:12px;margin-bottom:3px">{" · ".join(facts)}</div>')
        told = name
    return f'<div style="font-family:system-ui,sans-serif;color:{INK};padding:8px 12px 0">{"".join(parts)}</div>'


def legend_html(legend: Legend) -> str:
    """A color bar with ticks, or one swatch per category, in the colors that the page displays."""
    body = _swatches(legend) if legend.places is None else _bar(legend)
    head = f'<div style="font-weight:600;margin-bottom:4px">{escape(legend.title)}</div>'
    return f'<div style="font:12px system-ui,sans-serif;color:{INK};padding:2px 12px 8px">{head}{body}</div>'


def _bar(legend: Legend) -> str:
    assert legend.places is not None
    chosen = tone.shown(legend.colors[np.linspace(0, len(legend.colors) - 1, 24).round().astype(int)])
    stops = ",".join(_hex(c) for c in chosen)
    marks = []
    for place, label in zip(legend.places, legend.labels):
        shift = -100.0 * place  # labels at the ends stay within the bar
        style = f"position:absolute;left:{100.0 * place:.1f}%;transform:translateX({shift:.0f}%)"
        marks.append(f'<span style="{style}">{escape(label)}</span>')
    bar = f'<div style="height:12px;border-radius:3px;background:linear-gradient(90deg,{stops})"></div>'
    return f'{bar}<div style="position:relative;height:16px;margin-top:2px">{"".join(marks)}</div>'


def strongest_impacts(run: Trajectory) -> dict[str, float]:
    """Labels of the strongest impacts in order of time, with the times of the first frames after them."""
    if run.events is None or not len(run.events.impacts):
        return {}
    found = run.events.impacts
    size = np.linalg.norm(found.impulse, axis=1)
    out = {}
    for i in np.sort(np.argsort(-size, kind="stable")[:LISTED_IMPACTS]).tolist():
        first, second = int(found["first"][i]), int(found["second"][i])
        other = f"boundary {-1 - second}" if second < 0 else str(second)
        frame = min(int(np.searchsorted(run.step, found["step"][i])), len(run) - 1)
        out[f"{found['time'][i]:.4g}: {first} and {other}, impulse {size[i]:.3g}"] = float(run.time[frame])
    return out


def _swatches(legend: Legend) -> str:
    box = "display:inline-block;width:11px;height:11px;border-radius:2px;margin:0 4px -1px 0"
    return " ".join(
        f'<span style="margin-right:9px;white-space:nowrap"><span style="{box};background:{_hex(c)}"></span>'
        f"{escape(label)}</span>"
        for label, c in zip(legend.labels, tone.shown(legend.colors))
    )


def _hex(color: NDArray[np.uint8]) -> str:
    return "#" + "".join(f"{int(v):02x}" for v in color)


def _small(text: str) -> str:
    return f'<div style="font:11.5px system-ui,sans-serif;color:#6a7280;padding:1px 12px">{escape(text)}</div>'


def _rounded(value: float) -> float:
    return float(f"{value:.1g}") or 1e-9


def _digits(width: float) -> int:
    """The number of decimals that resolve a thousandth of the width."""
    return max(0, min(6, len(f"{1000 / width:.0f}"))) if width < 1000 else 0

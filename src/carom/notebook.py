"""Problems, solutions, scenes, runs and towers in notebooks: a compact table and a picture, and the viewer inline."""

from __future__ import annotations

import atexit
import base64
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import singledispatch
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .draw.style import BLUE, GRAY, picture, sheet
from .errors import ProblemError
from .problem.problem import ImpactProblem
from .problem.solution import ImpactSolution
from .scene.model import Scene
from .solvers.rows import Floats
from .towers.tower import Tower
from .trajectory import Trajectory

ROWS = 8  # largest number of rows of a table of bodies or contacts
WIDTH = 3.2  # inches of one picture
DOTS = 110  # per inch
VECTOR = 500  # number of 2D bodies up to which a picture is SVG
HEIGHT = 640  # pixels of the viewer
Rows = Iterable[Sequence[str]]


@singledispatch
def html(thing: Any) -> str:
    """HTML of an object, for `_repr_html_`."""
    raise TypeError(f"no notebook display of {type(thing).__name__}")


# ---- impacts


@html.register
def _problem(problem: ImpactProblem) -> str:
    n, d = problem.block
    facts = [
        ("bodies", f"{n:,} with {d} velocity component{'s' if d > 1 else ''} each"),
        ("contacts", f"{problem.contact_count:,}, {_approaching(problem.separation_speed())} of them approaching"),
        *([] if problem.joints is None else [("joints", f"{len(problem.joints)} rows")]),
        ("kinetic energy", _number(problem.kinetic_energy)),
        ("restitution", _range(problem.restitution)),
        ("friction", _range(problem.friction)),
    ]
    speeds = problem.separation_speed()
    contacts = [(str(k), _pair(problem, k), _number(speeds[k])) for k in range(min(ROWS, len(speeds)))]
    table = _table(contacts, ("contact", "bodies", "separation speed"), len(speeds))
    pictures = [_figure(lambda axes: _draw_impact(axes, problem, problem.block_velocity, "before"))]
    return _page(f"impact problem {problem.name}", facts, [table], pictures)


@html.register
def _solution(solution: ImpactSolution) -> str:
    problem, audit = solution.problem, solution.audit()
    n, _ = problem.block
    failed = [m.name for m in audit.measures if not m.passed]
    facts = [
        ("status", f"{solution.status} after {solution.iterations:,} iterations, residual {solution.residual:.1e}"),
        ("kinetic energy", f"{_number(problem.kinetic_energy)} → {_number(solution.kinetic_energy)}"),
        ("audit", f"fails: {', '.join(failed)}" if failed else "all measures are within their bounds"),
        *(("note", message) for message in solution.messages),
    ]
    before, after = problem.block_velocity, solution.velocity.reshape(problem.block)
    bodies = [(str(b), _vector(before[b]), _vector(after[b])) for b in range(min(ROWS, n))]
    speed, later = problem.separation_speed(), solution.separation_speed
    contacts = [
        (str(k), _pair(problem, k), _number(speed[k]), _number(later[k]), _number(solution.impulse[k]))
        for k in range(min(ROWS, len(speed)))
    ]
    tables = [
        _table(bodies, ("body", "velocity before", "after"), n),
        _table(contacts, ("contact", "bodies", "speed before", "after", "impulse"), len(speed)),
    ]
    pictures = [
        _figure(lambda axes: _draw_impact(axes, problem, before, "before")),
        _figure(lambda axes: _draw_impact(axes, problem, after, "after")),
    ]
    return _page(f"{problem.name}, law {solution.law}", facts, tables, pictures)


def _draw_impact(axes: Axes, problem: ImpactProblem, velocity: Floats, title: str) -> None:
    """Bodies at their positions with arrows for velocities; bars of the components if there are no positions."""
    axes.set_title(title, fontsize=8.5)
    place = problem.positions
    if place is None:
        axes.bar(np.arange(velocity.size), velocity.ravel(), color=BLUE)
        axes.axhline(0.0, color=GRAY, linewidth=0.6)
        axes.set_xlabel("velocity component")
        return
    k = place.shape[1]
    seen = (0, 2) if k == 3 else tuple(range(k))  # 3D from the side: x to the right, z up
    at, along = np.zeros((len(place), 2)), np.zeros((len(place), 2))
    at[:, : len(seen)] = place[:, seen]
    linear = [c for c in seen if c < velocity.shape[1]]
    along[:, : len(linear)] = velocity[:, linear]
    pairs = [problem.rows.body[problem.rows.ptr[c] : problem.rows.ptr[c + 1]] for c in range(problem.contact_count)]
    ends = np.array([p for p in pairs if len(p) == 2], dtype=np.int64).reshape(-1, 2)
    apart = np.linalg.norm(place[ends[:, 0]] - place[ends[:, 1]], axis=1)
    size = 0.5 * float(apart[apart > 0.0].min()) if (apart > 0.0).any() else 0.5
    from matplotlib.collections import EllipseCollection, LineCollection

    wide = np.full(len(at), 2.0 * size)
    look: dict[str, Any] = {"units": "xy", "offset_transform": axes.transData, "facecolors": "#DCEBF7"}
    axes.add_collection(LineCollection(list(at[ends]), colors=GRAY, linewidths=0.8))
    axes.add_collection(EllipseCollection(wide, wide, np.zeros(len(at)), offsets=at, edgecolors=GRAY, **look))
    fastest = float(np.abs(problem.block_velocity[:, : velocity.shape[1]]).max()) or 1.0
    tips = along * (1.6 * size / fastest)
    axes.quiver(*at.T, *tips.T, angles="xy", scale_units="xy", scale=1.0, color=BLUE, width=0.012, zorder=3)
    low, high = at.min(axis=0) - 2.2 * size, at.max(axis=0) + 2.2 * size
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.axis("off")


def _pair(problem: ImpactProblem, contact: int) -> str:
    touched = problem.rows.body[problem.rows.ptr[contact] : problem.rows.ptr[contact + 1]].tolist()
    return " – ".join([*map(str, touched[:4]), "world"][: max(2, min(len(touched), 4))])


def _approaching(speed: Floats) -> str:
    return f"{int((speed < 0.0).sum()):,}"


# ---- scenes and runs


@html.register
def _scene(scene: Scene) -> str:
    from .build import build
    from .draw.figures import Angle, View, frame_of

    facts = [
        ("bodies", _bodies(scene)),
        ("boundaries", ", ".join(b.kind for b in scene.boundaries) or "none"),
        ("law", f"{scene.law}, {scene.stepper}"),
        ("time", f"{scene.duration:g} in steps of {scene.step:g}"),
    ]
    try:
        view = View(*build(scene), scene)
    except ProblemError as error:
        return _page(f"scene {scene.name}", [*facts, ("error", str(error))], [], [])
    frame = frame_of([view], Angle.of(scene))
    return _page(f"scene {scene.name}", facts, [], [_state(view, [view], frame, "start")])


@html.register
def _run(run: Trajectory) -> str:
    from .draw.figures import Angle, View, frame_of

    if not run._file:
        return f"<p>{escape(repr(run))}</p>"
    s = run.settings
    done = "finished" if run.finished else f"stopped at step {run.last.step:,} of {s.steps:,}"
    tolerance = "bounds of its own" if s.tolerance is None else f"{s.tolerance:g}"
    facts = [
        ("bodies", f"{run.count:,} in {run.dimension}D"),
        ("law", f"{s.law}, {s.stepper}"),
        ("time", f"{run.last.time:g} in {run.last.step:,} steps of {s.step:g}, {done}"),
        ("tolerance", f"{tolerance}; {len(run.missed_steps):,} steps missed it"),
        ("frames", f"{len(run):,}"),
        ("energy", f"{_number(run.energy[0])} → {_number(run.energy[-1])}"),
        ("file", str(run.path or "in memory")),
    ]
    try:
        views = [View.of(run, 0), View.of(run, -1)]
        frame = frame_of(views, Angle.of(run.scene))
    except ProblemError as error:  # the scene contains a Python function, which a file does not store
        return _page(f"run of {run.name}", [*facts, ("picture", f"none: {error}")], [], [])
    pictures = [_state(v, views, frame, f"time {v.state.time:g}") for v in views]
    return _page(f"run of {run.name}", facts, [], pictures)


def _state(view: Any, views: Sequence[Any], frame: Any, title: str) -> str:
    from .draw.figures import draw_state, speed_scale, tallness

    def draw(axes: Axes) -> None:
        draw_state(axes, view, speed_scale(views), frame, 600)
        axes.axis("off")
        axes.set_title(title, fontsize=8.5)

    vector = view.world.dimension == 2 and view.world.count <= VECTOR
    return _figure(draw, float(np.clip(tallness(frame), 0.15, 1.4)), vector)


def _bodies(scene: Scene) -> str:
    kinds: dict[str, int] = {}
    for group in scene.bodies:
        kinds[group.shape.kind] = kinds.get(group.shape.kind, 0) + group.count
    return ", ".join(f"{count:,} × {kind}" for kind, count in kinds.items())


# ---- towers


@html.register
def _tower(tower: Tower) -> str:
    from .towers.drawing import draw

    stability = tower.stability()
    facts = [
        ("bricks", f"{tower.count:,}, {int((~np.asarray(tower.free)).sum()):,} of them fixed"),
        ("stability", "stable" if stability.stable else "unstable: it falls"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tower.svg"
        draw(tower, path)
        picture = _image(path.read_bytes(), "svg+xml")
    return _page("tower", facts, [], [picture])


# ---- the viewer


def view(run: Trajectory, height: int = HEIGHT) -> InlineViewer:
    """The viewer of a run in a frame of a notebook: see `Trajectory.view`."""
    from .draw.viewer import viewing

    stack = ExitStack()
    page = stack.enter_context(viewing([run]))
    atexit.register(stack.close)
    return InlineViewer(page.address, height, stack)


class InlineViewer:
    """A page in a frame. Outside notebooks its text is the address."""

    def __init__(self, address: str, height: int, stack: ExitStack) -> None:
        self.address, self.height, self._stack = address, height, stack

    def close(self) -> None:
        """Ends the page and frees its port."""
        self._stack.close()

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #d4d8de;border-radius:6px"
        return f'<iframe src="{escape(self.address)}" title="Carom viewer" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"<viewer at {self.address}>"


# ---- HTML


def _page(title: str, facts: Rows, tables: Sequence[str], pictures: Sequence[str]) -> str:
    left = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts)
    style = (
        ".carom{display:flex;flex-wrap:wrap;gap:18px;align-items:flex-start;font:13px system-ui,sans-serif}"
        ".carom table{border-collapse:collapse;margin:0 0 8px}"
        ".carom th,.carom td{text-align:left;padding:2px 10px 2px 0;border:0;background:none;vertical-align:top}"
        ".carom th{font-weight:600}.carom h4{margin:0 0 6px;font-size:14px}"
        ".carom .n td,.carom .n th{text-align:right;font-variant-numeric:tabular-nums}"
        ".carom img{max-width:100%;background:white}"
    )
    table = f"<div><h4>{escape(title)}</h4><table>{left}</table>{''.join(tables)}</div>"
    drawn = f"<div style='display:flex;flex-wrap:wrap;gap:8px'>{''.join(pictures)}</div>" if pictures else ""
    return f'<style>{style}</style><div class="carom">{table}{drawn}</div>'


def _table(rows: Rows, heads: Sequence[str], total: int) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    more = f"<tr><td colspan={len(heads)}>… {total - ROWS:,} more</td></tr>" if total > ROWS else ""
    return f'<table class="n"><tr>{head}</tr>{body}{more}</table>'


def _figure(draw: Callable[[Axes], None], tall: float = 0.62, vector: bool = True) -> str:
    """One picture of `WIDTH`, its height relative to that, as an image element."""
    with sheet(WIDTH, WIDTH * tall + 0.3) as figure:
        draw(figure.subplots())
        return _shown(figure, "svg" if vector else "png")


def _shown(figure: Figure, kind: str) -> str:
    return _image(picture(figure, kind, DOTS), "svg+xml" if kind == "svg" else "png")


def _image(data: bytes, kind: str) -> str:
    """An image element. Inline SVG would share the names of its clip paths with other pictures of the page."""
    return f'<img alt="" src="data:image/{kind};base64,{base64.b64encode(data).decode()}">'


def _number(value: float) -> str:
    return f"{value + 0.0:.4g}"


def _range(values: Floats) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _vector(values: Floats) -> str:
    text = ", ".join(_number(float(v)) for v in values)
    return text if len(values) == 1 else f"({text})"

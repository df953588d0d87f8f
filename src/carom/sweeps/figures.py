"""Figures of a sweep: curves over one parameter, heat maps and phase diagrams over two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..draw.style import COLUMN, CYCLE, GRAY, MARKERS, PALE, WIDE, law_style, styled, write
from ..errors import ProblemError
from ..solvers.rows import Floats
from .store import Results

Row = dict[str, Any]
COLORS = "viridis"  # readable in gray and for color-blind readers
DECADES = 100.0  # ratio of the largest to the smallest value from which a measurement has a logarithmic scale
WRITTEN = 60  # cells of a map up to which each has its value in writing
# Patterns of a layer have fixed colors, so that two phase diagrams can be compared.
CATEGORIES = {"flat": PALE, "squares": CYCLE[0], "stripes": CYCLE[4], "hexagons": CYCLE[2], "disordered": GRAY}
LAYER = {"frequency": "frequency f*", "acceleration": "acceleration Γ"}  # of a layer whose pattern is measured
TITLES = {
    "pattern_kind": "pattern",
    "pattern_wavelength": "wavelength (diameters)",
    "pattern_contrast": "contrast (diameters)",
    "repose_mean": "angle of repose (degrees)",
    "demon": "fraction on the fuller side",
}


def draw_sweep(
    results: Results,
    folder: Path,
    measure: str | None = None,
    axes: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> list[Path]:
    """Draws measurements of a sweep, and writes figures and the drawn numbers as CSV to `folder`.

    `measure` None stands for every measurement. `axes` are one or two columns that the plan varies; by default all of
    them, without law. Laws get one curve each, or one map each. Seeds are averaged, and the range of their values is
    shaded; of categories the most frequent one counts. `where` selects rows by the values of columns.
    """
    rows = _selected(results, where or {})
    chosen = _axes(results, rows, axes, where or {})
    measures = _measures(results, measure)
    paths: list[Path] = []
    for column in measures:
        called = name or f"sweep-{column}"
        if len(chosen) == 1:
            paths += _curves(rows, chosen[0], column, folder, called)
        else:
            paths += _maps(rows, (chosen[0], chosen[1]), column, folder, called)
    return paths


# ---- what is drawn


def _selected(results: Results, where: Mapping[str, Any]) -> list[Row]:
    rows = results.done
    for column, value in where.items():
        known = results[column]
        if value not in known:
            raise ProblemError(column, value, f"one of {', '.join(map(str, dict.fromkeys(known)))}")
        rows = [row for row in rows if row.get(column) == value]
    if not rows:
        raise ProblemError("sweep", str(results.path or "in memory"), "at least one run that is done")
    return rows


def _axes(results: Results, rows: list[Row], given: Sequence[str] | None, where: Mapping[str, Any]) -> list[str]:
    free = [name for name in results.varied if name != "law" and name not in where]
    chosen = list(given) if given else free
    for column in chosen:
        if column not in results.columns:
            raise ProblemError.unknown("column", column, results.varied)
    if not 1 <= len(chosen) <= 2:
        wanted = f"one or two columns as axes, and values of the others (varied: {', '.join(free) or 'none'})"
        raise ProblemError("axes", ", ".join(chosen) or "none", wanted)
    for column in free:
        if column not in chosen and len({_key(row.get(column)) for row in rows}) > 1:
            raise ProblemError("where", f"several values of {column}", f"one value: {column}=VALUE (--where)")
    return chosen


def _measures(results: Results, given: str | None) -> list[str]:
    if given is None:
        return [name for name in results.measured if name != "state_hash"]
    if given not in [*results.measured, "seconds"]:
        raise ProblemError.unknown("measurement", given, [*results.measured, "seconds"])
    return [given]


def _key(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _laws(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["law"] for row in rows))


def _title(column: str, rows: list[Row]) -> str:
    if column in LAYER and "pattern_kind" in rows[0]:
        return LAYER[column]
    return TITLES.get(column, column.removeprefix("run.").removeprefix("law.").replace("_", " "))


def _is_text(rows: list[Row], column: str) -> bool:
    return any(isinstance(row.get(column), str) for row in rows)


def _scale(values: Floats) -> bool:
    """Whether values are positive and cover enough decades to be drawn on a logarithmic scale."""
    known = values[np.isfinite(values)]
    return len(known) > 1 and known.min() > 0.0 and known.max() > DECADES * known.min()


# ---- curves


def _curves(rows: list[Row], x: str, y: str, folder: Path, name: str) -> list[Path]:
    if _is_text(rows, y):
        return _strips(rows, x, y, folder, name)
    table: dict[str, list[Any]] = {
        "law": [],
        _title(x, rows): [],
        f"{y} mean": [],
        f"{y} minimum": [],
        f"{y} maximum": [],
    }
    with styled(1, width=COLUMN, height=2.6) as (figure, (ax,)):
        place = _positions(rows, x)
        everything = np.array([float(row[y]) for row in rows if row.get(y) is not None])
        for law in _laws(rows):
            groups = _groups([row for row in rows if row["law"] == law], (x,), y)
            keys = sorted(groups, key=lambda key: place[key[0]])
            at = np.array([place[key[0]] for key in keys])
            low, mean, high = (np.array([f(groups[key]) for key in keys]) for f in (np.min, np.mean, np.max))
            style = law_style(law)
            ax.plot(at, mean, label=law, **style)
            if (high > low).any():
                ax.fill_between(at, low, high, color=style["color"], alpha=0.15, linewidth=0)
            columns: list[list[Any]] = [[law] * len(keys), [key[0] for key in keys], list(mean), list(low), list(high)]
            for column, values in zip(table, columns):
                table[column] += values
        _ticks(ax, place)
        if _scale(everything):
            ax.set_yscale("log")
        ax.set_xlabel(_title(x, rows))
        ax.set_ylabel(_title(y, rows))
        if len(_laws(rows)) > 1:
            ax.legend()
        return list(write(figure, folder, name, table))


def _strips(rows: list[Row], x: str, y: str, folder: Path, name: str) -> list[Path]:
    """Categories over one parameter: a row of colored fields per law."""
    laws, place = _laws(rows), _positions(rows, x)
    kinds = _kinds(rows, y)
    values = sorted(place, key=lambda key: place[key])
    with styled(1, width=COLUMN, height=1.3 + 0.35 * len(laws)) as (figure, (ax,)):
        grid = np.full((len(laws), len(values)), np.nan)
        for i, law in enumerate(laws):
            groups = _groups([row for row in rows if row["law"] == law], (x,), y)
            for key, found in groups.items():
                grid[i, values.index(key[0])] = kinds.index(_most(found))
        _fields(ax, grid, kinds)
        ax.set_xticks(range(len(values)), [_number(v) for v in values])
        ax.set_yticks(range(len(laws)), laws)
        ax.set_xlabel(_title(x, rows))
        _legend(figure, kinds)
        cells = [(law, v, grid[i, k]) for i, law in enumerate(laws) for k, v in enumerate(values)]
        table = {"law": [c[0] for c in cells], _title(x, rows): [c[1] for c in cells]}
        named = [kinds[int(c[2])] if np.isfinite(c[2]) else "" for c in cells]
        return list(write(figure, folder, name, {**table, y: named}))


def _positions(rows: list[Row], x: str) -> dict[Any, float]:
    """Where each value of a column is drawn: numbers at their place, others in the order in which they come."""
    values = list(dict.fromkeys(_key(row.get(x)) for row in rows))
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return {v: float(v) for v in sorted(values)}
    return {v: float(k) for k, v in enumerate(values)}


def _ticks(ax: Axes, place: dict[Any, float]) -> None:
    if any(not isinstance(value, int | float) for value in place):
        ax.set_xticks(list(place.values()), [str(value) for value in place])
    elif _scale(np.array(list(place.values()))):
        ax.set_xscale("log")


def _groups(rows: list[Row], axes: Sequence[str], y: str) -> dict[tuple[Any, ...], list[Any]]:
    """The measured values by the values of the axes."""
    out: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        if row.get(y) is not None:
            out.setdefault(tuple(_key(row.get(axis)) for axis in axes), []).append(row[y])
    return out


# ---- maps


def _maps(rows: list[Row], axes: tuple[str, str], z: str, folder: Path, name: str) -> list[Path]:
    """One map per law. Fields have equal sizes, whatever the distances of the values."""
    laws, text = _laws(rows), _is_text(rows, z)
    kinds = _kinds(rows, z) if text else []
    places = [sorted(_positions(rows, axis).items(), key=lambda item: item[1]) for axis in axes]
    values = [[value for value, _ in place] for place in places]
    grids = {law: _grid([r for r in rows if r["law"] == law], axes, z, values, kinds) for law in laws}
    width = COLUMN if len(laws) == 1 else WIDE
    height = 1.1 + min(1.0, len(values[1]) / max(1, len(values[0]))) * width / len(laws) * 0.8
    with styled(len(laws), width=width, height=height) as (figure, panels):
        norm = _norm(np.concatenate([grid.ravel() for grid in grids.values()]))
        for ax, law in zip(panels, laws):
            _map(ax, grids[law], kinds, norm)
            ax.set_xticks(range(len(values[0])), [_number(v) for v in values[0]])
            ax.set_yticks(range(len(values[1])), [_number(v) for v in values[1]])
            ax.set_xlabel(_title(axes[0], rows))
            ax.set_title(law if len(laws) > 1 else "")
        panels[0].set_ylabel(_title(axes[1], rows))
        if text:
            _legend(figure, kinds)
        else:
            figure.colorbar(panels[0].images[0], ax=panels, label=_title(z, rows))
        return list(write(figure, folder, name, _map_table(grids, axes, values, z, kinds)))


def _grid(rows: list[Row], axes: tuple[str, str], z: str, values: list[list[Any]], kinds: list[str]) -> Floats:
    """(values of the second axis, values of the first one): means, or numbers of categories; NaN without a run."""
    grid = np.full((len(values[1]), len(values[0])), np.nan)
    for key, found in _groups(rows, axes, z).items():
        one = float(kinds.index(_most(found))) if kinds else float(np.mean(found))
        grid[values[1].index(key[1]), values[0].index(key[0])] = one
    return grid


def _norm(values: Floats) -> Normalize:
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return LogNorm(low, high) if _scale(values) else Normalize(low, high if high > low else low + 1.0)


def _map(ax: Axes, grid: Floats, kinds: list[str], norm: Normalize) -> None:
    if kinds:
        _fields(ax, grid, kinds)
        return
    image = ax.imshow(grid, origin="lower", aspect="auto", cmap=COLORS, norm=norm)
    ax.grid(False)
    if grid.size <= WRITTEN:
        for (i, k), value in np.ndenumerate(grid):
            if np.isfinite(value):
                light = sum(image.cmap(norm(value))[:3]) > 1.6
                ax.text(k, i, f"{value:.3g}", ha="center", va="center", fontsize=7, color="black" if light else "white")


def _fields(ax: Axes, grid: Floats, kinds: list[str]) -> None:
    """Colored fields of categories, with a marker each, for readers of gray prints."""
    colors = ListedColormap([_color(kinds, kind) for kind in kinds])
    ax.imshow(
        grid, origin="lower", aspect="auto", cmap=colors, norm=BoundaryNorm(np.arange(-0.5, len(kinds)), len(kinds))
    )
    ax.grid(False)
    for k, kind in enumerate(kinds):
        y, x = np.nonzero(grid == k)
        ax.plot(x, y, _marker(kinds, kind), color="white", markeredgecolor="black", markeredgewidth=0.6, markersize=5)
    ax.set_xlim(-0.5, grid.shape[1] - 0.5)
    ax.set_ylim(-0.5, grid.shape[0] - 0.5)


def _color(kinds: list[str], kind: str) -> str:
    return CATEGORIES.get(kind, CYCLE[kinds.index(kind) % len(CYCLE)])


def _legend(figure: Figure, kinds: list[str]) -> None:
    handles = [_handle(kinds, kind) for kind in kinds]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(4, len(kinds)))


def _handle(kinds: list[str], kind: str) -> Line2D:
    color, marker = _color(kinds, kind), _marker(kinds, kind)
    edge: dict[str, Any] = {"markeredgecolor": "black", "markeredgewidth": 0.6}
    return Line2D([], [], linestyle="", marker=marker, markersize=7, markerfacecolor=color, label=kind, **edge)


def _marker(kinds: list[str], kind: str) -> str:
    order = list(CATEGORIES) if kind in CATEGORIES else kinds
    return MARKERS[order.index(kind) % len(MARKERS)]


def _kinds(rows: list[Row], column: str) -> list[str]:
    found = {str(row[column]) for row in rows if row.get(column) is not None}
    return [kind for kind in CATEGORIES if kind in found] + sorted(found - set(CATEGORIES))


def _most(values: list[Any]) -> str:
    """The most frequent category; of two that are equally frequent the first one that occurs."""
    return str(Counter(values).most_common(1)[0][0])


def _map_table(
    grids: dict[str, Floats], axes: tuple[str, str], values: list[list[Any]], z: str, kinds: list[str]
) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = {"law": [], axes[0]: [], axes[1]: [], z: []}
    for law, grid in grids.items():
        for (i, k), value in np.ndenumerate(grid):
            cell: Any = (kinds[int(value)] if np.isfinite(value) else "") if kinds else value
            for column, entry in zip(table, (law, values[0][k], values[1][i], cell)):
                table[column].append(entry)
    return table


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

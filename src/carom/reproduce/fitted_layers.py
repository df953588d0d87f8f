"""The patterns of the vibrated layer in containers that fit them, under two laws.

Periodic sides admit only patterns whose period divides the container. Each container here holds whole periods of the
pattern that is expected: wavelengths of 22 (hexagons), 20 (stripes) and 40 diameters (squares) were measured in a
container of 100 x 100 diameters, where the lattice has defects that move. Hexagons of wavelength W repeat after 2 W
along x and 2 W / sqrt(3) along y. The container of stripes is 3 / 2 wavelengths long, so that squares of 20 do not fit
into it; in 40 x 40 diameters they won. That of squares is one wavelength wide: in 50 x 50 and 57 x 57 diameters cells
merged and split for 20 to 40 periods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes

from ..analysis.granular import CELL, FLAT, Pattern, Sides, height_map, pattern
from ..draw.encoding import film
from ..draw.run_figures import split
from ..draw.style import BLUE, GRAY, RED, sheet, write
from ..scenes import vibrated_layer
from ..scenes.granular import PATTERNS
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .evidence import SMITH_FRICTION, ZHANG_FRICTION, Case, Evidence, Row
from .layers import DIAMETER, FRAMES

Layer = tuple[str, str, int, int, float]  # pattern, law, width and length in diameters, plate periods
LAYERS: tuple[Layer, ...] = (
    ("hexagons", "gr", 44, 51, 45.0), ("hexagons", "qce", 47, 54, 40.0),
    ("stripes", "gr", 40, 30, 30.0), ("stripes", "qce", 40, 30, 30.0),
    ("squares", "gr", 40, 40, 35.0), ("squares", "qce", 40, 40, 35.0),
)  # fmt: skip
PERIODS = {"hexagons": 40.0, "stripes": 30.0, "squares": 30.0}  # least for a verdict: order began at 30, 20 and 15
JUDGED = 10.0  # plate periods at the end of a run whose frames are classified
ENOUGH = 0.8  # share of these frames that must show the pattern
FRICTION = {"gr": SMITH_FRICTION, "qce": ZHANG_FRICTION}
SLICE = 2.0  # diameters: thickness of the slice of the side view
TILES = 2  # periodic images of a map in each direction; four containers show that the lattice goes on
FILM_PERIODS, FILM_RATE, PIXELS = 2.0, 8.0, 4  # of the plate; frames per second; per cell


@dataclass(frozen=True, eq=False)
class Judged:
    """A run whose last frames are classified: maps in diameters, their patterns, plate periods of the frames."""

    run: Trajectory
    name: str
    maps: list[Floats]
    seen: list[Pattern]
    periods: Floats

    @property
    def sides(self) -> tuple[int, int]:
        """Width and length of the container in diameters."""
        (left, right), (near, far) = _floor(self.run)
        return round((right - left) / DIAMETER), round((far - near) / DIAMETER)

    @property
    def clearest(self) -> int:
        """The frame with the largest contrast."""
        return int(np.argmax([p.contrast for p in self.seen]))

    @property
    def wavelength(self) -> float:
        """In diameters, of the clearest map beside its periodic images: wavelengths up to the container count."""
        sides = tuple((low, low + TILES * (high - low)) for low, high in _floor(self.run))
        heights = DIAMETER * np.tile(self.maps[self.clearest], (TILES, TILES))
        return pattern(heights, (sides[0], sides[1]), FLAT * DIAMETER).wavelength / DIAMETER

    @property
    def kinds(self) -> Counter[str]:
        """Number of frames by what they show."""
        return Counter(p.kind for p in self.seen)

    @property
    def share(self) -> float:
        """Share of the frames in which the layer is not flat that show the pattern."""
        shaped = len(self.seen) - self.kinds["flat"]
        return self.kinds[self.name] / shaped if shaped else 0.0

    @property
    def clear_share(self) -> float:
        """The same of the clearest frame of each plate period."""
        number = np.floor(self.periods - self.periods[-1] - 1e-9)
        best = [max((p for p, k in zip(self.seen, number) if k == n), key=lambda p: p.contrast) for n in set(number)]
        return sum(p.kind == self.name for p in best) / len(best)


def run(case: Case, layers: Sequence[Layer] = LAYERS) -> Evidence:
    """Smith 2012, figure 12, and Zhang 2015, figure 9, in fitting containers; writes figures, films and .csv."""
    found: dict[tuple[str, str], Judged] = {}
    for part, (name, law, width, length, periods) in case.each(layers):
        scene = vibrated_layer(pattern=name, width=width, length=length, periods=periods)
        layer = part.simulate(
            f"{name}_{law}", scene, law, frame_rate=FRAMES * scene.frame_rate, friction_model=FRICTION[law]
        )
        found[name, law] = judged(layer, name)
    rows = [row for (name, law), layer in found.items() for row in _rows(name, law, layer)]
    files = _figure(case.out, found)
    files += tuple(_film(case.out / f"{name}_{law}.gif", layer) for (name, law), layer in found.items())
    shapes = [f"{name}/{law}/{width}x{length}/{periods:g}" for name, law, width, length, periods in layers]
    parameters = {"layers": shapes, "c_r": 0.7, "friction": 0.5, "h": 2e-4, "seed": 1}
    return Evidence(tuple(rows), files, _findings(found), parameters)


def judged(run: Trajectory, name: str) -> Judged:
    """Classifies all frames of the last plate periods."""
    floor, period = _floor(run), run.scene.duration / run.scene.parameters["periods"]
    cells = max(12, round((floor[0][1] - floor[0][0]) / (CELL * DIAMETER)))
    first = int(np.searchsorted(run.time, run.time[-1] - JUDGED * period - 1e-12))
    maps = [height_map(run.positions[k], floor, cells) for k in range(first, len(run))]
    seen = [pattern(heights, floor, FLAT * DIAMETER) for heights in maps]
    return Judged(run, name, [heights / DIAMETER for heights in maps], seen, run.time[first:] / period)


def _floor(run: Trajectory) -> Sides:
    periodic = run.scene.periodic
    if periodic is None or periodic.x is None or periodic.y is None:
        raise RuntimeError("the layer has periodic sides")
    (left, right), (near, far) = periodic.x, periodic.y
    return (left, right), (near, far)


def _rows(name: str, law: str, layer: Judged) -> list[Row]:
    periods = round(float(layer.periods[-1]), 1)
    f, gamma = PATTERNS[name]
    point, best = f"f* = {f}, Gamma = {gamma}, {law}", layer.seen[layer.clearest]
    counted = ", ".join(f"{number} {kind}" for kind, number in layer.kinds.most_common())
    early = periods < PERIODS[name]
    text = f"{counted}; of the clearest frame of each period {layer.clear_share:.0%}; asked {ENOUGH:.0%}"
    if early:
        text += f"; no verdict: lattices need {PERIODS[name]:g} periods, this run has {periods:g}"
    elif layer.share < ENOUGH:
        text += f"; the lattice still moves after {periods:g} periods"
    settled = "" if best.kind == name or early else "; the lattice still moves"
    return [
        Row(f"{point}: share of frames with {name}, where the layer is not flat", None, layer.share, "",
            None if early else layer.share >= ENOUGH, text),
        Row(f"{point}: clearest map", name, best.kind, "", None if early else best.kind == name,
            f"orders of stripes, squares, hexagons {', '.join(f'{order:.2f}' for order in best.order)}{settled}"),
        Row(f"{point}: wavelength", None, layer.wavelength, "diameters",
            remark=f"container {layer.sides[0]} x {layer.sides[1]}, {layer.run.count:,} spheres"),
    ]  # fmt: skip


def _findings(found: Mapping[tuple[str, str], Judged]) -> tuple[str, ...]:
    return tuple(
        f"{name} under {law}: {layer.share:.0%} of the frames of the last {JUDGED:g} periods in which the layer is not "
        f"flat, {layer.kinds[name] / len(layer.seen):.0%} of all frames"
        for (name, law), layer in found.items()
    )


def _figure(out: Path, found: Mapping[tuple[str, str], Judged]) -> tuple[Path, ...]:
    """Clearest maps above, tiled, with the container marked; a slice of the layer at that time from the side below."""
    names, laws = list(dict.fromkeys(n for n, _ in found)), list(dict.fromkeys(law for _, law in found))
    with sheet(height=3.4 * len(laws)) as figure:
        for law, part in zip(laws, split(figure, len(laws), 1)):
            above, below = split(part, 2, 1, height_ratios=[3.0, 1.0])
            maps = np.atleast_1d(above.subplots(1, len(names)))
            sides = np.atleast_1d(below.subplots(1, len(names)))
            for name, axes, side in zip(names, maps, sides):
                if (name, law) not in found:
                    axes.set_visible(False)
                    side.set_visible(False)
                    continue
                layer = found[name, law]
                width, length = layer.sides
                heights = np.tile(layer.maps[layer.clearest], (TILES, TILES)).T
                axes.imshow(heights, origin="lower", extent=(0, TILES * width, 0, TILES * length), cmap="gray")
                axes.plot([0, width, width], [length, length, 0], color=RED, linewidth=0.7, linestyle=(0, (4, 3)))
                axes.set_title(f"{law}: {name}, {layer.share:.0%} of frames", fontsize=8)
                axes.tick_params(labelsize=7)
                axes.grid(False)
                _side(side, layer)
        cells = [(n, law, i, j, h) for (n, law), layer in found.items()
                 for (i, j), h in np.ndenumerate(layer.maps[layer.clearest])]  # fmt: skip
        table = dict(zip(("point", "law", "cell_x", "cell_y", "height (diameters)"), zip(*cells)))
        return write(figure, out, "fitted_patterns", table)


def _side(axes: Axes, layer: Judged) -> None:
    """Centers of the spheres of a slice along x, in diameters, at the time of the clearest map."""
    frame = len(layer.run) - len(layer.maps) + layer.clearest
    place = layer.run.positions[frame] / DIAMETER
    width, length = layer.sides
    y = place[:, 1] % length
    heights = layer.maps[layer.clearest]
    cut = (int(heights.std(axis=0).argmax()) + 0.5) / len(heights) * length  # the row with the largest contrast
    near = np.abs(y - cut) < 0.5 * SLICE
    axes.scatter(place[near, 0] % width, place[near, 2], s=2.0, color=BLUE, linewidths=0)
    axes.set(xlim=(0, width), ylim=(0, None), xlabel="x (diameters)")
    axes.axhline(0.0, color=GRAY, linewidth=0.6)
    axes.tick_params(labelsize=7)


def _film(path: Path, layer: Judged) -> Path:
    """Height maps of the last two plate periods, after which the pattern repeats; one scale of gray for all."""
    chosen = layer.periods > layer.periods[-1] - FILM_PERIODS + 1e-9
    maps = [heights for heights, show in zip(layer.maps, chosen) if show]
    low, high = min(m.min() for m in maps), max(float(np.quantile(m, 0.99)) for m in maps)
    gray = colormaps["gray"]
    pictures = []
    for heights in maps:
        shade = np.clip((np.tile(heights, (TILES, TILES)).T[::-1] - low) / (high - low), 0.0, 1.0)
        pictures.append(np.kron(np.uint8(255 * gray(shade)[..., :3]), np.ones((PIXELS, PIXELS, 1), np.uint8)))
    size = (pictures[0].shape[1], pictures[0].shape[0])
    with film(path, size, FILM_RATE, lambda: pictures) as out:
        for picture in pictures:
            out.add(picture)
    return path

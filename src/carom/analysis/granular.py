"""Measurements of granular matter: angle of repose, height maps and their patterns, wave fronts, packings.

The functions accept one `State` of a run, such as `run.frame(-1)` or `Simulation.state`, or plain positions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contact.detector import find_contacts
from ..errors import ProblemError
from ..solvers.rows import Floats, Ints
from ..trajectory import Trajectory
from ..world import State, World

Sides = tuple[tuple[float, float], tuple[float, float]]  # the limits of a rectangle in x and in y


# ---- angle of repose


@dataclass(frozen=True, eq=False)
class Slope:
    """The angle of repose in degrees: the mean over the strips, half of its range, and the angle of each strip."""

    mean: float
    spread: float
    strips: Floats


def angle_of_repose(
    position: Floats, floor: Sides, strips: int = 8, cells: int = 16, whole_floor: bool = False
) -> Slope:
    """The slope of a pile along x, by lines that are fitted through its highest bodies (Tang 2014, s. 7.5).

    The floor is divided into `strips` along y and `cells` along x. In every strip a line is fitted by least squares
    through the centers of the highest bodies of its cells. Cells behind the foot of the slope, where no body lies on
    another one, are left out, and so are strips with fewer than three cells. With `whole_floor` all cells count, and
    empty ones have the height 0: a pile that stands like a cliff has no slope behind its edge otherwise. A pile that
    falls with x has a positive angle. position: (n, 3) centers.
    """
    (left, right), (near, far) = floor
    place = np.asarray(position, float)
    column = np.clip(((place[:, 0] - left) / (right - left) * cells).astype(int), 0, cells - 1)
    strip = np.clip(((place[:, 1] - near) / (far - near) * strips).astype(int), 0, strips - 1)
    foot = float(place[:, 2].min()) * 1.5  # centers of bodies that lie on the floor are at about half of their height
    angles = []
    for s in range(strips):
        highest = [_highest(place[(strip == s) & (column == c)]) for c in range(cells)]
        if whole_floor:
            middles = left + (right - left) * (np.arange(cells) + 0.5) / cells
            highest = [np.array([x, 0.0]) if p is None else p for x, p in zip(middles, highest)]
        points = np.array([p for p in highest if p is not None and (whole_floor or p[1] > foot)])
        if len(points) >= 3:
            angles.append(-np.degrees(np.arctan(np.polyfit(points[:, 0], points[:, 1], 1)[0])))
    if not angles:
        return Slope(0.0, 0.0, np.zeros(0))
    return Slope(float(np.mean(angles)), 0.5 * float(np.ptp(angles)), np.array(angles))


def _highest(place: Floats) -> Floats | None:
    """x and z of the highest of some bodies."""
    top: Floats | None = place[place[:, 2].argmax(), [0, 2]] if len(place) else None
    return top


# ---- patterns of a layer


def height_map(position: Floats, floor: Sides, cells: int = 40) -> Floats:
    """The height of the highest center above each cell of a periodic floor: (cells, cells), x first.

    Cells without a body have the mean height of their four neighbors (repeated until all have one).
    """
    place = np.asarray(position, float)
    low, high = np.array(floor).T
    index = np.floor((place[:, :2] - low) / (high - low) * cells).astype(int) % cells
    heights = np.full((cells, cells), -np.inf)
    np.maximum.at(heights, (index[:, 0], index[:, 1]), place[:, 2])
    empty = np.isinf(heights)
    if empty.all():
        raise ProblemError("position", "no bodies", "positions (n, 3) of at least one body")
    while empty.any():
        around = np.stack([np.roll(np.where(empty, np.nan, heights), by, axis) for by in (-1, 1) for axis in (0, 1)])
        known = ~np.isnan(around)
        filled = empty & known.any(axis=0)
        heights[filled] = np.where(known, around, 0.0).sum(axis=0)[filled] / known.sum(axis=0)[filled]
        empty &= ~filled
    return heights


@dataclass(frozen=True)
class Pattern:
    """A pattern of a height map. `kind`: "flat", "squares", "stripes", "hexagons" or "disordered".

    wavelength: 2 pi / k of the strongest waves, in the unit of the floor. contrast: standard deviation of the heights
    that these waves contain. order: of stripes, |mean of g^2| / mean of |g|^2 with the gradient g of the heights as a
    complex number; of squares and hexagons, the mean of |mean of exp(i m angle)| over the m = 4 or 6 nearest neighbors
    of each peak, or of each well, if that is larger. Each is 1 for a perfect pattern of its kind.
    """

    kind: str
    wavelength: float
    contrast: float
    order: tuple[float, float, float]


RING = (0.72, 1.28)  # wave numbers over that of the peak; the diagonal waves of squares, at sqrt(2), lie outside
WINDOW = 0.15  # standard deviation of the window in which the peak is searched, in the logarithm of the wave number
STRIPES = 0.5  # least order of stripes: half way between one direction and several equal ones
LATTICE = 0.55  # least order of squares and hexagons: random waves of one length exceed it once in twenty times
SMOOTH = 0.12  # standard deviation of the filter that removes single grains, in wavelengths


def pattern(heights: Floats, floor: Sides, flat: float) -> Pattern:
    """Classifies a height map. `flat`: largest contrast of a flat layer, a length.

    Wavelength and contrast follow from the Fourier spectrum. The kind does not: a container of a few wavelengths has
    too few wave vectors to tell four directions from six, but its peaks and wells have neighbors. Plane waves in any
    direction, with noise of grains of the same strength, are recognized in a container of four wavelengths and more.
    """
    cells = len(heights)
    power = np.abs(np.fft.fft2(heights - heights.mean())) ** 2 / cells**4
    k = [np.fft.fftfreq(cells, (high - low) / cells) for low, high in floor]
    size = np.hypot(*np.meshgrid(*k, indexing="ij"))
    grains = float(np.median(power)) / np.log(2.0)  # mean power of noise, which has the exponential distribution
    peak = _peak(size, power - grains, float(min(x[1] for x in k)))
    ring = (size > RING[0] * peak) & (size < RING[1] * peak)
    contrast = float(np.sqrt(max((power[ring] - grains).sum(), 0.0)))
    wavelength = float(power[ring].sum() / (power[ring] * size[ring]).sum())
    order = _orders(heights, np.array([(high - low) / cells for low, high in floor]), wavelength)
    lattice = "squares" if order[1] > order[2] else "hexagons"
    kind = "stripes" if order[0] > STRIPES else lattice if max(order[1:]) > LATTICE else "disordered"
    return Pattern(kind if contrast > flat else "flat", wavelength, contrast, order)


FLAT = 0.5  # diameters: largest contrast of a flat layer; flat ones had 0.23 to 0.32, patterns 0.64 and more
CELL = 1.25  # diameters: edge of a cell of the height map of a layer of spheres


def clearest_map(run: Trajectory, floor: Sides, period: float) -> tuple[Floats, Pattern, Floats]:
    """The height map of a layer of equal spheres with the largest contrast in the last two periods of its plate.

    Patterns of a vibrated layer repeat after two periods and are flat in between. Returns the map, its pattern, and the
    times and contrasts of all maps, (frames, 2).
    """
    diameter = 2.0 * run.world.length_scale
    cells = max(12, round((floor[0][1] - floor[0][0]) / (CELL * diameter)))
    first = int(np.searchsorted(run.time, run.time[-1] - 2.0 * period - 1e-12))
    maps = [height_map(run.positions[k], floor, cells) for k in range(first, len(run))]
    seen = [pattern(heights, floor, FLAT * diameter) for heights in maps]
    best = int(np.argmax([p.contrast for p in seen]))
    return maps[best], seen[best], np.column_stack([run.time[first:], [p.contrast for p in seen]])


def _orders(heights: Floats, cell: Floats, wavelength: float) -> tuple[float, float, float]:
    """The orders of stripes, squares and hexagons (see `Pattern`)."""
    from scipy import ndimage

    smooth = ndimage.gaussian_filter(heights, SMOOTH * wavelength / cell, mode="wrap")
    slope = [(np.roll(smooth, -1, axis) - np.roll(smooth, 1, axis)) / cell[axis] for axis in (0, 1)]
    g = slope[0] + 1j * slope[1]
    stripes = float(abs((g**2).mean()) / (np.abs(g) ** 2).mean())
    reach = np.maximum(1, np.round(0.35 * wavelength / cell)).astype(int)
    best = (0.0, 0.0)
    for sign in (1.0, -1.0):
        summit = sign * smooth == ndimage.maximum_filter(sign * smooth, size=2 * reach + 1, mode="wrap")
        found = _bond_orders(np.argwhere(summit) * cell, cell * len(heights))
        best = max(best, found, key=max)
    return stripes, *best


def _bond_orders(place: Floats, period: Floats) -> tuple[float, float]:
    """The mean bond-orientational order of points (n, 2) in a periodic rectangle, of 4 and of 6 neighbors."""
    from scipy.spatial import cKDTree

    shifts = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]) * period
    images = (place + shifts[:, None]).reshape(-1, 2)
    out = []
    for m in (4, 6):
        near = cKDTree(images).query(place, m + 1)[1][:, 1:]
        bond = images[near] - place[:, None]
        angle = np.arctan2(bond[..., 1], bond[..., 0])
        out.append(float(np.abs(np.exp(1j * m * angle).mean(axis=1)).mean()))
    return out[0], out[1]


def _peak(size: Floats, power: Floats, unit: float) -> float:
    """The wave number about which most power lies. Wavelengths from half of the floor to four cells count.

    A window in the logarithm of the wave number weights the power: a ring with sharp edges could contain the waves of
    squares and their diagonals at once.
    """
    trial = unit * np.arange(2.0, 0.25 * len(size), 0.25)
    known = size > 0.0
    off = np.log(size[known] / trial[:, None]) / WINDOW
    return float(trial[np.argmax(np.exp(-0.5 * off**2) @ power[known])])


# ---- wave fronts


@dataclass(frozen=True, eq=False)
class Front:
    """When a shock reaches each layer of a pile: heights (m,) and times (m,) of arrival, and the speed of the front.

    The speed is the slope of a line through heights and times. Layers that the front has not reached are left out.
    """

    height: Floats
    time: Floats
    speed: float


def wave_front(run: Trajectory, start: float, speed: float, layers: int = 10) -> Front:
    """The front that runs up through a pile at rest when its container is shaken from the time `start` on.

    The free bodies are divided into `layers` by their height at `start`. The front has arrived in a layer when the mean
    upward velocity of its bodies exceeds `speed`.
    """
    first = int(np.searchsorted(run.time, start))
    free = run.geometry["free"]
    height = run.positions[first][free, -1]
    edges = np.linspace(height.min(), height.max(), layers + 1)
    layer = np.clip(np.searchsorted(edges, height, side="right") - 1, 0, layers - 1)
    up = np.array([
        np.bincount(layer, v[free, run.dimension - 1], layers) for v in run.velocities[first:]
    ]) / np.maximum(np.bincount(layer, minlength=layers), 1)  # fmt: skip
    arrived = (up > speed).any(axis=0)
    when = run.time[first + (up > speed).argmax(axis=0)][arrived]
    middle = (0.5 * (edges[1:] + edges[:-1]))[arrived]
    rise = float(np.polyfit(when, middle, 1)[0]) if len(set(when)) > 1 else np.inf
    return Front(middle, when, rise)


# ---- packings


def contact_numbers(world: World, state: State, margin: float = 1e-3) -> Ints:
    """The number of other bodies and boundaries that touch each body, (n,).

    margin: largest gap of bodies that touch, in units of the smallest half width.
    """
    found = find_contacts(world, state, state, margin * world.length_scale)
    n = world.count
    # Boundaries have negative numbers. The points of one manifold count once.
    pairs = np.unique(np.column_stack([found.first, found.second]), axis=0)
    counts: Ints = np.bincount(pairs[:, 0], minlength=n)
    return counts + np.bincount(pairs[pairs[:, 1] >= 0, 1], minlength=n)


def packing_fraction(position: Floats, volume: Floats | float, low: Floats, high: Floats) -> float:
    """Volume of the bodies whose centers lie between the corners `low` and `high`, over the volume of that box.

    Choose the box inside of the packing, a few diameters from its walls and its surface.
    """
    inside = ((position >= low) & (position < high)).all(axis=1)
    room = float(np.prod(np.asarray(high, float) - np.asarray(low, float)))
    if room <= 0.0:
        raise ProblemError("high", high, "larger than low in every component")
    return float(np.broadcast_to(volume, len(position))[inside].sum()) / room

"""What colors tell about bodies: quantities of a run, color maps that color-blind eyes can read, legends.

Pictures, films and viewers share this, so that a color means the same in all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError

if TYPE_CHECKING:
    from ..trajectory import Trajectory

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

SAMPLES = 60  # frames from which limits are taken
TOP = 0.995  # part of the free bodies, over all of these frames, that stays below the upper limit
TOUCHING = 1e-3  # gap, in the smallest radius or half width, up to which bodies count as touching
FIXED = (200, 204, 211)  # bodies that nothing can push
LEGEND = 8  # categories that a legend lists

# Every sixteenth color of the tables by S. van der Walt and N. Smith (viridis) and by J. R. Nunez, C. R. Anderton and
# R. S. Renslow (cividis, 2018): lightness grows evenly in both, with and without all three kinds of cones.
_TABLES = {
    "viridis": "44015448186a472d7b4240863b528b33638d2c728e26828e21918c1fa08828ae803fbc735ec96284d44baddc30d8e219fde725",
    "cividis": "00224e002e6a1a386f32436d434e6c535a6d61656f6f70737d7c788c88789b9476aba072bcae6ccdbb63dec958f0d846fee838",
}
DEFAULT_MAP = "soft"
# Okabe and Ito (2008): the soft ones first, because they cover areas. Neither black nor gray, which mean other things.
PALETTE: Bytes = np.array(
    [[86, 180, 233], [230, 159, 0], [0, 158, 115], [204, 121, 167], [213, 94, 0], [0, 114, 178], [240, 228, 66]],
    np.uint8,
)


# ---- color maps


def _table(name: str) -> Floats:
    anchors = np.frombuffer(bytes.fromhex(_TABLES[name]), np.uint8).reshape(-1, 3)
    knots, at = np.linspace(0.0, 1.0, len(anchors)), np.linspace(0.0, 1.0, 256)
    return np.stack([np.interp(at, knots, anchors[:, k]) for k in range(3)], axis=1)


def _soft() -> Floats:
    """Viridis without its darkest sixth and a little paler: areas of it stay quiet, thin dark lines are seen on them,
    and shade does not blacken them."""
    whole = _table("viridis")
    at = np.linspace(0.16, 1.0, 256) * 255.0
    part = np.stack([np.interp(at, np.arange(256.0), whole[:, k]) for k in range(3)], axis=1)
    return part + 0.22 * (255.0 - part)


MAPS: dict[str, Bytes] = {
    name: np.round(table).astype(np.uint8)  # (256, 3) sRGB
    for name, table in (("soft", _soft()), ("viridis", _table("viridis")), ("cividis", _table("cividis")))
}


def colors(values: Floats, low: float, high: float, map: str = DEFAULT_MAP) -> Bytes:
    """(n,) values as (n, 3) sRGB bytes: `low` and below is the map's dark end, `high` and above its bright one."""
    if map not in MAPS:
        raise ProblemError.unknown("color map", map, MAPS)
    share = (np.asarray(values, dtype=np.float64) - low) / ((high - low) or 1.0)
    index = np.nan_to_num(255.0 * share.clip(0.0, 1.0)).round().astype(np.intp)
    return MAPS[map][index]


def category_colors(values: NDArray[Any]) -> Bytes:
    """(n,) whole numbers as (n, 3) sRGB bytes, from a palette that repeats."""
    return PALETTE[np.asarray(values, dtype=np.intp) % len(PALETTE)]


# ---- quantities


@dataclass(frozen=True)
class Quantity:
    """Something that colors can tell: `values(run, frame)` gives (n,) numbers, one for each body."""

    name: str
    title: str
    unit: str  # empty for counts and names; times, lengths and masses have no units of their own in a scene
    values: Callable[[Trajectory, int], Floats]
    category: bool = False  # numbers that name things: neither larger nor smaller
    whole: bool = False  # counts
    steady: bool = False  # the same in every frame

    @property
    def label(self) -> str:
        """For an axis: title and unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


class _Fixed:
    """What does not change in a run, read once: its file is compressed."""

    def __init__(self, run: Trajectory) -> None:
        geometry = run.geometry
        self.mass: Floats = np.asarray(geometry["mass"], dtype=np.float64)
        self.inertia: Floats = np.asarray(geometry["inertia"], dtype=np.float64)
        self.free: NDArray[np.bool_] = np.asarray(geometry["free"], dtype=bool)
        self.group: NDArray[np.int64] = np.asarray(geometry["group"], dtype=np.int64)
        self.depth: Floats | None = None


_known: WeakKeyDictionary[Trajectory, _Fixed] = WeakKeyDictionary()


def _fixed(run: Trajectory) -> _Fixed:
    if run not in _known:
        _known[run] = _Fixed(run)
    return _known[run]


def speed(run: Trajectory, frame: int) -> Floats:
    """|v| of the center of mass."""
    return np.asarray(np.sqrt((run.velocities[frame] ** 2).sum(axis=-1)))


def kinetic_energy(run: Trajectory, frame: int) -> Floats:
    """m |v|^2 / 2 + w . I w / 2; 0 for bodies that nothing can push, whose mass is without bound."""
    fixed = _fixed(run)
    moving = 0.5 * fixed.mass * (run.velocities[frame] ** 2).sum(axis=-1)
    turning = 0.5 * fixed.inertia * np.asarray(run.spins[frame]) ** 2
    with np.errstate(invalid="ignore"):
        total = moving + (turning.sum(axis=-1) if turning.ndim == 2 else turning)
    return np.where(fixed.free & np.isfinite(total), total, 0.0)


def body(run: Trajectory, frame: int) -> Floats:
    """The number of each body."""
    return np.arange(run.count, dtype=np.float64)


def group(run: Trajectory, frame: int) -> Floats:
    """The group of the scene that each body belongs to, by number."""
    return _fixed(run).group.astype(np.float64)


def contact_count(run: Trajectory, frame: int) -> Floats:
    """How many contacts each body has: pairs, and pairs with boundaries, that touch to a thousandth of a radius.

    Boxes that lie on each other have two contacts in the plane and up to eight in space, one at each corner.
    """
    from ..contact.find import find_contacts

    state, world = run.frame(frame), run.world
    found = find_contacts(world, state, state, TOUCHING * world.length_scale)
    out = np.bincount(found.first, minlength=run.count)
    return (out + np.bincount(found.second[found.second >= 0], minlength=run.count)).astype(np.float64)


def depth_at_rest(run: Trajectory, frame: int) -> Floats:
    """How far below the highest body each one lies when all is at rest, the same in every frame: a body keeps the
    color of its layer while layers mix.

    At rest means in the first frame, if things touch there; else, if all start in the air, in the last.
    """
    fixed = _fixed(run)
    if fixed.depth is None:
        height = run.positions[_resting_frame(run)] @ _upward(run)
        fixed.depth = float(height[fixed.free].max(initial=-np.inf) if fixed.free.any() else height.max()) - height
    return np.where(fixed.free, fixed.depth, 0.0)


def _resting_frame(run: Trajectory) -> int:
    free = _fixed(run).free
    touching = int((contact_count(run, 0)[free] > 0).sum())
    return 0 if 2 * touching >= int(free.sum()) else len(run) - 1


def _upward(run: Trajectory) -> Floats:
    gravity = np.asarray(run.world.gravity, dtype=np.float64)
    size = float(np.linalg.norm(gravity))
    if size > 0.0:
        return -gravity / size
    return np.eye(run.dimension)[-1]


QUANTITIES: dict[str, Quantity] = {
    q.name: q
    for q in (
        Quantity("speed", "speed", "length / time", speed),
        Quantity("body", "body", "", body, category=True, steady=True),
        Quantity("group", "group", "", group, category=True, steady=True),
        Quantity("depth", "depth at rest", "length", depth_at_rest, steady=True),
        Quantity("energy", "kinetic energy", "mass · length² / time²", kinetic_energy),
        Quantity("contacts", "contacts", "", contact_count, whole=True),
    )
}


def quantity(name: str) -> Quantity:
    """The quantity of that name; a clear error for others."""
    if name not in QUANTITIES:
        raise ProblemError.unknown("color", name, QUANTITIES)
    return QUANTITIES[name]


# ---- colors of a run


@dataclass(frozen=True, eq=False)
class Legend:
    """What explains the colors. A scale has a bar, `colors` (256, 3) from low to high, with ticks at `places` from 0
    to 1 along it; categories have one color for each label."""

    title: str
    labels: list[str]
    colors: Bytes
    places: list[float] | None = None  # None for categories


@dataclass(frozen=True, eq=False)
class Coloring:
    """The colors of a run's bodies by one quantity, on one scale for all frames."""

    run: Trajectory
    quantity: Quantity
    map: str = DEFAULT_MAP
    limits: tuple[float, float] | None = None  # None: from the run

    @classmethod
    def of(cls, run: Trajectory, name: str = "speed", map: str = DEFAULT_MAP) -> Coloring:
        if map not in MAPS:
            raise ProblemError.unknown("color map", map, MAPS)
        return cls(run, quantity(name), map)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Values at the two ends of the scale."""
        return limits(self.run, self.quantity) if self.limits is None else self.limits

    def values(self, frame: int) -> Floats:
        return self.quantity.values(self.run, frame)

    def rgb(self, frame: int) -> Bytes:
        """(n, 3) sRGB bytes; bodies that nothing can push are gray."""
        return self.painted(self.values(frame))

    def painted(self, values: Floats) -> Bytes:
        """The colors of values (n,) of all bodies."""
        out = category_colors(values) if self.quantity.category else colors(values, *self.range, self.map)
        out[~_fixed(self.run).free] = FIXED
        return out

    @cached_property
    def legend(self) -> Legend:
        q = self.quantity
        if q.category:
            return _categories(self.run, q)
        low, high = self.range
        at = ticks(low, high, whole=q.whole)
        labels = [_tick_label(v, at) for v in at]
        return Legend(q.label, labels, MAPS[self.map], [(v - low) / ((high - low) or 1.0) for v in at])


def limits(run: Trajectory, quantity: Quantity) -> tuple[float, float]:
    """From 0 to what nearly all free bodies stay below, over a sample of the run's frames.

    Speeds and energies where gravity acts: at least those after a fall by a thousandth of a radius, so that what rests
    looks at rest. A few bodies that are faster than all others do not take the colors from the rest.
    """
    free = _fixed(run).free
    if not free.any():
        return 0.0, 1.0
    count = 1 if quantity.steady else min(SAMPLES, len(run))
    chosen = np.unique(np.linspace(0, len(run) - 1, count).round().astype(int)).tolist()
    values = np.concatenate([quantity.values(run, i)[free] for i in chosen])
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    if quantity.steady or quantity.whole:
        return 0.0, float(values.max()) or 1.0
    return 0.0, max(float(np.quantile(values, TOP)), _smallest(run, quantity)) or 1.0


def _smallest(run: Trajectory, quantity: Quantity) -> float:
    world = run.world
    fall = 2.0 * float(np.linalg.norm(world.gravity)) * 1e-3 * float(world.length_scale)  # speed squared
    if quantity.name == "speed":
        return float(np.sqrt(fall))
    return 0.5 * float(np.median(world.mass[world.free])) * fall if quantity.name == "energy" else 0.0


def _categories(run: Trajectory, quantity: Quantity) -> Legend:
    values = np.unique(quantity.values(run, 0).astype(int))
    if quantity.name == "group":
        names = [bodies.name or f"group {k}" for k, bodies in enumerate(run.scene.bodies)]
        labels = [names[v] if v < len(names) else f"group {v}" for v in values]
    else:
        labels = [f"{v}" for v in values]
    if len(labels) > LEGEND:
        labels, values = [*labels[: LEGEND - 1], "…"], values[:LEGEND]
    return Legend(quantity.label, labels, category_colors(values))


def ticks(low: float, high: float, count: int = 4, whole: bool = False) -> list[float]:
    """About `count` round numbers from low to high; whole ones for counts."""
    width = high - low
    if not width > 0.0 or not np.isfinite(width):
        return [low]
    power = 10.0 ** np.floor(np.log10(width / count))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if width / (m * power) <= count + 1e-9)
    step = 0.5 * step if width < 2.0 * step - 1e-9 else step  # two ticks alone tell little
    step = max(1.0, round(step)) if whole else step
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(k * step) for k in range(first, last + 1)]


def _tick_label(value: float, ticks: list[float]) -> str:
    """As many digits as tell the ticks apart."""
    largest = max(abs(v) for v in ticks)
    if largest and not 1e-3 <= largest < 1e5:
        return f"{value:.2g}"
    step = ticks[1] - ticks[0] if len(ticks) > 1 else largest or 1.0
    digits = next((d for d in range(6) if abs(step * 10.0**d - round(step * 10.0**d)) < 1e-6), 6)
    return f"{value:,.{digits}f}"

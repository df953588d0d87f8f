"""Colors of bodies by a quantity: the quantities of a run, color maps, legends.

All back ends share this table, so that a color has the same meaning in figures, films, the viewer and the play page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import matplotlib
import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..scenes.views import view_of

if TYPE_CHECKING:
    from ..trajectory import Trajectory

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

SAMPLES = 60  # frames from which the limits of a scale are taken
TOP = 0.995  # quantile of the values of free bodies, over these frames, at the upper limit
TOUCHING = 1e-3  # gap up to which bodies count as touching, relative to the length scale of the world
FIXED = (200, 204, 211)  # bodies that are not free
RESTING_SAMPLES, RESTING_TRIALS = 200, 20  # frames among which the frame at rest is sought; calmest ones examined
LEGEND = 8  # largest number of categories in a legend
REST_FALL = 1e-3  # height of a fall, relative to the length scale: slower bodies have the color of rest
SOFT_START, SOFT_WHITE = 0.16, 0.22  # the map "soft": start within viridis, share of white

DEFAULT_MAP = "soft"
# Okabe and Ito (2008), the soft colors first, because they fill areas; without black and gray, which mean other things.
PALETTE: Bytes = np.array(
    [[86, 180, 233], [230, 159, 0], [0, 158, 115], [204, 121, 167], [213, 94, 0], [0, 114, 178], [240, 228, 66]],
    np.uint8,
)


# ---- color maps


def _table(name: str, start: float = 0.0) -> Floats:
    """(256, 3) the colors of a Matplotlib color map from `start` on, 0 to 255."""
    return 255.0 * np.asarray(matplotlib.colormaps[name](np.linspace(start, 1.0, 256)))[:, :3]


def _soft() -> Floats:
    """Viridis without its darkest sixth and mixed with white: dark outlines and shading stay visible on it."""
    part = _table("viridis", SOFT_START)
    return part + SOFT_WHITE * (255.0 - part)


MAPS: dict[str, Bytes] = {
    name: np.round(table).astype(np.uint8)  # (256, 3) sRGB
    for name, table in (("soft", _soft()), ("viridis", _table("viridis")), ("cividis", _table("cividis")))
}


def colors(values: Floats, low: float, high: float, map: str = DEFAULT_MAP) -> Bytes:
    """Values (n,) as (n, 3) sRGB bytes, from the dark end of the map at `low` to its bright end at `high`."""
    if map not in MAPS:
        raise ProblemError.unknown("color map", map, MAPS)
    share = (np.asarray(values, dtype=np.float64) - low) / ((high - low) or 1.0)
    index = np.nan_to_num(255.0 * share.clip(0.0, 1.0)).round().astype(np.intp)
    return MAPS[map][index]


def category_colors(values: NDArray[Any]) -> Bytes:
    """Integers (n,) as (n, 3) sRGB bytes, from a palette that repeats."""
    return PALETTE[np.asarray(values, dtype=np.intp) % len(PALETTE)]


# ---- quantities


@dataclass(frozen=True)
class Quantity:
    """A quantity that colors show: `values(run, frame)` returns (n,) numbers, one per body."""

    name: str
    title: str
    unit: str  # empty for counts and categories
    values: Callable[[Trajectory, int], Floats]
    category: bool = False  # the numbers are labels without order
    whole: bool = False  # the numbers are counts
    steady: bool = False  # the same in every frame
    signed: bool = False  # the scale does not start at 0

    @property
    def label(self) -> str:
        """Title and unit, for an axis."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


class _Fixed:
    """The constant arrays of a run, read once because the file is compressed."""

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
    """|v| of the center of mass, (n,)."""
    return np.asarray(np.sqrt((run.velocities[frame] ** 2).sum(axis=-1)))


def kinetic_energy(run: Trajectory, frame: int) -> Floats:
    """m |v|^2 / 2 + w . I w / 2, (n,); 0 for bodies that are not free, whose mass is infinite."""
    fixed = _fixed(run)
    moving = 0.5 * fixed.mass * (run.velocities[frame] ** 2).sum(axis=-1)
    turning = 0.5 * fixed.inertia * np.asarray(run.spins[frame]) ** 2
    with np.errstate(invalid="ignore"):
        total = moving + turning.reshape(len(moving), -1).sum(axis=1)
    return np.where(fixed.free & np.isfinite(total), total, 0.0)


def body(run: Trajectory, frame: int) -> Floats:
    """The index of each body, (n,)."""
    return np.arange(run.count, dtype=np.float64)


def group(run: Trajectory, frame: int) -> Floats:
    """The index of the group in `scene.groups` that each body belongs to, (n,)."""
    return _fixed(run).group.astype(np.float64)


def contact_count(run: Trajectory, frame: int) -> Floats:
    """The number of contacts of each body with bodies and boundaries, (n,), up to a gap of TOUCHING.

    A manifold counts each of its contacts: boxes that lie on each other have two in 2D and up to eight in 3D.
    """
    from ..contact.detector import find_contacts

    state, world = run.frame(frame), run.world
    found = find_contacts(world, state, state, TOUCHING * world.length_scale)
    out = np.bincount(found.first, minlength=run.count)
    return (out + np.bincount(found.second[found.second >= 0], minlength=run.count)).astype(np.float64)


def depth_at_rest(run: Trajectory, frame: int) -> Floats:
    """Depth of each body below the highest one at rest, (n,). A body keeps the color of its layer while layers mix.

    The frame at rest is the first one if at least half of the free bodies have contacts there; else, of the frames
    where they do, the one with the least kinetic energy.
    """
    fixed = _fixed(run)
    if fixed.depth is None:
        height = run.positions[_resting_frame(run)] @ _upward(run)
        fixed.depth = float(height[fixed.free].max(initial=-np.inf) if fixed.free.any() else height.max()) - height
    return np.where(fixed.free, fixed.depth, 0.0)


def _resting_frame(run: Trajectory) -> int:
    chosen = np.unique(np.linspace(0, len(run) - 1, RESTING_SAMPLES).round().astype(int))
    energy = [float(kinetic_energy(run, k).sum()) for k in chosen.tolist()]
    calmest = chosen[np.argsort(energy, kind="stable")][:RESTING_TRIALS].tolist()
    return next((k for k in (0, *calmest) if _touching(run, k)), len(run) - 1)


def _touching(run: Trajectory, frame: int) -> bool:
    """Whether at least half of the free bodies have contacts."""
    free = _fixed(run).free
    return 2 * int((contact_count(run, frame)[free] > 0).sum()) >= int(free.sum())


def _upward(run: Trajectory) -> Floats:
    gravity = np.asarray(run.world.gravity, dtype=np.float64)
    size = float(np.linalg.norm(gravity))
    if size > 0.0:
        return -gravity / size
    return np.eye(run.dimension)[-1]


def height(run: Trajectory, frame: int) -> Floats:
    """Height of each center, (n,), against gravity; without gravity along the last axis."""
    return np.asarray(run.positions[frame] @ _upward(run), dtype=np.float64)


QUANTITIES: dict[str, Quantity] = {
    q.name: q
    for q in (
        Quantity("speed", "speed", "length / time", speed),
        Quantity("body", "body", "", body, category=True, steady=True),
        Quantity("group", "group", "", group, category=True, steady=True),
        Quantity("depth", "depth at rest", "length", depth_at_rest, steady=True),
        Quantity("height", "height", "length", height, signed=True),
        Quantity("energy", "kinetic energy", "mass · length² / time²", kinetic_energy),
        Quantity("contacts", "contacts", "", contact_count, whole=True),
    )
}


def quantity(name: str) -> Quantity:
    """The quantity of that name; raises ProblemError for other names."""
    if name not in QUANTITIES:
        raise ProblemError.unknown("color", name, QUANTITIES)
    return QUANTITIES[name]


def usual_quantity(run: Trajectory) -> str:
    """The quantity that colors show by default, in films, stills, the viewer and the play page.

    It is that of the scene's view if it has one; else the depth at rest, because speeds would give a settled pile one
    color. Where bodies do not lie on each other under gravity, or come and go, it is the speed instead of the depth.
    """
    try:
        chosen = view_of(run.scene).color
        if chosen not in (None, "depth") or run.changes or not np.any(run.world.gravity):
            return chosen or "speed"
        depth = depth_at_rest(run, 0)[_fixed(run).free]
    except ProblemError:  # the scene contains a Python function, which a file does not store
        return "speed"
    return "depth" if len(depth) and np.ptp(depth) > float(run.world.length_scale) else "speed"


# ---- colors of a run


@dataclass(frozen=True, eq=False)
class Legend:
    """The legend of a coloring. A scale is a bar of `colors` (256, 3), from low to high, with ticks at `places` from 0
    to 1 along it. Categories have one color per label."""

    title: str
    labels: list[str]
    colors: Bytes
    places: list[float] | None = None  # None for categories


@dataclass(frozen=True, eq=False)
class Coloring:
    """The colors of the bodies of a run by one quantity, on one scale for all frames."""

    run: Trajectory
    quantity: Quantity
    map: str = DEFAULT_MAP
    limits: tuple[float, float] | None = None  # None: from the run

    @classmethod
    def of(cls, run: Trajectory, name: str | None = None, map: str = DEFAULT_MAP, frame: int | None = None) -> Coloring:
        """The coloring by a quantity, None for the usual one; with `frame` the scale of a signed quantity is its."""
        if map not in MAPS:
            raise ProblemError.unknown("color map", map, MAPS)
        chosen = quantity(usual_quantity(run) if name is None else name)
        alone = frame is not None and chosen.signed
        return cls(run, chosen, map, limits(run, chosen, frame) if alone else None)

    @cached_property
    def range(self) -> tuple[float, float]:
        """The values at the two ends of the scale."""
        return limits(self.run, self.quantity) if self.limits is None else self.limits

    def values(self, frame: int) -> Floats:
        return self.quantity.values(self.run, frame)

    def rgb(self, frame: int) -> Bytes:
        """The colors in a frame, (n, 3) sRGB bytes; bodies that are not free are gray."""
        return self.painted(self.values(frame))

    def painted(self, values: Floats) -> Bytes:
        """The colors of given values (n,) of all bodies."""
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


def limits(run: Trajectory, quantity: Quantity, frame: int | None = None) -> tuple[float, float]:
    """The limits of a scale: from 0 to the quantile TOP of the values of free bodies over a sample of the frames.

    The scale of a signed quantity starts at the quantile 1 - TOP. With `frame`, this is the only one.

    A few bodies that are much faster than the others do not compress the scale. Where gravity acts, the upper limit of
    speed and energy is at least that after a fall by REST_FALL, so that bodies at rest have one color.
    """
    free = _fixed(run).free
    if not free.any():
        return 0.0, 1.0
    count = 1 if quantity.steady else min(SAMPLES, len(run))
    chosen = np.unique(np.linspace(0, len(run) - 1, count).round().astype(int)).tolist() if frame is None else [frame]
    values = np.concatenate([quantity.values(run, i)[free] for i in chosen])
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    if quantity.steady or quantity.whole:
        return 0.0, float(values.max()) or 1.0
    if quantity.signed:
        return float(np.quantile(values, 1.0 - TOP)), float(np.quantile(values, TOP))
    return 0.0, max(float(np.quantile(values, TOP)), _smallest(run, quantity)) or 1.0


def common_limits(runs: Sequence[Trajectory], quantity: Quantity) -> tuple[float, float]:
    """The limits of one scale for several runs."""
    own = [_own_limits(run, quantity) for run in runs]
    return min(low for low, _ in own), max(high for _, high in own)


def _own_limits(run: Trajectory, quantity: Quantity) -> tuple[float, float]:
    try:
        return limits(run, quantity)
    except ProblemError:  # the scene contains a Python function, which a file does not store: use the frames alone
        chosen = range(0, len(run), max(1, len(run) // 20))
        return 0.0, max(float(quantity.values(run, i).max(initial=0.0)) for i in chosen) or 1.0


def _smallest(run: Trajectory, quantity: Quantity) -> float:
    world = run.world
    fall = 2.0 * float(np.linalg.norm(world.gravity)) * REST_FALL * float(world.length_scale)  # speed squared
    if quantity.name == "speed":
        return float(np.sqrt(fall))
    return 0.5 * float(np.median(world.mass[world.free])) * fall if quantity.name == "energy" else 0.0


def _categories(run: Trajectory, quantity: Quantity) -> Legend:
    found, free = quantity.values(run, 0).astype(int), _fixed(run).free
    values = np.unique(found)
    if quantity.name == "group":
        names = [bodies.name or f"group {k}" for k, bodies in enumerate(run.scene.groups)]
        labels = [names[v] if v < len(names) else f"group {v}" for v in values]
    else:
        labels = [f"{v}" for v in values]
    if len(labels) > LEGEND:
        labels, values = [*labels[: LEGEND - 1], "…"], values[:LEGEND]
    shown = category_colors(values)
    shown[~np.isin(values, found[free])] = FIXED  # as the bodies
    return Legend(quantity.label, labels, shown)


def ticks(low: float, high: float, count: int = 4, whole: bool = False) -> list[float]:
    """About `count` round numbers from `low` to `high`; integers if `whole`."""
    width = high - low
    if not width > 0.0 or not np.isfinite(width):
        return [low]
    power = 10.0 ** np.floor(np.log10(width / count))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if width / (m * power) <= count + 1e-9)
    step = 0.5 * step if width < 2.0 * step - 1e-9 else step  # at least three ticks
    step = max(1.0, round(step)) if whole else step
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(k * step) for k in range(first, last + 1)]


def _tick_label(value: float, ticks: list[float]) -> str:
    """A number with as many digits as distinguish the ticks."""
    largest = max(abs(v) for v in ticks)
    if largest and not 1e-3 <= largest < 1e5:
        return f"{value:.2g}"
    step = ticks[1] - ticks[0] if len(ticks) > 1 else largest or 1.0
    digits = next((d for d in range(6) if abs(step * 10.0**d - round(step * 10.0**d)) < 1e-6), 6)
    return f"{value:,.{digits}f}"

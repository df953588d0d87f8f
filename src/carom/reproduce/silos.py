"""Silos of discs: discharge through an outlet against Beverloo's law, wall pressure against Janssen's.

Sources. Discharge: Beverloo, Leniger, van de Velde, Chem. Eng. Sci. 15 (1961) 260; in 2D the exponent is 3/2 and the
outlet is narrowed by 1 to 2 diameters (Nedderman, Statics and kinematics of granular materials, 1992, ch. 10; Mankoc
and others, Granular Matter 9 (2007) 407). The constant for grains that fall freely from a semicircular arch over the
outlet is an integral over that arch. Wall pressure: Janssen, Z. Ver. dtsch. Ing. 39 (1895) 1045, for two parallel
walls: `p = rho g W / (2 mu) (1 - exp(-2 mu K z / W))`, with K the ratio of horizontal to vertical stress.

Units: the mean diameter of the grains, gravity, and the mass per area of a grain are 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gamma, pi, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import curve_fit

from ..analysis.sensors import Flow, mean_and_error
from ..draw.style import styled, write
from ..scene.boundaries import Plane, Segment
from ..scene.changes import Sink, Source
from ..scene.model import Bodies, Material, Scene
from ..scene.motion import Table
from ..scene.shapes import Disc
from ..solvers.rows import Floats
from ..stepwise import Simulation
from .evidence import Case, Evidence, Row, claim

RADII = (0.45, 0.55)  # of grains, evenly distributed: equal discs would crystallize
STEP = 0.02  # grains fall 2e-4 diameters in the first step
FRICTION, RESTITUTION = 0.5, 0.5
# Of a column: walls are smoother than grains. On walls as rough as themselves discs roll: friction is not mobilized.
WALL_FRICTION, GRAIN_FRICTION = 0.25, 0.8
# Discharge of grains that fall freely from a semicircular arch: C = sqrt(2) / 2^(3/2) times the integral of
# (1 - x^2)^(1/4) from -1 to 1.
FREE_FALL_ARCH = 0.5 * sqrt(pi) * gamma(1.25) / gamma(1.75)
NARROWING = (1.0, 2.0)  # published range of k, in diameters
EXPONENT_BOUND = 0.15  # deviation of the exponent from 3/2 that counts as agreement, or two standard errors
PRESSURE_BOUND = 0.1  # relative deviation of the saturated wall pressure from Janssen's


def _grains(count: int, width: float, bottom: float, seed: int) -> tuple[Floats, Floats]:
    """Radii and places of grains on a loose grid between walls at +-width / 2."""
    chance = np.random.default_rng(seed)
    columns = int((width - 0.2) / 1.15)
    row, column = np.divmod(np.arange(count), columns)
    gap = (width - 0.2) / columns
    place = np.stack([-0.5 * width + 0.1 + (column + 0.5) * gap, bottom + 0.6 + 1.15 * row], axis=1)
    return chance.uniform(*RADII, count), place + chance.uniform(-0.02, 0.02, place.shape)


# ---- Beverloo


class Discharge(NamedTuple):
    """What was measured at one outlet."""

    outlet: float  # in diameters
    rate: float  # mass per unit of time
    error: float  # standard error of it
    density: float  # mass per area in the silo
    filling: float  # share of the middle half of the outlet that grains cover, on average
    speed: float  # of these grains


def silo(outlet: float, width: float, grains: int, seed: int = 0) -> Scene:
    """A silo with a flat bottom, from which grains run out; those that have left it are poured in again at the top."""
    radius, place = _grains(grains, width, 0.0, seed)
    half, top = 0.5 * width, float(place[:, 1].max()) + 6.0
    return Scene(
        name="silo",
        bodies=[Bodies(Disc(radius), place, name="grains")],
        boundaries=[
            *(Segment((side * half, 0.0), (side * 0.5 * outlet, 0.0)) for side in (-1.0, 1.0)),
            *(Plane((side * half, 0.0), (-side, 0.0)) for side in (-1.0, 1.0)),
        ],
        materials={"default": Material(RESTITUTION, FRICTION)},
        gravity=(0.0, -1.0),
        sources=[Source("grains", (-half + 1.0, top - 4.0), (half - 1.0, top), velocity=(0.0, -1.0), seed=seed)],
        sinks=[Sink(upper=(half, -2.0))],
        step=STEP,
        stepper="substepped",
        description=f"{grains} discs run out through {outlet:g} diameters and are poured in again.",
    )


def run_discharge(
    case: Case,
    outlets: Sequence[float] = (7.0, 9.0, 11.0, 13.5, 16.0),
    width: float = 48.0,
    grains: int = 2200,
    settle: float = 40.0,
    measure: float = 80.0,
) -> Evidence:
    """Discharge of a silo over the width of its outlet: exponent and constants of Beverloo's law with their errors."""
    found = [_discharge(part, d, width, grains, settle, measure) for part, d in case.each(outlets)]
    d, w = np.array([f.outlet for f in found]), np.array([f.rate / f.density for f in found])
    errors = np.array([f.error / f.density for f in found])
    (c, k), wide = _fitted(lambda d, c, k: c * np.maximum(d - k, 1e-9) ** 1.5, d, w, errors, (1.0, 1.4))
    free = _fitted(lambda d, c, k, n: c * np.maximum(d - k, 1e-9) ** n, d, w, errors, (c, k, 1.5))
    n, spread = float(free[0][2]), float(free[1][2])
    c, k = float(c), float(k)
    rows = (
        Row("exponent of the width of the outlet", 1.5, n, holds=abs(n - 1.5) <= max(2.0 * spread, EXPONENT_BOUND),
            remark=f"standard error {spread:.2g}, fitted together with both constants"),
        Row("narrowing k of the outlet", "1 to 2", k, "diameters", _within(k, NARROWING, wide[1]),
            f"standard error {wide[1]:.2g}, with the exponent 3/2; {_why_narrow(found)}"),
        Row("constant C", FREE_FALL_ARCH, c, remark=f"standard error {wide[0]:.2g}; beside it free fall from a "
            "semicircular arch"),
        *(Row(f"discharge through {f.outlet:g} diameters", None, f.rate, "mass / time",
              remark=f"standard error {f.error:.2g}, mass per area {f.density:.3f}; in the middle of the outlet "
              f"{100 * f.filling:.0f} % filled, speed {f.speed / sqrt(f.outlet):.2f} sqrt(g D)") for f in found),
    )  # fmt: skip
    findings = (f"W = {c:.3f} rho sqrt(g) (D - {k:.2f} d)^(3/2); with a free exponent {n:.2f} +- {spread:.2f}",)
    parameters = {"grains": grains, "width": width, "friction": FRICTION, "law": "gr"}
    return Evidence(rows, _draw_discharge(case.out, found, (c, k)), findings, parameters)


def _why_narrow(found: Sequence[Discharge]) -> str:
    """What the middle of the narrowest and of the widest outlet tells about the narrowing."""
    few, many = (sorted(found, key=lambda f: f.outlet)[k] for k in (0, -1))
    filled = f"{100 * few.filling:.0f} and {100 * many.filling:.0f} % filled"
    speeds = f"{few.speed / sqrt(few.outlet):.2f} and {many.speed / sqrt(many.outlet):.2f} sqrt(g D)"
    shares = [f.rate / (f.filling * f.speed * f.outlet) for f in (few, many)]  # 1 - margin / D, times a constant
    margin = (shares[1] - shares[0]) / (shares[1] / few.outlet - shares[0] / many.outlet)
    return (
        f"outlets of {few.outlet:g} and {many.outlet:g} diameters are {filled} in the middle, with speeds of {speeds}. "
        f"Grains in narrow outlets are more dilute and slower. The margin that stays empty is {margin:.1f} wide"
    )


def _fitted(law: object, x: Floats, y: Floats, error: Floats, start: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Parameters of a law that fit y(x), and their standard errors, by the scatter about the fit if that is larger."""
    best, covariance = curve_fit(law, x, y, start, sigma=error, absolute_sigma=True)
    scaled = curve_fit(law, x, y, best, sigma=error)[1] if len(x) > len(start) else covariance
    return best, np.sqrt(np.maximum(np.diag(covariance), np.diag(scaled)))


def _within(value: float, bounds: tuple[float, float], error: float) -> bool:
    """Whether a value lies between bounds, up to two standard errors."""
    return bool(bounds[0] - 2.0 * error <= value <= bounds[1] + 2.0 * error)


def _discharge(case: Case, outlet: float, width: float, grains: int, settle: float, measure: float) -> Discharge:
    """Runs a silo into a steady state, then counts what passes its outlet."""
    sim = Simulation(silo(outlet, width, grains))
    steps, first = round((settle + measure) / STEP), round(settle / STEP)
    low, high = np.array([-0.4 * width, 2.0]), np.array([0.4 * width, 0.6 * grains / width])
    sensor, densities, crossed = None, [], []
    for k in range(steps):
        sim.step()
        if k + 1 == first:
            sensor = Flow(sim.world, np.zeros(2), np.array([0.0, -1.0]), sim.state)
        elif sensor is not None:
            sensor.add(sim.state, sim.impulses, STEP)
        if k >= first and k % 100 == 0:
            place = sim.state.position[sim.state.present]
            inside = ((place > low) & (place < high)).all(axis=1)
            densities.append(sim.world.mass[sim.state.present][inside].sum() / np.prod(high - low))
            case.tell((k + 1) / steps, f"outlet of {outlet:g} diameters")
        if k >= first and k % 5 == 0:
            crossed.append(_crossing(sim, 0.5 * outlet))
    assert sensor is not None
    rate, error = mean_and_error(sensor.series[:, 1])
    covered, swept = np.mean(crossed, axis=0)
    return Discharge(outlet, float(rate), float(error), float(np.mean(densities)), covered, swept / covered)


def _crossing(sim: Simulation, width: float) -> tuple[float, float]:
    """Share of the middle `width` of the outlet that grains cover, and the same times their downward speed."""
    place, radius = sim.state.position, sim.world.shapes.radius
    grains = np.flatnonzero(sim.state.present & (np.abs(place[:, 1]) < radius))
    half = np.sqrt(radius[grains] ** 2 - place[grains, 1] ** 2)
    ends = np.clip(np.stack([place[grains, 0] - half, place[grains, 0] + half]), -0.5 * width, 0.5 * width)
    share = (ends[1] - ends[0]) / width
    return float(share.sum()), float(-(share * sim.state.velocity[grains, 1]).sum())


def _draw_discharge(out: Path, found: Sequence[Discharge], law: tuple[float, float]) -> tuple[Path, ...]:
    d, w = np.array([f.outlet for f in found]), np.array([f.rate / f.density for f in found])
    bars, fine = np.array([f.error / f.density for f in found]), np.linspace(law[1], max(f.outlet for f in found) + 1)
    with styled(2, height=3.3) as (figure, (left, right)):
        left.errorbar(d, w, bars, fmt="o", color="C0", capsize=3, label="discs")
        left.plot(fine, law[0] * (fine - law[1]) ** 1.5, color="C1", label="Beverloo, exponent 3/2")
        left.set(xlabel="outlet (diameters)", ylabel="discharge / (rho sqrt(g))")
        left.legend()
        right.errorbar(d, w ** (2.0 / 3.0), 2.0 / 3.0 * w ** (-1.0 / 3.0) * bars, fmt="o", color="C0", capsize=3)
        right.plot(fine, law[0] ** (2.0 / 3.0) * (fine - law[1]), color="C1")
        right.set(xlabel="outlet (diameters)", ylabel="the same to the power 2/3", xlim=(0.0, None), ylim=(0.0, None))
        table = {name: [getattr(f, name) for f in found] for name in Discharge._fields}
        return write(figure, out, "silo_discharge", table)


# ---- Janssen


class Pressure(NamedTuple):
    """Stresses on both walls of one column, by depth below the top of the grains."""

    depth: Floats  # (b,) middle of each interval
    normal: Floats  # (b,) force per length
    shear: Floats  # (b,) upward force per length on the grains
    bottom: float  # force on the bottom
    weight: float
    density: float  # mass per area


def column(width: float, grains: int, seed: int, settle: float, lowering: float, distance: float) -> Scene:
    """Grains between two walls, on a bottom that is lowered slowly after a time, which mobilizes the friction."""
    radius, place = _grains(grains, width, 0.0, seed)
    times, half = (settle, settle + lowering), 0.5 * width
    motion = Table(times, (0.0, 0.0), (0.0, -distance))
    return Scene(
        name="column",
        bodies=[Bodies(Disc(radius), place, name="grains")],
        boundaries=[
            Plane((0.0, 0.0), (0.0, 1.0), motion=motion),
            *(Plane((side * half, 0.0), (-side, 0.0), material="wall") for side in (-1.0, 1.0)),
        ],
        materials={"default": Material(RESTITUTION, GRAIN_FRICTION), "wall": Material(RESTITUTION, WALL_FRICTION)},
        pairs={("default", "wall"): {"friction": WALL_FRICTION}},
        gravity=(0.0, -1.0),
        step=STEP,
        stepper="substepped",
        description=f"A column of {grains} discs, whose bottom is lowered.",
    )


def run_wall_pressure(
    case: Case,
    width: float = 8.0,
    grains: int = 900,
    seeds: int = 6,
    settle: float = 60.0,
    lowering: float = 80.0,
    distance: float = 1.0,
    bins: int = 12,
) -> Evidence:
    """Wall pressure of a column of grains over its depth, beside Janssen's law."""
    runs = [
        _wall_pressure(part, column(width, grains, seed, settle, lowering, distance), bins)
        for part, seed in case.each(range(seeds))
    ]
    depth = np.mean([r.depth for r in runs], axis=0)
    normal, shear = np.array([r.normal for r in runs]), np.array([r.shear for r in runs])
    density = float(np.mean([r.density for r in runs]))
    said = density * width / (2.0 * WALL_FRICTION)
    error = (
        np.maximum(normal.std(axis=0, ddof=1) / sqrt(seeds), 0.02 * said) if seeds > 1 else np.full(bins, 0.1 * said)
    )

    def law(z: Floats, top: float, ratio: float) -> Floats:
        return top * (1.0 - np.exp(-2.0 * WALL_FRICTION * ratio * z / width))

    each = np.array([_fitted(law, depth, r.normal, error, (said, 0.6))[0] for r in runs])
    top, ratio = (float(x) for x in each.mean(axis=0))
    wide = each.std(axis=0, ddof=1) / sqrt(seeds) if seeds > 1 else np.full(2, np.nan)
    deep = depth > 0.4 * depth.max()
    used = float((shear[:, deep].sum() / normal[:, deep].sum()) / WALL_FRICTION)
    carried = np.array([1.0 - r.bottom / r.weight for r in runs])
    height = float(depth.max() + 0.5 * (depth[1] - depth[0]))
    share = float(1.0 - law(np.array([height]), top, ratio)[0] / (ratio * density * height))
    bar = float(carried.std(ddof=1)) / sqrt(seeds) if seeds > 1 else float("nan")
    rows = (
        Row("wall pressure at depth, rho g W / (2 mu)", said, top, "force / length",
            abs(top / said - 1.0) <= PRESSURE_BOUND, f"standard error {wide[0]:.2g} over {seeds} columns"),
        Row("ratio K of horizontal to vertical stress", None, ratio,
            remark=f"standard error {wide[1]:.2g}; 0.3 in the active state at 30 degrees, 1 in a fluid"),
        Row("wall friction over its Coulomb bound", 1.0, used, holds=abs(used - 1.0) <= 0.1,
            remark="Janssen assumes that it is mobilized everywhere; in the deeper 60 %. With 0.5 for walls and grains "
            "it was 0.62: the values of this entry were chosen after that"),
        Row("share of the weight that the walls carry", share, float(carried.mean()),
            holds=abs(float(carried.mean()) - share) <= 0.05, remark=f"standard error {bar:.2g}; Janssen with this K"),
        claim("the pressure saturates: deepest third within 15 % of the middle third",
              abs(_third(normal, 2) / _third(normal, 1) - 1.0) <= 0.15),
    )  # fmt: skip
    findings = (
        f"the wall pressure saturates at {100 * (top / said - 1):+.1f} % of Janssen's value, with K = {ratio:.2f}",
    )
    parameters = {
        "grains": grains,
        "width": width,
        "wall friction": WALL_FRICTION,
        "friction": GRAIN_FRICTION,
        "bottom lowered by": distance,
        "law": "gr",
    }
    curve = (depth, normal.mean(axis=0), error, shear.mean(axis=0))
    return Evidence(rows, _draw_wall(case.out, curve, law(depth, top, ratio), said), findings, parameters)


def _third(values: Floats, number: int) -> float:
    return float(np.array_split(values.mean(axis=0), 3)[number].mean())


def _wall_pressure(case: Case, scene: Scene, bins: int) -> Pressure:
    """Lowers the bottom, and sums the impulses on the walls by depth in the second half of that motion."""
    sim, motion = Simulation(scene), scene.boundaries[0].motion
    assert isinstance(motion, Table)
    begin, end = motion.times
    first, steps = round(0.5 * (begin + end) / STEP), round(end / STEP)
    sums, bottom, span = np.zeros((2, bins)), 0.0, (steps - first) * STEP
    edges = np.zeros(bins + 1)
    for k in range(steps):
        sim.step()
        if k + 1 == first:
            top = float(np.sort(sim.state.position[:, 1])[-8:].mean()) + 0.5
            edges = np.linspace(0.0, top - float(sim.state.position[:, 1].min()) + 0.5, bins + 1)
        if k >= first:
            push = sim.impulses
            wall = (push.second == -2) | (push.second == -3)
            place = np.digitize(top - push.point[wall, 1], edges) - 1
            inside = (place >= 0) & (place < bins)
            upward = (push.normal_impulse * push.normal[:, 1] + push.tangent_impulse * push.normal[:, 0])[wall]
            np.add.at(sums[0], place[inside], push.normal_impulse[wall][inside])
            np.add.at(sums[1], place[inside], -upward[inside])  # impulses act on the boundary
            floor = push.second == -1
            down = push.normal_impulse * push.normal[:, 1] + push.tangent_impulse * push.normal[:, 0]
            bottom -= float(down[floor].sum())
        if k % 200 == 0:
            case.tell((k + 1) / steps, "column of grains")
    length = 2.0 * (edges[1] - edges[0]) * span  # of both walls, times the time
    weight = float(sim.world.mass.sum())
    width = float(sim.world.boundaries.point[2, 0] - sim.world.boundaries.point[1, 0])
    middle = 0.5 * (edges[1:] + edges[:-1])
    return Pressure(middle, sums[0] / length, sums[1] / length, bottom / span, weight, weight / (width * edges[-1]))


def _draw_wall(out: Path, curve: tuple[Floats, Floats, Floats, Floats], law: Floats, limit: float) -> tuple[Path, ...]:
    depth, normal, error, shear = curve
    with styled(2, height=3.3) as (figure, (left, right)):
        left.errorbar(normal, depth, xerr=error, fmt="o", color="C0", capsize=3, label="discs")
        left.plot(law, depth, color="C1", label="Janssen, fitted")
        left.axvline(limit, color="gray", linestyle="--", linewidth=0.8, label="rho g W / (2 mu)")
        left.set(xlabel="wall pressure", ylabel="depth (diameters)", xlim=(0.0, None))
        left.invert_yaxis()
        left.legend()
        right.plot(shear / np.maximum(normal, 1e-12), depth, "o", color="C0")
        right.axvline(WALL_FRICTION, color="gray", linestyle="--", linewidth=0.8)
        right.set(xlabel="wall friction over pressure", ylabel="depth (diameters)", xlim=(0.0, 1.2 * WALL_FRICTION))
        right.invert_yaxis()
        table = {"depth": depth, "pressure": normal, "error": error, "friction": shear, "Janssen": law}
        return write(figure, out, "silo_wall_pressure", table)

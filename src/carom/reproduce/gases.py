"""Gases of hard discs and spheres: pressure and mean free path against kinetic theory, cooling against Haff's law.

Sources. Equation of state of spheres: Carnahan and Starling, J. Chem. Phys. 51 (1969) 635; of discs: Henderson, Mol.
Phys. 30 (1975) 971. Rate of impacts: Enskog's theory, with the pair correlation at contact that belongs to the
equation of state (Chapman and Cowling, The mathematical theory of non-uniform gases, 1970, ch. 16). Cooling of a gas
with constant restitution: Haff, J. Fluid Mech. 134 (1983) 401; the rate by kinetic theory in the Gaussian
approximation: van Noije and Ernst, Granular Matter 1 (1998) 57.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log, pi, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..analysis.sensors import Stress
from ..draw.style import styled, write
from ..scene.boundaries import Periodic
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Disc, Sphere
from ..solvers.rows import Floats
from ..stepwise import Simulation
from ..world import State
from .evidence import Case, Evidence, Row

VOLUMES = {2: pi / 4.0, 3: pi / 6.0}  # of a ball of unit diameter


def gas(
    count: int, fraction: float, *, dimension: int = 3, restitution: float = 1.0, seed: int = 0, step: float = 0.5
) -> Scene:
    """Balls of unit diameter, mass and temperature at a volume fraction, on a lattice in a periodic box."""
    side = (count * VOLUMES[dimension] / fraction) ** (1.0 / dimension)
    cells = int(np.ceil(count ** (1.0 / dimension) - 1e-9))
    place = (np.stack(np.unravel_index(np.arange(count), (cells,) * dimension), axis=1) + 0.5) * (side / cells)
    velocity = np.random.default_rng(seed).normal(size=(count, dimension))
    velocity -= velocity.mean(axis=0)
    velocity *= sqrt(dimension * (count - 1) / float((velocity**2).sum()))
    shape = Disc(0.5) if dimension == 2 else Sphere(0.5)
    sides: dict[str, Any] = dict.fromkeys("xyz"[:dimension], (0.0, side))
    return Scene(
        name="gas",
        bodies=[Bodies(shape, place, velocity, mass=1.0, rotates=False)],
        materials={"default": Material(restitution)},
        periodic=Periodic(**sides),
        gravity=(0.0,) * dimension,
        stepper="time_of_impact",
        law="gr",
        step=step,
        description=f"{count} balls at volume fraction {fraction:g} and temperature 1.",
    )


def compressibility(fraction: Floats | float, dimension: int) -> Floats | float:
    """p V / (N k T) by the equation of Henderson (2D) or Carnahan and Starling (3D)."""
    if dimension == 2:
        return (1.0 + fraction**2 / 8.0) / (1.0 - fraction) ** 2
    return (1.0 + fraction + fraction**2 - fraction**3) / (1.0 - fraction) ** 3


def contact_value(fraction: float, dimension: int) -> float:
    """Pair correlation at contact that belongs to that equation: `Z = 1 + 2^(D-1) fraction chi`."""
    return float((compressibility(fraction, dimension) - 1.0) / (2.0 ** (dimension - 1) * fraction))


def impact_rate(fraction: float, dimension: int) -> float:
    """Impacts of one ball per unit of time at temperature, mass and diameter 1, by Enskog's theory."""
    density, chi = fraction / VOLUMES[dimension], contact_value(fraction, dimension)
    return (2.0 * density * chi * sqrt(pi)) if dimension == 2 else (4.0 * density * chi * sqrt(pi))


def mean_speed(dimension: int) -> float:
    """Mean speed of a ball at temperature and mass 1."""
    return sqrt(pi / 2.0) if dimension == 2 else sqrt(8.0 / pi)


def cooling_rate(fraction: float, dimension: int, restitution: float) -> float:
    """The rate of Haff's law `T = T0 / (1 + t / tau)^2`: 1 / tau = (1 - e^2) nu / (2 D), nu the rate of impacts.

    It is that of a gas whose velocities are normally distributed.
    """
    return (1.0 - restitution**2) * impact_rate(fraction, dimension) / (2.0 * dimension)


def sonine_factor(dimension: int, restitution: float) -> float:
    """`1 + 3 a2 / 16`, by which the rate differs from that of normally distributed velocities (van Noije and Ernst)."""
    e, d = restitution, dimension
    a2 = 16.0 * (1.0 - e) * (1.0 - 2.0 * e * e) / (9.0 + 24.0 * d + (8.0 * d - 41.0) * e + 30.0 * e * e * (1.0 - e))
    return 1.0 + 3.0 * a2 / 16.0


# ---- pressure and mean free path

PRESSURE_BOUND = 0.005  # relative deviation of the pressure from the equation of state
LATTICE_IMPACTS = 10.0  # impacts per ball after which the lattice of the start is forgotten
NAMES = {2: "discs", 3: "spheres"}


class GasPoint(NamedTuple):
    """What was measured at one volume fraction."""

    dimension: int
    fraction: float
    compressibility: float
    error: float  # standard error of it
    path: float  # mean free path, in diameters
    impacts: int


def run_pressure(
    case: Case,
    count: int = 4000,
    impacts: float = 400.0,
    fractions: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.45),
    dimensions: Sequence[int] = (2, 3),
) -> Evidence:
    """Pressure and mean free path of elastic gases over the volume fraction, beside kinetic theory.

    A thousand spheres at a fraction of 0.45 have a pressure that is 0.6 % too high, eight thousand 0.15 +- 0.17 %.
    """
    points = [
        _gas_point(part, count, impacts, fraction, dimension)
        for part, (dimension, fraction) in case.each([(d, f) for d in dimensions for f in fractions])
    ]
    rows = []
    for p in points:
        name, said = f"{NAMES[p.dimension]} at {p.fraction:g}", float(compressibility(p.fraction, p.dimension))
        off = abs(p.compressibility / said - 1.0)
        remark = f"standard error {p.error:.2g}, {p.impacts:,} impacts"
        rows.append(Row(f"{name}: p V / (N k T)", said, p.compressibility, holds=off <= PRESSURE_BOUND, remark=remark))
        free = mean_speed(p.dimension) / impact_rate(p.fraction, p.dimension)
        rows.append(Row(f"{name}: mean free path", free, p.path, "diameters"))
    worst = max(abs(p.compressibility / float(compressibility(p.fraction, p.dimension)) - 1.0) for p in points)
    findings = (f"the largest deviation of the pressure is {100.0 * worst:.2f} %",)
    return Evidence(tuple(rows), _draw_pressure(case.out, points), findings, {"balls": count, "law": "gr"})


def _gas_point(case: Case, count: int, impacts: float, fraction: float, dimension: int) -> GasPoint:
    """Runs a gas for a number of impacts per ball, in steps of four."""
    rate = impact_rate(fraction, dimension)
    h, steps, made = 4.0 / rate, max(2, round(impacts / 4.0)), 0
    sim = Simulation(gas(count, fraction, dimension=dimension, step=h))
    for _ in range(round(LATTICE_IMPACTS / 4.0)):
        sim.step()
    sensor = Stress(sim.world, count * VOLUMES[dimension] / fraction)
    for k in range(steps):
        sim.step()
        sensor.add(sim.state, sim.impulses, h)
        made += sim.report["rounds"]
        case.tell((k + 1) / steps, f"{NAMES[dimension]} at volume fraction {fraction:g}")
    pressure, error = sensor.pressure
    ideal = (count - 1) / sensor.volume  # at temperature 1; the momentum is zero
    speed = float(np.linalg.norm(sim.state.velocity, axis=1).mean())
    path = speed / (2.0 * made / (count * steps * h))
    return GasPoint(dimension, fraction, pressure / ideal, error / ideal, path, made)


def _draw_pressure(out: Path, points: Sequence[GasPoint]) -> tuple[Path, ...]:
    with styled(2, height=3.3) as (figure, (left, right)):
        for color, dimension in enumerate(sorted({p.dimension for p in points})):
            mine = [p for p in points if p.dimension == dimension]
            x, fine = np.array([p.fraction for p in mine]), np.linspace(0.01, max(p.fraction for p in mine) + 0.03, 100)
            z, said = np.array([p.compressibility for p in mine]), np.asarray(compressibility(x, dimension))
            name = "Henderson" if dimension == 2 else "Carnahan and Starling"
            left.plot(fine, compressibility(fine, dimension), color=f"C{color}", label=name)
            left.plot(x, z, "o", color=f"C{color}", label=NAMES[dimension])
            bars = 100.0 * np.array([p.error for p in mine]) / said
            right.errorbar(x, 100.0 * (z / said - 1.0), bars, fmt="o", color=f"C{color}", capsize=3)
        left.set(xlabel="volume fraction", ylabel="p V / (N k T)", yscale="log")
        left.legend()
        for bound in (-100.0 * PRESSURE_BOUND, 100.0 * PRESSURE_BOUND):
            right.axhline(bound, color="gray", linestyle="--", linewidth=0.8)
        right.axhline(0.0, color="gray", linewidth=0.8)
        right.set(xlabel="volume fraction", ylabel="deviation (%)")
        table = {name: [getattr(p, name) for p in points] for name in GasPoint._fields}
        return write(figure, out, "gas_pressure", table)


# ---- Haff's law


class Cooling(NamedTuple):
    """One run: times, temperatures, and what was fitted."""

    time: Floats
    temperature: Floats  # relative to that at the start
    rate: float  # 1 / tau of the fit `sqrt(T0 / T) = 1 + t / tau`
    exponent: float  # of `T ~ (1 + t / tau)^exponent`, on the last half of the logarithmic range


def run_cooling(
    case: Case,
    count: int = 2000,
    fraction: float = 0.1,
    restitution: float = 0.95,
    seeds: int = 5,
    duration: float = 20.0,
) -> Evidence:
    """A granular gas that cools: the fitted exponent and rate of Haff's law beside kinetic theory, over several runs.

    `duration` is in units of tau. The box is small enough for the gas to stay homogeneous.
    """
    gaussian = cooling_rate(fraction, 3, restitution)
    theory = gaussian * sonine_factor(3, restitution)
    parts = case.each(range(seeds))
    runs = [_cool(part, count, fraction, restitution, seed, duration / theory) for part, seed in parts]
    rates, exponents = np.array([r.rate for r in runs]), np.array([r.exponent for r in runs])
    error, wide = (float(x.std(ddof=1)) / sqrt(seeds) if seeds > 1 else float("nan") for x in (rates, exponents))
    rate, exponent = float(rates.mean()), float(exponents.mean())
    rows = (
        Row("exponent of T over 1 + t / tau", -2.0, exponent, holds=abs(exponent + 2.0) <= 0.05,
            remark=f"standard error {wide:.2g} over {seeds} runs"),
        Row("cooling rate 1 / tau", theory, rate, holds=abs(rate / theory - 1.0) <= 0.05,
            remark=f"standard error {error:.2g}; {gaussian:.4g} for normally distributed velocities"),
        Row("temperature at the end over that at the start", (1.0 + duration) ** -2, float(np.mean([r.temperature[-1]
            for r in runs]))),
    )  # fmt: skip
    off, bar = 100.0 * (rate / theory - 1.0), 100.0 * error / theory
    findings = (f"the cooling rate is {off:+.2f} % from kinetic theory, with a standard error of {bar:.2f} %",)
    parameters = {"balls": count, "volume fraction": fraction, "restitution": restitution, "law": "gr"}
    return Evidence(rows, _draw_cooling(case.out, runs, theory), findings, parameters)


def _cool(case: Case, count: int, fraction: float, restitution: float, seed: int, duration: float) -> Cooling:
    """A gas that is elastic until its lattice is forgotten, and then cools."""
    still = Simulation(gas(count, fraction, seed=seed, step=LATTICE_IMPACTS / impact_rate(fraction, 3)))
    still.step()
    steps = 200
    sim = Simulation(gas(count, fraction, restitution=restitution, seed=seed, step=duration / steps))
    sim.state = replace(still.state, time=0.0, step=0)
    energy = [_energy(sim.state)]
    for k in range(steps):
        sim.step()
        energy.append(_energy(sim.state))
        case.tell((k + 1) / steps, f"cooling, run {seed + 1}")
    time, t = np.linspace(0.0, duration, steps + 1), np.array(energy) / energy[0]
    rate = float(np.polyfit(time, t**-0.5, 1)[0])
    scaled = np.log(1.0 + rate * time)
    late = scaled >= 0.5 * log(1.0 + rate * duration)
    return Cooling(time, t, rate, float(np.polyfit(scaled[late], np.log(t[late]), 1)[0]))


def _energy(state: State) -> float:
    return float((state.velocity**2).sum())


def _draw_cooling(out: Path, runs: Sequence[Cooling], theory: float) -> tuple[Path, ...]:
    time = runs[0].time
    haff = (1.0 + theory * time) ** -2
    with styled(2, height=3.3) as (figure, (left, right)):
        for run in runs:
            left.plot(1.0 + theory * time, run.temperature, color="C0", linewidth=0.8)
            right.plot(theory * time, 100.0 * (run.temperature / haff - 1.0), color="C0", linewidth=0.8)
        left.plot([], [], color="C0", label=f"{len(runs)} runs")
        left.plot(1.0 + theory * time, haff, "--", color="C1", label="Haff, kinetic theory")
        left.set(xscale="log", yscale="log", xlabel="1 + t / tau", ylabel="temperature over that at the start")
        left.legend()
        right.axhline(0.0, color="C1", linestyle="--")
        right.set(xlabel="t / tau", ylabel="deviation from Haff's law (%)")
        table = {"time": time, "Haff": haff} | {f"run {k + 1}": run.temperature for k, run in enumerate(runs)}
        return write(figure, out, "gas_cooling", table)

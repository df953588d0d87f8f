"""The angle of repose of spheres, cubes and crosses by law and friction (Tang 2014, figures 10, 11 and 13 to 15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..analysis.granular import Sides, Slope, angle_of_repose, contact_numbers
from ..draw.style import BLACK, CYCLE, GRAY, PALE, law_style, styled, write
from ..laws import make as make_law
from ..scene.boundaries import Container
from ..scenes import repose
from ..scenes.packings import SIZES
from ..trajectory import Trajectory
from ..world import State
from .evidence import SMITH_FRICTION, Case, Evidence, Row, claim
from .packings import ROOM
from .stills import Still, write_stills

PUBLISHED_SPREADS = {"spheres": "0.03 to 0.8", "cubes": "1.3 to 3.2", "crosses": "1.2 to 12.9"}  # degrees
STEPPER = "substepped"  # drift_safe at half of the step gave angles within 1.5 degrees, at four times the cost
STACK_FRICTION = 0.64  # of the settled stacks from which the paper starts (figure 12)
# A pile is at rest when RESTING_SHARE of its bodies are slower than RESTING_SPEED, not before FIRST_REST.
RESTING_SHARE = 0.95  # single bodies go on rolling: there is no rolling friction
RESTING_SPEED = 0.05  # in units of sqrt(g size)
FIRST_REST = 2.0  # time units after the gate began to rise, which then has let go of the pile

Cell = tuple[str, float, str, int]  # shape, coefficient of friction, law, seed


@dataclass(frozen=True, eq=False)
class Pile:
    """The end of one run: its slope, and the time after which it was at rest (None: it was not)."""

    run: Trajectory
    slope: Slope
    rest: float | None


def slopes(
    case: Case,
    counts: Mapping[str, int],
    frictions: Sequence[float] = (0.0, 0.05, 0.2, 0.4, 0.6),
    laws: Sequence[str] = ("gr", "qce", "etm", "sqm"),
    seeds: int = 3,
    settle: float = 4.0,
    flow: float = 12.0,
    slide: float = 16.0,
    strips: int = 8,
    step: float = 1.0 / 150.0,
) -> Evidence:
    """Piles that flow out when a gate is lifted, by shape, friction and law; writes figures and .csv.

    As in the paper a stack is made once per shape and seed, with a friction of STACK_FRICTION. All laws and
    coefficients start from it, and the slope is measured when the pile is at rest, or `flow` time units after the gate
    is lifted. Without friction only impacts slow bodies that slide: they always have the time `slide`, and are run
    under the first law alone. Laws have their own friction, as in the paper, or that of the published runs of Smith
    2012.
    """
    cells = [(shape, mu, law, seed) for shape in counts for mu in frictions for law in laws if mu or law == laws[0]
             for seed in range(seeds)]  # fmt: skip
    stacks: dict[tuple[str, int], Trajectory] = {}
    piles: dict[Cell, Pile] = {}
    settings: dict[str, Any] = {"step": step, "stepper": STEPPER, "frame_rate": 5.0, "events": "none"}
    for part, cell in case.each(cells):
        shape, mu, law, seed = cell
        width = (ROOM[shape] * counts[shape]) ** (1.0 / 3.0)
        sizes: dict[str, Any] = {"shape": shape, "count": counts[shape], "width": width, "seed": seed}
        sizes |= {"settle": settle, "flow": flow if mu else slide, "rolling": 0.0}
        if (shape, seed) not in stacks:
            stack = repose(friction=STACK_FRICTION, **sizes)
            stacks[shape, seed] = part.simulate(
                f"{shape}_stack_{seed}", stack, laws[0], settle, friction_model=_friction_model(laws[0]), **settings
            )
        run = part.simulate(
            f"{shape}_{mu:g}_{law}_{seed}", repose(friction=mu, **sizes), law,
            until=_Rest(shape, settle) if mu else None, start=stacks[shape, seed].last,
            friction_model=_friction_model(law), **settings,
        )  # fmt: skip
        piles[cell] = pile_of(run, shape, settle, strips)
    rows = [*_stack_rows(stacks, counts, seeds), *_angle_rows(piles), *_claims(piles, counts, frictions, laws)]
    files = (*_stills(case.out, piles, stacks, frictions, laws[0]), *_curves(case.out, piles, counts, frictions, laws))
    parameters = {"counts": list(counts.values()), "restitution": 0.3}
    return Evidence(tuple(rows), files, _findings(piles, counts, frictions, laws, seeds), parameters)


def _friction_model(law: str) -> str | None:
    return None if make_law(law).own_friction else SMITH_FRICTION


@dataclass(frozen=True)
class _Rest:
    """Whether a pile is at rest again, after the gate began to rise at the time `lifted`."""

    shape: str
    lifted: float

    def __call__(self, state: State) -> bool:
        if state.time < self.lifted + FIRST_REST:
            return False
        speed = np.linalg.norm(state.velocity[:-1, :3], axis=1)  # the gate is the last body
        return bool(np.quantile(speed, RESTING_SHARE) < RESTING_SPEED * np.sqrt(9.81 * SIZES[self.shape]))


def pile_of(run: Trajectory, shape: str, lifted: float, strips: int) -> Pile:
    """The slope at the end of a run, over a grid with twice as many cells along the container as across."""
    end = run.last
    place = end.position[run.geometry["free"]]
    rest = end.time - lifted if _Rest(shape, lifted)(end) else None
    return Pile(run, angle_of_repose(place, floor_of(run), strips, 2 * strips, whole_floor=True), rest)


def floor_of(run: Trajectory) -> Sides:
    """The limits of the floor of the container in x and y."""
    (container,) = [b for b in run.scene.boundaries if isinstance(b, Container)]
    return (container.lower[0], container.upper[0]), (container.lower[1], container.upper[1])


# ---- rows


def _of(piles: Mapping[Cell, Pile], shape: str, mu: float, law: str | None = None) -> list[Pile]:
    """The piles of all seeds, of one law or of all."""
    return [pile for (s, m, name, _), pile in piles.items() if s == shape and m == mu and law in (None, name)]


def _mean(piles: Sequence[Pile]) -> tuple[float, float]:
    """The mean angle, and its standard deviation."""
    angles = [pile.slope.mean for pile in piles]
    return float(np.mean(angles)), float(np.std(angles, ddof=1)) if len(angles) > 1 else 0.0


def _stack_rows(stacks: Mapping[tuple[str, int], Trajectory], counts: Mapping[str, int], seeds: int) -> list[Row]:
    rows = []
    for shape in counts:
        runs = [stacks[shape, seed] for seed in range(seeds)]
        touching = [contact_numbers(run.world, run.last)[run.geometry["free"]].mean() for run in runs]
        rows.append(Row(f"{shape}: mean number of touching neighbors in the stack", None, float(np.mean(touching))))
    return rows


def _angle_rows(piles: Mapping[Cell, Pile]) -> list[Row]:
    rows = []
    for shape, mu, law in dict.fromkeys(cell[:3] for cell in piles):
        found = _of(piles, shape, mu, law)
        angle, deviation = _mean(found)
        lines = float(np.mean([pile.slope.spread for pile in found]))
        rests = [pile.rest for pile in found if pile.rest is not None]
        rest = f"at rest after {np.mean(rests):.1f}" if len(rests) == len(found) else (
            f"{len(found) - len(rests)} of {len(found)} not at rest at the end")  # fmt: skip
        remark = f"± {deviation:.1f} over {len(found)} seeds, ± {lines:.1f} over the lines of a pile (published "
        rows.append(Row(f"{shape}: angle of repose, mu = {mu:g}, {law}", None, angle, "degrees",
                        remark=f"{remark}{PUBLISHED_SPREADS[shape]}); {rest}"))  # fmt: skip
    return rows


def _claims(
    piles: Mapping[Cell, Pile], counts: Mapping[str, int], frictions: Sequence[float], laws: Sequence[str]
) -> list[Row]:
    rows = []
    rough = [mu for mu in frictions if mu > 0.0]
    for shape in counts:
        falls = []
        for law in laws:
            means = [_mean(_of(piles, shape, mu, law)) for mu in rough]
            falls += [law for (a, _), (b, spread) in pairwise(means) if b < a - spread]
            falls += [law] if means[-1][0] <= means[0][0] else []
        text = f"not under {', '.join(dict.fromkeys(falls))}" if falls else "under each law, to the spread of seeds"
        rows.append(claim(f"{shape}: the angle grows with friction", not falls, text))
        if 0.0 in frictions:
            rows.append(_flat_row(shape, _of(piles, shape, 0.0)))
    for shape in [s for s in counts if s != "crosses" and "crosses" in counts]:
        cells = [(mu, law) for mu in rough for law in laws if mu >= 0.2]
        pairs = [(_mean(_of(piles, "crosses", *cell)), _mean(_of(piles, shape, *cell))) for cell in cells]
        below = [f"{law} at {mu:g}" for (mu, law), (a, b) in zip(cells, pairs) if a[0] <= b[0]]
        text = ""
        if below:
            lower, seeds = np.mean([(b[0] - a[0], np.hypot(a[1], b[1])) for a, b in pairs], axis=0)
            text = f"not {', '.join(below)}; {lower:.1f} degrees lower on average, spread of seeds {seeds:.1f}"
        rows.append(claim(f"crosses above {shape} for mu >= 0.2", not below, text))
    return rows


def _flat_row(shape: str, piles: Sequence[Pile]) -> Row:
    """Without friction a pile is flat up to one layer: its slope is less than one body on the length of the floor."""
    layer = float(np.degrees(np.arctan(0.5 / piles[0].run.scene.parameters["width"])))
    angle, deviation = _mean(piles)
    fastest = max(float(np.linalg.norm(pile.run.last.velocity[:-1, :3], axis=1).max()) for pile in piles)
    remark = (
        f"{angle:.1f} ± {deviation:.1f} degrees; one layer on the length of the floor is {layer:.1f}. Without friction "
        f"bodies go on sliding (fastest {fastest:.1f} at the end); cubes that lie face on face in a corner stay there"
    )
    return claim(f"{shape}: no slope without friction", abs(angle) <= layer, remark)


def _findings(
    piles: Mapping[Cell, Pile],
    counts: Mapping[str, int],
    frictions: Sequence[float],
    laws: Sequence[str],
    seeds: int,
) -> tuple[str, ...]:
    lines = []
    for shape in counts:
        text = ", ".join(f"{_mean(_of(piles, shape, mu))[0]:.0f} (mu = {mu:g})" for mu in frictions)
        lines.append(f"{counts[shape]} {shape}: angle of repose in degrees, mean of laws and seeds: {text}")
    if seeds > 1 and len(laws) > 1:
        pairs = [
            (s, mu) for s in counts for mu in frictions if all(len(_of(piles, s, mu, law)) == seeds for law in laws)
        ]
        between = [np.std([_mean(_of(piles, *pair, law))[0] for law in laws], ddof=1) for pair in pairs]
        within = [np.sqrt(np.mean([_mean(_of(piles, *pair, law))[1] ** 2 for law in laws]) / seeds) for pair in pairs]
        lines.append(
            f"standard deviation between laws {np.mean(between):.1f} degrees on average, standard error of the mean of "
            f"one law {np.mean(within):.1f}: "
            + ("laws differ" if np.mean(between) > 2.0 * np.mean(within) else "laws cannot be told apart")
        )
    return tuple(lines)


# ---- figures


def _stills(
    out: Path,
    piles: Mapping[Cell, Pile],
    stacks: Mapping[tuple[str, int], Trajectory],
    frictions: Sequence[float],
    law: str,
) -> tuple[Path, ...]:
    """The stacks (figure 11) in the first column, piles at rest (figure 13) in the others: at most three of them."""
    shown = sorted({frictions[0], frictions[len(frictions) // 2], frictions[-1]})
    stills = []
    for shape in dict.fromkeys(shape for shape, _ in stacks):
        (left, right), _ = floor_of(stacks[shape, 0])
        middle, long = 0.5 * (left + right), right - left
        view = {"camera": f"azimuth=-70,elevation=18,target={middle:.4g}:0:{0.25 * long:.4g},distance={2.6 * long:.4g}"}
        stills.append(Still(stacks[shape, 0], f"{shape}, stack", None, view))
        for mu in shown:
            pile = piles[shape, mu, law, 0]
            stills.append(Still(pile.run, f"mu = {mu:g}: {pile.slope.mean:.0f} degrees", None, view))
    return write_stills(out, "repose_piles", stills, _table(piles), columns=1 + len(shown))


def _table(piles: Mapping[Cell, Pile]) -> dict[str, list[Any]]:
    names = ("shape", "friction", "law", "seed", "angle (degrees)", "spread (degrees)", "rest (time units)")
    rows = [(*cell, p.slope.mean, p.slope.spread, "" if p.rest is None else p.rest) for cell, p in piles.items()]
    return {name: list(column) for name, column in zip(names, zip(*rows))}


def _curves(
    out: Path,
    piles: Mapping[Cell, Pile],
    counts: Mapping[str, int],
    frictions: Sequence[float],
    laws: Sequence[str],
) -> tuple[Path, ...]:
    """Figures 14 and 15: the fitted lines of one pile, and angles against friction by law, a panel per shape."""
    with styled(2, 2, height=5.2) as (figure, panels):
        shape = next(iter(counts))
        lines = piles[shape, frictions[-1], laws[0], 0]
        _lines(panels[0], lines, shape, f"(a) {shape}, mu = {frictions[-1]:g}, and lines")
        for k, (axes, shape) in enumerate(zip(panels[1:], counts)):
            for law in laws:
                rough = [mu for mu in frictions if mu or law == laws[0]]
                angles, deviations = zip(*(_mean(_of(piles, shape, mu, law)) for mu in rough))
                look: dict[str, Any] = law_style(law) | {"markerfacecolor": "white", "capsize": 2.0}
                axes.errorbar(rough, angles, deviations, **look, label=law)
            axes.set(xlabel="coefficient of friction", ylabel="angle of repose (degrees)", ylim=(-5.0, 45.0))
            axes.set_title(f"({'bcd'[k]}) {counts[shape]} {shape}; bars: seeds")
        panels[1].legend(loc="upper left", ncols=2)
        return write(figure, out, "repose_angles", _table(piles))


def _lines(axes: Axes, pile: Pile, shape: str, title: str) -> None:
    """The centers of all bodies from the side, and the mean line of the fitted slopes through the pile."""
    place = pile.run.last.position[pile.run.geometry["free"]]
    axes.scatter(place[:, 0], place[:, 2], s=6.0, color=PALE, edgecolors=GRAY, linewidths=0.3)
    (left, right), _ = floor_of(pile.run)
    x = np.array([left, right])
    high = place[place[:, 2] > 1.5 * place[:, 2].min()]
    middle = high[:, [0, 2]].mean(axis=0) if len(high) else place[:, [0, 2]].mean(axis=0)
    for angle in pile.slope.strips:
        axes.plot(x, middle[1] - np.tan(np.radians(angle)) * (x - middle[0]), color=CYCLE[0], linewidth=0.6)
    axes.plot(x, middle[1] - np.tan(np.radians(pile.slope.mean)) * (x - middle[0]), color=BLACK, linewidth=1.4)
    axes.set(xlabel="x (length units)", ylabel="z (length units)", xlim=x, aspect="equal", title=title)
    axes.set_ylim(0.0, float(place[:, 2].max()) + SIZES[shape])

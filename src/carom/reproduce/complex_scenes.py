"""Complex scenes: the card house, rabbits under pawns and the Rube Goldberg machine (Zhang 2015, section 5.4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..analysis.runs import energy_rise, fastest, members
from ..analysis.stages import stages
from ..draw.style import CYCLE, GRAY, TIME, styled, write
from ..scenes import card_house, rabbits_and_pawns, rube_goldberg
from ..trajectory import Trajectory
from .evidence import ZHANG_FRICTION, Case, Evidence, Row, claim
from .stills import Still, write_stills

STILL = 1e-8  # length units, cards are 1 long: below this a card has not moved
AT_REST = 0.05  # length units per time unit: cards that are slower than this rest
MEAN_ERROR = 2.43e-4  # Zhang 2015, section 5.4
# Zhang 2015, section 5.4: the order in which the devices of the machine act.
ORDER = ("first ball", "cradle", "card house", "first domino", "last domino", "seesaw", "cue ball", "rack",
         "second spiral", "first pillar", "last pillar")  # fmt: skip


def cards(case: Case, rest: float = 10.0, after: float = 5.0, stories: int = 3, width: int = 4) -> Evidence:
    """The card house stands still, falls when two balls hit it, and comes to rest; writes figures and .csv."""
    scene = card_house(stories=stories, width=width, rest=rest)
    run = case.simulate("card_house", scene, "qce", rest + after, friction_model=ZHANG_FRICTION)
    chosen = members(run, "cards")
    place = np.asarray(run.positions)[:, chosen]
    moved = np.linalg.norm(place - place[0], axis=2).max(axis=1)
    speed = np.linalg.norm(np.asarray(run.velocities)[:, chosen], axis=2).max(axis=1)
    height = place[:, :, 2].max(axis=1)
    before, end = run.time < rest - 0.1, run.time > run.time[-1] - 0.3
    rows = (
        Row("cards", 24, int(chosen.sum())),
        Row(f"largest displacement of a card in {rest:g} time units", 0.0, float(moved[before].max()), "length units",
            holds=bool(moved[before].max() <= STILL), remark="claim: the card house remains still; cards are 1 long"),
        Row("height after the hit over height before", None, float(height[-1] / height[0]),
            holds=bool(height[-1] < 0.6 * height[0]), remark="claim: it collapses when two balls hit it"),
        Row("fastest card at the end", 0.0, float(speed[end].min()), "length units per time unit",
            holds=bool(speed[end].min() <= AT_REST), remark="claim: at last all plates rest on the floor"),
        Row("largest rise of energy in a step", None, float(energy_rise(run).max()), "of the largest kinetic energy"),
    )  # fmt: skip
    times = (rest - 0.1, rest + 0.45, run.time[-1])
    stills = [Still(run, f"t = {t:.2f}", t) for t in times]
    files = write_stills(case.out, "card_house", stills, {TIME: run.time, "displacement (length units)": moved})
    with styled(2, height=2.6) as (figure, (left, right)):
        for axes, values, label in (
            (left, np.maximum(moved, 1e-17), "displacement (length units)"),
            (right, height, "height (length units)"),
        ):
            axes.plot(run.time, values, color=CYCLE[0])
            axes.axvline(rest, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
            axes.set(xlabel=TIME, ylabel=label)
        left.set_yscale("log")
        left.set_title("(a) farthest card; dashed: balls arrive")
        right.set_title("(b) highest card")
        table = {TIME: run.time, "displacement (length units)": moved, "height (length units)": height}
        files += write(figure, case.out, "card_house_curves", table)
    return Evidence(
        rows, files, ("the house of 24 cards stands still and falls when it is hit",), {"rest": rest, "step": 0.002}
    )


def rabbits(case: Case, rabbits: int = 144, pawns: int = 16, duration: float = 8.0, elastic: float = 1.5) -> Evidence:
    """Figure 10 and the energy error of section 5.4: rabbits under pawns; writes rabbits.png, .svg, .pdf and .csv.

    The error is measured on an elastic run without friction, where the step of qce is the whole impact. Its time step
    is 0.002: in one of 0.005 the fastest bodies move by 0.4 half widths, and two of 160 may become entangled, which no
    elastic impulse separates.
    """
    size: dict[str, Any] = {"rabbits": rabbits, "pawns": pawns}
    free = case.part(0.0, 0.4).simulate(
        "elastic",
        rabbits_and_pawns(**size, restitution=1.0, friction=0.0),
        "qce",
        elastic,
        stepper="synchronous",
        step=0.002,
        tolerance="exact",
    )
    pile = case.part(0.4, 1.0).simulate(
        "pile", rabbits_and_pawns(**size), "qce", duration, friction_model=ZHANG_FRICTION
    )
    steps = free.steps
    total = steps["kinetic"] + steps["potential"]
    hit = steps["contacts"][1:] > 0
    error = (np.abs(np.diff(total)) / steps["kinetic"][1:])[hit]
    late = fastest(pile)[pile.time > pile.time[-1] - 0.3]
    rows = (
        Row("mean relative error of kinetic energy of a step of qce", MEAN_ERROR, float(error.mean()),
            holds=bool(error.mean() <= MEAN_ERROR),
            remark=f"{int(hit.sum())} steps with impacts, elastic, without friction"),
        Row("largest of these errors", None, float(error.max())),
        Row("fastest body at the end, with restitution 0.2 and friction 0.2", 0.0, float(late.min()),
            "length units per time unit", holds=bool(late.min() <= 0.1),
            remark="claim: they rest on the floor in a pile"),
        Row("elastic steps that were finished without restitution", None, int((steps["status"] > 0).sum())),
        Row("steps that were not resolved", 0, int((pile.steps["status"] == 3).sum()), remark="claim: no crash"),
        Row("largest overlap", None, float(pile.steps["overlap"].max()), "heights of a rabbit"),
    )  # fmt: skip
    landed = min(1.6, 0.4 * duration)
    stills = [
        Still(pile, "(a) falling", 0.3),
        Still(pile, f"(b) t = {landed:.1f}", landed),
        Still(pile, "(c) at the end"),
    ]
    table = {TIME: pile.time, "fastest (length units per time unit)": fastest(pile)}
    files = write_stills(case.out, "rabbits", stills, table)
    finding = "the step of qce keeps kinetic energy up to rounding; the published error is eleven orders larger"
    return Evidence(rows, files, (finding,), size | {"duration": duration, "elastic": elastic})


def machine(case: Case, duration: float = 26.0, pillars: int = 8) -> Evidence:
    """Figure 11: the Rube Goldberg machine, a still and the order of its stages; writes figures and .csv."""
    scene = rube_goldberg(pillars=pillars)
    run = case.simulate("machine", scene, "qce", duration, frame_rate=25.0, friction_model=ZHANG_FRICTION)
    when = stages(run)
    reached = [name for name in ORDER if when[name] <= duration]
    times = [when[name] for name in reached]
    ordered = times == sorted(times)
    rows = [
        Row(f"time of: {name}", None, when[name] if np.isfinite(when[name]) else f"not within {duration:g}",
            "time units")
        for name in ORDER
    ]  # fmt: skip
    rows += [
        claim("stages in the published order", ordered),
        Row("stages reached", len(ORDER), len(reached), holds=len(reached) == len(ORDER) if duration >= 24.0 else None,
            remark="" if duration >= 24.0 else f"the run ends at t = {duration:g}"),
        Row("largest rise of energy in a step", None, float(energy_rise(run).max()), "of the largest kinetic energy"),
    ]  # fmt: skip
    stills = [Still(run, "the machine at the start", 0.0), Still(run, "while its card house falls", 7.85)]
    table = {"stage": list(when), "time (time units)": [float(t) for t in when.values()]}
    files = write_stills(case.out, "machine", stills, table, columns=2)
    return Evidence(tuple(rows), files, _machine_finding(run, reached), {"duration": duration, "pillars": pillars})


def _machine_finding(run: Trajectory, reached: list[str]) -> tuple[str, ...]:
    return (f"{len(reached)} of {len(ORDER)} stages act one after the other within {run.time[-1]:.0f} time units",)

"""Towers of bricks: figures 1, 2, 10 and 11 of the collapse paper, and its theorems, each measured."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from ..draw.style import CYCLE, GRAY, MARKERS, styled, write
from ..problem.problem import ImpactProblem
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats
from ..towers import Brick, Tower
from ..towers.bricks import point_masses
from ..towers.contacts import contact_rows, masses
from ..towers.loop import Loop, LoopOptions
from ..towers.overhang import largest_overhang
from ..towers.symmetry import mirror_of
from .evidence import Case, Evidence, Row
from .stills import Still, write_stills

# Paterson and Zwick, cited by the paper: largest overhang of 3 and 4 bricks, in brick lengths.
OPTIMA = {3: 1.0, 4: (15.0 - 4.0 * np.sqrt(2.0)) / 8.0}
MINUTES = 5.0  # the paper's 1,000 steps of 5 x 5 bricks with CPLEX
STEP = 0.01


def overhang(case: Case, largest: int = 6) -> Evidence:
    """Figure 1: the overhang of stable towers; writes overhang.png, .svg, .pdf and .csv, and pictures of two towers."""
    sizes = list(range(2, largest + 1))
    found = {}
    for n in sizes:
        case.tell((n - 2) / len(sizes), f"{n} bricks")
        found[n] = largest_overhang(n)
    harmonic = {n: float(sum(Fraction(1, 2 * k) for k in range(1, n + 1))) for n in sizes}
    rows = []
    for n, optimum in OPTIMA.items():
        stack = found[n].tower
        reach = float(found[n].overhang)
        rows += [
            Row(f"{n} bricks: largest overhang", optimum, reach, "brick lengths", abs(reach - optimum) < 1e-4),
            Row(f"{n} bricks: the linear program calls it", "stable", _verdict(stack), holds=stack.stability().stable),
        ]
    tip = Tower.harmonic(4).moved(-1, "1/1000")
    rows += [
        Row("harmonic stack of 4, exact", "stable", _verdict(Tower.harmonic(4)),
            holds=Tower.harmonic(4).stability(exact=True).stable),
        Row("the same, top brick 0.001 farther out", "unstable", _verdict(tip),
            holds=not tip.stability(exact=True).stable),
    ]  # fmt: skip
    with styled(1, width=4.6, height=2.8) as (figure, (axes,)):
        reaches = [float(found[n].overhang) for n in sizes]
        axes.plot(sizes, reaches, color=CYCLE[0], marker=MARKERS[0], label="largest found, stability proved")
        axes.plot(sizes, list(harmonic.values()), color=GRAY, marker=MARKERS[1], label="harmonic stack")
        axes.plot(
            list(OPTIMA),
            list(OPTIMA.values()),
            color=CYCLE[1],
            marker="x",
            linestyle="",
            markersize=8,
            label="known optimum",
        )
        axes.set(xlabel="bricks", ylabel="overhang (brick lengths)", xticks=sizes, title="Overhang of stable towers")
        axes.legend()
        table = {
            "bricks": sizes,
            "overhang (brick lengths)": reaches,
            "harmonic (brick lengths)": list(harmonic.values()),
        }
        files = write(figure, case.out, "overhang", table)
    picture = found[largest].tower.draw
    picture(case.out / "overhang_forces.png", what="forces", caption=True)
    files += (case.out / "overhang_forces.png",)
    return Evidence(
        tuple(rows), files, ("stability is decided by one linear program, which agrees with the known optima",)
    )


def _verdict(tower: Tower) -> str:
    return "stable" if tower.stability(exact=True).stable else "unstable"


def unstable(case: Case, side: int = 5) -> Evidence:
    """Figure 2: the tower of 5 x 5 bricks, how it begins to fall, and the state of least energy; writes pictures."""
    tower = Tower.diamond(side)
    verdict, onset, rest = tower.stability(), tower.initial_collapse(), tower.resting_shape()
    partner = mirror_of(tower)
    assert partner is not None
    uneven = float(np.abs(onset.acceleration[partner] * (-1.0, 1.0, -1.0) - onset.acceleration).max())
    rows = (
        Row("bricks", 25, tower.count),
        Row("the tower is", "unstable", _verdict(tower), holds=not verdict.stable),
        Row("power of gravity along the certificate", None, float(verdict.power), holds=bool(verdict.power > 0.0)),
        Row("residual of the certificate", None, float(verdict.certificate)),
        Row(
            "contacts that open in the initial collapse", None, int(onset.opens.sum()), remark=f"of {len(onset.opens)}"
        ),
        Row("residual of the quadratic program of the initial collapse", None, float(onset.certificate)),
        Row("mirror error of the initial accelerations", 0.0, uneven, "of gravity", holds=bool(uneven <= 1e-9)),
        Row("drop to the resting shape of bricks that cannot slide", None, float(rest.drop), "length units"),
    )
    files = []
    for what in ("plain", "velocities", "resting"):
        files.append(case.out / f"tower_{what}.png")
        tower.draw(files[-1], what=what, caption=True)
    return Evidence(
        rows,
        tuple(files),
        ("one quadratic program gives the exact initial collapse, with a certificate",),
        {"side": side},
    )


def nine_points(case: Case) -> Evidence:
    """Figure 10: nine point masses against the moments of a homogeneous rectangle, in fractions; writes a figure."""
    w, h, x, y = Fraction(3), Fraction(7, 5), Fraction(1, 3), Fraction(2)
    area = w * h
    exact = {"1": (0, 0, area), "x": (1, 0, area * x), "y": (0, 1, area * y), "xy": (1, 1, area * x * y)}
    exact |= {"x^2": (2, 0, area * (x**2 + w**2 / 12)), "y^2": (0, 2, area * (y**2 + h**2 / 12))}
    rows = []
    models = {"nine points": "uniform", "four corners": "corners"}
    brick = Brick.rectangle(x, y, w, h).exact
    for name, model in models.items():
        points, weights = point_masses(brick, Fraction(1), model)
        for label, (p, q, value) in exact.items():
            off = sum(m * a**p * b**q for m, (a, b) in zip(weights, points)) / value - 1
            holds = off == 0 if model == "uniform" else None
            rows.append(
                Row(f"{name}: integral of {label}, relative error", 0.0 if holds is not None else None, float(off),
                    holds=holds)
            )  # fmt: skip
    points, weights = point_masses(brick, Fraction(1), "uniform")
    with styled(1, width=4.2, height=2.6) as (figure, (axes,)):
        px, py = np.array([[float(a), float(b)] for a, b in points]).T
        share = np.array([float(m / area) for m in weights])
        corner = np.array([[float(c) for c in p] for p in brick])
        axes.fill(*corner.T, facecolor="#E5E7EB", edgecolor=GRAY)
        axes.scatter(px, py, s=900.0 * share, color=CYCLE[0])
        for a, b, m in zip(px, py, share):
            axes.annotate(f"{round(36 * m)}/36", (a, b), (7, 6), textcoords="offset points")
        axes.set(aspect="equal", xlabel="x", ylabel="y", title="Nine masses equal the rectangle to degree 2")
        axes.margins(0.15)
        files = write(figure, case.out, "nine_points", {"x": px, "y": py, "share": share})
    return Evidence(
        tuple(rows),
        files,
        ("all moments up to degree 2 agree exactly; four equal corner masses have too much inertia",),
    )


def collapse(case: Case, side: int = 5, steps: int = 1000) -> Evidence:
    """Figure 11 and the time of section 8: the tower of figure 2 falls; writes collapse.png, .svg, .pdf and .csv."""
    import time

    tower = Tower.diamond(side, mass_model="corners")
    tower.collapse(steps=2)  # compiles or loads the kernels
    began = time.process_time()
    run = tower.collapse(steps=steps, step=STEP, progress=lambda p: case.tell(p.step / p.steps, "collapse"))
    seconds = time.process_time() - began
    partner = mirror_of(tower)
    assert partner is not None
    place = np.asarray(run.positions)
    mirrored = place[:, partner] * (-1.0, 1.0)
    uneven = np.abs(mirrored - place).max(axis=(1, 2)) / 3.0
    brick = 3.0
    rows = (
        Row("minutes of computation", MINUTES, seconds / 60.0, "min",
            remark=f"{steps} steps; processor time, the paper with CPLEX"),
        Row("largest mirror error", None, float(uneven.max()), "brick widths", holds=bool(uneven.max() <= 1e-6),
            remark="the published fall was visibly asymmetric, because its solver stopped early"),
        Row("largest overlap", None, float(run.steps["overlap"].max()) / brick, "brick widths"),
        Row("largest residual of a quadratic program", None, float(run.steps["residual"].max())),
        Row("bricks on the ground at the end", None, int((place[-1][:, 1] < 1.6).sum()), remark=f"of {tower.count}"),
    )  # fmt: skip
    times = (0.0, 0.12 * steps * STEP, 0.22 * steps * STEP, steps * STEP)
    look = {"color": "body", "camera": f"0,{0.9 * side},{8 * side}", "size": (900, 320)}
    stills = [Still(run, f"t = {t:.1f}", t, look) for t in times]
    files = write_stills(
        case.out, "collapse", stills, {"time (time units)": run.time, "mirror_error (brick widths)": uneven}, columns=2
    )
    return Evidence(
        rows,
        files,
        (f"the tower falls symmetrically; {steps} steps take {seconds:.1f} s of processor time",),
        {"side": side},
    )


def theorems(case: Case, steps: int = 120, trials: int = 20) -> Evidence:
    """The theorems of the paper and the claims of section 8.5 and equation (S'), as measured violations."""
    towers = {
        "5 x 5 tower": Tower.diamond(5),
        "wall with gaps": Tower.wall(5, 5, gap="1/10"),
        "harmonic stack, disturbed": Tower.harmonic(5).moved(5, "1/50"),
    }
    rows: list[Row] = []
    figures: tuple[Path, ...] = ()
    for k, (name, tower) in enumerate(towers.items()):
        case.tell(k / 5, name)
        distances, moved = both_loops(tower, steps)
        apart = float(distances.max())
        figures = figures or _theorem_figure(case.out, name, distances)
        rows.append(
            Row(f"theorem 5.1, {name}: largest distance between the loops of figures 6 and 7", 0.0, apart,
                "length units", holds=apart <= 1e-9,
                remark=f"{steps} steps, bricks moved by {moved:.2f}; (S') without the printed division by the step")
        )  # fmt: skip
    case.tell(0.7, "theorem 7.1")
    worst = max(inelastic_error(towers["5 x 5 tower"], seed) for seed in range(trials))
    rows.append(
        Row("theorem 7.1: largest distance of a step without gravity from the inelastic impact", 0.0, worst,
            "of the speed", holds=worst <= 1e-7,
            remark=f"{trials} random velocities of 25 bricks; lcp with restitution 0 is the impact")
    )  # fmt: skip
    tipping = Tower.harmonic(1).moved(1, "1/5")
    turn = {edges: _turned(tipping, edges) for edges in ("separating", "paper")}
    rows.append(
        Row("section 8.5: turn of a brick that must tip off its table, printed choice of edges", None, turn["paper"],
            "rad", holds=bool(turn["paper"] < -0.05),
            remark=f"the printed rule holds it fast; with the better edge it turns by {turn['separating']:.2f}")
    )  # fmt: skip
    return Evidence(tuple(rows), figures, (
        "theorems 5.1 and 7.1 hold to rounding once the division by the step in (S') is left out",
        "the choice of the separating edge in section 8.5 is wrong: of the two edges the better one must be taken",
    ))  # fmt: skip


def both_loops(tower: Tower, steps: int, step: float = 0.005) -> tuple[Floats, float]:
    """Largest distance of a corner under the position loop from that under the acceleration loop, after each step;
    largest motion of a corner."""
    one = Loop(tower, LoopOptions(step, lengths="previous", sides="turning", passes=1))
    two = Loop(tower, LoopOptions(step, method="acceleration", passes=1))
    start, apart, moved = np.concatenate(tower.corners), np.zeros(steps), 0.0
    for k in range(steps):
        one.advance()
        two.advance()
        apart[k] = np.abs(one.coordinates.corners() - two.coordinates.corners()).max()
        moved = max(moved, float(np.abs(one.coordinates.corners() - start).max()))
    return apart, moved


def inelastic_error(tower: Tower, seed: int, step: float = 1e-4, restitution: float = 0.0) -> float:
    """The distance of one step of the loop, with random velocities and no gravity, from the impact by lcp."""
    tower = tower.with_(gravity=0)
    velocity = np.random.default_rng(seed).normal(size=(tower.count, 3))
    loop = Loop(tower, LoopOptions(step, passes=1), velocity)
    loop.advance()
    assert loop.motion is not None
    before = velocity.copy()
    before[:, 2] = np.sin(step * velocity[:, 2]) / step  # points move on circles
    problem = ImpactProblem.from_matrices(masses(tower), contact_rows(tower), before.ravel(), restitution=restitution)
    after = np.asarray(solve_impact(problem, "lcp").velocity).reshape(-1, 3)
    return float(np.abs(loop.motion / step - after).max())


def _turned(tower: Tower, edges: str, steps: int = 50) -> float:
    """The turn of the upper brick after some steps of the paper's loop, in radians."""
    loop = Loop(tower, LoopOptions(STEP, edges=edges, passes=1 if edges == "paper" else 8))
    for _ in range(steps):
        loop.advance()
    return float(np.angle(loop.coordinates.pose()[1][1]))


def _theorem_figure(out: Path, name: str, apart: Floats) -> tuple[Path, ...]:
    steps = range(1, len(apart) + 1)
    with styled(1, width=4.6, height=2.6) as (figure, (axes,)):
        axes.plot(steps, np.maximum(apart, 1e-17), color=CYCLE[0])
        axes.set(yscale="log", xlabel="step", ylabel="largest distance (length units)", ylim=(1e-17, 1e-6))
        axes.set_title(f"Theorem 5.1: positions of the two loops, {name}")
        return write(figure, out, "theorem_5_1", {"step": steps, "distance (length units)": apart})

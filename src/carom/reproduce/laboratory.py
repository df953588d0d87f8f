"""Published laboratory experiments against the laws: docs/laboratory.md names the sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from ..draw.style import CYCLE, GRAY, MARKERS, law_style, styled, write
from ..errors import ProblemError
from ..laws import make
from ..problem.problem import ImpactProblem
from ..resolve.impulses import solve_impact
from ..scene.boundaries import Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Disc
from ..simulation import completed, simulate
from ..solvers.rows import Floats
from .evidence import Case, Evidence, Row, claim
from .hertz import hertz_chain, hertz_history

LAWS = ("lzb", "gr", "qce", "lcp", "gauss_seidel", "etm")
RESTITUTIONS = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
EXCHANGE = "equal spheres exchange velocities one contact after the other; Hertz contacts act at the same time"


# ---- Newton's cradle of three real spheres


def cradle(case: Case, restitutions: Sequence[float] = RESTITUTIONS) -> Evidence:
    """Three spheres, one strikes two that touch: the striker moves back (Donahue and others 2008).

    Writes three_spheres.png, .svg, .pdf and .csv.
    """
    after: dict[str, Floats] = {}
    for k, name in enumerate(LAWS):
        case.tell(k / len(LAWS), name)
        after[name] = np.array([three_spheres(name, e) for e in restitutions])
    time = np.linspace(0.0, 8.0, 4001)
    _, touching = hertz_history(np.ones(3), [1.0, 0.0, 0.0], time)
    ends = [float(time[np.flatnonzero(q > 0.0)[-1]]) for q in touching.T]
    apart, _ = hertz_history(np.ones(3), [1.0, 0.0, 0.0], np.linspace(0.0, 40.0, 801), gaps=[0.0, 5.0])
    ode = hertz_chain(np.ones(3), [1.0, 0.0, 0.0])
    pairs = np.array([one_by_one(name, restitutions[-2]) for name in LAWS]).T
    elastic = {name: v[-1] for name, v in after.items()}
    rows = [
        Row(f"{name}: velocity of the striker, restitution {restitutions[-1]:g}", "below 0", float(v[0]),
            "of the striker's speed", bool(v[0] < -1e-6), "" if v[0] < -1e-6 else EXCHANGE)
        for name, v in [("Hertz ODE", ode), *elastic.items()]
    ]  # fmt: skip
    zero = brentq(lambda e: three_spheres("lzb", e)[0], min(restitutions), 1.0, xtol=1e-4)
    rows += [
        Row("lzb: restitution above which the striker moves back", None, float(zero)),
        claim("Hertz ODE: the striker separates before the targets do", ends[0] < ends[1]),
        *(
            Row(f"gap between the targets, restitution {restitutions[-2]:g}: velocity of the {ball}, all laws",
                "above 0", float(pairs[k].min()), holds=bool(pairs[k].min() > 0.0),
                remark=f"two impacts of two spheres each; largest value {pairs[k].max():.4f}")
            for k, ball in enumerate(("striker", "middle sphere"))
        ),
        Row("gap between the targets: Hertz ODE, striker", 0.0, float(apart[-1, 0]),
            holds=bool(abs(apart[-1, 0]) < 1e-6), remark="elastic: no reversal"),
    ]  # fmt: skip
    with styled(2, height=3.2) as (figure, (left, right)):
        for name, v in after.items():
            left.plot(restitutions, v[:, 0], **law_style(name) | {"markerfacecolor": "white"}, label=name)
        left.axhline(0.0, color=GRAY, linewidth=0.8)
        left.plot([1.0], ode[:1], marker="x", markersize=8, color=GRAY, linestyle="", label="Hertz ODE")
        left.set(xlabel="restitution", ylabel="velocity of the striker after", title="(a) below 0: it moves back")
        for k, label in enumerate(("striker and middle", "middle and last")):
            right.plot(time, touching[:, k], color=CYCLE[k], label=label)
        right.set(xlabel="time, units of the contact", ylabel="overlap", xlim=(0, 6), ylim=(0, None))
        right.set_title("(b) Hertz ODE: the first contact ends first")
        right.legend()
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, handlelength=3.0)
        table: dict[str, Any] = {"restitution": restitutions}
        for name, v in after.items():
            table |= {f"{name}_{ball}": v[:, k] for k, ball in enumerate(("striker", "middle", "last"))}
        files = write(figure, case.out, "three_spheres", table)
    back = [name for name, v in elastic.items() if v[0] < -1e-6 and v[2] > 0.9]
    findings = (
        f"the striker moves back and the last sphere takes most of the speed under: {', '.join(back)}",
        f"under lzb it does so for restitution above {zero:.2f}; gr, qce and gauss_seidel leave it at rest",
    )
    return Evidence(tuple(rows), files, findings)


def three_spheres(law: str, restitution: float) -> Floats:
    """Velocities after a sphere of speed 1 strikes two that touch, with the first restitution model of the law."""
    problem = ImpactProblem.chain(np.ones(3), [1.0, 0.0, 0.0], restitution=restitution)
    return np.asarray(solve_impact(problem, law).velocity).ravel()


def one_by_one(law: str, restitution: float) -> tuple[float, float]:
    """Velocities of the striker and the middle sphere if the two targets do not touch: two impacts of two spheres."""

    def pair(speed: float) -> Floats:
        problem = ImpactProblem.chain(np.ones(2), [speed, 0.0], restitution=restitution)
        return np.asarray(solve_impact(problem, law).velocity).ravel()

    striker, middle = pair(1.0)
    return float(striker), float(pair(middle)[0])


# ---- solitary waves in a chain of beads

NESTERENKO = 2.0 / np.sqrt(5.0)  # V = NESTERENKO sqrt(k / m) d^(1/4) beads per time, d: largest overlap
EDGE = 0.01  # of the largest force: where the pulse begins and ends
# Nesterenko's overlap is d cos^4(2 x / sqrt 10), x in beads: its length where the force, overlap^(3/2), is above EDGE.
PULSE = np.sqrt(10.0) * np.arccos(EDGE ** (1.0 / 6.0))


def solitary_wave(case: Case, beads: int = 60, speeds: Sequence[float] = (0.1, 0.3, 1.0)) -> Evidence:
    """A bead strikes a chain: speed and length of the pulse against Nesterenko's wave (Coste, Falcon, Fauve 1997).

    Writes solitary_wave.png, .svg, .pdf and .csv.
    """
    waves = {}
    for k, v in enumerate(speeds):
        case.tell(k / len(speeds), f"speed {v:g}")
        waves[v] = _wave(beads, v)
    force = np.array([w["force"] for w in waves.values()])
    speed = np.array([w["speed"] for w in waves.values()])
    power = float(np.polyfit(np.log(force), np.log(speed), 1)[0])
    coefficient = float((speed / force ** (1.0 / 6.0)).mean())
    length = float(np.mean([w["length"] for w in waves.values()]))
    # The last beads leave with what the wave carries; the law has no time, but it has this.
    short = 20
    ends = {name: chain_end(name, short) for name in ("lzb", "gr", "qce")}
    ode = hertz_chain(np.ones(short), [1.0] + [0.0] * (short - 1))
    rows = (
        Row(
            "speed over sqrt(k/m) d^(1/4)", NESTERENKO, coefficient, "beads", abs(coefficient / NESTERENKO - 1.0) < 0.02
        ),
        Row("power of the force", 1.0 / 6.0, power, "", abs(power - 1.0 / 6.0) < 1e-3),
        Row("length of the pulse", PULSE, length, "beads", abs(length - PULSE) < 0.5,
            f"where the force is above {EDGE:g} of its peak; the whole wave of the formula has 5 beads"),
        Row(f"Hertz ODE: speed of the last of {short} beads", None, float(ode[-1]), "of the striker's speed"),
        *(
            Row(f"{name}: largest deviation from the Hertz ODE, {short} beads", None, float(off),
                "of the striker's speed", bool(off < 0.01), "" if off < 0.01 else EXCHANGE)
            for name, v in ends.items() for off in [np.abs(v - ode).max()]
        ),
    )  # fmt: skip
    with styled(2, height=2.9) as (figure, (left, right)):
        last = waves[speeds[-1]]
        for k in range(0, beads - 1, 8):
            left.plot(
                last["time"], last["overlap"][:, k] ** 1.5, color=CYCLE[k // 8 % len(CYCLE)], label=f"contact {k + 1}"
            )
        left.set(xlabel="time", ylabel="force", title="(a) forces along the chain", ylim=(0, None))
        drawn = np.geomspace(force.min() / 2, force.max() * 2, 20)
        right.plot(drawn, NESTERENKO * drawn ** (1.0 / 6.0), color=GRAY, label="Nesterenko")
        right.plot(force, speed, color=CYCLE[0], marker=MARKERS[0], linestyle="", label="Hertz ODE")
        right.set(xscale="log", yscale="log", xlabel="largest force", ylabel="speed (beads per time unit)")
        right.set_title("(b) speed against force")
        right.legend()
        files = write(figure, case.out, "solitary_wave", {"force": force, "speed (beads per time unit)": speed})
    faster = 100.0 * (coefficient / NESTERENKO - 1.0)
    finding = f"the pulse is {faster:.1f} % faster than Nesterenko's long-wave formula and {length:.1f} beads long"
    return Evidence(rows, files, (finding,), {"beads": beads})


def _wave(beads: int, speed: float) -> dict[str, Any]:
    """The pulse in the middle of a chain with unit mass and stiffness: speed in beads per time, force, length."""
    slow = speed**-0.2  # time per bead
    time = np.linspace(0.0, 1.25 * beads * slow, 6000)
    v = np.zeros(beads)
    v[0] = speed
    _, overlap = hertz_history(np.ones(beads), v, time)
    crest = [_crest(time, overlap[:, k]) for k in range(beads - 1)]
    first, last = beads // 3, 2 * beads // 3
    slope = np.polyfit([crest[k][0] for k in range(first, last)], np.arange(first, last), 1)[0]
    q = overlap[:, beads // 2]
    inside = time[np.maximum(q, 0.0) ** 1.5 > EDGE * q.max() ** 1.5]
    force = float(np.mean([crest[k][1] for k in range(first, last)]) ** 1.5)
    found = {"speed": float(slope), "force": force, "length": float((inside[-1] - inside[0]) * slope)}
    return found | {"time": time, "overlap": np.maximum(overlap, 0.0)}


def _crest(time: Floats, q: Floats) -> tuple[float, float]:
    """Time and value of the largest overlap, by a parabola through three samples."""
    k = int(np.clip(q.argmax(), 1, len(q) - 2))
    a, b, c = np.polyfit(time[k - 1 : k + 2] - time[k], q[k - 1 : k + 2], 2)
    return float(time[k] - 0.5 * b / a), float(c - 0.25 * b * b / a)


def chain_end(law: str, beads: int) -> Floats:
    """Velocities after a bead of speed 1 strikes a chain at rest."""
    velocity = np.zeros(beads)
    velocity[0] = 1.0
    return np.asarray(solve_impact(ImpactProblem.chain(np.ones(beads), velocity), law).velocity).ravel()


# ---- column of beads


def column(case: Case, most: int = 12, restitution: float = 0.9) -> Evidence:
    """A column of touching beads falls on a wall: rebound of its center of mass by number of beads (Falcon 1998).

    Writes column.png, .svg, .pdf and .csv.
    """
    numbers = list(range(1, most + 1))
    rebound: dict[str, list[float]] = {}
    for k, name in enumerate(("lzb", "gr", "qce", "lcp")):
        case.tell(k / 4, name)
        rebound[name] = [falling_column(name, n, restitution) for n in numbers]
    rows = tuple(
        Row(f"{name}: rebound of the center of mass, {n} beads", None, rebound[name][n - 1], "of the speed of impact",
            remark="no published number was found" if n == 1 else "")
        for name in rebound
        for n in (1, 2, most)
    )  # fmt: skip
    with styled(1, width=4.8, height=2.9) as (figure, (axes,)):
        for name, values in rebound.items():
            axes.plot(numbers, values, **law_style(name) | {"markerfacecolor": "white"}, label=name)
        axes.set(xlabel="beads", ylabel="rebound of the center of mass", xticks=numbers[::2])
        axes.set_title(f"A column of beads on a wall, restitution {restitution:g}")
        axes.legend()
        files = write(figure, case.out, "column", {"beads": numbers} | rebound)
    one, many = rebound["lzb"][0], rebound["lzb"][-1]
    finding = f"under lzb the rebound of {most} beads is {many:.2f} of the speed, that of one bead {one:.2f}"
    return Evidence(
        rows, files, (finding, "these are predictions: no published number was found"), {"restitution": restitution}
    )


def falling_column(law: str, beads: int, restitution: float) -> float:
    """Upward speed of the center of mass over the downward speed before the impact, for equal coefficients."""
    rows = np.zeros((beads, beads))
    rows[np.arange(beads), np.arange(beads)] = 1.0
    rows[np.arange(1, beads), np.arange(beads - 1)] = -1.0
    problem = ImpactProblem.from_matrices(np.ones(beads), rows, -np.ones(beads), restitution=restitution)
    return float(np.mean(solve_impact(problem, law).velocity))


# ---- restitution that falls with speed

DAMPING = 0.15  # of the viscoelastic contact, in its own unit of time
SPEEDS = tuple(float(v) for v in np.geomspace(1e-5, 1.0, 16))


def restitution(case: Case, speeds: Sequence[float] = SPEEDS) -> Evidence:
    """A viscoelastic sphere: 1 - e grows with the power 1/5 of speed (Ramirez and others 1999), as a table in Carom.

    Writes restitution.png, .svg, .pdf and .csv.
    """
    exact = np.array([viscoelastic(v) for v in speeds])
    low = np.asarray(speeds) <= 1e-3
    power = float(np.polyfit(np.log(np.asarray(speeds)[low]), np.log(1.0 - exact[low]), 1)[0])
    table = [(float(v), float(e)) for v, e in zip(speeds, exact)]
    tried = np.sqrt(np.asarray(speeds)[1:] * np.asarray(speeds)[:-1])  # between the entries of the table
    ours = np.array([bounce(table, v) for v in tried])
    wanted = np.array([viscoelastic(v) for v in tried])
    rows = (
        Row(
            "power of the speed in 1 - e, slow impacts", 0.2, power, "", abs(power - 0.2) < 0.02, "viscoelastic sphere"
        ),
        Row("restitution at the smallest and largest speed", None, f"{exact[0]:.3f} and {exact[-1]:.3f}"),
        Row("largest error of a bounce in Carom with the table of coefficients", 0.0,
            float(np.abs(ours - wanted).max()), "restitution", bool(np.abs(ours - wanted).max() < 0.01),
            f"{len(table)} entries; between them the coefficient is interpolated"),
    )  # fmt: skip
    with styled(1, width=4.8, height=2.9) as (figure, (axes,)):
        axes.plot(speeds, exact, color=GRAY, label="viscoelastic contact, ODE")
        axes.plot(
            tried,
            ours,
            color=CYCLE[0],
            marker=MARKERS[0],
            linestyle="",
            markerfacecolor="white",
            label="bounce in Carom",
        )
        axes.set(
            xscale="log", xlabel="speed of approach", ylabel="restitution", title="Restitution that falls with speed"
        )
        axes.legend()
        files = write(figure, case.out, "restitution", {"speed": tried, "ode": wanted, "carom": ours})
    return Evidence(
        rows, files, (f"1 - e grows as speed^{power:.3f}; a table of coefficients reproduces it",), {"damping": DAMPING}
    )


def viscoelastic(speed: float) -> float:
    """Restitution of a sphere of unit mass and stiffness against a wall: F = q^(3/2) + (3/2) DAMPING sqrt(q) q'."""

    def rates(_: float, y: Floats) -> list[float]:
        q = max(y[0], 0.0)
        return [y[1], -(q**1.5) - 1.5 * DAMPING * np.sqrt(q) * y[1]]

    def force(_: float, y: Floats) -> float:  # contact ends when the force would pull
        return float(max(y[0], 0.0) + 1.5 * DAMPING * y[1])

    force.terminal, force.direction = True, -1.0  # type: ignore[attr-defined]
    done = solve_ivp(rates, (0.0, 20.0 * speed**-0.2), [1e-12, speed], events=force, rtol=1e-9, atol=1e-14)
    if not done.t_events[0].size:
        raise ProblemError("speed", speed, "an impact that ends")
    return float(-done.y_events[0][0][1] / speed)


def bounce(table: list[tuple[float, float]], speed: float) -> float:
    """Restitution of a disc in Carom that strikes the ground at a speed, with a table of coefficients."""
    disc = Bodies(Disc(1.0), np.array([[0.0, 1.0 + 0.5 * speed]]), np.array([[0.0, -speed]]), mass=1.0, rotates=False)
    scene = Scene(
        "bounce",
        [disc],
        [Plane()],
        materials={"default": Material(tuple(table))},
        step=0.1,
        duration=2.0,
        stepper="synchronous",
    )
    run = completed(simulate(scene, make("gr")))
    return float(run.velocities[-1][0, 1] / speed)

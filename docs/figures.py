"""The figures of the theory pages, from the algorithms that the pages print: `python docs/figures.py [NAME ...]`.

Three equal balls in a row have two contacts. Without the motion of their center of mass, velocities are points of a
plane. A law is a path in that plane, from the velocity before the impact into the wedge in which no contact approaches.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from carom import ImpactProblem, solve_impact
from carom.draw.style import BLACK, BLUE, CYCLE, DASHES, GRAY, GREEN, ORANGE, PALE, RED, save, styled

PAGES = Path(__file__).parent / "laws"
PICTURES = Path(__file__).parent / "images"
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
ROWS = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])  # of the contacts 1-2 and 2-3; masses 1
BEFORE = np.array([1.0, 0.0, -0.5])
# Axes of the plane: both contacts open alike; the middle ball moves against the outer ones.
PLANE = np.array([[-1.0, 0.0, 1.0], [-1.0, 2.0, -1.0]]) / np.sqrt([[2.0], [6.0]])
LAWS = ("lcp", "gauss_seidel", "jacobi", "gr", "qce", "lzb", "etm", "sqm", "smm")


def algorithm(law: str) -> Callable[..., Iterator[np.ndarray]]:
    """The generator `velocities` that the page of a law prints."""
    block = BLOCK.search((PAGES / f"{law}.md").read_text(encoding="utf-8"))
    assert block is not None, law
    space: dict[str, object] = {}
    exec(compile(block.group(1), f"{law}.md", "exec"), space)
    return space["velocities"]  # type: ignore[return-value]


def draw_plane(at, speed: float) -> None:
    """The wedge of feasible velocities, its two mirrors, and the circle of velocities with the same energy."""
    far = 2.1 * speed
    directions = [PLANE @ np.cross(ROWS[k], np.ones(3)) for k in (0, 1)]
    edges = [far * d / np.linalg.norm(d) * np.sign(d[0]) for d in directions]
    at.fill([0, edges[0][0], edges[1][0]], [0, edges[0][1], edges[1][1]], color=GREEN, alpha=0.13, lw=0)
    for k, edge in enumerate(edges):
        at.plot([-0.6 * edge[0], edge[0]], [-0.6 * edge[1], edge[1]], color=GRAY, lw=0.8)
        at.annotate(f"$u_{k + 1} = 0$", 0.9 * edge, ha="right", va="bottom" if edge[1] > 0 else "top", color=GRAY)
    angle = np.linspace(0, 2 * np.pi, 200)
    at.plot(speed * np.cos(angle), speed * np.sin(angle), color=PALE, lw=1.0, zorder=0)
    at.annotate("no contact\napproaches", (0.7 * far, 0), ha="center", va="center", color=GREEN, fontsize=7.5)
    at.annotate("same energy", (0, -1.04 * speed), ha="center", va="top", color=GRAY, fontsize=7.5)
    at.set(xlim=(-1.5 * speed, 0.9 * far), ylim=(-1.25 * speed, 1.25 * speed), aspect="equal", xticks=[], yticks=[])
    at.spines[:].set_visible(False)
    at.grid(False)


def draw_path(at, points: np.ndarray, color: str) -> None:
    """Dots where a law stops to look, an arrow along each straight part that can be seen."""
    few = len(points) < 12
    at.plot(*points.T, color=color, lw=1.6, marker="o" if few else "", ms=3.5)
    middle = len(points) // 2
    for a, b in pairwise(points if few else points[middle - 1 : middle + 1]):
        if np.linalg.norm(b - a) > 0.15 or not few:
            arrow = {"arrowstyle": "-|>", "color": color, "lw": 1.4}
            at.annotate("", 0.42 * a + 0.58 * b, 0.5 * (a + b), arrowprops=arrow)
    at.plot(*points[0], "o", color=BLACK, ms=5)
    at.annotate("before", points[0], (-4, 6), textcoords="offset points", ha="center")
    at.plot(*points[-1], "s", color=color, ms=6)
    at.annotate("after", points[-1], (6, 6 if points[-1][1] > 0 else -12), textcoords="offset points", color=color)


def draw_outcomes(at, law: str) -> None:
    """Velocities after the impact against that of the third ball before it."""
    third = np.concatenate([np.linspace(-1.0, -1e-6, 120), np.linspace(1e-6, 0.2, 30)])
    after = np.array([solve(law, (1.0, 0.0, v)) for v in third])
    after[np.searchsorted(third, 0.0)] = np.nan  # a jump is not joined
    for ball in range(3):
        at.plot(third, after[:, ball], color=CYCLE[ball], ls=DASHES[ball], label=f"$v_{ball + 1}^+$")
    at.set(xlabel="$v_3$ before the impact, with $v_1 = 1$, $v_2 = 0$", ylim=(-1.25, 1.35), xlim=(-1.0, 0.2))
    at.legend(loc="lower right", ncols=3)


def solve(law: str, velocity) -> np.ndarray:
    return solve_impact(ImpactProblem.chain(masses=[1, 1, 1], velocities=velocity), law).velocity


def figure_of_law(law: str) -> None:
    """The path of a law from `BEFORE`, and its answers beside it."""
    states = np.array([BEFORE, *algorithm(law)(ROWS, BEFORE)])
    error = np.abs(states[-1] - solve(law, BEFORE)).max()
    assert error < (1 / 30 if law == "etm" else 1e-5), f"{law}: the page's algorithm is off by {error}"
    with styled(2, width=7.2, height=2.7) as (figure, axes):
        draw_plane(axes[0], np.linalg.norm(PLANE @ BEFORE))
        draw_path(axes[0], states @ PLANE.T, BLUE)
        axes[0].set_title("Path of the velocity")
        draw_outcomes(axes[1], law)
        axes[1].set_title("Velocities after the impact")
        save(figure, PICTURES / f"law_{law}.svg", 100)


def figure_of_problem() -> None:
    """The plane itself, with the answers of all laws on it, and the family of answers that balances allow."""
    speed = float(np.linalg.norm(PLANE @ BEFORE))
    with styled(1, width=5.2, height=3.4) as (figure, axes):
        at = axes[0]
        draw_plane(at, speed)
        start = PLANE @ BEFORE
        arc = np.linspace(-np.pi / 6, np.pi / 6, 50)
        at.plot(speed * np.cos(arc), speed * np.sin(arc), color=ORANGE, lw=4, alpha=0.6)
        for k, (row, color) in enumerate(zip(ROWS, (BLUE, RED))):
            tip = start + 0.45 * speed * (PLANE @ row) / np.linalg.norm(row)
            at.annotate("", tip, start, arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.5})
            at.annotate(f"$\\lambda_{k + 1}$", tip, (4, 4 - 12 * k), textcoords="offset points", color=color)
        at.plot(*start, "o", color=BLACK, ms=5)
        at.annotate("before", start, (-4, 6), textcoords="offset points", ha="center")
        groups: dict[tuple[float, float], list[str]] = {}
        for law in LAWS:
            groups.setdefault(tuple((PLANE @ solve(law, BEFORE)).round(1)), []).append(law)
        for names in groups.values():
            place = PLANE @ solve(names[0], BEFORE)
            at.plot(*place, "s", color=BLACK, ms=4)
            at.annotate(", ".join(names), place, (7, -3), textcoords="offset points", fontsize=7.5)
        save(figure, PICTURES / "law_problem.svg", 100)


def figure_of_fixed_steps() -> None:
    """The derivative of the height of a bouncing ball with respect to its first height: exact, and of fixed steps."""
    from carom import sensitivity
    from carom.scene import boundaries, shapes
    from carom.scene.model import Bodies, Material, Scene

    def slope(start: float, times: np.ndarray, **options: object) -> tuple[np.ndarray, np.ndarray]:
        ball = Bodies(shapes.Disc(0.1), [[0.0, start]])
        ground = boundaries.Plane((0.0, 0.0), (0.0, 1.0))
        materials = {"default": Material(0.8)}
        scene = Scene("ball", [ball], [ground], materials=materials, gravity=(0.0, -9.81), duration=1.6)
        frames = sensitivity(scene, **options).derivative("bodies.0.position", times)  # type: ignore[arg-type]
        return frames.position[:, 0, 1], frames["bodies.0.position"].position[:, 0, 1, 0, 1]

    times = np.linspace(0.0, 1.6, 801)
    with styled(2, width=7.2, height=2.7) as (figure, axes):
        height, exact = slope(1.0, times)
        axes[0].plot(times, height, color=GRAY)
        axes[0].set(xlabel="time (time units)", ylabel="height (length units)", title="A bouncing ball")
        axes[1].plot(times, exact, color=BLUE, label="time_of_impact: exact")
        for step, color, dash in ((0.02, ORANGE, DASHES[1]), (0.002, RED, DASHES[2])):
            biased = slope(1.0, times, stepper="synchronous", step=step)[1]
            axes[1].plot(times, biased, color=color, ls=dash, label=f"synchronous, step {step:g}")
        axes[1].set(xlabel="time (time units)", title="Derivative with respect to its first height", ylim=(-2.2, 4.2))
        axes[1].legend(loc="upper left")
        save(figure, PICTURES / "fixed_step_gradient.svg", 100)


def figure_of_benchmarks() -> None:
    """Times of engines on the same scene as bars, from the rows of docs/benchmark_results.md."""
    text = (PAGES.parent / "benchmark_results.md").read_text(encoding="utf-8")
    row = re.compile(r"^\| ([^|]+?), beside (\w+) [\d.]+ \|[^|]*\|.*?([\d.]+) against ([\d.]+) ms", re.MULTILINE)
    scenes: dict[str, dict[str, float]] = {}
    for scene, engine, ours, theirs in row.findall(text):
        key, name = scene.replace(", tolerance 0.03", ""), "Carom, tolerance 0.03" if "tolerance" in scene else "Carom"
        scenes.setdefault(key, {})[name] = float(ours)
        scenes[key][engine] = float(theirs)
    with styled(len(scenes), width=7.2, height=2.3) as (figure, axes):
        for at, (scene, times) in zip(axes, scenes.items()):
            names = sorted(times, key=times.__getitem__, reverse=True)
            colors = [BLUE if name.startswith("Carom") else PALE for name in names]
            at.barh(names, [times[name] for name in names], color=colors)
            for k, name in enumerate(names):
                at.annotate(f"{times[name]:.3g}", (times[name], k), (3, 0), textcoords="offset points", va="center")
            at.set(title=scene, xlabel="milliseconds per step", xlim=(0, 1.2 * max(times.values())))
            at.grid(axis="y", visible=False)
        save(figure, PICTURES / "benchmarks.svg", 100)


def figure_of_restitution() -> None:
    """A cradle of five under the four models: energy that is left, and velocities for e = 0.5."""
    pairs = (("gr", "energetic"), ("qce", "qce_lcp"), ("gauss_seidel", "newton"), ("lzb", "stronge"))
    coefficients = np.linspace(0.05, 1.0, 39)
    with styled(2, width=7.2, height=2.7) as (figure, axes):
        for k, (law, model) in enumerate(pairs):
            kept, after = [], np.zeros(5)
            for e in coefficients:
                problem = ImpactProblem.chain(masses=[1] * 5, velocities=[1, 0, 0, 0, 0], restitution=e)
                solution = solve_impact(problem, law, restitution_model=model)
                kept.append(solution.kinetic_energy / problem.kinetic_energy)
                if abs(e - 0.5) < 1e-9:
                    after = solution.velocity
            axes[0].plot(coefficients, kept, color=CYCLE[k], ls=DASHES[k], label=f"{model} ({law})")
            axes[1].plot(range(1, 6), after, color=CYCLE[k], ls=DASHES[k], marker="o", ms=3)
        axes[0].set(xlabel="coefficient of restitution", title="Energy that is left", ylim=(0, 1.05), xlim=(0, 1))
        axes[0].legend(fontsize=7)
        axes[1].set(xlabel="ball", title="Velocities for a coefficient of 0.5", xticks=range(1, 6))
        save(figure, PICTURES / "theory_restitution.svg", 100)


def figure_of_friction() -> None:
    """A disc that strikes the ground obliquely: slip after the impact, and impulses in the cone of Coulomb."""
    speeds = np.linspace(0.0, 3.0, 61)
    with styled(2, width=7.2, height=2.7) as (figure, axes):
        for k, mu in reversed(list(enumerate((0.1, 0.2, 0.4)))):
            impulses, slip = [], []
            for v in speeds:
                ground = {"planes": [((0.0, -1.0), (0.0, 1.0))], "friction": mu, "restitution": 0.5}
                problem = ImpactProblem.from_discs([[0.0, 0.0]], 1.0, 1.0, [[v, -1.0, 0.0]], **ground)
                solution = solve_impact(problem, "gr")
                x, y = solution.velocity.reshape(3)[:2] - np.array([v, -1.0])
                impulses.append((abs(x), y))
                slip.append(solution.velocity.reshape(3)[0] + solution.velocity.reshape(3)[2])
            axes[0].plot(speeds, slip, color=CYCLE[k], ls=DASHES[k], label=f"$\\mu = {mu}$")
            axes[1].plot(*np.array(impulses).T, "o", color=CYCLE[k], ms=3)
            axes[1].plot([0, 2 * mu], [0, 2], color=CYCLE[k], lw=0.8)
        axes[0].plot(speeds, speeds, color=GRAY, lw=0.8)
        axes[0].set(xlabel="slip before the impact", title="Slip after the impact")
        axes[0].legend()
        axes[1].set(xlabel="tangential impulse", title="Impulses lie in the cone", xlim=(0, 0.8), ylim=(0, 1.8))
        save(figure, PICTURES / "theory_friction.svg", 100)


def figure_of_termination() -> None:
    """Pairwise reflections of three balls: what is left of the approach, for restitution above and below the bound."""
    with styled(2, width=7.2, height=2.7) as (figure, axes):
        for k, e in enumerate((0.3, 0.1, 0.06, 0.02)):
            velocity, left = np.array([1.0, 0.0, 0.0]), []
            for n in range(40):
                speeds = ROWS @ velocity
                left.append(max(-speeds.min(), 1e-17))
                if speeds.min() >= -1e-16:
                    break
                row = ROWS[n % 2]
                velocity = velocity - row * min(0.0, (1.0 + e) * float(row @ velocity)) / 2.0
            axes[0].semilogy(left, color=CYCLE[k], ls=DASHES[k], marker=".", label=f"$e = {e}$")
        axes[0].set(xlabel="reflection", title="Fastest approach that is left", ylim=(1e-12, 3))
        axes[0].legend()
        counts = range(3, 17)
        bound = [np.tan(0.25 * np.pi * (1.0 - 2.0 / n)) ** 2 for n in counts]
        axes[1].fill_between(counts, bound, color=RED, alpha=0.15, lw=0)
        axes[1].plot(counts, bound, color=RED)
        axes[1].annotate("reflections never end", (10, 0.2), ha="center", color=RED)
        axes[1].set(xlabel="balls in the chain", title="Coefficients that collapse", ylim=(0, 1), xlim=(3, 16))
        save(figure, PICTURES / "theory_termination.svg", 100)


def figure_of_steppers() -> None:
    """One bounce of a ball with time steps that do not meet the instant of the touch."""
    from carom import simulate
    from carom.scene import Bodies, Disc, Plane, Scene

    ball = Bodies(Disc(0.1), [[0.0, 1.1]])
    scene = Scene("bounce", [ball], [Plane()], gravity=(0.0, -10.0), step=0.07, duration=0.9)
    fall = np.linspace(0.0, 0.9, 400)
    first = np.sqrt(0.2)
    exact = np.where(fall < first, 1.0 - 5.0 * fall**2, 10.0 * first * (fall - first) - 5.0 * (fall - first) ** 2)
    with styled(2, width=7.2, height=2.7) as (figure, axes):
        for k, stepper in enumerate(("synchronous", "time_of_impact", "drift_safe", "substepped")):
            run = simulate(scene, "gr", stepper=stepper, frame_rate=1.0 / 0.07)
            height = run.positions[:, 0, 1] - 0.1
            at = axes[0 if stepper == "synchronous" else 1]
            look = {"marker": "osv^"[k], "ms": 4, "lw": 0.0, "label": stepper, "fillstyle": "none"}
            at.plot(run.time, height, color=CYCLE[k], **look)
        for at in axes:
            at.plot(fall, exact, color=GRAY, lw=0.8, zorder=0)
            at.set(xlabel="time", ylim=(-0.25, 1.1))
            at.legend(loc="upper center")
        axes[0].set_title("Impact at the start of the step")
        axes[1].set_title("Impact when the gap closes")
        save(figure, PICTURES / "theory_steppers.svg", 100)


def figure_of_towers() -> None:
    """The forces of a harmonic stack, which stands, and the first motion of a diamond, which falls."""
    from carom.towers import Tower
    from carom.towers.drawing import draw

    draw(Tower.harmonic(6), PICTURES / "theory_tower_stands.svg", "forces")
    draw(Tower.diamond(3), PICTURES / "theory_tower_falls.svg", "velocities")


def figure_of_joints() -> None:
    """A bar on a hinge, struck at different places: the impulse of the hinge and the speed of the ball."""

    def struck(s: float, joints: list[dict[str, object]]):
        return solve_impact(
            ImpactProblem.from_contacts(
                positions=[[0.5, 0], [s, 0.1]],
                masses=[1, 1],
                inertias=[1 / 12, 1],
                velocities=[[0, 0, 0], [0, -1, 0]],
                bodies=[[0, 1]],
                points=[[s, 0]],
                normals=[[0, 1]],
                joints=joints,
            ),
            "gr",
        )

    hinge: list[dict[str, object]] = [{"kind": "pin", "bodies": [-1, 0], "point": [0, 0]}]
    line, dots = np.linspace(0.02, 1.0, 200), np.linspace(0.1, 1.0, 10)
    held, free = 1.0 / (3.0 * line**2), 1.0 / (1.0 + 12.0 * (line - 0.5) ** 2)  # masses that the ball meets
    with styled(2, width=7.2, height=2.7) as (figure, axes):
        axes[0].plot(line, (1.0 - 1.5 * line) * 2.0 * held / (1.0 + held), color=BLUE)
        axes[0].plot(dots, [struck(s, hinge).joint_impulse[1] for s in dots], "o", color=BLUE, ms=4)
        axes[0].axhline(0.0, color=GRAY, lw=0.8)
        axes[0].annotate("center of percussion", (2 / 3, 0.0), (0.62, 0.55), arrowprops={"arrowstyle": "->", "lw": 0.8})
        axes[0].set(xlabel="distance $s$ from the hinge", title="Impulse of the hinge", xlim=(0, 1.03))
        for mass, joints, color, label in ((held, hinge, BLUE, "with the hinge"), (free, [], ORANGE, "free bar")):
            axes[1].plot(line, (1.0 - mass) / (1.0 + mass), color=color, label=label)
            axes[1].plot(dots, [-struck(s, joints).velocity[1, 1] for s in dots], "o", color=color, ms=4)
        axes[1].set(xlabel="distance $s$ from the hinge", title="Speed of the ball after the impact", xlim=(0, 1.03))
        axes[1].legend()
        save(figure, PICTURES / "theory_joints.svg", 100)


OTHERS = {
    "joints": figure_of_joints,
    "problem": figure_of_problem,
    "benchmarks": figure_of_benchmarks,
    "restitution": figure_of_restitution,
    "friction": figure_of_friction,
    "termination": figure_of_termination,
    "steppers": figure_of_steppers,
    "towers": figure_of_towers,
    "fixed_steps": figure_of_fixed_steps,
}


if __name__ == "__main__":
    for name in sys.argv[1:] or (*LAWS, *OTHERS):
        OTHERS[name]() if name in OTHERS else figure_of_law(name)
        print(name)

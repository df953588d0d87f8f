"""Small scenes for tests of steppers, and a loop that keeps every state."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from carom import stepping
from carom.build import build
from carom.problem.contacts import Impulses
from carom.resolve.response import Response
from carom.scene import Bodies, Disc, Material, Polygon, Rectangle, Scene
from carom.solvers.contact import Accuracy
from carom.stepping.report import NO_WARM_START, STEP
from carom.stepping.resting import RestingProblem, kept, match, put_keys, solve_resting
from carom.stepping.stepper import Stepper
from carom.world import State

COUNTS = (10_000, 100)  # more than the bodies and boundaries, and the boundaries, of any of these scenes


def engine_of(scene: Scene, stepper: str | None = None, law: str | None = None) -> tuple[Stepper, State]:
    """A stepper for the scene and the state it starts from."""
    world, state = build(scene)
    response = Response.for_run(law or scene.law, scene.restitution_model, scene.friction_model)
    return stepping.make(stepper or scene.stepper, world, response, scene.step), state


def states_of(scene: Scene, steps: int, stepper: str | None = None, law: str | None = None) -> list[State]:
    """The start and the state after each step."""
    engine, state = engine_of(scene, stepper, law)
    states = [state]
    for _ in range(steps):
        states.append(engine.step(states[-1])[0])
    return states


def rows_of(scene: Scene, steps: int, stepper: str | None = None, law: str | None = None) -> np.ndarray:
    """The table of steps, its first row that of the start."""
    engine, state = engine_of(scene, stepper, law)
    rows = np.zeros(steps + 1, STEP)
    rows[0] = engine.start(state).row
    for k in range(steps):
        state, report = engine.step(state)
        rows[k + 1] = report.row
    return rows


def disc(x: float, y: float, vx: float = 0.0, vy: float = 0.0, radius: float = 1.0, **more) -> Bodies:
    return Bodies(Disc(radius), np.array([[x, y]]), velocity=(vx, vy), **more)


def box(x: float, y: float, width: float = 1.0, height: float = 1.0, **more) -> Bodies:
    return Bodies(Rectangle(width, height), np.array([[x, y]]), **more)


def rough(friction: float, restitution: float = 0.0) -> dict[str, Material]:
    return {"default": Material(restitution, friction)}


@st.composite
def clusters(draw, most: int = 6, gravity: bool = True, boundaries=()):
    """A few bodies of all shapes that fall toward each other from a coarse lattice, each cell its own body."""
    n = draw(st.integers(1, most))
    cells = draw(st.permutations([(i, j) for i in range(3) for j in range(3)]))[:n]
    bodies = []
    for i, j in cells:
        kind = draw(st.sampled_from(["disc", "box", "polygon"]))
        size = draw(st.floats(0.3, 1.0))
        if kind == "disc":
            shape = Disc(size)
        elif kind == "box":
            shape = Rectangle(size * 1.6, size * draw(st.floats(0.4, 1.0)))
        else:
            corners = draw(st.integers(3, 6))
            angle = 2.0 * np.pi * np.arange(corners) / corners
            shape = Polygon([(size * np.cos(a), 0.8 * size * np.sin(a)) for a in angle])
        place = (2.3 * (i - 1) + draw(st.floats(-0.1, 0.1)), 1.3 + 2.3 * j)
        velocity = (draw(st.floats(-2.0, 2.0)), draw(st.floats(-2.0, 2.0)))
        turn = draw(st.floats(-3.0, 3.0))
        bodies.append(Bodies(shape, np.array([place]), velocity=velocity, angle=turn, spin=draw(st.floats(-2.0, 2.0))))
    material = Material(draw(st.sampled_from([0.0, 0.3, 0.8, 1.0])), draw(st.sampled_from([0.0, 0.2, 0.7])))
    return Scene(
        "cluster",
        bodies,
        boundaries,
        materials={"default": material},
        gravity=(draw(st.sampled_from([0.0, 1.0])), -9.81) if gravity else (0.0, 0.0),
        step=draw(st.sampled_from([2e-3, 1e-2, 2e-2])),
    )


def rest(impact, found, slack, warm_start=NO_WARM_START, tolerance=1e-10):
    """The answer of a resting solve over all contacts, to a speed, and the next warm start.

    The answer is None if no impulse is needed. `slack` (m,) are speeds of approach that just close the gaps.
    """
    problem = RestingProblem.empty(impact.rows, impact.velocity.shape)._replace(falling=impact.velocity)
    problem.base[:, 0] += slack
    put_keys(found.table, *COUNTS, problem.keys)
    match(warm_start, problem.keys, found.table, impact.rows.tangents, problem.start)
    held = solve_resting(impact.rows, problem, np.ones(found.count, bool), problem.start, Accuracy(tolerance))
    warm_start = kept(found, problem.keys, held)
    if held is None:
        return None, warm_start
    tangent = held.impulse[:, 1:] if held.impulse.shape[1] > 1 else None
    return Impulses(held.impulse[:, 0], tangent, held.iterations, residual=held.residual), warm_start

"""Catalogue problems in 2D: Bernoulli's problem, corners, moving grounds, clusters, the pool break, boxes."""

from __future__ import annotations

import math

import numpy as np

from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats
from .entry import Entry, answers_for, disc_cluster, mirror, rotation, spatial_symmetry


def entries_2d() -> list[Entry]:
    """All entries of this file."""
    entries = [bernoulli(), bernoulli_scisim(), plane_cradle(), right_corner(), acute_corner()]
    entries += [
        three_walls(),
        moving_floor(),
        stack_on_moving_floor(),
        pool_break(4),
        hexagon(),
        box_on_floor(0.0),
    ]
    entries += [box_on_floor(0.7), clamped_disc_struck()]
    entries += [cluster(seed, count) for seed, count in ((1, 6), (2, 9), (3, 14), (4, 25))]
    return entries


def _bernoulli(x: float, speed: float, name: str, note: str, source: str) -> Entry:
    """One disc of radius 1/2 at (x, 0) hits two at (0, 1/2) and (0, -1/2) that touch each other."""
    reach = math.hypot(x, 0.5)
    c, s = -x / reach, 0.5 / reach
    push = 2 * speed * c / (1 + 2 * c * c)
    answer = [[speed - 2 * push * c, 0], [push * c, push * s], [push * c, -push * s]]
    places = np.array([[x, 0.0], [0.0, 0.5], [0.0, -0.5]])
    problem = ImpactProblem.from_discs(
        places,
        0.5,
        1.0,
        [[speed, 0], [0, 0], [0, 0]],
        tolerance=0.03,
        symmetries=(spatial_symmetry(places, mirror(1, 2), 2, "up and down"),),
        name=name,
    )
    answers = answers_for("lcp gr qce", answer)
    sizes = 0.5 if abs(reach - 1.0) < 1e-9 else None  # SCISim's discs do not touch yet
    return Entry(problem, note, breaking=(0, 1, 2), answers=answers, source=source, sizes=sizes)


def bernoulli() -> Entry:
    return _bernoulli(
        -math.sqrt(0.75),
        1.0,
        "bernoulli",
        "one disc into two: they leave sideways, mirror images of each other",
        "closed form: both approaches are reversed",
    )


def bernoulli_scisim() -> Entry:
    """The geometry of the impact in SCISim's sample scene: a time step of 0.01 before the discs touch."""
    return _bernoulli(
        -0.88,
        2.0,
        "bernoulli_scisim",
        "Bernoulli's problem as SCISim's sample scene resolves it",
        "SCISim: (-0.4076, 0), (1.2038, 0.6840), (1.2038, -0.6840); and the closed form",
    )


def plane_cradle() -> Entry:
    places = np.stack([np.arange(5.0), np.zeros(5)], axis=1)
    velocity = np.zeros((5, 2))
    velocity[0, 0] = 1.0
    problem = ImpactProblem.from_discs(
        places,
        0.5,
        1.0,
        velocity,
        symmetries=(spatial_symmetry(places, mirror(1, 2), 2, "up and down"),),
        name="cradle_in_the_plane",
    )
    return Entry(
        problem,
        "Newton's cradle of five discs, free to leave the line",
        breaking=(3,),
        answers=answers_for("gr qce gauss_seidel", velocity[::-1]),
        source="closed form",
        sizes=0.5,
    )


def _corner(half: float, velocity: list[float], name: str, note: str, answer: str) -> Entry:
    """A disc at the origin that touches two walls, each at the angle `half` from the positive y axis."""
    normals = [[math.cos(half), math.sin(half)], [-math.cos(half), math.sin(half)]]
    places = np.zeros((1, 2))
    symmetric = velocity[0] == 0
    flip = (spatial_symmetry(places, mirror(0, 2), 2, "left and right", center=[0, 0]),) if symmetric else ()
    problem = ImpactProblem.from_discs(
        places,
        1.0,
        1.0,
        [velocity],
        planes=[(-np.array(n), n) for n in normals],
        symmetries=flip,
        name=name,
    )
    reversed_velocity = [[-velocity[0], -velocity[1]]]
    return Entry(
        problem,
        note,
        answers=answers_for(answer, reversed_velocity),
        source="closed form",
        sizes=1.0,
    )


def right_corner() -> Entry:
    # The walls are orthogonal, so every law has to reverse the velocity of the disc.
    note = "a disc into a right-angled corner, off the bisector"
    return _corner(math.pi / 4, [0.3, -1.0], "right_corner", note, "lcp gr qce gauss_seidel jacobi")


def acute_corner() -> Entry:
    note = "a disc into a corner of 60 degrees, along the bisector"
    return _corner(math.pi / 6, [0.0, -1.0], "acute_corner", note, "lcp gr qce")


def three_walls() -> Entry:
    """A disc against walls whose normals point at 20, 35 and 140 degrees: more contacts than components.

    A law whose impulses may pull can cycle here: smm reflects the same contacts forever.
    """
    angle = np.radians([20.0, 35.0, 140.0])
    normals = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    problem = ImpactProblem.from_discs(
        [[0.0, 0.0]], 1.0, 1.0, [[1.0, -1.0]], planes=[(-n, n) for n in normals], name="three_walls"
    )
    return Entry(problem, "a disc that touches three walls of a concave polygon", sizes=1.0)


def moving_floor() -> Entry:
    problem = ImpactProblem.from_discs(
        [[0.0, 1.0]],
        1.0,
        1.0,
        [[0.5, -1.0]],
        planes=[([0.0, 0.0], [0.0, 1.0])],
        boundary_speed=[-0.5],  # the ground rises at 0.5
        name="moving_floor",
    )
    return Entry(
        problem,
        "a disc falls on a floor that comes up at half its speed",
        answers=answers_for("lcp gr qce gauss_seidel jacobi", [[0.5, 2.0]]),
        source="reflection in the floor's frame",
        sizes=1.0,
    )


def stack_on_moving_floor() -> Entry:
    places = np.array([[0.0, 1.0], [0.0, 3.0]])
    flip = spatial_symmetry(places, mirror(0, 2), 2, "left and right", center=[0, 0])
    problem = ImpactProblem.from_discs(
        places,
        1.0,
        [2.0, 1.0],
        [[0.0, 0.0], [0.0, -0.5]],
        planes=[([0.0, 0.0], [0.0, 1.0])],
        boundary_speed=[0.0, -1.0],
        symmetries=(flip,),
        name="stack_on_moving_floor",
    )
    return Entry(problem, "two discs on top of each other over a rising floor", sizes=1.0)


def pool_break(rows: int) -> Entry:
    """A triangle of touching discs and a cue ball along its axis."""
    places = [[0.0, 0.0]]
    for k in range(rows):
        x = 1.0 + k * math.sqrt(0.75)
        places += [[x, i - k / 2] for i in range(k + 1)]
    place = np.array(places)
    velocity = np.zeros_like(place)
    velocity[0, 0] = 1.0
    flip = spatial_symmetry(place, mirror(1, 2), 2, "up and down")
    problem = ImpactProblem.from_discs(place, 0.5, 1.0, velocity, symmetries=(flip,), name="pool_break")
    last = len(place) - rows
    # The impact propagates along both flanks, and the two back corners separate; under the LCP they do not.
    left = _contacts_between(problem, {last - rows + 1}, {last})
    right = _contacts_between(problem, {last - 1}, {len(place) - 1})
    return Entry(problem, f"the break: a cue ball into a rack of {rows} rows", breaking=left + right, sizes=0.5)


def _contacts_between(problem: ImpactProblem, first: set[int], second: set[int]) -> tuple[int, ...]:
    """Contacts whose two bodies lie in the two sets."""
    pairs = problem.rows.body.reshape(-1, 2)
    return tuple(i for i, (a, b) in enumerate(pairs) if a in first and b in second)


def hexagon() -> Entry:
    """Six discs approach a seventh from all sides: every contact approaches, and the hub cannot move."""
    angle = np.arange(6) * math.pi / 3
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    place = np.concatenate([np.zeros((1, 2)), ring])
    turn = spatial_symmetry(place, rotation(math.pi / 3), 2, "a sixth of a turn", center=[0, 0])
    flip = spatial_symmetry(place, mirror(1, 2), 2, "up and down", center=[0, 0])
    problem = ImpactProblem.from_discs(place, 0.5, 1.0, -place, symmetries=(turn, flip), name="hexagon")
    return Entry(
        problem,
        "six discs close in on a seventh; twelve contacts on fourteen components",
        answers=answers_for("lcp gr qce", place),
        source="symmetry and energy leave one answer",
        sizes=0.5,
    )


def box_on_floor(spin: float) -> Entry:
    """A 2 x 1 box (mass 1) that lands flat on both lower corners: d = 3."""
    corners = np.array([[-1.0, -0.5], [1.0, -0.5]])
    rows = np.zeros((2, 2, 3))
    for k, arm in enumerate(corners):
        rows[k, 1] = [0.0, 1.0, arm[0]]  # n = y, lever arm r x n = r_x
    place = np.zeros((1, 2))
    flip = spatial_symmetry(place, mirror(0, 2), 3, "left and right", center=[0, 0])
    problem = ImpactProblem.from_blocks(
        mass=[[1.0, 1.0, 5.0 / 12.0]],
        bodies=[[-1, 0], [-1, 0]],
        rows=rows,
        velocity=[[0.0, -1.0, spin]],
        positions=place,
        symmetries=() if spin else (flip,),
        name="box_turning_2d" if spin else "box_flat_2d",
    )
    answers = answers_for("lcp gr", [[0.0, 1.0, -spin]])
    return Entry(
        problem,
        "a box lands on two corners" + (", turning" if spin else ""),
        answers=answers,
        source="closed form: both approaches are reversed",
        sizes=[[1.0, 0.5]],
    )


def clamped_disc_struck() -> Entry:
    """A disc between floor and ceiling without clearance, struck by another at 45 degrees."""
    slope = math.sqrt(0.5)
    rows: Floats = np.zeros((3, 2, 2))
    rows[0, 1] = [0.0, 1.0]
    rows[1, 1] = [0.0, -1.0]
    rows[2] = [[-slope, -slope], [slope, slope]]
    problem = ImpactProblem.from_blocks(
        mass=[1.0, 1.0],
        bodies=[[-1, 0], [-1, 0], [0, 1]],
        rows=rows,
        velocity=[[0.0, 0.0], [-1.0, -1.0]],
        positions=[[0.0, 0.0], [slope, slope]],
        name="clamped_disc_struck",
    )
    return Entry(problem, "a disc between floor and ceiling, struck at 45 degrees", degenerate=True)


def cluster(seed: int, count: int) -> Entry:
    rng = np.random.default_rng(seed)
    places, radii = disc_cluster(rng, count)
    masses = rng.uniform(0.5, 2.0, count)
    velocity = rng.normal(size=(count, 2)) - 0.5 * places
    problem = ImpactProblem.from_discs(places, radii, masses, velocity, name=f"disc_cluster_{count}")
    return Entry(problem, f"{count} touching discs of mixed size and mass, random velocities", sizes=radii)

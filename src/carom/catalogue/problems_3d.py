"""Catalogue problems in 3D: boxes with redundant contacts, corners, spheres."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ..problem.problem import ImpactProblem, Symmetry
from ..solvers.rows import Floats
from .entry import Entry, answers_for, mirror, rotation, spatial_symmetry, sphere_cluster


def entries_3d() -> list[Entry]:
    """All entries of this file."""
    entries = [box_on_floor(np.zeros(3)), box_on_floor(np.array([0.4, -0.3, 0.2])), box_on_box()]
    entries += [corner(), three_fold(), spheres(5, 8), spheres(6, 20)]
    return entries


_FEET = np.array([[x, y, -0.5] for x, y in itertools.product((-1.0, 1.0), (-0.75, 0.75))])
_HALF = [[1.0, 0.75, 0.5]]
_BOX = [1.0, 1.0, 1.0, (0.75**2 * 4 + 1) / 12, (4 + 1) / 12, (4 + 0.75**2 * 4) / 12]


def _upward(arms: Floats) -> Floats:
    """Rows of contacts with the normal z at `arms` from the center: (z, r x z)."""
    rows = np.zeros((len(arms), 6))
    rows[:, 2] = 1.0
    rows[:, 3:] = np.cross(arms, [0.0, 0.0, 1.0])
    return rows


def _mirrors(places: Floats) -> tuple[Symmetry, ...]:
    return tuple(
        spatial_symmetry(places, mirror(k, 3), 6, name, center=[0, 0, 0])
        for k, name in ((0, "left and right"), (1, "front and back"))
    )


def box_on_floor(spin: Floats) -> Entry:
    """A 2 x 1.5 x 1 box that lands on its four feet: four contacts, rank three."""
    rows = np.zeros((4, 2, 6))
    rows[:, 1] = _upward(_FEET)
    places = np.zeros((1, 3))
    still = not spin.any()
    answer = [[0.3, 0.0, 1.0, 0.0, 0.0, 0.0]] if not still else [[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
    problem = ImpactProblem.from_blocks(
        mass=[_BOX],
        bodies=[[-1, 0]] * 4,
        rows=rows,
        velocity=[[0.0 if still else 0.3, 0.0, -1.0, *spin]],
        positions=places,
        symmetries=_mirrors(places) if still else (),
        name="box_flat_3d" if still else "box_turning_3d",
    )
    return Entry(
        problem,
        "a flat box on four redundant contacts" + ("" if still else ", turning"),
        answers=answers_for("lcp gr qce", answer) if still else {},
        source="symmetry and energy leave one answer" if still else "",
        sizes=_HALF,
    )


def box_on_box() -> Entry:
    """A box lands flat on one that stands on the ground: eight contacts, rank six."""
    rows = np.zeros((8, 2, 6))
    rows[:4, 1] = _upward(_FEET)
    rows[4:, 0] = -_upward(_FEET + np.array([0.0, 0.0, 1.0]))
    rows[4:, 1] = _upward(_FEET)
    places = np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 1.5]])
    problem = ImpactProblem.from_blocks(
        mass=[_BOX, _BOX],
        bodies=[[-1, 0]] * 4 + [[0, 1]] * 4,
        rows=rows,
        velocity=[[0.0] * 6, [0.0, 0.0, -1.0, 0.0, 0.0, 0.0]],
        positions=places,
        symmetries=_mirrors(places),
        name="box_on_box",
    )
    return Entry(
        problem,
        "a box lands flat on another one that stands on the floor",
        answers=answers_for("gr qce", [[0.0] * 6, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]),
        source="a cradle of one box and the floor: the upper one goes back up",
        sizes=_HALF * 2,
    )


def corner() -> Entry:
    velocity = np.array([[-0.5, -0.7, -1.0]])
    problem = ImpactProblem.from_spheres(
        [[1.0, 1.0, 1.0]],
        1.0,
        1.0,
        velocity,
        planes=[(np.zeros(3), axis) for axis in np.eye(3)],
        name="room_corner",
    )
    return Entry(
        problem,
        "a sphere into the corner of a room",
        answers=answers_for("lcp gr qce gauss_seidel jacobi", -velocity),
        source="the walls are orthogonal",
        sizes=1.0,
    )


def three_fold() -> Entry:
    """Bernoulli's problem in 3D: a sphere falls into the hollow between three spheres that touch."""
    angle = np.arange(3) * 2 * math.pi / 3
    base = np.stack([np.cos(angle), np.sin(angle), np.zeros(3)], axis=1) / math.sqrt(3)
    places = np.concatenate([[[0.0, 0.0, math.sqrt(2 / 3)]], base])
    velocity = np.zeros((4, 3))
    velocity[0, 2] = -1.0
    turn = spatial_symmetry(places, rotation(2 * math.pi / 3, 3), 3, "a third of a turn")
    flip = spatial_symmetry(places, mirror(1, 3), 3, "front and back")
    c, s = math.sqrt(2 / 3), math.sqrt(1 / 3)
    push = 2 * c / (1 + 3 * c * c)
    answer = np.zeros((4, 3))
    answer[0, 2] = -1 + 3 * push * c
    answer[1:] = push * (base * math.sqrt(3) * s - [0.0, 0.0, c])
    problem = ImpactProblem.from_spheres(places, 0.5, 1.0, velocity, symmetries=(turn, flip), name="bernoulli_in_space")
    return Entry(
        problem,
        "a sphere falls into the hollow of three others",
        breaking=(0, 1, 2, 3, 4, 5),
        answers=answers_for("lcp gr qce", answer),
        source="closed form: the three approaches are reversed",
        sizes=0.5,
    )


def spheres(seed: int, count: int) -> Entry:
    rng = np.random.default_rng(seed)
    places = sphere_cluster(rng, count)
    velocity = rng.normal(size=(count, 3)) - 0.5 * (places - places.mean(axis=0))
    problem = ImpactProblem.from_spheres(
        places, 0.5, rng.uniform(0.5, 2.0, count), velocity, name=f"sphere_cluster_{count}"
    )
    return Entry(problem, f"{count} touching spheres of mixed mass, random velocities", sizes=0.5)

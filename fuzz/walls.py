"""Random small runs as in `simulations`, between walls of other kinds: tubes, segments, vibrating boxes, paddles.

Vibrating boxes and paddles do work; what is tested there is that nothing escapes, overlaps or takes long.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from carom.build import build
from carom.scene import FIXED, Bodies, Container, Plane, Rotating, Segment, Tube, Vibrating
from carom.scene.boundaries import Boundary
from carom.scene.shapes import Box, Disc, Rectangle, Sphere

from .simulations import SIDE, Floats, Run, Simulations

HALF = 0.5 * SIDE
SHAKEN = 0.1  # largest amplitude of a vibrating box
PADDLE, THICK = 0.35, 0.1  # length of a paddle in sides of the container, and its thickness


@dataclass(frozen=True)
class Walled(Run):
    """`walls` is the kind of boundary, or what is in the container."""

    walls: str

    def outside(self, position: Floats) -> Floats:
        if self.walls == "tube":
            return (np.hypot(position[:, 0], position[:, 1]) > HALF) | (np.abs(position[:, 2]) > HALF)
        return np.abs(position).max(axis=1) > HALF + (2.0 * SHAKEN if self.walls == "vibrating" else 0.0)


class Walls(Simulations):
    """Bodies and settings are those of `simulations`; bodies that would touch a wall at the start are left out."""

    title = "2 to 21 bodies of all shapes in tubes and vibrating boxes, beside segments and paddles"
    quick = 3

    def case(self, rng: np.random.Generator) -> Walled:
        run = super().case(rng)
        dimension = len(run.scene.gravity)
        walls = str(rng.choice(["segment" if dimension == 2 else "tube", "vibrating", "paddle"]))
        boundaries, moved = self.boundaries(rng, walls, dimension)
        groups = [group for group in run.scene.bodies if group.name != "plate"]
        radius = build(replace(run.scene, bodies=groups))[0].shapes.radius
        kept = [group for group, r in zip(groups, radius) if clear(walls, np.asarray(group.position)[0], 1.01 * r)]
        if not kept:
            corner = np.full((1, dimension), 0.6 * HALF)
            kept = [Bodies(Disc(0.5) if dimension == 2 else Sphere(0.5), corner, (run.speed,) * dimension)]
        given = {field.name: getattr(run, field.name) for field in fields(Run)}
        given |= {"scene": replace(run.scene, bodies=[*kept, *moved], boundaries=boundaries), "radius": None}
        given |= {"plate": 1 if walls == "segment" else None, "turning": walls in ("vibrating", "paddle")}
        return Walled(**given, walls=walls)

    @staticmethod
    def boundaries(rng: np.random.Generator, walls: str, dimension: int) -> tuple[list[Boundary], list[Bodies]]:
        """The boundaries, and bodies that follow a motion."""
        half = (HALF,) * dimension
        box = Container(tuple(-x for x in half), half)
        if walls == "tube":
            ends = [Plane((0.0, 0.0, s * HALF), (0.0, 0.0, -s)) for s in (-1.0, 1.0)]
            return [Tube(HALF), *ends], []
        if walls == "segment":
            return [box, Segment((-HALF, 0.0), (HALF, 0.0))], []
        if walls == "vibrating":
            shaken = Vibrating(float(rng.uniform(0.0, SHAKEN)), float(rng.uniform(0.0, 10.0)))
            return [replace(box, motion=shaken)], []
        edges = (PADDLE * SIDE, THICK, 1.0)[:dimension]
        shape = Rectangle(*edges) if dimension == 2 else Box(edges)
        turns = Rotating(float(rng.uniform(-10.0, 10.0))) if rng.random() < 0.9 else FIXED
        return [box], [Bodies(shape, np.zeros((1, dimension)), motion=turns, name="paddle")]


def clear(walls: str, place: Floats, radius: float) -> bool:
    """Whether a body within `radius` of a place touches no wall."""
    if walls == "tube" and np.hypot(place[0], place[1]) > HALF - radius:
        return False
    if walls == "segment" and abs(place[1]) < radius:
        return False
    if walls == "paddle" and np.linalg.norm(place) < 0.5 * np.hypot(PADDLE * SIDE, 1.0) + radius:
        return False
    return bool(np.abs(place).max() < HALF - radius)


CAMPAIGN = Walls()

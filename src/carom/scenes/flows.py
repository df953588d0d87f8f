"""Grains that come and go: a hopper that fills and drains, and a gun."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..scene.boundaries import Plane, Segment
from ..scene.changes import Sink, Source
from ..scene.model import Bodies, Material, Scene
from ..scene.motion import Table
from ..scene.shapes import Disc, Rectangle
from .parameters import Count, NotNegative, Positive, Restitution, Seed, between, declared

FILLED = 0.75  # share of the area of a bin that falling grains are assumed to fill
WIDE = 0.7  # width of the bin, in square roots of the number of grains times the mean diameter
GATE_TIME = 0.2  # in which the gate opens


@declared
def hopper(
    *,
    grains: Count = 300,
    fill: Positive = 6.0,
    drain: Positive = 8.0,
    outlet: Annotated[float, between(1.0, 1000.0)] = 6.0,
    slope: Annotated[float, between(1.0, 89.0)] = 45.0,
    friction: NotNegative = 0.4,
    restitution: Restitution = 0.3,
    seed: Seed = 0,
) -> Scene:
    """A hopper that a source fills with grains; then its gate opens, and what has fallen out vanishes below.

    Radii lie between 0.04 and 0.06. fill: time in which all grains appear, after which the gate opens. drain: time
    after that. outlet: width in mean diameters. slope: of the walls of the funnel against the horizontal, in degrees.
    """
    radius = np.random.default_rng(seed).uniform(0.04, 0.06, grains)
    opening = 0.05 * outlet
    half = max(opening + 0.2, 0.05 * WIDE * np.sqrt(grains))
    rise = (half - opening) * np.tan(np.radians(slope))
    level = rise + float(np.pi * (radius**2).sum()) / (FILLED * 2.0 * half)  # below which the grains will lie
    low, high = level + 0.3, level + 0.3 + 0.5 * half
    top, times = high + 0.3, (fill, fill + GATE_TIME)
    gate = Table(times, (0.0, 2.5 * opening), (0.0, 0.0))
    return Scene(
        name="hopper",
        bodies=[Bodies(Disc(radius), np.tile([0.0, low], (grains, 1)), (0.0, -1.0), name="grains", present=False)],
        boundaries=[
            *(Segment((side * half, rise), (side * opening, 0.0)) for side in (-1.0, 1.0)),
            *(Segment((side * half, rise), (side * half, top)) for side in (-1.0, 1.0)),
            Segment((-opening, 0.0), (opening, 0.0), motion=gate),
        ],
        materials={"default": Material(restitution, friction)},
        gravity=(0.0, -9.81),
        sources=[Source("grains", (-half + 0.1, low), (half - 0.1, high), grains / fill, total=grains, seed=seed)],
        sinks=[Sink(upper=(100.0 * half, -max(1.0, 0.5 * rise)))],
        step=0.004,
        duration=fill + drain,
        frame_rate=25.0,
        description=f"{grains} grains fill a hopper in {fill:g}, then run out through {outlet:g} diameters.",
    )


@declared
def gun(
    *, shots: Count = 8, rate: Positive = 2.0, speed: Positive = 12.0, rows: Count = 5, columns: Count = 3
) -> Scene:
    """A gun fires two balls in turn at a wall of bricks: a ball vanishes when it has struck, and is fired again.

    rate: shots per unit of time; rows and columns: of bricks of 0.4 x 0.2. speed: horizontal speed of the balls, which
    rise by a tenth of it, or faster where they would fall short of the wall.
    """
    place = [(2.0 + 0.4 * k, 0.1 + 0.2 * row) for row in range(rows) for k in range(columns)]
    muzzle, flight = (-3.0, 0.15 * rows), 4.7 / speed
    rise = max(0.1 * speed, (0.09 * rows - muzzle[1]) / flight + 0.5 * 9.81 * flight)
    return Scene(
        name="gun",
        bodies=[
            Bodies(Rectangle(0.4, 0.2), np.array(place), name="bricks"),
            Bodies(Disc(0.1), np.tile(muzzle, (2, 1)), (speed, rise), material="ball", name="balls", present=False),
        ],
        boundaries=[Plane((0.0, 0.0), (0.0, 1.0))],
        materials={"default": Material(0.2, 0.5), "ball": Material(0.5, 0.3, density=4.0)},
        gravity=(0.0, -9.81),
        sources=[Source("balls", muzzle, muzzle, rate, start=0.25, total=shots)],
        sinks=[Sink(bodies=("balls",), impulse=0.3), Sink((-4.0, -1.0), (3.0 + 0.4 * columns, 6.0), outside=True)],
        step=0.004,
        duration=0.25 + shots / rate + 1.0,
        frame_rate=50.0,
        description=f"{shots} shots at a wall of {rows * columns} bricks.",
    )

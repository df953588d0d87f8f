"""A Rube Goldberg machine: eight devices in one simulation, each triggered by the one before it (Zhang 2015, fig. 11).

Seen from above, x to the right and y to the back:

    first spiral (0, 1.3) -> cradle (1.4, 0) -> card house (3.4, 0) -> dominoes, which turn to the front
                                                                           |
                                                                       seesaw (6, -3)
                                                                           |
    second spiral (0, -5.5) <- pocket <- rack (2.3, -3.9) <- oblique track (6, -3.9)
         |
    pillars (0.8, -6.3) to the right, on the ground
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from ..geometry import figures
from ..geometry.shapes import ShapeList
from ..scene.boundaries import Plane
from ..scene.joints import Hinge
from ..scene.model import Bodies, Material, Scene
from ..scene.motion import FIXED
from ..scene.parts import placed_shapes
from ..scene.shapes import Box, Compound, Cylinder, Hull, Part, Quaternion, Solid, Sphere
from ..solvers.rows import Floats
from .parameters import Count, between, declared
from .stacks import GRAVITY, card_poses

RADIUS = 0.15  # of all balls
WALL = 0.04  # thickness of the sides of tracks
TABLE = 0.08  # thickness of tables
CARD, STORIES = (0.7, 0.5, 0.03), 3
DOMINO, DOMINOES = (0.08, 0.3, 0.6), 13
PILLAR, GROWTH = (0.1, 0.25, 0.55), 1.1  # the first pillar, and the ratio of the heights of neighbors

LOWER = 1.0  # height of the billiard table
AXLE, AXLE_RADIUS = (6.0, -3.05, LOWER + 1.115), 0.05  # center of the axle of the seesaw
TILT = float(np.radians(12.0))  # of the seesaw, to either side
UPPER = AXLE[2] + 0.425  # height of the table of cards and dominoes, a little above the raised end of the seesaw
EDGE = (
    AXLE[1] + 1.15
)  # y of the edge of that table; the gap to the seesaw is narrower than a domino, which would jam in it
LEVEL = UPPER + 0.85  # height of the straight part of the first track, from which a ball hits the second story
HOUSE = 3.4  # x of the middle of the card house
LANE = AXLE[1] - 0.865  # y of the oblique track, below the gate of the seesaw
POCKET = LANE - 0.8  # y of the pocket of the billiard table
TURN = 0.8  # radius of the second spiral
LAST = 0.18  # height of its end

_MEASURED = ShapeList()  # shapes whose mass properties are known; hundreds of pieces of track would be measured again


@declared
def rube_goldberg(
    *,
    height: Annotated[float, between(0.7, 1.0)] = 0.9,
    pillars: Count = 8,
    friction: Annotated[float, between(0.3, 0.8)] = 0.5,
) -> Scene:
    """Eight devices, each triggered by the one before it, from the first ball to the last pillar (Zhang 2015, fig. 11).

    A ball rolls down a spiral track and hits three balls on a straight track. The last of them flies into a card house,
    a falling card tips the first domino, and the last domino falls on a seesaw, whose other end is a gate. A ball
    behind the gate rolls down an oblique track and breaks a rack of ten. One of them falls into a second spiral track,
    at whose end it hits the first of a row of pillars. Gravity alone drives it.

    height: of the first spiral. pillars: their number. friction: coefficient of tracks, tables and other wood.
    """
    devices = [first_spiral(height), cradle(), house(), dominoes(), seesaw(), billiards(), second_spiral()]
    devices.append(row_of_pillars(pillars))
    groups = [group for device in devices for group in device]
    groups.sort(key=lambda group: group.motion is not None)  # in legends what moves comes first
    return machine(groups, friction)


def machine(groups: Sequence[Bodies], friction: float = 0.5) -> Scene:
    """Some devices of the machine on the ground, with its materials and settings; a seesaw turns about its axle."""
    seesaws = [group.name for group in groups if group.name == "seesaw"]
    return Scene(
        name="rube_goldberg",
        bodies=groups,
        boundaries=[Plane(material="wood")],
        joints=[Hinge(("world", name), AXLE, (1.0, 0.0, 0.0), name="axle") for name in seesaws],
        materials={
            "ball": Material(0.95, 0.4, 8.0, rolling_friction=3e-4),
            "wood": Material(0.0, friction, 1.0, rolling_friction=3e-4),
            "card": Material(0.0, 0.8, 1.0),
        },
        pairs={("ball", "ball"): {"friction": 0.0}},
        gravity=(0.0, 0.0, -GRAVITY),
        step=0.002,
        duration=26.0,
        frame_rate=50.0,
        description="A ball sets off a chain of eight devices that ends with a row of falling pillars.",
    )


# ---- parts of devices


def placed(solid: Solid) -> Part:
    """A hull or compound as a part at the place at which its coordinates are given."""
    x, y, z = center_of_mass(solid)
    return Part(solid, (x, y, z))


def center_of_mass(solid: Solid) -> Floats:
    """The center of mass (3,) of a shape in the coordinates in which it is given."""
    return placed_shapes("shape", solid, _MEASURED, for_contact=False)[1]


def fixed(name: str, parts: Sequence[Part]) -> Bodies:
    """Parts in the frame of the world that do not move."""
    solid = Compound(parts)
    return Bodies(solid, center_of_mass(solid)[None], material="wood", motion=FIXED, name=name)


def block(low: Sequence[float], high: Sequence[float]) -> Part:
    """An upright box between two corners."""
    (x, y, z), (a, b, c) = low, high
    return Part(Box((a - x, b - y, c - z)), (0.5 * (a + x), 0.5 * (b + y), 0.5 * (c + z)))


def legs(places: Sequence[tuple[float, float, float]]) -> list[Part]:
    """Round legs from the ground to points below which they stand."""
    return [Part(Cylinder(0.03, float(z)), (float(x), float(y), 0.5 * float(z))) for x, y, z in places]


def track(curve: Floats, depth: float = 0.17) -> list[Part]:
    """The pieces of a V-shaped track along a curve (n, 3)."""
    return [placed(Hull(points)) for points in figures.trough(curve, depth, WALL)]


def above(slope: float = 0.0) -> float:
    """Height of the center of a ball above the bottom of a straight track; `slope` is the tangent of its angle."""
    return RADIUS * float(np.sqrt(2.0 + slope**2))


def balls(name: str, places: Sequence[tuple[float, float, float]]) -> Bodies:
    return Bodies(Sphere(RADIUS), np.array(places), material="ball", name=name)


def about_x(angle: float) -> Quaternion:
    return float(np.cos(0.5 * angle)), float(np.sin(0.5 * angle)), 0.0, 0.0


def about_z(angle: float) -> Quaternion:
    return float(np.cos(0.5 * angle)), 0.0, 0.0, float(np.sin(0.5 * angle))


# ---- devices


def first_spiral(height: float) -> list[Bodies]:
    """A ball at the upper end of a widening spiral, which ends in a straight level track."""
    radius = 1.3
    turns = figures.spiral((0.55, radius), (-630.0, -90.0), height) + np.array([0.0, radius, LEVEL])
    x, y, z = 0.5 * (turns[1] + turns[2])
    # The sides of a spiral are not plane; the clearance is more than that.
    start = (x, y, z + above() + 0.005)
    end = (2.3, 0.0, LEVEL)
    stands = np.array([*turns[6::18], (1.0, 0.0, LEVEL), (1.9, 0.0, LEVEL)]) - (0.0, 0.0, WALL)
    return [
        balls("first ball", [start]),
        fixed("first track", [*track(np.concatenate([turns, [end]]), 0.22), *legs(stands.tolist())]),
    ]


def cradle() -> list[Bodies]:
    """Three touching balls on the straight track."""
    return [balls("cradle", [(x, 0.0, LEVEL + above()) for x in (1.1, 1.1 + 2.0 * RADIUS, 1.1 + 4.0 * RADIUS)])]


def house() -> list[Bodies]:
    """A card house of three stories on a table."""
    place, turn, half = card_poses(STORIES, STORIES, CARD)
    low, left, right = UPPER - TABLE, HOUSE - half - 0.3, AXLE[0] + 0.4
    top = [block((left, -0.6, low), (right, 0.6, UPPER)), block((right - 0.8, EDGE, low), (right, -0.6, UPPER))]
    feet = [
        (left + 0.1, -0.5),
        (left + 0.1, 0.5),
        (right - 0.1, 0.5),
        (right - 0.1, EDGE + 0.1),
        (right - 0.7, EDGE + 0.1),
    ]
    return [
        Bodies(Box(CARD), place + np.array([HOUSE, 0.0, UPPER]), orientation=turn, material="card", name="cards"),
        fixed("upper table", [*top, *legs([(x, y, low) for x, y in feet])]),
    ]


def dominoes() -> list[Bodies]:
    """A row that turns by 90 degrees, from the card house to the edge of the table."""
    first, bend = HOUSE + 1.16, 0.9
    straight, arc = AXLE[0] - bend - first, 0.5 * np.pi * bend
    last = EDGE + 0.5 * DOMINO[0] + 0.02
    way = np.linspace(0.0, straight + arc - bend - last, DOMINOES)
    angle = -np.clip((way - straight) / bend, 0.0, 0.5 * np.pi)
    x = first + np.minimum(way, straight) - bend * np.sin(angle)
    y = -bend * (1.0 - np.cos(angle)) - np.maximum(way - straight - arc, 0.0)
    place = np.column_stack([x, y, np.full(DOMINOES, UPPER + 0.5 * DOMINO[2])])
    turn = np.array([about_z(a) for a in angle])
    return [Bodies(Box(DOMINO), place, orientation=turn, material="wood", name="dominoes")]


def seesaw_shape() -> Compound:
    """The seesaw in a frame about its axle: paddle at positive y, counterweight and gate at negative y.

    Its center of mass lies above the axle, so that it rests tilted to either side, and a little towards the gate.
    """
    plank = AXLE_RADIUS + 0.025
    across = (float(np.sqrt(0.5)), 0.0, float(np.sqrt(0.5)), 0.0)  # the axis of a cylinder along x
    return Compound(
        [
            Part(Box((0.2, 2.0, 0.05)), (0.0, 0.0, plank)),
            Part(Box((0.6, 0.5, 0.05)), (0.0, 0.85, plank)),
            Part(Box((0.05, 0.5, 0.25)), (0.0, -0.9, plank - 0.15)),
            Part(Box((0.2, 0.3, 0.25)), (0.0, -0.5, plank + 0.15)),
            Part(Cylinder(AXLE_RADIUS, 0.9), orientation=across),
        ]
    )


def seesaw() -> list[Bodies]:
    """A seesaw at rest with its gate down, posts at the ends of its axle, and a stop on either side.

    The axle is a hinge (see `machine`), and touches no post.
    """
    x, y, z = AXLE
    parts = [block((x + end - 0.02, y - 0.04, 0.0), (x + end + 0.02, y + 0.04, z + 0.06)) for end in (-0.48, 0.48)]
    for distance, tilt in ((-0.4, TILT), (0.85, -TILT)):
        stop = tilted((0.0, distance, AXLE_RADIUS - 0.03), tilt)
        parts.append(Part(Box((0.3, 0.1, 0.06)), tuple(stop.tolist()), about_x(tilt)))
        parts += legs([(float(stop[0]), float(stop[1]), float(stop[2]))])
    shape = seesaw_shape()
    place = tilted(center_of_mass(shape), TILT)[None]
    return [
        Bodies(shape, place, orientation=about_x(TILT), material="wood", name="seesaw"),
        fixed("bearing", parts),
    ]


def tilted(point: Sequence[float] | Floats, tilt: float) -> Floats:
    """A point of the frame of the seesaw in the world; the angle is positive with the gate down."""
    cos, sin = np.cos(tilt), np.sin(tilt)
    x, y, z = point
    return np.array([AXLE[0] + x, AXLE[1] + y * cos - z * sin, AXLE[2] + y * sin + z * cos])


def billiards() -> list[Bodies]:
    """A ball behind the gate on an oblique track, and a rack of ten on a table with cushions and one pocket."""
    x, run, slope = AXLE[0], 2.0, 0.27
    gate, half = AXLE[2] - 0.635, 0.025  # bottom of the track below the gate; half the thickness of the gate
    low = gate - run * slope
    curve = np.array([(x + 0.4, LANE, gate + 0.4 * slope), (x - run, LANE, low), (3.6, LANE, low)])
    cue = (x + half + RADIUS, LANE, gate + (half + RADIUS) * slope + above(slope))
    posts = [  # which the ball presses the gate against
        block((x - half - 0.05, y - 0.02, 0.0), (x - half, y + 0.02, gate + 0.44)) for y in (LANE - 0.22, LANE + 0.22)
    ]
    stands = legs([(x + 0.3, LANE, gate + 0.3 * slope - WALL), (x - run, LANE, low - WALL)])
    row = np.sqrt(3.0) * RADIUS
    rack = [(2.7 - k * row, LANE + (2 * i - k) * RADIUS, LOWER + RADIUS) for k in range(4) for i in range(k + 1)]
    return [
        balls("cue ball", [cue]),
        balls("rack", rack),
        fixed("oblique track", [*track(curve), *posts, *stands]),
        fixed("lower table", billiard_table()),
    ]


def billiard_table() -> list[Part]:
    """A plate and cushions; the cushion opposite to the cue ball leads to the pocket in a corner."""
    left, right, back, front = 0.4, 3.6, LANE + 1.0, LANE - 1.0
    low, top = LOWER - TABLE, LOWER + 0.2
    corners = [(1.3, back), (0.55, POCKET + 0.2), (left, POCKET + 0.2), (left, back)]
    slanted = Hull(np.array([(x, y, z) for x, y in corners for z in (LOWER, top)]))
    feet = [(1.2, front), (right - 0.1, front), (right - 0.1, back), (left + 0.1, back)]
    return [
        block((left, front - 0.1, low), (right, back + 0.1, LOWER)),
        block((left, front - 0.1, LOWER), (right, front, top)),
        block((left, back, LOWER), (right, back + 0.1, top)),
        block((right - 0.1, front, LOWER), (right, LANE - 0.22, top)),
        block((right - 0.1, LANE + 0.22, LOWER), (right, back, top)),
        placed(slanted),
        *legs([(x, y, low) for x, y in feet]),
    ]


def second_spiral() -> list[Bodies]:
    """The track from the pocket to the pillars."""
    start = LOWER - 0.08
    turns = figures.spiral((TURN, TURN), (90.0, 630.0), start - 0.04 - LAST) + np.array([0.0, POCKET - TURN, LAST])
    curve = np.concatenate([[(0.4, POCKET, start)], turns, [(0.4, POCKET - 2.0 * TURN, LAST)]])
    single = np.arange(45, 72, 9)  # points that have no other turn below them
    stands = np.concatenate([turns[single], turns[-1:]]) - (0.0, 0.0, WALL)
    return [fixed("second track", [*track(curve, 0.2), *legs(stands.tolist())])]


def row_of_pillars(count: int) -> list[Bodies]:
    """Pillars on the ground of growing height, each half its height from the next."""
    groups, x = [], 0.8
    wide, deep, high = PILLAR
    for k in range(count):
        place = np.array([[x, POCKET - 2.0 * TURN, 0.5 * high]])
        groups.append(Bodies(Box((wide, deep, high)), place, material="wood", name=f"pillar {k + 1}"))
        x, high = x + 0.5 * high, high * GROWTH
    return groups

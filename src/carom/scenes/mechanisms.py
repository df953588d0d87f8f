"""Mechanisms: cradles on rods and strings, pendulums, chains, walkers, linkages and a ragdoll."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Annotated

import numpy as np

from ..errors import ProblemError
from ..scene.boundaries import Plane
from ..scene.joints import BallJoint, Hinge, Joint, Pin, Rod, Rope, Spring
from ..scene.model import Bodies, Material, Scene
from ..scene.motion import FIXED
from ..scene.shapes import Box, Capsule, Disc, Polygon, Rectangle, Sphere
from .parameters import Count, NotNegative, Positive, Restitution, Several, between, declared, whole

RADIUS = 0.5  # of balls: they hang at whole numbers and touch exactly
GRAVITY = 10.0
Swing = Annotated[float, between(0.0, 1.5)]  # an angle from the vertical


def _hanging(balls: int, pulled: int, length: float, angle: float) -> np.ndarray:
    """Places (n, 2) of balls that hang side by side, of which some are pulled to the left."""
    if pulled >= balls:
        raise ProblemError("pulled", pulled, f"fewer than balls = {balls}")
    turn = np.where(np.arange(balls) < pulled, angle, 0.0)
    return np.column_stack([np.arange(balls) - length * np.sin(turn), -length * np.cos(turn)])


def _cradle(joint: type[Rod] | type[Rope], balls: int, place: np.ndarray, restitution: float) -> Scene:
    """Balls at their places (n, 2), each on one joint from a point above."""
    return Scene(
        name="cradle",
        bodies=[Bodies(Disc(RADIUS), place, mass=1.0)],
        joints=[joint(("world", k), ((float(k), 0.0), tuple(place[k].tolist()))) for k in range(balls)],
        materials={"default": Material(restitution)},
        gravity=(0.0, -GRAVITY),
    )


@declared
def cradle_on_rods(
    *, balls: Several = 5, pulled: Count = 1, length: Positive = 5.0, angle: Swing = 0.6, restitution: Restitution = 1.0
) -> Scene:
    """Newton's cradle of balls on rigid rods: `pulled` balls are released at an angle, in radians."""
    scene = _cradle(Rod, balls, _hanging(balls, pulled, length, angle), restitution)
    what = f"{pulled} of {balls} balls on rods are released and strike the others."
    return scene.with_(name="cradle_on_rods", step=0.005, duration=10.0, stepper="synchronous", description=what)


@declared
def cradle_on_strings(
    *, balls: Several = 5, pulled: Count = 1, length: Positive = 5.0, angle: Swing = 0.6, restitution: Restitution = 1.0
) -> Scene:
    """Newton's cradle of balls on strings in 2D, one for each ball; a string may become slack."""
    scene = _cradle(Rope, balls, _hanging(balls, pulled, length, angle), restitution)
    what = f"{pulled} of {balls} balls on strings are released and strike the others."
    return scene.with_(name="cradle_on_strings", step=0.004, duration=5.0, description=what)


@declared
def cradle_on_strings_3d(
    *, balls: Several = 5, pulled: Count = 1, length: Positive = 5.0, spread: Positive = 2.0, angle: Swing = 0.6
) -> Scene:
    """The toy itself: spheres in a row, each on two strings that hang from two bars, `spread` apart from the middle."""
    flat = _hanging(balls, pulled, length, angle)
    place = np.column_stack([flat[:, 0], np.zeros(len(flat)), flat[:, 1]])
    joints = [
        Rope(("world", k), ((float(k), side * spread, 0.0), tuple(place[k].tolist())))
        for k in range(balls)
        for side in (-1.0, 1.0)
    ]
    return Scene(
        name="cradle_on_strings_3d",
        bodies=[Bodies(Sphere(RADIUS), place, mass=1.0)],
        joints=joints,
        gravity=(0.0, 0.0, -GRAVITY),
        step=0.004,
        duration=5.0,
        description=f"{pulled} of {balls} spheres, each on two strings, are released and strike the others.",
    )


@declared
def double_pendulum(*, angle: Swing = 1.2, wall: Positive = 0.6, restitution: Restitution = 0.8) -> Scene:
    """Two bars pinned to each other swing against a wall, `wall` bar lengths left of the pivot."""
    along = np.array([sin(angle), -cos(angle)])
    bars = [
        Bodies(Rectangle(1.0, 0.08), np.array([along * (k + 0.5)]), angle=angle - 0.5 * pi, name=name)
        for k, name in enumerate(("upper", "lower"))
    ]
    joints = (Pin(("world", "upper"), (0.0, 0.0)), Pin(("upper", "lower"), tuple(along.tolist())))
    return Scene(
        name="double_pendulum",
        bodies=bars,
        boundaries=(Plane((-wall, 0.0), (1.0, 0.0)),),
        joints=joints,
        materials={"default": Material(restitution)},
        gravity=(0.0, -GRAVITY),
        step=0.002,
        duration=5.0,
        description="A double pendulum of two bars swings against a wall.",
    )


@declared
def falling_chain(
    *, links: Annotated[int, whole(3)] = 50, height: Positive = 1.0, friction: NotNegative = 0.4
) -> Scene:
    """A necklace of beads falls on a table: discs that rods hold at 1.2 diameters from their neighbors."""
    radius = 0.1
    # A steep zigzag, as if held by one end.
    rise = 2.4 * radius * np.array([cos(1.2), sin(1.2)])
    x = np.where(np.arange(links) % 2, rise[0], 0.0)
    place = np.column_stack([x, height + radius + rise[1] * np.arange(links)])
    joints = [Rod((k, k + 1), (tuple(place[k].tolist()), tuple(place[k + 1].tolist()))) for k in range(links - 1)]
    return Scene(
        name="falling_chain",
        bodies=[Bodies(Disc(radius), place)],
        boundaries=(Plane(),),
        joints=joints,
        materials={"default": Material(0.0, friction)},
        gravity=(0.0, -GRAVITY),
        step=0.004,
        duration=3.0,
        description=f"A necklace of {links} beads falls on a table.",
    )


@declared
def rimless_wheel(
    *, spokes: Annotated[int, whole(3)] = 8, slope: Annotated[float, between(0.0, 0.5)] = 0.12, speed: NotNegative = 1.0
) -> Scene:
    """A wheel without rim, as a polygon whose corners are the ends of its spokes, rolls down a slope.

    At every impact the spin is multiplied by `(cos(2 pi / n) + r^2) / (1 + r^2)`, r the radius of gyration over the
    length of a spoke; its mass is at the center here, r = 0.05.
    """
    angle = 2.0 * pi * (np.arange(spokes) + 0.5) / spokes - 0.5 * pi
    corners = [(float(x), float(y)) for x, y in zip(np.cos(angle), np.sin(angle))]
    height = cos(pi / spokes)
    return Scene(
        name="rimless_wheel",
        bodies=[
            Bodies(
                Polygon(corners),
                np.array([[0.0, height]]),
                velocity=(speed * height, speed * sin(pi / spokes)),
                spin=-speed,
                mass=1.0,
                inertia=0.0025,
            )
        ],
        boundaries=(Plane(),),
        materials={"default": Material(0.0, 5.0)},
        gravity=(GRAVITY * sin(slope), -GRAVITY * cos(slope)),
        step=0.001,
        duration=10.0,
        description=f"A rimless wheel with {spokes} spokes on a slope of {slope:g} radians, seen along the slope.",
    )


# The gait of the simplest walker at a slope of 0.009: angle of the stance leg and its rate after a step, in units of
# length of a leg and acceleration of gravity (Garcia, Chatterjee, Ruina, Coleman, J. Biomech. Eng. 120, 1998).
GAIT = (0.2003109, -0.1998325)


@declared
def compass_walker(
    *, strides: Count = 6, slope: Annotated[float, between(0.0, 0.1)] = 0.009, foot: Positive = 0.001
) -> Scene:
    """Two legs without mass, a hip of mass 1 and feet of mass `foot` walk down a slope by themselves.

    Units are the length of a leg and the acceleration of gravity. For `foot` = 0 it is the simplest walker of Garcia,
    Chatterjee, Ruina and Coleman (1998), which starts here with its gait at a slope of 0.009. Straight legs would scuff
    the ground when they pass each other, as theirs do: here each foot has stepping stones of its own, and passes
    through those of the other.
    """
    (angle, rate), radius = GAIT, 0.02
    hip, length = np.array([-sin(angle), cos(angle)]), 2.0 * sin(angle)
    moves = rate * np.array([-cos(angle), -sin(angle)])
    swing = rate * cos(2.0 * angle) * np.array([cos(angle), -sin(angle)])  # the swing leg turns at rate cos(2 angle)
    places = {"hip": hip, "first": np.zeros(2), "second": np.array([-length, 0.0])}
    speeds = {"hip": moves, "first": np.zeros(2), "second": moves + swing}
    bodies = [
        Bodies(
            Disc(0.08 if name == "hip" else radius), place[None], velocity=speeds[name][None], rotates=False,
            mass=1.0 if name == "hip" else foot, name=name,
        )
        for name, place in places.items()
    ]  # fmt: skip
    stone = Rectangle(1.4 * length, 0.08)  # feet pass each other between two stones of their own
    joints: list[Joint] = [
        Rod(("hip", name), (tuple(hip.tolist()), tuple(places[name].tolist()))) for name in ("first", "second")
    ]
    through = [("first", "second")]
    for k in range(-1, strides + 1):
        at = np.array([[k * length, -radius - 0.04]])
        bodies.append(Bodies(stone, at, motion=FIXED, name=f"stone {k + 1}"))
        through.append(("first" if k % 2 else "second", f"stone {k + 1}"))
    ends = ((0.0, 0.0), (1.0, 0.0))  # of springs without force, which say that two bodies do not touch
    joints += [Spring(pair, ends, stiffness=0.0, collide=False) for pair in through]
    return Scene(
        name="compass_walker",
        bodies=bodies,
        joints=joints,
        materials={"default": Material(0.0, 5.0)},
        gravity=(sin(slope), -cos(slope)),
        step=0.002,
        duration=3.9 * strides,
        stepper="time_of_impact",  # the gait is that of heel strikes at their instant
        description=f"A passive walker on a slope of {slope:g} radians, seen along the slope.",
    )


@declared
def rocking_block(
    *, width: Positive = 0.5, height: Positive = 2.0, tilt: Annotated[float, between(0.0, 0.99)] = 0.6
) -> Scene:
    """A block rocks from corner to corner (Housner 1963); `tilt` is its first angle, relative to that of its diagonal.

    At every impact the angular speed is multiplied by `1 - 3/2 sin^2 a`, a the angle of the diagonal.
    """
    alpha = float(np.arctan2(width, height))
    angle = tilt * alpha
    half, turn = np.array([0.5 * width, 0.5 * height]), np.array([[cos(angle), sin(angle)], [-sin(angle), cos(angle)]])
    place = np.array([0.5 * width, 0.0]) + turn @ (half - np.array([width, 0.0]))  # about its right corner
    return Scene(
        name="rocking_block",
        bodies=[Bodies(Rectangle(width, height), place[None], angle=-angle)],
        boundaries=(Plane(),),
        materials={"default": Material(0.0, 2.0)},
        gravity=(0.0, -GRAVITY),
        step=0.001,
        duration=6.0,
        description="A block is released on one corner and rocks until it rests.",
    )


def _bar(start: tuple[float, float], end: tuple[float, float], width: float, name: str) -> Bodies:
    """A bar between two points."""
    a, b = np.array(start), np.array(end)
    along = b - a
    size = float(np.hypot(*along))
    return Bodies(Rectangle(size + width, width), 0.5 * (a + b)[None], angle=float(np.arctan2(*along[::-1])), name=name)


@declared
def four_bar(*, speed: Positive = 6.0, restitution: Restitution = 0.9) -> Scene:
    """A ball strikes a linkage of three bars and the ground, in the plane of a table."""
    points = [(0.0, 0.0), (0.2, 1.0), (1.6, 1.4), (1.5, 0.0)]
    names = ("crank", "coupler", "rocker")
    bars = [_bar(points[k], points[k + 1], 0.1, names[k]) for k in range(3)]
    ball = Bodies(Disc(0.2), np.array([[-1.2, 0.7]]), velocity=(speed, 0.0), mass=0.3, name="striker")
    between = [("world", "crank"), ("crank", "coupler"), ("coupler", "rocker"), ("rocker", "world")]
    joints = [Pin(pair, point) for pair, point in zip(between, points)]
    return Scene(
        name="four_bar",
        bodies=[*bars, ball],
        joints=joints,
        materials={"default": Material(restitution, 0.2)},
        step=0.002,
        duration=4.0,
        description="A ball strikes a four-bar linkage, seen from above.",
    )


@declared
def arm_strikes_balls(*, balls: Count = 5, torque: Positive = 12.0) -> Scene:
    """An arm of two links, which motors drive up to a torque, strikes a row of balls on the ground."""
    shoulder, elbow, wrist = (0.0, 2.2), (-1.0, 2.2), (-1.9, 2.2)
    arm = [_bar(shoulder, elbow, 0.12, "upper"), _bar(elbow, wrist, 0.1, "lower")]
    fist = Bodies(Disc(0.18), np.array([wrist]), mass=0.3, name="fist")
    row = Bodies(Disc(0.2), np.array([[0.5 + 0.4 * k, 0.2] for k in range(balls)]), mass=0.3, name="ball")
    joints: list[Joint] = [
        Pin(("world", "upper"), shoulder, speed=5.0, torque=torque),
        Pin(("upper", "lower"), elbow, limits=(-0.1, 1.2), speed=2.0, torque=0.2 * torque),
        Pin(("lower", "fist"), wrist, limits=(-0.01, 0.01)),
    ]
    return Scene(
        name="arm_strikes_balls",
        bodies=[*arm, fist, row],
        boundaries=(Plane(),),
        joints=joints,
        materials={"default": Material(0.7, 0.2)},
        gravity=(0.0, -GRAVITY),
        step=0.002,
        duration=2.0,
        description="An arm with two motors strikes a row of balls.",
    )


# ---- the ragdoll


def _limb(start: tuple[float, ...], end: tuple[float, ...], radius: float, name: str) -> Bodies:
    """A capsule between two points, with its axis along z in its own frame."""
    a, b = np.array(start), np.array(end)
    along = (b - a) / np.linalg.norm(b - a)
    axis = np.cross([0.0, 0.0, 1.0], along)
    w = 1.0 + along[2]
    turn = (0.0, 1.0, 0.0, 0.0) if w < 1e-9 else (w, *axis.tolist())
    length = float(np.linalg.norm(b - a)) - 2.0 * radius
    return Bodies(Capsule(radius, length), 0.5 * (a + b)[None], orientation=turn, name=name)


@declared
def ragdoll(*, steps: Count = 6, drop: NotNegative = 0.6, friction: NotNegative = 0.5) -> Scene:
    """A ragdoll of eleven parts with ball joints and hinges falls down stairs."""
    base = steps * 0.3 + drop

    def at(x: float, y: float, z: float) -> tuple[float, float, float]:
        return x, y, z + base

    torso = Bodies(Box((0.22, 0.4, 0.5)), np.array([at(0.0, 0.0, 1.2)]), name="torso")
    pelvis = Bodies(Box((0.2, 0.34, 0.2)), np.array([at(0.0, 0.0, 0.82)]), name="pelvis")
    head = Bodies(Sphere(0.14), np.array([at(0.0, 0.0, 1.62)]), name="head")
    bodies = [torso, pelvis, head]
    joints: list[Joint] = [
        BallJoint(("torso", "head"), at(0.0, 0.0, 1.47)),
        Hinge(("torso", "pelvis"), at(0.0, 0.0, 0.93), (0.0, 1.0, 0.0), limits=(-0.6, 0.9)),
    ]
    for side, name in ((1.0, "left"), (-1.0, "right")):
        y, hip = 0.29 * side, 0.1 * side
        bodies += [
            _limb(at(0.0, y, 1.42), at(0.0, y, 1.09), 0.055, f"{name} upper arm"),
            _limb(at(0.0, y, 1.08), at(0.0, y, 0.76), 0.05, f"{name} lower arm"),
            _limb(at(0.0, hip, 0.7), at(0.0, hip, 0.33), 0.075, f"{name} thigh"),
            _limb(at(0.0, hip, 0.32), at(0.0, hip, -0.08), 0.06, f"{name} shin"),
        ]
        joints += [
            BallJoint(("torso", f"{name} upper arm"), at(0.0, y, 1.38)),
            Hinge((f"{name} upper arm", f"{name} lower arm"), at(0.0, y, 1.085), (0.0, 1.0, 0.0), limits=(-2.4, 0.05)),
            BallJoint(("pelvis", f"{name} thigh"), at(0.0, hip, 0.68)),
            Hinge((f"{name} thigh", f"{name} shin"), at(0.0, hip, 0.325), (0.0, 1.0, 0.0), limits=(-0.05, 2.4)),
        ]
    pushed = [
        Bodies(g.shape, g.position, velocity=(1.6, 0.0, 0.0), orientation=g.orientation, name=g.name) for g in bodies
    ]
    stairs = [
        Bodies(
            Box((0.5, 3.0, 0.3 * (steps - k))),
            np.array([[0.5 * k, 0.0, 0.15 * (steps - k)]]),
            motion=FIXED,
            name="stairs",
        )
        for k in range(steps)
    ]
    return Scene(
        name="ragdoll",
        bodies=[*pushed, *stairs],
        boundaries=(Plane(),),
        joints=joints,
        materials={"default": Material(0.1, friction)},
        gravity=(0.0, 0.0, -GRAVITY),
        step=0.005,
        duration=3.0,
        description=f"A ragdoll falls down {steps} stairs.",
    )

"""Twenty impacts of mechanisms, on which the claims of each law are measured."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from carom import ImpactProblem
from carom.catalogue import Entry, mirror, spatial_symmetry

ROD = 1.0 / 12.0  # moment of inertia of a rod of mass 1 and length 1


def flat(name, bodies, joints, contacts, symmetric=None, **more) -> ImpactProblem:
    """A problem in 2D: rows (x, y, mass, inertia, vx, vy, spin), joints, and contacts (first, second, point, normal).

    `symmetric` is an axis: the problem is its own mirror image across it.
    """
    b = np.array(bodies, dtype=float)
    symmetries = () if symmetric is None else (spatial_symmetry(b[:, :2], mirror(symmetric, 2), 3, "mirror"),)
    first, second, points, normals = zip(*contacts, strict=True)
    return ImpactProblem.from_contacts(
        b[:, :2], b[:, 2], b[:, 3], b[:, 4:], np.array([first, second]).T, points, normals, joints=joints, name=name,
        symmetries=symmetries, **more,
    )  # fmt: skip


def joint(kind, a, b, point, **more) -> dict[str, object]:
    return {"kind": kind, "bodies": [a, b], "point": list(point), **more}


def rod(a, b, *ends) -> dict[str, object]:
    return {"kind": "rod", "bodies": [a, b], "ends": [list(end) for end in ends]}


def chain(count: int, left: float, height: float, fall: float = 0.0) -> tuple[list[tuple], list[dict[str, object]]]:
    """Rods of length 1 in a row, pinned end to end, and their pins."""
    links = [(left + 0.5 + k, height, 1, ROD, 0, -fall, 0) for k in range(count)]
    return links, [joint("pin", k, k + 1, (left + 1.0 + k, height)) for k in range(count - 1)]


def cradle(struck: Sequence[float], hung: str) -> ImpactProblem:
    """Five balls of diameter 1 in a row that hang on rods, or are pinned to the world a length above them."""
    balls = [(k, 0, 1, 0.1, v, 0, v / 2 if hung == "pin" else 0) for k, v in enumerate(struck)]
    holds = [rod(-1, k, (k, 2), (k, 0)) if hung == "rod" else joint("pin", -1, k, (k, 2)) for k in range(5)]
    contacts = [(k, k + 1, (k + 0.5, 0), (1, 0)) for k in range(4)]
    symmetric = 0 if tuple(struck) == tuple(-v for v in reversed(struck)) else None
    return flat(f"cradle_on_{hung}s", balls, holds, contacts, symmetric)


def wheel(spokes: int) -> ImpactProblem:
    """A rimless wheel of two welded halves, its old and its new foot on the ground."""
    a = np.pi / spokes
    half = (np.sin(a), np.cos(a), 0.5, 0.01, np.cos(a), -np.sin(a), -1)
    feet = [(-1, k, (x, 0), (0, 1)) for k, x in enumerate((0.0, 2 * np.sin(a)))]
    return flat("rimless_wheel", [half, half], [joint("weld", 0, 1, half[:2])], feet)


def block() -> ImpactProblem:
    """A rocking block of two welded halves that comes down on its other corner."""
    halves = [(0, y, 1, 0.2, y, -0.5, -1) for y in (0.75, 2.25)]
    corners = [(-1, 0, (x, 0), (0, 1)) for x in (-0.5, 0.5)]
    return flat("rocking_block", halves, [joint("weld", 0, 1, (0, 1.5))], corners)


def ring() -> ImpactProblem:
    """Twelve rods pinned into a closed ring, struck from both sides."""
    turns = 2 * np.pi * (np.arange(12) + 0.5) / 12
    corners = [(np.cos(t), np.sin(t)) for t in turns - np.pi / 12]
    middles = [(np.cos(np.pi / 12) * np.cos(t), np.cos(np.pi / 12) * np.sin(t), 1, ROD / 4, 0, 0, 0) for t in turns]
    pins = [joint("pin", k, (k + 1) % 12, corners[(k + 1) % 12]) for k in range(12)]
    strikers = [(-2, 0, 2, 1, 1, 0, 0), (2, 0, 2, 1, -1, 0, 0)]
    touches = [(12, k, (-1, 0), n) for k, n in ((5, (1, 0.3)), (6, (1, -0.3)))]
    touches += [(13, k, (1, 0), n) for k, n in ((0, (-1, 0.3)), (11, (-1, -0.3)))]
    return flat("ring", [*middles, *strikers], pins, touches, symmetric=0)


def four_bar() -> ImpactProblem:
    """A parallelogram of rods at rest: a ball strikes its coupler, while a wall touches its crank."""
    parts = [
        (0, 1, 1, 1 / 3, 0, 0, 0),
        (1, 2, 1, 1 / 3, 0, 0, 0),
        (2, 1, 1, 1 / 3, 0, 0, 0),
        (0.6, 3, 0.5, 1, 0.7, -1, 0),
    ]
    pins = [(-1, 0, (0, 0)), (0, 1, (0, 2)), (1, 2, (2, 2)), (-1, 2, (2, 0))]
    touches = [(1, 3, (0.6, 2), (-0.5, 1)), (-1, 0, (0, 1.2), (-1, 0.2))]
    return flat("four_bar", parts, [joint("pin", *pin) for pin in pins], touches)


def cart() -> ImpactProblem:
    """A cart lands with both wheels."""
    parts = [(0, 0.5, 2, 0.5, 0, -1, 0), (-1, 0.5, 1, 0.1, 0, -1, 0), (1, 0.5, 1, 0.1, 0, -1, 0)]
    pins = [joint("pin", 0, k, (x, 0.5)) for k, x in ((1, -1), (2, 1))]
    return flat("cart", parts, pins, [(-1, k, (x, 0), (0, 1)) for k, x in ((1, -1), (2, 1))], symmetric=0)


def heel_strike() -> ImpactProblem:
    """The simplest walker: a hip, two feet on rods, both on the ground."""
    t, rate = 0.2, -0.2
    hip, new = np.array([-np.sin(-t), np.cos(t)]), np.array([2 * np.sin(t), 0.0])
    v_hip = rate * np.array([-hip[1], hip[0]])
    parts = [(*hip, 1, 1, *v_hip, 0), (0, 0, 0.01, 0.01, 0, 0, 0), (*new, 0.01, 0.01, 0, 2 * v_hip[1], 0)]
    parts[2] = (*new, 0.01, 0.01, *(v_hip + rate * np.array([hip[1], new[0] - hip[0]])), 0)
    legs = [rod(0, 1, hip, (0, 0)), rod(0, 2, hip, new)]
    return flat("heel_strike", parts, legs, [(-1, 1, (0, 0), (0, 1)), (-1, 2, new, (0, 1))])


def piston() -> ImpactProblem:
    """A motor drives a piston into a row of balls."""
    row = [(0, 0, 5, 1, 2, 0, 0), *((k, 0, 1, 0.1, 0, 0, 0) for k in (1, 2, 3))]
    slider = joint("slider", -1, 0, (0, 0), axis=[1, 0], speed=2.0)
    return flat("piston", row, [slider], [(k, k + 1, (k + 0.5, 0), (1, 0)) for k in range(3)])


def crank() -> ImpactProblem:
    """A slider-crank, whose piston a ball strikes."""
    parts = [(0, 0.5, 1, ROD, 0, 0, 0), (1, 0.5, 2, 0.4, 0, 0, 0), (2, 0, 1, 0.1, 0, 0, 0), (3, 0, 1, 0.1, -1, 0, 0)]
    joints = [
        joint("pin", -1, 0, (0, 0)), joint("pin", 0, 1, (0, 1)), joint("pin", 1, 2, (2, 0)),
        joint("slider", -1, 2, (2, 0), axis=[1, 0]),
    ]  # fmt: skip
    return flat("slider_crank", parts, joints, [(2, 3, (2.5, 0), (1, 0))])


def solid(name, bodies, joints, contacts, symmetric=None) -> ImpactProblem:
    """A problem in 3D: rows (x, y, z, mass, inertia, v (3), spin (3)) of bodies with equal moments of inertia."""
    b = np.array(bodies, dtype=float)
    symmetries = () if symmetric is None else (spatial_symmetry(b[:, :3], mirror(symmetric, 3), 6, "mirror"),)
    first, second, points, normals = zip(*contacts, strict=True)
    return ImpactProblem.from_contacts(
        b[:, :3], b[:, 3], b[:, 4, None, None] * np.eye(3), b[:, 5:], np.array([first, second]).T, points, normals,
        joints=joints, name=name, symmetries=symmetries,
    )  # fmt: skip


def body(x, y, z, mass=1.0, inertia=0.1, velocity=(0, 0, 0)) -> tuple[float, ...]:
    return (x, y, z, mass, inertia, *velocity, 0, 0, 0)


def door() -> ImpactProblem:
    """A door on two hinges, one of which is redundant, that two balls strike, one above the other."""
    hinges = [joint("hinge", -1, 0, (0, 0, z), axis=[0, 0, 1]) for z in (-0.5, 0.5)]
    bodies = [body(0.5, 0, 0), *(body(0.8, -0.5, z, velocity=(0, 1, 0)) for z in (-0.4, 0.4))]
    touches = [(k, 0, (0.8, 0, z), (0, 1, 0)) for k, z in ((1, -0.4), (2, 0.4))]
    return solid("door", bodies, hinges, touches, symmetric=2)


def necklace() -> ImpactProblem:
    """A chain of six spheres on ball joints that lands on the ground."""
    beads = [body(k - 2.5, 0, 0.5, velocity=(0, 0, -1)) for k in range(6)]
    joints = [joint("ball", k, k + 1, (k - 2.0, 0, 0.5)) for k in range(5)]
    return solid("necklace", beads, joints, [(-1, k, (k - 2.5, 0, 0), (0, 0, 1)) for k in range(6)], symmetric=0)


def doll() -> ImpactProblem:
    """A trunk with two arms on ball joints and two legs on hinges lands on both feet."""
    fall = (0, 0, -1)
    places = [(0, 0, 2), (0, -1, 2.3), (0, 1, 2.3), (0, -0.4, 0.8), (0, 0.4, 0.8)]
    bodies = [body(*p, velocity=fall) for p in places]
    joints = [joint("ball", 0, k, (0, y, 2.4)) for k, y in ((1, -0.5), (2, 0.5))]
    joints += [joint("hinge", 0, k, (0, y, 1.4), axis=[0, 1, 0]) for k, y in ((3, -0.4), (4, 0.4))]
    return solid(
        "doll", bodies, joints, [(-1, k, (0.1, y, 0), (0, 0, 1)) for k, y in ((3, -0.4), (4, 0.4))], symmetric=1
    )


@cache
def jointed_problems() -> tuple[Entry, ...]:
    """The twenty problems."""
    bar, pivot = (0, -0.5, 1, ROD, 0, 0, 0), joint("pin", -1, 0, (0, 0))
    four, four_pins = chain(4, -2.0, 0.0)
    six, six_pins = chain(6, -3.0, 0.0, fall=1.0)
    ends = [(-1, k, (k - 3.0 + side, 0), (0, 1)) for k in range(6) for side in (0.1, 0.9)]
    problems = [
        flat("percussion", [bar, (-1, -2 / 3, 1, 1, 1, 0, 0)], [pivot], [(1, 0, (0, -2 / 3), (1, 0))]),
        flat("pendulum_and_wall", [(0, -0.5, 1, ROD, 0.5, 0, 1)], [pivot], [(0, -1, (0.05, -1), (1, 0)),
             (0, -1, (0.05, -0.6), (1, 0))]),
        flat("double_pendulum", [bar, (0, -1.5, 1, ROD, 0, 0, 0), (-1, -1.8, 1, 1, 1, 0, 0)],
             [pivot, joint("pin", 0, 1, (0, -1))], [(2, 1, (0, -1.8), (1, 0)), (0, -1, (0.1, -0.9), (1, 0))]),
        flat("two_rods", [(-0.5, 0, 1, ROD, 0, 0, 0), (0.5, 0, 1, ROD, 0, 0, 0), (0, 1, 2, 1, 0, -1, 0)],
             [joint("pin", 0, 1, (0, 0))], [(0, 2, (0, 0), (0, 1))]),
        wheel(8),
        block(),
        four_bar(),
        cradle((1, 0, 0, 0, 0), "rod"),
        cradle((1, 0.5, 0, -0.5, -1), "pin"),
        flat("bernoulli_on_a_rod", [(-np.sqrt(0.75), 0, 1, 0.1, 1, 0, 0), (0, 0.5, 1, 0.1, 0, 0, 0),
             (0, -0.5, 1, 0.1, 0, 0, 0)], [rod(1, 2, (0, 0.5), (0, -0.5))],
             [(0, 1, (-0.43, 0.25), (np.sqrt(0.75), 0.5)), (0, 2, (-0.43, -0.25), (np.sqrt(0.75), -0.5))], symmetric=1),
        flat("chain_struck", [*four, (-0.5, 1, 1, 1, 0, -1, 0), (0.5, 1, 1, 1, 0, -1, 0)], four_pins,
             [(1, 4, (-0.5, 0), (0, 1)), (2, 5, (0.5, 0), (0, 1))], symmetric=0),
        flat("chain_lands", six, six_pins, ends, symmetric=0),
        ring(),
        cart(),
        heel_strike(),
        piston(),
        crank(),
        door(),
        necklace(),
        doll(),
    ]  # fmt: skip
    return tuple(Entry(problem, "a mechanism") for problem in problems)

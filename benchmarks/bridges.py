"""Cost of a bridge beside its engine: `python -m benchmarks.bridges`.

Each scene is simulated by the engine alone and with Carom inside, under `gr` with restitution 1. Times are CPU times;
steps with an impact and quiet steps are measured apart. The ratio is that of a quiet step, and that of all steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import thread_time_ns
from typing import Any, NamedTuple

SIZES = (5, 20, 50)


class Measured(NamedTuple):
    """Steps of one scene; times in microseconds per step."""

    steps: int
    impacts: int
    engine: float
    quiet: float
    impact: float
    mean: float


def measure(make: Callable[[], Any], steps: int) -> Measured:
    """Times of `steps` steps of a bridge, and of its engine alone. `make` returns a bridge at the start."""
    warm = make()  # compiles
    for _ in range(steps):
        warm.step()
    alone = make()
    begin = thread_time_ns()
    for _ in range(steps):
        alone.advance()
    engine = thread_time_ns() - begin
    bridge, impacts, struck = make(), 0, 0
    start = last = thread_time_ns()
    for _ in range(steps):
        solution, before = bridge.step(), last
        last = thread_time_ns()
        if solution is not None:
            impacts, struck = impacts + 1, struck + last - before
    whole = last - start
    quiet = (whole - struck) / max(steps - impacts, 1)
    return Measured(
        steps, impacts, engine / steps / 1e3, quiet / 1e3, struck / max(impacts, 1) / 1e3, whole / steps / 1e3
    )


# ---- MuJoCo


def _mujoco(xml: str, start: Callable[[Any, Any], None] | None = None) -> Callable[[], Any]:
    import mujoco

    from carom.bridges.mujoco import MujocoBridge

    model = mujoco.MjModel.from_xml_string(xml)

    def make() -> Any:
        data = mujoco.MjData(model)
        if start is not None:
            start(model, data)
        return MujocoBridge(model, data, law="gr", restitution=1.0)

    return make


def _world(bodies: str, gravity: str = "0 0 -9.81", step: float = 0.002) -> str:
    option = f'<option gravity="{gravity}" timestep="{step}" integrator="implicitfast"/>'
    return f"<mujoco>{option}<default><geom gap='0.05'/></default><worldbody>{bodies}</worldbody></mujoco>"


def mujoco_cradle(count: int) -> Callable[[], Any]:
    """Balls on hinges; the first one is raised."""
    ball = (
        '<body pos="{x} 0 2"><joint type="hinge" axis="0 1 0"/>'
        '<geom type="sphere" size="0.1" pos="0 0 -1" mass="1" condim="1"/></body>'
    )
    bodies = "".join(ball.format(x=0.2 * k) for k in range(count))

    def start(_: Any, data: Any) -> None:
        data.qpos[0] = 0.8

    return _mujoco(_world(bodies), start)


def mujoco_balls(count: int) -> Callable[[], Any]:
    """Balls that fly in a box without gravity."""
    import numpy as np

    rng, side = np.random.default_rng(1), 0.5 * (40.0 * count) ** (1.0 / 3.0)
    ways = [("1 0 0", -1, 0), ("-1 0 0", 1, 0), ("0 1 0", -1, 1), ("0 -1 0", 1, 1), ("0 0 1", -1, 2), ("0 0 -1", 1, 2)]
    walls = ""
    for axis, sign, c in ways:
        place = [0.0, 0.0, 0.0]
        place[c] = sign * side
        walls += f'<geom type="plane" size="9 9 1" pos="{place[0]} {place[1]} {place[2]}" zaxis="{axis}" condim="1"/>'
    n = int(np.ceil(count ** (1.0 / 3.0)))
    grid = [(i, j, k) for i in range(n) for j in range(n) for k in range(n)][:count]
    place = (np.array(grid) - 0.5 * (n - 1)) * (1.6 * side / max(n, 2))
    balls = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom type="sphere" size="0.3" mass="1" condim="1"/></body>'
        for x, y, z in place
    )
    speed = rng.normal(size=(count, 3))

    def start(_: Any, data: Any) -> None:
        data.qvel.reshape(count, 6)[:, :3] = speed

    return _mujoco(_world(walls + balls, "0 0 0"), start)


def mujoco_boxes(count: int) -> Callable[[], Any]:
    """Boxes fall on the ground, beside each other."""
    boxes = "".join(
        f'<body pos="{0.6 * (k % 8)} {0.6 * (k // 8)} {0.4 + 0.03 * k}" euler="{20 + 7 * k} {5 * k} 0"><freejoint/>'
        '<geom type="box" size="0.15 0.1 0.08" mass="1"/></body>'
        for k in range(count)
    )
    return _mujoco(_world('<geom type="plane" size="20 20 1"/>' + boxes))


def mujoco_arms(count: int) -> Callable[[], Any]:
    """Chains of up to five links on hinges fall against a wall."""
    chains, left = "", count
    for k in range((count + 4) // 5):
        links, text, end = min(5, left), "", ""
        left -= links
        for j in range(links):
            place = f"0 {0.5 * k} 2" if j == 0 else "0.3 0 0"
            text += (
                f'<body pos="{place}"><joint type="hinge" axis="0 1 0"/>'
                '<geom type="capsule" size="0.04" fromto="0.06 0 0 0.24 0 0" mass="1" condim="1"/>'
            )
            end += "</body>"
        chains += text + end
    ground = '<geom type="plane" size="20 20 1" pos="0 0 0.6" condim="1"/>'
    return _mujoco(_world(ground + chains))


# ---- pymunk


def _pymunk(fill: Callable[[Any], None], step: float) -> Callable[[], Any]:
    import pymunk

    from carom.bridges.pymunk import PymunkBridge

    def make() -> Any:
        space = pymunk.Space()
        fill(space)
        return PymunkBridge(space, step, law="gr", restitution=1.0)

    return make


def _disc(space: Any, place: tuple[float, float], radius: float) -> Any:
    import pymunk

    body = pymunk.Body(1.0, pymunk.moment_for_circle(1.0, 0.0, radius))
    body.position = place
    shape = pymunk.Circle(body, radius)
    shape.elasticity = 1.0
    space.add(body, shape)
    return body


def pymunk_cradle(count: int) -> Callable[[], Any]:
    """Balls on pins; the first one is raised."""
    import pymunk
    from numpy import cos, sin

    def fill(space: Any) -> None:
        space.gravity = (0.0, -9.81)
        for k in range(count):
            angle = 0.8 if k == 0 else 0.0
            body = _disc(space, (0.2 * k - sin(angle), -cos(angle)), 0.1)
            space.add(pymunk.PinJoint(space.static_body, body, (0.2 * k, 0.0), (0.0, 0.0)))

    return _pymunk(fill, 0.002)


def pymunk_discs(count: int) -> Callable[[], Any]:
    """Discs that fly in a box without gravity."""
    import numpy as np
    import pymunk

    side = 0.5 * (10.0 * count) ** 0.5

    def fill(space: Any) -> None:
        rng, n = np.random.default_rng(1), int(np.ceil(count**0.5))
        corners = [(-side, -side), (side, -side), (side, side), (-side, side)]
        for k in range(4):
            space.add(pymunk.Segment(space.static_body, corners[k], corners[(k + 1) % 4], 0.1))
        for k in range(count):
            place = (np.array([k % n, k // n]) - 0.5 * (n - 1)) * (1.6 * side / max(n, 2))
            _disc(space, tuple(place.tolist()), 0.3).velocity = tuple(rng.normal(size=2).tolist())

    return _pymunk(fill, 0.005)


def pymunk_boxes(count: int) -> Callable[[], Any]:
    """Boxes fall on the ground, in several layers."""
    import pymunk

    def fill(space: Any) -> None:
        space.gravity = (0.0, -9.81)
        space.add(pymunk.Segment(space.static_body, (-50.0, 0.0), (50.0, 0.0), 0.1))
        for k in range(count):
            body = pymunk.Body(1.0, pymunk.moment_for_box(1.0, (0.3, 0.2)))
            body.position, body.angle = (0.7 * (k % 10), 0.6 + 0.5 * (k // 10) + 0.02 * k), 0.3 * k
            shape = pymunk.Poly.create_box(body, (0.3, 0.2))
            shape.friction = 0.5
            space.add(body, shape)

    return _pymunk(fill, 0.005)


def _pybullet(count: int) -> Callable[[], Any]:
    """Balls fall on a plane."""
    import pybullet

    from carom.bridges.pybullet import PybulletBridge

    def make() -> Any:
        client = pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
        pybullet.setTimeStep(0.002, physicsClientId=client)
        ground = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client)
        pybullet.createMultiBody(0, ground, physicsClientId=client)
        ball = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1, physicsClientId=client)
        for k in range(count):
            place = [0.3 * (k % 8), 0.3 * (k // 8), 0.3 + 0.02 * k]
            pybullet.createMultiBody(1.0, ball, basePosition=place, physicsClientId=client)
        return PybulletBridge(client, law="gr", restitution=1.0)

    return make


SCENES: dict[str, tuple[tuple[str, Callable[[int], Callable[[], Any]], int], ...]] = {
    "MuJoCo": (
        ("hinge cradle", mujoco_cradle, 1500),
        ("balls in a box", mujoco_balls, 1000),
        ("boxes fall", mujoco_boxes, 600),
        ("arms fall", mujoco_arms, 600),
    ),
    "pymunk": (
        ("pin cradle", pymunk_cradle, 1500),
        ("discs in a box", pymunk_discs, 1000),
        ("boxes fall", pymunk_boxes, 600),
    ),
    "PyBullet": (("balls fall", _pybullet, 600),),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", nargs="*", default=list(SCENES), choices=list(SCENES))
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES))
    chosen = parser.parse_args()
    print("| engine | scene, bodies | impacts | engine, us | quiet step, us | step with an impact, us | ratios |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for engine in chosen.engines:
        for size in chosen.sizes:
            for name, make, steps in SCENES[engine]:
                m = measure(make(size), steps)
                ratios = f"{m.quiet / m.engine:.1f}, {m.mean / m.engine:.1f}"
                times = f"{m.engine:.1f} | {m.quiet:.1f} | {m.impact:.0f}"
                print(f"| {engine} | {name}, {size} | {m.impacts} of {m.steps} | {times} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()

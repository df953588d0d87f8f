"""Carom inside other engines: what each gives alone, and with Carom as its impact operator.

The striker of each scene starts at a distance; the engine flies it to the impact. Engines that are not installed are
left out.

    python examples/engines.py
"""

from __future__ import annotations

import importlib.util

import numpy as np

from carom import ProblemError, catalogue
from carom.engines.placement import Placement, place
from carom.engines.process import Runner

DISTANCE = 0.01  # that the striker covers before the impact, at speed 1
SCENES = {"cradle": "cradle_5_1", "Bernoulli": "bernoulli", "flat box": "box_flat_2d"}
ENGINES = [name for name in ("mujoco", "pymunk", "pybullet") if importlib.util.find_spec(name)]


def velocities(spec: str, scene: str) -> tuple[str, np.ndarray]:
    """Title of the engine, and the velocities of a catalogue problem some time after the impact."""
    engine: Runner = Runner(spec)
    placed = place(catalogue.entry(SCENES[scene]), engine.dimension)
    assert placed is not None
    return engine.title, placed.velocity(flown(engine.engine, placed))


def flown(engine, placed: Placement) -> np.ndarray:
    """Runs until the impact, which takes a moment in an engine with springs, is long over."""
    engine.start(1.0)
    for plane in placed.planes:
        engine.add_plane(*plane)
    for mass, size, position, velocity in placed.bodies:
        linear = np.array(velocity[: len(position)])
        engine.add_body(mass, size, (np.array(position) - DISTANCE * linear).tolist(), velocity)
    step = getattr(engine, "engine", engine).step_size
    for _ in range(round(3 * DISTANCE / step)):
        engine.step()
    return np.array(engine.velocities())


def exact(scene: str) -> np.ndarray:
    """The answer that the desiderata leave."""
    return catalogue.entry(SCENES[scene]).answers["gr"]


def main() -> None:
    for scene in SCENES:
        print(f"{scene}: {text(exact(scene))}")
        for name in ENGINES:
            for spec in (name, f"{name}+carom"):
                title, found = velocities(spec, scene)
                off = float(np.abs(found - exact(scene)).max())
                print(f"  {title:<24} {text(found):<52} off by {off:.0e}")


def text(velocity: np.ndarray) -> str:
    return " ".join(f"{v:.3f}".replace("-0.000", "0.000") for v in np.ravel(velocity))


def check() -> None:
    """With Carom the cradle is exact in every engine; Bernoulli's discs are resolved up to a step before they touch."""
    for name in ENGINES:
        for scene, bound in (("cradle", 1e-9), ("Bernoulli", 1e-3), ("flat box", 1e-9)):
            _, found = velocities(f"{name}+carom", scene)
            np.testing.assert_allclose(found, exact(scene), atol=bound, err_msg=f"{name}, {scene}")
        _, alone = velocities(name, "cradle")
        assert abs(alone - exact("cradle")).max() > 0.01, f"{name} alone is right: the example has lost its point"


if __name__ == "__main__":
    try:
        main()
    except ProblemError as missing:
        print(missing)

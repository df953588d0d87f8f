"""Engines with Carom as their impact operator (`carom.bridges`), on the same scenes and with the same settings."""

from __future__ import annotations

from typing import Any

from ..bridges import Bridge
from . import Engine


class Inside:
    """An engine whose steps are made by a bridge."""

    law = "qce"

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.title, self.dimension = f"{engine.title} + Carom", engine.dimension
        self.settings = f"law {self.law} inside; {engine.settings}"

    def start(self, restitution: float) -> None:
        self.engine.start(restitution)
        self.restitution = restitution
        self.bridge: Bridge | None = None

    def add_body(self, mass: float, size: list[float], position: list[float], velocity: list[float]) -> None:
        self.engine.add_body(mass, size, position, velocity)

    def add_parts(self, mass: float, parts: list[Any], position: list[float], velocity: list[float]) -> None:
        self.engine.add_parts(mass, parts, position, velocity)

    def add_plane(self, point: list[float], normal: list[float], speed: float) -> None:
        self.engine.add_plane(point, normal, speed)

    def step(self) -> None:
        if self.bridge is None:
            self.bridge = self.connected(self.engine)
        self.bridge.step()

    def connected(self, engine: Any) -> Bridge:
        """The bridge to the engine's world."""
        raise NotImplementedError

    def velocities(self) -> Any:
        return self.engine.velocities()


class MujocoWithCarom(Inside):
    """MuJoCo with Carom inside."""

    def __init__(self) -> None:
        from .mujoco import Mujoco

        super().__init__(Mujoco())

    def connected(self, engine: Any) -> Bridge:
        from ..bridges.mujoco import MujocoBridge

        engine.build()
        return MujocoBridge(engine.model, engine.data, self.law, restitution=self.restitution)


class PymunkWithCarom(Inside):
    """pymunk with Carom inside."""

    def __init__(self) -> None:
        from .pymunk import Pymunk

        super().__init__(Pymunk())

    def connected(self, engine: Any) -> Bridge:
        from ..bridges.pymunk import PymunkBridge

        return PymunkBridge(engine.space, engine.step_size, self.law, restitution=self.restitution)


class PybulletWithCarom(Inside):
    """PyBullet with Carom inside."""

    def __init__(self) -> None:
        from .pybullet import Pybullet

        super().__init__(Pybullet())

    def connected(self, engine: Any) -> Bridge:
        from ..bridges.pybullet import PybulletBridge

        return PybulletBridge(engine.client, self.law, restitution=self.restitution)

"""MuJoCo as an engine of the conformance suite."""

from __future__ import annotations

import math
from typing import Any

import mujoco

GAP = 1e-3  # up to which contacts are reported before they act, for `carom.bridges.mujoco`


class Mujoco:
    """MuJoCo has no coefficient of restitution: bouncing comes from underdamped contacts.

    Contacts have the direct form of `solref`, (-stiffness, -damping). The damping ratio of a single contact that
    rebounds with the coefficient c is `-ln c / sqrt(pi^2 + ln^2 c)`.
    """

    title = f"MuJoCo {mujoco.__version__}"
    dimension = 3
    step_size, stiffness, impedance = 2e-5, 1e8, 0.01

    def __init__(self) -> None:
        self.settings = (
            f"step {self.step_size:g}, RK4, Newton solver, tolerance 1e-12, solref (-{self.stiffness:g}, -damping), "
            f"solimp {self.impedance:g}"
        )

    def start(self, restitution: float) -> None:
        lost = -math.log(max(restitution, 1e-3))
        ratio = lost / math.sqrt(math.pi**2 + lost**2)
        damping = 2.0 * ratio * math.sqrt(self.stiffness)
        solimp = f"{self.impedance} {self.impedance} 0.001"
        self.contact = f'condim="1" gap="{GAP}" solref="{-self.stiffness} {-damping}" solimp="{solimp}"'
        self.geoms: list[str] = []
        self.speeds: list[list[float]] = []
        self.model: Any = None
        self.data: Any = None

    def add_body(self, mass: float, size: list[float], position: list[float], velocity: list[float]) -> None:
        kind = "sphere" if len(size) == 1 else "box"
        geom = f'<geom type="{kind}" size="{words(size)}" mass="{mass!r}" {self.contact}/>'
        self.geoms.append(f'<body pos="{words(position)}"><freejoint/>{geom}</body>')
        self.speeds.append(velocity)

    def add_parts(self, mass: float, parts: list[Any], position: list[float], velocity: list[float]) -> None:
        own = f'mass="{mass / len(parts)!r}" {self.contact}'
        boxes = "".join(f'<geom type="box" pos="{words(at)}" size="{words(half)}" {own}/>' for at, half in parts)
        self.geoms.append(f'<body pos="{words(position)}"><freejoint/>{boxes}</body>')
        self.speeds.append(velocity)

    def add_plane(self, point: list[float], normal: list[float], speed: float) -> None:
        if speed:
            raise NotImplementedError("a plane that moves: MuJoCo's are part of the world")
        place = f'pos="{words(point)}" zaxis="{words(normal)}"'
        self.geoms.append(f'<geom type="plane" size="0 0 1" {place} {self.contact}/>')

    def step(self) -> None:
        if self.model is None:
            self.build()
        mujoco.mj_step(self.model, self.data)

    def build(self) -> None:
        """Compiles the model; MuJoCo's worlds are made as a whole."""
        option = f'<option timestep="{self.step_size}" gravity="0 0 0" integrator="RK4" tolerance="1e-12"/>'
        self.model = mujoco.MjModel.from_xml_string(
            f"<mujoco>{option}<worldbody>{''.join(self.geoms)}</worldbody></mujoco>"
        )
        self.data = mujoco.MjData(self.model)
        self.data.qvel[:] = [v for velocity in self.speeds for v in velocity]

    def velocities(self) -> Any:
        return self.data.qvel.reshape(-1, 6)


def words(numbers: list[float]) -> str:
    """Numbers of an attribute in MuJoCo's model language."""
    return " ".join(f"{number:.17g}" for number in numbers)

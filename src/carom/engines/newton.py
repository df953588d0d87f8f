"""Newton (Python package newton, on Warp) with its solver XPBD as an engine of the conformance suite."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import newton
import warp

warp.config.quiet = True
HALF_WALL = 50.0  # half of the size of the boxes that stand for half-spaces


class Newton:
    """XPBD is the solver of Newton with a coefficient of restitution. That of two shapes is averaged."""

    title = f"Newton {version('newton')} (XPBD)"
    dimension = 3
    step_size = 1e-3  # positions in single precision: with 1e-4 their rounding is a speed of 2e-3
    options = {  # noqa: RUF012
        "iterations": 1,
        "rigid_contact_restitution_iterations": 50,
        "rigid_contact_con_weighting": False,
        "rigid_contact_relaxation": 1.0,
    }

    def __init__(self) -> None:
        named = ", ".join(f"{key} {value:g}" for key, value in self.options.items())
        self.settings = (
            f"step {self.step_size:g}, enable_restitution, {named}, friction 0, restitution c, boxes for planes"
        )

    def start(self, restitution: float) -> None:
        self.builder = newton.ModelBuilder(gravity=(0.0, 0.0, 0.0))
        self.shape = newton.ModelBuilder.ShapeConfig(
            density=0.0, mu=0.0, mu_torsional=0.0, mu_rolling=0.0, restitution=restitution, gap=0.0
        )
        self.speeds: list[list[float]] = []
        self.solver: Any = None

    def _free(self, mass: float, inertia: list[float], position: list[float], velocity: list[float]) -> int:
        tensor = warp.mat33(inertia[0], 0.0, 0.0, 0.0, inertia[1], 0.0, 0.0, 0.0, inertia[2])
        self.speeds.append(list(velocity))
        at = warp.transform(position, warp.quat_identity())
        return int(self.builder.add_body(xform=at, mass=mass, inertia=tensor, lock_inertia=True))

    def add_body(self, mass: float, size: list[float], position: list[float], velocity: list[float]) -> None:
        if len(size) == 1:
            body = self._free(mass, [0.4 * mass * size[0] ** 2] * 3, position, velocity)
            self.builder.add_shape_sphere(body, radius=size[0], cfg=self.shape)
        else:
            body = self._free(mass, box_inertia(mass, size), position, velocity)
            self.builder.add_shape_box(body, hx=size[0], hy=size[1], hz=size[2], cfg=self.shape)

    def add_parts(self, mass: float, parts: list[Any], position: list[float], velocity: list[float]) -> None:
        reach = [max(abs(center[k]) + half[k] for center, half in parts) for k in range(3)]  # the parts fill a box
        body = self._free(mass, box_inertia(mass, reach), position, velocity)
        for center, half in parts:
            at = warp.transform(center, warp.quat_identity())
            self.builder.add_shape_box(body, xform=at, hx=half[0], hy=half[1], hz=half[2], cfg=self.shape)

    def add_plane(self, point: list[float], normal: list[float], speed: float) -> None:
        if speed:
            raise NotImplementedError("a plane that moves: kinematic bodies of XPBD push nothing")
        center = [p - HALF_WALL * n for p, n in zip(point, normal, strict=True)]
        x, y, z = normal
        turn = [-y, x, 0.0, 1.0 + z] if z > -0.999999 else [1.0, 0.0, 0.0, 0.0]
        length = sum(q * q for q in turn) ** 0.5
        at = warp.transform(center, warp.quat(*(q / length for q in turn)))
        self.builder.add_shape_box(-1, xform=at, hx=HALF_WALL, hy=HALF_WALL, hz=HALF_WALL, cfg=self.shape)

    def _begin(self) -> None:
        self.model = self.builder.finalize(device="cpu")
        self.now, self.next = self.model.state(), self.model.state()
        for state in (self.now, self.next):
            state.body_qd.assign(self.speeds)
        self.solver = newton.solvers.SolverXPBD(self.model, enable_restitution=True, **self.options)
        self.contacts = self.model.contacts()

    def step(self) -> None:
        if self.solver is None:
            self._begin()
        self.now.clear_forces()
        self.model.collide(self.now, self.contacts)
        self.solver.step(self.now, self.next, None, self.contacts, self.step_size)
        self.now, self.next = self.next, self.now

    def velocities(self) -> Any:
        return self.now.body_qd.numpy().tolist()


def box_inertia(mass: float, half: list[float]) -> list[float]:
    """Moments of inertia of a box about its axes."""
    x, y, z = (mass * h * h / 3.0 for h in half)
    return [y + z, z + x, x + y]

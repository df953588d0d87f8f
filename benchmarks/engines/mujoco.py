"""MuJoCo with its default parameters. Its contacts are soft and it has no coefficient of restitution.

Scenes with many bodies use its conjugate gradients instead of Newton's method, the default.
"""

from __future__ import annotations

import mujoco
import numpy as np

# Bodies above which conjugate gradients are used: Newton's factor of one large island in 3D fills in. Measured: 3,000
# spheres that settle take 0.3 s per step and more with Newton's method, 0.06 to 0.15 s with conjugate gradients.
NEWTON_LIMIT = 2000


def words(numbers: np.ndarray) -> str:
    """Numbers of an attribute in MuJoCo's model language."""
    return " ".join(f"{number:.17g}" for number in np.atleast_1d(numbers))


def normal_to_quaternion(normal: np.ndarray) -> np.ndarray:
    """The rotation (w, x, y, z) that takes the z axis to a unit normal."""
    w = 1.0 + normal[2]
    if w < 1e-12:
        return np.array([0.0, 1.0, 0.0, 0.0])
    turn = np.array([w, -normal[1], normal[0], 0.0])
    return turn / np.linalg.norm(turn)


class World:
    """A scene in MuJoCo. The friction of a contact is the larger of its two bodies'."""

    version = mujoco.__version__

    def __init__(self, scene: dict[str, np.ndarray]) -> None:
        size, mu = scene["size"], f'friction="{float(scene["friction"])} 0 0" condim="3"'
        mass, step = float(scene["mass"]), float(scene["step"])
        shape = f'type="sphere" size="{words(size)}"' if len(size) == 1 else f'type="box" size="{words(0.5 * size)}"'
        walls = "".join(
            f'<geom type="plane" size="0 0 1" pos="{words(p)}" quat="{words(normal_to_quaternion(n))}" {mu}/>'
            for p, n in zip(scene["plane_point"], scene["plane_normal"])
        )
        bodies = "".join(
            f'<body pos="{words(p)}" quat="{words(q)}"><freejoint/><geom {shape} mass="{mass}" {mu}/></body>'
            for p, q in zip(scene["position"], scene["orientation"])
        )
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><size memory="4G"/><option timestep="{step!r}" gravity="{words(scene["gravity"])}"/>'
            f"<worldbody>{walls}{bodies}</worldbody></mujoco>"
        )
        if len(scene["position"]) > NEWTON_LIMIT:
            self.model.opt.solver = mujoco.mjtSolver.mjSOL_CG
        self.data = mujoco.MjData(self.model)
        self.data.qvel.reshape(-1, 6)[:, :3] = scene["velocity"]

    def step(self) -> None:
        mujoco.mj_step(self.model, self.data)

    def poses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        poses = self.data.qpos.reshape(-1, 7)
        return poses[:, :3].copy(), poses[:, 3:].copy(), self.data.qvel.reshape(-1, 6)[:, :3].copy()

"""One group of bodies as checked arrays: what is the same in the plane and in space."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProblemError
from ..scene.model import Bodies, Scene
from ..scene.motion import Motion
from ..scene.numbers import array
from ..solvers.rows import Floats

AXES = {2: "(x, y)", 3: "(x, y, z)"}


class Group:
    """Places, velocities, material and motion of a group. Subclasses add shape, mass and inertia."""

    def __init__(self, scene: Scene, index: int, names: list[str], dimension: int) -> None:
        given = scene.bodies[index]
        if not isinstance(given, Bodies):
            raise ProblemError(f"bodies[{index}]", type(given).__name__, "a carom.scene.Bodies")
        self.path = f"bodies[{index}]" + (f" ({given.name})" if given.name else "")
        self.given, self.dimension = given, dimension
        self.position = self._places(given.position)
        n = self.count = len(self.position)
        self.velocity = self._spread(given.velocity, "velocity", (n, dimension))
        spin = (n,) if dimension == 2 else (n, 3)
        self.spin = self._spread(given.spin, "spin", spin)
        if given.material not in names:
            raise ProblemError.unknown(f"material (of {self.path})", given.material, names)
        self.material = names.index(given.material)
        self.density = scene.materials[given.material].density
        self.motion, self.free = given.motion, given.motion is None
        if given.motion is not None and not isinstance(given.motion, Motion):
            raise ProblemError(f"{self.path}.motion", given.motion, "a Motion, or None for a free body")
        if given.motion is not None:  # it alone says how they move
            given.motion.check(f"{self.path}.motion", dimension)
            self.velocity, self.spin = np.zeros((n, dimension)), np.zeros(spin)
        self.rotates = bool(given.rotates)

    def weigh(self, size: Floats, gyration: Floats) -> None:
        """Mass and inertia: given, or of a homogeneous body of this area or volume and these moments over mass."""
        given = self.given
        self.mass = self._positive(given.mass, "mass") if given.mass is not None else self.density * size
        if given.inertia is not None:
            self.inertia = self._positive(given.inertia, "inertia", gyration.shape)
        else:
            self.inertia = gyration * (self.mass if gyration.ndim == 1 else self.mass[:, None])
        for name, value in (("mass", self.mass), ("inertia", self.inertia)):
            bad = np.argwhere(~((value > 0.0) & np.isfinite(value)))
            if len(bad):
                raise ProblemError(f"{self.path}.{name}", float(value[tuple(bad[0])]), "a finite number above 0")

    def _places(self, value: Any) -> Floats:
        axes = AXES[self.dimension]
        wanted = f"places {axes}, one for each body"
        try:
            places = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ProblemError(f"{self.path}.position", value, wanted) from None
        many = places[None] if places.ndim == 1 else places
        places = array(f"{self.path}.position", many, (None, self.dimension), wanted)
        if not len(places):
            raise ProblemError(f"{self.path}.position", "none", f"at least one place {axes}")
        return np.ascontiguousarray(places)

    def _spread(self, value: Any, name: str, shape: tuple[int, ...]) -> Floats:
        try:
            array = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), shape))
        except (TypeError, ValueError):
            raise ProblemError(f"{self.path}.{name}", value, f"numbers that fit the shape {shape}") from None
        self._finite(array, name)
        return array

    def _finite(self, array: Floats, name: str) -> None:
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            where = f"[{bad[0][0]}]" if array.shape[0] > 1 else ""
            raise ProblemError(f"{self.path}.{name}{where}", array[tuple(bad[0])], "a finite number")

    def _positive(self, value: Any, name: str, shape: tuple[int, ...] | None = None) -> Floats:
        array = self._spread(value, name, (self.count,) if shape is None else shape)
        bad = np.argwhere(~(array > 0.0))
        if len(bad):
            where = f"[{bad[0][0]}]" if np.ndim(value) else ""
            raise ProblemError(f"{self.path}.{name}{where}", float(array[tuple(bad[0])]), "a number above 0")
        return array

"""Parameters of a scene by their paths in its file, and how the numbers of its model depend on them.

A path is that of `carom sweep`: `materials.default.restitution`, `bodies.0.velocity`, `scene.gravity`,
`boundaries.0.motion.amplitude`. Masses from densities and radii, poses from motions and so on are explicit formulas of
the build. Their slopes are five-point differences of the build, which are exact to about 1e-11; nothing that depends on
impacts is differenced. Positions and velocities enter the model as they are, and need none.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..build import build
from ..errors import ProblemError
from ..scene.file import scene_document, scene_of
from ..scene.file.text import place
from ..scene.model import Scene, forces_of
from ..solvers.rows import Floats, Ints
from ..world import World
from .contact_map import BODY, V
from .follow import Placing
from .model import PLACED, Model, model_of, placing

RELATIVE_STEP = 1e-3  # of the differences, relative to the value or to 1 if that is larger
CENTRAL = ((-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0))  # steps, and weights over 12
FORWARD = ((0.0, -25.0), (1.0, 48.0), (2.0, -36.0), (3.0, 16.0), (4.0, -3.0))


class Parameters:
    """The parameters of one scene: its document, and what it makes of it."""

    def __init__(self, scene: Scene, step: float, folder: Path | None = None) -> None:
        self.scene, self.step, self.folder = scene, step, folder or Path(".")
        try:
            self.document = _lists(scene_document(scene))
        except ProblemError as error:
            wanted = f"{error.expected}; derivatives need a scene of plain numbers"
            raise ProblemError(error.field, error.value, wanted) from None

    def value(self, path: str) -> Floats:
        """The numbers of a parameter."""
        table, key = self._place(path)
        found = table[key] if isinstance(table, list) or key in table else self._default(path)
        try:
            numbers = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.asarray(np.nan)
        if isinstance(found, bool) or numbers.dtype == object or not np.isfinite(numbers).all():
            raise ProblemError(path, found, "a parameter that is a number, or an array of numbers")
        return numbers

    def _place(self, path: str) -> tuple[Any, Any]:
        if not isinstance(path, str) or not path:
            raise ProblemError("parameter", path, "a path such as materials.default.restitution")
        path = ".".join(self._words(path))
        try:
            return place(self.document, path)
        except ProblemError as error:
            raise ProblemError("parameter", path, error.expected, f"parameter {path}: {error}") from None

    def _default(self, path: str) -> Any:
        """The value of a field that the file leaves to its default."""
        words = path.split(".")
        words = words[1:] if words[0] == "scene" else words
        here: Any = self.scene
        for word in words:
            if isinstance(here, Sequence) and word.isdigit() and int(word) < len(here):
                here = here[int(word)]
            elif isinstance(here, dict) and word in here:
                here = here[word]
            else:
                here = getattr(here, word, None) if not isinstance(here, dict) else None
        if here is None or callable(here):
            names = ", ".join(self.names())
            raise ProblemError("parameter", path, f"a number of the scene, such as {names}")
        if words[0] == "bodies" and words[-1] == "velocity" and np.ndim(here) == 0:  # one number serves all
            return np.full((self.scene.bodies[int(words[1])].count, self.scene.dimension), float(here))
        return here

    def names(self) -> list[str]:
        """Some parameters that every scene has."""
        material = next(iter(self.scene.materials))
        return [f"materials.{material}.restitution", "scene.gravity", "bodies.0.position", "bodies.0.velocity"]

    def scene_with(self, values: dict[str, Any]) -> Scene:
        """The scene with other values of some parameters."""
        document = dict(self.document)
        for path, value in values.items():
            table, key = self._place(path)
            words = [] if table is self.document else self._words(path)[:-1]
            here: Any = document
            for word in words:  # tables on the way are copied, the others are shared
                at: Any = int(word) if isinstance(here, list) else word
                here[at] = copy.copy(here[at] if isinstance(here, list) else here.get(at, {}))
                here = here[at]
            here[key] = np.asarray(value).tolist()
        return scene_of(document, self.scene.name, self.folder)

    def _words(self, path: str) -> list[str]:
        words = path.split(".")
        short = words[0] in self.scene.__dataclass_fields__ and words[0] not in self.document
        return ["scene", *words] if short else words

    # ---- how the numbers of the model depend on them

    def slopes(self, path: str, model: Model, placings: list[Placing]) -> Floats:
        """Derivatives (numbers, values) of the vector of the model and of all placings."""
        value = self.value(path)
        known = self._plain(path, value, model)
        if known is not None:
            out = np.zeros((model.size + PLACED * len(placings), value.size))
            out[known, np.arange(value.size)] = 1.0
            return out
        return np.stack([self._difference(path, value, k, placings) for k in range(value.size)], axis=1)

    def adjoint(self, path: str, model: Model, placings: list[Placing], bar: Floats) -> Floats:
        """Derivatives in the shape of a parameter from those of the vector and of all placings, (numbers,)."""
        value = self.value(path)
        known = self._plain(path, value, model)
        if known is not None:
            return bar[known].reshape(value.shape)
        return np.asarray(self.slopes(path, model, placings).T @ bar).reshape(value.shape)

    def _plain(self, path: str, value: Floats, model: Model) -> Ints | None:
        """Places in the vector of positions and velocities that are given body by body; None for all else."""
        words = path.split(".")
        if len(words) != 3 or words[0] != "bodies" or words[2] not in ("position", "velocity"):
            return None
        index, dim = int(words[1]), model.dimension
        group = self.scene.bodies[index]
        if group.motion is not None or value.size != group.count * dim:  # one velocity may serve all bodies
            return None
        first = sum(g.count for g in self.scene.bodies[:index])
        bodies = np.repeat(np.arange(first, first + group.count), dim)
        return BODY * bodies + np.tile(np.arange(dim), group.count) + (V if words[2] == "velocity" else 0)

    def _difference(self, path: str, value: Floats, k: int, placings: list[Placing]) -> Floats:
        size = RELATIVE_STEP * max(1.0, abs(float(value.flat[k])))
        error: ProblemError | None = None
        for stencil, sign in ((CENTRAL, 1.0), (FORWARD, 1.0), (FORWARD, -1.0)):
            try:
                total: float | Floats = 0.0
                for steps, weight in stencil:
                    moved = value.copy()
                    moved.flat[k] += sign * steps * size
                    total = total + weight * self.vector(self.scene_with({path: moved}), placings)
                return np.asarray(sign * total / (12.0 * size))
            except ProblemError as wrong:  # such as a restitution above 1
                error = wrong
        raise ProblemError(path, float(value.flat[k]), "a number that can change by a thousandth") from error

    def vector(self, scene: Scene, placings: list[Placing]) -> Floats:
        """The numbers of the model of a scene, and its placings."""
        world, state = self.built(scene)
        poses = [placing(world, p.actor, p.time, self.step) for p in placings]
        return np.concatenate([model_of(world, state).numbers, *poses])

    def built(self, scene: Scene) -> tuple[World, Any]:
        """World and first state of a scene."""
        world, state = build(scene, check_overlap=False)
        return replace(world, force=forces_of(scene, world.mass, self.step)), state


def _lists(table: Any) -> Any:
    """A document in which all sequences are lists, as TOML has them."""
    if isinstance(table, dict):
        return {key: _lists(value) for key, value in table.items()}
    return [_lists(value) for value in table] if isinstance(table, list | tuple) else table


def names_of(paths: str | Iterable[str]) -> tuple[str, ...]:
    """Parameters as a tuple."""
    names = (paths,) if isinstance(paths, str) else tuple(paths)
    if not names:
        raise ProblemError("wrt", "nothing", "paths of parameters, such as materials.default.restitution")
    return names

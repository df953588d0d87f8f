"""Checks and tables that do not depend on the dimension."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ProblemError
from ..scene.boundaries import Periodic
from ..scene.model import INTEGRATORS, Material, Scene
from ..scene.motion import Motion
from ..scene.numbers import array, scalar
from ..solvers.rows import Floats, Ints
from .group import Group


def gravity_of(scene: Scene, dimension: int) -> Floats:
    """Gravity as checked numbers; (0, 0), the default, is none in space as well."""
    given = scene.gravity
    if dimension == 3 and np.shape(given) == (2,) and not np.any(np.asarray(given)):
        given = (0.0, 0.0, 0.0)
    wanted = "two finite numbers (gx, gy)" if dimension == 2 else "three finite numbers (gx, gy, gz)"
    return array("gravity", given, (dimension,), wanted)


def check_settings(scene: Scene) -> None:
    for name in ("step", "duration", "frame_rate"):
        scalar(name, getattr(scene, name), 0.0, above=True)
    if scene.force is not None and not callable(scene.force):
        raise ProblemError("force", scene.force, "a function of (time, position, velocity)")
    if scene.periodic is not None and not isinstance(scene.periodic, Periodic):
        raise ProblemError("periodic", f"a {type(scene.periodic).__name__}", "a Periodic")
    if scene.periodic is not None and scene.dimension == 2 and (scene.periodic.z or scene.periodic.sheared == "z"):
        raise ProblemError("periodic.z", scene.periodic.z, "none: the bodies of this scene are of the plane")
    if scene.integrator not in INTEGRATORS:
        raise ProblemError.unknown("integrator", scene.integrator, INTEGRATORS)
    if scene.mixed_restitution not in ("refuse", "blend"):
        raise ProblemError("mixed_restitution", scene.mixed_restitution, "refuse or blend")


def tables(scene: Scene) -> tuple[list[str], Floats, Floats]:
    """Names of the materials, and their pair tables of restitution and friction."""
    names = list(scene.materials)
    for name, m in scene.materials.items():
        if not isinstance(m, Material):
            raise ProblemError(f"materials.{name}", m, "a Material")
        scalar(f"materials.{name}.restitution", m.restitution, 0.0, 1.0)
        scalar(f"materials.{name}.friction", m.friction, 0.0)
        scalar(f"materials.{name}.density", m.density, 0.0, above=True)
    e = np.array([m.restitution for m in scene.materials.values()])
    mu = np.array([m.friction for m in scene.materials.values()])
    restitution, friction = np.minimum(e[:, None], e), np.sqrt(mu[:, None] * mu)
    for pair, values in scene.pairs.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ProblemError("pairs", pair, "two names of materials")
        for name in pair:
            if name not in names:
                raise ProblemError.unknown("material (of pairs)", name, names)
        path, i, j = f"pairs[{pair[0]}, {pair[1]}]", names.index(pair[0]), names.index(pair[1])
        for name in values:
            if name not in ("restitution", "friction"):
                raise ProblemError.unknown(f"field (of {path})", name, ("restitution", "friction"))
        restitution[i, j] = scalar(f"{path}.restitution", values.get("restitution", restitution[i, j]), 0.0, 1.0)
        friction[i, j] = scalar(f"{path}.friction", values.get("friction", friction[i, j]), 0.0)
        restitution[j, i], friction[j, i] = restitution[i, j], friction[i, j]
    return names, restitution, friction


def motions_of(groups: Sequence[Group]) -> list[tuple[Ints, Motion]]:
    """The bodies that follow a motion, with it."""
    out, at = [], 0
    for g in groups:
        if g.motion is not None and g.motion.kind != "fixed":
            out.append((np.arange(at, at + g.count), g.motion))
        at += g.count
    return out

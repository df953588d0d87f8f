"""Random scenes with a few impacts, and central differences of their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from carom.scene import boundaries, shapes
from carom.scene.model import Bodies, Material, Scene
from carom.sensitivities import Sensitivity

KINDS = ("discs", "rough_discs", "polygons", "rough_polygons", "spheres", "rough_spheres", "mixed")


def random_scene(kind: str, seed: int) -> Scene:
    """Two to five bodies of different sizes in a box under gravity, without any symmetry."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    dim = 3 if "spheres" in kind else 2
    count, bodies = int(rng.integers(2, 6)), []
    for k in range(count):
        place = np.array([0.7 + 1.1 * k, rng.uniform(0.7, 2.0), *rng.uniform(0.7, 1.5, dim - 2)])
        shape = _shape(kind, rng, k)
        spin = rng.normal() if dim == 2 else tuple(rng.normal(size=3))
        options = {"angle": rng.uniform(0, 6)} if dim == 2 else {}
        material = "ball" if k % 2 else "default"
        bodies.append(Bodies(shape, place[None], rng.normal(size=(1, dim)), spin=spin, material=material, **options))
    top = [1.1 * count + 0.4, 2.8, 2.2][:dim]
    rough = "rough" in kind
    materials = {"default": Material(0.8, 0.2 if rough else 0.0), "ball": Material(0.9, 0.4 if rough else 0.0, 2.0)}
    walls = boundaries.Container([0.0] * dim, top)
    gravity = (0.3, -1.0) if dim == 2 else (0.3, -1.0, 0.2)
    return Scene("random", bodies, [walls], materials=materials, gravity=gravity, step=0.02, duration=2.0)


def _shape(kind: str, rng: np.random.Generator, k: int) -> shapes.Shape:
    if "spheres" in kind:
        return shapes.Sphere(rng.uniform(0.2, 0.45))
    if "discs" in kind or (kind == "mixed" and k % 2):
        return shapes.Disc(rng.uniform(0.2, 0.45))
    angles = np.sort(rng.uniform(0, 2 * np.pi / 3, 3) * 0.5 + 2 * np.pi / 3 * np.arange(3))
    return shapes.Polygon(0.45 * np.stack([np.cos(angles), np.sin(angles)], axis=1))


def parameters(scene: Scene) -> list[str]:
    """Parameters of all kinds."""
    out = ["materials.default.restitution", "materials.ball.restitution", "materials.ball.density", "scene.gravity"]
    if scene.materials["ball"].friction:
        out += ["materials.default.friction", "materials.ball.friction"]
    for k, group in enumerate(scene.bodies):
        out += [f"bodies.{k}.position", f"bodies.{k}.velocity", f"bodies.{k}.spin"]
        out += [] if isinstance(group.shape, shapes.Polygon) else [f"bodies.{k}.radius"]
    return [*out, "boundaries.0.upper"]


def final(run: Sensitivity) -> np.ndarray:
    """Final positions and velocities in one row."""
    frames = run.derivative("scene.gravity")
    return np.concatenate([np.ravel(part) for part in (frames.position, frames.velocity, frames.spin)])


def difference(
    run: Sensitivity,
    directions: Mapping[str, np.ndarray],
    make: Callable[[Scene], np.ndarray],
    step: float = 2e-7,
) -> np.ndarray:
    """Derivative of the final state along a direction of some parameters, from whole runs: differences of order six."""
    values = {path: run.parameters.value(path) for path in directions}
    total = 0.0
    for k, weight in ((1, 45.0), (2, -9.0), (3, 1.0)):
        for sign in (1.0, -1.0):
            moved = {path: values[path] + sign * k * step * directions[path] for path in values}
            total = total + sign * weight * make(run.parameters.scene_with(moved))
    return np.asarray(total / (60.0 * step))

"""The tables of all solids of a world, and the mass properties of its bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..scene.numbers import array
from ..scene.shapes import Solid, Sphere
from ..solvers.rows import Floats, Ints
from ..world import SPHERE, Solids
from .form import Form
from .principal import principal_axes, quaternion_of
from .shapes import Forms, Placed, placed_forms


@dataclass(frozen=True, eq=False)
class Properties:
    """Mass properties of a group of n bodies.

    Mass is density times `volume`, moments of inertia are mass times `gyration`, about the center of mass and along
    the axes of the body's frame. Where parts of a compound differ in density, `volume` is weighted with theirs.
    """

    volume: Floats  # (n,)
    gyration: Floats  # (n, 3) principal moments of inertia over mass
    frame: Floats  # (4,) quaternion that turns the body's frame, whose axes are principal, to the solid's own
    origin: Floats  # (3,) center of mass, in the coordinates that the shape is given in
    inner: Floats  # (n,) half of the smallest width
    radius: Floats  # (n,) of the sphere round the body, about its center of mass


@dataclass(frozen=True, eq=False)
class _Group:
    """Parts of n like bodies; spheres of several radii differ in their form."""

    form: Ints  # (n, parts)
    place: Floats  # (parts, 3)
    turn: Floats  # (parts, 3, 3)
    ball: bool


def make_solids(shapes: Sequence[tuple[str, Solid, int]]) -> tuple[Solids, list[Properties]]:
    """Tables for contact detection, and mass properties for each group: (path for messages, shape, number of bodies).

    Forms are kept in their own frames; parts place them in the body's frame, which is principal.
    """
    forms = Forms()
    groups, properties = [], []
    for path, shape, count in shapes:
        if isinstance(shape, Sphere) and np.ndim(shape.radius) > 0:
            group, found = _spheres(f"{path}.shape", shape, count, forms)
        else:
            group, found = _alike(*placed_forms(f"{path}.shape", shape, forms), count, forms)
        groups.append(group)
        properties.append(found)
    return Solids(*_body_columns(groups, properties), *_part_columns(groups), *_form_columns(forms.made)), properties


def _spheres(path: str, shape: Sphere, count: int, forms: Forms) -> tuple[_Group, Properties]:
    radius = array(f"{path}.radius", shape.radius, (count,), f"one radius, or {count} of them: one for each body")
    if not (radius > 0.0).all():
        k = int(np.argmin(radius > 0.0))
        raise ProblemError(f"{path}.radius[{k}]", float(radius[k]), "a number above 0")
    sizes, which = np.unique(radius, return_inverse=True)
    number = np.array([forms.sphere(float(r)) for r in sizes], dtype=np.int64)
    gyration = np.repeat(0.4 * radius[:, None] ** 2, 3, axis=1)
    volume = 4.0 / 3.0 * np.pi * radius**3
    group = _Group(number[which.reshape(-1)][:, None], np.zeros((1, 3)), np.eye(3)[None], True)
    return group, Properties(volume, gyration, _unturned(), np.zeros(3), radius.copy(), radius)


def _alike(parts: list[Placed], origin: Floats, count: int, forms: Forms) -> tuple[_Group, Properties]:
    """Bodies of one shape: its parts' moments, moved to the common center of mass, give the principal frame."""
    made = [forms.made[p.form] for p in parts]
    weights = np.array([p.density * f.volume for p, f in zip(parts, made)])
    inertia = np.zeros((3, 3))
    for p, f, weight in zip(parts, made, weights / weights.sum()):
        moved = (p.place @ p.place) * np.eye(3) - np.outer(p.place, p.place)
        inertia += weight * (p.turn @ f.inertia @ p.turn.T + moved)
    moments, axes = principal_axes(inertia)
    place = np.array([axes.T @ p.place for p in parts])
    turn = np.array([axes.T @ p.turn for p in parts])
    radius = max(_reach(f, p) for p, f in zip(parts, made))
    ball = len(parts) == 1 and made[0].kind == SPHERE
    group = _Group(np.tile([p.form for p in parts], (count, 1)).astype(np.int64), place, turn, ball)
    return group, Properties(
        volume=np.full(count, weights.sum()),
        gyration=np.tile(moments, (count, 1)),
        frame=quaternion_of(axes),
        origin=origin,
        inner=np.full(count, min(f.inner for f in made)),
        radius=np.full(count, radius),
    )


def _reach(form: Form, placed: Placed) -> float:
    """Largest distance of a placed form from the body's origin: exact for corners, a bound for round forms."""
    if len(form.vertices) and form.grid is None:
        return float(np.linalg.norm(placed.place + form.vertices @ placed.turn.T, axis=1).max())
    return float(np.linalg.norm(placed.place)) + form.reach


def _unturned() -> Floats:
    return np.array([1.0, 0.0, 0.0, 0.0])


def _body_columns(groups: list[_Group], properties: list[Properties]) -> tuple[NDArray[np.bool_], Floats, Floats, Ints]:
    ball = [np.full(len(g.form), g.ball) for g in groups]
    parts = [np.full(len(g.form), g.form.shape[1], dtype=np.int64) for g in groups]
    return (
        np.concatenate([np.zeros(0, bool), *ball]),
        np.concatenate([np.zeros(0), *(p.radius for p in properties)]),
        np.concatenate([np.zeros(0), *(p.inner for p in properties)]),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate([np.zeros(0, np.int64), *parts]))]),
    )


def _part_columns(groups: list[_Group]) -> tuple[Ints, Floats, Floats]:
    return (
        np.concatenate([np.zeros(0, np.int64), *(g.form.reshape(-1) for g in groups)]),
        np.concatenate([np.zeros((0, 3)), *(np.tile(g.place, (len(g.form), 1)) for g in groups)]),
        np.concatenate([np.zeros((0, 3, 3)), *(np.tile(g.turn, (len(g.form), 1, 1)) for g in groups)]),
    )


def _form_columns(made: list[Form]) -> tuple[Any, ...]:
    """The columns of Solids from `kind` on, in their order."""
    loops = [loop for f in made for loop in f.loops]
    grids = [f.grid for f in made if f.grid is not None]
    has = np.array([f.grid is not None for f in made], dtype=bool)
    return (
        np.array([f.kind for f in made], dtype=np.int8),
        np.array([f.size for f in made], dtype=np.float64).reshape(-1, 3),
        np.array([f.reach for f in made], dtype=np.float64),
        _ptr([len(f.vertices) for f in made]),
        np.concatenate([np.zeros((0, 3)), *(f.vertices for f in made)]),
        np.concatenate([np.zeros((0, 3)), *(f.vertex_normals for f in made)]),
        _ptr([len(f.loops) for f in made]),
        np.concatenate([np.zeros((0, 3)), *(f.face_normals for f in made)]),
        np.concatenate([np.zeros(0), *(f.face_offsets for f in made)]),
        _ptr([len(loop) for loop in loops]),
        np.concatenate([np.zeros(0, np.int64), *loops]),
        _ptr([len(f.edges) for f in made]),
        np.concatenate([np.zeros((0, 2), np.int64), *(f.edges for f in made)]),
        np.where(has, np.cumsum(has) - 1, -1).astype(np.int64),
        _ptr([g.value.size for g in grids]),
        np.array([g.value.shape for g in grids], dtype=np.int64).reshape(-1, 3),
        np.array([g.low for g in grids], dtype=np.float64).reshape(-1, 3),
        np.array([g.spacing for g in grids], dtype=np.float64),
        np.concatenate([np.zeros(0), *(g.value.reshape(-1) for g in grids)]),
    )


def _ptr(counts: list[int]) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])

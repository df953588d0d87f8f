"""Impact problems of Pinocchio models: joint space, contacts at frames, closed loops as joints.

Pinocchio computes dynamics and does not step, so there is no bridge that steps: `impact_problem` states the impact at a
configuration, and any law answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..problem import checks
from ..problem.geometry import tangents_of
from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats
from . import missing

try:
    import pinocchio
except ImportError as absent:
    raise missing("pinocchio") from absent

WORLD_AXES = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED


class FrameContact(NamedTuple):
    """A contact at the origin of a frame: `normal`, in world axes, points from the other body to that of the frame.

    other: a frame of the other body at the same place, or None for the world.
    """

    frame: str
    normal: tuple[float, float, float]
    other: str | None = None


class Loop(NamedTuple):
    """Two frames that coincide: at their origins ("point"), or altogether ("weld")."""

    first: str
    second: str
    kind: str = "point"


def impact_problem(
    model: Any,
    q: Any,
    v: Any,
    contacts: Sequence[FrameContact],
    *,
    loops: Sequence[Loop] = (),
    data: Any = None,
    **options: Any,
) -> ImpactProblem:
    """The impact of a model at the configuration q (nq,) with the joint velocities v (nv,).

    Mass matrix by the composite rigid body algorithm, contact rows by frame Jacobians, with two tangents each. A loop
    holds the relative velocity that it has. `options` are those of `ImpactProblem.from_matrices`: restitution,
    friction, boundary_speed and so on.
    """
    place = checks.shaped("q", checks.finite("q", q), (model.nq,))
    speed = checks.shaped("v", checks.finite("v", v), (model.nv,))
    data = model.createData() if data is None else data
    pinocchio.computeJointJacobians(model, data, place)
    pinocchio.updateFramePlacements(model, data)
    upper = np.triu(pinocchio.crba(model, data, place))
    mass = upper + np.triu(upper, 1).T
    normals, tangents = [], []
    for k, given in enumerate(contacts):
        contact = FrameContact(*given)
        unit = checks.shaped(f"contacts[{k}].normal", checks.finite("normal", contact.normal), (3,))
        if not unit.any():
            raise ProblemError(f"contacts[{k}].normal", contact.normal, "a direction")
        unit = unit / np.linalg.norm(unit)
        moved = _jacobian(model, data, place, contact.frame, f"contacts[{k}].frame")[:3]
        if contact.other is not None:
            moved = moved - _jacobian(model, data, place, contact.other, f"contacts[{k}].other")[:3]
        normals.append(unit @ moved)
        tangents.append(tangents_of(unit[None])[0] @ moved)
    if loops:
        held = np.concatenate([_loop(model, data, place, Loop(*loop), k) for k, loop in enumerate(loops)])
        options = {"joints": held, "joint_speed": held @ speed, **options}
    given_name = {"name": str(model.name), **options}
    return ImpactProblem.from_matrices(mass, np.array(normals), speed, tangents=np.array(tangents), **given_name)


def _loop(model: Any, data: Any, q: Floats, loop: Loop, k: int) -> Floats:
    if loop.kind not in ("point", "weld"):
        raise ProblemError.unknown(f"loops[{k}].kind", loop.kind, ("point", "weld"))
    first, second = (_jacobian(model, data, q, name, f"loops[{k}]") for name in (loop.first, loop.second))
    return (second - first)[: 3 if loop.kind == "point" else 6]


def _jacobian(model: Any, data: Any, q: Floats, frame: str, field: str) -> Floats:
    """Linear and angular velocity of a frame per joint velocity, (6, nv), in world axes."""
    if not isinstance(frame, str) or not model.existFrame(frame):
        raise ProblemError.unknown(field, str(frame), [f.name for f in model.frames])
    return np.asarray(pinocchio.computeFrameJacobian(model, data, q, model.getFrameId(frame), WORLD_AXES))

"""Rotations: angles in 2D, unit quaternions (w, x, y, z) in 3D, from the frame of a body to that of the world.

The last functions take both: orientations are angles (n,) or quaternions (n, 4), rotation vectors (n, 1) or (n, 3).
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel, lean
from ..solvers.rows import Floats
from .vectors import Mat3, Vec3, put_row

SPIN_SHAPE: dict[int, tuple[int, ...]] = {2: (), 3: (3,)}  # of a spin in scenes and trajectories, by dimension


@lean
def matrix_of(q, out):
    """The rotation matrix (3, 3) of one quaternion: column k is the body's axis k in the world. Writes `out`."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    out[0, 0], out[0, 1], out[0, 2] = 1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)
    out[1, 0], out[1, 1], out[1, 2] = s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)
    out[2, 0], out[2, 1], out[2, 2] = s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)


@kernel(inline="always")
def matrix_value(q):
    """The rotation matrix of one quaternion (4,) as a value."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return Mat3(
        Vec3(1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
        Vec3(s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)),
        Vec3(s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)),
    )


@kernel
def matrices(orientation):
    """The rotation matrices (n, 3, 3) of quaternions (n, 4)."""
    out = np.empty((len(orientation), 3, 3))
    for i in range(len(orientation)):
        matrix_of(orientation[i], out[i])
    return out


@kernel
def product(p, q):
    """The products `p q` of quaternions (n, 4): first the rotation q, then the rotation p."""
    out = np.empty_like(q)
    for i in range(len(q)):
        a, b, c, d = p[i, 0], p[i, 1], p[i, 2], p[i, 3]
        w, x, y, z = q[i, 0], q[i, 1], q[i, 2], q[i, 3]
        out[i, 0] = a * w - b * x - c * y - d * z
        out[i, 1] = a * x + b * w + c * z - d * y
        out[i, 2] = a * y - b * z + c * w + d * x
        out[i, 3] = a * z + b * y - c * x + d * w
    return out


@kernel
def of_vector(vector):
    """The quaternions (n, 4) of rotations by |vector| radians about `vector` (n, 3)."""
    out = np.empty((len(vector), 4))
    for i in range(len(vector)):
        x, y, z = vector[i, 0], vector[i, 1], vector[i, 2]
        angle = np.sqrt(x * x + y * y + z * z)
        # The series of sin(a/2)/a where the quotient would lose digits.
        s = np.sin(0.5 * angle) / angle if angle > 1e-4 else 0.5 - angle * angle / 48.0
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = np.cos(0.5 * angle), s * x, s * y, s * z
    return out


@kernel
def turned(orientation, vector):
    """Vectors (n, 3), given in the frames of bodies, in the frame of the world."""
    out, m = np.empty_like(vector), np.empty((3, 3))
    for i in range(len(vector)):
        matrix_of(orientation[i], m)
        for r in range(3):
            out[i, r] = m[r, 0] * vector[i, 0] + m[r, 1] * vector[i, 1] + m[r, 2] * vector[i, 2]
    return out


@kernel
def turned_back(orientation, vector):
    """Vectors (n, 3), given in the frame of the world, in the frames of bodies."""
    out, m = np.empty_like(vector), np.empty((3, 3))
    for i in range(len(vector)):
        matrix_of(orientation[i], m)
        for r in range(3):
            out[i, r] = m[0, r] * vector[i, 0] + m[1, r] * vector[i, 1] + m[2, r] * vector[i, 2]
    return out


@kernel
def vector_between(before, after):
    """Axis times angle, in the frame of the world, of the shorter rotation between two orientations (4,)."""
    a, b, c, d = after[0], after[1], after[2], after[3]
    w, x, y, z = before[0], -before[1], -before[2], -before[3]
    r = a * w - b * x - c * y - d * z
    u = a * x + b * w + c * z - d * y
    v = a * y - b * z + c * w + d * x
    t = a * z + b * y - c * x + d * w
    if r < 0.0:
        r, u, v, t = -r, -u, -v, -t
    sine = np.sqrt(u * u + v * v + t * t)
    scale = 2.0 * np.arctan2(sine, r) / sine if sine > 1e-9 else 2.0 / r
    return Vec3(scale * u, scale * v, scale * t)


@kernel
def vectors_between(before, after):
    """`vector_between` (n, 3) of orientations (n, 4)."""
    out = np.empty((len(before), 3))
    for i in range(len(before)):
        put_row(out, i, vector_between(before[i], after[i]))
    return out


def quaternion_of(matrix: Floats) -> Floats:
    """The unit quaternion (w, x, y, z) of a rotation matrix, w >= 0."""
    m = matrix
    four = np.array(
        [
            1.0 + m[0, 0] + m[1, 1] + m[2, 2],
            1.0 + m[0, 0] - m[1, 1] - m[2, 2],
            1.0 - m[0, 0] + m[1, 1] - m[2, 2],
            1.0 - m[0, 0] - m[1, 1] + m[2, 2],
        ]
    )
    k = int(np.argmax(four))  # dividing by the largest component loses no digits
    w = np.array([four[0], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
    x = np.array([m[2, 1] - m[1, 2], four[1], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]])
    y = np.array([m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], four[2], m[1, 2] + m[2, 1]])
    z = np.array([m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], four[3]])
    q = (w, x, y, z)[k]
    q = q / np.linalg.norm(q)
    return (q if q[0] >= 0.0 else -q) + 0.0


def spin_components(dimension: int) -> int:
    """Number of components of an angular velocity, a torque or a rotation vector: 1 in 2D, 3 in 3D."""
    return dimension * (dimension - 1) // 2


def velocity_components(dimension: int) -> int:
    """Number of components of a rigid motion, linear and angular: 3 in 2D, 6 in 3D."""
    return dimension + spin_components(dimension)


def cross(a: Floats, b: Floats) -> Floats:
    """Cross products (..., 3) of vectors (..., 3); in 2D (..., 1), their component out of the plane."""
    if a.shape[-1] == 3:
        return np.cross(a, b)
    return (a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])[..., None]


def orientation_of(vector: Floats) -> Floats:
    """Orientations after a rotation by `vector`: angles (n, 1), or axis times angle (n, 3)."""
    return vector[:, 0] if vector.shape[1] == 1 else of_vector(np.ascontiguousarray(vector))


def rotated(orientation: Floats, vector: Floats) -> Floats:
    """Vectors (n, D) of body frames in the frame of the world."""
    if orientation.ndim == 2:
        return turned(orientation, np.ascontiguousarray(vector))
    cos, sin = np.cos(orientation), np.sin(orientation)
    return np.stack([cos * vector[:, 0] - sin * vector[:, 1], sin * vector[:, 0] + cos * vector[:, 1]], axis=1)


def spin_to_body(orientation: Floats, spin: Floats) -> Floats:
    """Angular velocities (n, 3) of the frame of the world in body frames; in 2D (n, 1) they are the same."""
    return turned_back(orientation, np.ascontiguousarray(spin)) if spin.shape[1] == 3 else spin


def composed(rotation: Floats, orientation: Floats) -> Floats:
    """Orientations after a further rotation, in the frame of the world."""
    if orientation.ndim == 2:
        return product(rotation, np.ascontiguousarray(orientation))
    return orientation + rotation


def rotation_between(before: Floats, after: Floats) -> Floats:
    """Rotation vectors (n, 1) or (n, 3), in the frame of the world, that lead from one orientation to the other."""
    return vectors_between(before, after) if before.ndim == 2 else (after - before)[:, None]

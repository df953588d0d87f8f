"""Signed distances of single bodies in 3D at given poses, to compare contacts with."""

from __future__ import annotations

import numpy as np

from carom.contact.boundaries import boundary_of, point_gap, rim_wave, summits
from carom.contact.convex import core_separation
from carom.contact.epa import Preview, polytope
from carom.contact.parts import Part, core_of, foremost_point, has_rims, local_point, part_pose, rims, world_point
from carom.contact.point_distance import nearest
from carom.geometry.shapes import ELLIPSOID
from carom.geometry.vectors import Mat3, Pose, Vec3, row3, to_local
from carom.kernels import kernel
from carom.world import CAPSULE, MESH, SPHERE


@kernel
def _parts_gap(a, b, hull):
    """Signed distance of two convex parts."""
    radii = a.core.radius + b.core.radius
    if b.core.kind == SPHERE:
        return nearest(a.core, local_point(a.pose, b.pose.position)).distance - radii
    if a.core.kind == SPHERE:
        return nearest(b.core, local_point(b.pose, a.pose.position)).distance - radii
    return core_separation(a, b, np.inf, Preview(a.pose, b.pose, -1.0), hull)[0] - radii


@kernel
def _pose(position, turn):
    return Pose(Vec3(position[0], position[1], position[2]), Mat3(row3(turn, 0), row3(turn, 1), row3(turn, 2)))


@kernel
def solid_gap(shapes, a, position_a, turn_a, b, position_b, turn_b):
    """Signed distance of two bodies in given places: the least over pairs of convex parts, negative for the depth.

    Meshes are passed over; without any other pair of parts it is infinite.
    """
    hull, gap, body_a, body_b = polytope(), np.inf, _pose(position_a, turn_a), _pose(position_b, turn_b)
    for i in range(shapes.part_ptr[a], shapes.part_ptr[a + 1]):
        fa = shapes.shape[i]
        for j in range(shapes.part_ptr[b], shapes.part_ptr[b + 1]):
            fb = shapes.shape[j]
            if shapes.kind[fa] != MESH and shapes.kind[fb] != MESH:
                one = Part(core_of(shapes, fa), part_pose(body_a, shapes, i))
                two = Part(core_of(shapes, fb), part_pose(body_b, shapes, j))
                gap = min(gap, _parts_gap(one, two, hull))
    return gap


@kernel
def _ellipsoid_gap(size, pose, boundary):
    """Gap of the nearest of many points of an ellipsoid, which then climbs to where its normal points outward."""
    best, gap = Vec3(0.0, 0.0, 0.0), np.inf
    for i in range(20):
        for j in range(40):
            s, t = np.pi * (i + 0.5) / 20.0, np.pi * j / 20.0
            p = Vec3(size.x * np.sin(s) * np.cos(t), size.y * np.sin(s) * np.sin(t), size.z * np.cos(s))
            found = point_gap(boundary, world_point(pose, p))[0]
            if found < gap:
                best, gap = p, found
    for _ in range(300):
        out = to_local(pose.turn, point_gap(boundary, world_point(pose, best))[1])
        best = foremost_point(ELLIPSOID, size, np.zeros((0, 3)), out)
    return point_gap(boundary, world_point(pose, best))[0]


@kernel
def boundary_gap(shapes, a, position_a, turn_a, boundaries, w):
    """Signed distance of a body in a given place from boundary w of a table; meshes are passed over."""
    angles, gap, body, boundary = np.empty(2), np.inf, _pose(position_a, turn_a), boundary_of(boundaries, w)
    for part in range(shapes.part_ptr[a], shapes.part_ptr[a + 1]):
        shape = shapes.shape[part]
        kind, low, size = shapes.kind[shape], shapes.vertex_ptr[shape], row3(shapes.size, shape)
        if kind == MESH:
            continue
        pose = part_pose(body, shapes, part)
        if has_rims(kind):
            ends = rims(kind, size)
            for cap in range(2):
                radius, height = (ends.top, ends.high) if cap == 0 else (ends.bottom, ends.low)
                wave = rim_wave(boundary, pose, radius, height)
                level = wave[0] == 0.0 and wave[1] == 0.0 and wave[2] == 0.0 and wave[3] == 0.0
                angles[0] = 0.0
                for i in range(1 if level else summits(wave, angles)):
                    rim = Vec3(radius * np.cos(angles[i]), radius * np.sin(angles[i]), height)
                    gap = min(gap, point_gap(boundary, world_point(pose, rim))[0])
            continue
        if kind == ELLIPSOID:
            gap = min(gap, _ellipsoid_gap(size, pose, boundary))
            continue
        round_one = kind in (SPHERE, CAPSULE)
        count = (1 if kind == SPHERE else 2) if round_one else shapes.vertex_ptr[shape + 1] - low
        for i in range(count):
            local = Vec3(0.0, 0.0, 0.0)
            if kind == CAPSULE:
                local = Vec3(0.0, 0.0, size.y if i == 0 else -size.y)
            elif not round_one:
                local = row3(shapes.vertex, low + i)
            gap = min(gap, point_gap(boundary, world_point(pose, local))[0] - (size.x if round_one else 0.0))
    return gap

"""Signed distances of single bodies in 3D at given poses, to compare contacts with."""

from __future__ import annotations

import numpy as np

from carom.contact.boundaries import center_gap, rim_wave, summits
from carom.contact.convex import core_separation
from carom.contact.epa import polytope
from carom.contact.point_distance import nearest
from carom.contact.poses import point_local, point_world, put_pose
from carom.contact.support import cores_of, has_rims, rims, roundness
from carom.geometry.vectors import Vec3
from carom.kernels import kernel
from carom.world import CAPSULE, MESH, SPHERE


@kernel
def _parts_gap(cores, fa, fb, pose, scale, simplex, hull):
    """Signed distance of two convex shapes in the poses of rows 0 and 1."""
    radii = roundness(cores, fa) + roundness(cores, fb)
    ball = cores.table[fb, 0] == SPHERE
    if ball or cores.table[fa, 0] == SPHERE:
        shape, k, c = (fa, 0, 1) if ball else (fb, 1, 0)
        x, y, z = point_local(pose, k, pose[c, 0], pose[c, 1], pose[c, 2])
        return nearest(cores, shape, Vec3(x, y, z)).distance - radii
    return core_separation(cores, fa, fb, pose, 0, 1, np.inf, pose, False, 0.0, scale, simplex, hull)[0] - radii


@kernel
def solid_gap(shapes, a, position_a, turn_a, b, position_b, turn_b):
    """Signed distance of two bodies in given places: the least over pairs of convex parts, negative for the depth.

    Meshes are passed over; without any other pair of parts it is infinite.
    """
    cores, simplex, hull, pose = cores_of(shapes), np.empty((8, 3)), polytope(), np.empty((2, 12))
    position, turn = np.empty((2, 3)), np.empty((2, 3, 3))
    position[0], position[1], turn[0], turn[1] = position_a, position_b, turn_a, turn_b
    gap = np.inf
    for i in range(shapes.part_ptr[a], shapes.part_ptr[a + 1]):
        fa = shapes.shape[i]
        for j in range(shapes.part_ptr[b], shapes.part_ptr[b + 1]):
            fb = shapes.shape[j]
            if shapes.kind[fa] != MESH and shapes.kind[fb] != MESH:
                put_pose(position, turn, 0, shapes.place, shapes.turn, i, pose, 0)
                put_pose(position, turn, 1, shapes.place, shapes.turn, j, pose, 1)
                scale = shapes.reach[fa] + shapes.reach[fb]
                gap = min(gap, _parts_gap(cores, fa, fb, pose, scale, simplex, hull))
    return gap


@kernel
def boundary_gap(shapes, a, position_a, turn_a, boundaries, w):
    """Signed distance of a body in a given place from boundary w of a table; meshes are passed over."""
    pose, angles, gap = np.empty((1, 12)), np.empty(2), np.inf
    position, turn = np.empty((1, 3)), np.empty((1, 3, 3))
    position[0], turn[0] = position_a, turn_a
    for part in range(shapes.part_ptr[a], shapes.part_ptr[a + 1]):
        shape = shapes.shape[part]
        kind, low = shapes.kind[shape], shapes.vertex_ptr[shape]
        if kind == MESH:
            continue
        put_pose(position, turn, 0, shapes.place, shapes.turn, part, pose, 0)
        radius, half = shapes.size[shape, 0], shapes.size[shape, 1]
        if has_rims(kind):
            top, high, bottom, low_z = rims(kind, radius, half, shapes.size[shape, 2])
            for cap in range(2):
                radius, height = (top, high) if cap == 0 else (bottom, low_z)
                wave = rim_wave(boundaries, w, pose, 0, radius, height)
                level = wave[0] == 0.0 and wave[1] == 0.0 and wave[2] == 0.0 and wave[3] == 0.0
                angles[0] = 0.0
                for i in range(1 if level else summits(wave, angles)):
                    x, y, z = point_world(pose, 0, radius * np.cos(angles[i]), radius * np.sin(angles[i]), height)
                    gap = min(gap, center_gap(boundaries, w, x, y, z)[0])
            continue
        round_one = kind in (SPHERE, CAPSULE)
        count = (1 if kind == SPHERE else 2) if round_one else shapes.vertex_ptr[shape + 1] - low
        x = y = z = 0.0
        for i in range(count):
            if kind == CAPSULE:
                z = half if i == 0 else -half
            elif not round_one:
                x, y, z = shapes.vertex[low + i, 0], shapes.vertex[low + i, 1], shapes.vertex[low + i, 2]
            px, py, pz = point_world(pose, 0, x, y, z)
            gap = min(gap, center_gap(boundaries, w, px, py, pz)[0] - (radius if round_one else 0.0))
    return gap

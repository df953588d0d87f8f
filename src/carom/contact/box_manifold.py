"""Contact manifold of two boxes of which at least one meets the other with a face.

Seen along the normal, the face of one box (the reference) is a parallelogram; vertex, edge or face of the other box is
clipped against it. Contacts are corners of either feature within the other, and crossings of edges; neither box is
preferred. Gaps before and after the step are measured between the same points of both boxes.

A feature consists of all vertices that lie behind the foremost one by less than a narrow band, at the start of the
step, or that come as close to the other box as the margin until its end: a plate that closes like a book meets the
other one with its far edge. Faces that are nearly parallel meet with all of their edges.

Lengths and directions are in the frame of the reference, in which the other box has the axes and the center of row
TURN of the scratch table at the start, and those of the next row at the end.
"""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import Vec3
from ..kernels import kernel
from .boxes import ROWS as AXES_ROWS
from .boxes import TURN
from .contact_set import Contact, feature_code, put
from .poses import point_world, to_world

BAND = 0.2  # largest depth of the band at the start, in half widths of the smaller body
ALIGNED = 1.0 - 1e-6  # cosine above which a face is perpendicular to the normal
# Sine of the angle to the normal up to which a whole face is a feature, since edges may cross at any place of it;
# larger than that up to which `box_normal` prefers faces to edges.
TILTED = 0.02
STEEP = 0.3  # cosine below which a face is too steep to project on
SAME = 1e-6  # distance across the normal, relative to the size, up to which two points are the same
NO_FACE = -1  # returned if neither box meets the other with a face

# Rows of the scratch table of a pair after those of the axes. SWAPPED: like TURN, with the second box as reference.
# CORNERS: the
# points of the other feature, then from REF_CORNERS on those of the reference, each with columns LOCAL: in its own
# frame, IN: in the frame of the other box, ACROSS: its coordinates on the face of the other box, CODE, TAKEN.
SWAPPED, WAYS, CORNERS, REF_CORNERS = AXES_ROWS, AXES_ROWS + 2, AXES_ROWS + 3, AXES_ROWS + 7
LOCAL, IN, ACROSS, CODE, TAKEN = 0, 3, 6, 8, 9
# PLACES: one row per contact, with columns ON_REFERENCE and ON_OTHER: its points, each in the frame of its box, MODE,
# KIND and codes of its name, EDGES: axes of two edges that cross.
PLACES, MOST = AXES_ROWS + 11, 24  # two parallelograms have up to 8; more may count as the same within the tolerance
ROWS = PLACES + MOST
ON_REFERENCE, ON_OTHER, MODE, KIND, CODE_A, CODE_B, EDGES = 0, 3, 6, 7, 8, 9, 10
MEAN, REFERENCE, OTHER, CROSS = 0, 1, 2, 3  # what determines the normal after the step: see `_gap`


@kernel
def _bits(table, f, n0, n1, band0, band1):
    """The foremost vertex of a box along n0, and bits of the edges to other vertices of its feature.

    n0 and n1 are the normal at the start and at the end of the step, in its frame, and the bands are the depths of the
    feature then. Bits 1, 2, 4 of the number of a vertex are set on the positive sides.
    """
    corner, bits, front = 0, 0, 0
    for i in range(3):
        if abs(n0[i]) + abs(n1[i]) > abs(n0[front]) + abs(n1[front]):
            front = i
    for i in range(3):
        one, size = 1 << i, 2.0 * table[f, 1 + i]
        if n0[i] >= 0.0:
            corner |= one
        # The feature is at most the face that faces along the normal, also of a box thinner than the band.
        if i != front and (
            abs(n0[i]) <= TILTED
            or size * abs(n0[i]) <= band0
            or size * abs(n1[i]) <= band1
            or (n1[i] >= 0.0) != (n0[i] >= 0.0)
        ):
            bits |= one
    return corner, bits


@kernel
def _is_face(bits):
    return bits in (3, 5, 6)


@kernel
def _mapped(w, r, x, y, z):
    """A point of the other box in the frame of the reference, by row r."""
    return (
        w[r, 0] * x + w[r, 1] * y + w[r, 2] * z + w[r, 9],
        w[r, 3] * x + w[r, 4] * y + w[r, 5] * z + w[r, 10],
        w[r, 6] * x + w[r, 7] * y + w[r, 8] * z + w[r, 11],
    )


@kernel
def _turned(w, r, x, y, z):
    """A direction of the frame of the other box in that of the reference, by row r."""
    return (
        w[r, 0] * x + w[r, 1] * y + w[r, 2] * z,
        w[r, 3] * x + w[r, 4] * y + w[r, 5] * z,
        w[r, 6] * x + w[r, 7] * y + w[r, 8] * z,
    )


@kernel
def _turned_back(w, r, x, y, z):
    """A direction of the frame of the reference in that of the other box, by row r."""
    return (
        w[r, 0] * x + w[r, 3] * y + w[r, 6] * z,
        w[r, 1] * x + w[r, 4] * y + w[r, 7] * z,
        w[r, 2] * x + w[r, 5] * y + w[r, 8] * z,
    )


@kernel
def _mapped_back(w, r, x, y, z):
    """A point of the frame of the reference in that of the other box, by row r."""
    return _turned_back(w, r, x - w[r, 9], y - w[r, 10], z - w[r, 11])


@kernel
def _swap(w):
    """Writes rows SWAPPED: the first box in the frame of the second."""
    for k in range(2):
        r, s = TURN + k, SWAPPED + k
        for i in range(3):
            for j in range(3):
                w[s, 3 * i + j] = w[r, 3 * j + i]
        w[s, 9], w[s, 10], w[s, 11] = _mapped_back(w, r, 0.0, 0.0, 0.0)


@kernel
def _put_corners(table, f, corner, bits, w, row):
    """Writes the vertices of a feature in the frame of its box, in cyclic order; returns their number."""
    one = bits & -bits
    two = bits ^ one
    count = 1 if bits == 0 else (2 if two == 0 else 4)
    for k in range(count):
        at = corner ^ (one if k == 1 or k == 2 else 0) ^ (two if k >= 2 else 0)
        for i in range(3):
            w[row + k, LOCAL + i] = table[f, 1 + i] if at & (1 << i) else -table[f, 1 + i]
        w[row + k, CODE], w[row + k, TAKEN] = at, 0.0
    return count


@kernel
def _put_across(table, f, p, sign, n, w, row, count):
    """Writes the coordinates of points on the face of box f across axis p, projected along the normal n.

    The points are in columns IN, in the frame of that box. `sign` is the side of the face.
    """
    q, r = (p + 1) % 3, (p + 2) % 3
    slope_q, slope_r = n[q] / n[p], n[r] / n[p]
    for k in range(row, row + count):
        height = w[k, IN + p] - sign * table[f, 1 + p]
        w[k, ACROSS] = w[k, IN + q] - slope_q * height
        w[k, ACROSS + 1] = w[k, IN + r] - slope_r * height


@kernel
def _gap(w, r, k, n, plane):
    """Gap at place k in the pose of row r, in the direction of the normal n then.

    What determines the normal: the face of the reference or of the other box (`plane`: axis, side, half width and
    cosine of both), the two edges that cross, or the mean rotation of both boxes.
    """
    mode = w[k, MODE]
    if mode == OTHER:
        x, y, z = w[k, ON_REFERENCE] - w[r, 9], w[k, ON_REFERENCE + 1] - w[r, 10], w[k, ON_REFERENCE + 2] - w[r, 11]
        o = plane[4]
        return (plane[5] * (w[r, o] * x + w[r, 3 + o] * y + w[r, 6 + o] * z) - plane[6]) / plane[7]
    if mode == REFERENCE:
        p, x, y, z = plane[0], w[k, ON_OTHER], w[k, ON_OTHER + 1], w[k, ON_OTHER + 2]
        height = w[r, 3 * p] * x + w[r, 3 * p + 1] * y + w[r, 3 * p + 2] * z + w[r, 9 + p]
        return (plane[1] * height - plane[2]) / plane[3]
    x, y, z = _mapped(w, r, w[k, ON_OTHER], w[k, ON_OTHER + 1], w[k, ON_OTHER + 2])
    x, y, z = x - w[k, ON_REFERENCE], y - w[k, ON_REFERENCE + 1], z - w[k, ON_REFERENCE + 2]
    if mode == CROSS:
        i, j = int(w[k, EDGES]), int(w[k, EDGES + 1])
        bx, by, bz = w[r, j], w[r, 3 + j], w[r, 6 + j]
        cx, cy, cz = (0.0, -bz, by) if i == 0 else ((bz, 0.0, -bx) if i == 1 else (-by, bx, 0.0))
        length = np.sqrt(cx * cx + cy * cy + cz * cz)
        if length > 0.0:
            if cx * n[0] + cy * n[1] + cz * n[2] < 0.0:
                length = -length
            return (cx * x + cy * y + cz * z) / length
    return n[0] * x + n[1] * y + n[2] * z


@kernel
def box_contacts(table, fa, fb, pose, ka, kb, normal, last, margin, band, size, base, w, found, at):
    """Writes the contacts of two boxes from row `at` of `found`; returns the next free row, or NO_FACE.

    `normal` is in the frame of the first. `last` is the separation after the step; `band` the depth of features at the
    start, and `size` the size of the smaller box. Row TURN of `w` and the next one are filled.
    """
    nx, ny, nz = normal
    n_b = _turned_back(w, TURN, nx, ny, nz)
    later = max(margin - last, 0.0)  # vertices this far behind the foremost one may come within the margin
    in_b = _turned_back(w, TURN + 1, nx, ny, nz)
    corner_a, bits_a = _bits(table, fa, normal, _turned(w, TURN + 1, n_b[0], n_b[1], n_b[2]), band, later)
    corner_b, bits_b = _bits(table, fb, (-n_b[0], -n_b[1], -n_b[2]), (-in_b[0], -in_b[1], -in_b[2]), band, later)
    if _is_face(bits_a):
        return _clipped(
            table, fa, fb, pose, ka, normal, corner_a, bits_a, corner_b, bits_b, TURN, margin, size, base, w, found, at
        )
    if not _is_face(bits_b):
        return NO_FACE
    _swap(w)
    back = (-n_b[0], -n_b[1], -n_b[2])
    return _clipped(
        table, fb, fa, pose, kb, back, corner_b, bits_b, corner_a, bits_a, SWAPPED, margin, size, base, w, found, at
    )


@kernel
def _face_axis(bits):
    return 2 if bits == 3 else (1 if bits == 5 else 0)


@kernel
def _clipped(table, fr, fo, pose, kr, n, corner_r, bits_r, corner_o, bits_o, r, margin, size, base, w, found, at):
    """`box_contacts` with a reference fr, which has a face, and a normal n from it to the other box fo."""
    swapped = r == SWAPPED
    tolerance = SAME * size
    n_o = _turned_back(w, r, n[0], n[1], n[2])
    # The normal after the step where no face determines it: rotated by the mean of both.
    mx, my, mz = _turned(w, r + 1, n_o[0], n_o[1], n_o[2])
    mx, my, mz = n[0] + mx, n[1] + my, n[2] + mz
    length = np.sqrt(mx * mx + my * my + mz * mz)
    mean = (mx / length, my / length, mz / length)
    p = _face_axis(bits_r)
    side = 1.0 if corner_r & (1 << p) else -1.0
    cosine = side * n[p]
    if cosine < STEEP:
        return NO_FACE
    count = _put_corners(table, fo, corner_o, bits_o, w, CORNERS)
    for k in range(CORNERS, CORNERS + count):
        w[k, IN], w[k, IN + 1], w[k, IN + 2] = _mapped(w, r, w[k, LOCAL], w[k, LOCAL + 1], w[k, LOCAL + 2])
    _put_across(table, fr, p, side, n, w, CORNERS, count)
    _put_corners(table, fr, corner_r, bits_r, w, REF_CORNERS)
    o, side_o, cosine_o = 0, 1.0, 0.0
    if count == 4:
        o = _face_axis(bits_o)
        side_o = 1.0 if corner_o & (1 << o) else -1.0
        cosine_o = -side_o * n_o[o]
    plane = (p, side, table[fr, 1 + p], cosine, o, side_o, table[fo, 1 + o], cosine_o)
    straight, straight_o = cosine > ALIGNED, cosine_o > ALIGNED
    border = MEAN if straight == straight_o else (REFERENCE if straight else OTHER)
    u, v = (p + 1) % 3, (p + 2) % 3
    wide, high = table[fr, 1 + u], table[fr, 1 + v]
    places = PLACES
    # Corners of the other feature within the face of the reference.
    for k in range(CORNERS, CORNERS + count):
        left, low = wide - abs(w[k, ACROSS]), high - abs(w[k, ACROSS + 1])
        if left < -tolerance or low < -tolerance:
            continue
        mode, kind, code = REFERENCE, 0 if swapped else 1, w[k, CODE]
        pr = _on_face(w, k, p, side * table[fr, 1 + p])
        if left <= tolerance or low <= tolerance:
            mode = border
            if left <= tolerance and low <= tolerance:  # a corner of the reference too, which then does not count
                for c in range(REF_CORNERS, REF_CORNERS + 4):
                    if (w[c, LOCAL + u] > 0.0) == (w[k, ACROSS] > 0.0) and (w[c, LOCAL + v] > 0.0) == (
                        w[k, ACROSS + 1] > 0.0
                    ):
                        w[c, TAKEN] = 1.0
                        pr = (w[c, LOCAL], w[c, LOCAL + 1], w[c, LOCAL + 2])
                        if not swapped:
                            kind, code = 0, w[c, CODE]
        po = (w[k, LOCAL], w[k, LOCAL + 1], w[k, LOCAL + 2])
        places = _put_place(w, places, pr, po, mode, kind, code, 0.0)
    # Corners of the reference within the face of the other box.
    if count == 4 and cosine_o > STEEP:
        ou, ov = (o + 1) % 3, (o + 2) % 3
        for k in range(REF_CORNERS, REF_CORNERS + 4):
            w[k, IN], w[k, IN + 1], w[k, IN + 2] = _mapped_back(w, r, w[k, LOCAL], w[k, LOCAL + 1], w[k, LOCAL + 2])
        _put_across(table, fo, o, side_o, n_o, w, REF_CORNERS, 4)
        for k in range(REF_CORNERS, REF_CORNERS + 4):
            left, low = table[fo, 1 + ou] - abs(w[k, ACROSS]), table[fo, 1 + ov] - abs(w[k, ACROSS + 1])
            if left < -tolerance or low < -tolerance or w[k, TAKEN] > 0.0:
                continue
            mode = border if left <= tolerance or low <= tolerance else OTHER
            pr, po = (w[k, LOCAL], w[k, LOCAL + 1], w[k, LOCAL + 2]), _on_face(w, k, o, side_o * table[fo, 1 + o])
            places = _put_place(w, places, pr, po, mode, 1 if swapped else 0, w[k, CODE], 0.0)
    # Crossings of their edges.
    mode = CROSS if not straight and not straight_o else border
    for k in range(CORNERS, CORNERS + (count if count > 2 else count - 1)):
        k2 = k + 1 if k + 1 < CORNERS + count else CORNERS
        for d in range(2):
            half, other, axis, across = (wide, high, u, v) if d == 0 else (high, wide, v, u)
            a, b = w[k, ACROSS + d], w[k2, ACROSS + d]
            for edge in range(2):
                limit = half if edge else -half
                da, db = a - limit, b - limit
                if min(da, db) >= -tolerance or max(da, db) <= tolerance:
                    continue
                t = da / (da - db)
                place = (1.0 - t) * w[k, ACROSS + 1 - d] + t * w[k2, ACROSS + 1 - d]
                if abs(place) >= other - tolerance:
                    continue
                pr = _edge_point(p, side * table[fr, 1 + p], axis, limit, place)
                s = 1.0 - t
                po = (
                    s * w[k, LOCAL] + t * w[k2, LOCAL],
                    s * w[k, LOCAL + 1] + t * w[k2, LOCAL + 1],
                    s * w[k, LOCAL + 2] + t * w[k2, LOCAL + 2],
                )
                along = int(w[k, CODE]) ^ int(w[k2, CODE])  # the edge of the other box is along this axis
                along = 0 if along == 1 else (1 if along == 2 else 2)
                how = mode
                if mode == CROSS and not _is_measured(w, r, n, across, along):
                    how = MEAN
                low = _edge_code(p, side, axis, limit)
                mine, its = _edge_codes(low, low | (1 << across)), _edge_codes(int(w[k, CODE]), int(w[k2, CODE]))
                w[places, EDGES], w[places, EDGES + 1] = across, along
                places = _put_place(w, places, pr, po, how, 2, its if swapped else mine, mine if swapped else its)
    return _put_contacts(w, r, places, n, mean, plane, pose, kr, swapped, margin, base, found, at)


@kernel
def _put_place(w, k, pr, po, mode, kind, code_a, code_b):
    """Writes place k, if there is room for the next one, and returns its row."""
    w[k, ON_REFERENCE], w[k, ON_REFERENCE + 1], w[k, ON_REFERENCE + 2] = pr
    w[k, ON_OTHER], w[k, ON_OTHER + 1], w[k, ON_OTHER + 2] = po
    w[k, MODE], w[k, KIND], w[k, CODE_A], w[k, CODE_B] = mode, kind, code_a, code_b
    return k + 1 if k + 1 < ROWS else k


@kernel
def _on_face(w, k, p, height):
    """The point of a face across axis p at the coordinates of point k."""
    a, b = w[k, ACROSS], w[k, ACROSS + 1]
    return (height, a, b) if p == 0 else ((b, height, a) if p == 1 else (a, b, height))


@kernel
def _edge_point(p, height, axis, limit, place):
    """The point of a box at `height` along axis p, `limit` along `axis` and `place` along the third axis."""
    x = height if p == 0 else (limit if axis == 0 else place)
    y = height if p == 1 else (limit if axis == 1 else place)
    z = height if p == 2 else (limit if axis == 2 else place)
    return x, y, z


@kernel
def _edge_code(p, side, axis, limit):
    """The lower vertex of the edge of a box on this side of axis p, at `limit` along `axis`."""
    return (1 << p if side > 0.0 else 0) | (1 << axis if limit > 0.0 else 0)


@kernel
def _edge_codes(code, code2):
    """One number for the edge between two vertices."""
    return min(code, code2) * 4096 + max(code, code2)


@kernel
def _is_measured(w, r, n, i, j):
    """Whether the normal is perpendicular to edge i of the reference and edge j of the other box."""
    along = w[r, j] * n[0] + w[r, 3 + j] * n[1] + w[r, 6 + j] * n[2]
    return n[i] * n[i] < 2.0 * (1.0 - ALIGNED) and along * along < 2.0 * (1.0 - ALIGNED)


@kernel
def _put_contacts(w, r, places, n, mean, plane, pose, kr, swapped, margin, base, found, at):
    """Writes the places up to row `places` whose gap after the step is at most `margin`; returns the next free row.

    The normal is n at the start of the step, and `mean` at its end, where no face or edges determine it.
    """
    sign = -1.0 if swapped else 1.0
    nx, ny, nz = to_world(pose, kr, sign * n[0], sign * n[1], sign * n[2])
    for k in range(PLACES, places):
        predicted = _gap(w, r + 1, k, mean, plane)
        if predicted > margin:
            continue
        gap = _gap(w, r, k, n, plane)
        half, mode = 0.5 * gap, w[k, MODE]
        if mode == OTHER:
            x = w[k, ON_REFERENCE] + half * n[0]
            y = w[k, ON_REFERENCE + 1] + half * n[1]
            z = w[k, ON_REFERENCE + 2] + half * n[2]
        else:
            x, y, z = _mapped(w, r, w[k, ON_OTHER], w[k, ON_OTHER + 1], w[k, ON_OTHER + 2])
            if mode == REFERENCE:
                x, y, z = x - half * n[0], y - half * n[1], z - half * n[2]
            else:
                x, y = 0.5 * (x + w[k, ON_REFERENCE]), 0.5 * (y + w[k, ON_REFERENCE + 1])
                z = 0.5 * (z + w[k, ON_REFERENCE + 2])
        x, y, z = point_world(pose, kr, x, y, z)
        label = feature_code(base, int(w[k, KIND]), int(w[k, CODE_A]), int(w[k, CODE_B]))
        put(found, at, 0, 0, Contact(label, gap, predicted, Vec3(nx, ny, nz), Vec3(x, y, z)))
        at += 1
    return at

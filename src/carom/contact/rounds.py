"""Contacts of discs and spheres, with each other and with boundaries.

2D and 3D share the code. `axes` is the tuple (0, 1) or (0, 1, 2), whose length is known at compile time.
"""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import Vec3, norm
from ..kernels import kernel
from ..world import PLANE, SEGMENT
from .boundaries import AXIS, KIND, POINT, center_gap, passes
from .contact_set import DRIFT, OFFSET, WIDTH, Contact, put
from .pairs import FIRST, IMAGE, NONE, SECOND, periods

# ---- pairs


@kernel
def image_shift(image, axis, length, slide_axis, sheared_axis, slide):
    """Displacement along an axis of a periodic image; `slide` is by how much images across the sheared side slid."""
    shift = periods(image, axis) * length[axis]
    if slide != 0.0 and axis == slide_axis:
        shift += periods(image, sheared_axis) * slide
    return shift


@kernel
def round_hits(axes, table, low, high, after, radius, margins, length, shear, slide, hits):
    """Numbers of the pairs low to high whose gap after the step is within the margin: their count. Writes `hits`.

    `shear` holds the axis along which images slide and the one across the sheared side; `slide` by how much, at the
    end of the step.
    """
    m = low
    for k in range(low, high):
        a, b, image = table[k, FIRST], table[k, SECOND], table[k, IMAGE]
        square, reach = 0.0, radius[a] + radius[b] + max(margins[a], margins[b])
        for d in range(len(axes)):
            e = after[b, d] - after[a, d]
            if image != NONE:
                e += image_shift(image, d, length, shear[0], shear[1], slide)
            square += e * e
        hits[m] = k
        m += square <= reach * reach
    return m - low


@kernel(inline="always")
def place(axes, position, i):
    """Row i of an array of positions as a vector of space; the third component is 0 in 2D."""
    return Vec3(position[i, 0], position[i, 1], position[i, 2] if len(axes) == 3 else 0.0)


@kernel
def put_rounds(axes, table, hits, low, high, before, after, radius, length, shear, slides, out, at):
    """Writes the contacts of the pairs `hits[low:high]` to rows from `at` on of a table.

    `slides` holds by how much images slid at the start and at the end of the step, and their speed. Where centers
    coincide the normal is along x.
    """
    for h in range(low, high):
        k, row = hits[h], at + h - low
        a, b, image = table[k, FIRST], table[k, SECOND], table[k, IMAGE]
        center = place(axes, before, a)
        e, f = place(axes, before, b) - center, place(axes, after, b) - place(axes, after, a)
        if image != NONE:
            e = e + image_offset(axes, image, length, shear, slides[0])
            f = f + image_offset(axes, image, length, shear, slides[1])
        apart = norm(e)
        gap, predicted = apart - radius[a] - radius[b], norm(f) - radius[a] - radius[b]
        normal = e / apart if apart > 0.0 else Vec3(1.0, 0.0, 0.0)
        put(out, row, a, b, Contact(0, gap, predicted, normal, center + (radius[a] + 0.5 * gap) * normal))
        if image != NONE:
            put_images(out, row, row + 1, image, length, shear, slides)


@kernel
def image_offset(axes, image, length, shear, slide):
    """`image_shift` along all axes."""
    x = image_shift(image, 0, length, shear[0], shear[1], slide)
    y = image_shift(image, 1, length, shear[0], shear[1], slide)
    return Vec3(x, y, image_shift(image, 2, length, shear[0], shear[1], slide) if len(axes) == 3 else 0.0)


@kernel
def put_images(out, begin, end, image, length, shear, slides):
    """Writes offset and drift of the contacts begin to end, if the second body is a periodic image."""
    if image == NONE or out.shape[1] == WIDTH:
        return
    for row in range(begin, end):
        for d in range(len(length)):
            out[row, OFFSET + d] = image_shift(image, d, length, shear[0], shear[1], slides[0])
        if slides[2] != 0.0:
            out[row, DRIFT + shear[0]] = periods(image, shear[1]) * slides[2]


@kernel
def image_rows(axes, table, p0, p1, length, shear, slides):
    """Places of all bodies, then of one periodic image for each pair with one, for kernels of pairs of rows.

    Returns (body of each row, places before and after the step, table in which rows replace bodies).
    """
    n, m = len(p0), 0
    for k in range(len(table)):
        m += table[k, IMAGE] != NONE
    owner = np.empty(n + m, np.int64)
    for i in range(n):
        owner[i] = i
    if m == 0:
        return owner, p0, p1, table
    rows, place0, place1 = table.copy(), np.empty((n + m, len(axes))), np.empty((n + m, len(axes)))
    place0[:n] = p0
    place1[:n] = p1
    m = n
    for k in range(len(table)):
        image, b = table[k, IMAGE], table[k, SECOND]
        if image != NONE:
            owner[m], rows[k, SECOND] = b, m
            for d in range(len(axes)):
                place0[m, d] = p0[b, d] + image_shift(image, d, length, shear[0], shear[1], slides[0])
                place1[m, d] = p1[b, d] + image_shift(image, d, length, shear[0], shear[1], slides[1])
            m += 1
    return owner, place0, place1, rows


# ---- boundaries


@kernel
def boundary_hits(axes, before, after, radius, chosen, table0, table1, margins):
    """Bodies and boundaries (m, 2) whose gap after the step is within the margin of the body, and these gaps (m,).

    `chosen` (n,) marks the discs or spheres that are tested; the tables hold the boundaries before and after the step.
    """
    hits, gaps = np.empty((64, 2), np.int64), np.empty(64)
    m, z1 = 0, 0.0
    for w in range(len(table1)):
        segment = table1[w, KIND] == SEGMENT
        flat = table1[w, KIND] == PLANE
        for i in range(len(radius)):
            if not chosen[i]:
                continue
            x, y, r = after[i, 0], after[i, 1], radius[i]
            if len(axes) == 3:
                z1 = after[i, 2]
            if flat:
                ex, ey, ez = x - table1[w, POINT], y - table1[w, POINT + 1], z1 - table1[w, POINT + 2]
                gap = ex * table1[w, AXIS] + ey * table1[w, AXIS + 1] + ez * table1[w, AXIS + 2] - r
            else:
                gap = center_gap(table1, w, x, y, z1)[0] - r
            if segment and passes(table0, table1, w, before[i, 0], before[i, 1], x, y):
                gap = -gap - 2.0 * r
            if gap > margins[i]:
                continue
            if m == len(gaps):
                hits, gaps = _doubled(hits, gaps, m)
            hits[m, 0], hits[m, 1], gaps[m] = i, w, gap
            m += 1
    return hits[:m], gaps[:m]


@kernel
def _doubled(hits, gaps, m):
    more, longer = np.empty((2 * m, 2), np.int64), np.empty(2 * m)
    more[:m] = hits[:m]
    longer[:m] = gaps[:m]
    return more, longer


@kernel
def put_bounded(axes, hits, gaps, before, after, radius, table0, table1, out, at):
    """Writes the contacts of `boundary_hits` to rows from `at` on of a table."""
    for k in range(len(gaps)):
        i, w = hits[k, 0], hits[k, 1]
        p, q, r = place(axes, before, i), place(axes, after, i), radius[i]
        distance, nx, ny, nz = center_gap(table0, w, p.x, p.y, p.z)
        if nx == 0.0 and ny == 0.0 and nz == 0.0:  # it starts on the axis: the normal after the step is used
            _, nx, ny, nz = center_gap(table1, w, q.x, q.y, q.z)
            if nx == 0.0 and ny == 0.0 and nz == 0.0:
                nx = 1.0
        gap, normal = distance - r, Vec3(nx, ny, nz)
        put(out, at + k, i, -1 - w, Contact(0, gap, gaps[k], normal, p + (r + 0.5 * gap) * normal))


@kernel
def round_contacts(
    axes, table, before, after, radius, chosen, table0, table1, margins, length, shear, slides, hits, wide
):
    """The table of all contacts of a world of discs or spheres, with `wide` columns."""
    m = round_hits(axes, table, 0, len(table), after, radius, margins, length, shear, slides[1], hits)
    edge, gaps = boundary_hits(axes, before, after, radius, chosen, table0, table1, margins)
    out = np.empty((m + len(gaps), wide))
    put_rounds(axes, table, hits, 0, m, before, after, radius, length, shear, slides, out, 0)
    put_bounded(axes, edge, gaps, before, after, radius, table0, table1, out, m)
    return out

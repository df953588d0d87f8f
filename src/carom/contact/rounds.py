"""Contacts of discs and spheres, with each other and with boundaries.

2D and 3D share the code. `axes` is the tuple (0, 1) or (0, 1, 2), whose length is known at compile time.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats
from ..world import INSIDE, OUTSIDE, PLANE, SEGMENT, TUBE, Boundaries
from .pairs import FIRST, IMAGE, NONE, SECOND, periods

# Columns of a table of boundaries, one row each; in 2D the third coordinates are zero.
KIND, POINT, AXIS, RADIUS, ENTRIES = 0, 1, 4, 7, 8


def boundary_table(boundaries: Boundaries) -> Floats:
    """Boundaries as one array (w, ENTRIES), which is passed to kernels faster."""
    out, dim = np.zeros((len(boundaries.kind), ENTRIES)), boundaries.point.shape[1]
    out[:, KIND], out[:, RADIUS] = boundaries.kind, boundaries.radius
    out[:, POINT : POINT + dim], out[:, AXIS : AXIS + dim] = boundaries.point, boundaries.axis
    return out


# ---- columns of a ContactSet in one buffer


def column_count(dimension: int, periodic: bool) -> int:
    """Numbers per contact in a buffer."""
    return 5 + (4 if periodic else 2) * dimension


def columns_of(buffer: Floats, dim: int, periodic: bool) -> list[np.ndarray]:
    """The fields of a ContactSet, each contiguous, as parts of one buffer: creating arrays takes longer."""
    m = len(buffer) // column_count(dim, periodic)
    names = buffer[: 3 * m].view(np.int64)
    out = [names[:m], names[m : 2 * m], names[2 * m :]]
    at = 3 * m
    for width in (dim, dim, 1, 1, dim, dim) if periodic else (dim, dim, 1, 1):
        part = buffer[at : at + width * m]
        out.append(part.reshape(m, width) if width > 1 else part)
        at += width * m
    return out


@kernel
def put_names(buffer, m, k, first, second, feature):
    """Writes bodies and feature_id of contact k of m."""
    names = buffer.view(np.int64)
    names[k], names[m + k], names[2 * m + k] = first, second, feature


# ---- pairs


@kernel
def image_shift(image, axis, length, slide_axis, sheared_axis, slide):
    """Displacement along an axis of a periodic image; `slide` is by how much images across the sheared side slid."""
    shift = periods(image, axis) * length[axis]
    if slide != 0.0 and axis == slide_axis:
        shift += periods(image, sheared_axis) * slide
    return shift


@kernel
def round_hits(axes, table, low, high, after, radius, margin, length, shear, slide, hits):
    """Numbers of the pairs low to high whose gap after the step is at most `margin`: their count. Writes `hits`.

    `shear` holds the axis along which images slide and the one across the sheared side; `slide` by how much, at the
    end of the step.
    """
    m = low
    for k in range(low, high):
        a, b, image = table[k, FIRST], table[k, SECOND], table[k, IMAGE]
        square, reach = 0.0, radius[a] + radius[b] + margin
        for d in range(len(axes)):
            e = after[b, d] - after[a, d]
            if image != NONE:
                e += image_shift(image, d, length, shear[0], shear[1], slide)
            square += e * e
        hits[m] = k
        m += square <= reach * reach
    return m - low


@kernel
def put_rounds(axes, table, hits, low, high, before, after, radius, length, shear, slides, buffer, total, at):
    """Writes the contacts of the pairs `hits[low:high]` to rows from `at` on of a buffer with `total` rows.

    `slides` holds by how much images slid at the start and at the end of the step, and their speed. Where centers
    coincide the normal is along x.
    """
    dim = len(axes)
    point, gap = 3 + dim, 3 + 2 * dim
    for h in range(low, high):
        k, row = hits[h], at + h - low
        a, b, image = table[k, FIRST], table[k, SECOND], table[k, IMAGE]
        put_names(buffer, total, row, a, b, 0)
        square, then = 0.0, 0.0
        for d in range(dim):
            e, f = before[b, d] - before[a, d], after[b, d] - after[a, d]
            if image != NONE:
                e += image_shift(image, d, length, shear[0], shear[1], slides[0])
                f += image_shift(image, d, length, shear[0], shear[1], slides[1])
            square += e * e
            then += f * f
            buffer[3 * total + dim * row + d] = e
        apart = np.sqrt(square)
        here = apart - radius[a] - radius[b]
        for d in range(dim):
            e = buffer[3 * total + dim * row + d] / apart if apart > 0.0 else (1.0 if d == 0 else 0.0)
            buffer[3 * total + dim * row + d] = e
            buffer[point * total + dim * row + d] = before[a, d] + (radius[a] + 0.5 * here) * e
        buffer[gap * total + row] = here
        buffer[(gap + 1) * total + row] = np.sqrt(then) - radius[a] - radius[b]
        if len(buffer) > (gap + 2) * total:
            put_image(axes, image, length, shear, slides, buffer, total, row)


@kernel
def put_image(axes, image, length, shear, slides, buffer, total, row):
    """Writes offset and drift of contact `row` of `total`, whose second body is a periodic image."""
    dim = len(axes)
    offset = 5 + 2 * dim
    for d in range(dim):
        shift = image_shift(image, d, length, shear[0], shear[1], slides[0]) if image != NONE else 0.0
        drift = periods(image, shear[1]) * slides[2] if slides[2] != 0.0 and d == shear[0] else 0.0
        buffer[offset * total + dim * row + d] = shift
        buffer[(offset + dim) * total + dim * row + d] = drift


# ---- boundaries


@kernel
def center_gap(table, w, x, y, z):
    """Distance of a point from boundary w, and the unit normal from the point to it; zero where there is none."""
    kind = table[w, KIND]
    ex, ey, ez = x - table[w, POINT], y - table[w, POINT + 1], z - table[w, POINT + 2]
    ux, uy, uz = table[w, AXIS], table[w, AXIS + 1], table[w, AXIS + 2]
    if kind == PLANE:
        return ex * ux + ey * uy + ez * uz, -ux, -uy, -uz
    if kind == SEGMENT:
        ux, uy = ux - table[w, POINT], uy - table[w, POINT + 1]
        square = ux * ux + uy * uy
        along = min(max((ex * ux + ey * uy) / square, 0.0), 1.0)
        ex, ey = ex - along * ux, ey - along * uy
    elif kind == TUBE:
        along = ex * ux + ey * uy + ez * uz
        ex, ey, ez = ex - along * ux, ey - along * uy, ez - along * uz
    distance = np.sqrt(ex * ex + ey * ey + ez * ez)
    if kind == INSIDE or kind == TUBE:
        gap, sign = table[w, RADIUS] - distance, 1.0
    else:
        gap, sign = distance - (table[w, RADIUS] if kind == OUTSIDE else 0.0), -1.0
    if distance > 0.0:
        return gap, sign * ex / distance, sign * ey / distance, sign * ez / distance
    if kind == SEGMENT:
        length = np.sqrt(ux * ux + uy * uy)
        return gap, -uy / length, ux / length, 0.0
    return gap, 0.0, 0.0, 0.0


@kernel
def passes(table0, table1, w, x0, y0, x1, y1):
    """Whether a point that moves from (x0, y0) to (x1, y1) passes through segment w."""
    side0 = _side(table0, w, x0, y0)
    side1 = _side(table1, w, x1, y1)
    if (side0 > 0.0) == (side1 > 0.0):
        return False
    t = side0 / (side0 - side1)
    ax, ay = _between(table0, table1, w, POINT, t), _between(table0, table1, w, POINT + 1, t)
    ex, ey = _between(table0, table1, w, AXIS, t) - ax, _between(table0, table1, w, AXIS + 1, t) - ay
    along = ((x0 + t * (x1 - x0) - ax) * ex + (y0 + t * (y1 - y0) - ay) * ey) / (ex * ex + ey * ey)
    return 0.0 <= along <= 1.0


@kernel
def _side(table, w, x, y):
    ex, ey = table[w, AXIS] - table[w, POINT], table[w, AXIS + 1] - table[w, POINT + 1]
    return ex * (y - table[w, POINT + 1]) - ey * (x - table[w, POINT])


@kernel
def _between(table0, table1, w, column, t):
    return table0[w, column] + t * (table1[w, column] - table0[w, column])


@kernel
def boundary_hits(axes, before, after, radius, chosen, table0, table1, margin):
    """Bodies and boundaries (m, 2) whose gap after the step is at most `margin`, and these gaps (m,).

    `chosen` (n,) marks the discs or spheres that are tested; the tables hold the boundaries before and after the step.
    """
    hits, gaps = np.empty((64, 2), np.int64), np.empty(64)
    m, z0, z1 = 0, 0.0, 0.0
    for w in range(len(table1)):
        segment = table1[w, KIND] == SEGMENT
        flat = table1[w, KIND] == PLANE
        for i in range(len(radius)):
            if not chosen[i]:
                continue
            x, y, r = after[i, 0], after[i, 1], radius[i]
            if len(axes) == 3:
                z0, z1 = before[i, 2], after[i, 2]
            if flat:
                ex, ey, ez = x - table1[w, POINT], y - table1[w, POINT + 1], z1 - table1[w, POINT + 2]
                gap = ex * table1[w, AXIS] + ey * table1[w, AXIS + 1] + ez * table1[w, AXIS + 2] - r
            else:
                gap = center_gap(table1, w, x, y, z1)[0] - r
            if segment and passes(table0, table1, w, before[i, 0], before[i, 1], x, y):
                gap = -gap - 2.0 * r
            if gap > margin:
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
def put_bounded(axes, hits, gaps, before, after, radius, table0, table1, buffer, total, at):
    """Writes the contacts of `boundary_hits` to rows from `at` on of a buffer with `total` rows."""
    dim = len(axes)
    point, gap = 3 + dim, 3 + 2 * dim
    for k in range(len(gaps)):
        i, w, row, r = hits[k, 0], hits[k, 1], at + k, radius[hits[k, 0]]
        z0, z1 = (before[i, 2], after[i, 2]) if dim == 3 else (0.0, 0.0)
        here, nx, ny, nz = center_gap(table0, w, before[i, 0], before[i, 1], z0)
        if nx == 0.0 and ny == 0.0 and nz == 0.0:  # it starts on the axis: the normal after the step is used
            _, nx, ny, nz = center_gap(table1, w, after[i, 0], after[i, 1], z1)
            if nx == 0.0 and ny == 0.0 and nz == 0.0:
                nx = 1.0
        normal = (nx, ny, nz)
        put_names(buffer, total, row, i, -1 - w, 0)
        for d in range(dim):
            buffer[3 * total + dim * row + d] = normal[d]
            buffer[point * total + dim * row + d] = before[i, d] + (r + 0.5 * (here - r)) * normal[d]
        buffer[gap * total + row], buffer[(gap + 1) * total + row] = here - r, gaps[k]
        if len(buffer) > (gap + 2) * total:
            put_image(axes, NONE, radius, (0, 0), (0.0, 0.0, 0.0), buffer, total, row)


@kernel
def round_contacts(
    axes, table, before, after, radius, chosen, table0, table1, margin, length, shear, slides, hits, wide
):
    """All contacts of a world of discs or spheres, as a buffer of `wide` numbers per contact (see `columns_of`)."""
    m = round_hits(axes, table, 0, len(table), after, radius, margin, length, shear, slides[1], hits)
    edge, gaps = boundary_hits(axes, before, after, radius, chosen, table0, table1, margin)
    total = m + len(gaps)
    buffer = np.empty(wide * total)
    put_rounds(axes, table, hits, 0, m, before, after, radius, length, shear, slides, buffer, total, 0)
    put_bounded(axes, edge, gaps, before, after, radius, table0, table1, buffer, total, m)
    return buffer

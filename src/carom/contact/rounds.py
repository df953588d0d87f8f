"""Contacts of discs and spheres, with each other and with boundaries.

2D and 3D share the code. `axes` is the tuple (0, 1) or (0, 1, 2), whose length is known at compile time.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats
from ..world import PLANE, SEGMENT
from .boundaries import AXIS, KIND, POINT, center_gap, passes
from .pairs import FIRST, IMAGE, NONE, SECOND, periods

# ---- columns of a ContactSet in one buffer


def column_count(dimension: int, periodic: bool) -> int:
    """Numbers per contact in a buffer."""
    return 5 + (4 if periodic else 2) * dimension


def columns_of(buffer: Floats, dim: int, periodic: bool) -> list[np.ndarray]:
    """The fields of a ContactSet, each contiguous, as parts of one buffer: creating arrays takes longer."""
    m = len(buffer) // column_count(dim, periodic)
    names = buffer[: 3 * m].view(np.int64)
    out: list[np.ndarray] = [names[:m], names[m : 2 * m], names[2 * m :]]
    at = 3 * m
    for width in (dim, dim, 1, 1, dim, dim) if periodic else (dim, dim, 1, 1):
        part = buffer[at : at + width * m]
        out.append(part.reshape(m, width) if width > 1 else part)
        at += width * m
    return out


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


@kernel
def put_rounds(axes, table, hits, low, high, before, after, radius, length, shear, slides, buffer, total, at):
    """Writes the contacts of the pairs `hits[low:high]` to rows from `at` on of a buffer with `total` rows.

    `slides` holds by how much images slid at the start and at the end of the step, and their speed. Where centers
    coincide the normal is along x.
    """
    dim = len(axes)
    point, gap, names = 3 + dim, 3 + 2 * dim, buffer.view(np.int64)
    for h in range(low, high):
        k, row = hits[h], at + h - low
        a, b, image = table[k, FIRST], table[k, SECOND], table[k, IMAGE]
        names[row], names[total + row], names[2 * total + row] = a, b, 0
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
def put_bounded(axes, hits, gaps, before, after, radius, table0, table1, buffer, total, at):
    """Writes the contacts of `boundary_hits` to rows from `at` on of a buffer with `total` rows."""
    dim = len(axes)
    point, gap, names = 3 + dim, 3 + 2 * dim, buffer.view(np.int64)
    for k in range(len(gaps)):
        i, w, row, r = hits[k, 0], hits[k, 1], at + k, radius[hits[k, 0]]
        z0, z1 = (before[i, 2], after[i, 2]) if dim == 3 else (0.0, 0.0)
        here, nx, ny, nz = center_gap(table0, w, before[i, 0], before[i, 1], z0)
        if nx == 0.0 and ny == 0.0 and nz == 0.0:  # it starts on the axis: the normal after the step is used
            _, nx, ny, nz = center_gap(table1, w, after[i, 0], after[i, 1], z1)
            if nx == 0.0 and ny == 0.0 and nz == 0.0:
                nx = 1.0
        normal = (nx, ny, nz)
        names[row], names[total + row], names[2 * total + row] = i, -1 - w, 0
        for d in range(dim):
            buffer[3 * total + dim * row + d] = normal[d]
            buffer[point * total + dim * row + d] = before[i, d] + (r + 0.5 * (here - r)) * normal[d]
        buffer[gap * total + row], buffer[(gap + 1) * total + row] = here - r, gaps[k]
        if len(buffer) > (gap + 2) * total:
            put_image(axes, NONE, radius, (0, 0), (0.0, 0.0, 0.0), buffer, total, row)


@kernel
def round_contacts(
    axes, table, before, after, radius, chosen, table0, table1, margins, length, shear, slides, hits, wide
):
    """All contacts of a world of discs or spheres, as a buffer of `wide` numbers per contact (see `columns_of`)."""
    m = round_hits(axes, table, 0, len(table), after, radius, margins, length, shear, slides[1], hits)
    edge, gaps = boundary_hits(axes, before, after, radius, chosen, table0, table1, margins)
    total = m + len(gaps)
    buffer = np.empty(wide * total)
    put_rounds(axes, table, hits, 0, m, before, after, radius, length, shear, slides, buffer, total, 0)
    put_bounded(axes, edge, gaps, before, after, radius, table0, table1, buffer, total, m)
    return buffer

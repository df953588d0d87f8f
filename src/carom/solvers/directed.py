"""Tangent rows of contacts combined along one direction each."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel


@kernel
def directed(ptr, body, val, contacts, direction):
    """Rows (pointers, bodies, entries) `sum_s direction_s row_s` of the given contacts, t rows to a contact.

    The first number returned says whether all rows of each contact touch the same bodies; if not, there are no rows.
    """
    k, t = direction.shape
    d = val.shape[1]
    out_ptr = np.zeros(k + 1, np.int64)
    for j in range(k):
        first = contacts[j] * t
        out_ptr[j + 1] = out_ptr[j] + ptr[first + 1] - ptr[first]
    out_body, out = np.empty(out_ptr[k], np.int64), np.empty((out_ptr[k], d))
    for j in range(k):
        first = contacts[j] * t
        width = out_ptr[j + 1] - out_ptr[j]
        for s in range(t):
            start = ptr[first + s]
            if ptr[first + s + 1] - start != width:
                return False, out_ptr, out_body, out
            for e in range(width):
                at = out_ptr[j] + e
                if s == 0:
                    out_body[at] = body[start + e]
                    for c in range(d):
                        out[at, c] = direction[j, 0] * val[start + e, c]
                elif body[start + e] != out_body[at]:
                    return False, out_ptr, out_body, out
                else:
                    for c in range(d):
                        out[at, c] += direction[j, s] * val[start + e, c]
    return True, out_ptr, out_body, out

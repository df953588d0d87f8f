"""Islands: two contacts belong to the same one if they share a body that impulses move."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .rows import Ints, counting_sort


class Islands(NamedTuple):
    """Contacts by island: island s has the contacts chosen[order[ptr[s]:ptr[s+1]]].

    Islands are in the order of their first contact, the contacts of an island in the order of `chosen`.
    """

    chosen: Ints  # (k,) contacts
    order: Ints  # (k,) numbers in `chosen`
    ptr: Ints  # (islands + 1,)
    label: Ints  # (k,) island of each contact of `chosen`


@kernel(inline="always")
def root_of(parent, b):
    while parent[b] != b:
        parent[b] = parent[parent[b]]
        b = parent[b]
    return b


@kernel
def islands(body, chosen, parent, number):
    """The `Islands` of the contacts `chosen` (k,) with the bodies `body` (m, w), -1 for none.

    `parent` and `number` are scratch of one integer per body; only the entries of touched bodies are used, so that the
    work is proportional to k. A contact without a body is an island of its own.
    """
    k, w = len(chosen), body.shape[1]
    for i in chosen:
        for side in range(w):
            b = body[i, side]
            if b >= 0:
                parent[b], number[b] = b, -1
    for i in chosen:
        first = -1
        for side in range(w):
            b = body[i, side]
            if b < 0:
                continue
            other = root_of(parent, b)
            if first < 0:
                first = other
            elif other != first:
                # The smaller number is the root, so that roots do not depend on the order of contacts.
                if other < first:
                    first, other = other, first
                parent[other] = first
    count, label = 0, np.empty(k, np.int64)
    for j in range(k):
        label[j] = -1
        for side in range(w):
            b = body[chosen[j], side]
            if b >= 0:
                root = root_of(parent, b)
                if number[root] < 0:
                    number[root] = count
                    count += 1
                label[j] = number[root]
                break
        if label[j] < 0:
            label[j] = count
            count += 1
    order, ptr = counting_sort(label, count)
    return Islands(chosen, order, ptr, label)


@kernel
def all_islands(body, n):
    """The `Islands` of all contacts with the bodies `body` (m, w), of n bodies."""
    return islands(body, np.arange(len(body)), np.empty(n, np.int64), np.empty(n, np.int64))


@kernel
def body_islands(body, found, n):
    """The island of each of n bodies, -1 for bodies without a contact in `found.chosen`."""
    out = np.full(n, -1, np.int64)
    for j in range(len(found.chosen)):
        for side in range(body.shape[1]):
            b = body[found.chosen[j], side]
            if b >= 0:
                out[b] = found.label[j]
    return out


@kernel(inline="always")
def anchored(body, found):
    """Whether each island has a contact with something that impulses do not move, for contacts of two sides."""
    out = np.zeros(len(found.ptr) - 1, np.bool_)
    for j in range(len(found.chosen)):
        if min(body[found.chosen[j], 0], body[found.chosen[j], 1]) < 0:
            out[found.label[j]] = True
    return out

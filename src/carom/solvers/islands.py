"""Islands: two contacts belong to the same one if they share a body."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel


@kernel(inline="always")
def root_of(parent, b):
    while parent[b] != b:
        parent[b] = parent[parent[b]]
        b = parent[b]
    return b


@kernel
def islands(rows, subset, parent, label):
    """Groups the contacts in `subset` by island.

    `parent` and `label` are scratch of one integer per body; only the entries of touched bodies are used, so that the
    work is proportional to the subset. Returns (order, ptr): island s holds the contacts
    subset[order[ptr[s]:ptr[s+1]]], islands in order of their first contact, contacts in the order of `subset`.
    """
    k = len(subset)
    for i in subset:
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            parent[rows.body[e]] = rows.body[e]
            label[rows.body[e]] = -1
    for i in subset:
        first = root_of(parent, rows.body[rows.ptr[i]])
        for e in range(rows.ptr[i] + 1, rows.ptr[i + 1]):
            other = root_of(parent, rows.body[e])
            if other != first:
                # The smaller number is the root, so that labels do not depend on the order of contacts.
                if other < first:
                    first, other = other, first
                parent[other] = first
    count = 0
    island_of = np.empty(k, np.int64)
    for j in range(k):
        b = root_of(parent, rows.body[rows.ptr[subset[j]]])
        if label[b] < 0:
            label[b] = count
            count += 1
        island_of[j] = label[b]
    ptr = np.zeros(count + 1, np.int64)
    for j in range(k):
        ptr[island_of[j] + 1] += 1
    for s in range(count):
        ptr[s + 1] += ptr[s]
    fill = ptr[:-1].copy()
    order = np.empty(k, np.int64)
    for j in range(k):
        s = island_of[j]
        order[fill[s]] = j
        fill[s] += 1
    return order, ptr


def island_labels(rows) -> np.ndarray:
    """Island number of every contact, (m,)."""
    m, n = len(rows.ptr) - 1, len(rows.touch_ptr) - 1
    order, ptr = islands(rows, np.arange(m), np.empty(n, np.int64), np.empty(n, np.int64))
    labels = np.empty(m, np.int64)
    labels[order] = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    return labels

"""Fill-reducing elimination order of a sparse symmetric pattern, and the pattern of its Cholesky factor.

Minimum degree on the quotient graph with approximate degrees, after Amestoy, Davis and Duff (1996): an
eliminated node becomes an element whose member list is its column of the factor, elements that a new one covers
are absorbed, and the degree of a node is bounded from the sizes of its elements. Contact graphs are close to
trees or planar, so mass elimination and supervariables, which speed up finite element meshes, are left out.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel


@kernel
def minimum_degree(adj_ptr, adj):
    """Elimination order of the graph with neighbor lists adj[adj_ptr[i]:adj_ptr[i+1]].

    Returns (order, col_ptr, col): the node eliminated at each position, and for each position the nodes (not
    positions) of its factor column below the diagonal.
    """
    n = len(adj_ptr) - 1
    start = adj_ptr[:-1].copy()
    length = np.empty(n, np.int64)
    elements = np.zeros(n, np.int64)  # number of elements at the start of each list; nodes follow
    work = adj.copy()
    degree = np.empty(n, np.int64)
    # Buckets of equal degree as doubly linked lists.
    head, after, before = np.full(n + 1, -1, np.int64), np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for i in range(n - 1, -1, -1):
        length[i] = adj_ptr[i + 1] - adj_ptr[i]
        degree[i] = length[i]
        _link(head, after, before, degree[i], i)
    alive = np.ones(n, np.uint8)
    position = np.full(n, -1, np.int64)  # of an eliminated node
    absorbed = np.zeros(n, np.uint8)
    order = np.empty(n, np.int64)
    col_ptr = np.zeros(n + 1, np.int64)
    col = np.empty(max(4 * len(adj), 16), np.int64)
    mark = np.full(n, -1, np.int64)
    outside = np.zeros(n, np.int64)  # of an element: members outside the newest element
    seen = np.full(n, -1, np.int64)
    lowest, used = 0, 0
    for step in range(n):
        while head[lowest] < 0:
            lowest += 1
        p = head[lowest]
        _unlink(head, after, before, degree[p], p)
        order[step] = p
        position[p] = step
        alive[p] = 0
        # The new element: neighbors of p, directly and through its elements.
        bound = used + degree[p] + length[p] + 1
        for q in range(start[p], start[p] + elements[p]):
            e = work[q]
            bound += col_ptr[position[e] + 1] - col_ptr[position[e]]
        if bound > len(col):
            bigger = np.empty(2 * bound, np.int64)
            bigger[:used] = col[:used]
            col = bigger
        first = used
        mark[p] = step
        for q in range(start[p], start[p] + length[p]):
            if q < start[p] + elements[p]:
                e = work[q]
                absorbed[e] = 1
                for r in range(col_ptr[position[e]], col_ptr[position[e] + 1]):
                    v = col[r]
                    if alive[v] and mark[v] != step:
                        mark[v] = step
                        col[used] = v
                        used += 1
            else:
                v = work[q]
                if alive[v] and mark[v] != step:
                    mark[v] = step
                    col[used] = v
                    used += 1
        col_ptr[step + 1] = used
        size = used - first
        # For each element near the new one: how many of its members lie outside.
        for r in range(first, used):
            i = col[r]
            for q in range(start[i], start[i] + elements[i]):
                e = work[q]
                if absorbed[e]:
                    continue
                if seen[e] != step:
                    seen[e] = step
                    outside[e] = 0
                    for t in range(col_ptr[position[e]], col_ptr[position[e] + 1]):
                        outside[e] += alive[col[t]]
                outside[e] -= 1
        for r in range(first, used):
            i = col[r]
            _unlink(head, after, before, degree[i], i)
            bound = size - 1
            put = start[i]
            old_elements = elements[i]
            kept = 0
            end = start[i] + length[i]
            # Compact the list in place: elements that still reach outside, then the new one, then nodes that
            # no element covers. It never grows, because p or an absorbed element leaves it.
            nodes_from = start[i] + old_elements
            for q in range(start[i], nodes_from):
                e = work[q]
                if absorbed[e]:
                    continue
                if outside[e] == 0:
                    continue
                bound += outside[e]
                work[put] = e
                put += 1
                kept += 1
            slot = put
            put += 1
            # Nodes may have to move up by one if no element was dropped; then p itself was among the nodes.
            carried = work[slot] if slot < end else p
            work[slot] = p
            if slot >= nodes_from:
                # The slot held a node: process it first.
                if alive[carried] and mark[carried] != step:
                    # Keep it at the end of those processed; the entry of p further on makes room.
                    pending = carried
                else:
                    pending = -1
                q = slot + 1
            else:
                pending = -1
                q = nodes_from
            while q < end:
                v = work[q]
                if alive[v] and mark[v] != step:
                    if pending >= 0:
                        work[put] = pending
                        pending = v
                    else:
                        work[put] = v
                    put += 1
                    bound += 1
                q += 1
            if pending >= 0:
                work[put] = pending
                put += 1
                bound += 1
            elements[i] = kept + 1
            length[i] = put - start[i]
            degree[i] = min(min(bound, degree[i] + size - 1), n - step - 2)
            degree[i] = max(degree[i], 0)
            _link(head, after, before, degree[i], i)
            lowest = min(lowest, degree[i])
    return order, col_ptr, col[:used]


@kernel(inline="always")
def _link(head, after, before, k, i):
    after[i] = head[k]
    before[i] = -1
    if head[k] >= 0:
        before[head[k]] = i
    head[k] = i


@kernel(inline="always")
def _unlink(head, after, before, k, i):
    if before[i] >= 0:
        after[before[i]] = after[i]
    else:
        head[k] = after[i]
    if after[i] >= 0:
        before[after[i]] = before[i]

"""Fill-reducing elimination order of a sparse symmetric pattern, and the columns of its Cholesky factor.

Minimum degree on the quotient graph with approximate degrees, after Amestoy, Davis and Duff (1996). An eliminated node
becomes an element, whose members are the rows of its factor column; elements that a new one covers are absorbed, and
the degree of a node is bounded from the sizes of its elements. Nodes with equal neighbors are merged to supervariables:
degrees then count neighbors outside the supervariable, and each merged node saves an elimination. For 99,856 discs in a
hexagonal packing the factor has three quarters of the entries and half the work that it has without them. Nodes
without neighbors outside the new element are eliminated together with it.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel, lean

# The quotient graph is a table with a line of these columns for each node, so that a node has all its numbers in one or
# two cache lines. A supervariable is named by one of its nodes, an element by the node eliminated there.
NODE_START = 0  # the list of a node is work[start:start + length]; that of an element is member[start:start + length]
NODE_LENGTH = 1
NODE_ELEMENTS = 2  # number of elements at the start of the list of a node; nodes follow
NODE_WEIGHT = 3  # nodes in a supervariable; 0 for nodes that were merged or eliminated
NODE_DEGREE = 4  # bound on the weight of the neighbors; of an element: weight of its members
NODE_ABSORBED = 5  # 1 for elements that a newer one covers
NODE_OUTSIDE = 6  # of an element: weight of the members outside the newest element
NODE_MARK = 7  # elimination that has last met a node or an element
NODE_COMPARED = 8  # comparison that has last met a node or an element
NODE_FOLLOWING = 9  # next node of the same supervariable, -1 at its end
NODE_LAST = 10  # last node of a supervariable
NODE_AFTER = 11  # neighbors in the list of supervariables of equal degree
NODE_BEFORE = 12
NODE_KEY = 13  # hash value of the list of a node
NODE_CHAIN = 14  # next supervariable of the same hash value
NODE_BUCKET = 15  # first supervariable with the number of the node as its hash value, -1 for none


@kernel
def minimum_degree(adj_ptr, adj):
    """Elimination order (n,) of the graph with neighbor lists adj[adj_ptr[i]:adj_ptr[i+1]]."""
    n = len(adj_ptr) - 1
    g, head = _graph(adj_ptr)
    work, member = adj.astype(np.int32), np.empty(max(2 * len(adj), 16), np.int32)
    order = np.empty(n, np.int64)
    lowest, used, done, step, comparison = 0, 0, 0, 0, 0
    while done < n:
        while head[lowest] < 0:
            lowest += 1
        p = head[lowest]
        _unlink(g, head, p)
        bound = used + g[p, NODE_DEGREE] + g[p, NODE_LENGTH]
        for q in range(g[p, NODE_START], g[p, NODE_START] + g[p, NODE_ELEMENTS]):
            e = work[q]
            bound += g[e, NODE_LENGTH]
        if bound > len(member):
            bigger = np.empty(2 * bound, np.int32)
            bigger[:used] = member[:used]
            member = bigger
        first = used
        used = _new_element(g, work, member, p, step, used)
        _count_outside(g, work, member, first, used, step)
        gone = _update_lists(g, head, work, member, p, first, used, step)
        comparison = _merge(g, work, member, first, used, comparison)
        i = p
        while i >= 0:
            order[done] = i
            done += 1
            i = g[i, NODE_FOLLOWING]
        size = g[p, NODE_DEGREE] - gone
        put = first
        for r in range(first, used):
            i = member[r]
            if g[i, NODE_WEIGHT] > 0:
                member[put] = i
                put += 1
                g[i, NODE_DEGREE] = max(min(g[i, NODE_DEGREE] + size, n - done) - g[i, NODE_WEIGHT], 0)
                _link(g, head, i)
                lowest = min(lowest, g[i, NODE_DEGREE])
        used = put
        g[p, NODE_START], g[p, NODE_LENGTH] = first, used - first
        g[p, NODE_DEGREE] = size
        g[p, NODE_WEIGHT] = 0
        step += 1
    return order


@kernel(inline="always")
def _graph(adj_ptr):
    n = len(adj_ptr) - 1
    g, head = np.full((n, 16), -1, np.int32), np.full(n + 1, -1, np.int32)
    for i in range(n - 1, -1, -1):
        degree = adj_ptr[i + 1] - adj_ptr[i]
        g[i, NODE_START], g[i, NODE_LENGTH], g[i, NODE_DEGREE] = adj_ptr[i], degree, degree
        g[i, NODE_ELEMENTS], g[i, NODE_WEIGHT], g[i, NODE_ABSORBED], g[i, NODE_LAST] = 0, 1, 0, i
        _link(g, head, i)
    return g, head


@kernel(inline="always")
def _new_element(g, work, member, p, step, used):
    """The neighbors of p, directly and through its elements, into member[used:]; returns the new end."""
    g[p, NODE_MARK] = step
    total = 0
    for q in range(g[p, NODE_START], g[p, NODE_START] + g[p, NODE_LENGTH]):
        v = work[q]
        a, b = q, q + 1
        within = q < g[p, NODE_START] + g[p, NODE_ELEMENTS]
        if within:
            g[v, NODE_ABSORBED] = 1
            a, b = g[v, NODE_START], g[v, NODE_START] + g[v, NODE_LENGTH]
        for r in range(a, b):
            i = member[r] if within else v
            if g[i, NODE_WEIGHT] > 0 and g[i, NODE_MARK] != step:
                g[i, NODE_MARK] = step
                member[used] = i
                used += 1
                total += g[i, NODE_WEIGHT]
    g[p, NODE_DEGREE] = total
    return used


@kernel(inline="always")
def _count_outside(g, work, member, first, used, step):
    """For each element near the new one: the weight of its members outside."""
    for r in range(first, used):
        i = member[r]
        for q in range(g[i, NODE_START], g[i, NODE_START] + g[i, NODE_ELEMENTS]):
            e = work[q]
            if g[e, NODE_ABSORBED]:
                continue
            if g[e, NODE_MARK] != step:
                g[e, NODE_MARK] = step
                g[e, NODE_OUTSIDE] = g[e, NODE_DEGREE]
            g[e, NODE_OUTSIDE] -= g[i, NODE_WEIGHT]


@lean
def _update_lists(g, head, work, member, p, first, used, step):
    """Lists and degrees without the new element of the members, and their hash values.

    Members without other neighbors are eliminated with p; returns their weight.
    """
    gone = 0
    for r in range(first, used):
        i = member[r]
        _unlink(g, head, i)
        put, total, key = g[i, NODE_START], 0, p
        nodes, end = g[i, NODE_START] + g[i, NODE_ELEMENTS], g[i, NODE_START] + g[i, NODE_LENGTH]
        for q in range(g[i, NODE_START], nodes):
            e = work[q]
            if g[e, NODE_ABSORBED]:
                continue
            if g[e, NODE_OUTSIDE] == 0:  # all its members are in the new element too
                g[e, NODE_ABSORBED] = 1
                continue
            total += g[e, NODE_OUTSIDE]
            key += e
            work[put] = e
            put += 1
        kept = put - g[i, NODE_START]
        for q in range(nodes, end):
            v = work[q]
            if g[v, NODE_WEIGHT] > 0 and g[v, NODE_MARK] != step:
                total += g[v, NODE_WEIGHT]
                key += v
                work[put] = v
                put += 1
        if total == 0:
            gone += g[i, NODE_WEIGHT]
            _append(g, p, i)
            continue
        # The new element goes first. There is room: p or an absorbed element has left the list.
        work[put] = work[g[i, NODE_START] + kept]
        work[g[i, NODE_START] + kept] = work[g[i, NODE_START]]
        work[g[i, NODE_START]] = p
        g[i, NODE_ELEMENTS] = kept + 1
        g[i, NODE_LENGTH] = put + 1 - g[i, NODE_START]
        g[i, NODE_DEGREE] = min(g[i, NODE_DEGREE], total)
        g[i, NODE_KEY] = key % len(g)
        g[i, NODE_CHAIN] = g[g[i, NODE_KEY], NODE_BUCKET]
        g[g[i, NODE_KEY], NODE_BUCKET] = i
    return gone


@kernel
def _merge(g, work, member, first, used, comparison):
    """Merges members with equal lists; `comparison` counts the lists that were compared with others."""
    for r in range(first, used):
        if g[member[r], NODE_WEIGHT] == 0:
            continue
        i = g[g[member[r], NODE_KEY], NODE_BUCKET]
        g[g[member[r], NODE_KEY], NODE_BUCKET] = -1
        while i >= 0 and g[i, NODE_CHAIN] >= 0:
            comparison += 1
            for q in range(g[i, NODE_START], g[i, NODE_START] + g[i, NODE_LENGTH]):
                g[work[q], NODE_COMPARED] = comparison
            previous, j = i, g[i, NODE_CHAIN]
            while j >= 0:
                equal = g[j, NODE_LENGTH] == g[i, NODE_LENGTH] and g[j, NODE_ELEMENTS] == g[i, NODE_ELEMENTS]
                q = g[j, NODE_START]
                while equal and q < g[j, NODE_START] + g[j, NODE_LENGTH]:
                    equal = g[work[q], NODE_COMPARED] == comparison
                    q += 1
                if equal:
                    g[i, NODE_WEIGHT] += g[j, NODE_WEIGHT]
                    _append(g, i, j)
                    g[previous, NODE_CHAIN] = g[j, NODE_CHAIN]
                else:
                    previous = j
                j = g[j, NODE_CHAIN]
            i = g[i, NODE_CHAIN]
    return comparison


@kernel(inline="always")
def _append(g, i, j):
    """The nodes of j follow those of i; j itself is no supervariable any more."""
    g[g[i, NODE_LAST], NODE_FOLLOWING] = j
    g[i, NODE_LAST] = g[j, NODE_LAST]
    g[j, NODE_WEIGHT] = 0


@kernel(inline="always")
def _link(g, head, i):
    k = g[i, NODE_DEGREE]
    g[i, NODE_AFTER] = head[k]
    g[i, NODE_BEFORE] = -1
    if head[k] >= 0:
        g[head[k], NODE_BEFORE] = i
    head[k] = i


@kernel(inline="always")
def _unlink(g, head, i):
    if g[i, NODE_BEFORE] >= 0:
        g[g[i, NODE_BEFORE], NODE_AFTER] = g[i, NODE_AFTER]
    else:
        head[g[i, NODE_DEGREE]] = g[i, NODE_AFTER]
    if g[i, NODE_AFTER] >= 0:
        g[g[i, NODE_AFTER], NODE_BEFORE] = g[i, NODE_BEFORE]


@kernel(inline="always")
def renumbered(adj_ptr, adj, order):
    """Neighbor lists in which node k is the former node order[k]."""
    n = len(order)
    position = np.empty(n, np.int64)
    for k in range(n):
        position[order[k]] = k
    ptr, out = np.zeros(n + 1, np.int64), np.empty(len(adj), np.int64)
    for k in range(n):
        i = order[k]
        ptr[k + 1] = ptr[k] + adj_ptr[i + 1] - adj_ptr[i]
        for q in range(adj_ptr[i], adj_ptr[i + 1]):
            out[ptr[k] + q - adj_ptr[i]] = position[adj[q]]
    return ptr, out


@kernel
def elimination_tree(adj_ptr, adj, owner):
    """Parent of each column, -1 for roots, and the number of rows below it; node i is in column owner[i], ascending."""
    columns = owner[-1] + 1 if len(owner) else 0
    parent, count, met = np.full(columns, -1, np.int64), np.zeros(columns, np.int64), np.full(columns, -1, np.int64)
    for i in range(len(owner)):
        # Row i of the factor: the paths in the tree from the neighbors that come before i, up to i.
        for q in range(adj_ptr[i], adj_ptr[i + 1]):
            k = owner[adj[q]]
            while k < owner[i] and met[k] != i:
                met[k] = i
                count[k] += 1
                if parent[k] < 0:
                    parent[k] = owner[i]
                k = parent[k]
    return parent, count


@kernel
def factor_columns(adj_ptr, adj, owner):
    """(pointers, rows, parents): the rows below each column of `elimination_tree`, ascending, and its parent."""
    parent, count = elimination_tree(adj_ptr, adj, owner)
    ptr, met = np.zeros(len(parent) + 1, np.int64), np.full(len(parent), -1, np.int64)
    for k in range(len(parent)):
        ptr[k + 1] = ptr[k] + count[k]
    row, fill = np.empty(ptr[-1], np.int64), ptr[:-1].copy()
    for i in range(len(owner)):
        for q in range(adj_ptr[i], adj_ptr[i + 1]):
            k = owner[adj[q]]
            while k < owner[i] and met[k] != i:
                met[k] = i
                row[fill[k]] = i
                fill[k] += 1
                k = parent[k]
    return ptr, row, parent


@kernel
def neighbors(ptr, body, n):
    """Neighbor lists (pointers, bodies) of bodies that share a contact, without duplicates."""
    count = np.zeros(n + 1, np.int64)
    for i in range(len(ptr) - 1):
        w = ptr[i + 1] - ptr[i]
        for e in range(ptr[i], ptr[i + 1]):
            count[body[e] + 1] += w - 1
    for b in range(n):
        count[b + 1] += count[b]
    fill = count[:-1].copy()
    raw = np.empty(count[n], np.int64)
    for i in range(len(ptr) - 1):
        for e in range(ptr[i], ptr[i + 1]):
            for f in range(ptr[i], ptr[i + 1]):
                if e != f:
                    raw[fill[body[e]]] = body[f]
                    fill[body[e]] += 1
    adj_ptr, used = np.zeros(n + 1, np.int64), 0
    seen = np.full(n, -1, np.int64)
    for b in range(n):
        for q in range(count[b], count[b + 1]):
            if seen[raw[q]] != b:
                seen[raw[q]] = b
                raw[used] = raw[q]
                used += 1
        adj_ptr[b + 1] = used
    return adj_ptr, raw[:used].copy()

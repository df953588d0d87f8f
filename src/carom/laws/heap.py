"""A binary min-heap in two arrays, ordered by key and then by item, so that the order of ties is defined.

Items are stored as int32 and given as int64: other types would compile the kernels again.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel, lean


@kernel(inline="always")
def heap_push(keys, items, size, key, item):
    """Adds an entry; returns the arrays (grown when full) and the new size."""
    if size == len(keys):
        keys, items = heap_grown(keys, items, size)
    return keys, items, heap_add(keys, items, size, key, item)


@kernel
def heap_grown(keys, items, size):
    """The arrays with room for more entries."""
    bigger_keys, bigger_items = np.empty(2 * size + 16), np.empty(2 * size + 16, items.dtype)
    for k in range(size):
        bigger_keys[k], bigger_items[k] = keys[k], items[k]
    return bigger_keys, bigger_items


@lean
def heap_add(keys, items, size, key, item):
    """Adds an entry to arrays with room for it; returns the new size. Faster than `heap_push`, which returns arrays."""
    k = size
    while k > 0:
        parent = (k - 1) >> 1
        if keys[parent] < key or (keys[parent] == key and items[parent] <= item):
            break
        keys[k], items[k] = keys[parent], items[parent]
        k = parent
    keys[k], items[k] = key, item
    return size + 1


@lean
def heap_pop(keys, items, size):
    """Removes the smallest entry; returns its key, its item and the new size."""
    key, item = keys[0], items[0]
    size -= 1
    last_key, last_item = keys[size], items[size]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (keys[right] < keys[child] or (keys[right] == keys[child] and items[right] < items[child])):
            child = right
        if last_key < keys[child] or (last_key == keys[child] and last_item <= items[child]):
            break
        keys[k], items[k] = keys[child], items[child]
        k = child
    keys[k], items[k] = last_key, last_item
    return key, np.int64(item), size

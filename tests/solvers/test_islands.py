"""Islands of contacts, against the connected components of the graph of bodies."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from carom.solvers.islands import island_labels, islands
from carom.solvers.rows import make_rows


@st.composite
def arrangements(draw):
    """Contacts between up to 30 bodies, each with one or two of them, as lists."""
    n = draw(st.integers(1, 30))
    body = st.integers(0, n - 1)
    contact = st.lists(body, min_size=1, max_size=2, unique=True)
    return n, draw(st.lists(contact, min_size=1, max_size=40))


def rows_of(n, contacts):
    ptr = np.concatenate([[0], np.cumsum([len(c) for c in contacts])])
    body = np.array([b for c in contacts for b in c])
    return make_rows(ptr, body, np.ones((len(body), 1)), n)


def components(n, contacts):
    """Component of each contact: bodies are joined by contacts, and a contact lies where its bodies do."""
    pairs = [(c[0], c[-1]) for c in contacts]
    a, b = np.array(pairs).T
    _, label = connected_components(sp.coo_matrix((np.ones(len(a)), (a, b)), shape=(n, n)), directed=False)
    return label[a]


def same_partition(one, two):
    """Whether two labellings divide the contacts alike, whatever the labels are called."""
    pairs = set(zip(one.tolist(), two.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(two.tolist()))


@given(arrangements())
def test_labels_are_connected_components(arrangement):
    n, contacts = arrangement
    label = island_labels(rows_of(n, contacts))
    assert same_partition(label, components(n, contacts))
    first = [int(np.argmax(label == k)) for k in range(label.max() + 1)]
    assert first == sorted(first), "islands are numbered by their first contact"


@given(arrangements(), st.randoms(use_true_random=False))
def test_subsets_forget_the_contacts_left_out(arrangement, random):
    """Scratch arrays are shared between solves, so stale values in them must not join islands."""
    n, contacts = arrangement
    rows = rows_of(n, contacts)
    chosen = [i for i in range(len(contacts)) if random.random() < 0.6] or [0]
    random.shuffle(chosen)
    stale = np.array([random.randrange(n) for _ in range(n)])
    order, ptr = islands(rows, np.array(chosen), stale, stale.copy())
    label = np.empty(len(chosen), np.int64)
    for s in range(len(ptr) - 1):
        mine = order[ptr[s] : ptr[s + 1]]
        assert (np.diff(mine) > 0).all(), "contacts keep the order of the subset"
        label[mine] = s
    assert sorted(order) == list(range(len(chosen)))
    assert same_partition(label, components(n, [contacts[i] for i in chosen]))


def test_two_contacts_with_the_world_are_apart():
    """The world belongs to no island: two balls on one floor do not feel each other."""
    label = island_labels(rows_of(2, [[0], [1]]))
    assert label.tolist() == [0, 1]

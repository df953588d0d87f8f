"""Islands of contacts, against the connected components of the graph of bodies."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from carom.solvers.islands import all_islands, anchored, body_islands, islands


@st.composite
def arrangements(draw):
    """Contacts between up to 30 bodies, each with one or two of them, as lists."""
    n = draw(st.integers(1, 30))
    body = st.integers(0, n - 1)
    contact = st.lists(body, min_size=1, max_size=2, unique=True)
    return n, draw(st.lists(contact, min_size=1, max_size=40))


def bodies_of(contacts):
    """Bodies (m, 2), -1 in the place of the second one where there is one only."""
    return np.array([[c[0], c[1] if len(c) > 1 else -1] for c in contacts])


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
    found = all_islands(bodies_of(contacts), n)
    label = found.label
    of_body, fixed = body_islands(bodies_of(contacts), found, n), anchored(bodies_of(contacts), found)
    assert all(of_body[b] == label[i] for i, c in enumerate(contacts) for b in c)
    assert (np.delete(of_body, [b for c in contacts for b in c]) == -1).all()
    assert [any(len(contacts[i]) == 1 for i in np.flatnonzero(label == s)) for s in range(len(fixed))] == fixed.tolist()
    assert same_partition(label, components(n, contacts))
    first = [int(np.argmax(label == k)) for k in range(label.max() + 1)]
    assert first == sorted(first), "islands are numbered by their first contact"


@given(arrangements(), st.randoms(use_true_random=False))
def test_subsets_forget_the_contacts_left_out(arrangement, random):
    """Scratch arrays are shared between solves, so stale values in them must not join islands."""
    n, contacts = arrangement
    chosen = [i for i in range(len(contacts)) if random.random() < 0.6] or [0]
    random.shuffle(chosen)
    stale = np.array([random.randrange(n) for _ in range(n)])
    _, order, ptr, label = islands(bodies_of(contacts), np.array(chosen), stale, stale.copy())
    for s in range(len(ptr) - 1):
        mine = order[ptr[s] : ptr[s + 1]]
        assert (np.diff(mine) > 0).all(), "contacts keep the order of the subset"
        assert (label[mine] == s).all()
    assert sorted(order) == list(range(len(chosen)))
    assert same_partition(label, components(n, [contacts[i] for i in chosen]))


def test_two_contacts_with_the_world_are_apart():
    """The world belongs to no island: two balls on one floor do not feel each other."""
    assert all_islands(bodies_of([[0], [1]]), 2).label.tolist() == [0, 1]


def test_a_contact_without_a_body_is_an_island_of_its_own():
    assert all_islands(np.array([[-1, -1], [0, -1], [-1, -1]]), 1).label.tolist() == [0, 1, 2]

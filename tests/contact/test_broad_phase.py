"""The broad phase against the obvious calculation: every pair near enough, each once, whatever sizes and places."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from carom.contact import broad_phase
from carom.contact.broad_phase import neighbours
from carom.world import DISC, POLYGON

EPS = np.finfo(float).eps
SEEDS = st.integers(0, 2**32 - 1)


def all_pairs(after, radius, free):
    """(first, second, gap after) of all pairs that may count, first < second."""
    i, j = np.triu_indices(len(radius), 1)
    kept = free[i] | free[j]
    i, j = i[kept], j[kept]
    return i, j, np.hypot(*(after[j] - after[i]).T) - radius[i] - radius[j]


def check(before, after, radius, kind, free, margin):
    """Pairs exactly once, none missing, none too many; up to rounding of the places themselves."""
    first, second, normal, gap, predicted, odd_first, odd_second = neighbours(before, after, radius, kind, free, margin)
    listed = list(zip(first, second)) + list(zip(odd_first, odd_second))
    found = set(listed)
    assert len(found) == len(listed), "a pair twice"
    assert all(a < b for a, b in found)
    i, j, apart = all_pairs(after, radius, free)
    rounding = 8.0 * EPS * (np.abs(after).max() + radius.max() + margin)
    assert {(a, b) for a, b, g in zip(i, j, apart) if g < margin - rounding} <= found
    assert found <= {(a, b) for a, b, g in zip(i, j, apart) if g <= margin + rounding}
    assert all(kind[a] == DISC and kind[b] == DISC for a, b in zip(first, second))
    assert all(kind[a] != DISC or kind[b] != DISC for a, b in zip(odd_first, odd_second))
    # Geometry of the discs, from direct formulas.
    apart0, apart1 = before[second] - before[first], after[second] - after[first]
    distance = np.hypot(*apart0.T)
    np.testing.assert_allclose(gap, distance - radius[first] - radius[second], atol=rounding, rtol=0)
    np.testing.assert_allclose(predicted, np.hypot(*apart1.T) - radius[first] - radius[second], atol=rounding, rtol=0)
    np.testing.assert_allclose(np.hypot(*normal.T), 1.0, rtol=4 * EPS)
    clear = distance > 0.0
    np.testing.assert_allclose((distance[:, None] * normal)[clear], apart0[clear], atol=rounding, rtol=4 * EPS)
    return first, second


def places(rng, n, layout, scale):
    """Centres in different arrangements; `scale` is the largest diameter."""
    if layout == "cloud":
        return rng.uniform(-0.5, 0.5, (n, 2)) * scale * np.sqrt(n)
    if layout == "heap":  # all within one cell
        return rng.uniform(-0.5, 0.5, (n, 2)) * scale * 0.1
    if layout == "line":
        return np.stack([np.arange(n) * 0.9 * scale, np.zeros(n)], axis=1)
    if layout == "one point":
        return np.zeros((n, 2))
    if layout == "lattice":  # neighbours exactly one cell apart
        side = int(np.ceil(np.sqrt(n)))
        return scale * np.stack(np.divmod(np.arange(n), side), axis=1).astype(float)
    far = rng.uniform(-0.5, 0.5, (n, 2)) * scale * np.sqrt(n)  # "flyers"
    few = rng.integers(0, n, max(1, n // 8))
    far[few] *= 10.0 ** rng.uniform(2.0, 9.0, (len(few), 1))
    return far


@given(
    SEEDS,
    st.integers(1, 70),
    st.sampled_from([0.0, 0.3, 2.0, 4.0]),
    st.sampled_from(["cloud", "heap", "line", "one point", "lattice", "flyers"]),
    st.sampled_from([0.0, -1e3, 1e6, -1e9]),
    st.sampled_from([0.0, 0.01, 3.0]),
)
def test_all_pairs_once(seed, n, decades, layout, shift, reach):
    """Sizes over four decades, all in a heap or strewn over a billion diameters, near the origin or far from it."""
    rng = np.random.default_rng(seed)
    radius = 10.0 ** rng.uniform(-decades, 0.0, n)
    scale = 2.0 * radius.max()
    after = places(rng, n, layout, scale) + shift
    before = after + rng.normal(size=(n, 2)) * 0.1 * scale
    kind = np.where(rng.random(n) < 0.3, POLYGON, DISC).astype(np.int8)
    check(before, after, radius, kind, rng.random(n) < 0.7, reach * radius.min())


@given(SEEDS, st.integers(2, 40))
def test_few_giants_among_dwarfs(seed, n):
    """A giant spans thousands of the dwarfs' cells: it must be found from all of them."""
    rng = np.random.default_rng(seed)
    radius = np.concatenate([np.full(n, 1e-3), [1.0, 0.4]])
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    rim = (1.0 + 1e-3 * rng.uniform(0.5, 1.5, n))[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    after = np.concatenate([rim, [[0.0, 0.0], [1.3, 0.0]]])
    kind, free = np.zeros(n + 2, np.int8), np.ones(n + 2, bool)
    check(after, after, radius, kind, free, 0.0)


def test_a_margin_larger_than_the_bodies():
    rng = np.random.default_rng(3)
    after = rng.uniform(0.0, 10.0, (50, 2))
    check(after, after, np.full(50, 1e-3), np.zeros(50, np.int8), np.ones(50, bool), 5.0)


def test_fixed_pairs_are_left_out():
    after = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    free = np.array([False, False, True])
    first, second, *_ = neighbours(after, after, np.full(3, 0.6), np.zeros(3, np.int8), free, 0.0)
    assert list(zip(first, second)) == [(1, 2)]


def test_centres_that_coincide_still_have_a_unit_normal():
    """Mirrored for the two orders, so that the rule does not depend on who is called first."""
    after = np.zeros((2, 2))
    _, _, normal, gap, *_ = neighbours(after, after, np.ones(2), np.zeros(2, np.int8), np.ones(2, bool), 0.0)
    np.testing.assert_array_equal(np.hypot(*normal.T), 1.0)
    np.testing.assert_array_equal(gap, -2.0)


def many(n, seed=0):
    rng = np.random.default_rng(seed)
    radius = 10.0 ** rng.uniform(-1.0, 0.0, n)
    before = rng.uniform(0.0, 1.2 * np.sqrt(n), (n, 2))
    after = before + rng.normal(size=(n, 2)) * 0.1
    kind = np.where(rng.random(n) < 0.1, POLYGON, DISC).astype(np.int8)
    return before, after, radius, kind, rng.random(n) < 0.9, 0.01


def test_bits_do_not_depend_on_threads_or_pieces(monkeypatch):
    """45,000 bodies in pieces on one and on two threads, and all in one piece."""
    world = many(45_000)
    answers = []
    threads = numba.get_num_threads()
    try:
        for count, piece in ((1, broad_phase.PIECE), (2, broad_phase.PIECE), (2, 1000), (1, 10**9)):
            numba.set_num_threads(count)
            monkeypatch.setattr(broad_phase, "PIECE", piece)
            answers.append(neighbours(*world))
    finally:
        numba.set_num_threads(threads)
    assert len(answers[0][0]) > 10_000 and len(answers[0][5]) > 1000
    for other in answers[1:]:
        for mine, theirs in zip(answers[0], other):
            assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("n", [19_999, 20_001, 60_000])
def test_many_equal_discs_against_a_tree(n):
    """Both sides of the size where the work is divided; the tree's pairs are the reference."""
    rng = np.random.default_rng(n)
    after = rng.uniform(0.0, 1.5 * np.sqrt(n), (n, 2))
    first, second, *_ = neighbours(after, after, np.full(n, 0.5), np.zeros(n, np.int8), np.ones(n, bool), 0.0)
    expected = cKDTree(after).query_pairs(1.0, output_type="ndarray")
    expected.sort(axis=1)
    assert len(first) == len(expected) > n // 2
    assert set(zip(first.tolist(), second.tolist())) == set(map(tuple, expected.tolist()))

"""The broad phase against the obvious calculation: every pair near enough, each once, whatever sizes and places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from carom.contact import broad_phase
from carom.contact.broad_phase import neighbors
from carom.solvers.threads import limited, most_threads

EPS = np.finfo(float).eps
SEEDS = st.integers(0, 2**32 - 1)
DIMENSIONS = st.sampled_from([2, 3])


def all_pairs(after, radius, free):
    """(first, second, gap after) of all pairs that may count, first < second."""
    i, j = np.triu_indices(len(radius), 1)
    kept = free[i] | free[j]
    i, j = i[kept], j[kept]
    return i, j, np.linalg.norm(after[j] - after[i], axis=1) - radius[i] - radius[j]


def check(after, radius, free, margin):
    """Pairs exactly once, none missing, none too many; up to rounding of the places themselves."""
    listed = list(zip(*neighbors(after, radius, free, margin)))
    found = set(listed)
    assert len(found) == len(listed), "a pair twice"
    assert all(a < b for a, b in found)
    i, j, apart = all_pairs(after, radius, free)
    rounding = 8.0 * EPS * (np.abs(after).max() + radius.max() + margin)
    assert {(a, b) for a, b, g in zip(i, j, apart) if g < margin - rounding} <= found
    assert found <= {(a, b) for a, b, g in zip(i, j, apart) if g <= margin + rounding}


def places(rng, n, layout, scale, dimension):
    """Centers in different arrangements; `scale` is the largest diameter."""
    wide = scale * n ** (1.0 / dimension)
    if layout == "cloud":
        return rng.uniform(-0.5, 0.5, (n, dimension)) * wide
    if layout == "heap":  # all within one cell
        return rng.uniform(-0.5, 0.5, (n, dimension)) * scale * 0.1
    if layout == "line":
        return np.outer(np.arange(n) * 0.9 * scale, np.eye(dimension)[rng.integers(dimension)])
    if layout == "sheet":  # one cell thick, far wider than there are bodies to fill it
        out = rng.uniform(-0.5, 0.5, (n, dimension)) * 1e4 * wide
        out[:, rng.integers(dimension)] = 0.0
        out[: n // 2] *= 1e-4
        return out
    if layout == "one point":
        return np.zeros((n, dimension))
    if layout == "lattice":  # neighbors exactly one cell apart
        side = int(np.ceil(n ** (1.0 / dimension))) + 1
        return scale * np.stack(np.unravel_index(np.arange(n), (side,) * dimension), axis=1).astype(float)
    far = rng.uniform(-0.5, 0.5, (n, dimension)) * wide  # "flyers"
    few = rng.integers(0, n, max(1, n // 8))
    far[few] *= 10.0 ** rng.uniform(2.0, 9.0, (len(few), 1))
    return far


@given(
    SEEDS,
    st.integers(1, 70),
    DIMENSIONS,
    st.sampled_from([0.0, 0.3, 2.0, 4.0]),
    st.sampled_from(["cloud", "heap", "line", "sheet", "one point", "lattice", "flyers"]),
    st.sampled_from([0.0, -1e3, 1e6, -1e9]),
    st.sampled_from([0.0, 0.01, 3.0]),
)
def test_all_pairs_once(seed, n, dimension, decades, layout, shift, reach):
    """Sizes over four decades, all in a heap or strewn over a billion diameters, near the origin or far from it."""
    rng = np.random.default_rng(seed)
    radius = 10.0 ** rng.uniform(-decades, 0.0, n)
    scale = 2.0 * radius.max()
    after = places(rng, n, layout, scale, dimension) + shift
    check(after, radius, rng.random(n) < 0.7, reach * radius.min())


@given(SEEDS, st.integers(2, 40), DIMENSIONS)
def test_few_giants_among_dwarfs(seed, n, dimension):
    """A giant spans thousands of the dwarfs' cells: it must be found from all of them."""
    rng = np.random.default_rng(seed)
    radius = np.concatenate([np.full(n, 1e-3), [1.0, 0.4]])
    way = rng.normal(size=(n, dimension))
    rim = (1.0 + 1e-3 * rng.uniform(0.5, 1.5, n))[:, None] * way / np.linalg.norm(way, axis=1, keepdims=True)
    after = np.concatenate([rim, [np.zeros(dimension), 1.3 * np.eye(dimension)[0]]])
    check(after, radius, np.ones(n + 2, bool), 0.0)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_margin_larger_than_the_bodies(dimension):
    rng = np.random.default_rng(3)
    after = rng.uniform(0.0, 10.0, (50, dimension))
    check(after, np.full(50, 1e-3), np.ones(50, bool), 5.0)


@pytest.mark.parametrize("dimension", [2, 3])
def test_more_pairs_than_room_was_made_for(dimension):
    """All of 120 bodies meet: 7140 pairs, where lists begin with room for 480."""
    rng = np.random.default_rng(4)
    after = rng.uniform(0.0, 0.1, (120, dimension))
    check(after, np.ones(120), np.ones(120, bool), 0.0)


def test_fixed_pairs_are_left_out():
    after = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    free = np.array([False, False, True])
    first, second = neighbors(after, np.full(3, 0.6), free, 0.0)
    assert list(zip(first, second)) == [(1, 2)]


@given(SEEDS, st.integers(2, 60), DIMENSIONS, st.sampled_from([1.0, 1.6, 4.0]))
def test_pairs_across_periodic_sides(seed, n, dimension, largest):
    """Against the distances of the nearest images, of bodies up to some periods away from the box; the last axis has no
    period, and a few large bodies search the cells of the small ones."""
    rng = np.random.default_rng(seed)
    radius = np.where(rng.random(n) < 0.1, largest, rng.uniform(0.5, 1.0, n))
    period = np.array([33.0, 40.0, 0.0])[3 - dimension :]
    assert broad_phase.fits(period, radius, 0.1)
    place = rng.uniform(-1.0, 2.0, (n, dimension)) * np.where(period > 0.0, period, 12.0)
    i, j = np.triu_indices(n, 1)
    apart = place[j] - place[i]
    apart -= period * np.rint(apart / np.where(period > 0.0, period, 1.0))
    gap = np.linalg.norm(apart, axis=1) - radius[i] - radius[j]
    listed = list(zip(*neighbors(place, radius, np.ones(n, bool), 0.1, period)))
    assert len(set(listed)) == len(listed)
    assert set(listed) == set(zip(i[gap <= 0.1], j[gap <= 0.1]))


def many(n, dimension, seed=0):
    rng = np.random.default_rng(seed)
    radius = 10.0 ** rng.uniform(-1.0, 0.0, n)
    return rng.uniform(0.0, 1.2 * n ** (1.0 / dimension), (n, dimension)), radius, rng.random(n) < 0.9, 0.01


@pytest.mark.parametrize("dimension", [2, 3])
def test_bits_do_not_depend_on_threads_or_pieces(dimension, monkeypatch):
    """45,000 bodies in pieces on one and on two threads, and all in one piece."""
    world = many(45_000, dimension)
    answers = []
    for count, piece in ((1, broad_phase.BODIES_PER_TASK), (2, broad_phase.BODIES_PER_TASK), (2, 1000), (1, 10**9)):
        monkeypatch.setattr(broad_phase, "BODIES_PER_TASK", piece)
        with limited(min(count, most_threads())):
            answers.append(neighbors(*world))
    assert len(answers[0][0]) > 10_000
    for other in answers[1:]:
        for mine, theirs in zip(answers[0], other):
            assert mine.tobytes() == theirs.tobytes()


@pytest.mark.covering
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("n", [19_999, 20_001, 60_000])
def test_many_equal_bodies_against_a_tree(n, dimension):
    """Both sides of the size where the work is divided; the tree's pairs are the reference."""
    rng = np.random.default_rng(n)
    after = rng.uniform(0.0, 1.5 * n ** (1.0 / dimension), (n, dimension))
    first, second = neighbors(after, np.full(n, 0.5), np.ones(n, bool), 0.0)
    expected = cKDTree(after).query_pairs(1.0, output_type="ndarray")
    expected.sort(axis=1)
    assert len(first) == len(expected) > n // 2
    assert set(zip(first.tolist(), second.tolist())) == set(map(tuple, expected.tolist()))

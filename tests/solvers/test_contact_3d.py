"""Frictional contact of piles in 3D: the law by its words, symmetry, energy, slabs, and the factorization."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.solvers.space_piles import FALL, bricks, card_house, sphere_line, tower

from carom.solvers.contact import solve_contact
from carom.solvers.contact_slabs import slabs
from carom.solvers.linalg.contact_lu import assemble, eliminate, matrix_room, pattern_of, solve_eliminated

SEEDS = st.integers(0, 2**32 - 1)
TIGHT = 1e-9


def violation(pile, normal, tangent):
    """How far impulses are from the law, as a speed over the fastest: by its words, not by projections."""
    un, ut, _ = pile.after(normal, tangent)
    size, slip, bound = np.linalg.norm(tangent, axis=1), np.linalg.norm(ut, axis=1), pile.friction * normal
    assert (normal >= 0.0).all()
    assert (size <= bound * (1 + 1e-12) + 1e-15).all()
    weight = (pile.matrix**2).sum(axis=1)
    strength, rubbing = weight[: pile.count], weight[pile.count :].reshape(-1, 2).max(axis=1)
    wrong = [np.maximum(-un, 0.0), np.minimum(np.abs(un), strength * normal)]  # no approach; no push while apart
    wrong.append(np.minimum(slip, rubbing * np.maximum(bound - size, 0.0)))  # slip only at the bound
    across = np.linalg.norm(tangent * slip[:, None] + ut * size[:, None], axis=1)  # friction opposes slip
    wrong.append(across / np.maximum(slip / rubbing + size, 1e-300) * (size > 0.0))
    return max(w.max() for w in wrong) / pile.fastest()


def solved(pile, start=None, tolerance=TIGHT):
    """Impulses, the residual relative to the fastest speed, and the iterations."""
    normal, tangent = pile.start() if start is None else (start[0].copy(), start[1].copy())
    z = np.concatenate([normal[:, None], tangent], axis=1)
    answer = solve_contact(pile.rows, np.arange(pile.count), pile.velocity, z, tolerance * pile.fastest())
    return z[:, 0].copy(), z[:, 1:].copy(), answer.residual / pile.fastest(), answer.iterations


PILES = {
    "tower": lambda: tower(),
    "tower pushed": lambda: tower(kick=0.3),
    "bricks": lambda: bricks(),
    "bricks on slopes": lambda: bricks(tilt=0.2, mu=0.3),
    "bricks pushed": lambda: bricks(kick=0.03),
    "cards": lambda: card_house(),
    "cards on ice": lambda: card_house(mu=0.1),
    "cards pushed": lambda: card_house(kick=0.1, mu=0.9),
    "spheres": lambda: sphere_line(kick=0.5),
}


@pytest.mark.parametrize("name", PILES)
def test_the_law_by_its_words(name):
    """Far below the millionth of a fall that ten thousand steps would need to show; most contacts are redundant."""
    pile = PILES[name]()
    normal, tangent, residual, systems = solved(pile)
    assert residual <= TIGHT
    assert violation(pile, normal, tangent) < 1e-8
    assert 0 < systems < 1000


@pytest.mark.parametrize("name", ["tower", "cards", "bricks"])
def test_what_rests_costs_nothing_again(name):
    """From its own answer there is nothing to solve, and the answer stays to the bit."""
    pile = PILES[name]()
    normal, tangent, _, _ = solved(pile)
    again, rub, _, systems = solved(pile, (normal, tangent))
    assert systems == 0
    np.testing.assert_array_equal(again, normal)
    np.testing.assert_array_equal(rub, tangent)


def test_a_tower_rests_on_equal_feet():
    """Four equal feet carry a quarter each, by symmetry; which of many answers it is must not be left to chance."""
    normal, tangent, _, _ = solved(tower(10))
    above = np.repeat(np.arange(10, 0, -1), 4)
    np.testing.assert_allclose(normal, above * FALL / 4, rtol=1e-6)
    np.testing.assert_allclose(tangent, 0.0, atol=1e-8)


def test_a_card_house_stands_where_friction_allows():
    """Two plates that lean on each other need mu >= tan(lean) / 2 at the floor, more where more rests on them."""
    for mu, stands in ((0.6, True), (0.1, False)):
        pile = card_house(mu=mu)
        normal, tangent, _, _ = solved(pile)
        fastest = np.abs(pile.after(normal, tangent)[2]).max()
        assert (fastest < 1e-6) == stands


def test_mirror_images_of_a_card_house():
    """Left and right plates of a house that slips apart move alike, to the residual."""
    pile = card_house(stories=3, mu=0.1)
    normal, tangent, _, _ = solved(pile)
    x = pile.after(normal, tangent)[2].reshape(-1, 6)
    # story by story: plates in pairs from left to right, then roofs
    image = [5, 4, 3, 2, 1, 0, 7, 6, 11, 10, 9, 8, 12, 14, 13]
    flip = np.array([-1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    assert np.abs(x).max() > 0.1 * FALL
    np.testing.assert_allclose(x, flip * x[image], atol=1e-8)


@given(seed=SEEDS, mu=st.sampled_from([0.0, 0.1, 0.2]))
def test_the_velocity_does_not_depend_on_the_start(seed, mu):
    """With little friction the velocity after is unique, however it is found."""
    pile = sphere_line(4, mu=mu, kick=0.5, seed=seed)
    rng = np.random.default_rng(seed)
    normal, tangent, residual, _ = solved(pile, tolerance=1e-11)
    start = rng.random(pile.count), rng.normal(size=(pile.count, 2))
    other, rub, reference, _ = solved(pile, start, tolerance=1e-11)
    assert max(residual, reference) <= 1e-11
    np.testing.assert_allclose(pile.after(normal, tangent)[2], pile.after(other, rub)[2], atol=1e-8 * pile.fastest())


@given(seed=SEEDS, mu=st.floats(0.0, 1.0), kick=st.floats(0.0, 1.0))
def test_impulses_do_no_work(seed, mu, kick):
    """`z . u <= 0`, and so kinetic energy falls: solved to the end, and loosely from a bad start."""
    pile = tower(4, mu=mu, kick=kick, seed=seed)
    rng = np.random.default_rng(seed)
    rough, rub = rng.random(pile.count), rng.normal(size=(pile.count, 2))
    for start, tolerance in ((None, TIGHT), ((rough, rub), 1.0)):
        lam, beta, _, _ = solved(pile, start, tolerance)
        un, ut, x = pile.after(lam, beta)
        before = (pile.velocity**2).sum()
        assert lam @ un + (beta * ut).sum() <= 1e-12 * before
        assert (x**2).sum() <= before * (1 + 1e-12)


@given(seed=SEEDS, wanted=st.integers(1, 6))
def test_slabs_of_the_same_parity_share_no_body(seed, wanted):
    rng = np.random.default_rng(seed)
    n = 40
    tree = [(i, int(rng.integers(max(0, i - 4), i))) for i in range(1, n)]  # connected
    more = [tuple(rng.choice(np.arange(s, s + 5), 2, replace=False)) for s in rng.integers(0, n - 5, 30)]
    world = [(int(b), -1) for b in rng.integers(0, n, 8)]
    pair = np.array(tree + more + world, np.int32)
    order, cuts = slabs(pair, n, wanted)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(pair)))
    assert len(cuts) - 1 <= wanted
    groups = [set(pair[order[a:b]].ravel()) - {-1} for a, b in pairwise(cuts)]
    for parity in (0, 1):
        members = [b for g in groups[parity::2] for b in g]
        assert len(members) == len(set(members))


def test_dense_factors_solve_what_numpy_solves():
    """The same for rows over single components, of which each contact has its own."""
    rng = np.random.default_rng(1)
    n, k, w = 12, 7, 5
    body = np.array([rng.choice(n, w, replace=False) for _ in range(k)])
    body[2, 3] = -1
    val = rng.normal(size=(k, w, 3, 1)) * (body >= 0)[:, :, None, None]
    root = rng.normal(size=(k, 3, 3))
    q = root @ np.swapaxes(root, 1, 2) + 0.3 * rng.normal(size=root.shape)
    axes, three = (np.float32(0.0),), tuple(range(3))
    pattern = pattern_of(axes, body, n)
    matrix, x, right = matrix_room(axes, three, pattern), np.empty((n, 1)), rng.normal(size=(n, 1))
    assemble(axes, three, pattern, np.arange(k), val, q, matrix)
    eliminate(axes, pattern, matrix)
    solve_eliminated(axes, pattern, matrix, right.copy(), x)
    g = np.zeros((k, 3, n + 1))
    for p in range(k):
        g[p, :, body[p]] = val[p, :, :, 0]
    g = g[:, :, :n]
    dense = np.eye(n) + np.einsum("psi,pst,ptj->ij", g, q, g)
    np.testing.assert_allclose(dense @ x.ravel(), right.ravel(), atol=1e-10)


def test_sparse_factors_solve_what_numpy_solves():
    """`I + G^T Q G` with random blocks Q that are not symmetric."""
    pile = bricks(layers=3, across=3, deep=2, tilt=0.1)
    blocks, n = pile.rows, len(pile.velocity)
    axes, three = tuple(range(6)), tuple(range(3))
    pattern = pattern_of(axes, blocks.body, n)
    rng = np.random.default_rng(0)
    root = rng.normal(size=(pile.count, 3, 3))
    q = root @ np.swapaxes(root, 1, 2) + 0.3 * rng.normal(size=root.shape)
    matrix, x = matrix_room(axes, three, pattern), np.empty((n, 6))
    assemble(axes, three, pattern, np.arange(pile.count), blocks.val, q, matrix)
    eliminate(axes, pattern, matrix)
    right = rng.normal(size=(n, 6))
    solve_eliminated(axes, pattern, matrix, right.copy(), x)
    g = np.zeros((pile.count, 3, n, 6))
    for p in range(pile.count):
        for side in range(2):
            if blocks.body[p, side] >= 0:
                g[p, :, blocks.body[p, side]] = blocks.val[p, side]
    g = g.reshape(pile.count, 3, 6 * n)
    dense = np.eye(6 * n) + np.einsum("psi,pst,ptj->ij", g, q, g)
    np.testing.assert_allclose(dense @ x.ravel(), right.ravel(), atol=1e-10)

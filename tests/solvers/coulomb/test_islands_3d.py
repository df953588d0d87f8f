"""Coulomb's law in space: the law by its words, the reference sweeps, symmetry, energy, and large islands."""

from __future__ import annotations

from itertools import pairwise

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solvers.space_piles import FALL, bricks, card_house, sphere_line, tower

from carom.solvers.coulomb.contact_blocks import blocks_of
from carom.solvers.coulomb.islands_3d import coulomb_3d
from carom.solvers.coulomb.newton import solve_blocks
from carom.solvers.coulomb.slab_sweeps import slabs, sweeps
from carom.solvers.coulomb.sweeps import coupled_coulomb
from carom.solvers.linalg.block_lu import assemble_blocks, eliminate, pattern_of, solve_eliminated
from carom.solvers.rows import make_rows

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
    normal, tangent = pile.start() if start is None else (start[0].copy(), start[1].copy())
    residual, systems = coulomb_3d(*pile.given, normal, tangent, tolerance, 1000)
    return normal, tangent, residual, systems


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
@settings(max_examples=25, deadline=None)
def test_velocities_agree_with_the_reference_sweeps(seed, mu):
    """With little friction the velocity after is unique, however it is found."""
    pile = sphere_line(4, mu=mu, kick=0.5, seed=seed)
    normal, tangent, residual, _ = solved(pile, tolerance=1e-11)
    other, rub = pile.start()
    reference, _ = coupled_coulomb(*pile.given, other, rub, 1e-13, 20_000)
    assert residual <= 1e-11
    assert reference <= 1e-13
    np.testing.assert_allclose(pile.after(normal, tangent)[2], pile.after(other, rub)[2], atol=1e-8 * pile.fastest())


@given(seed=SEEDS, mu=st.floats(0.0, 1.0), kick=st.floats(0.0, 1.0))
@settings(max_examples=20, deadline=None)
def test_impulses_do_no_work(seed, mu, kick):
    """`z . u <= 0`, and so kinetic energy falls: solved to the end, and by a few sweeps from a bad start."""
    pile = tower(4, mu=mu, kick=kick, seed=seed)
    rng = np.random.default_rng(seed)
    normal, tangent, _, _ = solved(pile)
    rough, rub = rng.random(pile.count), rng.normal(size=(pile.count, 2))
    rub *= (0.5 * mu * rough / np.linalg.norm(rub, axis=1))[:, None]
    sweeps(*pile.given, rough, rub, np.arange(pile.count), 0.0, 3)
    for lam, beta in ((normal, tangent), (rough, rub)):
        un, ut, x = pile.after(lam, beta)
        before = (pile.velocity**2).sum()
        assert lam @ un + (beta * ut).sum() <= 1e-9 * before
        assert (x**2).sum() <= before * (1 + 1e-9)


def test_what_is_not_solved_does_no_work_either():
    """Three systems are too few for these piles: the residual says so, and impulses still take energy away."""
    for name in ("bricks pushed", "cards pushed", "tower pushed"):
        pile = PILES[name]()
        blocks = blocks_of(*pile.given, np.arange(pile.count), np.full(len(pile.velocity), -1))
        z = np.zeros((pile.count, 3))
        residual, _ = solve_blocks(blocks, pattern_of(blocks.body, len(blocks.velocity)), z, TIGHT, 3)
        un, ut, x = pile.after(z[:, 0], z[:, 1:])
        assert residual > 1e-6
        assert z[:, 0] @ un + (z[:, 1:] * ut).sum() <= 1e-12
        assert (x**2).sum() < (pile.velocity**2).sum()


def test_rows_over_many_bodies_go_to_the_reference():
    """A whitened matrix that is no pair of bodies obeys the law too."""
    pile = tower(2, kick=0.2)
    m = pile.count
    ones = np.arange(m + 1), np.zeros(m, np.int64)
    wide = pile.velocity.reshape(1, -1)
    rows = make_rows(*ones, pile.matrix[:m], 1)
    tangents = make_rows(np.arange(2 * m + 1), np.zeros(2 * m, np.int64), pile.matrix[m:], 1)
    lam, beta = pile.start()
    residual, _ = coulomb_3d(rows, tangents, wide, pile.boundary, pile.slip, pile.friction, lam, beta, 1e-11, 20_000)
    assert residual <= 1e-11
    assert violation(pile, lam, beta) < 1e-9


# -- large islands -------------------------------------------------------------------------------------------


def test_the_residual_of_sweeps_is_true_and_falls():
    """Ten sweeps a step, each from the last answer: the measured violation is about the reported residual."""
    pile = bricks(mu=0.4)
    normal, tangent = pile.start()
    everyone = np.arange(pile.count)
    residuals = []
    for _ in range(60):
        residual, count = sweeps(*pile.given, normal, tangent, everyone, 0.0, 10)
        assert count == 10
        residuals.append(residual)
    assert violation(pile, normal, tangent) < 2 * residuals[-1]
    assert residuals[-1] < 1e-2 * residuals[0]


def test_sweeps_end_at_the_tolerance():
    pile = sphere_line(kick=0.5)
    normal, tangent = pile.start()
    residual, count = sweeps(*pile.given, normal, tangent, np.arange(pile.count), 1e-10, 10_000)
    assert count < 500
    assert residual < 1e-9
    assert violation(pile, normal, tangent) < 1e-8


def test_a_steady_pile_does_not_sink_under_sweeps():
    """The same contacts step after step, five sweeps each from the last impulses: approach fades away.

    What matters for drift is the sum of approach over all steps; it converges, to a small part of one fall.
    """
    pile = bricks(layers=4)
    normal, tangent = pile.start()
    sunk = []
    for _ in range(200):
        sweeps(*pile.given, normal, tangent, np.arange(pile.count), 0.0, 5)
        sunk.append(np.maximum(-pile.after(normal, tangent)[0], 0.0).max() / FALL)
    assert sum(sunk[100:]) < 0.02 * sum(sunk)
    assert sunk[-1] < 1e-4


@given(seed=SEEDS, wanted=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_slabs_of_the_same_parity_share_no_body(seed, wanted):
    rng = np.random.default_rng(seed)
    n = 40
    tree = [(i, int(rng.integers(max(0, i - 4), i))) for i in range(1, n)]  # connected
    more = [tuple(rng.choice(np.arange(s, s + 5), 2, replace=False)) for s in rng.integers(0, n - 5, 30)]
    world = [(int(b), n) for b in rng.integers(0, n, 8)]
    pair = np.array(tree + more + world, np.int32)
    order, cuts = slabs(pair, n, wanted)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(pair)))
    assert len(cuts) - 1 <= wanted
    groups = [set(pair[order[a:b]].ravel()) - {n} for a, b in pairwise(cuts)]
    for parity in (0, 1):
        members = [b for g in groups[parity::2] for b in g]
        assert len(members) == len(set(members))


def test_threads_change_no_bit(monkeypatch):
    """Large islands are cut into slabs for threads; the cut does not depend on the number of threads."""
    monkeypatch.setattr("carom.solvers.coulomb.slab_sweeps.THREADED_SWEEPS_CONTACTS", 100)
    pile = bricks(layers=6, across=8, deep=2, kick=0.1)
    answers = []
    before = numba.get_num_threads()
    try:
        for threads in {1, before}:
            numba.set_num_threads(threads)
            normal, tangent = pile.start()
            sweeps(*pile.given, normal, tangent, np.arange(pile.count), 0.0, 7)
            answers.append(np.concatenate([normal, tangent.ravel()]))
    finally:
        numba.set_num_threads(before)
    for other in answers[1:]:
        np.testing.assert_array_equal(answers[0], other)


def test_sparse_factors_solve_what_numpy_solves():
    """`I + G^T Q G` with random blocks Q that are not symmetric."""
    pile = bricks(layers=3, across=3, deep=2, tilt=0.1)
    blocks = blocks_of(*pile.given, np.arange(pile.count), np.full(len(pile.velocity), -1))
    n = len(blocks.velocity)
    pattern = pattern_of(blocks.body, n)
    rng = np.random.default_rng(0)
    root = rng.normal(size=(pile.count, 3, 3))
    q = root @ np.swapaxes(root, 1, 2) + 0.3 * rng.normal(size=root.shape)
    diagonal, low = np.empty((n, 6, 6)), np.empty((len(pattern.col_row), 6, 6))
    up, x = np.empty_like(low), np.empty((n, 6))
    assemble_blocks(blocks, pattern, q, diagonal, low, up)
    eliminate(pattern, diagonal, low, up)
    right = rng.normal(size=(n, 6))
    solve_eliminated(pattern, diagonal, low, up, right.copy(), x)
    g = np.zeros((pile.count, 3, n, 6))
    for p in range(pile.count):
        for side in range(2):
            if blocks.body[p, side] >= 0:
                g[p, :, blocks.body[p, side]] = blocks.val[p, side]
    g = g.reshape(pile.count, 3, 6 * n)
    dense = np.eye(6 * n) + np.einsum("psi,pst,ptj->ij", g, q, g)
    np.testing.assert_allclose(dense @ x.ravel(), right.ravel(), atol=1e-10)

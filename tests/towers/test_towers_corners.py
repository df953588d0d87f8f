"""Bricks that meet corner to corner: stability, initial collapse and run agree, and with every choice of edges."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from carom.towers import Brick, Tower
from carom.towers.contacts import (
    TowerContacts,
    contact_rows,
    contacts_of,
    find_contacts,
    near_pairs,
    pair_contacts,
    weights,
)
from carom.towers.loop import Loop, LoopOptions

BRIDGE = [(0, 0.5, 3, 1), (5, 0.5, 2, 1), (3, 1.5, 3, 1)]  # its left end rests with a corner on a corner


def pile(rng: np.random.Generator) -> Tower:
    """Two or three rows of bricks on a grid, with gaps, and sometimes a square that stands on its corner."""
    bricks: list[Brick] = []
    for row in range(rng.integers(2, 4)):
        x = int(rng.integers(-3, 1))
        while x < 8:
            wide = int(rng.integers(1, 5))
            if row == 0 or rng.random() < 0.8:
                bricks.append(Brick.rectangle(x + wide / 2, row + 0.5, wide, 1))
            x += wide + int(rng.integers(0, 3))
    if rng.random() < 0.5:
        low = max(float(b.corners[:, 1].max()) for b in bricks)
        x = rng.choice([float(v) for b in bricks for v, y in b.corners if y == low])
        bricks.append(Brick.polygon([(x, low), (x + 1, low + 1), (x, low + 2), (x - 1, low + 1)]))
    return Tower(tuple(bricks))


def towers(seed: int, count: int) -> list[Tower]:
    """Random piles in which corners meet; piles with floating or overlapping bricks are drawn again."""
    from carom import ProblemError

    rng, found = np.random.default_rng(seed), list[Tower]()
    while len(found) < count:
        try:
            tower = pile(rng)
        except ProblemError:
            continue
        if 0 < tower.corner_count <= 6:
            found.append(tower)
    return found


def work(tower: Tower, rows: list[tuple[int, int, int, int]]) -> float:
    """The largest work of gravity on a motion with components up to 1 that no contact resists."""
    contacts = TowerContacts(
        *(np.concatenate(p) for p in zip(tower._touching.certain, contacts_of(tower.corners, rows)))
    )
    j = contact_rows(tower, contacts)
    found = linprog(-weights(tower), A_ub=-j, b_ub=np.zeros(j.shape[0]), bounds=(-1, 1), method="highs")
    return -float(found.fun)


def agree(tower: Tower) -> bool:
    """Checks all answers against each other; whether the tower is stable."""
    verdict, onset = tower.stability(), tower.initial_collapse()
    # Every choice of edges by itself. 1e-7 of a brick's weight: the tolerance of HiGHS is 1e-7.
    most = max(work(tower, list(rows)) for rows in product(*tower._touching.corners))
    assert verdict.stable == (most <= 1e-6) == onset.stands and verdict.proven
    step = 1e-3
    loop = Loop(tower, LoopOptions(step))
    loop.advance()
    center, turn = loop.coordinates.pose()
    moved = np.stack([*((center - tower.center @ [1, 1j]).view(float).reshape(-1, 2).T), np.angle(turn)], axis=1)
    # Free fall of a step is 5e-6 of a brick: rotation changes the arms by 1e-5, so accelerations agree to 1e-4 of g.
    assert np.abs(2.0 * moved / step**2 - onset.acceleration).max() <= 1e-4 * 9.81
    if verdict.stable:
        for _ in range(20):
            loop.advance()
        assert loop.still.all()
    return bool(verdict.stable)


def test_a_bridge_with_a_corner_on_a_corner_falls_in_every_answer():
    """About the corner of the right pier: alpha = g d / (d^2 + I/m) with d = 1, I/m = 10/12 is 5.35 rad/s^2."""
    tower = Tower.from_bricks(BRIDGE)
    assert not agree(tower)
    assert tower.initial_collapse().acceleration[2, 2] == pytest.approx(9.81 / (1 + 10 / 12), rel=1e-12)
    run = tower.collapse(steps=50)
    assert run.orientations[-1][2] > 0.3
    held = Tower.from_bricks([(0.5, 0.5, 4, 1), *BRIDGE[1:]])  # the left pier is longer by one
    assert agree(held) and held.corner_count == 0


def test_a_square_on_its_tip_needs_piers_that_do_not_slide():
    """Down is excluded by both corners together: dy < 0 would need dx >= -dy and dx <= dy. Free piers slide apart."""
    tip = Brick.polygon([(0, 1), (1, 2), (0, 3), (-1, 2)])
    for fixed in (True, False):
        piers = [Brick.rectangle(x, 0.5, 2, 1, fixed=fixed) for x in (-1, 1)]
        tower = Tower((*piers, tip))
        assert tower.corner_count == 2 and agree(tower) == fixed
        assert tower.stability(exact=True).exact


def test_stability_onset_and_run_agree_where_corners_meet():
    stable = [agree(tower) for tower in towers(0, 25)]
    assert 0 < sum(stable) < len(stable)


@pytest.mark.long
def test_stability_onset_and_run_agree_on_500_towers():
    stable = [agree(tower) for tower in towers(1, 500)]
    assert 50 < sum(stable) < 450


def test_pairs_together_are_those_one_by_one():
    """Pairs with the same numbers of corners are treated in one array: bricks and triangles on a coarse grid, which
    touch in faces, corners and not at all, have the contacts of every pair alone. No pair nearby is left out."""
    rng, touching = np.random.default_rng(3), 0
    for _ in range(20):
        corners = []
        for _ in range(10):
            wide, high = rng.choice([0.5, 1.0, 1.5]), rng.choice([0.5, 1.0])
            outline = (
                [(0, 0), (wide, 0), (wide, high), (0, high)] if rng.random() < 0.6 else [(0, 0), (wide, 0), (0, high)]
            )
            corners.append(np.array(outline, float) + 0.5 * rng.integers(0, 5, 2))
        boxes = [(c.min(axis=0) - 1e-6, c.max(axis=0) + 1e-6) for c in corners]
        near = [
            (i, j)
            for i in range(10)
            for j in range(i + 1, 10)
            if (boxes[i][0] <= boxes[j][1]).all() and (boxes[j][0] <= boxes[i][1]).all()
        ]
        assert near_pairs(corners, 2e-6) == near
        found = find_contacts(corners, near, 1e-6)
        alone = [pair_contacts(corners[i], corners[j], 1e-6) for i, j in near]
        assert found.deepest == max(0.0, *(-pair.separation for pair in alone))
        assert (found.certain.under >= 0).sum() == sum(len(pair.contacts) for pair in alone)
        assert len(found.corners) == sum(pair.corner is not None for pair in alone)
        touching += len(found.certain.on)
    assert touching > 300

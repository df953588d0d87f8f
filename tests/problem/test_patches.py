"""Weights of contacts: shares of a patch, checks, files."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import ImpactProblem, ProblemError
from carom.problem.patches import patch_shares

ROUNDING = 1e-12  # a few cuts of polygons of size 1


def flat(places):
    """Shares of points of the plane z = 0, contacts of one body with the ground."""
    places = np.asarray(places, dtype=float)
    m = len(places)
    points = np.column_stack([places, np.zeros(m)])
    return patch_shares(np.array([[-1, 0]] * m), points, np.array([[0.0, 0.0, 1.0]] * m))


def grid(n):
    side = np.linspace(-1.0, 1.0, n)
    return np.array([(x, 2.0 * y) for x in side for y in side])


def test_corners_share_alike_and_grids_follow_the_trapezoidal_rule():
    assert flat(grid(2)) == pytest.approx(np.full(4, 0.25), abs=ROUNDING)
    rule = np.array([0.5, 1.0, 1.0, 0.5]) / 3.0
    assert flat(grid(4)) == pytest.approx(np.outer(rule, rule).ravel(), abs=ROUNDING)


def test_points_on_a_line_share_its_length():
    """Ends stand for half of the distance to their neighbor; turned lines too."""
    x = np.array([0.0, 4.0, 1.0])
    for way in ([1.0, 0.0], [0.6, 0.8]):
        assert flat(np.outer(x, way)) == pytest.approx([0.125, 0.375, 0.5], abs=ROUNDING)
    twice = patch_shares(np.array([[-1, 0]] * 3), np.outer(x, [0.6, 0.8]), np.array([[-0.8, 0.6]] * 3))
    assert twice == pytest.approx([0.125, 0.375, 0.5], abs=ROUNDING)


def test_a_share_is_the_part_of_the_hull_that_is_nearest():
    """Against counting: 250,000 places of a square, each given to its nearest point; accurate to the cells' borders."""
    rng = np.random.default_rng(3)
    places = np.concatenate([grid(2) * [1.0, 0.5], rng.uniform(-1, 1, (9, 2))])
    side = (np.arange(500) + 0.5) / 250 - 1.0
    spots = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    nearest = np.linalg.norm(spots[:, None] - places[None], axis=2).argmin(axis=1)
    counted = np.bincount(nearest, minlength=len(places)) / len(spots)
    assert flat(places) == pytest.approx(counted, abs=2e-3)
    assert flat(places).sum() == pytest.approx(1.0, abs=ROUNDING)


def test_points_at_one_place_divide_its_share():
    assert flat(np.vstack([grid(2), grid(2)[:1]])) == pytest.approx([0.125, 0.25, 0.25, 0.25, 0.125], abs=ROUNDING)
    assert flat([[1.0, 1.0], [1.0, 1.0]]) == pytest.approx([0.5, 0.5])


def test_patches_are_those_of_a_pair_and_a_normal():
    """A box in a corner of a room: four points on the floor, two on the wall, one on another box."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1.0]])
    normals = np.array([[0, 0, 1.0]] * 4 + [[1.0, 0, 0]] * 2 + [[0, 0, 1.0]])
    pairs = np.array([[-1, 0]] * 6 + [[0, 1]])
    assert patch_shares(pairs, points, normals) == pytest.approx([0.25] * 4 + [0.5] * 2 + [1.0], abs=ROUNDING)


# -- weights of a problem --------------------------------------------------------------------------------------


def box(**options):
    points = np.column_stack([grid(3), np.zeros(9)])
    return ImpactProblem.from_contacts(
        positions=[[0.0, 0.0, 0.5]],
        masses=[1.0],
        inertias=[np.diag([1.5, 0.5, 2.0])],
        velocities=[[0.0, 0.0, -1.0, 0.2, 0.1, 0.0]],
        bodies=[[-1, 0]] * 9,
        points=points,
        normals=[[0.0, 0.0, 1.0]] * 9,
        **options,
    )


def test_weights_stay_with_their_contacts(tmp_path):
    w = np.arange(1.0, 10.0)
    problem = box(weights=w, restitution=0.5)
    order = np.random.default_rng(0).permutation(9)
    assert problem.permuted(order).weights == pytest.approx(w[order])
    assert problem.selected([2, 5]).weights == pytest.approx([3.0, 6.0])
    assert problem.with_(restitution=0.1).weights == pytest.approx(w)
    assert problem.with_(weights=2.0).weights == pytest.approx(np.full(9, 2.0))
    assert problem.contacts.with_restitution(1.0).moving(problem.contacts.velocity).shares == pytest.approx(w)
    for name in ("p.json", "p.npz"):
        again = ImpactProblem.load(problem.save(tmp_path / name))
        np.testing.assert_array_equal(again.weights, w)
        same = [carom.solve_impact(p, "qce").velocity for p in (problem, again)]
        np.testing.assert_array_equal(*same)


def test_unit_weights_are_none_and_change_no_file(tmp_path):
    assert box().weights is None and box(weights=1.0).weights is None
    assert "weights" not in box().save(tmp_path / "p.json").read_text()
    assert box().contacts.shares == pytest.approx(np.ones(9))


def test_weights_of_the_patch():
    assert box(weights="patch").weights == pytest.approx(flat(grid(3)))


@pytest.mark.parametrize("bad", [0.0, -1.0, [1.0, 2.0], np.nan, "area"])
def test_bad_weights_are_refused(bad):
    with pytest.raises(ProblemError) as error:
        box(weights=bad)
    assert error.value.field == "weights"


def test_other_constructors_take_weights():
    chain = ImpactProblem.chain([1, 1, 1], [1, 0, 0], weights=[1, 3])
    discs = ImpactProblem.from_discs([[0, 0], [1, 0]], 0.5, 1.0, [[1, 0], [0, 0]], weights=2.0)
    plain = ImpactProblem.from_matrices(np.eye(2), [[-1.0, 1.0]], [1.0, 0.0], weights=[0.5])
    assert [p.weights.tolist() for p in (chain, discs, plain)] == [[1.0, 3.0], [2.0], [0.5]]

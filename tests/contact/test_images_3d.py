"""Periodic and Lees-Edwards sides in 3D: contacts across them against all images, and wrapping."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom import ProblemError
from carom.contact.broad_phase import neighbors
from carom.contact.images import counts_once, make_images, wrapped
from carom.scene import Periodic

SEEDS = st.integers(0, 2**32 - 1)
PERIODIC = [
    Periodic(z=(-1.0, 4.0)),
    Periodic(x=(-3.0, 4.0), z=(0.0, 5.0)),
    Periodic(x=(-3.0, 4.0), y=(0.0, 5.0), z=(1.0, 4.5)),
    Periodic(x=(0.0, 4.0), z=(0.0, 6.0), shear_rate=0.7, sheared="z"),
    Periodic(x=(0.0, 4.0), y=(-1.0, 3.0), z=(0.0, 5.0), shear_rate=0.7, sheared="y"),
    Periodic(x=(0.0, 5.0), y=(-2.0, 2.5), z=(0.0, 4.0), shear_rate=-1.3, sheared="x"),
    Periodic(x=(0.0, 2.2), y=(0.0, 2.4), z=(0.0, 2.3)),  # narrow: hardly wider than one body
    Periodic(x=(0.0, 2.2), y=(0.0, 2.4), z=(0.0, 2.3), shear_rate=0.4, sheared="z"),
]


def shift_of(periodic, time, turns):
    """Where the image that is `turns` (3,) boxes away stands relative to its owner."""
    length = np.array([0.0 if side is None else side[1] - side[0] for side in periodic.sides])
    out = np.array(turns) * length
    across = "xyz".index(periodic.sheared)
    out[1 if periodic.sheared == "x" else 0] += turns[across] * periodic.shear_rate * length[across] * time
    return out


def by_all_images(periodic, before, after, radius, margin, time, step):
    """{(i, j, apart at the start, rounded): (gap after, velocity of the image)} over every image of every pair."""
    reach = [0 if side is None else 2 for side in periodic.sides]
    along = 1 if periodic.sheared == "x" else 0
    if periodic.shear_rate:  # images have slid by any number of boxes
        length = [0.0 if side is None else side[1] - side[0] for side in periodic.sides]
        slid = 2.0 * abs(periodic.shear_rate) * length["xyz".index(periodic.sheared)] * (time + step)
        reach[along] += int(np.ceil(slid / length[along]))
    out = {}
    for turns in product(*(range(-k, k + 1) for k in reach)):
        shift0, shift1 = shift_of(periodic, time, turns), shift_of(periodic, time + step, turns)
        for i in range(len(radius)):
            for j in range(i + 1, len(radius)):
                gap = np.linalg.norm(after[j] + shift1 - after[i]) - radius[i] - radius[j]
                if gap <= margin:
                    apart = before[j] + shift0 - before[i]
                    out[(i, j, *np.round(apart, 7) + 0.0)] = (gap, *(shift1 - shift0) / step)
    return out


def by_copies(periodic, before, after, radius, margin, time, step):
    images = make_images(periodic, after, radius, margin, time + step)
    own = images.owner
    p0, p1 = before[own] + images.shift - step * images.drift, after[own] + images.shift
    a, b = neighbors(p1, radius[own], np.ones(len(own), bool), margin)
    predicted = np.linalg.norm(p1[b] - p1[a], axis=1) - radius[own[a]] - radius[own[b]]
    once = counts_once(images, a, b)
    out = {}
    for k in np.flatnonzero(once):
        i, j, apart = own[a[k]], own[b[k]], p0[b[k]] - p0[a[k]]
        drift = images.drift[b[k]] - images.drift[a[k]]
        if i > j:
            i, j, apart, drift = j, i, -apart, -drift
        name = (i, j, *np.round(apart, 7) + 0.0)
        assert name not in out, "a contact twice"
        out[name] = (predicted[k], *drift)
    return out


@pytest.mark.parametrize("periodic", PERIODIC, ids=range(len(PERIODIC)))
@given(seed=SEEDS, n=st.integers(1, 4), time=st.sampled_from([0.0, 0.013, 4.77]))
def test_contacts_are_those_of_all_images_each_once(periodic, seed, n, time):
    """Across sides, edges and corners, in boxes as narrow as a body, after sides have slid for long."""
    rng = np.random.default_rng(seed)
    radius = rng.uniform(0.2, 1.0, n)
    low = np.array([-2.0 if s is None else s[0] for s in periodic.sides])
    high = np.array([2.0 if s is None else s[1] for s in periodic.sides])
    before = low + (high - low) * rng.random((n, 3))
    after = before + rng.normal(size=(n, 3)) * 0.1
    step, margin = 0.05, 0.02
    expected = by_all_images(periodic, before, after, radius, margin, time, step)
    found = by_copies(periodic, before, after, radius, margin, time, step)
    sure = {name for name, (gap, *_) in expected.items() if gap < margin - 1e-9}
    assert sure <= set(found) <= set(expected)
    for name in sure:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-9)


@pytest.mark.parametrize("periodic", PERIODIC, ids=range(len(PERIODIC)))
@given(seed=SEEDS)
def test_wrapping_lands_inside_on_an_image(periodic, seed):
    """However far away: the place moved by whole boxes, and the velocity by that of the image."""
    rng = np.random.default_rng(seed)
    time = 3.7
    place, velocity = rng.uniform(-30.0, 30.0, (5, 3)), rng.normal(size=(5, 6))
    inside, moving = wrapped(periodic, place, velocity, time)
    length = np.array([np.inf if side is None else side[1] - side[0] for side in periodic.sides])
    for side, x in zip(periodic.sides, inside.T):
        assert side is None or ((x >= side[0]) & (x < side[1])).all()
    across, along = "xyz".index(periodic.sheared), 1 if periodic.sheared == "x" else 0
    jump = np.zeros((5, 3))
    if periodic.shear_rate:
        jump[:, along] = periodic.shear_rate * np.round(place[:, across] - inside[:, across], 9)
    turns = (place - inside - time * jump) / length
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-9)
    np.testing.assert_allclose(velocity[:, :3] - moving[:, :3], jump, atol=1e-8)
    np.testing.assert_array_equal(velocity[:, 3:], moving[:, 3:])


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"z": (1.0, 1.0)}, "periodic.z"),
        ({"z": (0.0, np.nan)}, "periodic.z"),
        ({"x": (0.0, 1.0), "y": (0.0, 1.0), "shear_rate": 1.0, "sheared": "z"}, "periodic.shear_rate"),
        ({"y": (0.0, 1.0), "z": (0.0, 1.0), "shear_rate": 1.0, "sheared": "z"}, "periodic.shear_rate"),
        ({"x": (0.0, 1.0), "sheared": "w"}, "periodic.sheared"),
    ],
)
def test_refusals(bad, field):
    with pytest.raises(ProblemError) as caught:
        Periodic(**bad)
    assert caught.value.field == field

"""The tumbling handle, small: its closed form, its moments, and what the study reports."""

from __future__ import annotations

import numpy as np
import pytest

from carom.reproduce import Case, tumbling
from carom.reproduce.tumbling import CENTER, HALF, moments


def test_moments_are_those_of_the_sampled_handle():
    """Midpoints of small cubes; a cut of n each way is off by 1 / n^2 of a box's own moment."""
    n = 40
    steps = (np.arange(n) + 0.5) / n * 2 - 1
    grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    points = np.concatenate([center + half * grid for center, half in zip(CENTER, HALF)])
    weight = np.repeat(8 * HALF.prod(axis=1) / n**3, n**3)
    arm = points - weight @ points / weight.sum()
    sampled = [float(weight @ (arm[:, [j, k]] ** 2).sum(axis=1)) for j, k in ((1, 2), (2, 0), (0, 1))]
    assert moments() == pytest.approx(sampled, rel=2 / n**2)
    assert (np.diff(moments()) > 0).all()  # the stem is the middle axis


@pytest.mark.parametrize("spin", [(0.3, 1.0, 0.3), (0.3, 1.0, -0.2), (-0.9, -0.4, 0.2), (0.05, 0.3, 1.0)])
def test_the_closed_form_solves_eulers_equation(spin):
    """w_2' = (I_3 - I_1) w_1 w_3 / I_2 at the start, and `w_2'^2` as energy and momentum demand it later."""
    inertia = np.array([1.0, 2.0, 2.7])
    w = np.array(spin)
    flip = tumbling.flip_of(w, inertia)
    e = 1e-5
    slope = (flip.middle(np.array([e])) - flip.middle(np.array([-e])))[0] / (2 * e)
    assert flip.middle(np.array([0.0]))[0] == pytest.approx(spin[1], abs=1e-12)
    assert slope == pytest.approx((inertia[2] - inertia[0]) * w[0] * w[2] / inertia[1], rel=1e-7)
    assert flip.middle(np.array([2 * flip.half_period]))[0] == pytest.approx(spin[1], abs=1e-9)


@pytest.mark.long
def test_tumbling(tmp_path):
    told = []
    result = tumbling.run(Case(tmp_path, lambda part, what: told.append(part)), steps=20_000)
    assert [path.name for path in result.files] == [
        "tumbling.png",
        "tumbling.svg",
        "tumbling.pdf",
        "tumbling.csv",
        "tumbling_flip.csv",
        "tumbling_orders.csv",
    ]
    assert result.files[0].read_bytes().startswith(b"\x89PNG")
    n = result.numbers
    assert n["Moser-Veselov: energy drift"] <= 1e-13 and n["Moser-Veselov: momentum drift"] <= 1e-13
    assert n["split: energy drift"] > 1e-6 and n["split: momentum drift"] <= 1e-12
    assert n["flip: measured, seconds"] == pytest.approx(n["flip: closed form, seconds"], rel=1e-3)
    for scheme in tumbling.SCHEMES:
        assert n[f"{scheme}: order"] == pytest.approx(2.0, abs=0.02)
    assert told == sorted(told) and told[-1] == 1.0

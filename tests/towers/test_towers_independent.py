"""Towers against a calculation that shares nothing with the package: see `independent.py`."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from tests.towers.independent import (
    all_contacts,
    apart_of,
    contacts,
    gauss_at_rest,
    mass_of,
    nearest,
    pin_rows_of,
    random_bodies,
    rows_of,
)

from carom.towers import Brick, Tower
from carom.towers.loop import Loop, LoopOptions

GRAVITY = 9.81
FRAMEWORKS = [("reduced", "braced"), *(("framework", bracing) for bracing in ("minimal", "braced", "overbraced"))]


def tower_of(bodies, fixed, pins, model="uniform", gravity=GRAVITY) -> Tower:
    bricks = [Brick.polygon(body, fixed=held) for body, held in zip(bodies, fixed)]
    return Tower.from_bricks(bricks, pins=pins, mass_model=model, gravity=gravity, floating=True)


def definite(bodies, pins) -> bool:
    """Whether no two bodies touch by bare corners, where the direction of the force is open; no pin to the ground."""
    apart = apart_of(pins)
    pairs = [(i, j) for j in range(len(bodies)) for i in range(j) if (i, j) not in apart]
    bare = any(set(bodies[i]) & set(bodies[j]) and not contacts(bodies[i], bodies[j]) for i, j in pairs)
    return not bare and all(second >= 0 for _, second, _ in pins)


def definite_seeds(count):
    """The first seeds whose bodies are definite. Only tests ask: to make the piles takes a second."""
    return list(islice((seed for seed in range(80) if definite(*random_bodies(seed)[::2])), count))


@pytest.mark.parametrize("model", ["uniform", "corners"])
def test_masses_are_those_of_the_polygon(model):
    for seed in range(10):
        bodies, fixed, _ = random_bodies(seed)
        tower = tower_of(bodies, fixed, [], model)
        for i, body in enumerate(bodies):
            mass, center, inertia = mass_of(body, model)
            assert tower.mass[i] == pytest.approx(mass, rel=1e-13)
            assert tower.center[i] == pytest.approx(center, abs=1e-12)
            assert tower.inertia[i] == pytest.approx(inertia, rel=1e-12)


@pytest.mark.parametrize("model", ["uniform", pytest.param("corners", marks=pytest.mark.long)])
def test_initial_collapse_of_fifty_random_towers(model):
    """1e-8 is asked for; both ways agree to 1e-11 of g."""
    moving = 0
    for seed in definite_seeds(50):
        bodies, fixed, pins = random_bodies(seed)
        expected, ge, eq = gauss_at_rest(bodies, fixed, pins, model, GRAVITY)
        found = tower_of(bodies, fixed, pins, model).initial_collapse()
        assert np.abs(found.acceleration - expected).max() < 1e-9, seed
        assert found.certificate < 1e-10
        assert (ge @ found.acceleration.ravel()).min(initial=0.0) > -1e-9
        assert np.abs(eq @ found.acceleration.ravel()).max(initial=0.0) < 1e-9
        moving += len(found.moving) > 0
    assert moving > 25  # else the comparison is of zeros


@pytest.mark.parametrize("model", ["uniform", "corners"])
def test_all_frameworks_begin_alike(model):
    for seed in definite_seeds(12):
        bodies, fixed, pins = random_bodies(seed)
        tower = tower_of(bodies, fixed, pins, model)
        made = [tower.initial_collapse(coordinates=c, bracing=b).acceleration for c, b in FRAMEWORKS]
        for other in made[1:]:
            assert np.abs(other - made[0]).max() < 1e-8, seed


def test_the_first_step_is_the_initial_collapse():
    """One program, from rest, at gap 0: p1 - p0 = a step^2 exactly. The loop finds its contacts by itself."""
    step = 1e-3
    for seed in definite_seeds(40):
        bodies, fixed, pins = random_bodies(seed)
        expected, _, _ = gauss_at_rest(bodies, fixed, pins, "uniform", GRAVITY)
        loop = Loop(tower_of(bodies, fixed, pins), LoopOptions(step, passes=1))
        loop.advance()
        assert np.abs(loop.motion / step**2 - expected).max() < 1e-6, seed  # round-off of places over step^2: 1e-9


def test_without_gravity_a_step_is_the_inelastic_impact():
    """Theorem 7.1: min 1/2 (v - v_old)^T M (v - v_old), contact speeds >= 0. All contacts here touch at the start."""
    for seed in definite_seeds(20):
        bodies, fixed, pins = random_bodies(seed)
        tower = tower_of(bodies, fixed, pins, gravity=0.0)
        step = 1e-4  # nothing else comes into reach; gaps are 0 to 1e-15, over the step 1e-11
        velocity = np.random.default_rng(seed).normal(size=(len(bodies), 3)) * tower.free[:, None]
        parts = [mass_of(body, "uniform") for body in bodies]
        centers, weight = np.array([c for _, c, _ in parts]), np.array([(m, m, i) for m, _, i in parts])
        weight = (weight * tower.free[:, None]).ravel()
        old = velocity.copy()
        old[:, 2] = np.sin(step * velocity[:, 2]) / step  # the turn of points that lie on circles
        ge = rows_of(bodies, centers, tower.free, all_contacts(bodies, apart_of(pins)))
        eq = pin_rows_of(bodies, centers, tower.free, pins)
        expected = nearest(weight, old.ravel(), ge, eq).reshape(-1, 3)
        loop = Loop(tower, LoopOptions(step, passes=1), velocity)
        loop.advance()
        assert np.abs(loop.motion / step - expected).max() < 1e-9, seed


def test_the_independent_calculation_can_tell():
    """Left out contacts change the answer: the reference is no rubber stamp."""
    bodies, fixed, pins = random_bodies(*definite_seeds(1))
    right, _, _ = gauss_at_rest(bodies, fixed, pins, "uniform", GRAVITY)
    parts = [mass_of(body, "uniform") for body in bodies]
    weight = (np.array([(m, m, i) for m, _, i in parts]) * ~np.array(fixed)[:, None]).ravel()
    wish = np.tile([0.0, -GRAVITY, 0.0], len(bodies)) * (weight > 0)
    ge = rows_of(bodies, np.array([c for _, c, _ in parts]), ~np.array(fixed), all_contacts(bodies, apart_of(pins))[1:])
    wrong = nearest(weight, wish, ge).reshape(-1, 3)
    assert np.abs(wrong - right).max() > 1e-3

"""Rotations of 2D and 3D through the same functions: angles with numbers, quaternions with vectors."""

from __future__ import annotations

import numpy as np
import pytest

from carom.geometry.rotations import (
    SPIN_SHAPE,
    composed,
    cross,
    orientation_of,
    rotated,
    rotation_between,
    spin_components,
    spin_to_body,
    velocity_components,
)
from carom.problem.assemble import friction_in_world

N = 20
ROUNDING = 1e-14  # a few products of numbers of order 1

both = pytest.mark.parametrize("dimension", [2, 3])


def vectors(dimension: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, dimension))


def small_rotations(dimension: int, seed: int = 1) -> np.ndarray:
    return 0.4 * vectors(spin_components(dimension), seed)


@both
def test_numbers_of_components(dimension):
    assert spin_components(dimension) == len(np.triu_indices(dimension, 1)[0])
    assert velocity_components(dimension) == {2: 3, 3: 6}[dimension]
    assert np.prod(SPIN_SHAPE[dimension], dtype=int) == spin_components(dimension)


def in_world(turn, spin):
    """Angular velocities of body frames in the frame of the world; in 2D they are the same."""
    return rotated(turn, spin) if spin.shape[1] == 3 else spin


@both
def test_rotations_keep_lengths_and_cross_products(dimension):
    turn, a, b = orientation_of(small_rotations(dimension)), vectors(dimension, 2), vectors(dimension, 3)
    assert np.linalg.norm(rotated(turn, a), axis=1) == pytest.approx(np.linalg.norm(a, axis=1), rel=ROUNDING)
    assert cross(rotated(turn, a), rotated(turn, b)) == pytest.approx(in_world(turn, cross(a, b)), abs=1e2 * ROUNDING)


@both
def test_a_rotation_vector_leads_from_one_orientation_to_the_other(dimension):
    before, vector = orientation_of(small_rotations(dimension, 4)), small_rotations(dimension, 5)
    after = composed(orientation_of(vector), before)
    assert rotation_between(before, after) == pytest.approx(vector, abs=1e2 * ROUNDING)


@both
def test_spins_in_the_frames_of_bodies_and_of_the_world(dimension):
    turn, spin = orientation_of(small_rotations(dimension)), vectors(spin_components(dimension), 6)
    assert spin_to_body(turn, in_world(turn, spin)) == pytest.approx(spin, abs=1e1 * ROUNDING)
    still = np.zeros((N, 0))  # of a world where nothing rotates
    assert spin_to_body(turn, still).shape == (N, 0)


@both
def test_friction_of_the_world_has_its_components_back(dimension):
    normal = vectors(dimension, 7)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    tangent = vectors(dimension - 1, 8)
    friction = friction_in_world(normal, tangent)
    assert friction.shape == (N, *SPIN_SHAPE[dimension])
    size = np.linalg.norm(friction, axis=1) if dimension == 3 else np.abs(friction)
    assert size == pytest.approx(np.linalg.norm(tangent, axis=1), abs=1e1 * ROUNDING)
    if dimension == 3:
        assert np.einsum("ij,ij->i", friction, normal) == pytest.approx(0.0, abs=1e1 * ROUNDING)

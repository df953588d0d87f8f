"""Small vectors: the same numbers inside kernels, outside of them and written out by component."""

from __future__ import annotations

import numpy as np
import pytest

from carom.geometry.vectors import Mat3, Vec2, Vec3, cross, dot, norm, put_row, row2, row3, to_local, to_world
from carom.kernels import kernel


@kernel
def in_space(table, out):
    a, b, c = row3(table, 0), row3(table, 1), row3(table, 2)
    put_row(out, 0, 2 * (a + b) / norm(c) - cross(-a, b) * 0.3)
    put_row(out, 1, to_world(Mat3(a, b, c), a))
    put_row(out, 2, to_local(Mat3(a, b, c), a))
    return dot(a, b)


@kernel
def in_the_plane(table, out):
    a, b = row2(table, 0), row2(table, 1)
    put_row(out, 0, (a - b) / norm(a) + 3.0 * b)
    return dot(a, b) + cross(a, b)


@pytest.mark.parametrize("run", [in_space, getattr(in_space, "py_func", in_space)], ids=["compiled", "uncompiled"])
def test_formulas_in_space_are_those_of_numpy(run):
    table, out = np.random.default_rng(1).normal(size=(3, 3)), np.zeros((3, 3))
    a, b, c = table
    assert run(table, out) == pytest.approx(a @ b, abs=1e-15)
    np.testing.assert_allclose(out[0], 2.0 * (a + b) / np.linalg.norm(c) - np.cross(-a, b) * 0.3, atol=1e-14)
    np.testing.assert_allclose(out[1], table @ a, atol=1e-14)
    np.testing.assert_allclose(out[2], table.T @ a, atol=1e-14)


@pytest.mark.parametrize("run", [in_the_plane, getattr(in_the_plane, "py_func", in_the_plane)])
def test_formulas_in_the_plane(run):
    table, out = np.array([[3.0, 4.0], [1.0, -2.0]]), np.zeros((1, 2))
    assert run(table, out) == 3.0 - 8.0 + (3.0 * -2.0 - 4.0 * 1.0)
    np.testing.assert_allclose(out[0], [2.0 / 5.0 + 3.0, 6.0 / 5.0 - 6.0], rtol=1e-15)


def test_compiled_and_uncompiled_kernels_give_the_same_bits():
    table = np.random.default_rng(2).normal(size=(3, 3))
    one, two = np.zeros((3, 3)), np.zeros((3, 3))
    in_space(table, one)
    getattr(in_space, "py_func", in_space)(table, two)
    np.testing.assert_array_equal(one, two)


def test_vectors_of_python_are_values():
    assert Vec2(1.0, 2.0) + Vec2(0.5, -2.0) == Vec2(1.5, 0.0)
    assert -Vec3(1.0, 2.0, 3.0) == Vec3(-1.0, -2.0, -3.0)
    assert cross(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0)) == Vec3(0.0, 0.0, 1.0)
    assert cross(Vec2(1.0, 0.0), Vec2(0.0, 1.0)) == 1.0

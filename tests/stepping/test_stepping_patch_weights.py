"""Runs under laws with patch weights: contacts of a manifold share the weight of one contact."""

from __future__ import annotations

import numpy as np

from carom import laws
from carom.scene import Bodies, Material, Scene
from carom.scene.boundaries import Plane
from carom.scene.shapes import Box, Sphere
from carom.stepwise import Simulation

STEP = 1e-3


def struck(law, sphere_only=False):
    """Velocities after a sphere has struck a box that stands on the ground, off its center, or the ground itself."""
    ball = Bodies(Sphere(0.2), np.array([[0.3, 0.1, 1.2 + 0.5 * STEP]]), np.array([[0.0, 0.0, -1.0]]), mass=1.0)
    box = Bodies(Box((2.0, 1.5, 1.0)), np.array([[0.0, 0.0, 0.5]]), np.zeros((1, 3)), mass=1.0)
    ground = Plane((0.0, 0.0, 1.0 if sphere_only else 0.0), (0.0, 0.0, 1.0))
    bodies = [ball] if sphere_only else [box, ball]
    scene = Scene("struck", bodies, [ground], materials={"default": Material(1.0)}, gravity=(0.0, 0.0, 0.0))
    simulation = Simulation(scene, law, step=STEP, tolerance="exact")
    for _ in range(3):
        simulation.step()
    return simulation.state.velocity


def test_patch_weights_matter_where_manifolds_have_several_points():
    """Under lzb the ground is a quarter as stiff at each of four corners. Energy is kept either way."""
    plain, shared = (struck(laws.make("lzb", patch_weights=flag)) for flag in (False, True))
    assert np.abs(plain - shared).max() > 0.01
    alone = [struck(laws.make("lzb", patch_weights=flag), sphere_only=True) for flag in (False, True)]
    np.testing.assert_array_equal(*alone)
    moment = np.array([1.5**2 + 1.0, 4.0 + 1.0, 4.0 + 1.5**2]) / 12.0
    for velocity in (plain, shared):
        energy = 0.5 * (velocity[:, :3] ** 2).sum() + 0.5 * (moment * velocity[0, 3:] ** 2).sum()
        assert abs(energy - 0.5) < 1e-9

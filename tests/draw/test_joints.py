"""Joints in pictures: their lines follow the bodies."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.draw.joints import drawn_joints
from carom.scene import Bodies, Disc, Rod, Rope, Scene, Spring


def mixed():
    """A ball on a rod, one on a slack rope, one on a spring."""
    balls = Bodies(Disc(0.1), np.array([[0.0, -1.0], [1.0, -0.5], [2.0, -1.0]]), mass=1.0)
    joints = (
        Rod(("world", 0), ((0.0, 0.0), (0.0, -1.0))),
        Rope(("world", 1), ((1.0, 0.0), (1.0, -0.5)), length=0.8),
        Spring(("world", 2), ((2.0, 0.0), (2.0, -1.0)), stiffness=50.0),
    )
    return Scene("mixed", (balls,), joints=joints, gravity=(0.0, -9.81), step=0.01)


def test_lines_end_at_the_bodies():
    run = carom.simulate(mixed(), duration=0.1)
    for state in (run.frame(0), run.last):
        lines = drawn_joints(run.world, state).lines
        for k, line in enumerate(lines):
            assert line[0] == pytest.approx([float(k), 0.0])
            assert line[-1] == pytest.approx(state.position[k])
    assert len(drawn_joints(run.world, run.frame(0)).lines[1]) > 2  # a slack rope sags
    lengths = np.linalg.norm(np.diff(drawn_joints(run.world, run.frame(0)).lines[1], axis=0), axis=1).sum()
    assert lengths == pytest.approx(0.8, rel=1e-4)

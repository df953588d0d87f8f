"""Runs that all exports take: of the plane, of space, and with joints."""

from __future__ import annotations

import pytest
from tests.trajectory.small import whole_run

import carom
from carom import Trajectory
from carom.scenes import SCENES


@pytest.fixture(scope="package")
def flat(tmp_path_factory) -> Trajectory:
    """Discs and boxes in a drum above a vibrating floor, with impulses: 7 bodies, 21 frames."""
    return whole_run(tmp_path_factory.mktemp("flat") / "flat.h5")


@pytest.fixture(scope="package")
def solid() -> Trajectory:
    """Compounds in a container, 3D."""
    scene = SCENES["cross_packing"](**SCENES["cross_packing"].small)
    return carom.simulate(scene, duration=3 * scene.step, frame_rate=1.0 / scene.step, impulses=True)


@pytest.fixture(scope="package")
def jointed() -> Trajectory:
    """A double pendulum beside a wall."""
    scene = SCENES["double_pendulum"](**SCENES["double_pendulum"].small)
    return carom.simulate(scene, duration=4 * scene.step, frame_rate=1.0 / scene.step, impulses=True)

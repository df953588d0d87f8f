"""Small runs, made once, and the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import carom
from carom.cli.errors import run as run_command
from carom.cli.main import app
from carom.scene import Bodies, Disc, Plane, Polygon, Scene
from carom.scenes import SCENES


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def ball(folder) -> Path:
    """One disc of radius 1 that flies from x = 0 to x = 4 in two time units, 11 frames, without events."""
    scene = Scene("one_ball", [Bodies(Disc(1.0), [[0.0, 0.0]], velocity=[[2.0, 0.0]])], stepper="synchronous")
    path = folder / "ball.h5"
    carom.simulate(scene, "gr", duration=2.0, step=0.1, frame_rate=5, output=path, events="none").close()
    return path


@pytest.fixture(scope="session")
def struck(folder) -> Path:
    """Newton's cradle of three, 21 frames, with impulses."""
    place = [[-2.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    balls = Bodies(Disc(0.5), place, velocity=[[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    path = folder / "struck.h5"
    scene = Scene("newtons_cradle", [balls], stepper="synchronous")
    carom.simulate(scene, "gr", duration=2.0, step=0.01, frame_rate=10, impulses=True, output=path).close()
    return path


@pytest.fixture(scope="session")
def boxes(folder) -> Path:
    """Two boxes that fall on the ground, 11 frames."""
    square = Polygon(((-1.0, -0.5), (1.0, -0.5), (1.0, 0.5), (-1.0, 0.5)))
    two = Bodies(square, np.array([[0.0, 1.0], [0.2, 3.0]]))
    path = folder / "boxes.h5"
    scene = Scene("boxes", [two], [Plane()], gravity=(0.0, -10.0))
    carom.simulate(scene, "gr", duration=1.0, step=0.01, frame_rate=10, output=path).close()
    return path


@pytest.fixture(scope="session")
def solid(folder) -> Path:
    """A box of space that falls flat on a table, 6 frames."""
    path = folder / "solid.h5"
    carom.simulate(SCENES["flat_box"](), "gr", duration=0.5, frame_rate=10, output=path).close()
    return path


class Ended:
    """How a command ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def render(capsys, monkeypatch):
    """Runs `carom render` in this process."""

    def call(*arguments: object) -> Ended:
        monkeypatch.setenv("COLUMNS", "120")
        code = run_command(app, ["render", *(str(a) for a in arguments)])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return call

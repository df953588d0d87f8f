"""The list of steppers: names, texts, and steppers of one's own."""

from __future__ import annotations

import pytest
from tests.stepping.runs import disc

import carom
from carom import settings, stepping
from carom.errors import ProblemError
from carom.scene import Scene
from carom.scene.file import load_scene
from carom.stepping.synchronous import Synchronous

FILE = '[scene]\nname = "s"\nstepper = "{}"\n\n[[bodies]]\nshape = "disc"\nradius = 1.0\nposition = [0.0, 0.0]\n'


class Counting(Synchronous):
    """A stepper that counts its steps."""

    name = "counting"
    steps = 0

    def step(self, state):
        Counting.steps += 1
        return super().step(state)


@pytest.fixture
def registry(monkeypatch):
    """The lists of steppers, restored after the test."""
    monkeypatch.setattr(stepping, "STEPPERS", dict(stepping.STEPPERS))
    monkeypatch.setattr(stepping, "NAMES", settings.STEPPERS)
    before = list(settings.STEPPERS)
    yield
    settings.STEPPERS[:] = before


def test_every_stepper_has_its_texts():
    assert list(stepping.STEPPERS) == stepping.names() == settings.STEPPERS
    for name, stepper in stepping.STEPPERS.items():
        assert stepper.name == name and stepper.title and stepper.guarantee and stepper.__doc__


def test_a_stepper_of_ones_own_runs_by_name(registry, tmp_path):
    with pytest.raises(ProblemError, match="counting"):
        carom.simulate(Scene("s", [disc(0.0, 0.0)]), duration=0.05, step=0.01, stepper="counting")
    stepping.register("counting", Counting)
    assert stepping.names()[-1] == settings.STEPPERS[-1] == "counting"
    run = carom.simulate(Scene("s", [disc(0.0, 0.0)]), duration=0.05, step=0.01, stepper="counting")
    assert run.settings.stepper == "counting" and Counting.steps == 5


def test_scene_files_know_registered_steppers(registry, tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(FILE.format("counting"))
    with pytest.raises(ProblemError, match="counting"):
        load_scene(path)
    stepping.register("counting", Counting)
    assert load_scene(path).stepper == "counting"


@pytest.mark.parametrize(
    ("name", "stepper", "word"),
    [("my stepper", Counting, "my stepper"), (3, Counting, "3"), ("own", 3, "class"), ("own", int, "step")],
)
def test_bad_registrations(registry, name, stepper, word):
    with pytest.raises(ProblemError, match=word):
        stepping.register(name, stepper)

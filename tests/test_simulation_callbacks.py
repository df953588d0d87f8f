"""Callbacks of a run: what they get, how they end it, and what is left if they fail."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import ProblemError
from carom.scene import Bodies, Disc, Plane, Scene
from carom.trajectory import Trajectory


def falling() -> Scene:
    """Two discs that fall on a plane."""
    return Scene("falling", [Bodies(Disc(0.5), [[0.0, 1.0], [2.0, 1.5]])], [Plane()], gravity=(0.0, -9.81))


RUN = {"duration": 1.0, "step": 0.01, "stepper": "synchronous"}


def test_every_impact_and_every_step_is_told():
    impacts, steps = [], []
    with carom.simulate(falling(), on_impact=impacts.append, on_step=lambda s: steps.append(s.step), **RUN) as run:
        told = np.concatenate([np.asarray(found) for found in impacts])
        assert steps == list(range(1, 101))
        assert told["step"].tolist() == run.events.impacts["step"].tolist()
        assert np.allclose(told["normal_impulse"], run.events.impacts["normal_impulse"], rtol=1e-12)
        with carom.simulate(falling(), **RUN) as plain:
            assert plain.state_hash == run.state_hash


@pytest.mark.parametrize("how", ["returns", "raises"])
def test_a_callback_ends_the_run_and_it_can_be_resumed(tmp_path, how):
    def first(found):
        if how == "raises":
            raise carom.StopRun("enough")
        return True

    path = tmp_path / "run.h5"
    with carom.simulate(falling(), output=path, on_impact=first, **RUN) as run:
        assert not run.finished and len(run.events.impacts) == 1
        assert run.last.step == run.events["step"][0]
    with carom.resume(path) as run, carom.simulate(falling(), **RUN) as whole:
        assert run.finished and run.state_hash == whole.state_hash
        assert np.array_equal(np.asarray(run.events), np.asarray(whole.events))
    assert not carom.simulate(falling(), on_step=lambda s: s.step == 7, **RUN).finished
    with carom.simulate(falling(), on_impact=lambda found: (found["approach"] > 0.0).any(), **RUN) as run:
        assert not run.finished and len(run.events.impacts) == 1  # the truth of NumPy


def test_an_exception_names_the_step_and_loses_nothing(tmp_path):
    def broken(state):
        if state.step == 40:
            raise ValueError("no\nmore")

    path = tmp_path / "run.h5"
    with pytest.raises(ProblemError, match=r"on_step failed at step 40, time 0.4: ValueError: no more") as refusal:
        carom.simulate(falling(), output=path, on_step=broken, **RUN)
    assert "\n" not in str(refusal.value) and isinstance(refusal.value.__cause__, ValueError)
    with Trajectory(path) as run:
        assert run.last.step == 40 and len(run.steps) == 41
    with pytest.raises(ProblemError, match="on_impact: got 3; expected a function"):
        carom.simulate(falling(), output=tmp_path / "other.h5", on_impact=3, **RUN)
    assert not (tmp_path / "other.h5").exists()


def test_step_by_step():
    sim, found = carom.Simulation(falling(), step=0.01, stepper="synchronous"), []
    sim.run(1.0, on_impact=found.append)
    assert len(found) >= 2 and all((table["kind"] == 0).all() for table in found)
    sim.run(2.0, on_step=lambda state: state.step >= 120)
    assert sim.state.step == 120

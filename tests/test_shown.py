"""What users see at the prompt: one readable line for each object, and public names only."""

from __future__ import annotations

import pytest

import carom
from carom import towers
from carom.errors import ProblemError
from carom.sweeps.store import Results


def test_objects_print_one_line():
    problem = carom.ImpactProblem.chain(masses=[1, 1, 1], velocities=[1, 0, 0])
    scene = carom.scenes.pool_break()
    sim = carom.Simulation(scene)
    sim.step()
    shown = {
        problem: "<ImpactProblem chain: 3 bodies, 2 contacts, 1 approaching, kinetic energy 0.5>",
        scene: "<Scene pool_break: 2D, 56 bodies, law gr, stepper synchronous, step 0.01, duration 10>",
        sim: "<Simulation pool_break: law gr, stepper synchronous, 56 bodies, step 1, t = 0.01>",
        towers.Tower([towers.Brick.rectangle(0, 0.5, 2, 1)], name="one"): "<Tower one: 1 brick, 0 pins>",
    }
    for thing, text in shown.items():
        assert repr(thing) == str(thing) == text
    assert str(carom.solve_impact(problem)).startswith("<ImpactSolution chain: law gr, resolved, residual ")
    assert str(Results([], 3, [], [])) == "<Results of a sweep: 0 of 3 runs, 0 columns>"
    matrices = carom.ImpactProblem.from_matrices(mass=[1.0, 2.0], jacobian=[[1, 1]], velocity=[-1, 0])
    assert "2 components, 1 contact, 1 approaching" in str(matrices)


def test_dir_shows_public_names_only():
    assert set(dir(carom)) == {*carom.__all__, "__version__"}


def test_simulate_takes_what_the_command_takes(capsys):
    run = carom.simulate("pool_break", duration=0.1, progress=True)
    assert run.count == 56 and "100 %" in capsys.readouterr().err
    assert carom.simulate("pool_break", duration=0.1, progress=False).count == 56
    assert capsys.readouterr().err == ""
    with pytest.raises(ProblemError, match="did you mean 'pool_break'"):
        carom.simulate("pool_brake")
    with pytest.raises(ProblemError, match="a Scene"):
        carom.simulate(7)  # type: ignore[arg-type]


def test_other_endings_are_refused_before_the_run(tmp_path):
    with pytest.raises(ProblemError, match=r"\.h5"):
        carom.simulate("pool_break", output=tmp_path / "run.txt")
    assert list(tmp_path.iterdir()) == []

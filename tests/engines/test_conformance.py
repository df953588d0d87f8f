"""The conformance suite of engines, on engines of a few lines whose verdicts are known."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from carom import ImpactProblem, ProblemError, catalogue, solve_impact
from carom.analysis.desiderata import ORDER
from carom.catalogue import Entry
from carom.engines.conformance import Conformance, Outcome
from carom.engines.placement import place, split
from carom.engines.process import Runner, runner_of

STILL = """
class Still:
    title, settings, dimension = "Still 1", "none", 2
    def start(self, restitution): self.found = []
    def add_body(self, mass, size, position, velocity): self.found.append(velocity)
    def add_plane(self, point, normal, speed): raise NotImplementedError("planes")
    def step(self): pass
    def velocities(self): return self.found
"""
FEW = tuple(catalogue.entry(name) for name in ("cradle_3_1", "bernoulli", "box_flat_2d", "moving_floor"))


@pytest.fixture
def still(tmp_path):
    """An engine in which bodies pass through each other."""
    path = tmp_path / "still.py"
    path.write_text(STILL, encoding="utf-8")
    return f"{path}:Still"


def verdicts(report):
    return {found.desideratum: found.passed for found in report.findings}


def test_carom_passes_through_the_same_interface():
    """All but SMP: its law qce depends on the sampling of a face, and lcp does not."""
    report = Conformance(Runner("carom"), entries=(*FEW, catalogue.entry("plank_tilted"))).report()
    assert report.scenes == len(FEW) + 1
    assert verdicts(report) == {name: name != "SMP" for name in ORDER}, report.findings
    assert report.finding("SMP").worst > 0.1
    runner = Runner("carom")
    runner.engine.law = "lcp"
    assert Conformance(runner, entries=(catalogue.entry("plank_tilted"),)).smp().worst < 1e-9


def test_a_box_taken_apart_is_the_same_body():
    """Volume, center and inertia of the parts together are those of the box, in 2D and 3D."""
    for size in ([1.0, 0.25], [1.0, 0.75, 0.5]):
        parts = split([2.0, size, [0.0] * len(size), [0.0] * 6])[4]
        center, half = (np.array(column) for column in zip(*parts, strict=True))
        assert half.prod(axis=1).sum() == pytest.approx(np.prod(size))
        assert np.abs(center.mean(axis=0)).max() < 1e-15
        assert (half**2 / 3.0 + center**2).mean(axis=0) == pytest.approx(np.array(size) ** 2 / 3.0)


def test_an_engine_without_parts_is_not_measured_for_smp(still, tmp_path):
    path = tmp_path / "still.py"
    path.write_text(STILL.replace('raise NotImplementedError("planes")', "pass"), encoding="utf-8")
    report = Conformance(Runner(f"{path}:Still"), entries=(catalogue.entry("plank_tilted"),)).report()
    assert report.finding("SMP").scenes == 0 and "add_parts" in report.left_out["SMP"]


def test_an_engine_without_impact_fails(still):
    report = Conformance(Runner(still), entries=FEW).report()
    assert verdicts(report) == {name: name not in ("BRK", "WAV", "FEA") for name in ORDER}
    assert report.left_out == {"box_flat_2d": "planes", "moving_floor": "planes"}
    assert report.finding("FEA").worst == pytest.approx(1.0)
    assert report.finding("BRK").scenes == 2


def test_an_engine_without_restitution_is_measured_elastically(tmp_path):
    path = tmp_path / "still.py"
    refusal = 'if restitution != 1.0: raise NotImplementedError("no restitution")'
    path.write_text(STILL.replace("self.found = []", f"\n        self.found = []\n        {refusal}"), encoding="utf-8")
    report = Conformance(Runner(f"{path}:Still"), entries=FEW).report()
    assert report.left_out["c = 0.5"] == "no restitution"
    assert report.finding("FEA").worst == pytest.approx(1.0) and report.finding("FEA").scenes == 2


def test_an_engine_in_another_process_gives_the_same_report(still):
    runner = runner_of(still, sys.executable)
    there = Conformance(runner, entries=FEW).report()
    runner.close()
    here = Conformance(Runner(still), entries=FEW).report()
    assert json.dumps(there.to_dict()) == json.dumps(here.to_dict())


@pytest.mark.parametrize(
    ("spec", "python", "field"),
    [
        ("unreal", None, "--engine"),
        ("missing.py:Mine", None, "--engine"),
        ("pymunk", "/nonexistent/python", "--python"),
        ("carom", sys.executable, "--python"),
    ],
)
def test_bad_input_is_named(spec, python, field):
    with pytest.raises(ProblemError) as error:
        runner_of(spec, python)
    assert error.value.field == field


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text("import no_such_engine\n", encoding="utf-8")
    for python in (None, sys.executable):
        with pytest.raises(ProblemError, match="no_such_engine"):
            runner_of(f"{path}:Mine", python)
    monkeypatch.setitem(sys.modules, "rapier3d", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "carom.engines.rapier", raising=False)
    with pytest.raises(ProblemError, match=r"python -m pip install rapier3d"):
        runner_of("rapier")


# ---- measures


def chain(velocity, after):
    return Outcome(ImpactProblem.chain(np.ones(len(velocity)), velocity), np.array(after, dtype=float))


def test_inferred_impulses_are_those_of_the_law():
    """The contacts of a chain are independent, so velocities determine the impulses."""
    solution = solve_impact(catalogue.entry("two_sided_chain").problem, "gr")
    impulse, free, pushing = Outcome(solution.problem, solution.velocity).fit
    np.testing.assert_allclose(impulse, solution.impulse, atol=1e-12)
    assert max(free, pushing) < 1e-12


@pytest.mark.parametrize(
    ("after", "energy", "momentum", "pull", "approach"),
    [
        ([0, 1], 0.0, 0.0, 0.0, 0.0),  # exact
        ([0, 2], 3.0, 0.5**0.5, 0.0, 0.0),  # momentum 1 too large
        ([2, -1], 4.0, 0.0, 1.0, 3.0),  # they pulled each other through
        ([0.5, 0.5], 0.5, 0.0, 0.0, 0.0),  # inelastic, although c = 1
    ],
)
def test_measures_of_two_balls(after, energy, momentum, pull, approach):
    """v = (1, 0), equal masses, kinetic energy 1/2 before; residuals are relative to the larger of |v| and |v+ - v|."""
    outcome = chain([1.0, 0.0], after)
    scale = max(1.0, float(np.linalg.norm(np.array(after) - [1.0, 0.0])))
    assert outcome.energy() == pytest.approx(energy)
    assert outcome.momentum() == pytest.approx(momentum / scale, abs=1e-12)
    assert outcome.pull() == pytest.approx(pull * 2**0.5 / scale if pull else 0.0, abs=1e-7)
    assert outcome.approach() == pytest.approx(approach)


def test_moving_planes_do_no_work_in_their_own_frame():
    """A disc reflected by a rising floor has more energy afterwards, and yet KIN is 0."""
    entry = catalogue.entry("moving_floor")
    outcome = Outcome(entry.problem, np.array([[0.5, 2.0]]))
    assert entry.problem.energy_of(outcome.velocity) > 2 * entry.problem.kinetic_energy
    assert outcome.energy() < 1e-12


# ---- placement


@pytest.mark.parametrize("entry", [e for e in catalogue.entries() if e.sizes is not None], ids=lambda e: e.name)
def test_shapes_of_the_catalogue_touch_as_its_rows_say(entry):
    """Balls of the stored sizes touch exactly in the pairs that the rows name; every plane touches some body."""
    placed = place(entry, 3)
    assert placed is not None
    assert len(placed.bodies) == entry.problem.block[0]
    if entry.sizes.shape[1] == 1:
        x, r = np.array([body[2] for body in placed.bodies]), entry.sizes[:, 0]
        gap = np.linalg.norm(x[:, None] - x[None], axis=2) - r[:, None] - r[None]
        touching = {(i, j) for i, j in zip(*np.nonzero(np.triu(abs(gap) < 1e-9, 1)), strict=True)}
        rows = entry.problem.rows
        pairs = {tuple(rows.body[a:b]) for a, b in zip(rows.ptr[:-1], rows.ptr[1:], strict=True) if b - a == 2}
        assert pairs == touching
        for point, normal, _ in placed.planes:
            assert abs(((x - point) @ normal - r).min()) < 1e-9
    velocity = placed.velocity([body[3] for body in placed.bodies])
    np.testing.assert_array_equal(velocity, entry.problem.velocity)


def test_problems_in_3d_do_not_fit_into_2d():
    assert place(catalogue.entry("box_flat_3d"), 2) is None
    assert place(Entry(catalogue.entry("robot_arm").problem, "no bodies"), 3) is None


# ---- command line


def test_command_prints_a_table_and_json(still, capsys):
    from typer.testing import CliRunner

    from carom.cli.main import app

    shown = CliRunner().invoke(app, ["audit", "--engine", still])
    assert shown.exit_code == 0 and "Still 1" in shown.output and "left out, planes" in shown.output
    data = json.loads(CliRunner().invoke(app, ["audit", "--engine", still, "--json"]).stdout)
    assert [found["desideratum"] for found in data["engines"][0]["findings"]] == list(ORDER)


@pytest.mark.parametrize("extra", [["--laws", "gr"], ["--csv"]])
def test_command_refuses_mixed_questions(still, extra):
    from typer.testing import CliRunner

    from carom.cli.main import app

    found = CliRunner().invoke(app, ["audit", "--engine", still, *extra])
    assert isinstance(found.exception, ProblemError)


def test_an_engine_of_node_that_is_missing_is_named(tmp_path, monkeypatch):
    """Without Node.js, or with it and without the package in this folder: one line that says what to install."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProblemError, match=r"npm install jolt-physics"):
        runner_of("jolt")

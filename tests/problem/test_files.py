"""Problems as JSON and npz: what is written comes back, and other files are refused with the reason."""

from __future__ import annotations

import json

import numpy as np
import pytest

import carom
from carom import ImpactProblem, catalogue
from carom.problem.files import from_dict
from carom.testing import KINDS, random_problem

ENDINGS = (".json", ".npz")


def assert_same(a: ImpactProblem, b: ImpactProblem) -> None:
    """Bit for bit: JSON writes the shortest decimal that reads back as the same double."""
    for field in ("velocity", "boundary_speed", "restitution", "friction"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
        assert getattr(a, field).shape == getattr(b, field).shape
    assert a.block == b.block and a.name == b.name
    for field in ("ptr", "body", "val"):
        np.testing.assert_array_equal(getattr(a.rows, field), getattr(b.rows, field))
    assert (a.tangents is None) == (b.tangents is None)
    if a.tangents is not None:
        np.testing.assert_array_equal(a.tangents.val, b.tangents.val)
        np.testing.assert_array_equal(a.tangent_speed, b.tangent_speed)
    assert (a.positions is None) == (b.positions is None)
    if a.positions is not None:
        np.testing.assert_array_equal(a.positions, b.positions)
    probe = np.random.default_rng(0).normal(size=a.block)
    np.testing.assert_array_equal(a.mass.times(probe), b.mass.times(probe))


@pytest.mark.covering
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda e: e.name)
def test_catalogue_round_trip(entry, ending, tmp_path):
    path = entry.problem.save(tmp_path / f"p{ending}")
    back = ImpactProblem.load(path)
    assert_same(entry.problem, back)
    for before, after in zip(entry.problem.symmetries, back.symmetries, strict=True):
        np.testing.assert_array_equal(before.bodies, after.bodies)
        np.testing.assert_array_equal(before.matrix, after.matrix)


@pytest.mark.covering
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", list(KINDS))
def test_random_round_trip(kind, ending, tmp_path):
    problem = random_problem(np.random.default_rng(9), kind).with_(restitution=0.1 + 0.2)
    assert_same(problem, ImpactProblem.load(problem.save(tmp_path / f"p{ending}")))


@pytest.mark.parametrize("ending", ENDINGS)
def test_block_masses_round_trip(ending, tmp_path):
    rng = np.random.default_rng(1)
    root = rng.normal(size=(2, 3, 3))
    mass = root @ root.swapaxes(1, 2) + np.eye(3)
    problem = ImpactProblem.from_blocks(mass, [[0, 1]], rng.normal(size=(1, 2, 3)), rng.normal(size=(2, 3)))
    assert_same(problem, ImpactProblem.load(problem.save(tmp_path / f"p{ending}")))


def test_a_read_problem_has_the_same_answer(tmp_path):
    problem = catalogue.entry("pool_break").problem
    back = ImpactProblem.load(problem.save(tmp_path / "p.json"))
    one, two = (carom.solve_impact(p, "gauss_seidel").velocity for p in (problem, back))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("text", "contacts"),
    [
        ('{"chain": {"masses": [1, 1, 1], "velocities": [1, 0, 0]}}', 2),
        ('{"discs": {"positions": [[0,0],[1,0]], "radii": 0.5, "masses": 1, "velocities": [[1,0],[0,0]]}}', 1),
        ('{"spheres": {"positions": [[0,0,0],[1,0,0]], "radii": 0.5, "masses": 1, "velocities": '
         "[[1,0,0],[0,0,0]]}}", 1),
        ('{"matrices": {"mass": [1, 1], "jacobian": [[-1, 1]], "velocity": [1, 0]}}', 1),
        ('{"blocks": {"mass": [1], "bodies": [[-1, 0]], "rows": [[[0], [1]]], "velocity": [[-1]]}}', 1),
    ],
)  # fmt: skip
def test_short_forms(text, contacts, tmp_path):
    path = tmp_path / "short.json"
    path.write_text(text)
    assert ImpactProblem.load(path).contact_count == contacts


def test_saving_replaces_the_whole_file_or_nothing(tmp_path):
    path = tmp_path / "p.json"
    catalogue.entry("cradle_3_1").problem.save(path)
    before = path.read_text()
    with pytest.raises(carom.ProblemError):
        catalogue.entry("cradle_3_1").problem.save(tmp_path / "p.txt")
    assert path.read_text() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.json"]


# -- files that are not problems -------------------------------------------------------------------------------


def written(tmp_path, change, ending=".json"):
    """A valid file of a cradle, changed."""
    path = catalogue.entry("cradle_3_1").problem.save(tmp_path / "p.json")
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    return path


def test_broken_json(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"chain": {"masses": [1, 1')
    with pytest.raises(carom.ProblemError, match=r"p\.json.*line 1.*expected valid JSON"):
        ImpactProblem.load(path)


def test_binary_rubbish(tmp_path):
    for name in ("p.json", "p.npz"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00PK rubbish")
        with pytest.raises(carom.ProblemError, match="file: got"):
            ImpactProblem.load(tmp_path / name)


def test_truncated_npz(tmp_path):
    path = catalogue.entry("pool_break").problem.save(tmp_path / "p.npz")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(carom.ProblemError, match="readable npz"):
        ImpactProblem.load(path)


def test_json_that_is_no_object(tmp_path):
    path = tmp_path / "p.json"
    path.write_text("[1, 2, 3]")
    with pytest.raises(carom.ProblemError, match=r"a JSON list.*expected a JSON object"):
        ImpactProblem.load(path)


def test_json_of_something_else(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"color": "blue"}')
    with pytest.raises(carom.ProblemError, match=r"color.*expected.*carom impact problem.*chain"):
        ImpactProblem.load(path)


def test_missing_file(tmp_path):
    with pytest.raises(carom.ProblemError, match=r"nowhere.json.*expected a file that exists"):
        ImpactProblem.load(tmp_path / "nowhere.json")


def test_unknown_ending(tmp_path):
    (tmp_path / "p.yaml").write_text("a: 1")
    with pytest.raises(carom.ProblemError, match=r"ends in .json or .npz"):
        ImpactProblem.load(tmp_path / "p.yaml")


def test_missing_entry(tmp_path):
    path = written(tmp_path, lambda d: d.pop("row_body"))
    with pytest.raises(carom.ProblemError, match="row_body: got nothing"):
        ImpactProblem.load(path)


def test_version_from_the_future(tmp_path):
    path = written(tmp_path, lambda d: d.update(version=99))
    with pytest.raises(carom.ProblemError, match="version: got 99; expected a whole number from 1 to 1"):
        ImpactProblem.load(path)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda d: d.update(velocity=[1, 2]), "velocity"),
        (lambda d: d.update(row_body=[0, 1, 1, 7]), "row_body"),
        (lambda d: d.update(row_ptr=[0, 9, 4]), "row_ptr"),
        (lambda d: d.update(row_value=[[1], [2]]), "row_value"),
        (lambda d: d.update(mass=[[1], [-1], [1]]), "mass"),
        (lambda d: d.pop("mass"), "mass"),
        (lambda d: d.update(restitution=[1, 2]), "restitution"),
        (lambda d: d.update(friction=0.5), "friction"),
        (lambda d: d.update(block="three"), "block"),
        (lambda d: d.update(velocity=[[1], [None], [0]]), "velocity"),
        (lambda d: d.update(version="new"), "version"),
    ],
)
def test_damaged_files_name_the_field(change, field, tmp_path):
    path = written(tmp_path, change)
    with pytest.raises(carom.ProblemError) as error:
        ImpactProblem.load(path)
    assert error.value.field == field


RUBBISH = (None, "x", -1, 1.5, [], [[]], {}, [1, [2]], [-1, 5], [1e30], ["a"], [0, 99999], 2**70)


@pytest.mark.parametrize("name", ["cradle_3_1", "bernoulli", "robot_arm"])
def test_rubbish_in_any_entry_raises_no_other_error(name, tmp_path):
    """Whatever stands in an entry, a file is read or refused; no error of another library gets through."""
    good = json.loads(catalogue.entry(name).problem.save(tmp_path / "p.json").read_text())
    leaks = []
    for key in good:
        for value in RUBBISH:
            try:
                from_dict({**good, key: value})
            except carom.ProblemError:
                continue
            except Exception as error:
                leaks.append(f"{key} = {value!r}: {error!r}")
    assert not leaks, "\n".join(leaks)


@pytest.mark.parametrize("key", ["positions", "symmetry0_bodies", "symmetry0_matrix"])
def test_shapes_are_checked_on_reading(key, tmp_path):
    good = json.loads(catalogue.entry("bernoulli").problem.save(tmp_path / "p.json").read_text())
    with pytest.raises(carom.ProblemError):
        from_dict({**good, key: [1.0, 2.0]})


def test_wrong_arguments_of_a_short_form(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"chain": {"burdens": [1, 1], "velocities": [1, 0]}}')
    with pytest.raises(carom.ProblemError, match=r"unknown argument of 'chain' 'burdens'"):
        ImpactProblem.load(path)

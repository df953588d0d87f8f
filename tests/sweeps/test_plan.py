"""Plans: which runs follow from them, and what is refused before any of them starts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import carom
from carom.errors import ProblemError
from carom.sweeps.plan import Plan, prepared, read_plan

OWN = str(Path(__file__).with_name("own_measures.py"))
SCENE = """
[scene]
gravity = [0.0, -10.0]
[materials.default]
restitution = 0.5
[[bodies]]
shape = "disc"
radius = 1.0
position = [[0.0, 3.0]]
[[boundaries]]
kind = "plane"
point = [0.0, 0.0]
normal = [0.0, 1.0]
"""


def rows(**plan):
    return [case.columns() for case in prepared(Plan(**plan)).cases]


def test_a_grid_combines_everything_and_the_last_name_varies_fastest():
    found = rows(
        scene="energy_drum",
        parameters={"side": [3, 4], "spacing": 3.0},
        settings={"step": [0.01, 0.02]},
        law=["gr", "qce"],
    )
    assert [(r["side"], r["run.step"], r["law"]) for r in found] == [
        (side, step, law) for side in (3, 4) for step in (0.01, 0.02) for law in ("gr", "qce")
    ]
    assert [r["id"] for r in found] == list(range(8)) and {r["spacing"] for r in found} == {3.0}


def test_lists_go_together_and_seeds_multiply():
    found = rows(scene="energy_drum", parameters={"side": [3, 4], "spacing": [2.5, 3.0]}, seeds=[5, 7], mode="list")
    assert [(r["side"], r["spacing"], r["seed"]) for r in found] == [(3, 2.5, 5), (3, 2.5, 7), (4, 3.0, 5), (4, 3.0, 7)]


def test_ranges_are_even_or_logarithmic():
    even = rows(scene="energy_drum", parameters={"spacing": {"from": 2.5, "to": 3.5, "count": 3}})
    assert [r["spacing"] for r in even] == [2.5, 3.0, 3.5]
    log = rows(scene="energy_drum", settings={"step": {"from": 1e-3, "to": 1e-1, "count": 3, "scale": "log"}})
    assert [r["run.step"] for r in log] == pytest.approx([1e-3, 1e-2, 1e-1], rel=1e-15)


def test_random_samples_follow_from_the_seed():
    plan = {
        "scene": "energy_drum",
        "parameters": {"side": [3, 4], "spacing": {"from": 2.5, "to": 3.5}},
        "mode": "random",
    }
    first, again, other = (rows(**plan, samples=20, seed=seed) for seed in (1, 1, 2))
    assert first == again and first != other
    assert {r["side"] for r in first} == {3, 4} and all(2.5 <= r["spacing"] <= 3.5 for r in first)


def test_scene_files_are_varied_by_path(tmp_path):
    file = tmp_path / "ball.toml"
    file.write_text(SCENE)
    plan = Plan(str(file), {"materials.default.restitution": [0.2, 1.0], "bodies.0.velocity": [[1.0, 0.0]]})
    made = prepared(plan)
    scenes = [made.source.scene(case.parameters) for case in made.cases]
    assert [s.materials["default"].restitution for s in scenes] == [0.2, 1.0]
    assert np.array_equal(np.broadcast_to(scenes[0].bodies[0].velocity, (1, 2)), [[1.0, 0.0]])
    with pytest.raises(ProblemError, match=r"unknown key of materials 'defualt': did you mean 'default'"):
        prepared(Plan(str(file), {"materials.defualt.restitution": [1.0]}))


def test_a_scene_and_a_function_are_sources_too():
    scene = carom.scenes.energy_drum(side=3)
    found = prepared(Plan(scene, {"linear_drag": [0.0, 0.1]}))
    assert [found.source.scene(case.parameters).linear_drag for case in found.cases] == [0.0, 0.1]
    made = prepared(Plan(carom.scenes.energy_drum, {"side": [3]}, seeds=2))
    assert [case.seed for case in made.cases] == [0, 1]


def test_the_plan_of_a_file(tmp_path):
    (tmp_path / "ball.toml").write_text(SCENE)
    file = tmp_path / "plan.toml"
    file.write_text(
        '[sweep]\nscene = "ball.toml"\nlaw = ["gr"]\nmeasure = "energy"\n[settings]\nduration = [0.1, 0.2]\n'
    )
    made = prepared(read_plan(file))
    assert [case.settings["duration"] for case in made.cases] == [0.1, 0.2] and made.cases[0].law == "gr"


def test_fingerprints_follow_the_content_of_files(tmp_path):
    own = tmp_path / "own.py"
    own.write_text("def mean(run):\n    return 1.0\n")
    plan = Plan("energy_drum", measure=f"{own}:mean")
    first = prepared(plan).fingerprint
    assert prepared(plan).fingerprint == first
    own.write_text("def mean(run):\n    return 2.0\n")
    assert prepared(plan).fingerprint != first


BAD = [
    ({"scene": "energy_drumm"}, "did you mean 'energy_drum'"),
    ({"scene": 7}, "the name of a scene"),
    ({"scene": "no/such.toml"}, "a scene file that exists"),
    ({"parameters": {"sides": [3]}}, "unknown parameter of scene 'energy_drum' 'sides': did you mean 'side'"),
    ({"parameters": {"side": [3, 0]}}, "side: got 0; expected a whole number from 1"),
    ({"parameters": {"side": []}}, "parameters.side: got an empty list"),
    ({"parameters": {"side": {"from": 1, "to": 3}}}, "parameters.side.count: got None"),
    ({"parameters": {"side": {"from": 1, "too": 3, "count": 2}}}, "unknown key of the range parameters.side 'too'"),
    ({"parameters": {"spacing": {"from": 0, "to": 3, "count": 2, "scale": "log"}}}, "limits above 0"),
    ({"parameters": [3]}, "a table of names and values"),
    ({"law": ["gr", "grr"]}, "unknown law 'grr': did you mean 'gr'"),
    ({"law": "gr", "law_options": {"tolerence": [1e-9]}}, "unknown option of law 'gr' 'tolerence'"),
    ({"law_options": {"tolerance": [-1.0]}}, "tolerance: got -1.0"),
    ({"settings": {"steps": 0.1}}, "unknown run setting 'steps': did you mean 'step'"),
    ({"settings": {"step": [0.01, -1]}}, "settings.step: got -1"),
    ({"settings": {"tolerance": "exactly"}}, "settings.tolerance: got 'exactly'"),
    ({"settings": {"stepper": "euler"}}, "unknown stepper 'euler'"),
    ({"settings": {"duration": 1e-9}}, "settings.duration: got 1e-09"),
    ({"settings": {"restitution_model": "newtonn"}}, "newtonn"),
    ({"seeds": 0}, "a number of seeds above 0"),
    ({"seeds": [1, -1]}, "seeds: got -1"),
    ({"scene": "bernoulli", "seeds": 2}, "has no parameter seed"),
    ({"measure": "energy_drit"}, "unknown measure 'energy_drit': did you mean 'energy_drift'"),
    ({"measure": "pattern"}, "this one needs 3D and periodic x and y"),
    ({"measure": [f"{OWN}:body"]}, "unknown function of .*: did you mean 'bodies'"),
    ({"measure": ["energy", "energy"]}, "every name once"),
    ({"measure": []}, "measure: got"),
    ({"mode": "grids"}, "unknown mode 'grids'"),
    ({"mode": "random"}, "samples: got None"),
    ({"samples": 3}, 'it is for mode = "random"'),
    ({"mode": "list", "parameters": {"side": [3, 4, 5], "spacing": [3.0, 4.0]}}, "one value or 3"),
]


@pytest.mark.parametrize(("change", "text"), BAD, ids=[str(k) for k in range(len(BAD))])
def test_bad_plans_are_refused_before_anything_is_written(change, text, tmp_path):
    plan = Plan(**{"scene": "energy_drum", **change})
    with pytest.raises(ProblemError, match=text):
        carom.sweep(plan, out=tmp_path / "out", workers=0)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scene = 3", "a table \\[sweep\\]"),
        ('[sweep]\nscene = "drop"\nlaws = "gr"', "unknown key of \\[sweep\\] in plan.toml 'laws': did you mean 'law'"),
        ("[sweep]\nlaw = 'gr'", "sweep.scene"),
        ('[sweep]\nscene = "drop"\n[parameter]\nside = 3', "unknown table of plan.toml 'parameter'"),
        ("[sweep", "not valid TOML"),
    ],
)
def test_bad_files_are_refused(text, said, tmp_path):
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(ProblemError, match=said):
        read_plan(tmp_path / "plan.toml")

"""`carom new` and `carom validate`."""

from __future__ import annotations

import json
import subprocess
import sys

from carom import ImpactProblem, solve_impact
from carom.scene.file import load_scene
from carom.sweeps.plan import prepared, read_plan


def test_a_new_scene_is_valid(carom, tmp_path):
    path = tmp_path / "break.toml"
    ended = carom("new", path)
    assert ended.code == 0 and ended.out == "" and "break.toml" in ended.err
    assert load_scene(path).count == 16
    shown = carom("validate", path)
    assert shown.code == 0
    for word in (
        "break is a valid scene",
        "cue ball",
        "rack",
        "disc",
        "cushion",
        "gr",
        "drift_safe",
        "1,000",
    ):
        assert word in shown.out, shown.out


def test_a_new_problem_is_solved(carom, tmp_path):
    path = tmp_path / 'a "cradle".json'
    assert carom("new", path).code == 0
    problem = ImpactProblem.load(path)
    assert (problem.name, problem.contact_count) == ('a "cradle"', 4)
    assert solve_impact(problem, "gr").velocity.tolist() == [0, 0, 0, 0, 1]  # exact: equal masses exchange velocities


def test_a_new_sweep_is_a_valid_plan(carom, tmp_path):
    path = tmp_path / "plan.toml"
    ended = carom("new", path, "--sweep")
    assert ended.code == 0 and f"carom sweep {path} -o results" in " ".join(ended.err.split())
    assert len(prepared(read_plan(path)).cases) == 9
    for other in ("--3d", "--sweep"):
        assert carom("new", tmp_path / "chain.json", other).code == 2
    assert carom("new", tmp_path / "both.toml", "--3d", "--sweep").code == 2


def test_a_new_scene_of_space(carom, tmp_path):
    path = tmp_path / "pile.toml"
    assert carom("new", path, "--3d").code == 0
    scene = load_scene(path)
    assert (scene.name, scene.dimension, scene.count) == ("pile", 3, 104)


def test_new_does_not_overwrite_unasked(carom, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("precious")
    ended = carom("new", path)
    assert ended.code == 2 and "--overwrite" in ended.err and path.read_text() == "precious"
    assert carom("new", path, "--overwrite").code == 0
    assert load_scene(path).name == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["mine.toml"]


def test_new_needs_a_name_that_it_can_use(carom, tmp_path):
    for arguments, word in (
        ((), "FILE"),
        ((tmp_path / "scene.yaml",), ".toml"),
        ((tmp_path / "scene.json", "--3d"), ".toml"),
        ((tmp_path / "no" / "scene.toml",), "folder"),
        ((tmp_path / "scene.toml", "--schema"), "--schema"),
    ):
        ended = carom("new", *arguments)
        assert ended.code == 2 and len(ended.err.splitlines()) == 1 and word in ended.err, ended.err
    assert list(tmp_path.iterdir()) == []


def test_schema_is_json(carom):
    ended = carom("new", "--schema")
    assert ended.code == 0
    assert {"scene", "bodies", "generators"} <= set(json.loads(ended.out)["properties"])


def refused(ended, *words):
    lines = [line for line in ended.err.splitlines() if not line.startswith(("compiling", "compiled"))]
    assert ended.code == 2 and ended.out == "" and len(lines) == 1, (ended.out, ended.err)
    for word in words:
        assert word in lines[0], lines[0]


def test_validate_refuses_in_one_line(carom, tmp_path):
    path = tmp_path / "bad.toml"
    refused(carom("validate", path), "bad.toml", "exists")
    path.write_text("[[bodies]]\nradius = -1\nposition = [0, 0]\n")
    refused(carom("validate", path), "bodies[0].radius: got -1", "line 2")
    path.write_text("[[bodies]]\nradius = 1\nposition = [[0, 0], [1, 0]]\n")
    refused(carom("validate", path), "overlap")
    path.write_text("[[bodies]]\nradius = 1\nposition = [9, 0]\n[[boundaries]]\nkind = 'drum'\nradius = 5\n")
    refused(carom("validate", path), "outside")
    path.write_text("[scene]\nlaw = 'grr'\n[[bodies]]\nradius = 1\nposition = [9, 0]\n")
    refused(carom("validate", path), "unknown law 'grr'", "did you mean 'gr'?")


def test_validate_refuses_a_source_inside_a_wall_and_lists_sources_and_sinks(carom, tmp_path):
    path, text = (
        tmp_path / "hopper.toml",
        """
[[generators]]
kind = "pool"
count = 3
radius = 0.1
name = "grains"
[[boundaries]]
kind = "plane"
[[sources]]
bodies = "grains"
lower = [-0.5, LOW]
upper = [0.5, 1.5]
rate = 25.0
[[sinks]]
lower = [2.0, 0.0]
outside = true
""",
    )
    path.write_text(text.replace("LOW", "0.5"))
    shown = carom("validate", path)
    assert shown.code == 0 and all(
        word in shown.out for word in ("rate 25", "lower (-0.5, 0.5)", "outside", "all free")
    )
    path.write_text(text.replace("LOW", "-9.0").replace("1.5", "-0.5"))
    refused = carom("validate", path)
    assert refused.code == 2 and "inside a wall" in refused.err and refused.err.count("\n") == 1


def test_validate_shows_every_kind_of_thing(carom, tmp_path):
    path = tmp_path / "many.toml"
    path.write_text(
        """
        [materials.steel]
        [materials.wool]
        [[pairs]]
        between = ["steel", "default"]
        friction = 0.25
        [[generators]]
        kind = "random_pour"
        count = 50
        lower = [0, 0]
        upper = [20, 20]
        radius = {low = 0.25, high = 0.5}
        material = "steel"
        [[bodies]]
        shape = "rectangle"
        size = [3, 4]
        position = [-10, 0]
        motion = "fixed"
        [[joints]]
        kind = "spring"
        name = "leash"
        bodies = ["world", 20]
        ends = [[0, 30], [5, 5]]
        stiffness = 1.0
        [[boundaries]]
        kind = "plane"
        point = [0, -20]
        motion = {kind = "vibrating", amplitude = 1, frequency = 2}
        [periodic]
        x = [-50, 50]
        """
    )
    shown = carom("validate", path)
    assert shown.code == 0, shown.err
    for word in (
        "generators[0]",
        "3 x 4",
        "fixed",
        "plane",
        "vibrating",
        "periodic",
        "not used",
        "0.25",
        "wool",
        "leash",
        "world and 20",
    ):
        assert word in shown.out, shown.out
    assert all(len(line) <= 80 for line in carom("validate", path, columns=80).out.splitlines())


def test_many_groups_are_cut_short(carom, tmp_path):
    path = tmp_path / "long.toml"
    path.write_text("".join(f"[[bodies]]\nradius = 1\nposition = [{3 * i}, 0]\n" for i in range(50)))
    shown = carom("validate", path)
    assert "30 more groups" in shown.out and len(shown.out.splitlines()) < 60


def test_help_does_not_load_the_readers_of_scenes():
    code = "import sys; import carom.cli.main; sys.exit('carom.scene.file' in sys.modules or 'tomli_w' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

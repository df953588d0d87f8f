"""Scene files: what they say, what they refuse and how, and that what is written reads the same."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scene.rich_scenes import EVERYTHING, JUNK, WORLD, leaves, rich_2d, same

from carom import ProblemError
from carom.build import build
from carom.scene import (
    FIXED,
    Bodies,
    Disc,
    Drum,
    Material,
    Periodic,
    Plane,
    Polygon,
    Rectangle,
    Rotating,
    Scene,
    Scripted,
    Vibrating,
)
from carom.scene.file import load_scene, parse_toml, save_scene, scene_of, scene_schema, scene_to_toml, starter_text
from carom.scene.file.text import line_of, parse
from carom.scene.store import pack, unpack

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scenes.md"
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
ONE = "[[bodies]]\nradius = 1\nposition = [0, 0]\n"


# -- what a file says ------------------------------------------------------------------------------------------


def test_every_field_of_a_file_arrives():
    scene = parse_toml(
        """
        [scene]
        name = "all"
        description = "words"
        gravity = [0.5, -10]
        step = 0.002
        duration = 3
        frame_rate = 25
        stepper = "synchronous"
        law = "qce"
        restitution_model = "energetic"
        friction_model = "cone"
        [materials.steel]
        restitution = 0.8
        friction = 0.3
        density = 7.8
        [[pairs]]
        between = ["steel", "default"]
        restitution = 0.25
        [[bodies]]
        name = "two"
        radius = [1, 2]
        position = [[0, 0], [5, 0]]
        velocity = [1, 2]
        spin = [0.1, 0.2]
        mass = 3
        material = "steel"
        rotates = false
        [[bodies]]
        shape = "rectangle"
        size = [2, 1]
        angle = 0.5
        position = [0, 9]
        motion = {kind = "rotating", speed = 2, about = [1, 1]}
        [[bodies]]
        shape = "polygon"
        vertices = [[0, 0], [1, 0], [0, 1]]
        position = [9, 9]
        motion = "fixed"
        [[boundaries]]
        kind = "drum"
        radius = 50
        center = [1, 0]
        inside = true
        motion = {kind = "vibrating", amplitude = 1, frequency = 2}
        [periodic]
        x = [-60, 60]
        """
    )
    settings = (scene.gravity, scene.step, scene.duration, scene.frame_rate, scene.stepper, scene.law)
    assert settings == ((0.5, -10.0), 0.002, 3.0, 25.0, "synchronous", "qce")
    assert (scene.name, scene.description) == ("all", "words")
    assert (scene.restitution_model, scene.friction_model) == ("energetic", "cone")
    assert scene.materials == {"default": Material(), "steel": Material(0.8, 0.3, 7.8)}
    assert scene.pairs == {("steel", "default"): {"restitution": 0.25}}
    two, brick, wedge = scene.bodies
    assert (two.name, two.count, two.material, two.rotates, two.motion) == ("two", 2, "steel", False, None)
    np.testing.assert_array_equal(two.shape.radius, [1, 2])
    np.testing.assert_array_equal(two.spin, [0.1, 0.2])
    assert brick.shape == Rectangle(2.0, 1.0) and brick.angle == 0.5
    assert brick.motion == Rotating(2.0, about=(1.0, 1.0))
    assert isinstance(wedge.shape, Polygon) and wedge.motion is FIXED
    assert scene.boundaries == (Drum(50.0, (1.0, 0.0), True, motion=Vibrating(1.0, 2.0)),)
    assert scene.periodic == Periodic(x=(-60.0, 60.0))
    assert scene.count == 4 and build(scene)[0].count == 4


def test_a_file_without_a_name_gives_the_scene_its_own(tmp_path):
    (tmp_path / "mine.toml").write_text(ONE)
    assert load_scene(tmp_path / "mine.toml").name == "mine"


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_of_the_documentation_can_be_run(text):
    assert build(parse_toml(text))[0].count > 0


def test_the_starter_can_be_run_and_so_can_all_that_it_has_commented_out():
    text = starter_text('a "name"', "a.toml")
    scene = parse_toml(text)
    assert scene.name == 'a "name"' and build(scene)[0].count == 16
    everything = re.sub(r"^# (?=[a-z_]+ = |\[)", "", text, flags=re.MULTILINE)
    assert everything.count("\n# ") < text.count("\n# ") - 20
    more = parse_toml(everything)
    assert more.count == 216 and more.periodic is not None and len(more.boundaries) == 2
    build(more)


# -- what a file may not say -----------------------------------------------------------------------------------

BAD = {
    "not toml": ("a = [1\nb = 2", ["not valid TOML", "line 2"]),
    "empty": ("", ["bodies", "at least one"]),
    "no bodies": ("[scene]\nstep = 0.01", ["bodies", "at least one"]),
    "only templates": (ONE + "template = true", ["template"]),
    "zero radius": (
        "[[bodies]]\nradius = 0\nposition = [0, 0]",
        ["bodies[0].radius: got 0; expected a number above 0"],
    ),
    "negative radius": (
        ONE + ONE + "[[bodies]]\nradius = -1\nposition = [9, 9]",
        ["bodies[2].radius: got -1; expected a number above 0", "line 8"],
    ),
    "one of many radii": (
        "[[bodies]]\nradius = [1, -2]\nposition = [[0, 0], [5, 0]]",
        ["bodies[0].radius[1]: got -2"],
    ),
    "nan": ("[[bodies]]\nradius = 1\nposition = [nan, 0]", ["bodies[0].position", "nan", "line 3"]),
    "inf": (ONE + "spin = inf", ["bodies[0].spin", "inf", "finite"]),
    "huge": (ONE + "mass = 1e200", ["bodies[0].mass", "1e+200", "1e+50"]),
    "tiny": ("[[bodies]]\nradius = 1e-200\nposition = [0, 0]", ["bodies[0].radius", "1e-200", "1e-50"]),
    "endless": (
        "[[generators]]\nkind = 'rack'\nrows = 1_000_000\nradius = 1",
        ["generators[0]", "5e+11", "4,000,000", "CAROM_LIMITS"],
    ),
    "true is no number": (ONE + "mass = true", ["bodies[0].mass", "True"]),
    "text is no number": ("[scene]\nstep = '0.1'\n" + ONE, ["scene.step", "'0.1'", "number above 0", "line 2"]),
    "unknown key": (
        "[[bodies]]\nradus = 1\nposition = [0, 0]",
        ["bodies[0].radus", "did you mean 'radius'?", "line 2"],
    ),
    "unknown table": ("[scenes]\n" + ONE, ["scenes", "did you mean 'scene'?"]),
    "table for array": ("[bodies]\nradius = 1", ["bodies", "[[bodies]]"]),
    "no position": ("[[bodies]]\nradius = 1", ["bodies[0].position", "nothing", "needed"]),
    "no radius": ("[[bodies]]\nposition = [0, 0]", ["bodies[0].radius", "nothing", "disc"]),
    "two shapes": (ONE + "size = [1, 1]", ["bodies[0].size", "disc", "rectangle"]),
    "concave": (
        "[[bodies]]\nshape = 'polygon'\nvertices = [[0, 0], [2, 0], [1, 0.1], [1, 2]]\nposition = [0, 0]",
        ["bodies[0].vertices", "convex"],
    ),
    "unknown shape": (ONE + "shape = 'disk'", ["bodies[0].shape", "did you mean 'disc'?"]),
    "unknown material": (
        "[materials.steel]\n" + ONE + "material = 'steal'",
        ["bodies[0].material", "did you mean 'steel'?", "line 5"],
    ),
    "unknown material of a pair": (
        ONE + "[[pairs]]\nbetween = ['default', 'x']\nfriction = 1",
        ["pairs[0].between[1]"],
    ),
    "restitution": ("[materials.a]\nrestitution = 1.5\n" + ONE, ["materials.a.restitution", "1.5", "from 0 to 1"]),
    "lists of other lengths": (ONE + "mass = [1, 2]", ["bodies[0].mass", "2 entries", "one for each body"]),
    "unknown generator": ("[[generators]]\nkind = 'hexgrid'", ["generators[0].kind", "did you mean 'hex_grid'?"]),
    "no kind": ("[[generators]]\nrows = 3", ["generators[0].kind", "nothing", "random_pour"]),
    "unknown motion": (ONE + "motion = {kind = 'vibratin'}", ["bodies[0].motion.kind", "did you mean 'vibrating'?"]),
    "word for motion": (ONE + "motion = 'fixd'", ["bodies[0].motion", "did you mean 'fixed'?"]),
    "motion without numbers": (ONE + "motion = {kind = 'moving'}", ["bodies[0].motion.velocity", "nothing"]),
    "times": (
        ONE + "motion = {kind = 'table', times = [1, 0], x = [0, 0], y = [0, 0]}",
        ["bodies[0].motion.times", "rising"],
    ),
    "free boundary": (ONE + "[[boundaries]]\nkind = 'drum'\nradius = 9\nmotion = 'free'", ["boundaries[0].motion"]),
    "box": (
        ONE + "[[boundaries]]\nkind = 'container'\nlower = [0, 0]\nupper = [0, 1]",
        ["boundaries[0].upper", "line 7"],
    ),
    "segment": (ONE + "[[boundaries]]\nkind = 'segment'\nstart = [1, 1]\nend = [1, 1]", ["boundaries[0].end"]),
    "shear": (ONE + "[periodic]\nx = [0, 1]\nshear_rate = 1", ["periodic.shear_rate"]),
    "symmetry": (ONE + "[[symmetries]]\nmatrix = [[1, 0], [0, 2]]", ["symmetries[0].matrix", "orthogonal"]),
    "circle of copies": (
        "".join(
            f"[[generators]]\nkind = 'copies'\nname = '{a}'\nof = '{b}'\noffsets = [1, 0]\n"
            for a, b in ("ab", "bc", "ca")
        ),
        ["generators[2].of", "a -> b -> c -> a"],
    ),
    "copies of itself": ("[[generators]]\nkind = 'copies'\nname = 'a'\nof = 'a'\noffsets = [1, 0]", ["a -> a"]),
    "copies of nothing": (
        ONE + "name = 'ball'\n[[generators]]\nkind = 'copies'\nof = 'bal'\noffsets = [1, 0]",
        ["generators[0].of", "did you mean 'ball'?"],
    ),
    "copies of two": (
        2 * (ONE + "name = 'a'\n") + "[[generators]]\nkind = 'copies'\nof = 'a'\noffsets = [1, 0]",
        ["generators[0].of", "bodies[0] and bodies[1]"],
    ),
    "too many": (
        "[[generators]]\nkind = 'random_pour'\ncount = 99\nradius = 1\nlower = [0, 0]\nupper = [9, 9]",
        ["generators[0].count", "99", "384%"],
    ),
    "too large": (
        "[[generators]]\nkind = 'random_pour'\ncount = 1\nradius = 5\nlower = [0, 0]\nupper = [9, 9]",
        ["generators[0].radius", "4.5"],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_get_one_clear_message(name):
    text, words = BAD[name]
    with pytest.raises(ProblemError) as caught:
        parse_toml(text, "bad.toml")
    message = str(caught.value)
    assert "\n" not in message and "bad.toml" in message
    for word in words:
        assert word in message, message


def test_other_errors_are_counted():
    with pytest.raises(ProblemError, match=r"bodies\[0\]\.radius: .* \(and 2 more\)"):
        parse_toml("[[bodies]]\nradius = -1\nposition = 3\nmass = -1")


@pytest.mark.parametrize(
    ("name", "make", "words"),
    [
        ("none.toml", lambda p: None, ["none.toml", "exists"]),
        ("folder.toml", lambda p: p.mkdir(), ["folder.toml", "folder"]),
        ("latin.toml", lambda p: p.write_bytes(b'[scene]\nname = "\xe9"'), ["latin.toml", "UTF-8"]),
        ("scene.yaml", lambda p: p.write_text(ONE), ["scene.yaml", ".toml"]),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, make, words):
    make(tmp_path / name)
    with pytest.raises(ProblemError) as caught:
        load_scene(tmp_path / name)
    assert all(word in str(caught.value) for word in words), caught.value


@given(st.data())
def test_junk_anywhere_is_refused_as_a_problem_or_harmless(data):
    """Replace, remove or add: a scene, or a ProblemError; never another exception."""
    text = data.draw(
        st.sampled_from([*EXAMPLES, EVERYTHING, *(starter_text("s", "s.toml", d) for d in (2, 3))])
    ).replace("1000", "10")
    document = copy.deepcopy(parse(text, "s"))
    *way, last = data.draw(st.sampled_from(list(leaves(document))))
    here = document
    for step in way:
        here = here[step]
    action = data.draw(st.sampled_from(["replace", "remove", "add"]))
    if action == "remove":
        del here[last]
    elif action == "add" and isinstance(here, dict):
        here["extra"] = 1
    else:
        here[last] = data.draw(st.sampled_from(JUNK))
    try:
        scene = scene_of(document)
    except ProblemError:
        return
    assert scene.count > 0


def test_lines_are_found_past_strings_and_lists_of_several_lines():
    string = '[scene]\ndescription = """\n[[bodies]]\nradius = 7\n"""\n'
    text = string + "[[bodies]]\nposition = [\n [0, 0], # ]\n]\nradius = 1\n"
    assert line_of(text, "scene.description") == 2
    assert line_of(text, "bodies[0].position[0]") == 7
    assert line_of(text, "bodies[0].radius") == 10
    assert line_of(text, "bodies[0].mass") == 6  # not there: its table is
    assert line_of(text, "boundaries") is None


# -- writing ---------------------------------------------------------------------------------------------------


def test_a_written_scene_reads_the_same():
    scene = rich_2d()
    again = parse_toml(scene_to_toml(scene))
    assert same(unpack(*pack(again)), again)
    assert same(parse_toml(scene_to_toml(again)), again)
    a, b = build(scene, check_overlap=False), build(again, check_overlap=False)
    for field in WORLD:
        np.testing.assert_array_equal(getattr(a[0], field), getattr(b[0], field))
    np.testing.assert_array_equal(a[1].velocity, b[1].velocity)
    assert again.boundaries == tuple(scene.boundaries) and again.periodic == scene.periodic
    assert again.symmetries == scene.symmetries and again.parameters == scene.parameters
    assert again.step == scene.step and again.name == scene.name


finite = st.floats(-1e6, 1e6)


@given(
    st.lists(st.tuples(finite, finite), min_size=1, max_size=5),
    st.floats(1e-9, 1e9),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8),
)
def test_numbers_keep_their_bits(points, radius, name):
    scene = Scene(name or "s", [Bodies(Disc(radius), np.array(points), name=name)])
    again = parse_toml(scene_to_toml(scene))
    assert np.asarray(again.bodies[0].position).tobytes() == np.array(points).tobytes()
    assert again.bodies[0].shape.radius == radius and again.bodies[0].name == name


def test_functions_are_refused_before_the_file_is_touched(tmp_path):
    ball = Bodies(Disc(1.0), np.zeros((1, 2)))
    path = tmp_path / "s.toml"
    for scene, field in (
        (Scene("s", [ball], force=lambda t, x, v: x), "force"),
        (Scene("s", [Bodies(Disc(1.0), np.zeros((1, 2)), motion=Scripted(lambda t: (t, 0.0)))]), "bodies[0].motion"),
        (Scene("s", [ball], boundaries=[Plane(motion=Scripted(lambda t: (t, 0.0)))]), "boundaries[0].motion"),
    ):
        with pytest.raises(ProblemError) as caught:
            save_scene(scene, path)
        assert caught.value.field == field and "function" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_saving_does_not_overwrite_unasked(tmp_path):
    path = tmp_path / "s.toml"
    save_scene(rich_2d(), path)
    with pytest.raises(ProblemError, match="exists"):
        save_scene(rich_2d(), path)
    save_scene(rich_2d(), path, overwrite=True)
    assert load_scene(path).count == 42
    with pytest.raises(ProblemError, match=r"\.toml"):
        save_scene(rich_2d(), tmp_path / "s.json")


# -- schema ----------------------------------------------------------------------------------------------------


def test_the_schema_knows_every_key_of_the_examples():
    schema = scene_schema()
    keys = {key for table in schema["$defs"].values() for key in table.get("properties", ())} | set(
        schema["properties"]
    )
    for text in [*EXAMPLES, EVERYTHING]:
        names = {step for path in leaves(parse(text, "s")) for step in path if isinstance(step, str)}
        assert names - keys - set(parse(text, "s").get("materials", ())) == set()
    assert "null" not in json.dumps(schema)
    assert schema["additionalProperties"] is False

"""Scene files in 3D: contents, error messages, and that a written scene reads the same."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scene.rich_scenes import EVERYTHING, WORLD, obj_file, rich_3d, same

from carom import ProblemError
from carom.build import build
from carom.geometry.rotations import matrices
from carom.scene.boundaries import Container, Periodic, Plane, Shell, Tube
from carom.scene.file import load_scene, parse_toml, save_scene, scene_to_toml, starter_text
from carom.scene.model import Bodies, Scene
from carom.scene.motion import FIXED, Moving, Rotating, Scripted, Table, Vibrating
from carom.scene.shapes import Box, Capsule, Compound, Cone, Cylinder, Ellipsoid, Hull, Part, Sphere
from carom.scene.store import pack, unpack

ONE = "[[bodies]]\nshape = 'sphere'\nradius = 1\nposition = [0, 0, 0]\n"


# -- what a file says ------------------------------------------------------------------------------------------


def test_every_field_of_a_file_arrives():
    scene = parse_toml(EVERYTHING)
    assert (scene.dimension, scene.gravity, scene.integrator) == (3, (0.0, 1.0, -10.0), "split")
    balls, box, capsule, rods, hull, compound = scene.bodies
    np.testing.assert_array_equal(balls.shape.radius, [1, 2])
    np.testing.assert_array_equal(balls.spin, [[0, 0, 1], [0, 2, 0]])
    np.testing.assert_array_equal(balls.inertia, [[1, 1, 2], [1, 2, 2]])
    assert box.shape == Box((1.0, 2.0, 3.0)) and box.motion == Rotating(2.0, (1.0, 1.0, 0.0), (0.0, 1.0, 0.0))
    np.testing.assert_array_equal(box.orientation, [0.5, 0.5, 0.5, 0.5])
    assert capsule.shape == Capsule(0.5, 2.0) and capsule.motion == Moving((0.0, 0.0, 1.0), 2.0, (1.0, 0.0, 0.0))
    assert rods.shape == Cylinder(0.5, 2.0)
    np.testing.assert_array_equal(rods.orientation, [[1, 0, 0, 0], [0, 0, 0, 1]])  # exact, not cos(pi / 2)
    assert isinstance(hull.shape, Hull) and hull.motion is FIXED
    ball, inner = compound.shape.parts
    assert (ball.shape, ball.position, ball.density) == (Sphere(1.0), (1.0, 0.0, 0.0), 2.0)
    assert inner.orientation == (0.0, 0.0, 0.0, 1.0) and inner.shape.parts[0].shape == Box((1.0, 1.0, 1.0))
    assert scene.boundaries == (
        Plane((0.0, 0.0, -20.0), motion=Vibrating(1.0, 2.0)),
        Container((-50.0,) * 3, (50.0,) * 3, open_top=True),
        Tube(60.0, axis=(0.0, 1.0, 0.0), motion=Table((0, 1), (0, 0), (0, 0), (0, 2), (0, 1), (0.0, 1.0, 0.0))),
        Shell(70.0, (1.0, 0.0, 0.0)),
    )
    assert scene.periodic == Periodic(z=(-60.0, 60.0))
    assert scene.symmetries[0].matrix[0] == (-1.0, 0.0, 0.0)
    assert build(scene, check_overlap=False)[0].count == 8


@pytest.mark.parametrize("degrees", [0, 90, 180, 270, 360, -90, 450])
def test_quarter_turns_are_exact(degrees):
    """A matrix of zeros and ones, so that what is symmetric stays so bit for bit."""
    text = ONE.replace("'sphere'\nradius = 1", "'box'\nsize = [1, 2, 3]")
    scene = parse_toml(text + f"rotation = {{axis = [0, 0, 5], degrees = {degrees}}}")
    c, s = {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1)}[degrees % 360]
    found = matrices(np.atleast_2d(scene.bodies[0].orientation))[0]
    np.testing.assert_array_equal(found, [[c, -s, 0], [s, c, 0], [0, 0, 1]])


@pytest.mark.parametrize("degrees", [1.0, 33.0, 120.0])
def test_other_turns_follow_the_right_hand(degrees):
    text = ONE + f"rotation = {{axis = [0, 0, 1], degrees = {degrees}}}"
    found = matrices(np.atleast_2d(parse_toml(text).bodies[0].orientation))[0]
    angle = np.radians(degrees)
    np.testing.assert_allclose(found[0], [np.cos(angle), -np.sin(angle), 0], atol=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        ONE,
        "[scene]\ndimension = 3\n[[bodies]]\nradius = 1\nposition = [0, 0, 0]",
        "[[bodies]]\nradius = 1\nposition = [0, 0, 5]\n[[boundaries]]\nkind = 'plane'",
        "[[generators]]\nkind = 'grid'\nrows = 1\ncolumns = 1\nshape = 'capsule'\nradius = 1\nlength = 1",
    ],
)
def test_a_scene_is_of_space_if_it_says_so_or_anything_in_it_is(text):
    scene = parse_toml(text)
    assert scene.dimension == 3 and scene.gravity == (0.0, 0.0, 0.0)
    assert build(scene, check_overlap=False)[0].dimension == 3


def test_meshes_are_looked_for_from_the_scene_file(tmp_path, monkeypatch):
    (tmp_path / "shapes").mkdir()
    obj_file(tmp_path / "shapes" / "corner.obj")
    text = "[[bodies]]\nshape = 'mesh'\npath = 'shapes/corner.obj'\nscale = 2\ncell = 0.1\nposition = [0, 0, 0]"
    (tmp_path / "s.toml").write_text(text)
    monkeypatch.chdir("/")
    mesh = load_scene(tmp_path / "s.toml").bodies[0].shape
    assert (mesh.path, mesh.scale, mesh.spacing) == (str(tmp_path / "shapes" / "corner.obj"), 2.0, 0.1)
    save_scene(load_scene(tmp_path / "s.toml"), tmp_path / "again.toml")
    assert 'path = "shapes/corner.obj"' in (tmp_path / "again.toml").read_text()
    assert same(load_scene(tmp_path / "again.toml"), load_scene(tmp_path / "s.toml"))


def test_the_starter_of_space_and_all_that_it_has_commented_out():
    text = starter_text('a "name"', "a.toml", 3)
    scene = parse_toml(text)
    assert scene.name == 'a "name"' and scene.count == 104
    everything = re.sub(r"^# (?=[a-z_]+ = |\[)", "", text, flags=re.MULTILINE)
    assert everything.count("\n# ") < text.count("\n# ") - 20
    more = parse_toml(everything)
    assert more.count == 105 and more.periodic is not None
    assert build(more, check_overlap=False)[0].count == 105


# -- what a file may not say -----------------------------------------------------------------------------------

MESH = "[[bodies]]\nshape = 'mesh'\nposition = [0, 0, 0]\n"
BAD = {
    "two numbers": ("[[bodies]]\nshape = 'sphere'\nradius = 1\nposition = [0, 0]", ["bodies[0].position", "[x, y, z]"]),
    "gravity": ("[scene]\ngravity = [0, -9]\n" + ONE, ["scene.gravity", "three numbers [x, y, z]", "line 2"]),
    "dimension": ("[scene]\ndimension = 4\n" + ONE, ["scene.dimension: got 4; expected 2 or 3"]),
    "sphere in 2D": ("[scene]\ndimension = 2\n" + ONE, ["bodies[0].shape", "did you mean 'disc'?"]),
    "disc in 3D": (ONE + ONE.replace("sphere", "disc"), ["bodies[1].shape", "did you mean 'sphere'?", "line 6"]),
    "rectangle in 3D": (
        ONE + "[[bodies]]\nshape = 'rectangle'\nsize = [1, 1, 1]\nposition = [3, 0, 0]",
        ["bodies[1].shape", "did you mean 'box'?"],
    ),
    "flat size": (
        "[[bodies]]\nshape = 'box'\nsize = [1, 1]\nposition = [0, 0, 0]",
        ["bodies[0].size", "three edge"],
    ),
    "no length": ("[[bodies]]\nshape = 'capsule'\nradius = 1\nposition = [0, 0, 0]", ["bodies[0].length", "capsule"]),
    "length of a sphere": (ONE + "length = 1", ["bodies[0].length", "'capsule', 'cylinder' or 'cone'", "'sphere'"]),
    "many radii": (
        "[[bodies]]\nshape = 'capsule'\nradius = [1, 2]\nlength = 1\nposition = [[0, 0, 0], [9, 0, 0]]",
        ["bodies[0].radius", "the same for all bodies"],
    ),
    "angle": (ONE + "angle = 1", ["bodies[0].angle", "the scene is 3D"]),
    "orientation in 2D": (
        "[[bodies]]\nradius = 1\nposition = [0, 0]\norientation = [1, 0, 0, 0]",
        ["bodies[0].orientation", "the scene is 2D", "dimension = 3"],
    ),
    "axis in 2D": (
        "[[bodies]]\nradius = 1\nposition = [0, 0]\nmotion = {kind = 'rotating', speed = 1, axis = [0, 0, 1]}",
        ["bodies[0].motion.axis", "the scene is 2D"],
    ),
    "integrator in 2D": (
        "[scene]\nintegrator = 'dmv'\n[[bodies]]\nradius = 1\nposition = [0, 0]",
        ["scene.integrator", "the scene is 2D"],
    ),
    "integrator": ("[scene]\nintegrator = 'dvm'\n" + ONE, ["scene.integrator", "did you mean 'dmv'?"]),
    "scalar spin": (ONE + "spin = 1", ["bodies[0].spin", "[x, y, z]"]),
    "inertia": (ONE + "inertia = [1, -1, 1]", ["bodies[0].inertia[1]: got -1", "above 0"]),
    "short quaternion": (ONE + "orientation = [1, 0, 0]", ["bodies[0].orientation", "[w, x, y, z]"]),
    "zero quaternion": (ONE + "orientation = [0, 0, 0, 0]", ["bodies[0].orientation", "not zero"]),
    "two turns": (
        ONE + "orientation = [1, 0, 0, 0]\nrotation = {axis = [0, 0, 1], degrees = 1}",
        ["bodies[0].rotation", "not both"],
    ),
    "no axis": (ONE + "rotation = {degrees = 1}", ["bodies[0].rotation.axis", "nothing"]),
    "zero axis": (ONE + "rotation = {axis = [0, 0, 0], degrees = 1}", ["bodies[0].rotation.axis", "not zero"]),
    "many turns": (
        ONE + "rotation = {axis = [0, 0, 1], degrees = [1, 2]}",
        ["bodies[0].rotation.degrees", "2 entries"],
    ),
    "few points": (
        "[[bodies]]\nshape = 'hull'\nvertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]\nposition = [0, 0, 0]",
        ["bodies[0].vertices", "four"],
    ),
    "no mesh": (MESH, ["bodies[0].path", "nothing", "vertices and faces"]),
    "no faces": (MESH + "vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]", ["bodies[0].faces", "nothing"]),
    "face beyond": (
        MESH + "vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]\nfaces = [[0, 1, 2], [0, 1, 4]]",
        ["bodies[0].faces[1][2]: got 4", "0 to 3"],
    ),
    "half a face": (
        MESH + "vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]\nfaces = [[0, 1, 1.5]]",
        ["bodies[0].faces[0]", "vertex numbers"],
    ),
    "mesh twice": (
        MESH + "path = 'a.obj'\nvertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]",
        ["bodies[0].vertices", "path"],
    ),
    "no such mesh": (MESH + "path = 'nowhere.obj'", ["bodies[0].path", "nowhere.obj", "existing"]),
    "not a mesh": (MESH + "path = 'a.txt'", ["bodies[0].path", ".stl"]),
    "no parts": ("[[bodies]]\nshape = 'compound'\nposition = [0, 0, 0]", ["bodies[0].parts", "nothing"]),
    "empty parts": ("[[bodies]]\nshape = 'compound'\nparts = []\nposition = [0, 0, 0]", ["bodies[0].parts", "[]"]),
    "bad part": (
        "[[bodies]]\nshape = 'compound'\nposition = [0, 0, 0]\nparts = [{radius = 1}, {shape = 'box', radius = 1}]",
        ["bodies[0].parts[1].size", "box"],
    ),
    "part with a velocity": (
        "[[bodies]]\nshape = 'compound'\nposition = [0, 0, 0]\nparts = [{radius = 1, velocity = [1, 0, 0]}]",
        ["bodies[0].parts[0].velocity", "no such field"],
    ),
    "boundary of 2D": (
        ONE + "[[boundaries]]\nkind = 'drum'\nradius = 9",
        ["boundaries[0].kind", "'drum'", "plane, container, tube, shell", "the scene is 3D"],
    ),
    "boundary of 3D": (
        "[scene]\ndimension = 2\n[[bodies]]\nradius = 1\nposition = [0, 0]\n[[boundaries]]\nkind = 'tube'\nradius = 9",
        ["boundaries[0].kind", "plane, container, drum, segment", "the scene is 2D"],
    ),
    "unknown wall": (ONE + "[[boundaries]]\nkind = 'plain'", ["boundaries[0].kind", "did you mean 'plane'?"]),
    "container": (
        ONE + "[[boundaries]]\nkind = 'container'\nlower = [0, 0, 0]\nupper = [1, 1, 0]",
        ["boundaries[0].upper", "above lower"],
    ),
    "free wall": (ONE + "[[boundaries]]\nkind = 'plane'\nmotion = 'free'", ["boundaries[0].motion"]),
    "flat motion": (ONE + "motion = {kind = 'moving', velocity = [1, 0]}", ["bodies[0].motion.velocity", "[x, y, z]"]),
    "periodic": (ONE + "[periodic]\nz = [1, 0]", ["periodic.z", "low below high"]),
    "periodic z in 2D": ("[[bodies]]\nradius = 1\nposition = [0, 0]\n[periodic]\nz = [0, 9]", ["periodic.z"]),
    "rack": (
        "[[generators]]\nkind = 'rack'\nshape = 'sphere'\nradius = 1\nrows = 3",
        ["generators[0].kind", "hex_grid"],
    ),
    "layers in 2D": (
        "[[generators]]\nkind = 'grid'\nrows = 1\ncolumns = 1\nlayers = 2\nradius = 1",
        ["generators[0].layers", "the scene is 2D"],
    ),
    "too many": (
        "[[generators]]\nkind = 'random_pour'\nshape = 'sphere'\nradius = 1\ncount = 99\nlower = [0, 0, 0]\n"
        "upper = [9, 9, 9]",
        ["generators[0].count", "fill 57%"],
    ),
    "too large": (
        "[[generators]]\nkind = 'random_pour'\nshape = 'sphere'\nradius = 5\ncount = 1\nlower = [0, 0, 0]\n"
        "upper = [9, 9, 9]",
        ["generators[0].radius", "4.5"],
    ),
    "circle in 3D": (
        "[[generators]]\nkind = 'random_pour'\nshape = 'sphere'\nradius = 1\ncount = 1\ncircle = {radius = 9}",
        ["generators[0].circle", "the scene is 3D"],
    ),
    "flat hull": (
        "[[generators]]\nkind = 'grid'\nrows = 2\ncolumns = 2\nshape = 'hull'\n"
        "vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]",
        ["generators[0].vertices", "one plane"],
    ),
    "turn of copies": (
        ONE + "name = 'a'\n[[generators]]\nkind = 'copies'\nof = 'a'\noffsets = [9, 0, 0]\nturn = 1",
        ["generators[0].turn", "the scene is 3D"],
    ),
    "turns of copies": (
        ONE + "name = 'a'\n[[generators]]\nkind = 'copies'\nof = 'a'\noffsets = [9, 0, 0]\n"
        "rotation = {axis = [0, 0, 1], degrees = [1, 2]}",
        ["generators[0].rotation.degrees", "2 entries"],
    ),
    "symmetry": (ONE + "[[symmetries]]\nmatrix = [[1, 0, 0], [0, 1, 0]]", ["symmetries[0].matrix", "orthogonal"]),
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


# -- writing and storing ---------------------------------------------------------------------------------------


def test_a_written_scene_reads_the_same():
    scene = rich_3d()
    again = parse_toml(scene_to_toml(scene))
    assert same(unpack(*pack(again)), again)
    assert same(parse_toml(scene_to_toml(again)), again)
    a, b = build(scene, check_overlap=False), build(again, check_overlap=False)
    for field in WORLD:
        np.testing.assert_array_equal(getattr(a[0], field), getattr(b[0], field))
    np.testing.assert_array_equal(a[1].velocity, b[1].velocity)
    assert again.boundaries == tuple(scene.boundaries) and again.periodic == scene.periodic
    assert again.symmetries == tuple(scene.symmetries) and again.integrator == "split"


def test_cone():
    """Its top radius is 0 by default, and may not be negative."""
    cone = "[[bodies]]\nshape = 'cone'\nradius = 1\nlength = 2\nposition = [0, 0, 0]\n"
    assert parse_toml(cone).bodies[0].shape == Cone(1.0, 2.0)
    assert parse_toml(cone + "top_radius = 0.5").bodies[0].shape == Cone(1.0, 2.0, 0.5)
    with pytest.raises(ProblemError, match="top_radius"):
        parse_toml(cone + "top_radius = -0.5")


def test_ellipsoid():
    """It has three half axes above 0; two of them belong to an ellipse."""
    table = "[[bodies]]\nshape = 'ellipsoid'\nposition = [0, 0, 0]\n"
    assert parse_toml(table + "half_axes = [1, 2, 3]").bodies[0].shape == Ellipsoid((1.0, 2.0, 3.0))
    for bad in ("[1, 2]", "[1, 2, 0]", "1"):
        with pytest.raises(ProblemError, match=r"half_axes: got .* expected three half axes"):
            parse_toml(table + f"half_axes = {bad}")
    with pytest.raises(ProblemError, match=r"half_axes: got .* expected three half axes"):
        build(Scene("bad", [Bodies(Ellipsoid((1.0, -2.0, 3.0)), [[0.0, 0.0, 0.0]])]))
    with pytest.raises(ProblemError, match="did you mean 'ellipsoid'"):
        parse_toml("[scene]\ndimension = 3\n" + table.replace("ellipsoid", "ellipse") + "half_axes = [1, 2]")


finite = st.floats(-1e6, 1e6)
positive = st.floats(1e-9, 1e9)
vector = st.tuples(finite, finite, finite)
quaternion = st.tuples(finite, finite, finite, finite).filter(lambda q: any(q))
simple = st.one_of(
    st.builds(Sphere, positive),
    st.builds(Box, st.tuples(positive, positive, positive)),
    st.builds(Capsule, positive, positive),
    st.builds(Cylinder, positive, positive),
    st.builds(Cone, positive, positive, st.one_of(st.just(0.0), positive)),
    st.builds(Ellipsoid, st.tuples(positive, positive, positive)),
    st.builds(Hull, st.lists(vector, min_size=4, max_size=6).map(np.array)),
)
part = st.builds(Part, simple, vector, quaternion, positive)
compounds = st.lists(part, min_size=1, max_size=3).map(tuple).map(Compound)
nested = st.builds(Part, compounds, vector, quaternion, positive)
shapes = st.one_of(simple, compounds, st.lists(nested, min_size=1, max_size=2).map(tuple).map(Compound))


def stored_shape(scene: Scene) -> object:
    return pack(scene)[0]["bodies"][0]["fields"]["shape"]


@given(shapes, st.lists(st.tuples(vector, quaternion, vector), min_size=1, max_size=3))
def test_any_shape_and_turn_keeps_its_bits(shape, rows):
    places, turns, spins = (np.array(column) for column in zip(*rows))
    scene = Scene("s", [Bodies(shape, places, orientation=turns, spin=spins)], gravity=(0.0, 0.0, 1.0))
    stored = unpack(json.loads(json.dumps(pack(scene)[0])), pack(scene)[1])
    assert same(stored, scene)
    written = parse_toml(scene_to_toml(scene))
    assert same(parse_toml(scene_to_toml(written)), written)
    for again in (stored, written):
        group = again.bodies[0]
        assert np.asarray(group.position).tobytes() == places.tobytes()
        assert stored_shape(scene) == stored_shape(again)
    if np.any(turns != (1.0, 0.0, 0.0, 0.0)):
        assert np.asarray(written.bodies[0].orientation).tobytes() == turns.tobytes()


def test_functions_are_refused(tmp_path):
    pushed = Bodies(Sphere(1.0), np.zeros((1, 3)), motion=Scripted(lambda t: (t, 0.0, 0.0)))
    with pytest.raises(ProblemError, match=r"bodies\[0\]\.motion.*function"):
        save_scene(Scene("s", [pushed]), tmp_path / "s.toml")
    assert list(tmp_path.iterdir()) == []

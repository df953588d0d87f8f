"""From a scene to a world: masses against independent formulas, and every bad scene refused by name and value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contact.shapes_2d import polygons
from tests.stepping.runs import box, disc, states_of

from carom import ImpactProblem
from carom.build import build
from carom.contact.containment import INITIAL_OVERLAP
from carom.contact.detector import find_contacts
from carom.errors import ProblemError
from carom.geometry.polygons import convex_polygon, polygon_moments
from carom.scene import (
    FIXED,
    Bodies,
    Container,
    Disc,
    Drum,
    Material,
    Moving,
    Periodic,
    Plane,
    Polygon,
    Rectangle,
    Scene,
    Scripted,
    Segment,
    Table,
    Vibrating,
)
from carom.scene.file import parse_toml, scene_to_toml
from carom.simulation import simulate


def scene(*bodies, **more) -> Scene:
    return Scene("s", bodies or [disc(0.0, 0.0)], **more)


# ---- mass, inertia, corners


def by_triangles(corners):
    """Area, centroid and polar moment about it, from triangles and the parallel-axis theorem."""
    a = corners[0]
    area, first = 0.0, np.zeros(2)
    parts = []
    for k in range(1, len(corners) - 1):
        b, c = corners[k], corners[k + 1]
        size = 0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
        center = (a + b + c) / 3.0
        sides = ((b - a) @ (b - a) + (c - b) @ (c - b) + (a - c) @ (a - c)) / 36.0
        parts.append((size, center, size * sides))
        area, first = area + size, first + size * center
    center = first / area
    return area, center, sum(i + s * ((c - center) @ (c - center)) for s, c, i in parts)


@given(polygons(), st.floats(-50.0, 50.0), st.floats(-50.0, 50.0))
def test_polygon_moments(corners, x, y):
    """The same area, centroid and moment from another formula, far from the origin too (which costs digits)."""
    moved = corners + np.array([x, y])
    area, center, moment = polygon_moments(moved)
    expected = by_triangles(moved)
    assert area == pytest.approx(expected[0], rel=1e-9)
    np.testing.assert_allclose(center, expected[1], atol=1e-8)
    assert moment == pytest.approx(expected[2], rel=1e-6)


@given(polygons(), st.floats(0.1, 10.0))
def test_mass_of_polygons(corners, density):
    shape = Polygon(corners + np.array([3.0, -2.0]))
    world, _ = build(scene(Bodies(shape, np.array([[0.0, 0.0]])), materials={"default": Material(density=density)}))
    area, _, moment = by_triangles(corners)
    assert world.mass[0] == pytest.approx(density * area, rel=1e-9)
    assert world.inertia[0] == pytest.approx(density * moment, rel=1e-9)
    assert world.shapes.radius[0] == pytest.approx(np.hypot(*corners.T).max(), rel=1e-9)
    np.testing.assert_allclose(world.shapes.vertex, corners, atol=1e-9)  # moved to its center of mass


def test_clockwise_corners_are_turned_round():
    square = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)]
    corners = convex_polygon(square, "vertices")
    assert polygon_moments(corners)[0] == pytest.approx(1.0)


def test_a_rectangle_is_the_polygon_of_its_corners():
    corners = [(-1.0, -0.25), (1.0, -0.25), (1.0, 0.25), (-1.0, 0.25)]
    one, _ = build(scene(box(0.0, 0.0, 2.0, 0.5)))
    two, _ = build(scene(Bodies(Polygon(corners), np.array([[0.0, 0.0]]))))
    assert one.mass[0] == pytest.approx(two.mass[0]) and one.inertia[0] == pytest.approx(two.inertia[0])
    assert one.length_scale == pytest.approx(two.length_scale) == pytest.approx(0.25)


def test_mass_of_discs_and_what_is_given_wins():
    world, _ = build(scene(Bodies(Disc(np.array([1.0, 2.0])), np.array([[0.0, 0.0], [9.0, 0.0]]))))
    np.testing.assert_allclose(world.mass, np.pi * np.array([1.0, 4.0]))
    np.testing.assert_allclose(world.inertia, 0.5 * world.mass * [1.0, 4.0])
    world, _ = build(scene(disc(0.0, 0.0, mass=3.0), disc(9.0, 0.0, mass=3.0, inertia=7.0)))
    np.testing.assert_allclose(world.mass, 3.0)
    np.testing.assert_allclose(world.inertia, [1.5, 7.0])


def test_two_components_are_enough_where_nothing_turns():
    assert build(scene())[0].block == 2
    assert build(scene(box(0.0, 0.0)))[0].block == 3
    assert build(scene(box(0.0, 0.0, rotates=False)))[0].block == 2
    assert build(scene(materials={"default": Material(1.0, 0.1)}))[0].block == 3
    assert build(scene(disc(0.0, 0.0, spin=1.0)))[0].block == 3


def test_groups_keep_their_order():
    world, state = build(scene(disc(0.0, 0.0, 1.0, 0.0), box(9.0, 0.0), disc(18.0, 0.0, motion=FIXED)))
    assert list(world.group) == [0, 1, 2]
    assert list(world.free) == [True, True, False]
    assert not world.inverse_sqrt_mass[2].any()
    np.testing.assert_array_equal(state.position[:, 0], [0.0, 9.0, 18.0])
    assert list(np.diff(world.shapes.vertex_ptr)) == [0, 4, 0]


def test_single_values_serve_all_and_arrays_are_copied():
    places = np.array([[0.0, 0.0], [9.0, 0.0]])
    _, state = build(scene(Bodies(Disc(1.0), places, velocity=(1.0, 2.0), angle=0.5)))
    np.testing.assert_array_equal(state.velocity[:, :2], [[1.0, 2.0]] * 2)
    np.testing.assert_array_equal(state.orientation, 0.5)
    places[:] = np.nan
    assert np.isfinite(state.position).all()


def test_fixed_bodies_stay():
    """A velocity or a spin on a body that is fixed moves nothing."""
    s = scene(disc(0.0, 0.0, 1.0, 0.0, spin=2.0, motion=FIXED), disc(9.0, 0.0))
    last = states_of(s, 20)[-1]
    np.testing.assert_array_equal(last.position[0], [0.0, 0.0])
    assert last.orientation[0] == 0.0


# ---- what is refused: (scene, words that the message must have)

TWO = np.array([[0.0, 0.0], [9.0, 0.0]])
DENT = [(0.0, 0.0), (2.0, 0.0), (1.0, 0.5), (1.0, 2.0)]
BOWTIE = [(0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0)]
LINE = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (1.0, 1.0)]

BAD_BODIES = {
    "nan place": (Bodies(Disc(1.0), np.array([[0.0, 0.0], [np.nan, 0.0]])), ["bodies[0].position[1]", "nan"]),
    "inf velocity": (disc(0.0, 0.0, np.inf, 0.0), ["bodies[0].velocity", "inf"]),
    "nan angle": (disc(0.0, 0.0, angle=np.nan), ["bodies[0].angle", "nan"]),
    "nan spin": (disc(0.0, 0.0, spin=np.nan), ["bodies[0].spin", "nan"]),
    "radii of another number": (Bodies(Disc(np.ones(3)), TWO), ["bodies[0].radius", "(2,)"]),
    "zero mass": (disc(0.0, 0.0, mass=0.0), ["bodies[0].mass", "0.0"]),
    "nan mass": (disc(0.0, 0.0, mass=np.nan), ["bodies[0].mass", "nan"]),
    "masses of another number": (Bodies(Disc(1.0), TWO, mass=np.ones(3)), ["bodies[0].mass", "(2,)"]),
    "negative inertia": (disc(0.0, 0.0, inertia=-2.0), ["bodies[0].inertia", "-2"]),
    "places in space": (Bodies(Disc(1.0), np.zeros((2, 3))), ["bodies[0].position", "(2, 3)"]),
    "places of text": (Bodies(Disc(1.0), "here"), ["bodies[0].position", "here"]),
    "ragged places": (Bodies(Disc(1.0), [[0.0, 0.0], [1.0]]), ["bodies[0].position"]),
    "no places": (Bodies(Disc(1.0), np.zeros((0, 2))), ["bodies"]),
    "velocities of another number": (Bodies(Disc(1.0), TWO, velocity=np.zeros((3, 2))), ["bodies[0].velocity"]),
    "dent": (Bodies(Polygon(DENT), TWO), ["bodies[0].vertices", "convex"]),
    "bowtie": (Bodies(Polygon(BOWTIE), TWO), ["bodies[0].vertices", "convex"]),
    "three in a line": (Bodies(Polygon(LINE), TWO), ["bodies[0].vertices", "straight line"]),
    "two corners": (Bodies(Polygon(LINE[:2]), TWO), ["bodies[0].vertices", "three corners"]),
    "corner twice": (Bodies(Polygon([*LINE[:2], LINE[3], LINE[3]]), TWO), ["bodies[0].vertices"]),
    "nan corner": (Bodies(Polygon([*LINE[:2], (1.0, np.nan)]), TWO), ["bodies[0].vertices", "finite"]),
    "corners of text": (Bodies(Polygon("abc"), TWO), ["bodies[0].vertices", "abc"]),
    "ragged corners": (Bodies(Polygon([(0.0, 0.0), (1.0, 0.0), (1.0,)]), TWO), ["bodies[0].vertices"]),
    "no shape": (Bodies("disc", TWO), ["bodies[0].shape", "str"]),
    "unknown material": (disc(0.0, 0.0, material="stel"), ["material", "bodies[0]", "stel", "default"]),
    "named group": (disc(0.0, 0.0, mass=-1.0, name="balls"), ["bodies[0]", "balls", "mass"]),
    "not bodies": (3, ["bodies[0]", "int"]),
    "motion of text": (disc(0.0, 0.0, motion="fixed"), ["bodies[0].motion", "fixed"]),
}


def test_bad_sizes_are_refused_where_they_are_written():
    bad = [
        (lambda: Disc(np.array([1.0, 0.0])), "disc.radius"),
        (lambda: Disc(-1.0), "disc.radius: got -1.0; expected a number above 0"),
        (lambda: Disc(np.nan), "disc.radius"),
        (lambda: Disc("big"), "disc.radius"),
        (lambda: Rectangle(0.0, 1.0), "rectangle.width"),
        (lambda: Rectangle(1.0, np.nan), "rectangle.height"),
        (lambda: Rectangle(np.array([1.0, 2.0]), 1.0), "rectangle.width"),
    ]
    for make, words in bad:
        with pytest.raises(ProblemError) as refused:
            make()
        assert words in str(refused.value)


@pytest.mark.parametrize("bad", BAD_BODIES)
def test_bad_bodies(bad):
    bodies, words = BAD_BODIES[bad]
    with pytest.raises(ProblemError) as refused:
        build(scene(bodies))
    for word in words:
        assert word in str(refused.value)


def test_the_second_group_is_named():
    with pytest.raises(ProblemError, match=r"bodies\[1\]\.mass: got -1"):
        build(scene(disc(0.0, 0.0), disc(9.0, 0.0, mass=-1.0)))
    with pytest.raises(ProblemError, match=r"bodies"):
        build(scene(disc(0.0, 0.0), Bodies(Disc(1.0), np.zeros((0, 2)))))


BAD_SCENES = {
    "gravity in space": ({"gravity": (0.0, 0.0, -1.0)}, ["gravity", "two finite numbers"]),
    "nan gravity": ({"gravity": (0.0, np.nan)}, ["gravity", "nan"]),
    "gravity of text": ({"gravity": ("down", 0.0)}, ["gravity", "down"]),
    "ragged gravity": ({"gravity": (0.0, [1.0, 2.0])}, ["gravity", "two finite numbers"]),
    "no gravity": ({"gravity": None}, ["gravity", "None"]),
    "zero step": ({"step": 0.0}, ["step", "0"]),
    "nan duration": ({"duration": np.nan}, ["duration", "nan"]),
    "negative frame rate": ({"frame_rate": -1.0}, ["frame_rate", "-1"]),
    "step of text": ({"step": "fast"}, ["step", "fast"]),
    "no duration": ({"duration": None}, ["duration", "None"]),
    "restitution above one": ({"materials": {"default": Material(1.5)}}, ["materials.default.restitution", "1.5"]),
    "negative friction": ({"materials": {"default": Material(1.0, -0.1)}}, ["materials.default.friction", "-0.1"]),
    "nan friction": ({"materials": {"default": Material(1.0, np.nan)}}, ["materials.default.friction", "nan"]),
    "infinite friction": ({"materials": {"default": Material(1.0, np.inf)}}, ["materials.default.friction", "inf"]),
    "no density": ({"materials": {"default": Material(density=0.0)}}, ["materials.default.density", "0"]),
    "restitution of text": ({"materials": {"default": Material("hard")}}, ["materials.default.restitution", "hard"]),
    "a number for a material": ({"materials": {"default": 0.5}}, ["materials.default", "0.5"]),
    "pair of a stranger": ({"pairs": {("default", "ice"): {"friction": 0.0}}}, ["pairs", "ice"]),
    "pair above one": ({"pairs": {("default", "default"): {"restitution": 2.0}}}, ["pairs", "restitution", "2.0"]),
    "nan pair": ({"pairs": {("default", "default"): {"friction": np.nan}}}, ["pairs", "friction", "nan"]),
    "pair of a misspelt field": ({"pairs": {("default", "default"): {"fricton": 0.1}}}, ["pairs", "fricton"]),
    "density of a pair": ({"pairs": {("default", "default"): {"density": 2.0}}}, ["pairs", "density"]),
    "pair of one": ({"pairs": {"default": {"friction": 0.1}}}, ["pairs", "default"]),
    "not a boundary": ({"boundaries": ["floor"]}, ["boundaries[0]", "str"]),
    "boundary of a strange material": ({"boundaries": [Drum(9.0, material="ice")]}, ["boundaries[0]", "ice"]),
    "boundary without motion": ({"boundaries": [Plane((0.0, -1.0), motion=None)]}, ["boundaries[0].motion"]),
    "periodic of numbers": ({"periodic": (0.0, 1.0)}, ["periodic", "tuple"]),
    "force of a number": ({"force": 3.0}, ["force", "3.0"]),
}


@pytest.mark.parametrize("bad", BAD_SCENES)
def test_bad_scenes(bad):
    changes, words = BAD_SCENES[bad]
    with pytest.raises(ProblemError) as refused:
        build(scene(**changes))
    for word in words:
        assert word in str(refused.value)


BAD_PARTS = {
    "nan plane": (lambda: Plane((0.0, np.nan)), ["boundary.point", "nan"]),
    "no normal": (lambda: Plane(normal=(0.0, 0.0)), ["boundary.normal"]),
    "plane of two dimensions": (lambda: Plane((0.0, 0.0, 0.0), (0.0, 1.0)), ["boundary.normal"]),
    "box inside out": (lambda: Container((0.0, 0.0), (1.0, -1.0)), ["boundary.upper", "-1"]),
    "no drum": (lambda: Drum(0.0), ["boundary.radius", "0"]),
    "nan drum": (lambda: Drum(np.nan), ["boundary.radius", "nan"]),
    "drum of text": (lambda: Drum("big"), ["boundary.radius", "big"]),
    "point segment": (lambda: Segment((1.0, 1.0), (1.0, 1.0)), ["boundary.end"]),
    "periodic upside down": (lambda: Periodic(x=(1.0, 0.0)), ["periodic.x", "(1.0, 0.0)"]),
    "periodic of three": (lambda: Periodic(x=(0.0, 1.0, 2.0)), ["periodic.x"]),
    "shear of one side": (lambda: Periodic(y=(0.0, 1.0), shear_rate=1.0), ["periodic.shear_rate"]),
    "nan shear": (lambda: Periodic((0.0, 1.0), (0.0, 1.0), np.nan), ["periodic.shear_rate", "nan"]),
    "sheared z": (lambda: Periodic((0.0, 1.0), (0.0, 1.0), 1.0, "z"), ["periodic.shear_rate", "z"]),
    "nan vibration": (lambda: Vibrating(np.nan, 1.0), ["motion.amplitude", "nan"]),
    "no direction": (lambda: Vibrating(1.0, 1.0, (0.0, 0.0)), ["motion.direction"]),
    "nan velocity": (lambda: Moving((np.nan, 0.0)), ["motion.velocity", "nan"]),
    "times that fall": (lambda: Table((1.0, 0.0), (0.0, 0.0), (0.0, 0.0)), ["motion.times"]),
    "short table": (lambda: Table((0.0, 1.0), (0.0,), (0.0, 0.0)), ["motion.x", "2 values"]),
    "script of one": (lambda: Scripted(lambda t: (t,)).pose(0.0), ["motion.function"]),
    "script of nan": (lambda: Scripted(lambda t: (t, np.nan)).pose(0.5), ["motion.function", "nan", "0.5"]),
}


@pytest.mark.parametrize("bad", BAD_PARTS)
def test_bad_parts(bad):
    make, words = BAD_PARTS[bad]
    with pytest.raises(ProblemError) as refused:
        make()
    for word in words:
        assert word in str(refused.value)


def test_no_bodies_and_no_scene():
    with pytest.raises(ProblemError, match="bodies: got none"):
        build(Scene("s", []))
    with pytest.raises(ProblemError, match="scene: got str"):
        build("scene.toml")


# ---- the start


def test_overlap_names_both():
    group = Bodies(Disc(1.0), np.array([[0.0, 0.0], [5.0, 0.0], [6.9, 0.0]]), name="balls")
    with pytest.raises(ProblemError) as refused:
        build(scene(group))
    for word in ("body 1", "body 2", "balls", "overlap of 0.1"):
        assert word in str(refused.value)


@pytest.mark.parametrize(("share", "fine"), [(0.9, True), (1.1, False)])
def test_a_hair_of_overlap_is_let_through(share, fine):
    """INITIAL_OVERLAP of the smaller radius: racks are often set a hair too tight."""
    s = scene(disc(0.0, 0.0, radius=5.0), disc(6.0 - share * INITIAL_OVERLAP, 0.0))
    if fine:
        build(s)
    else:
        with pytest.raises(ProblemError, match="overlap"):
            build(s)


def test_overlap_of_boxes_and_across_periodic_sides():
    with pytest.raises(ProblemError, match=r"overlap of 0\.1"):
        build(scene(box(0.0, 0.0), box(0.9, 0.2)))
    with pytest.raises(ProblemError, match=r"overlap of 0\.2"):
        build(scene(disc(0.4, 0.0), disc(8.6, 0.0), periodic=Periodic(x=(0.0, 10.0))))


def test_fixed_bodies_may_overlap_each_other():
    world, _ = build(scene(disc(0.0, 0.0, motion=FIXED), disc(0.5, 0.0, motion=FIXED), disc(9.0, 0.0)))
    assert world.free.tolist() == [False, False, True]


OUTSIDE = {
    "plane": Plane((0.0, -0.5)),
    "floor of a box": Container((-5.0, -0.5), (5.0, 5.0)),
    "right of a box": Container((-5.0, -5.0), (0.5, 5.0)),
    "drum": Drum(0.5, (0.0, 0.0)),
    "outside of a drum": Drum(1.0, (1.5, 0.0), inside=False),
    "segment": Segment((-1.0, 0.5), (1.0, 0.5)),
}


@pytest.mark.parametrize("wall", OUTSIDE)
def test_outside_the_container(wall):
    """Half a radius beyond: whatever the wall, whichever its number."""
    with pytest.raises(ProblemError) as refused:
        build(scene(boundaries=[OUTSIDE[wall]]))
    for word in ("body 0", "0.5", "boundary"):
        assert word in str(refused.value)


def test_wholly_outside_is_outside_too():
    with pytest.raises(ProblemError, match="outside"):
        build(scene(disc(7.0, 0.0), boundaries=[Drum(3.0)]))
    with pytest.raises(ProblemError, match="outside"):
        build(scene(box(0.0, -7.0), boundaries=[Plane()]))


@pytest.mark.parametrize("side", [0, 1, 2, 3])
def test_one_body_that_touches_each_wall_of_a_box_is_fine(side):
    low, high = np.array([-5.0, -5.0]), np.array([5.0, 5.0])
    (low if side % 2 == 0 else high)[side // 2] = -1.0 if side % 2 == 0 else 1.0
    world, state = build(scene(boundaries=[Container(tuple(low), tuple(high))]))
    touching = find_contacts(world, state, state, 1e-9)
    assert touching.count == 1 and abs(touching.gap[0]) <= 1e-12


def test_outside_the_periodic_sides():
    with pytest.raises(ProblemError, match=r"11.*periodic"):
        build(scene(disc(11.0, 0.0), periodic=Periodic(x=(0.0, 10.0))))


def test_wider_than_its_periodic_box():
    """A disc that overlaps its own image."""
    with pytest.raises(ProblemError):
        build(scene(disc(0.5, 0.0), periodic=Periodic(x=(0.0, 1.5))))


# ---- restitutions that differ


def mixed(**more) -> Scene:
    materials = {"default": Material(0.9), "soft": Material(0.2)}
    bodies = disc(0.0, 1.5, 0.0, -1.0), disc(9.0, 1.5, 0.0, -1.0, material="soft")
    return scene(*bodies, boundaries=[Plane()], materials=materials, **more)


def test_laws_with_a_value_for_each_contact_take_them():
    run = simulate(mixed(stepper="synchronous"), "gauss_seidel", 1.0, restitution_model="newton")
    np.testing.assert_allclose(run.velocities[-1][:, 1], [0.9, 0.2], atol=1e-12)


@pytest.mark.parametrize("law", ["gr", "qce"])
def test_materials_that_differ_in_restitution(law):
    """Islands apart, and a disc that hits a corner of two materials: each contact has its own coefficient."""
    run = simulate(mixed(stepper="synchronous"), law, 1.0)
    np.testing.assert_allclose(run.velocities[-1][:, 1], [0.9, 0.2], atol=1e-12)
    corner = scene(
        disc(1.005, 1.01, -1.0, -2.0),
        boundaries=[Plane(material="hard"), Plane(normal=(1.0, 0.0), material="soft")],
        materials={"default": Material(1.0), "hard": Material(0.9), "soft": Material(0.2)},
        stepper="synchronous",
    )
    np.testing.assert_allclose(simulate(corner, law, 0.1).velocities[-1][0], [0.2, 1.8], atol=1e-12)


def test_driven_bodies_start_where_their_motion_begins():
    """A table that begins at x = 2: the first state has it there, and the overlap check sees it there."""
    table = Table((0.0, 1.0), (2.0, 3.0), (0.0, 0.0))
    _, state = build(scene(disc(0.0, 0.0, motion=table), disc(9.0, 0.0)))
    np.testing.assert_array_equal(state.position[0], [2.0, 0.0])
    with pytest.raises(ProblemError, match="overlap"):
        build(scene(disc(0.0, 0.0, motion=table), disc(3.0, 0.0)))


def test_pairs_hold_both_ways():
    materials = {"default": Material(0.9, 0.4), "soft": Material(0.2, 0.1)}
    world, _ = build(scene(materials=materials, pairs={("soft", "default"): {"friction": 0.7}}))
    np.testing.assert_allclose(world.friction, [[0.4, 0.7], [0.7, 0.1]])
    np.testing.assert_allclose(world.restitution, [[0.9, 0.2], [0.2, 0.2]])
    world, _ = build(scene(materials=materials))
    assert world.friction[0, 1] == pytest.approx(math.sqrt(0.04))


# ---- restitution that depends on speed


def falling(restitution, speed=1.0, **more) -> Scene:
    """A disc that hits a plane at `speed` in the first step."""
    materials = {"default": Material(restitution)}
    return scene(
        disc(0.0, 1.001, 0.0, -speed), boundaries=[Plane()], materials=materials, stepper="synchronous", **more
    )


@pytest.mark.parametrize(("speed", "expected"), [(0.5, 0.9), (1.0, 0.9), (2.0, 0.7), (3.0, 0.5), (9.0, 0.5)])
def test_restitution_by_a_table_of_speeds(speed, expected):
    """Linear between the rows, constant beyond them; the same as a function, and from a file."""
    table = ((1.0, 0.9), (3.0, 0.5))
    curves = table, lambda s: np.interp(s, [1.0, 3.0], [0.9, 0.5])
    for curve in curves:
        run = simulate(falling(curve, speed), "gr", 0.05)
        np.testing.assert_allclose(run.velocities[-1][0, 1], expected * speed, rtol=1e-12)
    again = parse_toml(scene_to_toml(falling(table, speed)))
    assert again.materials["default"].restitution == table
    np.testing.assert_allclose(simulate(again, "gr", 0.05).velocities[-1][0, 1], expected * speed, rtol=1e-12)


def test_materials_meet_with_the_smaller_coefficient_at_the_speed():
    """A table that falls from 0.9 to 0.1 against 0.5: the table counts above the speed 2 only. A pair replaces both."""
    materials = {"default": Material(((0.0, 0.9), (4.0, 0.1))), "floor": Material(0.5)}
    for speed, expected in ((1.0, 0.5), (3.0, 0.3)):
        s = falling(1.0, speed).with_(materials=materials, boundaries=[Plane(material="floor")])
        run = simulate(s, "gr", 0.02)
        np.testing.assert_allclose(run.velocities[-1][0, 1], expected * speed, rtol=1e-12)
        run = simulate(s.with_(pairs={("floor", "default"): {"restitution": ((0.0, 0.0), (10.0, 1.0))}}), "gr", 0.02)
        np.testing.assert_allclose(run.velocities[-1][0, 1], 0.1 * speed * speed, rtol=1e-12)


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        (((0.0, 0.5), (0.0, 0.6)), ["materials.default.restitution", "above 0"]),
        (((2.0, 0.5), (1.0, 0.6)), ["materials.default.restitution", "above 2"]),
        (((0.0, 1.5),), ["materials.default.restitution", "from 0 to 1"]),
        ((), ["materials.default.restitution", "table"]),
        (lambda s: np.full(len(s), np.nan), ["materials.default.restitution", "nan at speed 0"]),
        (lambda s: 2.0 * s, ["materials.default.restitution", "2.0 at speed 1"]),
        (lambda s: np.zeros((3, 3)), ["materials.default.restitution", "shape (3, 3)"]),
    ],
)
def test_bad_curves_of_restitution(curve, words):
    with pytest.raises(ProblemError) as refused:
        build(falling(curve))
    assert all(word in str(refused.value) for word in words)


def test_a_function_that_fails_at_a_speed_of_the_run():
    """It is fine at the speeds 0 and 1 that the build tries, and NaN at 2."""
    with pytest.raises(ProblemError, match=r"materials\.default\.restitution: got nan at speed 2"):
        simulate(falling(lambda s: np.where(s > 1.5, np.nan, 0.5), 2.0), "gr", 0.05)


def test_a_function_of_speed_for_one_impact():
    problem = ImpactProblem.chain([1.0, 1.0], [1.0, -1.0], restitution=lambda speed: 1.0 / (1.0 + speed))
    np.testing.assert_allclose(problem.restitution, 1.0 / 3.0)
    np.testing.assert_allclose(problem.with_(restitution=lambda speed: 0.1 * speed).restitution, 0.2)

"""SCISim's XML: every element and attribute that it knows is read, named in a warning, or refused with its line."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from carom.errors import ProblemError
from carom.scene import FIXED, Disc, Drum, Moving, Periodic, Plane, Rectangle
from carom.scene.scisim import SceneWarning, read_scisim

GR = (
    '<impact_operator type="gr" CoR="1.0" v_tol="1.0e-9" cache_impulses="0"><solver name="ql" tol="1e-12"/>'
    "</impact_operator>"
)
VERLET = '<integrator type="verlet" dt="0.01"/>'
BALL = '<ball x="0" y="0" vx="1" vy="0" m="1" r="0.5" fixed="0"/>'
SOBOGUS = (
    '<sobogus_friction_solver mu="0.4" CoR="0.25" max_iters="50" eval_every="5" tol="1e-9" staggering="{}" '
    'cache_impulses="none"/>'
)
WALLS = (
    '<static_plane x="-2 0" n="2 0"/><static_plane x="2 0" n="-1 0"/>'
    '<static_plane x="0 -3" n="0 1"/><static_plane x="0 3" n="0 -1"/>'
)


@pytest.fixture
def read(tmp_path):
    """Reads a scene from the elements inside its root; warnings are tested where they matter."""

    def reader(inside: str, kind: str = "ball2d_scene", quiet: bool = True):
        path = tmp_path / "a_scene.xml"
        path.write_text(f"<!-- a comment\n  in two lines -->\n<{kind}>\n{inside}\n</{kind}>\n")
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore", SceneWarning)
            return read_scisim(path)

    return reader


def said(read, inside: str, kind: str = "ball2d_scene") -> str:
    with pytest.warns(SceneWarning) as record:
        read(inside, kind, quiet=False)
    return "\n".join(str(entry.message) for entry in record)


def test_balls_become_discs_that_do_not_turn(read):
    scene = read(VERLET + GR + BALL + '<ball x="3" y="+1e0" vx="0" vy="-2.5" m="8" r="0.25" fixed="0"/>')
    (group,) = scene.bodies
    assert isinstance(group.shape, Disc) and not group.rotates and group.motion is None
    np.testing.assert_array_equal(group.shape.radius, [0.5, 0.25])
    np.testing.assert_array_equal(group.position, [[0, 0], [3, 1]])
    np.testing.assert_array_equal(group.velocity, [[1, 0], [0, -2.5]])
    np.testing.assert_array_equal(group.mass, [1, 8])
    assert (scene.name, scene.description) == ("a_scene", "a comment in two lines")
    assert (scene.law, scene.stepper, scene.step, scene.duration) == ("gr", "synchronous", 0.01, 10.0)
    assert scene.materials["default"].restitution == 1.0 and scene.materials["default"].friction == 0.0


def test_decimals_are_rounded_to_the_nearest_double(read):
    digits = "+0.866025403784438707610604524234076961874961853027343750000000000000"
    scene = read(VERLET + GR + BALL.replace('x="0"', f'x="{digits}"'))
    assert scene.bodies[0].position[0, 0] == float(digits)


def test_order_of_bodies_is_kept_when_fixed_ones_stand_between(read):
    ball = '<ball x="{}" y="0" vx="{}" vy="0" m="1" r="0.5" fixed="{}"/>'
    scene = read(
        VERLET + GR + ball.format(0, 0, 0) + ball.format(2, 0, 1) + ball.format(4, -1.5, 1) + ball.format(6, 0, 0)
    )
    assert [group.motion for group in scene.bodies] == [None, FIXED, Moving((-1.5, 0.0)), None]
    assert np.concatenate([group.position[:, 0] for group in scene.bodies]).tolist() == [0, 2, 4, 6]


def test_rigid_bodies_have_density_times_area(read):
    body = '<rigid_body x="{} 0" theta="0.5" v="1 2" omega="3" rho="2" geo_idx="{}"/>'
    shapes = '<geometry type="circle" r="0.5"/><geometry type="box" r="1.5 0.25"/>'
    scene = read(VERLET + GR + shapes + body.format(0, 0) + body.format(5, 1), "rigidbody2d_scene")
    disc, box = scene.bodies
    assert disc.mass[0] == pytest.approx(2 * np.pi * 0.25, rel=1e-15) and disc.rotates
    assert box.shape == Rectangle(3.0, 0.5) and box.mass[0] == pytest.approx(2 * 1.5, rel=1e-15)
    assert box.angle[0] == 0.5 and box.spin[0] == 3.0 and box.velocity[0].tolist() == [1, 2]


def test_planes_drums_gravity_camera_and_end(read):
    scene = read(
        VERLET + GR + BALL + '<static_plane x="0 -1" n="1 1"/><static_drum x="1" y="2" r="9"/>'
        '<gravity fx="0" fy="-9"/><gravity fx="0.5" fy="-1"/><end_time t="3.5"/>'
        '<camera cx="0" cy="0" scale_factor="2" fps="25" render_at_fps="1" locked="0"/>'
    )
    assert scene.boundaries == (Plane((0.0, -1.0), (1.0, 1.0)), Drum(9.0, (1.0, 2.0)))
    assert scene.gravity == (0.5, -10.0)  # forces add up
    assert (scene.frame_rate, scene.duration) == (25.0, 3.5)


@pytest.mark.parametrize(
    ("operator", "law", "model"),
    [
        ('<impact_operator type="gr" CoR="1" v_tol="1e-9" cache_impulses="0"/>', "gr", None),
        ('<impact_operator type="lcp" CoR="1" cache_impulses="0"/>', "lcp", None),
        ('<impact_operator type="gauss_seidel" CoR="0.5" v_tol="1e-9" cache_impulses="0"/>', "gauss_seidel", "newton"),
        ('<impact_operator type="jacobi" CoR="1" v_tol="1e-9" cache_impulses="0"/>', "jacobi", None),
        (
            '<impact_operator type="grr" CoR="0.5" cache_impulses="0"><elastic_operator type="gr" v_tol="1e-9"/>'
            '<inelastic_operator type="lcp"/></impact_operator>',
            "gr",
            None,
        ),
    ],
)
def test_impact_operators_become_laws(read, operator, law, model):
    scene = read(VERLET + operator + BALL)
    assert (scene.law, scene.restitution_model) == (law, model)


@pytest.mark.parametrize(
    ("staggering", "stepper"),
    [("geometric", "synchronous"), ("stabilized", "drift_safe"), ("symplectic_euler", "drift_safe")],
)
def test_friction_solver_gives_coefficients_and_stepper(read, staggering, stepper):
    scene = read(VERLET + SOBOGUS.format(staggering) + BALL)
    assert scene.stepper == stepper
    assert (scene.law, scene.friction_model) == ("lcp", "cone")
    assert (scene.materials["default"].restitution, scene.materials["default"].friction) == (0.25, 0.4)


def test_no_operator_means_no_impulses(read):
    assert read(VERLET + BALL).law == "none"
    assert "pass through" in said(read, VERLET + BALL)


def test_portals_become_periodic_sides_and_their_planes_go(read):
    scene = read(VERLET + GR + BALL + WALLS + '<planar_portal planeA="2" planeB="3"/>')
    assert scene.periodic == Periodic(y=(-3.0, 3.0))
    assert [wall.point for wall in scene.boundaries] == [(-2.0, 0.0), (2.0, 0.0)]
    both = read(
        VERLET + GR + BALL + WALLS + '<planar_portal planeA="1" planeB="0"/><planar_portal planeA="2" planeB="3"/>'
    )
    assert both.periodic == Periodic((-2.0, 2.0), (-3.0, 3.0)) and both.boundaries == ()


def test_sheared_sides_have_the_signs_of_scisim(read):
    """What leaves a side with normal n gains -v t there, t being n turned by +90 degrees.

    Above the high y side (n = (0, -1), t = (1, 0)) a body that leaves loses v along x: its image there had v more.
    Beyond the high x side (n = (-1, 0), t = (0, -1)) it gains v along y: the image had v less.
    """
    y = read(
        VERLET + GR + BALL + WALLS + '<planar_portal planeA="0" planeB="1"/>'
        '<lees_edwards_portal planeA="2" planeB="3" v="1.5" bounds="2"/>'
    )
    assert y.periodic == Periodic((-2.0, 2.0), (-3.0, 3.0), 1.5 / 6.0, "y")
    x = read(
        VERLET + GR + BALL + WALLS + '<lees_edwards_portal planeA="1" planeB="0" v="1.5" bounds="3"/>'
        '<planar_portal planeA="2" planeB="3"/>'
    )
    assert x.periodic == Periodic((-2.0, 2.0), (-3.0, 3.0), -1.5 / 4.0, "x")


def test_warnings_name_what_is_not_used(read):
    text = said(
        read,
        VERLET + GR + BALL + '<camera cx="0" cy="0" scale_factor="2" fps="25" render_at_fps="1" locked="0"/>'
        '<static_plane_renderer plane="0" r="1 1"/>',
    )
    for word in ("v_tol", "cache_impulses", "solver", "scale_factor", "locked", "static_plane_renderer"):
        assert word in text
    assert "fps" not in text.replace("render_at_fps", "")


def test_warnings_say_what_differs(read):
    euler = '<integrator type="symplectic_euler" dt="0.01"/>'
    assert "symplectic_euler" in said(read, euler + GR + BALL + '<gravity fx="0" fy="-1"/>')
    assert "symplectic_euler" not in said(read, euler + GR + BALL)  # without forces the two are one
    assert "energetic" in said(read, VERLET + GR.replace('CoR="1.0"', 'CoR="0.5"') + BALL)
    assert "lcp" in said(read, VERLET + SOBOGUS.format("geometric") + BALL)


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        (VERLET + GR + BALL + '<scripting callback="shake"/>', ("line 4", "scripting")),
        (VERLET + GR + BALL + '<penalty stiffness="1" potential_power="2"/>', ("penalty",)),
        (VERLET + GR + BALL + "\n<magnet b='1'/>", ("line 5", "magnet")),
        ('<integrator type="hybrid" dt="0.01"/>' + GR + BALL, ("integrator.type", "hybrid", "verlet")),
        ('<integrator type="verlet" dt="0"/>' + GR + BALL, ("integrator.dt", "above 0")),
        (GR + BALL, ("no integrator",)),
        (VERLET + GR, ("no body",)),
        (VERLET + GR + BALL.replace('r="0.5"', 'r="0"'), ("ball.r", "above 0")),
        (VERLET + GR + BALL.replace('m="1"', 'm="-1"'), ("ball.m", "above 0")),
        (VERLET + GR + BALL.replace('x="0"', 'x="nan"'), ("ball.x", "finite")),
        (VERLET + GR + BALL.replace('x="0"', 'x="left"'), ("ball.x", "left", "number")),
        (VERLET + GR + BALL.replace('fixed="0"', ""), ("ball.fixed", "nothing")),
        (VERLET + GR + BALL.replace("<ball", '<ball omega="3"'), ("ball.omega",)),
        (VERLET + GR.replace('type="gr"', 'type="magic"') + BALL, ("impact_operator.type", "magic", "gauss_seidel")),
        (VERLET + GR.replace('CoR="1.0"', 'CoR="1.5"') + BALL, ("CoR", "0 to 1")),
        (VERLET + GR + SOBOGUS.format("geometric") + BALL, ("already",)),
        (VERLET + VERLET + GR + BALL, ("second", "integrator")),
        (VERLET + SOBOGUS.format("diagonal") + BALL, ("staggering", "diagonal")),
        (VERLET + GR + BALL + '<static_plane x="0 0" n="0 0"/>', ("static_plane.n", "not zero")),
        (VERLET + GR + BALL + WALLS + '<planar_portal planeA="0" planeB="2"/>', ("face each other",)),
        (VERLET + GR + BALL + WALLS + '<planar_portal planeA="0" planeB="9"/>', ("planeB", "0 to 3")),
        (VERLET + GR + BALL + WALLS + 2 * '<planar_portal planeA="0" planeB="1"/>', ("no portal has yet",)),
        (VERLET + GR + BALL + WALLS + '<lees_edwards_portal planeA="2" planeB="3" v="1" bounds="3"/>', ("bounds",)),
        (
            VERLET + GR + BALL + WALLS.replace('x="2 0"', 'x="2 1"') + '<planar_portal planeA="0" planeB="1"/>',
            ("opposite",),
        ),
    ],
)
def test_what_changes_the_motion_is_refused(read, inside, words):
    with pytest.raises(ProblemError) as error:
        read(inside)
    for word in ("a_scene.xml", *words):
        assert word in str(error.value)


def test_geometry_that_carom_does_not_have(read):
    body = '<rigid_body x="0 0" theta="0" v="0 0" omega="0" rho="1" geo_idx="{}"/>'
    with pytest.raises(ProblemError, match=r"geometry\.type.*blob.*circle or box"):
        read(VERLET + GR + '<geometry type="blob" r="1"/>' + body.format(0), "rigidbody2d_scene")
    with pytest.raises(ProblemError, match="geo_idx"):
        read(VERLET + GR + '<geometry type="circle" r="1"/>' + body.format(1), "rigidbody2d_scene")
    with pytest.raises(ProblemError, match="static_drum"):
        read(VERLET + GR + '<static_drum x="0" y="0" r="1"/>', "rigidbody2d_scene")


def test_other_files_get_one_message(tmp_path, read):
    with pytest.raises(ProblemError, match=r"nowhere\.xml.*exists"):
        read_scisim(tmp_path / "nowhere.xml")
    with pytest.raises(ProblemError, match=r"strand_scene.*rigidbody3d_scene"):
        read("", "strand_scene")
    broken = tmp_path / "broken.xml"
    for text, word in (("<ball2d_scene>\n<ball", "line 2"), ("step = 0.1", "line 1"), ("", "line 1")):
        broken.write_text(text)
        with pytest.raises(ProblemError, match=word):
            read_scisim(broken)
    for encoding in ("klingon", "utf-7"):
        broken.write_text(f'<?xml version="1.0" encoding="{encoding}"?><ball2d_scene/>')
        with pytest.raises(ProblemError, match="encoding"):
            read_scisim(broken)
    broken.write_text('<!DOCTYPE a [<!ENTITY e "boom">]><ball2d_scene/>')
    with pytest.raises(ProblemError, match="entity"):
        read_scisim(broken)


# Runs. The positions and radii are those of three classic problems, so that the answers are known.


def ball(x: float, y: float, vx: float, r: float) -> str:
    return f'<ball x="{x!r}" y="{y!r}" vx="{vx!r}" vy="0" m="1" r="{r!r}" fixed="0"/>'


def test_a_cradle_of_three_from_xml(read):
    """One ball at 2 strikes two that overlap by 2e-6: the last leaves with its velocity."""
    import carom

    inside = (
        VERLET + GR + ball(-2.0, 0.0, 2.0, 0.500001) + ball(0.0, 0.0, 0.0, 0.500001) + ball(1.0, 0.0, 0.0, 0.500001)
    )
    run = carom.simulate(read(inside), duration=10.0)
    np.testing.assert_allclose(run.velocities[-1][:, 0], [0, 0, 2], atol=1e-9)
    np.testing.assert_allclose(run.velocities[-1][:, 1], 0, atol=1e-12)


def test_bernoullis_problem_from_xml(read):
    """Contact geometry is that of the start of the step in which balls would overlap: hence not exactly -0.4."""
    import carom

    inside = VERLET + GR + ball(-2.0, 0.0, 2.0, 0.5) + ball(0.0, 0.5, 0.0, 0.5) + ball(0.0, -0.5, 0.0, 0.5)
    run = carom.simulate(read(inside), duration=10.0)
    expected = [[-0.4076, 0.0], [1.2038, 0.6840], [1.2038, -0.6840]]
    np.testing.assert_allclose(run.velocities[-1][:, :2], expected, atol=1e-4)


# SCISim's own files, where a copy of them lies beside the repository.

SHARED = Path(os.environ.get("CAROM_SHARED", Path(__file__).resolve().parents[3] / "shared"))
SAMPLES = SHARED / "data" / "scisim"
GR_SAMPLES = ["newtons_cradle", "bernoullis_problem", "butterfly", "pool_break_standard", "two_balls"]
with_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="SCISim's sample scenes are not here")


@with_samples
@pytest.mark.filterwarnings("ignore::carom.scene.scisim.SceneWarning")
@pytest.mark.parametrize("name", GR_SAMPLES)
def test_samples_run_for_ten_seconds(name):
    import carom

    run = carom.simulate(read_scisim(SAMPLES / "ball2d" / "examples_gr" / f"{name}.xml"), duration=10.0)
    assert run.time[-1] == pytest.approx(10.0, abs=1e-9)
    assert np.isfinite(run.positions[-1]).all()
    energy = np.asarray(run.energy)
    assert abs(energy[-1] / energy[0] - 1.0) < 1e-9


@with_samples
@pytest.mark.filterwarnings("ignore::carom.scene.scisim.SceneWarning")
@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*2d/*/*.xml")), ids=lambda path: path.stem)
def test_every_sample_of_the_plane_is_read(path):
    assert read_scisim(path).count > 0

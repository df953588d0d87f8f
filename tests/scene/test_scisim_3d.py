"""SCISim's rigidbody3d scenes: what becomes of them, and what is refused with its line."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.scene.rich_scenes import TETRAHEDRON

from carom.build import build
from carom.errors import ProblemError
from carom.geometry.rotations import matrices
from carom.scene.boundaries import Periodic, Plane, Tube
from carom.scene.motion import FIXED
from carom.scene.scisim import SceneWarning, read_scisim
from carom.scene.shapes import Box, Mesh, Sphere

DMV = '<integrator type="dmv" dt="1/100"/>'
GR = '<impact_operator type="gr" CoR="1.0" v_tol="1e-9"><solver name="ql" tol="1e-12"/></impact_operator>'
SOBOGUS = '<sobogus_friction_solver mu="0.4" CoR="0.25" max_iters="50" tol="1e-9" eval_every="5" staggering="{}"/>'
SHAPES = '<geometry type="sphere" r="0.5"/><geometry type="box" r="0.5 1 1.5"/><geometry type="sphere" r="0.25"/>'
BODY = '<rigid_body_with_density x="{} 0 0" v="1 2 3" omega="4 5 6" rho="2" fixed="0" geo_idx="{}"/>'
FIXED_BODY = '<rigid_body_with_density x="{} 0 0" v="0 0 0" omega="0 0 0" rho="2" fixed="1" geo_idx="{}"/>'
BALL = '<geometry type="sphere" r="0.5"/>' + BODY.format(0, 0)
SIDES = '<static_plane x="{0}" n="{1}"/><static_plane x="{2}" n="{3}"/>'


@pytest.fixture
def read(tmp_path):
    """Reads a scene from the elements inside its root; warnings are tested where they matter."""

    def reader(inside: str, quiet: bool = True):
        path = tmp_path / "a_scene.xml"
        path.write_text(f"<!-- in space -->\n<rigidbody3d_scene>\n{inside}\n</rigidbody3d_scene>\n")
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore", SceneWarning)
            return read_scisim(path)

    return reader


def test_bodies_have_density_times_volume_and_keep_their_order(read):
    scene = read(
        DMV + GR + SHAPES + BODY.format(0, 0) + BODY.format(3, 2) + BODY.format(6, 1) + FIXED_BODY.format(9, 1)
    )
    balls, box, block = scene.bodies
    assert isinstance(balls.shape, Sphere) and box.shape == Box((1.0, 2.0, 3.0)) == block.shape
    np.testing.assert_array_equal(balls.shape.radius, [0.5, 0.25])
    np.testing.assert_allclose(balls.mass, 2.0 * 4.0 / 3.0 * np.pi * np.array([0.5, 0.25]) ** 3, rtol=1e-15)
    assert box.mass[0] == 2.0 * 6.0 and box.motion is None and block.motion is FIXED
    np.testing.assert_array_equal(box.velocity, [[1, 2, 3]])
    np.testing.assert_array_equal(box.spin, [[4, 5, 6]])
    assert (scene.dimension, scene.description, scene.step, scene.integrator) == (3, "in space", 0.01, "dmv")
    world, _ = build(scene)
    np.testing.assert_allclose(world.inertia[2], np.array([4 + 9, 1 + 9, 1 + 4]) * 12.0 / 12.0, rtol=1e-14)


def test_a_turn_is_an_axis_times_an_angle(read):
    body = BODY.format(0, 1).replace('v="', 'R="0 0 0.5" v="')
    turned = read(DMV + GR + SHAPES + body).bodies[0]
    c, s = np.cos(0.5), np.sin(0.5)
    np.testing.assert_allclose(matrices(turned.orientation)[0], [[c, -s, 0], [s, c, 0], [0, 0, 1]], atol=1e-15)
    np.testing.assert_array_equal(read(DMV + GR + SHAPES + BODY.format(0, 1)).bodies[0].orientation, [[1, 0, 0, 0]])


def test_planes_cylinders_gravity_and_camera(read):
    scene = read(
        DMV + GR + BALL + '<static_plane x="0 -1 0" n="0 2 0"/><static_cylinder x="1 2 3" axis="1 0 1" R="9"/>'
        '<near_earth_gravity f="0 -9 0"/><near_earth_gravity f="0.5 -1 0"/><end_time t="3.5"/>'
        '<camera_orthographic projection_plane="xy" x="0 0 0" scale="4" fps="25" render_at_fps="0" locked="0"/>'
        '<static_cylinder_renderer cylinder_idx="0" L="5"/>'
    )
    assert scene.boundaries == (Plane((0.0, -1.0, 0.0), (0.0, 2.0, 0.0)), Tube(9.0, (1.0, 2.0, 3.0), (1.0, 0.0, 1.0)))
    assert (scene.gravity, scene.frame_rate, scene.duration) == ((0.5, -10.0, 0.0), 25.0, 3.5)


@pytest.mark.parametrize(("kind", "name"), [("dmv", "dmv"), ("split_ham", "split"), ("exponential_euler", "split")])
def test_integrators(read, kind, name):
    assert read(DMV.replace("dmv", kind) + GR + BALL).integrator == name


@pytest.mark.parametrize("staggering", ["geometric", "stabilized"])
def test_friction_solvers_rest_on_the_drift_safe_step(read, staggering):
    scene = read(DMV + SOBOGUS.format(staggering) + BALL)
    assert (scene.stepper, scene.law, scene.friction_model) == ("drift_safe", "lcp", "cone")
    assert (scene.materials["default"].restitution, scene.materials["default"].friction) == (0.25, 0.4)
    assert read(DMV + GR + BALL).stepper == "synchronous"


def test_generalized_restitution_with_friction(read):
    solver = (
        '<grr_friction_solver mu="2" CoR="0.8" staggering="geometric"><impact_operator type="grr"><elastic_operator '
        'type="gr" v_tol="1e-6"/><inelastic_operator type="lcp"/></impact_operator><friction_operator type="smooth"/>'
        "</grr_friction_solver>"
    )
    scene = read(DMV + solver + BALL)
    assert (scene.law, scene.materials["default"].restitution, scene.materials["default"].friction) == ("gr", 0.8, 2.0)


@pytest.mark.parametrize(
    ("axis", "planes", "multiplier"),
    [
        ("x", ("-8 0 0", "1 0 0", "8 0 0", "-1 0 0"), "1 1 -1"),
        ("y", ("0 8 0", "0 -1 0", "0 -8 0", "0 1 0"), "1 1 -1"),
        ("z", ("0 0 -8", "0 0 1", "0 0 8", "0 0 -1"), "1 -1 1"),
    ],
)
def test_portals_become_periodic_sides(read, axis, planes, multiplier):
    portal = f'<planar_portal planeA="0" planeB="1" multiplier="{multiplier}"/>'
    scene = read(DMV + GR + BALL + SIDES.format(*planes) + '<static_plane x="0 0 0" n="1 1 0"/>' + portal)
    assert scene.periodic == Periodic(**{axis: (-8.0, 8.0)})
    assert scene.boundaries == (Plane((0.0, 0.0, 0.0), (1.0, 1.0, 0.0)),)


def mesh_file(path: Path, columns: bool = True) -> np.ndarray:
    """SCISim's layout: vertices about the center of mass, along principal axes; where that frame was."""
    vertices, faces = TETRAHEDRON
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    local = (vertices - vertices.mean(axis=0)) @ turn
    with h5py.File(path, "w") as file:
        file["mesh/vertices"] = local.T if columns else local
        file["mesh/faces"] = (faces.T if columns else faces).astype(np.uint32)
        file["moments/volume"] = 1.0 / 6.0
        file["moments/x"] = vertices.mean(axis=0)
        file["moments/R"] = turn
    return vertices


@pytest.mark.parametrize("columns", [True, False])
def test_meshes_lie_where_their_vertices_were(read, tmp_path, columns):
    """Place, frame and vertices of the file together give back the surface that it was made from."""
    vertices = mesh_file(tmp_path / "corner.h5", columns)
    body = BODY.format(5, 0).replace('v="', 'R="0 0 1.5707963267948966" v="')
    scene = read(DMV + GR + '<geometry type="mesh" filename="assets/corner.h5"/>' + body)
    group = scene.bodies[0]
    assert isinstance(group.shape, Mesh) and group.mass[0] == pytest.approx(2.0 / 6.0)
    placed = group.shape.vertices @ matrices(group.orientation)[0].T + group.position[0]
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    middle = vertices.mean(axis=0)
    np.testing.assert_allclose(placed, (vertices - middle) @ quarter.T + middle + (5, 0, 0), atol=1e-14)


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        (DMV + GR + BALL + '<scripting callback="shake"/>', ("line 3", "scripting")),
        (DMV + GR + BALL + "<ball/>", ("line 3", "ball")),
        (DMV + GR, ("no body",)),
        (GR + BALL, ("no integrator",)),
        (DMV.replace("dmv", "verlet") + GR + BALL, ("integrator.type", "verlet", "split_ham")),
        (
            DMV + GR + '<geometry type="staple" w="1" l="1" D="0.1"/>',
            ("geometry.type", "staple", "sphere, box or mesh"),
        ),
        (DMV + GR + '<geometry type="box" r="1 1"/>', ("geometry.r", "three numbers")),
        (DMV + GR + '<geometry type="box" r="1 1 0"/>', ("geometry.r", "above 0")),
        (DMV + GR + '<geometry type="sphere" r="-1"/>', ("geometry.r", "above 0")),
        (DMV + GR + '<geometry type="sphere" r="1" color="red"/>', ("geometry.color",)),
        (DMV + GR + '<geometry type="mesh" filename="nowhere.h5"/>', ("filename", "nowhere.h5", "exists")),
        (DMV + GR + BALL.replace('geo_idx="0"', 'geo_idx="1"'), ("geo_idx",)),
        (DMV + GR + BALL.replace('rho="2"', 'rho="0"'), ("rho", "above 0")),
        (DMV + GR + BALL.replace('fixed="0"', 'fixed="1"'), ("rigid_body_with_density.v", "0 0 0")),
        (DMV + GR + BALL.replace('v="1 2 3"', 'v="1 2"'), ("three numbers",)),
        (DMV + GR + BALL + '<static_plane x="0 0 0" n="0 0 0"/>', ("static_plane.n", "not zero")),
        (DMV + GR + BALL + '<static_cylinder x="0 0 0" axis="0 0 0" R="1"/>', ("static_cylinder.axis", "not zero")),
        (DMV + GR + BALL + '<static_cylinder x="0 0 0" axis="0 0 1" R="0"/>', ("static_cylinder.R", "above 0")),
        (
            DMV
            + GR
            + BALL
            + SIDES.format("-8 0 0", "1 0 0", "8 0 0", "-1 0 0")
            + '<planar_portal planeA="0" planeB="1" multiplier="1 1 1"/>',
            ("multiplier", "1 1 -1"),
        ),
        (
            DMV
            + GR
            + BALL
            + SIDES.format("-8 0 0", "1 0 0", "8 1 0", "-1 0 0")
            + '<planar_portal planeA="0" planeB="1" multiplier="1 1 -1"/>',
            ("opposite",),
        ),
        (
            DMV
            + GR
            + BALL
            + SIDES.format("-8 0 0", "1 0 0", "8 0 0", "0 1 0")
            + '<planar_portal planeA="0" planeB="1" multiplier="1 1 -1"/>',
            ("face each other",),
        ),
    ],
)
def test_what_changes_the_motion_is_refused(read, inside, words):
    with pytest.raises(ProblemError) as error:
        read(inside)
    for word in ("a_scene.xml", *words):
        assert word in str(error.value)


def test_a_mesh_file_of_another_kind(read, tmp_path):
    (tmp_path / "text.h5").write_text("no HDF5")
    with h5py.File(tmp_path / "empty.h5", "w"):
        pass
    for name in ("text", "empty"):
        with pytest.raises(ProblemError, match=r"filename.*mesh file of SCISim"):
            read(DMV + GR + f'<geometry type="mesh" filename="{name}.h5"/>' + BODY.format(0, 0))


# SCISim's own files, where a copy of them lies beside the repository.

SHARED = Path(os.environ.get("CAROM_SHARED", Path(__file__).resolve().parents[3] / "shared"))
SAMPLES = SHARED / "data" / "scisim" / "rigidbody3d"
COUNTS = {
    "ball_rolling_in_container": (1, 5),
    "box_box_test_0": (3, 0),
    "box_stair_case": (9, 0),
    "card_house": (8, 1),
    "one_dim_test_0": (3, 0),
}
with_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="SCISim's sample scenes are not here")


def sample(name: str):
    (path,) = SAMPLES.rglob(f"{name}.xml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SceneWarning)
        return read_scisim(path)


@with_samples
@pytest.mark.parametrize("name", COUNTS)
def test_samples_are_read_and_built(name):
    scene = sample(name)
    world, _ = build(scene)
    assert (scene.count, len(scene.boundaries)) == COUNTS[name]
    assert world.dimension == 3 and world.inverse_sqrt_mass.shape == (scene.count, 6)


def run(name: str, duration: float):
    import carom

    return carom.simulate(sample(name), duration=duration)


@with_samples
@pytest.mark.parametrize("duration", [1.0, pytest.param(10.0, marks=pytest.mark.long)])
def test_the_card_house_stands(duration):
    """Its plates start with gaps of up to a thickness, 0.1: they drop that far, and then nothing moves."""
    made = run("card_house", duration)
    x, length = np.asarray(made.positions[:]), 2.0 * 4.38275426296
    settled = x[np.searchsorted(made.time, 0.3) :]
    assert np.linalg.norm(settled - settled[0], axis=2).max() < 1e-6 * length
    assert np.linalg.norm(x[-1] - x[0], axis=1).max() < 0.1
    assert np.linalg.norm(made.velocities[-1], axis=1).max() < 1e-6


@with_samples
@pytest.mark.parametrize(("name", "speed", "duration"), [("one_dim_test_0", 10.0, 20.0), ("box_box_test_0", 5.0, 5.0)])
def test_elastic_bodies_bounce_straight_between_two_others(name, speed, duration):
    """Back and forth without spin: friction finds no sliding.

    A box on its face is unstable: a tilt by rounding, 1e-16, grows tenfold a second, so that it is let go early.
    """
    made = run(name, duration)
    free = int(np.flatnonzero(made.world.free)[0])
    v = np.asarray(made.velocities[:])[:, free]
    np.testing.assert_allclose(np.abs(v[:, 0]), speed, rtol=1e-12)
    assert (np.diff(np.sign(v[:, 0])) != 0).sum() > 5
    assert np.abs(v[:, 1:]).max() < 1e-10 * speed
    assert np.abs(np.asarray(made.spins[:])[:, free]).max() < 1e-10


@with_samples
def test_the_ball_in_the_container_ends_up_rolling():
    """The point of contact stands still: v + w x (0, -r, 0) = 0, its center one radius above the floor."""
    made = run("ball_rolling_in_container", 2.0)
    end = made.frame(-1)
    spin = matrices(end.orientation)[0] @ end.velocity[0, 3:]
    slip = end.velocity[0, :3] + np.cross(spin, (0.0, -1.2, 0.0))
    assert np.linalg.norm(slip) < 1e-6 * np.linalg.norm(end.velocity[0, :3])
    assert end.position[0, 1] == pytest.approx(1.2, abs=1e-6)


@with_samples
@pytest.mark.long
def test_boxes_fall_down_the_stairs_and_come_to_rest():
    made = run("box_stair_case", 1.5)
    energy = np.asarray(made.energy)
    assert np.isfinite(made.positions[-1]).all()
    assert np.maximum.accumulate(energy[::-1])[::-1].max() <= energy[0] * (1.0 + 1e-9)
    assert energy[-1] < energy[0]
    np.testing.assert_array_equal(made.positions[-1][:6], made.positions[0][:6])  # the stairs

"""Robots from URDF files: motion against closed forms, what is read, what is named, and one line for each mistake."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.build import build
from carom.scene.scisim import SceneWarning
from carom.scene.store import pack, unpack
from carom.stepping.jointed import joint_error

G = 9.81
LINK = """
<link name="{name}">
  <inertial>
    <origin xyz="0.1 0.02 -0.3" rpy="0.3 -0.2 0.5"/><mass value="{mass}"/>
    <inertia ixx="0.02" ixy="0.003" ixz="-0.002" iyy="0.03" iyz="0.001" izz="0.015"/>
  </inertial>
  <collision><origin xyz="0 0 -0.25"/><geometry><box size="0.08 0.08 0.5"/></geometry></collision>
  <visual><geometry><box size="0.1 0.1 0.5"/></geometry></visual>
</link>"""
HINGE = """
<joint name="shoulder" type="revolute">
  <parent link="base"/><child link="upper"/><origin xyz="0 0 1" rpy="0 0 0.4"/><axis xyz="0 2 0"/>
  <limit lower="-2" upper="2.5" effort="10" velocity="3"/>
</joint>"""
BASE = '<link name="base"/>'


def robot(*parts: str) -> str:
    return f'<robot name="arm">{"".join(parts)}</robot>'


ARM = robot(BASE, LINK.format(name="upper", mass="2.5"), HINGE)


def read(tmp_path, text: str) -> carom.Scene:
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    return carom.load_scene(path)


def quiet(tmp_path, text: str) -> carom.Scene:
    with pytest.warns(SceneWarning):
        return read(tmp_path, text)


def rotation(roll: float, pitch: float, yaw: float) -> np.ndarray:
    def about(axis: int, angle: float) -> np.ndarray:
        out, (i, j) = np.eye(3), [k for k in range(3) if k != axis]
        sign = -1.0 if axis == 1 else 1.0
        out[i, i] = out[j, j] = np.cos(angle)
        out[i, j], out[j, i] = -sign * np.sin(angle), sign * np.sin(angle)
        return out

    return about(2, yaw) @ about(1, pitch) @ about(0, roll)


def test_a_link_falls_as_a_compound_pendulum(tmp_path):
    """The first angular acceleration is the torque of gravity over the moment about the hinge.

    The center of mass is not that of the box, and the axes of inertia are turned against those of the link.
    """
    scene = quiet(tmp_path, ARM)
    center, mass = np.array([0.1, 0.02, -0.3]), 2.5
    turn = rotation(0.3, -0.2, 0.5)
    inertia = turn @ np.array([[0.02, 0.003, -0.002], [0.003, 0.03, 0.001], [-0.002, 0.001, 0.015]]) @ turn.T
    moment = inertia[1, 1] + mass * (center[0] ** 2 + center[2] ** 2)
    sim = carom.Simulation(scene.with_(step=1e-5))
    start = sim.state.position[0].copy()
    assert start == pytest.approx(np.array([0, 0, 1]) + rotation(0, 0, 0.4) @ center, abs=1e-14)
    sim.step()
    speed = np.linalg.norm(sim.state.velocity[0, 3:])  # the spin is along the hinge
    assert speed / 1e-5 == pytest.approx(abs(mass * G * center[0]) / moment, rel=1e-6)


def test_a_fixed_joint_adds_inertias(tmp_path):
    """Two links that are fixed to each other fall as two bodies that a weld holds together."""
    tool = (
        '<joint name="flange" type="fixed"><parent link="upper"/><child link="tool"/>'
        '<origin xyz="0 0 -0.55" rpy="0.2 0.1 0"/></joint>'
    )
    text = robot(BASE, LINK.format(name="upper", mass="2.5"), LINK.format(name="tool", mass="0.7"), HINGE, tool)
    one = quiet(tmp_path, text)
    assert [group.name for group in one.bodies] == ["upper"]
    # The same with a hinge in place of the fixed joint, whose limits leave next to nothing.
    closed = '<axis xyz="1 0 0"/><limit lower="-1e-6" upper="1e-6"/></joint>'
    stiff = tool.replace("fixed", "revolute").replace("</joint>", closed)
    two = quiet(tmp_path, text.replace(tool, stiff))
    assert [group.name for group in two.bodies] == ["upper", "tool"]
    ends = []
    for scene in (one, two):
        sim = carom.Simulation(scene.with_(step=1e-4))
        mass = np.array([np.sum(group.mass) for group in scene.bodies])
        sim.run(until=0.1)
        ends.append((mass @ sim.state.position) / mass.sum())
        assert joint_error(sim.world, sim.state)[0] < 1e-10
    assert ends[0] == pytest.approx(ends[1], abs=2e-4)


def test_limits_friction_and_a_start_within_the_limits(tmp_path):
    slide = """
    <joint name="slide" type="prismatic"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="0.2" upper="0.5"/><dynamics damping="1" friction="3"/></joint>"""
    with pytest.warns(SceneWarning) as record:
        scene = read(tmp_path, robot(BASE, LINK.format(name="upper", mass="2.5"), slide))
    text = " ".join(str(w.message) for w in record)
    assert "<visual>" in text and "slide has damping" in text and "starts at its limit 0.2" in text
    (joint,) = scene.joints
    assert joint.limits == pytest.approx((0.0, 0.3)) and joint.force == 3.0
    sim = carom.Simulation(scene)
    height = sim.state.position[0, 2]
    assert height == pytest.approx(0.2 - 0.3)
    sim.run(until=0.2)  # it rests on its lower limit
    assert sim.state.position[0, 2] == pytest.approx(height, abs=1e-6)


def test_two_links_swing_as_in_mujoco(tmp_path):
    """MuJoCo reads the same file. Its fourth-order steps of 1e-4 have errors far below those compared."""
    mujoco = pytest.importorskip("mujoco")
    elbow = HINGE.replace("shoulder", "elbow").replace('"upper"', '"lower"').replace('"base"', '"upper"')
    elbow = elbow.replace('xyz="0 0 1"', 'xyz="0.05 0 -0.55"').replace("0 2 0", "1 0.3 0")
    links = LINK.format(name="upper", mass="2.5"), LINK.format(name="lower", mass="0.9")
    scene = quiet(tmp_path, robot(BASE, *links, HINGE, elbow))
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.urdf"))
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-4
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    for _ in range(2000):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    errors = []
    for step in (2e-3, 1e-3):
        sim = carom.Simulation(scene.with_(step=step))
        sim.run(until=0.2)
        errors.append(np.abs(sim.state.position - data.xipos[-2:]).max())
    assert errors[1] < 5e-8
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)  # second order


def test_a_root_with_mass_is_free(tmp_path):
    scene = quiet(tmp_path, robot(LINK.format(name="body", mass="1")))
    sim = carom.Simulation(scene)
    height = sim.state.position[0, 2]
    sim.run(until=0.1)
    assert sim.state.position[0, 2] - height == pytest.approx(-0.5 * G * 0.01, rel=1e-9)


def test_a_robot_is_stored(tmp_path):
    scene = quiet(tmp_path, ARM)
    again = unpack(*pack(scene))
    first, second = build(scene)[1], build(again)[1]
    assert np.array_equal(first.position, second.position) and np.array_equal(first.orientation, second.orientation)


UPPER = LINK.format(name="upper", mass="2.5")
MISTAKES = [
    ("<robot", "XML document"),
    ("<scene/>", "a URDF file"),
    (robot(), "at least one link"),
    (robot(BASE), "nothing that moves"),
    (robot(BASE, UPPER.replace("2.5", "-1"), HINGE), "line .*mass.value.*above 0"),
    (robot(BASE, UPPER.replace('izz="0.015"', 'izz="9"'), HINGE), "sum of the two others"),
    (robot(BASE, UPPER.replace("<mass", "<mess"), HINGE), "<mass> and <inertia>"),
    (robot(BASE, UPPER.replace('<box size="0.08 0.08 0.5"/>', "<teapot/>", 1), HINGE), "<box>, <sphere>"),
    (robot(BASE, UPPER.replace('<box size="0.08 0.08 0.5"/>', '<mesh filename="no.stl"/>', 1), HINGE), "a file beside"),
    (robot(BASE, UPPER, HINGE.replace('"base"', '"bass"')), "bass"),
    (robot(BASE, UPPER, HINGE.replace('"revolute"', '"planar"')), "type.*planar"),
    (robot(BASE, UPPER, HINGE.replace('"revolute"', '"ball"')), "type.*ball"),
    (robot(BASE, UPPER, HINGE.replace("0 2 0", "0 0 0")), "not zero"),
    (robot(BASE, UPPER, HINGE.replace('lower="-2"', 'lower="3"')), "above lower = 3"),
    (robot(BASE, UPPER, HINGE.replace("</joint>", '<mimic joint="a"/></joint>')), "mimic"),
    (robot(BASE, UPPER, HINGE.replace("</joint>", "<spring/></joint>")), "<spring>"),
    (robot(BASE, UPPER, HINGE, HINGE), "second parent"),
    (robot(BASE, UPPER), "without a parent"),
    (robot(BASE, '<link name="upper"/>', HINGE), "without mass behind the moving joint shoulder"),
    (robot(UPPER, UPPER), "two links of one name"),
]


@pytest.mark.parametrize("k", range(len(MISTAKES)))
def test_mistakes_get_one_line(k, tmp_path):
    text, message = MISTAKES[k]
    with pytest.raises(carom.ProblemError, match=message) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)

"""Carom inside MuJoCo, pymunk and PyBullet: masses, contacts and velocities are the engine's, the impact is Carom's."""

from __future__ import annotations

import numpy as np
import pytest

from carom import ProblemError, catalogue
from carom.engines.placement import place
from carom.engines.worker import run

ENGINES = {"mujoco": "MujocoWithCarom", "pymunk": "PymunkWithCarom", "pybullet": "PybulletWithCarom"}


def engine_with_carom(name):
    pytest.importorskip(name, reason=f"{name} is not installed")
    from carom.engines import inside

    return getattr(inside, ENGINES[name])()


def engine_alone(name):
    return engine_with_carom(name).engine


@pytest.mark.covering
@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("scene", ["cradle_5_1", "cradle_5_2", "bernoulli", "box_flat_2d"])
def test_the_answer_is_exact_in_the_engine(name, scene):
    """The bodies touch at the start, so that only the engine's own arithmetic limits the answer: double precision."""
    engine = engine_with_carom(name)
    placed = place(catalogue.entry(scene), engine.dimension)
    velocity = placed.velocity(run(engine, placed.bodies, placed.planes, 1.0)[0])
    np.testing.assert_allclose(velocity, catalogue.entry(scene).answers["gr"], atol=1e-9)


@pytest.mark.parametrize("name", ENGINES)
def test_the_engine_alone_does_not_give_it(name):
    engine = engine_alone(name)
    placed = place(catalogue.entry("cradle_5_1"), engine.dimension)
    velocity = placed.velocity(run(engine, placed.bodies, placed.planes, 1.0)[0])
    assert abs(velocity - [0, 0, 0, 0, 1]).max() > 0.1


@pytest.mark.parametrize("name", ENGINES)
def test_the_problem_of_a_turning_box_is_that_of_the_catalogue(name):
    """Same energy and same range of separation speeds: mass, inertia, arms and signs were read correctly."""
    engine = engine_with_carom(name)
    entry = catalogue.entry("box_turning_2d")
    placed = place(entry, engine.dimension)
    engine.start(0.5)
    for plane in placed.planes:
        engine.add_plane(*plane)
    for body in placed.bodies:
        engine.add_body(*body)
    bridge = engine.connected(engine.engine)
    problem = bridge.problem(horizon=1e-4)
    assert problem.kinetic_energy == pytest.approx(entry.problem.kinetic_energy, rel=1e-12)
    assert (problem.restitution == 0.5).all()
    found, known = problem.separation_speed(), entry.problem.separation_speed()
    np.testing.assert_allclose([found.min(), found.max()], [known.min(), known.max()], atol=1e-6)


def test_mujoco_in_joint_space():
    """A pendulum whose bob hits a wall: one joint, M = m l^2, so the joint rate is reversed at restitution 1."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    from carom.bridges.mujoco import MujocoBridge

    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option timestep="1e-3" gravity="0 0 0"/><worldbody>
        <body><joint type="hinge" axis="0 1 0"/><geom type="sphere" pos="0 0 -1" size="0.1" mass="2" gap="0.01"/></body>
        <geom type="plane" pos="0.1005 0 -1" zaxis="-1 0 0" size="0 0 1" gap="0.01"/></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    data.qvel[0] = -0.7
    bridge = MujocoBridge(model, data, law="gr", restitution=1.0)
    solutions = [bridge.step() for _ in range(3)]
    assert sum(solution is not None for solution in solutions) == 1
    assert data.qvel[0] == pytest.approx(0.7, abs=1e-12)


def test_pymunk_takes_the_coefficients_of_the_shapes():
    pymunk = pytest.importorskip("pymunk", reason="pymunk is not installed")
    from carom.bridges.pymunk import PymunkBridge

    space = pymunk.Space()
    for x, speed, elasticity in ((0.0, 1.0, 0.8), (1.0, 0.0, 0.5)):
        body = pymunk.Body(1.0, 1.0)
        body.position, body.velocity = (x, 0.0), (speed, 0.0)
        shape = pymunk.Circle(body, 0.5)
        shape.elasticity = elasticity
        space.add(body, shape)
    solution = PymunkBridge(space, 1e-3).resolve()
    # Half the approach plus and minus half the separation 0.4.
    np.testing.assert_allclose(solution.velocity[:, 0], [0.3, 0.7], atol=1e-12)
    assert PymunkBridge(space, 1e-3).resolve() is None  # they separate now


def test_pybullet_refuses_bodies_with_joints():
    pybullet = pytest.importorskip("pybullet", reason="pybullet is not installed")
    from carom import ProblemError
    from carom.bridges.pybullet import PybulletBridge

    client = pybullet.connect(pybullet.DIRECT)
    ball = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.5, physicsClientId=client)
    zero = [[0, 0, 0]]
    pybullet.createMultiBody(
        1.0, ball, linkMasses=[1.0], linkCollisionShapeIndices=[-1], linkVisualShapeIndices=[-1], linkPositions=zero,
        linkOrientations=[[0, 0, 0, 1]], linkInertialFramePositions=zero, linkInertialFrameOrientations=[[0, 0, 0, 1]],
        linkParentIndices=[0], linkJointTypes=[pybullet.JOINT_REVOLUTE], linkJointAxis=[[0, 0, 1]],
        physicsClientId=client,
    )  # fmt: skip
    pybullet.createMultiBody(1.0, ball, basePosition=[0.99, 0, 0], physicsClientId=client)
    with pytest.raises(ProblemError, match="joints"):
        PybulletBridge(client).detect()
    pybullet.disconnect(client)


def hinge_cradle(integrator):
    """Five pendulums of length 2 whose bobs touch; the first one is released at 0.35 rad."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    bob = (
        '<body pos="{} 0 0"><joint type="hinge" axis="0 1 0"/>'
        '<geom type="sphere" pos="0 0 -2" size="0.5" mass="1" condim="1" gap="0.05"/></body>'
    )
    bobs = "".join(bob.format(x) for x in range(5))
    option = f'<option timestep="1e-3" integrator="{integrator}"><flag energy="enable"/></option>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{bobs}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    data.qpos[0] = 0.35
    return mujoco, model, data


@pytest.mark.covering
@pytest.mark.parametrize("seconds", [1, 4])
@pytest.mark.parametrize("integrator", ["Euler", "implicit", "implicitfast"])
def test_mujoco_integrators_of_a_hinge_cradle(integrator, seconds):
    """Energy is kept as far as the integrator of first order keeps it: in 4 s 0.2 percent of that of the release.

    The first impact is after 0.7 s.
    """
    mujoco, model, data = hinge_cradle(integrator)
    from carom.bridges.mujoco import MujocoBridge

    mujoco.mj_forward(model, data)
    before, released = data.energy.sum(), 9.81 * 2.0 * (1.0 - np.cos(0.35))
    bridge = MujocoBridge(model, data, law="gr", restitution=1.0)
    for _ in range(1000 * seconds):
        bridge.step()
    mujoco.mj_forward(model, data)
    assert data.energy.sum() == pytest.approx(before, abs=3e-3 * released)


def test_mujoco_refuses_runge_kutta_with_joints():
    """It lost 11 percent of the energy of the cradle in 4 s. The option can change after the bridge is made."""
    mujoco, model, data = hinge_cradle("RK4")
    from carom.bridges.mujoco import MujocoBridge

    with pytest.raises(ProblemError, match=r"integrator.*RK4.*Euler, implicit or implicitfast"):
        MujocoBridge(model, data)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    bridge = MujocoBridge(model, data)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    before = data.qvel.copy()
    with pytest.raises(ProblemError, match="implicitfast"):
        bridge.step()
    assert (data.qvel == before).all() and data.time == 0.0

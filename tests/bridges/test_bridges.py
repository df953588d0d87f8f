"""Carom inside MuJoCo, pymunk and PyBullet: masses, contacts and velocities are the engine's, the impact is Carom's."""

from __future__ import annotations

import numpy as np
import pytest

from carom import ImpactProblem, ProblemError, catalogue, solve_impact
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


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("kind", ["hinge", "ball", "slider", "weld"])
def test_pybullet_articulated_bodies(kind, fixed):
    """Two rods in a row, struck at the tip of the second: what Bullet then has are the velocities of the answer.

    Bullet's own rates, of base and joints, give back the velocities of all links that the law has found.
    """
    pybullet = pytest.importorskip("pybullet", reason="pybullet is not installed")
    from carom.bridges.pybullet import PybulletBridge

    client = pybullet.connect(pybullet.DIRECT)
    joint = {
        "hinge": pybullet.JOINT_REVOLUTE, "ball": pybullet.JOINT_SPHERICAL,
        "slider": pybullet.JOINT_PRISMATIC, "weld": pybullet.JOINT_FIXED,
    }[kind]  # fmt: skip
    rod = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.5, 0.05, 0.05], physicsClientId=client)
    ball = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1, physicsClientId=client)
    turn = pybullet.getQuaternionFromEuler([0.3, 0.2, 0.1])
    arm = pybullet.createMultiBody(
        0.0 if fixed else 1.0, rod, baseOrientation=turn, linkMasses=[1.0, 2.0], linkCollisionShapeIndices=[rod, rod],
        linkVisualShapeIndices=[-1, -1], linkPositions=[[0.55, 0, 0], [1.1, 0, 0]],
        linkOrientations=[[0, 0, 0, 1]] * 2, linkInertialFramePositions=[[0.55, 0, 0]] * 2,
        linkInertialFrameOrientations=[[0, 0, 0, 1]] * 2, linkParentIndices=[0, 1], linkJointTypes=[joint] * 2,
        linkJointAxis=[[0, 0.6, 0.8]] * 2, physicsClientId=client,
    )  # fmt: skip
    tip = pybullet.getLinkState(arm, 1, physicsClientId=client)[0]
    pybullet.createMultiBody(1.0, ball, basePosition=[tip[0], tip[1] + 0.02, tip[2] + 0.3], physicsClientId=client)
    for body in (arm, 1):
        for link in range(-1, pybullet.getNumJoints(body, physicsClientId=client)):
            pybullet.changeDynamics(body, link, restitution=1.0, physicsClientId=client)
    pybullet.resetBaseVelocity(1, [0, 0.3, -1.0], [0, 0, 0], physicsClientId=client)
    bridge, solution = PybulletBridge(client, law="gr"), None
    pybullet.setTimeStep(1e-2, physicsClientId=client)
    for _ in range(60):
        solution = bridge.resolve(1e-2)
        if solution is not None:
            break
        pybullet.stepSimulation(physicsClientId=client)
    assert solution is not None and solution.audit().passed
    if kind == "weld" and fixed:
        np.testing.assert_allclose(solution.velocity[:-1], 0.0, atol=1e-12)
    assert len(solution.velocity) == (3 if fixed else 4)
    for key, velocity in zip(bridge.bodies, solution.velocity, strict=True):
        got = bridge._base(key[0]) if key[1] == -1 else bridge._link(*key)[0]
        # Bullet passes axes and rates of joints on in single precision.
        np.testing.assert_allclose(got.velocity, velocity, rtol=0.0, atol=2e-7)
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


@pytest.mark.parametrize("seconds", [1, pytest.param(4, marks=pytest.mark.long)])
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


def test_mujoco_equality_constraints_are_joints_of_the_impact():
    """Two pendulums whose bobs a `connect` ties together meet a wall: both turn back, and the tie is not torn.

    Without the tie only the first pendulum would know of the wall.
    """
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    from carom.bridges.mujoco import MujocoBridge

    bob = (
        '<body name="{0}" pos="0 {1} 0"><joint type="hinge" axis="0 1 0"/>'
        '<geom type="sphere" pos="0 0 -1" size="0.1" mass="{2}" gap="0.01" contype="{3}" conaffinity="{3}"/></body>'
    )
    wall = '<geom type="plane" pos="0.1005 0 -1" zaxis="-1 0 0" size="0 0 1" gap="0.01"/>'

    def after(tie: str) -> tuple[np.ndarray, float]:
        bobs = bob.format("a", 0, 2, 1) + bob.format("b", 0.3, 3, 0)
        model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep="1e-3" gravity="0 0 0"/><worldbody>{bobs}{wall}</worldbody>'
            f"<equality>{tie}</equality></mujoco>"
        )
        data = mujoco.MjData(model)
        data.qvel[:] = -0.7
        solution = MujocoBridge(model, data, law="gr", restitution=1.0).resolve(1e-3)
        return data.qvel.copy(), solution.audit().passed

    tied, passed = after('<connect body1="a" body2="b" anchor="0 0 -1"/>')
    assert passed
    np.testing.assert_allclose(tied, 0.7, atol=1e-12)
    free, _ = after("")
    np.testing.assert_allclose(free, [0.7, -0.7], atol=1e-12)


def test_pymunk_joints_take_part_in_the_impact():
    """Two rods of mass m, pivoted end to end and struck there, resist with m / 2 (tests/problem/test_joints.py)."""
    pymunk = pytest.importorskip("pymunk", reason="pymunk is not installed")
    from carom.bridges.pymunk import PymunkBridge

    m, striker = 3.0, 1.2
    space = pymunk.Space()
    rods = []
    for x in (-0.5, 0.5):
        rod = pymunk.Body(m, m / 12)
        rod.position = (x, 0.0)
        space.add(rod)
        rods.append(rod)
    tip = pymunk.Circle(rods[0], 0.1, (0.5, 0.0))
    ball = pymunk.Body(striker, 1.0)
    ball.position, ball.velocity = (0.0, 0.2), (0.0, -1.0)
    tip.elasticity = 1.0
    bumper = pymunk.Circle(ball, 0.1)
    bumper.elasticity = 1.0
    space.add(tip, ball, bumper, pymunk.PivotJoint(*rods, (0.0, 0.0)))
    solution = PymunkBridge(space, 1e-3).resolve()
    assert ball.velocity.y == pytest.approx(-(striker - m / 2) / (striker + m / 2), abs=1e-9)
    assert rods[0].angular_velocity == pytest.approx(-rods[1].angular_velocity, abs=1e-9)
    assert solution.audit().passed


def struck_ball(*constraints):
    """A ball of mass 1 and inertia 0.5 at (1, 0), met at speed 1 by one that comes from the left a little above."""
    pymunk = pytest.importorskip("pymunk", reason="pymunk is not installed")
    from carom.bridges.pymunk import PymunkBridge

    space = pymunk.Space()
    balls = []
    for x, y, speed in ((1.0, 0.0, 0.0), (0.84, 0.12, 1.0)):
        ball = pymunk.Body(1.0, 0.5)
        ball.position, ball.velocity = (x, y), (speed, 0.0)
        shape = pymunk.Circle(ball, 0.1)
        shape.elasticity = 1.0
        space.add(ball, shape)
        balls.append(ball)
    for make in constraints:
        space.add(make(pymunk, space, balls[0]))
    solution = PymunkBridge(space, 1e-3, restitution=1.0 if len(constraints) == 0 else None).resolve()
    assert solution.audit().passed or solution.restitution_model != "energetic"
    return balls[0], balls[1], solution


def test_pymunk_constraints_of_every_kind_take_part():
    """What each of them holds keeps its speed; one-sided ones stop what closes them, and let go what opens them."""

    def groove(pymunk, space, ball):
        return pymunk.GrooveJoint(space.static_body, ball, (1.0, -1.0), (1.0, 1.0), (0.0, 0.0))

    def rope(longest):
        return lambda pymunk, space, ball: pymunk.SlideJoint(space.static_body, ball, (0, 0), (0, 0), 0.0, longest)

    def strut(shortest):
        return lambda pymunk, space, ball: pymunk.SlideJoint(space.static_body, ball, (3, 0), (0, 0), shortest, 9.0)

    def weak(pymunk, space, ball):
        held = pymunk.PivotJoint(space.static_body, ball, (1.0, 0.0))
        held.max_force = 1.0
        return held

    free = struck_ball()[0].velocity
    assert free.x > 0.1 and free.y < -0.1
    assert struck_ball(weak)[0].velocity == pytest.approx(free) == struck_ball(rope(1.5))[0].velocity
    assert struck_ball(groove)[0].velocity.x == pytest.approx(0.0, abs=1e-12)
    assert struck_ball(groove)[0].velocity.y < -0.1
    for taut in (rope(1.0), strut(2.0)):  # both keep the ball from going right, not from going left
        ball, striker, solution = struck_ball(taut)
        assert ball.velocity.x == pytest.approx(0.0, abs=1e-12) and ball.velocity.y < -0.1
        assert solution.problem.contact_count == 2 and striker.velocity.x < free.x


def test_pymunk_constraints_of_other_kinds_are_refused():
    pytest.importorskip("pymunk", reason="pymunk is not installed")
    from carom.bridges.pymunk import acts

    with pytest.raises(ProblemError, match="Bungee"):
        acts(type("Bungee", (), {})())


@pytest.mark.parametrize("kind", ["gear", "motor", "limit", "open limit", "ratchet"])
def test_pymunk_constraints_of_rotation_take_part(kind):
    """A rod on a pivot is struck at its tip, and turns another one on a pivot as far as the constraint says."""
    pymunk = pytest.importorskip("pymunk", reason="pymunk is not installed")
    from carom.bridges.pymunk import PymunkBridge

    space, rods = pymunk.Space(), []
    for x in (0.0, 5.0):
        rod = pymunk.Body(1.0, 1.0)
        rod.position = (x, 0.0)
        space.add(rod, pymunk.PivotJoint(space.static_body, rod, (x, 0.0)))
        rods.append(rod)
    tip, ball = pymunk.Circle(rods[0], 0.1, (1.0, 0.0)), pymunk.Body(1.0, 1.0)
    ball.position, ball.velocity = (1.0, 0.2), (0.0, -1.0)
    bumper = pymunk.Circle(ball, 0.1)
    bumper.elasticity = tip.elasticity = 1.0
    made = {
        "gear": lambda: pymunk.GearJoint(*rods, 0.0, 2.0),  # 2 w_b = w_a: inertia 1 + 1/4 about the first pivot
        "motor": lambda: pymunk.SimpleMotor(*rods, 0.0),  # w_b = w_a: inertia 2
        "limit": lambda: pymunk.RotaryLimitJoint(*rods, -1.0, 0.0),  # w_b <= w_a, and the first rod turns backwards
        "open limit": lambda: pymunk.RotaryLimitJoint(*rods, 0.0, 1.0),
        "ratchet": lambda: pymunk.RatchetJoint(*rods, 0.0, 0.5),  # w_b >= w_a
    }
    inertia = {"gear": 1.25, "motor": 2.0, "open limit": 1.0, "ratchet": 1.0}
    space.add(tip, ball, bumper, made[kind]())
    PymunkBridge(space, 1e-3, restitution=1.0).resolve()
    if kind == "limit":  # an elastic limit, struck together with the tip: the second rod turns at least as fast
        assert rods[1].angular_velocity <= rods[0].angular_velocity + 1e-9 < 1e-8
        return
    assert rods[0].angular_velocity == pytest.approx(-2.0 / (1.0 + inertia[kind]), abs=1e-9)
    second = {"gear": 0.5, "motor": 1.0}.get(kind, 0.0)
    assert rods[1].angular_velocity == pytest.approx(second * rods[0].angular_velocity, abs=1e-9)


def arm():
    """A planar arm of two rods of length 1 and mass 1, hinged to the world, with a frame at its tip."""
    pinocchio = pytest.importorskip("pinocchio", reason="pinocchio (package pin) is not installed")
    model = pinocchio.Model()
    rod = pinocchio.Inertia(1.0, np.array([0, 0, -0.5]), np.diag([1 / 12, 1 / 12, 1e-6]))
    below = pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, -1.0]))
    joint = 0
    for name in ("shoulder", "elbow"):
        place = below if joint else pinocchio.SE3.Identity()
        joint = model.addJoint(joint, pinocchio.JointModelRY(), place, name)
        model.appendBodyToJoint(joint, rod, pinocchio.SE3.Identity())
    model.addFrame(pinocchio.Frame("tip", joint, 0, below, pinocchio.FrameType.OP_FRAME))
    model.addFrame(pinocchio.Frame("hook", 0, 0, pinocchio.SE3.Identity(), pinocchio.FrameType.OP_FRAME))
    return model


@pytest.mark.parametrize("law", ["gr", "lcp", "qce", "lzb"])
def test_pinocchio_agrees_with_bodies_and_pins(law):
    """The arm in joint space, and as two bodies with pins: the same rates after its tip hits a wall."""
    model = arm()
    from carom.bridges.pinocchio import FrameContact, impact_problem

    q, rates = np.array([0.3, 0.4]), np.array([-1.0, 0.5])
    reduced = solve_impact(impact_problem(model, q, rates, [FrameContact("tip", (-1, 0, 0))]), law)

    def turned(arm, rate):  # a rotation about y maps z to x
        return rate * np.array([arm[1], -arm[0]])

    first, second = (-np.array([np.sin(a), np.cos(a)]) for a in (q[0], q.sum()))
    centers = [first / 2, first + second / 2]
    spins = np.cumsum(rates)
    velocities = [
        [*turned(centers[0], spins[0]), -spins[0]],
        [*(turned(first, spins[0]) + turned(second / 2, spins[1])), -spins[1]],
    ]
    pins = [([-1, 0], [0, 0]), ([0, 1], first)]
    problem = ImpactProblem.from_contacts(
        centers, [1, 1], [1 / 12] * 2, velocities, [[-1, 1]], [first + second], [[-1, 0]],
        joints=[{"kind": "pin", "bodies": b, "point": p} for b, p in pins],
    )  # fmt: skip
    solution = solve_impact(problem, law)
    np.testing.assert_allclose(-solution.velocity[:, 2], np.cumsum(reduced.velocity), atol=1e-5)  # inertia 1e-6 about z
    assert reduced.separation_speed[0] == pytest.approx(-problem.separation_speed()[0], rel=1e-9)


def test_pinocchio_closes_loops_and_names_what_is_wrong():
    """With its tip held at the shoulder the arm can only turn as a whole: no contact at the tip could move it."""
    model = arm()
    from carom.bridges.pinocchio import FrameContact, Loop, impact_problem

    wall = [FrameContact("tip", (-1, 0, 0))]
    with pytest.raises(ProblemError, match="cannot move along its normal"):
        impact_problem(model, np.array([0.3, np.pi]), np.array([1.0, 0.0]), wall, loops=[Loop("tip", "hook")])
    with pytest.raises(ProblemError, match="toe"):
        impact_problem(model, np.zeros(2), np.zeros(2), [FrameContact("toe", (1, 0, 0))])
    with pytest.raises(ProblemError, match="glue"):
        impact_problem(model, np.zeros(2), np.zeros(2), wall, loops=[Loop("tip", "hook", "glue")])


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_pymunk_steps_without_search_miss_no_impact(slope):
    """Boxes, circles and capsules that fall on a segment and on each other: steps look at bounds before they search.

    A search among all shapes in every step finds impacts in the same steps.
    """
    pymunk = pytest.importorskip("pymunk", reason="pymunk is not installed")
    from carom.bridges.pymunk import PymunkBridge

    def space():
        made = pymunk.Space()
        made.gravity = (0.0, -9.81)
        ground = pymunk.Segment(made.static_body, (-3.0, -3.0 * slope), (3.0, 3.0 * slope), 0.05)
        ground.elasticity = 0.8
        made.add(ground)
        for k in range(6):
            body = pymunk.Body(1.0, 0.01)
            body.position, body.angle = (0.25 * (k % 3), 0.6 + 0.3 * (k // 3)), 0.4 * k
            body.velocity, body.angular_velocity = (0.5 - 0.2 * k, -0.5), 2.0 - k
            circle, box = pymunk.Circle(body, 0.08, (0.02, 0.0)), pymunk.Poly.create_box(body, (0.2, 0.1), 0.01)
            shape = (circle, box, pymunk.Segment(body, (-0.1, 0.0), (0.1, 0.0), 0.03))[k % 3]
            shape.elasticity = 0.8
            made.add(body, shape)
        return made

    def approaches(made):
        """Every contact that closes within the step as an impact, found by pymunk with all shapes enlarged by 0.1."""
        found = 0
        for shape in made.shapes:
            radius = shape.radius
            shape.unsafe_set_radius(radius + 0.1)
            for info in made.shape_query(shape) if shape.body is not made.static_body else ():
                normal = info.contact_point_set.normal
                for point in info.contact_point_set.points:
                    near = point.point_a - 0.1 * normal
                    gap, place = (point.point_b - near).dot(normal), 0.5 * (near + point.point_b)
                    moved = [b.velocity_at_world_point(place).dot(normal) for b in (shape.body, info.shape.body)]
                    speed = moved[1] - moved[0]
                    found += speed < -2e-3 * 9.81 and gap + 1e-3 * speed <= 1e-6
            shape.unsafe_set_radius(radius)
        return found

    bridge = PymunkBridge(space(), 1e-3)
    impacts = 0
    for _ in range(500):
        wanted = approaches(bridge.space)
        found = bridge.step()
        assert (found is None) == (wanted == 0)
        impacts += found is not None
    assert impacts > 5


def test_pymunk_steps_of_boxes_on_boxes_miss_no_impact():
    """The bound of polygons is along the normal of their contact: it must hold where boxes roll, slide and tip over.

    A box that turns about a resting corner is no impact, which the fastest point of the box would make it.
    """
    pymunk = pytest.importorskip("pymunk", reason="pymunk is not installed")
    from carom.bridges.pymunk import PymunkBridge, may_impact

    space = pymunk.Space()
    space.gravity = (0.0, -9.81)
    space.add(pymunk.Segment(space.static_body, (-50.0, 0.0), (50.0, 0.0), 0.1))
    for k in range(8):
        body = pymunk.Body(1.0, pymunk.moment_for_box(1.0, (0.3, 0.2)))
        body.position, body.angle = (0.35 * (k % 4), 0.4 + 0.4 * (k // 4)), 0.3 * k
        shape = pymunk.Poly.create_box(body, (0.3, 0.2))
        shape.friction, shape.elasticity = 0.5, 1.0
        space.add(body, shape)
    bridge, looked, impacts = PymunkBridge(space, 5e-3, restitution=0.6), 0, 0
    for _ in range(400):
        found = bridge.problem(5e-3)
        may = may_impact(bridge._outlines, bridge._state(), space.gravity, (bridge.touch, bridge.threshold, 5e-3))
        assert may or found is None
        looked, impacts = looked + may, impacts + (found is not None)
        bridge.step()
    assert impacts > 20 and looked < 2 * impacts


@pytest.mark.parametrize("seed", range(4))
def test_pybullet_steps_without_search_miss_no_impact(seed):
    """Balls, boxes and capsules that fall on a plane or a block: closest points of all pairs find the same impacts."""
    pybullet = pytest.importorskip("pybullet", reason="pybullet is not installed")
    from carom.bridges.pybullet import PybulletBridge

    rng, h = np.random.default_rng(seed), 2e-3
    client = pybullet.connect(pybullet.DIRECT)
    options = {"physicsClientId": client}
    pybullet.setGravity(0.0, 0.0, -9.81, **options)
    pybullet.setTimeStep(h, **options)
    if seed % 2:
        ground = pybullet.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=[0.1, 0.0, 0.995], **options)
    else:
        ground = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[2, 2, 0.5], **options)
    pybullet.createMultiBody(0, ground, basePosition=[0, 0, -0.5 * (seed % 2 == 0)], **options)
    shapes = [
        pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1, **options),
        pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.1, 0.08, 0.05], **options),
        pybullet.createCollisionShape(pybullet.GEOM_CAPSULE, radius=0.05, height=0.15, **options),
    ]
    for k in range(7):
        turn = rng.normal(size=4)
        turn /= np.linalg.norm(turn)
        place = [0.25 * (k % 3), 0.25 * (k // 3), 0.3 + 0.1 * (k % 2)]
        body = pybullet.createMultiBody(
            1.0, shapes[k % 3], -1, place, (turn / np.linalg.norm(turn)).tolist(), **options
        )
        pybullet.resetBaseVelocity(body, rng.normal(size=3).tolist(), (3 * rng.normal(size=3)).tolist(), **options)
        pybullet.changeDynamics(body, -1, restitution=0.9, **options)

    def closing(a, b):
        """Whether a contact of two bodies closes within the step as an impact."""
        met = pybullet.getContactPoints(a, b, **options) or pybullet.getClosestPoints(a, b, 0.1, **options)
        for contact in met:
            speed = 0.0
            for body, sign in ((contact[1], -1.0), (contact[2], 1.0)):
                velocity, spin = pybullet.getBaseVelocity(body, **options)
                arm = 0.5 * np.add(contact[5], contact[6]) - pybullet.getBasePositionAndOrientation(body, **options)[0]
                speed -= sign * np.dot(contact[7], velocity + np.cross(spin, arm))
            if speed < -2.0 * h * 9.81 and contact[8] + h * speed <= 1e-6:
                return True
        return False

    bridge, impacts = PybulletBridge(client), 0
    for _ in range(400):
        pybullet.performCollisionDetection(**options)
        wanted = any(closing(a, b) for b in range(8) for a in range(b))
        found = bridge.step()
        assert (found is not None) == wanted
        impacts += wanted
    assert impacts > 10
    pybullet.disconnect(client)


def test_mujoco_steps_in_halves_are_those_of_the_engine():
    """Without an impact a step of the bridge has the bits of one of the engine; a ball that falls is found in time."""
    mujoco, model, data = hinge_cradle("implicitfast")
    from carom.bridges.mujoco import MujocoBridge

    alone, bridge = mujoco.MjData(model), MujocoBridge(model, data)
    alone.qpos[:] = data.qpos
    for _ in range(200):
        assert bridge.step() is None
        mujoco.mj_step(model, alone)
    assert (data.qpos == alone.qpos).all() and (data.qvel == alone.qvel).all()
    assert sum(bridge.step() is not None for _ in range(700)) > 0

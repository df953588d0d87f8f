"""The simplest walker (Garcia, Chatterjee, Ruina, Coleman, J. Biomech. Eng. 120, 1998), against equations of this test.

Its feet have no mass, and a body of Carom has one: where the limit is meant, the foot has a mass so small that the
limit is reached to the tolerance. Angles are those of the paper: of the stance leg `theta` and of the swing leg `alpha`
from the normal of the slope, `alpha = theta - phi`. Units are the length of a leg and the acceleration of gravity.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import carom
from carom import ImpactProblem, solve_impact
from carom.scenes.mechanisms import GAIT, GRAVITY, compass_walker, rimless_wheel

SLOPE = 0.009


def swing(state: np.ndarray, foot: float) -> tuple[np.ndarray, float]:
    """State (theta, alpha and their rates) when the swing foot comes down in front, and the time it takes."""

    def rates(_, y):
        theta, alpha, u, w = y
        cos, sin = np.cos(theta - alpha), np.sin(theta - alpha)
        # Lagrange's equations of the hip and the swing foot; the second one divided by the mass of the foot.
        mass = np.array([[1 + foot, -foot * cos], [-cos, 1.0]])
        force = [foot * sin * w * w + (1 + foot) * np.sin(theta - SLOPE), -sin * u * u - np.sin(alpha - SLOPE)]
        return np.concatenate([[u, w], np.linalg.solve(mass, force)])

    def height(_, y):
        return np.cos(y[0]) - np.cos(y[1]) if y[1] > 0.5 * abs(state[0]) else 1.0

    height.terminal, height.direction = True, -1
    found = solve_ivp(rates, (0, 10), state, method="DOP853", events=height, rtol=1e-12, atol=1e-13)
    assert found.status == 1
    return found.y[:, -1], found.t[-1]


def heel_strike(y: np.ndarray, foot: float, law: str = "gr") -> np.ndarray:
    """The state after the impact, in which the legs have exchanged their roles, by a law of Carom."""
    theta, alpha, u, w = y
    old, hip = np.zeros(2), np.array([-np.sin(theta), np.cos(theta)])
    new = hip + np.array([np.sin(alpha), -np.cos(alpha)])
    v_hip = u * np.array([-np.cos(theta), -np.sin(theta)])
    v_new = v_hip + w * np.array([np.cos(alpha), np.sin(alpha)])
    solution = solve_impact(
        ImpactProblem.from_contacts(
            positions=[hip, old, new],
            masses=[1.0, foot, foot],
            inertias=[1.0, foot, foot],
            velocities=[[*v_hip, 0.0], [0.0, 0.0, 0.0], [*v_new, 0.0]],
            bodies=[[-1, 1], [-1, 2]],
            points=[old, new],
            normals=[[0, 1], [0, 1]],
            restitution=0.0,
            friction=20.0,
            joints=[{"kind": "rod", "bodies": [0, k], "ends": [hip, end]} for k, end in ((1, old), (2, new))],
        ),
        law,
    )
    v_hip, v_old, v_new = solution.velocity[:, :2]
    assert np.abs(v_new).max() < 1e-9 and v_old[1] > 0.0  # the new foot sticks, the old one leaves the ground
    across = np.array([np.cos(theta), np.sin(theta)])  # across the leg that swings now
    return np.array([alpha, theta, -v_hip @ [np.cos(alpha), np.sin(alpha)], (v_old - v_hip) @ across])


def stride(theta: float, rate: float, foot: float) -> tuple[np.ndarray, float]:
    """Poincare's map of the paper, (theta, rate) after an impact to those after the next one, and the time between.

    At an impact both feet are on the ground, and the rate of the swing leg follows from that of the stance leg.
    """
    before, time = swing(np.array([theta, -theta, rate, rate * np.cos(2 * theta)]), foot)
    after = heel_strike(before, foot)
    return after[[0, 2]], time


@pytest.mark.parametrize("law", ["gr", "lcp", "qce"])
def test_heel_strike_is_that_of_the_paper(law):
    """theta' is multiplied by cos 2 theta; the leg that leaves turns at cos 2 theta of the new rate."""
    theta, u, w = -0.21, -0.25, 0.1
    for foot in (1e-3, 1e-5, 1e-7):
        after = heel_strike(np.array([theta, -theta, u, w]), foot, law)
        new = np.cos(2 * theta) * u
        # Angular momentum about the new foot: the mass of the old one adds a share of order `foot`.
        assert after[2] == pytest.approx(new, abs=2 * foot)
        assert after[3] == pytest.approx(new * np.cos(2 * theta), abs=2 * foot)


def gait(foot: float) -> tuple[np.ndarray, float, np.ndarray]:
    """The fixed point of a stride by Newton's method, its period, and the eigenvalues of its derivative."""
    x, tiny = np.array(GAIT), 1e-5
    for _ in range(3):
        end, time = stride(x[0], x[1], foot)
        columns = [stride(*(x + d), foot)[0] - stride(*(x - d), foot)[0] for d in tiny * np.eye(2)]
        slope = np.column_stack(columns) / (2 * tiny)
        x = x - np.linalg.solve(slope - np.eye(2), end - x)
    return x, time, np.linalg.eigvals(slope)


def test_gait_of_the_simplest_walker():
    """The period-one gait at a slope of 0.009 of the paper, and its stability.

    Fixed point and eigenvalues change in proportion to the mass of the foot, by 0.15 and 13 times it; at 1e-6 they are
    those of the limit to the digits that are compared.
    """
    point, period, eigenvalues = gait(1e-6)
    assert point == pytest.approx([0.2003109, -0.1998325], abs=3e-7)
    assert period == pytest.approx(3.8825, abs=1e-4)
    assert np.abs(eigenvalues) == pytest.approx([0.589, 0.589], abs=1e-3)  # below 1: the gait is stable
    assert eigenvalues.real == pytest.approx([-0.190, -0.190], abs=1e-3)


def strikes(scene: carom.Scene, count: int) -> np.ndarray:
    """Angle and rate of the stance leg (count, 2) after each heel strike of a run."""
    sim, stance, found = carom.Simulation(scene), 1, []
    while len(found) < count and sim.time < 4.5 * count:
        sim.step()
        place, velocity, other = sim.state.position[:3], sim.state.velocity[:3, :2], 3 - stance
        if place[other, 0] > place[0, 0] and place[other, 1] < 1e-4 and np.abs(velocity[other]).max() < 1e-3:
            stance, leg = other, place[0] - place[other]
            found.append([np.arctan2(-leg[0], leg[1]), velocity[0, 1] * leg[0] - velocity[0, 0] * leg[1]])
    return np.array(found)


def expected(count: int, foot: float) -> np.ndarray:
    x, out = np.array(GAIT), []
    for _ in range(count):
        x, _ = stride(x[0], x[1], foot)
        out.append(x)
    return np.array(out)


def test_the_scene_walks_as_the_equations_say():
    """The gait follows errors of a heel strike, of first order in the time step, and amplifies them in a stride."""
    scene = compass_walker(strides=3).with_(step=0.006)
    found, right = strikes(scene, 2), expected(2, 1e-3)
    assert found == pytest.approx(right, abs=1e-2)


@pytest.mark.long
def test_the_scene_approaches_the_gait_with_the_time_step():
    right = gait(1e-3)[0]
    errors = [np.abs(strikes(compass_walker().with_(step=h), 5)[-1] - right).max() for h in (4e-3, 1e-3)]
    assert errors[1] < 2e-3 and errors[1] < 0.6 * errors[0]


def speed_of_the_wheel(step: float, stepper: str = "drift_safe") -> float:
    """Spin of a rimless wheel after an impact, relative to its closed form, after 1.5 time units from that speed.

    With the angle a of half a step and the radius of gyration r over the length of a spoke, an impact leaves the share
    `c = (cos 2a + r^2) / (1 + r^2)` of the spin, and the slope adds `4 g sin(a) sin(slope) / (1 + r^2)` to its square
    until the next one. Within a step the spin follows from the energy about the foot.
    """
    spokes, slope, square = 8, 0.12, 0.0025
    a, pull = np.pi / spokes, GRAVITY / (1.0 + square)
    left = (np.cos(2.0 * a) + square) / (1.0 + square)
    steady = left * np.sqrt(4.0 * pull * np.sin(a) * np.sin(slope) / (1.0 - left**2))
    sim = carom.Simulation(rimless_wheel(spokes=spokes, slope=slope, speed=steady).with_(step=step), stepper=stepper)
    for _ in range(round(1.5 / step)):
        sim.step()
    hub, spin = sim.state.position[0], sim.state.velocity[0, 2]
    angles = sim.state.orientation[0] + 2.0 * a * (np.arange(spokes) + 0.5) - 0.5 * np.pi
    spoke = np.array([np.cos(angles), np.sin(angles)])[:, np.sin(angles).argmin()]
    assert abs((hub + spoke)[1]) < 1e-3  # the foot
    down = np.array([np.sin(slope), -np.cos(slope)])
    fallen = down @ -spoke - down @ [-np.sin(a), np.cos(a)]
    return float(np.sqrt(spin**2 - 2.0 * pull * fallen) / steady)


def test_a_rimless_wheel_reaches_its_steady_speed():
    """Impacts of a wheel that rests on a foot take place at the start of a step: the error is of first order."""
    errors = [abs(speed_of_the_wheel(h) - 1.0) for h in (0.002, 0.0005)]
    assert errors[0] < 0.02 and errors[1] < 0.4 * errors[0]

"""Bodies held without clearance: every law ends, says so, and loses only the energy of what is held."""

from __future__ import annotations

import numpy as np
import pytest

from carom import ImpactProblem, friction, laws, solve_impact

LEFT, RIGHT = ([-1.0, 0.0], [1.0, 0.0]), ([1.0, 0.0], [-1.0, 0.0])
NAMES = [name for name in laws.names() if name != "none"]
LOSSY = [0.5, 0.0]


def slot(velocity=(0.7, 0.3)):
    """A disc between two walls: its motion across is held, along it is free."""
    return ImpactProblem.from_discs([[0.0, 0.0]], 1.0, 1.3, [velocity], planes=[LEFT, RIGHT])


def struck_from_above():
    """The disc in the slot, struck along the slot by a second one that is outside it (a narrower disc)."""
    return ImpactProblem.from_discs(
        [[0.0, 0.0], [0.0, 1.5]], [1.0, 0.5], [1.0, 2.0], [[0.5, -0.2], [0.3, -1.0]], planes=[LEFT, RIGHT]
    )


def struck_aslant():
    """The same at 45 degrees: the blow also presses the disc against the wall, which gives nothing back."""
    reach = 1.5 / np.sqrt(2)
    return ImpactProblem.from_blocks(
        mass=[1.0, 2.0],
        bodies=[[0, 1], [-1, 0], [-1, 0]],
        rows=[
            [[-reach / 1.5, -reach / 1.5], [reach / 1.5, reach / 1.5]],
            [[0, 0], [1.0, 0.0]],
            [[0, 0], [-1.0, 0.0]],
        ],
        velocity=[[0.5, -0.2], [-0.3, -1.0]],
        positions=[[0.0, 0.0], [reach, reach]],
    )


def triangle(velocity=(0.6, 0.4)):
    """A disc that touches three walls at 120 degrees: it cannot move at all."""
    normals = [np.array([np.cos(a), np.sin(a)]) for a in np.pi / 2 + np.arange(3) * 2 * np.pi / 3]
    return ImpactProblem.from_discs([[0.0, 0.0]], 1.0, 1.0, [velocity], planes=[(-n, n) for n in normals])


def stack(count, seed=0):
    """Discs in a row between two walls: all held along the row."""
    velocity = np.random.default_rng(seed).normal(size=(count, 2))
    end = ([2.0 * count - 1.0, 0.0], [-1.0, 0.0])
    places = [[2.0 * i, 0.0] for i in range(count)]
    return ImpactProblem.from_discs(places, 1.0, np.linspace(1.0, 2.0, count), velocity, planes=[LEFT, end])


# For each problem: which components are held at zero after impact, (n, d).
CLAMPED = {
    "slot": (slot(), [[True, False]]),
    "struck from above": (struck_from_above(), [[True, False], [False, False]]),
    "struck aslant": (struck_aslant(), [[True, False], [False, False]]),
    "triangle": (triangle(), [[True, True]]),
    "stack of 3": (stack(3), [[True, False]] * 3),
    "stack of 8": (stack(8), [[True, False]] * 8),
}


def held_energy(problem, held):
    """Kinetic energy of the velocity components that are held."""
    return problem.energy_of(np.where(held, problem.velocity, 0.0))


def feasible(solution):
    fastest = np.abs(solution.problem.separation_speed()).max()
    return solution.separation_speed.min() >= -1e-9 * fastest


@pytest.mark.covering
@pytest.mark.parametrize("name", CLAMPED)
@pytest.mark.parametrize("law", NAMES)
def test_elastic_laws_lose_what_is_held_and_nothing_else(law, name):
    problem, held = CLAMPED[name]
    s = solve_impact(problem, law)
    assert s.status == "finished_inelastically"
    assert any("clamp" in message for message in s.messages)
    assert feasible(s)
    assert np.abs(s.velocity[np.array(held)]).max() <= 1e-8
    left = problem.kinetic_energy - held_energy(problem, held)
    if "KIN" in laws.make(law).claims:
        assert s.kinetic_energy == pytest.approx(left, rel=1e-8)
    else:
        assert s.kinetic_energy <= problem.kinetic_energy * (1 + 1e-10)
    if "ONE" in laws.make(law).claims:
        assert s.impulse.min() >= -1e-12
    assert s.impulse.max() <= 1e3, "impulses of a clamp are of the size of what they stop"


@pytest.mark.covering
@pytest.mark.parametrize("name", CLAMPED)
@pytest.mark.parametrize("law", NAMES)
@pytest.mark.parametrize("e", LOSSY)
def test_lossy_laws_end_too(law, name, e):
    problem, held = CLAMPED[name]
    if law == "lzb":
        e = max(e, 0.05)
    s = solve_impact(problem.with_(restitution=e), law)
    assert s.status in ("resolved", "finished_inelastically")
    assert s.status == "resolved" or s.messages
    assert feasible(s)
    assert np.abs(s.velocity[np.array(held)]).max() <= 1e-8
    assert s.kinetic_energy <= problem.kinetic_energy - held_energy(problem, held) + 1e-8


def test_a_blow_along_the_slot_is_an_exchange():
    """Masses 1 and 2 meet head on along the slot: v1 = -0.2, v2 = -1 become -1.2667 and -0.4667."""
    s = solve_impact(struck_from_above(), "gr")
    np.testing.assert_allclose(s.velocity, [[0.0, -19 / 15], [0.3, -7 / 15]], atol=1e-9)


def test_a_blow_aslant_is_a_reflection_among_the_motions_that_are_left():
    """With the first disc a bead on the slot's axis, the contact normal (1, 1)/sqrt(2) keeps its second component
    for it: one contact, reflected elastically."""
    problem = struck_aslant()
    n = np.sqrt(0.5)
    row = np.array([0.0, -n, n, n])  # bead along y, second disc along x and y
    inverse = np.array([1.0, 1.0, 0.5, 0.5])
    v = np.array([0.0, -0.2, -0.3, -1.0])
    lam = -2 * (row @ v) / (row**2 @ inverse)
    expected = v + inverse * row * lam
    for law in ("gr", "qce", "lcp", "gauss_seidel"):
        np.testing.assert_allclose(solve_impact(problem, law).velocity.ravel(), expected, atol=1e-9)


@pytest.mark.parametrize("law", NAMES)
def test_other_islands_are_not_disturbed(law):
    """A pair of balls elsewhere keeps its elastic answer, and its energy."""
    clamped = ImpactProblem.from_blocks(
        mass=np.ones(3),
        bodies=[[-1, 0], [-1, 0], [1, 2]],
        rows=[[[0.0], [1.0]], [[0.0], [-1.0]], [[-1.0], [1.0]]],
        velocity=[[0.4], [1.0], [-0.5]],
    )
    s = solve_impact(clamped, law)
    assert s.status == "finished_inelastically"
    np.testing.assert_allclose(s.velocity.ravel(), [0.0, -0.5, 1.0], atol=1e-9)


@pytest.mark.parametrize("law", ["gr", "etm", "sqm"])
def test_friction_in_a_clamp(law):
    """Rough walls take from the motion along them too, and energy still only falls."""
    problem = ImpactProblem.from_discs([[0.0, 0.0]], 1.0, 1.3, [[0.7, 0.3, 0.1]], planes=[LEFT, RIGHT], friction=0.2)
    s = solve_impact(problem, law)
    assert s.status == "finished_inelastically"
    assert feasible(s)
    assert s.contact_work <= 1e-10
    assert abs(s.velocity[0, 0]) <= 1e-8


@pytest.mark.covering
@pytest.mark.parametrize("model", friction.MODELS)
@pytest.mark.parametrize("law", ["gr", "qce", "gauss_seidel"])
def test_a_clamp_is_found_with_friction(law, model):
    """With little friction the blow along the slot stays an exchange; the inelastic finish would take its energy."""
    smooth = CLAMPED["struck from above"][0]
    v = np.column_stack([smooth.velocity, np.zeros(2)])  # with spin, which smooth discs do not have
    planes = [LEFT, RIGHT]
    rough = ImpactProblem.from_discs([[0.0, 0.0], [0.0, 1.5]], [1.0, 0.5], [1.0, 2.0], v, planes=planes, friction=1e-9)
    s = solve_impact(rough, law, friction_model=model)
    assert any("clamp a body" in message for message in s.messages)
    np.testing.assert_allclose(s.velocity[:, :2], solve_impact(smooth, law).velocity, atol=1e-7)


@pytest.mark.covering
@pytest.mark.parametrize("name", ["struck from above", "struck aslant", "triangle"])
@pytest.mark.parametrize("law", ["gr", "qce", "sqm"])
def test_a_clamp_that_moves(law, name):
    """Walls that move together: the answer is that of walls at rest, seen from a moving frame."""
    still, frame = CLAMPED[name][0], np.array([0.5, 0.0])
    w = -still.separation_speed(np.broadcast_to(frame, still.block))
    moving = still.with_(boundary_speed=w, velocity=still.velocity + frame)
    s = solve_impact(moving, law)
    assert any("clamp a body" in message for message in s.messages)
    np.testing.assert_allclose(s.velocity - frame, solve_impact(still, law).velocity, atol=1e-9)


def test_a_clamp_in_a_large_island():
    """2,100 discs in a column, the first in the slot: its motion across is lost, the rest arrives at the last disc."""
    count = 2100
    velocity = np.zeros((count, 2))
    velocity[0] = 0.5, 1.0
    radii = np.where(np.arange(count) == 0, 1.0, 0.9)  # only the first one touches the walls
    places = np.column_stack([np.zeros(count), [0.0, *(1.9 + 1.8 * np.arange(count - 1))]])
    s = solve_impact(ImpactProblem.from_discs(places, radii, 1.0, velocity, planes=[LEFT, RIGHT]), "gr")
    assert s.problem.contact_count == count + 1
    assert any("clamp a body" in message for message in s.messages)
    expected = np.zeros((count, 2))
    expected[-1, 1] = 1.0
    np.testing.assert_allclose(s.velocity, expected, atol=1e-9)


def closing(balls, *, speed=1.0, seed=None):
    """A row of discs between walls that come together: no velocity keeps every contact apart."""
    velocity = np.zeros((balls, 2)) if seed is None else np.random.default_rng(seed).normal(size=(balls, 2))
    places = [[2.0 * i, 0.0] for i in range(balls)]
    end = ([2.0 * balls - 1.0, 0.0], [-1.0, 0.0])
    problem = ImpactProblem.from_discs(places, 1.0, 1.0, velocity, planes=[LEFT, end])
    w = np.zeros(problem.contact_count)
    w[-2:] = -speed
    return problem.with_(boundary_speed=w)


# Energy tracking takes seconds to reach its bound of three million impulses.
SOON = [name for name in NAMES if name != "etm"]


@pytest.mark.covering
@pytest.mark.parametrize("balls", [1, 2, 5, 30])
@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize("law", SOON)
def test_closing_walls_are_infeasible(law, balls, seed):
    """Not an exception, not for ever, and never `resolved`."""
    if law == "lzb" and balls > 5:
        pytest.skip("seconds of small steps")
    problem = closing(balls, seed=seed)
    for e in (1.0, 0.5):
        s = solve_impact(problem.with_(restitution=e), law)
        assert s.status == "infeasible", (s.status, s.residual, s.separation_speed.min())
        assert np.isfinite(s.velocity).all()
        assert any("no velocity keeps every contact apart" in message for message in s.messages)


@pytest.mark.long
@pytest.mark.parametrize("balls", [1, 5])
def test_closing_walls_are_infeasible_under_energy_tracking(balls):
    s = solve_impact(closing(balls), "etm")
    assert s.status == "infeasible"
    assert np.isfinite(s.velocity).all()


@pytest.mark.parametrize("law", [name for name in NAMES if name not in ("etm", "lzb", "smm")])
def test_closing_walls_on_a_long_row(law):
    s = solve_impact(closing(200, seed=1).with_(restitution=0.0), law)
    assert s.status == "infeasible"
    assert np.isfinite(s.velocity).all()


@pytest.mark.parametrize("law", NAMES)
def test_walls_that_move_together_carry_the_body_along(law):
    """Both walls go right at speed 0.5: the disc between them must as well, and can."""
    problem = slot([0.0, 0.3]).with_(boundary_speed=[-0.5, 0.5])
    s = solve_impact(problem, law)
    assert s.status in ("resolved", "finished_inelastically")
    np.testing.assert_allclose(s.velocity, [[0.5, 0.3]], atol=1e-8)


@pytest.mark.parametrize("law", NAMES)
def test_walls_that_move_apart_are_an_ordinary_impact(law):
    """The slot opens: off the right wall (u = -0.5) to -0.3, off the left one (u = -0.1) to -0.1, and free."""
    problem = slot([0.7, 0.3]).with_(boundary_speed=[0.2, 0.2])
    s = solve_impact(problem, law)
    assert s.status == "resolved"
    assert s.separation_speed.min() >= -1e-9
    assert s.velocity[0, 1] == pytest.approx(0.3)
    assert abs(s.velocity[0, 0]) <= 0.2 + 1e-9, "slower than the walls recede"
    if law != "lzb":  # whose springs at both walls act at once
        assert s.velocity[0, 0] == pytest.approx(-0.1, abs=1e-6)


@pytest.mark.parametrize("law", [name for name in laws.names() if name != "none"])
def test_a_clamp_does_not_use_up_the_bound_of_other_bodies(law):
    """A ball in a wedge of 0.01 rad leaves after 314 reflections, whether or not another ball is clamped elsewhere.

    Laws that serve the worst contact first spent all their impulses on the clamp, and the ball in the wedge stopped.
    """
    angle = 0.01
    wedge = [[0.0, 1.0], [np.sin(angle), -np.cos(angle)]]

    def answer(clamped):
        count = 2 if clamped else 1
        normals = wedge + ([[1.0, 0.0], [-1.0, 0.0]] if clamped else [])
        problem = ImpactProblem.from_contacts(
            positions=[[0.0, 0.0], [9.0, 0.0]][:count], masses=[1.0, 1.0][:count], inertias=[1.0, 1.0][:count],
            velocities=[[-0.5, -0.01, 0.0], [5.0, 0.0, 0.0]][:count],
            bodies=[[-1, 0], [-1, 0], [-1, 1], [-1, 1]][: 2 * count],
            points=[[0.0, 0.0], [0.0, 0.0], [9.0, 0.0], [9.0, 0.0]][: 2 * count], normals=normals,
        )  # fmt: skip
        return solve_impact(problem, law)

    alone, both = answer(False), answer(True)
    # Rounding grows with the number of reflections; the velocity along a wedge is the sum of all of them.
    assert np.abs(both.velocity[0] - alone.velocity[0]).max() < 1e-10
    assert both.messages[-1] == "contacts [2, 3] clamp a body: their motion was resolved inelastically"

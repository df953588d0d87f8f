"""SMP: what a law makes of a face that is given by more points; weights, and the limit of ever finer sampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import carom
from carom import ImpactProblem, catalogue, laws
from carom.analysis import desiderata
from carom.catalogue.problems_faces import CORNERS, boxes
from carom.testing import random_problem

HALF = np.array([1.0, 0.75, 0.5])
MOMENT = (HALF @ HALF - HALF**2) / 3.0  # of a box of mass 1
TILTED = [0.0, 0.0, -1.0, 0.3, -0.2, 0.0]


def landing(places, velocity=TILTED, **options):
    """A box that lands on points of its lower face, which `places` (k, 2) gives in half sizes."""
    points = np.column_stack([np.asarray(places, dtype=float) * HALF[:2], np.zeros(len(places))])
    return ImpactProblem.from_contacts(
        positions=[[0.0, 0.0, HALF[2]]],
        masses=[1.0],
        inertias=[np.diag(MOMENT)],
        velocities=[velocity],
        bodies=[[-1, 0]] * len(points),
        points=points,
        normals=[[0.0, 0.0, 1.0]] * len(points),
        **options,
    )


def after(problem, law):
    """Vertical velocity and the two spins that contacts with the ground change."""
    return carom.solve_impact(problem, law).velocity[0, 2:5]


def off(problem, other, law):
    return np.abs(carom.solve_impact(problem, law).velocity - carom.solve_impact(other, law).velocity).max()


def stacks(count):
    """Stacks of one to three random boxes; the face of the uppermost one approaches as a whole."""
    rng = np.random.default_rng(27)
    found = []
    while len(found) < count:
        stack = [
            (10.0 ** rng.uniform(-0.5, 0.5), tuple(rng.uniform(0.4, 1.0, 3)), tuple(rng.uniform(-0.2, 0.2, 2)))
            for _ in range(1 + len(found) % 3)
        ]
        entry = boxes("stack", "random", stack, [*rng.normal(size=2), 0.0])
        if entry.problem.separation_speed()[-4:].max() < 0.0:
            found.append(entry)
    return found


STACKS = stacks(30)
ROUNDING = 1e-12  # a cone problem of at most 27 contacts


# -- which laws depend on the sampling -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "spins"),
    [
        ("qce", [0.398, 0.086, -0.101]),
        ("lzb", [0.200, 0.053, -0.073]),
        ("gr", [-0.3, -0.3, -0.3]),
        ("lcp", [-0.3, -0.3, -0.3]),
        ("smm", [-0.3, -0.3, -0.3]),
    ],
)
def test_spin_after_landing_on_4_5_and_9_points(law, spins):
    side = (-1.0, 0.0, 1.0)
    for points, spin in zip(
        (CORNERS, [*CORNERS, (0.0, 0.0)], [(x, y) for x in side for y in side]), spins, strict=True
    ):
        m = len(points)
        problem = ImpactProblem.from_contacts(
            positions=[[0.0, 0.0, 0.5]],
            masses=[1.0],
            inertias=[np.diag([0.4, 0.5, 0.6])],
            velocities=[TILTED],
            bodies=[[-1, 0]] * m,
            points=np.column_stack([points, np.zeros(m)]),
            normals=[[0.0, 0.0, 1.0]] * m,
        )
        assert carom.solve_impact(problem, law).velocity[0, 3] == pytest.approx(spin, abs=6e-4)


@pytest.mark.parametrize(("law", "restitution"), [("lcp", 1.0), ("lcp", 0.5), ("gr", 0.0)])
def test_constraints_of_all_contacts_leave_nothing_to_added_points(law, restitution):
    """lcp asks `u+ >= -u` of every contact, the inelastic law (restitution 0) `u+ >= 0`: both hold for a point between
    the corners if they hold for the corners."""
    for entry in STACKS:
        problem = entry.problem.with_(restitution=restitution)
        for more in entry.resampled:
            assert off(problem, more.with_(restitution=restitution), law) <= ROUNDING


@pytest.mark.parametrize("law", ["gr", "smm"])
def test_reflections_depend_on_added_points_only_where_part_of_a_face_approaches(law):
    """They reflect violators alone. A face that approaches as a whole has the corners among them; else a point between
    a violator and a corner that separates is a constraint of its own."""
    for entry in STACKS[::3]:  # one box on the ground
        assert max(off(entry.problem, more, law) for more in entry.resampled) <= 100 * ROUNDING
    apart = [max(off(e.problem, more, law) for more in e.resampled) for e in STACKS[1::3] + STACKS[2::3]]
    assert max(apart) > 0.1
    lifting = catalogue.entry("box_lifting")
    assert max(off(lifting.problem, more, law) for more in lifting.resampled) > 1.0


@pytest.mark.parametrize("law", ["sqm", "etm"])
def test_the_worst_contact_is_a_corner_unless_others_approach_as_fast(law):
    for entry in STACKS[:6]:
        assert max(off(entry.problem, more, law) for more in entry.resampled) <= 1e-9
    tied = catalogue.entry("box_lifting")  # the middle of its lower edge approaches as fast as the corners
    assert max(off(tied.problem, more, law) for more in tied.resampled) > 0.1


# -- weights ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("law", "share"), [("qce", 1e-9), ("lzb", 1e-9)])
def test_a_contact_is_as_good_as_two_of_half_its_weight(law, share):
    rng = np.random.default_rng(2)
    for problem in (random_problem(rng, kind) for kind in ("box", "discs", "chain", "spheres") * 3):
        w = rng.uniform(0.2, 2.0, problem.contact_count)
        twice = problem.selected(np.repeat(np.arange(len(w)), 2))
        assert off(problem.with_(weights=w), twice.with_(weights=np.repeat(0.5 * w, 2)), law) <= share
    assert off(landing(CORNERS), landing([*CORNERS, *CORNERS[:2]]), law) > 0.05  # without weights two count twice


@pytest.mark.parametrize("law", ["qce", "lzb"])
def test_weights_keep_the_energy_and_only_their_ratios_matter(law):
    rng = np.random.default_rng(4)
    moved = 0.0
    for problem in (random_problem(rng, kind) for kind in ("box", "discs", "spheres", "matrices") * 5):
        w = 10.0 ** rng.uniform(-2, 2, problem.contact_count)
        solution = carom.solve_impact(problem.with_(weights=w), law)
        assert desiderata.energy_violation(solution) <= desiderata.ENERGY_BOUND
        assert desiderata.approach_left(solution) <= desiderata.SPEED_BOUND
        scaled = carom.solve_impact(problem.with_(weights=1e6 * w), law)
        assert np.abs(scaled.velocity - solution.velocity).max() <= 1e-9
        moved = max(moved, np.abs(solution.velocity - carom.solve_impact(problem, law).velocity).max())
    assert moved > 0.1


def test_weights_under_stronges_restitution_lose_the_same_share():
    problem = landing(CORNERS, restitution=0.5)
    heavy = problem.with_(weights=[1.0, 2.0, 3.0, 4.0])
    for law, model in (("qce", "stronge"), ("lzb", None)):
        solution = carom.solve_impact(heavy, law, restitution_model=model)
        assert desiderata.energy_violation(solution) <= desiderata.ENERGY_BOUND
        assert solution.kinetic_energy < 0.9 * problem.kinetic_energy
        assert (
            np.abs(solution.velocity - carom.solve_impact(problem, law, restitution_model=model).velocity).max() > 0.01
        )


def test_a_clamp_keeps_the_weights_of_the_other_contacts():
    """Two discs strike a clamped one: weights of their contacts matter, also where the clamp is held as a joint."""
    place = [[0.0, 0.5], [1.0, 0.5], [1.0 + np.sqrt(0.75), 1.0]]
    planes = [([0.0, 0.0], [0.0, 1.0]), ([0.0, 1.0], [0.0, -1.0])]
    velocity = [[0.0, -0.1], [-1.0, 0.0], [-1.0, -0.3]]
    problem = ImpactProblem.from_discs(place, 0.5, [1.0, 0.3, 2.0], velocity, planes=planes, overlap=1.0)
    found = [carom.solve_impact(problem.with_(weights=w), "qce") for w in (1.0, np.linspace(0.1, 3.0, 7))]
    assert all("clamp" in solution.messages[0] for solution in found)
    assert all(desiderata.energy_violation(s, degenerate=True) <= desiderata.ENERGY_BOUND for s in found)
    assert np.abs(found[0].velocity - found[1].velocity).max() > 1e-3


@pytest.mark.parametrize("law", ["gr", "lcp", "gauss_seidel"])
def test_other_laws_do_not_read_weights(law):
    problem = landing(CORNERS)
    np.testing.assert_array_equal(after(problem, law), after(problem.with_(weights=[1, 2, 3, 4]), law))


# -- ever finer sampling ---------------------------------------------------------------------------------------


def face(n, power=1.0):
    """n by n points of a face; with a power above 1 they crowd at one corner."""
    side = 2.0 * np.linspace(0.0, 1.0, n) ** power - 1.0
    return np.array([(x, y) for x in side for y in side])


def on_a_continuum(pressure, cells=120):
    """Vertical velocity and spins of the box after landing on a continuum: a rigid body, and the ODE

        dq/dt = v,     dv/dt = int p(x, y) dA / A,     I dw/dt = int p r x n dA / A,

    with `pressure(depth, approach)` for the depth `-(q + turn x r)` of each place and its approach at the start. Places
    are the middles of cells; the result changes by less than 1e-4 from 120 to 400 of them.
    """
    side = (np.arange(cells) + 0.5) / cells * 2.0 - 1.0
    x, y = (HALF[0] * side)[:, None], (HALF[1] * side)[None, :]
    approach = -(TILTED[2] + TILTED[3] * y - TILTED[4] * x)

    def rates(_, state):
        p = pressure(-(state[0] + state[1] * y - state[2] * x), approach) / cells**2
        return [*state[3:], p.sum(), (p * y).sum() / MOMENT[0], -(p * x).sum() / MOMENT[1]]

    state = [0.0, 0.0, 0.0, *TILTED[2:5]]
    return solve_ivp(rates, (0.0, 5.0), state, rtol=1e-7, atol=1e-9, max_step=0.01).y[3:, -1]


FOUNDATIONS = {  # law -> the pressure of its continuum
    "lzb, linear springs": (laws.make("lzb", eta=1.0, tolerance=1e-10), lambda d, _: np.maximum(d, 0.0)),
    "lzb, Hertz": (laws.make("lzb", tolerance=1e-10), lambda d, _: np.maximum(d, 0.0) ** 1.5),
    # All places push in proportion to their approach at the start, until they are back where they began.
    "qce": (laws.make("qce"), lambda d, approach: np.where(d >= 0.0, approach, 0.0)),
}


@pytest.mark.covering
@pytest.mark.parametrize("name", FOUNDATIONS)
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_weighted_faces_converge_to_the_elastic_foundation(name, power):
    """Voronoi cells are the trapezoidal rule on these grids: the error falls with the square of the spacing."""
    law, pressure = FOUNDATIONS[name]
    limit = on_a_continuum(pressure)
    error = {n: np.abs(after(landing(face(n, power), weights="patch"), law) - limit).max() for n in (2, 5, 9, 17)}
    assert error[2] > 0.2 and error[9] < 0.016 and error[17] < 0.005
    assert error[17] < 0.35 * error[9]
    if power > 1.0:  # equal weights converge to a foundation that is stiffer where points crowd
        unweighted = np.abs(after(landing(face(9, power)), law) - limit).max()
        assert unweighted > 0.1 > 5.0 * error[9]

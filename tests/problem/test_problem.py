"""Constructors, what a problem says about itself, and that nobody can change it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

import carom
from carom import ImpactProblem, ProblemError, catalogue
from carom.problem.geometry import tangents_of
from carom.testing import KINDS, random_problem


def two_discs(**options):
    return ImpactProblem.from_discs([[0, 0], [1, 0]], 0.5, [1, 2], [[1.0, 0], [0, 0]], **options)


# -- the constructors agree with each other --------------------------------------------------------------------


def test_chain_as_matrices():
    """u_i = v_{i+1} - v_i: the same problem given as numbers in a matrix has the same answer."""
    masses, v = [1.0, 2.0, 1.0, 3.0], [1.0, 0.0, 0.0, -1.0]
    rows = np.diff(np.eye(4), axis=0)
    chain = ImpactProblem.chain(masses, v)
    np.testing.assert_array_equal(chain.separation_speed(), rows @ v)
    expected = carom.solve_impact(chain, "gauss_seidel").velocity
    for mass in (masses, np.diag(masses), sp.diags(masses)):
        for jacobian in (rows, sp.csr_matrix(rows), sp.coo_matrix(rows)):
            given = ImpactProblem.from_matrices(mass=mass, jacobian=jacobian, velocity=v)
            np.testing.assert_allclose(carom.solve_impact(given, "gauss_seidel").velocity, expected, atol=1e-14)


def test_discs_on_a_line_are_a_chain():
    place = np.stack([np.arange(4.0), np.zeros(4)], axis=1)
    v = np.array([[1.0, 0], [0, 0], [0, 0], [-1, 0]])
    discs = ImpactProblem.from_discs(place, 0.5, [1, 2, 1, 3], v)
    chain = ImpactProblem.chain([1, 2, 1, 3], v[:, 0])
    got = carom.solve_impact(discs, "gauss_seidel").velocity
    np.testing.assert_allclose(got[:, 0], carom.solve_impact(chain, "gauss_seidel").velocity, atol=1e-14)
    np.testing.assert_allclose(got[:, 1], 0, atol=1e-14)


def test_full_mass_matrix_is_whitened():
    """With a full mass matrix K, u and the Delassus matrix come out as in the textbook formulas."""
    rng = np.random.default_rng(2)
    root = rng.normal(size=(5, 5))
    mass, rows, v = root @ root.T + np.eye(5), rng.normal(size=(3, 5)), rng.normal(size=5)
    problem = ImpactProblem.from_matrices(mass, rows, v)
    assert problem.kinetic_energy == pytest.approx(0.5 * v @ mass @ v, rel=1e-13)
    contacts = problem.contacts
    assert 0.5 * (contacts.velocity**2).sum() == pytest.approx(problem.kinetic_energy, rel=1e-13)
    np.testing.assert_allclose(contacts.speeds(), rows @ v, rtol=1e-12)
    np.testing.assert_allclose(contacts.delassus().toarray(), rows @ np.linalg.solve(mass, rows.T), rtol=1e-11)


def test_block_mass_is_whitened():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(2, 3, 3))
    mass = root @ root.swapaxes(1, 2) + np.eye(3)
    rows, v = rng.normal(size=(1, 2, 3)), rng.normal(size=(2, 3))
    problem = ImpactProblem.from_blocks(mass, [[0, 1]], rows, v)
    expected = sum(rows[0, b] @ np.linalg.solve(mass[b], rows[0, b]) for b in range(2))
    assert problem.contacts.delassus()[0, 0] == pytest.approx(expected, rel=1e-12)
    assert problem.separation_speed()[0] == pytest.approx((rows[0] * v).sum(), rel=1e-12)


def test_world_rows_are_ignored():
    """Body -1 is the world: its half of a row has no effect, whatever stands there."""
    one = ImpactProblem.from_blocks([1.0], [[-1, 0]], [[[5.0], [1.0]]], [[-1.0]])
    assert one.separation_speed()[0] == -1.0
    assert one.contacts.delassus()[0, 0] == 1.0


def test_touching_is_a_matter_of_tolerance():
    near = [[0, 0], [1.01, 0]]
    assert ImpactProblem.from_discs(near, 0.5, 1, [[1, 0], [0, 0]], tolerance=0.03).contact_count == 1
    with pytest.raises(carom.ProblemError, match="do not touch"):
        ImpactProblem.from_discs(near, 0.5, 1, [[1, 0], [0, 0]])


def test_rolling_disc_has_a_tangent_row_with_its_lever():
    """Slip of a disc on a floor is v_x + r omega (omega counter-clockwise), up to the tangent's sign."""
    problem = ImpactProblem.from_discs([[0, 0.5]], 0.5, 1, [[2.0, -1.0, 3.0]], planes=[([0, 0], [0, 1])], friction=0.3)
    slip = problem.contacts.tangent_speeds()[0, 0]
    assert abs(slip) == pytest.approx(2.0 + 0.5 * 3.0)
    rolling = problem.with_(velocity=[[1.5, -1.0, -3.0]])
    assert rolling.contacts.tangent_speeds()[0, 0] == pytest.approx(0.0, abs=1e-15)


def test_spheres_have_two_orthonormal_tangents():
    rng = np.random.default_rng(0)
    normals = rng.normal(size=(50, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    frames = np.concatenate([normals[:, None], tangents_of(normals)], axis=1)
    np.testing.assert_allclose(frames @ frames.swapaxes(1, 2), np.broadcast_to(np.eye(3), (50, 3, 3)), atol=1e-14)


def test_one_value_or_one_a_contact():
    one = ImpactProblem.chain([1, 1, 1], [1, 0, 0], restitution=0.5)
    many = ImpactProblem.chain([1, 1, 1], [1, 0, 0], restitution=[0.5, 0.25])
    np.testing.assert_array_equal(one.restitution, [0.5, 0.5])
    np.testing.assert_array_equal(many.restitution, [0.5, 0.25])


@pytest.mark.parametrize("shape", [(4,), (4, 1), (2, 2)])
def test_velocity_comes_back_in_its_shape(shape):
    v = np.array([1.0, 0.0, 0.0, -1.0]).reshape(shape)
    problem = ImpactProblem.from_matrices([1, 2, 1, 3], np.diff(np.eye(4), axis=0), v)
    assert carom.solve_impact(problem, "none").velocity.shape == shape


def test_boundary_speed_counts_in_the_separation():
    """A floor that comes up at 0.5 under a ball that falls at 1: they approach at 1.5."""
    entry = catalogue.entry("moving_floor")
    assert entry.problem.separation_speed()[0] == pytest.approx(-1.5)


# -- copies and permutations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(KINDS))
def test_permuted_contacts_are_the_same_contacts(kind):
    problem = random_problem(np.random.default_rng(5), kind)
    order = np.random.default_rng(1).permutation(problem.contact_count)
    other = problem.permuted(order)
    np.testing.assert_allclose(other.separation_speed(), problem.separation_speed()[order], atol=1e-15)
    A = problem.contacts.delassus().toarray()
    np.testing.assert_allclose(other.contacts.delassus().toarray(), A[np.ix_(order, order)], atol=1e-14)


def test_permuting_carries_tangents_and_coefficients():
    place = [[0, 0], [1, 0], [2, 0]]
    p = ImpactProblem.from_discs(place, 0.5, 1, np.eye(3), restitution=[0.1, 0.9], friction=[0.2, 0.7])
    q = p.permuted([1, 0])
    np.testing.assert_array_equal(q.restitution, [0.9, 0.1])
    np.testing.assert_array_equal(q.friction, [0.7, 0.2])
    np.testing.assert_array_equal(q.contacts.tangent_speeds(), p.contacts.tangent_speeds()[::-1])


def test_with_changes_a_copy():
    problem = two_discs()
    softer = problem.with_(restitution=0.25, name="softer")
    assert (problem.restitution == 1).all() and (softer.restitution == 0.25).all()
    assert softer.name == "softer"
    faster = problem.with_(velocity=2 * problem.velocity)
    assert faster.kinetic_energy == pytest.approx(4 * problem.kinetic_energy)


# -- immutability ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["velocity", "boundary_speed", "restitution", "friction", "positions"])
def test_arrays_are_read_only(field):
    with pytest.raises(ValueError, match="read-only"):
        getattr(two_discs(), field)[...] = 7.0


def test_fields_cannot_be_replaced():
    problem = two_discs()
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.velocity = np.zeros((2, 2))
    solution = carom.solve_impact(problem, "none")
    with pytest.raises(dataclasses.FrozenInstanceError):
        solution.velocity = np.zeros((2, 2))


def test_the_callers_arrays_stay_the_callers():
    """Writing into what was handed in changes nothing in the problem."""
    v = np.array([1.0, 0.0, -1.0])
    masses = np.ones(3)
    problem = ImpactProblem.chain(masses, v)
    v[0], masses[0] = 99.0, 99.0
    assert problem.velocity[0] == 1.0
    assert problem.kinetic_energy == 1.0


def test_solution_arrays_are_read_only():
    solution = carom.solve_impact(two_discs(), "gauss_seidel")
    for array in (solution.velocity, solution.impulse):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_rows_times_a_velocity_in_the_shape_of_the_problem():
    """General systems have velocities (n,): rows and tangent rows multiply them as they are."""
    p = ImpactProblem.from_matrices(np.ones(3), [[0, 0, 1.0]], [1.0, 2.0, -3.0], friction=0.1, tangents=[[1.0, 0.5, 0]])
    np.testing.assert_allclose(p.tangents.times(p.velocity), [2.0])
    np.testing.assert_allclose(p.rows.times([1.0, 2.0, -3.0]), [-3.0])


# ---- contact points


@pytest.mark.parametrize("spin", [0.0, 0.7])
def test_contact_points_of_discs_give_the_rows_of_discs(spin):
    """Same rows and masses as `from_discs`, so the same separation speed and slip up to round-off."""
    place, v = [[0.0, 0.0], [0.6, 0.8]], [[1.0, 0.5, spin], [0.0, 0.0, -spin]]
    discs = ImpactProblem.from_discs(place, 0.5, [1.0, 2.0], v)
    found = ImpactProblem.from_contacts(place, [1.0, 2.0], [0.125, 0.25], v, [[0, 1]], [[0.3, 0.4]], [[6.0, 8.0]])
    np.testing.assert_allclose(found.separation_speed(), discs.separation_speed(), rtol=1e-14)
    np.testing.assert_allclose(found.slip_speed(), discs.slip_speed(), rtol=1e-14)
    assert found.kinetic_energy == pytest.approx(discs.kinetic_energy, rel=1e-14)


def test_contact_points_in_3d_use_the_whole_inertia_tensor():
    """A rod along x struck at its end: 1/m + l^2/I at the contact, whatever axes the rod was given in."""
    inertia = np.diag([0.1, 2.0, 2.0])
    problem = ImpactProblem.from_contacts(
        [[0, 0, 0]], [1.0], [inertia], [[0, 0, -1, 0, 0, 0]], [[-1, 0]], [[1.5, 0, 0]], [[0, 0, 1]]
    )
    impulse = carom.solve_impact(problem, "gr").impulse[0]
    assert impulse == pytest.approx(2.0 / (1.0 + 1.5**2 / 2.0), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"normals": [[0, 0]]}, r"normals\[0\]"),
        ({"points": [[0, 0, 0]]}, "points"),
        ({"inertias": [-1.0]}, "inertias"),
        ({"velocities": [[0, 0]]}, "velocities"),
        ({"positions": [[0.0]]}, "positions"),
    ],
)
def test_contact_points_are_checked(change, field):
    given = {
        "positions": [[0, 1]], "masses": [1], "inertias": [1], "velocities": [[0, -1, 0]],
        "bodies": [[-1, 0]], "points": [[0, 0]], "normals": [[0, 1]],
    }  # fmt: skip
    with pytest.raises(ProblemError, match=field):
        ImpactProblem.from_contacts(**{**given, **change})


def test_selected_contacts():
    problem = ImpactProblem.chain([1, 1, 1], [1, 0, -1])
    np.testing.assert_array_equal(problem.selected([False, True]).separation_speed(), problem.separation_speed()[1:])
    with pytest.raises(ProblemError, match="contacts"):
        problem.selected([False, False])


def test_balls_that_overlap_deeply_are_refused_unless_told():
    """Two unit discs whose centers are 1.9 apart overlap by 0.1 of a radius; a slip of a decimal looks like this."""
    for make, rest in ((ImpactProblem.from_discs, [0.0]), (ImpactProblem.from_spheres, [0.0, 0.0])):
        places, moving = [[0.0, *rest], [1.9, *rest]], [[1.0, *rest], [0.0, *rest]]
        with pytest.raises(ProblemError, match=r"bodies 0 and 1 that overlap by 0\.1 of the smaller radius"):
            make(places, 1.0, 1.0, moving)
        assert make(places, 1.0, 1.0, moving, overlap=0.2).contact_count == 1
        with pytest.raises(ProblemError, match="body 0 and a plane"):
            make([[0.0, *rest]], 1.0, 1.0, moving[:1], planes=[([-0.5, *rest], [1.0, *rest])])
        with pytest.raises(ProblemError, match="overlap"):
            make(places, 1.0, 1.0, moving, overlap=-1.0)

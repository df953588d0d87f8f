"""The catalogue keeps its word: symmetries are symmetries, answers are answers, what must break can break."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from carom import ImpactProblem, ProblemError, Symmetry, catalogue
from carom.analysis.desiderata import _rows, defect, image_error
from carom.catalogue.entry import disc_cluster, sphere_cluster

ENTRIES = catalogue.entries()


def test_names_are_unique_and_known():
    assert len(set(catalogue.names())) == len(ENTRIES)
    assert catalogue.entry("bernoulli").problem.contact_count == 3
    with pytest.raises(ProblemError, match="did you mean 'bernoulli'"):
        catalogue.entry("bernouli")


def test_everything_asked_for_is_there():
    wanted = {f"cradle_{n}_{k}" for n in (3, 5, 9) for k in (1, 2)}
    wanted |= {"two_sided_chain", "bernoulli", "bernoulli_scisim", "box_flat_2d", "box_flat_3d", "right_corner"}
    wanted |= {"room_corner", "pool_break", "mass_ratio_chain", "moving_floor", "clamped_ball"}
    wanted |= {"plank_tilted", "box_tilted", "box_lifting", "boxes_tilted", "boxes_unequal"}
    wanted |= {"clamped_disc_struck", "disc_cluster_25", "sphere_cluster_20", "sweep_050"}
    assert wanted <= set(catalogue.names())


def test_something_approaches():
    for entry in ENTRIES:
        assert entry.problem.separation_speed().min() < -1e-3, entry.name
        assert entry.note, entry.name


def test_symmetries_are_symmetries():
    """Velocities, masses and contacts map onto themselves to rounding."""
    for entry, symmetry in ((e, s) for e in ENTRIES for s in e.problem.symmetries):
        assert defect(entry.problem, symmetry) <= 1e-14, (entry.name, symmetry.name)


def test_known_answers_are_symmetric_too():
    for entry in (entry for entry in ENTRIES if entry.problem.symmetries):
        for law, velocity in entry.answers.items():
            assert image_error(entry.problem, velocity)[0] <= 1e-14, (entry.name, law)


@pytest.mark.parametrize("broken", ["velocity", "mass", "restitution", "rows"])
def test_the_check_of_symmetries_can_fail(broken):
    entry = catalogue.entry("bernoulli")
    place, v = np.array(entry.problem.positions), np.array(entry.problem.velocity)
    masses, c = np.ones(3), np.ones(3)
    if broken == "velocity":
        v[1, 1] += 1e-6
    elif broken == "mass":
        masses[1] += 1e-6
    elif broken == "restitution":
        c[0] = 0.999
    else:
        place[0, 1] += 1e-6
    other = ImpactProblem.from_discs(place, 0.5, masses, v, tolerance=0.03, restitution=c)
    assert defect(other, entry.problem.symmetries[0]) > 1e-7


def test_a_symmetry_has_to_fit_the_problem():
    problem = catalogue.entry("cradle_3_1").problem
    for bodies, matrix in (([0, 0, 1], [[1.0]]), ([0, 1], [[1.0]]), ([0, 1, 2], np.eye(2))):
        with pytest.raises(ProblemError, match="symmetry"):
            defect(problem, Symmetry(np.array(bodies), np.array(matrix)))
    with pytest.raises(ProblemError, match="onto themselves"):
        catalogue.spatial_symmetry([[0.0, 0], [1, 0], [5, 0]], catalogue.mirror(0, 2), 2, "none")


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.resampled], ids=lambda e: e.name)
def test_added_points_add_no_constraint(entry):
    """Bodies and velocities are the same, and the row of each point is a mean of rows of the problem."""
    rows = _rows(entry.problem).toarray()
    for more in entry.resampled:
        assert more.contact_count > entry.problem.contact_count
        np.testing.assert_array_equal(more.velocity, entry.problem.velocity)
        np.testing.assert_array_equal(more.mass.times(more.velocity), entry.problem.mass.times(more.velocity))
        for row in _rows(more).toarray():
            share, left = nnls(np.vstack([rows.T, np.ones(len(rows))]), np.append(row, 1.0))
            assert left <= 1e-12 and share.sum() == pytest.approx(1.0)
    outside = rows[0] + 0.1 * (rows[0] - rows[1])
    assert nnls(np.vstack([rows.T, np.ones(len(rows))]), np.append(outside, 1.0))[1] > 1e-3


def test_degenerate_means_clamped():
    """The flag says what a linear program finds: a non-negative combination of rows that vanishes."""
    for entry in ENTRIES:
        assert catalogue.is_degenerate(entry.problem) == entry.degenerate, entry.name


def test_breaking_contacts_rest_before_impact():
    """Break-away is about contacts at rest that a shock opens; Bernoulli's struck ones are the exception."""
    for entry in (entry for entry in ENTRIES if not entry.name.startswith("bernoulli")):
        speeds = entry.problem.separation_speed()[list(entry.breaking)]
        assert np.abs(speeds).max(initial=0.0) <= 1e-15, entry.name


def test_known_answers_conserve_what_they_must():
    """Momentum of free problems, energy of elastic ones, to the digits that are given."""
    for entry in ENTRIES:
        problem = entry.problem
        digits = 2e-4 if "decimals" in entry.source else 1e-12
        for law, velocity in entry.answers.items():
            assert problem.separation_speed(velocity).min() >= -digits, (entry.name, law)
            if not entry.degenerate and not problem.boundary_speed.any():
                kept = pytest.approx(problem.kinetic_energy, rel=3 * digits)
                assert problem.energy_of(velocity) == kept, (entry.name, law)


@pytest.mark.parametrize("count", [2, 7, 30])
def test_scattered_bodies_touch_and_do_not_overlap(count):
    places, radii = disc_cluster(np.random.default_rng(count), count)
    balls = sphere_cluster(np.random.default_rng(count), count)
    for place, radius in ((places, radii), (balls, np.full(count, 0.5))):
        gap = np.linalg.norm(place[:, None] - place[None], axis=2) - radius[:, None] - radius[None]
        np.fill_diagonal(gap, 1.0)
        assert gap.min() >= -1e-12  # none overlaps
        assert gap.min(axis=1).max() <= 1e-12  # and each touches another


def test_breaking_contacts_open_in_a_compliant_chain():
    """Hertz springs, integrated: the contacts that a chain must open do open, whatever a rigid law says."""
    from scipy.integrate import solve_ivp

    for entry in ENTRIES:
        n, d = entry.problem.block
        if d != 1 or entry.degenerate or not entry.breaking or entry.problem.contact_count != n - 1:
            continue
        mass = entry.problem.mass.times(np.ones((n, 1))).ravel()
        if mass.max() > 100:
            continue  # stiff, and the same physics as the falling cradles

        def motion(_, y, mass=mass, n=n):
            force = np.maximum(y[: n - 1] - y[1:n], 0.0) ** 1.5
            push = np.zeros(n)
            push[:-1] -= force
            push[1:] += force
            return np.concatenate([y[n:], push / mass])

        start = np.concatenate([np.zeros(n), entry.problem.velocity])
        end = solve_ivp(motion, (0, 400.0), start, method="DOP853", rtol=1e-8, atol=1e-10).y[n:, -1]
        assert np.diff(end)[list(entry.breaking)].min() > 1e-3, entry.name

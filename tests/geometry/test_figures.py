"""Figures: closed surfaces, volumes against closed forms, symmetry, fits."""

from itertools import pairwise

import numpy as np
import pytest

from carom.errors import ProblemError
from carom.geometry import figures
from carom.geometry.hulls import hull
from carom.geometry.mass_properties import mass_properties, signed_volume
from carom.geometry.mesh_repair import closed_surface

PROFILES = {
    "pawn": figures.pawn_profile(),
    "pot": figures.pot_profile(),
    "lid": figures.lid_profile(),
    "doll, lower half": figures.doll_profiles()[0],
    "doll, upper half": figures.doll_profiles()[1],
    "ring": np.array([(1.0, 0.0), (2.0, 0.0), (1.5, 1.0)]),
}
SURFACES = {
    **{name: figures.turned(profile, 24) for name, profile in PROFILES.items()},
    "rabbit": figures.rabbit(detail=24),
}


@pytest.mark.parametrize("name", SURFACES)
def test_surfaces_are_closed_and_face_outward(name):
    vertices, faces = SURFACES[name]
    checked, same = closed_surface("mesh", f"{name}: ", vertices, faces, merge=False, repair=False)
    assert np.array_equal(checked, vertices) and np.array_equal(same, faces)
    assert signed_volume(vertices, faces) > 0.0


@pytest.mark.parametrize("name", PROFILES)
def test_turned_volumes(name):
    """The mesh has the volume of its polygonal rings to rounding, which tends to that of the exact solid."""
    profile = PROFILES[name]
    volume = signed_volume(*SURFACES[name])
    assert volume == pytest.approx(figures.turned_volume(profile, 24), rel=1e-12)
    exact = figures.turned_volume(profile)
    error = [1.0 - figures.turned_volume(profile, n) / exact for n in (24, 48)]
    assert error[0] / error[1] == pytest.approx(4.0, rel=0.02)  # second order in the angle of a segment


def test_pot_against_closed_form():
    pot = figures.turned_volume(figures.pot_profile(1.0, 1.2, 0.1))
    assert pot == pytest.approx(np.pi * (1.2 - 0.9**2 * 1.1), rel=1e-12)


def test_ring_inertia():
    """A torus-like ring with a triangular section is a symmetric top about z."""
    _, center, inertia = mass_properties(*SURFACES["ring"])
    assert np.abs(center[:2]).max() < 1e-14
    assert inertia[0, 0] == pytest.approx(inertia[1, 1], rel=1e-12)
    assert inertia[2, 2] > inertia[0, 0]


def test_level_set_of_a_sphere_is_second_order():
    errors = []
    for cell in (0.2, 0.1):
        surface = figures.level_set(lambda p: np.linalg.norm(p, axis=1) - 1.0, [-1.3] * 3, [1.3] * 3, cell)
        errors.append(1.0 - signed_volume(*surface) / (4.0 / 3.0 * np.pi))
    assert 3.0 < errors[0] / errors[1] < 5.0
    assert errors[1] < 0.01


def test_level_set_refuses_a_box_that_cuts_the_surface():
    with pytest.raises(ProblemError, match="a box that contains the whole surface"):
        figures.level_set(lambda p: np.linalg.norm(p, axis=1) - 1.0, [-0.5] * 3, [1.3] * 3, 0.1)


def test_rabbit_is_mirror_symmetric():
    vertices, faces = SURFACES["rabbit"]
    assert np.ptp(vertices[:, 2]) == pytest.approx(1.0)
    assert vertices[:, 2].min() == 0.0
    images = {tuple(v) for v in vertices * (-1.0, 1.0, 1.0) + 0.0}
    assert images == {tuple(v) for v in vertices + 0.0}
    _, center, inertia = mass_properties(vertices, faces)
    assert abs(center[0]) < 1e-14
    assert max(abs(inertia[0, 1]), abs(inertia[0, 2])) < 1e-14 * np.trace(inertia)


def test_halves_of_a_doll_meet_at_their_rims():
    """Both rims are the same ring at z = 0, and the next doll, 0.74 times as large, fits inside."""
    lower, upper = figures.doll_profiles(1.0)
    rims = [np.sort(half[half[:, 1] == 0.0][:, 0]) for half in (lower, upper)]
    assert np.array_equal(*rims)
    assert rims[0][0] > 0.74


def test_straight_track_against_its_cross_section():
    """Each side is a prism. Its section is a parallelogram of vertical width t sqrt(2) over the depth of the V, and a
    triangle of area t^2 / 2 outside of the rim."""
    depth, thick, long, drop = 0.3, 0.1, 3.0, 0.5
    pieces = [hull("piece", p) for p in figures.trough(np.array([(0.0, 0.0, 0.0), (long, 0.0, -drop)]), depth, thick)]
    section = depth * np.sqrt(2.0) * thick + 0.5 * thick**2
    np.testing.assert_allclose([piece.volume for piece in pieces], long * section, rtol=1e-12)
    assert pieces[0].origin[1] > 0.0 > pieces[1].origin[1]


def test_spiral_track_has_no_gaps_and_descends_evenly():
    """Neighbors share the four corners of the section between them; both sides share the bottom of the V."""
    curve = figures.spiral((0.5, 1.5), (90.0, 630.0), 0.8)
    slope = np.diff(curve[:, 2]) / np.linalg.norm(np.diff(curve[:, :2], axis=0), axis=1)
    np.testing.assert_allclose(slope, slope[0], rtol=1e-12)
    assert curve[0, 2] == pytest.approx(0.8) and curve[-1, 2] == 0.0
    pieces = figures.trough(curve, 0.2, 0.04)
    for k in (0, 1):
        for piece, following in pairwise(pieces[k::2]):
            assert np.array_equal(piece[4:], following[:4])
    for left, right in zip(pieces[::2], pieces[1::2]):
        assert np.array_equal(left[[0, 3, 4, 7]], right[[0, 3, 4, 7]])


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: figures.turned(np.array([(0.0, 0.0), (-1.0, 0.5), (0.0, 1.0)])), "profile"),
        (lambda: figures.turned(figures.pawn_profile(), 2), "segments"),
        (lambda: figures.pot_profile(1.0, 1.0, -0.1), "thickness"),
        (lambda: figures.lid_profile(1.0, 0.1, 1.5), "rim"),
        (lambda: figures.doll_profiles(1.0, 0.5), "thickness"),
        (lambda: figures.rabbit(-1.0), "height"),
        (lambda: figures.rabbit(1.0, 4), "detail"),
        (lambda: figures.trough(np.zeros((1, 3)), 1.0, 0.1), "curve"),
        (lambda: figures.trough(figures.spiral((1.0, 2.0), (0.0, 360.0), 1.0), 0.0, 0.1), "depth"),
        (lambda: figures.spiral((1.0, 0.0), (0.0, 360.0), 1.0), "radii"),
    ],
)
def test_bad_sizes_are_refused(make, field):
    with pytest.raises(ProblemError) as wrong:
        make()
    assert wrong.value.field == field

"""Bad input: each case raises ProblemError that names the field, the value and what is right."""

from __future__ import annotations

import re

import numpy as np
import pytest

import carom
from carom import ImpactProblem, ProblemError, laws


def matrices(**changes):
    good = {"mass": [1.0, 1.0], "jacobian": [[-1.0, 1.0]], "velocity": [1.0, 0.0]}
    return ImpactProblem.from_matrices(**{**good, **changes})


def blocks(**changes):
    good = {"mass": [1.0, 1.0], "bodies": [[0, 1]], "rows": [[[-1.0], [1.0]]], "velocity": [[1.0], [0.0]]}
    return ImpactProblem.from_blocks(**{**good, **changes})


def discs(**changes):
    good = {"positions": [[0, 0], [1, 0]], "radii": 0.5, "masses": 1.0, "velocities": [[1.0, 0], [0, 0]]}
    return ImpactProblem.from_discs(**{**good, **changes})


def spheres(**changes):
    good = {"positions": [[0, 0, 0], [1, 0, 0]], "radii": 0.5, "masses": 1.0, "velocities": np.zeros((2, 3))}
    return ImpactProblem.from_spheres(**{**good, **changes})


def chain(masses=(1, 1), velocities=(1, 0), **options):
    return ImpactProblem.chain(masses, velocities, **options)


nan, inf = float("nan"), float("inf")
# (call, field that the error names, words that the message holds)
CASES = {
    # wrong shapes
    "jacobian of the wrong width": (lambda: matrices(jacobian=[[1, 2, 3]]), "jacobian", "2 columns"),
    "jacobian of one dimension": (lambda: matrices(jacobian=[1, 2]), "jacobian", r"shape \(contacts, 2\)"),
    "mass matrix of the wrong size": (lambda: matrices(mass=np.eye(3)), "mass", r"shape \(2, 2\)"),
    "masses of the wrong number": (lambda: chain(masses=[1, 1, 1]), "masses", "2 velocities"),
    "block velocity without components": (lambda: blocks(velocity=[1, 0]), "velocity", "bodies, components"),
    "block rows of the wrong shape": (lambda: blocks(rows=[[[-1.0, 0], [1.0, 0]]]), "rows", r"\(1, 2, 1\)"),
    "bodies of the wrong shape": (lambda: blocks(bodies=[[0, 1, 2]]), "bodies", r"\(contacts, 2\)"),
    "disc positions in space": (lambda: discs(positions=np.zeros((2, 3))), "positions", r"\(bodies, 2\)"),
    "sphere velocities in the plane": (lambda: spheres(velocities=np.zeros((2, 2))), "velocities", "with spin"),
    "restitution for too many contacts": (lambda: chain(restitution=[1, 1]), "restitution", "1 contacts"),
    "boundary speed of the wrong number": (
        lambda: matrices(boundary_speed=[0, 0]), "boundary_speed", "1 contacts"),
    "ragged velocity": (lambda: matrices(velocity=[[1, 2], [3]]), "velocity", "array of real numbers"),
    "tangents of the wrong number": (lambda: matrices(tangents=np.ones((3, 2))), "tangents", "1 or 2 rows"),
    "planes that are none": (lambda: discs(planes=[3]), r"planes[0]", "point, unit normal"),
    "planes that are a number": (lambda: discs(planes=7), "planes", "list of pairs"),
    "tolerance that is a text": (lambda: discs(tolerance="x"), "tolerance", "a number not below 0"),
    "tolerances": (lambda: discs(tolerance=[1e-6, 1e-6]), "tolerance", "a number"),
    "ragged mass matrix": (lambda: matrices(mass=[[2, []], [0.1, 1]]), "mass", "array of real numbers"),
    "normal that is no unit vector": (lambda: discs(planes=[([0, 0], [0, 2])]), r"planes[0]", "unit normal"),
    # not numbers
    "NaN velocity": (lambda: matrices(velocity=[nan, 0]), "velocity", "nan at index 0.*finite"),
    "infinite velocity": (lambda: chain(velocities=[0, inf]), "velocities", "inf at index 1.*finite"),
    "NaN mass": (lambda: chain(masses=[1, nan]), "masses", "finite"),
    "NaN jacobian": (lambda: matrices(jacobian=[[nan, 1]]), "jacobian", "finite"),
    "NaN position": (lambda: discs(positions=[[0, nan], [1, 0]]), "positions", "finite"),
    "NaN restitution": (lambda: chain(restitution=nan), "restitution", "finite"),
    "NaN boundary speed": (lambda: matrices(boundary_speed=[nan]), "boundary_speed", "finite"),
    "text": (lambda: chain(velocities=["fast", "slow"]), "velocities", "real numbers"),
    "nothing": (lambda: chain(velocities=None), "velocities", "real numbers"),
    "complex numbers": (lambda: chain(velocities=[1j, 0]), "velocities", "real numbers"),
    # masses
    "zero mass": (lambda: chain(masses=[1, 0]), "mass", "0 for body 1.*positive"),
    "negative mass": (lambda: discs(masses=[-1, 1]), "masses", "-1 for body 0.*positive"),
    "indefinite mass matrix": (
        lambda: matrices(mass=[[1, 2], [2, 1]]), "mass", "eigenvalue -1.*positive definite"),
    "asymmetric mass matrix": (lambda: matrices(mass=[[1, 0.5], [0, 1]]), "mass", "symmetric"),
    "negative diagonal": (lambda: matrices(mass=[[-1, 0], [0, 1]]), "mass", "-1 on the diagonal"),
    "indefinite block": (
        lambda: blocks(mass=[[[1, 2], [2, 1]]] * 2, rows=np.ones((1, 2, 2)), velocity=np.ones((2, 2))),
        "mass", "positive definite blocks"),
    "zero radius": (lambda: discs(radii=[0.5, 0]), "radii", "0 for body 1.*positive"),
    "negative inertia": (lambda: discs(inertias=-1), "inertias", "positive"),
    # coefficients
    "restitution above 1": (lambda: chain(restitution=1.2), "restitution", "1.2.*from 0 to 1"),
    "restitution below 0": (lambda: chain(restitution=-0.1), "restitution", "-0.1.*from 0 to 1"),
    "negative friction": (lambda: discs(friction=-0.5), "friction", "-0.5.*not below 0"),
    "friction without tangents": (lambda: matrices(friction=0.5), "friction", "tangent"),
    "negative tolerance": (lambda: discs(tolerance=-1), "tolerance", "-1.*not below 0"),
    # empty problems
    "no bodies": (lambda: chain(masses=[], velocities=[]), "velocities", "at least one body"),
    "one ball alone": (lambda: chain(masses=[1], velocities=[1]), "contacts", "at least one contact"),
    "no rows": (lambda: matrices(jacobian=np.zeros((0, 2))), "contacts", "at least one contact"),
    "no contacts": (lambda: blocks(bodies=[], rows=np.zeros((0, 2, 1))), "contacts", "at least one contact"),
    "discs apart": (lambda: discs(positions=[[0, 0], [5, 0]]), "positions", "do not touch"),
    "row of zeros": (lambda: matrices(jacobian=[[0, 0]]), "jacobian", "row 0 is zero"),
    # bodies
    "body that does not exist": (lambda: blocks(bodies=[[0, 2]]), "bodies", "2.*0 to 1, or -1"),
    "body below the world": (lambda: blocks(bodies=[[-2, 0]]), "bodies", "-2.*-1 for the world"),
    "half a body": (lambda: blocks(bodies=[[0, 0.5]]), "bodies", "0.5.*whole"),
    "body against itself": (lambda: blocks(bodies=[[1, 1]]), "bodies", "contact 0 between 1 and itself"),
    "discs at one point": (lambda: discs(positions=[[0, 0], [0, 0]]), "positions", "0 and 1 at one point"),
    # copies
    "unknown field of a copy": (lambda: chain().with_(color="red"), "with_", "color.*velocity"),
    "velocity of another size": (lambda: chain().with_(velocity=[1, 2, 3]), "velocity", "2 numbers"),
    "restitution of a copy": (lambda: chain().with_(restitution=3), "restitution", "from 0 to 1"),
    "contact order that repeats one": (
        lambda: chain([1, 1, 1], [1, 0, 0]).permuted([0, 0]), "order", "permutation"),
    # laws
    "unknown law": (lambda: carom.solve_impact(chain(), "grr"), "law", "unknown law 'grr': did you mean 'gr'?"),
    "law that is no law": (lambda: carom.solve_impact(chain(), 7), "law", "impulses"),
    "unknown option": (
        lambda: laws.make("gauss_seidel", oder="worst"), "option of law 'gauss_seidel'", "mean 'order'?"),
    "option out of range": (lambda: laws.make("gauss_seidel", order="sideways"), "order", "index"),
    "problem that is no problem": (lambda: carom.solve_impact([1, 2, 3], "gr"), "problem", "ImpactProblem"),
    "unknown restitution model": (
        lambda: carom.solve_impact(chain(), "gr", restitution_model="newtonn"),
        "restitution model", "did you mean 'newton'?"),
    "restitution model of another law": (
        lambda: carom.solve_impact(chain(), "gr", restitution_model="stronge"), "restitution_model", "gr"),
    "law to register that is none": (lambda: laws.register("mine", 3), "law", "impulses"),
    "name of the default law": (lambda: laws.register("gr", laws.NoImpulse), "law name", "replace=True"),
    "name with a space": (lambda: laws.register("my law", laws.NoImpulse), "law name", "letters"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_bad_input(case):
    call, field, words = CASES[case]
    with pytest.raises(ProblemError) as error:
        call()
    assert re.search(words.replace("?", r"\?"), str(error.value)), str(error.value)
    assert error.value.field == field
    assert str(error.value).startswith(("unknown ", f"{field}: got "))


def test_good_input_passes():
    """The calls that the cases damage are fine as they stand."""
    for make in (matrices, blocks, discs, spheres, chain):
        assert make().contact_count == 1


def test_a_problem_error_is_a_value_error():
    assert issubclass(ProblemError, ValueError)


def test_long_values_are_cut():
    with pytest.raises(ProblemError) as error:
        chain(velocities=["x" * 1000, "y"])
    assert len(str(error.value)) < 250

"""solve_impact: shapes, immutability, overhead, laws of one's own."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import carom
from carom import ImpactProblem, ProblemError, laws, solve_impact
from carom.friction.fixed_direction import FixedDirection
from carom.laws import Law, Paper
from carom.problem.contacts import Contacts, Impulses
from carom.resolve.impulses import resolve
from carom.resolve.response import Response
from carom.testing import random_problem


@pytest.fixture
def registry():
    """Laws that a test registers are gone after it."""
    before = dict(laws._LAWS)
    yield laws
    laws._LAWS.clear()
    laws._LAWS.update(before)


@pytest.mark.parametrize(
    "given", [[1, 0, -1], (1.0, 0.0, -1.0), np.array([1.0, 0.0, -1.0])], ids=["list", "tuple", "array"]
)
def test_a_flat_velocity_comes_back_flat(given):
    s = solve_impact(ImpactProblem.chain([1, 1, 1], given))
    assert s.velocity.shape == (3,)
    np.testing.assert_allclose(s.velocity, [-1, 0, 1], atol=1e-12)


@pytest.mark.parametrize("shape", [(4,), (2, 2), (4, 1), (1, 4), (2, 2, 1)])
def test_any_shape_comes_back(shape):
    """from_matrices takes N numbers however they are arranged."""
    v = np.array([1.0, 0.0, 0.0, -1.0])
    rows = [[-1, 1, 0, 0], [0, -1, 1, 0], [0, 0, -1, 1]]
    s = solve_impact(ImpactProblem.from_matrices(np.ones(4), rows, v.reshape(shape)))
    assert s.velocity.shape == shape
    np.testing.assert_allclose(s.velocity.ravel(), [-1, 0, 0, 1], atol=1e-12)


def test_bodies_keep_their_rows():
    for columns in (2, 3):
        s = solve_impact(ImpactProblem.from_discs([[0, 0], [1, 0]], 0.5, 1.0, np.eye(2, columns)))
        assert s.velocity.shape == (2, columns)
    for columns in (3, 6):
        s = solve_impact(ImpactProblem.from_spheres([[0, 0, 0], [1, 0, 0]], 0.5, 1.0, np.eye(2, columns)))
        assert s.velocity.shape == (2, columns)
    nested = ImpactProblem.from_discs([[0, 0], [1, 0]], 0.5, [1, 1], [[1, 0], [0, 0]])
    np.testing.assert_allclose(solve_impact(nested).velocity, [[0, 0], [1, 0]], atol=1e-12)


@pytest.mark.parametrize("law", laws.names())
def test_solutions_are_read_only_and_inputs_untouched(law):
    rng = np.random.default_rng(3)
    v = rng.normal(size=(4, 3))
    given = v.copy()
    problem = ImpactProblem.from_discs([[0, 0], [1, 0], [0.5, 0.75**0.5], [2, 0]], 0.5, 1.0, v, friction=0.2)
    before = {name: getattr(problem, name).copy() for name in ("velocity", "restitution", "friction", "boundary_speed")}
    s = solve_impact(problem, law)
    for name in ("velocity", "impulse", "friction_impulse", "separation_speed"):
        array = getattr(s, name)
        if array is None:
            continue
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    for name, values in before.items():
        np.testing.assert_array_equal(getattr(problem, name), values)
        with pytest.raises(ValueError, match="read-only"):
            getattr(problem, name)[...] = 0.0
    np.testing.assert_array_equal(v, given)
    with pytest.raises(AttributeError):
        s.velocity = v


@pytest.mark.parametrize("law", laws.names())
def test_asking_twice_gives_the_same_bits(law):
    for seed in range(3):
        problem = random_problem(np.random.default_rng(seed))
        one, two = solve_impact(problem, law), solve_impact(problem, law)
        assert one.velocity.tobytes() == two.velocity.tobytes()
        assert one.impulse.tobytes() == two.impulse.tobytes()


@pytest.mark.parametrize("law", laws.names())
def test_the_velocity_is_that_of_the_impulses(law):
    """v+ = v + M^-1 J^T lam, recomputed with dense matrices."""
    for seed in range(5):
        p = random_problem(np.random.default_rng(seed))
        s = solve_impact(p, law)
        n, d = p.block
        unit = np.eye(n * d).reshape(-1, n, d)
        mass = np.stack([p.mass.times(e).ravel() for e in unit], axis=1)
        rows = np.stack([p.rows.times(e) for e in unit], axis=1)
        expected = p.velocity.ravel() + np.linalg.solve(mass, rows.T @ s.impulse)
        np.testing.assert_allclose(s.velocity.ravel(), expected, atol=1e-9 * max(1.0, np.abs(expected).max()))


def test_nothing_approaches_nothing_happens():
    problem = ImpactProblem.chain([1, 1, 1], [-1.0, 0.0, 1.0])
    for law in laws.names():
        s = solve_impact(problem, law)
        assert s.status == "resolved"
        np.testing.assert_array_equal(s.velocity, problem.velocity)
        assert not s.impulse.any()


@pytest.mark.parametrize("law", ["gr", "qce", "lcp"])
def test_overhead(law):
    """A call on three contacts makes few calls of Python functions, which take a microsecond or less each.

    Calls are counted because times depend on the machine; `python -m benchmarks` measures these.
    """
    problem = ImpactProblem.chain([1, 1, 1, 1], [1.0, 0.0, 0.0, -0.5])
    solve_impact(problem, law)
    calls = []
    sys.setprofile(lambda frame, event, argument: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        solve_impact(problem, law)
    finally:
        sys.setprofile(None)
    assert len(calls) < 200, calls


@dataclass(frozen=True)
class Sticky(Law):
    """Stops every approach of a contact pair by pair, and counts the sweeps that took."""

    name: ClassVar[str] = "sticky"
    title: ClassVar[str] = "pairwise, without restitution"
    paper: ClassVar[Paper] = Paper("Nobody 2000", "Nobody. Nothing. 2000.")
    claims: ClassVar[frozenset[str]] = frozenset({"MOM", "ONE", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("newton",)

    sweeps: int = 5000

    def impulses(self, contacts: Contacts) -> Impulses:
        lam = np.zeros(contacts.count)
        for sweep in range(self.sweeps):
            u = contacts.speeds(contacts.after(lam))
            if u.min() >= -1e-10 * abs(contacts.speeds()).max():
                return Impulses(normal=lam, iterations=sweep)
            worst = int(np.argmin(u))
            lam[worst] -= u[worst] / contacts.rows.diag[worst]
        return Impulses(
            normal=lam, iterations=self.sweeps, status="finished_inelastically", messages=("too few sweeps",)
        )


def test_a_law_of_ones_own(registry):
    registry.register("sticky", Sticky)
    assert "sticky" in registry.names()
    problem = ImpactProblem.chain([1, 1, 1], [1, 0, 0])
    s = solve_impact(problem, "sticky")
    assert s.law == "sticky"
    assert s.status == "resolved"
    np.testing.assert_allclose(s.velocity, 1 / 3, atol=1e-8)
    few = solve_impact(problem, registry.make("sticky", sweeps=1))
    assert few.messages == ("too few sweeps",)
    assert few.iterations == 1
    carom.testing.check_law("sticky", examples=20, problems=[problem])
    with pytest.raises(ProblemError, match=r"unknown option of law 'sticky' 'sweep': did you mean 'sweeps'\?"):
        registry.make("sticky", sweep=3)


def test_a_law_of_ones_own_with_friction(registry):
    """The models work on any law: friction after its normal impulses."""
    problem = ImpactProblem.from_discs([[0, 0], [1, 0]], 0.5, 1.0, [[1.0, 0.4, 0.0], [0, 0, 0]], friction=0.3)
    for model in carom.friction.MODELS:
        s = solve_impact(problem, Sticky(), friction_model=model)
        assert s.contact_work < 0.0
        assert np.abs(s.friction_impulse).max() == pytest.approx(min(0.3 * 0.5, 0.4 / 6), rel=1e-6)


def test_a_configured_law_passes_through():
    problem = ImpactProblem.chain([1, 1, 1], [0.25, 0, -1])
    s = solve_impact(problem, carom.laws.GR(max_iterations=1))
    assert s.status == "resolved" or s.messages


def test_unknown_laws():
    problem = ImpactProblem.chain([1, 1], [1, 0])
    with pytest.raises(ProblemError) as caught:
        solve_impact(problem, "grr")
    assert "unknown law 'grr': did you mean 'gr'?" in str(caught.value)
    assert all(name in str(caught.value) for name in laws.names())
    with pytest.raises(ProblemError, match=r"unknown law 'zzzzzz' \(known: "):
        solve_impact(problem, "zzzzzz")
    with pytest.raises(ProblemError, match="law"):
        solve_impact(problem, 3)


@pytest.mark.parametrize("thing", [None, "gr", [[1.0]], {"mass": 1}])
def test_only_problems_are_solved(thing):
    with pytest.raises(ProblemError, match="an ImpactProblem"):
        solve_impact(thing)


def test_no_impulse_means_none():
    """The baseline applies nothing, whatever the coefficients and models."""
    problem = ImpactProblem.from_discs([[0, 0], [1, 0]], 0.5, 1.0, [[1.0, 0.4, 0.0], [0, 0, 0]], friction=0.3)
    for e in (0.0, 0.5, 1.0):
        for model in (None, *carom.friction.MODELS):
            s = solve_impact(problem.with_(restitution=e), "none", friction_model=model)
            np.testing.assert_array_equal(s.velocity, problem.velocity)


class Wrong(Law):
    """Returns what it was told to, right or wrong."""

    name: ClassVar[str] = "wrong"
    restitution_models: ClassVar[tuple[str, ...]] = ("newton",)

    def __init__(self, normal):
        self.normal = normal

    def impulses(self, contacts: Contacts) -> Impulses:
        return Impulses(normal=self.normal)


@pytest.mark.parametrize("normal", [np.zeros(1), np.zeros(7), np.zeros((3, 1))], ids=["few", "many", "column"])
def test_a_law_that_returns_the_wrong_shape_is_told_so(normal):
    """Kernels do not check indices: a short array would be read past its end."""
    problem = ImpactProblem.chain([1, 1, 1, 1], [1, 0, 0, 0])
    with pytest.raises(ProblemError):
        solve_impact(problem, Wrong(normal))


def test_an_array_that_the_law_keeps_stays_its_own():
    mine = np.array([0.5, 0.0, 0.0])
    s = solve_impact(ImpactProblem.chain([1, 1, 1, 1], [1, 0, 0, 0]), Wrong(mine))
    mine[0] = 9.0
    assert s.impulse[0] == 0.5


def test_friction_that_was_not_solved_raises_no_energy():
    """A solver that overshoots threefold, and says so: the disc would slide back twice as fast. Half of the energy is
    left, that of the normal speed, because friction is then solved together with an inelastic stop."""

    @dataclass(frozen=True)
    class Overshooting(FixedDirection):
        def impulses(self, contacts, normal, start, tolerance=0.0):
            found = super().impulses(contacts, normal, start, tolerance)
            return found._replace(tangent=3.0 * found.tangent, residual=1.0)

    rows, tangents = np.array([[0.0, 1.0]]), np.array([[[1.0, 0.0]]])
    problem = ImpactProblem.from_matrices(
        np.ones(2), rows, [1.0, -1.0], restitution=1.0, friction=10.0, tangents=tangents
    )
    response = Response(laws.make("gr"), "energetic", Overshooting())
    result = resolve(problem.contacts, response)
    np.testing.assert_allclose(problem.velocity_after(result.normal, result.tangent), [0.0, 1.0], atol=1e-12)

"""solve_impacts: the bits of solve_impact, whatever stands beside a problem; errors that name the problem."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import carom
from carom import ImpactProblem, ProblemError, laws, solve_impact, solve_impacts
from carom.resolve import batch
from carom.resolve.impulses import _solve_scaled
from carom.resolve.response import Response
from carom.testing import random_problem


def problems() -> list[ImpactProblem]:
    """Of all kinds: 1 to 40 contacts, 1D to 3D, full mass matrices, friction, mixed restitution, extreme speeds."""
    rng = np.random.default_rng(7)
    found = [random_problem(rng) for _ in range(30)]
    for count in (2, 3, 4, 9, 41):
        for e in (1.0, 0.6, 0.0):
            masses, speeds = rng.uniform(0.3, 3.0, count), rng.normal(size=count)
            found.append(ImpactProblem.chain(masses, speeds, restitution=e, weights=rng.uniform(0.5, 2.0, count - 1)))
    found.append(ImpactProblem.chain([1, 2, 3], [1, 0, -1], restitution=[1.0, 0.5]))
    found.append(ImpactProblem.chain([1, 1], [-1, 1]))  # nothing approaches
    found.append(ImpactProblem.chain([1, 1, 1], [1e200, 0, -1e200]))
    found.append(ImpactProblem.chain(np.ones(60), rng.normal(size=60)))  # more contacts than a batch takes
    found.append(ImpactProblem.from_matrices([[3, 1], [1, 1]], [[1, 0.5]], [-1, 0.2]))
    found.append(ImpactProblem.from_matrices([1.0], [[1.0], [-1.0]], [0.3], boundary_speed=[-1.0, 0.0]))  # a clamp
    # Tangents without friction that touch other components than the normal rows.
    normals, tangents = np.eye(6)[:2] - np.eye(6)[2:4], np.eye(6)[4:]
    found.append(
        ImpactProblem.from_matrices(np.ones(6), normals, rng.normal(size=6) - [1, 1, 0, 0, 0, 0], tangents=tangents)
    )
    found.append(ImpactProblem.from_discs([[0, 0], [2, 0], [1, 1.75]], 1.0, [1, 2, 3], rng.normal(size=(3, 2))))
    return found


def same(one: carom.ImpactSolution, two: carom.ImpactSolution) -> bool:
    kept = (one.status, one.iterations, one.messages, one.law, one.friction_model, one.residual)
    return (
        one.velocity.tobytes() == two.velocity.tobytes()
        and one.velocity.shape == two.velocity.shape
        and one.impulse.tobytes() == two.impulse.tobytes()
        and kept == (two.status, two.iterations, two.messages, two.law, two.friction_model, two.residual)
    )


@pytest.mark.parametrize("law", [law for law in laws.names() if law not in ("etm", "smm")])
def test_a_batch_has_the_bits_of_single_impacts(law):
    every = [p for p in problems() if law != "lzb" or p.restitution.min() >= 0.5]
    for number, (found, problem) in enumerate(zip(solve_impacts(every, law), every, strict=True)):
        assert same(found, solve_impact(problem, law)), number
        assert found.problem is problem
        assert not found.velocity.flags.writeable and not found.impulse.flags.writeable


@pytest.mark.parametrize("law", ["gr", "qce", "lcp"])
def test_the_loop_over_problems_has_the_bits_of_the_general_path(law):
    response = Response.of(law)
    taken = [(p, s) for p, s in zip(problems(), batch.solve_batch(problems(), response), strict=True) if s is not None]
    assert len(taken) >= 15  # the chains with one coefficient, at least
    for problem, found in taken:
        assert same(found, _solve_scaled(problem, response))


@pytest.mark.parametrize(
    ("law", "model"), [("gr", "newton"), ("gr", "qce_lcp"), ("qce", "stronge"), ("lcp", "newton"), ("qce", "qce_lcp")]
)
def test_other_restitution_models(law, model):
    every = [ImpactProblem.chain([1, 2, 1, 3], [1, 0, 0, -1], restitution=e) for e in (0.0, 0.5, 1.0)]
    found = solve_impacts(every, law, restitution_model=model)
    assert all(same(s, solve_impact(p, law, restitution_model=model)) for s, p in zip(found, every, strict=True))
    energetic = solve_impacts(every, law, restitution_model="energetic")
    assert not same(found[1], energetic[1])  # the model matters at 0.5


def test_threads_do_not_change_the_bits(monkeypatch):
    monkeypatch.setattr(batch, "THREADED_PROBLEMS", 10)
    before, answers = numba.get_num_threads(), []
    try:
        for count in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(count)
            answers.append(solve_impacts(problems(), "gr"))
    finally:
        numba.set_num_threads(before)
    assert all(same(one, two) for one, two in zip(*answers, strict=True))


def test_a_subclass_keeps_its_own_impulses():
    class Half(laws.GR):
        name = "half"

        def impulses(self, contacts, tolerance=0.0):
            found = super().impulses(contacts, tolerance)
            return type(found)(0.5 * found.normal)

    p = ImpactProblem.chain([1, 1], [1, 0])
    assert solve_impacts([p], Half())[0].impulse != solve_impacts([p], "gr")[0].impulse


def test_nothing_in_nothing_out_and_any_iterable():
    assert solve_impacts([]) == []
    p = ImpactProblem.chain([1, 1], [1, 0])
    assert [s.velocity.tolist() for s in solve_impacts(p for _ in range(2))] == [[0.0, 1.0], [0.0, 1.0]]


def test_errors_name_the_problem():
    p = ImpactProblem.chain([1, 1], [1, 0])
    with pytest.raises(ProblemError, match=r"problems\[1\]: got str; expected an ImpactProblem"):
        solve_impacts([p, "p"])
    with pytest.raises(ProblemError, match=r"problems\[2\].restitution: got 0.0; expected at least 0.05 under lzb"):
        solve_impacts([p, p, p.with_(restitution=0.0)], "lzb")
    with pytest.raises(ProblemError, match="unknown law 'grr'"):
        solve_impacts([p], "grr")

"""What friction keeps, whatever the law and the model: energy falls, momentum stays, Coulomb's bound holds."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from tests.friction import rough

from carom import friction, laws, solve_impact

COUNT = 6  # problems of each kind; each is solved with three coefficients of restitution
# The single pass promises nothing of contacts that friction drives together: see tests/laws/test_laws_as_printed.py.
MODELS = [*(name for name in friction.MODELS if name != "coulomb_single_pass"), friction.OWN]
# A law that applies no impulse has no friction either; "own" is for laws that have their own.
CASES = [
    (law, model)
    for law in laws.names()
    for model in MODELS
    if law != "none" and (model != friction.OWN or laws.make(law).own_friction)
]
ids = [f"{law}-{model}" for law, model in CASES]


@functools.cache
def solutions(law, model, kind):
    found = []
    for seed in range(COUNT):
        problem = rough.sample(kind, seed)
        for e in (1.0, 0.5, 0.0):
            if e == 0.0 and law == "lzb":
                continue  # its springs need e >= 0.05
            found.append(solve_impact(problem.with_(restitution=e), law, friction_model=model))
    return found


@pytest.mark.covering
@pytest.mark.parametrize("kind", rough.KINDS)
@pytest.mark.parametrize(("law", "model"), CASES, ids=ids)
class TestEveryLawAndModel:
    def test_energy_never_rises(self, law, model, kind):
        """Laws that do not keep energy by themselves (jacobi, smm) cannot be held to this with friction."""
        if "KIN" not in laws.make(law).claims:
            pytest.skip(f"{law} does not claim KIN")
        for s in solutions(law, model, kind):
            assert s.contact_work <= 1e-10 * s.problem.kinetic_energy
            # The same, not from the work but from the velocities.
            assert s.kinetic_energy <= s.problem.kinetic_energy * (1 + 1e-10)

    def test_momentum(self, law, model, kind):
        for s in solutions(law, model, kind):
            p, n = s.problem, s.problem.block[0]
            change = p.mass.times(s.velocity.reshape(p.block) - p.block_velocity)
            pushed = p.rows.transpose_times(s.impulse, n)
            if s.friction_impulse is not None:
                pushed = pushed + p.tangents.transpose_times(s.friction_impulse.ravel(), n)
            size = max(np.abs(pushed).max(), np.abs(p.mass.times(p.block_velocity)).max())
            assert np.abs(change - pushed).max() <= 1e-12 * size
            if kind != "matrices":
                before, after = (total_momentum(p, v) for v in (p.block_velocity, s.velocity))
                assert np.abs(after - before).max() <= 1e-12 * size * len(change)

    def test_nothing_approaches(self, law, model, kind):
        for s in solutions(law, model, kind):
            fastest = np.abs(s.problem.separation_speed()).max()
            assert s.separation_speed.min() >= -1e-9 * fastest
            assert s.status == "resolved" or (s.status in ("finished_inelastically", "not_converged") and s.messages)

    def test_coulombs_bound(self, law, model, kind):
        if (law, model) == ("smm", friction.OWN):
            pytest.skip("the bound holds in each linear system; a later one may pull and lower the normal impulse")
        for s in solutions(law, model, kind):
            if s.friction_impulse is None:
                continue
            limit = s.problem.friction * np.maximum(s.impulse, 0.0)
            if model.startswith("pyramid"):
                used = np.abs(s.friction_impulse).max(axis=1)
            else:
                used = np.linalg.norm(s.friction_impulse, axis=1)
            assert (used <= limit + 1e-12 * np.abs(s.impulse).max()).all()

    def test_friction_takes_part(self, law, model, kind):
        """Or all of the above would be said of nothing."""
        assert any(
            s.friction_impulse is not None and np.abs(s.friction_impulse).max() > 1e-3
            for s in solutions(law, model, kind)
        )


def total_momentum(problem, velocity):
    """Linear and angular momentum of free discs or spheres about the origin, as one vector."""
    v, place = velocity.reshape(problem.block), problem.positions
    dim = place.shape[1]
    p = problem.mass.times(v)
    linear, spin = p[:, :dim], p[:, dim:]
    if dim == 2:
        orbital = place[:, 0] * linear[:, 1] - place[:, 1] * linear[:, 0]
        return np.concatenate([linear.sum(axis=0), [orbital.sum() + spin.sum()]])
    return np.concatenate([linear.sum(axis=0), (np.cross(place, linear) + spin).sum(axis=0)])


@pytest.mark.covering
@pytest.mark.parametrize("model", friction.MODELS)
@pytest.mark.parametrize("law", ["gr", "qce", "gauss_seidel"])
def test_without_friction_coefficient_nothing_changes(law, model):
    problem = rough.sample("discs", 3, friction=0.0)
    np.testing.assert_array_equal(
        solve_impact(problem, law, friction_model=model).velocity, solve_impact(problem, law).velocity
    )


@pytest.mark.parametrize("model", friction.MODELS)
def test_order_of_contacts(model):
    """Velocities of gr do not depend on it, for any model whose answer is unique given the normal impulses."""
    problem = rough.sample("spheres", 4).with_(restitution=1.0)
    expected = solve_impact(problem, "gr", friction_model=model).velocity
    order = np.random.default_rng(0).permutation(problem.contact_count)
    got = solve_impact(problem.permuted(order), "gr", friction_model=model).velocity
    assert np.abs(got - expected).max() <= 1e-8


@pytest.mark.covering
@pytest.mark.parametrize("model", friction.MODELS)
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_answers_scale_with_speed(model, e):
    """Coulomb's law has no speed of its own."""
    for seed in range(4):
        problem = rough.sample("spheres", seed).with_(restitution=e)
        one = solve_impact(problem, "gr", friction_model=model).velocity
        for factor in (1e-3, 1e3):
            scaled = problem.with_(velocity=factor * problem.velocity)
            two = solve_impact(scaled, "gr", friction_model=model).velocity / factor
            assert np.abs(one - two).max() <= 1e-7 * np.abs(one).max()

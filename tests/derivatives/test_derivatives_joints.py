"""Derivatives of impacts of jointed bodies."""

from __future__ import annotations

import numpy as np
import pytest

from carom import ImpactProblem, solve_impact


def jointed(mass, jacobian, velocity, joints, restitution) -> ImpactProblem:
    return ImpactProblem.from_matrices(mass, jacobian, velocity, restitution=restitution, joints=joints)


@pytest.mark.parametrize("law", ["gr", "lcp", "qce", "lzb"])
def test_derivatives_of_jointed_bodies(law):
    """Eight components with two joint rows and four contacts: velocities change along motions that joints allow."""
    checked = 0
    for k in range(30):
        rng = np.random.default_rng([17, k])
        root, rows, held, out = (rng.normal(size=size) for size in ((8, 8), (4, 8), (2, 8), 8))
        rows *= np.sign(rows @ out)[:, None]
        mass, e = root @ root.T + np.eye(8), np.array([0.8, 0.6, 0.7, 0.9])
        allowed = np.eye(8) - np.linalg.pinv(held) @ held
        velocity = allowed @ (rng.normal(size=8) - out)
        solution = solve_impact(jointed(mass, rows, velocity, held, e), law)
        names = ("velocity", "mass", "rows", "restitution")
        if solution.status != "resolved" or solution.derivative(names).kink_distance < 1e-2:
            continue
        turn = rng.normal(size=(8, 8))
        changes = {
            "velocity": allowed @ rng.normal(size=8),
            "mass": turn + turn.T,
            "rows": rng.normal(size=rows.shape),
            "restitution": rng.normal(size=4),
        }
        given = {"velocity": velocity, "mass": mass, "rows": rows, "restitution": e}
        for name, change in changes.items():
            slope = solution.jvp({name: change})
            errors = []
            for h in (1e-3, 1e-4, 1e-5):
                ends = []
                for s in (h, -h, 0.5 * h, -0.5 * h):
                    at = {**given, name: given[name] + s * change}
                    problem = jointed(at["mass"], at["rows"], at["velocity"], held, at["restitution"])
                    ends.append(solve_impact(problem, law).velocity)
                one, two = (ends[0] - ends[1]) / (2 * h), (ends[2] - ends[3]) / h
                errors.append(np.abs((4 * two - one) / 3 - slope).max())
            assert min(errors) <= 1e-6 * max(1.0, np.abs(slope).max()), name
            assert np.abs(held @ slope).max() < 1e-9, "joints hold after the impact"
            weights = rng.normal(size=8)
            both = solution.vjp(weights, name)[name].ravel() @ change.ravel(), weights @ slope
            assert both[0] == pytest.approx(both[1], abs=1e-11)
        checked += 1
        if checked == 2:
            return
    raise AssertionError("no problem is far from kinks")
